/* suggest_text.h -- the answer of trace-suggest for a terminal: what bounds the step, then what to do, most
 * valuable first, a few lines each. Measures nothing.
 *
 *     gp_suggest_text_write(&buf, &suggest, &(struct gp_suggest_text_opts){.color = true});
 */
#ifndef GP_RENDER_SUGGEST_TEXT_H
#define GP_RENDER_SUGGEST_TEXT_H

#include <stdbool.h>
#include "analyze/suggest/suggest.h"
#include "formats/base/declare.h"
#include "render/report/report.h"

struct gp_suggest_text_opts {
    bool color;         /* ANSI escapes */
    size_t width;       /* columns; 0: GP_TEXT_WIDTH */
    bool verbose;       /* assumptions, formulas and how to check; and what is not worth doing, in full */
    bool three_regimes; /* overhead, memory and compute only */
};

void gp_suggest_text_write(struct gp_buf *b, const struct gp_suggest *s,
                           const struct gp_suggest_text_opts *o);
/* Add the opening sentences: the step, its regime, the joint saving of all suggestions, and problems of the
 * input and the recording. THREE_REGIMES: report only overhead, memory and compute. */
void gp_suggest_tell(struct gp_report *r, const struct gp_suggest *s, bool three_regimes);
/* How many suggestions would save something; they come before the others. */
size_t gp_suggest_worth(const struct gp_suggest *s);
/* What kernels are compared with, and how their work is known, in a sentence or two; nothing if nothing is
 * known. */
void gp_suggest_put_ceilings(struct gp_buf *b, const struct gp_suggest *s);
/* "saves 0.79 to 1.22 ms of 3.96 ms per step (1.25 to 1.44x)" */
void gp_suggest_put_saving(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one);

#endif
