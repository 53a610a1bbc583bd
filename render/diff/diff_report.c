#include "render/diff/diff_priv.h"

#include <math.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/view/idle_cause.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/diff/diff_formats.h"
#include "render/report/label_disambiguate.h"
#include "render/report/record.h"

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
            gp_buf_printf(b, "idle: %s", gp_idle_cause_text((enum gp_idle_cause)c->index));
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

/* ---- the waterfall as a table ---- */

struct line {
    const char *name;
    size_t n;
    int64_t change_ns, base_ns, level_ns;
    bool changed;
};

#define AT(member) offsetof(struct line, member)

GP_GET(get_name, struct line, gp_cell_label(c, r->name, r->n, NULL, 0))

GP_GET_IF(get_change, struct line, r->changed, c->i = r->change_ns)
GP_GET_IF(get_share, struct line, r->changed, gp_cell_share(c, (double)r->change_ns, (double)r->base_ns))

static const struct gp_field step_lines[] = {
    {"cause", "step time, by cause", GP_CELL_NAME, get_name, 0,
     .help = "an operation's share of the busy time, or idle time by its cause"},
    {"change_ns", "change (\xC2\xB5s)", GP_CELL_CHANGE_US, get_change, 0,
     .help = "current minus baseline, exact; they sum to the difference between the first and the last line"},
    {"change_pct", "of baseline", GP_CELL_CHANGE_PCT, get_share, 0, .help = "change / baseline's step time"},
    {"level_ns", "time (\xC2\xB5s)", GP_CELL_US, gp_member_i64, AT(level_ns),
     .help = "running total, line by line"},
};
#undef AT

static void add_waterfall(struct gp_report *r, const struct gp_diff *d, size_t top)
{
    struct gp_field fields[GP_COUNT(step_lines)];
    struct gp_record rec = {.id = "waterfall",
                            .title = "Why the step's time changed",
                            GP_FIELDS(fields),
                            .size = sizeof(struct line)};
    struct gp_diff_term terms[GP_DIFF_TERMS];
    struct line lines[GP_DIFF_TERMS + 2];
    int64_t ends[GP_DIFF_SIDES];
    size_t n = gp_diff_terms(d, top, terms);
    gp_diff_term_ends(d, ends);
    int64_t base = ends[GP_DIFF_BASE], level = base, change = ends[GP_DIFF_CUR] - base;
    if (!n && !change) return;
    memcpy(fields, step_lines, sizeof fields);
    if (d->unit != GP_DIFF_PER_STEP) {
        rec.title = "Why the time changed";
        fields[0].heading = "time, by cause";
    }
    struct gp_buf b = {0};
    lines[0] = (struct line){GP_TEXT("baseline"), 0, base, base, false};
    for (size_t i = 0; i < n; i++) {
        level = gp_add_saturated(level, terms[i].change_ns);
        gp_diff_put_term(&b, d, &terms[i]);
        const char *name = gp_report_str(r, gp_buf_str(&b), b.n);
        lines[i + 1] = (struct line){name, b.n, terms[i].change_ns, base, level, true};
        b.n = 0;
    }
    lines[n + 1] = (struct line){GP_TEXT("current"), change, base, ends[GP_DIFF_CUR], true};
    gp_buf_release(&b);
    const struct gp_row_of of = gp_diff_rows_of(d);
    gp_record_table(r, &rec, lines, n + 2, 0, &of);
}

/* ---- tables of rows ---- */

/* A table of changes ends with the sum of rows left out. JSON has all rows. */
static struct gp_record cut(struct gp_record rec)
{
    rec.rest[1] = (struct gp_rest){"change_ns", "change_ns"};
    return rec;
}

static bool is_other(const struct gp_diff_op *op)
{
    switch ((enum gp_change)op->change) {
    case GP_CHANGE_REGRESSION:
    case GP_CHANGE_IMPROVEMENT:
    case GP_CHANGE_NONE: return false;
    default: return op->change_ns != 0;
    }
}

