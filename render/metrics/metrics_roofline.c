#include "render/metrics/metrics_roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/str.h"
#include "render/draw/canvas_svg.h"
#include "render/metrics/metrics_tables.h"
#include "render/page/chart_roofline.h"

enum {
    WIDTH = 880,
    NARROW = 360, /* for a narrow window */
    HEIGHT = 460,
    LEFT = 86,
    RIGHT = 16,
    TOP = 16,
    BOTTOM = 44,
    MOST = 24,  /* kernels, those with the most time */
    NAMED = 8,  /* of them */
    SIZE = 500, /* of a mark, in hundredths of a pixel */
    LEVELS = 3,
};

struct point {
    size_t group;
    double flops_per_s, intensity[LEVELS]; /* of device memory, L2, L1; NAN unknown */
};

struct plot {
    struct gp_svg w;
    const struct gp_metrics *m;
    struct point points[MOST];
    size_t n;
    double x0, x1, y0, y1; /* log10 of the edges */
    double slope[2], roof; /* peaks of device memory, L2 and arithmetic; 0 unknown */
    int width;
    struct gp_buf text;
    int64_t named[NAMED]; /* heights at which names stand */
    size_t n_named;
};

/* ---- what there is ---- */

static void widen(double *low, double *high, double v)
{
    if (!(v > 0) || !isfinite(v)) return;
    *low = fmin(*low, v);
    *high = fmax(*high, v);
}

static void collect(struct plot *p)
{
    for (size_t g = 0; g < p->m->groups.n && p->n < MOST; g++) {
        struct gp_counted k;
        gp_metrics_counted(p->m, g, &k);
        const double bytes[LEVELS] = {k.dram_bytes, k.l2_bytes, k.l1_bytes};
        double s = (double)p->m->groups.at[g].time_ns / 1e9;
        struct point at = {.group = g, .flops_per_s = k.flops / s};
        bool any = false;
        for (int i = 0; i < LEVELS; i++) {
            at.intensity[i] = bytes[i] > 0 ? k.flops / bytes[i] : NAN;
            any |= at.intensity[i] > 0;
        }
        p->slope[0] = fmax(p->slope[0], isnan(k.peak_dram_bps) ? 0 : k.peak_dram_bps);
        p->slope[1] = fmax(p->slope[1], isnan(k.peak_l2_bps) ? 0 : k.peak_l2_bps);
        p->roof = fmax(p->roof, isnan(k.peak_flops) ? 0 : k.peak_flops);
        if (any && s > 0 && at.flops_per_s > 0) p->points[p->n++] = at;
    }
}

static void find_range(struct plot *p)
{
    double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;
    for (size_t i = 0; i < p->n; i++) {
        for (int level = 0; level < LEVELS; level++) widen(&x0, &x1, p->points[i].intensity[level]);
        widen(&y0, &y1, p->points[i].flops_per_s);
    }
    if (p->roof > 0 && p->slope[0] > 0) widen(&x0, &x1, p->roof / p->slope[0]);
    widen(&y0, &y1, p->roof);
    p->x0 = floor(log10(x0 / 1.5));
    p->x1 = ceil(log10(x1 * 1.5));
    p->y0 = floor(log10(y0 / 1.5));
    p->y1 = log10(y1 * 2);
}

/* ---- where things are, in hundredths of a pixel ---- */

static int64_t x_of(const struct plot *p, double intensity)
{
    double part = (log10(intensity) - p->x0) / (p->x1 - p->x0);
    return llround(100 * (LEFT + fmin(fmax(part, 0), 1) * (p->width - LEFT - RIGHT)));
}

static int64_t y_of(const struct plot *p, double flops)
{
    double part = (p->y1 - log10(flops)) / (p->y1 - p->y0);
    return llround(100 * (TOP + fmin(fmax(part, 0), 1) * (HEIGHT - TOP - BOTTOM)));
}

static void line(struct plot *p, int64_t x1, int64_t y1, int64_t x2, int64_t y2)
{
    gp_svg_open(&p->w, "line");
    gp_svg_px(&p->w, "x1", x1);
    gp_svg_px(&p->w, "y1", y1);
    gp_svg_px(&p->w, "x2", x2);
    gp_svg_px(&p->w, "y2", y2);
}

