/* memory_formats.h -- the formats of trace-memory's answer: text, json, csv, html and folded, each a row of a
 * table.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_memory_formats, "json");
 *     struct gp_memory_answer a = {.m = &memory, .top = gp_answer_rows(f, GP_ROWS_UNSET)};
 *     if (gp_answer_write(f, &a, NULL, &err)) ...
 */
#ifndef GP_RENDER_MEMORY_FORMATS_H
#define GP_RENDER_MEMORY_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/memory/memory.h"
#include "formats/base/answer.h"

/* Which options apply to a format. */
enum { GP_MEMORY_TAKES_TABLE = 1, GP_MEMORY_TAKES_PAGES = 2 };

/* What is written, and how. Strings are borrowed. */
struct gp_memory_answer {
    struct gp_memory *m;          /* finished; names may be added to its strings */
    size_t top;                   /* rows of long tables; 0: all */
    size_t width;                 /* of text, in columns; 0: 80 */
    const char *table;            /* one table only; NULL: all */
    const char *input;            /* the name of the inputs on the page; NULL: standard input */
    const char *options;          /* as typed, for the page; NULL: none */
    const char *flame, *timeline; /* pages that the page links to; NULL: none */
    bool color, verbose;
    bool empty; /* set by the writer: there is no such table */
};

/* Ends with {0}; the first is the default. */
extern const struct gp_answer_format gp_memory_formats[];

#endif
