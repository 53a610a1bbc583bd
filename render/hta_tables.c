#include "render/hta_tables.h"

#include <inttypes.h>
#include <string.h>
#include "analyze/names.h"
#include "render/hta_sums.h"
#include "render/hta_verdict.h"
#include "formats/base/scale.h"

/* What all builders need. */
struct make {
    struct gp_report *r;
    const struct gp_hta *h;
    size_t top;
    bool merged; /* device numbers repeat: several processes' traces were merged */
    struct gp_hta_totals all;
    struct gp_buf label, plain;
};

#define COLUMN gp_report_column

static size_t shown(const struct make *m, size_t n)
{
    return m->top && m->top < n ? m->top : n;
}

/* ---- cells ---- */

static void put_rank(struct gp_report_table *t, int32_t rank)
{
    if (rank < 0) gp_report_put_none(t);
    else gp_report_put(t, rank);
}

static void put_device(struct gp_report_table *t, int64_t device)
{
    if (device < 0) gp_report_put_none(t);
    else gp_report_put(t, device);
}

static void put_sid(struct make *m, struct gp_report_table *t, gp_sid sid)
{
    size_t n = gp_string_len(&m->h->strings, sid);
    if (n) gp_report_put_name(m->r, t, gp_hta_str(m->h, sid), n, NULL, 0);
    else gp_report_put_none(t);
}

static void put_kernel(struct make *m, struct gp_report_table *t, gp_sid sid)
{
    const char *s = gp_hta_str(m->h, sid);
    size_t n = gp_string_len(&m->h->strings, sid);
    m->label.n = m->plain.n = 0;
    gp_name_demangle(&m->plain, s, n);
    gp_name_kernel_label(&m->label, m->plain.n ? m->plain.data : "", m->plain.n);
    gp_report_put_name(m->r, t, s, n, m->label.data, m->label.n);
}

static void put_mean(struct gp_report_table *t, const struct gp_dist *d)
{
    if (!d->n) gp_report_put_none(t);
    else gp_report_put(t, d->sum / (int64_t)d->n);
}

static void put_id(struct gp_report_table *t, uint64_t id)
{
    if (id == GP_NO_ID) gp_report_put_none(t);
    else gp_report_put(t, (int64_t)id);
}

/* The class of a kernel, and the colour of the row. */
static void put_class(struct make *m, struct gp_report_table *t, enum gp_class c)
{
    static const char *const brief[GP_CLASS_COUNT] = {"compute", "comm.", "memory"};
    const char *name = gp_class_name(c);
    gp_report_put_name(m->r, t, name, strlen(name), brief[c], strlen(brief[c]));
    GP_VEC_PUSH(&t->classes, (uint8_t)(1 + c));
}

/* "and 34 more, 1.23 ms in all" */
static void say_more(struct make *m, struct gp_report_table *t, size_t left, int64_t left_ns)
{
    if (!left) return;
    struct gp_buf b = {0};
    gp_buf_puts(&b, "and ");
    gp_scale_put_count(&b, left);
    gp_buf_puts(&b, " more");
    if (left_ns > 0) {
        gp_buf_puts(&b, left > 1 ? ", together " : ", ");
        gp_scale_put(&b, GP_UNIT_NS, left_ns);
    }
    t->more = gp_report_str(m->r, b.data, b.n);
    gp_buf_release(&b);
}

static void rank_columns(struct gp_report_table *t)
{
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "process", "Proc.", GP_CELL_ID, 0,
           "which process of a merged trace; device numbers are its own");
    COLUMN(t, "device", "GPU", GP_CELL_ID, 0, "ordinal of the device");
}

static void put_process(const struct make *m, struct gp_report_table *t, uint32_t producer)
{
    if (m->merged) gp_report_put(t, producer);
    else gp_report_put_none(t);
}

static void put_place(const struct make *m, struct gp_report_table *t, int32_t rank, uint32_t producer,
                      int64_t device)
{
    put_rank(t, rank);
    put_process(m, t, producer);
    put_device(t, device);
}

/* ---- findings ---- */

static bool is_kernel(const struct gp_hta *h, gp_sid name)
{
    for (size_t i = 0; i < h->kernels.n; i++)
        if (h->kernels.at[i].name == name) return true;
    return false;
}

static void add_findings(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->findings.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "findings", "What to look at first");
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, "GPU time that it concerns, all devices together");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of the span of the devices concerned");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "id", "Word", GP_CELL_TEXT, GP_COLUMN_WIDE, "a stable name of the finding");
    COLUMN(t, "finding", "Finding", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "where", "Where", GP_CELL_NAME, GP_COLUMN_BELOW, NULL);
    size_t n = shown(m, h->findings.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_finding *f = &h->findings.at[i];
        gp_report_put(t, f->time_ns);
        gp_report_put_real(t, f->share_pct);
        put_rank(t, f->rank);
        put_sid(m, t, f->id);
        put_sid(m, t, f->text);
        if (is_kernel(h, f->where)) put_kernel(m, t, f->where);
        else put_sid(m, t, f->where);
    }
    say_more(m, t, h->findings.n - n, 0);
}

/* ---- devices ---- */

enum { PARTS = 4, BREAKDOWN_DEVICES = 4 };

static void add_breakdown(struct make *m)
{
    static const char *const names[PARTS] = {"compute", "exposed communication", "exposed memory", "idle"};
    struct gp_report_table *t = gp_report_add(m->r, "breakdown", "Where the time went");
    t->note = "Every moment counts once: compute before communication before memory. Sums to the span.";
    t->detail = m->h->devices.n > BREAKDOWN_DEVICES;
    rank_columns(t);
    COLUMN(t, "part", "Part", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, NULL);
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of the device's span");
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        const bool possible[PARTS] = {true, m->all.b.communication_ns != 0, m->all.b.memory_ns != 0, true};
        const int64_t ns[PARTS] = {d->b.compute_ns, d->b.exposed_communication_ns, d->b.exposed_memory_ns,
                                   d->b.idle_ns};
        for (int p = 0; p < PARTS; p++) {
            if (!possible[p]) continue;
            put_place(m, t, d->rank, d->producer, d->device);
            gp_report_put_text(m->r, t, names[p]);
            gp_report_put(t, ns[p]);
            gp_report_put_real(t, gp_pct(ns[p], d->b.span_ns));
            GP_VEC_PUSH(&t->classes, (uint8_t)(p + 1)); /* the classes, and 4: idle */
        }
    }
}

