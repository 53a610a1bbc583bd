/* metric.h -- hardware counters in a trace: sets of metrics that were measured together, and the values of a
 * launch or of a range as rows of GP_METRIC. A value that was not measured is not a number, never 0.
 *
 *     uint32_t set = gp_trace_metric_set(&trace, metrics, 2);
 *     size_t row = gp_events_add(&trace.events[GP_METRIC], start_ns, dur_ns, track, name);
 *     gp_metric_put(&trace, row, set, (double[]){1e9, NAN});
 *     double bytes = gp_metric_values(&trace, row)[0];
 *
 * A row of a launch has its config, the corr of the launch where that is known, and in `id` its position
 * among the launches of its context; its times are those of the launch call on the host, which counters make
 * longer. A row of a range has GP_METRIC_RANGE as category.
 */
#ifndef GP_FORMATS_MODEL_METRIC_H
#define GP_FORMATS_MODEL_METRIC_H

#include "formats/model/trace.h"

enum { GP_METRICS_MOST = 62 }; /* of a set */
#define GP_METRIC_RANGE "range"
/* The category of rows of GP_COUNTER that hardware counters were sampled for: the name is that of the metric,
 * the series its unit, and the value holds from its time until that of the next row of the same. Their
 * process stands for a GPU, their track has its number. */
#define GP_METRIC_SAMPLED "hardware"

/* A set of the N METRICS, at most GP_METRICS_MOST; an equal one of the trace if there is one. */
uint32_t gp_trace_metric_set(struct gp_trace *t, const struct gp_metric *metrics, size_t n);
/* Give ROW of GP_METRIC the VALUES, as many as SET has metrics. */
void gp_metric_put(struct gp_trace *t, size_t row, uint32_t set, const double *values);

/* The values of ROW, in the order of its set. */
static inline const double *gp_metric_values(const struct gp_trace *t, size_t row)
{
    return GP_VEC_FROM(&t->metric_values, gp_get_values(&t->events[GP_METRIC], row));
}

/* How values of several launches become one: the sum for counters, over all units or per
 * unit ("dram__bytes.sum", "sm__cycles_active.avg"), the mean for everything that was divided
 * ("...per_second", "....pct"). */
enum gp_metric_reduce gp_metric_reduce_of(const char *name);
/* Was T, or one of the traces that were joined into it, recorded while counters were read? Launches then
 * waited for each other and were repeated: durations on the GPU hold, and no time between them does. It is
 * the issue GP_Q_COUNTERS of an input. */
bool gp_trace_distorted(const struct gp_trace *t);

#endif
