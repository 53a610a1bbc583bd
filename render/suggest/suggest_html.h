/* suggest_html.h -- the answer of trace-suggest as one HTML page: problems of the input, the verdict, where
 * the time of a step goes, a card per suggestion with its saving and the reasons for it, suggestions that
 * would not shorten the step, and the kernels with what bounds them. Self-contained, readable without its
 * script, printable. Measures nothing.
 *
 *     gp_suggest_html_write(&buf, &suggest, &(struct gp_suggest_html_opts){.input = "app.trace", .json = json.data,
 *                                                                          .json_n = json.n});
 */
#ifndef GP_RENDER_SUGGEST_HTML_H
#define GP_RENDER_SUGGEST_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/suggest/suggest.h"
#include "formats/base/declare.h"

/* A zeroed struct is the default. Strings are borrowed during the call. */
struct gp_suggest_html_opts {
    const char *input; /* what the page is about: "app.trace"; NULL: standard input */
    const char *json;  /* the same answer for programs, which becomes part of the page; NULL: none */
    size_t json_n;
    /* the options it was made with, as typed: " --rule compile"; NULL or empty: defaults */
    const char *options;
    bool three_regimes; /* kernels' regimes are overhead, memory and compute only */
    size_t max_rows;    /* of the table of kernels; 0: GP_TABLE_HTML_ROWS */
};

/* Append the page to OUT. Equal input gives equal bytes. */
void gp_suggest_html_write(struct gp_buf *out, const struct gp_suggest *s,
                           const struct gp_suggest_html_opts *o);

#endif
