#include "render/metrics/metrics_roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/str.h"
#include "render/draw/canvas_svg.h"
#include "render/draw/text.h"
#include "render/metrics/metrics_tables.h"
#include "render/page/chart_roofline.h"

enum {
    WIDTH = 880,
    NARROW = 360, /* for a narrow window */
    HEIGHT = 460,
    LEFT = 86,
    RIGHT = 24,
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

/* What the device can do at most; 0 unknown. */
struct limit {
    double per_s;
    bool measured; /* otherwise the peak that the counters state */
};

struct plot {
    struct gp_svg w;
    const struct gp_metrics *m;
    struct point points[MOST];
    size_t n;
    double x0, x1, y0, y1;       /* log10 of the edges */
    struct limit slope[2], roof; /* of device memory, L2 and arithmetic */
    uint32_t arith;              /* enum gp_arith of the roof */
    bool shows[LEVELS];
    int width;
    struct gp_buf text;
    int64_t named[NAMED]; /* heights at which names stand */
    size_t n_named;
};

/* ---- what there is ---- */

/* Damaged counters may give any number; the scales are for what a device can do. */
static bool can_be(double v)
{
    return v >= 1e-15 && v <= 1e30;
}

static void widen(double *low, double *high, double v)
{
    if (!can_be(v)) return;
    *low = fmin(*low, v);
    *high = fmax(*high, v);
}

static void raise(struct limit *l, double per_s)
{
    if (can_be(per_s) && per_s > l->per_s) l->per_s = per_s;
}

/* What was measured on the device takes the place of what the counters state. */
static void take_measured(struct limit *l, const struct gp_ceiling *c)
{
    if (can_be(c->per_s)) *l = (struct limit){c->per_s, true};
}

static void collect(struct plot *p, const struct gp_ceilings *measured)
{
    p->arith = GP_ARITH_NONE;
    for (size_t g = 0; g < p->m->groups.n && p->n < MOST; g++) {
        struct gp_counted k;
        gp_metrics_counted(p->m, g, &k);
        const double bytes[LEVELS] = {k.dram_bytes, k.l2_bytes, k.l1_bytes};
        double s = (double)p->m->groups.at[g].time_ns / 1e9;
        struct point at = {.group = g, .flops_per_s = k.flops / s};
        bool any = false;
        for (int i = 0; i < LEVELS; i++) {
            at.intensity[i] = bytes[i] > 0 && can_be(k.flops / bytes[i]) ? k.flops / bytes[i] : NAN;
            any |= at.intensity[i] > 0;
        }
        raise(&p->slope[0], k.peak_dram_bps);
        raise(&p->slope[1], k.peak_l2_bps);
        if (k.peak_flops > p->roof.per_s) p->arith = k.arith;
        raise(&p->roof, k.peak_flops);
        if (!any || s <= 0 || !can_be(at.flops_per_s)) continue;
        p->points[p->n++] = at;
        for (int i = 0; i < LEVELS; i++) p->shows[i] |= at.intensity[i] > 0;
    }
    if (!measured) return;
    take_measured(&p->slope[0], &measured->memory);
    take_measured(&p->slope[1], &measured->l2);
    if (p->arith < GP_ARITH_COUNT) take_measured(&p->roof, &measured->flops[p->arith]);
}

static void find_range(struct plot *p)
{
    double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;
    for (size_t i = 0; i < p->n; i++) {
        for (int level = 0; level < LEVELS; level++) widen(&x0, &x1, p->points[i].intensity[level]);
        widen(&y0, &y1, p->points[i].flops_per_s);
    }
    if (p->roof.per_s > 0 && p->slope[0].per_s > 0) widen(&x0, &x1, p->roof.per_s / p->slope[0].per_s);
    widen(&y0, &y1, p->roof.per_s);
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

static void put_limit_words(struct plot *p, const struct limit *l, const char *unit)
{
    gp_roofline_put_rate(&p->text, l->per_s, unit);
    gp_buf_puts(&p->text, l->measured ? ", measured" : ", peak");
}

/* The name of the memory whose line begins at X, Y and rises by STEEP: below the line, clear of the axis. */
static void put_memory_name(struct plot *p, int64_t x, int64_t y, double steep)
{
    enum { LIFT = 1600, HALF_LINE = 600, GAP = 500 };
    words(p, "halo", x + llround((LIFT + HALF_LINE) / fmax(steep, 0.1)) + GAP, y - LIFT + HALF_LINE);
}

/* The name of the cache whose line ends at X, Y: above, and clear of what is written on the roof, which is at the right edge. */
static void put_cache_name(struct plot *p, int64_t x, int64_t y)
{
    enum { LETTER = 640, ROOF_LETTERS = 22, ABOVE = 600, FAR_ABOVE = 2000 };
    int64_t half = (int64_t)p->text.n * LETTER / 2, least = LEFT * 100 + half + 300;
    if (x < least) x = least;
    bool meets = x + half > (p->width - RIGHT) * 100 - ROOF_LETTERS * LETTER;
    words(p, "halo mid", x, y - (meets ? FAR_ABOVE : ABOVE));
}

/* A memory: from where it enters the plot to the roof, or to the right edge. */
static void put_slope(struct plot *p, const struct limit *l, const char *name, bool cache)
{
    double per_s = l->per_s;
    if (!(per_s > 0)) return;
    double from = fmax(pow(10, p->x0), pow(10, p->y0) / per_s);
    double top = p->roof.per_s > 0 ? p->roof.per_s : pow(10, p->y1), to = fmin(top / per_s, pow(10, p->x1));
    if (to <= from) return;
    int64_t x1 = x_of(p, from), y1 = y_of(p, from * per_s), x2 = x_of(p, to), y2 = y_of(p, to * per_s);
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", cache ? "roof cache" : "roof");
    line(p, x1, y1, x2, y2);
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_buf_printf(&p->text, "%s ", name);
    put_limit_words(p, l, "B/s");
    if (cache) put_cache_name(p, x2, y2);
    else put_memory_name(p, x1, y1, x2 > x1 ? (double)(y1 - y2) / (double)(x2 - x1) : 1);
}

static void put_roof(struct plot *p)
{
    double roof = p->roof.per_s;
    if (!(roof > 0)) return;
    double from = p->slope[0].per_s > 0 ? roof / p->slope[0].per_s : pow(10, p->x0);
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", "roof");
    line(p, x_of(p, from), y_of(p, roof), (p->width - RIGHT) * 100, y_of(p, roof));
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    put_limit_words(p, &p->roof, "FLOP/s");
    words(p, "halo end", (p->width - RIGHT) * 100, y_of(p, roof) - 500);
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

/* Is there room for a name at Y, from X1 to X2, beside the names and the marks of all other points than AT? */
static bool has_room(const struct plot *p, size_t at, int64_t x1, int64_t x2, int64_t y)
{
    enum { LINE = 1400 };
    if (x1 < LEFT * 100 || x2 > (p->width - RIGHT) * 100 || p->n_named == NAMED) return false;
    for (size_t i = 0; i < p->n_named; i++)
        if (llabs(p->named[i] - y) < LINE) return false;
    for (size_t i = 0; i < p->n; i++) {
        if (i == at || llabs(y_of(p, p->points[i].flops_per_s) - y) >= LINE / 2) continue;
        for (int level = 0; level < LEVELS; level++) {
            double intensity = p->points[i].intensity[level];
            int64_t x = intensity > 0 ? x_of(p, intensity) : INT64_MIN;
            if (x > x1 - SIZE && x < x2 + SIZE) return false;
        }
    }
    return true;
}

/* The name of a point whose marks are between LEFT and RIGHT, on the side where there is room for it. */
static void put_point_name(struct plot *p, size_t at, int64_t left, int64_t right, int64_t y)
{
    enum { NAME_MOST = 30, LETTER = 640, GAP = 900 };
    const struct point *q = &p->points[at];
    struct gp_buf name = {0}, label = {0};
    gp_metrics_put_name(&name, p->m, q->group);
    if (p->m->groups.at[q->group].kernel) gp_name_kernel_label(&label, gp_buf_str(&name), name.n);
    else gp_buf_put(&label, gp_buf_str(&name), name.n);
    gp_text_fit_name(&p->text, gp_buf_str(&label), label.n, NAME_MOST);
    gp_buf_release(&label);
    gp_buf_release(&name);
    int64_t wide = (int64_t)gp_text_width(gp_buf_str(&p->text), p->text.n) * LETTER;
    bool after = has_room(p, at, right + GAP, right + GAP + wide, y);
    if (after || has_room(p, at, left - GAP - wide, left - GAP, y)) {
        p->named[p->n_named++] = y;
        words(p, after ? "halo" : "halo end", after ? right + GAP : left - GAP, y + 400);
    }
    p->text.n = 0;
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
    if (at < NAMED && p->width == WIDTH) put_point_name(p, at, left, right, y);
}

static void put_legend(struct plot *p)
{
    static const char *const levels[LEVELS] = {"device memory", "L2", "L1"};
    int64_t x = (LEFT + 12) * 100;
    for (int i = 0; i < LEVELS; i++) {
        if (!p->shows[i]) continue;
        put_mark(p, i, x, (TOP + 10) * 100);
        gp_buf_puts(&p->text, levels[i]);
        int64_t wide = (int64_t)p->text.n * 680 + 3200;
        words(p, "halo", x + 900, (TOP + 14) * 100);
        x += wide;
    }
}

static void draw(struct gp_buf *b, const struct gp_metrics *m, const struct gp_ceilings *measured, int width,
                 const char *class)
{
    struct plot p = {.w = {.out = b, .html = true}, .m = m, .width = width};
    collect(&p, measured);
    find_range(&p);
    gp_svg_begin(&p.w, width, HEIGHT, "Operations per byte against their rate");
    gp_svg_attr(&p.w, "class", class);
    put_axes(&p);
    put_slope(&p, &p.slope[0], "device memory", false);
    put_slope(&p, &p.slope[1], "L2", true);
    put_roof(&p);
    for (size_t i = 0; i < p.n; i++) put_point(&p, i);
    put_legend(&p);
    gp_svg_end(&p.w);
    gp_buf_release(&p.text);
}

size_t gp_metrics_roofline(struct gp_buf *b, const struct gp_metrics *m, const struct gp_ceilings *measured)
{
    struct plot p = {.m = m};
    collect(&p, measured);
    if (!p.n) return 0;
    draw(b, m, measured, WIDTH, "roofline");
    draw(b, m, measured, NARROW, "roofline narrow");
    return p.n;
}
