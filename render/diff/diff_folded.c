#include "render/diff/diff_folded.h"

#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "render/flame/folded_write.h"

void gp_diff_folded_write(struct gp_buf *b, const struct gp_diff *d)
{
    for (size_t i = 0; i < d->stacks.n; i++) {
        const struct gp_diff_stack *s = &d->stacks.at[i];
        const char *stack = gp_diff_str(d, s->stack);
        size_t n = gp_string_len(&d->strings, s->stack);
        if (!s->side_ns[GP_DIFF_BASE] && !s->side_ns[GP_DIFF_CUR]) continue;
        for (size_t at = 0; at <= n;) {
            const char *semicolon = n > at ? memchr(stack + at, ';', n - at) : NULL;
            size_t len = semicolon ? (size_t)(semicolon - stack) - at : n - at;
            if (at) gp_buf_putc(b, ';');
            gp_folded_put_frame(b, stack + at, len);
            at += len + 1;
        }
        gp_buf_printf(b, " %" PRId64 " %" PRId64 "\n", s->side_ns[GP_DIFF_BASE], s->side_ns[GP_DIFF_CUR]);
    }
}