static void rule(struct plot *p, const char *class, int64_t x1, int64_t y1, int64_t x2, int64_t y2)
{
    line(p, x1, y1, x2, y2);
    gp_svg_attr(&p->w, "class", class);
    gp_svg_close(&p->w);
}

/* The scratch text at X, Y. */
static void words(struct plot *p, const char *class, int64_t x, int64_t y)
{
    gp_svg_open(&p->w, "text");
    gp_svg_attr(&p->w, "class", class);
    gp_svg_px(&p->w, "x", x);
    gp_svg_px(&p->w, "y", y);
    gp_svg_text(&p->w, gp_buf_str(&p->text), p->text.n);
    gp_svg_close(&p->w);
    p->text.n = 0;
}

/* ---- parts ---- */

static void put_axes(struct plot *p)
{
    const int64_t bottom = (HEIGHT - BOTTOM) * 100, right = (p->width - RIGHT) * 100;
    for (int e = (int)p->x0; e <= (int)p->x1; e++) {
        int64_t x = x_of(p, pow(10, e));
        rule(p, "rule", x, TOP * 100, x, bottom);
        gp_roofline_put_intensity(&p->text, pow(10, e));
        words(p, "tick mid", x, bottom + 1600);
    }
    for (int e = (int)p->y0; e <= (int)floor(p->y1); e++) {
        int64_t y = y_of(p, pow(10, e));
        rule(p, "rule", LEFT * 100, y, right, y);
        gp_roofline_put_rate(&p->text, pow(10, e), "FLOP/s");
        words(p, "tick end", LEFT * 100 - 600, y + 400);
    }
    rule(p, "base", LEFT * 100, bottom, right, bottom);
    gp_buf_puts(&p->text, "operations per byte");
    words(p, "tick mid", (LEFT * 100 + right) / 2, bottom + 3400);
}

/* A memory: from where it enters the plot to the roof, or to the right edge. */
static void put_slope(struct plot *p, double per_s, const char *name, bool cache)
{
    if (!(per_s > 0)) return;
    double from = fmax(pow(10, p->x0), pow(10, p->y0) / per_s);
    double top = p->roof > 0 ? p->roof : pow(10, p->y1), to = fmin(top / per_s, pow(10, p->x1));
    if (to <= from) return;
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", cache ? "roof cache" : "roof");
    line(p, x_of(p, from), y_of(p, from * per_s), x_of(p, to), y_of(p, to * per_s));
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_buf_printf(&p->text, "%s ", name);
    gp_roofline_put_rate(&p->text, per_s, "B/s");
    words(p, "halo", x_of(p, from) + 800, y_of(p, from * per_s) - (cache ? 1200 : 400));
}

static void put_roof(struct plot *p)
{
    if (!(p->roof > 0)) return;
    double from = p->slope[0] > 0 ? p->roof / p->slope[0] : pow(10, p->x0);
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", "roof");
    line(p, x_of(p, from), y_of(p, p->roof), (p->width - RIGHT) * 100, y_of(p, p->roof));
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_roofline_put_rate(&p->text, p->roof, "FLOP/s");
    words(p, "halo end", (p->width - RIGHT) * 100, y_of(p, p->roof) - 500);
}

static void put_mark(struct plot *p, int level, int64_t x, int64_t y)
{
    if (level == 0) {
        gp_svg_open(&p->w, "circle");
        gp_svg_px(&p->w, "cx", x);
        gp_svg_px(&p->w, "cy", y);
        gp_svg_px(&p->w, "r", SIZE);
    } else if (level == 1) {
        gp_svg_open(&p->w, "rect");
        gp_svg_box(&p->w, x - SIZE, y - SIZE, SIZE * 2L, SIZE * 2L);
    } else {
        gp_svg_open(&p->w, "path");
        gp_buf_printf(&p->text, "M%.2f %.2fl%d %dh-%dz", (double)x / 100, (double)y / 100 - 6, 6, 11, 12);
        gp_svg_attr(&p->w, "d", gp_buf_str(&p->text));
        p->text.n = 0;
    }
    gp_svg_attr(&p->w, "class", level == 0 ? "k-gemm" : level == 1 ? "k-attention" : "k-elementwise");
    gp_svg_close(&p->w);
}

