/* Assigns every ns of the steps' GPU windows to events: one sweep over the events of a lane by time.
 *
 * While K events run, each gets 1/K of the time, and the remainder goes to the event that started first. What
 * an event gets between two moments is then the difference of one running sum, whatever else runs, plus
 * remainders: the cost does not grow with pairs of overlapping events. */
#include <stdlib.h>
#include "analyze/math/end_heap.h"
#include "analyze/view/gauges.h"
#include "analyze/view/idle_walk.h"
#include "analyze/diff/profile_priv.h"
#include "formats/base/order.h"

#define NONE GP_PROFILE_NONE

/* Regions of time: 0 is before the first window, I the window of the lane's step I - 1, the one after the
 * last step follows the last window. */

/* An event that runs. */
struct running {
    int64_t end_ns;
    int64_t mark_ns; /* the running sum when it started */
    uint32_t event;  /* of the profile */
    uint32_t region; /* in which it started */
};

struct sweep {
    struct gp_profile *p;
    const struct gp_profile_job *j;
    uint32_t first_step, n_steps;   /* of the lane */
    int64_t *edge_ns;               /* where region I ends and I + 1 begins */
    int64_t *sum_at, *busy_at;      /* the running sums at those moments */
    int64_t *shared;                /* by step: what shares in its window come to */
    GP_VEC(struct running) heap;    /* end_heap.h */
    int64_t at_ns, sum_ns, busy_ns; /* now, and the running sums up to now */
    uint32_t region;                /* at hand */
    const uint32_t *rows;           /* by start */
    size_t n, oldest;               /* the first row that may still run */
    uint64_t spills_left;
};

/* ---- windows ---- */

/* The first GPU event of a step opens its window, unless the step before was overtaken. */
static void find_windows(struct sweep *s)
{
    struct gp_profile *p = s->p;
    const struct gp_events *gpu = &s->j->t->events[GP_GPU];
    int64_t *begin = s->edge_ns, last_end = INT64_MIN;
    for (uint32_t i = 0; i < s->n_steps; i++) begin[i] = INT64_MAX;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t step = p->events.at[s->j->event_of_row[s->rows[i]]].step;
        if (step == NONE) continue;
        int64_t start = gpu->start_ns[s->rows[i]], end = start + gpu->dur_ns[s->rows[i]];
        if (start < begin[step - s->first_step]) begin[step - s->first_step] = start;
        if (step == s->first_step + s->n_steps - 1 && end > last_end) last_end = end;
    }
    for (uint32_t i = 1; i < s->n_steps; i++)
        if (begin[i] < begin[i - 1]) begin[i] = begin[i - 1];
    if (s->n_steps && last_end < begin[s->n_steps - 1]) last_end = begin[s->n_steps - 1];
    begin[s->n_steps] = last_end;
}

/* ---- the sweep ---- */

static void note_share(struct sweep *s, uint32_t event, uint32_t region, int64_t ns)
{
    struct gp_profile_event *e = &s->p->events.at[event];
    uint32_t step = region && region <= s->n_steps ? s->first_step + region - 1 : NONE;
    e->share_ns += ns;
    if (step != NONE) s->shared[region - 1] += ns;
    if (step != e->step && ns) GP_VEC_PUSH(&s->p->spills, ((struct gp_profile_spill){event, step, ns}));
}

static bool still_runs(const struct sweep *s, size_t i)
{
    const struct gp_events *gpu = &s->j->t->events[GP_GPU];
    return gpu->start_ns[s->rows[i]] + gpu->dur_ns[s->rows[i]] > s->at_ns;
}

/* Advance the time to TO_NS; nothing starts, ends or opens before that. */
static void advance(struct sweep *s, int64_t to_ns)
{
    int64_t d = to_ns - s->at_ns, k = (int64_t)s->heap.n;
    if (d > 0 && k) {
        s->sum_ns += d / k;
        s->busy_ns += d;
        if (d % k) {
            while (!still_runs(s, s->oldest)) s->oldest++;
            note_share(s, s->j->event_of_row[s->rows[s->oldest]], s->region, d % k);
        }
    }
    s->at_ns = to_ns;
}

/* The part of an event's share in a region during which it ran. */
static int64_t part_in(const struct sweep *s, const struct running *r, uint32_t region)
{
    int64_t from = region > r->region ? s->sum_at[region - 1] : r->mark_ns;
    return (region < s->region ? s->sum_at[region] : s->sum_ns) - from;
}

