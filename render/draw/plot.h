/* plot.h -- the parts of all charts: linear and logarithmic axes, ticks with their grid lines, lines,
 * texts, boxes and circles, and places for names that are still free. Coordinates are pixels, written in
 * hundredths, so that equal input gives equal bytes. A text is taken from a scratch buffer, which is empty
 * after. Knows nothing about traces.
 *
 *     struct gp_frame f = {.x = {.log = true, .from = -1, .to = 3, .at = 52, .end = 736},
 *                          .y = {.to = 8, .at = 440, .end = 20}};
 *     gp_buf_puts(&text, "100");
 *     gp_frame_tick_x(w, &f, 100, 16, &text);
 *     gp_plot_circle(w, "dot", gp_axis_at(&f.x, 40), gp_axis_at(&f.y, 5), 4, NULL);
 */
#ifndef GP_RENDER_PLOT_H
#define GP_RENDER_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/scale.h"
#include "render/draw/canvas_svg.h"

/* ---- axes ---- */

struct gp_axis {
    bool log;        /* then FROM and TO are log10 of the values at the ends */
    double from, to; /* the values at the ends */
    double at, end;  /* where these are; a vertical axis begins below */
};
/* The left and the lower edge of a plot. */
struct gp_frame {
    struct gp_axis x, y;
};

/* Where V is; also beyond the ends. */
double gp_axis_at(const struct gp_axis *a, double v);
/* The value at AT. */
double gp_axis_value(const struct gp_axis *a, double at);

/* The least of 1, 2, 5, 10, 20, 50 ... that needs at most five steps up to MOST. */
int64_t gp_plot_step(int64_t most);
/* V of WHOLE mapped to 0..ROOM, rounded down, without overflow. */
int64_t gp_plot_scaled(int64_t v, int64_t whole, int64_t room);

/* A grid line at V through the plot, and its label: its base line BELOW the plot, or BESIDE it. */
void gp_frame_tick_x(struct gp_svg *w, const struct gp_frame *f, double v, double below, struct gp_buf *text);
void gp_frame_tick_y(struct gp_svg *w, const struct gp_frame *f, double v, double beside,
                     struct gp_buf *text);
/* The lower edge, and the left one. */
void gp_frame_base_x(struct gp_svg *w, const struct gp_frame *f);
void gp_frame_base_y(struct gp_svg *w, const struct gp_frame *f);

/* ---- shapes; CLASS is NULL for none, TITLE a tooltip or NULL ---- */

/* The start of a chart within a page or a picture. */
void gp_plot_begin(struct gp_svg *w, const char *class, int width, int height, const char *label);
/* The start of a picture of its own, as wide as its window at most, on the ground of style CSS. */
void gp_plot_picture(struct gp_svg *w, int width, int height, const char *label, const struct gp_buf *css);
void gp_plot_line(struct gp_svg *w, const char *class, double x1, double y1, double x2, double y2);
void gp_plot_rect(struct gp_svg *w, const char *class, double x, double y, double width, double height,
                  struct gp_buf *title);
void gp_plot_circle(struct gp_svg *w, const char *class, double x, double y, double r, struct gp_buf *title);
/* A path of the commands in D, which is empty after. */
void gp_plot_path(struct gp_svg *w, const char *class, struct gp_buf *d);
void gp_plot_text(struct gp_svg *w, const char *class, double x, double y, struct gp_buf *text);
/* The same, turned by ANGLE degrees around X, Y. */
void gp_plot_turned(struct gp_svg *w, const char *class, double x, double y, double angle,
                    struct gp_buf *text);
/* Append a change: V with its sign. */
void gp_plot_put_signed(struct gp_buf *b, enum gp_unit unit, int64_t v);
/* A tooltip of the open element; the text may have several lines. */
void gp_plot_title(struct gp_svg *w, struct gp_buf *text);

/* ---- places for names ---- */

struct gp_box {
    double x, y, width, height;
};
bool gp_box_meets(struct gp_box a, struct gp_box b);
/* Does B meet one of the N boxes? */
bool gp_box_taken(const struct gp_box *taken, size_t n, struct gp_box b);
/* How wide TEXT is with letters of ADVANCE pixels. */
double gp_plot_width(const struct gp_buf *text, double advance);
/* Cut the name in TEXT to ROOM pixels with letters of ADVANCE hundredths of a pixel. */
void gp_plot_fit(struct gp_buf *text, int room, int advance);

#endif
