/* diff_json.h -- the answer of trace-diff as one JSON object, as schemas/trace-diff.schema.json describes it:
 * every figure, and everything that decided a verdict. Integers stay integers, unknown figures are null,
 * every field's name ends in its unit. Measures nothing.
 *
 *     gp_diff_json_write(&buf, &diff, &(struct gp_diff_json_opts){.version = "1.0"});
 */
#ifndef GP_RENDER_DIFF_JSON_H
#define GP_RENDER_DIFF_JSON_H

#include "analyze/diff/diff.h"
#include "formats/base/declare.h"

struct gp_diff_json_opts {
    const char *version; /* of the suite */
};

/* Append the object and a newline. D has run; if its sides cannot be compared, the available figures are
 * still present. */
void gp_diff_json_write(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_json_opts *o);

#endif
