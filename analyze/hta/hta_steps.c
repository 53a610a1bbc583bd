/* The steps that steps.h finds, measured on each device. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"
#include "analyze/view/steps_device.h"

/* ---- steps of a device ---- */

/* GPU events that are still running where a step ends go on into the next one. */
struct running {
    GP_VEC(uint32_t) rows;
    size_t next; /* of the device's */
};

enum { RUNNING_MOST = 64 };

/* Keep the events that run past AT_NS. No GPU runs very many at once: beyond that, keep only those that end
 * last in their class, so that damaged times do not cost quadratic time; the unions stay exact. */
static void keep_running(struct running *r, const struct gp_view *v, int64_t at_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    size_t n = 0;
    for (size_t i = 0; i < r->rows.n; i++) {
        uint32_t row = r->rows.at[i];
        if (gpu->start_ns[row] + gpu->dur_ns[row] > at_ns) r->rows.at[n++] = row;
    }
    r->rows.n = n;
    if (n <= RUNNING_MOST) return;
    uint32_t last[GP_CLASS_COUNT];
    bool any[GP_CLASS_COUNT] = {false};
    for (size_t i = 0; i < n; i++) {
        uint32_t row = r->rows.at[i];
        enum gp_class k = gp_view_class(v, row);
        if (any[k] && gpu->start_ns[last[k]] + gpu->dur_ns[last[k]] >= gpu->start_ns[row] + gpu->dur_ns[row])
            continue;
        any[k] = true;
        last[k] = row;
    }
    r->rows.n = 0;
    for (int k = 0; k < GP_CLASS_COUNT; k++)
        if (any[k]) r->rows.at[r->rows.n++] = last[k];
}

static void measure(struct gp_breakdown *b, struct running *r, const struct gp_view *v,
                    const struct gp_view_device *d, int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    for (; r->next < d->n; r->next++) {
        uint32_t row = v->rows[d->first + r->next];
        if (gpu->start_ns[row] >= begin_ns) break;
        if (gpu->start_ns[row] + gpu->dur_ns[row] > begin_ns) GP_VEC_PUSH(&r->rows, row);
    }
    keep_running(r, v, begin_ns);
    for (; r->next < d->n && gpu->start_ns[v->rows[d->first + r->next]] < end_ns; r->next++)
        GP_VEC_PUSH(&r->rows, v->rows[d->first + r->next]);
    if (end_ns > begin_ns) {
        gp_breakdown_rows(b, v, r->rows.at, r->rows.n, begin_ns, end_ns);
    } else {
        memset(b, 0, sizeof *b);
        b->begin_ns = b->end_ns = begin_ns;
    }
    keep_running(r, v, end_ns);
}

static gp_sid name_step(struct gp_hta *h, const struct gp_view *v, const struct gp_steps_program *p,
                        const struct gp_step_window *w)
{
    if (w->marker) return gp_intern_from(&h->strings, &v->t->strings, w->marker);
    struct gp_buf name = {0};
    gp_buf_printf(&name, "%s %u", p->source == GP_STEPS_GRAPH ? "replay" : "period", w->number);
    gp_sid sid = gp_intern(&h->strings, name.data, name.n);
    gp_buf_release(&name);
    return sid;
}

static void add_steps(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                      const struct gp_steps_program *p, const struct gp_device_steps *steps)
{
    struct running running = {0};
    for (size_t i = 0; i < steps->v.n; i++) {
        const struct gp_device_step *from = &steps->v.at[i];
        const struct gp_step_window *w = &p->windows.at[from->window];
        struct gp_hta_step s;
        memset(&s, 0, sizeof s);
        s.rank = d->rank;
        s.producer = d->producer;
        s.device = d->device;
        s.name = name_step(h, v, p, w);
        s.source = p->source;
        s.partial = from->partial;
        s.warm_up = from->warm_up;
        s.host_begin_ns = w->begin_ns;
        s.host_end_ns = w->host_end_ns;
        s.begin_ns = from->begin_ns;
        s.end_ns = from->end_ns;
        s.launches = from->launches;
        measure(&s.b, &running, v, d, s.begin_ns, s.end_ns);
        GP_VEC_PUSH(&h->steps, s);
    }
    GP_VEC_FREE(&running.rows);
}

/* ---- the parts of a device's time ---- */

static void add_part(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                     enum gp_hta_part_kind kind, int64_t begin_ns, int64_t end_ns, uint64_t steps)
{
    struct gp_hta_part part;
    if (begin_ns >= end_ns) return;
    memset(&part, 0, sizeof part);
    part.rank = d->rank;
    part.producer = d->producer;
    part.device = d->device;
    part.kind = kind;
    part.steps = steps;
    gp_breakdown_rows(&part.b, v, v->rows + d->first, d->n, begin_ns, end_ns);
    GP_VEC_PUSH(&h->parts, part);
}

/* Start-up, warm-up, the step window and the rest: together the span of the device. */
static void add_parts(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                      const struct gp_device_steps *steps)
{
    struct gp_step_stretch w = gp_device_steps_window(steps);
    struct gp_breakdown all;
    if (w.first == w.end) return;
    gp_breakdown_rows(&all, v, v->rows + d->first, d->n, 0, 0);
    int64_t warm_ns = steps->v.at[0].begin_ns;
    add_part(h, v, d, GP_PART_START_UP, all.begin_ns, warm_ns, 0);
    add_part(h, v, d, GP_PART_WARM_UP, warm_ns, w.begin_ns, w.first);
    add_part(h, v, d, GP_PART_STEPS, w.begin_ns, w.end_ns, w.end - w.first);
    add_part(h, v, d, GP_PART_AFTER, w.end_ns, all.end_ns, 0);
}

