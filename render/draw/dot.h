/* dot.h -- what all graphs for Graphviz share: names that cannot break out of their quotes, colours.
 *
 *     gp_buf_puts(&b, "n1 [label=\"");
 *     gp_dot_text(&b, name, len);
 *     gp_buf_puts(&b, "\", fillcolor=");
 *     gp_dot_color(&b, color);
 */
#ifndef GP_RENDER_DOT_H
#define GP_RENDER_DOT_H

#include <stddef.h>
#include "formats/base/declare.h"
#include "render/draw/palette.h"

/* Graphviz refuses texts of 16,384 bytes; two names never share a text. */
enum { GP_DOT_LONGEST = 16000 };

/* Append the N bytes at S, cleaned, for inside a quoted string. Behind GP_DOT_LONGEST bytes an ellipsis
 * stands for the rest. */
void gp_dot_text(struct gp_buf *b, const char *s, size_t n);
/* Append a colour, quoted. */
void gp_dot_color(struct gp_buf *b, struct gp_color c);

#endif
