#include "render/serve/pages.h"

#include <string.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"
#include "render/draw/canvas_svg.h"
#include "render/page/assets.h"

/* ---- the navigation bar ---- */

enum { HEAD_BYTES = 4096 };

void gp_navbar_put_policy(struct gp_buf *b)
{
    const struct gp_asset *const scripts[] = {
        &gp_asset_shell_js,    &gp_asset_report_js, &gp_asset_flame_js,    &gp_asset_flame_page_js,
        &gp_asset_timeline_js, &gp_asset_memory_js, &gp_asset_serve_bar_js};
    gp_buf_puts(b, "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        gp_buf_printf(b, " 'sha256-%s'", scripts[i]->sha256);
    gp_buf_puts(b, "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

static void put_bar(struct gp_buf *b, const struct gp_navbar *d)
{
    const struct gp_catalog_file *f = d->files[0];
    gp_buf_puts(b, "\n<style>");
    gp_buf_put(b, gp_asset_serve_bar_css.data, gp_asset_serve_bar_css.n);
    gp_buf_puts(b, "</style><div class=\"gp-bar\" role=\"navigation\" aria-label=\"pages of this trace\">"
                   "<a href=\"/\" title=\"all traces (g)\">All traces</a>");
    for (size_t i = 0; i < d->nfiles && i < 8; i++) {
        gp_buf_puts(b, "<b>");
        if (d->nfiles == 1) gp_svg_escape(b, f->name, strlen(f->name));
        else {
            gp_buf_printf(b, "<a href=\"/traces/%s/report\">", d->files[i]->id);
            gp_svg_escape(b, d->files[i]->name, strlen(d->files[i]->name));
            gp_buf_puts(b, "</a>");
        }
        gp_buf_puts(b, "</b>");
    }
    if (d->nfiles == 2 && d->query == gp_query_named("compare"))
        gp_buf_printf(b, "<a href=\"/compare?a=%s&amp;b=%s\">Swap</a>", d->files[1]->id, f->id);
    if (d->nfiles == 1) {
        for (const struct gp_query *q = gp_queries; q->name; q++)
            if (q->page && q->kinds & f->kind && gp_crew_has(d->crew, q->tool))
                gp_buf_printf(b, "<a href=\"/traces/%s/%s\"%s>%s</a>", f->id, q->page,
                              q == d->query ? " aria-current=\"page\"" : "", q->title);
        if (f->kind == GP_CATALOG_TRACE) {
            gp_buf_printf(b, "<a href=\"/compare?b=%s\">Compare</a>", f->id);
            gp_buf_printf(
                b, "<a class=\"gp-perfetto\" href=\"/traces/%s/perfetto\" download>For Perfetto</a>", f->id);
        }
    }
    gp_buf_puts(b, "</div><script>");
    gp_buf_put(b, gp_asset_serve_bar_js.data, gp_asset_serve_bar_js.n);
    gp_buf_puts(b, "</script>\n");
}

static const char *find(const char *from, const char *end, const char *text)
{
    return from && from < end ? memmem(from, (size_t)(end - from), text, strlen(text)) : NULL;
}

struct gp_blob *gp_navbar_add(const struct gp_navbar *d, struct gp_blob *page)
{
    const char *p = gp_blob_map(page), *end = p ? p + gp_blob_whole(page)->n : NULL;
    if (!p || !gp_begin(p, (size_t)(end - p), "<!DOCTYPE html>")) return page;
    const char *near = end - p > HEAD_BYTES ? p + HEAD_BYTES : end;
    const char *meta = find(p, near, "<meta http-equiv=\"Content-Security-Policy\""),
               *after = find(meta, near, ">\n");
    const char *body = find(after, end, "<body>");
    if (!body) return page;
    struct gp_buf bar = {0};
    put_bar(&bar, d);
    body += strlen("<body>");
    int fd = gp_blob_fd();
    int failed = fd < 0 || gp_blob_write(fd, p, (size_t)(meta - p)) ||
                 gp_blob_write(fd, after + 2, (size_t)(body - after - 2)) ||
                 gp_blob_write(fd, bar.data, bar.n) || gp_blob_write(fd, body, (size_t)(end - body));
    gp_buf_release(&bar);
    if (failed && fd >= 0) close(fd);
    if (failed) return page;
    gp_blob_drop(page);
    return gp_blob_take(fd);
}

/* ---- our own pages ---- */

static void put_text(struct gp_buf *b, const char *text) { gp_svg_escape(b, text, strlen(text)); }

static void put_asset(struct gp_buf *b, const char *element, const char *nonce, const struct gp_asset *a)
{
    gp_buf_printf(b, "<%s nonce=\"%s\">\n", element, nonce);
    gp_buf_put(b, a->data, a->n);
    gp_buf_printf(b, "</%s>\n", element);
}

/* The list for readers without scripts. */
static void put_plain(struct gp_buf *b, const struct gp_catalog_list *l)
{
    gp_buf_puts(b, "<noscript><ul>\n");
    GP_EACH(const struct gp_catalog_file, f, *l) {
        gp_buf_puts(b, "<li>");
        put_text(b, f->name);
        for (const struct gp_query *q = gp_queries; q->name; q++)
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
