/* critical_path.h -- a row of trace-hta's answer: the chain of pieces that explains the length of a step.
 *
 *     const struct gp_hta_path *p = &h.paths.at[0];
 *     for (size_t i = 0; i < p->pieces.n; i++) use(gp_path_bound_text(p->pieces.at[i].bound));
 */
#ifndef GP_ANALYZE_CRITICAL_PATH_H
#define GP_ANALYZE_CRITICAL_PATH_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

/* X(enum, JSON name, text for people): what bounds a piece of the path. */
#define GP_PATH_BOUNDS(X)                                                                                    \
    X(GP_PATH_HOST, "host", "host code")                                                                     \
    X(GP_PATH_LAUNCH, "launch", "launch latency")                                                            \
    X(GP_PATH_COMPUTE, "compute", "computing kernels")                                                       \
    X(GP_PATH_COMMUNICATION, "communication", "communication kernels")                                       \
    X(GP_PATH_MEMORY, "memory", "copies and sets")                                                           \
    X(GP_PATH_KERNEL_GAP, "kernel_gap", "gaps between queued kernels")                                       \
    X(GP_PATH_SYNC, "sync", "waiting for a synchronisation to end")

enum gp_path_bound { GP_PATH_BOUNDS(GP_FIRST) GP_PATH_BOUND_COUNT };
const char *gp_path_bound_name(enum gp_path_bound b);
const char *gp_path_bound_text(enum gp_path_bound b);

/* One piece of the path; pieces follow each other without gap or overlap. */
struct gp_path_piece {
    int64_t begin_ns, end_ns;
    uint32_t bound; /* enum gp_path_bound */
    gp_sid name;    /* label of the event that contains it */
    gp_sid full;    /* full name, 0: the same */
    int64_t stream; /* GPU pieces; -1 for host pieces */
    int64_t tid;    /* host pieces */
};

struct gp_hta_path {
    int32_t rank;
    uint32_t producer;
    gp_sid window; /* name of the step; 0: the whole trace */
    int64_t begin_ns, end_ns;
    int64_t bound_ns[GP_PATH_BOUND_COUNT]; /* sums to end - begin */
    GP_VEC(struct gp_path_piece) pieces;
};

extern const struct gp_record gp_hta_path_times; /* one: int64_t[GP_PATH_BOUND_COUNT] */
extern const struct gp_record gp_hta_paths;      /* rows: struct gp_hta_path */

#endif
