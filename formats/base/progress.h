/* progress.h -- one line on standard error that shows that work goes on, after half a second, on a terminal only.
 * Mains only. Pass gp_progress_bytes as the `progress` callback of struct gp_read_opts.
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
