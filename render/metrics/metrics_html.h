/* metrics_html.h -- counters as one page: verdict, the roofline at three levels of memory, tables.
 *
 *     gp_metrics_html_write(&b, &m, NULL, "app.trace", NULL);
 */
#ifndef GP_RENDER_METRICS_HTML_H
#define GP_RENDER_METRICS_HTML_H

#include "analyze/cost/ceilings.h"
#include "analyze/metrics/metrics.h"
#include "formats/base/declare.h"

/* MEASURED: ceilings of the device, NULL none. INPUT is what the heading says, NULL: standard input; OPTIONS
 * as typed, NULL: none. */
void gp_metrics_html_write(struct gp_buf *b, const struct gp_metrics *m, const struct gp_ceilings *measured,
                           const char *input, const char *options);

#endif
