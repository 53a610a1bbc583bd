/* metrics_json.h -- counters as JSON: schemas/trace-metrics.schema.json. What was not measured is null.
 *
 *     gp_metrics_json_write(&b, &m, GP_VERSION);
 */
#ifndef GP_RENDER_METRICS_JSON_H
#define GP_RENDER_METRICS_JSON_H

#include "analyze/metrics/metrics.h"
#include "formats/base/declare.h"

void gp_metrics_json_write(struct gp_buf *b, const struct gp_metrics *m, const char *version);

#endif
