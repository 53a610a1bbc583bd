#include "render/metrics/metrics_roofline.h"

#include <math.h>
#include "analyze/names/names.h"
#include "formats/base/str.h"
#include "render/draw/plot.h"
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
    MOST = 24, /* kernels, those with the most time */
    NAMED = 8, /* of them */
    SIZE = 5,  /* of a mark */
    LEVELS = 3,
};

static const double LETTER = 6.4; /* mean width of a character */

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
    struct gp_frame f;
    struct limit slope[2], roof; /* of device memory, L2 and arithmetic */
    uint32_t arith;              /* enum gp_arith of the roof */
    bool shows[LEVELS];
    int width;
    struct gp_buf text;
    double named[NAMED]; /* heights at which names stand */
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
        const struct gp_counted k = p->m->groups.at[g].counted;
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
    p->f.x = (struct gp_axis){true, floor(log10(x0 / 1.5)), ceil(log10(x1 * 1.5)), LEFT, p->width - RIGHT};
    p->f.y = (struct gp_axis){true, floor(log10(y0 / 1.5)), log10(y1 * 2), HEIGHT - BOTTOM, TOP};
}

/* ---- where things are; what is outside is at the edge ---- */

static double across(const struct plot *p, double intensity)
{
    return fmin(fmax(gp_axis_at(&p->f.x, intensity), p->f.x.at), p->f.x.end);
}

static double up(const struct plot *p, double flops)
{
    return fmin(fmax(gp_axis_at(&p->f.y, flops), p->f.y.end), p->f.y.at);
}

/* ---- parts ---- */

static void put_axes(struct plot *p)
{
    const struct gp_axis *x = &p->f.x, *y = &p->f.y;
    for (int e = (int)x->from; e <= (int)x->to; e++) {
        gp_roofline_put_intensity(&p->text, pow(10, e));
        gp_frame_tick_x(&p->w, &p->f, pow(10, e), 16, &p->text);
    }
    for (int e = (int)y->from; e <= (int)floor(y->to); e++) {
        gp_roofline_put_rate(&p->text, pow(10, e), "FLOP/s");
        gp_frame_tick_y(&p->w, &p->f, pow(10, e), 6, &p->text);
    }
    gp_frame_base_x(&p->w, &p->f);
    gp_buf_puts(&p->text, "operations per byte");
    gp_plot_text(&p->w, "tick mid", (x->at + x->end) / 2, y->at + 34, &p->text);
}

static void put_limit_words(struct plot *p, const struct limit *l, const char *unit)
{
    gp_roofline_put_rate(&p->text, l->per_s, unit);
    gp_buf_puts(&p->text, l->measured ? ", measured" : ", peak");
}

/* The name of the memory whose line begins at X, Y and rises by STEEP: below the line, clear of the axis. */
static void put_memory_name(struct plot *p, double x, double y, double steep)
{
    enum { LIFT = 16, HALF_LINE = 6, GAP = 5 };
    gp_plot_text(&p->w, "halo", x + (LIFT + HALF_LINE) / fmax(steep, 0.1) + GAP, y - LIFT + HALF_LINE,
                 &p->text);
}

/* The name of the cache whose line ends at X, Y: above, and clear of what is written on the roof, which is at the right edge. */
static void put_cache_name(struct plot *p, double x, double y)
{
    enum { ROOF_LETTERS = 22, ABOVE = 6, FAR_ABOVE = 20 };
    double half = (double)p->text.n * LETTER / 2, least = LEFT + half + 3;
    if (x < least) x = least;
    bool meets = x + half > p->f.x.end - ROOF_LETTERS * LETTER;
    gp_plot_text(&p->w, "halo mid", x, y - (meets ? FAR_ABOVE : ABOVE), &p->text);
}

/* A memory: from where it enters the plot to the roof, or to the right edge. */
static void put_slope(struct plot *p, const struct limit *l, const char *name, bool cache)
{
    double per_s = l->per_s;
    if (!(per_s > 0)) return;
    double from = fmax(pow(10, p->f.x.from), pow(10, p->f.y.from) / per_s);
    double top = p->roof.per_s > 0 ? p->roof.per_s : pow(10, p->f.y.to),
           to = fmin(top / per_s, pow(10, p->f.x.to));
    if (to <= from) return;
    double x1 = across(p, from), y1 = up(p, from * per_s), x2 = across(p, to), y2 = up(p, to * per_s);
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", cache ? "roof cache" : "roof");
    gp_plot_line(&p->w, NULL, x1, y1, x2, y2);
    gp_svg_close(&p->w);
    gp_buf_printf(&p->text, "%s ", name);
    put_limit_words(p, l, "B/s");
    if (cache) put_cache_name(p, x2, y2);
    else put_memory_name(p, x1, y1, x2 > x1 ? (y1 - y2) / (x2 - x1) : 1);
}

