/* hta_formats.h -- the formats of trace-hta's answer: text, json, csv, html, dot and openmetrics, each a row
 * of a table.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_hta_formats, "csv");
 *     struct gp_hta_answer a = {.h = &hta, .top = gp_answer_rows(f, GP_ROWS_UNSET)};
 *     if (gp_answer_write(f, &a, NULL, &err)) ...
 */
#ifndef GP_RENDER_HTA_FORMATS_H
#define GP_RENDER_HTA_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/answer.h"
#include "render/report/report.h"

struct gp_hta;
struct gp_record;

/* Which options apply to a format. */
enum { GP_HTA_TAKES_TABLE = 1, GP_HTA_TAKES_LINKS = 2, GP_HTA_TAKES_FULL = 4 };

/* An answer and how to write it. Strings are borrowed. */
struct gp_hta_answer {
    const struct gp_hta *h;       /* finished */
    const char *tool;             /* that writes; NULL: trace-hta */
    size_t top;                   /* rows of long tables, 0: all */
    bool steps;                   /* also the figures of every step */
    bool whole;                   /* headline and first tables about everything, not only the steps */
    bool full;                    /* of text: all of it, otherwise about forty lines */
    bool color;                   /* of text */
    size_t width;                 /* of text, in columns; 0: 80 */
    const char *table;            /* the only table to write; NULL: all, but of csv only "kernels" */
    const char *options;          /* of html: the options that the answer depends on, as typed */
    const char *flame, *timeline; /* of html: pages that the findings link to; NULL */
    bool empty;                   /* set by the writer: the table that was asked for is empty */
};

extern const struct gp_answer_format gp_hta_formats[];

/* Records of the JSON, for its schema; rows are struct gp_hta, the fleet's of its fleet. */
extern const struct gp_record gp_hta_ranks, gp_hta_matching, gp_hta_fleet_row, gp_hta_path_rows;

/* ---- the answer as a report: tables, problems of the input and a summary; no output syntax ---- */

/* A zeroed struct shows everything. */
struct gp_hta_report_opts {
    size_t top; /* rows of tables that grow with the number of names; 0: all */
    bool steps; /* a row for each step */
    bool whole; /* everything; otherwise headline and first tables are about the steps where there are any */
    size_t step_rows; /* ... of the longest ones, as many at most; 0: all */
    bool brief;       /* without the tables that text leaves out (*) */
    bool few;         /* about forty lines: few findings; all tables but those and the kernels are details */
    const char *only; /* only this table; NULL: all */
};

/* Fill R, which is empty, from H, which is finished; R holds copies and H may go. */
void gp_hta_report(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_report_opts *o);

/* The id of the I-th table of the list above; NULL after the last. */
const char *gp_hta_table_id(size_t i);
bool gp_hta_has_table(const char *id);

/* Add the problems of the inputs to R's quality, line by line. With DAMAGE, only inputs that needed repair,
 * without facts that were never recorded, such as launches. */
void gp_hta_quality(struct gp_report *r, const struct gp_hta *h, bool damage);
/* The same, and the verdict: about the steps where there are any, or with WHOLE about everything. */
void gp_hta_summary(struct gp_report *r, const struct gp_hta *h, bool whole);

#endif
