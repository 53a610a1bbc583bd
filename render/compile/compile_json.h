/* compile_json.h -- the answer of trace-compile as JSON, schemas/trace-compile.schema.json. Measures nothing.
 *
 *     gp_compile_json_write(&buf, &c, GP_VERSION);
 */
#ifndef GP_RENDER_COMPILE_JSON_H
#define GP_RENDER_COMPILE_JSON_H

#include "analyze/compile/compile.h"
#include "formats/base/declare.h"

void gp_compile_json_write(struct gp_buf *b, const struct gp_compile *c, const char *version);

#endif
