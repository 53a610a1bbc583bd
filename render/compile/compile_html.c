#include "render/compile/compile_priv.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/chart_svg.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/page/page_doc.h"

/* ---- the icicle ---- */

enum { WIDTH = 1160, ROW = 20, MOST_DEPTH = 24, MOST_RECTS = 2500, LEAST_TEXT = 40 };
enum { EDGE = 400, CHARACTER = 760 }; /* beside a text, and the width of a letter: hundredths of a pixel */

/* The colour class (gp_page_swatch) of a class of compile time. */
static const char *color_of(enum gp_compile_class class)
{
    static const char *const colors[GP_COMPILE_CLASS_COUNT] = {
        [GP_COMPILE_DYNAMO] = "elementwise",   [GP_COMPILE_AOT] = "attention",
        [GP_COMPILE_PASSES] = "memset",        [GP_COMPILE_INDUCTOR] = "gemm",
        [GP_COMPILE_KERNELS] = "memcpy",       [GP_COMPILE_AUTOTUNE] = "communication",
        [GP_COMPILE_CUDAGRAPHS] = "reduction", [GP_COMPILE_OTHER] = "api"};
    return colors[class];
}

/* The place of each span: the roots follow one another. */
struct place {
    int64_t at_ns;
    uint32_t depth;
};

static int lay_out(const struct gp_compile_log *log, struct place *places)
{
    int64_t end = 0;
    uint32_t deepest = 0;
    for (size_t i = 0; i < log->spans.n; i++) {
        const struct gp_clog_span *s = &log->spans.at[i];
        if (s->parent == GP_CLOG_NONE) {
            places[i] = (struct place){end, 0};
            end += s->dur_ns;
            continue;
        }
        const struct gp_clog_span *up = &log->spans.at[s->parent];
        int64_t offset = s->begin_ns - up->begin_ns;
        if (offset + s->dur_ns > up->dur_ns) offset = up->dur_ns - s->dur_ns;
        if (offset < 0) offset = 0;
        places[i] = (struct place){places[s->parent].at_ns + offset, places[s->parent].depth + 1};
        if (places[i].depth > deepest) deepest = places[i].depth;
    }
    return (int)(deepest < MOST_DEPTH ? deepest : MOST_DEPTH);
}

/* The function of a root, the span's own name below. */
static void put_label(struct gp_svg *w, const struct gp_compile *c, const struct gp_clog_span *s, int64_t x,
                      int64_t width, int y)
{
    struct gp_buf b = {0};
    const char *name = gp_clog_str(c->log, s->name);
    for (size_t i = 0; s->parent == GP_CLOG_NONE && i < c->frames.n; i++)
        if (c->frames.at[i].process == s->process && c->frames.at[i].compile_id == s->compile_id &&
            c->frames.at[i].function)
            name = gp_compile_str(c, c->frames.at[i].function);
    gp_text_fit(&b, name, strlen(name), (size_t)((width - 2 * EDGE) / CHARACTER));
    if (b.n) gp_plot_text(w, NULL, (double)(x + EDGE) / 100, y + 14, &b);
    gp_buf_release(&b);
}

/* The shortest span to draw, so that there are at most MOST_RECTS. */
static int64_t shortest(const struct gp_compile_log *log, int64_t whole)
{
    int64_t least = whole / WIDTH;
    if (log->spans.n <= MOST_RECTS) return least;
    int64_t *all = gp_alloc(log->spans.n * sizeof *all);
    for (size_t i = 0; i < log->spans.n; i++) all[i] = log->spans.at[i].dur_ns;
    qsort(all, log->spans.n, sizeof *all, gp_order_i64_down);
    if (all[MOST_RECTS] > least) least = all[MOST_RECTS];
    free(all);
    return least;
}

static void put_span(struct gp_svg *w, const struct gp_compile *c, const struct gp_clog_span *s,
                     const struct place *at)
{
    const struct gp_compile_log *log = c->log;
    struct gp_buf text = {0};
    double scale = WIDTH * 100.0 / (double)c->time.total_ns;
    int64_t x = (int64_t)((double)at->at_ns * scale), width = (int64_t)((double)s->dur_ns * scale);
    int y = (int)at->depth * ROW;
    const char *color = color_of(gp_compile_class_of(gp_clog_str(log, s->name)));
    gp_svg_open(w, "rect");
    gp_buf_printf(&text, "k-%s", color);
    gp_svg_attr_n(w, "class", text.data, text.n);
    gp_svg_box(w, x, (int64_t)y * 100, width > 60 ? width - 50 : width, (ROW - 1) * 100);
    struct gp_buf b = {0};
    gp_buf_puts(&b, gp_clog_str(c->log, s->name));
    const char *id = gp_clog_str(c->log, s->compile_id);
    if (*id) gp_buf_printf(&b, " [%s]", id);
    gp_buf_printf(&b, ": %s, %s%s", GP_NS(s->dur_ns), GP_NS(s->self_ns > 0 ? s->self_ns : 0),
                  s->open ? " itself, cut" : " itself");
    gp_plot_title(w, &b);
    gp_buf_release(&b);
    gp_svg_close(w);
    if (width > LEAST_TEXT * 100) {
        text.n = 0;
        gp_buf_printf(&text, "fill:var(--k-%s-ink);pointer-events:none;font-size:12px", color);
        gp_svg_open(w, "g");
        gp_svg_attr_n(w, "style", text.data, text.n);
        put_label(w, c, s, x, width, y);
        gp_svg_close(w);
    }
    gp_buf_release(&text);
}

