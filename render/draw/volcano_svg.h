/* volcano_svg.h -- many changes at once, as one SVG element: size (left to right) against certainty
 * (upwards), with the thresholds that a change has to exceed to count. Knows nothing about traces.
 *
 *     struct gp_volcano_dot dots[] = {{.label = "gemm", .change_pct = 12, .q = 0.001, .weight = 5, .k = "worse"}};
 *     gp_volcano_svg(&w, &(struct gp_volcano){.label = "Operations", .dots = dots, .dots_n = 1, .alpha = .05, .floor_pct = 1});
 */
#ifndef GP_RENDER_VOLCANO_SVG_H
#define GP_RENDER_VOLCANO_SVG_H

#include <stddef.h>
#include "render/draw/canvas_svg.h"

/* Strings may come from a trace. */
struct gp_volcano_dot {
    const char *label;
    const char *full;  /* the tooltip, lines of text */
    double change_pct; /* INFINITY: there was nothing before */
    double q;          /* at most 1; 0: it is certain, and drawn at the top */
    double weight;     /* its area; >= 0 */
    const char *k;     /* "worse", "better", "same", "unsure" */
};

struct gp_volcano {
    const char *label;                 /* what it shows, for those who do not see it */
    const struct gp_volcano_dot *dots; /* the first are labelled where there is room */
    size_t dots_n;
    double alpha;     /* dots above this line are not by chance */
    double floor_pct; /* dots between -floor and +floor are within the noise */
};

enum { GP_VOLCANO_WIDTH = 960, GP_VOLCANO_HEIGHT = 400 };

/* An element <svg class="chart volcano"> at the top left of what is open; its style is assets/change.css. */
void gp_volcano_svg(struct gp_svg *w, const struct gp_volcano *v);

#endif
