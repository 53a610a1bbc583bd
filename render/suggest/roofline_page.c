#include "render/suggest/suggest_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/palette.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/page/assets.h"
#include "render/page/chart_roofline.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/report/record.h"

enum { MARGIN = 24, HEAD = 92, FOOT = 18, COLUMNS = 122, LINE = 18 };

/* ---- sentences ---- */

/* The share of time in the picture, and the place of the rest. */
static void put_coverage(struct gp_buf *b, const struct gp_roofline *r)
{
    int64_t all = gp_roofline_total_ns(r), shown = all - r->latency_ns - r->unknown_ns;
    gp_buf_printf(b, "%s of the kernel time is in the chart", GP_SHARE(shown, all));
    if (r->latency_ns > 0)
        gp_buf_printf(b, "; %s is in kernels barely longer than an empty one, in the left column",
                      GP_SHARE(r->latency_ns, all));
    if (r->unknown_ns > 0) gp_buf_printf(b, "; for %s the work is unknown", GP_SHARE(r->unknown_ns, all));
    gp_buf_putc(b, '.');
    if (r->measured_ns <= 0) return;
    gp_buf_printf(b, " Of all kernel time, %s is placed by measured bytes, not by a model.",
                  GP_SHARE(r->measured_ns, all));
}

/* "Roofs, from the data sheet of the device: memory 4.80 TB/s, bf16 989 TFLOP/s." */
static void put_roofs(struct gp_buf *b, const struct gp_roofline *r, const struct gp_strings *names)
{
    static const char *const sources[] = {
#define X(id, name, text) [id] = text,
        GP_CEILING_SOURCES(X)
#undef X
    };
    if (!r->roofs.n) gp_buf_puts(b, "The device's limits are unknown, so there are no roofs.");
    for (uint32_t source = 0; source < GP_COUNT(sources); source++) {
        bool first = true;
        GP_EACH(const struct gp_roof, roof, r->roofs) {
            if (roof->source != source) continue;
            if (first) gp_buf_printf(b, "%sRoofs from %s: ", b->n ? " " : "", sources[source]);
            else gp_buf_puts(b, ", ");
            gp_text_clean(b, gp_string(names, roof->name), gp_string_len(names, roof->name));
            gp_buf_putc(b, ' ');
            gp_roofline_put_rate(b, roof->per_s, roof->memory ? "B/s" : "FLOP/s");
            first = false;
        }
        if (!first) gp_buf_putc(b, '.');
    }
}

static const char *empty_reason(const struct gp_roofline *r)
{
    int64_t all = gp_roofline_total_ns(r);
    if (all <= 0) return "There is no roofline: no kernels were recorded.";
    if (r->latency_ns > all / 2)
        return "There is no roofline: most of the time is in kernels barely longer than an empty one, which "
               "are neither compute-bound nor memory-bound.";
    return "There is no roofline: the trace does not show how much arithmetic any kernel does or how much "
           "memory it reads and writes. Operand shapes show it (record_shapes=True in PyTorch's profiler).";
}

const struct gp_report_table *gp_roofline_summary(struct gp_report *rep, const struct gp_roofline *r,
                                                  const struct gp_strings *names)
{
    const struct gp_row_of of = {.of = r, .strings = names, .whole_ns = gp_roofline_total_ns(r)};
    return gp_record_table(rep, &gp_roofline_points, r->points.at, r->points.n, 0, &of);
}

/* ---- the section ---- */

static void put_paragraph(struct gp_svg *w, struct gp_buf *b)
{
    gp_page_element(w, "p", "note", b->data, b->n);
    gp_svg_newline(w);
    b->n = 0;
}

