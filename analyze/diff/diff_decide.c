/* What is real: tests, intervals and the guards that keep what is small, or measured once, from being called
 * a change. The rules are in analyze/diff/README.md, "Comparing". */
#include "analyze/diff/diff_decide_priv.h"

#include <math.h>
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "formats/base/order.h"

static const double LEAST_SHARE = 0.001; /* of the GPU time: smaller changes do not matter, real or not */
static const double MOST_NOISE = 0.2;

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t time_of(const struct gp_diff_op *op)
{
    return larger(op->side[GP_DIFF_BASE].total_ns, op->side[GP_DIFF_CUR].total_ns);
}

/* The kernels of collectives wait for other ranks: their time depends on those. */
static bool waits(const struct gp_decider *t, const struct gp_diff_op *op)
{
    return t->w->waits[op - t->d->ops.at];
}

/* Whether an operation is tested depends only on its size, not on its change. */
static bool is_candidate(const struct gp_decider *t, const struct gp_diff_op *op)
{
    return gp_decide_on_both(op) && !op->count_changed && !waits(t, op) && time_of(op) >= t->least_ns;
}

static size_t fewest_steps(const struct gp_decider *t)
{
    size_t a = gp_decide_steps(t, GP_DIFF_BASE), b = gp_decide_steps(t, GP_DIFF_CUR);
    return a < b ? a : b;
}

static void sum_op(struct gp_decider *t, uint32_t op)
{
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &t->w->side[side];
        memset(t->sums[side], 0, (g->samples.n + 1) * sizeof *t->sums[side]);
        for (size_t i = g->first_call[op]; i < g->first_call[op + 1]; i++)
            t->sums[side][g->calls[i].sample] =
                gp_add_saturated(t->sums[side][g->calls[i].sample], g->calls[i].dur_ns);
    }
}

/* ---- noise ---- */

static double halves_apart(const int64_t *v, size_t n, size_t least)
{
    if (n < least) return NAN;
    double a = gp_stat_median(v, n / 2), b = gp_stat_median(v + n / 2, n - n / 2);
    return a > 0 && b > 0 ? fabs(log(b / a)) : NAN;
}

/* Differences between the halves of one side are noise: the median over the operations that matter. */
static double noise_of_side(struct gp_decider *t, int side, double *values)
{
    size_t n = 0;
    for (uint32_t i = 0; i < t->d->ops.n; i++) {
        if (t->d->ops.at[i].side[side].total_ns < t->least_ns) continue;
        sum_op(t, i);
        double v = halves_apart(t->sums[side], gp_decide_steps(t, side), NOISE_STEPS);
        if (!isnan(v)) values[n++] = v;
    }
    if (!n) return NAN;
    qsort(values, n, sizeof *values, gp_order_double);
    return values[n / 2];
}

static void measure_noise(struct gp_decider *t)
{
    double *values = gp_alloc((t->d->ops.n + 1) * sizeof *values);
    double most = fmax(noise_of_side(t, GP_DIFF_BASE, values), noise_of_side(t, GP_DIFF_CUR, values));
    free(values);
    t->d->noise_measured_pct = 100 * most;
    t->eps = t->d->opts.noise_pct / 100;
    if (2 * most > t->eps) t->eps = fmin(2 * most, MOST_NOISE);
    if (t->d->two_recorders && t->eps < RECORDERS_DIFFER) t->eps = RECORDERS_DIFFER;
    t->d->noise_pct = 100 * t->eps;
}

/* An operation that drifts within a side shows how much it changes without a cause. */
static double own_noise(struct gp_decider *t, uint32_t op)
{
    double eps = t->eps;
    sum_op(t, op);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        double v = halves_apart(t->sums[side], gp_decide_steps(t, side), OWN_NOISE_STEPS);
        if (2 * v > eps) eps = 2 * v;
    }
    return eps;
}

/* ---- variation of the steps of an operation ---- */

/* The variance that the clock's tick by itself adds to sums of CALLS durations. */
static double least_variance(const struct gp_diff *d, const struct gp_diff_op *op)
{
    double tick = d->tick_ns, calls = fmax(op->side[GP_DIFF_BASE].count, op->side[GP_DIFF_CUR].count);
    double total = (double)(op->side[GP_DIFF_BASE].total_ns + op->side[GP_DIFF_CUR].total_ns) / 2;
    return total > 0 ? calls * tick * tick / 12 / (total * total) : 1;
}

