/* report_csv.h -- one table of a report as RFC 4180: a header row, fields quoted where they must be, lines
 * that end in CR LF as the RFC requires, raw integers, names in full, unknown values empty.
 *
 *     gp_report_csv_write(&buf, gp_report_find(&report, "kernels"), NULL);
 */
#ifndef GP_RENDER_REPORT_CSV_H
#define GP_RENDER_REPORT_CSV_H

#include "render/report/report.h"

/* Append one field. Names come from traces, and a table from us may end in a spreadsheet or on a terminal:
 * control characters become visible, and an apostrophe before a formula makes it text. */
void gp_report_csv_put(struct gp_buf *b, const char *s, size_t n);
/* Append a cell as one field: numbers as JSON has them, nothing where it is not known. */
void gp_report_csv_cell(struct gp_buf *b, const struct gp_cell *c);
/* Append T, which may be NULL. With a NOTE, what a reader must know of all its figures, there is one more
 * column, "note", with it in each row; then a table without rows, or NULL, has one row of nothing else. */
void gp_report_csv_write(struct gp_buf *b, const struct gp_report_table *t, const char *note);

#endif
