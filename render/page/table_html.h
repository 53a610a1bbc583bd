/* table_html.h -- a table of a report as HTML: a heading that folds it, cells with exact values for sorting
 * and copying, full names in tooltips, definitions of the columns below. Knows nothing about the table's
 * content.
 *
 *     gp_table_html_write(&w, gp_report_find(&report, "kernels"), &(struct gp_table_html_opts){.open = true});
 */
#ifndef GP_RENDER_TABLE_HTML_H
#define GP_RENDER_TABLE_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

enum { GP_TABLE_HTML_ROWS = 1000 };

struct gp_table_html_opts {
    bool open;       /* not folded */
    size_t max_rows; /* further rows are left out, with a note; 0: GP_TABLE_HTML_ROWS */
    bool only_json;  /* which has them; there is no CSV */
    /* Colour class of a row that has one (gp_page_swatch), from its number in the report (1 ...); NULL: no
     * colours. */
    const char *(*swatch)(int class);
};

void gp_table_html_write(struct gp_svg *w, const struct gp_report_table *t,
                         const struct gp_table_html_opts *o);

#endif
