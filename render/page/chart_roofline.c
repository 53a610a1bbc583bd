#include "render/page/chart_roofline.h"

#include <math.h>
#include <string.h>
#include "analyze/cost/regime.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/page/page_html.h"
#include "render/draw/palette.h"
#include "render/draw/plot.h"
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

struct spot {
    double x, y, r;
    bool beyond; /* it is outside, and drawn at the edge */
};

struct plot {
    struct gp_svg *w;
    const struct gp_chart_roofline *c;
    const struct gp_roofline *r;
    const struct gp_roof *memory;
    struct gp_frame f;
    double all_ns; /* of all kernels */
    size_t points; /* that are drawn */
    struct spot spots[GP_ROOFLINE_POINTS];
    struct gp_box bars[GP_ROOFLINE_POINTS];
    struct gp_box levels[GP_ROOFLINE_POINTS]; /* from the marks of the caches to the circle */
    struct gp_box taken[TAKEN];               /* by words */
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

/* ---- where things are ---- */

static double across(const struct plot *p, double intensity)
{
    return gp_axis_at(&p->f.x, intensity);
}

static double up(const struct plot *p, double flops)
{
    return gp_axis_at(&p->f.y, flops);
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
        widen(&x0, &x1, intensity_of(q) / 1.5);
        widen(&x0, &x1, intensity_of(q) * 1.5);
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

/* What the marks of the caches cover, to the middle of the circle; without width if there are none. */
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

/* ---- marks ---- */

static double text_width(const struct plot *p)
{
    return gp_plot_width(&p->text, ADVANCE / 10.0);
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
    const struct gp_axis *x = &p->f.x, *y = &p->f.y;
    int step = p->c->narrow && x->to - x->from > 5 ? 2 : 1, left = has_no_flop(p) ? NO_FLOP + 34 : 0;
    for (int power = (int)ceil(x->from); power <= x->to; power++) {
        if (power % step == 0 && across(p, pow(10, power)) - x->at >= left) put_tick(p, power, false);
        gp_frame_tick_x(p->w, &p->f, pow(10, power), 16, &p->text);
    }
    for (int power = (int)ceil(y->from); power <= y->to; power++) {
        put_tick(p, power, true);
        gp_frame_tick_y(p->w, &p->f, pow(10, power), 7, &p->text);
    }
    gp_frame_base_x(p->w, &p->f);
    gp_frame_base_y(p->w, &p->f);
    if (has_no_flop(p)) {
        gp_buf_puts(&p->text, "none");
        gp_plot_text(p->w, "tick mid", x->at + NO_FLOP, y->at + 16, &p->text);
    }
    gp_buf_puts(&p->text, "FLOP/s");
    gp_plot_text(p->w, "tick end", x->at - 7, y->end - 4, &p->text);
    gp_buf_puts(&p->text, p->c->narrow ? "FLOP per byte of memory" : "FLOP per byte read or written");
    gp_plot_text(p->w, "tick mid", (x->at + x->end) / 2, y->at + 33, &p->text);
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
    gp_plot_title(p->w, &p->text);
}

/* "bf16 989 TFLOP/s", where there is little room "bf16 989 T" */
static void put_roof(struct plot *p, const struct gp_roof *roof)
{
    gp_text_fit(&p->text, name_of(p, roof->name), gp_string_len(p->c->names, roof->name),
                p->c->narrow ? 8 : 12);
    gp_buf_putc(&p->text, ' ');
    gp_roofline_put_rate(&p->text, roof->per_s, roof->memory ? "B/s" : p->c->narrow ? "" : "FLOP/s");
}

/* Where that is from, "measured" or "peak"; NULL: names do not say it. */
static const char *origin_of(const struct plot *p, const struct gp_roof *roof)
{
    if (!p->c->counted) return NULL;
    return roof->source == GP_CEILING_FILE ? "measured" : "peak";
}

static void take(struct plot *p, struct gp_box b)
{
    if (p->n_taken < TAKEN) p->taken[p->n_taken++] = b;
}

/* Distance of BOX from the nearest circle; 0 if it overlaps a circle or a text. */
static double room_of(const struct plot *p, struct gp_box box)
{
    double least = 1e6;
    if (gp_box_taken(p->taken, p->n_taken, box)) return 0;
    for (size_t i = 0; i < p->points; i++) {
        struct spot s = p->spots[i];
        double dx = fmax(fmax(box.x - s.x, s.x - box.x - box.width), 0);
        double dy = fmax(fmax(box.y - s.y, s.y - box.y - box.height), 0);
        double d = hypot(dx, dy) - s.r;
        if (d < least) least = d;
        if (gp_box_meets(box, p->bars[i]) || gp_box_meets(box, p->levels[i])) return 0;
    }
    return least > 0 ? least : 0;
}

/* A name along a slope: its middle, its direction, how long it is. */
struct along {
    double x, y, dx, dy, width;
};

/* One of the boxes that it covers. */
static struct gp_box segment(const struct along *a, int i)
{
    double t = ((double)i + .5) / SEGMENTS - .5;
    return (struct gp_box){a->x + a->dx * a->width * t - LINE / 2.0,
                           a->y + a->dy * a->width * t - LINE / 2.0 - 3, LINE, LINE};
}

static double room_along(const struct plot *p, const struct along *a)
{
    double least = 1e6;
    for (int i = 0; i < SEGMENTS; i++) least = fmin(least, room_of(p, segment(a, i)));
    return least;
}

/* The text along a slope, where most room is: above the line, or BELOW it. False where there is none. */
static bool put_along(struct plot *p, struct spot from, struct spot to, bool below)
{
    double length = hypot(to.x - from.x, to.y - from.y), best = 0, shift = below ? LINE : -5;
    struct along a = {.dx = (to.x - from.x) / length, .dy = (to.y - from.y) / length}, found = a;
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
        gp_plot_turned(p->w, "halo mid", found.x, found.y, atan2(found.dy, found.dx) * 180 / acos(-1),
                       &p->text);
    }
    p->text.n = 0;
    return best > 0;
}

static void draw_slope(struct plot *p, const struct gp_roof *roof, bool below)
{
    double peak = highest(p->r, false), x0 = pow(10, p->f.x.from), x1 = pow(10, p->f.x.to),
           y0 = pow(10, p->f.y.from);
    if (!(peak > 0)) peak = pow(10, p->f.y.to);
    double from = fmax(x0, y0 / roof->per_s), to = fmin(x1, peak / roof->per_s);
    if (!(roof->per_s > 0) || from >= to) return;
    struct spot a = {.x = across(p, from), .y = up(p, from * roof->per_s)};
    struct spot b = {.x = across(p, to), .y = up(p, to * roof->per_s)};
    gp_page_open(p->w, "g", roof == p->memory ? "roof" : "roof cache");
    draw_roof_title(p, roof);
    gp_plot_line(p->w, NULL, a.x, a.y, b.x, b.y);
    /* The name of a slope, with its origin if there is room for both. */
    const char *origin = origin_of(p, roof);
    put_roof(p, roof);
    if (origin) gp_buf_printf(&p->text, ", %s", origin);
    if (!put_along(p, a, b, below) && origin) {
        put_roof(p, roof);
        put_along(p, a, b, below);
    }
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static bool is_used(const struct plot *p, size_t roof)
{
    for (size_t i = 0; i < p->r->points.n; i++)
        if (p->r->points.at[i].roof == roof) return true;
    return false;
}

/* Names stand right of the plot, one below the other, and their origin below them. */
static void draw_flat(struct plot *p, size_t i, double *next)
{
    const struct gp_roof *roof = &p->r->roofs.at[i];
    double bandwidth = highest(p->r, true), right = p->f.x.end;
    double from = bandwidth > 0 ? fmax(p->f.x.at, across(p, roof->per_s / bandwidth)) : p->f.x.at;
    if (!(roof->per_s > 0) || log10(roof->per_s) < p->f.y.from) return;
    double y = up(p, roof->per_s), label = fmax(y, *next);
    gp_page_open(p->w, "g", is_used(p, i) ? "roof" : "roof unused");
    draw_roof_title(p, roof);
    if (from < right) gp_plot_line(p->w, NULL, from, y, right, y);
    gp_plot_line(p->w, "lead", right, y, right + 6, label);
    put_roof(p, roof);
    gp_plot_text(p->w, NULL, right + 9, label + 4, &p->text);
    *next = label + LINE;
    if (origin_of(p, roof)) {
        gp_buf_puts(&p->text, origin_of(p, roof));
        gp_plot_text(p->w, "tick", right + 9, *next + 4, &p->text);
        *next += LINE;
    }
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static void draw_roofs(struct plot *p)
{
    double next = p->f.y.end;
    if (p->memory) draw_slope(p, p->memory, true);
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (!roof->memory) draw_flat(p, i, &next);
        else if (roof != p->memory) draw_slope(p, roof, false);
    }
}

/* ---- circles ---- */

static void draw_title(struct plot *p, const struct gp_roofline_point *q)
{
    const struct gp_roof *roof = gp_roofline_nearest(p->r, q);
    gp_text_clean(&p->text, name_of(p, q->label), gp_string_len(p->c->names, q->label));
    gp_buf_putc(&p->text, '\n');
    gp_scale_put_count(&p->text, q->count);
    gp_buf_puts(&p->text, q->count == 1 ? " kernel, " : " kernels, ");
    gp_scale_put(&p->text, GP_UNIT_NS, q->total_ns);
    gp_buf_printf(&p->text, ", %.1f%% of the total time", 100 * (double)q->total_ns / p->all_ns);
    gp_buf_putc(&p->text, '\n');
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
        /* "measured: 12.0 FLOP per byte of L2, 3.10 of L1" */
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
        put_roof(p, roof);
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
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
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
            if (!is_inside(p, l.box) || !(room_of(p, l.box) > 0)) continue;
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
    gp_buf_puts(&p->text, "Kernels barely longer than an empty one, too short for either roof: ");
    gp_scale_put(&p->text, GP_UNIT_NS, p->r->latency_ns);
    gp_buf_printf(&p->text, ", %.1f%% of the total time", 100 * share);
    gp_plot_title(p->w, &p->text);
    gp_plot_rect(p->w, "k-idle", p->f.x.at, bottom - height, RUG, height, NULL);
    gp_buf_puts(&p->text, p->c->narrow ? "too short: " : "too short for either: ");
    gp_scale_put_share(&p->text, p->r->latency_ns, gp_roofline_total_ns(p->r));
    take(p, (struct gp_box){p->f.x.at + RUG, bottom - LINE - 4, text_width(p) + 8, LINE});
    gp_plot_text(p->w, "halo", p->f.x.at + RUG + 5, bottom - 7, &p->text);
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
    draw_axes(&p);
    draw_rug(&p);
    draw_roofs(&p);
    draw_points(&p);
    put_legend(&p, p.f.y.at + 62, true);
    gp_svg_close(w);
    gp_svg_newline(w);
    gp_buf_release(&p.text);
}
