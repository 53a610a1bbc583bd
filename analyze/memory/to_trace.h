/* to_trace.h -- the history of an allocator as memory events and ranges of a trace, so that tools that draw
 * traces draw it, too. Sizes are those of blocks, as the replay has them: the highest total of a device is
 * its peak.
 *
 *     struct gp_trace t;
 *     gp_trace_init(&t, GP_NEED_ALL);
 *     gp_memory_to_trace(&m, &t);                 // m is finished
 *     gp_trace_finish(&t);
 */
#ifndef GP_ANALYZE_MEMORY_TO_TRACE_H
#define GP_ANALYZE_MEMORY_TO_TRACE_H

#include "analyze/memory/memory.h"
#include "formats/model/trace.h"

/* Append to T, which is initialised and not yet finished: for each device of M an event per block that is
 * allocated or freed and per segment that is given back (0 bytes: only what is reserved changes), with the
 * totals after it; the ranges of the annotations; a mark where memory ran out; the issues of the inputs.
 * Times are those of the history. */
void gp_memory_to_trace(const struct gp_memory *m, struct gp_trace *t);

#endif
