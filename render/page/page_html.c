#include "render/page/page_html.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"

const struct gp_page_parts gp_page_report = {&gp_asset_report_css, &gp_asset_report_js, {NULL}, NULL};
const struct gp_page_parts gp_page_diff = {
    &gp_asset_report_css, &gp_asset_report_js, {&gp_asset_change_css}, NULL};
const struct gp_page_parts gp_page_sweep = {
    &gp_asset_report_css, &gp_asset_report_js, {&gp_asset_sweep_css}, NULL};
const struct gp_page_parts gp_page_metrics = {&gp_asset_report_css,
                                              &gp_asset_report_js,
                                              {&gp_asset_roofline_css, &gp_asset_stalls_css},
                                              &gp_asset_stalls_js};
const struct gp_page_parts gp_page_suggest = {
    &gp_asset_report_css, &gp_asset_report_js, {&gp_asset_roofline_css, &gp_asset_suggest_css}, NULL};
const struct gp_page_parts gp_page_memory = {
    &gp_asset_report_css, &gp_asset_report_js, {&gp_asset_memory_css}, &gp_asset_memory_js};

static bool is_hatched(enum gp_frame_kind kind) { return kind == GP_FRAME_OTHER || kind == GP_FRAME_IDLE; }

/* The palette as variables, and as fills of shapes. */
static void put_palette(struct gp_buf *css)
{
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind kind = gp_palette_legend(i);
        const char *class = gp_palette_class(kind);
        struct gp_color light = gp_palette_fill(kind, 0, GP_THEME_LIGHT);
        struct gp_color dark = gp_palette_fill(kind, 0, GP_THEME_DARK);
        gp_buf_printf(css, ":root{--k-%s:light-dark(", class);
        gp_color_put(css, light);
        gp_buf_putc(css, ',');
        gp_color_put(css, dark);
        gp_buf_printf(css, ");--k-%s-ink:light-dark(", class);
        gp_color_put(css, gp_palette_text(light));
        gp_buf_putc(css, ',');
        gp_color_put(css, gp_palette_text(dark));
        gp_buf_puts(css, ")}\n");
        if (!is_hatched(kind)) gp_buf_printf(css, ".k-%s{fill:var(--k-%s)}\n", class, class);
    }
}

void gp_page_begin(struct gp_svg *w, struct gp_buf *out, const char *title, const struct gp_page_parts *parts)
{
    *w = (struct gp_svg){.out = out, .html = true};
    gp_buf_puts(out, "<!DOCTYPE html>\n");
    gp_page_open(w, "html", NULL);
    gp_svg_attr(w, "lang", "en");
    gp_page_open(w, "head", NULL);
    gp_svg_text(w, "", 0);
    gp_buf_puts(out, "\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"generator\" content=\"gpuprof " GP_VERSION "\">\n");
    /* Nothing is ever loaded, and only our scripts run, even if a name became markup. */
    gp_buf_printf(out,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                  "'unsafe-inline'; script-src 'sha256-%s' 'sha256-%s'",
                  gp_asset_shell_js.sha256, parts->js->sha256);
    if (parts->more_js) gp_buf_printf(out, " 'sha256-%s'", parts->more_js->sha256);
    gp_buf_puts(out, "; base-uri 'none'; form-action 'none'\">\n");
    gp_page_put(w, "title", NULL, title);
    gp_svg_newline(w);
    gp_buf_puts(out, "<style>\n");
    gp_buf_put(out, gp_asset_shell_css.data, gp_asset_shell_css.n);
    put_palette(out);
    gp_buf_put(out, parts->css->data, parts->css->n);
    for (size_t i = 0; i < sizeof parts->more_css / sizeof *parts->more_css; i++)
        if (parts->more_css[i]) gp_buf_put(out, parts->more_css[i]->data, parts->more_css[i]->n);
    gp_buf_puts(out, "</style>\n");
    gp_svg_close_line(w);
    gp_page_open(w, "body", NULL);
    gp_svg_newline(w);
    /* The hatching of idle time, for all pictures of the page. */
    gp_buf_puts(out,
                "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\" focusable=\"false\"><defs>"
                "<pattern id=\"gp-hatch\" patternUnits=\"userSpaceOnUse\" width=\"6\" height=\"6\" "
                "patternTransform=\"rotate(45)\"><rect class=\"hatch-page\" width=\"6\" height=\"6\"></rect>"
                "<rect class=\"hatch-line\" width=\"2\" height=\"6\"></rect></pattern></defs></svg>\n");
}

