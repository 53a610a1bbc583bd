/* report.h -- a result ready to be shown: a verdict in sentences, problems of the input, and tables of typed
 * cells with units. Built once, then consumed by the writers of text, CSV and HTML, which decide how numbers
 * look. Knows nothing about traces or output syntax.
 *
 *     struct gp_report r = {0};
 *     struct gp_report_table *t = gp_report_add(&r, "kernels", "Kernels");
 *     gp_report_column(t, "name", "Kernel", GP_CELL_NAME, 0, "full name");
 *     gp_report_column(t, "total_ns", "Total", GP_CELL_NS, 0, "sum of durations");
 *     gp_report_put_name(&r, t, full, n); gp_report_put(t, 1234567);       // cells go in from left to right
 *     gp_report_text_write(&buf, &r, &opts); gp_report_release(&r);
 */
#ifndef GP_RENDER_REPORT_H
#define GP_RENDER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/result/cell.h"
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

struct gp_report_column {
    const char *id;      /* "total_ns": snake_case, ends in its unit; CSV's header */
    const char *heading; /* "Total" */
    const char *help;    /* its definition in one line; NULL if the heading is enough */
    uint8_t type;        /* enum gp_cell_type */
    uint8_t flags;       /* GP_COLUMN_... */
};

struct gp_report_table {
    const char *id;    /* "kernels": for --table and as anchor */
    const char *title; /* "Kernels" */
    const char *note;  /* a sentence below the title; NULL */
    const char *more;  /* rows left out: "and 34 more, 1.23 ms in all"; NULL */
    /* The same as a last row of CSV: 1 + the column that it has a sum for, and that; 0: none. */
    size_t more_column;
    int64_t more_sum;
    bool detail; /* too long for text: only CSV and HTML */
    GP_VEC(struct gp_report_column) columns;
    GP_VEC(struct gp_cell) cells; /* row after row */
    GP_VEC(uint8_t)
    classes; /* by row: 0, 1 + a colour class (enum gp_class), gp_row_of_kind(); may be shorter */
};

/* A line that a reader must see, and how bad it is. */
enum gp_tone { GP_TONE_PLAIN, GP_TONE_GOOD, GP_TONE_WARN, GP_TONE_BAD };
struct gp_report_line {
    const char *text;
    uint8_t tone;
};

/* A zeroed report is empty. All strings live in its arena, or are static. */
struct gp_report {
    struct gp_arena mem;
    const char *title;                     /* "trace-hta: a.json, b.json" */
    GP_VEC(struct gp_report_line) quality; /* before any number; empty for clean input */
    GP_VEC(struct gp_report_line) verdict; /* two or three sentences with the numbers that matter */
    GP_VEC(struct gp_report_table *) tables;
};

void gp_report_release(struct gp_report *r);

/* A new table after the others; valid until release. ID and TITLE are borrowed (static). */
struct gp_report_table *gp_report_add(struct gp_report *r, const char *id, const char *title);
/* A new column on the right; all come before the first cell. Strings are borrowed (static). */
void gp_report_column(struct gp_report_table *t, const char *id, const char *heading, enum gp_cell_type type,
                      unsigned flags, const char *help);

/* The column ID of T is shown as FLAGS say, besides its own. */
void gp_report_flag(struct gp_report_table *t, const char *id, unsigned flags);

/* The column ID of T has another heading than its own. */
void gp_report_head(struct gp_report_table *t, const char *id, const char *heading);

/* Append the next cell: of the column's type, which must be an integer for put and a real number for
 * put_real. */
void gp_report_put(struct gp_report_table *t, int64_t v);
void gp_report_put_real(struct gp_report_table *t, double v);
void gp_report_put_none(struct gp_report_table *t);
/* Copies N bytes; LABEL is the displayed form, NULL: the same. */
void gp_report_put_text(struct gp_report *r, struct gp_report_table *t, const char *s);
void gp_report_put_name(struct gp_report *r, struct gp_report_table *t, const char *s, size_t n,
                        const char *label, size_t label_n);
/* A cell as a field gave it; its texts must live as long as R. */
void gp_report_put_cell(struct gp_report_table *t, const struct gp_cell *c);

/* A copy of S in the report's memory. */
const char *gp_report_str(struct gp_report *r, const char *s, size_t n);
/* Append a printed line to the verdict, or to the notes on the quality of the input. */
void gp_report_verdict(struct gp_report *r, enum gp_tone tone, const char *fmt, ...) GP_PRINTF(3, 4);
void gp_report_note(struct gp_report *r, enum gp_tone tone, const char *fmt, ...) GP_PRINTF(3, 4);
/* The same with the text of B, which is empty after. */
void gp_report_take_verdict(struct gp_report *r, enum gp_tone tone, struct gp_buf *b);
void gp_report_take_note(struct gp_report *r, enum gp_tone tone, struct gp_buf *b);

/* Call PRINT with the text of each of N lines whose tone is LEAST or worse. */
void gp_report_lines(const struct gp_report_line *lines, size_t n, enum gp_tone least,
                     void (*print)(const void *ctx, const char *text), const void *ctx);

