/* comparison.h -- all that one comparison needs, from the words of a command line to the result: which traces
 * are on which side, saved baselines, gates and predictions. The caller fills in the parts, since reading
 * traces is not done here.
 *
 *     struct gp_comparison c = {0};
 *     if (gp_comparison_open(&c, &asked, &err)) ...
 *     for (size_t i = 0; i < c.sides.n; i++) ... gp_profile_add_trace(&c.parts[i], &trace, &err) ...
 *     gp_comparison_run(&c, &opts);
 *     status = gp_diff_status(&c.diff);
 *     gp_comparison_release(&c);
 */
#ifndef GP_ANALYZE_COMPARISON_H
#define GP_ANALYZE_COMPARISON_H

#include "analyze/diff/baseline.h"
#include "analyze/diff/diff.h"
#include "analyze/diff/profile.h"
#include "analyze/diff/sides.h"
#include "formats/base/declare.h"
#include "formats/expect_read.h"

struct gp_comparison {
    struct gp_sides sides;
    struct gp_profile *parts;   /* of each path of the sides; zeroed, to be filled in by the caller */
    gp_baseline_profiles saved; /* of the saved baseline */
    struct gp_gates gates;
    struct gp_expects expects; /* may be filled in by the caller */
    struct gp_diff diff;
};

/* Fill C, which is zeroed; GATES are the values of --gate. C is to be released whatever this returns. */
GP_MUST_CHECK int gp_comparison_open(struct gp_comparison *c, const struct gp_sides_asked *asked,
                                     const struct gp_paths *gates, struct gp_err *err);
/* Compare. OPTS is the rest of the options: without gates and predictions. */
void gp_comparison_run(struct gp_comparison *c, const struct gp_diff_opts *opts);
/* Save the current side, where ASKED says. */
GP_MUST_CHECK int gp_comparison_save(struct gp_comparison *c, const struct gp_sides_asked *asked,
                                     struct gp_err *err);
void gp_comparison_release(struct gp_comparison *c);

/* Append what F predicts to E. -1 with ERR naming the prediction of something that does not exist. */
GP_MUST_CHECK int gp_expects_of_file(struct gp_expects *e, const struct gp_expect_file *f,
                                     struct gp_err *err);

#endif
