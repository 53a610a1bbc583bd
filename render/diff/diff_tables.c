#include "render/diff/diff_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/classify.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/diff/diff_verdict.h"
#include "render/report/apart.h"
#include "render/report/record.h"
#include "analyze/view/idle_cause.h"

#define COLUMN gp_report_column

static void put_sid(struct gp_report *r, struct gp_report_table *t, const struct gp_diff *d, gp_sid name,
                    gp_sid label)
{
    gp_report_put_name(r, t, gp_diff_str(d, name), gp_string_len(&d->strings, name),
                       label ? gp_diff_str(d, label) : NULL, label ? gp_string_len(&d->strings, label) : 0);
}

/* The scratch text as a cell; empty after. */
static void put_scratch(struct gp_report *r, struct gp_report_table *t, struct gp_buf *b)
{
    gp_report_put_text(r, t, gp_buf_str(b));
    b->n = 0;
}

static size_t limit_of(size_t n, size_t top)
{
    return top && top < n ? top : n;
}

/* A table that got no rows is taken back. */
static void keep(struct gp_report *r, struct gp_report_table *t)
{
    if (!gp_report_rows(t)) r->tables.n--;
    if (gp_report_rows(t)) return;
    GP_VEC_FREE(&t->columns);
    GP_VEC_FREE(&t->cells);
    GP_VEC_FREE(&t->classes);
}

/* ---- the waterfall ---- */

size_t gp_diff_terms(const struct gp_diff *d, size_t top, struct gp_diff_term terms[GP_DIFF_TERMS])
{
    struct gp_diff_term more = {GP_PROFILE_NONE, 0, 0}, less = {GP_PROFILE_NONE, 0, 0};
    size_t n = 0, most = top && top < GP_DIFF_TERMS - 2 ? top : GP_DIFF_TERMS - 2;
    for (size_t i = 0; i < d->causes.n; i++) {
        int64_t change = d->causes.at[i].change_ns;
        if (!change) continue;
        if (n < most) {
            terms[n++] = (struct gp_diff_term){(uint32_t)i, 1, change};
            continue;
        }
        struct gp_diff_term *sum = change > 0 ? &more : &less;
        sum->n++;
        sum->change_ns += change;
    }
    if (more.n) terms[n++] = more;
    if (less.n) terms[n++] = less;
    return n;
}

void gp_diff_put_term(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_term *t)
{
    if (t->cause < d->causes.n) {
        const struct gp_diff_cause *c = &d->causes.at[t->cause];
        gp_sid name = c->name;
        if (c->sort == GP_CAUSE_IDLE) {
            gp_buf_printf(b, "idle: %s", gp_idle_cause_brief((enum gp_idle_cause)c->index));
            return;
        }
        gp_buf_put(b, gp_diff_str(d, name), gp_string_len(&d->strings, name));
        return;
    }
    gp_buf_printf(b, "%u other%s that %s", (unsigned)t->n, t->n == 1 ? "" : "s",
                  t->change_ns > 0 ? "grew" : "shrank");
}

void gp_diff_term_ends(const struct gp_diff *d, int64_t ends[GP_DIFF_SIDES])
{
    ends[GP_DIFF_BASE] = d->side[GP_DIFF_BASE].step_ns;
    ends[GP_DIFF_CUR] = d->side[GP_DIFF_CUR].step_ns;
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : NAN;
}

static void put_waterfall_row(struct gp_report *r, struct gp_report_table *t, const char *name, size_t n,
                              const int64_t *change, int64_t base, int64_t level)
{
    gp_report_put_name(r, t, name, n, NULL, 0);
    if (change) {
        gp_report_put(t, *change);
        gp_report_put_real(t, share_of(*change, base));
    } else {
        gp_report_put_none(t);
        gp_report_put_none(t);
    }
    gp_report_put(t, level);
}

