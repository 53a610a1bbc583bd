/* metrics_roofline.h -- the roofline of measured kernels at three levels of memory, as two SVG elements, for wide and for narrow
 * windows: for each kernel a mark per level at its operations per byte, all at the rate it reached, under what the device was
 * measured to do, or else under the peaks that the counters state; each line says which. Its style is assets/roofline.css.
 *
 *     if (gp_metrics_roofline(&drawn, &m, NULL)) gp_page_graph(&w, &drawn, "Roofline");
 */
#ifndef GP_RENDER_METRICS_ROOFLINE_H
#define GP_RENDER_METRICS_ROOFLINE_H

#include <stddef.h>
#include "analyze/cost/ceilings.h"
#include "analyze/metrics/metrics.h"
#include "formats/base/buf.h"

/* Returns how many kernels are in it; 0, and nothing appended, if no kernel has known operations and bytes. MEASURED: ceilings of
 * the device, NULL none. */
size_t gp_metrics_roofline(struct gp_buf *b, const struct gp_metrics *m, const struct gp_ceilings *measured);

#endif
