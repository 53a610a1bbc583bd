/* calltree.h -- the weighted tree of frames behind a flame graph, built from stacks.
 * Knows nothing about traces, GPUs or pictures. Nodes are 32 bytes and live in one array; node 0 is the root.
 *
 *     struct gp_calltree ct = {0};
 *     uint32_t node = gp_calltree_child(&ct, GP_CALLTREE_ROOT, frame_sid, GP_FRAME_OP);
 *     gp_calltree_add(&ct, node, dur_ns);
 *     gp_calltree_finish(&ct, &strings);
 */
#ifndef GP_ANALYZE_CALLTREE_H
#define GP_ANALYZE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/frame_kind.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

enum { GP_CALLTREE_ROOT = 0 };

struct gp_calltree_node {
    gp_sid name;
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0: none */
    int64_t self;                       /* weight that ends here */
    uint32_t count; /* how many additions ended here (saturates); GP_FRAME_OTHER: the N of "N more" */
    uint32_t kind;  /* enum gp_frame_kind */
};

/* Optional counts at a node. */
struct gp_calltree_extra {
    int64_t events, bytes;
};

struct gp_calltree {
    GP_VEC(struct gp_calltree_node) nodes;
    GP_VEC(struct gp_calltree_extra) extra; /* by node, without those below; may be shorter: the rest is 0 */
    uint32_t *slots;                        /* hash of (parent, name, kind) -> node, open addressing */
    size_t mask;
    uint64_t seed;
    int64_t *total; /* by node, self and below; filled by finish */
};

/* The child of PARENT with that name and kind; added when new. O(1). */
uint32_t gp_calltree_child(struct gp_calltree *ct, uint32_t parent, gp_sid name, enum gp_frame_kind kind);
/* Count WEIGHT (>= 0) once at NODE. */
void gp_calltree_add(struct gp_calltree *ct, uint32_t node, int64_t weight);
/* The same for COUNT additions at once. */
void gp_calltree_add_many(struct gp_calltree *ct, uint32_t node, int64_t weight, uint64_t count);
/* Add EXTRA (>= 0) at NODE, in addition to its weight. */
void gp_calltree_add_extra(struct gp_calltree *ct, uint32_t node, struct gp_calltree_extra extra);
static inline struct gp_calltree_extra gp_calltree_extra_of(const struct gp_calltree *ct, uint32_t node)
{
    return node < ct->extra.n ? ct->extra.at[node] : (struct gp_calltree_extra){0};
}
/* Compute the totals and put siblings in order of their names (bytewise), so that the result does not depend
 * on the order of the input. O(n log n). */
void gp_calltree_finish(struct gp_calltree *ct, const struct gp_strings *strings);
void gp_calltree_release(struct gp_calltree *ct);

/* Reshapes a whole tree: keeps some stacks, inverts it, cuts it, groups small frames. Knows nothing of
 * traces. */

struct gp_calltree_frame {
    gp_sid name;
    uint32_t kind; /* enum gp_frame_kind */
};

/* Zeroed: nothing. Applied in this order. */
struct gp_calltree_shape {
    const uint8_t *wanted; /* by name: only stacks with a frame whose name has 1 here; NULL: all */
    uint32_t wanted_n;     /* elements of it; names beyond count as 0 */
    bool invert;
    uint32_t max_depth; /* frames, 0: no limit */
};

/* Add every stack of FROM, shaped, to TO. Returns how many additions were left out. */
uint64_t gp_calltree_reshape(const struct gp_calltree *from, const struct gp_calltree_shape *shape,
                             struct gp_calltree *to);

/* Copy FROM, which is finished, to the empty tree TO, but make one leaf "N more" of all siblings whose total
 * is less than SHARE_PCT of the whole. Sums stay the same. TO is not finished. */
void gp_calltree_group_small(const struct gp_calltree *from, double share_pct, struct gp_strings *strings,
                             struct gp_calltree *to);

/* The child "N more" of PARENT, with that weight. Returns it. */
uint32_t gp_calltree_add_more(struct gp_calltree *ct, uint32_t parent, struct gp_strings *strings,
                              int64_t weight, uint64_t n);

#endif
