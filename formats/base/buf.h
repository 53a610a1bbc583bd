/* buf.h -- a growable byte buffer for building output. A zeroed buffer is empty; the bytes are NOT
 * NUL-terminated unless gp_buf_str() is asked for. Running out of memory ends the program (mem.h).
 *
 *     struct gp_buf b = {0};
 *     gp_buf_printf(&b, "%d kernels", n);
 *     fwrite(b.data, 1, b.n, stdout);
 *     gp_buf_release(&b);
 */
#ifndef GP_BASE_BUF_H
#define GP_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "formats/base/declare.h"

struct gp_buf {
    char *data;
    size_t n, cap;
};

/* Make room for EXTRA more bytes and return where they go; the caller then adds the number written to
 * b->n. */
char *gp_buf_reserve(struct gp_buf *b, size_t extra);
void gp_buf_put(struct gp_buf *b, const void *data, size_t n);
void gp_buf_puts(struct gp_buf *b, const char *s);
void gp_buf_printf(struct gp_buf *b, const char *fmt, ...) GP_PRINTF(2, 3);
void gp_buf_vprintf(struct gp_buf *b, const char *fmt, va_list ap) GP_PRINTF(2, 0);
/* Decimal text of V, without locale. */
void gp_buf_put_i64(struct gp_buf *b, int64_t v);
void gp_buf_put_u64(struct gp_buf *b, uint64_t v);
/* The content as a C string, owned by the buffer, valid until it next grows. */
const char *gp_buf_str(struct gp_buf *b);
void gp_buf_release(struct gp_buf *b);

static inline void gp_buf_putc(struct gp_buf *b, char c)
{
    if (GP_UNLIKELY(b->n == b->cap)) gp_buf_reserve(b, 1);
    b->data[b->n++] = c;
}

#endif
