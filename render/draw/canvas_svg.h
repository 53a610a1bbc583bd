/* canvas_svg.h -- the only place that writes SVG syntax and escapes text for it. What comes out is
 * well-formed XML for every input. Coordinates are integers in hundredths of a pixel, so that equal input
 * gives equal bytes. Knows nothing about traces or flames.
 *
 *     struct gp_svg svg = {.out = &buf};
 *     gp_svg_begin(&svg, 1200, 400, "GPU time by stack");
 *     gp_svg_open(&svg, "text");  gp_svg_px(&svg, "x", 1600);  gp_svg_text(&svg, name, len);
 * gp_svg_close(&svg); gp_svg_end(&svg);
 */
#ifndef GP_RENDER_CANVAS_SVG_H
#define GP_RENDER_CANVAS_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_SVG_DEPTH = 16 };

/* Set .out, zero the rest. */
struct gp_svg {
    struct gp_buf *out;
    const char *stack[GP_SVG_DEPTH]; /* open elements; names are borrowed and must be literals */
    int depth;
    bool in_tag; /* attributes may still be added to the innermost element */
    bool html;   /* within an HTML page: empty elements also have an end tag. Not for void elements */
};

/* Append the N bytes at S for XML or HTML, as they may be shown (text.h). */
void gp_svg_escape(struct gp_buf *b, const char *s, size_t n);
/* XML declaration (not within HTML) and the root element of WIDTH x HEIGHT pixels with role="img", labelled
 * LABEL. Attributes may follow. */
void gp_svg_begin(struct gp_svg *s, int width, int height, const char *label);
/* Close all open elements. */
void gp_svg_end(struct gp_svg *s);

/* Element NAME inside the innermost one; at most GP_SVG_DEPTH deep. */
void gp_svg_open(struct gp_svg *s, const char *name);
void gp_svg_close(struct gp_svg *s);
/* The same, and a new line in text content. */
void gp_svg_close_line(struct gp_svg *s);
/* Attributes of the element opened last, before any content. NAME is a literal, the value is escaped. */
void gp_svg_attr(struct gp_svg *s, const char *name, const char *value);
void gp_svg_attr_n(struct gp_svg *s, const char *name, const char *value, size_t n);
/* VALUE in whole pixels, below 2^50. */
void gp_svg_int(struct gp_svg *s, const char *name, int64_t value);
/* Any integer. */
void gp_svg_attr_i64(struct gp_svg *s, const char *name, int64_t value);
/* CENTI hundredths of a pixel: 1250 is "12.5". */
void gp_svg_px(struct gp_svg *s, const char *name, int64_t centi);
/* x, y, width, height in hundredths of a pixel. */
void gp_svg_box(struct gp_svg *s, int64_t x, int64_t y, int64_t w, int64_t h);

/* Text content: made fit to read (render/text.h), then escaped. */
void gp_svg_text(struct gp_svg *s, const char *text, size_t n);
/* A new line in text content: the one control character that gp_svg_text never writes. */
void gp_svg_newline(struct gp_svg *s);
/* <style> and <script> with N bytes of ours (never from a trace) in a CDATA section. They must not contain
 * "]]>". */
void gp_svg_style(struct gp_svg *s, const char *css, size_t n);
void gp_svg_script(struct gp_svg *s, const char *js, size_t n);

#endif
