/* nodes.h -- which ranges the nodes of CUDA graphs were captured under, while a trace is made: a graph is captured once,
 * long before its kernels run, and a collector that sees both apart writes both apart. What is written are runs of node
 * ids (struct gp_node_run): of nodes that were captured under the same ranges, or of clones of a row of nodes, so that a
 * graph that is instantiated a thousand times takes a thousand runs, however many nodes and ranges it has. When the trace
 * is read it all goes to the events, and the runs are forgotten. Knows nothing of CUDA, threads or files.
 *
 *     struct gp_nodes nodes = {.trace = &trace};
 *     gp_nodes_set(&nodes, node, captured);               // when it is captured
 *     gp_nodes_clone(&nodes, clone, node);                // in any order
 *
 * Runs have numbers that stay, and a run once there keeps its first node, so that what is written again later counts and
 * nothing must be taken back. The run that a node is in is the one with the largest first node that is not above it.
 */
#ifndef GP_FORMATS_NODES_H
#define GP_FORMATS_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/base/vec.h"
#include "formats/trace.h"

/* Finds runs of a trace that is being made. Zero it, then set trace. */
struct gp_nodes {
    struct gp_trace *trace;  /* borrowed: its node_runs, all of producer 0, are made here alone */
    GP_VEC(uint32_t) sorted; /* numbers of runs by first node */
    size_t hint;             /* where the last search ended */
    uint64_t refused;        /* nodes that were one run too many */
};

enum {
    GP_NODES_MAX_RUNS = 1 << 20, /* 32 MB */
    GP_NODES_MAX_HOPS = 16,      /* clones of clones of clones */
};

/* NODE was captured under CAPTURED (0: under nothing), whatever was said about it before. O(log n) where ids go up. */
void gp_nodes_set(struct gp_nodes *nodes, uint64_t node, gp_sid captured);
/* NODE was captured where ORIGINAL (not 0) was, of which nothing need be known yet. */
void gp_nodes_clone(struct gp_nodes *nodes, uint64_t node, uint64_t original);
/* What NODE was captured under, by what was said so far; 0 where that is nothing. O(log n). */
gp_sid gp_nodes_get(struct gp_nodes *nodes, uint64_t node);
void gp_nodes_release(struct gp_nodes *nodes);

/* Give what T's runs say to its GPU events, which need not be sorted, and forget the runs. Events that say themselves what
 * they were captured under are left as they are. Any runs will do. O(n log n). */
void gp_nodes_resolve(struct gp_trace *t);

#endif
