/* diff_verdict.h -- the answer of trace-diff in sentences: what changed and how certain that is, what broke,
 * and what a reader must know before trusting it. Measures nothing.
 *
 *     gp_diff_tell(&report, &diff);                 // fills report.quality and report.verdict
 */
#ifndef GP_RENDER_DIFF_VERDICT_H
#define GP_RENDER_DIFF_VERDICT_H

#include "analyze/diff/diff.h"
#include "render/report/report.h"

void gp_diff_tell(struct gp_report *r, const struct gp_diff *d);
/* The verdict in one sentence: "REGRESSION: step time 3.50 ms -> 5.60 ms (+60.1%): ...". */
void gp_diff_put_sentence(struct gp_buf *b, const struct gp_diff *d);
/* "+1.23 ms", "-45 ns", "0 ns"; with UNIT "count" "+12". */
void gp_diff_put_change(struct gp_buf *b, const char *unit, int64_t change);
/* A value or a limit of METRIC (GP_METRIC_COUNT: of a time): "5%", "1.2 ms", "12"; with SIGN "+5%". */
void gp_diff_put_limit(struct gp_buf *b, bool percent, uint32_t metric, double v, bool sign);
/* Is the outcome of a prediction better than predicted, worse, or as predicted? "met", "better", "worse", "unknown". */
const char *gp_diff_outcome(const struct gp_diff_expect *e);

#endif
