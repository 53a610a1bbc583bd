/* query_stacks.h -- stacks of a trace as numbers: each is a frame and all frames around it. Ranges, modules,
 * Python frames, operators and calls nest by time, as in flame graphs with --raw; work of the backward pass
 * lies below the modules of its forward operator, work of a CUDA graph below what captured it, and a call
 * whose exact stack is known below a frame for the line that made it. Knows nothing of SQL.
 *
 *     struct gp_query_stacks s = {0};
 *     gp_query_stacks_make(&s, &view, &names);
 *     uint32_t stack = gp_query_stack_of_event(&s, row);            // 0: unknown
 *     while (stack) use(&s.tree.nodes.at[stack]), stack = s.tree.nodes.at[stack].parent;
 *     gp_query_stacks_release(&s);
 */
#ifndef GP_ANALYZE_QUERY_STACKS_H
#define GP_ANALYZE_QUERY_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"
#include "analyze/view/backward.h"
#include "analyze/view/captured.h"
#include "analyze/view/view.h"
#include "formats/base/declare.h"

/* What is known of a frame without walking up. */
struct gp_query_frame {
    gp_sid name;
    uint32_t parent, depth, kind; /* kind: enum gp_frame_kind */
    gp_sid line;                  /* "train.py:12" of the innermost place that is not in a library; 0 none */
    gp_sid own_line;              /* of this frame; 0 none */
    uint32_t module, range;       /* the innermost one, as a frame; 0 none */
    bool library;                 /* `line` is in a library, as nothing else is known */
    bool backward;                /* it or one around it is the backward pass */
};

struct gp_query_stacks {
    const struct gp_view *v;
    struct gp_strings *names;
    struct gp_calltree tree; /* node 0 is none */
    uint32_t *place;         /* by host event */
    uint32_t *exact;         /* by entry of trace->stacks */
    struct gp_map of_event;  /* row of GP_GPU, whose stack is not that of its call -> stack */
    struct gp_backward backward;
    struct gp_captured captured;
    GP_VEC(uint32_t) modules;
};

/* Number all stacks of V, which outlives S, with names in NAMES. S starts zeroed. */
void gp_query_stacks_make(struct gp_query_stacks *s, const struct gp_view *v, struct gp_strings *names);
void gp_query_stacks_release(struct gp_query_stacks *s);
/* Of a GPU event, by its row; of a host event, by its node; of an exact stack. 0: unknown. */
uint32_t gp_query_stack_of_event(const struct gp_query_stacks *s, uint32_t row);
static inline uint32_t gp_query_stack_of_node(const struct gp_query_stacks *s, uint32_t node)
{
    return node == GP_HOST_NONE || !s->place ? 0 : s->place[node];
}
/* The frame of stack ID, whose parent has frame AROUND (that of 0 is zeroed). */
struct gp_query_frame gp_query_frame_of(const struct gp_query_stacks *s, uint32_t id,
                                        const struct gp_query_frame *around);

#endif
