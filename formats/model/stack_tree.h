/* stack_tree.h -- the stacks of a trace as a tree of calls: which functions two of them have in common, and
 * how a function is named. Two stacks are in one call of a function as long as they agree on every place
 * around it, so the frames of `main(3) > step(7) > a` and `main(3) > step(8) > b` have main and step in
 * common, those of `main(3) > step` and `main(4) > step` only main: that is another call of step.
 *
 *     struct gp_stack_tree tree;
 *     gp_stack_tree_build(&tree, &trace);
 *     uint32_t node = tree.node_of[stack], n = gp_stack_tree_common(&tree, node, other);
 *     gp_stack_tree_name(&tree, tree.nodes.at[node].function, &text);      // "train.py(12): step"
 *     gp_stack_tree_release(&tree);
 */
#ifndef GP_FORMATS_MODEL_STACK_TREE_H
#define GP_FORMATS_MODEL_STACK_TREE_H

#include "formats/base/map.h"
#include "formats/model/trace.h"

/* A stack: this call and all around it. */
struct gp_stack_node {
    uint32_t parent;   /* 0: it is the outermost */
    uint32_t function; /* index in functions, or what gp_stack_tree_state() was given with GP_STACK_STATE */
    uint32_t depth;    /* how many calls it is */
};

/* A name in a file. */
struct gp_stack_function {
    uint32_t stack;  /* one of its entries in trace->stacks */
    uint32_t line;   /* the line that most observations have */
    uint64_t weight; /* how many have it */
};

struct gp_stack_tree {
    const struct gp_trace *t;
    /* by stack: its node. Of frames below GP_STACK_AUTOGRAD that entry is the outermost, */
    uint32_t *node_of;
    uint32_t *waiting;                  /* and this is the node of the frames above it; 0: none */
    GP_VEC(struct gp_stack_node) nodes; /* 0 means none */
    GP_VEC(struct gp_stack_function) functions;
    struct gp_map places, children; /* private */
};

/* The name of a state of a thread instead of a function. */
#define GP_STACK_STATE (UINT32_C(1) << 31)

/* T outlives the tree. O(stacks + observations). */
void gp_stack_tree_build(struct gp_stack_tree *tree, const struct gp_trace *t);
void gp_stack_tree_release(struct gp_stack_tree *tree);
/* The node of a stack while its thread is in the state NAME. */
uint32_t gp_stack_tree_state(struct gp_stack_tree *tree, uint32_t node, gp_sid name);
/* How many calls, from the outermost on, A and B have in common. O(frames that they do not). */
uint32_t gp_stack_tree_common(const struct gp_stack_tree *tree, uint32_t a, uint32_t b);
/* The same by function only, at whatever lines they stand. O(depth). */
uint32_t gp_stack_tree_alike(const struct gp_stack_tree *tree, uint32_t a, uint32_t b);
/* The outermost DEPTH calls of NODE, all of them if it has no more. */
uint32_t gp_stack_tree_up(const struct gp_stack_tree *tree, uint32_t node, uint32_t depth);
/* Append the name of a function: "train.py(12): step", of files in a place for libraries the path from there
 * on, of native code without a file only the name. */
void gp_stack_tree_name(const struct gp_stack_tree *tree, uint32_t function, struct gp_buf *to);
/* The part of a path that tells files apart for a reader: from a place for libraries on, or the last part. */
const char *gp_stack_short_path(const char *path);

#endif
