/* metrics_roofline.h -- the roofline of measured kernels at three levels of memory, as two SVG elements, for wide and for narrow windows: for each kernel a mark
 * per level at its operations per byte, all at the rate it reached, under the peaks that the counters state. Its style is
 * assets/roofline.css.
 *
 *     if (gp_metrics_roofline(&drawn, &m)) gp_page_graph(&w, &drawn, "Roofline");
 */
#ifndef GP_RENDER_METRICS_ROOFLINE_H
#define GP_RENDER_METRICS_ROOFLINE_H

#include <stdbool.h>
#include "analyze/metrics/metrics.h"
#include "formats/base/buf.h"

/* False, and nothing appended, without kernels of known operations and bytes. */
bool gp_metrics_roofline(struct gp_buf *b, const struct gp_metrics *m);

#endif
