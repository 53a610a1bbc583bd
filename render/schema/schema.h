/* schema.h -- makes the JSON Schema of a tool from its part in schemas/parts, in which a value is written as
 *
 *     @rows kernels@,                  the member "kernels", rows of that record, and maybe "kernels_rest"
 *     "kernels": @list kernels@,       that list
 *     "sums": @row kernels@,           one of them
 *     @file head.json@                 another part, line by line, which begins here
 *     [@formats snapshot@]             the formats that gp_readers read, after those named here
 *
 * so that what a record describes is written once. Knows nothing of files: the caller reads them.
 */
#ifndef GP_RENDER_SCHEMA_H
#define GP_RENDER_SCHEMA_H

#include <stddef.h>
#include "analyze/result/field.h"
#include "formats/base/declare.h"

/* Appends the bytes of the part NAME; -1 if there is none. */
typedef int gp_schema_read(void *ctx, const char *name, struct gp_buf *to, struct gp_err *err);

/* Append the schema of TOOL, made from the N bytes of PART. -1 with ERR: a record or part that does not
 * exist. */
GP_MUST_CHECK int gp_schema_make(struct gp_buf *to, const char *tool, const char *part, size_t n,
                                 gp_schema_read *read, void *ctx, struct gp_err *err);

/* Append the classes of gputrace's results (collect/python/gputrace/_rows.py) from the records of the answers
 * that they are rows of: an attribute has the name of its JSON member, with a _ behind it where that is a
 * keyword of Python. */
void gp_schema_python(struct gp_buf *to);

#endif
