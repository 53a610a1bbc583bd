/* steps_priv.h -- private to steps*.c: the two ways to find the windows of a program, tried in this order.
 *
 *     if (gp_steps_by_marker(&program, v, marker, err)) return -1;
 *     if (!program.windows.n) gp_steps_by_launches(&program, v);
 */
#ifndef GP_ANALYZE_STEPS_PRIV_H
#define GP_ANALYZE_STEPS_PRIV_H

#include "analyze/view/steps.h"

/* Fill the windows from ranges: those that match MARKER if it is given, otherwise those that look like steps.
 * Returns -1 if MARKER is not a valid regular expression. */
GP_MUST_CHECK int gp_steps_by_marker(struct gp_steps_program *p, const struct gp_view *v, const char *marker,
                                     struct gp_err *err);
/* Fill the windows from repeated launches: of graphs, or of any sequence of calls. */
void gp_steps_by_launches(struct gp_steps_program *p, const struct gp_view *v);

#endif
