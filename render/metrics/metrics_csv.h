/* metrics_csv.h -- counters as RFC 4180: a line per value, or a line per group with a column for each metric
 * and figure. What was not measured is an empty field.
 *
 *     gp_metrics_csv_long(&b, &m, -1);
 *     gp_metrics_csv_wide(&b, &m, GP_REDUCE_SUM);
 */
#ifndef GP_RENDER_METRICS_CSV_H
#define GP_RENDER_METRICS_CSV_H

#include "analyze/metrics/metrics.h"
#include "formats/base/declare.h"

/* REDUCE: enum gp_metric_reduce, only this figure; -1: all. */
void gp_metrics_csv_long(struct gp_buf *b, const struct gp_metrics *m, int reduce);
void gp_metrics_csv_wide(struct gp_buf *b, const struct gp_metrics *m, int reduce);

#endif
