/* try_formats.h -- the formats of gpuprof-try's answer, as a table for its main (formats/base/answer.h).
 *
 *     struct gp_try_answer a = {.t = &t, .width = 80};
 *     if (gp_answer_write(gp_answer_format(gp_try_formats, "html"), &a, path, &err)) ...
 */
#ifndef GP_RENDER_TRY_FORMATS_H
#define GP_RENDER_TRY_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/try/try.h"
#include "formats/base/answer.h"

struct gp_try_answer {
    const struct gp_try *t;
    const char *command; /* that was run; NULL: not said */
    bool color;
    size_t width;
};

extern const struct gp_answer_format gp_try_formats[]; /* text, json, html */

#endif
