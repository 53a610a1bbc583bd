/* What clocks and other processes explain of a change: a term of the change of the step, the GPU time at
 * equal clocks, and verdicts that they take back. Kernels that the SM clock binds take as many cycles at any
 * clock. Others are slowed down by less, so what the clocks account for is a bound. */
#include <math.h>
#include <stdlib.h>
#include "analyze/diff/diff_decide_priv.h"
#include "analyze/math/sums.h"
#include "analyze/view/gauges.h"

/* Smaller differences of clocks explain nothing, nor does less use by others, in percent. */
static const double CLOCKS_DIFFER = 0.01, OTHERS_MATTER = 5;
/* What a step may differ by besides. */
static const double REST_PCT = 2;

/* ---- figures ---- */

/* The mean over the steps that are used, weighted by their GPU time. */
static void find_side(const struct gp_diff_work *w, int side)
{
    struct gp_diff_side *s = &w->d->side[side];
    const struct gp_diff_group *g = &w->side[side];
    double cycles = 0, time = 0, others = 0;
    s->sm_mhz = s->others_pct = NAN;
    s->clock_reason = GP_CLOCK_REASON_COUNT;
    for (size_t i = 0; i < g->samples.n; i++) {
        const struct gp_profile_step *step = g->samples.at[i].s;
        if (step->clock_khz <= 0) return;
        cycles += (double)step->clock_khz * (double)step->gpu_ns;
        others += (double)step->others_ppm * (double)step->gpu_ns;
        time += (double)step->gpu_ns;
    }
    if (time <= 0) return;
    s->sm_mhz = cycles / time / 1e3;
    s->others_pct = others / time / 1e4;
    s->clock_reason = g->profiles[0]->clock_reason;
}

void gp_diff_find_clocks(struct gp_diff_work *w)
{
    for (int side = 0; side < GP_DIFF_SIDES; side++) find_side(w, side);
    w->d->shared =
        fmax(w->d->side[GP_DIFF_BASE].others_pct, w->d->side[GP_DIFF_CUR].others_pct) >= OTHERS_MATTER;
}

/* The clock between those of the sides, so that swapped sides give the same times. */
int64_t gp_diff_at_equal_clocks(const struct gp_diff *d, int64_t gpu_ns, int64_t compute_ns, int64_t khz)
{
    double between = sqrt(d->side[GP_DIFF_BASE].sm_mhz * d->side[GP_DIFF_CUR].sm_mhz) * 1e3;
    if (!(between > 0)) return 0;
    return gpu_ns - compute_ns + (int64_t)((double)compute_ns * (double)khz / between);
}

/* The clock of the baseline over that of the current side; 1: equal, or not known. */
static double slower_by(const struct gp_diff *d)
{
    double base = d->side[GP_DIFF_BASE].sm_mhz, cur = d->side[GP_DIFF_CUR].sm_mhz;
    if (isnan(base) || isnan(cur)) return 1;
    double ratio = base / cur;
    return fabs(ratio - 1) < CLOCKS_DIFFER ? 1 : ratio;
}

/* ---- the term ---- */

/* Of an operation that is on both sides: the part of the longer calls that the clocks account for at most.
 * Its side with the lower clocks gives it up. */
static int64_t part_of_op(const struct gp_diff_op *op, double ratio)
{
    int fast = ratio > 1 ? GP_DIFF_BASE : GP_DIFF_CUR;
    int64_t change = fast == GP_DIFF_BASE ? op->percall_effect_ns : -op->percall_effect_ns;
    double most = (double)op->side[fast].share_ns * (fmax(ratio, 1 / ratio) - 1);
    if (!op->side[GP_DIFF_BASE].present || !op->side[GP_DIFF_CUR].present || change <= 0) return 0;
    int64_t part = (double)change < most ? change : (int64_t)most;
    return part < op->side[!fast].share_ns ? part : op->side[!fast].share_ns;
}

void gp_diff_clock_cause(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    double ratio = slower_by(d);
    if (ratio == 1 || d->untimed) return;
    int slow = ratio > 1 ? GP_DIFF_CUR : GP_DIFF_BASE;
    struct gp_diff_cause clocks = {.sort = GP_CAUSE_CLOCKS};
    clocks.name = gp_intern_cstr(&d->strings, "lower clocks");
    GP_EACH(struct gp_diff_cause, c, d->causes) {
        if (c->sort != GP_CAUSE_OP) continue;
        int64_t part = part_of_op(&d->ops.at[c->index], ratio);
        c->side_ns[slow] -= part;
        clocks.side_ns[slow] = gp_add_saturated(clocks.side_ns[slow], part);
    }
    d->clocks_ns = slow == GP_DIFF_CUR ? clocks.side_ns[slow] : -clocks.side_ns[slow];
    if (d->clocks_ns) GP_VEC_PUSH(&d->causes, clocks);
}

/* ---- verdicts ---- */

static void put_ratio(struct gp_diff *d, double ratio, gp_sid *why)
{
    const struct gp_diff_metric *c = &d->metrics[GP_METRIC_EQUAL];
    double by = 100 * (1 / ratio - 1);
    if (isnan(c->d.ci_low_pct) || isinf(c->d.ci_low_pct) || isinf(c->d.ci_high_pct))
        *why = gp_diff_text(d, "clocks were %.1f%% %s; at equal clocks %+.1f%%", fabs(by),
                            by < 0 ? "lower" : "higher", c->change_pct);
    else
        *why =
            gp_diff_text(d, "clocks were %.1f%% %s; at equal clocks %+.1f%% (%.1f to %.1f)", fabs(by),
                         by < 0 ? "lower" : "higher", c->d.estimate_pct, c->d.ci_low_pct, c->d.ci_high_pct);
}

