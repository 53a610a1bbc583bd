/* compile_priv.h -- private: the report, the JSON and the page of trace-compile. */
#ifndef GP_RENDER_COMPILE_COMPILE_PRIV_H
#define GP_RENDER_COMPILE_COMPILE_PRIV_H

#include "analyze/compile/compile.h"
#include "formats/base/declare.h"
#include "render/compile/compile_formats.h"
#include "render/report/report.h"

/* ---- the page ---- */

/* Verdict, compile time as a bar and as an icicle of its spans, graph breaks, recompiles, kernels. The
 * model's source is only in it when the log kept it (--code). */

/* JSON is the same answer for programs. */
void gp_compile_html_write(struct gp_buf *b, const struct gp_compile_answer *a, const struct gp_buf *json);

/* ---- JSON: schemas/trace-compile.schema.json ---- */

void gp_compile_json_write(struct gp_buf *b, const struct gp_compile *c, const char *version);

/* ---- the report ---- */

/* TOP: rows of long tables, 0 for all. R is empty. */
void gp_compile_report(struct gp_report *r, const struct gp_compile *c, size_t top);

#endif
