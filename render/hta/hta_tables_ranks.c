#include "render/hta/hta_tables_priv.h"
#include "formats/base/str.h"

#include <string.h>
#include "analyze/result/keep.h"

/* ---- steps ---- */

void gp_hta_table_steps(struct gp_hta_tables *m)
{
    gp_step_spreads all = {0};
    gp_hta_step_spreads(m->h, false, &all);
    if (all.n) {
        struct gp_report_table *t = gp_report_add(m->r, "steps", "Steps");
        t->note =
            "From a step's first GPU event to the next step's first; whole steps only, without warm-up.";
        gp_hta_rank_columns(t);
        COLUMN(t, "source", "Found by", GP_CELL_TEXT, 0, "marker, graph or period");
        COLUMN(t, "steps", "Steps", GP_CELL_COUNT, 0, "including cut steps and warm-up");
        COLUMN(t, "cut", "Cut", GP_CELL_COUNT, GP_COLUMN_WIDE, "by the edge of the trace");
        COLUMN(t, "warm_up", "Warm-up", GP_CELL_COUNT, GP_COLUMN_WIDE,
               "first steps that take much longer than later ones");
        COLUMN(t, "mean_ns", "Step time", GP_CELL_NS, 0, "the mean");
        COLUMN(t, "median_ns", "Median", GP_CELL_NS, 0, NULL);
        COLUMN(t, "stddev_ns", "Std. dev.", GP_CELL_NS, 0, "population standard deviation");
        COLUMN(t, "min_ns", "Min", GP_CELL_NS, 0, NULL);
        COLUMN(t, "max_ns", "Max", GP_CELL_NS, 0, NULL);
        COLUMN(t, "idle_pct", "Idle", GP_CELL_PCT, 0, "of the steps' time");
        COLUMN(t, "slowest", "Slowest", GP_CELL_NAME, GP_COLUMN_SPARE, NULL);
        for (size_t i = 0; i < all.n; i++) {
            const struct gp_step_spread *s = &all.at[i];
            gp_hta_put_place(m, t, s->first->rank, s->first->producer, s->first->device);
            gp_report_put_text(m->r, t, gp_step_source_name((enum gp_step_source)s->first->source));
            gp_report_put(t, (int64_t)s->count);
            gp_report_put(t, (int64_t)s->cut);
            gp_report_put(t, (int64_t)s->warm_up);
            gp_report_put(t, s->step_ns);
            gp_report_put(t, s->median_ns);
            gp_report_put(t, (int64_t)(s->stddev_ns + 0.5));
            gp_report_put(t, s->fastest->b.span_ns);
            gp_report_put(t, s->slowest->b.span_ns);
            gp_report_put_real(t, gp_pct(s->sum.idle_ns, s->sum.span_ns));
            gp_hta_put_sid(m, t, s->slowest->name);
        }
    }
    GP_VEC_FREE(&all);
}

/* A row for each part of the devices' time, all devices together; shown where there is more than the steps. */
void gp_hta_table_parts(struct gp_hta_tables *m)
{
    struct gp_hta_part sums[GP_PART_AFTER + 1];
    size_t n = 0;
    if (!m->h->focus) return;
    for (uint32_t kind = GP_PART_START_UP; kind <= GP_PART_AFTER; kind++) {
        struct gp_hta_part sum = {.kind = kind};
        for (size_t i = 0; i < m->h->parts.n; i++)
            if (m->h->parts.at[i].kind == kind) gp_record_merge(&gp_hta_parts, &sum, &m->h->parts.at[i]);
        if (sum.b.span_ns) sums[n++] = sum;
    }
    struct gp_report_table *t = gp_hta_table_of(m, &gp_hta_parts, sums, n);
    if (t && !m->whole) t->note = "The findings and times above cover the steps; --whole covers everything.";
}

static int longest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The length from which a step is listed: at most m->step_rows steps are longer. */
static int64_t least_length(const struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!m->step_rows || m->step_rows >= h->steps.n) return INT64_MIN;
    int64_t *lengths = gp_alloc(h->steps.n * sizeof *lengths);
    for (size_t i = 0; i < h->steps.n; i++) lengths[i] = h->steps.at[i].b.span_ns;
    qsort(lengths, h->steps.n, sizeof *lengths, longest_first);
    int64_t least = lengths[m->step_rows - 1];
    free(lengths);
    return least;
}

