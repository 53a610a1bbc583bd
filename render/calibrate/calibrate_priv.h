/* calibrate_priv.h -- private: the tables, the JSON and the pictures of measurements. */
#ifndef GP_RENDER_CALIBRATE_CALIBRATE_PRIV_H
#define GP_RENDER_CALIBRATE_CALIBRATE_PRIV_H

#include "analyze/calibrate/calibration.h"
#include "analyze/calibrate/compare.h"
#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* ---- reports: a verdict, and tables of figures, peers, comparisons and sweeps ---- */

/* The figures of all devices, and the copies between them. */
void gp_calibrate_report(struct gp_report *r, const struct gp_calibration *c);
/* Each figure of each device beside the base, called BASE ("ceilings.json", "the data sheet"). */
void gp_calibrate_compare_report(struct gp_report *r, const struct gp_calibration *c,
                                 const struct gp_compare *compare, const char *base);
/* Operations over sizes. */
void gp_sweep_report(struct gp_report *r, const struct gp_calibration *c);

/* Append a number of elements: "190k", "1.05M". */
void gp_calibrate_put_elements(struct gp_buf *b, double n);
/* Append one sentence of each border of O, or that there is none. */
void gp_sweep_put_words(struct gp_buf *b, const struct gp_sweep_op *o);

/* ---- pictures ---- */

/* Operations over their sizes as four small charts: time, elements per second, bytes per second under the
 * memory's ceiling, and their bounds. One at a time for a page, or all four as a picture of their own. */

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
