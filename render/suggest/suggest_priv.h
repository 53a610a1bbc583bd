/* suggest_priv.h -- private: the text, the graph, the charts and the page of trace-suggest. */
#ifndef GP_RENDER_SUGGEST_SUGGEST_PRIV_H
#define GP_RENDER_SUGGEST_SUGGEST_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/suggest/suggest.h"
#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"
#include "render/suggest/suggest_formats.h"

/* ---- for a terminal: the bound of the step, then suggestions, most valuable first ---- */

void gp_suggest_text_write(struct gp_buf *b, const struct gp_suggest_answer *a);
/* Add the opening sentences: the step, its regime, the joint saving of all suggestions, and problems of the
 * input and the recording. THREE_REGIMES: report only overhead, memory and compute. */
void gp_suggest_summary(struct gp_report *r, const struct gp_suggest *s, bool three_regimes);
/* How many suggestions would save something; they come before the others. */
size_t gp_suggest_worth(const struct gp_suggest *s);
/* The ceilings that kernels are compared with, and the source of their work, in a sentence or two; nothing if
 * they are unknown. */
void gp_suggest_put_ceilings(struct gp_buf *b, const struct gp_suggest *s);
/* "apps.py:258 rollout, 64 times per step (aten::item)"; nothing if it is about the whole step. */
/* How to check ONE: causes of idle time by the names that people read, not "idle_host". */
void gp_suggest_put_check(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one);
void gp_suggest_put_where(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one);
/* "saves about 1.02 of 3.96 ms per step (0.79 to 1.22)" */
void gp_suggest_put_saving(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one);

/* ---- the page ---- */

/* Problems of the input, the verdict, where the time of a step goes, a card per suggestion with its saving
 * and the reasons for it, suggestions that would not shorten the step, and the kernels with their bounds.
 * Self-contained, readable without its script, printable. */

/* Append the page to OUT. JSON: the same answer for programs, which becomes part of it; empty: none. Equal
 * input gives equal bytes. */
void gp_suggest_html_write(struct gp_buf *out, const struct gp_suggest_answer *a, const struct gp_buf *json);

/* ---- charts: both are as wide as the page and stand for the whole step, so they can be compared ---- */

/* A bar of the step's parts, and a list of them with their times; the remainder of the step is one of the
 * parts. */
void gp_suggest_chart_step(struct gp_svg *w, const struct gp_suggest *s);
/* A bar for the step with the least saving, the possible saving beside it, and a line at the ceiling, in ns;
 * a CEILING of 0 draws no line. */
void gp_suggest_chart_saving(struct gp_svg *w, const struct gp_suggest *s, int64_t low, int64_t high,
                             int64_t ceiling);

/* ---- chains of kernels that a single kernel could replace ---- */

/* The relevant chains of S as a new table of R; NULL if there are none. */
const struct gp_report_table *gp_suggest_chains_table(struct gp_report *r, const struct gp_suggest *s);
/* The graph and table T. Where no graph can be drawn, its text in the language of Graphviz takes its
 * place. */
void gp_suggest_chains_write(struct gp_svg *w, const struct gp_suggest *s, const struct gp_report_table *t);

/* As a graph for Graphviz: `dot -Tsvg`. A cluster is a kind of chain, with its count, its time and the
 * saving of a single kernel; a node is a kernel in the colour of its class; an edge has the bytes that a
 * single kernel would pass on without memory traffic, and is dashed if that is uncertain. */

/* Append one digraph of the relevant chains of S, longest first, with at most MOST nodes (0: 240); its label
 * counts those without room. Names are escaped and cut; the tooltip of a node has its full name, its class
 * that of the page's palette. Without chains, the graph has only a label that says so. Returns how many
 * relevant chains had no room. */
size_t gp_suggest_dot_write(struct gp_buf *b, const struct gp_suggest *s, uint32_t most);

#endif
