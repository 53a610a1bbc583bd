/* captured.h -- work of a CUDA graph has two histories: the host events around the launch that replayed it,
 * and the ranges around the code that captured it (the `captured` column). Finds the names of the latter, and
 * how many of them are around the replay as well. Knows nothing of trees, weights or pictures.
 *
 *     struct gp_captured c;
 *     const struct gp_captured_name *names;
 *     gp_captured_init(&c, &host_stack);
 *     size_t n = gp_captured_names(&c, sid, &names);              // all of them, outermost first
 *     for (size_t i = gp_captured_common(&c, node, sid); i < n; i++) use(names[i].text, names[i].n);
 *     gp_captured_release(&c);
 *
 * The stack of such work is: the frames around the launch, the launch, the ranges of its capture, the kernel.
 * A range around both the capture and the replay would appear twice. Ranges are compared by label (without
 * the numbers of "step 3"), because the step that captured is seldom the step that replays: the next range of
 * the capture is common as long as it is found among those of the replay, further in than the previous one.
 * So "main > step > layer 0" replayed in "main > epoch > step" leaves "layer 0"; and from the first range
 * that only the capture has, everything stays. */
#ifndef GP_ANALYZE_CAPTURED_H
#define GP_ANALYZE_CAPTURED_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/view/host_stack.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

struct gp_captured_name {
    const char *text; /* N bytes in the trace's strings */
    size_t n;
    gp_sid label; /* private: for people */
};

struct gp_captured_path {
    uint32_t first, n; /* in names */
};

struct gp_captured {
    const struct gp_host_stack *hs;
    struct gp_strings labels;
    struct gp_map label_of; /* name of a range -> label */
    struct gp_map path_of;  /* captured -> index into paths */
    GP_VEC(struct gp_captured_path) paths;
    GP_VEC(struct gp_captured_name) names;
    GP_VEC(gp_sid) around; /* scratch */
};

/* HS and its trace outlive C. */
void gp_captured_init(struct gp_captured *c, const struct gp_host_stack *hs);
/* The names in CAPTURED, a cell of that column: how many, and *NAMES, valid until the next call with another
 * cell. Each cell is looked at once. */
size_t gp_captured_names(struct gp_captured *c, gp_sid captured, const struct gp_captured_name **names);
/* How many of them, from the outermost on, are around host event NODE (GP_HOST_NONE: none is). O(depth). */
size_t gp_captured_common(struct gp_captured *c, uint32_t node, gp_sid captured);
void gp_captured_release(struct gp_captured *c);

#endif
