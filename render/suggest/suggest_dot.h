/* suggest_dot.h -- the chains of kernels that a single kernel could replace, as a graph for Graphviz: `dot
 * -Tsvg`. A cluster is a kind of chain, with its count, its time and the saving of a single kernel; a node is
 * a kernel in the colour of its class; an edge has the bytes that a single kernel would pass on without
 * memory traffic, and is dashed if that is uncertain.
 *
 *     gp_suggest_dot_write(&buf, &suggest, NULL);
 */
#ifndef GP_RENDER_SUGGEST_DOT_H
#define GP_RENDER_SUGGEST_DOT_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/suggest/suggest.h"
#include "formats/base/declare.h"

struct gp_suggest_dot_opts {
    uint32_t max_nodes; /* of all chains together; 0: 240 */
};

/* Append one digraph of the relevant chains of S, longest first; its label counts those without room. OPTS
 * may be NULL. Names are escaped and cut; the tooltip of a node has its full name, its class that of the
 * page's palette. Without chains, the graph has only a label that says so. Returns how many relevant chains
 * had no room. */
size_t gp_suggest_dot_write(struct gp_buf *b, const struct gp_suggest *s,
                            const struct gp_suggest_dot_opts *opts);

#endif
