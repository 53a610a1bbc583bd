#include "render/suggest/suggest_priv.h"

#include <string.h>
#include "analyze/view/idle_cause.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/plot.h"
#include "render/page/page_html.h"

enum { WHOLE = 10000 };  /* hundredths of a percent */
enum { LABELLED = 700 }; /* a part that is this wide has room for its share */

/* ---- parts of both ---- */

/* Attribute NAME with AT in percent, so that a bar is as wide as its page. */
static void put_percent(struct gp_svg *w, const char *name, int64_t at)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%d.%02d%%", (int)(at / 100), (int)(at % 100));
    gp_svg_attr_n(w, name, b.data, b.n);
    gp_buf_release(&b);
}

static int64_t clamped(int64_t v, int64_t whole)
{
    if (v <= 0 || whole <= 0) return 0;
    return v < whole ? gp_plot_scaled(v, whole, WHOLE) : WHOLE;
}

static void open_bar(struct gp_svg *w, const char *class, int height, const char *label)
{
    gp_page_open(w, "svg", class);
    gp_svg_attr(w, "width", "100%");
    gp_svg_int(w, "height", height);
    gp_svg_attr(w, "role", "img");
    gp_svg_attr(w, "aria-label", label);
}

static void put_rect(struct gp_svg *w, const char *class, int64_t from, int64_t to, int y, int height)
{
    gp_page_open(w, "rect", class);
    put_percent(w, "x", from);
    gp_svg_int(w, "y", y);
    put_percent(w, "width", to - from);
    gp_svg_int(w, "height", height);
    gp_svg_close(w);
}

/* ---- the step ---- */

struct part {
    const char *name, *k, *full;
    int64_t ns;
};
enum { MAX_PARTS = 7 + GP_IDLE_CAUSE_COUNT };
struct parts {
    struct part at[MAX_PARTS];
    size_t n;
    int64_t whole_ns;
};

static void add(struct parts *p, const char *name, const char *k, const char *full, int64_t ns)
{
    if (ns > INT64_MAX - p->whole_ns) ns = INT64_MAX - p->whole_ns;
    if (ns <= 0) return;
    p->at[p->n++] = (struct part){name, k, full, ns};
    p->whole_ns += ns;
}

static const char *idle_swatch(enum gp_idle_cause c)
{
    switch (c) {
    case GP_IDLE_HOST:
    case GP_IDLE_PYTHON:
    case GP_IDLE_GARBAGE:
    case GP_IDLE_LOGGING:
    case GP_IDLE_IMPORT: return "host";
    case GP_IDLE_SYNC: return "sync";
    case GP_IDLE_LAUNCH: return "launch";
    case GP_IDLE_DATA: return "data";
    case GP_IDLE_LOCK:
    case GP_IDLE_ALLOCATION: return "blocked";
    default: return "idle";
    }
}

/* The regime's parts are of all steps, the others of one. */
static void collect(struct parts *p, const struct gp_suggest *s)
{
    const struct gp_regime_step *r = &s->regime_parts;
    int64_t steps = s->step.steps ? s->step.steps : 1;
    memset(p, 0, sizeof *p);
    add(p, "Arithmetic", "gemm", "compute-bound kernels", r->compute_ns / steps);
    add(p, "Memory bandwidth", "elementwise", "memory-bound kernels", r->memory_ns / steps);
    add(p, "Below both", "attention", "kernels far below what arithmetic and memory allow",
        r->inefficient_ns / steps);
    add(p, "Too short for either", "reduction", "kernels barely longer than an empty one",
        r->latency_ns / steps);
    add(p, "Other kernels", "compute", "kernels with an unknown bound", r->unknown_ns / steps);
    add(p, "Communication", "communication", "collectives not overlapped by kernels",
        r->communication_ns / steps);
    add(p, "Copies", "memcpy", "copies and sets not overlapped by kernels", r->transfer_ns / steps);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
        add(p, gp_idle_cause_text((enum gp_idle_cause)i), idle_swatch((enum gp_idle_cause)i),
            gp_idle_cause_text((enum gp_idle_cause)i), s->step.idle_ns[i]);
    int64_t rest = s->step.step_ns - p->whole_ns;
    if (rest > s->step.step_ns / 1000)
        add(p, "Before and after", "idle", "before the first kernel of all steps and after the last", rest);
}

static bool is_idle(const struct gp_suggest *s, const struct part *p)
{
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
        if (s->step.idle_ns[i] > 0 && p->name == gp_idle_cause_text((enum gp_idle_cause)i)) return true;
    return false;
}

