/* cuts.h -- the cuts of a process that are open, in the order in which they began. Checks what the process
 * sends.
 *
 *     if (!gp_cuts_begin(&cuts, &frame, producer)) ...      // too many, or an id that is in use
 *     gp_cuts_put(&cuts, &trace);
 *     if (!gp_cuts_until(&cuts, &frame)) ...                // no such id
 *     gp_cuts_put(&cuts, &trace);
 *     gp_cuts_end(&cuts, frame.id, &trace, &done);
 */
#ifndef GP_COLLECT_CUTS_H
#define GP_COLLECT_CUTS_H

#include <stdbool.h>
#include "collect/cut.h"
#include "formats/base/vec.h"

enum { GP_CUTS_MOST = 64 };

/* Zero it. */
struct gp_cuts {
    GP_VEC(struct gp_cut *) open;
};

/* False if there are too many, or one with that id. */
bool gp_cuts_begin(struct gp_cuts *cuts, const struct gp_wire_cut *frame, uint32_t producer);
/* See gp_cut_put(). */
void gp_cuts_put(struct gp_cuts *cuts, struct gp_trace *t);
/* See gp_cut_until(). False if there is none with that id. */
bool gp_cuts_until(struct gp_cuts *cuts, const struct gp_wire_cut *frame);
/* See gp_cut_end(); ID must be one of them. */
void gp_cuts_end(struct gp_cuts *cuts, uint64_t id, struct gp_trace *t, struct gp_wire_cut_done *done);
/* The process has ended: what it had begun ends there. */
void gp_cuts_finish(struct gp_cuts *cuts, struct gp_trace *t);
/* Discards those that are open. */
void gp_cuts_release(struct gp_cuts *cuts);

#endif
