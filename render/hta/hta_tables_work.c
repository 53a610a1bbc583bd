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
static void add_owners(struct gp_hta_tables *m, enum gp_owner_sort sort, const char *id, const char *title)
{
    const struct gp_hta *h = m->h;
    int64_t all_ns = 0, left = 0;
    size_t rows = 0, named = 0;
    for (size_t i = 0; i < h->owners.n; i++) {
        if (h->owners.at[i].sort != (uint32_t)sort) continue;
        all_ns += h->owners.at[i].gpu_ns;
        named += h->owners.at[i].name != 0;
    }
    if (!named) return;
    struct gp_report_table *t = gp_report_add(m->r, id, title);
    COLUMN(t, "name", "Launched in", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "calls", "Calls", GP_CELL_COUNT, 0, "calls that launched GPU events");
    COLUMN(t, "gpu_events", "Kernels", GP_CELL_COUNT, 0, "GPU events launched");
    COLUMN(t, "gpu_ns", "GPU time", GP_CELL_NS, 0, "sum of their durations");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of the durations of all GPU events");
    COLUMN(t, "host_ns", "Host time", GP_CELL_NS, 0, "sum of the durations of those calls");
    COLUMN(t, "delay_mean_ns", "Delay", GP_CELL_NS, GP_COLUMN_SPARE,
           "mean time from the end of the launch to the start");
    for (size_t i = 0; i < h->owners.n; i++) {
        const struct gp_owner_stat *o = &h->owners.at[i];
        if (o->sort != (uint32_t)sort || !o->gpu_events) continue;
        if (m->top && rows++ >= m->top) {
            left += o->gpu_ns;
            continue;
        }
        if (o->name) gp_hta_put_sid(m, t, o->name);
        else gp_report_put_name(m->r, t, "", 0, GP_TEXT("(outside any)"));
        gp_report_put(t, (int64_t)o->calls);
        gp_report_put(t, (int64_t)o->gpu_events);
        gp_report_put(t, o->gpu_ns);
        gp_report_put_real(t, gp_pct(o->gpu_ns, all_ns));
        if (h->untimed) gp_report_put_none(t);
        else gp_report_put(t, o->host_ns);
        gp_hta_put_mean(t, &o->delay);
    }
    if (m->top && rows > m->top) gp_hta_note_more(m, t, rows - m->top, left);
}

void gp_hta_table_operators(struct gp_hta_tables *m)
{
    add_owners(m, GP_OWNER_OP, "operators", "GPU time by operator");
}

/* V per NS of what is known, times SCALE; unknown without either. */
static void put_rate(struct gp_report_table *t, double v, int64_t ns, double scale)
{
    if (v > 0 && ns > 0) gp_report_put_real(t, v / (double)ns * scale);
    else gp_report_put_none(t);
}

static void op_shape_columns(struct gp_report_table *t)
{
    COLUMN(t, "name", "Operator", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "shapes", "Inputs", GP_CELL_NAME, 0,
           "type and size of its tensors, as far as they were recorded");
    COLUMN(t, "calls", "Calls", GP_CELL_COUNT, 0, "that launched GPU events");
    COLUMN(t, "gpu_events", "Kernels", GP_CELL_COUNT, GP_COLUMN_SPARE, "GPU events launched");
    COLUMN(t, "gpu_ns", "Time", GP_CELL_NS, 0,
           "on the GPU: sum of the durations of its kernels, copies and sets");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_SPARE, "of the durations of all GPU events");
    COLUMN(t, "tflops", "TFLOP/s", GP_CELL_REAL, 0, "from the shapes: analyze/cost/README.md, Work");
    COLUMN(t, "gbps", "GB/s", GP_CELL_REAL, 0, "bytes of its inputs and results, per second");
    COLUMN(t, "ceiling_pct", "Ceiling", GP_CELL_PCT, 0,
           "share of what the device can do by its data sheet, of the nearer of arithmetic and memory");
    COLUMN(t, "arithmetic", "Type", GP_CELL_TEXT, GP_COLUMN_WIDE, "that products are computed in");
    COLUMN(t, "known_ns", "Known", GP_CELL_NS, GP_COLUMN_WIDE, "time of kernels whose work the shapes show");
    COLUMN(t, "flops", "FLOP", GP_CELL_COUNT, GP_COLUMN_WIDE, "in all calls");
    COLUMN(t, "bytes_low", "Bytes, least", GP_CELL_BYTES, GP_COLUMN_WIDE, "each input and result moved once");
    COLUMN(t, "bytes_high", "Bytes, most", GP_CELL_BYTES, GP_COLUMN_WIDE, "if caches keep nothing");
}

