/* Figures of a whole side: kernels by step, host-dependent times by run, counts exactly. */
#include <math.h>
#include <stdlib.h>
#include "analyze/diff/diff_decide_priv.h"

static void give_ratio(struct gp_diff_decision *e, const struct gp_stat_ratio *r)
{
    e->estimate_pct = 100 * (r->estimate - 1);
    if (r->confidence <= 0) return;
    e->ci_low_pct = 100 * (r->low - 1);
    e->ci_high_pct = 100 * (r->high - 1);
}

/* Sums of hundreds of kernels are close to normal, and people have only a handful of steps. */
static void test_sums(struct gp_decider *t, struct gp_diff_decision *e, const int64_t *a, size_t n,
                      const int64_t *b, size_t m)
{
    bool few = n < STEPS_ENOUGH || m < STEPS_ENOUGH;
    e->n[GP_DIFF_BASE] = (uint32_t)n;
    e->n[GP_DIFF_CUR] = (uint32_t)m;
    if (n < 2 || m < 2) return;
    struct gp_stat_p p = few ? gp_stat_welch(a, n, b, m) : gp_stat_mann_whitney(a, n, b, m);
    struct gp_stat_ratio r =
        few ? gp_stat_ratio_welch(a, n, b, m, t->d->opts.alpha) : gp_stat_ratio(a, n, b, m, t->d->opts.alpha);
    e->test = few ? GP_BY_WELCH : GP_BY_MANN_WHITNEY;
    e->p = e->q = p.p;
    give_ratio(e, &r);
}

/* By the interval and P only. */
static enum gp_change judge_interval(const struct gp_diff_decision *e, double alpha, double eps)
{
    double low = 1 + e->ci_low_pct / 100, high = 1 + e->ci_high_pct / 100;
    if (isnan(e->ci_low_pct)) return GP_CHANGE_INCONCLUSIVE;
    if (e->q <= alpha && low > 1 + eps) return GP_CHANGE_REGRESSION;
    if (e->q <= alpha && high < 1 / (1 + eps)) return GP_CHANGE_IMPROVEMENT;
    return low >= 1 / (1 + eps) && high <= 1 + eps ? GP_CHANGE_NONE : GP_CHANGE_INCONCLUSIVE;
}

/* Work that was added, removed or changed in count: not by chance. Positive: more time. */
static double structural_change(const struct gp_diff *d)
{
    double sum = 0;
    GP_EACH(const struct gp_diff_op, op, d->ops) {
        if (!gp_decide_on_both(op)) sum += (double)op->change_ns;
        else if (op->count_changed) sum += (double)op->count_effect_ns;
    }
    return sum;
}

/* The change that may come from graphs launching kernels on only one side. */
static int64_t relaunched_ns(const struct gp_diff *d)
{
    double calls = 0;
    for (size_t i = 0; i < d->ops.n; i++)
        if (d->ops.at[i].relaunched)
            calls += fmax(d->ops.at[i].side[GP_DIFF_BASE].count, d->ops.at[i].side[GP_DIFF_CUR].count);
    return llround(calls * LEAST_RELAUNCHED);
}

/* By how much the device itself may have differed between the sides: what kernels that both run equally often
 * changed by, twice that and the least noise at least. Where they are less than a tenth of the GPU time: the
 * noise within a side. */
static double noise_of_device(const struct gp_decider *t)
{
    const struct gp_diff *d = t->d;
    double sum[GP_DIFF_SIDES] = {0};
    for (size_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        if (!gp_decide_on_both(op) || op->count_changed || t->w->waits[i]) continue;
        for (int side = 0; side < GP_DIFF_SIDES; side++) sum[side] += (double)op->side[side].total_ns;
    }
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        if (sum[side] <= 0 || sum[side] * 10 < (double)d->side[side].gpu_ns) return t->eps;
    double eps = fmax(2 * fabs(log(sum[GP_DIFF_CUR] / sum[GP_DIFF_BASE])), d->opts.noise_pct / 100);
    return fmin(eps, t->eps);
}

