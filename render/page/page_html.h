/* page_html.h -- the HTML shell of all pages: a self-contained page without network access, in the themes of
 * assets/shell.css, with the shared behaviour of assets/shell.js and its own style and script, readable and
 * printable without scripts. Elements are written with render/draw/canvas_svg.h, which escapes all text.
 * Knows nothing about the content of the page.
 *
 *     struct gp_svg w;
 *     gp_page_begin(&w, &buf, "trace-hta: a.json", &gp_page_report);
 *     gp_page_element(&w, "h1", NULL, name, strlen(name));
 *     gp_page_json(&w, "answer", json, json_n);
 *     gp_page_end(&w, &gp_page_report);
 */
#ifndef GP_RENDER_PAGE_HTML_H
#define GP_RENDER_PAGE_HTML_H

#include <stddef.h>
#include "formats/base/declare.h"
#include "render/page/assets.h"
#include "render/draw/canvas_svg.h"

/* What a kind of page adds to the shell. */
struct gp_page_parts {
    const struct gp_asset *css, *js;
    const struct gp_asset *more_css[2]; /* NULL: none */
    const struct gp_asset *more_js;     /* after js; NULL: none */
};
extern const struct gp_page_parts gp_page_report;  /* pages that are read from top to bottom */
extern const struct gp_page_parts gp_page_diff;    /* such a page with charts of changes */
extern const struct gp_page_parts gp_page_sweep;   /* such a page with operations over their sizes */
extern const struct gp_page_parts gp_page_metrics; /* such a page with a roofline, and code */
extern const struct gp_page_parts gp_page_suggest; /* such a page with cards of suggestions */
extern const struct gp_page_parts gp_page_memory;  /* such a page with memory over time */

/* Set up W to append to OUT and write the head, with the style, and the start of the body. TITLE is escaped.
 * Classes of the palette ("gemm", gp_palette_class) are the variables --k-gemm and --k-gemm-ink (text on it);
 * shapes of class "k-gemm" are filled with it, those of class "k-idle" are hatched. */
void gp_page_begin(struct gp_svg *w, struct gp_buf *out, const char *title,
                   const struct gp_page_parts *parts);
/* Close all open elements and write the scripts. PARTS must be those given to begin: the policy of the page
 * allows only these. */
void gp_page_end(struct gp_svg *w, const struct gp_page_parts *parts);

/* A start tag with attribute class, which is NULL for none. */
void gp_page_open(struct gp_svg *w, const char *element, const char *class);
/* A whole element with text. */
void gp_page_element(struct gp_svg *w, const char *element, const char *class, const char *text, size_t n);
void gp_page_put(struct gp_svg *w, const char *element, const char *class, const char *text);
/* The same with the text of B, which is empty after. */
void gp_page_take(struct gp_svg *w, struct gp_buf *b, const char *element, const char *class);
void gp_page_text(struct gp_svg *w, const char *text);
/* Open a figure whose caption is TITLE and, unless it is NULL, NOTE. */
void gp_page_captioned(struct gp_svg *w, const char *title, const char *note);
/* Close the innermost open element and its line. */
static inline void gp_page_close(struct gp_svg *w) { gp_svg_close_line(w); }
/* A small square of the colour class K ("gemm", "idle"), for legends. */
void gp_page_swatch(struct gp_svg *w, const char *k);
/* N bytes of JSON for programs that read the page: a script element of type application/json. JSON keeps its
 * meaning, and can neither end the element nor begin a comment. */
void gp_page_json(struct gp_svg *w, const char *id, const char *json, size_t n);
/* The palette with all shades in both themes, for pages that draw on a canvas: gp.palette() reads it. */
void gp_page_palette(struct gp_svg *w);

#endif
