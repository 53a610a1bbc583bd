#include "render/compile/compile_html.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/compile/compile_icicle.h"
#include "render/compile/compile_tables.h"
#include "analyze/compile/compile_text.h"
#include "render/draw/chart_svg.h"
#include "render/page/page_doc.h"

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    const struct gp_compile *c;
    struct gp_page_doc doc;
};

/* ---- the top ---- */

static void put_facts(struct gp_buf *facts, const struct gp_compile *c)
{
    const char *torch = c->log->processes.n ? gp_compile_str(c, c->log->processes.at[0].torch) : "";
    if (*torch) gp_buf_printf(facts, "torch %s \xC2\xB7 ", torch);
    if (c->mode) gp_buf_printf(facts, "mode %s \xC2\xB7 ", gp_compile_str(c, c->mode));
    gp_compile_put_count(facts, c->log->processes.n, "process \xC2\xB7 ", "processes \xC2\xB7 ");
    gp_compile_put_count(facts, c->frames.n, "compile \xC2\xB7 ", "compiles \xC2\xB7 ");
    gp_compile_put_count(facts, c->graphs.n, "graph", "graphs");
}

static void put_count(struct page *p, const char *name, uint64_t n, const char *words)
{
    struct gp_page_figure *f = gp_page_figure(&p->doc, name);
    gp_scale_put_count(&f->value, n);
    gp_buf_puts(&f->words, words);
}

static void put_figures(struct page *p)
{
    const struct gp_compile *c = p->c;
    struct gp_page_figure *f = gp_page_figure(&p->doc, "Compile time");
    gp_scale_put(&f->value, GP_UNIT_NS, c->time.total_ns);
    gp_buf_puts(&f->words, c->caches.warmth ? gp_compile_warmth_name(c->caches.warmth) : "cache unknown");
    put_count(p, "Graph breaks", gp_compile_own_breaks(c), "places");
    uint64_t times = 0;
    for (size_t i = 0; i < c->recompiles.n; i++) times += c->recompiles.at[i].count;
    put_count(p, "Recompiles", times, "in all");
    put_count(p, "Generated kernels", c->kernels.n, "in all graphs");
    for (size_t i = 1; i < c->modes.n; i++) {
        const struct gp_compile_mode *m = &c->modes.at[i];
        if (m->speedup <= 0) continue;
        f = gp_page_figure(&p->doc, "Speed-up");
        gp_buf_printf(&f->value, "%.2fx", m->speedup);
        gp_buf_printf(&f->words, "%s against %s", gp_compile_str(c, m->name),
                      gp_compile_str(c, c->modes.at[0].name));
    }
}

/* ---- time ---- */

static void put_legend(struct page *p)
{
    gp_page_open(&p->w, "p", "legend");
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        if (!p->c->time.class_ns[i]) continue;
        gp_page_open(&p->w, "span", NULL);
        gp_page_swatch(&p->w, gp_compile_color((enum gp_compile_class)i));
        gp_page_text(&p->w, gp_compile_class_name((enum gp_compile_class)i));
        gp_page_text(&p->w, " ");
        gp_scale_put(&p->text, GP_UNIT_NS, p->c->time.class_ns[i] > 0 ? p->c->time.class_ns[i] : 0);
        gp_page_take(&p->w, &p->text, "b", NULL);
        gp_svg_close(&p->w);
        gp_svg_text(&p->w, GP_TEXT(" "));
    }
    gp_page_close(&p->w);
}