static void judge_kernel_metric(struct gp_decider *t, struct gp_diff_metric *m, const int64_t *a, size_t n,
                                const int64_t *b, size_t k)
{
    test_sums(t, &m->d, a, n, b, k);
    m->verdict = judge_interval(&m->d, t->d->opts.alpha, t->eps);
    double structure = structural_change(t->d), eps = noise_of_device(t);
    bool small = fabs(m->change_pct) <= 100 * eps;
    bool total = m->id == GP_METRIC_GPU || m->id == GP_METRIC_BUSY;
    /* The program does different work, and every step shows it: chance does not explain that. */
    if (total && m->verdict == GP_CHANGE_INCONCLUSIVE && !small && gp_stat_apart(a, n, b, k, 1 + eps) &&
        fabs(structure) >= fabs((double)m->change) / 2 && (structure > 0) == (m->change > 0)) {
        m->verdict = gp_decide_direction(m->change);
        m->d.test = GP_BY_EQUALITY;
        m->d.why = gp_diff_text(t->d, "the steps run different kernels");
    }
    if (m->verdict == GP_CHANGE_INCONCLUSIVE) m->d.needed = STEPS_ENOUGH;
    bool decided = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
    if (decided && llabs(m->change) < relaunched_ns(t->d)) {
        m->verdict = GP_CHANGE_INCONCLUSIVE;
        m->d.why = gp_diff_text(
            t->d, "graphs launch kernels without pauses, which explains so small a change per kernel");
    }
    double pageable = 0;
    for (size_t i = 0; i < t->d->ops.n; i++)
        if (gp_decide_on_both(&t->d->ops.at[i]) && gp_decide_is_recorded_unlike(t->d, &t->d->ops.at[i]))
            pageable += (double)t->d->ops.at[i].change_ns;
    if (decided && fabs(pageable) > fabs((double)m->change - pageable)) {
        m->verdict = GP_CHANGE_INCONCLUSIVE;
        m->d.why = gp_diff_text(
            t->d, "most of it is copies of pageable memory, which the recorders slow down differently");
    }
    int64_t waiting = t->d->metrics[GP_METRIC_COMMUNICATION].change;
    if (decided && total && fabs((double)waiting) > fabs((double)m->change - (double)waiting)) {
        m->verdict = GP_CHANGE_INCONCLUSIVE;
        m->d.why = gp_diff_text(t->d, "most of it is communication, whose kernels wait for other ranks");
    }
    m->d.significant = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
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
    else if (gp_stat_apart(a, n, b, k, 1)) m->verdict = gp_decide_direction(m->change);
    else m->verdict = GP_CHANGE_INCONCLUSIVE;
    m->d.significant = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
}

/* Median over the windows of each run of a side. Returns the number of runs with windows. */
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

/* Does the step time differ by so much that few runs are enough: all steps of one side beyond all of the
 * other, and the change beyond what runs of one program differ by (README.md, "Few runs")? */
static bool is_far_apart(const struct gp_decider *t, const int64_t *a, size_t n, const int64_t *b, size_t k)
{
    size_t least = n < k ? n : k;
    double bound = log(1 + t->d->step_bound_pct / 100);
    if (t->d->unit != GP_DIFF_PER_STEP || least < 2 || !gp_stat_apart(a, n, b, k, 1)) return false;
    double sums[GP_DIFF_SIDES] = {0};
    for (size_t i = 0; i < n; i++) sums[GP_DIFF_BASE] += (double)a[i] / (double)n;
    for (size_t i = 0; i < k; i++) sums[GP_DIFF_CUR] += (double)b[i] / (double)k;
    double means = log(sums[GP_DIFF_CUR] / sums[GP_DIFF_BASE]);
    double medians = log(gp_stat_median(b, k) / gp_stat_median(a, n));
    return (means > bound && medians > bound) || (means < -bound && medians < -bound);
}

/* ---- waits that only one side has ---- */

/* Do all steps of side SLOW call ID more often than all of the other one? */
static bool calls_more(const struct gp_decider *t, enum gp_metric_id id, int slow)
{
    const struct gp_diff_metric *m = &t->d->metrics[id];
    if (!m->known || m->refused || (m->change > 0) != (slow == GP_DIFF_CUR) || !m->change) return false;
    size_t room = gp_decide_steps(t, GP_DIFF_BASE) + gp_decide_steps(t, GP_DIFF_CUR) + 1;
    int64_t *a = gp_alloc(2 * room * sizeof *a), *b = a + room;
    size_t n = gp_diff_metric_values(t->w, GP_DIFF_BASE, id, a),
           k = gp_diff_metric_values(t->w, GP_DIFF_CUR, id, b);
    bool apart = n && k && gp_stat_apart(a, n, b, k, 1);
    free(a);
    return apart;
}

/* Is the step longer because the GPU is kept waiting by calls that the other side does not make? All steps of
 * one side are beyond all of the other, the slower one waits for the GPU more often, and what it is slower by
 * is time in which the GPU waits for the host, which it hardly does on the other side: so how fast the host
 * is decides how much the step changed, but not whether it did (README.md, "Waits"). */
