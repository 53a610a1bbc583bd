/* suggest_formats.h -- the formats of trace-suggest's answer: text, json, html and dot, each a row of a
 * table.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_suggest_formats, "html");
 *     struct gp_suggest_answer a = {.s = &suggest, .top = 20};
 *     if (gp_answer_write(f, &a, "page.html", &err)) ...
 */
#ifndef GP_RENDER_SUGGEST_FORMATS_H
#define GP_RENDER_SUGGEST_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/suggest/suggest.h"
#include "formats/base/answer.h"

/* What is written, and how. Strings are borrowed. */
struct gp_suggest_answer {
    const struct gp_suggest *s;
    size_t top;          /* kernels of JSON's regimes, 0: all */
    bool three_regimes;  /* fold to overhead, memory, compute */
    bool color, verbose; /* of text */
    size_t width;        /* of text, in columns; 0: 80 */
    const char *input;   /* of html: what the page is about; NULL: standard input */
    const char *options; /* of html: the options that the answer depends on, as typed */
};

extern const struct gp_answer_format gp_suggest_formats[];

/* Append all rules: what each looks for and needs, its threshold and its exceptions. */
void gp_suggest_rules_write(struct gp_buf *b);

#endif
