/* compile_verdict.h -- the first lines of trace-compile's answer: what to do first, then what there is; and
 * what was wrong with the inputs. Knows no output syntax.
 *
 *     gp_compile_verdict(&report, &c);
 */
#ifndef GP_RENDER_COMPILE_VERDICT_H
#define GP_RENDER_COMPILE_VERDICT_H

#include "analyze/compile/compile.h"
#include "render/report/report.h"

void gp_compile_verdict(struct gp_report *r, const struct gp_compile *c);
/* Line by line, of logs and traces. */
void gp_compile_quality(struct gp_report *r, const struct gp_compile *c);

#endif