static void settle(struct sweep *s, const struct running *r)
{
    uint32_t regions = s->region - r->region;
    if (regions > s->spills_left) {
        /* Too many events run in too many windows: only the part in its own step is recorded; the rest
         * belongs to no step. */
        uint32_t step = s->p->events.at[r->event].step;
        uint32_t own = step == NONE ? 0 : step - s->first_step + 1;
        int64_t in_own = own && own >= r->region && own <= s->region ? part_in(s, r, own) : 0;
        note_share(s, r->event, own, in_own);
        note_share(s, r->event, 0, s->sum_ns - r->mark_ns - in_own);
        return;
    }
    s->spills_left -= regions;
    for (uint32_t region = r->region; region <= s->region; region++)
        note_share(s, r->event, region, part_in(s, r, region));
}

static void open_region(struct sweep *s)
{
    s->sum_at[s->region] = s->sum_ns;
    s->busy_at[s->region] = s->busy_ns;
    s->region++;
}

/* All that ends or opens up to TO_NS. */
static void pass(struct sweep *s, int64_t to_ns)
{
    for (;;) {
        bool ends = s->heap.n && s->heap.at[0].end_ns <= to_ns;
        bool opens = s->n_steps && s->region <= s->n_steps && s->edge_ns[s->region] <= to_ns;
        if (ends && (!opens || s->heap.at[0].end_ns <= s->edge_ns[s->region])) {
            advance(s, s->heap.at[0].end_ns);
            struct running first = s->heap.at[0];
            GP_END_POP(&s->heap, struct running);
            settle(s, &first);
        } else if (opens) {
            if (s->edge_ns[s->region] > s->at_ns) advance(s, s->edge_ns[s->region]);
            open_region(s);
        } else {
            break;
        }
    }
    if (to_ns > s->at_ns) advance(s, to_ns);
}

static void start(struct sweep *s, uint32_t row)
{
    const struct gp_events *gpu = &s->j->t->events[GP_GPU];
    int64_t begin = gpu->start_ns[row];
    pass(s, begin);
    if (!gpu->dur_ns[row]) return;
    struct running r = {begin + gpu->dur_ns[row], s->sum_ns, s->j->event_of_row[row], s->region};
    GP_END_PUSH(&s->heap, struct running, r);
}

GP_COMPARE(compare_spills, struct gp_profile_spill, GP_UP(event) GP_UP(step))

/* In order, and one for each event and step. */
static void sort_spills(struct gp_profile *p, size_t first)
{
    size_t kept = first;
    if (p->spills.n == first) return;
    qsort(p->spills.at + first, p->spills.n - first, sizeof *p->spills.at, compare_spills);
    for (size_t i = first; i < p->spills.n; i++) {
        struct gp_profile_spill *last = kept > first ? &p->spills.at[kept - 1] : NULL;
        if (last && !compare_spills(last, &p->spills.at[i])) last->share_ns += p->spills.at[i].share_ns;
        else p->spills.at[kept++] = p->spills.at[i];
    }
    p->spills.n = kept;
}

static void fill_windows(struct sweep *s, uint32_t lane)
{
    struct gp_profile_lane *l = &s->p->lanes.at[lane];
    for (uint32_t i = 0; i < s->n_steps; i++) {
        struct gp_profile_step *step = &s->p->steps.at[s->first_step + i];
        step->begin_ns = s->edge_ns[i] - l->whole.begin_ns;
        step->wall_ns = s->edge_ns[i + 1] - s->edge_ns[i];
        step->busy_ns = s->busy_at[i + 1] - s->busy_at[i];
        step->other_ns = step->busy_ns - s->shared[i];
    }
    l->whole.wall_ns = s->at_ns - l->whole.begin_ns;
    l->whole.busy_ns = s->busy_ns;
}

void gp_profile_share(struct gp_profile_job *j, uint32_t lane)
{
    const struct gp_view_device *d = &j->v->devices.at[lane];
    struct gp_profile_lane *l = &j->p->lanes.at[lane];
    size_t first_spill = j->p->spills.n;
    struct sweep s = {.p = j->p,
                      .j = j,
                      .first_step = l->first_step,
                      .n_steps = l->n_steps,
                      .rows = j->v->rows + d->first,
                      .n = d->n,
                      .spills_left = 4 * ((uint64_t)d->n + l->n_steps) + 1024};
    int64_t *sums = gp_zalloc(4 * ((size_t)s.n_steps + 1) * sizeof *sums);
    s.edge_ns = sums;
    s.sum_at = sums + s.n_steps + 1;
    s.busy_at = sums + 2 * ((size_t)s.n_steps + 1);
    s.shared = sums + 3 * ((size_t)s.n_steps + 1);
    find_windows(&s);
    if (d->n) s.at_ns = l->whole.begin_ns = j->t->events[GP_GPU].start_ns[s.rows[0]];
    for (size_t i = 0; i < d->n; i++) start(&s, s.rows[i]);
    while (s.heap.n) pass(&s, s.heap.at[0].end_ns);
    while (s.n_steps && s.region <= s.n_steps) open_region(&s);
    fill_windows(&s, lane);
    sort_spills(j->p, first_spill);
    GP_VEC_FREE(&s.heap);
    free(sums);
}

