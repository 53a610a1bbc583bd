/* sampled.h -- rows of trace-hta's answer: means of hardware counters that were sampled beside the recording
 * (gpuprof-collect --sample-metrics), over a device's time, over its steps, and over the kernels of each
 * range.
 *
 *     const struct gp_sampled *s = &h.sampled.at[0];
 *     use(gp_hta_str(&h, s->metric), s->mean, s->ns);
 */
#ifndef GP_ANALYZE_SAMPLED_H
#define GP_ANALYZE_SAMPLED_H

#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/intern.h"

enum gp_sampled_over {
    GP_SAMPLED_WHOLE, /* from the device's first GPU event to the end of its last */
    GP_SAMPLED_STEPS, /* the GPU windows of its whole steps, without the warm-up */
    GP_SAMPLED_RANGE, /* the kernels, copies and sets whose launch calls have this range as their innermost */
};
const char *gp_sampled_over_name(enum gp_sampled_over over); /* "whole", "steps", "range" */

enum { GP_SAMPLED_RANGES = 30 }; /* of a device: those with the most GPU time */

struct gp_sampled {
    int32_t rank;
    int64_t device;
    uint32_t over;       /* enum gp_sampled_over */
    gp_sid name;         /* of the range; 0: it has none, or OVER is not a range */
    gp_sid metric, unit; /* in PerfWorks, with rollup; "%", "byte/second" */
    int64_t ns;          /* that the mean is over: where there are samples */
    double mean;
};

extern const struct gp_record gp_hta_sampled; /* rows: struct gp_sampled */

#endif
