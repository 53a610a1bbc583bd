/* Limits that a build sets, and predictions that are checked. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/stat.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

#define NONE GP_PROFILE_NONE

/* ---- reading ---- */

/* The metric of that name; "wall" is the step. GP_METRIC_COUNT: operations. False: none. */
static bool find_metric(const char *name, size_t n, uint32_t *metric)
{
    for (uint32_t m = 0; m < GP_METRIC_COUNT; m++) {
        const char *known = gp_metric_name((enum gp_metric_id)m);
        if (strlen(known) != n || memcmp(known, name, n) != 0) continue;
        *metric = m;
        return true;
    }
    if (gp_is(name, n, "wall")) *metric = GP_METRIC_STEP;
    else if (gp_is(name, n, "op")) *metric = GP_METRIC_COUNT;
    else return false;
    return true;
}

static const struct {
    const char *suffix, *unit;
    double factor;
} suffixes[] = {
    {"ns", "ns", 1},
    {"us", "ns", 1e3},
    {"ms", "ns", 1e6},
    {"s", "ns", 1e9},
    {"B", "bytes", 1},
    {"K", "bytes", 1024},
    {"M", "bytes", 1048576},
    {"G", "bytes", 1073741824},
    {"KiB", "bytes", 1024},
    {"MiB", "bytes", 1048576},
    {"GiB", "bytes", 1073741824},
    {"KB", "bytes", 1e3},
    {"MB", "bytes", 1e6},
    {"GB", "bytes", 1e9},
};

/* A number with "%" or a suffix of UNIT. A bare number is a count for counted metrics, and otherwise only 0,
 * which needs no unit. */
static bool read_amount(const char *text, size_t n, const char *unit, double *value, bool *percent)
{
    if (n && *text == '+') { /* changes may be written with their sign */
        text++;
        n--;
    }
    size_t end = n;
    while (end && strchr("0123456789.", text[end - 1]) == NULL) end--;
    if (!end || !gp_double_from_text(text, end, value) || !isfinite(*value)) return false;
    const char *suffix = text + end;
    size_t len = n - end;
    *percent = len == 1 && *suffix == '%';
    if (*percent) return true;
    if (!len) {
        *percent = strcmp(unit, "count") != 0;
        return !*percent || *value == 0;
    }
    for (size_t i = 0; i < GP_COUNT(suffixes); i++) {
        if (strlen(suffixes[i].suffix) != len || memcmp(suffixes[i].suffix, suffix, len) != 0) continue;
        *value *= suffixes[i].factor;
        return !strcmp(suffixes[i].unit, unit);
    }
    return false;
}

static bool is_plain_number(const char *limit)
{
    return *limit && strspn(limit, "+-.0123456789") == strlen(limit);
}

static const char *unit_of(uint32_t metric)
{
    return metric < GP_METRIC_COUNT ? gp_metric_unit((enum gp_metric_id)metric) : "ns";
}

int gp_gate_parse(struct gp_gate *g, const char *text, struct gp_err *err)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    bool percent;
    memset(g, 0, sizeof *g);
    g->text = text;
    g->metric = GP_GATE_COUNTS;
    if (!strcmp(text, "counts")) return 0;
    if (gp_is(text, n, "counts"))
        return gp_fail(err, GP_E_USAGE, -1, "gate '%s': counts takes no limit: it holds what does not vary",
                       text);
    if (!find_metric(text, n, &g->metric)) {
        struct gp_buf known = {0};
        /* "gpu_time, compute, ..., op" */
        for (int m = 0; m < GP_METRIC_COUNT; m++)
            gp_buf_printf(&known, "%s, ", gp_metric_name((enum gp_metric_id)m));
        gp_buf_puts(&known, "op, counts");
        int status = gp_fail(err, GP_E_USAGE, -1, "gate '%s': unknown metric; choose from %s", text,
                             gp_buf_str(&known));
        gp_buf_release(&known);
        return status;
    }
    if (!colon) return gp_fail(err, GP_E_USAGE, -1, "gate '%s': missing limit; write %s:5%%", text, text);
    if (!read_amount(colon + 1, strlen(colon + 1), unit_of(g->metric), &g->limit, &percent))
        return gp_fail(err, GP_E_USAGE, -1, "gate '%s': '%s' is not a limit in percent or %s%s", text,
                       colon + 1, unit_of(g->metric), is_plain_number(colon + 1) ? ": it has no unit" : "");
    g->absolute = !percent;
    return 0;
}

