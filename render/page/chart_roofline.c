#include "render/page/chart_roofline.h"

#include <math.h>
#include <string.h>
#include "analyze/cost/regime.h"
#include "formats/base/scale.h"
#include "render/page/page_html.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"

enum {
    ROOFS = 8,    /* drawn at most */
    LINE = 14,    /* from line to line of text */
    ADVANCE = 68, /* tenths of a pixel: mean width of a character */
    LABELS = 14,
    SEGMENTS = 12, /* of a turned name */
    TAKEN = LABELS + 1 + ROOFS * SEGMENTS,
    LABEL_COLUMNS = 30,
    NO_FLOP = 13, /* kernels without arithmetic are that far from the left edge */
    RUG = 12,
    LEVEL = 4,        /* half the size of a mark for a cache */
    LEVELS_LEAST = 5, /* pixels: the radius from which on a circle has marks for the caches */
};
static const double LEAST_X = 1e-3, MOST_X = 1e5; /* FLOP per byte that are drawn */
static const double DECADES = 7;                  /* of FLOP/s that are drawn */

struct box {
    double x, y, width, height;
};

struct spot {
    double x, y, r;
    bool beyond; /* it is outside, and drawn at the edge */
};

struct plot {
    struct gp_svg *w;
    const struct gp_chart_roofline *c;
    const struct gp_roofline *r;
    const struct gp_roof *memory;
    struct box at;         /* in pixels */
    double x0, x1, y0, y1; /* log10 of the edges */
    double all_ns;         /* of all kernels */
    size_t points;         /* that are drawn */
    struct spot spots[GP_ROOFLINE_POINTS];
    struct box bars[GP_ROOFLINE_POINTS];
    struct box levels[GP_ROOFLINE_POINTS]; /* from the marks of the caches to the circle */
    struct box taken[TAKEN];               /* by words */
    size_t n_taken;
    struct gp_buf text; /* scratch */
};

/* ---- numbers ---- */

int64_t gp_roofline_total_ns(const struct gp_roofline *r)
{
    int64_t sum = r->latency_ns + r->unknown_ns;
    for (size_t i = 0; i < r->points.n; i++) sum += r->points.at[i].total_ns;
    return sum;
}

