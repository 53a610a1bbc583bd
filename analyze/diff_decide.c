/* What is real: tests, intervals and the guards that keep what is small, or measured once, from being called a change.
 * The rules are written down in README.md, "Comparing". */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff_parts.h"
#include "analyze/hta_parts.h"
#include "analyze/stat_test.h"

enum {
    STEPS_ENOUGH = 7,   /* steps a side from which they are samples themselves */
    PAIRS_LEAST = 6,    /* positions that a test of pairs needs */
    RUNS_ENOUGH = 5,    /* runs a side from which times that depend on the host can be decided */
    NOISE_STEPS = 4,    /* steps of a side whose halves tell of noise */
    MANY_CALLS = 1000,  /* a step: even a few ns each are something */
    LEAST_PERCALL = 100 /* ns */
};

static const double LEAST_SHARE =
    0.001; /* of the GPU time: what is less does not matter, whether real or not */
static const double MOST_NOISE = 0.2;

struct decider {
    struct gp_diff_work *w;
    struct gp_diff *d;
    double eps;                           /* floor of noise, as a part */
    int64_t least_ns;                     /* change of a step's GPU time that matters */
    int64_t *sums[GP_DIFF_SIDES];         /* scratch: by sample */
    GP_VEC(int64_t) pairs[GP_DIFF_SIDES]; /* scratch: by position */
};

static int side_size(const struct decider *t, int side)
{
    return (int)t->w->side[side].samples.n;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- samples of an operation ---- */

static void sum_steps(struct decider *t, uint32_t op)
{
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &t->w->side[side];
        memset(t->sums[side], 0, (g->samples.n + 1) * sizeof *t->sums[side]);
        for (size_t i = g->first_call[op]; i < g->first_call[op + 1]; i++)
            t->sums[side][g->calls[i].sample] =
                gp_add_saturated(t->sums[side][g->calls[i].sample], g->calls[i].dur_ns);
    }
}

/* ---- pairs ---- */

static int by_shape(const void *a, const void *b)
{
    const struct gp_diff_call *x = a, *y = b;
    return x->shape < y->shape ? -1 : x->shape > y->shape;
}

/* A stable sort: calls of one shape stay in their order. */
static void sort_by_shape(struct gp_diff_call *calls, size_t n)
{
    struct keyed {
        struct gp_diff_call call;
        size_t at;
    };
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) sorted = by_shape(&calls[i - 1], &calls[i]) <= 0;
    if (sorted) return;
    for (size_t width = 1; width < n; width *= 2) { /* merge from below: nothing else is stable and short */
        struct gp_diff_call *to = gp_alloc(n * sizeof *to);
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = lo + width < n ? lo + width : n, end = mid + width < n ? mid + width : n;
            size_t i = lo, k = mid, at = lo;
            while (i < mid || k < end)
                to[at++] =
                    k >= end || (i < mid && calls[i].shape <= calls[k].shape) ? calls[i++] : calls[k++];
        }
        memcpy(calls, to, n * sizeof *calls);
        free(to);
    }
}

/* The calls of one sample of an operation that has COUNT in each. */
static struct gp_diff_call *calls_of(struct gp_diff_group *g, uint32_t op, size_t sample, size_t count)
{
    return g->calls + g->first_call[op] + sample * count;
}

static bool same_shapes(const struct gp_diff_call *a, const struct gp_diff_call *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].shape != b[i].shape) return false;
    return true;
}

static bool all_alike(struct decider *t, int side, const struct gp_diff_call *like, uint32_t op, size_t count)
{
    struct gp_diff_group *g = &t->w->side[side];
    for (size_t i = 0; i < g->samples.n; i++)
        if (!same_shapes(like, calls_of(g, op, i, count), count)) return false;
    return true;
}

/* How often each step calls an operation, when that is the same in all steps of both sides; 0 else. */
static size_t calls_per_step(struct decider *t, uint32_t op)
{
    size_t count = 0;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &t->w->side[side];
        size_t n = g->first_call[op + 1] - g->first_call[op];
        if (!g->samples.n || n % g->samples.n) return 0;
        if (side && n / g->samples.n != count) return 0;
        count = n / g->samples.n;
        for (size_t i = 0; i < n; i++)
            if (g->calls[g->first_call[op] + i].sample != i / (count ? count : 1)) return 0;
    }
    return count;
}

