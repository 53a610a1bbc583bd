/* pack.h -- compresses a stream of text on its way to a callback: the whole file, as gzip or zstd, in bounded
 * memory. The output depends only on the bytes, not on how they were split into pieces: no time stamps, no
 * names.
 *
 *     struct gp_pack *p = gp_pack_new(GP_PACK_GZIP, sink, ctx);
 *     gp_pack_write(p, data, n);
 *     gp_pack_end(p);
 *     gp_pack_free(p);
 */
#ifndef GP_FORMATS_PACK_H
#define GP_FORMATS_PACK_H

#include <stddef.h>

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
