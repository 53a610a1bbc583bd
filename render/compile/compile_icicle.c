#include "render/compile/compile_icicle.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "analyze/compile/compile_text.h"
#include "render/draw/text.h"

enum { WIDTH = 1160, ROW = 20, MOST_DEPTH = 24, MOST_RECTS = 2500, LEAST_TEXT = 40 };
enum { EDGE = 400, CHARACTER = 760 }; /* beside a text, and the width of a letter: hundredths of a pixel */

const char *gp_compile_color(enum gp_compile_class class)
{
    static const char *const colors[GP_COMPILE_CLASS_COUNT] = {
        [GP_COMPILE_DYNAMO] = "elementwise",   [GP_COMPILE_AOT] = "attention",
        [GP_COMPILE_PASSES] = "memset",        [GP_COMPILE_INDUCTOR] = "gemm",
        [GP_COMPILE_KERNELS] = "memcpy",       [GP_COMPILE_AUTOTUNE] = "communication",
        [GP_COMPILE_CUDAGRAPHS] = "reduction", [GP_COMPILE_OTHER] = "api"};
    return colors[class];
}

/* Where each span lies: the roots one behind the other. */
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

static void put_title(struct gp_svg *w, const struct gp_compile *c, const struct gp_clog_span *s)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, gp_clog_str(c->log, s->name));
    const char *id = gp_clog_str(c->log, s->compile_id);
    if (*id) gp_buf_printf(&b, " [%s]", id);
    gp_buf_puts(&b, ": ");
    gp_scale_put(&b, GP_UNIT_NS, s->dur_ns);
    gp_buf_puts(&b, ", ");
    gp_scale_put(&b, GP_UNIT_NS, s->self_ns > 0 ? s->self_ns : 0);
    gp_buf_puts(&b, s->open ? " itself, cut" : " itself");
    gp_svg_open(w, "title");
    gp_svg_text(w, b.data, b.n);
    gp_svg_close(w);
    gp_buf_release(&b);
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
    if (b.n) {
        gp_svg_open(w, "text");
        gp_svg_px(w, "x", x + EDGE);
        gp_svg_int(w, "y", y + 14);
        gp_svg_text(w, b.data, b.n);
        gp_svg_close(w);
    }
    gp_buf_release(&b);
}

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The shortest span that is drawn, so that there are not too many. */
static int64_t shortest(const struct gp_compile_log *log, int64_t whole)
{
    int64_t least = whole / WIDTH;
    if (log->spans.n <= MOST_RECTS) return least;
    int64_t *all = gp_alloc(log->spans.n * sizeof *all);
    for (size_t i = 0; i < log->spans.n; i++) all[i] = log->spans.at[i].dur_ns;
    qsort(all, log->spans.n, sizeof *all, by_length);
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
    const char *color = gp_compile_color(gp_compile_class_of(gp_clog_str(log, s->name)));
    gp_svg_open(w, "rect");
    gp_buf_printf(&text, "k-%s", color);
    gp_svg_attr_n(w, "class", text.data, text.n);
    gp_svg_box(w, x, (int64_t)y * 100, width > 60 ? width - 50 : width, (ROW - 1) * 100);
    put_title(w, c, s);
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

void gp_compile_icicle(struct gp_svg *w, const struct gp_compile *c)
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