/* ---- idle time ---- */

struct idle {
    struct gp_profile_job *j;
    uint32_t lane, step; /* the step whose window ends last before the current pieces, or contains them */
};

static void add_piece(void *ctx, const struct gp_idle_piece *piece)
{
    struct idle *idle = ctx;
    struct gp_profile *p = idle->j->p;
    struct gp_profile_lane *l = &p->lanes.at[piece->device];
    uint32_t end = l->first_step + l->n_steps;
    if (idle->lane != piece->device) {
        idle->lane = piece->device;
        idle->step = l->first_step;
    }
    l->whole.idle_ns[piece->cause] += piece->end_ns - piece->begin_ns;
    int64_t begin = piece->begin_ns - l->whole.begin_ns, until = piece->end_ns - l->whole.begin_ns;
    for (; idle->step < end; idle->step++) {
        struct gp_profile_step *s = &p->steps.at[idle->step];
        int64_t s_end = s->begin_ns + s->wall_ns;
        int64_t from = begin > s->begin_ns ? begin : s->begin_ns, to = until < s_end ? until : s_end;
        if (to > from) s->idle_ns[piece->cause] += to - from;
        if (until <= s_end) break;
    }
}

/* Whatever the causes missed, for damaged times. */
static void close_idle(struct gp_profile_step *s)
{
    int64_t left = s->wall_ns - s->busy_ns;
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) left -= s->idle_ns[c];
    s->idle_ns[GP_IDLE_UNKNOWN] += left;
}

void gp_profile_idle(struct gp_profile_job *j)
{
    struct idle idle = {j, NONE, 0};
    gp_idle_walk(j->v, add_piece, &idle);
    for (size_t i = 0; i < j->p->lanes.n; i++) close_idle(&j->p->lanes.at[i].whole);
    for (size_t i = 0; i < j->p->steps.n; i++) close_idle(&j->p->steps.at[i]);
}

/* ---- clocks ---- */

static void put_clock(struct gp_profile_step *s, const struct gp_gauge_gpu *gpu, int64_t begin_ns)
{
    const struct gp_step_function *clock = &gpu->of[GP_GAUGE_SM_CLOCK];
    int64_t end_ns = begin_ns + s->wall_ns;
    if (!s->wall_ns || gp_step_covered(clock, begin_ns, end_ns) != s->wall_ns) return;
    s->clock_khz = (int64_t)(gp_step_mean(clock, begin_ns, end_ns) * 1e3);
    double others = gp_step_mean(&gpu->of[GP_GAUGE_OTHERS], begin_ns, end_ns);
    s->others_ppm = others > 0 ? (int64_t)(others * 1e4) : 0;
}

/* Which reason held the clock of the lane for most of the time. */
static uint32_t main_reason(const struct gp_gauge_gpu *gpu, int64_t begin_ns, int64_t end_ns)
{
    const struct gp_step_function *why = &gpu->of[GP_GAUGE_REASONS];
    int64_t ns[GP_CLOCK_REASON_COUNT + 1] = {0};
    uint32_t most = GP_CLOCK_REASON_COUNT;
    for (size_t i = 0; i < why->points.n; i++) {
        int64_t from = why->points.at[i].at_ns, to = gp_step_until(why, i, why->last_ns);
        if (from < begin_ns) from = begin_ns;
        if (to > end_ns) to = end_ns;
        if (to > from) ns[gp_clock_reason(why->points.at[i].value)] += to - from;
    }
    for (uint32_t r = 0; r < GP_CLOCK_REASON_COUNT; r++)
        if (ns[r] && (most == GP_CLOCK_REASON_COUNT || ns[r] > ns[most])) most = r;
    return most;
}

void gp_profile_clocks(struct gp_profile_job *j)
{
    struct gp_profile *p = j->p;
    struct gp_gauges gauges;
    gp_gauges_find(&gauges, j->v);
    p->clock_reason = GP_CLOCK_REASON_COUNT;
    for (uint32_t i = 0; i < p->lanes.n; i++) {
        struct gp_profile_lane *l = &p->lanes.at[i];
        const struct gp_gauge_gpu *gpu = gp_gauges_of(&gauges, i);
        int64_t begin_ns = l->whole.begin_ns;
        if (!gpu) continue;
        put_clock(&l->whole, gpu, begin_ns);
        for (uint32_t k = l->first_step; k < l->first_step + l->n_steps; k++)
            put_clock(&p->steps.at[k], gpu, begin_ns + p->steps.at[k].begin_ns);
        if (p->clock_reason == GP_CLOCK_REASON_COUNT)
            p->clock_reason = main_reason(gpu, begin_ns, begin_ns + l->whole.wall_ns);
    }
    gp_gauges_release(&gauges);
}
