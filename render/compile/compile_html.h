/* compile_html.h -- the answer of trace-compile as one page: verdict, compile time as a bar and as an icicle
 * of its spans, graph breaks, recompiles, kernels. The model's source is only in it when the log kept it
 * (--code). Measures nothing.
 *
 *     gp_compile_html_write(&buf, &c, &(struct gp_compile_html_opts){.input = "logs", .json = json, .json_n = n});
 */
#ifndef GP_RENDER_COMPILE_HTML_H
#define GP_RENDER_COMPILE_HTML_H

#include "analyze/compile/compile.h"
#include "formats/base/declare.h"

struct gp_compile_html_opts {
    const char *input;   /* what the heading says */
    const char *options; /* as typed; NULL */
    const char *json;    /* the same answer for programs; NULL: none */
    size_t json_n;
    size_t top; /* rows of long tables, 0: as many as a page takes */
};

void gp_compile_html_write(struct gp_buf *b, const struct gp_compile *c,
                           const struct gp_compile_html_opts *o);

#endif
