#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "render/hta/hta_tables_priv.h"

#include <string.h>
#include "analyze/result/keep.h"

/* ---- steps ---- */

void gp_hta_table_steps(struct gp_hta_tables *m)
{
    gp_hta_spreads all = {0};
    gp_hta_find_spreads(m->h, false, &all);
    struct gp_report_table *t = gp_hta_table_all(m, &gp_hta_spread_rows, all.at, all.n);
    if (t)
        t->note =
            "From a step's first GPU event to the next step's first; whole steps only, without warm-up.";
    GP_VEC_FREE(&all);
}

/* A row for each part of the devices' time, all devices together; shown where there is more than the
 * steps. */
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
