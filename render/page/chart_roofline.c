#include "render/page/chart_roofline_priv.h"

#include <math.h>
#include "analyze/cost/regime.h"
#include "formats/base/scale.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"
#include "render/page/page_html.h"

static const double LEAST_X = 1e-3, MOST_X = 1e5; /* FLOP per byte that are drawn */
static const double DECADES = 7;                  /* of FLOP/s that are drawn */

/* ---- where things are ---- */

static void extend_range(double *low, double *high, double v)
{
    if (!(v > 0 && v < 1e100)) return; /* damaged counters may give any number */
    if (v < *low) *low = v;
    if (v > *high) *high = v;
}

/* Kernels that take almost no time do not affect the range of the axes, unless there are no others, or they
 * were measured. */
static bool counts(const struct plot *p, size_t i)
{
    return !i || p->c->counted || (double)p->r->points.at[i].total_ns * 500 >= p->all_ns;
}

/* Only its bytes of caches are known: it has their marks, and no circle. */
static bool has_no_circle(const struct gp_roofline_point *q)
{
    return !(q->bytes_high > 0) && (q->l2_bytes > 0 || q->l1_bytes > 0);
}

static double intensity_of(const struct gp_roofline_point *q)
{
    if (!has_no_circle(q)) return gp_roofline_intensity(q);
    return q->flops / (q->l2_bytes > 0 ? q->l2_bytes : q->l1_bytes);
}

/* Both axes reach as far as circles and the bends of the roofs do, within reason. */
static void find_range(struct plot *p)
{
    double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;
    for (size_t i = 0; i < p->points; i++) {
        const struct gp_roofline_point *q = &p->r->points.at[i];
        if (!counts(p, i)) continue;
        extend_range(&x0, &x1, intensity_of(q) / 1.5);
        extend_range(&x0, &x1, intensity_of(q) * 1.5);
        if (q->flops > 0 && q->l2_bytes > 0) extend_range(&x0, &x1, q->flops / q->l2_bytes / 1.3);
        if (q->flops > 0 && q->l1_bytes > 0) extend_range(&x0, &x1, q->flops / q->l1_bytes / 1.3);
        extend_range(&y0, &y1, gp_roofline_flops_per_s(q));
    }
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (roof->memory) continue;
        extend_range(&y0, &y1, roof->per_s);
        if (!p->memory) continue;
        extend_range(&x0, &x1, roof->per_s / p->memory->per_s / 8);
        extend_range(&x0, &x1, roof->per_s / p->memory->per_s * 5);
    }
    if (!(x1 > 0)) x0 = x1 = 1;
    x0 = fmin(fmax(x0, LEAST_X), MOST_X / 100) / 1.6;
    x1 = fmax(fmin(x1, MOST_X), x0 * 100) * 1.3;
    if (p->memory) extend_range(&y0, &y1, p->memory->per_s * x0);
    if (p->memory && !(gp_roofline_highest(p->r, false) > 0)) extend_range(&y0, &y1, p->memory->per_s * x1);
    for (size_t i = 0; i < p->points; i++)
        if (counts(p, i) && !(p->r->points.at[i].flops > 0))
            extend_range(&y0, &y1, gp_roofline_bytes_per_s(&p->r->points.at[i]) * x0);
    if (!(y1 > 0)) y0 = y1 = 1;
    p->f.x.from = log10(x0);
    p->f.x.to = log10(x1);
    p->f.y.to = log10(y1 * 1.8);
    p->f.y.from = fmax(log10(y0 / 1.8), p->f.y.to - DECADES);
}

static double clamped(double v, double low, double high, bool *beyond)
{
    if (v >= low && v <= high) return v;
    *beyond = true;
    return v > high ? high : low;
}

static double radius(const struct plot *p, double ns)
{
    return (p->c->narrow ? 32 : 52) * sqrt(p->all_ns > 0 ? ns / p->all_ns : 0) + 1;
}

static struct spot spot_of(const struct plot *p, const struct gp_roofline_point *q)
{
    double x = intensity_of(q), y = gp_roofline_flops_per_s(q);
    struct spot s = {.r = has_no_circle(q) ? LEVEL : radius(p, (double)q->total_ns)};
    if (p->c->counted) s.r = fmax(s.r, LEVEL);
    if (!(q->flops > 0)) {
        x = gp_axis_value(&p->f.x, p->f.x.at + NO_FLOP);
        y = gp_roofline_bytes_per_s(q) * x;
    }
    s.x = clamped(x > 0 ? across(p, x) : 0, p->f.x.at, p->f.x.end, &s.beyond);
    s.y = clamped(y > 0 ? up(p, y) : INFINITY, p->f.y.end, p->f.y.at, &s.beyond);
    return s;
}

