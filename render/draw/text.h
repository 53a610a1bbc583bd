/* text.h -- names from traces made fit for a reader: valid UTF-8, nothing invisible, cut to a number of
 * columns. Knows nothing about any output syntax (escaping is done by canvas_svg, folded_write and
 * speedscope_write).
 *
 *     for (size_t i = 0; i < n;) {
 *         struct gp_char c = gp_text_next(s + i, n - i);
 *         i += c.len;                                      // c.cp is never a control character
 *     }
 */
#ifndef GP_RENDER_TEXT_H
#define GP_RENDER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "render/draw/palette.h"

/* One character of the input: LEN bytes (at least 1) that are shown as the code point CP. */
struct gp_char {
    uint32_t cp;
    uint32_t len;
};

/* The next character of the N > 0 bytes at S, as it may be shown. A byte that is not UTF-8 becomes U+FFFD, an
 * ASCII control character its picture (U+2400 and on), other controls, noncharacters, line separators and
 * everything that reorders text (bidirectional controls) U+FFFD. */
struct gp_char gp_text_next(const char *s, size_t n);
/* Append CP as UTF-8. */
void gp_text_put(struct gp_buf *b, uint32_t cp);
/* Append the N bytes at S, cleaned as above. */
void gp_text_clean(struct gp_buf *b, const char *s, size_t n);
/* Columns of the N bytes at S. O(n). */
size_t gp_text_width(const char *s, size_t n);
/* Append the N bytes at S, cleaned, cut to at most COLUMNS columns with an ellipsis in the middle (at the end
 * if fewer than 12 columns are left, where a cut in the middle shows less). Appends nothing if not even two
 * characters and the ellipsis fit. */
void gp_text_fit(struct gp_buf *b, const char *s, size_t n, size_t columns);
/* The same for the name of a frame: where it is too long, the path to its last part goes first, so
 * that "aten::linear" and "torch/nn/linear.py(12): forward" become "linear" and "forward" before
 * anything is cut. */
void gp_text_fit_name(struct gp_buf *b, const char *s, size_t n, size_t columns);
/* The same, but a Python function keeps the file and line that it is at, as far as there is room:
 * "linear.py(12): forward" of "torch/nn/linear.py(12): forward". */
void gp_text_fit_place(struct gp_buf *b, const char *s, size_t n, size_t columns);
/* The same, but byte FROM is seen, in the middle or at the end, so that two names that differ there read
 * differently. */
void gp_text_fit_at(struct gp_buf *b, const char *s, size_t n, size_t columns, size_t from);
/* Append the words of S in lines that end before column WIDTH (or have room for 16 columns), each but the
 * first after INDENT spaces; the cursor is at column INDENT already. A number and its unit stay together; a
 * word that is longer than a line is cut. */
void gp_text_wrap(struct gp_buf *b, const char *s, size_t n, size_t indent, size_t width);

/* ---- graphs for Graphviz: names that cannot break out of their quotes, colours ---- */

/* Graphviz refuses texts of 16,384 bytes; two names never share a text. */
enum { GP_DOT_LONGEST = 16000 };

/* Append the N bytes at S, cleaned, for inside a quoted string. Behind GP_DOT_LONGEST bytes an ellipsis
 * stands for the rest. */
void gp_dot_text(struct gp_buf *b, const char *s, size_t n);
/* Append a colour: "#1f2e3d"; and in quotes. */
void gp_color_put(struct gp_buf *b, struct gp_color c);
void gp_dot_color(struct gp_buf *b, struct gp_color c);

#endif
