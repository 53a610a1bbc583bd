/* cuts.h -- the sessions of a process that are open, in the order in which they began. Each is a cut: a trace
 * of the process between two moments, written while its session (session.h) writes the whole. It
 * has the rows that start within it, and everything that they refer to. Checks what the process sends; does
 * not know where rows come from.
 *
 *     if (!gp_cuts_begin(&cuts, &frame, producer)) ...      // too many, or an id that is in use
 *     gp_cuts_put(&cuts, &trace);                           // before each gp_trace_clear_events()
 *     if (!gp_cuts_until(&cuts, &frame)) ...                // no such id
 *     gp_cuts_put(&cuts, &trace);
 *     gp_cuts_end(&cuts, frame.id, &trace, &done);          // done.why is "" if the file is there
 */
#ifndef GP_COLLECT_CUTS_H
#define GP_COLLECT_CUTS_H

#include <stdbool.h>
#include "collect/wire/wire.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

struct gp_cut;
enum { GP_CUTS_MOST = 64 };

/* Writes what was recorded beside the process, of the devices of T, as blocks of other producers. */
typedef void gp_cuts_beside(void *ctx, const struct gp_trace *t, int64_t from_ns, int64_t to_ns,
                            int (*write)(void *to, const void *block, size_t n), void *to);

/* Zero it. */
struct gp_cuts {
    GP_VEC(struct gp_cut *) open;
    gp_cuts_beside *beside; /* may be NULL */
    void *ctx;
};

/* Begin the trace that FRAME asks for; failures are reported at its end. False if there are too many, or one
 * with that id. */
bool gp_cuts_begin(struct gp_cuts *cuts, const struct gp_wire_cut *frame, uint32_t producer);
/* Write the rows of T that belong to each. T has the same rows afterwards. */
void gp_cuts_put(struct gp_cuts *cuts, struct gp_trace *t);
/* From now on only rows that start before the frame's end belong to it. False if there is none with that
 * id. */
bool gp_cuts_until(struct gp_cuts *cuts, const struct gp_wire_cut *frame);
/* Write the rest of T, whose rows have been put, give the file its name, and fill DONE. ID must be one of
 * them. */
void gp_cuts_end(struct gp_cuts *cuts, uint64_t id, struct gp_trace *t, struct gp_wire_cut_done *done);
/* The process has ended, and with it all that are open. */
void gp_cuts_finish(struct gp_cuts *cuts, struct gp_trace *t);
/* Discards those that are open. */
void gp_cuts_release(struct gp_cuts *cuts);

#endif
