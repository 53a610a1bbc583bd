#include "render/page/chart_roofline_priv.h"

#include <math.h>
#include <string.h>
#include "formats/base/scale.h"
#include "render/draw/text.h"
#include "render/page/page_html.h"

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

double gp_roofline_highest(const struct gp_roofline *r, bool memory)
{
    double most = 0;
    for (size_t i = 0; i < r->roofs.n && i < ROOFS; i++)
        if (r->roofs.at[i].memory == memory && r->roofs.at[i].per_s > most) most = r->roofs.at[i].per_s;
    return most;
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

void gp_roofline_draw_axes(struct plot *p)
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
void gp_roofline_put_roof(struct plot *p, const struct gp_roof *roof)
{
    gp_text_fit(&p->text, name_of(p, roof->name), gp_string_len(p->c->names, roof->name),
                p->c->narrow ? 8 : 12);
    gp_buf_putc(&p->text, ' ');
    gp_roofline_put_rate(&p->text, roof->per_s, roof->memory ? "B/s" : p->c->narrow ? "" : "FLOP/s");
}

/* The source of a roof, "measured" or "peak"; NULL: names do not show it. */
static const char *origin_of(const struct plot *p, const struct gp_roof *roof)
{
    if (!p->c->counted) return NULL;
    return roof->source == GP_CEILING_FILE ? "measured" : "peak";
}

double gp_roofline_room(const struct plot *p, struct gp_box box)
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
    for (int i = 0; i < SEGMENTS; i++) least = fmin(least, gp_roofline_room(p, segment(a, i)));
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
    double peak = gp_roofline_highest(p->r, false), x0 = pow(10, p->f.x.from), x1 = pow(10, p->f.x.to),
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
    gp_roofline_put_roof(p, roof);
    if (origin) gp_buf_printf(&p->text, ", %s", origin);
    if (!put_along(p, a, b, below) && origin) {
        gp_roofline_put_roof(p, roof);
        put_along(p, a, b, below);
    }
    gp_svg_close_line(p->w);
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
    double bandwidth = gp_roofline_highest(p->r, true), right = p->f.x.end;
    double from = bandwidth > 0 ? fmax(p->f.x.at, across(p, roof->per_s / bandwidth)) : p->f.x.at;
    if (!(roof->per_s > 0) || log10(roof->per_s) < p->f.y.from) return;
    double y = up(p, roof->per_s), label = fmax(y, *next);
    gp_page_open(p->w, "g", is_used(p, i) ? "roof" : "roof unused");
    draw_roof_title(p, roof);
    if (from < right) gp_plot_line(p->w, NULL, from, y, right, y);
    gp_plot_line(p->w, "lead", right, y, right + 6, label);
    gp_roofline_put_roof(p, roof);
    gp_plot_text(p->w, NULL, right + 9, label + 4, &p->text);
    *next = label + LINE;
    if (origin_of(p, roof)) {
        gp_buf_puts(&p->text, origin_of(p, roof));
        gp_plot_text(p->w, "tick", right + 9, *next + 4, &p->text);
        *next += LINE;
    }
    gp_svg_close_line(p->w);
}

void gp_roofline_draw_roofs(struct plot *p)
{
    double next = p->f.y.end;
    if (p->memory) draw_slope(p, p->memory, true);
    for (size_t i = 0; i < p->r->roofs.n && i < ROOFS; i++) {
        const struct gp_roof *roof = &p->r->roofs.at[i];
        if (!roof->memory) draw_flat(p, i, &next);
        else if (roof != p->memory) draw_slope(p, roof, false);
    }
}
