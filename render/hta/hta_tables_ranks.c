#include "render/hta/hta_tables_priv.h"
#include "formats/base/str.h"

#include <string.h>

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
    static const char *const words[] = {"start-up, before the first step", "warm-up steps", "steps",
                                        "after the last step"};
    if (!m->h->focus) return;
    struct gp_report_table *t = gp_report_add(m->r, "parts", "Start-up, steps and the rest");
    if (!m->whole) t->note = "The findings and times above cover the steps; --whole covers everything.";
    COLUMN(t, "part", "Part", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "id", "Id", GP_CELL_TEXT, GP_COLUMN_RAW, NULL);
    COLUMN(t, "steps", "Steps", GP_CELL_COUNT, 0, NULL);
    gp_hta_breakdown_columns(t);
    for (int kind = GP_PART_START_UP; kind <= GP_PART_AFTER; kind++) {
        struct gp_breakdown sum = {0};
        uint64_t steps = 0;
        for (size_t i = 0; i < m->h->parts.n; i++) {
            if (m->h->parts.at[i].kind != (uint32_t)kind) continue;
            gp_hta_add_breakdown(&sum, &m->h->parts.at[i].b);
            steps += m->h->parts.at[i].steps;
        }
        if (!sum.span_ns) continue;
        gp_report_put_text(m->r, t, words[kind]);
        gp_report_put_text(m->r, t, gp_hta_part_name((enum gp_hta_part_kind)kind));
        if (steps) gp_report_put(t, (int64_t)steps);
        else gp_report_put_none(t);
        gp_hta_put_breakdown(t, &sum);
    }
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
    struct gp_report_table *t = gp_report_add(m->r, "step_list", "Each step");
    gp_hta_rank_columns(t);
    COLUMN(t, "name", "Step", GP_CELL_NAME, 0, NULL);
    gp_hta_breakdown_columns(t);
    COLUMN(t, "launches", "Launches", GP_CELL_COUNT, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "begin_ns", "Begin", GP_CELL_ID, GP_COLUMN_WIDE, "GPU window, on the clock of the trace, ns");
    COLUMN(t, "end_ns", "End", GP_CELL_ID, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "host_ns", "Host time", GP_CELL_NS, GP_COLUMN_WIDE,
           "the marker, or first launch to last launch");
    COLUMN(t, "cut", "Cut", GP_CELL_TEXT, GP_COLUMN_WIDE, "by the edge of the trace");
    COLUMN(t, "warm_up", "Warm-up", GP_CELL_TEXT, GP_COLUMN_WIDE, "takes much longer than later steps");
    for (size_t i = 0; i < h->steps.n; i++) {
        const struct gp_hta_step *s = &h->steps.at[i];
        if (s->b.span_ns < least || (m->step_rows && rows == m->step_rows)) {
            left++;
            left_ns += s->b.span_ns;
            continue;
        }
        rows++;
        gp_hta_put_place(m, t, s->rank, s->producer, s->device);
        gp_hta_put_sid(m, t, s->name);
        gp_hta_put_breakdown(t, &s->b);
        gp_report_put(t, (int64_t)s->launches);
        gp_report_put(t, s->begin_ns);
        gp_report_put(t, s->end_ns);
        gp_report_put(t, s->host_end_ns - s->host_begin_ns);
        gp_report_put_text(m->r, t, s->partial ? "yes" : "no");
        gp_report_put_text(m->r, t, s->warm_up ? "yes" : "no");
    }
    if (left) t->note = "The longest steps, in order of time; --steps lists all.";
    gp_hta_note_more(m, t, left, left_ns);
}

/* ---- communication ---- */

void gp_hta_table_collectives(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->collective_stats.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "collectives", "Communication");
    bool grouped = false;
    for (size_t i = 0; i < h->collective_stats.n; i++)
        grouped |= h->collective_stats.at[i].calls > h->collective_stats.at[i].count;
    COLUMN(t, "operation", "Operation", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "group", "Group", GP_CELL_NAME, GP_COLUMN_SPARE, "process group");
    COLUMN(t, "group_size", "Ranks", GP_CELL_ID, 0, "of the group");
    COLUMN(t, "type", "Type", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "calls", "Calls", GP_CELL_COUNT, grouped ? 0 : GP_COLUMN_WIDE,
           "NCCL calls served, where known");
    COLUMN(t, "mean_bytes", "Each", GP_CELL_BYTES, 0, "mean size, where known");
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, GP_COLUMN_WIDE, "in all, where known");
    COLUMN(t, "total_ns", "Total", GP_CELL_NS, 0, "sum of durations, waiting included");
    COLUMN(t, "mean_ns", "Mean", GP_CELL_NS, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "max_ns", "Max", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "skew_mean_ns", "Skew", GP_CELL_NS, 0, "mean of last start - first start over the ranks");
    COLUMN(t, "skew_max_ns", "Skew max", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "algbw_gbps", "Alg. bandwidth", GP_CELL_GBPS, GP_COLUMN_WIDE,
           "bytes / duration of the median collective");
    COLUMN(t, "busbw_gbps", "Bus bw.", GP_CELL_GBPS, 0, "algorithm bandwidth x the operation's bus factor");
    size_t n = gp_hta_rows_shown(m, h->collective_stats.n);
    int64_t left = 0;
    for (size_t i = 0; i < h->collective_stats.n; i++) {
        const struct gp_collective_stat *c = &h->collective_stats.at[i];
        if (i >= n) {
            left += c->dur.sum;
            continue;
        }
        gp_hta_put_sid(m, t, c->op);
        gp_hta_put_sid(m, t, c->group);
        if (c->group_size) gp_report_put(t, c->group_size);
        else gp_report_put_none(t);
        gp_hta_put_sid(m, t, c->dtype);
        gp_report_put(t, (int64_t)c->count);
        if (c->calls) gp_report_put(t, (int64_t)c->calls);
        else gp_report_put_none(t);
        gp_hta_put_bytes(t, c->bytes > 0 && c->count ? c->bytes / (int64_t)c->count : c->bytes);
        gp_hta_put_bytes(t, c->bytes);
        gp_report_put(t, c->dur.sum);
        gp_hta_put_mean(t, &c->dur);
        gp_report_put(t, c->dur.max);
        gp_hta_put_mean(t, &c->skew);
        if (c->skew.n) gp_report_put(t, c->skew.max);
        else gp_report_put_none(t);
        gp_hta_put_gbps(t, c->algbw_gbps);
        gp_hta_put_gbps(t, c->busbw_gbps);
    }
    if (grouped) t->note = "One kernel serves all calls of a group; sizes are per kernel.";
    gp_hta_note_more(m, t, h->collective_stats.n - n, left);
}

