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

struct gp_compile_answer {
    const struct gp_compile *c;
    const char *input, *options; /* for the page */
    size_t top;
    size_t width; /* of text, in columns; 0: 80 */
    bool color;
};

extern const struct gp_answer_format gp_compile_formats[];

#endif
