#include "render/calibrate/calibrate_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/page/assets.h"
#include "render/page/chart_roofline.h"
#include "render/page/page_html.h"

enum { LEFT = 58, TOP = 30, RIGHT = 14, BOTTOM = 40, LINE = 18, MARGIN = 24, COLUMNS = 120 };

struct plot {
    struct gp_svg *w;
    const struct gp_sweep *s;
    enum gp_sweep_panel panel;
    struct gp_frame f;
    struct gp_buf text; /* scratch */
};

static size_t series(const struct plot *p)
{
    return p->s->ops.n < GP_SWEEP_SERIES ? p->s->ops.n : GP_SWEEP_SERIES;
}

/* The value of a point in the panel. */
static double value(const struct plot *p, const struct gp_sweep_point *q)
{
    if (p->panel == GP_SWEEP_TIME) return q->ns;
    return (double)(p->panel == GP_SWEEP_THROUGHPUT ? q->elements : q->bytes) / q->ns * 1e9;
}

static double across(const struct plot *p, double elements) { return gp_axis_at(&p->f.x, elements); }

static double up(const struct plot *p, double v) { return gp_axis_at(&p->f.y, v); }

static void find_range(struct plot *p)
{
    double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;
    for (size_t i = 0; i < series(p); i++)
        GP_EACH(const struct gp_sweep_point, q, p->s->ops.at[i].points) {
            x0 = fmin(x0, (double)q->elements);
            x1 = fmax(x1, (double)q->elements);
            y0 = fmin(y0, value(p, q));
            y1 = fmax(y1, value(p, q));
        }
    if (!(x1 > 0)) x0 = x1 = y0 = y1 = 1;
    if (x1 <= x0) x1 = x0 * 10;
    p->f.x = (struct gp_axis){true, log10(x0), log10(x1), LEFT, GP_SWEEP_WIDTH - RIGHT};
    p->f.y = (struct gp_axis){true, log10(y0 / 1.5), log10(y1 * 1.5), GP_SWEEP_HEIGHT - BOTTOM, TOP};
    if (p->panel != GP_SWEEP_BANDWIDTH) return;
    p->f.y.log = false;
    p->f.y.from = 0;
    p->f.y.to = 1.06 * fmax(y1, p->s->memory_per_s);
}

/* ---- marks ---- */

/* "1.00 M" is "1 M" at an axis. */
static void drop_zeros(struct gp_buf *b)
{
    char *point = b->n ? memchr(b->data, '.', b->n) : NULL;
    if (!point) return;
    size_t digits = strspn(point + 1, "0"), at = (size_t)(point - b->data), end = at + 1 + digits;
    if (end < b->n && b->data[end] >= '0' && b->data[end] <= '9') return;
    memmove(point, b->data + end, b->n - end);
    b->n -= end - at;
}

static void draw_x_axis(struct plot *p)
{
    int step = p->f.x.to - p->f.x.from > 5 ? 2 : 1;
    for (int power = (int)ceil(p->f.x.from); power <= p->f.x.to; power++) {
        if (power % step == 0) gp_calibrate_put_elements(&p->text, pow(10, power));
        gp_buf_str(&p->text);
        drop_zeros(&p->text);
        gp_frame_tick_x(p->w, &p->f, pow(10, power), 15, &p->text);
    }
    gp_frame_base_x(p->w, &p->f);
    gp_buf_puts(&p->text, "elements");
    gp_plot_text(p->w, "tick mid", (p->f.x.at + p->f.x.end) / 2, p->f.y.at + 31, &p->text);
}

static void draw_tick(struct plot *p, double v)
{
    gp_buf_str(&p->text); /* ends it for strspn() */
    if (p->panel == GP_SWEEP_TIME) gp_scale_put(&p->text, GP_UNIT_NS, llround(v));
    else gp_roofline_put_rate(&p->text, v, p->panel == GP_SWEEP_BANDWIDTH ? "B/s" : "");
    gp_buf_str(&p->text);
    drop_zeros(&p->text);
    gp_frame_tick_y(p->w, &p->f, v, 6, &p->text);
}

