/* memory_json.h -- the memory analysis as JSON, described by schemas/trace-memory.schema.json.
 *
 *     gp_memory_json(out, &memory, GP_VERSION);
 */
#ifndef GP_RENDER_MEMORY_JSON_H
#define GP_RENDER_MEMORY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/memory/memory.h"
#include "formats/base/declare.h"
#include "formats/base/output.h"

/* Write the object and a new line to TO, piece by piece. Failed writes are remembered by TO. */
void gp_memory_json(struct gp_output *to, struct gp_memory *m, const char *version);
/* The same into B, which is empty, unless it is longer than MOST bytes: then false, and B stays empty. */
bool gp_memory_json_short(struct gp_buf *b, struct gp_memory *m, const char *version, size_t most);

#endif