/* From the most bytes to the least; without width if they are equal. */
static struct gp_box bar_of(const struct plot *p, const struct gp_roofline_point *q, struct spot s)
{
    bool beyond = false;
    if (!(q->flops > 0) || !(q->bytes_low > 0) || !(q->bytes_high > q->bytes_low) || s.beyond)
        return (struct gp_box){s.x, s.y, 0, 0};
    double right = p->f.x.end;
    double from = clamped(across(p, q->flops / q->bytes_high), p->f.x.at, right, &beyond);
    double to = clamped(across(p, q->flops / q->bytes_low), p->f.x.at, right, &beyond);
    return (struct gp_box){from, s.y - 3, to - from, 6};
}

/* Is there a mark for the L2 cache, or for L1? */
static bool has_level(const struct plot *p, const struct gp_roofline_point *q, struct spot s, bool l1)
{
    bool room = p->c->counted || s.r >= LEVELS_LEAST;
    return q->flops > 0 && !s.beyond && room && (l1 ? q->l1_bytes : q->l2_bytes) > 0;
}

static double level_x(const struct plot *p, const struct gp_roofline_point *q, bool l1)
{
    bool beyond = false;
    return clamped(across(p, q->flops / (l1 ? q->l1_bytes : q->l2_bytes)), p->f.x.at, p->f.x.end, &beyond);
}

/* The box of the marks of the caches, to the middle of the circle; without width if there are none. */
static struct gp_box levels_of(const struct plot *p, const struct gp_roofline_point *q, struct spot s)
{
    struct gp_box b = {s.x, s.y, 0, 0};
    for (int l1 = 0; l1 < 2; l1++) {
        if (!has_level(p, q, s, l1)) continue;
        double x = level_x(p, q, l1), left = fmin(b.x, x - LEVEL), right = fmax(b.x + b.width, x + LEVEL);
        b = (struct gp_box){left, s.y - LEVEL, right - left, 2 * LEVEL};
    }
    return b;
}

/* ---- circles ---- */

static void draw_title(struct plot *p, const struct gp_roofline_point *q)
{
    const struct gp_roof *roof = gp_roofline_nearest(p->r, q);
    gp_text_clean(&p->text, name_of(p, q->label), gp_string_len(p->c->names, q->label));
    gp_buf_printf(&p->text, "\n%s kernel%s, %s, %.1f%% of the total time\n", GP_COUNTED(q->count),
                  q->count == 1 ? "" : "s", GP_NS(q->total_ns), 100 * (double)q->total_ns / p->all_ns);
    if (q->flops > 0) {
        gp_roofline_put_rate(&p->text, gp_roofline_flops_per_s(q), "FLOP/s");
        if (q->bytes_high > 0) {
            gp_buf_puts(&p->text, ", ");
            gp_roofline_put_intensity(&p->text, q->flops / q->bytes_high);
            if (q->bytes_low > 0 && q->bytes_low < q->bytes_high) {
                gp_buf_puts(&p->text, " to ");
                gp_roofline_put_intensity(&p->text, q->flops / q->bytes_low);
            }
            gp_buf_puts(&p->text, " FLOP per byte");
        }
    } else {
        gp_buf_puts(&p->text, "no known arithmetic");
    }
    gp_buf_putc(&p->text, '\n');
    if (has_no_circle(q)) gp_buf_puts(&p->text, "bytes of memory unknown");
    else gp_roofline_put_rate(&p->text, gp_roofline_bytes_per_s(q), "B/s of memory");
    if (q->measured_ns > 0) {
        /* "bytes measured, 12.0 FLOP per byte of L2, 3.10 of L1" */
        gp_buf_puts(&p->text,
                    q->measured_ns == q->total_ns ? "\nbytes measured" : "\nbytes measured in part");
        for (int l1 = 0; l1 < 2 && q->flops > 0; l1++) {
            double bytes = l1 ? q->l1_bytes : q->l2_bytes;
            if (!(bytes > 0)) continue;
            gp_buf_puts(&p->text, ", ");
            gp_roofline_put_intensity(&p->text, q->flops / bytes);
            gp_buf_puts(&p->text, l1 ? " FLOP per byte of L1" : " FLOP per byte of L2");
        }
    }
    if (q->regime != GP_REGIME_UNKNOWN)
        gp_buf_printf(&p->text, "\nbound by %s", gp_regime_text((enum gp_regime)q->regime));
    if (roof && roof->per_s > 0) {
        gp_buf_printf(&p->text, "\n%.0f%% of the roof ", gp_roofline_reached_pct(p->r, q));
        gp_roofline_put_roof(p, roof);
    }
    gp_plot_title(p->w, &p->text);
}

