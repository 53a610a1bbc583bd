#include "render/report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/text.h"

enum { LINE_BYTES = 1024 };

void gp_report_release(struct gp_report *r)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        GP_RELEASE(gp_vec_free, &r->tables.at[i]->columns, &r->tables.at[i]->cells,
                   &r->tables.at[i]->classes);
    }
    GP_RELEASE(gp_vec_free, &r->tables, &r->quality, &r->verdict);
    gp_arena_release(&r->mem);
}

struct gp_report_table *gp_report_add(struct gp_report *r, const char *id, const char *title)
{
    struct gp_report_table *t = gp_arena_zalloc(&r->mem, sizeof *t);
    t->id = id;
    t->title = title;
    GP_VEC_PUSH(&r->tables, t);
    return t;
}

void gp_report_column(struct gp_report_table *t, const char *id, const char *heading, enum gp_cell_type type,
                      unsigned flags, const char *help)
{
    GP_VEC_PUSH(
        &t->columns,
        (struct gp_report_column){
            .id = id, .heading = heading, .help = help, .type = (uint8_t)type, .flags = (uint8_t)flags});
}

void gp_report_flag(struct gp_report_table *t, const char *id, unsigned flags)
{
    for (size_t i = 0; i < t->columns.n; i++)
        if (!strcmp(t->columns.at[i].id, id)) t->columns.at[i].flags |= (uint8_t)flags;
}

void gp_report_head(struct gp_report_table *t, const char *id, const char *heading)
{
    for (size_t i = 0; i < t->columns.n; i++)
        if (!strcmp(t->columns.at[i].id, id)) t->columns.at[i].heading = heading;
}

/* ---- cells ---- */

static struct gp_cell *next_cell(struct gp_report_table *t)
{
    uint8_t type = t->columns.at[t->cells.n % t->columns.n].type;
    GP_VEC_PUSH(&t->cells, (struct gp_cell){.type = type});
    return &t->cells.at[t->cells.n - 1];
}

void gp_report_put(struct gp_report_table *t, int64_t v) { next_cell(t)->i = v; }

void gp_report_put_real(struct gp_report_table *t, double v)
{
    struct gp_cell *c = next_cell(t);
    c->none = !isfinite(v);
    c->d = c->none ? 0 : v;
}

void gp_report_put_none(struct gp_report_table *t) { next_cell(t)->none = true; }

void gp_report_put_cell(struct gp_report_table *t, const struct gp_cell *c) { GP_VEC_PUSH(&t->cells, *c); }

void gp_report_put_name(struct gp_report *r, struct gp_report_table *t, const char *s, size_t n,
                        const char *label, size_t label_n)
{
    struct gp_cell *c = next_cell(t);
    c->text = gp_report_str(r, s, n);
    c->text_len = (uint32_t)n;
    bool same = !label || (label_n == n && (!n || !memcmp(label, s, n)));
    c->label = same ? c->text : gp_report_str(r, label, label_n);
    c->label_len = (uint32_t)(same ? n : label_n);
}

void gp_report_put_text(struct gp_report *r, struct gp_report_table *t, const char *s)
{
    gp_report_put_name(r, t, s, strlen(s), NULL, 0);
}

const char *gp_report_str(struct gp_report *r, const char *s, size_t n)
{
    return gp_arena_strndup(&r->mem, n ? s : "", n);
}

static struct gp_report_line make_line(struct gp_report *r, enum gp_tone tone, const char *fmt, va_list ap)
    GP_PRINTF(3, 0);
static struct gp_report_line make_line(struct gp_report *r, enum gp_tone tone, const char *fmt, va_list ap)
{
    char line[LINE_BYTES];
    int n = vsnprintf(line, sizeof line, fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    return (struct gp_report_line){gp_report_str(r, line, len), (uint8_t)tone};
}

void gp_report_verdict(struct gp_report *r, enum gp_tone tone, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct gp_report_line l = make_line(r, tone, fmt, ap);
    va_end(ap);
    GP_VEC_PUSH(&r->verdict, l);
}

void gp_report_note(struct gp_report *r, enum gp_tone tone, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct gp_report_line l = make_line(r, tone, fmt, ap);
    va_end(ap);
    GP_VEC_PUSH(&r->quality, l);
}

void gp_report_take_verdict(struct gp_report *r, enum gp_tone tone, struct gp_buf *b)
{
    gp_report_verdict(r, tone, "%s", gp_buf_str(b));
    b->n = 0;
}

void gp_report_take_note(struct gp_report *r, enum gp_tone tone, struct gp_buf *b)
{
    gp_report_note(r, tone, "%s", gp_buf_str(b));
    b->n = 0;
}

/* ---- finding ---- */

const struct gp_report_table *gp_report_find(const struct gp_report *r, const char *id)
{
    for (size_t i = 0; i < r->tables.n; i++)
        if (!strcmp(r->tables.at[i]->id, id)) return r->tables.at[i];
    return NULL;
}

/* ---- for a person ---- */

static void put_ns(struct gp_buf *b, int64_t ns)
{
    if (ns < 0) gp_buf_putc(b, '-');
    gp_scale_put(b, GP_UNIT_NS, ns < 0 ? (ns == INT64_MIN ? INT64_MAX : -ns) : ns);
}

static void put_percent(struct gp_buf *b, double pct)
{
    if (pct == 0) gp_buf_puts(b, "0%");
    else if (pct > 0 && pct < 0.005) gp_buf_puts(b, "<0.01%");
    else gp_buf_printf(b, fabs(pct) < 9.995 ? "%.2f%%" : "%.1f%%", pct);
}

static void put_real(struct gp_buf *b, double v)
{
    if (v > 0 && v < 0.005) gp_buf_puts(b, "<0.01");
    else gp_buf_printf(b, fabs(v) < 9.995 ? "%.2f" : fabs(v) < 99.95 ? "%.1f" : "%.0f", v);
}

/* "1,234.567": printed sums are the sums of the printed terms. */
static void put_us(struct gp_buf *b, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0) gp_buf_putc(b, '-');
    gp_buf_printf(b, "%s.%03u", GP_COUNTED(size / 1000), (unsigned)(size % 1000));
}

