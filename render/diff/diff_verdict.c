#include "render/diff/diff_verdict.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/report/quality_text.h"

static enum gp_tone tone_of(const struct gp_diff *d)
{
    if (!d->comparable) return GP_TONE_BAD;
    if (d->identical) return GP_TONE_GOOD;
    switch ((enum gp_change)d->summary.verdict) {
    case GP_CHANGE_REGRESSION:
        return GP_TONE_BAD;
    case GP_CHANGE_IMPROVEMENT:
    case GP_CHANGE_NONE:
        return d->summary.mixed ? GP_TONE_WARN : GP_TONE_GOOD;
    default:
        return GP_TONE_WARN;
    }
}

static void say(struct gp_report *r, enum gp_tone tone, struct gp_buf *b)
{
    gp_report_verdict(r, tone, "%s", gp_buf_str(b));
    b->n = 0;
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

static void say_counts(struct gp_report *r, const struct gp_diff *d, struct gp_buf *b)
{
    const struct gp_diff_summary *s = &d->summary;
    const char *what = d->opts.by == GP_DIFF_BY_OP      ? "operators"
                       : d->opts.by == GP_DIFF_BY_RANGE ? "ranges"
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
    say(r, GP_TONE_PLAIN, b);
}

/* ---- what is not compared ---- */

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
        gp_buf_puts(b, any ? ", " : " ");
        gp_scale_put(b, GP_UNIT_NS, parts[i].ns);
        gp_buf_printf(b, " %s", parts[i].words);
        any = true;
    }
    gp_buf_printf(b, "%s in the %s", any ? "" : " nothing", side);
}

static int64_t outside_ns(const struct gp_diff_side *s)
{
    return s->before_ns + s->warm_up_ns + s->after_ns;
}

/* Start-up and the rest, in one line, where it is a hundredth of a recording or more. */
static void say_outside(struct gp_report *r, const struct gp_diff *d, struct gp_buf *b)
{
    const struct gp_diff_side *was = &d->side[GP_DIFF_BASE], *is = &d->side[GP_DIFF_CUR];
    if (outside_ns(was) <= was->recorded_ns / 100 && outside_ns(is) <= is->recorded_ns / 100) return;
    gp_buf_puts(b, "Outside the steps, not compared:");
    put_outside(b, was, "baseline");
    gp_buf_putc(b, ';');
    put_outside(b, is, "current trace");
    gp_buf_puts(b, was->stepping > 1 || is->stepping > 1 ? ", per GPU." : ".");
    say(r, GP_TONE_PLAIN, b);
}

/* ---- what makes the exit status ---- */

static void say_gates(struct gp_report *r, const struct gp_diff *d, struct gp_buf *b)
{
    for (size_t i = 0; i < d->gates.n; i++) {
        const struct gp_diff_gate *g = &d->gates.at[i];
        if (!g->broken) continue;
        gp_buf_printf(b, "Gate %s is broken", gp_diff_str(d, g->text));
        if (g->why) gp_buf_printf(b, ": %s", gp_diff_str(d, g->why));
        if (!isnan(g->value)) {
            gp_buf_puts(b, " (");
            gp_diff_put_limit(b, !g->absolute, g->metric, g->value, true);
            gp_buf_putc(b, ')');
        }
        say(r, GP_TONE_BAD, b);
    }
    for (size_t i = 0; i < d->expects.n; i++) {
        const struct gp_diff_expect *e = &d->expects.at[i];
        if (e->holds) continue;
        gp_buf_printf(b, "The prediction for %s does not hold (%s)", gp_diff_str(d, e->subject),
                      gp_diff_outcome(e));
        if (e->why) gp_buf_printf(b, ": %s", gp_diff_str(d, e->why));
        say(r, GP_TONE_BAD, b);
    }
}

void gp_diff_tell(struct gp_report *r, const struct gp_diff *d)
{
    struct gp_buf b = {0};
    gp_diff_put_sentence(&b, d);
    say(r, tone_of(d), &b);
    if (d->comparable && !d->identical) say_counts(r, d, &b);
    if (d->comparable && !d->identical) say_outside(r, d, &b);
    say_gates(r, d, &b);
    gp_inputs_say(r, &d->strings, d->inputs.at, d->inputs.n, true);
    for (size_t i = 0; i < d->reasons.n; i++) {
        if (d->reasons.at[i].fatal) continue;
        gp_report_note(r, GP_TONE_WARN, "%s", gp_diff_str(d, d->reasons.at[i].text));
    }
    for (size_t i = 0; i < d->notes.n; i++)
        gp_report_note(r, GP_TONE_PLAIN, "%s", gp_diff_str(d, d->notes.at[i].text));
    gp_buf_release(&b);
}
