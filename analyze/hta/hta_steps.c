/* The steps that steps.h finds, measured on each device. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"

/* ---- steps of a device ---- */

/* What a window means for one device. */
struct share {
    int64_t begin_ns, last_ns; /* start of its first GPU event, end of its last one to end */
    uint64_t events, launches;
};

/* The shares of each device in turn. Reused between devices, so that many devices with few GPU events do not
 * each scan all windows. */
struct sharing {
    GP_VEC(struct share) of_window; /* all zero but the touched ones */
    GP_VEC(uint32_t) touched;       /* windows, in order */
    uint8_t *seen; /* a bit for each call: one that starts several GPU events is one launch */
};

static int compare_windows(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void share_event(struct sharing *sh, const struct gp_view *v, uint32_t row, size_t w)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    int64_t start = gpu->start_ns[row], end = start + gpu->dur_ns[row];
    struct share *s = &sh->of_window.at[w];
    uint32_t call = gp_view_launch(v, row);
    if (!s->events++) {
        s->begin_ns = start;
        s->last_ns = end;
        GP_VEC_PUSH(&sh->touched, (uint32_t)w);
    }
    if (end > s->last_ns) s->last_ns = end;
    if (call == UINT32_MAX || sh->seen[call / 8] & 1 << call % 8) return;
    sh->seen[call / 8] |= (uint8_t)(1 << call % 8);
    s->launches++;
}

static void share_out(struct sharing *sh, const struct gp_view *v, const struct gp_view_device *d,
                      const struct gp_steps_program *p)
{
    size_t w = 0, n = sh->of_window.n;
    if (n < p->windows.n) {
        GP_VEC_RESERVE(&sh->of_window, p->windows.n);
        memset(sh->of_window.at + n, 0, (p->windows.n - n) * sizeof *sh->of_window.at);
        sh->of_window.n = p->windows.n;
    }
    for (size_t i = d->first; i < d->first + d->n; i++) {
        int64_t begin, end;
        if (!gp_steps_launch_time(v, v->rows[i], p->by_gpu_time, &begin, &end)) continue;
        w = gp_steps_window_at(p, begin, w);
        if (w < p->windows.n) share_event(sh, v, v->rows[i], w);
    }
    if (sh->touched.n) qsort(sh->touched.at, sh->touched.n, sizeof *sh->touched.at, compare_windows);
}

static void forget_shares(struct sharing *sh, const struct gp_view *v, const struct gp_view_device *d)
{
    for (size_t i = 0; i < sh->touched.n; i++)
        memset(&sh->of_window.at[sh->touched.at[i]], 0, sizeof *sh->of_window.at);
    sh->touched.n = 0;
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t call = gp_view_launch(v, v->rows[i]);
        if (call != UINT32_MAX) sh->seen[call / 8] = 0;
    }
}

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
                      const struct gp_steps_program *p, struct sharing *sh)
{
    size_t first = h->steps.n;
    share_out(sh, v, d, p);
    for (size_t i = 0; i < sh->touched.n; i++) {
        const struct gp_step_window *w = &p->windows.at[sh->touched.at[i]];
        const struct share *share = &sh->of_window.at[sh->touched.at[i]];
        struct gp_hta_step s;
        memset(&s, 0, sizeof s);
        s.rank = d->rank;
        s.producer = d->producer;
        s.device = d->device;
        s.name = name_step(h, v, p, w);
        s.source = p->source;
        s.partial = w->partial;
        s.host_begin_ns = w->begin_ns;
        s.host_end_ns = w->host_end_ns;
        s.begin_ns = share->begin_ns;
        if (i && h->steps.at[h->steps.n - 1].begin_ns > s.begin_ns) /* overtaken on the GPU */
            s.begin_ns = h->steps.at[h->steps.n - 1].begin_ns;
        s.end_ns = share->last_ns;
        s.launches = share->launches;
        GP_VEC_PUSH(&h->steps, s);
    }
    forget_shares(sh, v, d);
    struct running running = {0};
    for (size_t i = first; i < h->steps.n; i++) {
        struct gp_hta_step *s = &h->steps.at[i];
        bool last = i + 1 == h->steps.n;
        if (!last) s->end_ns = h->steps.at[i + 1].begin_ns;
        if (s->end_ns < s->begin_ns) s->end_ns = s->begin_ns;
        s->partial |= last;
        measure(&s->b, &running, v, d, s->begin_ns, s->end_ns);
    }
    GP_VEC_FREE(&running.rows);
}

/* ---- the part ---- */

int gp_hta_add_steps(struct gp_hta *h, const struct gp_view *v, struct gp_err *err)
{
    struct gp_steps steps;
    struct sharing sharing;
    int status = gp_steps_find(&steps, v, h->opts.step_marker, err);
    memset(&sharing, 0, sizeof sharing);
    sharing.seen = gp_zalloc(v->t->events[GP_API].n / 8 + 1);
    for (size_t i = 0; i < v->devices.n && !status; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        add_steps(h, v, d, gp_steps_of(&steps, d->producer), &sharing);
    }
    GP_VEC_FREE(&sharing.of_window);
    GP_VEC_FREE(&sharing.touched);
    free(sharing.seen);
    gp_steps_release(&steps);
    return status;
}

void gp_hta_merge_steps(struct gp_hta *to, struct gp_hta *from)
{
    for (size_t i = 0; i < from->steps.n; i++) {
        struct gp_hta_step s = from->steps.at[i];
        s.name = gp_intern_from(&to->strings, &from->strings, s.name);
        GP_VEC_PUSH(&to->steps, s);
    }
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

void gp_hta_finish_steps(struct gp_hta *h)
{
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
    gp_xfer_i64(x, &s->host_begin_ns);
    gp_xfer_i64(x, &s->host_end_ns);
    gp_xfer_i64(x, &s->begin_ns);
    gp_xfer_i64(x, &s->end_ns);
    gp_xfer_u64(x, &s->launches);
    gp_hta_xfer_figures(x, b);
    b->begin_ns = s->begin_ns;
    b->end_ns = s->end_ns;
}

void gp_hta_xfer_steps(struct gp_xfer *x, struct gp_hta *h)
{
    GP_XFER_VEC(x, &h->steps, xfer_step);
}

void gp_hta_release_steps(struct gp_hta *h)
{
    GP_VEC_FREE(&h->steps);
}