int gp_gates_parse(struct gp_gates *g, const char *const *texts, size_t n, struct gp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct gp_gate one;
        if (!strcmp(texts[i], "none")) {
            g->none = true;
            continue;
        }
        if (gp_gate_parse(&one, texts[i], err)) return gp_err_context(err, "--gate");
        GP_VEC_PUSH(g, one);
    }
    if (!g->none || !g->n) return 0;
    return gp_fail(err, GP_E_USAGE, -1, "--gate none cannot be combined with other gates");
}

void gp_expects_release(struct gp_expects *e)
{
    GP_VEC_FREE(&e->at);
    gp_strings_release(&e->strings);
    memset(e, 0, sizeof *e);
}

/* ---- gates ---- */

static double value_of(bool absolute, int64_t change, double change_pct)
{
    if (absolute) return (double)change;
    return isnan(change_pct) ? INFINITY : change_pct; /* nothing became something */
}

static void gate_ops(struct gp_diff *d, struct gp_diff_gate *g)
{
    double worst = -INFINITY;
    for (uint32_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        if (!op->side[GP_DIFF_BASE].present || !op->side[GP_DIFF_CUR].present) continue;
        double value = value_of(g->absolute, op->change_ns, op->change_pct);
        bool beyond = value > g->limit, broken = beyond && op->change == GP_CHANGE_REGRESSION;
        g->undecided |= beyond && op->change == GP_CHANGE_INCONCLUSIVE;
        if (isnan(g->value) || value > g->value) g->value = value;
        if (!broken) continue;
        g->n_ops++;
        if (value <= worst) continue;
        worst = value;
        g->op = i;
    }
    g->broken = g->n_ops > 0;
    if (!g->broken) return;
    g->value = worst;
    g->why = gp_diff_text(d, "%s is slower", gp_diff_str(d, d->ops.at[g->op].label));
}

/* The smallest growth that breaks the gate with a probability of 80%, in percent: the interval, as wide as it
 * is here, then lies beyond the noise, and the growth that was found beyond the limit. NAN: there is none,
 * for want of steps or runs, or because other processes explain any change. */
static double power_of(const struct gp_diff *d, const struct gp_diff_gate *g, const struct gp_diff_metric *m)
{
    static const double MISSED = 0.2;
    const struct gp_diff_decision *e = &m->d;
    bool of_runs = d->shared || gp_metric_class((enum gp_metric_id)m->id) == GP_METRIC_WALL;
    bool single = of_runs && e->test != GP_BY_MANN_WHITNEY;
    double noise = single ? 0 : log1p(d->noise_pct / 100), low = log1p(e->ci_low_pct / 100);
    double half = (log1p(e->ci_high_pct / 100) - low) / 2;
    double df = e->n[GP_DIFF_BASE] + e->n[GP_DIFF_CUR] - 2.0;
    double limit = g->absolute ? g->limit / (double)m->side[GP_DIFF_BASE] : g->limit / 100;
    if (!isfinite(half) || df < 1 || (single && !(d->opts.gate_wall_single && e->within_run))) return NAN;
    if (low > noise && m->verdict != GP_CHANGE_REGRESSION && !single) return NAN;
    double spread = half / gp_stat_t_quantile(d->opts.alpha / 2, df), beyond = gp_stat_t_quantile(MISSED, df);
    return 100 * expm1(fmax(noise + half, log1p(limit)) + beyond * spread);
}

static void gate_metric(struct gp_diff *d, struct gp_diff_gate *g)
{
    bool by_clock =
        g->metric == GP_METRIC_GPU || g->metric == GP_METRIC_COMPUTE || g->metric == GP_METRIC_BUSY;
    const struct gp_diff_metric *m =
        &d->metrics[d->opts.equal_clocks && by_clock ? GP_METRIC_EQUAL : (enum gp_metric_id)g->metric];
    enum gp_metric_class class = gp_metric_class((enum gp_metric_id)g->metric);
    if (!m->known || m->refused) {
        g->broken = true; /* an unmeasured figure did not pass */
        const char *why = m->refused                 ? "the recordings do not allow this comparison"
                          : m->id == GP_METRIC_EQUAL ? "clocks are not recorded on both sides"
                                                     : "it is not recorded on both sides";
        g->why = gp_intern_cstr(&d->strings, why);
        return;
    }
    g->value = value_of(g->absolute, m->change, m->change_pct);
    if (class != GP_METRIC_EXACT) {
        struct gp_buf more = {0};
        g->power_pct = power_of(d, g, m);
        if (!isnan(g->power_pct)) gp_buf_printf(&more, "%.2g%% more", g->power_pct);
        gp_diff_note(d, "power", "gate %s: %s %s would have been noticed", gp_diff_str(d, g->text),
                     more.n ? gp_buf_str(&more) : "no growth of", gp_metric_text((enum gp_metric_id)m->id));
        gp_buf_release(&more);
    }
    if (!(g->value > g->limit)) return;
    bool few = m->d.test == GP_BY_SEPARATION ||
               m->d.test == GP_BY_WAITS; /* enough for the verdict, but gates are strict */
    bool real = m->verdict == GP_CHANGE_REGRESSION && !few;
    if (class == GP_METRIC_WALL && d->opts.gate_wall_single && m->d.within_run) real |= m->d.ci_low_pct > 0;
    g->broken = real;
    g->undecided = !real;
    if (real) g->why = gp_diff_text(d, "%s over the limit", gp_metric_text((enum gp_metric_id)g->metric));
    else if (few) g->why = gp_intern_cstr(&d->strings, "too few runs to break a gate of this time");
    else if (m->d.why) g->why = m->d.why;
    else g->why = gp_intern_cstr(&d->strings, "beyond the limit, but possibly by chance");
}

