#include "analyze/view/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/nth.h"
#include "analyze/math/sums.h"
#include "formats/base/order.h"

const char *const gp_step_source_words[] = {"none", "marker", "graph", "period", NULL};

const char *gp_step_source_name(enum gp_step_source s) { return gp_step_source_words[s]; }

/* ---- programs ---- */

static uint32_t program_of(struct gp_steps *p, uint32_t producer)
{
    uint32_t at = *gp_map_put(&p->of_producer, producer, (uint32_t)p->v.n);
    if (at == p->v.n) GP_VEC_PUSH(&p->v, ((struct gp_steps_program){.producer = producer}));
    return at;
}

struct launch {
    int64_t at_ns;
    uint32_t row;
};

GP_COMPARE(compare_launches, struct launch, GP_UP(at_ns) GP_UP(row))

/* Store the rows by launch time in TO; returns their number. Calls are sorted by time, so a counting sort
 * suffices if every launch is a call. */
static size_t sort_by_launch(const struct gp_view *v, uint32_t *to)
{
    size_t n = v->t->events[GP_GPU].n, calls = v->t->events[GP_API].n, linked = 0, known = 0;
    const uint32_t *call = v->at.api_row;
    for (size_t i = 0; i < n; i++) {
        linked += call[i] != UINT32_MAX;
        known += call[i] != UINT32_MAX || v->at.node[i] != GP_HOST_NONE;
    }
    if (linked == known) {
        uint32_t *first = gp_zalloc((calls + 1) * sizeof *first);
        for (size_t i = 0; i < n; i++)
            if (call[i] != UINT32_MAX) first[call[i] + 1]++;
        for (size_t i = 0; i < calls; i++) first[i + 1] += first[i];
        for (uint32_t i = 0; i < n; i++)
            if (call[i] != UINT32_MAX) to[first[call[i]]++] = i;
        free(first);
        return known;
    }
    struct launch *launches = gp_alloc((known + 1) * sizeof *launches);
    size_t k = 0;
    int64_t end;
    for (uint32_t i = 0; i < n; i++) {
        launches[k].row = i;
        k += gp_steps_launch_time(v, i, false, &launches[k].at_ns, &end);
        if (k == known) break;
    }
    qsort(launches, known, sizeof *launches, compare_launches);
    for (size_t i = 0; i < known; i++) to[i] = launches[i].row;
    free(launches);
    return known;
}

/* Deal SORTED rows out to the programs, in their order. */
static void deal_rows(struct gp_steps *ps, const struct gp_view *v, const uint32_t *program_of_device,
                      const uint32_t *sorted, size_t n)
{
    size_t *first = gp_zalloc((ps->v.n + 1) * sizeof *first);
    for (size_t i = 0; i < n; i++) first[program_of_device[v->device_of_row[sorted[i]]] + 1]++;
    for (size_t i = 0; i < ps->v.n; i++) {
        first[i + 1] += first[i];
        ps->v.at[i].rows = ps->rows + first[i];
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = program_of_device[v->device_of_row[sorted[i]]];
        ps->rows[first[at] + ps->v.at[at].n++] = sorted[i];
    }
    free(first);
}

/* Of the rows that a call must have launched, do most lack a known call? */
static bool lacks_launches(const struct gp_view *v, const uint32_t *program_of_device, size_t program)
{
    size_t known = 0, called = 0;
    for (uint32_t i = 0; i < v->t->events[GP_GPU].n; i++) {
        if (program_of_device[v->device_of_row[i]] != program || gp_view_migrates(v->t, i)) continue;
        known += gp_view_launch(v, i) != UINT32_MAX;
        called++;
    }
    return !called || known * 2 < called;
}

/* A program with few known launches gets all its GPU events, by time. ALL counts the GPU events by
 * program. */
