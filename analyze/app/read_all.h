/* read_all.h -- many parts read by several workers and merged in their order, so that the result is the same
 * for any number of workers, and so is the failure that is reported. Knows nothing of traces or files.
 *
 *     struct gp_read_all job = {.n = n, .workers = 4, .read = read_part, .merge = merge_part,
 *                                   .drop = drop_part, .ctx = &x};
 *     if (gp_read_all(&job, &err)) ...
 */
#ifndef GP_ANALYZE_APP_READ_ALL_H
#define GP_ANALYZE_APP_READ_ALL_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

struct gp_read_all {
    size_t n, workers;
    /* Read part I. Several workers are in here at once, each with another I. */
    int (*read)(void *ctx, size_t i, struct gp_err *err);
    /* Part I was read: called by the caller's thread, in the order of parts, soon enough that at most two
     * parts per worker wait for it. May be NULL. */
    void (*merge)(void *ctx, size_t i);
    /* Part I was read, successfully or not, and will not be merged, because an earlier part or this one
     * failed. May be NULL. */
    void (*drop)(void *ctx, size_t i);
    /* Part I could not be read, for this reason: called like merge. True: it is left out, and the others
     * count. NULL: no part may fail. */
    bool (*skip)(void *ctx, size_t i, const struct gp_err *err);
    void *ctx;
};

/* Read and merge all parts. -1 with the error of the first part, in their order, that could not be read and
 * was not skipped; the parts before it are merged, and no later part is begun once a failure is known. */
GP_MUST_CHECK int gp_read_all(const struct gp_read_all *job, struct gp_err *err);

#endif
