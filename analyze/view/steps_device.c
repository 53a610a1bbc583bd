#include "analyze/view/steps_device.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/nth.h"

/* ---- which GPU events each window launched ---- */

static int compare_windows(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void share_event(struct gp_step_sharing *sh, const struct gp_view *v, uint32_t row, size_t w)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    int64_t start = gpu->start_ns[row], end = start + gpu->dur_ns[row];
    struct gp_step_share *s = &sh->of_window.at[w];
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

static void share_out(struct gp_step_sharing *sh, const struct gp_view *v, const struct gp_view_device *d,
                      const struct gp_steps_program *p)
{
    size_t w = 0, n = sh->of_window.n;
    if (!sh->seen) sh->seen = gp_zalloc(v->t->events[GP_API].n / 8 + 1);
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

/* Many devices with few GPU events do not each scan all windows. */
static void forget_shares(struct gp_step_sharing *sh, const struct gp_view *v, const struct gp_view_device *d)
{
    for (size_t i = 0; i < sh->touched.n; i++)
        memset(&sh->of_window.at[sh->touched.at[i]], 0, sizeof *sh->of_window.at);
    sh->touched.n = 0;
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t call = gp_view_launch(v, v->rows[i]);
        if (call != UINT32_MAX) sh->seen[call / 8] = 0;
    }
}

/* ---- steps ---- */

void gp_device_steps_find(struct gp_device_steps *s, struct gp_step_sharing *sh, const struct gp_view *v,
                          const struct gp_view_device *d, const struct gp_steps_program *p)
{
    memset(s, 0, sizeof *s);
    share_out(sh, v, d, p);
    for (size_t i = 0; i < sh->touched.n; i++) {
        uint32_t w = sh->touched.at[i];
        const struct gp_step_share *share = &sh->of_window.at[w];
        struct gp_device_step one = {.window = w,
                                     .partial = p->windows.at[w].partial || i + 1 == sh->touched.n,
                                     .warm_up = w < p->steady,
                                     .begin_ns = share->begin_ns,
                                     .end_ns = share->last_ns,
                                     .events = share->events,
                                     .launches = share->launches};
        if (i && s->v.at[i - 1].begin_ns > one.begin_ns) /* overtaken on the GPU */
            one.begin_ns = s->v.at[i - 1].begin_ns;
        GP_VEC_PUSH(&s->v, one);
    }
    for (size_t i = 0; i < s->v.n; i++) {
        if (i + 1 < s->v.n) s->v.at[i].end_ns = s->v.at[i + 1].begin_ns;
        if (s->v.at[i].end_ns < s->v.at[i].begin_ns) s->v.at[i].end_ns = s->v.at[i].begin_ns;
    }
    forget_shares(sh, v, d);
}

void gp_device_steps_release(struct gp_device_steps *s)
{
    GP_VEC_FREE(&s->v);
}

void gp_step_sharing_release(struct gp_step_sharing *sh)
{
    GP_VEC_FREE(&sh->of_window);
    GP_VEC_FREE(&sh->touched);
    free(sh->seen);
    memset(sh, 0, sizeof *sh);
}

struct gp_step_stretch gp_device_steps_window(const struct gp_device_steps *s)
{
    struct gp_step_stretch r = {.end = s->v.n};
    while (r.first + 1 < r.end && s->v.at[r.first].warm_up) r.first++;
    if (r.first == r.end) return r;
    r.begin_ns = s->v.at[r.first].begin_ns;
    r.end_ns = s->v.at[r.end - 1].end_ns;
    int64_t *lengths = gp_alloc((r.end - r.first) * sizeof *lengths), sum = 0;
    for (size_t i = r.first; i < r.end; i++) r.whole += !s->v.at[i].partial;
    for (size_t i = r.first; i < r.end; i++) {
        if (r.whole && s->v.at[i].partial) continue;
        lengths[r.timed++] = s->v.at[i].end_ns - s->v.at[i].begin_ns;
        sum += s->v.at[i].end_ns - s->v.at[i].begin_ns;
    }
    r.mean_ns = sum / (int64_t)r.timed;
    r.median_ns = gp_nth(lengths, r.timed, (r.timed - 1) / 2);
    free(lengths);
    return r;
}