static void put_script(struct gp_buf *out, const struct gp_asset *js)
{
    gp_buf_puts(out, "\n<script>");
    gp_buf_put(out, js->data, js->n);
    gp_buf_puts(out, "</script>");
}

void gp_page_end(struct gp_svg *w, const struct gp_page_parts *parts)
{
    while (w->depth > 2) gp_svg_close(w);
    put_script(w->out, &gp_asset_shell_js);
    put_script(w->out, parts->js);
    if (parts->more_js) put_script(w->out, parts->more_js);
    gp_svg_newline(w);
    gp_svg_end(w);
}

void gp_page_open(struct gp_svg *w, const char *element, const char *class)
{
    gp_svg_open(w, element);
    if (class) gp_svg_attr(w, "class", class);
}

void gp_page_element(struct gp_svg *w, const char *element, const char *class, const char *text, size_t n)
{
    gp_page_open(w, element, class);
    gp_svg_text(w, text, n);
    gp_svg_close(w);
}

void gp_page_put(struct gp_svg *w, const char *element, const char *class, const char *text)
{
    gp_page_element(w, element, class, text, strlen(text));
}

void gp_page_take(struct gp_svg *w, struct gp_buf *b, const char *element, const char *class)
{
    gp_page_element(w, element, class, gp_buf_str(b), b->n);
    b->n = 0;
}

void gp_page_captioned(struct gp_svg *w, const char *title, const char *note)
{
    gp_page_open(w, "figure", NULL);
    gp_page_open(w, "figcaption", NULL);
    gp_page_put(w, "strong", NULL, title);
    if (note) {
        gp_page_text(w, " ");
        gp_page_put(w, "span", NULL, note);
    }
    gp_svg_close(w);
}

void gp_page_text(struct gp_svg *w, const char *text) { gp_svg_text(w, text, strlen(text)); }

void gp_page_swatch(struct gp_svg *w, const char *k)
{
    gp_page_open(w, "svg", "swatch");
    gp_svg_int(w, "width", 12);
    gp_svg_int(w, "height", 12);
    gp_svg_attr(w, "aria-hidden", "true");
    gp_svg_open(w, "rect");
    char class[40] = "k-";
    strncat(class, k, sizeof class - 3);
    gp_svg_attr(w, "class", class);
    gp_svg_box(w, 0, 0, 1200, 1200);
    gp_svg_attr(w, "rx", "2");
    gp_svg_close(w);
    gp_svg_close(w);
}

void gp_page_json(struct gp_svg *w, const char *id, const char *json, size_t n)
{
    gp_page_open(w, "script", NULL);
    gp_svg_attr(w, "type", "application/json");
    gp_svg_attr(w, "id", id);
    gp_svg_text(w, "", 0);
    /* '<' occurs only in strings, where it can be escaped like this */
    for (size_t from = 0; from < n;) {
        const char *less = memchr(json + from, '<', n - from);
        size_t to = less ? (size_t)(less - json) : n;
        gp_buf_put(w->out, json + from, to - from);
        if (less) gp_buf_puts(w->out, "\\u003c");
        from = to + (less != NULL);
    }
    gp_svg_close_line(w);
}

/* [["gemm", [[light shades], ink], [[dark shades], ink], "label"], ...]; hatched ones have their ground as
 * fill. */
void gp_page_palette(struct gp_svg *w)
{
    struct gp_buf json = {0};
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind kind = gp_palette_legend(i);
        gp_buf_printf(&json, "%s[\"%s\"", i ? ",\n" : "[", gp_palette_class(kind));
        for (int theme = GP_THEME_LIGHT; theme <= GP_THEME_DARK; theme++) {
            gp_buf_puts(&json, ",[[");
            for (int shade = 0; shade < GP_PALETTE_SHADES; shade++) {
                gp_buf_puts(&json, shade ? ",\"" : "\"");
                gp_color_put(&json, gp_palette_fill(kind, shade, (enum gp_theme)theme));
                gp_buf_putc(&json, '"');
            }
            gp_buf_puts(&json, "],\"");
            gp_color_put(&json, gp_palette_text(gp_palette_fill(kind, 0, (enum gp_theme)theme)));
            gp_buf_puts(&json, "\"]");
        }
        gp_buf_printf(&json, ",\"%s\"]", gp_palette_label(kind));
    }
    gp_buf_puts(&json, "]");
    gp_page_json(w, "gp-palette", json.data, json.n);
    gp_buf_release(&json);
}
