/* report_text.h -- a report for a terminal: as wide as that is, numbers aligned to the right, names cut to
 * fit, never wrapped, and cut so that no two rows read the same. Nothing empty is written: no table without
 * rows, no column without content.
 *
 *     gp_report_text_write(&buf, &report, &(struct gp_report_text_opts){.color = true});
 */
#ifndef GP_RENDER_REPORT_TEXT_H
#define GP_RENDER_REPORT_TEXT_H

#include "render/report/report.h"

enum { GP_TEXT_WIDTH = 80, GP_TEXT_PROSE = 100, GP_TEXT_FULL = 1 << 20 };

/* Columns of sentences where a line has WIDTH, 0 for GP_TEXT_WIDTH: at most GP_TEXT_PROSE, as longer lines
 * are hard to read, unless nothing is to be cut or wrapped: from GP_TEXT_FULL on. */
size_t gp_report_prose_width(size_t width);

struct gp_report_text_opts {
    bool color;         /* ANSI escapes */
    size_t width;       /* columns; 0: GP_TEXT_WIDTH; GP_TEXT_FULL: cut and wrap nothing */
    bool verdict_first; /* quality follows the tables: for logs where people read the first line */
};

void gp_report_text_write(struct gp_buf *b, const struct gp_report *r, const struct gp_report_text_opts *o);
/* Only one table, whether it is a detail or not. */
void gp_report_text_table(struct gp_buf *b, const struct gp_report_table *t,
                          const struct gp_report_text_opts *o);

#endif