static void put_title(struct plot *p, const struct point *q)
{
    static const char *const levels[LEVELS] = {"device memory", "L2", "L1"};
    struct gp_buf name = {0};
    gp_metrics_put_name(&name, p->m, q->group);
    gp_svg_open(&p->w, "title");
    if (p->m->groups.at[q->group].kernel) gp_name_kernel_label(&p->text, gp_buf_str(&name), name.n);
    else gp_buf_put(&p->text, name.data, name.n);
    gp_buf_puts(&p->text, ": ");
    gp_roofline_put_rate(&p->text, q->flops_per_s, "FLOP/s");
    for (int i = 0; i < LEVELS; i++) {
        if (!(q->intensity[i] > 0)) continue;
        gp_buf_puts(&p->text, ", ");
        gp_roofline_put_intensity(&p->text, q->intensity[i]);
        gp_buf_printf(&p->text, " FLOP/B of %s", levels[i]);
    }
    gp_svg_text(&p->w, gp_buf_str(&p->text), p->text.n);
    gp_svg_close(&p->w);
    p->text.n = 0;
    gp_buf_release(&name);
}

/* Is there room for a name at Y? Then it is taken. */
static bool has_room(struct plot *p, int64_t y)
{
    enum { LINE = 1400 };
    for (size_t i = 0; i < p->n_named; i++)
        if (llabs(p->named[i] - y) < LINE) return false;
    if (p->n_named == NAMED) return false;
    p->named[p->n_named++] = y;
    return true;
}

static void put_point(struct plot *p, size_t at)
{
    const struct point *q = &p->points[at];
    int64_t y = y_of(p, q->flops_per_s), left = INT64_MAX, right = 0;
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", "point");
    put_title(p, q);
    for (int i = 0; i < LEVELS; i++) {
        if (!(q->intensity[i] > 0)) continue;
        int64_t x = x_of(p, q->intensity[i]);
        if (x < left) left = x;
        if (x > right) right = x;
    }
    rule(p, "lead", left, y, right, y);
    for (int i = LEVELS - 1; i >= 0; i--)
        if (q->intensity[i] > 0) put_mark(p, i, x_of(p, q->intensity[i]), y);
    gp_svg_close(&p->w);
    if (at >= NAMED || p->width < WIDTH || !has_room(p, y)) return;
    struct gp_buf name = {0};
    gp_metrics_put_name(&name, p->m, q->group);
    if (p->m->groups.at[q->group].kernel) gp_name_kernel_label(&p->text, gp_buf_str(&name), name.n);
    else gp_buf_put(&p->text, name.data, name.n);
    if (p->text.n > 30) p->text.n = 30;
    bool beyond = right > (int64_t)(p->width - 220) * 100;
    words(p, beyond ? "halo end" : "halo", beyond ? left - 900 : right + 900, y + 400);
    gp_buf_release(&name);
}

static void put_legend(struct plot *p)
{
    static const char *const levels[LEVELS] = {"device memory", "L2", "L1"};
    int64_t x = (LEFT + 12) * 100;
    for (int i = 0; i < LEVELS; i++) {
        put_mark(p, i, x, (TOP + 10) * 100);
        gp_buf_puts(&p->text, levels[i]);
        int64_t wide = (int64_t)p->text.n * 680 + 3200;
        words(p, "halo", x + 900, (TOP + 14) * 100);
        x += wide;
    }
}

static void draw(struct gp_buf *b, const struct gp_metrics *m, int width, const char *class)
{
    struct plot p = {.w = {.out = b, .html = true}, .m = m, .width = width};
    collect(&p);
    find_range(&p);
    gp_svg_begin(&p.w, width, HEIGHT, "Operations per byte against their rate");
    gp_svg_attr(&p.w, "class", class);
    put_axes(&p);
    put_slope(&p, p.slope[0], "device memory", false);
    put_slope(&p, p.slope[1], "L2", true);
    put_roof(&p);
    for (size_t i = 0; i < p.n; i++) put_point(&p, i);
    put_legend(&p);
    gp_svg_end(&p.w);
    gp_buf_release(&p.text);
}

bool gp_metrics_roofline(struct gp_buf *b, const struct gp_metrics *m)
{
    struct plot p = {.m = m};
    collect(&p);
    if (!p.n) return false;
    draw(b, m, WIDTH, "roofline");
    draw(b, m, NARROW, "roofline narrow");
    return true;
}
