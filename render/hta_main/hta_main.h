/* hta_main.h -- the common part of trace-hta and trace-hta-mpi: their options, reading one input or partial
 * result into a gp_hta, skipping those that cannot be read, and writing the answer. Only the mains of the
 * two include it.
 *
 *     struct gp_hta_main r;
 *     if (gp_hta_main_open(&r, &tool, &opts, &err) || gp_hta_main_read_all(&r, &err) ||
 *         gp_hta_main_end(&r, &err)) ...
 *     gp_hta_main_close(&r);
 */
#ifndef GP_RENDER_HTA_MAIN_HTA_MAIN_H
#define GP_RENDER_HTA_MAIN_HTA_MAIN_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/app/app.h"
#include "analyze/app/operands.h"
#include "analyze/hta/hta.h"
#include "formats/base/declare.h"
#include "render/hta/hta_formats.h"

/* Former spellings of these options. */
#define GP_HTA_MAIN_RENAMED                                                                                  \
    {                                                                                                        \
        "steps", "each-step"                                                                                 \
    }
struct gp_hta_main_opts {
    struct gp_app_opts app; /* first */
    const char *table, *repair, *save_partial, *flame, *timeline, *from;
    uint64_t items;
    bool steps, full, merge, all_ranks, keep_going;
    double max_skipped; /* percent */
};
#define GP_HTA_MAIN_DEFAULTS .app = {GP_APP_DEFAULTS}, .repair = "none", .max_skipped = 100

// clang-format off
/* The rows of both tools; the common ones are last. */
#define GP_HTA_MAIN_OPTIONS                                                                                  \
    GP_OPTION_TOP("maximum number of rows in long tables, 0 for all (default: 10; HTML: 100; CSV: all)"),    \
    {'t', "table", "NAME", "print only this table; \"help\" lists them (default for CSV: kernels)",          \
     GP_OPT_STRING, offsetof(struct gp_hta_main_opts, table)},                                               \
    {0, "full", NULL, "print all tables, not only the first findings and kernels", GP_OPT_FLAG,              \
     offsetof(struct gp_hta_main_opts, full)},                                                               \
    {'s', "each-step", NULL, "include figures for every step", GP_OPT_FLAG,                                  \
     offsetof(struct gp_hta_main_opts, steps)},                                                              \
    {0, "items", "N", "samples or tokens that each GPU takes in per step, for joules per item", GP_OPT_UINT, \
     offsetof(struct gp_hta_main_opts, items)},                                                              \
    GP_OPTION_WHOLE,                                                                                         \
    {0, "repair", "clip|drop|none", "what to do with impossible times: fix, drop, or keep (default: none)",  \
     GP_OPT_CHOICE, offsetof(struct gp_hta_main_opts, repair)},                                              \
    GP_OPTIONS_ANALYSIS,                                                                                     \
    {0, "flame", "FILE", "trace2flame page that the findings of an HTML report link to", GP_OPT_STRING,      \
     offsetof(struct gp_hta_main_opts, flame)},                                                              \
    {0, "timeline", "FILE", "trace2timeline page that the findings of an HTML report link to",               \
     GP_OPT_STRING, offsetof(struct gp_hta_main_opts, timeline)},                                            \
    GP_OPTION_ALLOW_EMPTY,                                                                                   \
    {0, "from", "FILE", "read the names of more inputs from FILE, one per line; |COMMAND reads its output",  \
     GP_OPT_STRING, offsetof(struct gp_hta_main_opts, from)},                                                \
    {0, "keep-going", NULL, "skip inputs that cannot be read; count and name them", GP_OPT_FLAG,             \
     offsetof(struct gp_hta_main_opts, keep_going)},                                                         \
    {0, "max-skipped", "PCT", "fail if more than this share of the inputs is skipped (default: 100%)",       \
     GP_OPT_PERCENT, offsetof(struct gp_hta_main_opts, max_skipped)},                                        \
    {0, "all-ranks", NULL, "keep every rank in full (default: of more than 32 ranks, a selection)",          \
     GP_OPT_FLAG, offsetof(struct gp_hta_main_opts, all_ranks)},                                             \
    {0, "save-partial", "FILE", "write a partial result for --merge to FILE, and no report", GP_OPT_STRING,  \
     offsetof(struct gp_hta_main_opts, save_partial)},                                                       \
    {0, "merge", NULL, "treat inputs as files written by --save-partial", GP_OPT_FLAG,                       \
     offsetof(struct gp_hta_main_opts, merge)},                                                              \
    GP_OPTION_WIDTH
// clang-format on

struct gp_hta_main {
    const struct gp_hta_main_opts *opts;
    const struct gp_answer_format *format;
    struct gp_app app;
    struct gp_operands operands;
    struct gp_hta_opts hta_opts;
    struct gp_hta h;
    bool keep_going;
    struct gp_hta **parts; /* private: by input, while they are read */
};

/* Check OPTS, which is borrowed, and list the inputs. R is to be closed in any case. */
GP_MUST_CHECK int gp_hta_main_open(struct gp_hta_main *r, const struct gp_tool *tool,
                                   const struct gp_hta_main_opts *opts, struct gp_err *err);
void gp_hta_main_close(struct gp_hta_main *r);
/* Read input I into TO, which is initialised here. Several threads may, each with another I. */
GP_MUST_CHECK int gp_hta_main_read(struct gp_hta_main *r, size_t i, struct gp_hta *to, struct gp_err *err);
/* Input I cannot be read: print so, and count it in H. */
void gp_hta_main_skip(struct gp_hta_main *r, struct gp_hta *h, size_t i, const struct gp_err *err);
/* Read all inputs into r->h. */
GP_MUST_CHECK int gp_hta_main_read_all(struct gp_hta_main *r, struct gp_err *err);
/* Write the partial result or the answer of r->h. */
GP_MUST_CHECK int gp_hta_main_end(struct gp_hta_main *r, struct gp_err *err);
/* "--table help". */
GP_MUST_CHECK int gp_hta_main_list_tables(struct gp_err *err);

/* ---- hang_answer.c: logs of collectives instead of traces ---- */

/* Is the first input such a log? Then all are read as logs, and the answer is where the job hangs. */
bool gp_hta_main_is_hang(const struct gp_hta_main *r);
GP_MUST_CHECK int gp_hta_main_hang(struct gp_hta_main *r, struct gp_err *err);

#endif