static void add_waterfall(struct gp_report *r, const struct gp_diff *d, size_t top)
{
    struct gp_diff_term terms[GP_DIFF_TERMS];
    int64_t ends[GP_DIFF_SIDES];
    size_t n = gp_diff_terms(d, top, terms);
    gp_diff_term_ends(d, ends);
    if (!n && ends[GP_DIFF_BASE] == ends[GP_DIFF_CUR]) return;
    bool step = d->unit == GP_DIFF_PER_STEP;
    struct gp_report_table *t =
        gp_report_add(r, "waterfall", step ? "Why the step's time changed" : "Why the time changed");
    COLUMN(t, "cause", step ? "step time, by cause" : "time, by cause", GP_CELL_NAME, 0,
           "an operation's share of the busy time, or idle time by its cause");
    COLUMN(t, "change_ns", "change (\xC2\xB5s)", GP_CELL_CHANGE_US, 0,
           "current minus baseline, exact; they sum to the difference between the first and the last line");
    COLUMN(t, "change_pct", "of baseline", GP_CELL_CHANGE_PCT, 0, "change / baseline's step time");
    COLUMN(t, "level_ns", "time (\xC2\xB5s)", GP_CELL_US, 0, "running total, line by line");
    struct gp_buf b = {0};
    int64_t level = ends[GP_DIFF_BASE];
    put_waterfall_row(r, t, GP_TEXT("baseline"), NULL, 0, level);
    for (size_t i = 0; i < n; i++) {
        level = gp_add_saturated(level, terms[i].change_ns);
        gp_diff_put_term(&b, d, &terms[i]);
        put_waterfall_row(r, t, b.data, b.n, &terms[i].change_ns, ends[GP_DIFF_BASE], level);
        b.n = 0;
    }
    int64_t change = ends[GP_DIFF_CUR] - ends[GP_DIFF_BASE];
    put_waterfall_row(r, t, GP_TEXT("current"), &change, ends[GP_DIFF_BASE], ends[GP_DIFF_CUR]);
    gp_buf_release(&b);
}

/* ---- gates and predictions ---- */

static void add_gates(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_report_table *t = gp_report_add(r, "gates", "Gates");
    COLUMN(t, "gate", "gate", GP_CELL_TEXT, 0, "as typed");
    COLUMN(t, "outcome", "", GP_CELL_TEXT, 0, "broken, holds, or beyond the limit but possibly by chance");
    COLUMN(t, "value", "value", GP_CELL_TEXT, 0, "worst value found");
    COLUMN(t, "limit", "limit", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "operation", "operation", GP_CELL_NAME, 0, "operation that breaks it most");
    struct gp_buf b = {0};
    for (size_t i = 0; i < d->gates.n; i++) {
        const struct gp_diff_gate *g = &d->gates.at[i];
        put_sid(r, t, d, g->text, 0);
        gp_report_put_text(r, t,
                           g->broken         ? "BROKEN"
                           : g->undecided    ? "undecided"
                           : isnan(g->value) ? "unknown"
                                             : "holds");
        gp_diff_put_limit(&b, !g->absolute, g->metric, g->value, true);
        put_scratch(r, t, &b);
        gp_diff_put_limit(&b, !g->absolute, g->metric, g->limit, false);
        put_scratch(r, t, &b);
        if (g->op < d->ops.n) put_sid(r, t, d, d->ops.at[g->op].name, d->ops.at[g->op].label);
        else gp_report_put_none(t);
    }
    gp_buf_release(&b);
    keep(r, t);
}

static void add_predictions(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_report_table *t = gp_report_add(r, "predictions", "Predictions");
    COLUMN(t, "subject", "prediction for", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "outcome", "", GP_CELL_TEXT, 0, "met, or how it was missed");
    COLUMN(t, "value", "change", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "low", "at best", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "high", "at worst", GP_CELL_TEXT, 0, NULL);
    struct gp_buf b = {0};
    for (size_t i = 0; i < d->expects.n; i++) {
        const struct gp_diff_expect *e = &d->expects.at[i];
        /* the subject's unit is in its metric; idle time and operations are times */
        uint32_t metric = GP_METRIC_COUNT;
        for (uint32_t m = 0; m < GP_METRIC_COUNT; m++)
            if (!strcmp(gp_diff_str(d, e->subject), gp_metric_name((enum gp_metric_id)m))) metric = m;
        put_sid(r, t, d, e->subject, 0);
        gp_report_put_text(r, t, gp_diff_outcome(e));
        const double values[] = {e->value, e->low, e->high};
        for (int v = 0; v < 3; v++) {
            gp_diff_put_limit(&b, e->percent, metric, values[v], true);
            put_scratch(r, t, &b);
        }
    }
    gp_buf_release(&b);
    keep(r, t);
}