/* The columns of a breakdown, the shares first: they are what text has room for. */
static void breakdown_columns(struct gp_report_table *t)
{
    COLUMN(t, "span_ns", "Span", GP_CELL_NS, 0, "last GPU event's end - first GPU event's start");
    COLUMN(t, "compute_pct", "Compute", GP_CELL_PCT, 0, "compute_ns / span_ns");
    COLUMN(t, "exposed_communication_pct", "Exp. comm.", GP_CELL_PCT, 0,
           "exposed_communication_ns / span_ns");
    COLUMN(t, "exposed_memory_pct", "Exp. memory", GP_CELL_PCT, 0, "exposed_memory_ns / span_ns");
    COLUMN(t, "idle_pct", "Idle", GP_CELL_PCT, 0, "idle_ns / span_ns");
    COLUMN(t, "overlap_pct", "Overlap", GP_CELL_PCT, GP_COLUMN_SPARE,
           "communication under compute / communication_ns");
    COLUMN(t, "busy_ns", "Busy", GP_CELL_NS, GP_COLUMN_WIDE, "union of all GPU events");
    COLUMN(t, "idle_ns", "Idle time", GP_CELL_NS, GP_COLUMN_WIDE, "span_ns - busy_ns");
    COLUMN(t, "compute_ns", "Compute time", GP_CELL_NS, GP_COLUMN_WIDE,
           "union of compute kernels over streams");
    COLUMN(t, "communication_ns", "Comm. time", GP_CELL_NS, GP_COLUMN_WIDE,
           "union of communication kernels over streams");
    COLUMN(t, "memory_ns", "Memory time", GP_CELL_NS, GP_COLUMN_WIDE,
           "union of copies and sets over streams");
    COLUMN(t, "exposed_communication_ns", "Exp. comm. time", GP_CELL_NS, GP_COLUMN_WIDE,
           "communication not under compute");
    COLUMN(t, "exposed_memory_ns", "Exp. memory time", GP_CELL_NS, GP_COLUMN_WIDE,
           "copies and sets not under compute or communication");
    COLUMN(t, "gpu_events", "GPU events", GP_CELL_COUNT, GP_COLUMN_WIDE, "kernels, copies and sets");
    COLUMN(t, "gpu_ns", "GPU time", GP_CELL_NS, GP_COLUMN_WIDE, "sum of their durations");
}

static void put_breakdown(struct gp_report_table *t, const struct gp_breakdown *b)
{
    gp_report_put(t, b->span_ns);
    gp_report_put_real(t, gp_pct(b->compute_ns, b->span_ns));
    gp_report_put_real(t, gp_pct(b->exposed_communication_ns, b->span_ns));
    gp_report_put_real(t, gp_pct(b->exposed_memory_ns, b->span_ns));
    gp_report_put_real(t, gp_pct(b->idle_ns, b->span_ns));
    if (b->communication_ns) gp_report_put_real(t, gp_pct(b->overlap_ns, b->communication_ns));
    else gp_report_put_none(t);
    const int64_t ns[] = {b->busy_ns,          b->idle_ns,   b->compute_ns,
                          b->communication_ns, b->memory_ns, b->exposed_communication_ns,
                          b->exposed_memory_ns};
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) gp_report_put(t, ns[i]);
    gp_report_put(t, (int64_t)b->gpu_events);
    gp_report_put(t, b->gpu_ns);
}

static void put_part(struct gp_report_table *t, double part, int64_t whole)
{
    if (whole) gp_report_put_real(t, 100 * part / (double)whole);
    else gp_report_put_none(t);
}

static void add_devices(struct make *m)
{
    struct gp_report_table *t = gp_report_add(m->r, "devices", "Devices");
    t->note = "Compute, exposed communication, exposed memory and idle add up to the span.";
    t->detail = m->h->devices.n < 2;
    rank_columns(t);
    COLUMN(t, "name", "Name", GP_CELL_NAME, GP_COLUMN_SPARE, NULL);
    breakdown_columns(t);
    COLUMN(t, "sm_efficiency_pct", "SM efficiency", GP_CELL_PCT, GP_COLUMN_WIDE,
           "estimated: blocks per multiprocessor, at most 1, over the span");
    COLUMN(t, "occupancy_pct", "Occupancy", GP_CELL_PCT, GP_COLUMN_WIDE,
           "estimated from registers, shared memory and block size, weighted by kernel time");
    COLUMN(t, "tensor_core_pct", "Tensor Cores", GP_CELL_PCT, GP_COLUMN_WIDE,
           "time of kernels that use Tensor Cores, by name, of all kernel time");
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        put_place(m, t, d->rank, d->producer, d->device);
        put_sid(m, t, d->name);
        put_breakdown(t, &d->b);
        put_part(t, d->sm_ns, d->sm_known_ns ? d->b.span_ns : 0);
        put_part(t, d->occupancy_ns, d->occupancy_known_ns);
        put_part(t, (double)d->tensor_core_ns, d->kernel_ns);
    }
}

static void add_streams(struct make *m)
{
    struct gp_report_table *t = gp_report_add(m->r, "streams", "Streams");
    t->note = "Each stream alone: its span goes from its own first to its own last GPU event.";
    t->detail = true;
    rank_columns(t);
    COLUMN(t, "stream", "Stream", GP_CELL_ID, 0, NULL);
    COLUMN(t, "name", "Name", GP_CELL_NAME, GP_COLUMN_SPARE, NULL);
    breakdown_columns(t);
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        for (size_t j = 0; j < d->streams.n; j++) {
            put_place(m, t, d->rank, d->producer, d->device);
            put_device(t, d->streams.at[j].stream);
            put_sid(m, t, d->streams.at[j].name);
            put_breakdown(t, &d->streams.at[j].b);
        }
    }
}

/* ---- idle ---- */