static void draw_y_axis(struct plot *p)
{
    if (p->panel == GP_SWEEP_BANDWIDTH) {
        /* The least of 1, 2, 5, 10 ... times a power of ten that needs at most six steps up to MOST. */
        double unit = pow(10, floor(log10(p->f.y.to / 6)));
        double step = p->f.y.to / unit <= 6    ? unit
                      : p->f.y.to / unit <= 12 ? 2 * unit
                      : p->f.y.to / unit <= 30 ? 5 * unit
                                               : 10 * unit;
        for (int i = 1; i * step <= p->f.y.to; i++) draw_tick(p, i * step);
    } else {
        for (int power = (int)ceil(p->f.y.from); power <= p->f.y.to; power++) draw_tick(p, pow(10, power));
    }
    gp_frame_base_y(p->w, &p->f);
}

static void draw_series(struct plot *p, size_t i)
{
    const struct gp_sweep_op *o = &p->s->ops.at[i];
    char class[8], whisker[24];
    snprintf(class, sizeof class, "s%zu", i);
    snprintf(whisker, sizeof whisker, "whisker s%zu", i);
    for (size_t k = 0; k < o->points.n; k++)
        gp_buf_printf(&p->text, "%s%.2f,%.2f", k ? " " : "", across(p, (double)o->points.at[k].elements),
                      up(p, value(p, &o->points.at[k])));
    gp_page_open(p->w, "polyline", class);
    gp_svg_attr_n(p->w, "points", p->text.data, p->text.n);
    gp_svg_close(p->w);
    p->text.n = 0;
    GP_EACH(const struct gp_sweep_point, q, o->points) {
        double x = across(p, (double)q->elements);
        if (p->panel == GP_SWEEP_TIME && q->high_ns > q->low_ns)
            gp_plot_line(p->w, whisker, x, up(p, q->low_ns), x, up(p, q->high_ns));
        gp_buf_printf(&p->text, "%s %s, %s elements: %s, ", o->name, o->type, GP_COUNTED(q->elements),
                      GP_NS(llround(q->ns)));
        gp_roofline_put_rate(&p->text, (double)q->bytes / q->ns * 1e9, "B/s");
        gp_plot_circle(p->w, class, x, up(p, value(p, q)), 2.6, &p->text);
    }
}

static void draw_ceiling(struct plot *p)
{
    if (p->panel != GP_SWEEP_BANDWIDTH || p->s->memory_per_s <= 0) return;
    double y = up(p, p->s->memory_per_s);
    gp_plot_line(p->w, "ceiling", LEFT, y, GP_SWEEP_WIDTH - RIGHT, y);
    gp_buf_puts(&p->text, "memory ");
    gp_roofline_put_rate(&p->text, p->s->memory_per_s, "B/s");
    gp_plot_text(p->w, "tick", LEFT + 6, y - 5, &p->text);
}

/* The names of the series, in the corner where lines are not: times and rates rise to the right. */
static void draw_names(struct plot *p)
{
    for (size_t i = 0; i < series(p); i++) {
        char class[24];
        double y = TOP + 14 + 15 * (double)i;
        snprintf(class, sizeof class, "s%zu", i);
        gp_plot_rect(p->w, class, LEFT + 10, y - 8, 10, 8, NULL);
        gp_buf_printf(&p->text, "%s %s", p->s->ops.at[i].name, p->s->ops.at[i].type);
        gp_plot_text(p->w, "tick", LEFT + 26, y, &p->text);
    }
}

/* ---- bounds: a band per operation ---- */

static void draw_band(struct plot *p, enum gp_sweep_regime r, double from, double to, double y, double height)
{
    static const char *const words[] = {"launch", "L2 cache", "memory", "arithmetic", "unknown"};
    double x = across(p, from), width = across(p, to) - x;
    gp_buf_puts(&p->text, words[r]);
    gp_plot_rect(p->w, gp_sweep_regime_name(r), x, y, width, height, &p->text);
    if (width < 8.0 * (double)strlen(words[r])) return;
    gp_buf_puts(&p->text, words[r]);
    gp_plot_text(p->w, r == GP_SWEEP_MEMORY ? "on light mid" : "on mid", x + width / 2, y + height / 2 + 4,
                 &p->text);
}

