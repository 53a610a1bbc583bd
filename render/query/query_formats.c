#include "render/query/query_formats.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/output.h"
#include "formats/base/utf8.h"
#include "render/report/json_doc.h"
#include "render/report/report.h"

enum {
    FLUSH = 1 << 16,
    FIRST_ROWS = 1000, /* of text: whose cells decide how wide the columns are */
};

/* ---- rows ---- */

static void flush(struct gp_buf *b, struct gp_output *to, size_t least)
{
    if (b->n < least) return;
    gp_output_write(to, b->data, b->n);
    b->n = 0;
}

static bool next(struct gp_query_answer *a, struct gp_output *to)
{
    int got = gp_output_failed(to) ? 0 : gp_sql_next(a->sql, &a->err);
    a->failed |= got < 0;
    a->rows += got > 0;
    return got > 0;
}

/* A number as it is; text as it was recorded. */
static void put_value(struct gp_buf *b, const struct gp_sql_value *v)
{
    if (v->type == GP_SQL_INT) gp_buf_put_i64(b, v->i);
    else if (v->type == GP_SQL_REAL) gp_json_put_double(b, v->d);
    else if (v->type == GP_SQL_TEXT) gp_buf_put(b, v->text, v->n);
}

/* ---- JSON, CSV, Markdown ---- */

struct syntax {
    const char *begin, *between, *end, *null;
    void (*put)(struct gp_buf *b, const char *text, size_t n);
};
static const struct syntax json = {"", ", ", "]", "null", gp_json_put_string};
static const struct syntax csv = {"", ",", "\n", "", gp_report_csv_put};
static const struct syntax markdown = {"| ", " | ", " |\n", "", gp_report_markdown_put};

/* The row that A is at, or the names of its columns. */
static void put_line(struct gp_buf *b, const struct syntax *x, const struct gp_query_answer *a, bool names)
{
    gp_buf_puts(b, x->begin);
    for (int i = 0; i < gp_sql_columns(a->sql); i++) {
        const char *name = names ? gp_sql_column(a->sql, i) : NULL;
        struct gp_sql_value v = {.type = GP_SQL_TEXT, .text = name, .n = name ? strlen(name) : 0};
        if (!name) v = gp_sql_value(a->sql, i);
        if (i) gp_buf_puts(b, x->between);
        if (v.type == GP_SQL_TEXT) x->put(b, v.text, v.n);
        else if (v.type == GP_SQL_NULL) gp_buf_puts(b, x->null);
        else put_value(b, &v);
    }
    gp_buf_puts(b, x->end);
}

/* Behind the head, which all documents have, columns are what the statement says, and no record's. */
static void write_json(void *answer, struct gp_output *to)
{
    struct gp_query_answer *a = answer;
    struct gp_buf b = {0};
    struct gp_doc d = {.b = &b, .strings = a->strings};
    gp_doc_begin(&d, '{');
    gp_doc_head(&d, "trace-query", GP_VERSION, a->inputs, a->n_inputs);
    gp_buf_puts(&b, ",\n  \"sql\": ");
    gp_json_put_string(&b, a->text, strlen(a->text));
    gp_buf_puts(&b, ",\n  \"columns\": [");
    put_line(&b, &json, a, true);
    gp_buf_puts(&b, ",\n  \"rows\": [");
    while (next(a, to)) {
        gp_buf_puts(&b, a->rows > 1 ? ",\n    [" : "\n    [");
        put_line(&b, &json, a, false);
        flush(&b, to, FLUSH);
    }
    gp_buf_puts(&b, a->rows ? "\n  ]\n}\n" : "]\n}\n");
    flush(&b, to, 0);
    gp_buf_release(&b);
}

/* The rows from this one on, if there is MORE, behind what B has. */
static void write_lines(struct gp_buf *b, const struct syntax *x, struct gp_query_answer *a, bool more,
                        struct gp_output *to)
{
    for (; more; more = next(a, to)) {
        put_line(b, x, a, false);
        flush(b, to, FLUSH);
    }
    flush(b, to, 0);
    gp_buf_release(b);
}

static void write_csv(void *answer, struct gp_output *to)
{
    struct gp_buf b = {0};
    put_line(&b, &csv, answer, true);
    write_lines(&b, &csv, answer, next(answer, to), to);
}

static void write_markdown(void *answer, struct gp_output *to)
{
    struct gp_query_answer *a = answer;
    struct gp_buf b = {0};
    put_line(&b, &markdown, a, true);
    bool more = next(a, to);
    for (int i = 0; i < gp_sql_columns(a->sql); i++) {
        struct gp_sql_value v = {0};
        if (more) v = gp_sql_value(a->sql, i);
        gp_buf_puts(&b, v.type == GP_SQL_INT || v.type == GP_SQL_REAL ? "|---:" : "|:---");
    }
    gp_buf_puts(&b, "|\n");
    write_lines(&b, &markdown, a, more, to);
}

