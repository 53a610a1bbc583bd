/* app_memory.h -- inputs that may be snapshots of an allocator as well as traces: a snapshot becomes memory
 * events and ranges. Only mains include this.
 *
 *     front.read = gp_app_trace_or_snapshot;
 *     if (gp_app_join(&front, need, &t, &in, &err)) ...
 */
#ifndef GP_ANALYZE_FRONT_MEMORY_H
#define GP_ANALYZE_FRONT_MEMORY_H

#include "analyze/app/app.h"

/* As gp_app_trace(), but input I may also be a snapshot (a pickle, found by its content). */
GP_MUST_CHECK int gp_app_trace_or_snapshot(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t,
                                           struct gp_err *err);

#endif
