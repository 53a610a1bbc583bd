/* diff_formats.h -- the formats of trace-diff's answer: text, pictures, and the languages of builds, each a
 * row of a table.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_diff_formats, "text");
 *     struct gp_diff_answer a = {.d = &diff, .top = gp_answer_rows(f, GP_ROWS_UNSET), .view = "waterfall"};
 *     if (gp_answer_write(f, &a, NULL, &err)) ...
 */
#ifndef GP_RENDER_DIFF_FORMATS_H
#define GP_RENDER_DIFF_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/diff/diff.h"
#include "analyze/diff/sides.h"
#include "formats/base/answer.h"
#include "render/report/report.h"

/* An answer and how to write it. Strings are borrowed. */
struct gp_diff_answer {
    const struct gp_diff *d;
    size_t top;                   /* rows of long tables, 0: all */
    bool color;                   /* of text */
    size_t width;                 /* of text, in columns; 0: 80 */
    const char *view;             /* of svg: "waterfall", "flame" or "flame-base" */
    const struct gp_sides *sides; /* of html and svg */
    const char *options;          /* of html: the options that the answer depends on, as typed */
};

extern const struct gp_answer_format gp_diff_formats[];

/* The answer in sentences: the changes and how certain they are, expectations not met, and reservations. */
void gp_diff_summary(struct gp_report *r, const struct gp_diff *d);

#endif
