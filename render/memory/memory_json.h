/* memory_json.h -- the memory analysis as JSON, described by schemas/trace-memory.schema.json.
 *
 *     gp_memory_json(&buf, &memory, GP_VERSION);
 */
#ifndef GP_RENDER_MEMORY_JSON_H
#define GP_RENDER_MEMORY_JSON_H

#include "analyze/memory/memory.h"
#include "formats/base/buf.h"

void gp_memory_json(struct gp_buf *b, struct gp_memory *m, const char *version);

#endif
