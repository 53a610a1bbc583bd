/* app_counters.h -- the hardware counters of another recording of the program that a tool reports on. Only
 * mains include it.
 *
 *     struct gp_trace counters = {0};
 *     if (gp_app_counters(&front, opts.counters, &counters, &err)) ...
 *     gp_trace_release(&counters);
 */
#ifndef GP_ANALYZE_FRONT_COUNTERS_H
#define GP_ANALYZE_FRONT_COUNTERS_H

#include "analyze/app/app.h"

/* Read the counters of PATH into T, which the caller releases in any case, and nothing else of it. That
 * reading them disturbed its times does not matter, so nothing warns of it. The inputs of F stay as they are.
 * -1 with ERR, which names PATH, if it cannot be read or has no counters. */
GP_MUST_CHECK int gp_app_counters(struct gp_app *f, const char *path, struct gp_trace *t, struct gp_err *err);

#endif
