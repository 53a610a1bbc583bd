/* metric_title.h -- what people call the hardware counters that are sampled by default.
 *
 *     const char *title = gp_metric_title("sm__cycles_active.avg.pct_of_peak_sustained_elapsed");     // "SMs active"
 */
#ifndef GP_ANALYZE_METRIC_TITLE_H
#define GP_ANALYZE_METRIC_TITLE_H

/* Of a metric of PerfWorks with its rollup; NULL: it has no other name. */
const char *gp_metric_title(const char *name);

#endif
