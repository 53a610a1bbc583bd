/* occupancy.h -- how full a kernel makes the multiprocessors (SMs) of a device, worked out from what was recorded of its
 * launch: an estimate, since nothing was measured on the SMs. And which kernels use Tensor Cores, told by their names.
 *
 *     struct gp_occupancy o;
 *     gp_occupancy_of(&o, &trace, config, props);
 *     if (o.known) use(o.achieved);                       // 0.75
 */
#ifndef GP_ANALYZE_OCCUPANCY_H
#define GP_ANALYZE_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/trace.h"

struct gp_occupancy {
    bool known;           /* achieved */
    double achieved;      /* 0..1: threads on an SM by the most that it holds, while the kernel runs */
    uint32_t fits;        /* blocks that an SM holds at once; 0: not known */
    double waves;         /* blocks by (SMs x fits); 0: not known */
    uint64_t blocks;      /* in the grid; 0: not known */
    double blocks_per_sm; /* blocks by SMs; 0: not known */
};

/* Blocks of that shape that one SM of the device holds at once: the least that threads, blocks, registers and shared
 * memory allow. 0 when the launch or the device is not known well enough, or is no NVIDIA device. */
uint32_t gp_occupancy_fits(const struct gp_config *c, const struct gp_device *d);

/* Everything about C, a config of T, on a device whose properties are D (NULL: none). What does not follow from D is
 * taken from what the profiler wrote beside the launch ("est. achieved occupancy %", "blocks per SM"). */
void gp_occupancy_of(struct gp_occupancy *o, const struct gp_trace *t, const struct gp_config *c,
                     const struct gp_device *d);

/* What a kernel's full name tells about matrix units (Tensor Cores, Matrix Cores). */
enum gp_matrix_use {
    GP_MATRIX_UNKNOWN, /* the name says nothing */
    GP_MATRIX_NO,      /* products of matrices in plain arithmetic, by its name */
    GP_MATRIX_YES,
    GP_MATRIX_NEVER, /* there is nothing in it that they could do */
};
enum gp_matrix_use gp_matrix_use_of(const char *name, size_t n);

#endif
