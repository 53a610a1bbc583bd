/* stackset.h -- holds very many stacks, of which a picture shows few. Keeps each stack as a row of numbers,
 * and creates tree nodes only for the heaviest frames, level by level, so that a million unique stacks do not
 * need ten million nodes. Knows nothing of traces or text.
 *
 *     struct gp_stackset set = {0};
 *     gp_stackset_add(&set, frames, n, weight);
 *     gp_stackset_expand(&set, 5000, &tree, &strings);
 *     gp_stackset_release(&set);
 */
#ifndef GP_ANALYZE_STACKSET_H
#define GP_ANALYZE_STACKSET_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"

struct gp_stackset_line {
    uint64_t first; /* into frames; the stack ends where the next one begins */
    int64_t weight;
};

struct gp_stackset {
    GP_VEC(gp_sid) frames; /* all of kind GP_FRAME_UNKNOWN */
    GP_VEC(struct gp_stackset_line) lines;
};

/* Add one stack, outermost frame first. N may be 0. WEIGHT >= 0. */
void gp_stackset_add(struct gp_stackset *set, const gp_sid *frames, size_t n, int64_t weight);

/* Add all stacks to CT. With MAX_NODES > 0 at most as many new nodes are made of frames, the heaviest; the
 * children of a node that were not among them become its one leaf "N more". Exact in every sum. Among frames
 * of equal weight those met first are kept. */
void gp_stackset_expand(const struct gp_stackset *set, size_t max_nodes, struct gp_calltree *ct,
                        struct gp_strings *strings);
void gp_stackset_release(struct gp_stackset *set);

#endif
