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
#include "analyze/cost/roofline.h"
#include "analyze/suggest/suggest.h"
#include "formats/base/answer.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* An answer and how to write it. Strings are borrowed. */
struct gp_suggest_answer {
    const struct gp_suggest *s;
    size_t top;          /* kernels of JSON's regimes, 0: all */
    bool three_regimes;  /* fold to overhead, memory, compute */
    bool color, verbose; /* of text */
    size_t width;        /* of text, in columns; 0: 80 */
    const char *input;   /* of html: the input's name; NULL: standard input */
    const char *options; /* of html: the options that the answer depends on, as typed */
};

extern const struct gp_answer_format gp_suggest_formats[];

/* Append all rules: their facts, needs, thresholds and exceptions. */
void gp_suggest_rules_write(struct gp_buf *b);

/* The predictions for a trace after the changes, for trace-diff --expect: schemas/expect.schema.json. */
void gp_suggest_expect_write(struct gp_buf *b, const struct gp_suggest *s);

/* ---- a roofline: its figures as a table and in sentences, and the plot as a file ---- */

/* A new table of REP with a row for each point; NULL if there are none. */
const struct gp_report_table *gp_roofline_summary(struct gp_report *rep, const struct gp_roofline *r,
                                                  const struct gp_strings *names);
/* The plot, for wide and for narrow windows, and table T; without points, the reason. */
void gp_roofline_section(struct gp_svg *w, const struct gp_roofline *r, const struct gp_strings *names,
                         const struct gp_report_table *t);
/* Append an SVG file. INPUT is its name; NULL: standard input. */
void gp_roofline_svg(struct gp_buf *out, const struct gp_roofline *r, const struct gp_strings *names,
                     const char *input);

#endif