static void use_gpu_time(struct gp_steps *ps, const struct gp_view *v, const uint32_t *program_of_device,
                         const size_t *all)
{
    size_t n = v->t->events[GP_GPU].n;
    bool any = false;
    for (size_t i = 0; i < ps->v.n; i++)
        any |= ps->v.at[i].by_gpu_time =
            ps->v.at[i].n * 2 < all[i] && lacks_launches(v, program_of_device, i);
    if (!any) return;
    uint32_t *rows = gp_alloc((n + 1) * sizeof *rows), *to = rows;
    for (size_t i = 0; i < ps->v.n; i++) {
        struct gp_steps_program *p = &ps->v.at[i];
        if (p->n) memcpy(to, p->rows, p->n * sizeof *to);
        p->rows = to;
        to += p->by_gpu_time ? all[i] : p->n;
        if (p->by_gpu_time) p->n = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct gp_steps_program *p = &ps->v.at[program_of_device[v->device_of_row[i]]];
        if (p->by_gpu_time) rows[(size_t)(p->rows - rows) + p->n++] = i;
    }
    free(ps->rows);
    ps->rows = rows;
}

static void find_rows(struct gp_steps *ps, const struct gp_view *v)
{
    size_t n = v->t->events[GP_GPU].n;
    uint32_t *sorted = gp_alloc((n + 1) * sizeof *sorted);
    uint32_t *program_of_device = gp_alloc((v->devices.n + 1) * sizeof *program_of_device);
    for (size_t i = 0; i < v->devices.n; i++)
        program_of_device[i] = program_of(ps, v->devices.at[i].producer);
    size_t *all = gp_zalloc((ps->v.n + 1) * sizeof *all);
    for (size_t i = 0; i < v->devices.n; i++) all[program_of_device[i]] += v->devices.at[i].n;
    ps->rows = gp_alloc((n + 1) * sizeof *ps->rows);
    deal_rows(ps, v, program_of_device, sorted, sort_by_launch(v, sorted));
    free(sorted);
    use_gpu_time(ps, v, program_of_device, all);
    free(program_of_device);
    free(all);
}

/* Ranges on threads, by program and start. Programs without GPU events have no steps. */
static void find_ranges(struct gp_steps *ps, const struct gp_view *v)
{
    const struct gp_trace *t = v->t;
    const struct gp_events *e = &t->events[GP_RANGE];
    uint32_t *program_of_track = gp_alloc((t->tracks.n + 1) * sizeof *program_of_track);
    for (uint32_t i = 0; i < t->tracks.n; i++) {
        const uint32_t *at = gp_map_get(&ps->of_producer, gp_track_producer(t, i));
        program_of_track[i] = at && t->tracks.at[i].kind == GP_TRACK_THREAD ? *at : UINT32_MAX;
    }
    size_t *first = gp_zalloc((ps->v.n + 1) * sizeof *first);
    for (size_t i = 0; i < e->n; i++)
        if (program_of_track[e->track[i]] != UINT32_MAX) first[program_of_track[e->track[i]] + 1]++;
    ps->ranges = gp_alloc((e->n + 1) * sizeof *ps->ranges);
    for (size_t i = 0; i < ps->v.n; i++) {
        first[i + 1] += first[i];
        ps->v.at[i].ranges = ps->ranges + first[i];
    }
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t at = program_of_track[e->track[i]];
        if (at != UINT32_MAX) ps->ranges[first[at] + ps->v.at[at].n_ranges++] = i;
    }
    free(first);
    free(program_of_track);
}

/* ---- warm-up ---- */

enum { WARM_UP_MOST = 100, ENOUGH = 3 };

static int64_t median_of(int64_t *v, size_t n) { return gp_nth(v, n, (n - 1) / 2); }

/* How long a step may be that is followed by N steps of these LENGTHS, if it is as steady as they are. */
static int64_t longest_steady(const int64_t *lengths, size_t n, int64_t *scratch)
{
    memcpy(scratch, lengths, n * sizeof *scratch);
    int64_t middle = median_of(scratch, n);
    if (n < ENOUGH) return gp_add_saturated(middle, middle);
    for (size_t i = 0; i < n; i++) scratch[i] = llabs(lengths[i] - middle);
    int64_t off = median_of(scratch, n), spread = gp_add_saturated(gp_add_saturated(off, off), off);
    return gp_add_saturated(middle, spread > middle / 5 ? spread : middle / 5);
}

