/* palette.h -- the colour of a frame, and its group's name in a legend. GPU work has the hues of the
 * Okabe-Ito palette (plus an indigo for other compute), which colour-blind readers can distinguish;
 * everything that only leads to GPU work is almost grey. Frames of one kind with different names get slightly
 * different shades. Colours depend only on kind and name. Knows nothing about SVG.
 *
 *     int shade = gp_palette_shade(name, len);
 *     struct gp_color fill = gp_palette_fill(GP_FRAME_GEMM, shade, GP_THEME_LIGHT);
 *     struct gp_color text = gp_palette_text(fill);        // black or white, contrast at least 4.5:1
 */
#ifndef GP_RENDER_PALETTE_H
#define GP_RENDER_PALETTE_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/names/frame_kind.h"

enum { GP_PALETTE_SHADES = 5 };
enum gp_theme { GP_THEME_LIGHT, GP_THEME_DARK };

struct gp_color {
    uint8_t r, g, b;
};

/* A word for style sheets: "gemm". */
const char *gp_palette_class(enum gp_frame_kind kind);
/* What a person reads: "matrix multiply, convolution". */
const char *gp_palette_label(enum gp_frame_kind kind);
/* Order of a legend: position 0..GP_FRAME_KIND_COUNT-1 to kind, GPU work first. */
enum gp_frame_kind gp_palette_legend(int position);
/* 0..GP_PALETTE_SHADES-1 from the N bytes at NAME. */
int gp_palette_shade(const char *name, size_t n);
struct gp_color gp_palette_fill(enum gp_frame_kind kind, int shade, enum gp_theme theme);
/* What became of something: LEVEL GP_PALETTE_CHANGES is much slower (orange), 0 the same (near grey),
 * -GP_PALETTE_CHANGES much faster (blue). Both ends stay apart for colour-blind eyes. */
enum { GP_PALETTE_CHANGES = 5 };
struct gp_color gp_palette_change(int level, enum gp_theme theme);
/* Black or white, whichever has the higher contrast on FILL. */
struct gp_color gp_palette_text(struct gp_color fill);
/* Contrast ratio of WCAG 2, 1 to 21. */
double gp_palette_contrast(struct gp_color a, struct gp_color b);

#endif
