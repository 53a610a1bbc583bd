/* nccl.h -- reads from NCCL's own ranges the operations that a kernel was launched for, their bytes, and the
 * communicator. NCCL 2.18 and later push a range for each call, with the args that are read here. The
 * ncclGroupEnd() that ends a group launches its calls, so one kernel may serve several of them. If it is
 * unclear which calls a kernel served, its bytes are unknown: nothing is guessed.
 *
 *     struct gp_nccl n;
 *     gp_nccl_find(&n, &view, &strings);
 *     const struct gp_nccl_work *w = gp_nccl_work_of(&n, gpu_row);        // NULL: unknown
 *     gp_nccl_release(&n);
 */
#ifndef GP_ANALYZE_NCCL_H
#define GP_ANALYZE_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/view.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

/* What one kernel did. */
struct gp_nccl_work {
    gp_sid op;      /* "all_reduce"; several kinds: "all_gather+all_reduce"; 0: as in the kernel's name */
    gp_sid comm;    /* hash of the communicator, the same on all its ranks; 0 unknown */
    uint32_t ranks; /* of the communicator; 0 unknown */
    uint32_t calls; /* that it served; 0 unknown */
    /* of the full messages of all calls: the data that every rank ends or begins with; -1 unknown */
    int64_t bytes;
    int32_t rank, peer; /* the ends of sends and receives with one peer; -1: several peers, or unknown */
};

struct gp_nccl {
    struct gp_map work_of; /* row of GP_GPU -> index of works */
    GP_VEC(struct gp_nccl_work) works;
};

/* Fill N, whose content is overwritten, for the communication kernels of V. Names go to STRINGS. O(rows); a
 * trace without such ranges costs only a look at its names. */
void gp_nccl_find(struct gp_nccl *n, const struct gp_view *v, struct gp_strings *strings);
const struct gp_nccl_work *gp_nccl_work_of(const struct gp_nccl *n, uint32_t row);
void gp_nccl_release(struct gp_nccl *n);

/* ---- operations ---- */

/* The operations of communication libraries: what they are called, which bandwidth they reach, and the
 * element types they move. */

/* The operation that a framework's name or a kernel's function name stands for: "all_reduce", "all_gather",
 * "reduce_scatter", "broadcast", "all_to_all", "send_recv", "reduce", "gather", "scatter", "barrier",
 * "dispatch", "combine"; "other" if the name shows none. Static. */
const char *gp_collective_op(const char *name, size_t n);
/* From algorithm to bus bandwidth with N ranks, as nccl-tests define it. 0 if N is needed but unknown (0),
 * and for operations of several kinds. */
double gp_collective_bus_factor(const char *op, uint32_t n);
/* Does the operation end for all ranks at nearly the same time, whichever rank came last? */
bool gp_collective_is_symmetric(const char *op);
/* Bytes of an element of a type by its name in PyTorch ("BFloat16") or NCCL ("f8e4m3"); 0 unknown. */
uint32_t gp_dtype_bytes(const char *name, size_t n);

/* 10^9 bytes per second; 0 if either is unknown. */
double gp_collective_bandwidth(int64_t bytes, int64_t ns);

#endif