/* ---- operations ---- */

/* "+3.2", "-0.4", "0" */
static void put_signed(struct gp_buf *b, double pct)
{
    if (fabs(pct) < 0.05) gp_buf_putc(b, '0');
    else gp_buf_printf(b, "%+.1f", pct);
}

static void put_interval(struct gp_report *r, struct gp_report_table *t, const struct gp_diff_decision *e,
                         struct gp_buf *b)
{
    if (!isfinite(e->ci_low_pct) || !isfinite(e->ci_high_pct)) {
        gp_report_put_none(t);
        return;
    }
    put_signed(b, e->ci_low_pct);
    gp_buf_puts(b, " to ");
    put_signed(b, e->ci_high_pct);
    gp_buf_putc(b, '%');
    put_scratch(r, t, b);
}

static void operation_columns(struct gp_report_table *t, bool type)
{
    COLUMN(t, "name", "operation", GP_CELL_NAME, 0, "full name, from the baseline if present");
    if (type) COLUMN(t, "change_type", "what", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "change_ns", "change", GP_CELL_CHANGE_NS, 0, "GPU time, current minus baseline");
    COLUMN(t, "change_pct", "in %", GP_CELL_CHANGE_PCT, 0, "change / baseline");
    COLUMN(t, "interval", "interval", GP_CELL_TEXT, GP_COLUMN_SPARE, "interval of the true change per call");
    COLUMN(t, "baseline_ns", "was", GP_CELL_NS, 0, "GPU time in the baseline");
    COLUMN(t, "current_ns", "is", GP_CELL_NS, GP_COLUMN_SPARE, "GPU time in the current trace");
    COLUMN(t, "baseline_count", "calls were", GP_CELL_REAL, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "current_count", "calls are", GP_CELL_REAL, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "baseline_mean_ns", "mean was", GP_CELL_REAL, GP_COLUMN_WIDE, "of one call");
    COLUMN(t, "current_mean_ns", "mean is", GP_CELL_REAL, GP_COLUMN_WIDE, "of one call");
    COLUMN(t, "q_value", "q", GP_CELL_REAL, GP_COLUMN_WIDE, "p-value, corrected for all tested operations");
    COLUMN(t, "test", "by", GP_CELL_TEXT, GP_COLUMN_WIDE, "the test");
    COLUMN(t, "count_effect_ns", "by count", GP_CELL_CHANGE_NS, GP_COLUMN_WIDE,
           "effect of more or fewer calls on the step");
    COLUMN(t, "percall_effect_ns", "by call", GP_CELL_CHANGE_NS, GP_COLUMN_WIDE,
           "effect of longer or shorter calls");
    COLUMN(t, "overlap_effect_ns", "by overlap", GP_CELL_CHANGE_NS, GP_COLUMN_WIDE,
           "effect of less or more overlap");
    COLUMN(t, "why", "why", GP_CELL_TEXT, GP_COLUMN_WIDE, "reason for the verdict");
}

static void put_figure(struct gp_report_table *t, const struct gp_diff_figure *f)
{
    if (f->present) gp_report_put(t, f->total_ns);
    else gp_report_put_none(t);
}

static void put_real_of(struct gp_report_table *t, const struct gp_diff_figure *f, double v)
{
    if (f->present) gp_report_put_real(t, v);
    else gp_report_put_none(t);
}

/* Longer or shorter, whatever it is called; what is undecided is neither. */
static uint8_t class_of(const struct gp_diff_op *op)
{
    if (op->change == GP_CHANGE_NONE || op->change == GP_CHANGE_INCONCLUSIVE)
        return (uint8_t)(1 + op->change);
    return (uint8_t)(1 + (op->change_ns > 0 ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT));
}