void gp_roofline_section(struct gp_svg *w, const struct gp_roofline *r, const struct gp_strings *names,
                         const struct gp_report_table *t)
{
    struct gp_buf b = {0};
    if (!r->points.n) {
        gp_buf_puts(&b, empty_reason(r));
        put_paragraph(w, &b);
        gp_buf_release(&b);
        return;
    }
    gp_buf_puts(
        &b,
        "Each circle is a kernel; its area is its share of the time. Memory limits kernels under a slope, "
        "arithmetic those under a flat line; the further below a kernel is, the more it can gain. ");
    put_coverage(&b, r);
    put_paragraph(w, &b);
    gp_page_open(w, "figure", NULL);
    gp_chart_roofline(w, &(struct gp_chart_roofline){.r = r, .names = names});
    gp_chart_roofline(w, &(struct gp_chart_roofline){.r = r, .names = names, .narrow = true});
    gp_svg_close_line(w);
    if (r->points.n > GP_ROOFLINE_POINTS)
        gp_buf_printf(&b, "Not drawn: %zu more that take less time. ", r->points.n - GP_ROOFLINE_POINTS);
    put_roofs(&b, r, names);
    put_paragraph(w, &b);
    gp_table_html_write(w, t, &(struct gp_table_html_opts){.swatch = gp_table_kind_swatch});
    gp_buf_release(&b);
}

/* The colours of the kinds. The first of two is for programs that know no variables. */
static void put_palette(struct gp_buf *css)
{
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind kind = gp_palette_legend(i);
        struct gp_color light = gp_palette_fill(kind, 0, GP_THEME_LIGHT);
        gp_buf_printf(css, ".k-%s{fill:", gp_palette_class(kind));
        gp_color_put(css, light);
        gp_buf_puts(css, ";fill:light-dark(");
        gp_color_put(css, light);
        gp_buf_putc(css, ',');
        gp_color_put(css, gp_palette_fill(kind, 0, GP_THEME_DARK));
        gp_buf_puts(css, ")}\n");
    }
}

/* Lines of S from Y on; where the next one would be. W may be NULL: nothing is drawn. */
static int draw_lines(struct gp_svg *w, const char *class, int y, const struct gp_buf *s)
{
    struct gp_buf b = {0}, line = {0};
    gp_text_wrap(&b, s->data ? s->data : "", s->n, 0, COLUMNS);
    for (size_t from = 0; from < b.n; y += LINE) {
        const char *end = memchr(b.data + from, '\n', b.n - from);
        size_t to = end ? (size_t)(end - b.data) : b.n;
        if (w) {
            gp_buf_put(&line, b.data + from, to - from);
            gp_plot_text(w, class, MARGIN, y, &line);
            gp_svg_newline(w);
        }
        from = to + 1;
    }
    gp_buf_release(&b);
    gp_buf_release(&line);
    return y;
}

void gp_roofline_svg(struct gp_buf *out, const struct gp_roofline *r, const struct gp_strings *names,
                     const char *input)
{
    static const char transform[] = "translate(24 92)"; /* MARGIN, HEAD */
    struct gp_svg w = {.out = out};
    struct gp_buf title = {0}, words = {0}, roofs = {0}, css = {0};
    struct gp_chart_roofline chart = {.r = r, .names = names};
    int foot = HEAD + (r->points.n ? gp_chart_roofline_height(&chart) + 24 : 0);
    gp_buf_puts(&title, "Roofline: ");
    gp_text_fit(&title, input ? input : "standard input", input ? strlen(input) : 14, COLUMNS - 50);
    if (r->points.n) put_coverage(&words, r);
    else gp_buf_puts(&words, empty_reason(r));
    if (r->points.n) put_roofs(&roofs, r, names);
    gp_buf_put(&css, gp_asset_change_svg_css.data, gp_asset_change_svg_css.n);
    gp_buf_put(&css, gp_asset_roofline_css.data, gp_asset_roofline_css.n);
    put_palette(&css);
    gp_plot_picture(&w, GP_ROOFLINE_WIDTH + 2 * MARGIN, draw_lines(NULL, NULL, foot, &roofs) + FOOT,
                    gp_buf_str(&title), &css);
    draw_lines(&w, "h1", 34, &title);
    draw_lines(&w, "h2", 58, &words);
    if (r->points.n) {
        gp_svg_open(&w, "g");
        gp_svg_attr(&w, "transform", transform);
        gp_chart_roofline(&w, &chart);
        gp_svg_close(&w);
    }
    draw_lines(&w, "foot", foot, &roofs);
    gp_svg_end(&w);
    GP_RELEASE(gp_buf_release, &title, &words, &roofs, &css);
}
