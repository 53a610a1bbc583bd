/* calibrate_report.h -- what was measured as a report: a verdict, and tables of figures, peers, comparisons
 * and sweeps.
 *
 *     struct gp_report r = {0};
 *     gp_calibrate_report(&r, &c);
 *     gp_report_text_write(&b, &r, &opts);
 */
#ifndef GP_RENDER_CALIBRATE_REPORT_H
#define GP_RENDER_CALIBRATE_REPORT_H

#include "analyze/calibrate/calibration.h"
#include "analyze/calibrate/compare.h"
#include "render/report/report.h"

/* The figures of all devices, and the copies between them. */
void gp_calibrate_report(struct gp_report *r, const struct gp_calibration *c);
/* Each figure of each device beside the base, called BASE ("ceilings.json", "the data sheet"). */
void gp_calibrate_compare_report(struct gp_report *r, const struct gp_calibration *c,
                                 const struct gp_compare *compare, const char *base);
/* Operations over sizes. */
void gp_sweep_report(struct gp_report *r, const struct gp_calibration *c);

/* Append V as figure F is written: "4.30 TB/s", "797 TFLOP/s", "2.77 us". */
void gp_calibrate_put_figure(struct gp_buf *b, enum gp_figure f, double v);
/* Append a number of elements: "190k", "1.05M". */
void gp_calibrate_put_elements(struct gp_buf *b, double n);
/* Append one sentence of each border of O, or that there is none. */
void gp_sweep_put_words(struct gp_buf *b, const struct gp_sweep_op *o);

#endif
