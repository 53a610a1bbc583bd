/* hta_html.h -- the answer of trace-hta as one HTML page: problems of the input, the verdict, the key
 * figures, findings, then charts and tables by theme. Self-contained, readable without its script, printable.
 * Measures nothing.
 *
 *     gp_hta_html_write(&buf, &hta, &report, &(struct gp_hta_html_opts){.json = json.data, .json_n = json.n});
 */
#ifndef GP_RENDER_HTA_HTML_H
#define GP_RENDER_HTA_HTML_H

#include "formats/base/declare.h"
#include "render/report/report.h"

struct gp_hta;

/* A zeroed struct is the default. Strings are borrowed during the call. */
struct gp_hta_html_opts {
    const char *json; /* the same answer for programs, which becomes part of the page; NULL: none */
    size_t json_n;
    const char *options; /* the options it was made with, as typed: "--top 20"; NULL or empty: defaults */
    /* pages of the same traces that findings link to, as paths from this page; NULL: none */
    const char *flame, *timeline;
    size_t max_rows; /* of a table; 0: GP_TABLE_HTML_ROWS */
    bool whole;      /* about everything, not only the steps */
};

/* Append the page to OUT. H is finished, R was made from it (gp_hta_report). Equal input gives equal
 * bytes. */
void gp_hta_html_write(struct gp_buf *out, const struct gp_hta *h, const struct gp_report *r,
                       const struct gp_hta_html_opts *o);

#endif
