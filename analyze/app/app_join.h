/* app_join.h -- all inputs of a tool as one trace, on one clock: ranks beside each other. Only mains include
 * it.
 *
 *     struct gp_app_joined in = {0};
 *     struct gp_trace t;
 *     if (gp_app_join(&f, need, &t, &in, &err)) ...
 *     gp_app_joined_release(&in);
 */
#ifndef GP_ANALYZE_APP_APP_JOIN_H
#define GP_ANALYZE_APP_APP_JOIN_H

#include "analyze/app/app.h"

/* What is known of each input, in their order. */
struct gp_app_joined {
    struct gp_strings strings;
    GP_VEC(struct gp_input_quality) inputs; /* sids of STRINGS */
};

/* Read all inputs of F into T. NEED may be less than collectives want: then clocks are aligned by what is
 * there. IN, which starts zeroed, is filled in. With --verbose, report how far each clock was moved; unless
 * --quiet, that the recordings were not made at the same time. The caller releases T; on failure it is
 * released already, and ERR names the input. */
GP_MUST_CHECK int gp_app_join(struct gp_app *f, uint32_t need, struct gp_trace *t, struct gp_app_joined *in,
                              struct gp_err *err);
void gp_app_joined_release(struct gp_app_joined *in);

/* Append the inputs as a title names them: their file names without folders, "and N more" after the third. */
void gp_app_put_title(const struct gp_app *f, struct gp_buf *b);

/* Read the counters of PATH into T, which the caller releases, and nothing else of it. That reading them
 * disturbed its times does not matter, so nothing warns of it. The inputs of F stay as they are. -1 with ERR,
 * which names PATH, and an empty T if it cannot be read or has no counters. */
GP_MUST_CHECK int gp_app_counters(struct gp_app *f, const char *path, struct gp_trace *t, struct gp_err *err);

/* As gp_app_trace(), but input I may also be a snapshot (a pickle, found by its content). */
GP_MUST_CHECK int gp_app_trace_or_snapshot(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t,
                                           struct gp_err *err);

#endif