static void check_gate(struct gp_diff_work *w, const struct gp_gate *gate)
{
    struct gp_diff *d = w->d;
    struct gp_diff_gate g;
    if (gate->metric == GP_GATE_COUNTS) {
        gp_diff_gate_counts(w);
        return;
    }
    memset(&g, 0, sizeof g);
    g.text = gp_intern_cstr(&d->strings, gate->text);
    g.metric = gate->metric;
    g.op = NONE;
    g.absolute = gate->absolute;
    g.limit = gate->limit;
    g.value = g.power_pct = NAN;
    if (gate->metric == GP_METRIC_COUNT) gate_ops(d, &g);
    else gate_metric(d, &g);
    if (g.undecided && !g.broken && d->opts.require_power) g.broken = true;
    if (g.undecided && !g.why)
        g.why = gp_intern_cstr(&d->strings, "beyond the limit, but possibly by chance");
    GP_VEC_PUSH(&d->gates, g);
}

static void find_expected(struct gp_diff *d, const struct gp_expect *e, const char *op,
                          struct gp_diff_expect *x)
{
    int64_t before = d->opts.base_step_ns, after = d->opts.current_step_ns;
    if (e->metric == GP_METRIC_STEP && before > 0 && after > 0) {
        x->value = value_of(!e->percent, after - before, gp_diff_change_pct(before, after));
    } else if (e->metric < GP_METRIC_COUNT) {
        const struct gp_diff_metric *m = &d->metrics[e->metric];
        if (m->known && !m->refused) x->value = value_of(!e->percent, m->change, m->change_pct);
    } else if (e->metric > GP_METRIC_COUNT) {
        uint32_t cause = e->metric - GP_METRIC_COUNT - 1;
        int64_t base = d->side[GP_DIFF_BASE].idle_ns[cause], cur = d->side[GP_DIFF_CUR].idle_ns[cause];
        x->value = value_of(!e->percent, cur - base, gp_diff_change_pct(base, cur));
    } else {
        for (size_t i = 0; i < d->ops.n && isnan(x->value); i++) {
            const struct gp_diff_op *o = &d->ops.at[i];
            bool named = !strcmp(gp_diff_str(d, o->name), op) || !strcmp(gp_diff_str(d, o->label), op);
            if (named || !strcmp(gp_diff_str(d, o->key), op))
                x->value = value_of(!e->percent, o->change_ns, o->change_pct);
        }
    }
}

static void check_expect(struct gp_diff *d, const struct gp_expects *all, const struct gp_expect *e)
{
    struct gp_diff_expect x = {.subject = gp_intern_from(&d->strings, &all->strings, e->subject),
                               .line = e->line,
                               .percent = e->percent,
                               .low = e->low,
                               .high = e->high,
                               .value = NAN};
    find_expected(d, e, gp_string(&all->strings, e->op), &x);
    x.holds = x.value >= x.low && x.value <= x.high;
    const char *why = isnan(x.value)    ? "not recorded on both sides"
                      : x.holds         ? "as predicted"
                      : x.value < x.low ? "less than predicted"
                                        : "more than predicted";
    x.why = gp_intern_cstr(&d->strings, why);
    GP_VEC_PUSH(&d->expects, x);
}

void gp_diff_gates(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    for (size_t i = 0; i < d->opts.n_gates; i++) check_gate(w, &d->opts.gates[i]);
    for (size_t i = 0; d->opts.expects && i < d->opts.expects->at.n; i++)
        check_expect(d, d->opts.expects, &d->opts.expects->at.at[i]);
}