static void put_digits(struct gp_buf *b, double v)
{
    gp_buf_printf(b, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
}

void gp_roofline_put_rate(struct gp_buf *b, double v, const char *unit)
{
    static const char prefixes[] = " kMGTPE";
    size_t i = 0;
    if (!(v < 999e18)) v = 999e18;
    for (; v >= 999.5 && i + 2 < sizeof prefixes; i++) v /= 1000;
    put_digits(b, v);
    gp_buf_putc(b, ' ');
    if (i) gp_buf_putc(b, prefixes[i]);
    gp_buf_puts(b, unit);
}

void gp_roofline_put_intensity(struct gp_buf *b, double v)
{
    if (v >= 999.5) gp_scale_put_count(b, (uint64_t)llround(fmin(v, 1e18)));
    else if (v >= 0.9995) put_digits(b, v);
    else gp_buf_printf(b, "%.2g", v);
}

static const char *name_of(const struct plot *p, gp_sid sid)
{
    return gp_string(p->c->names, sid);
}

static const char *kind_class(const struct gp_roofline_point *q)
{
    return gp_palette_class((enum gp_frame_kind)q->kind);
}

/* ---- where things are ---- */

static double x_of(const struct plot *p, double intensity)
{
    return p->at.x + (log10(intensity) - p->x0) / (p->x1 - p->x0) * p->at.width;
}

static double y_of(const struct plot *p, double flops)
{
    return p->at.y + (p->y1 - log10(flops)) / (p->y1 - p->y0) * p->at.height;
}

/* How many FLOP per byte stand for none. */
static double no_flop(const struct plot *p)
{
    return pow(10, p->x0 + NO_FLOP * (p->x1 - p->x0) / p->at.width);
}

static void widen(double *low, double *high, double v)
{
    if (!(v > 0 && v < 1e100)) return; /* damaged counters may give any number */
    if (v < *low) *low = v;
    if (v > *high) *high = v;
}

static double highest(const struct gp_roofline *r, bool memory)
{
    double most = 0;
    for (size_t i = 0; i < r->roofs.n && i < ROOFS; i++)
        if (r->roofs.at[i].memory == memory && r->roofs.at[i].per_s > most) most = r->roofs.at[i].per_s;
    return most;
}

/* Kernels that take almost no time do not affect the range of the axes, unless there are no others. */
static bool counts(const struct plot *p, size_t i)
{
    return !i || (double)p->r->points.at[i].total_ns * 500 >= p->all_ns;
}

/* Both axes reach as far as circles and the bends of the roofs do, within reason. */
static void find_range(struct plot *p)
{
    double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;
    for (size_t i = 0; i < p->points; i++) {
        const struct gp_roofline_point *q = &p->r->points.at[i];
        if (!counts(p, i)) continue;
        widen(&x0, &x1, gp_roofline_intensity(q) / 1.5);
        widen(&x0, &x1, gp_roofline_intensity(q) * 1.5);
        if (q->flops > 0 && q->l2_bytes > 0) widen(&x0, &x1, q->flops / q->l2_bytes / 1.3);
        if (q->flops > 0 && q->l1_bytes > 0) widen(&x0, &x1, q->flops / q->l1_bytes / 1.3);
        widen(&y0, &y1, gp_roofline_flops_per_s(q));
    }
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (roof->memory) continue;
        widen(&y0, &y1, roof->per_s);
        if (!p->memory) continue;
        widen(&x0, &x1, roof->per_s / p->memory->per_s / 8);
        widen(&x0, &x1, roof->per_s / p->memory->per_s * 5);
    }
    if (!(x1 > 0)) x0 = x1 = 1;
    x0 = fmin(fmax(x0, LEAST_X), MOST_X / 100) / 1.6;
    x1 = fmax(fmin(x1, MOST_X), x0 * 100) * 1.3;
    if (p->memory) widen(&y0, &y1, p->memory->per_s * x0);
    if (p->memory && !(highest(p->r, false) > 0)) widen(&y0, &y1, p->memory->per_s * x1);
    for (size_t i = 0; i < p->points; i++)
        if (counts(p, i) && !(p->r->points.at[i].flops > 0))
            widen(&y0, &y1, gp_roofline_bytes_per_s(&p->r->points.at[i]) * x0);
    if (!(y1 > 0)) y0 = y1 = 1;
    p->x0 = log10(x0);
    p->x1 = log10(x1);
    p->y1 = log10(y1 * 1.8);
    p->y0 = fmax(log10(y0 / 1.8), p->y1 - DECADES);
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
    double x = gp_roofline_intensity(q), y = gp_roofline_flops_per_s(q);
    struct spot s = {.r = radius(p, (double)q->total_ns)};
    if (!(q->flops > 0)) {
        x = no_flop(p);
        y = gp_roofline_bytes_per_s(q) * x;
    }
    s.x = clamped(x > 0 ? x_of(p, x) : 0, p->at.x, p->at.x + p->at.width, &s.beyond);
    s.y = clamped(y > 0 ? y_of(p, y) : INFINITY, p->at.y, p->at.y + p->at.height, &s.beyond);
    return s;
}

/* From the most bytes to the least; without width if they are equal. */
static struct box bar_of(const struct plot *p, const struct gp_roofline_point *q, struct spot s)
{
    bool beyond = false;
    if (!(q->flops > 0) || !(q->bytes_low > 0) || !(q->bytes_high > q->bytes_low) || s.beyond)
        return (struct box){s.x, s.y, 0, 0};
    double right = p->at.x + p->at.width;
    double from = clamped(x_of(p, q->flops / q->bytes_high), p->at.x, right, &beyond);
    double to = clamped(x_of(p, q->flops / q->bytes_low), p->at.x, right, &beyond);
    return (struct box){from, s.y - 3, to - from, 6};
}

/* Is there a mark for the L2 cache, or for L1? */
static bool has_level(const struct gp_roofline_point *q, struct spot s, bool l1)
{
    return q->flops > 0 && !s.beyond && s.r >= LEVELS_LEAST && (l1 ? q->l1_bytes : q->l2_bytes) > 0;
}