void gp_hta_table_step_list(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->steps.n) return;
    int64_t least = least_length(m), left_ns = 0;
    size_t rows = 0, left = 0;
    struct gp_row_of of = gp_hta_rows_of(h, 0);
    struct gp_columns columns;
    of.merged = m->merged;
    gp_columns_find(&columns, &gp_hta_step_list);
    struct gp_report_table *t = gp_columns_table(m->r, &gp_hta_step_list, &columns, &of);
    t->id = "step_list"; /* JSON has them in "each" of their device */
    for (size_t i = 0; i < h->steps.n; i++) {
        const struct gp_hta_step *s = &h->steps.at[i];
        if (s->b.span_ns < least || (m->step_rows && rows == m->step_rows)) {
            left++;
            left_ns += s->b.span_ns;
            continue;
        }
        rows++;
        gp_columns_put(m->r, t, &columns, s, &of);
    }
    gp_columns_release(&columns);
    if (left) t->note = "The longest steps, in order of time; --steps lists all.";
    gp_record_more(m->r, t, left, left_ns);
}

/* ---- communication ---- */

void gp_hta_table_collectives(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    bool grouped = false;
    for (size_t i = 0; i < h->collective_stats.n; i++)
        grouped |= h->collective_stats.at[i].calls > h->collective_stats.at[i].count;
    struct gp_report_table *t =
        gp_hta_table_of(m, &gp_hta_collectives, h->collective_stats.at, h->collective_stats.n);
    if (t && grouped) t->note = "One kernel serves all calls of a group; sizes are per kernel.";
    else if (t) gp_report_flag(t, "calls", GP_COLUMN_WIDE);
}

void gp_hta_table_matches(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    struct gp_report_table *t =
        gp_record_table(m->r, &gp_hta_matches, m->h->matches.at, m->h->matches.n, 0, &of);
    if (t) t->id = "collective_list", t->detail = true;
}

void gp_hta_table_stragglers(struct gp_hta_tables *m)
{
    gp_hta_table_of(m, &gp_hta_stragglers, m->h->stragglers.at, m->h->stragglers.n);
}

void gp_hta_table_offsets(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    size_t estimated = 0;
    for (size_t i = 0; i < h->offsets.n; i++) estimated += h->offsets.at[i].pairs > 0;
    if (!estimated) return;
    struct gp_report_table *t = gp_hta_table_of(m, &gp_hta_offsets, h->offsets.at, h->offsets.n);
    t->id = "offsets";
    t->note = "Estimated from the ends of collectives, relative to the lowest rank.";
}

/* ---- critical path ---- */

void gp_hta_table_path_bounds(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->paths.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "critical_path", "What bounds the time");
    t->note = "Along the critical path: work that had to happen before the last event could end.";
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "process", "Proc.", GP_CELL_ID, 0, NULL);
    COLUMN(t, "window", "Window", GP_CELL_NAME, GP_COLUMN_SPARE, "step, or none for the whole trace");
    COLUMN(t, "bound", "Bound", GP_CELL_TEXT, GP_COLUMN_RAW, NULL);
    COLUMN(t, "what", "Bound by", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, "sums to the length of the path");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of the length of the path");
    for (size_t i = 0; i < h->paths.n; i++) {
        const struct gp_hta_path *p = &h->paths.at[i];
        for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) {
            if (!p->bound_ns[b]) continue;
            gp_hta_put_rank(t, p->rank);
            gp_hta_put_process(m, t, p->producer);
            gp_hta_put_sid(m, t, p->window);
            gp_report_put_text(m->r, t, gp_path_bound_name((enum gp_path_bound)b));
            gp_report_put_text(m->r, t, gp_path_bound_text((enum gp_path_bound)b));
            gp_report_put(t, p->bound_ns[b]);
            gp_report_put_real(t, gp_pct(p->bound_ns[b], p->end_ns - p->begin_ns));
        }
    }
    t->detail = h->paths.n > GP_HTA_FEW_DEVICES;
}

static void put_path_name(struct gp_hta_tables *m, struct gp_report_table *t, gp_sid name, gp_sid full)
{
    const struct gp_strings *s = &m->h->strings;
    gp_sid whole = full ? full : name;
    if (!gp_string_len(s, name)) {
        gp_report_put_name(m->r, t, "", 0, GP_TEXT("(nothing recorded)"));
        return;
    }
    gp_report_put_name(m->r, t, gp_string(s, whole), gp_string_len(s, whole), gp_string(s, name),
                       gp_string_len(s, name));
}

