/* The verdict: the whole decides before its parts, and parts only if they weigh enough. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/diff/diff_priv.h"

enum {
    WEIGHT_PARTS = 100
}; /* an operation decides if its change is one part of so many of the step, or more */

static bool is_changed(uint32_t verdict)
{
    return verdict == GP_CHANGE_REGRESSION || verdict == GP_CHANGE_IMPROVEMENT;
}

static bool is_opposite(uint32_t a, uint32_t b) { return is_changed(a) && is_changed(b) && a != b; }

/* ---- operations ---- */

static void count_op(struct gp_diff_summary *s, const struct gp_diff_op *op)
{
    uint32_t *const of_change[GP_CHANGE_COUNT] = {
        [GP_CHANGE_REGRESSION] = &s->regressions,
        [GP_CHANGE_IMPROVEMENT] = &s->improvements,
        [GP_CHANGE_NONE] = &s->no_change,
        [GP_CHANGE_INCONCLUSIVE] = &s->inconclusive,
        [GP_CHANGE_NEW] = &s->added,
        [GP_CHANGE_REMOVED] = &s->removed,
        [GP_CHANGE_FUSED] = &s->fused,
        [GP_CHANGE_DEFUSED] = &s->defused,
        [GP_CHANGE_RETILED] = &s->retiled,
    };
    ++*of_change[op->change];
}

/* The step, or the GPU time where there are no steps: a whole trace may be mostly start-up. */
static int64_t least_weight(const struct gp_diff *d)
{
    int64_t most = 0;
    GP_EACH_OF(const struct gp_diff_side, s, d->side, GP_DIFF_SIDES) {
        int64_t whole = d->unit == GP_DIFF_PER_STEP && s->step_ns > 0 ? s->step_ns : s->gpu_ns;
        if (whole > most) most = whole;
    }
    return most / WEIGHT_PARTS + (most % WEIGHT_PARTS > 0);
}

static void count_ops(struct gp_diff *d)
{
    d->guard_weight_ns = least_weight(d);
    GP_EACH(const struct gp_diff_op, op, d->ops) {
        count_op(&d->summary, op);
        if (!gp_diff_op_decides(d, op)) continue;
        if (op->change == GP_CHANGE_REGRESSION) d->summary.slower++;
        else d->summary.faster++;
    }
}

bool gp_diff_op_decides(const struct gp_diff *d, const struct gp_diff_op *op)
{
    return is_changed(op->change) && llabs(op->change_ns) >= d->guard_weight_ns;
}

/* ---- the whole ---- */

static bool is_usable(const struct gp_diff_metric *m) { return m->known && !m->refused; }

/* Does the step time differ so much that it is clearly not the same, although there are too few runs to
 * decide? */
static bool step_moved(const struct gp_diff *d)
{
    const struct gp_diff_metric *step = &d->metrics[GP_METRIC_STEP];
    return is_usable(step) && step->verdict == GP_CHANGE_INCONCLUSIVE &&
           100 * fabs((double)(step->change - d->clocks_ns)) >
               d->opts.threshold_pct * (double)step->side[GP_DIFF_BASE];
}

/* The figure that stands for the whole: the step if it is decided, otherwise the time that the GPU worked. A
 * threshold does not show that a step is the same. */
static enum gp_metric_id decider(const struct gp_diff *d)
{
    static const enum gp_metric_id worked[] = {GP_METRIC_GPU, GP_METRIC_BUSY};
    const struct gp_diff_metric *step = &d->metrics[GP_METRIC_STEP];
    bool shown = step->verdict == GP_CHANGE_NONE && d->opts.mode == GP_DIFF_TEST && !d->identical;
    if (is_usable(step) && (is_changed(step->verdict) || shown)) return GP_METRIC_STEP;
    for (size_t i = 0; i < GP_COUNT(worked); i++)
        if (is_usable(&d->metrics[worked[i]]) && is_changed(d->metrics[worked[i]].verdict)) return worked[i];
    bool open = d->metrics[GP_METRIC_GPU].verdict == GP_CHANGE_NONE && step_moved(d);
    return open ? GP_METRIC_STEP : GP_METRIC_GPU;
}

