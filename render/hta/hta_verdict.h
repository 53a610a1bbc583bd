/* hta_verdict.h -- the answer of trace-hta in sentences: problems of the input, and where the time went.
 *
 *     gp_hta_say(&report, &hta, false);            // fills report.quality and report.verdict
 */
#ifndef GP_RENDER_HTA_VERDICT_H
#define GP_RENDER_HTA_VERDICT_H

#include "render/hta/hta_sums.h"
#include "render/report/report.h"

struct gp_hta;

/* Add the problems of the inputs to R's quality, line by line. With DAMAGE, only inputs that needed repair,
 * without facts that were never recorded, such as launches. */
void gp_hta_say_quality(struct gp_report *r, const struct gp_hta *h, bool damage);
/* That, and the verdict: about the steps where there are any, or with WHOLE about everything. */
void gp_hta_say(struct gp_report *r, const struct gp_hta *h, bool whole);

#endif
