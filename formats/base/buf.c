#include "formats/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/mem.h"

char *gp_buf_reserve(struct gp_buf *b, size_t extra)
{
    if (b->cap - b->n < extra) {
        size_t cap = b->cap ? b->cap : 256;
        while (cap - b->n < extra) {
            if (cap > SIZE_MAX / 2) gp_out_of_memory(extra);
            cap *= 2;
        }
        b->data = gp_realloc(b->data, cap);
        b->cap = cap;
    }
    return b->data + b->n;
}

void gp_buf_put(struct gp_buf *b, const void *data, size_t n)
{
    if (!n) return;
    memcpy(gp_buf_reserve(b, n), data, n);
    b->n += n;
}

void gp_buf_puts(struct gp_buf *b, const char *s) { gp_buf_put(b, s, strlen(s)); }

void gp_buf_vprintf(struct gp_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    char *to = gp_buf_reserve(b, 64);
    int n = vsnprintf(to, b->cap - b->n, fmt, ap);
    if (n > 0 && (size_t)n >= b->cap - b->n) {
        to = gp_buf_reserve(b, (size_t)n + 1);
        vsnprintf(to, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    if (n > 0) b->n += (size_t)n;
}

void gp_buf_printf(struct gp_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    gp_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void gp_buf_put_u64(struct gp_buf *b, uint64_t v)
{
    char digits[20];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    gp_buf_put(b, digits + i, sizeof digits - i);
}

void gp_buf_put_i64(struct gp_buf *b, int64_t v)
{
    if (v < 0) gp_buf_putc(b, '-');
    gp_buf_put_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

const char *gp_buf_str(struct gp_buf *b)
{
    *gp_buf_reserve(b, 1) = '\0';
    return b->data;
}

void gp_buf_release(struct gp_buf *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}
