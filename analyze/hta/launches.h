/* launches.h -- rows of trace-hta's answer: the calls that launch GPU work, how long it waits, and the
 * queues.
 *
 *     double linked_pct = 100. * (double)h.launches.linked / (double)h.launches.gpu_events;
 */
#ifndef GP_ANALYZE_LAUNCHES_H
#define GP_ANALYZE_LAUNCHES_H

#include <stdint.h>
#include "analyze/math/histogram.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_api_stat {
    gp_sid name;
    struct gp_histogram dur;
    uint64_t launches; /* GPU events they started */
    uint64_t outliers; /* longer than 50 us and than 10 times the median of that call */
};

struct gp_hta_launches {
    uint64_t gpu_events;                /* all */
    uint64_t linked;                    /* with a launch record */
    uint64_t calls;                     /* launching calls; a graph launch is one */
    uint64_t graph_calls, graph_events; /* graph launches and the GPU events they started */
    /* max(0, GPU start - call end), per GPU event started by itself (not by a graph) */
    struct gp_histogram delay;
    struct gp_histogram api_dur; /* of launching calls */
    uint64_t short_kernels;      /* kernels shorter than the call that launched them */
    int64_t short_kernel_ns;
    uint64_t before_launch; /* GPU events that start before their launch call does */
    int64_t worst_before_ns;
    uint64_t max_queue; /* most GPU events launched and not started, on one stream */
    /* time with 1000 or more queued on a stream: union over a device's streams, summed over devices */
    int64_t queue_full_ns;
    struct gp_histogram queue_len; /* queue length seen by each launch on its stream */
};

extern const struct gp_record gp_hta_api;         /* rows: struct gp_api_stat */
extern const struct gp_record gp_hta_launch_sums; /* one: struct gp_hta_launches */

#endif
