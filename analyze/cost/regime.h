/* regime.h -- what bounds a kernel and a step: arithmetic, memory, or too little work. Derived from the
 * kernel's work and the device's limits if both are known, otherwise from the kind of kernel; the answer may
 * be unknown. Definitions and sources: analyze/cost/README.md, "Regimes". Knows nothing of rules or traces.
 *
 *     struct gp_regime_kernel k = {.kind = GP_FRAME_GEMM, .dur_ns = 250000, .work = &work};
 *     struct gp_regime_answer a;
 *     gp_regime_of_kernel(&a, &k, &ceilings);
 *     if (a.regime == GP_REGIME_INEFFICIENT) use(gp_inefficient_name(a.reason));
 */
#ifndef GP_ANALYZE_REGIME_H
#define GP_ANALYZE_REGIME_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/names/frame_kind.h"
#include "analyze/cost/ceilings.h"
#include "analyze/cost/counters.h"
#include "analyze/cost/occupancy.h"
#include "analyze/cost/work.h"
#include "formats/base/declare.h"

/* X(enum, name in JSON, text for people) */
#define GP_REGIMES(X)                                                                                        \
    X(GP_REGIME_OVERHEAD, "overhead_bound", "overhead")                                                      \
    X(GP_REGIME_MEMORY, "memory_bound", "memory bandwidth")                                                  \
    X(GP_REGIME_COMPUTE, "compute_bound", "arithmetic")                                                      \
    X(GP_REGIME_COMMUNICATION, "communication_bound", "communication")                                       \
    X(GP_REGIME_TRANSFER, "transfer_bound", "copies")                                                        \
    X(GP_REGIME_WAITING, "waiting", "waiting for other work")                                                \
    X(GP_REGIME_MIXED, "mixed", "several things")                                                            \
    X(GP_REGIME_INEFFICIENT, "inefficient", "neither arithmetic nor memory")                                 \
    X(GP_REGIME_UNKNOWN, "unknown", "an unknown resource")

enum gp_regime { GP_REGIMES(GP_FIRST) GP_REGIME_COUNT };
const char *gp_regime_name(enum gp_regime r);
const char *gp_regime_text(enum gp_regime r);
/* Reduce to the classic three: too short is overhead, moving is memory, reaching neither roof is the larger
 * one, ROOF, and unknown is also overhead. */
enum gp_regime gp_regime_classic(enum gp_regime r, enum gp_regime roof);

/* Why a kernel reaches neither roof, as far as the trace shows. X(enum, name in JSON, text for people) */
#define GP_INEFFICIENTS(X)                                                                                   \
    X(GP_INEFFICIENT_NOT, "none", "")                                                                        \
    X(GP_INEFFICIENT_BLOCKS, "few_blocks", "too few blocks for the device")                                  \
    X(GP_INEFFICIENT_LITTLE, "little_work", "too little work for the device")                                \
    X(GP_INEFFICIENT_BESIDE, "shared_device", "other kernels run beside it")                                 \
    X(GP_INEFFICIENT_ACCESS, "memory_access", "it reads or writes memory in small pieces, or several times") \
    X(GP_INEFFICIENT_ARITHMETIC, "arithmetic", "it does not keep the arithmetic units busy")

enum gp_inefficient { GP_INEFFICIENTS(GP_FIRST) };
const char *gp_inefficient_name(enum gp_inefficient i);

struct gp_regime_kernel {
    uint32_t kind; /* enum gp_frame_kind */
    uint32_t tile; /* of a product: the smaller side of its tile by its name; 0: not shown */
    int64_t dur_ns;
    const struct gp_work *work; /* its share of its operator's; NULL: not known */
    /* What counters say of it; then WORK has their bytes of device memory. NULL: it was not measured. */
    const struct gp_counted *counted;
    double part;  /* its share of its operator's work, if other kernels have a share as well; 0 or 1: all */
    double waves; /* blocks by those that the device holds at once; 0 not known */
    bool beside;  /* runs while another kernel does */
    double clock; /* at which it ran, as part of the highest SM clock; 0: not known */
};

struct gp_regime_answer {
    enum gp_regime regime;
    enum gp_regime roof; /* GP_REGIME_MEMORY or _COMPUTE: the nearer roof; GP_REGIME_UNKNOWN: unknown */
    enum gp_inefficient reason;
    bool impossible; /* unknown, because the stated work would take longer than the kernel did */
    bool fits_cache; /* its bytes may never leave the L2 cache: claim nothing about memory bandwidth */
    double compute_ns, memory_low_ns, memory_high_ns; /* at the roofs; 0 not known */
    double cache_ns; /* time for its measured bytes of the L2 cache; 0: not measured */
};

/* Regime of one launch of a kernel. Ceilings of 0 are unknown. */
void gp_regime_of_kernel(struct gp_regime_answer *a, const struct gp_regime_kernel *k,
                         const struct gp_ceilings *c);

/* NVIDIA's matrix units run FP32 as TF32: set W's type to that where a kernel's name shows that it uses them
 * (USE), or it took NS, less than the ceilings FLOPS, by type, allow for FP32. Not for AMD's units, which
 * take FP32 as it is. */
void gp_work_settle_arith(struct gp_work *w, enum gp_matrix_use use, const struct gp_ceiling *flops,
                          int64_t ns, bool amd);
/* Limit W's bytes to those that memory delivers in NS, or the L2 cache if they FIT_CACHE. */
void gp_regime_limit(struct gp_work *w, const struct gp_ceilings *c, bool fit_cache, int64_t ns);
/* What W takes in ns at the nearer of the ceilings: of its arithmetic, and of memory for the mean of its
 * bytes unless they FIT_CACHE. 0: not known. */
double gp_regime_ceiling_ns(const struct gp_work *w, const struct gp_ceilings *c, bool fit_cache);

/* Where the time of a step goes; the parts sum to at most whole_ns. */
struct gp_regime_step {
    int64_t whole_ns;         /* wall time */
    int64_t idle_ns;          /* of the GPU, for any cause except the next two */
    int64_t lead_ns;          /* before the first kernel of the only step, on the host */
    int64_t waiting_ns;       /* for other streams, events, or work launched before the recording */
    int64_t latency_ns;       /* of kernels barely longer than an empty one */
    int64_t communication_ns; /* exposed */
    int64_t transfer_ns;      /* exposed copies and sets */
    int64_t compute_ns, memory_ns, inefficient_ns, unknown_ns; /* of the other kernels, by their regime */
    int64_t below_memory_ns; /* of inefficient_ns: those whose nearer roof is memory */
};
/* What takes half of the step or more: of idle and short kernels together, each kind of kernel, those far
 * below both roofs, and so on; GP_REGIME_MIXED if nothing does. */
enum gp_regime gp_regime_of_step(const struct gp_regime_step *s);

#endif