static void add_idle(struct make *m)
{
    if (!m->all.b.idle_ns) return;
    struct gp_report_table *t = gp_report_add(m->r, "idle", "Why devices were idle");
    COLUMN(t, "cause", "Cause", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "why", "Why", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "idle_ns", "Idle", GP_CELL_NS, 0, "sum over the devices; the causes sum to their idle time");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of all idle time");
    bool done[GP_IDLE_CAUSE_COUNT] = {false};
    for (int k = 0; k < GP_IDLE_CAUSE_COUNT; k++) { /* the largest that is left */
        int c = -1;
        for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
            if (!done[i] && (c < 0 || m->all.idle_cause_ns[i] > m->all.idle_cause_ns[c])) c = i;
        done[c] = true;
        if (!m->all.idle_cause_ns[c]) break;
        gp_report_put_text(m->r, t, gp_idle_cause_name((enum gp_idle_cause)c));
        gp_report_put_text(m->r, t, gp_hta_cause_brief((enum gp_idle_cause)c));
        gp_report_put(t, m->all.idle_cause_ns[c]);
        gp_report_put_real(t, gp_pct(m->all.idle_cause_ns[c], m->all.b.idle_ns));
    }
}

static void add_idle_list(struct make *m)
{
    if (!m->all.b.idle_ns) return;
    struct gp_report_table *t = gp_report_add(m->r, "idle_list", "Idle time by device and cause");
    t->detail = true;
    rank_columns(t);
    COLUMN(t, "cause", "Cause", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "why", "Why", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "idle_ns", "Idle", GP_CELL_NS, 0, "sums to the device's idle time");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of the device's idle time");
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
            put_place(m, t, d->rank, d->producer, d->device);
            gp_report_put_text(m->r, t, gp_idle_cause_name((enum gp_idle_cause)c));
            gp_report_put_text(m->r, t, gp_idle_cause_text((enum gp_idle_cause)c));
            gp_report_put(t, d->idle_cause_ns[c]);
            gp_report_put_real(t, gp_pct(d->idle_cause_ns[c], d->b.idle_ns));
        }
    }
}

static void put_host(struct make *m, struct gp_report_table *t, const struct gp_idle_culprit *c)
{
    m->label.n = 0;
    gp_hta_culprit_put(&m->label, m->h, c);
    gp_report_put_name(m->r, t, m->label.data, m->label.n, NULL, 0);
}

static void add_culprits(struct make *m)
{
    gp_idle_culprits all = {0};
    gp_hta_culprit_sums(m->h, &all);
    if (all.n) {
        struct gp_report_table *t = gp_report_add(m->r, "culprits", "What the host was doing meanwhile");
        COLUMN(t, "host", "Host", GP_CELL_NAME, 0, "innermost range, Python frame, operator and call");
        COLUMN(t, "cause", "Cause", GP_CELL_TEXT, 0, "see Why devices were idle");
        COLUMN(t, "idle_ns", "Idle", GP_CELL_NS, 0, NULL);
        COLUMN(t, "gaps", "Gaps", GP_CELL_COUNT, 0, "number of idle gaps");
        COLUMN(t, "longest_ns", "Longest", GP_CELL_NS, 0, NULL);
        COLUMN(t, "longest_at_ns", "Longest at", GP_CELL_ID, GP_COLUMN_WIDE, "on the clock of the trace, ns");
        COLUMN(t, "range", "Range", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "python", "Python", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "operator", "Operator", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "api", "Call", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        size_t n = shown(m, all.n);
        int64_t left = 0;
        for (size_t i = 0; i < all.n; i++) {
            const struct gp_idle_culprit *c = &all.at[i];
            if (i >= n) {
                left += c->idle_ns;
                continue;
            }
            put_host(m, t, c);
            const char *cause = gp_idle_cause_name((enum gp_idle_cause)c->cause);
            gp_report_put_text(m->r, t, cause);
            gp_report_put(t, c->idle_ns);
            gp_report_put(t, (int64_t)c->gaps);
            gp_report_put(t, c->longest_ns);
            gp_report_put(t, c->longest_at_ns);
            put_sid(m, t, c->range);
            put_sid(m, t, c->python);
            put_sid(m, t, c->op);
            put_sid(m, t, c->api);
        }
        say_more(m, t, all.n - n, left);
    }
    GP_VEC_FREE(&all);
}

/* ---- kernels ---- */

static void kernel_columns(struct gp_report_table *t)
{
    COLUMN(t, "name", "Kernel, copy or set", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "class", "Class", GP_CELL_TEXT, 0, "compute, communication or memory");
    COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "total_ns", "Total", GP_CELL_NS, 0, "sum of durations");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of the durations of all GPU events");
    COLUMN(t, "mean_ns", "Mean", GP_CELL_NS, 0, "total_ns / count");
    COLUMN(t, "min_ns", "Min", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "max_ns", "Max", GP_CELL_NS, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "stddev_ns", "Std. dev.", GP_CELL_REAL, GP_COLUMN_WIDE, "divided by count; ns");
    COLUMN(t, "p50_ns", "Median", GP_CELL_NS, GP_COLUMN_WIDE, "within 1/16");
    COLUMN(t, "p99_ns", "p99", GP_CELL_NS, GP_COLUMN_WIDE, "within 1/16");
    COLUMN(t, "kind", "Kind", GP_CELL_TEXT, GP_COLUMN_WIDE, "gemm, attention, elementwise, ...");
    COLUMN(t, "tensor_core", "Tensor Cores", GP_CELL_TEXT, GP_COLUMN_WIDE, "by name");
    COLUMN(t, "occupancy_pct", "Occupancy", GP_CELL_PCT, GP_COLUMN_WIDE, "estimated, weighted by time");
    COLUMN(t, "waves", "Waves", GP_CELL_REAL, GP_COLUMN_WIDE,
           "blocks / blocks that fit at once, weighted by time");
    COLUMN(t, "blocks_min", "Blocks min", GP_CELL_COUNT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "blocks_max", "Blocks max", GP_CELL_COUNT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, GP_COLUMN_WIDE, "copies and sets");
}

