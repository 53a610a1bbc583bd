/* What things are called, and texts that are made of figures. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "formats/base/str.h"

/* ---- names ---- */

const char *gp_diff_by_name(enum gp_diff_by by)
{
    static const char *const names[] = {"kernel", "op", "range"};
    return names[by];
}

enum gp_diff_by gp_diff_by_called(const char *word)
{
    return !strcmp(word, "op")      ? GP_DIFF_BY_OP
           : !strcmp(word, "range") ? GP_DIFF_BY_RANGE
                                    : GP_DIFF_BY_KERNEL;
}

const char *gp_diff_mode_name(enum gp_diff_mode mode)
{
    return mode == GP_DIFF_TEST ? "test" : "simple";
}

const char *gp_diff_unit_name(enum gp_diff_unit u)
{
    return u == GP_DIFF_PER_STEP ? "step" : "trace";
}

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

const char *gp_metric_name(enum gp_metric_id m)
{
    return metrics[m].name;
}

const char *gp_metric_text(enum gp_metric_id m)
{
    return metrics[m].text;
}

const char *gp_metric_unit(enum gp_metric_id m)
{
    return metrics[m].unit;
}

enum gp_metric_class gp_metric_class(enum gp_metric_id m)
{
    return metrics[m].class;
}

const char *gp_metric_class_name(enum gp_metric_class c)
{
    static const char *const names[] = {"kernel", "wall", "exact"};
    return names[c];
}

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
