/* suggest_json.h -- the answer of trace-suggest as JSON, as schemas/trace-suggest.schema.json describes it;
 * and its predictions as schemas/expect.schema.json does. Measures nothing.
 *
 *     gp_suggest_json_write(&buf, &suggest, &(struct gp_suggest_json_opts){.version = "0.1.0", .top = 20});
 */
#ifndef GP_RENDER_SUGGEST_JSON_H
#define GP_RENDER_SUGGEST_JSON_H

#include <stddef.h>
#include "analyze/suggest/suggest.h"
#include "formats/base/declare.h"

struct gp_suggest_json_opts {
    const char *version;
    size_t top;         /* kernels with their regime; 0: all */
    bool three_regimes; /* fold to overhead, memory, compute */
};

void gp_suggest_json_write(struct gp_buf *b, const struct gp_suggest *s,
                           const struct gp_suggest_json_opts *o);
/* What a trace after the changes should show, for trace-diff --expect. */
void gp_suggest_expect_write(struct gp_buf *b, const struct gp_suggest *s);

#endif
