/* waterfall_svg.h -- how one number became another, as one SVG element: a bar for the first value, one for
 * each change, starting where the previous one ended, and a bar for the last value. The end of the last
 * change is the end of the last bar, to the pixel. Each bar has its own row, so texts never overlap. Knows
 * nothing about traces.
 *
 *     struct gp_waterfall_bar b[] = {{.label = "idle: host", .change = -11449200}};
 *     gp_waterfall_svg(&w, &(struct gp_waterfall){.label = "Step time", .from_name = "baseline", .from = 14000000,
 *                                                 .to_name = "current", .to = 2550800, .bars = b, .bars_n = 1});
 */
#ifndef GP_RENDER_WATERFALL_SVG_H
#define GP_RENDER_WATERFALL_SVG_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/scale.h"
#include "render/draw/canvas_svg.h"

/* Strings may come from a trace. */
struct gp_waterfall_bar {
    const char *label;
    const char *full; /* first line of the tooltip; NULL: the label */
    const char *note; /* second line; NULL */
    int64_t change;
};

struct gp_waterfall {
    const char *label; /* what it shows, for those who do not see it */
    const char *from_name, *to_name;
    int64_t from, to; /* >= 0; FROM and all changes sum to TO */
    enum gp_unit unit;
    const struct gp_waterfall_bar *bars;
    size_t bars_n;
};

/* In pixels. */
enum { GP_WATERFALL_WIDTH = 960 };
int gp_waterfall_height(const struct gp_waterfall *f);

/* An element <svg class="chart waterfall"> at the top left of what is open; its style is
 * assets/change.css. */
void gp_waterfall_svg(struct gp_svg *w, const struct gp_waterfall *f);

#endif