static bool is_explained_by_waits(const struct gp_decider *t, const struct gp_diff_metric *m,
                                  const int64_t *a, size_t n, const int64_t *b, size_t k)
{
    const struct gp_diff *d = t->d;
    int slow = m->change > 0 ? GP_DIFF_CUR : GP_DIFF_BASE, fast = GP_DIFF_SIDES - 1 - slow;
    double bound = fmax(d->opts.threshold_pct, isnan(d->noise_wall_pct) ? 0 : 2 * d->noise_wall_pct);
    if (d->unit != GP_DIFF_PER_STEP || n < WINDOWS_ENOUGH || k < WINDOWS_ENOUGH) return false;
    if (!gp_stat_apart(a, n, b, k, 1) || fabs(m->change_pct) <= bound) return false;
    if (!calls_more(t, GP_METRIC_SYNCS, slow) && !calls_more(t, GP_METRIC_BLOCKING, slow)) return false;
    int64_t most = gp_idle_for_host_ns(d->side[slow].idle_ns),
            least = gp_idle_for_host_ns(d->side[fast].idle_ns);
    return least <= d->side[fast].step_ns / WAITS_PART && most - least >= llabs(m->change) / 2;
}

/* Do all steps of the slower side launch more, by half of what the step changed by or more, or wait more
 * often? Where both make the same calls, only the host differs, which it also does between runs of one
 * program. */
static bool calls_explain(const struct gp_decider *t, const struct gp_diff_metric *m)
{
    const struct gp_diff_metric *l = &t->d->metrics[GP_METRIC_LAUNCHES];
    int slow = m->change > 0 ? GP_DIFF_CUR : GP_DIFF_BASE;
    if (calls_more(t, GP_METRIC_SYNCS, slow) || calls_more(t, GP_METRIC_BLOCKING, slow)) return true;
    if (!calls_more(t, GP_METRIC_LAUNCHES, slow)) return false;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        if (l->side[side] <= 0 || m->side[side] <= 0) return false;
    double launches = log((double)l->side[GP_DIFF_CUR] / (double)l->side[GP_DIFF_BASE]);
    return launches / log((double)m->side[GP_DIFF_CUR] / (double)m->side[GP_DIFF_BASE]) >= 0.5;
}

static void judge_few_runs(struct gp_decider *t, struct gp_diff_metric *m, const int64_t *a, size_t n,
                           const int64_t *b, size_t k)
{
    struct gp_diff *d = t->d;
    m->verdict = GP_CHANGE_INCONCLUSIVE;
    m->d.within_run = true;
    bool apart = m->id == GP_METRIC_STEP && is_far_apart(t, a, n, b, k);
    if (apart && calls_explain(t, m)) {
        m->verdict = gp_decide_direction(m->change);
        m->d.test = GP_BY_SEPARATION;
        m->d.why =
            gp_diff_text(d, "all steps differ, by more than %.3g%%, and so do the calls", d->step_bound_pct);
        return;
    }
    if (m->id == GP_METRIC_STEP && is_explained_by_waits(t, m, a, n, b, k)) {
        m->verdict = gp_decide_direction(m->change);
        m->d.test = GP_BY_WAITS;
        m->d.why =
            gp_diff_text(d, "all steps differ: one side makes the GPU wait for calls that the other does "
                            "not make");
        return;
    }
    m->d.needed = RUNS_ENOUGH;
    m->d.why =
        apart ? gp_diff_text(d,
                             "all steps differ, by more than %.3g%%, but the calls are the same: %d runs per "
                             "side would decide it",
                             d->step_bound_pct, RUNS_ENOUGH)
              : gp_diff_text(d, "depends on the host: %d runs per side would decide it", RUNS_ENOUGH);
}

/* Host-dependent times vary more from run to run than from step to step: steps of one run decide only what
 * is far beyond that. */
static void judge_wall_metric(struct gp_decider *t, struct gp_diff_metric *m, const int64_t *a, size_t n,
                              const int64_t *b, size_t k)
{
    struct gp_diff *d = t->d;
    size_t most = d->side[GP_DIFF_BASE].runs > d->side[GP_DIFF_CUR].runs ? d->side[GP_DIFF_BASE].runs
                                                                         : d->side[GP_DIFF_CUR].runs;
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
        m->d.n[GP_DIFF_BASE] = (uint32_t)n;
        m->d.n[GP_DIFF_CUR] = (uint32_t)k;
        give_ratio(&m->d, &ratio);
        judge_few_runs(t, m, a, n, b, k);
    }
    m->d.significant = m->verdict == GP_CHANGE_REGRESSION || m->verdict == GP_CHANGE_IMPROVEMENT;
    free(runs);
}

void gp_decide_metric(struct gp_decider *t, struct gp_diff_metric *m)
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
        m->verdict = m->d.significant ? gp_decide_direction(m->change) : GP_CHANGE_NONE;
    } else if (class == GP_METRIC_KERNEL && !d->shared) {
        judge_kernel_metric(t, m, a, n, b, k);
    } else if (class != GP_METRIC_EXACT) {
        judge_wall_metric(t, m, a, n, b, k);
    } else {
        judge_exact_metric(m, a, n, b, k);
    }
}
