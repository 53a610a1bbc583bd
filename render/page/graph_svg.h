/* graph_svg.h -- a graph in the Graphviz language as one SVG element of a page. Graphviz only computes the
 * layout, and sees the lengths of names, not the names; render/draw/canvas_svg.h writes the drawing in the
 * colours of the page. Knows nothing about traces.
 *
 *     if (!gp_graph_svg(&w, dot.data, dot.n, &(struct gp_graph_opts){.label = "Chains of kernels"}))
 *         summarize_it_in_words();
 *
 * Of a node: label, tooltip, class ("k-gemm", one of the page's palette), and whether its style has the word
 * dashed. Of an edge: label and dashed. Of a cluster: label. All nodes are boxes. The graph's own label is
 * left to the page. */
#ifndef GP_RENDER_GRAPH_SVG_H
#define GP_RENDER_GRAPH_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "render/draw/canvas_svg.h"

/* A zeroed struct is the default. */
struct gp_graph_opts {
    const char *label;  /* for screen readers */
    uint32_t max_nodes; /* 0: GP_GRAPH_NODES. Edges may be twice as many. */
};

enum { GP_GRAPH_NODES = 400 };

/* Whether this program was built with Graphviz. Without, gp_graph_svg draws nothing. */
bool gp_graph_can(void);
/* An element <svg class="graph"> for the N bytes of DOT. Returns false and writes nothing if it is not a
 * directed acyclic graph, has no nodes or too many, would take too long to lay out, or cannot be drawn. */
bool gp_graph_svg(struct gp_svg *w, const char *dot, size_t n, const struct gp_graph_opts *opts);

#endif
