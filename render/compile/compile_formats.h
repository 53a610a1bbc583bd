/* compile_formats.h -- the formats of trace-compile's answer.
 *
 *     struct gp_compile_answer a = {.c = &c, .top = gp_answer_rows(format, top)};
 *     if (gp_answer_write(format, &a, path, &err)) ...
 */
#ifndef GP_RENDER_COMPILE_FORMATS_H
#define GP_RENDER_COMPILE_FORMATS_H

#include <stdbool.h>
#include "analyze/compile/compile.h"
#include "formats/base/answer.h"
#include "render/report/report.h"

struct gp_compile_answer {
    const struct gp_compile *c;
    const char *input, *options; /* for the page */
    size_t top;
    size_t width; /* of text, in columns; 0: 80 */
    bool color;
};

extern const struct gp_answer_format gp_compile_formats[];

/* The first lines of the answer: the first things to do, then an overview. */
void gp_compile_summary(struct gp_report *r, const struct gp_compile *c);
/* Problems of the inputs, logs and traces, line by line. */
void gp_compile_quality(struct gp_report *r, const struct gp_compile *c);

#endif
