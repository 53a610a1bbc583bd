/* calltree_shape.h -- reshapes a whole tree: keeps some stacks, inverts it, cuts it, groups small frames.
 * Knows nothing of traces.
 *
 *     struct gp_shape shape = {.invert = true, .max_depth = 12};
 *     gp_calltree_reshape(&tree, &shape, &shaped);
 *     gp_calltree_finish(&shaped, &strings);
 *     gp_calltree_group_small(&shaped, 0.5, &strings, &grouped);       // needs a finished tree
 */
#ifndef GP_ANALYZE_CALLTREE_SHAPE_H
#define GP_ANALYZE_CALLTREE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"

struct gp_frame {
    gp_sid name;
    uint32_t kind; /* enum gp_frame_kind */
};

/* Zeroed: nothing. Applied in this order. */
struct gp_shape {
    const uint8_t *wanted; /* by name: only stacks with a frame whose name has 1 here; NULL: all */
    uint32_t wanted_n;     /* elements of it; names beyond count as 0 */
    bool invert;
    uint32_t max_depth; /* frames, 0: no limit */
};

/* Add every stack of FROM, shaped, to TO. Returns how many additions were left out. */
uint64_t gp_calltree_reshape(const struct gp_calltree *from, const struct gp_shape *shape,
                             struct gp_calltree *to);

/* Copy FROM, which is finished, to the empty tree TO, but make one leaf "N more" of all siblings whose total
 * is less than SHARE_PCT of the whole. Sums stay the same. TO is not finished. */
void gp_calltree_group_small(const struct gp_calltree *from, double share_pct, struct gp_strings *strings,
                             struct gp_calltree *to);

/* The child "N more" of PARENT, with that weight. Returns it. */
uint32_t gp_calltree_add_more(struct gp_calltree *ct, uint32_t parent, struct gp_strings *strings,
                              int64_t weight, uint64_t n);

#endif
