/* path_dot.h -- the critical paths of trace-hta as a graph for Graphviz: `dot -Tsvg`. Pieces stand below each
 * other in order of time, those of one thread or stream in one column; runs of short pieces are folded into
 * one node.
 *
 *     gp_path_dot(&buf, &hta, &(struct gp_path_dot_opts){.max_nodes = 120});
 */
#ifndef GP_RENDER_PATH_DOT_H
#define GP_RENDER_PATH_DOT_H

#include <stdint.h>
#include "formats/base/declare.h"

struct gp_hta;

struct gp_path_dot_opts {
    uint32_t max_nodes; /* a path; at least 3; 0: 120 */
};

/* Append one digraph with a cluster for each path of a finished H. OPTS may be NULL. Names are escaped and
 * cut; the tooltip of a node has its full name. Without paths, the graph has only a label that says so. */
void gp_path_dot(struct gp_buf *b, const struct gp_hta *h, const struct gp_path_dot_opts *opts);

#endif