static void put_kernel_row(struct make *m, struct gp_report_table *t, const struct gp_kernel_stat *k,
                           int64_t all_ns)
{
    const enum gp_class class = gp_class_of((enum gp_frame_kind)k->kind);
    put_kernel(m, t, k->name);
    put_class(m, t, class);
    gp_report_put(t, (int64_t)k->dur.n);
    gp_report_put(t, k->dur.sum);
    gp_report_put_real(t, gp_pct(k->dur.sum, all_ns));
    put_mean(t, &k->dur);
    gp_report_put(t, k->dur.min);
    gp_report_put(t, k->dur.max);
    gp_report_put_real(t, gp_dist_stddev(&k->dur));
    gp_report_put(t, gp_dist_quantile(&k->dur, 0.5));
    gp_report_put(t, gp_dist_quantile(&k->dur, 0.99));
    gp_report_put_text(m->r, t, gp_frame_kind_word((enum gp_frame_kind)k->kind));
    if (class == GP_CLASS_MEMORY) gp_report_put_none(t);
    else gp_report_put_text(m->r, t, k->tensor_core ? "yes" : "no");
    put_part(t, k->occupancy_ns, k->occupancy_known_ns);
    if (k->occupancy_known_ns) gp_report_put_real(t, k->waves_ns / (double)k->occupancy_known_ns);
    else gp_report_put_none(t);
    for (int i = 0; i < 2; i++) {
        uint64_t blocks = i ? k->grid_blocks_max : k->grid_blocks_min;
        if (k->grid_blocks_max) gp_report_put(t, (int64_t)blocks);
        else gp_report_put_none(t);
    }
    if (class == GP_CLASS_MEMORY) gp_report_put(t, k->bytes);
    else gp_report_put_none(t);
}

static void add_kernels(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->kernels.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "kernels", "GPU time by kernel");
    int64_t all_ns = 0, left = 0;
    kernel_columns(t);
    for (size_t i = 0; i < h->kernels.n; i++) all_ns += h->kernels.at[i].dur.sum;
    size_t n = shown(m, h->kernels.n);
    for (size_t i = 0; i < h->kernels.n; i++) {
        if (i < n) put_kernel_row(m, t, &h->kernels.at[i], all_ns);
        else left += h->kernels.at[i].dur.sum;
    }
    say_more(m, t, h->kernels.n - n, left);
}

/* Owners of one sort; nothing when nothing of that sort launched anything. */
static void add_owners(struct make *m, enum gp_owner_sort sort, const char *id, const char *title)
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
    COLUMN(t, "calls", "Calls", GP_CELL_COUNT, 0, "that launched something");
    COLUMN(t, "gpu_events", "Kernels", GP_CELL_COUNT, 0, "GPU events launched");
    COLUMN(t, "gpu_ns", "GPU time", GP_CELL_NS, 0, "sum of their durations");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of the durations of all GPU events");
    COLUMN(t, "host_ns", "Host time", GP_CELL_NS, 0, "sum of the durations of those calls");
    COLUMN(t, "delay_mean_ns", "Delay", GP_CELL_NS, GP_COLUMN_SPARE,
           "mean from the end of the launch to the start");
    for (size_t i = 0; i < h->owners.n; i++) {
        const struct gp_owner_stat *o = &h->owners.at[i];
        if (o->sort != (uint32_t)sort || !o->gpu_events) continue;
        if (m->top && rows++ >= m->top) {
            left += o->gpu_ns;
            continue;
        }
        if (o->name) put_sid(m, t, o->name);
        else gp_report_put_name(m->r, t, "", 0, "(outside any)", strlen("(outside any)"));
        gp_report_put(t, (int64_t)o->calls);
        gp_report_put(t, (int64_t)o->gpu_events);
        gp_report_put(t, o->gpu_ns);
        gp_report_put_real(t, gp_pct(o->gpu_ns, all_ns));
        gp_report_put(t, o->host_ns);
        put_mean(t, &o->delay);
    }
    if (m->top && rows > m->top) say_more(m, t, rows - m->top, left);
}

/* ---- launches ---- */

static void put_figure(struct make *m, struct gp_report_table *t, const char *figure, enum gp_cell_type type,
                       int64_t v, const char *unit)
{
    gp_report_put_text(m->r, t, figure);
    gp_report_put_as(t, type, v);
    gp_report_put_text(m->r, t, unit);
}

static void add_launches(struct make *m)
{
    const struct gp_hta_launches *l = &m->h->launches;
    if (!l->calls) return;
    struct gp_report_table *t = gp_report_add(m->r, "launches", "Launches");
    COLUMN(t, "figure", "Figure", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "value", "Value", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "unit", "Unit", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    put_figure(m, t, "launching calls", GP_CELL_COUNT, (int64_t)l->calls, "calls");
    put_figure(m, t, "GPU events with a launch record", GP_CELL_COUNT, (int64_t)l->linked, "events");
    if (l->linked < l->gpu_events)
        put_figure(m, t, "GPU events without a launch record", GP_CELL_COUNT,
                   (int64_t)(l->gpu_events - l->linked), "events");
    if (l->graph_calls) {
        put_figure(m, t, "graph launches", GP_CELL_COUNT, (int64_t)l->graph_calls, "calls");
        put_figure(m, t, "GPU events started by graphs", GP_CELL_COUNT, (int64_t)l->graph_events, "events");
    }
    put_figure(m, t, "kernels shorter than the call that launched them", GP_CELL_COUNT,
               (int64_t)l->short_kernels, "events");
    if (l->short_kernels) put_figure(m, t, "their GPU time", GP_CELL_NS, l->short_kernel_ns, "ns");
    if (l->before_launch) {
        put_figure(m, t, "GPU events that start before their launch", GP_CELL_COUNT,
                   (int64_t)l->before_launch, "events");
        put_figure(m, t, "the worst of them, too early by", GP_CELL_NS, l->worst_before_ns, "ns");
    }
    put_figure(m, t, "longest queue of a stream", GP_CELL_COUNT, (int64_t)l->max_queue, "events");
    if (l->queue_full_ns)
        put_figure(m, t, "time with 1,024 or more queued", GP_CELL_NS, l->queue_full_ns, "ns");
}

static void put_dist(struct make *m, struct gp_report_table *t, const char *what, enum gp_cell_type type,
                     const struct gp_dist *d)
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

static void add_launch_times(struct make *m)
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
    COLUMN(t, "unit", "Unit", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    put_dist(m, t, "the call itself", GP_CELL_NS, &l->api_dur);
    put_dist(m, t, "end of call to start on GPU", GP_CELL_NS, &l->delay);
    put_dist(m, t, "queued before it", GP_CELL_COUNT, &l->queue_len);
}

static void add_api(struct make *m)
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
    size_t n = shown(m, h->api.n);
    int64_t left = 0;
    for (size_t i = 0; i < h->api.n; i++) {
        const struct gp_api_stat *a = &h->api.at[i];
        if (i >= n) {
            left += a->dur.sum;
            continue;
        }
        put_sid(m, t, a->name);
        gp_report_put(t, (int64_t)a->dur.n);
        gp_report_put(t, a->dur.sum);
        put_mean(t, &a->dur);
        gp_report_put(t, gp_dist_quantile(&a->dur, 0.5));
        gp_report_put(t, a->dur.max);
        gp_report_put(t, (int64_t)a->launches);
        gp_report_put(t, (int64_t)a->outliers);
    }
    say_more(m, t, h->api.n - n, left);
}

