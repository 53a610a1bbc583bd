/* hta_mpi.h -- the inputs of a job read by several processes and merged into one result. Process 0 deals the
 * inputs, the largest first; the others read and merge theirs; a binomial tree merges their results.
 * Only calls of MPI 2 are used, and only trace-hta-mpi is built with this.
 *
 *     struct gp_hta_mpi m = {.rank = rank, .size = size};
 *     gp_hta_main_open(&m.r, &tool, &opts, &err);
 *     gp_hta_mpi_share(&m);
 *     int failed = gp_hta_mpi_read(&m, spill_dir, &err);        // the result is in m.r.h of process 0
 */
#ifndef GP_RENDER_HTA_MPI_HTA_MPI_H
#define GP_RENDER_HTA_MPI_HTA_MPI_H

#include "formats/base/declare.h"
#include "render/hta_main/checkpoint.h"

struct gp_hta_mpi {
    int rank, size; /* of this process; how many there are */
    struct gp_hta_main r;
    /* private */
    struct gp_spills spills;
    struct gp_hta batch; /* of inputs that are not spilled yet */
    size_t inputs[GP_SPILL_INPUTS], n;
};

/* Give the other processes the inputs of process 0. */
void gp_hta_mpi_share(struct gp_hta_mpi *m);
/* Read all inputs. With SPILL_DIR, write checkpoints there and resume from them; NULL: none. Collective;
 * every process learns whether it failed, and process 0 why: ERR is of the first input that failed, or of
 * writing to SPILL_DIR. */
GP_MUST_CHECK int gp_hta_mpi_read(struct gp_hta_mpi *m, const char *spill_dir, struct gp_err *err);

#endif
