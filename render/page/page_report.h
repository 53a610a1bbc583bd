/* page_report.h -- common parts of pages that are read from top to bottom: problems of the input, the
 * verdict, figures, links within the page, pictures, the end. Knows nothing about their content.
 *
 *     gp_page_verdict(&w, &report);
 *     gp_page_contents(&w);
 *     gp_page_entry(&w, "kernels", "What the GPUs did");
 *     gp_page_close(&w);
 */
#ifndef GP_RENDER_PAGE_REPORT_H
#define GP_RENDER_PAGE_REPORT_H

#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* The lines of R's quality and of its verdict as sections; nothing if there are none. */
void gp_page_quality(struct gp_svg *w, const struct gp_report *r);
void gp_page_verdict(struct gp_svg *w, const struct gp_report *r);
/* One of the figures at the top: NAME, the text of VALUE, which is empty after, and WORDS of what. */
void gp_page_figure(struct gp_svg *w, const char *name, struct gp_buf *value, const char *words);
/* The end: which TOOL wrote it with which OPTIONS, as typed, NULL or empty for none; a NOTE on how to read it, or NULL;
 * whether the page holds the ANSWER for programs, too. */
void gp_page_foot(struct gp_svg *w, const char *tool, const char *options, const char *note, bool answer);
/* A link to the element ID of the same page. */
void gp_page_link(struct gp_svg *w, const char *id, const char *title);
/* The table of contents, up to gp_page_close(), and a line of it. */
void gp_page_contents(struct gp_svg *w);
void gp_page_entry(struct gp_svg *w, const char *id, const char *title);
/* A link to another page, a file as a user named it. */
void gp_page_href(struct gp_svg *w, const char *file, const char *text);
/* Append N bytes as part of an address; SAFE are marks that stay. */
void gp_page_address_put(struct gp_buf *b, const char *s, size_t n, const char *safe);
/* Append the address of a page, a file as a user named it. */
void gp_page_file_put(struct gp_buf *b, const char *file);
/* A figure that is scrolled sideways where DRAWN, one SVG element, is wider than the page; LABEL is for those who do not see
 * it. */
void gp_page_graph(struct gp_svg *w, const struct gp_buf *drawn, const char *label);

#endif
