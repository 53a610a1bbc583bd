/* diff_charts.h -- the charts of a comparison as figures of a page: the parts of the step time before and
 * after, and which changes are large and certain. Measures nothing.
 *
 *     gp_diff_chart_waterfall(&w, &diff, 20);
 *     gp_diff_waterfall_svg(&buf, &diff, 0, "a.json -> b.json");     // as a separate file
 */
#ifndef GP_RENDER_DIFF_CHARTS_H
#define GP_RENDER_DIFF_CHARTS_H

#include "analyze/diff/diff.h"
#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"

/* Elements <figure>; nothing if there is nothing to show. At most TOP terms and two sums (0: as many as
 * fit). */
void gp_diff_chart_waterfall(struct gp_svg *w, const struct gp_diff *d, size_t top);
void gp_diff_chart_volcano(struct gp_svg *w, const struct gp_diff *d);

/* The waterfall as an SVG file. INPUT names what was compared. */
void gp_diff_waterfall_svg(struct gp_buf *out, const struct gp_diff *d, size_t top, const char *input);

#endif
