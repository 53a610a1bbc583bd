/* launch_match.h -- which measured launch a kernel of a trace is: of the trace that has the counters, or of
 * another one of the same program that was recorded without them, so that its times are undisturbed.
 *
 * In one trace, a launch is found by its correlation id. Between two, it is the launch at the same position
 * among those of its kernel, grid and block, of the process of the same rank; a program that ran as many
 * steps several times over begins again with the first. Where the numbers of launches do not fit that, and
 * for launches that were not measured, all measured ones of the kernel, grid and block stand for it.
 *
 *     struct gp_launch_match m;
 *     gp_launch_match_find(&m, &counters, &timing);
 *     if (m.row[i] != UINT32_MAX) use(gp_metric_values(&counters, m.row[i]));
 *     else if (m.group[i] != UINT32_MAX) mean_of(&m, m.group[i]);
 *     gp_launch_match_release(&m);
 */
#ifndef GP_ANALYZE_METRICS_LAUNCH_MATCH_H
#define GP_ANALYZE_METRICS_LAUNCH_MATCH_H

#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* Measured launches of one kernel, grid, block and rank. */
struct gp_launch_group {
    uint32_t first, n; /* in `rows` */
    uint32_t rank;     /* which of the ranks of the counters' trace */
    uint64_t launches; /* kernels of the timing trace that they stand for, one by one or together */
};

/* Launches of one kernel with one grid and one block, from whatever table they are: registers and shared
 * memory, which not everything records, do not count. A map from configs to numbers, zeroed to begin with. */
struct gp_launch_keys {
    struct gp_strings all;  /* keys, as bytes */
    GP_VEC(uint32_t) value; /* by sid */
};

/* The value of C's key, whose names are of one trace; UINT32_MAX if it is new. Valid until the next put. */
uint32_t *gp_launch_keys_put(struct gp_launch_keys *k, const struct gp_config *c);
/* NULL if it was never put. */
const uint32_t *gp_launch_keys_get(const struct gp_launch_keys *k, const struct gp_config *c);
void gp_launch_keys_release(struct gp_launch_keys *k);

struct gp_launch_match {
    /* by row of GP_GPU of the timing trace: row of GP_METRIC of the other; UINT32_MAX: not a single one */
    uint32_t *row;
    uint32_t *group; /* by row of GP_GPU: index in groups; UINT32_MAX: the kernel was not measured */
    GP_VEC(struct gp_launch_group) groups;
    uint32_t *rows; /* of GP_METRIC, group after group, in the order of the launches */
};

/* COUNTERS and TIMING are finished, and may be the same trace. O(rows log rows). */
void gp_launch_match_find(struct gp_launch_match *m, const struct gp_trace *counters,
                          const struct gp_trace *timing);
void gp_launch_match_release(struct gp_launch_match *m);

#endif
