#include "render/page/page_report.h"

#include <string.h>
#include "formats/base/str.h"
#include "render/page/page_html.h"

static const char *tone_class(uint8_t tone)
{
    return tone == GP_TONE_GOOD ? "good" : tone == GP_TONE_WARN ? "warn" : tone == GP_TONE_BAD ? "bad" : NULL;
}

void gp_page_quality(struct gp_svg *w, const struct gp_report *r)
{
    if (!r->quality.n) return;
    gp_page_open(w, "section", "quality");
    gp_svg_attr(w, "aria-label", "Quality of the input");
    gp_page_element(w, "h2", NULL, GP_TEXT("Before you trust the numbers"));
    gp_page_open(w, "ul", NULL);
    for (size_t i = 0; i < r->quality.n; i++) {
        const struct gp_report_line *l = &r->quality.at[i];
        gp_page_element(w, "li", tone_class(l->tone), l->text, strlen(l->text));
    }
    gp_svg_close(w);
    gp_svg_close(w);
    gp_svg_newline(w);
}

void gp_page_verdict(struct gp_svg *w, const struct gp_report *r)
{
    if (!r->verdict.n) return;
    gp_page_open(w, "section", "verdict");
    gp_svg_attr(w, "aria-label", "Verdict");
    for (size_t i = 0; i < r->verdict.n; i++) {
        const struct gp_report_line *l = &r->verdict.at[i];
        gp_page_element(w, "p", tone_class(l->tone), l->text, strlen(l->text));
    }
    gp_svg_close(w);
    gp_svg_newline(w);
}

void gp_page_figure(struct gp_svg *w, const char *name, struct gp_buf *value, const char *words)
{
    gp_page_open(w, "div", "kpi");
    gp_page_put(w, "dt", NULL, name);
    gp_page_open(w, "dd", NULL);
    gp_page_take(w, value, "b", NULL);
    gp_svg_close(w);
    gp_page_put(w, "dd", "of", words);
    gp_page_close(w);
}

void gp_page_foot(struct gp_svg *w, const char *tool, const char *options, const char *note, bool answer)
{
    gp_page_open(w, "footer", NULL);
    gp_page_open(w, "p", NULL);
    gp_page_text(w, tool);
    gp_page_text(w, " (gpuprof) " GP_VERSION);
    if (options && *options) {
        gp_page_text(w, *options == ' ' ? "," : ", ");
        gp_page_text(w, options);
    }
    gp_svg_close(w);
    if (note) gp_page_put(w, "p", NULL, note);
    if (answer)
        gp_page_put(w, "p", NULL,
                    "This file has the same answer for programs in the script element gpuprof-answer.");
    gp_svg_close(w);
}

void gp_page_contents(struct gp_svg *w)
{
    gp_page_open(w, "nav", NULL);
    gp_svg_attr(w, "aria-label", "Contents");
}

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

void gp_page_entry(struct gp_svg *w, const char *id, const char *title)
{
    gp_page_link(w, id, title);
    gp_svg_newline(w);
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
