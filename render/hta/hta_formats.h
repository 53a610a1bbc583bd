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

struct gp_hta;

/* Which options apply to a format. */
enum { GP_HTA_TAKES_TABLE = 1, GP_HTA_TAKES_LINKS = 2 };

/* What is written, and how. Strings are borrowed. */
struct gp_hta_answer {
    const struct gp_hta *h;       /* finished */
    const char *tool;             /* that writes; NULL: trace-hta */
    size_t top;                   /* rows of long tables, 0: all */
    bool steps;                   /* also the figures of every step */
    bool whole;                   /* headline and first tables about everything, not only the steps */
    bool color;                   /* of text */
    size_t width;                 /* of text, in columns; 0: 80 */
    const char *table;            /* the only table to write; NULL: all, but of csv only "kernels" */
    const char *options;          /* of html: the options that the answer depends on, as typed */
    const char *flame, *timeline; /* of html: pages that the findings link to; NULL */
    bool empty;                   /* set by the writer: the table that was asked for is empty */
};

extern const struct gp_answer_format gp_hta_formats[];

#endif
