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

#endif