/* ---- text ---- */

struct text_cell {
    size_t at, n;
    bool number;
};

/* Rows that wait until the width of the columns is known, the names of the columns first. */
struct text {
    struct gp_buf bytes;
    GP_VEC(struct text_cell) cells;
    size_t *width;
    int n;
};

static void take_text(struct text *t, const char *s, size_t n, bool number)
{
    struct text_cell c = {.at = t->bytes.n, .number = number};
    gp_utf8_clean(&t->bytes, s, n);
    c.n = t->bytes.n - c.at;
    size_t *width = &t->width[t->cells.n % (size_t)t->n], wide = gp_utf8_width(t->bytes.data + c.at, c.n);
    if (wide > *width) *width = wide;
    GP_VEC_PUSH(&t->cells, c);
}

static void take_row(struct text *t, const struct gp_sql *sql)
{
    struct gp_buf b = {0};
    for (int i = 0; i < t->n; i++) {
        struct gp_sql_value v = gp_sql_value(sql, i);
        b.n = 0;
        if (v.type == GP_SQL_NULL) gp_buf_putc(&b, '-');
        else put_value(&b, &v);
        take_text(t, b.n ? b.data : "", b.n, v.type != GP_SQL_TEXT);
    }
    gp_buf_release(&b);
}

static void put_blanks(struct gp_buf *b, size_t n)
{
    while (n--) gp_buf_putc(b, ' ');
}

static void put_row(struct text *t, size_t first, const struct text_cell *like, struct gp_buf *to)
{
    for (int i = 0; i < t->n; i++) {
        const struct text_cell *c = &t->cells.at[first + (size_t)i];
        const char *text = c->n ? t->bytes.data + c->at : "";
        size_t wide = gp_utf8_width(text, c->n), pad = t->width[i] > wide ? t->width[i] - wide : 0;
        bool right = like ? like[i].number : c->number;
        if (i) gp_buf_puts(to, "  ");
        if (right) put_blanks(to, pad);
        gp_buf_put(to, text, c->n);
        if (!right && i + 1 < t->n) put_blanks(to, pad);
    }
    gp_buf_putc(to, '\n');
}

static void put_rows(struct text *t, struct gp_output *to, bool headed)
{
    struct gp_buf b = {0};
    size_t rows = t->cells.n / (size_t)t->n;
    for (size_t row = 0; row < rows; row++) {
        const struct text_cell *like = headed && !row && rows > 1 ? t->cells.at + t->n : NULL;
        put_row(t, row * (size_t)t->n, like, &b);
    }
    flush(&b, to, 0);
    gp_buf_release(&b);
    t->cells.n = t->bytes.n = 0;
}

static void write_text(void *answer, struct gp_output *to)
{
    struct gp_query_answer *a = answer;
    struct text t = {.n = gp_sql_columns(a->sql)};
    if (!t.n) return;
    t.width = gp_zalloc((size_t)t.n * sizeof *t.width);
    for (int i = 0; i < t.n; i++)
        take_text(&t, gp_sql_column(a->sql, i), strlen(gp_sql_column(a->sql, i)), false);
    bool headed = true;
    while (next(a, to)) {
        take_row(&t, a->sql);
        if (a->rows % FIRST_ROWS) continue;
        put_rows(&t, to, headed);
        headed = false;
    }
    if (t.cells.n) put_rows(&t, to, headed);
    gp_buf_release(&t.bytes);
    GP_VEC_FREE(&t.cells);
    free(t.width);
}

const struct gp_answer_format gp_query_formats[] = {
    {"text", 0, 0, .write = write_text},
    {"csv", 0, 0, .write = write_csv},
    {"json", 0, 0, .write = write_json},
    {"markdown", 0, 0, .write = write_markdown},
    {0},
};

int gp_query_answer_put(const struct gp_answer_format *f, struct gp_query_answer *a, struct gp_output *to,
                        struct gp_err *err)
{
    a->rows = 0;
    a->failed = 0;
    f->write(a, to);
    if (a->failed && err) *err = a->err;
    return a->failed ? -1 : 0;
}

int gp_query_answer_write(const struct gp_answer_format *f, struct gp_query_answer *a, const char *path,
                          struct gp_err *err)
{
    struct gp_output *out = gp_output_open(path, err);
    if (!out) return -1;
    int failed = gp_query_answer_put(f, a, out, err);
    return gp_output_close(out, !failed, failed ? NULL : err) || failed ? -1 : 0;
}