static void put_change_pct(struct gp_buf *b, double pct)
{
    double size = fabs(pct);
    if (size < 0.005) gp_buf_puts(b, "0%");
    else gp_buf_printf(b, size < 9.995 ? "%+.2f%%" : size < 99.95 ? "%+.1f%%" : "%+.0f%%", pct);
}

void gp_cell_put(struct gp_buf *b, const struct gp_cell *c)
{
    if (c->none) {
        gp_buf_putc(b, '-');
        return;
    }
    switch ((enum gp_cell_type)c->type) {
    case GP_CELL_NAME:
    case GP_CELL_TEXT: gp_text_clean(b, c->label, c->label_len); break;
    case GP_CELL_BOOL: gp_buf_puts(b, c->i ? "yes" : "no"); break;
    case GP_CELL_ID: gp_buf_put_i64(b, c->i); break;
    case GP_CELL_COUNT:
        if (c->i < 0) gp_buf_put_i64(b, c->i);
        else gp_scale_put_count(b, (uint64_t)c->i);
        break;
    case GP_CELL_NS: put_ns(b, c->i); break;
    case GP_CELL_BYTES:
    case GP_CELL_CHANGE_BYTES:
        if (c->i < 0) gp_buf_putc(b, '-');
        else if (c->i && c->type == GP_CELL_CHANGE_BYTES) gp_buf_putc(b, '+');
        gp_scale_put(b, GP_UNIT_BYTES, c->i < 0 ? -c->i : c->i);
        break;
    case GP_CELL_PCT: put_percent(b, c->d); break;
    case GP_CELL_GBPS:
        put_real(b, c->d);
        gp_buf_puts(b, " GB/s");
        break;
    case GP_CELL_REAL: put_real(b, c->d); break;
    case GP_CELL_NS_REAL:
        put_ns(b, (int64_t)(fabs(c->d) < 9e18 ? c->d + (c->d < 0 ? -0.5 : 0.5) : c->d < 0 ? -9e18 : 9e18));
        break;
    case GP_CELL_CHANGE_US:
    case GP_CELL_US:
        if (c->type == GP_CELL_CHANGE_US && c->i > 0) gp_buf_putc(b, '+');
        put_us(b, c->i);
        break;
    case GP_CELL_CHANGE_NS:
        if (c->i > 0) gp_buf_putc(b, '+');
        put_ns(b, c->i);
        break;
    case GP_CELL_CHANGE_PCT: put_change_pct(b, c->d); break;
    default: break; /* no cells of tables */
    }
}

void gp_report_lines(const struct gp_report_line *lines, size_t n, enum gp_tone least,
                     void (*print)(const void *ctx, const char *text), const void *ctx)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].tone >= least) print(ctx, lines[i].text);
}

/* ---- quality text ---- */

static void summarize_line(void *ctx, const char *line, bool usable)
{
    struct gp_buf b = {0};
    gp_text_clean(&b, line, strlen(line));
    gp_report_note(ctx, usable ? GP_TONE_WARN : GP_TONE_BAD, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
}

void gp_inputs_quality(struct gp_report *r, const struct gp_strings *s, const struct gp_input_quality *inputs,
                       size_t n, bool damage)
{
    gp_quality_lines(s, inputs, n, damage, summarize_line, r);
}

/* ---- step time ---- */

void gp_step_time_put(struct gp_buf *b, int64_t mean_ns, int64_t median_ns, uint64_t timed, bool whole)
{
    gp_buf_printf(b, "%s (%s%s %s step", GP_NS(mean_ns), timed > 1 ? "mean of " : "", GP_COUNTED(timed),
                  whole ? "whole" : "partial");
    if (timed > 1) gp_buf_putc(b, 's');
    if (timed <= 2) return;
    gp_buf_printf(b, "; median %s", GP_NS(median_ns));
}
