/* page_report.h -- small parts of pages that are read from top to bottom: links within the page and to
 * others, pictures. Knows nothing about their content.
 *
 *     gp_page_link(&w, "kernels", "What the GPUs did");
 */
#ifndef GP_RENDER_PAGE_REPORT_H
#define GP_RENDER_PAGE_REPORT_H

#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"

/* A link to the element ID of the same page. */
void gp_page_link(struct gp_svg *w, const char *id, const char *title);
/* A link to another page, a file as a user named it. */
void gp_page_href(struct gp_svg *w, const char *file, const char *text);
/* Append N bytes as part of an address; SAFE are marks that stay. */
void gp_page_address_put(struct gp_buf *b, const char *s, size_t n, const char *safe);
/* Append the address of a page, a file as a user named it. */
void gp_page_file_put(struct gp_buf *b, const char *file);
/* A figure that is scrolled sideways where DRAWN, one SVG element, is wider than the page; LABEL is for those
 * who do not see it. */
void gp_page_graph(struct gp_svg *w, const struct gp_buf *drawn, const char *label);

#endif
