/* diff_html.h -- the answer of trace-diff as one HTML page: what to know before trusting it, the verdict, the
 * key figures, and by theme: why the time changed, which operations changed, where they are called, what
 * replaced what. Self-contained, readable without its script, printable. Measures nothing.
 *
 *     gp_diff_html_write(&buf, &diff, &report, &(struct gp_diff_html_opts){.json = json.data, .json_n = json.n});
 */
#ifndef GP_RENDER_DIFF_HTML_H
#define GP_RENDER_DIFF_HTML_H

#include <stddef.h>
#include "analyze/diff/diff.h"
#include "formats/base/declare.h"
#include "render/report/report.h"

/* A zeroed struct is the default. Strings are borrowed during the call. */
struct gp_diff_html_opts {
    const char *input; /* what was compared: "a.json -> b.json"; NULL: omitted */
    const char *json;  /* the same answer for programs, which becomes part of the page; NULL: none */
    size_t json_n;
    const char *options; /* the options it was made with, as typed; NULL or empty: defaults */
    size_t max_rows;     /* of a table; 0: GP_TABLE_HTML_ROWS */
};

/* Append the page to OUT. R was made from D (gp_diff_report). Equal input gives equal bytes. */
void gp_diff_html_write(struct gp_buf *out, const struct gp_diff *d, const struct gp_report *r,
                        const struct gp_diff_html_opts *o);

#endif