static void put_op_shape(struct gp_hta_tables *m, struct gp_report_table *t, const struct gp_op_shape *o,
                         int64_t all_ns)
{
    if (o->name) gp_hta_put_sid(m, t, o->name);
    else gp_report_put_name(m->r, t, "", 0, GP_TEXT("(outside any)"));
    gp_hta_put_sid(m, t, o->shapes);
    gp_report_put(t, (int64_t)o->calls);
    gp_report_put(t, (int64_t)o->gpu_events);
    gp_report_put(t, o->gpu_ns);
    gp_report_put_real(t, gp_pct(o->gpu_ns, all_ns));
    put_rate(t, (double)o->flops, o->known_ns, 1e-3);
    put_rate(t, ((double)o->bytes_low + (double)o->bytes_high) / 2, o->known_ns, 1);
    put_rate(t, (double)o->ceiling_ns, o->ceiling_known_ns, 100);
    if (o->arith == GP_ARITH_NONE) gp_report_put_none(t);
    else gp_report_put_text(m->r, t, gp_arith_name((enum gp_arith)o->arith));
    if (!o->known_ns) {
        for (int i = 0; i < 4; i++) gp_report_put_none(t);
        return;
    }
    gp_report_put(t, o->known_ns);
    gp_report_put(t, o->flops);
    gp_report_put(t, o->bytes_low);
    gp_report_put(t, o->bytes_high);
}

void gp_hta_table_op_shapes(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    int64_t all_ns = 0, left = 0;
    size_t shaped = 0, n = gp_hta_rows_shown(m, h->op_shapes.n);
    for (size_t i = 0; i < h->op_shapes.n; i++) {
        all_ns += h->op_shapes.at[i].gpu_ns;
        shaped += h->op_shapes.at[i].shapes != 0;
    }
    if (!shaped) return;
    struct gp_report_table *t =
        gp_report_add(m->r, "operators_by_shape", "GPU time by operator and input shape");
    op_shape_columns(t);
    for (size_t i = 0; i < h->op_shapes.n; i++) {
        if (i < n) put_op_shape(m, t, &h->op_shapes.at[i], all_ns);
        else left += h->op_shapes.at[i].gpu_ns;
    }
    gp_hta_note_more(m, t, h->op_shapes.n - n, left);
}

void gp_hta_table_ranges(struct gp_hta_tables *m)
{
    add_owners(m, GP_OWNER_RANGE, "ranges", "GPU time by range");
}

void gp_hta_table_modules(struct gp_hta_tables *m)
{
    add_owners(m, GP_OWNER_MODULE, "modules", "GPU time by module");
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
    const struct gp_hta *h = m->h;
    if (!h->api.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "api", "Runtime and driver calls");
    COLUMN(t, "name", "Call", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "total_ns", "Total", GP_CELL_NS, 0, "sum of durations");
    COLUMN(t, "mean_ns", "Mean", GP_CELL_NS, 0, NULL);
    COLUMN(t, "p50_ns", "Median", GP_CELL_NS, 0, "within 1/16");
    COLUMN(t, "max_ns", "Max", GP_CELL_NS, 0, NULL);
    COLUMN(t, "launches", "Launched", GP_CELL_COUNT, GP_COLUMN_SPARE, "GPU events they started");
    COLUMN(t, "outliers", "Outliers", GP_CELL_COUNT, GP_COLUMN_SPARE,
           "longer than 50 us and 10 times the median of that call");
    size_t n = gp_hta_rows_shown(m, h->api.n);
    int64_t left = 0;
    for (size_t i = 0; i < h->api.n; i++) {
        const struct gp_api_stat *a = &h->api.at[i];
        if (i >= n) {
            left += a->dur.sum;
            continue;
        }
        gp_hta_put_sid(m, t, a->name);
        gp_report_put(t, (int64_t)a->dur.n);
        gp_report_put(t, a->dur.sum);
        gp_hta_put_mean(t, &a->dur);
        gp_report_put(t, gp_dist_quantile(&a->dur, 0.5));
        gp_report_put(t, a->dur.max);
        gp_report_put(t, (int64_t)a->launches);
        gp_report_put(t, (int64_t)a->outliers);
    }
    gp_hta_note_more(m, t, h->api.n - n, left);
}

