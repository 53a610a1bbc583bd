/* window.h -- a recording as it is written, cut into short traces: the bytes of the binary format go in,
 * block by block; a trace of the last moments comes out. Names are kept, events are dropped after each cut.
 *
 *     gp_window_put(&w, bytes, n);                   // from a pipe, cut anywhere
 *     if (!gp_window_trace(&w, need, &trace)) ...    // what came since the last gp_window_cut()
 *     gp_window_cut(&w);
 *     gp_window_release(&w);
 */
#ifndef GP_ANALYZE_LIVE_WINDOW_H
#define GP_ANALYZE_LIVE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/buf.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

enum { GP_WINDOW_BYTES = 32 << 20 };

struct gp_window_producer {
    uint32_t id, next; /* the number of its next block as recorded */
    uint32_t seq;      /* as written to a trace */
};

/* A zeroed struct is ready. */
struct gp_window {
    struct gp_buf bytes;         /* not complete blocks yet */
    struct gp_buf names, events; /* blocks */
    bool begun;                  /* the header of the file has passed */
    uint64_t lost;               /* blocks that did not come, or did not fit */
    GP_VEC(struct gp_window_producer) producers;
};

/* False: these are not bytes of a recording. */
bool gp_window_put(struct gp_window *w, const void *data, size_t n);
/* The caller releases T. -1: nothing can be made of it. */
int gp_window_trace(struct gp_window *w, uint32_t need, struct gp_trace *t);
void gp_window_cut(struct gp_window *w);
void gp_window_release(struct gp_window *w);

#endif