void gp_hta_table_matches(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->matches.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "collective_list", "Collectives matched over ranks");
    t->detail = true;
    COLUMN(t, "operation", "Operation", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "group", "Group", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "type", "Type", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "sequence", "Sequence", GP_CELL_ID, 0, "number in the group, or position in order");
    COLUMN(t, "matched_by", "Matched by", GP_CELL_TEXT, 0, "sequence or order");
    COLUMN(t, "ranks", "Ranks", GP_CELL_COUNT, 0, "that took part");
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
    COLUMN(t, "start_skew_ns", "Start skew", GP_CELL_NS, 0, "last start - first start, clocks aligned");
    COLUMN(t, "end_skew_ns", "End skew", GP_CELL_NS, 0, NULL);
    COLUMN(t, "duration_ns", "Duration", GP_CELL_NS, 0, "the shortest over the ranks");
    COLUMN(t, "wait_ns", "Wait", GP_CELL_NS, 0, "sum over ranks of last start - own start");
    COLUMN(t, "last_rank", "Last rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "algbw_gbps", "Alg. bandwidth", GP_CELL_GBPS, 0, NULL);
    COLUMN(t, "busbw_gbps", "Bus bandwidth", GP_CELL_GBPS, 0, NULL);
    for (size_t i = 0; i < h->matches.n; i++) {
        const struct gp_collective_match *c = &h->matches.at[i];
        gp_hta_put_sid(m, t, c->op);
        gp_hta_put_sid(m, t, c->group);
        gp_hta_put_sid(m, t, c->dtype);
        gp_hta_put_id(t, c->seq);
        gp_report_put_text(m->r, t, c->by_seq ? "sequence" : "order");
        gp_report_put(t, c->ranks);
        gp_hta_put_bytes(t, c->bytes);
        gp_report_put(t, c->start_skew_ns);
        gp_report_put(t, c->end_skew_ns);
        gp_report_put(t, c->duration_ns);
        gp_report_put(t, c->wait_ns);
        gp_hta_put_rank(t, c->last_rank);
        gp_hta_put_gbps(t, c->algbw_gbps);
        gp_hta_put_gbps(t, c->busbw_gbps);
    }
}

void gp_hta_table_stragglers(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->stragglers.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "stragglers", "Who came last");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "collectives", "Collectives", GP_CELL_COUNT, 0, "matched collectives it took part in");
    COLUMN(t, "times_last", "Last in", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "last_pct", "Share", GP_CELL_PCT, 0, "times_last / collectives");
    COLUMN(t, "lateness_ns", "Late by", GP_CELL_NS, 0, "sum of own start - median start, where positive");
    COLUMN(t, "caused_wait_ns", "Others waited", GP_CELL_NS, 0, "in the collectives where it was last");
    size_t n = gp_hta_rows_shown(m, h->stragglers.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_straggler *s = &h->stragglers.at[i];
        gp_hta_put_rank(t, s->rank);
        gp_report_put(t, (int64_t)s->matched);
        gp_report_put(t, (int64_t)s->times_last);
        gp_report_put_real(t, gp_pct((int64_t)s->times_last, (int64_t)s->matched));
        gp_report_put(t, s->lateness_ns);
        gp_report_put(t, s->caused_wait_ns);
    }
    gp_hta_note_more(m, t, h->stragglers.n - n, 0);
}

void gp_hta_table_offsets(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    size_t estimated = 0;
    for (size_t i = 0; i < h->offsets.n; i++) estimated += h->offsets.at[i].pairs > 0;
    if (!estimated) return;
    struct gp_report_table *t = gp_report_add(m->r, "offsets", "Clocks of the ranks");
    t->note = "Estimated from the ends of collectives, relative to the lowest rank.";
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "offset_ns", "Offset", GP_CELL_NS, 0, "add it to the rank's clock");
    COLUMN(t, "error_ns", "Error", GP_CELL_NS, 0, "median absolute deviation");
    COLUMN(t, "pairs", "Collectives", GP_CELL_COUNT, 0, "used for the estimate");
    size_t n = gp_hta_rows_shown(m, h->offsets.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_rank_offset *o = &h->offsets.at[i];
        gp_hta_put_rank(t, o->rank);
        gp_report_put(t, o->offset_ns);
        gp_report_put(t, o->error_ns);
        gp_report_put(t, o->pairs);
    }
    gp_hta_note_more(m, t, h->offsets.n - n, 0);
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
    gp_hta_note_more(m, t, left, left_ns);
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