/* The operations with one verdict, or all others (GP_CHANGE_COUNT); they are sorted by their change. */
static void add_operations(struct gp_report *r, const struct gp_diff *d, const char *id, const char *title,
                           uint32_t change, size_t top)
{
    const struct gp_row_of of = gp_diff_rows_of(d);
    struct gp_record rec = cut(gp_diff_op_rows);
    struct gp_report_table *t = NULL;
    struct gp_columns c;
    size_t left = 0;
    int64_t left_ns = 0;
    rec.id = id;
    rec.title = title;
    gp_columns_find(&c, &rec);
    GP_EACH(const struct gp_diff_op, op, d->ops) {
        if (change == GP_CHANGE_COUNT ? !is_other(op) : op->change != change) continue;
        if (!t) t = gp_columns_table(r, &rec, &c, &of);
        if (top && gp_report_rows(t) >= top) {
            left++;
            left_ns = gp_add_saturated(left_ns, op->change_ns);
            continue;
        }
        gp_columns_put(r, t, &c, op, &of);
        GP_VEC_PUSH(&t->classes, rec.colour(op));
    }
    if (t) gp_record_left(r, t, &rec, left, left_ns);
    if (t && change != GP_CHANGE_COUNT) gp_report_flag(t, "change_type", GP_COLUMN_RAW);
    gp_columns_release(&c);
}

static void add_rows(struct gp_report *r, const struct gp_diff *d, const struct gp_record *rec,
                     const void *rows, size_t n, bool detail)
{
    const struct gp_row_of of = gp_diff_rows_of(d);
    struct gp_report_table *t = gp_record_table(r, rec, rows, n, 0, &of);
    if (t) t->detail = detail;
}

static void add_blocks(struct gp_report *r, const struct gp_diff *d, size_t top)
{
    const struct gp_row_of of = gp_diff_rows_of(d);
    const struct gp_record rec = cut(gp_diff_block_rows);
    gp_record_table(r, &rec, d->blocks.at, d->blocks.n, top, &of);
}

static void add_metrics(struct gp_report *r, const struct gp_diff *d)
{
    const struct gp_row_of of = gp_diff_rows_of(d);
    struct gp_record rec = gp_diff_metric_rows;
    struct gp_diff_metric known[GP_METRIC_COUNT];
    size_t n = 0;
    if (d->unit == GP_DIFF_PER_STEP) rec.title = "The step as a whole";
    GP_EACH_OF(const struct gp_diff_metric, x, d->metrics, GP_METRIC_COUNT)
        if (x->known && (x->side[GP_DIFF_BASE] || x->side[GP_DIFF_CUR])) known[n++] = *x;
    struct gp_report_table *t = gp_record_table(r, &rec, known, n, 0, &of);
    if (t) gp_report_flag(t, "interval", GP_COLUMN_WIDE);
}

/* ---- the comparison itself: a line per figure ---- */

static struct gp_report_table *add_lines(struct gp_report *r, const struct gp_record *rec,
                                         const char *const *columns, size_t n)
{
    struct gp_report_table *t = gp_report_add(r, rec->id, rec->title);
    for (size_t i = 0; i < n; i++)
        gp_report_column(t, columns[i], columns[i], i ? GP_CELL_NS : GP_CELL_TEXT, 0, NULL);
    t->detail = true;
    return t;
}

/* A line for each figure of REC, with its values in N rows; none for figures that neither side has. */
static void put_lines(struct gp_report *r, struct gp_report_table *t, const struct gp_diff *d,
                      const struct gp_record *rec, const void *const rows[GP_DIFF_SIDES], int n)
{
    struct gp_row_of of = gp_diff_rows_of(d);
    struct gp_columns c;
    of.mem = &r->mem;
    of.labels = true;
    gp_columns_find(&c, rec);
    for (size_t i = 0; i < c.n; i++) {
        struct gp_cell cells[GP_DIFF_SIDES];
        bool known = n == 1;
        for (int s = 0; s < n; s++) {
            cells[s] = gp_field_cell(c.at[i].f, (const char *)rows[s] + c.at[i].base, &of);
            known |= !cells[s].none;
        }
        if (known) gp_report_put_text(r, t, c.at[i].f->heading);
        for (int s = 0; s < n && known; s++) gp_report_put_cell(t, &cells[s]);
    }
    gp_columns_release(&c);
}

