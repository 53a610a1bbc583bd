/* change_svg.h -- pictures of changes between two runs: a volcano plot and a waterfall. */
#ifndef GP_RENDER_DRAW_CHANGE_SVG_H
#define GP_RENDER_DRAW_CHANGE_SVG_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/scale.h"
#include "render/draw/canvas_svg.h"

/* ---- a volcano plot ---- */

/* Many changes at once, as one SVG element: size (left to right) against certainty (upwards), with the
 * thresholds that a change has to exceed to count. Knows nothing about traces. */

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
    const char *label;                 /* for screen readers */
    const struct gp_volcano_dot *dots; /* the first are labelled where there is room */
    size_t dots_n;
    double alpha;     /* dots above this line are not by chance */
    double floor_pct; /* dots between -floor and +floor are within the noise */
};

enum { GP_VOLCANO_WIDTH = 960, GP_VOLCANO_HEIGHT = 400 };

/* An element <svg class="chart volcano"> at the top left of its parent; its style is assets/change.css. */
void gp_volcano_svg(struct gp_svg *w, const struct gp_volcano *v);

/* ---- a waterfall ---- */

/* How one number became another, as one SVG element: a bar for the first value, one for each change,
 * starting where the previous one ended, and a bar for the last value. The end of the last change is the end
 * of the last bar, to the pixel. Each bar has its own row, so texts never overlap. Knows nothing about
 * traces. */

/* Strings may come from a trace. */
struct gp_waterfall_bar {
    const char *label;
    const char *full; /* first line of the tooltip; NULL: the label */
    const char *note; /* second line; NULL */
    int64_t change;
};

struct gp_waterfall {
    const char *label; /* for screen readers */
    const char *from_name, *to_name;
    int64_t from, to; /* >= 0; FROM and all changes sum to TO */
    enum gp_unit unit;
    const struct gp_waterfall_bar *bars;
    size_t bars_n;
};

/* In pixels. */
enum { GP_WATERFALL_WIDTH = 960 };
int gp_waterfall_height(const struct gp_waterfall *f);

/* An element <svg class="chart waterfall"> at the top left of its parent; its style is assets/change.css. */
void gp_waterfall_svg(struct gp_svg *w, const struct gp_waterfall *f);

#endif