/* Its operations per byte of the L2 cache and of L1, where those bytes were measured: a square and a triangle
 * on a line to the circle, at the same rate. */
static void draw_level(struct plot *p, struct spot s, double x, bool l1)
{
    if (x < s.x - s.r) gp_plot_line(p->w, "lead", x, s.y, s.x - s.r, s.y);
    if (x > s.x + s.r) gp_plot_line(p->w, "lead", s.x + s.r, s.y, x, s.y);
    if (l1) gp_buf_printf(&p->text, "M%.2f %.2fl%d %dh-%dz", x, s.y - LEVEL, LEVEL, 2 * LEVEL, 2 * LEVEL);
    else
        gp_buf_printf(&p->text, "M%.2f %.2fh%dv%dh-%dz", x - LEVEL, s.y - LEVEL, 2 * LEVEL, 2 * LEVEL,
                      2 * LEVEL);
    gp_plot_path(p->w, "level", &p->text);
}

static void draw_point(struct plot *p, size_t i)
{
    const struct gp_roofline_point *q = &p->r->points.at[i];
    struct spot s = p->spots[i];
    gp_page_open(p->w, "g", "point");
    draw_title(p, q);
    gp_buf_printf(&p->text, "k-%s%s", gp_palette_class((enum gp_frame_kind)q->kind),
                  s.beyond ? " beyond" : "");
    if (!has_no_circle(q)) gp_plot_circle(p->w, gp_buf_str(&p->text), s.x, s.y, s.r, NULL);
    p->text.n = 0;
    struct gp_box b = p->bars[i];
    double y = p->spots[i].y, right = b.x + b.width;
    if (b.width > 0) {
        gp_page_open(p->w, "g", p->spots[i].r < 5 ? "whisker small" : "whisker");
        gp_plot_line(p->w, NULL, b.x, y, right, y);
        gp_plot_line(p->w, NULL, b.x, b.y, b.x, b.y + b.height);
        gp_plot_line(p->w, NULL, right, b.y, right, b.y + b.height);
        gp_svg_close(p->w);
    }
    for (int l1 = 0; l1 < 2; l1++)
        if (has_level(p, q, s, l1)) draw_level(p, s, level_x(p, q, l1), l1);
    gp_svg_close_line(p->w);
}

static bool is_inside(const struct plot *p, struct gp_box b)
{
    return b.x >= p->f.x.at + 3 && b.x + b.width <= p->f.x.end && b.y >= p->f.y.end &&
           b.y + b.height <= p->f.y.at;
}

/* Whether a line from A to B would go through words. */
static bool crosses(const struct plot *p, double ax, double ay, double bx, double by)
{
    for (int i = 0; i < 24; i++) {
        struct gp_box dot = {ax + (bx - ax) * i / 24, ay + (by - ay) * i / 24, .5, .5};
        if (gp_box_taken(p->taken, p->n_taken, dot)) return true;
    }
    return false;
}

/* Whether a roof goes through BOX. */
static bool is_on_roof(const struct plot *p, struct gp_box box)
{
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (!(roof->per_s > 0)) continue;
        double left = up(p, roof->per_s), right = left;
        if (roof->memory) {
            left = up(p, roof->per_s * gp_axis_value(&p->f.x, box.x));
            right = up(p, roof->per_s * gp_axis_value(&p->f.x, box.x + box.width));
        }
        if (fmin(left, right) < box.y + box.height && box.y < fmax(left, right)) return true;
    }
    return false;
}

/* A position for a text of WIDTH beside circle S, and the ends of a line to it. */
struct place {
    struct gp_box box;
    double from_x, from_y, to_x, to_y, far;
};

