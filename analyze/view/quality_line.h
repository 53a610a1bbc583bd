/* quality_line.h -- what is wrong with an input, in one line: the only wording of it, for messages and
 * reports alike.
 *
 *     struct gp_buf b = {0};
 *     if (gp_quality_line(&b, trace.issues)) ...      // "the input ends early (first at byte 500); blocks lost to damage: 2"
 */
#ifndef GP_ANALYZE_QUALITY_LINE_H
#define GP_ANALYZE_QUALITY_LINE_H

#include <stdbool.h>
#include "analyze/view/quality.h"
#include "formats/base/declare.h"

/* Append the kinds of ISSUES that occur, each with its count and first place. False if there are none. */
bool gp_quality_line(struct gp_buf *b, const struct gp_issue issues[GP_ISSUE_COUNT]);

/* Call SAY with a line for each of the N inputs that is not clean, at most eight of them, and then one for
 * the rest. The sids of IN are of S. With DAMAGE_ONLY, inputs that could be read as they are have no line,
 * even where something was never recorded, such as launches. */
void gp_quality_lines(const struct gp_strings *s, const struct gp_input_quality *in, size_t n,
                      bool damage_only, void (*say)(void *ctx, const char *line, bool usable), void *ctx);

#endif
