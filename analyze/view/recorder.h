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

#include <stdbool.h>
#include <stdint.h>
#include "analyze/view/view.h"
#include "formats/base/declare.h"
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

enum { GP_RECORDERS = 3 };
/* Their names; ends with NULL. */
extern const char *const gp_recorder_names[];

/* How long a step of PROCESS takes when nobody records, as the recorder timed it: the mean of the steps
 * before it entered the process, of which each counts for at most two medians. BUSY_NS: the GPU works so long
 * in a step; a host that runs ahead takes less until its launches wait, so the steps until then do not count.
 * A process that it has entered stays slower: pauses between recordings show only how that time drifted. 0:
 * not timed. */
int64_t gp_recorder_pace_ns(const struct gp_trace *t, uint32_t process, int64_t busy_ns);
/* Can PACE_NS be the time of steps that took STEP_NS recorded, with BUSY_NS on the GPU? Otherwise what was
 * timed were other steps: no recorder of ours makes them three times as long. */
bool gp_recorder_pace_fits(int64_t pace_ns, int64_t step_ns, int64_t busy_ns);

/* What the recorder added to a step. */
struct gp_recorder_added {
    uint32_t who;      /* index of the recorder, and 1; 0: nothing is known */
    bool measured;     /* by steps that were timed while nobody recorded; otherwise it is likely */
    int64_t ns, of_ns; /* of a step */
};
/* On the host of device D, from BEGIN to END, in which STEPS steps passed. O(rows of the host's tables and of
 * the device). */
struct gp_recorder_added gp_recorder_added(const struct gp_view *v, const struct gp_view_device *d,
                                           int64_t begin_ns, int64_t end_ns, uint64_t steps);
/* "; gpuprof-collect likely added 52.1 ms (28%) of it", if it is worth saying: more than 5% of a step. The
 * only wording of it. */
void gp_recorder_added_put(struct gp_buf *b, const struct gp_recorder_added *a);

#endif
