#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"
#include "analyze/result/keep.h"
#include "analyze/math/sums.h"

/* ---- fields ---- */

static const struct gp_field cause_fields[] = {
#define X(id, name, text, brief)                                                                             \
    {name "_ns",           NULL,         GP_CELL_NS,          gp_member_i64,                                 \
     id * sizeof(int64_t), .help = text, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    GP_IDLE_CAUSES(X)
#undef X
};
const struct gp_record gp_hta_idle_causes = {"idle", NULL, GP_FIELDS(cause_fields),
                                             GP_IDLE_CAUSE_COUNT * sizeof(int64_t),
                                             .note = "idle time by cause; sums to idle_ns"};

#define AT(member) offsetof(struct gp_breakdown, member)

/* A time in percent of the span. */
GP_GETTER(get_pct)
{
    gp_cell_real(c,
                 gp_pct(*(const int64_t *)gp_member_at(row, f), ((const struct gp_breakdown *)row)->span_ns));
}

GP_GETTER(get_overlap)
{
    const struct gp_breakdown *b = row;
    gp_cell_share(c, (double)b->overlap_ns, (double)b->communication_ns);
}

#define NS(member) GP_CELL_NS, gp_member_i64, AT(member), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM
static const struct gp_field breakdown_fields[] = {
    {"span_ns", "Span", NS(span_ns), .help = "last GPU event's end - first GPU event's start",
     .flags = GP_FIELD_TIMED},
    {"busy_ns", "Busy", NS(busy_ns), .help = "union of all GPU events",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"idle_ns", "Idle time", NS(idle_ns), .help = "span_ns - busy_ns",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"compute_ns", "Compute time", NS(compute_ns), .help = "union of compute kernels over streams",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"communication_ns", "Comm. time", NS(communication_ns),
     .help = "union of communication kernels over streams", .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"memory_ns", "Memory time", NS(memory_ns), .help = "union of copies and sets over streams",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"exposed_communication_ns", "Exp. comm. time", NS(exposed_communication_ns),
     .help = "communication not under compute", .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"exposed_memory_ns", "Exp. memory time", NS(exposed_memory_ns),
     .help = "copies and sets not under compute or communication", .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"compute_pct", "Compute", GP_CELL_PCT, get_pct, AT(compute_ns), .help = "compute_ns / span_ns",
     .after = "span_ns", .flags = GP_FIELD_TIMED},
    {"exposed_communication_pct", "Exp. comm.", GP_CELL_PCT, get_pct, AT(exposed_communication_ns),
     .help = "exposed_communication_ns / span_ns", .after = "compute_pct", .flags = GP_FIELD_TIMED},
    {"exposed_memory_pct", "Exp. memory", GP_CELL_PCT, get_pct, AT(exposed_memory_ns),
     .help = "exposed_memory_ns / span_ns", .after = "exposed_communication_pct", .flags = GP_FIELD_TIMED},
    {"idle_pct", "Idle", GP_CELL_PCT, get_pct, AT(idle_ns), .help = "idle_ns / span_ns",
     .after = "exposed_memory_pct", .flags = GP_FIELD_TIMED},
    {"overlap_pct", "Overlap", GP_CELL_PCT, get_overlap, 0,
     .help = "communication under compute / communication_ns",
     .flags = GP_FIELD_TIMED | GP_COLUMN_SPARE | GP_FIELD_NULL, .after = "idle_pct"},
    {.at = AT(overlap_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
};

const struct gp_record gp_hta_breakdown = {
    "breakdown", NULL, GP_FIELDS(breakdown_fields), sizeof(struct gp_breakdown),
    .note = "compute_ns + exposed_communication_ns + exposed_memory_ns + idle_ns == span_ns; all null: the "
            "GPU was measured "
            "kernel by kernel, so times between launches mean nothing"};

static const struct gp_field window_fields[] = {
    {"gpu_events", "GPU events", GP_CELL_COUNT, gp_member_u64, AT(gpu_events),
     .help = "kernels, copies and sets", .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"gpu_ns", "GPU time", NS(gpu_ns), .help = "sum of their durations", .flags = GP_COLUMN_WIDE},
    {"begin_ns", NULL, GP_CELL_NS, gp_member_i64, AT(begin_ns), .help = "on the clock of the trace",
     .flags = GP_FIELD_SIGNED | GP_FIELD_TIMED, .keep = GP_KEEP_I64},
    {"end_ns", NULL, GP_CELL_NS, gp_member_i64, AT(end_ns), .help = "on the clock of the trace",
     .flags = GP_FIELD_SIGNED | GP_FIELD_TIMED, .keep = GP_KEEP_I64},
};
#undef NS
#undef AT

const struct gp_record gp_hta_window = {"window", NULL, GP_FIELDS(window_fields), sizeof(struct gp_breakdown),
                                        .note = "what is in the span"};

/* ---- measuring ---- */

/* The length of a union of intervals sorted by start, without storing any. */
struct cover {
    int64_t length_ns, end_ns;
};

static void cover(struct cover *c, int64_t begin_ns, int64_t end_ns)
{
    if (begin_ns < c->end_ns) begin_ns = c->end_ns;
    if (end_ns <= begin_ns) return;
    c->length_ns += end_ns - begin_ns;
    c->end_ns = end_ns;
}

/* Uncovered time follows from unions only: |A not under B| = |A or B| - |B|. */
struct covers {
    struct cover of[GP_CLASS_COUNT];
    struct cover work; /* compute or communication */
    struct cover all;
};

static void cover_event(struct covers *c, enum gp_class class, int64_t begin_ns, int64_t end_ns)
{
    cover(&c->of[class], begin_ns, end_ns);
    cover(&c->all, begin_ns, end_ns);
    if (class != GP_CLASS_MEMORY) cover(&c->work, begin_ns, end_ns);
}

static void measure(struct gp_breakdown *b, const struct covers *c)
{
    b->span_ns = b->end_ns - b->begin_ns;
    b->busy_ns = c->all.length_ns;
    b->idle_ns = b->span_ns - b->busy_ns;
    b->compute_ns = c->of[GP_CLASS_COMPUTE].length_ns;
    b->communication_ns = c->of[GP_CLASS_COMMUNICATION].length_ns;
    b->memory_ns = c->of[GP_CLASS_MEMORY].length_ns;
    b->exposed_communication_ns = c->work.length_ns - b->compute_ns;
    b->exposed_memory_ns = b->busy_ns - c->work.length_ns;
    b->overlap_ns = b->communication_ns - b->exposed_communication_ns;
}

static void add_time(struct gp_breakdown *b, int64_t ns)
{
    b->gpu_ns = gp_add_saturated(b->gpu_ns, ns);
    b->gpu_events++;
}

void gp_breakdown_rows(struct gp_breakdown *b, const struct gp_view *v, const uint32_t *rows, size_t n,
                       int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    bool window = end_ns > begin_ns;
    struct covers c;
    memset(&c, 0, sizeof c);
    memset(b, 0, sizeof *b);
    if (!n && !window) return;
    b->begin_ns = window ? begin_ns : gpu->start_ns[rows[0]];
    b->end_ns = window ? end_ns : b->begin_ns;
    c.work.end_ns = c.all.end_ns = b->begin_ns;
    for (int k = 0; k < GP_CLASS_COUNT; k++) c.of[k].end_ns = b->begin_ns;
    for (size_t i = 0; i < n; i++) {
        int64_t start = gpu->start_ns[rows[i]], end = start + gpu->dur_ns[rows[i]];
        if (window) {
            bool outside = start >= end_ns || end < begin_ns || (end == begin_ns && start < end);
            if (outside) continue;
            if (start < begin_ns) start = begin_ns;
            if (end > end_ns) end = end_ns;
        } else if (end > b->end_ns) {
            b->end_ns = end;
        }
        add_time(b, end - start);
        cover_event(&c, gp_view_class(v, rows[i]), start, end);
    }
    measure(b, &c);
}

void gp_breakdown_busy(const struct gp_view *v, uint32_t device, struct gp_intervals *out)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    const struct gp_view_device *d = &v->devices.at[device];
    out->v.n = 0;
    for (size_t i = 0; i < d->n; i++) {
        uint32_t row = v->rows[d->first + i];
        gp_intervals_add(out, gpu->start_ns[row], gpu->start_ns[row] + gpu->dur_ns[row]);
    }
}

/* ---- devices ---- */

static void add_streams(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *from,
                        struct gp_hta_device *to)
{
    for (size_t i = from->first_stream; i < from->first_stream + from->n_streams; i++) {
        const struct gp_view_stream *vs = &v->streams.at[i];
        struct gp_hta_stream s = {.stream = vs->stream};
        s.name = gp_intern_from(&h->strings, &v->t->strings, v->t->tracks.at[vs->track].name);
        gp_breakdown_rows(&s.b, v, v->stream_rows + vs->first, vs->n, 0, 0);
        GP_VEC_PUSH(&to->streams, s);
    }
}

void gp_hta_add_devices(struct gp_hta *h, const struct gp_view *v)
{
    for (size_t i = 0; i < v->devices.n; i++) {
        const struct gp_view_device *from = &v->devices.at[i];
        struct gp_hta_device d;
        memset(&d, 0, sizeof d);
        d.rank = from->rank;
        d.producer = from->producer;
        d.device = from->device;
        d.input = h->inputs.n ? (uint32_t)h->inputs.n - 1 : 0;
        if (from->props) {
            d.name = gp_intern_from(&h->strings, &v->t->strings, from->props->name);
            d.sms = from->props->sms > 0 ? from->props->sms : 0;
        }
        gp_breakdown_rows(&d.b, v, v->rows + from->first, from->n, 0, 0);
        add_streams(h, v, from, &d);
        GP_VEC_PUSH(&h->devices, d);
    }
}

/* The inputs are merged after the devices. */
void gp_hta_merge_devices(struct gp_hta *to, struct gp_hta *from)
{
    for (size_t i = 0; i < from->devices.n; i++) {
        struct gp_hta_device *d = &from->devices.at[i];
        d->name = gp_intern_from(&to->strings, &from->strings, d->name);
        d->input += (uint32_t)to->inputs.n;
        for (size_t k = 0; k < d->streams.n; k++)
            d->streams.at[k].name = gp_intern_from(&to->strings, &from->strings, d->streams.at[k].name);
        for (size_t k = 0; k < d->culprits.n; k++) {
            struct gp_idle_culprit *c = &d->culprits.at[k];
            c->range = gp_intern_from(&to->strings, &from->strings, c->range);
            c->python = gp_intern_from(&to->strings, &from->strings, c->python);
            c->op = gp_intern_from(&to->strings, &from->strings, c->op);
            c->api = gp_intern_from(&to->strings, &from->strings, c->api);
        }
        GP_VEC_PUSH(&to->devices, *d);
    }
    GP_VEC_FREE(&from->devices);
}

#define COMPARE(a, b)                                                                                        \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

static int compare_devices(const void *a, const void *b)
{
    const struct gp_hta_device *x = a, *y = b;
    COMPARE(x->rank, y->rank);
    COMPARE(x->producer, y->producer);
    COMPARE(x->device, y->device);
    COMPARE(x->input, y->input); /* ranks may repeat, and be unknown */
    return 0;
}

void gp_hta_finish_devices(struct gp_hta *h)
{
    if (h->devices.n) qsort(h->devices.at, h->devices.n, sizeof *h->devices.at, compare_devices);
}

/* ---- saving ---- */

void gp_hta_xfer_figures(struct gp_xfer *x, struct gp_breakdown *b)
{
    gp_xfer_i64(x, &b->span_ns);
    gp_xfer_i64(x, &b->busy_ns);
    gp_xfer_i64(x, &b->idle_ns);
    gp_xfer_i64(x, &b->compute_ns);
    gp_xfer_i64(x, &b->communication_ns);
    gp_xfer_i64(x, &b->memory_ns);
    gp_xfer_i64(x, &b->exposed_communication_ns);
    gp_xfer_i64(x, &b->exposed_memory_ns);
    gp_xfer_i64(x, &b->overlap_ns);
    gp_xfer_u64(x, &b->gpu_events);
    gp_xfer_i64(x, &b->gpu_ns);
}

static void xfer_breakdown(struct gp_xfer *x, struct gp_breakdown *b)
{
    gp_xfer_i64(x, &b->begin_ns);
    gp_xfer_i64(x, &b->end_ns);
    gp_hta_xfer_figures(x, b);
}

static void xfer_stream(struct gp_xfer *x, struct gp_hta_stream *s)
{
    gp_xfer_i64(x, &s->stream);
    gp_xfer_str(x, &s->name);
    xfer_breakdown(x, &s->b);
}

static void xfer_culprit(struct gp_xfer *x, struct gp_idle_culprit *c)
{
    gp_xfer_u32(x, &c->cause);
    if (c->cause >= GP_IDLE_CAUSE_COUNT) {
        x->failed = true;
        c->cause = GP_IDLE_UNKNOWN;
    }
    gp_xfer_str(x, &c->range);
    gp_xfer_str(x, &c->python);
    gp_xfer_str(x, &c->op);
    gp_xfer_str(x, &c->api);
    gp_xfer_i64(x, &c->idle_ns);
    gp_xfer_i64(x, &c->longest_ns);
    gp_xfer_u64(x, &c->gaps);
    gp_xfer_u64(x, &c->samples);
    gp_xfer_i64(x, &c->longest_at_ns);
}

static void xfer_device(struct gp_xfer *x, struct gp_hta_device *d)
{
    gp_xfer_i32(x, &d->rank);
    gp_xfer_u32(x, &d->producer);
    gp_xfer_i64(x, &d->device);
    gp_xfer_u32(x, &d->input);
    gp_xfer_str(x, &d->name);
    gp_xfer_i32(x, &d->sms);
    xfer_breakdown(x, &d->b);
    GP_XFER_VEC(x, &d->streams, xfer_stream);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) gp_xfer_i64(x, &d->idle_cause_ns[i]);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) gp_xfer_i64(x, &d->culprit_rest_ns[i]);
    gp_dist_xfer(x, &d->gaps);
    GP_XFER_VEC(x, &d->culprits, xfer_culprit);
    gp_xfer_i64(x, &d->tensor_core_ns);
    gp_xfer_i64(x, &d->gemm_ns);
    gp_xfer_i64(x, &d->kernel_ns);
    gp_xfer_i64(x, &d->occupancy_ns);
    gp_xfer_i64(x, &d->occupancy_known_ns);
    gp_xfer_double(x, &d->sm_ns);
    gp_xfer_i64(x, &d->sm_known_ns);
}

void gp_hta_xfer_devices(struct gp_xfer *x, struct gp_hta *h)
{
    GP_XFER_VEC(x, &h->devices, xfer_device);
    for (size_t i = 0; i < h->devices.n; i++)
        if (h->devices.at[i].input >= h->inputs.n) x->failed = true;
}

void gp_hta_release_devices(struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++) {
        struct gp_hta_device *d = &h->devices.at[i];
        GP_VEC_FREE(&d->streams);
        GP_VEC_FREE(&d->culprits);
        GP_VEC_FREE(&d->kernels);
        gp_dist_release(&d->gaps);
    }
    GP_VEC_FREE(&h->devices);
}
