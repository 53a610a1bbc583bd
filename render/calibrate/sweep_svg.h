/* sweep_svg.h -- operations over their sizes as four small charts: time, elements per second, bytes per
 * second under the memory's ceiling, and what bounds them. One at a time for a page, or all four as a picture
 * of their own. Measures nothing.
 *
 *     for (enum gp_sweep_panel p = 0; p < GP_SWEEP_PANELS; p++) gp_sweep_panel(&w, &c.sweep, p);
 */
#ifndef GP_RENDER_SWEEP_SVG_H
#define GP_RENDER_SWEEP_SVG_H

#include "analyze/calibrate/calibration.h"
#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"

enum gp_sweep_panel {
    GP_SWEEP_TIME,
    GP_SWEEP_THROUGHPUT,
    GP_SWEEP_BANDWIDTH,
    GP_SWEEP_BOUND,
    GP_SWEEP_PANELS
};
enum { GP_SWEEP_WIDTH = 440, GP_SWEEP_HEIGHT = 300, GP_SWEEP_SERIES = 8 };

/* An element <svg class="sweep"> of GP_SWEEP_WIDTH x GP_SWEEP_HEIGHT; the first GP_SWEEP_SERIES operations. S
 * is settled. */
void gp_sweep_panel(struct gp_svg *w, const struct gp_sweep *s, enum gp_sweep_panel panel);
/* All panels with a heading and one sentence per operation: a file. */
void gp_sweep_svg(struct gp_buf *out, const struct gp_calibration *c);

#endif
