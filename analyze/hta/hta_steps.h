/* hta_steps.h -- rows of trace-hta's answer: the steps of each device.
 *
 *     const struct gp_hta_step *s = &h.steps.at[0];
 *     if (!s->partial) use(s->end_ns - s->begin_ns, s->b.busy_ns);
 */
#ifndef GP_ANALYZE_HTA_STEPS_H
#define GP_ANALYZE_HTA_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/hta/breakdown.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

/* One step on one device. A GPU event belongs to the step in which it was LAUNCHED. The GPU window of a step
 * runs from its first GPU event to the next step's first (for the last step: to the end of its last GPU
 * event). */
struct gp_hta_step {
    int32_t rank;
    uint32_t producer;
    int64_t device;
    gp_sid name;     /* "ProfilerStep#12"; "period 3" */
    uint32_t source; /* enum gp_step_source */
    /* cut by the edge of the trace: first or last step of a periodic trace, or the last marker */
    bool partial;
    bool warm_up;                       /* comes before the first steady step (steps_device.h) */
    int64_t host_begin_ns, host_end_ns; /* the marker's range, or first launch to last launch */
    int64_t begin_ns, end_ns;           /* GPU window */
    struct gp_breakdown b; /* inside the GPU window; span_ns = end - begin: idle counts at both ends */
    uint64_t launches;
};

/* A part of a device's time: before its first step, its warm-up steps, its step window, after its last step.
 * The parts of a device follow each other without a gap, and their spans sum to the device's. */
enum gp_hta_part_kind { GP_PART_START_UP, GP_PART_WARM_UP, GP_PART_STEPS, GP_PART_AFTER };
const char *gp_hta_part_name(enum gp_hta_part_kind kind); /* "start_up", "warm_up", "steps", "after" */
struct gp_hta_part {
    int32_t rank;
    uint32_t producer;
    int64_t device;
    uint32_t kind;         /* enum gp_hta_part_kind */
    uint64_t steps;        /* in it */
    struct gp_breakdown b; /* clipped to it */
};

extern const struct gp_record gp_hta_step_list; /* rows: struct gp_hta_step */
extern const struct gp_record gp_hta_parts;     /* rows: struct gp_hta_part; of: struct gp_hta */

#endif