static void put_operation(struct gp_report *r, struct gp_report_table *t, const struct gp_diff *d,
                          const struct gp_diff_op *op, bool type)
{
    const struct gp_diff_figure *was = &op->side[GP_DIFF_BASE], *is = &op->side[GP_DIFF_CUR];
    struct gp_buf b = {0};
    put_sid(r, t, d, op->name, op->label);
    if (type) gp_report_put_text(r, t, gp_change_name((enum gp_change)op->change));
    gp_report_put(t, op->change_ns);
    gp_report_put_real(t, op->change_pct);
    put_interval(r, t, &op->d, &b);
    put_figure(t, was);
    put_figure(t, is);
    put_real_of(t, was, was->count);
    put_real_of(t, is, is->count);
    put_real_of(t, was, was->mean_ns);
    put_real_of(t, is, is->mean_ns);
    gp_report_put_real(t, op->d.q);
    gp_report_put_text(r, t, gp_diff_test_name((enum gp_diff_test)op->d.test));
    gp_report_put(t, op->count_effect_ns);
    gp_report_put(t, op->percall_effect_ns);
    gp_report_put(t, op->overlap_effect_ns);
    if (op->d.why) put_sid(r, t, d, op->d.why, 0);
    else gp_report_put_none(t);
    GP_VEC_PUSH(&t->classes, class_of(op));
    gp_buf_release(&b);
}

static bool is_other(const struct gp_diff_op *op)
{
    switch ((enum gp_change)op->change) {
    case GP_CHANGE_REGRESSION:
    case GP_CHANGE_IMPROVEMENT:
    case GP_CHANGE_NONE:
        return false;
    default:
        return op->change_ns != 0;
    }
}

/* "and 12 more, +1.23 ms in all" */
static void tell_rest(struct gp_report *r, struct gp_report_table *t, size_t n, int64_t change)
{
    if (!n) return;
    struct gp_buf b = {0};
    gp_buf_printf(&b, "and %zu more, ", n);
    gp_diff_put_change(&b, "ns", change);
    gp_buf_puts(&b, " in all");
    t->more = gp_report_str(r, b.data, b.n);
    gp_buf_release(&b);
}

/* The operations with one verdict, or all others (GP_CHANGE_COUNT); they are sorted by their change. */
static void add_operations(struct gp_report *r, const struct gp_diff *d, const char *id, const char *title,
                           uint32_t change, size_t top)
{
    struct gp_report_table *t = gp_report_add(r, id, title);
    bool others = change == GP_CHANGE_COUNT;
    size_t rest = 0;
    int64_t rest_ns = 0;
    operation_columns(t, others);
    for (size_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        if (others ? !is_other(op) : op->change != change) continue;
        if (top && gp_report_rows(t) >= top) {
            rest++;
            rest_ns += op->change_ns;
        } else {
            put_operation(r, t, d, op, others);
        }
    }
    tell_rest(r, t, rest, rest_ns);
    keep(r, t);
}

static void add_all_operations(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_report_table *t = gp_report_add(r, "operations", "All operations");
    operation_columns(t, true);
    for (size_t i = 0; i < d->ops.n; i++) put_operation(r, t, d, &d->ops.at[i], true);
    t->detail = true;
    keep(r, t);
}

/* ---- blocks ---- */

/* "layer_norm, gelu, dropout + 3 more" */
static void put_names(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_block *k, int side)
{
    enum { SHOWN = 6 };
    for (uint32_t i = 0; i < k->n_names[side] && k->first_name[side] + i < d->names.n; i++) {
        if (i == SHOWN) {
            gp_buf_printf(b, " and %u more", (unsigned)(k->n_names[side] - SHOWN));
            break;
        }
        gp_sid name = d->names.at[k->first_name[side] + i];
        gp_buf_puts(b, i ? ", " : "");
        gp_buf_put(b, gp_diff_str(d, name), gp_string_len(&d->strings, name));
    }
}