/* Are the calls of a step the same ones in all steps of both sides, one by one? They are put in order by shape where that
 * helps: compilers launch in another order. Where the sides have other shapes, the order within each is all there is. */
static bool can_pair(struct decider *t, uint32_t op, size_t count)
{
    struct gp_diff_call *base = calls_of(&t->w->side[GP_DIFF_BASE], op, 0, count);
    struct gp_diff_call *cur = calls_of(&t->w->side[GP_DIFF_CUR], op, 0, count);
    bool steady = all_alike(t, GP_DIFF_BASE, base, op, count) && all_alike(t, GP_DIFF_CUR, cur, op, count);
    if (steady && same_shapes(base, cur, count)) return true;
    const struct gp_diff_op *o = &t->d->ops.at[op];
    if (steady && (o->retiled || o->reshaped)) return true;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        for (size_t i = 0; i < t->w->side[side].samples.n; i++)
            sort_by_shape(calls_of(&t->w->side[side], op, i, count), count);
    return all_alike(t, GP_DIFF_BASE, base, op, count) && all_alike(t, GP_DIFF_CUR, base, op, count);
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Twice the median over the steps of each position, so that it is an integer. */
static void find_medians(struct decider *t, int side, uint32_t op, size_t count)
{
    struct gp_diff_group *g = &t->w->side[side];
    size_t n = g->samples.n;
    t->pairs[side].n = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < n; i++) t->sums[side][i] = calls_of(g, op, i, count)[k].dur_ns;
        qsort(t->sums[side], n, sizeof *t->sums[side], compare_ns);
        GP_VEC_PUSH(&t->pairs[side], t->sums[side][(n - 1) / 2] + t->sums[side][n / 2]);
    }
}

static bool find_pairs(struct decider *t, uint32_t op)
{
    size_t count = calls_per_step(t, op);
    if (count < PAIRS_LEAST || !can_pair(t, op, count)) return false;
    find_medians(t, GP_DIFF_BASE, op, count);
    find_medians(t, GP_DIFF_CUR, op, count);
    return true;
}

/* ---- tests ---- */

static void give_ratio(struct gp_diff_decision *e, const struct gp_stat_ratio *r)
{
    e->estimate_pct = 100 * (r->estimate - 1);
    if (r->confidence <= 0) return;
    e->ci_low_pct = 100 * (r->low - 1);
    e->ci_high_pct = 100 * (r->high - 1);
}

static void test_steps(struct decider *t, struct gp_diff_decision *e)
{
    size_t n = (size_t)side_size(t, GP_DIFF_BASE), m = (size_t)side_size(t, GP_DIFF_CUR);
    struct gp_stat_p p = gp_stat_mann_whitney(t->sums[GP_DIFF_BASE], n, t->sums[GP_DIFF_CUR], m);
    struct gp_stat_ratio r =
        gp_stat_ratio(t->sums[GP_DIFF_BASE], n, t->sums[GP_DIFF_CUR], m, t->d->opts.alpha);
    e->test = GP_BY_MANN_WHITNEY;
    e->n[GP_DIFF_BASE] = (uint32_t)n;
    e->n[GP_DIFF_CUR] = (uint32_t)m;
    e->p = p.p;
    give_ratio(e, &r);
    if (r.confidence < 1 - t->d->opts.alpha) { /* too few steps for an interval that means what it says */
        e->ci_low_pct = -100;
        e->ci_high_pct = INFINITY;
    }
}

static void test_pairs(struct decider *t, struct gp_diff_decision *e)
{
    size_t n = t->pairs[GP_DIFF_BASE].n;
    const int64_t *a = t->pairs[GP_DIFF_BASE].at, *b = t->pairs[GP_DIFF_CUR].at;
    struct gp_stat_p p = gp_stat_signed_rank_ratio(a, b, n);
    struct gp_stat_ratio r = gp_stat_ratio_paired(a, b, n, t->d->opts.alpha);
    e->test = GP_BY_WILCOXON;
    e->n[GP_DIFF_BASE] = e->n[GP_DIFF_CUR] = (uint32_t)n;
    e->p = p.p;
    give_ratio(e, &r);
}

