/* report_text.h -- a report for a terminal: 80 columns, numbers aligned to the right, names cut to fit, never
 * wrapped. Nothing empty is written: no table without rows, no column without content.
 *
 *     gp_report_text_write(&buf, &report, &(struct gp_report_text_opts){.color = true});
 */
#ifndef GP_RENDER_REPORT_TEXT_H
#define GP_RENDER_REPORT_TEXT_H

#include "render/report/report.h"

struct gp_report_text_opts {
    bool color;         /* ANSI escapes */
    size_t width;       /* columns; 0: 80 */
    bool verdict_first; /* quality follows the tables: for logs where people read the first line */
};

void gp_report_text_write(struct gp_buf *b, const struct gp_report *r, const struct gp_report_text_opts *o);
/* Only one table, whether it is a detail or not. */
void gp_report_text_table(struct gp_buf *b, const struct gp_report_table *t,
                          const struct gp_report_text_opts *o);

#endif
