/* nccl.h -- what NCCL's own ranges say of its kernels: the operations that a kernel was launched for, their bytes, and
 * the communicator. NCCL 2.18 and later pushes a range for each call, with args as they are read here; a call in a group
 * is launched by the ncclGroupEnd() that ends the group, so that one kernel may do what several calls asked for.
 * Where it cannot be told which calls a kernel served, its bytes are unknown: nothing is guessed.
 *
 *     struct gp_nccl n;
 *     gp_nccl_find(&n, &view, &strings);
 *     const struct gp_nccl_work *w = gp_nccl_work_of(&n, gpu_row);        // NULL: nothing is known
 *     gp_nccl_release(&n);
 */
#ifndef GP_ANALYZE_NCCL_H
#define GP_ANALYZE_NCCL_H

#include "analyze/view/view.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

/* What one kernel did. */
struct gp_nccl_work {
    gp_sid op;   /* "all_reduce"; of several kinds "all_gather+all_reduce"; 0: what the kernel's name says */
    gp_sid comm; /* hash of the communicator, the same on all its ranks; 0 unknown */
    uint32_t ranks; /* of the communicator; 0 unknown */
    uint32_t calls; /* that it served; 0 unknown */
    int64_t
        bytes; /* of the full messages of all calls: what every rank ends up with, or begins with; -1 unknown */
    int32_t rank,
        peer; /* the ends of sends and receives with one peer; -1: there is no one peer, or unknown */
};

struct gp_nccl {
    struct gp_map work_of; /* row of GP_GPU -> index of works */
    GP_VEC(struct gp_nccl_work) works;
};

/* Fill N, whose content is overwritten, for the communication kernels of V. Names go to STRINGS. O(rows); no more than a
 * look at the names of a trace that has no such ranges. */
void gp_nccl_find(struct gp_nccl *n, const struct gp_view *v, struct gp_strings *strings);
const struct gp_nccl_work *gp_nccl_work_of(const struct gp_nccl *n, uint32_t row);
void gp_nccl_release(struct gp_nccl *n);

#endif