static void add_sides(struct gp_report *r, const struct gp_diff *d)
{
    static const char *const columns[] = {"figure", "baseline", "current"};
    const struct gp_diff_side *a = &d->side[GP_DIFF_BASE], *b = &d->side[GP_DIFF_CUR];
    struct gp_report_table *t = add_lines(r, &gp_diff_side_row, columns, GP_COUNT(columns));
    put_lines(r, t, d, &gp_profile_env_row, (const void *[]){&a->env, &b->env}, GP_DIFF_SIDES);
    put_lines(r, t, d, &gp_diff_side_row, (const void *[]){a, b}, GP_DIFF_SIDES);
    put_lines(r, t, d, &gp_diff_side_steps, (const void *[]){a, b}, GP_DIFF_SIDES);
}

static void add_tables(struct gp_report *r, const struct gp_diff *d, const struct gp_diff_report_opts *o)
{
    if (d->comparable) add_waterfall(r, d, o->top);
    add_rows(r, d, &gp_diff_gate_rows, d->gates.at, d->gates.n, false);
    add_rows(r, d, &gp_diff_expect_rows, d->expects.at, d->expects.n, false);
    if (!d->comparable && o->brief) {
        add_metrics(r, d);
        return;
    }
    add_operations(r, d, "regressions", "Slower", GP_CHANGE_REGRESSION, o->top);
    add_operations(r, d, "improvements", "Faster", GP_CHANGE_IMPROVEMENT, o->top);
    add_operations(r, d, "others", "New, gone, fused or undecided", GP_CHANGE_COUNT, o->top);
    add_blocks(r, d, o->top);
    add_metrics(r, d);
    if (o->brief) { /* text has no colours of changes */
        for (size_t i = 0; i < r->tables.n; i++) GP_VEC_FREE(&r->tables.at[i]->classes);
        return;
    }
    add_rows(r, d, &gp_diff_op_rows, d->ops.at, d->ops.n, true);
    add_sides(r, d);
    add_rows(r, d, &gp_diff_step_rows, d->steps.at, d->steps.n, true);
    static const char *const columns[] = {"setting", "value"};
    struct gp_report_table *t = add_lines(r, &gp_diff_setting_row, columns, GP_COUNT(columns));
    put_lines(r, t, d, &gp_diff_setting_row, (const void *[]){d, d}, 1);
}

void gp_diff_report(struct gp_report *r, const struct gp_diff *d, const struct gp_diff_report_opts *o)
{
    r->title = "trace-diff";
    gp_diff_summary(r, d);
    add_tables(r, d, o);
    gp_label_disambiguate(r);
}

/* ---- diff verdict ---- */

static enum gp_tone tone_of(const struct gp_diff *d)
{
    if (!d->comparable) return GP_TONE_BAD;
    if (d->identical) return GP_TONE_GOOD;
    switch ((enum gp_change)d->summary.verdict) {
    case GP_CHANGE_REGRESSION: return GP_TONE_BAD;
    case GP_CHANGE_IMPROVEMENT:
    case GP_CHANGE_NONE: return d->summary.mixed ? GP_TONE_WARN : GP_TONE_GOOD;
    default: return GP_TONE_WARN;
    }
}

/* ---- how sure that is ---- */

struct counted {
    uint32_t n;
    const char *words;
};

static bool put_counts(struct gp_buf *b, const struct counted *c, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (!c[i].n) continue;
        gp_buf_printf(b, "%s%u %s", any ? ", " : "", (unsigned)c[i].n, c[i].words);
        any = true;
    }
    return any;
}

