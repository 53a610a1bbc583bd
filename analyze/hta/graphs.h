/* graphs.h -- rows of trace-hta's answer: launches of CUDA graphs.
 *
 *     const struct gp_graph_stat *g = &h.graphs.at[0];
 *     if (g->worst_node != GP_NO_ID) use(g->worst_node_max_ns - g->worst_node_min_ns);
 */
#ifndef GP_ANALYZE_GRAPHS_H
#define GP_ANALYZE_GRAPHS_H

#include <stdint.h>
#include "analyze/math/histogram.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_graph_stat {
    int32_t rank;
    uint64_t graph; /* id; GP_NO_ID: graph launches without ids */
    gp_sid api;     /* name of the call that launched it; 0: no launch record */
    uint64_t launches;
    uint64_t gpu_events;      /* over all launches */
    uint64_t nodes;           /* distinct node ids, or, without ids, events of the fullest launch */
    struct gp_histogram span; /* first GPU start to last GPU end of one launch */
    struct gp_histogram busy; /* sum of durations of one launch */
    uint64_t worst_node;      /* the node whose duration varies most between launches; GP_NO_ID unknown */
    gp_sid worst_node_name;
    int64_t worst_node_min_ns, worst_node_max_ns;
};

extern const struct gp_record gp_hta_graphs; /* rows: struct gp_graph_stat */

#endif