/* As near as possible, clear of texts and circles, and of roofs if STRICT. */
static bool find_place(const struct plot *p, struct spot s, double width, bool strict, struct place *found)
{
    static const double ways[][2] = {{1, 0},     {-1, 0},   {.7, .7}, {.7, -.7},
                                     {-.7, -.7}, {-.7, .7}, {0, 1},   {0, -1}};
    for (double far = 2; far < (strict ? 70 : 150); far = far * 1.5 + 4)
        for (size_t i = 0; i < GP_COUNT(ways); i++) {
            double dx = ways[i][0], dy = ways[i][1];
            struct place l = {.from_x = s.x + dx * s.r, .from_y = s.y + dy * s.r, .far = far};
            l.to_x = l.from_x + dx * far;
            l.to_y = l.from_y + dy * far;
            double before = dx < 0 ? width : dx > 0 ? 0 : width / 2;
            l.box = (struct gp_box){l.to_x - before, l.to_y - LINE / 2.0 * (1 - dy), width, LINE};
            if (!is_inside(p, l.box) || !(gp_roofline_room(p, l.box) > 0)) continue;
            if (crosses(p, l.from_x, l.from_y, l.to_x, l.to_y) || (strict && is_on_roof(p, l.box))) continue;
            *found = l;
            return true;
        }
    return false;
}

static bool label_point(struct plot *p, size_t i)
{
    const struct gp_roofline_point *q = &p->r->points.at[i];
    struct spot s = p->spots[i];
    struct place l;
    gp_text_fit_name(&p->text, name_of(p, q->label), gp_string_len(p->c->names, q->label),
                     p->c->narrow ? 16 : LABEL_COLUMNS);
    double share = 100 * (double)q->total_ns / p->all_ns;
    if (share >= 1) gp_buf_printf(&p->text, " %.0f%%", share);
    double width = text_width(p) + 4;
    if (!find_place(p, s, width, true, &l) && !find_place(p, s, width, false, &l)) {
        p->text.n = 0;
        return false;
    }
    take(p, l.box);
    if (is_on_roof(p, l.box)) /* which would strike the text through */
        gp_plot_rect(p->w, "back", l.box.x, l.box.y, l.box.width, l.box.height, NULL);
    if (l.far > 10) gp_plot_line(p->w, "lead", l.from_x, l.from_y, l.to_x, l.to_y);
    gp_plot_text(p->w, "halo", l.box.x + 2, l.box.y + LINE - 3, &p->text);
    return true;
}

static void draw_points(struct plot *p)
{
    size_t labels = 0, most = p->c->narrow ? 5 : LABELS;
    gp_page_open(p->w, "g", "points");
    for (size_t i = 0; i < p->points; i++) draw_point(p, i);
    gp_svg_close(p->w);
    for (size_t i = 0; i < p->points && labels < most; i++)
        if (p->c->counted ? i < 2 * most
                          : (double)p->r->points.at[i].total_ns >= p->all_ns * (p->c->narrow ? .03 : .01))
            labels += label_point(p, i);
}

/* ---- the left edge ---- */

/* Kernels too short for either roof: a column as high as their share of the time, left of the plot. */
static void draw_rug(struct plot *p)
{
    double bottom = p->f.y.at, share = p->all_ns > 0 ? (double)p->r->latency_ns / p->all_ns : 0;
    if (p->r->latency_ns <= 0) return;
    double height = fmax(share * (p->f.y.at - p->f.y.end), 2);
    gp_page_open(p->w, "g", "rug");
    gp_buf_printf(
        &p->text,
        "Kernels barely longer than an empty one, too short for either roof: %s, %.1f%% of the total time",
        GP_NS(p->r->latency_ns), 100 * share);
    gp_plot_title(p->w, &p->text);
    gp_plot_rect(p->w, "k-idle", p->f.x.at, bottom - height, RUG, height, NULL);
    gp_buf_puts(&p->text, p->c->narrow ? "too short: " : "too short for either: ");
    gp_scale_put_share(&p->text, p->r->latency_ns, gp_roofline_total_ns(p->r));
    take(p, (struct gp_box){p->f.x.at + RUG, bottom - LINE - 4, text_width(p) + 8, LINE});
    gp_plot_text(p->w, "halo", p->f.x.at + RUG + 5, bottom - 7, &p->text);
    gp_svg_close_line(p->w);
}

/* ---- the legend ---- */

struct legend {
    double x, y, width;
};

/* The position for an entry of WIDTH: beside the last one, or in the next row. */
static void place(struct legend *l, double width)
{
    if (l->x > 0 && l->x + width > l->width) {
        l->x = 0;
        l->y += 18;
    }
}

static bool has_kind(const struct plot *p, enum gp_frame_kind kind)
{
    for (size_t i = 0; i < p->points; i++)
        if (p->r->points.at[i].kind == kind) return true;
    return false;
}

