/* compile_icicle.h -- the spans of compile time as a picture: time from left to right, what is inside a span
 * below it, the spans of all processes one behind the other without the time between them. Measures nothing.
 *
 *     gp_compile_icicle(&w, &c);
 */
#ifndef GP_RENDER_COMPILE_ICICLE_H
#define GP_RENDER_COMPILE_ICICLE_H

#include "analyze/compile/compile.h"
#include "render/draw/canvas_svg.h"

/* The colour class (gp_page_swatch) of a class of compile time. */
const char *gp_compile_color(enum gp_compile_class class);
/* One SVG element; nothing without spans. */
void gp_compile_icicle(struct gp_svg *w, const struct gp_compile *c);

#endif