static void put_block(struct gp_report *r, struct gp_report_table *t, const struct gp_diff *d,
                      const struct gp_diff_block *k, struct gp_buf *b)
{
    put_sid(r, t, d, k->label, 0);
    gp_report_put_text(r, t, gp_change_name((enum gp_change)k->change));
    bool same = k->kernels[GP_DIFF_BASE] == k->kernels[GP_DIFF_CUR];
    if (same) gp_buf_printf(b, "%.3g", k->kernels[GP_DIFF_BASE]);
    else gp_buf_printf(b, "%.3g to %.3g", k->kernels[GP_DIFF_BASE], k->kernels[GP_DIFF_CUR]);
    put_scratch(r, t, b);
    gp_report_put(t, k->times);
    gp_report_put(t, k->change_ns);
    gp_report_put_real(t, share_of(k->change_ns, k->side_ns[GP_DIFF_BASE]));
    gp_report_put(t, k->side_ns[GP_DIFF_BASE]);
    gp_report_put(t, k->side_ns[GP_DIFF_CUR]);
    for (int s = 0; s < GP_DIFF_SIDES; s++) {
        put_names(b, d, k, s);
        put_scratch(r, t, b);
    }
    GP_VEC_PUSH(&t->classes,
                (uint8_t)(1 + (k->change_ns > 0 ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT)));
}

static void add_blocks(struct gp_report *r, const struct gp_diff *d, size_t top)
{
    struct gp_report_table *t = gp_report_add(r, "blocks", "Blocks of launches that changed");
    COLUMN(t, "label", "block", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "change_type", "what", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "kernels", "launches", GP_CELL_TEXT, 0, "per occurrence, baseline to current");
    COLUMN(t, "times", "times", GP_CELL_COUNT, 0, "per step");
    COLUMN(t, "change_ns", "change", GP_CELL_CHANGE_NS, 0, "over all occurrences");
    COLUMN(t, "change_pct", "in %", GP_CELL_CHANGE_PCT, 0, NULL);
    COLUMN(t, "baseline_ns", "was", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "current_ns", "is", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "baseline_names", "was launched", GP_CELL_TEXT, GP_COLUMN_WIDE, "in this order");
    COLUMN(t, "current_names", "is launched", GP_CELL_TEXT, GP_COLUMN_WIDE, "in this order");
    struct gp_buf b = {0};
    size_t n = limit_of(d->blocks.n, top);
    int64_t rest = 0;
    for (size_t i = 0; i < n; i++) put_block(r, t, d, &d->blocks.at[i], &b);
    for (size_t i = n; i < d->blocks.n; i++) rest += d->blocks.at[i].change_ns;
    tell_rest(r, t, d->blocks.n - n, rest);
    gp_buf_release(&b);
    keep(r, t);
}

/* ---- figures of the whole step ---- */

static enum gp_cell_type type_of(enum gp_metric_id m)
{
    const char *unit = gp_metric_unit(m);
    return unit[0] == 'n' ? GP_CELL_NS : unit[0] == 'b' ? GP_CELL_BYTES : GP_CELL_COUNT;
}

static void put_metric(struct gp_report *r, struct gp_report_table *t, const struct gp_diff *d,
                       const struct gp_diff_metric *m, struct gp_buf *b)
{
    enum gp_metric_id id = (enum gp_metric_id)m->id;
    enum gp_cell_type type = type_of(id);
    gp_report_put_text(r, t, gp_metric_text(id));
    gp_report_put_as(t, type, m->side[GP_DIFF_BASE]);
    gp_report_put_as(t, type, m->side[GP_DIFF_CUR]);
    gp_report_put_as(t, type == GP_CELL_NS ? GP_CELL_CHANGE_NS : type, m->change);
    gp_report_put_real(t, m->change_pct);
    gp_report_put_text(r, t, m->refused ? "not compared" : gp_change_name((enum gp_change)m->verdict));
    put_interval(r, t, &m->d, b);
    gp_report_put_real(t, m->d.p);
    gp_report_put_text(r, t, gp_diff_test_name((enum gp_diff_test)m->d.test));
    if (m->d.why) put_sid(r, t, d, m->d.why, 0);
    else gp_report_put_none(t);
}