static void summarize_counts(struct gp_report *r, const struct gp_diff *d, struct gp_buf *b)
{
    const struct gp_diff_summary *s = &d->summary;
    const char *what = d->opts.by == GP_DIFF_BY_OP      ? "operators"
                       : d->opts.by == GP_DIFF_BY_RANGE ? "ranges"
                       : d->opts.by == GP_DIFF_BY_LINE  ? "lines"
                                                        : "kernels";
    const struct counted c[] = {
        {s->regressions, "slower"}, {s->improvements, "faster"}, {s->fused, "fused"},
        {s->defused, "defused"},    {s->retiled, "retiled"},     {s->added, "new"},
        {s->removed, "gone"},       {s->no_change, "the same"},  {s->inconclusive, "undecided"},
    };
    gp_buf_printf(b, "Of %zu %s: ", d->ops.n, what);
    if (!put_counts(b, c, GP_COUNT(c))) gp_buf_puts(b, "none compared");
    if (d->opts.mode == GP_DIFF_SIMPLE)
        gp_buf_printf(b, " (no test; threshold %g%%).", d->opts.threshold_pct);
    else
        gp_buf_printf(b, " (%u tested, q <= %g, noise %.1f%%).", (unsigned)d->tested, d->opts.alpha,
                      d->noise_pct);
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

/* ---- parts that are not compared ---- */

/* " 5.20 s before them, 29 ms of warm-up in the baseline" */
static void put_outside(struct gp_buf *b, const struct gp_diff_side *s, const char *side)
{
    const struct {
        int64_t ns;
        const char *words;
    } parts[] = {{s->before_ns, "before them"}, {s->warm_up_ns, "of warm-up"}, {s->after_ns, "after them"}};
    bool any = false;
    for (size_t i = 0; i < GP_COUNT(parts); i++) {
        if (parts[i].ns <= 0) continue;
        gp_buf_printf(b, "%s%s %s", any ? ", " : " ", GP_NS(parts[i].ns), parts[i].words);
        any = true;
    }
    gp_buf_printf(b, "%s in the %s", any ? "" : " nothing", side);
}

static int64_t outside_ns(const struct gp_diff_side *s) { return s->before_ns + s->warm_up_ns + s->after_ns; }

/* Start-up and the rest, in one line, where it is a hundredth of a recording or more. */
static void summarize_outside(struct gp_report *r, const struct gp_diff *d, struct gp_buf *b)
{
    const struct gp_diff_side *was = &d->side[GP_DIFF_BASE], *is = &d->side[GP_DIFF_CUR];
    if (outside_ns(was) <= was->recorded_ns / 100 && outside_ns(is) <= is->recorded_ns / 100) return;
    gp_buf_puts(b, "Outside the steps, not compared:");
    put_outside(b, was, "baseline");
    gp_buf_putc(b, ';');
    put_outside(b, is, "current trace");
    gp_buf_puts(b, was->stepping > 1 || is->stepping > 1 ? ", per GPU." : ".");
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

/* ---- causes of the exit status ---- */

static void summarize_gates(struct gp_report *r, const struct gp_diff *d, struct gp_buf *b)
{
    GP_EACH(const struct gp_diff_gate, g, d->gates) {
        if (!g->broken) continue;
        gp_buf_printf(b, "Gate %s is broken", gp_diff_str(d, g->text));
        if (g->why) gp_buf_printf(b, ": %s", gp_diff_str(d, g->why));
        if (!isnan(g->value)) {
            gp_buf_puts(b, " (");
            gp_diff_put_limit(b, !g->absolute, g->metric, g->value, true);
            gp_buf_putc(b, ')');
        }
        gp_report_take_verdict(r, GP_TONE_BAD, b);
    }
    GP_EACH(const struct gp_diff_expect, e, d->expects) {
        if (e->holds) continue;
        gp_buf_printf(b, "The prediction for %s does not hold (%s)", gp_diff_str(d, e->subject),
                      gp_diff_outcome(e));
        if (e->why) gp_buf_printf(b, ": %s", gp_diff_str(d, e->why));
        gp_report_take_verdict(r, GP_TONE_BAD, b);
    }
}

void gp_diff_summary(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_buf b = {0};
    gp_diff_put_sentence(&b, d);
    gp_report_take_verdict(r, tone_of(d), &b);
    if (d->comparable && !d->identical) summarize_counts(r, d, &b);
    if (d->comparable && !d->identical) summarize_outside(r, d, &b);
    summarize_gates(r, d, &b);
    gp_inputs_quality(r, &d->strings, d->inputs.at, d->inputs.n, true);
    for (size_t i = 0; i < d->reasons.n; i++) {
        if (d->reasons.at[i].fatal) continue;
        gp_report_note(r, GP_TONE_WARN, "%s", gp_diff_str(d, d->reasons.at[i].text));
    }
    for (size_t i = 0; i < d->notes.n; i++)
        gp_report_note(r, GP_TONE_PLAIN, "%s", gp_diff_str(d, d->notes.at[i].text));
    gp_buf_release(&b);
}
