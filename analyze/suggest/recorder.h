/* recorder.h -- what a recorder adds to a program: which one wrote a trace, and what it costs the host per
 * recorded call, operator, range and frame, between the least and the most that was measured. Knows nothing
 * of replays or rules.
 *
 *     const struct gp_recorder *r = gp_recorder_of(&trace);        // NULL: unknown, costs nothing here
 *     struct gp_recorder_events n = {.launches = 1, .ops = 3};
 *     least = gp_recorder_least_ns(r, &n, gap_ns), most = gp_recorder_most_ns(r, &n, gap_ns);
 */
#ifndef GP_ANALYZE_RECORDER_H
#define GP_ANALYZE_RECORDER_H

#include <stdint.h>
#include "formats/model/trace.h"

/* From .low_ns to .high_ns per event. */
struct gp_recorder_cost {
    int64_t low_ns, high_ns;
};

struct gp_recorder {
    const char *name; /* "torch.profiler" */
    /* calls that start GPU work, other calls, operators, ranges, Python frames, what follows a call that
     * waited */
    struct gp_recorder_cost launch, call, op, range, frame, wait;
    int64_t graph_kernel_ns; /* added to each kernel of a CUDA graph */
    /* Of the host's time between two launches, so many percent may be the recorder's. */
    int low_pct, high_pct, stack_pct; /* the last one where Python frames are recorded */
    /* Where unrecorded steps lay, in the median of the programs: 0 if the recorder cost the most it may, 100
     * if the least. */
    int likely_pct;
    /* how much slower the host may be in an unrecorded run, for reasons that no trace shows */
    int slower_pct;
    const char *source;
};

/* What was recorded in a stretch of host time. */
struct gp_recorder_events {
    uint32_t launches, calls, ops, ranges, frames, waits;
};

/* By the metadata and the tables of T; NULL: none that is known. */
const struct gp_recorder *gp_recorder_of(const struct gp_trace *t);

/* Of NS, a stretch of host time with events N: the least and the most that an unrecorded run would save. The
 * least is negative where such a run may take longer. */
int64_t gp_recorder_least_ns(const struct gp_recorder *r, const struct gp_recorder_events *n, int64_t ns);
int64_t gp_recorder_most_ns(const struct gp_recorder *r, const struct gp_recorder_events *n, int64_t ns);

#endif
