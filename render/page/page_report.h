/* page_report.h -- parts of pages that are read from top to bottom: tables, links within the page and to
 * others, pictures. Knows nothing about their content.
 *
 *     gp_page_link(&w, "kernels", "What the GPUs did");
 */
#ifndef GP_RENDER_PAGE_REPORT_H
#define GP_RENDER_PAGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* A link to the element ID of the same page. */
void gp_page_link(struct gp_svg *w, const char *id, const char *title);
/* A link to another page, a file as a user named it. */
void gp_page_href(struct gp_svg *w, const char *file, const char *text);
/* Append N bytes as part of an address; SAFE are marks that stay. */
void gp_page_address_put(struct gp_buf *b, const char *s, size_t n, const char *safe);
/* Append the address of a page, a file as a user named it. */
void gp_page_file_put(struct gp_buf *b, const char *file);
/* A figure that is scrolled sideways where DRAWN, one SVG element, is wider than the page; LABEL is for
 * screen readers. */
void gp_page_graph(struct gp_svg *w, const struct gp_buf *drawn, const char *label);

/* ---- tables of a report ---- */

/* A heading that folds it, cells with exact values for sorting and copying, full names in tooltips,
 * definitions of the columns below. */

enum { GP_TABLE_HTML_ROWS = 1000 };

struct gp_table_html_opts {
    bool open;       /* not folded */
    size_t max_rows; /* further rows are left out, with a note; 0: GP_TABLE_HTML_ROWS */
    bool only_json;  /* which has them; there is no CSV */
    /* Colour class of a row that has one (gp_page_swatch), from its number in the report (1 ...); NULL: no
     * colours. */
    const char *(*swatch)(int class);
};

/* A swatch: of rows that have the kind of a kernel. */
const char *gp_table_kind_swatch(int class);

void gp_table_html_write(struct gp_svg *w, const struct gp_report_table *t,
                         const struct gp_table_html_opts *o);

#endif
