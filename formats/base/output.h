/* output.h -- where a tool's result goes: standard output, or a file that is written under a temporary name
 * and renamed on success, so that a failed run does not leave half a file.
 *
 *     struct gp_output *out = gp_output_open("flame.svg", &err);      // NULL or "-": standard output
 *     gp_output_write(out, data, n);                                  // errors are remembered
 *     if (gp_output_close(out, true, &err)) ...                       // commits
 */
#ifndef GP_BASE_OUTPUT_H
#define GP_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

struct gp_output;

struct gp_output *gp_output_open(const char *path, struct gp_err *err) GP_MUST_CHECK;
/* Buffered. After a failed write, further ones do nothing; close reports the failure. */
void gp_output_write(struct gp_output *out, const void *data, size_t n);
/* True once a write has failed. */
bool gp_output_failed(const struct gp_output *out);
/* Flush and close. With COMMIT the file gets its name; otherwise it is removed. 0, or -1 with ERR filled if
 * any write, the flush or the rename failed (the file is then removed). Frees OUT. */
int gp_output_close(struct gp_output *out, bool commit, struct gp_err *err) GP_MUST_CHECK;

#endif