/* ---- operations ---- */

static bool on_both(const struct gp_diff_op *op)
{
    return op->side[GP_DIFF_BASE].present && op->side[GP_DIFF_CUR].present;
}

static int64_t time_of(const struct gp_diff_op *op)
{
    return larger(op->side[GP_DIFF_BASE].total_ns, op->side[GP_DIFF_CUR].total_ns);
}

/* Whether an operation is tested depends on its size alone, not on how it changed. */
static void test_op(struct decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    struct gp_diff_decision *e = &op->d;
    e->within_run = t->d->side[GP_DIFF_BASE].runs < 2 || t->d->side[GP_DIFF_CUR].runs < 2;
    if (!on_both(op)) return;
    int fewest = side_size(t, GP_DIFF_BASE);
    if (side_size(t, GP_DIFF_CUR) < fewest) fewest = side_size(t, GP_DIFF_CUR);
    bool pairs = fewest && fewest < STEPS_ENOUGH && !op->count_changed && find_pairs(t, i);
    if (pairs) {
        test_pairs(t, e);
    } else {
        sum_steps(t, i);
        test_steps(t, e);
    }
    if (op->count_changed) e->test = GP_BY_EQUALITY;
    if (op->count_changed || time_of(op) < t->least_ns) e->p = NAN;
}

/* The steps of one side all lie above those of the other, by more than noise. */
static bool lies_apart(struct decider *t, uint32_t op)
{
    int64_t low[GP_DIFF_SIDES], high[GP_DIFF_SIDES];
    sum_steps(t, op);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        low[side] = INT64_MAX;
        high[side] = 0;
        for (int i = 0; i < side_size(t, side); i++) {
            if (t->sums[side][i] < low[side]) low[side] = t->sums[side][i];
            if (t->sums[side][i] > high[side]) high[side] = t->sums[side][i];
        }
    }
    double more = 1 + t->eps;
    return (double)low[GP_DIFF_CUR] > more * (double)high[GP_DIFF_BASE] ||
           (double)low[GP_DIFF_BASE] > more * (double)high[GP_DIFF_CUR];
}

/* How much longer a call takes, in ns; of operations that run as often on both sides. */
static double percall_ns(const struct gp_diff_op *op)
{
    return op->side[GP_DIFF_CUR].mean_ns - op->side[GP_DIFF_BASE].mean_ns;
}

static bool guards_hold(const struct decider *t, const struct gp_diff_op *op)
{
    bool often = op->side[GP_DIFF_BASE].count >= MANY_CALLS && op->side[GP_DIFF_CUR].count >= MANY_CALLS;
    if (llabs(op->change_ns) < t->least_ns) return false;
    return often || op->count_changed || fabs(percall_ns(op)) >= (double)t->d->guard_percall_ns;
}

/* The interval of the ratio lies beyond the noise, on the side that the sum changed to. */
static bool beyond_noise(const struct decider *t, const struct gp_diff_op *op)
{
    double low = 1 + op->d.ci_low_pct / 100, high = 1 + op->d.ci_high_pct / 100;
    return op->change_ns > 0 ? low > 1 + t->eps : op->change_ns < 0 && high < 1 / (1 + t->eps);
}

/* Shown to be the same: whatever the interval allows is noise, or too little to matter. */
static bool is_same(const struct decider *t, const struct gp_diff_op *op)
{
    double low = 1 + op->d.ci_low_pct / 100, high = 1 + op->d.ci_high_pct / 100;
    if (isnan(op->d.ci_low_pct) || isinf(high)) return false;
    if (low >= 1 / (1 + t->eps) && high <= 1 + t->eps) return true;
    double most = fmax(fabs(low - 1), fabs(high - 1));
    const struct gp_diff_figure *a = &op->side[GP_DIFF_BASE], *b = &op->side[GP_DIFF_CUR];
    bool little = most * (double)larger(a->total_ns, b->total_ns) < (double)t->least_ns;
    bool often = a->count >= MANY_CALLS && b->count >= MANY_CALLS;
    return little || (!often && most * fmax(a->mean_ns, b->mean_ns) < (double)t->d->guard_percall_ns);
}