static void add_graphs(struct make *m)
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
    COLUMN(t, "span_stddev_ns", "Std. dev.", GP_CELL_REAL, GP_COLUMN_WIDE, "ns");
    COLUMN(t, "busy_mean_ns", "Busy", GP_CELL_NS, GP_COLUMN_SPARE, "mean sum of durations of one launch");
    COLUMN(t, "worst_node", "Worst node", GP_CELL_ID, GP_COLUMN_WIDE, "whose duration spreads most");
    COLUMN(t, "worst_node_name", "Its kernel", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "worst_node_min_ns", "Its min", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "worst_node_max_ns", "Its max", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    size_t n = shown(m, h->graphs.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_graph_stat *g = &h->graphs.at[i];
        put_rank(t, g->rank);
        put_id(t, g->graph);
        gp_report_put(t, (int64_t)g->launches);
        gp_report_put(t, (int64_t)g->nodes);
        gp_report_put(t, (int64_t)g->gpu_events);
        put_mean(t, &g->span);
        gp_report_put(t, g->span.min);
        gp_report_put(t, g->span.max);
        gp_report_put_real(t, gp_dist_stddev(&g->span));
        put_mean(t, &g->busy);
        put_id(t, g->worst_node);
        put_kernel(m, t, g->worst_node_name);
        gp_report_put(t, g->worst_node_min_ns);
        gp_report_put(t, g->worst_node_max_ns);
    }
    say_more(m, t, h->graphs.n - n, 0);
}

/* ---- steps ---- */

static void add_steps(struct make *m)
{
    gp_step_spreads all = {0};
    gp_hta_step_spreads(m->h, &all);
    if (all.n) {
        struct gp_report_table *t = gp_report_add(m->r, "steps", "Steps");
        t->note = "GPU time from a step's first GPU event to that of the next; whole steps alone.";
        rank_columns(t);
        COLUMN(t, "source", "Found by", GP_CELL_TEXT, 0, "marker, graph or period");
        COLUMN(t, "steps", "Steps", GP_CELL_COUNT, 0, "cut ones included");
        COLUMN(t, "cut", "Cut", GP_CELL_COUNT, GP_COLUMN_WIDE, "by the trace's edge");
        COLUMN(t, "median_ns", "Median", GP_CELL_NS, 0, NULL);
        COLUMN(t, "mean_ns", "Mean", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "stddev_ns", "Std. dev.", GP_CELL_NS, 0, "divided by the number of steps");
        COLUMN(t, "min_ns", "Min", GP_CELL_NS, 0, NULL);
        COLUMN(t, "max_ns", "Max", GP_CELL_NS, 0, NULL);
        COLUMN(t, "idle_pct", "Idle", GP_CELL_PCT, 0, "of the steps' time");
        COLUMN(t, "slowest", "Slowest", GP_CELL_NAME, GP_COLUMN_SPARE, NULL);
        for (size_t i = 0; i < all.n; i++) {
            const struct gp_step_spread *s = &all.at[i];
            put_place(m, t, s->first->rank, s->first->producer, s->first->device);
            gp_report_put_text(m->r, t, gp_step_source_name((enum gp_step_source)s->first->source));
            gp_report_put(t, (int64_t)s->count);
            gp_report_put(t, (int64_t)(s->count - s->used));
            gp_report_put(t, s->median_ns);
            gp_report_put(t, (int64_t)(s->mean_ns + 0.5));
            gp_report_put(t, (int64_t)(s->stddev_ns + 0.5));
            gp_report_put(t, s->fastest->b.span_ns);
            gp_report_put(t, s->slowest->b.span_ns);
            gp_report_put_real(t, gp_pct(s->sum.idle_ns, s->sum.span_ns));
            put_sid(m, t, s->slowest->name);
        }
    }
    GP_VEC_FREE(&all);
}

static void add_step_list(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->steps.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "step_list", "Each step");
    rank_columns(t);
    COLUMN(t, "name", "Step", GP_CELL_NAME, 0, NULL);
    breakdown_columns(t);
    COLUMN(t, "launches", "Launches", GP_CELL_COUNT, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "begin_ns", "Begin", GP_CELL_ID, GP_COLUMN_WIDE, "GPU window, on the clock of the trace, ns");
    COLUMN(t, "end_ns", "End", GP_CELL_ID, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "host_ns", "Host time", GP_CELL_NS, GP_COLUMN_WIDE,
           "the marker, or first launch to last launch");
    COLUMN(t, "cut", "Cut", GP_CELL_TEXT, GP_COLUMN_WIDE, "by the trace's edge");
    for (size_t i = 0; i < h->steps.n; i++) {
        const struct gp_hta_step *s = &h->steps.at[i];
        put_place(m, t, s->rank, s->producer, s->device);
        put_sid(m, t, s->name);
        put_breakdown(t, &s->b);
        gp_report_put(t, (int64_t)s->launches);
        gp_report_put(t, s->begin_ns);
        gp_report_put(t, s->end_ns);
        gp_report_put(t, s->host_end_ns - s->host_begin_ns);
        gp_report_put_text(m->r, t, s->partial ? "yes" : "no");
    }
}

/* ---- communication ---- */

