/* page_pack.h -- large data inside a page: a sequence of numbers, deflated, in base64. gp.unpack(id) of
 * assets/shell.js returns the bytes, gp.reader(bytes) the numbers. Knows nothing about their meaning.
 *
 *     struct gp_buf b = {0};
 *     gp_pack_u64(&b, 7); gp_pack_i64(&b, -7); gp_pack_text(&b, GP_TEXT("name"));
 *     gp_page_pack(&w, "spans", b.data, b.n);
 */
#ifndef GP_RENDER_PAGE_PACK_H
#define GP_RENDER_PAGE_PACK_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/buf.h"
#include "render/draw/canvas_svg.h"

/* Append V as LEB128: seven bits a byte, the lowest first. Pages read up to 2^53 exactly. */
static inline void gp_pack_u64(struct gp_buf *b, uint64_t v)
{
    for (; v > 127; v >>= 7) gp_buf_putc(b, (char)(v | 128));
    gp_buf_putc(b, (char)v);
}
/* Zigzag: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static inline void gp_pack_i64(struct gp_buf *b, int64_t v)
{
    gp_pack_u64(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}
/* The number of bytes, then the N bytes at S as valid UTF-8 without anything invisible (render/text.h). */
void gp_pack_text(struct gp_buf *b, const char *s, size_t n);

/* A script element (of a type that no browser runs) with the N bytes at DATA; further elements ID.1, ID.2 ...
 * where one would be longer than browsers can read. Equal data gives equal text. */
void gp_page_pack(struct gp_svg *w, const char *id, const void *data, size_t n);
/* The same in two steps, for those who deflate in several threads: append the N bytes at DATA, deflated with
 * zlib's LEVEL, to TO; write the deflated bytes. */
void gp_page_deflate(struct gp_buf *to, const void *data, size_t n, int level);
void gp_page_packed(struct gp_svg *w, const char *id, const void *deflated, size_t n);

#endif
