#include "render/hta/hta_tables_priv.h"
#include "analyze/names/metric_title.h"
#include "formats/base/str.h"
#include "render/report/record.h"

#include <string.h>

/* ---- kernels ---- */

void gp_hta_table_kernels(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_kernels_of(m->h);
    gp_record_table(m->r, &gp_hta_kernels, m->h->kernels.at, m->h->kernels.n, m->top, &of);
}

/* Owners of one sort; nothing when nothing of that sort launched anything. */
static void add_owners(struct gp_hta_tables *m, enum gp_owner_sort sort)
{
    struct gp_owner_rows r = gp_hta_owner_rows(m->h, sort);
    struct gp_row_of of = gp_hta_rows_of(m->h, r.gpu_ns);
    if (r.named) gp_record_table(m->r, &gp_hta_owners[sort], r.at, r.launched, m->top, &of);
}

void gp_hta_table_operators(struct gp_hta_tables *m)
{
    add_owners(m, GP_OWNER_OP);
}

void gp_hta_table_op_shapes(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    struct gp_row_of of = gp_hta_op_shapes_of(h);
    size_t shaped = 0;
    for (size_t i = 0; i < h->op_shapes.n; i++) shaped += h->op_shapes.at[i].shapes != 0;
    if (shaped) gp_record_table(m->r, &gp_hta_op_shapes, h->op_shapes.at, h->op_shapes.n, m->top, &of);
}

void gp_hta_table_ranges(struct gp_hta_tables *m)
{
    add_owners(m, GP_OWNER_RANGE);
}

void gp_hta_table_modules(struct gp_hta_tables *m)
{
    add_owners(m, GP_OWNER_MODULE);
}

/* ---- launches ---- */

static void put_figure(struct gp_hta_tables *m, struct gp_report_table *t, const char *figure,
                       enum gp_cell_type type, int64_t v, const char *unit)
{
    gp_report_put_text(m->r, t, figure);
    gp_report_put_as(t, type, v);
    gp_report_put_text(m->r, t, unit);
}

void gp_hta_table_launches(struct gp_hta_tables *m)
{
    const struct gp_hta_launches *l = &m->h->launches;
    if (!l->calls) return;
    struct gp_report_table *t = gp_report_add(m->r, "launches", "Launches");
    COLUMN(t, "figure", "Figure", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "value", "Value", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "unit", "Unit", GP_CELL_TEXT, GP_COLUMN_RAW, NULL);
    put_figure(m, t, "launch calls", GP_CELL_COUNT, (int64_t)l->calls, "calls");
    put_figure(m, t, "GPU events with a launch record", GP_CELL_COUNT, (int64_t)l->linked, "events");
    if (l->linked < l->gpu_events)
        put_figure(m, t, "GPU events without a launch record", GP_CELL_COUNT,
                   (int64_t)(l->gpu_events - l->linked), "events");
    if (l->graph_calls) {
        put_figure(m, t, "graph launches", GP_CELL_COUNT, (int64_t)l->graph_calls, "calls");
        put_figure(m, t, "GPU events started by graphs", GP_CELL_COUNT, (int64_t)l->graph_events, "events");
    }
    if (m->h->untimed) return;
    put_figure(m, t, "kernels shorter than the call that launched them", GP_CELL_COUNT,
               (int64_t)l->short_kernels, "events");
    if (l->short_kernels) put_figure(m, t, "their GPU time", GP_CELL_NS, l->short_kernel_ns, "ns");
    if (l->before_launch) {
        put_figure(m, t, "GPU events that start before their launch", GP_CELL_COUNT,
                   (int64_t)l->before_launch, "events");
        put_figure(m, t, "the earliest of them, early by", GP_CELL_NS, l->worst_before_ns, "ns");
    }
    put_figure(m, t, "longest queue of a stream", GP_CELL_COUNT, (int64_t)l->max_queue, "events");
    if (l->queue_full_ns)
        put_figure(m, t, "time with 1,000 or more queued", GP_CELL_NS, l->queue_full_ns, "ns");
}

static void put_dist(struct gp_hta_tables *m, struct gp_report_table *t, const char *what,
                     enum gp_cell_type type, const struct gp_dist *d)
{
    static const double quantiles[] = {0.5, 0.9, 0.99};
    if (!d->n) return;
    gp_report_put_text(m->r, t, what);
    gp_report_put(t, (int64_t)d->n);
    gp_report_put_as(t, type, d->sum / (int64_t)d->n);
    gp_report_put_as(t, type, d->min);
    for (int i = 0; i < 3; i++) gp_report_put_as(t, type, gp_dist_quantile(d, quantiles[i]));
    gp_report_put_as(t, type, d->max);
    gp_report_put_text(m->r, t, type == GP_CELL_NS ? "ns" : "events");
}

