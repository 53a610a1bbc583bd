/* occupancy.h -- how well a kernel fills the multiprocessors (SMs) of a device, calculated from its recorded
 * launch: an estimate, since nothing was measured on the SMs. Also which kernels use Tensor Cores, by name.
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
#include "formats/model/trace.h"

struct gp_occupancy {
    bool known;           /* achieved */
    double achieved;      /* 0..1: threads on an SM / the most that it holds, while the kernel runs */
    uint32_t fits;        /* blocks that an SM holds at once; 0: not known */
    double waves;         /* blocks by (SMs x fits); 0: not known */
    uint64_t blocks;      /* in the grid; 0: not known */
    double blocks_per_sm; /* blocks by SMs; 0: not known */
};

/* Number of blocks of that shape that fit on one SM of the device: the smallest limit of threads, blocks,
 * registers and shared memory. 0 if the launch or the device is not known well enough, or if it is not an
 * NVIDIA device. */
uint32_t gp_occupancy_fits(const struct gp_config *c, const struct gp_device *d);

/* Fill O for C, a config of T, on a device with properties D (NULL: none). What does not follow from D comes
 * from the profiler's own notes about the launch ("est. achieved occupancy %", "blocks per SM"). */
void gp_occupancy_of(struct gp_occupancy *o, const struct gp_trace *t, const struct gp_config *c,
                     const struct gp_device *d);

/* What a kernel's full name shows about matrix units (Tensor Cores, Matrix Cores). */
enum gp_matrix_use {
    GP_MATRIX_UNKNOWN, /* the name does not show it */
    GP_MATRIX_NO,      /* products of matrices in plain arithmetic, by its name */
    GP_MATRIX_YES,
    GP_MATRIX_NEVER, /* there is nothing in it that they could do */
};
enum gp_matrix_use gp_matrix_use_of(const char *name, size_t n);

#endif
