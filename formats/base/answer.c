#include "formats/base/answer.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

const struct gp_answer_format *gp_answer_format(const struct gp_answer_format *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name)) return table;
    return NULL;
}

/* How the names of files with a format end. */
static const struct {
    const char *format, *ending;
} endings[] = {
    {"html", ".html"},        {"svg", ".svg"},       {"json", ".json"},     {"csv", ".csv"},
    {"markdown", ".md"},      {"junit", ".xml"},     {"dot", ".dot"},       {"folded", ".folded"},
    {"pprof", ".pb"},         {"text", ".txt"},      {"gpuprof", ".trace"}, {"chrome", ".json"},
    {"perfetto", ".pftrace"}, {"sqlite", ".sqlite"},
};

const struct gp_answer_format *gp_answer_named(const struct gp_answer_format *table, const char *path,
                                               const char **ending)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = NULL,
               *end = name + strlen(name);
    for (const char *p = end; p > name && !dot; p--) {
        if (*p != '.') continue;
        if (!strcmp(p, ".gz") || !strcmp(p, ".zst")) end = p;
        else dot = p;
    }
    *ending = dot;
    for (size_t i = 0; dot && i < GP_COUNT(endings); i++)
        if (gp_is(dot, (size_t)(end - dot), endings[i].ending) && gp_answer_format(table, endings[i].format))
            return gp_answer_format(table, endings[i].format);
    return NULL;
}

size_t gp_answer_rows(const struct gp_answer_format *f, uint64_t top)
{
    return top == GP_ROWS_UNSET ? f->rows : (size_t)top;
}

/* "text, csv or html" */
static void put_names(const struct gp_answer_format *table, unsigned needs, struct gp_buf *to)
{
    size_t left = 0;
    for (const struct gp_answer_format *f = table; f->name; f++) left += (f->needs & needs) == needs;
    for (const struct gp_answer_format *f = table; f->name; f++) {
        if ((f->needs & needs) != needs) continue;
        gp_buf_puts(to, f->name);
        left--;
        if (left) gp_buf_puts(to, left == 1 ? " or " : ", ");
    }
}

int gp_answer_check(const struct gp_answer_format *table, const struct gp_answer_format *f, unsigned needs,
                    const char *option, struct gp_err *err)
{
    struct gp_buf names = {0};
    if (!option || (f->needs & needs) == needs) return 0;
    put_names(table, needs, &names);
    gp_fail(err, GP_E_USAGE, -1, "%s requires --format %s", option, gp_buf_str(&names));
    gp_buf_release(&names);
    return -1;
}

int gp_answer_write(const struct gp_answer_format *f, void *answer, const char *path, struct gp_err *err)
{
    struct gp_output *out = gp_output_open(path, err);
    struct gp_buf b = {0};
    if (!out) return -1;
    if (f->put) f->put(answer, &b);
    else f->write(answer, out);
    gp_output_write(out, b.data, b.n);
    gp_buf_release(&b);
    return gp_output_close(out, true, err);
}

int gp_answer_file(const char *path, struct gp_buf *b, struct gp_err *err)
{
    struct gp_output *out = gp_output_open(path, err);
    if (out) gp_output_write(out, b->data, b->n);
    gp_buf_release(b);
    return out ? gp_output_close(out, true, err) : -1;
}