static void put_bytes(struct gp_report_table *t, int64_t bytes)
{
    if (bytes < 0) gp_report_put_none(t);
    else gp_report_put(t, bytes);
}

static void put_gbps(struct gp_report_table *t, double gbps)
{
    if (gbps > 0) gp_report_put_real(t, gbps);
    else gp_report_put_none(t);
}

static void add_collectives(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->collective_stats.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "collectives", "Communication");
    COLUMN(t, "operation", "Operation", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "group", "Group", GP_CELL_NAME, GP_COLUMN_SPARE, "process group");
    COLUMN(t, "group_size", "Ranks", GP_CELL_ID, 0, "of the group");
    COLUMN(t, "type", "Type", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "mean_bytes", "Each", GP_CELL_BYTES, 0, "mean size, where known");
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, GP_COLUMN_WIDE, "in all, where known");
    COLUMN(t, "total_ns", "Total", GP_CELL_NS, 0, "sum of durations, waiting included");
    COLUMN(t, "mean_ns", "Mean", GP_CELL_NS, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "max_ns", "Max", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "skew_mean_ns", "Skew", GP_CELL_NS, 0, "mean of last start - first start over the ranks");
    COLUMN(t, "skew_max_ns", "Skew max", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "algbw_gbps", "Alg. bandwidth", GP_CELL_GBPS, GP_COLUMN_WIDE,
           "bytes / duration, of the median one");
    COLUMN(t, "busbw_gbps", "Bus bw.", GP_CELL_GBPS, 0, "algorithm bandwidth x the operation's bus factor");
    size_t n = shown(m, h->collective_stats.n);
    int64_t left = 0;
    for (size_t i = 0; i < h->collective_stats.n; i++) {
        const struct gp_collective_stat *c = &h->collective_stats.at[i];
        if (i >= n) {
            left += c->dur.sum;
            continue;
        }
        put_sid(m, t, c->op);
        put_sid(m, t, c->group);
        if (c->group_size) gp_report_put(t, c->group_size);
        else gp_report_put_none(t);
        put_sid(m, t, c->dtype);
        gp_report_put(t, (int64_t)c->count);
        put_bytes(t, c->bytes > 0 && c->count ? c->bytes / (int64_t)c->count : c->bytes);
        put_bytes(t, c->bytes);
        gp_report_put(t, c->dur.sum);
        put_mean(t, &c->dur);
        gp_report_put(t, c->dur.max);
        put_mean(t, &c->skew);
        if (c->skew.n) gp_report_put(t, c->skew.max);
        else gp_report_put_none(t);
        put_gbps(t, c->algbw_gbps);
        put_gbps(t, c->busbw_gbps);
    }
    say_more(m, t, h->collective_stats.n - n, left);
}

static void add_matches(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->matches.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "collective_list", "Collectives matched over ranks");
    t->detail = true;
    COLUMN(t, "operation", "Operation", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "group", "Group", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "type", "Type", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "sequence", "Sequence", GP_CELL_ID, 0, "number in the group, or the place in the order");
    COLUMN(t, "matched_by", "Matched by", GP_CELL_TEXT, 0, "sequence or order");
    COLUMN(t, "ranks", "Ranks", GP_CELL_COUNT, 0, "that have it");
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
    COLUMN(t, "start_skew_ns", "Start skew", GP_CELL_NS, 0, "last start - first start, clocks lined up");
    COLUMN(t, "end_skew_ns", "End skew", GP_CELL_NS, 0, NULL);
    COLUMN(t, "duration_ns", "Duration", GP_CELL_NS, 0, "the shortest over the ranks");
    COLUMN(t, "wait_ns", "Wait", GP_CELL_NS, 0, "sum over ranks of last start - own start");
    COLUMN(t, "last_rank", "Last rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "algbw_gbps", "Alg. bandwidth", GP_CELL_GBPS, 0, NULL);
    COLUMN(t, "busbw_gbps", "Bus bandwidth", GP_CELL_GBPS, 0, NULL);
    for (size_t i = 0; i < h->matches.n; i++) {
        const struct gp_collective_match *c = &h->matches.at[i];
        put_sid(m, t, c->op);
        put_sid(m, t, c->group);
        put_sid(m, t, c->dtype);
        put_id(t, c->seq);
        gp_report_put_text(m->r, t, c->by_seq ? "sequence" : "order");
        gp_report_put(t, c->ranks);
        put_bytes(t, c->bytes);
        gp_report_put(t, c->start_skew_ns);
        gp_report_put(t, c->end_skew_ns);
        gp_report_put(t, c->duration_ns);
        gp_report_put(t, c->wait_ns);
        put_rank(t, c->last_rank);
        put_gbps(t, c->algbw_gbps);
        put_gbps(t, c->busbw_gbps);
    }
}

static void add_stragglers(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->stragglers.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "stragglers", "Who came last");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "collectives", "Collectives", GP_CELL_COUNT, 0, "matched ones it took part in");
    COLUMN(t, "times_last", "Last in", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "last_pct", "Share", GP_CELL_PCT, 0, "times_last / collectives");
    COLUMN(t, "lateness_ns", "Late by", GP_CELL_NS, 0, "sum of own start - median start, where positive");
    COLUMN(t, "caused_wait_ns", "Others waited", GP_CELL_NS, 0, "in the collectives where it was last");
    size_t n = shown(m, h->stragglers.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_straggler *s = &h->stragglers.at[i];
        put_rank(t, s->rank);
        gp_report_put(t, (int64_t)s->matched);
        gp_report_put(t, (int64_t)s->times_last);
        gp_report_put_real(t, gp_pct((int64_t)s->times_last, (int64_t)s->matched));
        gp_report_put(t, s->lateness_ns);
        gp_report_put(t, s->caused_wait_ns);
    }
    say_more(m, t, h->stragglers.n - n, 0);
}

