/* nodes_util.h -- what nodes of graphs were captured under, as set so far. */
#ifndef TESTS_NODES_UTIL_H
#define TESTS_NODES_UTIL_H

#include "formats/model/nodes.h"

/* 0 if nothing is known. O(runs). */
static inline gp_sid captured_under(const struct gp_nodes *nodes, uint64_t node)
{
    const struct gp_node_run *run = NULL;
    for (int hop = 0; hop < GP_NODES_MAX_HOPS && (!run || run->original); hop++) {
        if (run) node = run->original + (node - run->first);
        run = NULL;
        for (size_t i = 0; i < nodes->trace->node_runs.n && !run; i++) {
            const struct gp_node_run *r = &nodes->trace->node_runs.at[i];
            if (node >= r->first && node - r->first < r->count) run = r;
        }
        if (!run) return 0;
    }
    return run->original ? 0 : run->captured;
}

#endif
