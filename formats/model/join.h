/* join.h -- several traces as one: the processes of each stay apart, because their writers become
 * producers of their own. Knows nothing about files or about how clocks are found to differ.
 *
 *     struct gp_trace t, parts[2];      // read with the same need
 *     int64_t later_ns[] = {0, 394};    // added to the times of each
 *     gp_trace_join(&t, parts, 2, later_ns);
 *     gp_trace_release(&t);
 */
#ifndef GP_FORMATS_MODEL_JOIN_H
#define GP_FORMATS_MODEL_JOIN_H

#include "formats/model/trace.h"

/* Make T the N > 0 finished traces of PARTS, in their order, and release those. LATER_NS, by part: added to
 * all of its times. A process without a rank gets that of its part; T has a rank only if all parts have the
 * same. Facts about the run are those of the first part that has them. T is finished. The memory of all parts
 * is in use, and at most one of them twice. O(n log n) for n events. */
void gp_trace_join(struct gp_trace *t, struct gp_trace *parts, size_t n, const int64_t *later_ns);

#endif