static void add_offsets(struct make *m)
{
    const struct gp_hta *h = m->h;
    size_t estimated = 0;
    for (size_t i = 0; i < h->offsets.n; i++) estimated += h->offsets.at[i].pairs > 0;
    if (!estimated) return;
    struct gp_report_table *t = gp_report_add(m->r, "offsets", "Clocks of the ranks");
    t->note = "Estimated from the ends of collectives, against the lowest rank.";
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "offset_ns", "Offset", GP_CELL_NS, 0, "to be added to the rank's clock");
    COLUMN(t, "error_ns", "Error", GP_CELL_NS, 0, "median absolute deviation");
    COLUMN(t, "pairs", "Collectives", GP_CELL_COUNT, 0, "that it was estimated from");
    size_t n = shown(m, h->offsets.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_rank_offset *o = &h->offsets.at[i];
        put_rank(t, o->rank);
        gp_report_put(t, o->offset_ns);
        gp_report_put(t, o->error_ns);
        gp_report_put(t, o->pairs);
    }
    say_more(m, t, h->offsets.n - n, 0);
}

/* ---- copies and memory ---- */

static void add_copies(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->copies.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "copies", "Copies and sets");
    COLUMN(t, "name", "Copy or set", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
    COLUMN(t, "total_ns", "Time", GP_CELL_NS, 0, "sum of durations");
    COLUMN(t, "bandwidth_gbps", "Bandwidth", GP_CELL_GBPS, 0, "bytes / time, 10^9 bytes a second");
    COLUMN(t, "size_p50_bytes", "Median size", GP_CELL_BYTES, GP_COLUMN_SPARE, "within 1/16");
    COLUMN(t, "size_max_bytes", "Max size", GP_CELL_BYTES, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "pageable", "Pageable", GP_CELL_TEXT, GP_COLUMN_WIDE, "host memory that is not pinned");
    COLUMN(t, "sync_calls", "Blocking", GP_CELL_COUNT, 0, "started by a call that blocks the host");
    size_t n = shown(m, h->copies.n);
    int64_t left = 0;
    for (size_t i = 0; i < h->copies.n; i++) {
        const struct gp_copy_stat *c = &h->copies.at[i];
        if (i >= n) {
            left += c->dur_ns;
            continue;
        }
        put_sid(m, t, c->name);
        gp_report_put(t, (int64_t)c->count);
        gp_report_put(t, c->bytes);
        gp_report_put(t, c->dur_ns);
        put_gbps(t, c->dur_ns > 0 ? (double)c->bytes / (double)c->dur_ns : 0);
        gp_report_put(t, gp_dist_quantile(&c->size, 0.5));
        gp_report_put(t, c->size.max);
        gp_report_put_text(m->r, t, c->pageable ? "yes" : "no");
        gp_report_put(t, (int64_t)c->sync_calls);
    }
    say_more(m, t, h->copies.n - n, left);
}

static void add_memory(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->memory.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "memory", "Memory");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "device", "GPU", GP_CELL_ID, 0, "none: host memory");
    COLUMN(t, "allocations", "Allocations", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "frees", "Frees", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "allocated_bytes", "Allocated", GP_CELL_BYTES, GP_COLUMN_SPARE, "in all");
    COLUMN(t, "peak_bytes", "Peak", GP_CELL_BYTES, 0, "allocated at once");
    COLUMN(t, "peak_reserved_bytes", "Reserved", GP_CELL_BYTES, 0, "by the allocator, at most");
    COLUMN(t, "peak_at_ns", "Peak at", GP_CELL_ID, GP_COLUMN_WIDE, "on the clock of the trace, ns");
    COLUMN(t, "peak_operator", "At the peak", GP_CELL_NAME, 0, "innermost operator");
    for (size_t i = 0; i < h->memory.n; i++) {
        const struct gp_memory_stat *s = &h->memory.at[i];
        put_rank(t, s->rank);
        put_device(t, s->device);
        gp_report_put(t, (int64_t)s->allocations);
        gp_report_put(t, (int64_t)s->frees);
        gp_report_put(t, s->allocated_bytes);
        gp_report_put(t, s->peak_bytes);
        gp_report_put(t, s->peak_reserved_bytes);
        gp_report_put(t, s->peak_at_ns);
        put_sid(m, t, s->peak_op);
    }
}

/* ---- critical path ---- */

static void add_path_bounds(struct make *m)
{
    const struct gp_hta *h = m->h;
    if (!h->paths.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "critical_path", "What bounds the time");
    t->note = "Along the critical path: work that had to happen before the last event could end.";
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "process", "Proc.", GP_CELL_ID, 0, NULL);
    COLUMN(t, "window", "Window", GP_CELL_NAME, GP_COLUMN_SPARE, "step, or none for the whole trace");
    COLUMN(t, "bound", "Bound", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "what", "Bound by", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, "sums to the length of the path");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of the length of the path");
    for (size_t i = 0; i < h->paths.n; i++) {
        const struct gp_hta_path *p = &h->paths.at[i];
        for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) {
            if (!p->bound_ns[b]) continue;
            put_rank(t, p->rank);
            put_process(m, t, p->producer);
            put_sid(m, t, p->window);
            gp_report_put_text(m->r, t, gp_path_bound_name((enum gp_path_bound)b));
            gp_report_put_text(m->r, t, gp_path_bound_text((enum gp_path_bound)b));
            gp_report_put(t, p->bound_ns[b]);
            gp_report_put_real(t, gp_pct(p->bound_ns[b], p->end_ns - p->begin_ns));
        }
    }
    t->detail = h->paths.n > BREAKDOWN_DEVICES;
}

static void put_path_name(struct make *m, struct gp_report_table *t, gp_sid name, gp_sid full)
{
    const struct gp_strings *s = &m->h->strings;
    gp_sid whole = full ? full : name;
    if (!gp_string_len(s, name)) {
        gp_report_put_name(m->r, t, "", 0, "(nothing recorded)", strlen("(nothing recorded)"));
        return;
    }
    gp_report_put_name(m->r, t, gp_string(s, whole), gp_string_len(s, whole), gp_string(s, name),
                       gp_string_len(s, name));
}

static void add_path_names(struct make *m, const struct gp_hta_path *p, struct gp_report_table *t)
{
    gp_path_sums sums = {0};
    gp_hta_path_sums(p, &sums);
    size_t n = shown(m, sums.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_path_sum *s = &sums.at[i];
        put_rank(t, p->rank);
        put_process(m, t, p->producer);
        put_path_name(m, t, s->name, s->full);
        gp_report_put_text(m->r, t, gp_path_bound_name((enum gp_path_bound)s->bound));
        gp_report_put(t, (int64_t)s->count);
        gp_report_put(t, s->total_ns);
        gp_report_put_real(t, gp_pct(s->total_ns, p->end_ns - p->begin_ns));
        gp_report_put(t, s->longest_ns);
    }
    if (m->h->paths.n == 1) say_more(m, t, sums.n - n, 0);
    GP_VEC_FREE(&sums);
}