static void add_metrics(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_report_table *t = gp_report_add(
        r, "metrics", d->unit == GP_DIFF_PER_STEP ? "The step as a whole" : "The trace as a whole");
    COLUMN(t, "metric", "figure", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "baseline", "was", GP_CELL_NS, 0, NULL);
    COLUMN(t, "current", "is", GP_CELL_NS, 0, NULL);
    COLUMN(t, "change", "change", GP_CELL_CHANGE_NS, 0, NULL);
    COLUMN(t, "change_pct", "in %", GP_CELL_CHANGE_PCT, 0, NULL);
    COLUMN(t, "verdict", "verdict", GP_CELL_TEXT, 0, "test result; counts and bytes have no noise");
    COLUMN(t, "interval", "interval", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "p_value", "p", GP_CELL_REAL, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "test", "by", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "why", "why", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    struct gp_buf b = {0};
    for (int m = 0; m < GP_METRIC_COUNT; m++) {
        const struct gp_diff_metric *x = &d->metrics[m];
        if (x->known && (x->side[GP_DIFF_BASE] || x->side[GP_DIFF_CUR])) put_metric(r, t, d, x, &b);
    }
    gp_buf_release(&b);
    keep(r, t);
}

/* ---- what was compared, and how ---- */

static void put_side_row(struct gp_report *r, struct gp_report_table *t, const char *what,
                         const int64_t v[GP_DIFF_SIDES], enum gp_cell_type type)
{
    gp_report_put_text(r, t, what);
    for (int s = 0; s < GP_DIFF_SIDES; s++) gp_report_put_as(t, type, v[s]);
}

static void put_side_words(struct gp_report *r, struct gp_report_table *t, const struct gp_diff *d,
                           const char *what, const gp_sid v[GP_DIFF_SIDES])
{
    if (!v[0] && !v[1]) return;
    gp_report_put_text(r, t, what);
    for (int s = 0; s < GP_DIFF_SIDES; s++) {
        put_sid(r, t, d, v[s], 0);
        t->cells.at[t->cells.n - 1].type = GP_CELL_TEXT;
    }
}

static void add_sides(struct gp_report *r, const struct gp_diff *d)
{
    const struct gp_diff_side *a = &d->side[GP_DIFF_BASE], *b = &d->side[GP_DIFF_CUR];
    struct gp_report_table *t = gp_report_add(r, "sides", "What was compared");
    COLUMN(t, "figure", "figure", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "baseline", "baseline", GP_CELL_NS, 0, NULL);
    COLUMN(t, "current", "current", GP_CELL_NS, 0, NULL);
    t->detail = true;
    put_side_words(r, t, d, "GPU", (const gp_sid[]){a->env.gpu, b->env.gpu});
    put_side_words(r, t, d, "recorded by", (const gp_sid[]){a->env.recorder, b->env.recorder});
    put_side_words(r, t, d, "framework", (const gp_sid[]){a->env.framework, b->env.framework});
    put_side_words(r, t, d, "command", (const gp_sid[]){a->env.command, b->env.command});
    const struct {
        const char *what;
        int64_t v[GP_DIFF_SIDES];
        enum gp_cell_type type;
    } rows[] = {
        {"recordings", {a->runs, b->runs}, GP_CELL_COUNT},
        {"devices", {a->lanes, b->lanes}, GP_CELL_COUNT},
        {"steps found", {a->steps_found, b->steps_found}, GP_CELL_COUNT},
        {"steps used", {a->steps_used, b->steps_used}, GP_CELL_COUNT},
        {"steps with a known time", {a->windows, b->windows}, GP_CELL_COUNT},
        {"steps cut off", {a->steps_cut, b->steps_cut}, GP_CELL_COUNT},
        {"steps without an end", {a->steps_open, b->steps_open}, GP_CELL_COUNT},
        {"warm-up steps", {a->steps_warm, b->steps_warm}, GP_CELL_COUNT},
        {"steps of another program", {a->steps_other, b->steps_other}, GP_CELL_COUNT},
        {"step time", {a->step_ns, b->step_ns}, GP_CELL_NS},
        {"GPU busy", {a->busy_ns, b->busy_ns}, GP_CELL_NS},
        {"GPU time", {a->gpu_ns, b->gpu_ns}, GP_CELL_NS},
    };
    enum { STEP = 9, BUSY = 10 }; /* what needs times between launches */
    for (int i = 0; i < (int)GP_COUNT(rows); i++)
        if (!d->untimed || (i != STEP && i != BUSY))
            put_side_row(r, t, rows[i].what, rows[i].v, rows[i].type);
}

/* All rows of a record, for the page only. */
static void add_detail(struct gp_report *r, const struct gp_diff *d, const struct gp_record *rec,
                       const void *rows, size_t n)
{
    const struct gp_row_of of = gp_diff_rows_of(d);
    struct gp_report_table *t = gp_record_table(r, rec, rows, n, 0, &of);
    if (t) t->detail = true;
}

static void put_setting(struct gp_report *r, struct gp_report_table *t, const char *what, double v,
                        const char *unit)
{
    char text[64];
    gp_report_put_text(r, t, what);
    if (isnan(v)) {
        gp_report_put_none(t);
        return;
    }
    snprintf(text, sizeof text, "%.4g%s", v, unit);
    gp_report_put_text(r, t, text);
}

static void add_settings(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_report_table *t = gp_report_add(r, "settings", "What the decisions depend on");
    COLUMN(t, "setting", "setting", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "value", "value", GP_CELL_TEXT, 0, NULL);
    t->detail = true;
    gp_report_put_text(r, t, "operations are");
    gp_report_put_text(r, t, gp_diff_by_name(d->opts.by));
    gp_report_put_text(r, t, "mode");
    gp_report_put_text(r, t, gp_diff_mode_name(d->opts.mode));
    if (d->opts.mode == GP_DIFF_SIMPLE) put_setting(r, t, "threshold", d->opts.threshold_pct, "%");
    put_setting(r, t, "alpha", d->opts.alpha, "");
    put_setting(r, t, "operations tested", d->tested, "");
    put_setting(r, t, "fewest steps per side that can decide", d->least_steps, "");
    put_setting(r, t, "noise floor of kernels", d->noise_pct, "%");
    put_setting(r, t, "measured noise of kernels", d->noise_measured_pct, "%");
    put_setting(r, t, "measured noise of step times", d->noise_wall_pct, "%");
    put_setting(r, t, "smallest change per call", (double)d->guard_percall_ns, " ns");
    put_setting(r, t, "smallest share of the GPU time", d->guard_share_pct, "%");
    put_setting(r, t, "smallest change of an operation that decides", (double)d->guard_weight_ns, " ns");
    put_setting(r, t, "smallest change of the step that few runs decide", d->step_bound_pct, "%");
    put_setting(r, t, "clock tick of durations", d->tick_ns, " ns");
}

static void add_tables(struct gp_report *r, const struct gp_diff *d, const struct gp_diff_report_opts *o)
{
    if (d->comparable) add_waterfall(r, d, o->top);
    add_gates(r, d);
    add_predictions(r, d);
    if (!d->comparable && o->brief) {
        add_metrics(r, d);
        return;
    }
    add_operations(r, d, "regressions", "Slower", GP_CHANGE_REGRESSION, o->top);
    add_operations(r, d, "improvements", "Faster", GP_CHANGE_IMPROVEMENT, o->top);
    add_operations(r, d, "others", "New, gone, fused or undecided", GP_CHANGE_COUNT, o->top);
    add_blocks(r, d, o->top);
    add_metrics(r, d);
    if (o->brief) { /* text has other colours, and none of what changed */
        for (size_t i = 0; i < r->tables.n; i++) GP_VEC_FREE(&r->tables.at[i]->classes);
        return;
    }
    add_all_operations(r, d);
    add_sides(r, d);
    add_detail(r, d, &gp_diff_step_rows, d->steps.at, d->steps.n);
    add_settings(r, d);
}

void gp_diff_report(struct gp_report *r, const struct gp_diff *d, const struct gp_diff_report_opts *o)
{
    r->title = "trace-diff";
    gp_diff_tell(r, d);
    add_tables(r, d, o);
    gp_report_apart(r);
}