static double pooled_variance(struct gp_decider *t, uint32_t op, struct gp_stat_logs logs[GP_DIFF_SIDES])
{
    double sum = 0, df = 0;
    sum_op(t, op);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        logs[side] = gp_stat_logs_of(t->sums[side], gp_decide_steps(t, side));
        sum += logs[side].variance * ((double)logs[side].n - 1);
        df += (double)logs[side].n - 1;
    }
    return fmax(df > 0 ? sum / df : 0, least_variance(t->d, &t->d->ops.at[op]));
}

static double degrees_of_freedom(const struct gp_decider *t)
{
    return (double)(gp_decide_steps(t, GP_DIFF_BASE) + gp_decide_steps(t, GP_DIFF_CUR)) - 2;
}

static void fit_spread(struct gp_decider *t)
{
    struct gp_stat_logs logs[GP_DIFF_SIDES];
    double *variances = gp_alloc((t->d->ops.n + 1) * sizeof *variances);
    size_t n = 0;
    for (uint32_t i = 0; i < t->d->ops.n && fewest_steps(t) > 1; i++)
        if (is_candidate(t, &t->d->ops.at[i])) variances[n++] = pooled_variance(t, i, logs);
    gp_stat_spread_fit(&t->prior, variances, n, degrees_of_freedom(t));
    free(variances);
}

/* ---- tests ---- */

static void give_interval(struct gp_diff_decision *e, double estimate, double low, double high)
{
    e->estimate_pct = 100 * (estimate - 1);
    e->ci_low_pct = 100 * (low - 1);
    e->ci_high_pct = 100 * (high - 1);
}

static void test_ranks(struct gp_decider *t, uint32_t op, struct gp_diff_decision *e)
{
    size_t n = gp_decide_steps(t, GP_DIFF_BASE), m = gp_decide_steps(t, GP_DIFF_CUR);
    const int64_t *a = t->sums[GP_DIFF_BASE], *b = t->sums[GP_DIFF_CUR];
    sum_op(t, op);
    struct gp_stat_ratio r = gp_stat_ratio(a, n, b, m, t->d->opts.alpha);
    e->test = GP_BY_MANN_WHITNEY;
    e->n[GP_DIFF_BASE] = (uint32_t)n;
    e->n[GP_DIFF_CUR] = (uint32_t)m;
    e->p = gp_stat_mann_whitney(a, n, b, m).p;
    give_interval(e, r.estimate, r.low, r.high);
    if (r.confidence >= 1 - t->d->opts.alpha) return;
    e->ci_low_pct = -100; /* too few steps for a meaningful interval */
    e->ci_high_pct = INFINITY;
}

static void test_pairs(struct gp_decider *t, struct gp_diff_decision *e)
{
    size_t n = t->pairs[GP_DIFF_BASE].n;
    const int64_t *a = t->pairs[GP_DIFF_BASE].at, *b = t->pairs[GP_DIFF_CUR].at;
    struct gp_stat_ratio r = gp_stat_ratio_paired(a, b, n, t->d->opts.alpha);
    e->test = GP_BY_WILCOXON;
    e->n[GP_DIFF_BASE] = e->n[GP_DIFF_CUR] = (uint32_t)n;
    e->p = gp_stat_signed_rank_ratio(a, b, n).p;
    give_interval(e, r.estimate, r.low, r.high);
}

static void test_moderated(struct gp_decider *t, uint32_t op, struct gp_diff_decision *e)
{
    struct gp_stat_logs logs[GP_DIFF_SIDES];
    double variance = pooled_variance(t, op, logs);
    struct gp_stat_ratio r;
    e->p = gp_stat_moderated(&r, &t->prior, &logs[GP_DIFF_BASE], &logs[GP_DIFF_CUR], variance,
                             degrees_of_freedom(t), t->d->opts.alpha);
    e->test = GP_BY_MODERATED;
    e->n[GP_DIFF_BASE] = (uint32_t)logs[GP_DIFF_BASE].n;
    e->n[GP_DIFF_CUR] = (uint32_t)logs[GP_DIFF_CUR].n;
    give_interval(e, r.estimate, r.low, r.high);
}