static void say(struct gp_diff *d, gp_sid why)
{
    const struct gp_diff_metric *gpu = &d->metrics[GP_METRIC_GPU];
    const struct gp_diff_side *a = &d->side[GP_DIFF_BASE], *b = &d->side[GP_DIFF_CUR];
    const struct gp_diff_side *slow = a->sm_mhz < b->sm_mhz ? a : b;
    gp_diff_note(d, "clocks", "GPU time %+.1f%%: %s; mean SM clock %.0f and %.0f MHz, the lower one by %s",
                 gpu->change_pct, gp_diff_str(d, why), a->sm_mhz, b->sm_mhz,
                 gp_clock_reason_text(slow->clock_reason));
}

/* Is the change, in the direction of the clocks, no larger than they account for? */
static bool within_clocks(const struct gp_diff *d, double change_pct, double ratio)
{
    double times_as_long = 1 + change_pct / 100, eps = 1 + d->noise_pct / 100;
    return fmax(times_as_long, 1 / times_as_long) <= fmax(ratio, 1 / ratio) * eps;
}

/* A change in the direction of the clocks counts only if the time at equal clocks changed as well. */
static void excuse_by_clocks(struct gp_diff *d, double ratio)
{
    static const enum gp_metric_id times[] = {GP_METRIC_GPU, GP_METRIC_COMPUTE, GP_METRIC_BUSY,
                                              GP_METRIC_MEMORY};
    const struct gp_diff_metric *equal = &d->metrics[GP_METRIC_EQUAL];
    uint32_t slower = ratio > 1 ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT;
    gp_sid why;
    if (!equal->known || equal->refused || equal->verdict == slower) return;
    uint32_t verdict = equal->verdict == GP_CHANGE_INCONCLUSIVE ? GP_CHANGE_INCONCLUSIVE : GP_CHANGE_NONE;
    bool any = false;
    put_ratio(d, ratio, &why);
    for (size_t i = 0; i < GP_COUNT(times); i++) {
        struct gp_diff_metric *m = &d->metrics[times[i]];
        bool apart = times[i] == GP_METRIC_MEMORY && !within_clocks(d, m->change_pct, ratio);
        if (m->verdict != slower || apart) continue;
        m->verdict = verdict;
        m->d.why = why;
        any = true;
    }
    struct gp_diff_metric *step = &d->metrics[GP_METRIC_STEP];
    double rest = step->side[GP_DIFF_BASE] > 0
                      ? 100 * fabs((double)(step->change - d->clocks_ns)) / (double)step->side[GP_DIFF_BASE]
                      : INFINITY;
    double most = d->noise_wall_pct > REST_PCT ? d->noise_wall_pct : REST_PCT;
    if (step->verdict == slower && rest <= most) {
        step->verdict = verdict;
        step->d.why = why;
        any = true;
    }
    GP_EACH(struct gp_diff_op, op, d->ops) {
        if (op->change != slower || op->count_changed || !(op->side[GP_DIFF_BASE].total_ns > 0)) continue;
        if (!within_clocks(d, op->change_pct, ratio)) continue;
        op->change = GP_CHANGE_NONE;
        op->d.significant = false;
        op->d.why = why;
        any = true;
    }
    if (any || fabs(d->metrics[GP_METRIC_GPU].change_pct) >= 100 * CLOCKS_DIFFER) say(d, why);
}

/* Turns of other processes are within the records of kernels, and their power lowers the clock: what one run
 * measured says little of the next one. */
static void excuse_by_others(struct gp_diff *d)
{
    gp_sid why =
        gp_diff_text(d, "other processes used the GPU: %d runs per side would decide it", RUNS_ENOUGH);
    gp_diff_note(d, "other_process",
                 "other processes used the GPU for %.0f%% of the time, and %.0f%% in the baseline",
                 d->side[GP_DIFF_CUR].others_pct, d->side[GP_DIFF_BASE].others_pct);
    for (int m = 0; m < GP_METRIC_COUNT; m++) {
        struct gp_diff_metric *metric = &d->metrics[m];
        bool by_runs = metric->d.test == GP_BY_MANN_WHITNEY; /* see gp_decide_metric() */
        if (gp_metric_class((enum gp_metric_id)m) == GP_METRIC_EXACT || by_runs || !metric->change) continue;
        metric->verdict = GP_CHANGE_INCONCLUSIVE;
        metric->d.why = why;
    }
    GP_EACH(struct gp_diff_op, op, d->ops) {
        if (op->count_changed || (op->change != GP_CHANGE_REGRESSION && op->change != GP_CHANGE_IMPROVEMENT))
            continue;
        op->change = GP_CHANGE_INCONCLUSIVE;
        op->d.significant = false;
        op->d.why = why;
    }
}

void gp_diff_excuse(struct gp_diff *d)
{
    double ratio = slower_by(d);
    if (d->identical || d->opts.mode == GP_DIFF_SIMPLE) return;
    if (ratio != 1) excuse_by_clocks(d, ratio);
    if (d->shared) excuse_by_others(d);
}