static void put_roof(struct plot *p)
{
    double roof = p->roof.per_s;
    if (!(roof > 0)) return;
    double from = p->slope[0].per_s > 0 ? roof / p->slope[0].per_s : pow(10, p->f.x.from);
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", "roof");
    gp_plot_line(&p->w, NULL, across(p, from), up(p, roof), p->f.x.end, up(p, roof));
    gp_svg_close(&p->w);
    put_limit_words(p, &p->roof, "FLOP/s");
    gp_plot_text(&p->w, "halo end", p->f.x.end, up(p, roof) - 5, &p->text);
}

static void put_mark(struct plot *p, int level, double x, double y)
{
    if (level == 0) {
        gp_plot_circle(&p->w, "k-gemm", x, y, SIZE, NULL);
    } else if (level == 1) {
        gp_plot_rect(&p->w, "k-attention", x - SIZE, y - SIZE, SIZE * 2, SIZE * 2, NULL);
    } else {
        gp_buf_printf(&p->text, "M%.2f %.2fl%d %dh-%dz", x, y - 6, 6, 11, 12);
        gp_plot_path(&p->w, "k-elementwise", &p->text);
    }
}

static void put_title(struct plot *p, const struct point *q)
{
    static const char *const levels[LEVELS] = {"device memory", "L2", "L1"};
    struct gp_buf name = {0};
    gp_metrics_put_name(&name, p->m, q->group);
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
    gp_plot_title(&p->w, &p->text);
    gp_buf_release(&name);
}

/* Is there room for a name at Y, from X1 to X2, beside the names and the marks of all other points than AT? */
static bool has_room(const struct plot *p, size_t at, double x1, double x2, double y)
{
    enum { LINE = 14 };
    if (x1 < p->f.x.at || x2 > p->f.x.end || p->n_named == NAMED) return false;
    for (size_t i = 0; i < p->n_named; i++)
        if (fabs(p->named[i] - y) < LINE) return false;
    for (size_t i = 0; i < p->n; i++) {
        if (i == at || fabs(up(p, p->points[i].flops_per_s) - y) >= LINE / 2) continue;
        for (int level = 0; level < LEVELS; level++) {
            double intensity = p->points[i].intensity[level];
            double x = intensity > 0 ? across(p, intensity) : -INFINITY;
            if (x > x1 - SIZE && x < x2 + SIZE) return false;
        }
    }
    return true;
}

/* The name of a point whose marks are between LEFT and RIGHT, on the side where there is room for it. */
static void put_point_name(struct plot *p, size_t at, double left, double right, double y)
{
    enum { NAME_MOST = 30, GAP = 9 };
    const struct point *q = &p->points[at];
    struct gp_buf name = {0}, label = {0};
    gp_metrics_put_name(&name, p->m, q->group);
    if (p->m->groups.at[q->group].kernel) gp_name_kernel_label(&label, gp_buf_str(&name), name.n);
    else gp_buf_put(&label, gp_buf_str(&name), name.n);
    gp_text_fit_name(&p->text, gp_buf_str(&label), label.n, NAME_MOST);
    gp_buf_release(&label);
    gp_buf_release(&name);
    double wide = gp_plot_width(&p->text, LETTER);
    bool after = has_room(p, at, right + GAP, right + GAP + wide, y);
    if (after || has_room(p, at, left - GAP - wide, left - GAP, y)) {
        p->named[p->n_named++] = y;
        gp_plot_text(&p->w, after ? "halo" : "halo end", after ? right + GAP : left - GAP, y + 4, &p->text);
    }
    p->text.n = 0;
}

static void put_point(struct plot *p, size_t at)
{
    const struct point *q = &p->points[at];
    double y = up(p, q->flops_per_s), left = INFINITY, right = 0;
    gp_svg_open(&p->w, "g");
    gp_svg_attr(&p->w, "class", "point");
    put_title(p, q);
    for (int i = 0; i < LEVELS; i++) {
        if (!(q->intensity[i] > 0)) continue;
        left = fmin(left, across(p, q->intensity[i]));
        right = fmax(right, across(p, q->intensity[i]));
    }
    gp_plot_line(&p->w, "lead", left, y, right, y);
    for (int i = LEVELS - 1; i >= 0; i--)
        if (q->intensity[i] > 0) put_mark(p, i, across(p, q->intensity[i]), y);
    gp_svg_close(&p->w);
    if (at < NAMED && p->width == WIDTH) put_point_name(p, at, left, right, y);
}

static void put_legend(struct plot *p)
{
    static const char *const levels[LEVELS] = {"device memory", "L2", "L1"};
    double x = LEFT + 12;
    for (int i = 0; i < LEVELS; i++) {
        if (!p->shows[i]) continue;
        put_mark(p, i, x, TOP + 10);
        gp_buf_puts(&p->text, levels[i]);
        double wide = (double)p->text.n * 6.8 + 32;
        gp_plot_text(&p->w, "halo", x + 9, TOP + 14, &p->text);
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