void gp_hta_table_graphs(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->graphs.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "graphs", "CUDA graphs");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "graph", "Graph", GP_CELL_ID, 0, "id; none where the launches carry no id");
    COLUMN(t, "launches", "Launches", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "nodes", "Nodes", GP_CELL_COUNT, 0, "distinct nodes");
    COLUMN(t, "gpu_events", "Kernels", GP_CELL_COUNT, 0, "GPU events of all launches");
    COLUMN(t, "span_mean_ns", "Mean", GP_CELL_NS, 0, "of one launch, first start to last end");
    COLUMN(t, "span_min_ns", "Min", GP_CELL_NS, 0, NULL);
    COLUMN(t, "span_max_ns", "Max", GP_CELL_NS, 0, NULL);
    COLUMN(t, "span_stddev_ns", "Std. dev.", GP_CELL_NS_REAL, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "busy_mean_ns", "Busy", GP_CELL_NS, GP_COLUMN_SPARE, "mean sum of durations of one launch");
    COLUMN(t, "worst_node", "Worst node", GP_CELL_ID, GP_COLUMN_WIDE, "node whose duration varies most");
    COLUMN(t, "worst_node_name", "Its kernel", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "worst_node_min_ns", "Its min", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "worst_node_max_ns", "Its max", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    size_t n = gp_hta_rows_shown(m, h->graphs.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_graph_stat *g = &h->graphs.at[i];
        gp_hta_put_rank(t, g->rank);
        gp_hta_put_id(t, g->graph);
        gp_report_put(t, (int64_t)g->launches);
        gp_report_put(t, (int64_t)g->nodes);
        gp_report_put(t, (int64_t)g->gpu_events);
        gp_hta_put_mean(t, &g->span);
        gp_report_put(t, g->span.min);
        gp_report_put(t, g->span.max);
        gp_report_put_real(t, gp_dist_stddev(&g->span));
        gp_hta_put_mean(t, &g->busy);
        gp_hta_put_id(t, g->worst_node);
        gp_hta_put_kernel(m, t, g->worst_node_name);
        gp_report_put(t, g->worst_node_min_ns);
        gp_report_put(t, g->worst_node_max_ns);
    }
    gp_hta_note_more(m, t, h->graphs.n - n, 0);
}

/* ---- copies and memory ---- */

void gp_hta_table_copies(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->copies.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "copies", "Copies and sets");
    COLUMN(t, "name", "Copy or set", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
    COLUMN(t, "total_ns", "Time", GP_CELL_NS, 0, "sum of durations");
    COLUMN(t, "bandwidth_gbps", "Bandwidth", GP_CELL_GBPS, 0, "bytes / time, in 10^9 bytes per second");
    COLUMN(t, "size_p50_bytes", "Median size", GP_CELL_BYTES, GP_COLUMN_SPARE, "within 1/16");
    COLUMN(t, "size_max_bytes", "Max size", GP_CELL_BYTES, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "pageable", "Pageable", GP_CELL_TEXT, GP_COLUMN_WIDE, "host memory that is not pinned");
    COLUMN(t, "sync_calls", "Blocking", GP_CELL_COUNT, 0, "started by a call that blocks the host");
    size_t n = gp_hta_rows_shown(m, h->copies.n);
    int64_t left = 0;
    for (size_t i = 0; i < h->copies.n; i++) {
        const struct gp_copy_stat *c = &h->copies.at[i];
        if (i >= n) {
            left += c->dur_ns;
            continue;
        }
        gp_hta_put_sid(m, t, c->name);
        gp_report_put(t, (int64_t)c->count);
        gp_report_put(t, c->bytes);
        gp_report_put(t, c->dur_ns);
        gp_hta_put_gbps(t, c->dur_ns > 0 ? (double)c->bytes / (double)c->dur_ns : 0);
        gp_report_put(t, gp_dist_quantile(&c->size, 0.5));
        gp_report_put(t, c->size.max);
        gp_report_put_text(m->r, t, c->pageable ? "yes" : "no");
        gp_report_put(t, (int64_t)c->sync_calls);
    }
    gp_hta_note_more(m, t, h->copies.n - n, left);
}