/* Steps are the samples if there are enough. With fewer, calls are compared with calls if a step has enough
 * of them; otherwise the spread of all operations informs the test. */
static void test_op(struct gp_decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    struct gp_diff_decision *e = &op->d;
    size_t steps = fewest_steps(t);
    e->within_run = t->d->side[GP_DIFF_BASE].runs < 2 || t->d->side[GP_DIFF_CUR].runs < 2;
    e->test = GP_BY_NO_TEST;
    if (op->count_changed) e->test = GP_BY_EQUALITY;
    if (!is_candidate(t, op) || !steps) return;
    if (steps >= STEPS_ENOUGH) {
        test_ranks(t, i, e);
        return;
    }
    size_t count = gp_decide_count(t, i);
    size_t enough = steps > 1 ? gp_stat_least_pairs(t->d->opts.alpha, t->candidates) : PAIRS_LEAST;
    if (count >= enough && count >= PAIRS_LEAST && gp_decide_pairs(t, i, count)) test_pairs(t, e);
    else if (steps > 1) test_moderated(t, i, e);
}

static void correct(struct gp_decider *t)
{
    struct gp_diff *d = t->d;
    double *p = gp_alloc((d->ops.n + 1) * sizeof *p);
    for (size_t i = 0; i < d->ops.n; i++) {
        p[i] = d->ops.at[i].d.p;
        d->tested += !isnan(p[i]);
    }
    gp_stat_adjust(p, p, d->ops.n);
    for (size_t i = 0; i < d->ops.n; i++) d->ops.at[i].d.q = p[i];
    d->least_steps = (uint32_t)gp_stat_least_n(d->opts.alpha, d->tested);
    free(p);
}

/* ---- verdicts ---- */

static int64_t least_percall(const struct gp_decider *t, const struct gp_diff_op *op)
{
    return op->relaunched ? LEAST_RELAUNCHED : t->d->guard_percall_ns;
}

static bool guards_hold(const struct gp_decider *t, const struct gp_diff_op *op)
{
    const struct gp_diff_figure *a = &op->side[GP_DIFF_BASE], *b = &op->side[GP_DIFF_CUR];
    bool often = a->count >= MANY_CALLS && b->count >= MANY_CALLS;
    if (llabs(op->change_ns) < t->least_ns) return false;
    return often || op->count_changed || fabs(b->mean_ns - a->mean_ns) >= (double)least_percall(t, op);
}

/* The interval of the ratio is beyond the noise, in the direction in which the sum changed. */
static bool beyond_noise(const struct gp_decider *t, uint32_t i)
{
    const struct gp_diff_op *op = &t->d->ops.at[i];
    double low = 1 + op->d.ci_low_pct / 100, high = 1 + op->d.ci_high_pct / 100, more = 1 + t->own_eps[i];
    return op->change_ns > 0 ? low > more : op->change_ns < 0 && high < 1 / more;
}

/* Shown to be the same: everything the interval allows is noise, or too little to matter. */
static bool is_same(const struct gp_decider *t, const struct gp_diff_op *op)
{
    double low = 1 + op->d.ci_low_pct / 100, high = 1 + op->d.ci_high_pct / 100;
    if (isnan(op->d.ci_low_pct) || isinf(high)) return false;
    if (low >= 1 / (1 + t->eps) && high <= 1 + t->eps) return true;
    double most = fmax(fabs(low - 1), fabs(high - 1));
    const struct gp_diff_figure *a = &op->side[GP_DIFF_BASE], *b = &op->side[GP_DIFF_CUR];
    bool little = most * (double)larger(a->total_ns, b->total_ns) < (double)t->least_ns;
    bool often = a->count >= MANY_CALLS && b->count >= MANY_CALLS;
    return little || (!often && most * fmax(a->mean_ns, b->mean_ns) < (double)least_percall(t, op));
}

