/* kernel_stats.h -- rows of trace-hta's answer: kernels, and the operators, ranges and modules that launched
 * them.
 *
 *     const struct gp_kernel_stat *k = &h.kernels.at[0];                  // the one with the largest total
 *     use(gp_hta_str(&h, k->name), k->dur.n, k->dur.total);
 */
#ifndef GP_ANALYZE_KERNEL_STATS_H
#define GP_ANALYZE_KERNEL_STATS_H

#include <stdint.h>
#include "analyze/math/histogram.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_kernel_stat {
    gp_sid name;   /* full name as recorded; of our collector's traces demangled */
    uint32_t kind; /* enum gp_frame_kind; its class is gp_class_of() */
    struct gp_histogram dur;
    int32_t tensor_core;            /* 1: uses them, 0: does not, -1: neither name nor kind shows it */
    int64_t bytes;                  /* copies and sets */
    int64_t occupancy_ns, waves_ns; /* x duration; waves: blocks / (SMs x blocks that fit an SM) */
    int64_t occupancy_known_ns;
    uint64_t blocks_min, blocks_max; /* of a grid; 0 unknown */
};

struct gp_hta;
extern const struct gp_record gp_hta_kernels; /* rows: struct gp_kernel_stat */
struct gp_row_of gp_hta_kernels_of(const struct gp_hta *h);

/* GPU time by what launched it: operators, ranges, modules (innermost of its sort). */
enum gp_owner_sort { GP_OWNER_OP, GP_OWNER_RANGE, GP_OWNER_MODULE, GP_OWNER_SORTS };
struct gp_owner_stat {
    uint32_t sort;  /* enum gp_owner_sort */
    gp_sid name;    /* label; 0: launched outside any */
    uint64_t calls; /* host events of that label that launched something */
    uint64_t gpu_events;
    int64_t gpu_ns;  /* sums over the owners of one sort to the trace's GPU time */
    int64_t host_ns; /* summed duration of those host events */
    /* from the end of the launch call to the start of the GPU event, if not negative */
    struct gp_histogram delay;
};

/* By sort; equal but for their names. A slice of h->owners after finish. */
extern const struct gp_record gp_hta_owners[GP_OWNER_SORTS]; /* rows: struct gp_owner_stat */
struct gp_owner_rows {
    const struct gp_owner_stat *at;
    size_t n, launched; /* all; those before the last one that launched something */
    bool named;         /* one of them has a name: something was recorded */
    int64_t gpu_ns;
};
struct gp_owner_rows gp_hta_owner_rows(const struct gp_hta *h, enum gp_owner_sort sort);

#endif