/* ---- all ---- */

int gp_hta_add_steps(struct gp_hta *h, const struct gp_view *v, struct gp_steps *found, struct gp_err *err)
{
    struct gp_step_sharing sharing = {0};
    int status = gp_steps_find(found, v, h->opts.step_marker, err);
    for (size_t i = 0; i < v->devices.n && !status; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        const struct gp_steps_program *p = gp_steps_of(found, d->producer);
        struct gp_device_steps steps;
        gp_device_steps_find(&steps, &sharing, v, d, p);
        add_steps(h, v, d, p, &steps);
        add_parts(h, v, d, &steps);
        gp_device_steps_release(&steps);
    }
    gp_step_sharing_release(&sharing);
    return status;
}

void gp_hta_merge_steps(struct gp_hta *to, struct gp_hta *from)
{
    for (size_t i = 0; i < from->steps.n; i++) {
        struct gp_hta_step s = from->steps.at[i];
        s.name = gp_intern_from(&to->strings, &from->strings, s.name);
        GP_VEC_PUSH(&to->steps, s);
    }
    for (size_t i = 0; i < from->parts.n; i++) GP_VEC_PUSH(&to->parts, from->parts.at[i]);
    gp_hta_release_steps(from);
}

#define COMPARE(a, b)                                                                                        \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

static int compare_steps(const void *a, const void *b)
{
    const struct gp_hta_step *x = a, *y = b;
    COMPARE(x->rank, y->rank);
    COMPARE(x->producer, y->producer);
    COMPARE(x->device, y->device);
    COMPARE(x->begin_ns, y->begin_ns);
    COMPARE(x->host_begin_ns, y->host_begin_ns);
    COMPARE(x->end_ns, y->end_ns);
    COMPARE(x->b.gpu_events, y->b.gpu_events);
    COMPARE(x->b.gpu_ns, y->b.gpu_ns);
    return 0;
}

static int compare_parts(const void *a, const void *b)
{
    const struct gp_hta_part *x = a, *y = b;
    COMPARE(x->rank, y->rank);
    COMPARE(x->producer, y->producer);
    COMPARE(x->device, y->device);
    COMPARE(x->b.begin_ns, y->b.begin_ns);
    COMPARE(x->kind, y->kind);
    COMPARE(x->b.end_ns, y->b.end_ns);
    COMPARE(x->b.gpu_ns, y->b.gpu_ns);
    return 0;
}

const char *gp_hta_part_name(enum gp_hta_part_kind kind)
{
    static const char *const names[] = {"start_up", "warm_up", "steps", "after"};
    return names[kind];
}

void gp_hta_finish_steps(struct gp_hta *h)
{
    if (h->parts.n) qsort(h->parts.at, h->parts.n, sizeof *h->parts.at, compare_parts);
    if (h->steps.n) qsort(h->steps.at, h->steps.n, sizeof *h->steps.at, compare_steps);
}

static void xfer_step(struct gp_xfer *x, struct gp_hta_step *s)
{
    struct gp_breakdown *b = &s->b;
    gp_xfer_i32(x, &s->rank);
    gp_xfer_u32(x, &s->producer);
    gp_xfer_i64(x, &s->device);
    gp_xfer_str(x, &s->name);
    gp_xfer_u32(x, &s->source);
    if (s->source > GP_STEPS_PERIOD) {
        x->failed = true;
        s->source = GP_STEPS_NONE;
    }
    gp_xfer_bool(x, &s->partial);
    gp_xfer_bool(x, &s->warm_up);
    gp_xfer_i64(x, &s->host_begin_ns);
    gp_xfer_i64(x, &s->host_end_ns);
    gp_xfer_i64(x, &s->begin_ns);
    gp_xfer_i64(x, &s->end_ns);
    gp_xfer_u64(x, &s->launches);
    gp_hta_xfer_figures(x, b);
    b->begin_ns = s->begin_ns;
    b->end_ns = s->end_ns;
}

static void xfer_part(struct gp_xfer *x, struct gp_hta_part *p)
{
    gp_xfer_i32(x, &p->rank);
    gp_xfer_u32(x, &p->producer);
    gp_xfer_i64(x, &p->device);
    gp_xfer_u32(x, &p->kind);
    if (p->kind > GP_PART_AFTER) {
        x->failed = true;
        p->kind = GP_PART_START_UP;
    }
    gp_xfer_u64(x, &p->steps);
    gp_xfer_i64(x, &p->b.begin_ns);
    gp_xfer_i64(x, &p->b.end_ns);
    gp_hta_xfer_figures(x, &p->b);
}

void gp_hta_xfer_steps(struct gp_xfer *x, struct gp_hta *h)
{
    GP_XFER_VEC(x, &h->steps, xfer_step);
    GP_XFER_VEC(x, &h->parts, xfer_part);
}

void gp_hta_release_steps(struct gp_hta *h)
{
    GP_VEC_FREE(&h->steps);
    GP_VEC_FREE(&h->parts);
}