static void put_bar(struct page *p)
{
    struct gp_chart_series series[GP_COMPILE_CLASS_COUNT];
    int64_t values[GP_COMPILE_CLASS_COUNT];
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        series[i] = (struct gp_chart_series){gp_compile_class_name((enum gp_compile_class)i),
                                             gp_compile_color((enum gp_compile_class)i)};
        values[i] = p->c->time.class_ns[i] > 0 ? p->c->time.class_ns[i] : 0;
    }
    struct gp_chart_row row = {.label = "compile time", .values = values};
    gp_page_open(&p->w, "figure", NULL);
    gp_page_open(&p->w, "figcaption", NULL);
    gp_page_put(&p->w, "b", NULL, "Where compile time went ");
    gp_page_put(&p->w, "span", NULL, "each moment counts once; the classes add up");
    gp_svg_close(&p->w);
    put_legend(p);
    gp_scale_put(&p->text, GP_UNIT_NS, p->c->time.total_ns);
    row.text = gp_buf_str(&p->text);
    gp_chart_rows(&p->w, &(struct gp_chart){.label = "Compile time by class",
                                            .unit = GP_UNIT_NS,
                                            .series = series,
                                            .series_n = GP_COMPILE_CLASS_COUNT,
                                            .rows = &row,
                                            .rows_n = 1});
    p->text.n = 0;
    gp_page_close(&p->w);
}

static void put_icicle(struct page *p)
{
    if (!p->c->log->spans.n || p->c->time.total_ns <= 0) return;
    gp_page_open(&p->w, "figure", "pan");
    gp_svg_attr(&p->w, "tabindex", "0"); /* so that keys can scroll it */
    gp_svg_attr(&p->w, "aria-label", "Spans of compile time");
    gp_page_open(&p->w, "figcaption", NULL);
    gp_page_put(&p->w, "b", NULL, "Spans ");
    gp_page_put(&p->w, "span", NULL,
                "what is inside a span lies below it; the time between compiles is left out");
    gp_svg_close(&p->w);
    gp_compile_icicle(&p->w, p->c);
    gp_page_close(&p->w);
}

static void put_time(void *page)
{
    put_bar(page);
    put_icicle(page);
}

/* ---- generated code ---- */

static bool has_code(const void *page)
{
    const struct page *p = page;
    return p->c->log->keep_code && p->c->log->graphs.n;
}

/* The generated modules, when the log kept them. */
static void put_code(void *page)
{
    struct page *p = page;
    const struct gp_compile_log *log = p->c->log;
    for (size_t i = 0; i < log->graphs.n; i++) {
        const struct gp_clog_graph *g = &log->graphs.at[i];
        gp_page_open(&p->w, "details", NULL);
        gp_buf_printf(&p->text, "[%s]", gp_compile_str(p->c, g->compile_id));
        gp_page_take(&p->w, &p->text, "summary", NULL);
        gp_page_open(&p->w, "pre", NULL);
        const char *s = gp_compile_str(p->c, g->code), *end;
        for (; *s; s = *end ? end + 1 : end) {
            end = strchr(s, '\n');
            if (!end) end = s + strlen(s);
            gp_svg_text(&p->w, s, (size_t)(end - s));
            gp_svg_newline(&p->w);
        }
        gp_svg_close(&p->w);
        gp_page_close(&p->w);
    }
}

/* ---- sections ---- */

static const struct gp_page_section sections[] = {
    {"graph-breaks", "Graph breaks", .tables = {"breaks"}},
    {"again", "Recompiles", .tables = {"recompiles"}},
    {"compile-time", "Compile time", .draw = put_time, .tables = {"time", "frames"}},
    {"run-time", "Run time", .tables = {"modes"}},
    {"graphs-kernels", "Graphs and kernels", .tables = {"graphs", "kernels"}},
    {"code", "Generated code", .draw = put_code, .there = has_code},
};

void gp_compile_html_write(struct gp_buf *b, const struct gp_compile *c, const struct gp_compile_html_opts *o)
{
    struct gp_report r = {0};
    struct page p = {.c = c,
                     .doc = {.tool = "trace-compile",
                             .parts = &gp_page_report,
                             .report = &r,
                             .input = o->input,
                             .sections = sections,
                             .sections_n = GP_COUNT(sections),
                             .page = &p,
                             .options = o->options,
                             .json = o->json,
                             .json_n = o->json_n}};
    gp_compile_report(&r, c, o->top);
    put_facts(&p.doc.facts, c);
    put_figures(&p);
    gp_page_write(&p.w, b, &p.doc);
    gp_report_release(&r);
    gp_buf_release(&p.text);
}