/* The spread of an operation's steps within the sides, as a part of their median: what decides how many it takes. */
static double spread_of(struct decider *t, uint32_t op)
{
    double most = 0;
    sum_steps(t, op);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        size_t n = (size_t)side_size(t, side);
        double median = gp_stat_median(t->sums[side], n);
        if (median > 0) most = fmax(most, 1.4826 * gp_stat_mad(t->sums[side], n) / median);
    }
    return most;
}

static uint32_t steps_needed(struct decider *t, uint32_t op)
{
    double ratio = 1 + fmax(fabs(t->d->ops.at[op].d.estimate_pct) / 100, 2 * t->eps);
    if (isnan(ratio)) ratio = 1 + 2 * t->eps;
    size_t tests = t->d->tested ? t->d->tested : 1;
    size_t n = gp_stat_enough_n(ratio, fmax(spread_of(t, op), t->eps / 2), t->d->opts.alpha, tests);
    size_t least = gp_stat_least_n(t->d->opts.alpha, tests);
    if (n < least) n = least;
    if (n < STEPS_ENOUGH) n = STEPS_ENOUGH;
    /* As many as there are were not enough. */
    size_t have = (size_t)larger(side_size(t, GP_DIFF_BASE), side_size(t, GP_DIFF_CUR));
    return (uint32_t)(n > have ? n : have + 1);
}

static enum gp_change slower_or_faster(int64_t change_ns)
{
    return change_ns > 0 ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT;
}

static void judge_count(struct decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    op->d.significant = guards_hold(t, op) && lies_apart(t, i);
    op->d.why = gp_diff_text(t->d, "%.10g calls a step instead of %.10g", op->side[GP_DIFF_CUR].count,
                             op->side[GP_DIFF_BASE].count);
    if (op->d.significant) op->change = slower_or_faster(op->change_ns);
    else if (llabs(op->change_ns) < t->least_ns) op->change = GP_CHANGE_NONE;
    else op->change = GP_CHANGE_INCONCLUSIVE;
}

static void judge_tested(struct decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    struct gp_diff_decision *e = &op->d;
    e->significant = e->q <= t->d->opts.alpha && guards_hold(t, op) && beyond_noise(t, op);
    if (e->significant) {
        op->change = slower_or_faster(op->change_ns);
        if (op->relaunched)
            e->why = gp_diff_text(t->d, "launched singly on one side and by graphs on the other");
    } else if (time_of(op) < t->least_ns) {
        op->change = GP_CHANGE_NONE;
        e->why = gp_diff_text(t->d, "too little time to matter");
    } else if (is_same(t, op)) {
        op->change = GP_CHANGE_NONE;
    } else {
        op->change = GP_CHANGE_INCONCLUSIVE;
        e->needed = steps_needed(t, i);
    }
    if (op->retiled && !e->significant) op->change = GP_CHANGE_RETILED;
}

static void judge_op(struct decider *t, uint32_t i)
{
    struct gp_diff_op *op = &t->d->ops.at[i];
    if (!on_both(op)) {
        op->change = op->side[GP_DIFF_CUR].present ? GP_CHANGE_NEW : GP_CHANGE_REMOVED;
        op->d.test = GP_BY_EQUALITY;
        op->d.significant = llabs(op->change_ns) >= t->least_ns;
    } else if (t->d->identical) {
        op->change = GP_CHANGE_NONE;
    } else if (op->count_changed) {
        judge_count(t, i);
    } else {
        judge_tested(t, i);
    }
}

/* The rule of thumb: more than so many percent. */
static void judge_simply(struct decider *t, struct gp_diff_op *op)
{
    double limit = t->d->opts.threshold_pct;
    bool both = on_both(op);
    op->d.test = GP_BY_THRESHOLD;
    op->d.p = op->d.q = op->d.ci_low_pct = op->d.ci_high_pct = NAN;
    op->d.estimate_pct = op->change_pct;
    op->d.needed = 0;
    op->d.significant = both && fabs(op->change_pct) >= limit;
    if (!both) op->change = op->side[GP_DIFF_CUR].present ? GP_CHANGE_NEW : GP_CHANGE_REMOVED;
    else op->change = op->d.significant ? slower_or_faster(op->change_ns) : GP_CHANGE_NONE;
}

/* ---- noise ---- */

static double relative(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log(b / a)) : NAN;
}

