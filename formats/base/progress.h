/* progress.h -- one line of progress on standard error, after half a second, only on a terminal. For mains
 * only. Pass gp_progress_bytes as the `progress` callback of struct gp_read_opts.
 */
#ifndef GP_BASE_PROGRESS_H
#define GP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct gp_progress {
    bool enabled, shown;
    const char *tool;
    int64_t began_ns, last_ns; /* CLOCK_MONOTONIC */
};

/* CTX is a struct gp_progress *. BYTES: decompressed bytes read so far. */
void gp_progress_bytes(void *ctx, uint64_t bytes);
/* Wipe the line. */
void gp_progress_end(struct gp_progress *p);

#endif
