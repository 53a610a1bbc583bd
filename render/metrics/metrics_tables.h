/* metrics_tables.h -- hardware counters as a report: a verdict, what the counters say of each kernel, range
 * or launch, and their values one by one.
 *
 *     struct gp_report r = {0};
 *     gp_metrics_report(&r, &m, false);
 *     gp_report_text_write(&b, &r, &opts);
 */
#ifndef GP_RENDER_METRICS_TABLES_H
#define GP_RENDER_METRICS_TABLES_H

#include "analyze/metrics/metrics.h"
#include "render/report/report.h"

/* With VALUES, the table of single values is not a detail. */
void gp_metrics_report(struct gp_report *r, const struct gp_metrics *m, bool values);
/* "GH100", or all chips of the trace; "" unknown. Borrowed from B. */
const char *gp_metrics_chips(struct gp_buf *b, const struct gp_metrics *m);

#endif
