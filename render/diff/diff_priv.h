/* diff_priv.h -- private: the report, the JSON, the pictures and the page of trace-diff. */
#ifndef GP_RENDER_DIFF_DIFF_PRIV_H
#define GP_RENDER_DIFF_DIFF_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/diff/diff.h"
#include "formats/base/declare.h"
#include "render/diff/diff_formats.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* ---- the report ---- */

struct gp_diff_report_opts {
    size_t top; /* rows of tables that grow with the number of names; 0: all */
    bool brief; /* without the tables that text leaves out (*) */
};

/* Fill R, which is empty, from D; R holds copies and D may go. */
void gp_diff_report(struct gp_report *r, const struct gp_diff *d, const struct gp_diff_report_opts *o);

/* The terms of the change of the step's time: the largest, and the others in two sums. */
struct gp_diff_term {
    uint32_t cause; /* index into d->causes; GP_PROFILE_NONE: a sum of small ones */
    uint32_t n;     /* of so many */
    int64_t change_ns;
};
enum { GP_DIFF_TERMS = 64 };
/* At most TOP single terms (0: as many as fit) and two sums. Returns their number. They sum to the whole
 * change. */
size_t gp_diff_terms(const struct gp_diff *d, size_t top, struct gp_diff_term terms[GP_DIFF_TERMS]);
/* Append the name of a term: "idle: host", "12 others that grew". */
void gp_diff_put_term(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_term *t);
/* The step's time on both sides, between which the terms lead. */
void gp_diff_term_ends(const struct gp_diff *d, int64_t ends[GP_DIFF_SIDES]);

/* ---- diff json ---- */

/* The answer of trace-diff as one JSON object, as schemas/trace-diff.schema.json describes it: every figure,
 * and everything that decided a verdict. Integers stay integers, unknown figures are null, every field's
 * name ends in its unit. */

/* Append the object and a newline. D has run; if its sides cannot be compared, the available figures are
 * still present. */
void gp_diff_json_write(struct gp_buf *b, const struct gp_diff *d);

/* ---- diff folded ---- */

/* Both sides of a comparison as folded stacks with two columns, "frame;frame;kernel BASELINE CURRENT", ns
 * per step, for other tools of differential flame graphs. Each column sums to its side's GPU time. */

void gp_diff_folded_write(struct gp_buf *b, const struct gp_diff *d);

/* ---- for builds: diff_ci.c ---- */

/* A test case per gate, or one for the verdict: broken ones fail, undecided ones are skipped. */
void gp_diff_junit_write(struct gp_buf *b, const struct gp_diff *d);
/* Commands for a runner: an error or warning per gate, at its line where that is known, and the headline. */
void gp_diff_github_write(struct gp_buf *b, const struct gp_diff *d);
/* The current side's figures as [{"name", "unit", "value"}], per step; smaller is better. */
void gp_diff_benchmark_write(struct gp_buf *b, const struct gp_diff *d);

/* ---- the page ---- */

/* Reservations, the verdict, the key figures, and by theme: why the time changed, which operations changed,
 * where they are called, which launches replaced which. Self-contained, readable without its script,
 * printable. */

/* Append the page to OUT. R was made from A's D (gp_diff_report). INPUT names both sides. JSON: the same
 * answer for programs, which becomes part of the page. Equal input gives equal bytes. */
void gp_diff_html_write(struct gp_buf *out, const struct gp_diff_answer *a, const struct gp_report *r,
                        const char *input, const struct gp_buf *json);

/* ---- pictures ---- */

/* Elements <figure>; nothing if there is nothing to show. At most TOP terms and two sums (0: as many as
 * fit). */
void gp_diff_chart_waterfall(struct gp_svg *w, const struct gp_diff *d, size_t top);
void gp_diff_chart_volcano(struct gp_svg *w, const struct gp_diff *d);

/* The waterfall as an SVG file. INPUT names both sides. */
void gp_diff_waterfall_svg(struct gp_buf *out, const struct gp_diff *d, size_t top, const char *input);

/* The stacks of both sides of a comparison as a differential flame graph, in one direction: scaled to one
 * side, coloured by change. Frames that only the other side has are not in it, so a reader needs both
 * directions. */

struct gp_diff_flame_opts {
    int side;            /* GP_DIFF_BASE, GP_DIFF_CUR: the side of the widths */
    const char *input;   /* the names of both sides, for the line below the title; NULL */
    bool embedded;       /* as an element of a page */
    uint32_t max_frames; /* 0: 5000 */
};

void gp_diff_flame_svg(struct gp_buf *out, const struct gp_diff *d, const struct gp_diff_flame_opts *o);

/* Replaced launches as a graph in Graphviz DOT: on the left each block of launches in the baseline, on the
 * right its replacement in the current trace, with an arrow showing the change of its time. */

/* At most MOST blocks (0: 40), those with the largest change; the label counts the rest. */
void gp_diff_dot(struct gp_buf *b, const struct gp_diff *d, size_t most);

#endif
