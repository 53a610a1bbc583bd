#include "render/page/page_report.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/page/page_html.h"

void gp_page_link(struct gp_svg *w, const char *id, const char *title)
{
    struct gp_buf href = {0};
    gp_page_open(w, "a", NULL);
    gp_buf_printf(&href, "#%s", id);
    gp_svg_attr_n(w, "href", href.data, href.n);
    gp_page_text(w, title);
    gp_svg_close(w);
    gp_buf_release(&href);
}

void gp_page_address_put(struct gp_buf *b, const char *s, size_t n, const char *safe)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr(safe, c));
        if (plain) gp_buf_putc(b, c);
        else gp_buf_printf(b, "%%%02x", (unsigned char)c);
    }
}

void gp_page_file_put(struct gp_buf *b, const char *file)
{
    if (file[0] != '/') gp_buf_puts(b, "./");
    gp_page_address_put(b, file, strlen(file), "/-._~");
}

void gp_page_href(struct gp_svg *w, const char *file, const char *text)
{
    struct gp_buf href = {0};
    gp_page_file_put(&href, file);
    gp_page_open(w, "a", NULL);
    gp_svg_attr_n(w, "href", href.data, href.n);
    gp_page_text(w, text);
    gp_svg_close(w);
    gp_buf_release(&href);
}

void gp_page_graph(struct gp_svg *w, const struct gp_buf *drawn, const char *label)
{
    gp_page_open(w, "figure", "pan");
    gp_svg_attr(w, "tabindex", "0"); /* so that keys can scroll it */
    gp_svg_attr(w, "aria-label", label);
    gp_svg_text(w, "", 0);
    gp_buf_put(w->out, drawn->data, drawn->n);
    gp_svg_close(w);
    gp_svg_newline(w);
}