static void draw_bounds(struct plot *p)
{
    double room = (double)(GP_SWEEP_HEIGHT - TOP - BOTTOM) / (double)(series(p) ? series(p) : 1);
    for (size_t i = 0; i < series(p); i++) {
        const struct gp_sweep_op *o = &p->s->ops.at[i];
        double height = fmin(room - 18, 30), y = TOP + room * (double)i + 16;
        gp_buf_printf(&p->text, "%s %s", o->name, o->type);
        gp_plot_text(p->w, "tick", LEFT, y - 4, &p->text);
        if (!o->points.n) continue;
        double from = (double)o->points.at[0].elements;
        for (size_t k = 0; k < o->borders.n; k++) {
            draw_band(p, o->borders.at[k].below, from, o->borders.at[k].elements, y, height);
            from = o->borders.at[k].elements;
        }
        const struct gp_sweep_point *last = &o->points.at[o->points.n - 1];
        draw_band(p, last->regime, from, (double)last->elements, y, height);
    }
}

void gp_sweep_panel(struct gp_svg *w, const struct gp_sweep *s, enum gp_sweep_panel panel)
{
    static const char *const titles[] = {"Time of a call", "Elements per second",
                                         "Bytes read and written per second", "What bounds it"};
    struct plot p = {.w = w, .s = s, .panel = panel};
    find_range(&p);
    gp_plot_begin(w, "sweep", GP_SWEEP_WIDTH, GP_SWEEP_HEIGHT, titles[panel]);
    gp_buf_puts(&p.text, titles[panel]);
    gp_plot_text(w, "title", LEFT, 16, &p.text);
    draw_x_axis(&p);
    if (panel == GP_SWEEP_BOUND) {
        draw_bounds(&p);
    } else {
        draw_y_axis(&p);
        draw_ceiling(&p);
        for (size_t i = 0; i < series(&p); i++) draw_series(&p, i);
        if (panel == GP_SWEEP_TIME) draw_names(&p);
    }
    gp_svg_close_line(w);
    gp_buf_release(&p.text);
}

/* ---- a picture of its own ---- */

void gp_sweep_svg(struct gp_buf *out, const struct gp_calibration *c)
{
    struct gp_svg w = {.out = out};
    struct gp_buf title = {0}, words = {0}, css = {0};
    size_t n = c->sweep.ops.n < GP_SWEEP_SERIES ? c->sweep.ops.n : GP_SWEEP_SERIES;
    int head = 48 + LINE * (int)n + 8;
    gp_buf_puts(&title, "Operations over their sizes: ");
    gp_text_fit(&title, c->devices[0].device, strlen(c->devices[0].device), COLUMNS / 2);
    gp_buf_put(&css, gp_asset_change_svg_css.data, gp_asset_change_svg_css.n);
    gp_buf_put(&css, gp_asset_sweep_css.data, gp_asset_sweep_css.n);
    gp_plot_picture(&w, 2 * GP_SWEEP_WIDTH + 3 * MARGIN, head + 2 * (GP_SWEEP_HEIGHT + MARGIN),
                    gp_buf_str(&title), &css);
    gp_plot_text(&w, "h1", MARGIN, 34, &title);
    gp_svg_newline(&w);
    for (size_t i = 0; i < n; i++) {
        const struct gp_sweep_op *o = &c->sweep.ops.at[i];
        gp_buf_printf(&words, "%s %s: ", o->name, o->type);
        gp_sweep_put_words(&words, o);
        gp_plot_text(&w, "h2", MARGIN, 56 + LINE * (int)i, &words);
        gp_svg_newline(&w);
    }
    for (int p = 0; p < GP_SWEEP_PANELS; p++) {
        words.n = 0;
        gp_buf_printf(&words, "translate(%d %d)", MARGIN + p % 2 * (GP_SWEEP_WIDTH + MARGIN),
                      head + p / 2 * (GP_SWEEP_HEIGHT + MARGIN));
        gp_svg_open(&w, "g");
        gp_svg_attr_n(&w, "transform", words.data, words.n);
        gp_sweep_panel(&w, &c->sweep, (enum gp_sweep_panel)p);
        gp_svg_close(&w);
    }
    gp_svg_end(&w);
    GP_RELEASE(gp_buf_release, &title, &words, &css);
}
