#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"

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