/* How far the medians of the two halves of a side's steps lie apart. */
static double halves_differ(const int64_t *v, size_t n)
{
    return n < NOISE_STEPS ? NAN : relative(gp_stat_median(v, n / 2), gp_stat_median(v + n / 2, n - n / 2));
}

static double median_of(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k && v[k - 1] > v[k]; k--) {
            double swap = v[k];
            v[k] = v[k - 1];
            v[k - 1] = swap;
        }
    return n ? v[n / 2] : NAN;
}

/* What differs between the halves of one side is noise: the median over operations that matter, NOISE_OPS at most. */
static void measure_noise(struct decider *t)
{
    enum { NOISE_OPS = 256 };
    double most = NAN;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        double values[NOISE_OPS];
        size_t n = 0;
        for (uint32_t i = 0; i < t->d->ops.n && n < NOISE_OPS; i++) {
            if (t->d->ops.at[i].side[side].total_ns < t->least_ns) continue;
            sum_steps(t, i);
            double v = halves_differ(t->sums[side], (size_t)side_size(t, side));
            if (!isnan(v)) values[n++] = v;
        }
        double median = median_of(values, n);
        if (!isnan(median) && !(most >= median)) most = median;
    }
    t->d->noise_measured_pct = 100 * most;
    t->eps = t->d->opts.noise_pct / 100;
    if (2 * most > t->eps) t->eps = fmin(2 * most, MOST_NOISE);
    t->d->noise_pct = 100 * t->eps;
}

/* ---- metrics ---- */

/* Student's t: P(|T| > T0) with DF degrees of freedom, by the continued fraction of the incomplete beta function. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    if (fabs(d) < tiny) d = tiny;
    d = 1 / d;
    double h = d;
    for (int m = 1; m <= 300; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double e = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                           : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + e * d;
            c = 1 + e / c;
            if (fabs(d) < tiny) d = tiny;
            if (fabs(c) < tiny) c = tiny;
            d = 1 / d;
            h *= d * c;
        }
        if (fabs(d * c - 1) < 1e-14) break;
    }
    return h;
}

double gp_diff_student_p(double t0, double df)
{
    double x = df / (df + t0 * t0), a = df / 2, b = 0.5;
    if (!(df > 0) || isnan(t0)) return 1;
    if (x >= 1) return 1;
    if (x <= 0) return 0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The T0 that gp_diff_student_p() gives P for. */
static double student_limit(double p, double df)
{
    double lo = 0, hi = 1;
    while (gp_diff_student_p(hi, df) > p && hi < 1e9) hi *= 2;
    for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
        double mid = (lo + hi) / 2;
        if (gp_diff_student_p(mid, df) > p) lo = mid;
        else hi = mid;
    }
    return hi;
}

struct moments {
    double mean, var_of_mean, n;
};

static struct moments moments_of(const int64_t *v, size_t n)
{
    struct moments m = {0, 0, (double)n};
    for (size_t i = 0; i < n; i++) m.mean += log(v[i] > 0 ? (double)v[i] : 1);
    m.mean /= m.n;
    for (size_t i = 0; i < n; i++) {
        double d = log(v[i] > 0 ? (double)v[i] : 1) - m.mean;
        m.var_of_mean += d * d;
    }
    m.var_of_mean /= m.n * (m.n - 1);
    return m;
}

/* Sums of hundreds of kernels are close to normal, and a handful of steps is all that people have: Welch's test of the
 * logarithms. Steps that all took the same time to the ns have no spread; the clock's tick is the least there is. */
static void test_welch(struct gp_diff_decision *e, const int64_t *a, size_t n, const int64_t *b, size_t m,
                       double alpha, double least_spread)
{
    e->n[GP_DIFF_BASE] = (uint32_t)n;
    e->n[GP_DIFF_CUR] = (uint32_t)m;
    if (n < 2 || m < 2) return;
    struct moments x = moments_of(a, n), y = moments_of(b, m);
    double floor = least_spread * least_spread;
    x.var_of_mean = fmax(x.var_of_mean, floor / x.n);
    y.var_of_mean = fmax(y.var_of_mean, floor / y.n);
    double var = x.var_of_mean + y.var_of_mean, d = y.mean - x.mean;
    double df =
        var * var / (x.var_of_mean * x.var_of_mean / (x.n - 1) + y.var_of_mean * y.var_of_mean / (y.n - 1));
    double reach = student_limit(alpha, df) * sqrt(var);
    e->test = GP_BY_WELCH;
    e->p = e->q = gp_diff_student_p(d / sqrt(var), df);
    e->estimate_pct = 100 * (exp(d) - 1);
    e->ci_low_pct = 100 * (exp(d - reach) - 1);
    e->ci_high_pct = 100 * (exp(d + reach) - 1);
}

