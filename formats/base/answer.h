/* answer.h -- the formats that a tool's answer can take, as a table: one row per format, from which the words
 * of --format, the check of it, the rows of its tables and the call of its writer are taken. Knows nothing of
 * any tool.
 *
 *     const struct gp_answer_format gp_hta_formats[] = {
 *         {"text", 10, GP_HTA_TAKES_TABLE, .put = put_text},
 *         {"folded", 0, 0, .write = write_folded},
 *         {0},
 *     };
 *     const struct gp_answer_format *f = gp_answer_format(gp_hta_formats, opts.common.format);
 *     answer.top = gp_answer_rows(f, opts.top);
 *     if (gp_answer_write(f, &answer, opts.common.output, &err)) ...
 */
#ifndef GP_BASE_ANSWER_H
#define GP_BASE_ANSWER_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/output.h"

struct gp_answer_format {
    const char *name; /* "html", as --format calls it; the first of a table is the default */
    size_t rows;      /* of long tables where --top is not given; 0: all */
    unsigned needs;   /* bits of the tool: things to prepare, or options that apply */
    /* Append ANSWER, a struct of the tool, to B. */
    void (*put)(void *answer, struct gp_buf *b);
    /* Or, where it is too large for memory, write it to TO, which remembers failed writes. */
    void (*write)(void *answer, struct gp_output *to);
};

/* Define NAME, a put of one statement, in which A is the answer, of TYPE. */
#define GP_PUT_ANSWER(name, type, ...)                                                                       \
    static void name(void *answer, struct gp_buf *b)                                                         \
    {                                                                                                        \
        const type *a = answer;                                                                              \
        __VA_ARGS__;                                                                                         \
    }

#define GP_ROWS_UNSET UINT64_MAX /* --top was not given */

/* The row called NAME of a table that ends with {0}; NULL when there is none. */
const struct gp_answer_format *gp_answer_format(const struct gp_answer_format *table, const char *name);
/* The row of TABLE whose files end as PATH does, a ".gz" or ".zst" after that aside; *ENDING is set to that
 * part of PATH, to NULL if it has none. NULL when there is no such row. */
const struct gp_answer_format *gp_answer_named(const struct gp_answer_format *table, const char *path,
                                               const char **ending);
/* How many rows to write when --top is TOP; 0: all. */
size_t gp_answer_rows(const struct gp_answer_format *f, uint64_t top);
/* 0 if OPTION is NULL, so not given, or F, of TABLE, has all of the bits NEEDS; otherwise a usage error that
 * names the formats that do: "--table requires --format text or csv". */
GP_MUST_CHECK int gp_answer_check(const struct gp_answer_format *table, const struct gp_answer_format *f,
                                  unsigned needs, const char *option, struct gp_err *err);
/* Write ANSWER to PATH (NULL or "-": standard output); after a failure the file is as it was. */
GP_MUST_CHECK int gp_answer_write(const struct gp_answer_format *f, void *answer, const char *path,
                                  struct gp_err *err);
/* Write B to PATH, as gp_answer_write() does, and release it. */
GP_MUST_CHECK int gp_answer_file(const char *path, struct gp_buf *b, struct gp_err *err);

#endif