/* One SVG element; nothing without spans. */
static void draw_icicle(struct gp_svg *w, const struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    if (!log->spans.n || c->time.total_ns <= 0) return;
    struct place *places = gp_alloc(log->spans.n * sizeof *places);
    int deepest = lay_out(log, places);
    int64_t least = shortest(log, c->time.total_ns);
    gp_svg_begin(w, WIDTH, (deepest + 1) * ROW, "Spans of compile time, what is inside a span below it");
    gp_svg_attr(w, "class", "icicle");
    for (size_t i = 0; i < log->spans.n; i++)
        if (log->spans.at[i].dur_ns > least && places[i].depth <= MOST_DEPTH)
            put_span(w, c, &log->spans.at[i], &places[i]);
    gp_svg_close(w);
    free(places);
}

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    const struct gp_compile *c;
    struct gp_page_doc doc;
};

/* ---- the top ---- */

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

static void put_bar(struct page *p)
{
    struct gp_chart_series series[GP_COMPILE_CLASS_COUNT];
    int64_t values[GP_COMPILE_CLASS_COUNT];
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        series[i] = (struct gp_chart_series){gp_compile_class_name((enum gp_compile_class)i),
                                             color_of((enum gp_compile_class)i)};
        values[i] = p->c->time.class_ns[i] > 0 ? p->c->time.class_ns[i] : 0;
    }
    struct gp_chart_row row = {.label = "compile time", .values = values};
    gp_page_open(&p->w, "figure", NULL);
    gp_page_open(&p->w, "figcaption", NULL);
    gp_page_put(&p->w, "b", NULL, "Where compile time went ");
    gp_page_put(&p->w, "span", NULL, "each moment counts once; the classes add up");
    gp_svg_close(&p->w);
    gp_page_open(&p->w, "p", "legend");
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        if (!p->c->time.class_ns[i]) continue;
        gp_page_open(&p->w, "span", NULL);
        gp_page_swatch(&p->w, color_of((enum gp_compile_class)i));
        gp_page_text(&p->w, gp_compile_class_name((enum gp_compile_class)i));
        gp_page_text(&p->w, " ");
        gp_scale_put(&p->text, GP_UNIT_NS, p->c->time.class_ns[i] > 0 ? p->c->time.class_ns[i] : 0);
        gp_page_take(&p->w, &p->text, "b", NULL);
        gp_svg_close(&p->w);
        gp_svg_text(&p->w, GP_TEXT(" "));
    }
    gp_page_close(&p->w);
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
    draw_icicle(&p->w, p->c);
    gp_page_close(&p->w);
}

static void put_time(void *page)
{
    put_bar(page);
    put_icicle(page);
}

/* ---- generated code ---- */

GP_PAGE_HAS(has_code, p->c->log->keep_code && p->c->log->graphs.n)

/* The generated modules, when the log kept them. */
static void put_code(void *page)
{
    struct page *p = page;
    const struct gp_compile_log *log = p->c->log;
    GP_EACH(const struct gp_clog_graph, g, log->graphs) {
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

void gp_compile_html_write(struct gp_buf *b, const struct gp_compile_answer *a, const struct gp_buf *json)
{
    const struct gp_compile *c = a->c;
    struct gp_report r = {0};
    struct page p = {.c = c,
                     .doc = {.tool = "trace-compile",
                             .parts = &gp_page_report,
                             .report = &r,
                             .input = a->input,
                             GP_PAGE_SECTIONS(sections),
                             .page = &p,
                             .options = a->options,
                             .json = json}};
    gp_compile_report(&r, c, a->top);
    const char *torch = c->log->processes.n ? gp_compile_str(c, c->log->processes.at[0].torch) : "";
    if (*torch) gp_buf_printf(&p.doc.facts, "torch %s \xC2\xB7 ", torch);
    if (c->mode) gp_buf_printf(&p.doc.facts, "mode %s \xC2\xB7 ", gp_compile_str(c, c->mode));
    gp_compile_put_count(&p.doc.facts, c->log->processes.n, "process \xC2\xB7 ", "processes \xC2\xB7 ");
    gp_compile_put_count(&p.doc.facts, c->frames.n, "compile \xC2\xB7 ", "compiles \xC2\xB7 ");
    gp_compile_put_count(&p.doc.facts, c->graphs.n, "graph", "graphs");
    put_figures(&p);
    gp_page_write(&p.w, b, &p.doc);
    gp_report_release(&r);
    gp_buf_release(&p.text);
}
