/* output.h -- where a tool's result goes: standard output, or a file that is written under a temporary name
 * and renamed on success, so that a failed run does not leave half a file. Files with names that end in ".gz"
 * or ".zst" are compressed, unless the writer has done so itself.
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
/* What was written so far goes out now: for answers to somebody who waits. */
void gp_output_flush(struct gp_output *out);
/* True once a write has failed. */
bool gp_output_failed(const struct gp_output *out);
/* Flush and close. With COMMIT the file gets its name; otherwise it is removed. 0, or -1 with ERR filled if
 * any write, the flush or the rename failed (the file is then removed). Frees OUT. */
int gp_output_close(struct gp_output *out, bool commit, struct gp_err *err) GP_MUST_CHECK;

/* ---- compression ----
 * Compresses a stream of text on its way to a callback: the whole file, as gzip or zstd, in bounded
 * memory. The output depends only on the bytes, not on how they were split into pieces: no time stamps, no
 * names.
 *
 *     struct gp_pack *p = gp_pack_new(GP_PACK_GZIP, sink, ctx);
 *     gp_pack_write(p, data, n);
 *     gp_pack_end(p);
 *     gp_pack_free(p);
 */

enum gp_packing { GP_PACK_NONE, GP_PACK_GZIP, GP_PACK_ZSTD };

/* Takes N bytes. Returns 0, or -1 to stop. */
typedef int gp_pack_sink(void *ctx, const void *data, size_t n);

struct gp_pack;

/* Never NULL. */
struct gp_pack *gp_pack_new(enum gp_packing packing, gp_pack_sink *sink, void *ctx);
/* PACK is a struct gp_pack *; may itself be used as a sink. -1 once the sink has stopped. */
int gp_pack_write(void *pack, const void *data, size_t n);
/* Write the end of the compressed stream. -1 if the sink has stopped. */
int gp_pack_end(struct gp_pack *p);
void gp_pack_free(struct gp_pack *p);

#endif
