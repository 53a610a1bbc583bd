#include "render/compile/compile_html.h"

#include <string.h>
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/compile/compile_icicle.h"
#include "render/compile/compile_tables.h"
#include "render/compile/compile_words.h"
#include "render/draw/chart_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/page/table_html.h"

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    const struct gp_compile *c;
    const struct gp_compile_html_opts *o;
    struct gp_report r;
};

/* ---- the top ---- */

static void put_header(struct page *p)
{
    const struct gp_compile *c = p->c;
    const char *torch = c->log->processes.n ? gp_compile_str(c, c->log->processes.at[0].torch) : "";
    gp_page_open(&p->w, "header", NULL);
    gp_page_put(&p->w, "p", "brand", "gpuprof trace-compile");
    gp_page_put(&p->w, "h1", NULL, p->o->input ? p->o->input : "standard input");
    if (*torch) gp_buf_printf(&p->text, "torch %s \xC2\xB7 ", torch);
    if (c->mode) gp_buf_printf(&p->text, "mode %s \xC2\xB7 ", gp_compile_str(c, c->mode));
    gp_compile_put_count(&p->text, c->log->processes.n, "process \xC2\xB7 ", "processes \xC2\xB7 ");
    gp_compile_put_count(&p->text, c->frames.n, "compile \xC2\xB7 ", "compiles \xC2\xB7 ");
    gp_compile_put_count(&p->text, c->graphs.n, "graph", "graphs");
    gp_page_take(&p->w, &p->text, "p", "facts");
    gp_page_close(&p->w);
}

static void put_speedup(struct page *p)
{
    const struct gp_compile *c = p->c;
    for (size_t i = 1; i < c->modes.n; i++) {
        const struct gp_compile_mode *m = &c->modes.at[i];
        struct gp_buf words = {0};
        if (m->speedup <= 0) continue;
        gp_buf_printf(&p->text, "%.2fx", m->speedup);
        gp_buf_printf(&words, "%s against %s", gp_compile_str(c, m->name),
                      gp_compile_str(c, c->modes.at[0].name));
        gp_page_figure(&p->w, "Speed-up", &p->text, gp_buf_str(&words));
        gp_buf_release(&words);
    }
}

static void put_figures(struct page *p)
{
    const struct gp_compile *c = p->c;
    gp_page_open(&p->w, "dl", "kpis");
    gp_scale_put(&p->text, GP_UNIT_NS, c->time.total_ns);
    gp_page_figure(&p->w, "Compile time", &p->text,
                   c->caches.warmth ? gp_compile_warmth_name(c->caches.warmth) : "cache unknown");
    gp_scale_put_count(&p->text, gp_compile_own_breaks(c));
    gp_page_figure(&p->w, "Graph breaks", &p->text, "places");
    uint64_t times = 0;
    for (size_t i = 0; i < c->recompiles.n; i++) times += c->recompiles.at[i].count;
    gp_scale_put_count(&p->text, times);
    gp_page_figure(&p->w, "Recompiles", &p->text, "in all");
    gp_scale_put_count(&p->text, c->kernels.n);
    gp_page_figure(&p->w, "Generated kernels", &p->text, "in all graphs");
    put_speedup(p);
    gp_page_close(&p->w);
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

/* ---- sections ---- */

static const struct section {
    const char *id, *title;
    const char *tables[3];
} sections[] = {
    {"graph-breaks", "Graph breaks", {"breaks"}},
    {"again", "Recompiles", {"recompiles"}},
    {"compile-time", "Compile time", {"time", "frames"}},
    {"run-time", "Run time", {"modes"}},
    {"graphs-kernels", "Graphs and kernels", {"graphs", "kernels"}},
};
enum { SECTIONS = sizeof sections / sizeof *sections, MOST_TABLES = 3 };

static bool is_there(const struct page *p, const struct section *s)
{
    for (int i = 0; i < MOST_TABLES && s->tables[i]; i++) {
        const struct gp_report_table *t = gp_report_find(&p->r, s->tables[i]);
        if (t && gp_report_rows(t)) return true;
    }
    return false;
}

static void put_section(struct page *p, const struct section *s)
{
    if (!is_there(p, s)) return;
    gp_page_open(&p->w, "section", "theme");
    gp_svg_attr(&p->w, "id", s->id);
    gp_page_put(&p->w, "h2", NULL, s->title);
    if (!strcmp(s->id, "compile-time")) {
        put_bar(p);
        put_icicle(p);
    }
    for (int i = 0; i < MOST_TABLES && s->tables[i]; i++) {
        const struct gp_report_table *t = gp_report_find(&p->r, s->tables[i]);
        if (t && gp_report_rows(t)) gp_table_html_write(&p->w, t, &(struct gp_table_html_opts){.open = !i});
    }
    gp_page_close(&p->w);
}

/* The generated modules, when the log kept them. */
static void put_code(struct page *p)
{
    const struct gp_compile_log *log = p->c->log;
    if (!log->keep_code || !log->graphs.n) return;
    gp_page_open(&p->w, "section", "theme");
    gp_svg_attr(&p->w, "id", "code");
    gp_page_put(&p->w, "h2", NULL, "Generated code");
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
    gp_page_close(&p->w);
}

static void put_contents(struct page *p)
{
    gp_page_contents(&p->w);
    for (int i = 0; i < SECTIONS; i++)
        if (is_there(p, &sections[i])) gp_page_entry(&p->w, sections[i].id, sections[i].title);
    gp_page_close(&p->w);
}

void gp_compile_html_write(struct gp_buf *b, const struct gp_compile *c, const struct gp_compile_html_opts *o)
{
    struct page p = {.c = c, .o = o};
    gp_compile_report(&p.r, c, o->top);
    gp_buf_printf(&p.text, "trace-compile: %s", o->input ? o->input : "standard input");
    gp_page_begin(&p.w, b, gp_buf_str(&p.text), &gp_page_report);
    p.text.n = 0;
    gp_page_open(&p.w, "main", NULL);
    put_header(&p);
    gp_page_quality(&p.w, &p.r);
    gp_page_verdict(&p.w, &p.r);
    put_figures(&p);
    put_contents(&p);
    for (int i = 0; i < SECTIONS; i++) put_section(&p, &sections[i]);
    put_code(&p);
    gp_page_foot(&p.w, "trace-compile", o->options, NULL, o->json != NULL);
    gp_svg_close(&p.w);
    if (o->json) gp_page_json(&p.w, "gpuprof-answer", o->json, o->json_n);
    gp_page_end(&p.w, &gp_page_report);
    gp_report_release(&p.r);
    gp_buf_release(&p.text);
}
