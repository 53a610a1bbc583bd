#include "render/draw/canvas_svg.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "render/draw/text.h"

void gp_svg_escape(struct gp_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        struct gp_char c = gp_text_next(s + i, n - i);
        const char *name = c.cp == '&'    ? "&amp;"
                           : c.cp == '<'  ? "&lt;"
                           : c.cp == '>'  ? "&gt;"
                           : c.cp == '"'  ? "&quot;"
                           : c.cp == '\'' ? "&#39;"
                                          : NULL;
        i += c.len;
        if (name) gp_buf_puts(b, name);
        else gp_text_put(b, c.cp);
    }
}

/* The innermost start tag is complete: content follows. */
static void end_tag(struct gp_svg *s)
{
    if (s->in_tag) gp_buf_putc(s->out, '>');
    s->in_tag = false;
}

void gp_svg_begin(struct gp_svg *s, int width, int height, const char *label)
{
    if (!s->html) gp_buf_puts(s->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    gp_svg_open(s, "svg");
    gp_svg_attr(s, "xmlns", "http://www.w3.org/2000/svg");
    gp_svg_int(s, "width", width);
    gp_svg_int(s, "height", height);
    gp_buf_printf(s->out, " viewBox=\"0 0 %d %d\"", width, height);
    gp_svg_attr(s, "role", "img");
    gp_svg_attr(s, "aria-label", label);
}

void gp_svg_end(struct gp_svg *s)
{
    while (s->depth) gp_svg_close(s);
    gp_buf_putc(s->out, '\n');
}

void gp_svg_open(struct gp_svg *s, const char *name)
{
    assert(s->depth < GP_SVG_DEPTH);
    end_tag(s);
    gp_buf_putc(s->out, '<');
    gp_buf_puts(s->out, name);
    s->stack[s->depth++] = name;
    s->in_tag = true;
}

void gp_svg_close(struct gp_svg *s)
{
    assert(s->depth > 0);
    const char *name = s->stack[--s->depth];
    if (s->in_tag && !s->html) {
        gp_buf_puts(s->out, "/>");
        s->in_tag = false;
        return;
    }
    end_tag(s);
    gp_buf_puts(s->out, "</");
    gp_buf_puts(s->out, name);
    gp_buf_putc(s->out, '>');
}

void gp_svg_attr_n(struct gp_svg *s, const char *name, const char *value, size_t n)
{
    assert(s->in_tag);
    gp_buf_putc(s->out, ' ');
    gp_buf_puts(s->out, name);
    gp_buf_puts(s->out, "=\"");
    gp_svg_escape(s->out, value, n);
    gp_buf_putc(s->out, '"');
}

void gp_svg_attr(struct gp_svg *s, const char *name, const char *value)
{
    gp_svg_attr_n(s, name, value, strlen(value));
}

void gp_svg_int(struct gp_svg *s, const char *name, int64_t value) { gp_svg_px(s, name, value * 100); }

void gp_svg_attr_i64(struct gp_svg *s, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    gp_svg_attr(s, name, text);
}

void gp_svg_px(struct gp_svg *s, const char *name, int64_t centi)
{
    assert(s->in_tag);
    gp_buf_putc(s->out, ' ');
    gp_buf_puts(s->out, name);
    gp_buf_puts(s->out, "=\"");
    if (centi < 0) {
        gp_buf_putc(s->out, '-');
        centi = -centi;
    }
    gp_buf_put_i64(s->out, centi / 100);
    if (centi % 100) {
        gp_buf_putc(s->out, '.');
        gp_buf_putc(s->out, (char)('0' + centi / 10 % 10));
        if (centi % 10) gp_buf_putc(s->out, (char)('0' + centi % 10));
    }
    gp_buf_putc(s->out, '"');
}

void gp_svg_box(struct gp_svg *s, int64_t x, int64_t y, int64_t w, int64_t h)
{
    gp_svg_px(s, "x", x);
    gp_svg_px(s, "y", y);
    gp_svg_px(s, "width", w);
    gp_svg_px(s, "height", h);
}

void gp_svg_text(struct gp_svg *s, const char *text, size_t n)
{
    end_tag(s);
    gp_svg_escape(s->out, text, n);
}

void gp_svg_newline(struct gp_svg *s)
{
    end_tag(s);
    gp_buf_putc(s->out, '\n');
}

void gp_svg_close_line(struct gp_svg *s)
{
    gp_svg_close(s);
    gp_svg_newline(s);
}

static void cdata(struct gp_svg *s, const char *element, const char *text, size_t n)
{
    gp_svg_open(s, element);
    end_tag(s);
    gp_buf_puts(s->out, "<![CDATA[\n");
    gp_buf_put(s->out, text, n);
    gp_buf_puts(s->out, "]]>");
    gp_svg_close(s);
    gp_buf_putc(s->out, '\n');
}

void gp_svg_style(struct gp_svg *s, const char *css, size_t n) { cdata(s, "style", css, n); }

void gp_svg_script(struct gp_svg *s, const char *js, size_t n) { cdata(s, "script", js, n); }
