/* compile_tables.h -- the answer of trace-compile as a report: what to do first, and the tables. Knows no
 * output syntax.
 *
 *     struct gp_report r = {0};
 *     gp_compile_report(&r, &c, 0);
 *     gp_report_text_write(&buf, &r, &opts);
 *     gp_report_release(&r);
 */
#ifndef GP_RENDER_COMPILE_TABLES_H
#define GP_RENDER_COMPILE_TABLES_H

#include "analyze/compile/compile.h"
#include "render/report/report.h"

/* TOP: rows of long tables, 0 for all. R is empty. */
void gp_compile_report(struct gp_report *r, const struct gp_compile *c, size_t top);

#endif