/* Whole steps that come first and take much longer than those after them: at most half of all. */
static void find_steady(struct gp_steps_program *p)
{
    GP_VEC(int64_t) lengths = {0};
    GP_VEC(uint32_t) windows = {0};
    for (size_t i = 0; i + 1 < p->windows.n; i++) {
        if (p->windows.at[i].partial) continue;
        GP_VEC_PUSH(&lengths, p->windows.at[i + 1].begin_ns - p->windows.at[i].begin_ns);
        GP_VEC_PUSH(&windows, (uint32_t)i);
    }
    int64_t *scratch = gp_alloc((lengths.n + 1) * sizeof *scratch);
    size_t warm_up = 0, most = lengths.n / 2 < WARM_UP_MOST ? lengths.n / 2 : WARM_UP_MOST;
    while (warm_up < most &&
           lengths.at[warm_up] > longest_steady(lengths.at + warm_up + 1, lengths.n - warm_up - 1, scratch))
        warm_up++;
    p->steady = warm_up ? windows.at[warm_up] : 0;
    free(scratch);
    GP_VEC_FREE(&lengths);
    GP_VEC_FREE(&windows);
}

static int find_windows(struct gp_steps_program *p, const struct gp_view *v, const char *marker,
                        struct gp_err *err)
{
    if (gp_steps_by_marker(p, v, marker, err)) return -1;
    if (!p->windows.n && !marker) gp_steps_by_launches(p, v);
    find_steady(p);
    return 0;
}

int gp_steps_find(struct gp_steps *s, const struct gp_view *v, const char *marker, struct gp_err *err)
{
    int status = 0;
    memset(s, 0, sizeof *s);
    find_rows(s, v);
    find_ranges(s, v);
    if (!s->v.n) { /* nothing to find, but the marker is wrong all the same */
        struct gp_steps_program none = {0};
        status = gp_steps_by_marker(&none, v, marker, err);
    }
    for (size_t i = 0; i < s->v.n && !status; i++) status = find_windows(&s->v.at[i], v, marker, err);
    return status;
}

void gp_steps_release(struct gp_steps *s)
{
    for (size_t i = 0; i < s->v.n; i++) GP_VEC_FREE(&s->v.at[i].windows);
    GP_VEC_FREE(&s->v);
    gp_map_release(&s->of_producer);
    GP_RELEASE(free, s->rows, s->ranges);
}

const struct gp_steps_program *gp_steps_of(const struct gp_steps *s, uint32_t producer)
{
    return &s->v.at[*gp_map_get(&s->of_producer, producer)];
}

gp_sid gp_step_name(struct gp_strings *to, const struct gp_trace *t, const struct gp_steps_program *p,
                    const struct gp_step_window *w)
{
    char name[32];
    if (w->marker) return gp_intern_from(to, &t->strings, w->marker);
    snprintf(name, sizeof name, "%s %u", p->source == GP_STEPS_GRAPH ? "replay" : "period", w->number);
    return gp_intern_cstr(to, name);
}

size_t gp_steps_window_at(const struct gp_steps_program *p, int64_t at_ns, size_t hint)
{
    if (hint < p->windows.n && at_ns >= p->windows.at[hint].begin_ns && at_ns < p->windows.at[hint].end_ns)
        return hint;
    GP_SEARCH(later, 0, p->windows.n, mid, p->windows.at[mid].begin_ns <= at_ns)
    return later && at_ns < p->windows.at[later - 1].end_ns ? later - 1 : p->windows.n;
}

/* ---- steps of a device ---- */

/* ---- which GPU events each window launched ---- */

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
    if (sh->touched.n) qsort(sh->touched.at, sh->touched.n, sizeof *sh->touched.at, gp_order_u32);
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
    /* Many devices with few GPU events do not each scan all windows. */
    for (size_t i = 0; i < sh->touched.n; i++)
        memset(&sh->of_window.at[sh->touched.at[i]], 0, sizeof *sh->of_window.at);
    sh->touched.n = 0;
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t call = gp_view_launch(v, v->rows[i]);
        if (call != UINT32_MAX) sh->seen[call / 8] = 0;
    }
}

void gp_device_steps_release(struct gp_device_steps *s) { GP_VEC_FREE(&s->v); }

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
