/* diff_tables.h -- the answer of trace-diff as a report: which table has which figures. Measures nothing and
 * knows no output syntax.
 *
 *     struct gp_report r = {0};
 *     gp_diff_report(&r, &diff, &(struct gp_diff_report_opts){.top = 10});
 *     gp_report_text_write(&buf, &r, &(struct gp_report_text_opts){.verdict_first = true});
 *
 * Empty tables are omitted. The others, in this order (*: HTML only):
 *   waterfall      why the step takes longer or shorter: terms that sum exactly
 *   gates          limits, and the values compared with them
 *   predictions    what was predicted, and the outcome
 *   regressions    operations that are slower, not by chance
 *   improvements   operations that are faster, not by chance
 *   others         what is new, gone, fused or undecided, largest first
 *   blocks         launches that changed into others
 *   metrics        figures of the whole step
 *   operations *   all operations
 *   sides *        what was compared: steps, device, recorder
 *   step_list *    every step that was found
 *   settings *     what the decisions depend on
 */
#ifndef GP_RENDER_DIFF_TABLES_H
#define GP_RENDER_DIFF_TABLES_H

#include "analyze/diff/diff.h"
#include "render/report/report.h"

struct gp_diff_report_opts {
    size_t top; /* rows of tables that grow with the number of names; 0: all */
    bool brief; /* without the tables that text leaves out (*) */
};

/* Fill R, which is empty, from D; R holds copies and D may go. */
void gp_diff_report(struct gp_report *r, const struct gp_diff *d, const struct gp_diff_report_opts *o);

/* The terms of the change of the step's time as people see them: the largest, and the others in two sums. */
struct gp_diff_term {
    uint32_t cause; /* index into d->causes; GP_PROFILE_NONE: a sum of small ones */
    uint32_t n;     /* of so many */
    int64_t change_ns;
};
enum { GP_DIFF_TERMS = 64 };
/* At most TOP single terms (0: as many as fit) and two sums. Returns their number. They sum to the whole
 * change. */
size_t gp_diff_terms(const struct gp_diff *d, size_t top, struct gp_diff_term terms[GP_DIFF_TERMS]);
/* What a term is called: "idle: host", "12 others that grew". */
void gp_diff_put_term(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_term *t);
/* Between what the terms lead: the step's time on both sides. */
void gp_diff_term_ends(const struct gp_diff *d, int64_t ends[GP_DIFF_SIDES]);

#endif
