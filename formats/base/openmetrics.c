#include "formats/base/openmetrics.h"

#include <inttypes.h>
#include <stdio.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/json_write.h"
#include "formats/base/utf8.h"

enum { NS_DIGITS = 9 };

static const int64_t bounds_ns[GP_OPENMETRICS_STEPS] = {
    1000000,   2500000,   5000000,    10000000,   25000000,   50000000,   100000000,
    250000000, 500000000, 1000000000, 2500000000, 5000000000, 10000000000};

void gp_openmetrics_step(struct gp_openmetrics_steps *s, int64_t ns)
{
    size_t at = 0;
    while (at < GP_OPENMETRICS_STEPS && ns > bounds_ns[at]) at++;
    s->count[at]++;
    s->n++;
    if (__builtin_add_overflow(s->sum_ns, ns, &s->sum_ns)) s->sum_ns = INT64_MAX;
}

void gp_openmetrics_family(struct gp_openmetrics *m, const char *name, const char *type, const char *unit,
                           const char *help)
{
    gp_buf_printf(m->b, "# TYPE gpuprof_%s %s\n", name, type);
    if (*unit) gp_buf_printf(m->b, "# UNIT gpuprof_%s %s\n", name, unit);
    gp_buf_printf(m->b, "# HELP gpuprof_%s %s\n", name, help);
}

bool gp_openmetrics_series(struct gp_openmetrics *m, const char *name)
{
    if (m->series + 1 >= m->most) {
        m->left_out++;
        return false;
    }
    m->series++;
    m->labels = false;
    gp_buf_printf(m->b, "gpuprof_%s", name);
    return true;
}

/* The value of a label: valid UTF-8, and escaped. What must not be shown is there by its number, as text,
 * since two series may not have the same labels. */
static void put_value(struct gp_buf *b, const char *text, size_t n)
{
    for (size_t i = 0, used; i < n; i += used) {
        uint32_t c = gp_utf8_next(text + i, n - i, &used);
        if (c == '\\' || c == '"') gp_buf_putc(b, '\\');
        if (c == '\n') gp_buf_puts(b, "\\n");
        else if (gp_utf8_shown(c) == c) gp_utf8_put(b, c);
        else gp_buf_printf(b, "\\\\u%04x", (unsigned)c);
    }
}

void gp_openmetrics_label(struct gp_openmetrics *m, const char *name, const char *text, size_t n)
{
    gp_buf_printf(m->b, "%c%s=\"", m->labels ? ',' : '{', name);
    put_value(m->b, text, n);
    gp_buf_putc(m->b, '"');
    m->labels = true;
}

void gp_openmetrics_label_int(struct gp_openmetrics *m, const char *name, int64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, v);
    gp_openmetrics_label(m, name, text, (size_t)n);
}

static void before_value(struct gp_openmetrics *m) { gp_buf_puts(m->b, m->labels ? "} " : " "); }

static void put_seconds(struct gp_buf *b, int64_t ns)
{
    char text[48];
    uint64_t all = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    int n = snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", all / 1000000000,
                     all % 1000000000);
    for (int i = 0; i < NS_DIGITS - 1 && text[n - 1] == '0'; i++) n--;
    gp_buf_put(b, text, (size_t)n);
}

void gp_openmetrics_seconds(struct gp_openmetrics *m, int64_t ns)
{
    before_value(m);
    put_seconds(m->b, ns);
    gp_buf_putc(m->b, '\n');
}

void gp_openmetrics_count(struct gp_openmetrics *m, uint64_t v)
{
    before_value(m);
    gp_buf_printf(m->b, "%" PRIu64 "\n", v);
}

void gp_openmetrics_number(struct gp_openmetrics *m, double v)
{
    before_value(m);
    gp_json_put_double(m->b, v);
    gp_buf_putc(m->b, '\n');
}

void gp_openmetrics_total(struct gp_openmetrics *m, const char *name, const char *unit, const char *help,
                          int64_t v)
{
    char series[64];
    gp_openmetrics_family(m, name, "counter", unit, help);
    snprintf(series, sizeof series, "%s_total", name);
    if (!gp_openmetrics_series(m, series)) return;
    if (*unit) gp_openmetrics_seconds(m, v);
    else gp_openmetrics_count(m, (uint64_t)v);
}

void gp_openmetrics_put_steps(struct gp_openmetrics *m, const struct gp_openmetrics_steps *s)
{
    enum { LINES = GP_OPENMETRICS_STEPS + 3 };
    uint64_t below = 0;
    if (m->series + LINES >= m->most) {
        m->left_out += LINES;
        return;
    }
    m->series += LINES;
    gp_openmetrics_family(m, "step_seconds", "histogram", "seconds", "Duration of complete steps on a GPU.");
    for (size_t i = 0; i < GP_COUNT(bounds_ns); i++) {
        below += s->count[i];
        gp_buf_puts(m->b, "gpuprof_step_seconds_bucket{le=\"");
        put_seconds(m->b, bounds_ns[i]);
        gp_buf_printf(m->b, "\"} %" PRIu64 "\n", below);
    }
    gp_buf_printf(m->b, "gpuprof_step_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", s->n);
    gp_buf_puts(m->b, "gpuprof_step_seconds_sum ");
    put_seconds(m->b, s->sum_ns);
    gp_buf_printf(m->b, "\ngpuprof_step_seconds_count %" PRIu64 "\n", s->n);
}

void gp_openmetrics_end(struct gp_openmetrics *m)
{
    gp_openmetrics_family(m, "series_left_out", "gauge", "",
                          "Series that are not here because there would be too many.");
    gp_buf_printf(m->b, "gpuprof_series_left_out %zu\n# EOF\n", m->left_out);
}