static void legend_entry(struct plot *p, struct legend *l, const char *class, double r, const char *words,
                         bool draw)
{
    gp_buf_puts(&p->text, words);
    double width = 2 * r + 6 + text_width(p) + 14;
    place(l, width);
    if (draw) {
        gp_plot_circle(p->w, class, l->x + r + 1, l->y - 4, r, NULL);
        gp_plot_text(p->w, NULL, l->x + 2 * r + 6, l->y, &p->text);
    }
    p->text.n = 0;
    l->x += width;
}

/* The mark of a cache, where the plot has one. */
static void legend_level(struct plot *p, struct legend *l, bool l1, bool draw)
{
    bool any = false;
    for (size_t i = 0; i < p->points; i++) {
        const struct gp_roofline_point *q = &p->r->points.at[i];
        any |= has_level(p, q, p->spots[i], l1);
    }
    if (!any) return;
    gp_buf_puts(&p->text, l1 ? "per byte of L1" : "per byte of L2");
    double width = 10 + 6 + text_width(p) + 14;
    place(l, width);
    if (draw) {
        gp_plot_text(p->w, NULL, l->x + 16, l->y, &p->text);
        draw_level(p, (struct spot){.x = l->x + 5, .y = l->y - 4}, l->x + 5, l1);
    }
    p->text.n = 0;
    l->x += width;
}

/* The kinds, then the meaning of areas and bars. Returns the place of the next row. */
static double put_legend(struct plot *p, double y, bool draw)
{
    struct legend l = {0, y, p->c->narrow ? GP_ROOFLINE_NARROW : GP_ROOFLINE_WIDTH};
    if (draw) gp_page_open(p->w, "g", "key");
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind kind = gp_palette_legend(i);
        char class[40] = "k-";
        strncat(class, gp_palette_class(kind), sizeof class - 3);
        if (has_kind(p, kind)) legend_entry(p, &l, class, 5.5, gp_palette_label(kind), draw);
    }
    l.x = 0;
    l.y += 14 + radius(p, p->all_ns / 10);
    legend_entry(p, &l, "size", radius(p, p->all_ns / 100), "1%", draw);
    legend_entry(p, &l, "size", radius(p, p->all_ns / 10),
                 p->c->narrow ? "10% of the time" : "10% of the kernel time", draw);
    legend_level(p, &l, false, draw);
    legend_level(p, &l, true, draw);
    if (draw) gp_svg_close(p->w);
    return l.y + radius(p, p->all_ns / 10);
}

/* ---- all of it ---- */

static void begin(struct plot *p, const struct gp_chart_roofline *c)
{
    bool n = c->narrow;
    *p = (struct plot){.c = c, .r = c->r, .memory = gp_roofline_memory(c->r)};
    p->points = c->r->points.n < GP_ROOFLINE_POINTS ? c->r->points.n : GP_ROOFLINE_POINTS;
    p->all_ns = (double)gp_roofline_total_ns(c->r);
    p->f.x = (struct gp_axis){.log = true, .at = n ? 44 : 52, .end = n ? 248 : 736};
    p->f.y = (struct gp_axis){.log = true, .at = n ? 270 : 440, .end = 20};
    find_range(p);
    for (size_t i = 0; i < p->points; i++) {
        p->spots[i] = spot_of(p, &c->r->points.at[i]);
        p->bars[i] = bar_of(p, &c->r->points.at[i], p->spots[i]);
        p->levels[i] = levels_of(p, &c->r->points.at[i], p->spots[i]);
    }
}

int gp_chart_roofline_height(const struct gp_chart_roofline *c)
{
    struct plot p;
    begin(&p, c);
    int height = (int)ceil(put_legend(&p, p.f.y.at + 62, false));
    gp_buf_release(&p.text);
    return height;
}

void gp_chart_roofline(struct gp_svg *w, const struct gp_chart_roofline *c)
{
    struct plot p;
    if (!c->r->points.n) return;
    begin(&p, c);
    p.w = w;
    int width = c->narrow ? GP_ROOFLINE_NARROW : GP_ROOFLINE_WIDTH, height = gp_chart_roofline_height(c);
    gp_plot_begin(w, c->narrow ? "roofline narrow" : "roofline", width, height,
                  "Roofline: arithmetic per byte, and its rate");
    gp_svg_newline(w);
    gp_roofline_draw_axes(&p);
    draw_rug(&p);
    gp_roofline_draw_roofs(&p);
    draw_points(&p);
    put_legend(&p, p.f.y.at + 62, true);
    gp_svg_close_line(w);
    gp_buf_release(&p.text);
}
