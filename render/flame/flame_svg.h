/* flame_svg.h -- a flame graph as one SVG file that can be viewed as it is, printed, and, with scripts,
 * searched and zoomed. The root is on top and children are below it (an icicle): GPU work is at the tips.
 * Names, weights and kinds come from the tree.
 *
 *     struct gp_buf out = {0};
 *     gp_flame_svg_write(&out, &flame, &(struct gp_flame_svg_opts){.measure = "GPU time", .input =
 * "a.trace"}); */
#ifndef GP_RENDER_FLAME_SVG_H
#define GP_RENDER_FLAME_SVG_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/stacks/stacks.h"
#include "formats/base/declare.h"
#include "formats/base/scale.h"

/* The other side of a comparison: colours then show the change of each frame (blue: less, orange: more, grey:
 * none that counts, patterns: absent on the other side) instead of its kind. Frames that only the other side
 * has are not drawn: draw both directions to see all. */
struct gp_flame_svg_diff {
    const int64_t *other;  /* by node of the tree: the subtree's weight on the other side; 0: absent */
    const int64_t *counts; /* by node: current minus baseline, without noise; for the colour */
    /* the tree has the baseline's weights, OTHER the current ones; otherwise the reverse */
    bool tree_is_base;
};

/* A zeroed struct is the default. Strings are borrowed during the call, may come from a trace or a person,
 * and are escaped. */
struct gp_flame_svg_opts {
    const char *title;                    /* heading; NULL: "GPU time by stack" after `measure` */
    const char *measure;                  /* the name of the weight: "samples"; not empty; NULL: "GPU time" */
    enum gp_unit unit;                    /* of the weight */
    const char *input;                    /* where it came from, as given by the user; NULL: omitted */
    const char *note;                     /* further words for the line below the title; NULL: none */
    const char *empty;                    /* text if all weights are 0; NULL: "No GPU events in this trace" */
    const char *hint;                     /* and below it, a remedy; NULL: none */
    bool still;                           /* for embedding in a page: no declaration, heading or script */
    bool events;                          /* the counts of the tree's nodes are events: show them */
    int width;                            /* pixels; 0: 1200, and the script fits the picture to the window */
    uint32_t max_frames;                  /* rectangles; 0: 5000 */
    const struct gp_flame_svg_diff *diff; /* NULL: no comparison */
};

/* Append the picture to OUT. Equal input gives equal bytes. At most about 2 KB per rectangle. */
void gp_flame_svg_write(struct gp_buf *out, const struct gp_flame *flame,
                        const struct gp_flame_svg_opts *opts);

#endif
