/* regime.h -- what bounds a kernel, and what bounds a step: arithmetic, memory, or that there is too little of it. Told by
 * names and launch geometry (tier 1), which cannot tell everything: unknown is an answer. Definitions and sources:
 * analyze/README.md, "Regimes". Knows nothing of rules.
 *
 *     gp_regime_of_kernel(GP_FRAME_GEMM, 250000, 2000)      // GP_REGIME_COMPUTE
 */
#ifndef GP_ANALYZE_REGIME_H
#define GP_ANALYZE_REGIME_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/calltree.h"

/* X(enum, name in JSON, what a person reads) */
#define GP_REGIMES(X)                                                                                        \
    X(GP_REGIME_OVERHEAD, "overhead_bound", "overhead")                                                      \
    X(GP_REGIME_MEMORY, "memory_bound", "memory bandwidth")                                                  \
    X(GP_REGIME_COMPUTE, "compute_bound", "arithmetic")                                                      \
    X(GP_REGIME_COMMUNICATION, "communication_bound", "communication")                                       \
    X(GP_REGIME_TRANSFER, "transfer_bound", "copies")                                                        \
    X(GP_REGIME_MIXED, "mixed", "several things")                                                            \
    X(GP_REGIME_UNKNOWN, "unknown", "nobody knows what")

enum gp_regime {
#define X(id, name, text) id,
    GP_REGIMES(X)
#undef X
        GP_REGIME_COUNT
};
const char *gp_regime_name(enum gp_regime r);
const char *gp_regime_text(enum gp_regime r);
/* The classic three: what is too short is overhead, what is moved is memory, and what nobody knows is overhead, too. */
enum gp_regime gp_regime_classic(enum gp_regime r);

/* Of a GPU event of KIND (enum gp_frame_kind) that takes DUR, where an empty kernel takes EMPTY. All ns. */
enum gp_regime gp_regime_of_kernel(uint32_t kind, int64_t dur_ns, int64_t empty_ns);

/* Where the time of a step goes; the parts sum to no more than whole_ns. */
struct gp_regime_step {
    int64_t whole_ns;         /* wall time */
    int64_t idle_ns;          /* of the GPU, whatever the cause, but for waiting for other streams */
    int64_t latency_ns;       /* of kernels that are hardly longer than an empty one */
    int64_t communication_ns; /* exposed */
    int64_t transfer_ns;      /* exposed copies and sets */
    int64_t compute_ns, memory_ns, unknown_ns; /* of the other kernels, by their regime */
};
enum gp_regime gp_regime_of_step(const struct gp_regime_step *s);

#endif