static double level_x(const struct plot *p, const struct gp_roofline_point *q, bool l1)
{
    bool beyond = false;
    return clamped(x_of(p, q->flops / (l1 ? q->l1_bytes : q->l2_bytes)), p->at.x, p->at.x + p->at.width,
                   &beyond);
}

/* What the marks of the caches cover, to the middle of the circle; without width if there are none. */
static struct box levels_of(const struct plot *p, const struct gp_roofline_point *q, struct spot s)
{
    struct box b = {s.x, s.y, 0, 0};
    for (int l1 = 0; l1 < 2; l1++) {
        if (!has_level(q, s, l1)) continue;
        double x = level_x(p, q, l1), left = fmin(b.x, x - LEVEL), right = fmax(b.x + b.width, x + LEVEL);
        b = (struct box){left, s.y - LEVEL, right - left, 2 * LEVEL};
    }
    return b;
}

/* ---- marks ---- */

static int64_t px(double v)
{
    return llround(v * 100);
}

static void draw_line(struct plot *p, const char *class, double x1, double y1, double x2, double y2)
{
    gp_page_open(p->w, "line", class);
    gp_svg_px(p->w, "x1", px(x1));
    gp_svg_px(p->w, "y1", px(y1));
    gp_svg_px(p->w, "x2", px(x2));
    gp_svg_px(p->w, "y2", px(y2));
    gp_svg_close(p->w);
}

/* The scratch text, which is empty after; turned by ANGLE degrees. */
static void draw_turned(struct plot *p, const char *class, double x, double y, double angle)
{
    gp_page_open(p->w, "text", class);
    if (angle != 0) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "translate(%.2f %.2f) rotate(%.2f)", x, y, angle);
        gp_svg_attr_n(p->w, "transform", b.data, b.n);
        gp_buf_release(&b);
    } else {
        gp_svg_px(p->w, "x", px(x));
        gp_svg_px(p->w, "y", px(y));
    }
    gp_svg_text(p->w, p->text.data, p->text.n);
    gp_svg_close(p->w);
    p->text.n = 0;
}

static void draw_text(struct plot *p, const char *class, double x, double y)
{
    draw_turned(p, class, x, y, 0);
}

static double text_width(const struct plot *p)
{
    return (double)gp_text_width(p->text.data ? p->text.data : "", p->text.n) * ADVANCE / 10;
}

/* ---- the axes ---- */

static bool has_no_flop(const struct plot *p)
{
    for (size_t i = 0; i < p->points; i++)
        if (!(p->r->points.at[i].flops > 0)) return true;
    return false;
}

/* "0.1", "10", "1,000"; with a prefix for FLOP/s: "10 G" */
static void put_tick(struct plot *p, int power, bool rate)
{
    if (!rate) {
        if (power < 0) gp_buf_printf(&p->text, "%.*f", -power, pow(10, power));
        else gp_scale_put_count(&p->text, (uint64_t)llround(pow(10, power)));
        return;
    }
    gp_roofline_put_rate(&p->text, pow(10, power), "");
    char *point = memchr(p->text.data, '.', p->text.n); /* "1.00 T" is "1 T" here */
    char *space = memchr(p->text.data, ' ', p->text.n);
    if (!point || !space || space < point) return;
    memmove(point, space, (size_t)(p->text.data + p->text.n - space));
    p->text.n -= (size_t)(space - point);
}

