/* nodes.h -- under which ranges, and by which stack, the nodes of CUDA graphs were captured, while a trace is
 * made: a graph is captured once, long before its kernels run, and a collector that sees the two separately
 * writes them separately. It writes runs of node ids (struct gp_node_run): nodes that were captured under the
 * same ranges by the same stack, or clones of consecutive nodes, so that a graph that is instantiated a
 * thousand times takes a thousand runs, however many nodes, ranges and stacks it has. When the trace is read,
 * everything moves to the events, and the runs are discarded. Knows nothing of CUDA, threads or files.
 *
 *     struct gp_nodes nodes = {.trace = &trace};
 *     gp_nodes_set(&nodes, node, captured, stack);        // when it is captured
 *     gp_nodes_clone(&nodes, clone, node);                // in any order
 *
 * The number and the first node of a run never change, so a run can be written again later, the later version
 * counts, and nothing has to be revoked. A node is in the run with the largest first node that is not above
 * it.
 */
#ifndef GP_FORMATS_MODEL_NODES_H
#define GP_FORMATS_MODEL_NODES_H

#include <stdint.h>
#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* Finds the runs of a trace that is being made. Zero it, then set trace. */
struct gp_nodes {
    struct gp_trace *trace;  /* borrowed: its node_runs, all of producer 0, are made only here */
    GP_VEC(uint32_t) sorted; /* run numbers by first node */
    size_t hint;             /* where the last search ended */
    uint64_t refused;        /* nodes for which there was no room for a run */
};

enum {
    GP_NODES_MAX_RUNS = 1 << 20, /* 40 MB; a node has a run of its own if stacks are recorded */
    GP_NODES_MAX_HOPS = 16,      /* clones of clones of clones */
};

/* NODE was captured under CAPTURED (0: under nothing) by STACK (index in the trace's stacks, 0: unknown),
 * whatever was set before. O(log n) if ids ascend. */
void gp_nodes_set(struct gp_nodes *nodes, uint64_t node, gp_sid captured, uint32_t stack);
/* NODE was captured where ORIGINAL (not 0) was, which may still be unknown. */
void gp_nodes_clone(struct gp_nodes *nodes, uint64_t node, uint64_t original);
void gp_nodes_release(struct gp_nodes *nodes);

/* Copy the ranges and stacks in T's runs to its GPU events, which need not be sorted, and discard the runs.
 * Events that already have captured ranges, or a stack, keep them. Accepts any runs. O(n log n). */
void gp_nodes_resolve(struct gp_trace *t);

#endif