static uint32_t steps_needed(struct gp_decider *t, uint32_t op)
{
    struct gp_stat_logs logs[GP_DIFF_SIDES];
    double change = fabs(t->d->ops.at[op].d.estimate_pct) / 100, spread = sqrt(pooled_variance(t, op, logs));
    double ratio = 1 + (change > 2 * t->eps ? change : 2 * t->eps);
    size_t tests = t->d->tested ? t->d->tested : 1;
    size_t n = gp_stat_enough_n(ratio, fmax(spread, t->eps / 2), t->d->opts.alpha, tests);
    if (n < STEPS_ENOUGH) n = STEPS_ENOUGH;
    size_t have = fewest_steps(t); /* as many as there are were not enough */
    return (uint32_t)(n > have ? n : have + 1);
}

static void judge_count(struct gp_decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    sum_op(t, i);
    op->d.significant = guards_hold(t, op) &&
                        gp_stat_apart(t->sums[GP_DIFF_BASE], gp_decide_steps(t, GP_DIFF_BASE),
                                      t->sums[GP_DIFF_CUR], gp_decide_steps(t, GP_DIFF_CUR), 1 + t->eps);
    op->d.why = gp_diff_text(t->d, "%.10g calls per %s instead of %.10g", op->side[GP_DIFF_CUR].count,
                             gp_diff_unit_name((enum gp_diff_unit)t->d->unit), op->side[GP_DIFF_BASE].count);
    if (op->d.significant) op->change = gp_decide_direction(op->change_ns);
    else if (llabs(op->change_ns) < t->least_ns) op->change = GP_CHANGE_NONE;
    else op->change = GP_CHANGE_INCONCLUSIVE;
}

/* The change may come from graphs, which launch without pauses: no number of steps can decide it. */
static bool is_relaunch(const struct gp_decider *t, const struct gp_diff_op *op)
{
    return op->relaunched && llabs(op->change_ns) >= t->least_ns;
}

/* It is not by chance, but a guard rejects it. */
static gp_sid why_little(struct gp_decider *t, const struct gp_diff_op *op)
{
    if (llabs(op->change_ns) < t->least_ns)
        return gp_diff_text(t->d, "changed by less than %g%% of the GPU time", t->d->guard_share_pct);
    if (op->relaunched)
        return gp_diff_text(
            t->d, "graphs launch kernels without pauses, which explains so small a change per call");
    return gp_diff_text(t->d, "changed by less than %d ns per call", (int)least_percall(t, op));
}

static void judge_tested(struct gp_decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    struct gp_diff_decision *e = &op->d;
    bool real = e->q <= t->d->opts.alpha && beyond_noise(t, i);
    e->significant = real && guards_hold(t, op);
    if (e->significant) {
        op->change = gp_decide_direction(op->change_ns);
    } else if (time_of(op) < t->least_ns) {
        op->change = GP_CHANGE_NONE;
        e->why = gp_diff_text(t->d, "too little time to matter");
    } else if (real) {
        op->change = is_relaunch(t, op) ? GP_CHANGE_INCONCLUSIVE : GP_CHANGE_NONE;
        e->why = why_little(t, op);
    } else if (is_same(t, op)) {
        op->change = GP_CHANGE_NONE;
    } else {
        op->change = GP_CHANGE_INCONCLUSIVE;
        e->needed = steps_needed(t, i);
    }
    if (op->retiled && !e->significant) op->change = GP_CHANGE_RETILED;
}

static void judge_op(struct gp_decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    if (!gp_decide_on_both(op)) {
        op->change = op->side[GP_DIFF_CUR].present ? GP_CHANGE_NEW : GP_CHANGE_REMOVED;
        op->d.test = GP_BY_EQUALITY;
        op->d.significant = llabs(op->change_ns) >= t->least_ns;
    } else if (t->d->identical) {
        op->change = GP_CHANGE_NONE;
    } else if (waits(t, op)) {
        op->change = llabs(op->change_ns) < t->least_ns ? GP_CHANGE_NONE : GP_CHANGE_INCONCLUSIVE;
        op->d.why = gp_diff_text(t->d, "its kernels wait for other ranks");
    } else if (gp_decide_is_recorded_unlike(t->d, op)) {
        op->change = llabs(op->change_ns) < t->least_ns ? GP_CHANGE_NONE : GP_CHANGE_INCONCLUSIVE;
        op->d.why =
            gp_diff_text(t->d, "the host copies pageable memory, and the recorders slow it down differently");
    } else if (op->count_changed) {
        judge_count(t, i);
    } else {
        judge_tested(t, i);
    }
}