static void draw_axes(struct plot *p)
{
    double bottom = p->at.y + p->at.height, right = p->at.x + p->at.width;
    int step = p->c->narrow && p->x1 - p->x0 > 5 ? 2 : 1, left = has_no_flop(p) ? NO_FLOP + 34 : 0;
    for (int power = (int)ceil(p->x0); power <= p->x1; power++) {
        double x = x_of(p, pow(10, power));
        draw_line(p, "rule", x, p->at.y, x, bottom);
        if (power % step || x - p->at.x < left) continue;
        put_tick(p, power, false);
        draw_text(p, "tick mid", x, bottom + 16);
    }
    for (int power = (int)ceil(p->y0); power <= p->y1; power++) {
        double y = y_of(p, pow(10, power));
        draw_line(p, "rule", p->at.x, y, right, y);
        put_tick(p, power, true);
        draw_text(p, "tick end", p->at.x - 7, y + 4);
    }
    draw_line(p, "base", p->at.x, bottom, right, bottom);
    draw_line(p, "base", p->at.x, p->at.y, p->at.x, bottom);
    if (has_no_flop(p)) {
        gp_buf_puts(&p->text, "none");
        draw_text(p, "tick mid", p->at.x + NO_FLOP, bottom + 16);
    }
    gp_buf_puts(&p->text, "FLOP/s");
    draw_text(p, "tick end", p->at.x - 7, p->at.y - 4);
    gp_buf_puts(&p->text, p->c->narrow ? "FLOP per byte of memory" : "FLOP per byte read or written");
    draw_text(p, "tick mid", p->at.x + p->at.width / 2, bottom + 33);
}

/* ---- roofs ---- */

static const char *source_of(const struct gp_roof *roof)
{
    static const char *const texts[] = {
#define X(id, name, text) [id] = text,
        GP_CEILING_SOURCES(X)
#undef X
    };
    return roof->source < GP_COUNT(texts) ? texts[roof->source] : "an unknown source";
}

static void draw_roof_title(struct plot *p, const struct gp_roof *roof)
{
    gp_text_clean(&p->text, name_of(p, roof->name), gp_string_len(p->c->names, roof->name));
    gp_buf_puts(&p->text, ": ");
    gp_roofline_put_rate(&p->text, roof->per_s, roof->memory ? "B/s" : "FLOP/s");
    gp_buf_puts(&p->text, ", from ");
    gp_buf_puts(&p->text, source_of(roof));
    gp_page_element(p->w, "title", NULL, p->text.data, p->text.n);
    p->text.n = 0;
}

/* "bf16 989 TFLOP/s", where there is little room "bf16 989 T" */
static void put_roof(struct plot *p, const struct gp_roof *roof)
{
    gp_text_fit(&p->text, name_of(p, roof->name), gp_string_len(p->c->names, roof->name),
                p->c->narrow ? 8 : 12);
    gp_buf_putc(&p->text, ' ');
    gp_roofline_put_rate(&p->text, roof->per_s, roof->memory ? "B/s" : p->c->narrow ? "" : "FLOP/s");
}