void gp_hta_table_memory(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->memory.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "memory", "Memory");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "device", "GPU", GP_CELL_ID, 0, "none for host memory");
    COLUMN(t, "allocations", "Allocations", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "frees", "Frees", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "allocated_bytes", "Allocated", GP_CELL_BYTES, GP_COLUMN_SPARE, "in all");
    COLUMN(t, "peak_bytes", "Peak", GP_CELL_BYTES, 0, "allocated at once");
    COLUMN(t, "peak_reserved_bytes", "Reserved", GP_CELL_BYTES, 0, "most reserved by the allocator");
    COLUMN(t, "peak_at_ns", "Peak at", GP_CELL_ID, GP_COLUMN_WIDE, "on the clock of the trace, ns");
    COLUMN(t, "peak_operator", "At the peak", GP_CELL_NAME, 0, "innermost operator at the peak");
    for (size_t i = 0; i < h->memory.n; i++) {
        const struct gp_memory_stat *s = &h->memory.at[i];
        gp_hta_put_rank(t, s->rank);
        gp_hta_put_device(t, s->device);
        gp_report_put(t, (int64_t)s->allocations);
        gp_report_put(t, (int64_t)s->frees);
        gp_report_put(t, s->allocated_bytes);
        gp_report_put(t, s->peak_bytes);
        gp_report_put(t, s->peak_reserved_bytes);
        gp_report_put(t, s->peak_at_ns);
        gp_hta_put_sid(m, t, s->peak_op);
    }
}

void gp_hta_table_range_memory(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->range_memory.n || (h->range_memory.n == 1 && !h->range_memory.at[0].name)) return; /* no ranges */
    struct gp_report_table *t = gp_report_add(m->r, "range_memory", "Memory by range");
    t->note = "Activity counts only for the innermost range.";
    COLUMN(t, "name", "Range", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "allocations", "Allocations", GP_CELL_COUNT, 0, "of device memory");
    COLUMN(t, "frees", "Frees", GP_CELL_COUNT, 0, "of device memory");
    COLUMN(t, "allocated_bytes", "Allocated", GP_CELL_BYTES, 0, "in all");
    COLUMN(t, "freed_bytes", "Freed", GP_CELL_BYTES, GP_COLUMN_SPARE, "in all");
    COLUMN(t, "peak_bytes", "Peak", GP_CELL_BYTES, 0,
           "most memory allocated by the process after an allocation in the range");
    COLUMN(t, "host_allocations", "Host alloc.", GP_CELL_COUNT, GP_COLUMN_WIDE, "allocations of host memory");
    COLUMN(t, "host_bytes", "Host bytes", GP_CELL_BYTES, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "copies", "Copies", GP_CELL_COUNT, 0, "started by its calls");
    COLUMN(t, "copied_bytes", "Copied", GP_CELL_BYTES, 0, NULL);
    size_t n = gp_hta_rows_shown(m, h->range_memory.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_range_memory *s = &h->range_memory.at[i];
        if (s->name) gp_hta_put_sid(m, t, s->name);
        else gp_report_put_text(m->r, t, "(outside any range)");
        gp_report_put(t, (int64_t)s->allocations);
        gp_report_put(t, (int64_t)s->frees);
        gp_report_put(t, s->allocated_bytes);
        gp_report_put(t, s->freed_bytes);
        gp_report_put(t, s->peak_bytes);
        gp_report_put(t, (int64_t)s->host_allocations);
        gp_report_put(t, s->host_bytes);
        gp_report_put(t, (int64_t)s->copies);
        gp_report_put(t, s->copied_bytes);
    }
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
