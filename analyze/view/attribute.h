/* attribute.h -- finds the host event that caused each piece of GPU work. Knows nothing of names, weights or
 * trees.
 *
 *     gp_host_stack_build(&hs, &trace);
 *     struct gp_attribution a;
 *     gp_attribute(&a, &trace, &hs);
 *     uint32_t node = a.node[gpu_row];            // into hs.nodes; GP_HOST_NONE: unknown
 *     gp_attribution_release(&a);
 *
 * Tried in this order: the runtime call with the same correlation id and producer; the operator with the same
 * External id and producer; the innermost host event at the start of an ac2g arrow that ends at the GPU
 * event. An id of 0 is not an id: profilers write it if there is none. If several calls share a correlation
 * id, the last that began no later than the GPU event counts, otherwise the first. */
#ifndef GP_ANALYZE_ATTRIBUTE_H
#define GP_ANALYZE_ATTRIBUTE_H

#include <stdint.h>
#include "analyze/view/host_stack.h"
#include "formats/model/trace.h"

/* How a GPU event found its host event. */
enum gp_attributed {
    GP_BY_NOTHING,
    GP_BY_CORRELATION, /* node is the runtime call */
    GP_BY_EXTERNAL_ID, /* node is the operator */
    GP_BY_FLOW,        /* node is whatever was running */
    GP_BY_COUNT
};

struct gp_attribution {
    uint32_t *node; /* by row of GP_GPU: index into hs->nodes, GP_HOST_NONE: none */
    /* by row of GP_GPU: row of GP_API for GP_BY_CORRELATION, otherwise UINT32_MAX. A call on no host thread
     * has a row but no node. */
    uint32_t *api_row;
    uint8_t *how; /* by row of GP_GPU: enum gp_attributed */
    uint64_t by[GP_BY_COUNT];
    /* calls that share their correlation id with an earlier call of the same producer */
    uint64_t duplicate_corr;
};

/* Attribute all GPU events of T. Tables that were not read are not searched. O(n); O(n log n) if
 * many calls share correlation ids. */
void gp_attribute(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs);
/* The same for a trace with N GPU events, those of ROWS in the trace of FROM. O(n). */
void gp_attribution_pick(struct gp_attribution *a, const struct gp_attribution *from, const uint32_t *rows,
                         size_t n);
void gp_attribution_release(struct gp_attribution *a);

/* The producer that a track belongs to. */
static inline uint32_t gp_track_producer(const struct gp_trace *t, uint32_t track)
{
    return t->processes.at[t->tracks.at[track].process].producer;
}

#endif
