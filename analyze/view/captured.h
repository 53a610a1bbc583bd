/* captured.h -- work of a CUDA graph has two histories: the host events around the launch that replayed it,
 * and what was around the code that captured it: its stack (the column `stack`) and ranges (`captured`).
 * Finds what the latter has and the former has not. Knows nothing of trees, weights or pictures.
 *
 *     struct gp_captured c;
 *     const struct gp_captured_name *rest;
 *     gp_captured_init(&c, &host_stack, false);
 *     size_t n = gp_captured_rest(&c, node, gp_captured_path(&c, sid, stack), &rest);   // outermost first
 *     for (size_t i = 0; i < n; i++) use(rest[i].text, rest[i].n);
 *     gp_captured_release(&c);
 *
 * The stack of such work is: the frames around the launch, the launch, the rest of its capture, the kernel.
 * A range around both the capture and the replay would appear twice. Ranges are compared by label (without
 * the numbers of "step 3"), because the step that captured is seldom the step that replays: the next range
 * of the capture is common as long as it is found among those of the replay, further in than the previous
 * one. So "main > step > layer 0" replayed in "main > epoch > step" leaves "layer 0"; and from the first
 * range that only the capture has, everything stays. Frames are compared by function from the outermost on.
 * A range of the capture lies among its frames where ranges of its name were pushed. */
#ifndef GP_ANALYZE_CAPTURED_H
#define GP_ANALYZE_CAPTURED_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/names/frame_kind.h"
#include "analyze/view/host_stack.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/model/stack_tree.h"

/* Where ranges of a name were pushed: a node of the tree, and the push before it. */
struct gp_captured_push {
    uint32_t node, before;
};

struct gp_captured_name {
    const char *text; /* N bytes: of a range, or of a frame as rows of GP_PYTHON are named */
    size_t n;
    enum gp_table table;     /* GP_RANGE or GP_PYTHON: */
    enum gp_frame_kind kind; /* as what its label is made and drawn */
    gp_sid label;            /* private: what is compared */
};

struct gp_captured_path {
    uint32_t first, n; /* in names */
};

struct gp_captured {
    const struct gp_host_stack *hs;
    bool glue; /* frames of glue are wanted, too */
    struct gp_strings labels;
    struct gp_map label_of[2]; /* name of a range, of a frame -> label */
    struct gp_map path_of;     /* captured, stack -> index into paths */
    GP_VEC(struct gp_captured_path) paths;
    GP_VEC(struct gp_captured_name) names, rest;
    GP_VEC(gp_sid) around[2]; /* scratch: labels of ranges, of frames */
    /* private: where ranges were pushed, made for the first stack */
    struct gp_stack_tree *tree;
    struct gp_map pushed; /* label of a range -> 1 + the last push of it */
    GP_VEC(struct gp_captured_push) pushes;
};

/* HS and its trace outlive C. GLUE: frames of glue, see gp_name_is_glue(), are wanted, too. */
void gp_captured_init(struct gp_captured *c, const struct gp_host_stack *hs, bool glue);
/* What is around a capture: CAPTURED and STACK are cells of those columns, one of them is not 0. The same
 * for the same. Each pair is looked at once. */
uint32_t gp_captured_path(struct gp_captured *c, gp_sid captured, uint32_t stack);
/* What of it is not around host event NODE (GP_HOST_NONE: all of it): how many, and *REST, valid until the
 * next call. O(depth). */
size_t gp_captured_rest(struct gp_captured *c, uint32_t node, uint32_t path,
                        const struct gp_captured_name **rest);
void gp_captured_release(struct gp_captured *c);

#endif