/* Adds what is left out to ROWS and NS. */
static void add_path_names(struct gp_hta_tables *m, const struct gp_hta_path *p, struct gp_report_table *t,
                           size_t *rows, int64_t *ns)
{
    gp_path_sums sums = {0};
    int64_t left = p->end_ns - p->begin_ns;
    gp_hta_path_sums(p, &sums);
    size_t n = gp_hta_rows_shown(m, sums.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_path_sum *s = &sums.at[i];
        gp_hta_put_rank(t, p->rank);
        gp_hta_put_process(m, t, p->producer);
        put_path_name(m, t, s->name, s->full);
        gp_hta_put_word(m, t, gp_path_bound_name((enum gp_path_bound)s->bound));
        gp_report_put(t, (int64_t)s->count);
        gp_report_put(t, s->total_ns);
        gp_report_put_real(t, gp_pct(s->total_ns, p->end_ns - p->begin_ns));
        gp_report_put(t, s->longest_ns);
        left -= s->total_ns;
    }
    *rows += sums.n - n;
    *ns = gp_add_saturated(*ns, left);
    GP_VEC_FREE(&sums);
}

void gp_hta_table_path_names(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->paths.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "critical_names", "On the critical path");
    t->detail = h->paths.n > 1;
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "process", "Proc.", GP_CELL_ID, 0, NULL);
    COLUMN(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "bound", "Bound by", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "count", "Pieces", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "total_ns", "Total", GP_CELL_NS, 0, NULL);
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of the length of the path");
    COLUMN(t, "longest_ns", "Longest", GP_CELL_NS, 0, NULL);
    size_t left = 0;
    int64_t left_ns = 0;
    for (size_t i = 0; i < h->paths.n; i++) add_path_names(m, &h->paths.at[i], t, &left, &left_ns);
    gp_record_more(m->r, t, left, left_ns);
}

enum { FEW_RUNS = 10 }; /* of each path where there are many */

static void put_run(struct gp_hta_tables *m, struct gp_report_table *t, const struct gp_hta_path *p,
                    const struct gp_path_run *run)
{
    const struct gp_path_piece *q = &p->pieces.at[run->first];
    bool alone = run->end - run->first == 1;
    gp_hta_put_rank(t, p->rank);
    gp_hta_put_process(m, t, p->producer);
    gp_report_put(t, q->begin_ns);
    gp_report_put(t, run->total_ns);
    gp_hta_put_word(m, t, gp_path_bound_name(run->bound));
    if (alone) put_path_name(m, t, q->name, q->full);
    else gp_report_put_name(m->r, t, "", 0, GP_TEXT("(short pieces)"));
    gp_hta_put_device(t, alone ? q->stream : -1);
    if (alone && q->stream < 0) gp_report_put(t, q->tid);
    else gp_report_put_none(t);
    gp_report_put(t, (int64_t)(run->end - run->first));
}

void gp_hta_table_path_pieces(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->paths.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "critical_pieces", "The critical path, piece by piece");
    t->detail = true;
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "process", "Proc.", GP_CELL_ID, 0, NULL);
    COLUMN(t, "begin_ns", "Begin", GP_CELL_ID, 0, "on the clock of the trace, ns");
    COLUMN(t, "duration_ns", "Duration", GP_CELL_NS, 0, NULL);
    COLUMN(t, "bound", "Bound by", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "stream", "Stream", GP_CELL_ID, 0, "GPU pieces");
    COLUMN(t, "thread", "Thread", GP_CELL_ID, 0, "host pieces");
    COLUMN(t, "pieces", "Pieces", GP_CELL_COUNT, GP_COLUMN_WIDE, "in this row; short pieces share one row");
    for (size_t i = 0; i < h->paths.n; i++) {
        gp_path_runs runs = {0};
        size_t top = h->bound.bounded && m->top > FEW_RUNS ? FEW_RUNS : m->top;
        gp_hta_path_fold(&h->paths.at[i], top ? 2 * top + 1 : 0, &runs);
        for (size_t j = 0; j < runs.n; j++) put_run(m, t, &h->paths.at[i], &runs.at[j]);
        GP_VEC_FREE(&runs);
    }
}
