/* What things are called, and texts that are made of figures. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

/* ---- names ---- */

enum gp_diff_by gp_diff_by_called(const char *word)
{
    return !strcmp(word, "op")      ? GP_DIFF_BY_OP
           : !strcmp(word, "range") ? GP_DIFF_BY_RANGE
           : !strcmp(word, "line")  ? GP_DIFF_BY_LINE
                                    : GP_DIFF_BY_KERNEL;
}

const char *gp_diff_unit_name(enum gp_diff_unit u) { return u == GP_DIFF_PER_STEP ? "step" : "trace"; }

GP_WORD(gp_change_name, enum gp_change, GP_CHANGES, 1)
GP_WORD(gp_diff_test_name, enum gp_diff_test, GP_DIFF_TESTS, 1)

static const struct {
    const char *name, *unit, *text;
    enum gp_metric_class class;
} metrics[] = {
#define X(id, name, class, unit, text) {name, unit, text, class},
    GP_METRICS(X)
#undef X
};

const char *gp_metric_name(enum gp_metric_id m) { return metrics[m].name; }

const char *gp_metric_text(enum gp_metric_id m) { return metrics[m].text; }

const char *gp_metric_unit(enum gp_metric_id m) { return metrics[m].unit; }

enum gp_metric_class gp_metric_class(enum gp_metric_id m) { return metrics[m].class; }

GP_WORDS(gp_metric_class_name, enum gp_metric_class, "kernel", "wall", "exact")

/* ---- texts ---- */

static gp_sid put_text(struct gp_diff *d, const char *fmt, va_list ap) GP_PRINTF(2, 0);
static gp_sid put_text(struct gp_diff *d, const char *fmt, va_list ap)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    return gp_intern(&d->strings, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

gp_sid gp_diff_text(struct gp_diff *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    gp_sid sid = put_text(d, fmt, ap);
    va_end(ap);
    return sid;
}

void gp_diff_note(struct gp_diff *d, const char *id, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    gp_sid text = put_text(d, fmt, ap);
    va_end(ap);
    GP_VEC_PUSH(&d->notes, ((struct gp_diff_note){gp_intern_cstr(&d->strings, id), text}));
}

void gp_diff_reason(struct gp_diff *d, const char *id, bool fatal, uint32_t classes, gp_sid text)
{
    struct gp_diff_reason r = {gp_intern_cstr(&d->strings, id), fatal, classes, text};
    size_t at = d->reasons.n;
    GP_VEC_PUSH(&d->reasons, r);
    for (; fatal && at && !d->reasons.at[at - 1].fatal; at--) d->reasons.at[at] = d->reasons.at[at - 1];
    d->reasons.at[at] = r;
}

void gp_diff_put_pct(struct gp_buf *b, double pct)
{
    if (fabs(pct) < 0.05) gp_buf_puts(b, "0%");
    else gp_buf_printf(b, "%+.1f%%", pct);
}

double gp_diff_change_pct(int64_t base, int64_t cur)
{
    if (base == cur) return 0;
    return base ? 100.0 * ((double)cur - (double)base) / (double)base : NAN;
}

void gp_diff_put_change(struct gp_buf *b, const char *unit, int64_t change)
{
    if (change > 0) gp_buf_putc(b, '+');
    enum gp_unit scale = unit[0] == 'n' ? GP_UNIT_NS : unit[0] == 'b' ? GP_UNIT_BYTES : GP_UNIT_COUNT;
    if (change < 0) gp_buf_putc(b, '-');
    gp_scale_put(b, scale, change < 0 ? (change == INT64_MIN ? INT64_MAX : -change) : change);
}

void gp_diff_put_limit(struct gp_buf *b, bool percent, uint32_t metric, double v, bool sign)
{
    if (isnan(v)) {
        gp_buf_puts(b, "unknown");
        return;
    }
    if (percent) {
        gp_buf_printf(b, sign ? "%+.4g%%" : "%.4g%%", v);
        return;
    }
    const char *unit = metric < GP_METRIC_COUNT ? gp_metric_unit((enum gp_metric_id)metric) : "ns";
    int64_t i = v > 9e18 ? INT64_MAX : v < -9e18 ? -INT64_MAX : (int64_t)llround(v);
    if (!sign && i >= 0) { /* a limit without its own sign */
        struct gp_buf signless = {0};
        gp_diff_put_change(&signless, unit, i);
        gp_buf_put(b, signless.data + (i > 0), signless.n - (i > 0));
        gp_buf_release(&signless);
        return;
    }
    gp_diff_put_change(b, unit, i);
}

const char *gp_diff_outcome(const struct gp_diff_expect *e)
{
    if (isnan(e->value)) return "unknown";
    return e->holds ? "met" : e->value < e->low ? "better" : "worse";
}

/* ---- the verdict in one sentence ---- */

/* "step time 4.61 ms, was 4.60 ms (+0.2%)": if the analysis has no headline. */
static void put_plain_headline(struct gp_buf *b, const struct gp_diff *d)
{
    const struct gp_diff_metric *step = &d->metrics[GP_METRIC_STEP];
    const struct gp_diff_metric *m = step->known ? step : &d->metrics[GP_METRIC_GPU];
    gp_buf_printf(b, "%s %s, was %s", gp_metric_text((enum gp_metric_id)m->id), GP_NS(m->side[GP_DIFF_CUR]),
                  GP_NS(m->side[GP_DIFF_BASE]));
    if (isnan(m->change_pct)) return;
    gp_buf_puts(b, " (");
    gp_diff_put_pct(b, m->change_pct);
    gp_buf_putc(b, ')');
}

void gp_diff_put_sentence(struct gp_buf *b, const struct gp_diff *d)
{
    gp_buf_puts(b, gp_diff_str(d, d->summary.word));
    gp_buf_puts(b, ": ");
    bool said = false;
    for (size_t i = 0; !d->comparable && i < d->reasons.n; i++) {
        if (!d->reasons.at[i].fatal) continue;
        gp_buf_puts(b, said ? "; " : "");
        gp_buf_puts(b, gp_diff_str(d, d->reasons.at[i].text));
        said = true;
    }
    if (!said && d->summary.headline) gp_buf_puts(b, gp_diff_str(d, d->summary.headline));
    else if (!said) put_plain_headline(b, d);
}
