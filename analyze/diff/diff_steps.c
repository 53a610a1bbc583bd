/* Selects the steps to compare: whole ones, of the program that most steps ran, once it runs steadily. */
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/stat.h"
#include "formats/base/map.h"
#include "formats/base/order.h"

#define NONE GP_PROFILE_NONE

/* ---- runs ---- */

/* Traces of different ranks of one job were recorded together: the nth trace of a rank belongs to the nth
 * run. */
static void number_runs(struct gp_diff *d, struct gp_diff_group *g, int side)
{
    struct gp_map seen = {0};
    g->run_of = gp_zalloc((g->n + 1) * sizeof *g->run_of);
    for (size_t i = 0; i < g->n; i++) {
        int32_t rank = g->profiles[i]->input.rank;
        g->run_of[i] = (*gp_map_put(&seen, rank < 0 ? UINT64_MAX : (uint64_t)rank, 0))++;
        if (g->run_of[i] >= d->side[side].runs) d->side[side].runs = g->run_of[i] + 1;
        d->side[side].lanes += (uint32_t)g->profiles[i]->lanes.n;
    }
    gp_map_release(&seen);
}

/* ---- steps of one lane ---- */

enum { WARM_LEAST = 8 }; /* fewer steps do not show a steady state */

struct choice {
    struct gp_diff *d;
    struct gp_diff_group *g;
    int side;
    uint32_t profile;
    const struct gp_profile_lane *lane;
    GP_VEC(uint32_t) left; /* steps that may still be used, by time */
};

static void note_step(struct choice *c, const struct gp_profile_step *s, bool used, const char *why)
{
    const struct gp_profile *p = c->g->profiles[c->profile];
    struct gp_diff_step step = {.side = (uint32_t)c->side,
                                .run = c->g->run_of[c->profile],
                                .lane = s->lane,
                                .name = gp_intern_from(&c->d->strings, &p->strings, s->name),
                                .wall_ns = s->wall_ns,
                                .busy_ns = s->busy_ns,
                                .gpu_ns = s->gpu_ns,
                                .events = s->n,
                                .used = used};
    step.why = why ? gp_intern_cstr(&c->d->strings, why) : 0;
    GP_VEC_PUSH(&c->d->steps, step);
}

static const struct gp_profile_step *step_of(const struct choice *c, uint32_t i)
{
    return &c->g->profiles[c->profile]->steps.at[i];
}

static void leave_out_cut(struct choice *c)
{
    for (uint32_t i = c->lane->first_step; i < c->lane->first_step + c->lane->n_steps; i++) {
        if (!step_of(c, i)->cut) {
            GP_VEC_PUSH(&c->left, i);
            continue;
        }
        c->d->side[c->side].steps_cut++;
        note_step(c, step_of(c, i), false, "cut off by the edge of the trace");
    }
}

/* The sequence that most steps ran; NULL when no two did, or fewer than half of them. */
static const uint64_t *usual_sequence(const struct choice *c)
{
    struct gp_map counts = {0};
    const uint64_t *best = NULL;
    uint32_t most = 1;
    for (size_t i = 0; i < c->left.n; i++) {
        const uint64_t *sequence = &step_of(c, c->left.at[i])->sequence;
        uint32_t n = ++*gp_map_put(&counts, *sequence, 0);
        if (n <= most) continue;
        most = n;
        best = sequence;
    }
    gp_map_release(&counts);
    return (size_t)most * 2 >= c->left.n ? best : NULL;
}

static void leave_out_others(struct choice *c)
{
    const uint64_t *usual = usual_sequence(c);
    size_t n = 0;
    if (!usual) return;
    for (size_t i = 0; i < c->left.n; i++) {
        const struct gp_profile_step *s = step_of(c, c->left.at[i]);
        if (s->sequence == *usual) {
            c->left.at[n++] = c->left.at[i];
            continue;
        }
        c->d->side[c->side].steps_other++;
        note_step(c, s, false, "ran other kernels than most steps");
    }
    c->left.n = n;
}

/* Leading steps are warm-up while they exceed the variation of the later half by far. */
static bool is_warm_up(double value, double usual, double spread)
{
    double far = 5 * 1.4826 * spread, least = usual * 0.05;
    return value > usual + (far > least ? far : least);
}

static void drop_warm_up(struct choice *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        note_step(c, step_of(c, c->left.at[i]), false, "warm-up: longer than later steps");
    c->d->side[c->side].steps_warm += (uint32_t)n;
    memmove(c->left.at, c->left.at + n, (c->left.n - n) * sizeof *c->left.at);
    c->left.n -= n;
}

/* What all tools call warm-up, so that their step times are the same. */
static void leave_out_unsteady(struct choice *c)
{
    size_t n = 0;
    while (n < c->left.n && step_of(c, c->left.at[n])->warm_up) n++;
    if (n < c->left.n) drop_warm_up(c, n);
}

/* Of many steps also those that are longer by less, but by more than the later ones differ. */
static void leave_out_warm_up(struct choice *c)
{
    size_t n = c->left.n, late = n / 2, first = 0;
    if (n < WARM_LEAST) return;
    int64_t *wall = gp_alloc(2 * (n - late) * sizeof *wall), *gpu = wall + (n - late);
    for (size_t i = late; i < n; i++) {
        wall[i - late] = step_of(c, c->left.at[i])->wall_ns;
        gpu[i - late] = step_of(c, c->left.at[i])->gpu_ns;
    }
    double wall_usual = gp_stat_median(wall, n - late), wall_spread = gp_stat_mad(wall, n - late);
    double gpu_usual = gp_stat_median(gpu, n - late), gpu_spread = gp_stat_mad(gpu, n - late);
    free(wall);
    for (; first < n / 4; first++) {
        const struct gp_profile_step *s = step_of(c, c->left.at[first]);
        if (!is_warm_up((double)s->wall_ns, wall_usual, wall_spread) &&
            !is_warm_up((double)s->gpu_ns, gpu_usual, gpu_spread))
            break;
    }
    drop_warm_up(c, first);
}