/* The rule of thumb: more than so many percent. */
static void judge_simply(struct gp_decider *t, struct gp_diff_op *op)
{
    bool both = gp_decide_on_both(op);
    op->d.test = GP_BY_THRESHOLD;
    op->d.estimate_pct = op->change_pct;
    op->d.significant = both && fabs(op->change_pct) >= t->d->opts.threshold_pct;
    if (!both) op->change = op->side[GP_DIFF_CUR].present ? GP_CHANGE_NEW : GP_CHANGE_REMOVED;
    else op->change = op->d.significant ? gp_decide_direction(op->change_ns) : GP_CHANGE_NONE;
}

/* ---- all ---- */

static void decide_ops(struct gp_decider *t)
{
    struct gp_diff *d = t->d;
    for (uint32_t i = 0; i < d->ops.n; i++) t->candidates += is_candidate(t, &d->ops.at[i]);
    measure_noise(t);
    fit_spread(t);
    for (uint32_t i = 0; i < d->ops.n; i++) {
        t->own_eps[i] = is_candidate(t, &d->ops.at[i]) ? own_noise(t, i) : t->eps;
        test_op(t, i);
    }
    correct(t);
    for (uint32_t i = 0; i < d->ops.n; i++) judge_op(t, i);
}

/* Pictures show the steps of an operation; so many figures in all. */
static void keep_samples(struct gp_decider *t)
{
    enum { SAMPLES_MOST = 1 << 20 };
    size_t each = gp_decide_steps(t, GP_DIFF_BASE) + gp_decide_steps(t, GP_DIFF_CUR);
    for (uint32_t i = 0; i < t->d->ops.n && t->d->samples.n + each <= SAMPLES_MOST; i++) {
        struct gp_diff_op *op = &t->d->ops.at[i];
        sum_op(t, i);
        op->first_sample = (uint32_t)t->d->samples.n;
        for (int side = 0; side < GP_DIFF_SIDES; side++) {
            op->n_samples[side] = (uint32_t)gp_decide_steps(t, side);
            for (size_t k = 0; k < gp_decide_steps(t, side); k++)
                GP_VEC_PUSH(&t->d->samples, t->sums[side][k]);
        }
    }
}

/* What step times differ by within a run; and from which change on few runs decide. */
static void measure_walls(struct gp_decider *t)
{
    double most = NAN;
    bool few = false;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        size_t n = gp_diff_metric_values(t->w, side, GP_METRIC_STEP, t->sums[side]);
        most = fmax(most, halves_apart(t->sums[side], n, NOISE_STEPS));
        few |= n < WINDOWS_ENOUGH;
    }
    t->d->noise_wall_pct = 100 * most;
    t->d->step_bound_pct = t->d->opts.step_bound_pct * (few ? 2 : 1);
    if (200 * most > t->d->step_bound_pct) t->d->step_bound_pct = 200 * most;
}

void gp_diff_decide(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct gp_decider t = {.w = w, .d = d, .own_eps = gp_zalloc((d->ops.n + 1) * sizeof *t.own_eps)};
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        t.sums[side] = gp_alloc((w->side[side].samples.n + 1) * sizeof **t.sums);
    int64_t most = larger(d->side[GP_DIFF_BASE].gpu_ns, d->side[GP_DIFF_CUR].gpu_ns);
    t.least_ns = (int64_t)ceil(LEAST_SHARE * (double)most);
    d->guard_share_pct = 100 * LEAST_SHARE;
    d->guard_percall_ns = larger(LEAST_PERCALL, 3 * (int64_t)d->tick_ns);
    if (d->opts.mode == GP_DIFF_SIMPLE)
        for (uint32_t i = 0; i < d->ops.n; i++) judge_simply(&t, &d->ops.at[i]);
    else decide_ops(&t);
    measure_walls(&t);
    for (int m = 0; m < GP_METRIC_COUNT; m++) gp_decide_metric(&t, &d->metrics[m]);
    keep_samples(&t);
    free(t.own_eps);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        free(t.sums[side]);
        GP_VEC_FREE(&t.pairs[side]);
    }
}