void gp_hta_table_launch_times(struct gp_hta_tables *m)
{
    const struct gp_hta_launches *l = &m->h->launches;
    if (!l->delay.n && !l->api_dur.n && !l->queue_len.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "launch_times", "From the call to the GPU");
    COLUMN(t, "figure", "Of each launch", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "count", "Count", GP_CELL_COUNT, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "mean", "Mean", GP_CELL_NS, 0, NULL);
    COLUMN(t, "min", "Min", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "p50", "Median", GP_CELL_NS, 0, "within 1/16");
    COLUMN(t, "p90", "p90", GP_CELL_NS, GP_COLUMN_SPARE, "within 1/16");
    COLUMN(t, "p99", "p99", GP_CELL_NS, 0, "within 1/16");
    COLUMN(t, "max", "Max", GP_CELL_NS, 0, NULL);
    COLUMN(t, "unit", "Unit", GP_CELL_TEXT, GP_COLUMN_RAW, NULL);
    put_dist(m, t, "the call itself", GP_CELL_NS, &l->api_dur);
    put_dist(m, t, "end of call to start on GPU", GP_CELL_NS, &l->delay);
    put_dist(m, t, "queued before it", GP_CELL_COUNT, &l->queue_len);
}

void gp_hta_table_api(struct gp_hta_tables *m)
{
    gp_hta_table_of(m, &gp_hta_api, m->h->api.at, m->h->api.n);
}

void gp_hta_table_graphs(struct gp_hta_tables *m)
{
    gp_hta_table_of(m, &gp_hta_graphs, m->h->graphs.at, m->h->graphs.n);
}

/* ---- copies and memory ---- */

void gp_hta_table_copies(struct gp_hta_tables *m)
{
    gp_hta_table_of(m, &gp_hta_copies, m->h->copies.at, m->h->copies.n);
}

void gp_hta_table_memory(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    gp_record_table(m->r, &gp_hta_memory, m->h->memory.at, m->h->memory.n, 0, &of);
}

void gp_hta_table_range_memory(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (h->range_memory.n == 1 && !h->range_memory.at[0].name) return; /* no ranges */
    struct gp_report_table *t =
        gp_hta_table_of(m, &gp_hta_range_memory, h->range_memory.at, h->range_memory.n);
    if (t) t->note = "Activity counts only for the innermost range.";
}

/* ---- sampled counters ---- */

enum { SAMPLED_COLUMNS = 8 };

/* Metrics that people have no other name for are called by theirs, without rollup. */
static const char *sampled_title(struct gp_hta_tables *m, gp_sid metric)
{
    const char *name = gp_hta_str(m->h, metric);
    const char *title = gp_metric_title(name);
    return title ? title : gp_report_str(m->r, name, strcspn(name, "."));
}

static bool is_bytes(struct gp_hta_tables *m, gp_sid unit)
{
    return !strcmp(gp_hta_str(m->h, unit), "byte/second");
}

/* The metrics, in the order of their first rows. */
static size_t sampled_metrics(struct gp_hta_tables *m, gp_sid metrics[SAMPLED_COLUMNS],
                              struct gp_report_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < m->h->sampled.n; i++) {
        const struct gp_sampled *s = &m->h->sampled.at[i];
        size_t k = 0;
        while (k < n && metrics[k] != s->metric) k++;
        if (k < n || n == SAMPLED_COLUMNS) continue;
        metrics[n++] = s->metric;
        bool pct = !strcmp(gp_hta_str(m->h, s->unit), "%");
        gp_report_column(t, gp_hta_str(m->h, s->metric), sampled_title(m, s->metric),
                         pct                    ? GP_CELL_PCT
                         : is_bytes(m, s->unit) ? GP_CELL_GBPS
                                                : GP_CELL_REAL,
                         0, gp_hta_str(m->h, s->metric));
    }
    return n;
}

static bool same_row(const struct gp_sampled *a, const struct gp_sampled *b)
{
    return a->rank == b->rank && a->device == b->device && a->over == b->over && a->name == b->name;
}

static void put_sampled(struct gp_hta_tables *m, struct gp_report_table *t, const struct gp_sampled *rows,
                        size_t n, const gp_sid *metrics, size_t columns)
{
    static const char *const overs[] = {"(all of it)", "(whole steps)", NULL};
    gp_hta_put_place(m, t, rows->rank, 0, rows->device);
    if (rows->name) gp_hta_put_sid(m, t, rows->name);
    else gp_report_put_text(m->r, t, overs[rows->over]);
    gp_report_put(t, rows->ns);
    for (size_t c = 0; c < columns; c++) {
        size_t i = 0;
        while (i < n && rows[i].metric != metrics[c]) i++;
        if (i == n) gp_report_put_none(t);
        else gp_report_put_real(t, is_bytes(m, rows[i].unit) ? rows[i].mean / 1e9 : rows[i].mean);
    }
}

void gp_hta_table_sampled(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    gp_sid metrics[SAMPLED_COLUMNS];
    if (!h->sampled.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "sampled", "Hardware counters");
    t->note = "Averages over time of counters sampled during the recording; for ranges, while the work "
              "that they launched was running.";
    gp_hta_rank_columns(t);
    COLUMN(t, "name", "Over", GP_CELL_NAME, 0,
           "the device's time, its whole steps, or the kernels, copies and sets of a range");
    COLUMN(t, "sampled_ns", "Time", GP_CELL_NS, 0, "covered by the averages");
    size_t columns = sampled_metrics(m, metrics, t), shown = 0, most = gp_hta_rows_shown(m, h->sampled.n);
    for (size_t i = 0, end; i < h->sampled.n && shown < most; i = end, shown++) {
        for (end = i + 1; end < h->sampled.n && same_row(&h->sampled.at[i], &h->sampled.at[end]);) end++;
        put_sampled(m, t, &h->sampled.at[i], end - i, metrics, columns);
    }
}