/* Complete rows so far. */
static inline size_t gp_report_rows(const struct gp_report_table *t)
{
    return t->columns.n ? t->cells.n / t->columns.n : 0;
}
static inline const struct gp_cell *gp_report_cell(const struct gp_report_table *t, size_t row, size_t column)
{
    return &t->cells.at[row * t->columns.n + column];
}
/* The table with that id; NULL if there is none. */
const struct gp_report_table *gp_report_find(const struct gp_report *r, const char *id);

/* Append a cell as a person reads it: "1.23 ms", "1,234", "40.5%", "-"; a NAME's label, cleaned but not
 * cut. */
void gp_cell_put(struct gp_buf *b, const struct gp_cell *c);
/* Is it a number, and so aligned to the right? */
static inline bool gp_cell_is_number(enum gp_cell_type type) { return type > GP_CELL_BOOL; }

/* ---- text ---- */

/* For a terminal: as wide as that is, numbers aligned to the right, names cut to fit, never wrapped, and
 * cut so that no two rows read the same. Nothing empty is written: no table without rows, no column without
 * content. */

enum { GP_TEXT_WIDTH = 80, GP_TEXT_PROSE = 100, GP_TEXT_FULL = 1 << 20 };

/* Columns of sentences where a line has WIDTH, 0 for GP_TEXT_WIDTH: at most GP_TEXT_PROSE, as longer lines
 * are hard to read, unless nothing is to be cut or wrapped: from GP_TEXT_FULL on. */
size_t gp_report_prose_width(size_t width);

struct gp_report_text_opts {
    bool color;         /* ANSI escapes */
    size_t width;       /* columns; 0: GP_TEXT_WIDTH; GP_TEXT_FULL: cut and wrap nothing */
    bool verdict_first; /* quality follows the tables: for logs where people read the first line */
};

void gp_report_text_write(struct gp_buf *b, const struct gp_report *r, const struct gp_report_text_opts *o);
/* Only one table, whether it is a detail or not. */
void gp_report_text_table(struct gp_buf *b, const struct gp_report_table *t,
                          const struct gp_report_text_opts *o);

/* ---- CSV ---- */

/* One table as RFC 4180: a header row, fields quoted where they must be, lines that end in CR LF as the RFC
 * requires, raw integers, names in full, unknown values empty. */

/* Append one field. Names come from traces, and a table from us may end in a spreadsheet or on a terminal:
 * control characters become visible, and an apostrophe before a formula makes it text. */
void gp_report_csv_put(struct gp_buf *b, const char *s, size_t n);
/* Append a cell as one field: numbers as JSON has them, nothing where it is not known. */
void gp_report_csv_cell(struct gp_buf *b, const struct gp_cell *c);
/* Append T, which may be NULL. With a NOTE on all its figures, there is one more column, "note", with it in
 * each row; then a table without rows, or NULL, has one row of nothing else. */
void gp_report_csv_write(struct gp_buf *b, const struct gp_report_table *t, const char *note);

/* ---- Markdown ---- */

/* For a comment or the summary of a build, below 60,000 bytes: all but the first three tables, and those of
 * more than ten rows, are folded; those of more than thirty are cut. */
void gp_report_markdown_write(struct gp_buf *b, const struct gp_report *r);
/* Append N bytes as plain text in a cell of a table: nothing in it is markup, calls a person or names an
 * issue. */
void gp_report_markdown_put(struct gp_buf *b, const char *s, size_t n);

/* ---- sentences that all tools share ---- */

/* Add the problems of N inputs, whose sids are of S, to R's quality, line by line. With DAMAGE only those
 * that could not be read as they are, without facts that were never recorded, such as launches. */
void gp_inputs_quality(struct gp_report *r, const struct gp_strings *s, const struct gp_input_quality *inputs,
                       size_t n, bool damage);

/* Append the time of TIMED steps, at least one, WHOLE or cut by the edge of the trace. The parenthesis stays
 * open for additions. */
void gp_step_time_put(struct gp_buf *b, int64_t mean_ns, int64_t median_ns, uint64_t timed, bool whole);

/* ---- formats that are a report ---- */

/* Define NAME, which writes an answer of TYPE, `a`, to `b`: what is given at the end fills the report `r`. */
#define GP_PUT_REPORT(name, type, write, ...)                                                                \
    static void name(void *answer, struct gp_buf *b)                                                         \
    {                                                                                                        \
        const type *a = answer;                                                                              \
        struct gp_report r = {0};                                                                            \
        __VA_ARGS__;                                                                                         \
        write;                                                                                               \
        gp_report_release(&r);                                                                               \
    }
#define GP_PUT_TEXT(name, type, ...)                                                                         \
    GP_PUT_REPORT(name, type,                                                                                \
                  gp_report_text_write(b, &r,                                                                \
                                       &(struct gp_report_text_opts){                                        \
                                           .color = a->color, .width = a->width, .verdict_first = true}),    \
                  __VA_ARGS__)
#define GP_PUT_MARKDOWN(name, type, ...)                                                                     \
    GP_PUT_REPORT(name, type, gp_report_markdown_write(b, &r), __VA_ARGS__)

#endif
