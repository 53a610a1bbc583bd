/* quality_text.h -- what was wrong with the inputs, in sentences that all tools share.
 *
 *     gp_inputs_say(&report, &hta.strings, hta.inputs.at, hta.inputs.n, true);
 */
#ifndef GP_RENDER_QUALITY_TEXT_H
#define GP_RENDER_QUALITY_TEXT_H

#include "analyze/view/quality.h"
#include "render/report/report.h"

/* What was wrong with N inputs, whose sids are of S, line by line into R's quality. With DAMAGE only those
 * that could not be read as they are, without what was never recorded, such as launches. */
void gp_inputs_say(struct gp_report *r, const struct gp_strings *s, const struct gp_input_quality *inputs,
                   size_t n, bool damage);

#endif
