/* backward.h -- finds the forward operator of a node of the backward pass, by autograd's sequence numbers.
 * The backward pass runs on its own threads, whose stacks contain no modules; the forward operator's do.
 *
 *     struct gp_backward bw;
 *     gp_backward_build(&bw, &trace, &hs);
 *     uint32_t forward = gp_backward_origin(&bw, backward_node);      // into hs.nodes, GP_HOST_NONE: unknown
 *     gp_backward_release(&bw);
 *
 * Autograd gives each node the number that operators carry until the next node is made: the last operator of
 * a process with the number, outside of the backward pass, created the node. If operators on two threads
 * carry the same number, the origin is unknown. */
#ifndef GP_ANALYZE_BACKWARD_H
#define GP_ANALYZE_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/view/host_stack.h"
#include "formats/base/map.h"
#include "formats/model/trace.h"

struct gp_backward {
    const struct gp_trace *t; /* borrowed */
    const struct gp_host_stack *hs;
    struct gp_map origin; /* (process, sequence number) -> node, GP_HOST_NONE: two threads have it */
};

/* Index the operators of T. HS must hold its host events. O(n). */
void gp_backward_build(struct gp_backward *bw, const struct gp_trace *t, const struct gp_host_stack *hs);
/* The forward operator of NODE, an operator of the backward pass; it began earlier than NODE and is on
 * another thread or outside of the backward pass. GP_HOST_NONE if there is none. */
uint32_t gp_backward_origin(const struct gp_backward *bw, uint32_t node);
void gp_backward_release(struct gp_backward *bw);

/* Is NODE, the innermost event of its thread, in a function that runs the backward pass, or what samples
 * found the thread to do in it? Then it waits for autograd's thread, whatever lock that takes. */
bool gp_backward_waits(const struct gp_trace *t, const struct gp_host_stack *hs, uint32_t node);

#endif