static void add_sample(struct choice *c, const struct gp_profile_step *s, bool window, uint32_t nth)
{
    window &= !c->d->untimed;
    GP_VEC_PUSH(&c->g->samples, ((struct gp_diff_sample){c->profile, s, window, nth}));
    c->g->windows += window;
    note_step(c, s, true, NULL);
    c->d->steps.at[c->d->steps.n - 1].has_window = window;
}

/* What follows the last step of a trace is unknown, and so is its time, unless there are no other steps. */
static void use_steps(struct choice *c)
{
    bool closed = false;
    for (size_t i = 0; i < c->left.n; i++) closed |= !step_of(c, c->left.at[i])->open;
    for (uint32_t i = 0; i < c->left.n; i++) {
        const struct gp_profile_step *s = step_of(c, c->left.at[i]);
        c->d->side[c->side].steps_open += s->open && closed;
        add_sample(c, s, !s->open || !closed, i);
    }
}

static void choose_in_lane(struct choice *c)
{
    c->left.n = 0;
    leave_out_cut(c);
    leave_out_others(c);
    leave_out_unsteady(c);
    leave_out_warm_up(c);
    use_steps(c);
}

/* ---- both sides ---- */

static void each_lane(struct gp_diff_work *w, int side, void (*fn)(struct choice *c))
{
    struct choice c = {.d = w->d, .g = &w->side[side], .side = side};
    for (c.profile = 0; c.profile < c.g->n; c.profile++)
        for (size_t l = 0; l < c.g->profiles[c.profile]->lanes.n; l++) {
            c.lane = &c.g->profiles[c.profile]->lanes.at[l];
            fn(&c);
        }
    GP_VEC_FREE(&c.left);
}

/* How much of the lane lies outside its steps; settle_outside() makes means of the sums. */
static void add_outside(struct choice *c)
{
    struct gp_diff_side *s = &c->d->side[c->side];
    uint32_t first = c->lane->first_step, end = first + c->lane->n_steps, steady = first;
    if (!c->lane->n_steps) return;
    while (steady + 1 < end && step_of(c, steady)->warm_up) steady++;
    const struct gp_profile_step *last = step_of(c, end - 1);
    int64_t before = step_of(c, first)->begin_ns, last_ns = gp_add_saturated(last->begin_ns, last->wall_ns);
    s->before_ns = gp_add_saturated(s->before_ns, before);
    s->warm_up_ns = gp_add_saturated(s->warm_up_ns, step_of(c, steady)->begin_ns - before);
    s->after_ns = gp_add_saturated(s->after_ns, c->lane->whole.wall_ns - last_ns);
    s->recorded_ns = gp_add_saturated(s->recorded_ns, c->lane->whole.wall_ns);
    s->stepping++;
}

static void settle_outside(struct gp_diff_side *s)
{
    if (!s->stepping) return;
    s->before_ns /= s->stepping;
    s->warm_up_ns /= s->stepping;
    s->after_ns /= s->stepping;
    s->recorded_ns /= s->stepping;
}

static void use_whole(struct choice *c)
{
    if (c->lane->n_events) add_sample(c, &c->lane->whole, true, 0);
}

GP_COMPARE(compare_samples, struct gp_diff_sample, GP_UP(nth) GP_UP(profile) GP_KEY(x->s->lane, y->s->lane))

/* Sorted by time over all lanes: the halves of a side are then early and late, not one device and another. */
static void order_samples(struct gp_diff_group *g)
{
    if (g->samples.n) qsort(g->samples.at, g->samples.n, sizeof *g->samples.at, compare_samples);
}

static void forget(struct gp_diff_work *w, int side)
{
    struct gp_diff_side *s = &w->d->side[side];
    w->side[side].samples.n = 0;
    w->side[side].windows = 0;
    s->steps_cut = s->steps_open = s->steps_warm = s->steps_other = 0;
}

void gp_diff_choose_steps(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &w->side[side];
        number_runs(d, &w->side[side], side);
        for (size_t i = 0; i < g->n; i++) {
            d->side[side].steps_found += (uint32_t)g->profiles[i]->steps.n;
            if (!d->side[side].step_source) d->side[side].step_source = g->profiles[i]->step_source;
        }
        each_lane(w, side, choose_in_lane);
    }
    if (!w->side[GP_DIFF_BASE].samples.n || !w->side[GP_DIFF_CUR].samples.n) {
        d->unit = GP_DIFF_PER_TRACE;
        d->steps.n = 0;
        for (int side = 0; side < GP_DIFF_SIDES; side++) {
            forget(w, side);
            each_lane(w, side, use_whole);
        }
    }
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        order_samples(&w->side[side]);
        if (d->unit == GP_DIFF_PER_STEP && !d->untimed) each_lane(w, side, add_outside);
        settle_outside(&d->side[side]);
        d->side[side].steps_used = (uint32_t)w->side[side].samples.n;
        d->side[side].windows = w->side[side].windows;
    }
}