static bool meet(struct box a, struct box b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

static void take(struct plot *p, struct box b)
{
    if (p->n_taken < TAKEN) p->taken[p->n_taken++] = b;
}

/* Distance of BOX from the nearest circle; 0 if it overlaps a circle or a text. */
static double room_of(const struct plot *p, struct box box)
{
    double least = 1e6;
    for (size_t i = 0; i < p->n_taken; i++)
        if (meet(box, p->taken[i])) return 0;
    for (size_t i = 0; i < p->points; i++) {
        struct spot s = p->spots[i];
        double dx = fmax(fmax(box.x - s.x, s.x - box.x - box.width), 0);
        double dy = fmax(fmax(box.y - s.y, s.y - box.y - box.height), 0);
        double d = hypot(dx, dy) - s.r;
        if (d < least) least = d;
        if (meet(box, p->bars[i]) || meet(box, p->levels[i])) return 0;
    }
    return least > 0 ? least : 0;
}

/* A name along a slope: its middle, its direction, how long it is. */
struct along {
    double x, y, dx, dy, width;
};

/* One of the boxes that it covers. */
static struct box segment(const struct along *a, int i)
{
    double t = ((double)i + .5) / SEGMENTS - .5;
    return (struct box){a->x + a->dx * a->width * t - LINE / 2.0,
                        a->y + a->dy * a->width * t - LINE / 2.0 - 3, LINE, LINE};
}

static double room_along(const struct plot *p, const struct along *a)
{
    double least = 1e6;
    for (int i = 0; i < SEGMENTS; i++) least = fmin(least, room_of(p, segment(a, i)));
    return least;
}

/* The name of a slope along it, where most room is: above the line, or BELOW it. */
static void label_slope(struct plot *p, const struct gp_roof *roof, struct spot from, struct spot to,
                        bool below)
{
    double length = hypot(to.x - from.x, to.y - from.y), best = 0, shift = below ? LINE : -5;
    struct along a = {.dx = (to.x - from.x) / length, .dy = (to.y - from.y) / length}, found = a;
    put_roof(p, roof);
    a.width = text_width(p);
    for (double t = a.width / 2 + 10; t < length - a.width / 2 - 4; t += 6) {
        a.x = from.x + a.dx * t - a.dy * shift;
        a.y = from.y + a.dy * t + a.dx * shift;
        double room = fmin(room_along(p, &a), 20); /* more is not better: the first that has enough */
        if (room <= best) continue;
        best = room;
        found = a;
    }
    if (best > 0) {
        for (int i = 0; i < SEGMENTS; i++) take(p, segment(&found, i));
        draw_turned(p, "halo mid", found.x, found.y, atan2(found.dy, found.dx) * 180 / acos(-1));
    }
    p->text.n = 0;
}

static void draw_slope(struct plot *p, const struct gp_roof *roof, bool below)
{
    double peak = highest(p->r, false), x0 = pow(10, p->x0), x1 = pow(10, p->x1), y0 = pow(10, p->y0);
    if (!(peak > 0)) peak = pow(10, p->y1);
    double from = fmax(x0, y0 / roof->per_s), to = fmin(x1, peak / roof->per_s);
    if (!(roof->per_s > 0) || from >= to) return;
    struct spot a = {.x = x_of(p, from), .y = y_of(p, from * roof->per_s)};
    struct spot b = {.x = x_of(p, to), .y = y_of(p, to * roof->per_s)};
    gp_page_open(p->w, "g", roof == p->memory ? "roof" : "roof cache");
    draw_roof_title(p, roof);
    draw_line(p, NULL, a.x, a.y, b.x, b.y);
    label_slope(p, roof, a, b, below);
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static bool is_used(const struct plot *p, size_t roof)
{
    for (size_t i = 0; i < p->r->points.n; i++)
        if (p->r->points.at[i].roof == roof) return true;
    return false;
}

/* Names stand right of the plot, one below the other. */
static void draw_flat(struct plot *p, size_t i, double *next)
{
    const struct gp_roof *roof = &p->r->roofs.at[i];
    double bandwidth = highest(p->r, true), right = p->at.x + p->at.width;
    double from = bandwidth > 0 ? fmax(p->at.x, x_of(p, roof->per_s / bandwidth)) : p->at.x;
    if (!(roof->per_s > 0) || log10(roof->per_s) < p->y0) return;
    double y = y_of(p, roof->per_s), label = fmax(y, *next);
    gp_page_open(p->w, "g", is_used(p, i) ? "roof" : "roof unused");
    draw_roof_title(p, roof);
    if (from < right) draw_line(p, NULL, from, y, right, y);
    draw_line(p, "lead", right, y, right + 6, label);
    put_roof(p, roof);
    draw_text(p, NULL, right + 9, label + 4);
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
    *next = label + LINE;
}

static void draw_roofs(struct plot *p)
{
    double next = p->at.y;
    if (p->memory) draw_slope(p, p->memory, true);
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (!roof->memory) draw_flat(p, i, &next);
        else if (roof != p->memory) draw_slope(p, roof, false);
    }
}

/* ---- circles ---- */

static void put_bytes_range(struct plot *p, const struct gp_roofline_point *q)
{
    if (!(q->bytes_high > 0)) return;
    gp_buf_puts(&p->text, ", ");
    gp_roofline_put_intensity(&p->text, q->flops / q->bytes_high);
    if (q->bytes_low > 0 && q->bytes_low < q->bytes_high) {
        gp_buf_puts(&p->text, " to ");
        gp_roofline_put_intensity(&p->text, q->flops / q->bytes_low);
    }
    gp_buf_puts(&p->text, " FLOP per byte");
}

/* "measured: 12.0 FLOP per byte of L2, 3.10 of L1" */
static void put_levels(struct plot *p, const struct gp_roofline_point *q)
{
    gp_buf_puts(&p->text, q->measured_ns == q->total_ns ? "bytes measured" : "bytes measured in part");
    for (int l1 = 0; l1 < 2 && q->flops > 0; l1++) {
        double bytes = l1 ? q->l1_bytes : q->l2_bytes;
        if (!(bytes > 0)) continue;
        gp_buf_puts(&p->text, ", ");
        gp_roofline_put_intensity(&p->text, q->flops / bytes);
        gp_buf_puts(&p->text, l1 ? " FLOP per byte of L1" : " FLOP per byte of L2");
    }
}

static void title_line(struct plot *p, bool first)
{
    if (!first) gp_svg_newline(p->w);
    gp_svg_text(p->w, p->text.data, p->text.n);
    p->text.n = 0;
}

static void draw_title(struct plot *p, const struct gp_roofline_point *q)
{
    const struct gp_roof *roof = gp_roofline_nearest(p->r, q);
    gp_svg_open(p->w, "title");
    gp_buf_put(&p->text, name_of(p, q->label), gp_string_len(p->c->names, q->label));
    title_line(p, true);
    gp_scale_put_count(&p->text, q->count);
    gp_buf_puts(&p->text, q->count == 1 ? " kernel, " : " kernels, ");
    gp_scale_put(&p->text, GP_UNIT_NS, q->total_ns);
    gp_buf_printf(&p->text, ", %.1f%% of the total time", 100 * (double)q->total_ns / p->all_ns);
    title_line(p, false);
    if (q->flops > 0) {
        gp_roofline_put_rate(&p->text, gp_roofline_flops_per_s(q), "FLOP/s");
        put_bytes_range(p, q);
    } else {
        gp_buf_puts(&p->text, "no known arithmetic");
    }
    title_line(p, false);
    gp_roofline_put_rate(&p->text, gp_roofline_bytes_per_s(q), "B/s of memory");
    title_line(p, false);
    if (q->measured_ns > 0) {
        put_levels(p, q);
        title_line(p, false);
    }
    gp_buf_printf(&p->text, "bound by %s", gp_regime_text((enum gp_regime)q->regime));
    if (q->regime != GP_REGIME_UNKNOWN) title_line(p, false);
    p->text.n = 0;
    if (roof && roof->per_s > 0) {
        gp_buf_printf(&p->text, "%.0f%% of the roof ", gp_roofline_reached_pct(p->r, q));
        put_roof(p, roof);
        title_line(p, false);
    }
    gp_svg_close(p->w);
}

static void draw_bar(struct plot *p, size_t i)
{
    struct box b = p->bars[i];
    double y = p->spots[i].y, right = b.x + b.width;
    if (!(b.width > 0)) return;
    gp_page_open(p->w, "g", p->spots[i].r < 5 ? "whisker small" : "whisker");
    draw_line(p, NULL, b.x, y, right, y);
    draw_line(p, NULL, b.x, b.y, b.x, b.y + b.height);
    draw_line(p, NULL, right, b.y, right, b.y + b.height);
    gp_svg_close(p->w);
}

/* Its operations per byte of the L2 cache and of L1, where those bytes were measured: a square and a triangle on a line
 * to the circle, at the same rate. */
static void draw_level(struct plot *p, struct spot s, double x, bool l1)
{
    if (x < s.x - s.r) draw_line(p, "lead", x, s.y, s.x - s.r, s.y);
    if (x > s.x + s.r) draw_line(p, "lead", s.x + s.r, s.y, x, s.y);
    gp_page_open(p->w, "path", "level");
    if (l1) gp_buf_printf(&p->text, "M%.2f %.2fl%d %dh-%dz", x, s.y - LEVEL, LEVEL, 2 * LEVEL, 2 * LEVEL);
    else
        gp_buf_printf(&p->text, "M%.2f %.2fh%dv%dh-%dz", x - LEVEL, s.y - LEVEL, 2 * LEVEL, 2 * LEVEL,
                      2 * LEVEL);
    gp_svg_attr_n(p->w, "d", p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_close(p->w);
}

static void draw_levels(struct plot *p, const struct gp_roofline_point *q, struct spot s)
{
    for (int l1 = 0; l1 < 2; l1++)
        if (has_level(q, s, l1)) draw_level(p, s, level_x(p, q, l1), l1);
}

static void draw_point(struct plot *p, size_t i)
{
    const struct gp_roofline_point *q = &p->r->points.at[i];
    struct spot s = p->spots[i];
    gp_page_open(p->w, "g", "point");
    draw_title(p, q);
    gp_svg_open(p->w, "circle");
    gp_buf_printf(&p->text, "k-%s%s", kind_class(q), s.beyond ? " beyond" : "");
    gp_svg_attr_n(p->w, "class", p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_px(p->w, "cx", px(s.x));
    gp_svg_px(p->w, "cy", px(s.y));
    gp_svg_px(p->w, "r", px(s.r));
    gp_svg_close(p->w);
    draw_bar(p, i);
    draw_levels(p, q, s);
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static bool is_inside(const struct plot *p, struct box b)
{
    return b.x >= p->at.x + 3 && b.x + b.width <= p->at.x + p->at.width && b.y >= p->at.y &&
           b.y + b.height <= p->at.y + p->at.height;
}

/* Whether a line from A to B would go through words. */
static bool crosses(const struct plot *p, double ax, double ay, double bx, double by)
{
    for (int i = 0; i < 24; i++) {
        struct box dot = {ax + (bx - ax) * i / 24, ay + (by - ay) * i / 24, .5, .5};
        for (size_t k = 0; k < p->n_taken; k++)
            if (meet(dot, p->taken[k])) return true;
    }
    return false;
}

/* Whether a roof goes through BOX. */
static bool is_on_roof(const struct plot *p, struct box box)
{
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (!(roof->per_s > 0)) continue;
        double left = y_of(p, roof->per_s), right = left;
        if (roof->memory) {
            double per_pixel = (p->x1 - p->x0) / p->at.width; /* of log10 */
            left = y_of(p, roof->per_s * pow(10, p->x0 + (box.x - p->at.x) * per_pixel));
            right = y_of(p, roof->per_s * pow(10, p->x0 + (box.x + box.width - p->at.x) * per_pixel));
        }
        if (fmin(left, right) < box.y + box.height && box.y < fmax(left, right)) return true;
    }
    return false;
}

/* A position for a text of WIDTH beside circle S, and the ends of a line to it. */
struct place {
    struct box box;
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
            l.box = (struct box){l.to_x - before, l.to_y - LINE / 2.0 * (1 - dy), width, LINE};
            if (!is_inside(p, l.box) || !(room_of(p, l.box) > 0)) continue;
            if (crosses(p, l.from_x, l.from_y, l.to_x, l.to_y) || (strict && is_on_roof(p, l.box))) continue;
            *found = l;
            return true;
        }
    return false;
}

/* A ground for a text that had to be put on a roof, which would strike it through. */
static void draw_back(struct plot *p, struct box b)
{
    gp_page_open(p->w, "rect", "back");
    gp_svg_px(p->w, "x", px(b.x));
    gp_svg_px(p->w, "y", px(b.y));
    gp_svg_px(p->w, "width", px(b.width));
    gp_svg_px(p->w, "height", px(b.height));
    gp_svg_close(p->w);
}

static bool label_point(struct plot *p, size_t i)
{
    const struct gp_roofline_point *q = &p->r->points.at[i];
    struct spot s = p->spots[i];
    struct place l;
    gp_text_fit_name(&p->text, name_of(p, q->label), gp_string_len(p->c->names, q->label),
                     p->c->narrow ? 16 : LABEL_COLUMNS);
    gp_buf_printf(&p->text, " %.0f%%", 100 * (double)q->total_ns / p->all_ns);
    double width = text_width(p) + 4;
    if (!find_place(p, s, width, true, &l) && !find_place(p, s, width, false, &l)) {
        p->text.n = 0;
        return false;
    }
    take(p, l.box);
    if (is_on_roof(p, l.box)) draw_back(p, l.box);
    if (l.far > 10) draw_line(p, "lead", l.from_x, l.from_y, l.to_x, l.to_y);
    draw_text(p, "halo", l.box.x + 2, l.box.y + LINE - 3);
    return true;
}

static void draw_points(struct plot *p)
{
    size_t labels = 0, most = p->c->narrow ? 5 : LABELS;
    gp_page_open(p->w, "g", "points");
    for (size_t i = 0; i < p->points; i++) draw_point(p, i);
    gp_svg_close(p->w);
    for (size_t i = 0; i < p->points && labels < most; i++)
        if ((double)p->r->points.at[i].total_ns >= p->all_ns * (p->c->narrow ? .03 : .01))
            labels += label_point(p, i);
}

/* ---- the left edge ---- */

/* Kernels too short for either roof: a column as high as their share of the time, left of the plot. */
static void draw_rug(struct plot *p)
{
    double bottom = p->at.y + p->at.height, share = p->all_ns > 0 ? (double)p->r->latency_ns / p->all_ns : 0;
    if (p->r->latency_ns <= 0) return;
    double height = fmax(share * p->at.height, 2);
    gp_page_open(p->w, "g", "rug");
    gp_buf_puts(&p->text, "Kernels barely longer than an empty one, too short for either roof: ");
    gp_scale_put(&p->text, GP_UNIT_NS, p->r->latency_ns);
    gp_buf_printf(&p->text, ", %.1f%% of the total time", 100 * share);
    gp_page_element(p->w, "title", NULL, p->text.data, p->text.n);
    p->text.n = 0;
    gp_page_open(p->w, "rect", "k-idle");
    gp_svg_box(p->w, px(p->at.x), px(bottom - height), px(RUG), px(height));
    gp_svg_close(p->w);
    gp_buf_puts(&p->text, p->c->narrow ? "too short: " : "too short for either: ");
    gp_scale_put_share(&p->text, p->r->latency_ns, gp_roofline_total_ns(p->r));
    take(p, (struct box){p->at.x + RUG, bottom - LINE - 4, text_width(p) + 8, LINE});
    draw_text(p, "halo", p->at.x + RUG + 5, bottom - 7);
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
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
        gp_page_open(p->w, "circle", class);
        gp_svg_px(p->w, "cx", px(l->x + r + 1));
        gp_svg_px(p->w, "cy", px(l->y - 4));
        gp_svg_px(p->w, "r", px(r));
        gp_svg_close(p->w);
        draw_text(p, NULL, l->x + 2 * r + 6, l->y);
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
        any |= has_level(q, p->spots[i], l1);
    }
    if (!any) return;
    gp_buf_puts(&p->text, l1 ? "per byte of L1" : "per byte of L2");
    double width = 10 + 6 + text_width(p) + 14;
    place(l, width);
    if (draw) {
        draw_text(p, NULL, l->x + 16, l->y);
        draw_level(p, (struct spot){.x = l->x + 5, .y = l->y - 4}, l->x + 5, l1);
    }
    p->text.n = 0;
    l->x += width;
}

/* The kinds, then what areas and bars mean. Where the next row would be. */
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
    p->at = n ? (struct box){44, 20, 204, 250} : (struct box){52, 20, 684, 420};
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
    int height = (int)ceil(put_legend(&p, p.at.y + p.at.height + 62, false));
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
    gp_page_open(w, "svg", c->narrow ? "roofline narrow" : "roofline");
    gp_buf_printf(&p.text, "0 0 %d %d", width, height);
    gp_svg_attr_n(w, "viewBox", p.text.data, p.text.n);
    p.text.n = 0;
    gp_svg_int(w, "width", width);
    gp_svg_int(w, "height", height);
    gp_svg_attr(w, "role", "img");
    gp_svg_attr(w, "aria-label", "Roofline: arithmetic per byte, and its rate");
    gp_svg_newline(w);
    draw_axes(&p);
    draw_rug(&p);
    draw_roofs(&p);
    draw_points(&p);
    put_legend(&p, p.at.y + p.at.height + 62, true);
    gp_svg_close(w);
    gp_svg_newline(w);
    gp_buf_release(&p.text);
}
