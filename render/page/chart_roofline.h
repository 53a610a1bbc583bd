/* chart_roofline.h -- a roofline plot as one SVG element: arithmetic per byte against its rate, both
 * logarithmic, under the limits of the device. A circle's area is its share of the time; a bar through it
 * shows the uncertainty of its bytes. Where counters measured the bytes of the caches, a square and a
 * triangle at the same rate show the arithmetic per byte of L2 and of L1. Kernels without arithmetic are at
 * the left edge, as far below the memory slope as their bandwidth is below the memory's; those too short for
 * either limit are a hatched column there. Its style is assets/roofline.css and the palette of the page.
 *
 *     if (r->points.n) gp_chart_roofline(&w, &(struct gp_chart_roofline){.r = r, .names = &s->strings});
 */
#ifndef GP_RENDER_CHART_ROOFLINE_H
#define GP_RENDER_CHART_ROOFLINE_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/cost/roofline.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "render/draw/canvas_svg.h"

struct gp_chart_roofline {
    const struct gp_roofline *r;
    const struct gp_strings *names;
    bool counted; /* all was measured: each circle has marks of the caches, and roofs say so, too */
    bool narrow;  /* for a narrow window: GP_ROOFLINE_NARROW instead of GP_ROOFLINE_WIDTH pixels */
};

enum {
    GP_ROOFLINE_WIDTH = 880,
    GP_ROOFLINE_NARROW = 328,
    GP_ROOFLINE_POINTS = 150, /* circles at most: the longest */
};

/* Pixels, with the legend. */
int gp_chart_roofline_height(const struct gp_chart_roofline *c);
/* An element <svg class="roofline"> at the top left of its parent; nothing without points. */
void gp_chart_roofline(struct gp_svg *w, const struct gp_chart_roofline *c);

/* Total kernel time, ns: in the chart, too short for it, and unknown. */
int64_t gp_roofline_total_ns(const struct gp_roofline *r);
/* Three digits and the unit: "4.80 TB/s" for 4.8e12 and "B/s". */
void gp_roofline_put_rate(struct gp_buf *b, double v, const char *unit);
/* FLOP per byte: "0.083", "1.50", "207", "1,234". */
void gp_roofline_put_intensity(struct gp_buf *b, double v);

#endif
