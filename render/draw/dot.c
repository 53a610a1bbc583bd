#include "render/draw/dot.h"

#include "formats/base/buf.h"
#include "render/draw/text.h"

void gp_dot_text(struct gp_buf *b, const char *s, size_t n)
{
    size_t from = b->n;
    for (size_t i = 0; i < n;) {
        if (b->n - from >= GP_DOT_LONGEST) {
            gp_buf_puts(b, "\u2026");
            return;
        }
        struct gp_char c = gp_text_next(s + i, n - i);
        i += c.len;
        if (c.cp == '"' || c.cp == '\\') gp_buf_putc(b, '\\');
        gp_text_put(b, c.cp);
    }
}

void gp_dot_color(struct gp_buf *b, struct gp_color c)
{
    gp_buf_printf(b, "\"#%02x%02x%02x\"", c.r, c.g, c.b);
}