static void test_sums(struct decider *t, struct gp_diff_decision *e, const int64_t *a, size_t n,
                      const int64_t *b, size_t m)
{
    if (n < STEPS_ENOUGH || m < STEPS_ENOUGH) {
        test_welch(e, a, n, b, m, t->d->opts.alpha, t->eps / 10);
        return;
    }
    struct gp_stat_p p = gp_stat_mann_whitney(a, n, b, m);
    struct gp_stat_ratio r = gp_stat_ratio(a, n, b, m, t->d->opts.alpha);
    e->test = GP_BY_MANN_WHITNEY;
    e->n[GP_DIFF_BASE] = (uint32_t)n;
    e->n[GP_DIFF_CUR] = (uint32_t)m;
    e->p = e->q = p.p;
    give_ratio(e, &r);
}

/* By the interval and P alone. */
static enum gp_change judge_interval(const struct gp_diff_decision *e, double alpha, double eps)
{
    double low = 1 + e->ci_low_pct / 100, high = 1 + e->ci_high_pct / 100;
    if (isnan(e->ci_low_pct)) return GP_CHANGE_INCONCLUSIVE;
    if (e->q <= alpha && low > 1 + eps) return GP_CHANGE_REGRESSION;
    if (e->q <= alpha && high < 1 / (1 + eps)) return GP_CHANGE_IMPROVEMENT;
    return low >= 1 / (1 + eps) && high <= 1 + eps ? GP_CHANGE_NONE : GP_CHANGE_INCONCLUSIVE;
}

/* Work that came, went, or is done another number of times: no chance. Positive: more time. */
static int64_t structural_change(const struct gp_diff *d)
{
    int64_t sum = 0;
    for (size_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        if (!on_both(op)) sum += op->change_ns;
        else if (op->count_changed) sum += op->count_effect_ns;
    }
    return sum;
}

static bool values_lie_apart(const int64_t *a, size_t n, const int64_t *b, size_t m, double more)
{
    int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {0, 0};
    for (size_t i = 0; i < n + m; i++) {
        int64_t v = i < n ? a[i] : b[i - n];
        if (v < low[i >= n]) low[i >= n] = v;
        if (v > high[i >= n]) high[i >= n] = v;
    }
    return (double)low[1] > more * (double)high[0] || (double)low[0] > more * (double)high[1];
}

static void judge_kernel_metric(struct decider *t, struct gp_diff_metric *m, const int64_t *a, size_t n,
                                const int64_t *b, size_t k)
{
    test_sums(t, &m->d, a, n, b, k);
    m->verdict = judge_interval(&m->d, t->d->opts.alpha, t->eps);
    bool small = fabs(m->change_pct) <= 100 * t->eps;
    int64_t structure = structural_change(t->d);
    bool total = m->id == GP_METRIC_GPU || m->id == GP_METRIC_BUSY;
    /* The program does other work, and every step shows it: that needs no chance to explain. */
    if (total && m->verdict == GP_CHANGE_INCONCLUSIVE && !small && values_lie_apart(a, n, b, k, 1 + t->eps) &&
        llabs(structure) >= llabs(m->change) / 2 && (structure > 0) == (m->change > 0)) {
        m->verdict = slower_or_faster(m->change);
        m->d.test = GP_BY_EQUALITY;
        m->d.why = gp_diff_text(t->d, "the kernels of a step are others");
    }
    m->d.significant = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
    if (m->verdict == GP_CHANGE_INCONCLUSIVE) m->d.needed = STEPS_ENOUGH;
}