static void add_path_name_table(struct make *m)
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
    for (size_t i = 0; i < h->paths.n; i++) add_path_names(m, &h->paths.at[i], t);
}

static void add_path_pieces(struct make *m)
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
    for (size_t i = 0; i < h->paths.n; i++) {
        const struct gp_hta_path *p = &h->paths.at[i];
        for (size_t j = 0; j < p->pieces.n; j++) {
            const struct gp_path_piece *q = &p->pieces.at[j];
            put_rank(t, p->rank);
            put_process(m, t, p->producer);
            gp_report_put(t, q->begin_ns);
            gp_report_put(t, q->end_ns - q->begin_ns);
            gp_report_put_text(m->r, t, gp_path_bound_name((enum gp_path_bound)q->bound));
            put_path_name(m, t, q->name, q->full);
            put_device(t, q->stream);
            if (q->stream < 0) gp_report_put(t, q->tid);
            else gp_report_put_none(t);
        }
    }
}

/* ---- inputs ---- */

static void add_inputs(struct make *m)
{
    const struct gp_hta *h = m->h;
    struct gp_report_table *t = gp_report_add(m->r, "inputs", "Inputs");
    t->detail = true;
    COLUMN(t, "path", "File", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "format", "Format", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "compression", "Compression", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "events", "Events", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "gpu_events", "GPU events", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "verdict", "Quality", GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < h->inputs.n; i++) {
        const struct gp_hta_input *in = &h->inputs.at[i];
        put_sid(m, t, in->path);
        put_sid(m, t, in->format);
        put_sid(m, t, in->compression);
        put_rank(t, in->rank);
        gp_report_put(t, (int64_t)in->events);
        gp_report_put(t, (int64_t)in->gpu_events);
        put_sid(m, t, in->verdict);
    }
}

static void add_quality(struct make *m)
{
    const struct gp_hta *h = m->h;
    struct gp_report_table *t = NULL;
    for (size_t i = 0; i < h->inputs.n; i++) {
        for (int k = 0; k < GP_ISSUE_COUNT; k++) {
            const struct gp_issue *q = &h->inputs.at[i].issues[k];
            if (!q->count) continue;
            if (!t) {
                t = gp_report_add(m->r, "quality", "What was wrong with the input");
                t->detail = true;
                COLUMN(t, "path", "File", GP_CELL_NAME, 0, NULL);
                COLUMN(t, "kind", "Kind", GP_CELL_TEXT, 0, NULL);
                COLUMN(t, "what", "What", GP_CELL_TEXT, 0, NULL);
                COLUMN(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
                COLUMN(t, "first_offset", "First at byte", GP_CELL_ID, 0, "of the decompressed input");
            }
            put_sid(m, t, h->inputs.at[i].path);
            gp_report_put_text(m->r, t, gp_issue_name((enum gp_issue_kind)k));
            gp_report_put_text(m->r, t, gp_issue_text((enum gp_issue_kind)k));
            gp_report_put(t, (int64_t)q->count);
            put_device(t, q->first_offset);
        }
    }
}

static void add_operators(struct make *m)
{
    add_owners(m, GP_OWNER_OP, "operators", "GPU time by operator");
}

static void add_ranges(struct make *m)
{
    add_owners(m, GP_OWNER_RANGE, "ranges", "GPU time by range");
}

static void add_modules(struct make *m)
{
    add_owners(m, GP_OWNER_MODULE, "modules", "GPU time by module");
}

/* All tables, in their order. */
struct builder {
    const char *id;
    bool detail; /* not for text */
    void (*build)(struct make *m);
};

static const struct builder builders[] = {
    {"findings", false, add_findings},
    {"breakdown", false, add_breakdown},
    {"devices", false, add_devices},
    {"streams", true, add_streams},
    {"idle", false, add_idle},
    {"idle_list", true, add_idle_list},
    {"culprits", false, add_culprits},
    {"kernels", false, add_kernels},
    {"operators", false, add_operators},
    {"ranges", false, add_ranges},
    {"modules", false, add_modules},
    {"launches", false, add_launches},
    {"launch_times", false, add_launch_times},
    {"api", false, add_api},
    {"graphs", false, add_graphs},
    {"steps", false, add_steps},
    {"step_list", false, add_step_list},
    {"collectives", false, add_collectives},
    {"collective_list", true, add_matches},
    {"stragglers", false, add_stragglers},
    {"offsets", false, add_offsets},
    {"copies", false, add_copies},
    {"memory", false, add_memory},
    {"critical_path", false, add_path_bounds},
    {"critical_names", false, add_path_name_table},
    {"critical_pieces", true, add_path_pieces},
    {"inputs", true, add_inputs},
    {"quality", true, add_quality},
};

const char *gp_hta_table_id(size_t i)
{
    return i < sizeof builders / sizeof *builders ? builders[i].id : NULL;
}

static void drop_empty(struct gp_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->tables.n; i++) {
        struct gp_report_table *t = r->tables.at[i];
        if (gp_report_rows(t)) r->tables.at[n++] = t;
        else GP_VEC_FREE(&t->columns);
    }
    r->tables.n = n;
}

void gp_hta_report(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_report_opts *o)
{
    struct make m = {.r = r, .h = h, .top = o->top};
    m.all = gp_hta_totals(h);
    for (size_t i = 0; i < h->devices.n; i++) m.merged |= h->devices.at[i].producer != h->devices.at[0].producer;
    gp_hta_say(r, h, &m.all);
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
        const struct builder *b = &builders[i];
        if (o->only ? strcmp(o->only, b->id) != 0 : b->detail && o->brief) continue;
        if (strcmp(b->id, "step_list") != 0 || o->steps) b->build(&m);
    }
    drop_empty(r);
    gp_buf_release(&m.label);
    gp_buf_release(&m.plain);
}
