#include "render/draw/plot.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "render/draw/text.h"

/* ---- axes ---- */

double gp_axis_at(const struct gp_axis *a, double v)
{
    if (a->log) v = log10(v);
    return a->at + (v - a->from) / (a->to - a->from) * (a->end - a->at);
}

double gp_axis_value(const struct gp_axis *a, double at)
{
    double v = a->from + (at - a->at) * (a->to - a->from) / (a->end - a->at);
    return a->log ? pow(10, v) : v;
}

int64_t gp_plot_step(int64_t most)
{
    enum { MOST_TICKS = 5 };
    static const int mantissas[] = {1, 2, 5};
    for (int64_t power = 1; power < INT64_MAX / 100; power *= 10)
        for (int i = 0; i < 3; i++)
            if (most / (mantissas[i] * power) < MOST_TICKS) return mantissas[i] * power;
    return most;
}

int64_t gp_plot_scaled(int64_t v, int64_t whole, int64_t room)
{
    while (whole > INT64_MAX / 1000000) {
        whole /= 2;
        v /= 2;
    }
    return whole > 0 ? v * room / whole : 0;
}

void gp_frame_tick_x(struct gp_svg *w, const struct gp_frame *f, double v, double below, struct gp_buf *text)
{
    double x = gp_axis_at(&f->x, v);
    gp_plot_line(w, "rule", x, f->y.end, x, f->y.at);
    if (text->n) gp_plot_text(w, "tick mid", x, f->y.at + below, text);
}

void gp_frame_tick_y(struct gp_svg *w, const struct gp_frame *f, double v, double beside, struct gp_buf *text)
{
    double y = gp_axis_at(&f->y, v);
    gp_plot_line(w, "rule", f->x.at, y, f->x.end, y);
    if (text->n) gp_plot_text(w, "tick end", f->x.at - beside, y + 4, text);
}

void gp_frame_base_x(struct gp_svg *w, const struct gp_frame *f)
{
    gp_plot_line(w, "base", f->x.at, f->y.at, f->x.end, f->y.at);
}

void gp_frame_base_y(struct gp_svg *w, const struct gp_frame *f)
{
    gp_plot_line(w, "base", f->x.at, f->y.end, f->x.at, f->y.at);
}

/* ---- shapes ---- */

static int64_t centi(double v) { return llround(v * 100); }

static void open_shape(struct gp_svg *w, const char *element, const char *class)
{
    gp_svg_open(w, element);
    if (class) gp_svg_attr(w, "class", class);
}

static void put(struct gp_svg *w, const char *attribute, double v) { gp_svg_px(w, attribute, centi(v)); }

static void close_shape(struct gp_svg *w, struct gp_buf *title)
{
    if (title) gp_plot_title(w, title);
    gp_svg_close(w);
}

void gp_plot_begin(struct gp_svg *w, const char *class, int width, int height, const char *label)
{
    open_shape(w, "svg", class);
    gp_buf_printf(w->out, " viewBox=\"0 0 %d %d\"", width, height);
    gp_svg_int(w, "width", width);
    gp_svg_int(w, "height", height);
    gp_svg_attr(w, "role", "img");
    gp_svg_attr(w, "aria-label", label);
}

void gp_plot_picture(struct gp_svg *w, int width, int height, const char *label, const struct gp_buf *css)
{
    gp_svg_begin(w, width, height, label);
    gp_svg_attr(w, "style", "max-width:100%;height:auto");
    gp_svg_newline(w);
    gp_svg_style(w, css->data, css->n);
    open_shape(w, "rect", "page");
    gp_svg_attr(w, "width", "100%");
    gp_svg_attr(w, "height", "100%");
    gp_svg_close_line(w);
}

void gp_plot_line(struct gp_svg *w, const char *class, double x1, double y1, double x2, double y2)
{
    open_shape(w, "line", class);
    put(w, "x1", x1);
    put(w, "y1", y1);
    put(w, "x2", x2);
    put(w, "y2", y2);
    gp_svg_close(w);
}

void gp_plot_rect(struct gp_svg *w, const char *class, double x, double y, double width, double height,
                  struct gp_buf *title)
{
    open_shape(w, "rect", class);
    gp_svg_box(w, centi(x), centi(y), centi(width), centi(height));
    close_shape(w, title);
}

void gp_plot_circle(struct gp_svg *w, const char *class, double x, double y, double r, struct gp_buf *title)
{
    open_shape(w, "circle", class);
    put(w, "cx", x);
    put(w, "cy", y);
    put(w, "r", r);
    close_shape(w, title);
}

void gp_plot_path(struct gp_svg *w, const char *class, struct gp_buf *d)
{
    open_shape(w, "path", class);
    gp_svg_attr_n(w, "d", d->data, d->n);
    d->n = 0;
    gp_svg_close(w);
}

void gp_plot_text(struct gp_svg *w, const char *class, double x, double y, struct gp_buf *text)
{
    gp_plot_turned(w, class, x, y, 0, text);
}

void gp_plot_turned(struct gp_svg *w, const char *class, double x, double y, double angle,
                    struct gp_buf *text)
{
    open_shape(w, "text", class);
    if (angle != 0) {
        gp_buf_printf(w->out, " transform=\"translate(%.2f %.2f) rotate(%.2f)\"", x, y, angle);
    } else {
        put(w, "x", x);
        put(w, "y", y);
    }
    gp_svg_text(w, gp_buf_str(text), text->n);
    gp_svg_close(w);
    text->n = 0;
}

void gp_plot_put_signed(struct gp_buf *b, enum gp_unit unit, int64_t v)
{
    gp_buf_puts(b, v < 0 ? "\xE2\x88\x92" : v > 0 ? "+" : "");
    gp_scale_put(b, unit, v < 0 ? -v : v);
}

void gp_plot_title(struct gp_svg *w, struct gp_buf *text)
{
    const char *line = gp_buf_str(text), *end = line + text->n;
    gp_svg_open(w, "title");
    for (const char *stop; (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
        gp_svg_text(w, line, (size_t)(stop - line));
        gp_svg_newline(w);
    }
    gp_svg_text(w, line, (size_t)(end - line));
    gp_svg_close(w);
    text->n = 0;
}

/* ---- places for names ---- */

bool gp_box_meets(struct gp_box a, struct gp_box b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

bool gp_box_taken(const struct gp_box *taken, size_t n, struct gp_box b)
{
    for (size_t i = 0; i < n; i++)
        if (gp_box_meets(b, taken[i])) return true;
    return false;
}

double gp_plot_width(const struct gp_buf *text, double advance)
{
    return (double)gp_text_width(text->data ? text->data : "", text->n) * advance;
}

void gp_plot_fit(struct gp_buf *text, int room, int advance)
{
    struct gp_buf cut = {0};
    gp_text_fit_name(&cut, text->data, text->n, (size_t)room * 100 / (size_t)advance);
    gp_buf_release(text);
    *text = cut;
}
