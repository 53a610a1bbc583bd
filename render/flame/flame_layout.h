/* flame_layout.h -- selects and positions the frames of a call tree for a picture: the widest ones, in
 * drawing order. Positions are weights, not pixels, and sums close: a frame's hidden children form one more
 * rectangle, "N more", as wide as all of them. Knows nothing about SVG, colours or names' escaping.
 *
 *     struct gp_flame_layout l;
 *     struct gp_flame_layout_opts opts = {.max_frames = 5000};
 *     gp_flame_layout_init(&l, &flame.tree, &flame.strings, &opts);
 *     for (size_t i = 0; i < l.frames.n; i++) draw(&l.frames.at[i]);
 *     gp_flame_layout_release(&l);
 */
#ifndef GP_RENDER_FLAME_LAYOUT_H
#define GP_RENDER_FLAME_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

struct gp_flame_layout_opts {
    uint32_t max_frames; /* rectangles in all, at least 2; 0: 5000 */
};

struct gp_flame_frame {
    uint32_t node;   /* of the tree; of the parent's when `more` is not 0 */
    uint32_t parent; /* index of a frame before this one; the root is its own */
    uint32_t depth;  /* 0: the root */
    uint32_t more;   /* 0: a frame of the tree; N: stands for N children of `node` that are not shown */
    int64_t start;   /* weight to the left of it; the root begins at 0 */
    int64_t weight;  /* of the subtree, > 0 */
    uint64_t count;  /* events in the subtree; meaningless if the layout is `grouped` */
};

struct gp_flame_layout {
    GP_VEC(struct gp_flame_frame)
    frames;         /* parents first, siblings in drawing order; empty when nothing weighs */
    uint32_t depth; /* levels, 0 when empty */
    int64_t total;
    /* some frames of the tree stand for several already (GP_FRAME_OTHER), so events are not known */
    bool grouped;
    uint64_t events;      /* in the whole tree */
    size_t shown, hidden; /* nodes of the tree that weigh something */
    /* The weight by kind: GPU work has all of its stacks, other kinds have the stacks without GPU work. Sums
     * to total. */
    int64_t kind_weight[GP_FRAME_KIND_COUNT];
    bool kind_seen[GP_FRAME_KIND_COUNT]; /* among the shown frames but the root */
};

/* Lay out a finished tree, in which a parent's index is below its children's. Siblings are sorted by weight,
 * heaviest first, equal ones by name; ranks, processes and devices are sorted by name, with numbers in
 * numeric order; "N more" is last. Overwrites L. O(nodes) with a small factor, and 8 bytes of memory per
 * node. */
void gp_flame_layout_init(struct gp_flame_layout *l, const struct gp_calltree *tree,
                          const struct gp_strings *strings, const struct gp_flame_layout_opts *opts);
void gp_flame_layout_release(struct gp_flame_layout *l);

/* Compare the strings A and B with runs of digits as numbers: "rank 2" is before "rank 10". <0, 0, >0. */
int gp_flame_name_compare(const char *a, size_t an, const char *b, size_t bn);

#endif