/* No noise, unless the steps of a side differ among themselves. */
static void judge_exact_metric(struct gp_diff_metric *m, const int64_t *a, size_t n, const int64_t *b,
                               size_t k)
{
    m->d.test = GP_BY_EQUALITY;
    m->d.n[GP_DIFF_BASE] = (uint32_t)n;
    m->d.n[GP_DIFF_CUR] = (uint32_t)k;
    m->d.estimate_pct = m->change_pct;
    if (!m->change) m->verdict = GP_CHANGE_NONE;
    else if (values_lie_apart(a, n, b, k, 1)) m->verdict = slower_or_faster(m->change);
    else m->verdict = GP_CHANGE_INCONCLUSIVE;
    m->d.significant = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
}

/* Median over the windows of each run of a side. Returns the number of runs that have any. */
static size_t median_of_runs(const struct gp_diff_work *w, int side, enum gp_metric_id id, int64_t *to)
{
    const struct gp_diff_group *g = &w->side[side];
    int64_t *values = gp_alloc(2 * (g->samples.n + 1) * sizeof *values), *of_run = values + g->samples.n + 1;
    bool window = id == GP_METRIC_STEP || id == GP_METRIC_IDLE;
    size_t runs = 0;
    gp_diff_metric_values(w, side, id, values);
    for (uint32_t run = 0; run < w->d->side[side].runs; run++) {
        size_t n = 0, at = 0;
        for (size_t i = 0; i < g->samples.n; i++) {
            if (window && !g->samples.at[i].window) continue;
            if (g->run_of[g->samples.at[i].profile] == run) of_run[n++] = values[at];
            at++;
        }
        if (n) to[runs++] = (int64_t)gp_stat_median(of_run, n);
    }
    free(values);
    return runs;
}

/* Times that depend on the host change from run to run more than from step to step: steps of one run say nothing. */
static void judge_wall_metric(struct decider *t, struct gp_diff_metric *m, const int64_t *a, size_t n,
                              const int64_t *b, size_t k)
{
    struct gp_diff *d = t->d;
    size_t most = (size_t)larger(d->side[GP_DIFF_BASE].runs, d->side[GP_DIFF_CUR].runs);
    int64_t *runs = gp_alloc(2 * (most + 1) * sizeof *runs), *cur = runs + most + 1;
    size_t r = median_of_runs(t->w, GP_DIFF_BASE, (enum gp_metric_id)m->id, runs);
    size_t s = median_of_runs(t->w, GP_DIFF_CUR, (enum gp_metric_id)m->id, cur);
    if (r >= RUNS_ENOUGH && s >= RUNS_ENOUGH) {
        struct gp_stat_p p = gp_stat_mann_whitney(runs, r, cur, s);
        struct gp_stat_ratio ratio = gp_stat_ratio(runs, r, cur, s, d->opts.alpha);
        m->d.test = GP_BY_MANN_WHITNEY;
        m->d.n[GP_DIFF_BASE] = (uint32_t)r;
        m->d.n[GP_DIFF_CUR] = (uint32_t)s;
        m->d.p = m->d.q = p.p;
        give_ratio(&m->d, &ratio);
        m->verdict = judge_interval(&m->d, d->opts.alpha, t->eps);
    } else {
        struct gp_stat_ratio ratio = gp_stat_ratio_of_means(a, n, b, k, d->opts.alpha, 0);
        m->d.within_run = true;
        m->d.n[GP_DIFF_BASE] = (uint32_t)n;
        m->d.n[GP_DIFF_CUR] = (uint32_t)k;
        give_ratio(&m->d, &ratio);
        m->verdict = GP_CHANGE_INCONCLUSIVE;
        m->d.needed = RUNS_ENOUGH;
        m->d.why = gp_diff_text(d, "depends on the host: %d runs a side would decide it", RUNS_ENOUGH);
    }
    m->d.significant = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
    free(runs);
}