static void put_part(struct gp_svg *w, const struct parts *p, const struct part *one, int64_t before)
{
    struct gp_buf b = {0};
    int64_t from = clamped(before, p->whole_ns), to = clamped(before + one->ns, p->whole_ns);
    gp_svg_open(w, "g");
    gp_svg_open(w, "title");
    gp_buf_printf(&b, "%s: %s", one->name, GP_NS(one->ns));
    gp_svg_text(w, b.data, b.n);
    gp_svg_newline(w);
    gp_svg_text(w, one->full, strlen(one->full));
    gp_svg_close(w);
    b.n = 0;
    gp_buf_printf(&b, "k-%s", one->k);
    put_rect(w, gp_buf_str(&b), from, to, 0, 34);
    b.n = 0;
    if (to - from >= LABELLED && strcmp(one->k, "idle") != 0) {
        gp_scale_put_share(&b, one->ns, p->whole_ns);
        gp_svg_open(w, "text");
        char style[40] = "fill:var(--k-";
        strncat(style, one->k, 20);
        strcat(style, "-ink)");
        gp_svg_attr(w, "style", style);
        put_percent(w, "x", (from + to) / 2);
        gp_svg_int(w, "y", 22);
        gp_svg_text(w, b.data, b.n);
        gp_svg_close(w);
    }
    gp_svg_close_line(w);
    gp_buf_release(&b);
}

static void put_entry(struct gp_svg *w, const struct gp_suggest *s, const struct parts *p,
                      const struct part *one)
{
    struct gp_buf b = {0};
    gp_page_open(w, "li", NULL);
    gp_svg_attr(w, "title", one->full);
    gp_page_swatch(w, one->k);
    gp_page_open(w, "span", NULL);
    if (is_idle(s, one)) gp_buf_puts(&b, "Idle: ");
    gp_buf_puts(&b, one->name);
    gp_svg_text(w, b.data, b.n);
    gp_svg_close(w);
    gp_page_text(w, " ");
    b.n = 0;
    gp_scale_put(&b, GP_UNIT_NS, one->ns);
    gp_page_element(w, "b", NULL, b.data, b.n);
    gp_page_text(w, " ");
    b.n = 0;
    gp_scale_put_share(&b, one->ns, p->whole_ns);
    gp_page_element(w, "span", "share", b.data, b.n);
    gp_svg_close_line(w);
    gp_buf_release(&b);
}

void gp_suggest_chart_step(struct gp_svg *w, const struct gp_suggest *s)
{
    struct parts p;
    int64_t before = 0;
    collect(&p, s);
    if (!p.n) return;
    gp_page_open(w, "figure", "step");
    open_bar(w, "bar", 34, "Where the time of a step goes");
    gp_page_open(w, "g", "frames");
    for (size_t i = 0; i < p.n; i++) {
        put_part(w, &p, &p.at[i], before);
        before += p.at[i].ns;
    }
    gp_svg_close(w);
    gp_svg_close_line(w);
    gp_page_open(w, "ul", "parts");
    for (size_t i = 0; i < p.n; i++) put_entry(w, s, &p, &p.at[i]);
    gp_svg_close(w);
    gp_svg_close_line(w);
}

/* ---- a saving ---- */

static void put_key(struct gp_svg *w, const char *k, const char *words, int64_t ns, int64_t whole)
{
    struct gp_buf b = {0};
    gp_page_open(w, "li", NULL);
    gp_page_swatch(w, k);
    gp_buf_printf(&b, "%s %s, %s", words, GP_NS(ns), GP_SHARE(ns, whole));
    gp_svg_text(w, b.data, b.n);
    gp_svg_close(w);
    gp_buf_release(&b);
}

void gp_suggest_chart_saving(struct gp_svg *w, const struct gp_suggest *s, int64_t low, int64_t high,
                             int64_t ceiling)
{
    int64_t most = s->step.unprofiled_high_ns, step = s->step.step_ns > most ? s->step.step_ns : most;
    int64_t a = clamped(low, step), b = clamped(high, step);
    if (low < 0) low = 0;
    gp_page_open(w, "figure", "saving");
    open_bar(w, "bar", 22, "What the step saves");
    put_rect(w, "whole", 0, WHOLE, 4, 14);
    if (b > a) put_rect(w, "k-perhaps", a, b, 4, 14);
    if (a > 0) put_rect(w, "k-sure", 0, a, 4, 14);
    if (ceiling > 0) {
        int64_t at = clamped(ceiling, step);
        gp_page_open(w, "line", "ceiling");
        put_percent(w, "x1", at);
        put_percent(w, "x2", at);
        gp_svg_int(w, "y1", 0);
        gp_svg_int(w, "y2", 22);
        gp_svg_close(w);
    }
    gp_svg_close_line(w);
    gp_page_open(w, "ul", "legend");
    if (low > 0) put_key(w, "sure", "at least", low, step);
    if (high > low) put_key(w, "perhaps", "at most", high, step);
    if (ceiling > 0) put_key(w, "ceiling", "ceiling, if free:", ceiling, step);
    gp_svg_close(w);
    gp_svg_close_line(w);
}
