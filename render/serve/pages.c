#include "render/serve/pages.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/utf8.h"
#include "render/page/assets.h"
#include "render/serve/decorate.h"
#include "render/serve/questions.h"

static void put_text(struct gp_buf *b, const char *text)
{
    gp_html_put(b, text, strlen(text));
}

static void put_asset(struct gp_buf *b, const char *element, const char *nonce, const struct gp_asset *a)
{
    gp_buf_printf(b, "<%s nonce=\"%s\">\n", element, nonce);
    gp_buf_put(b, a->data, a->n);
    gp_buf_printf(b, "</%s>\n", element);
}

/* The list for readers without scripts. */
static void put_plain(struct gp_buf *b, const struct gp_shelf_list *l)
{
    gp_buf_puts(b, "<noscript><ul>\n");
    for (size_t i = 0; i < l->n; i++) {
        const struct gp_shelf_file *f = &l->at[i];
        gp_buf_puts(b, "<li>");
        put_text(b, f->name);
        for (const struct gp_question *q = gp_questions; q->name; q++)
            if (q->page && q->kinds & f->kind)
                gp_buf_printf(b, " <a href=\"/traces/%s/%s\">%s</a>", f->id, q->page, q->title);
        gp_buf_puts(b, "</li>\n");
    }
    gp_buf_puts(b, "</ul></noscript>\n");
}

/* JSON as the content of a script element: a < cannot end it. */
static void put_settings(struct gp_buf *b, const char *json)
{
    gp_buf_puts(b, "<script type=\"application/json\" id=\"settings\">");
    for (const char *p = json; *p; p++) {
        if (*p == '<') gp_buf_puts(b, "\\u003c");
        else gp_buf_putc(b, *p);
    }
    gp_buf_puts(b, "</script>\n");
}

void gp_pages_put(struct gp_buf *b, const struct gp_page_shell *s)
{
    gp_buf_puts(
        b,
        "<!DOCTYPE html>\n<html lang=\"en\"><head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>");
    put_text(b, s->title);
    gp_buf_puts(b, "</title>\n");
    put_asset(b, "style", s->nonce, &gp_asset_shell_css);
    put_asset(b, "style", s->nonce, &gp_asset_serve_css);
    gp_buf_printf(b, "</head><body id=\"%s\">\n<main>\n<header><p class=\"brand\">gpuprof</p><h1>", s->id);
    put_text(b, s->title);
    gp_buf_puts(b, "</h1></header>\n");
    if (s->text) {
        gp_buf_puts(b, "<p class=\"problem\">");
        put_text(b, s->text);
        gp_buf_puts(b, "</p>\n<p><a href=\"/\">All traces</a></p>\n");
    }
    if (s->plain) put_plain(b, s->plain);
    gp_buf_puts(b, "</main>\n");
    if (s->settings) put_settings(b, s->settings);
    put_asset(b, "script", s->nonce, &gp_asset_shell_js);
    put_asset(b, "script", s->nonce, &gp_asset_serve_js);
    gp_buf_puts(b, "</body></html>\n");
}
