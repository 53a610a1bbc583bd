/* hta_openmetrics.h -- the answer of trace-hta as OpenMetrics text, which Prometheus and what speaks its
 * language scrape: at most 200 series per process, seconds and bytes, kernels by a hash whose info series has
 * the name.
 *
 *     gp_hta_openmetrics(&buf, &hta);
 */
#ifndef GP_RENDER_HTA_OPENMETRICS_H
#define GP_RENDER_HTA_OPENMETRICS_H

#include "formats/base/declare.h"

struct gp_hta;

/* H must be finished. Appends all metric families and the end mark. */
void gp_hta_openmetrics(struct gp_buf *b, const struct gp_hta *h);

#endif
