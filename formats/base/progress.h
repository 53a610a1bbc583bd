/* progress.h -- one line of progress on standard error, after half a second, only on a terminal. For mains
 * only. Pass gp_progress_bytes as the `progress` callback of struct gp_read_opts.
 *
 *     p.total = 2000000000;                  // bytes to read; 0: unknown
 *     gp_progress_bytes(&p, 840000000);      // "trace-hta: reading, 42%, 120 MB/s, 10 s left"
 *     gp_progress_phase(&p, "analysing");    // "trace-hta: analysing"
 *     gp_progress_end(&p);                   // before any message or answer
 */
#ifndef GP_BASE_PROGRESS_H
#define GP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_progress {
    bool enabled, shown;
    const char *tool;
    uint64_t total;            /* decompressed bytes of all inputs; 0: not known */
    int64_t began_ns, last_ns; /* CLOCK_MONOTONIC; 0: not begun */
};

/* CTX is a struct gp_progress *. BYTES: read so far, compressed ones where the input is compressed. */
void gp_progress_bytes(void *ctx, uint64_t bytes);
/* What is done now, after reading: shown at once where reading has taken half a second. */
void gp_progress_phase(struct gp_progress *p, const char *phase);
/* Append to LINE the text of gp_progress_bytes ELAPSED_NS after the first call: the percentage and the time
 * left where the total is known, the megabytes read otherwise. */
void gp_progress_put(struct gp_buf *line, const struct gp_progress *p, uint64_t bytes, int64_t elapsed_ns);
/* Wipe the line. */
void gp_progress_end(struct gp_progress *p);

#endif
