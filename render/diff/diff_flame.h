/* diff_flame.h -- the stacks of both sides of a comparison as a differential flame graph, in one direction:
 * scaled to one side, coloured by change. Frames that only the other side has are not in it, so a reader
 * needs both directions.
 *
 *     gp_diff_flame_svg(&buf, &diff, &(struct gp_diff_flame_opts){.side = GP_DIFF_CUR});
 */
#ifndef GP_RENDER_DIFF_FLAME_H
#define GP_RENDER_DIFF_FLAME_H

#include <stdbool.h>
#include "analyze/diff/diff.h"
#include "formats/base/declare.h"

struct gp_diff_flame_opts {
    int side;            /* GP_DIFF_BASE, GP_DIFF_CUR: whose widths */
    const char *input;   /* what was compared, for the line below the title; NULL */
    bool embedded;       /* as an element of a page */
    uint32_t max_frames; /* 0: 5000 */
};

void gp_diff_flame_svg(struct gp_buf *out, const struct gp_diff *d, const struct gp_diff_flame_opts *o);

#endif
