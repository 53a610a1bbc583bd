/* query_formats.h -- the answer of a statement as text, CSV, JSON or Markdown, row by row.
 *
 *     struct gp_query_answer a = {.sql = sql, .inputs = quality, .n_inputs = n, .strings = &strings};
 *     if (gp_query_answer_write(format, &a, "answer.json", &err)) ...
 */
#ifndef GP_RENDER_QUERY_FORMATS_H
#define GP_RENDER_QUERY_FORMATS_H

#include <stddef.h>
#include "analyze/query/query_sql.h"
#include "analyze/view/quality.h"
#include "formats/base/answer.h"
#include "formats/base/err.h"

struct gp_query_answer {
    struct gp_sql *sql; /* a statement is prepared */
    const char *text;   /* of the statement */
    const struct gp_input_quality *inputs;
    size_t n_inputs;
    const struct gp_strings *strings; /* of the inputs */
    /* while it is written */
    size_t rows;
    int failed; /* the statement did */
    struct gp_err err;
};

extern const struct gp_answer_format gp_query_formats[];

/* Write the answer to TO. -1 with ERR if the statement fails while it is written. */
GP_MUST_CHECK int gp_query_answer_put(const struct gp_answer_format *f, struct gp_query_answer *a,
                                      struct gp_output *to, struct gp_err *err);
/* As gp_answer_write(), but a statement that fails leaves the file as it was. */
GP_MUST_CHECK int gp_query_answer_write(const struct gp_answer_format *f, struct gp_query_answer *a,
                                        const char *path, struct gp_err *err);

#endif
