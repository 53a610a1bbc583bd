/* suggest_chains.h -- the part of trace-suggest's page about chains of kernels that a single kernel could
 * replace: the longest as a graph (render/suggest/suggest_dot.h, render/page/graph_svg.h), all of them as a
 * table in words. Measures nothing.
 *
 *     const struct gp_report_table *t = gp_suggest_chains_tell(&report, &suggest);
 *     if (t) gp_suggest_chains_write(&w, &suggest, t);
 */
#ifndef GP_RENDER_SUGGEST_CHAINS_H
#define GP_RENDER_SUGGEST_CHAINS_H

#include "analyze/suggest/suggest.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* The relevant chains of S as a new table of R; NULL if there are none. */
const struct gp_report_table *gp_suggest_chains_tell(struct gp_report *r, const struct gp_suggest *s);
/* The graph and table T. Where no graph can be drawn, its text in the language of Graphviz takes its
 * place. */
void gp_suggest_chains_write(struct gp_svg *w, const struct gp_suggest *s, const struct gp_report_table *t);

#endif