static void judge_metric(struct decider *t, struct gp_diff_metric *m)
{
    struct gp_diff *d = t->d;
    m->d.p = m->d.q = m->d.estimate_pct = m->d.ci_low_pct = m->d.ci_high_pct = NAN;
    m->verdict = GP_CHANGE_INCONCLUSIVE;
    m->d.within_run = d->side[GP_DIFF_BASE].runs < 2 || d->side[GP_DIFF_CUR].runs < 2;
    if (!m->known || m->refused) return;
    int64_t *a = t->sums[GP_DIFF_BASE], *b = t->sums[GP_DIFF_CUR];
    size_t n = gp_diff_metric_values(t->w, GP_DIFF_BASE, (enum gp_metric_id)m->id, a);
    size_t k = gp_diff_metric_values(t->w, GP_DIFF_CUR, (enum gp_metric_id)m->id, b);
    enum gp_metric_class class = gp_metric_class((enum gp_metric_id)m->id);
    if (d->identical || (!m->side[GP_DIFF_BASE] && !m->side[GP_DIFF_CUR])) {
        m->verdict = GP_CHANGE_NONE;
        m->d.estimate_pct = 0;
    } else if (d->opts.mode == GP_DIFF_SIMPLE) {
        m->d.test = GP_BY_THRESHOLD;
        m->d.estimate_pct = m->change_pct;
        m->d.significant = !(fabs(m->change_pct) < d->opts.threshold_pct);
        m->verdict = m->d.significant ? slower_or_faster(m->change) : GP_CHANGE_NONE;
    } else if (class == GP_METRIC_KERNEL) {
        judge_kernel_metric(t, m, a, n, b, k);
    } else if (class == GP_METRIC_WALL) {
        judge_wall_metric(t, m, a, n, b, k);
    } else {
        judge_exact_metric(m, a, n, b, k);
    }
}

/* ---- all ---- */

static void correct(struct decider *t)
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

/* Pictures show the steps of an operation; so many figures in all, the operations in their order. */
static void keep_samples(struct decider *t)
{
    enum { SAMPLES_MOST = 1 << 20 };
    size_t each = (size_t)side_size(t, GP_DIFF_BASE) + (size_t)side_size(t, GP_DIFF_CUR);
    for (uint32_t i = 0; i < t->d->ops.n && t->d->samples.n + each <= SAMPLES_MOST; i++) {
        struct gp_diff_op *op = &t->d->ops.at[i];
        sum_steps(t, i);
        op->first_sample = (uint32_t)t->d->samples.n;
        for (int side = 0; side < GP_DIFF_SIDES; side++) {
            op->n_samples[side] = (uint32_t)side_size(t, side);
            for (int k = 0; k < side_size(t, side); k++) GP_VEC_PUSH(&t->d->samples, t->sums[side][k]);
        }
    }
}

void gp_diff_decide(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct decider t;
    memset(&t, 0, sizeof t);
    t.w = w;
    t.d = d;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        t.sums[side] = gp_alloc((w->side[side].samples.n + 1) * sizeof **t.sums);
    int64_t most = larger(d->side[GP_DIFF_BASE].gpu_ns, d->side[GP_DIFF_CUR].gpu_ns);
    t.least_ns = (int64_t)ceil(LEAST_SHARE * (double)most);
    d->guard_share_pct = 100 * LEAST_SHARE;
    d->guard_percall_ns = larger(LEAST_PERCALL, 3 * (int64_t)d->tick_ns);
    measure_noise(&t);
    for (uint32_t i = 0; i < d->ops.n; i++) test_op(&t, i);
    correct(&t);
    for (uint32_t i = 0; i < d->ops.n; i++) {
        if (d->opts.mode == GP_DIFF_SIMPLE) judge_simply(&t, &d->ops.at[i]);
        else judge_op(&t, i);
    }
    for (int m = 0; m < GP_METRIC_COUNT; m++) judge_metric(&t, &d->metrics[m]);
    d->noise_wall_pct = NAN;
    size_t n = gp_diff_metric_values(w, GP_DIFF_BASE, GP_METRIC_STEP, t.sums[GP_DIFF_BASE]);
    size_t k = gp_diff_metric_values(w, GP_DIFF_CUR, GP_METRIC_STEP, t.sums[GP_DIFF_CUR]);
    double wall[GP_DIFF_SIDES] = {halves_differ(t.sums[GP_DIFF_BASE], n),
                                  halves_differ(t.sums[GP_DIFF_CUR], k)};
    d->noise_wall_pct = 100 * fmax(wall[GP_DIFF_BASE], wall[GP_DIFF_CUR]);
    keep_samples(&t);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        free(t.sums[side]);
        GP_VEC_FREE(&t.pairs[side]);
    }
}