/* Does a table show a row that changed? */
static bool has_changed_rows(const struct gp_diff *d)
{
    const struct gp_diff_summary *s = &d->summary;
    for (int m = 0; m < GP_METRIC_COUNT; m++)
        if (m != GP_METRIC_EQUAL && is_usable(&d->metrics[m]) && is_changed(d->metrics[m].verdict))
            return true;
    return s->regressions || s->improvements || s->added || s->removed || s->fused || s->defused ||
           s->retiled;
}

/* ---- the word ---- */

static const char *things(const struct gp_diff *d, uint32_t n)
{
    static const char *const names[][2] = {
        {"kernel", "kernels"}, {"operator", "operators"}, {"range", "ranges"}, {"line", "lines"}};
    return names[d->opts.by][n != 1];
}

static gp_sid mixed_word(struct gp_diff *d)
{
    struct gp_diff_summary *s = &d->summary;
    bool slower = s->verdict == GP_CHANGE_REGRESSION;
    uint32_t n = slower ? s->faster : s->slower;
    const char *direction = slower ? "SLOWER" : "FASTER", *other = slower ? "faster" : "slower";
    if (s->by == GP_METRIC_COUNT)
        return gp_diff_text(d, "MIXED, %" PRIu32 " %s slower, %" PRIu32 " faster", s->slower,
                            things(d, s->slower), s->faster);
    if (n) return gp_diff_text(d, "%s, %" PRIu32 " %s %s", direction, n, things(d, n), other);
    return gp_diff_text(d, "%s, %s GPU time", direction, slower ? "less" : "more");
}

static gp_sid word_of(struct gp_diff *d)
{
    const struct gp_diff_summary *s = &d->summary;
    if (!d->comparable) return gp_intern_cstr(&d->strings, "NOT COMPARABLE");
    if (s->mixed && is_changed(s->verdict)) return mixed_word(d);
    switch ((enum gp_change)s->verdict) {
    case GP_CHANGE_REGRESSION: return gp_intern_cstr(&d->strings, "REGRESSION");
    case GP_CHANGE_IMPROVEMENT: return gp_intern_cstr(&d->strings, "IMPROVEMENT");
    case GP_CHANGE_NONE: return gp_intern_cstr(&d->strings, s->mixed ? "SAME STEP TIME" : "NO CHANGE");
    default: return gp_intern_cstr(&d->strings, "INCONCLUSIVE");
    }
}

/* ---- all ---- */

/* The largest operation that goes the way of the verdict. */
static gp_sid why_of(struct gp_diff *d)
{
    const struct gp_diff_summary *s = &d->summary;
    for (size_t i = 0; s->by == GP_METRIC_COUNT && i < d->ops.n; i++)
        if (d->ops.at[i].change == s->verdict) return d->ops.at[i].label;
    return gp_intern_cstr(&d->strings, gp_metric_text((enum gp_metric_id)s->by));
}

void gp_diff_judge(struct gp_diff *d)
{
    struct gp_diff_summary *s = &d->summary;
    count_ops(d);
    s->by = decider(d);
    s->verdict = d->identical ? GP_CHANGE_NONE : d->metrics[s->by].verdict;
    if (!is_changed(s->verdict) && (s->slower || s->faster)) {
        s->mixed = s->slower && s->faster;
        s->verdict = s->slower ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT;
        s->by = GP_METRIC_COUNT;
    } else if (is_changed(s->verdict)) {
        s->mixed = (s->verdict == GP_CHANGE_REGRESSION ? s->faster : s->slower) > 0 ||
                   is_opposite(s->verdict, d->metrics[GP_METRIC_GPU].verdict);
    } else if (s->verdict == GP_CHANGE_NONE && !d->identical && has_changed_rows(d)) {
        s->mixed = s->by == GP_METRIC_STEP;
        if (!s->mixed) s->verdict = GP_CHANGE_INCONCLUSIVE;
    }
    s->verdict_why = why_of(d);
    s->word = word_of(d);
}

int gp_diff_status(const struct gp_diff *d)
{
    if (!d->comparable) return 3;
    for (size_t i = 0; i < d->gates.n; i++)
        if (d->gates.at[i].broken) return 1;
    for (size_t i = 0; i < d->expects.n; i++)
        if (!d->expects.at[i].holds) return 1;
    if (d->gates.n || d->opts.gate_none) return 0;
    return d->summary.verdict == GP_CHANGE_REGRESSION;
}
