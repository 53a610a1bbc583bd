/* memory_curve.h -- what a device had reserved and allocated over time, as one SVG element: categories
 * stacked, what was reserved only above them, steps and ranges below, the peak and where memory ran out
 * marked. For paper and for browsers without scripts; assets/memory.js draws the same from packed data
 * (memory_pack.h). Measures nothing.
 *
 *     gp_memory_moments_init(&at, m, i, &opts);
 *     gp_memory_curve(&w, m, i, &at);
 */
#ifndef GP_RENDER_MEMORY_CURVE_H
#define GP_RENDER_MEMORY_CURVE_H

#include <stdint.h>
#include "analyze/memory/memory.h"
#include "analyze/memory/moments.h"
#include "render/draw/canvas_svg.h"

/* The class of the page's palette that stands for a category: "gemm". */
const char *gp_memory_category_color(enum gp_category c);

/* The order in which categories are stacked, the lowest first: what stays before what comes and goes. */
extern const uint8_t gp_memory_stacking[GP_CATEGORY_COUNT];

/* An element <svg class="chart memory"> for device DEVICE; nothing without a curve. */
void gp_memory_curve(struct gp_svg *w, const struct gp_memory *m, uint32_t device,
                     const struct gp_memory_moments *at);

#endif
