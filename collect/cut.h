/* cut.h -- a trace of what a process does between two moments, written while its session (session.h) writes
 * the whole: the rows that start within it, and everything that they refer to. Does not know where rows come
 * from.
 *
 *     struct gp_cut *c = gp_cut_new(&frame, producer);
 *     gp_cut_put(c, &trace);                              // before each gp_trace_clear_events()
 *     gp_cut_until(c, end_ns);
 *     gp_cut_end(c, &trace, &done);                       // frees it; done.why is "" if the file is there
 */
#ifndef GP_COLLECT_CUT_H
#define GP_COLLECT_CUT_H

#include <stdint.h>
#include "collect/wire/wire.h"
#include "formats/model/trace.h"

struct gp_cut;

/* Begin the trace that FRAME asks for. Never NULL: what fails is reported at the end. */
struct gp_cut *gp_cut_new(const struct gp_wire_cut *frame, uint32_t producer);
uint64_t gp_cut_id(const struct gp_cut *c);
/* Write the rows of T that belong to it. T has the same rows afterwards. */
void gp_cut_put(struct gp_cut *c, struct gp_trace *t);
/* From now on only rows that start before END_NS belong to it. */
void gp_cut_until(struct gp_cut *c, int64_t end_ns);
/* Write the rest of T, whose rows have been put; give the file its name, free C, and fill DONE. */
void gp_cut_end(struct gp_cut *c, struct gp_trace *t, struct gp_wire_cut_done *done);
/* The process is gone: discard the file. C may be NULL. */
void gp_cut_drop(struct gp_cut *c);

#endif
