#include "render/schema/schema.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "formats/reader.h"
#include "render/report/record.h"
#include "render/schema/records.h"

enum { DEEPEST = 8 }; /* a part within a part within a part ... is a mistake */

struct maker {
    struct gp_buf *to;
    const char *tool;
    gp_schema_read *read;
    void *ctx;
    int depth;
};

static int make(struct maker *m, const char *part, size_t n, struct gp_err *err);

static int put_part(struct maker *m, const char *name, size_t n, struct gp_err *err)
{
    struct gp_buf part = {0}, path = {0};
    int failed = -1;
    gp_buf_put(&path, name, n);
    if (m->depth == DEEPEST)
        (void)gp_fail(err, GP_E_SYNTAX, -1, "%s: parts contain each other", gp_buf_str(&path));
    else failed = m->read(m->ctx, gp_buf_str(&path), &part, err);
    while (!failed && part.n && part.data[part.n - 1] == '\n') part.n--;
    m->depth++;
    if (!failed) failed = make(m, part.data, part.n, err);
    m->depth--;
    gp_buf_release(&path);
    gp_buf_release(&part);
    return failed;
}

enum form { ROW, LIST, ROWS };

static int put_record(struct maker *m, enum form form, const char *id, size_t n, int indent,
                      struct gp_err *err)
{
    const struct gp_record *rec = gp_schema_record(m->tool, id, n);
    if (!rec) return gp_fail(err, GP_E_SYNTAX, -1, "%s has no record '%.*s'", m->tool, (int)n, id);
    if (form == ROWS) gp_buf_printf(m->to, "\"%s\": ", rec->id);
    if (form != ROW) gp_buf_puts(m->to, "{\"type\": \"array\", \"items\": ");
    gp_record_schema(m->to, rec, indent);
    if (form != ROW) gp_buf_putc(m->to, '}');
    if (form != ROWS || !rec->rest[0].id) return 0;
    gp_buf_printf(m->to, ",\n%*s\"%s_rest\": ", indent, "", rec->id);
    gp_rest_schema(m->to, rec);
    return 0;
}

static void put_word(struct gp_buf *to, size_t *count, const char *word, size_t n)
{
    gp_buf_printf(to, "%s\"%.*s\"", (*count)++ ? ", " : "", (int)n, word);
}

/* MORE, N bytes, are further formats, with a blank between two. */
static void put_formats(struct gp_buf *to, const char *more, size_t n)
{
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && more[end] != ' ';) end++;
        put_word(to, &count, more + i, end - i);
    }
    for (size_t i = 0; gp_readers[i]; i++) {
        const struct gp_reader *r = gp_readers[i];
        for (const char *const *f = r->formats; *f; f++) put_word(to, &count, *f, strlen(*f));
        if (!*r->formats) put_word(to, &count, r->name, strlen(r->name));
    }
}

/* What stands between two @: "rows ID", "list ID", "row ID", "file NAME" or "formats MORE". */
static int put_made(struct maker *m, const char *s, size_t n, int indent, struct gp_err *err)
{
    const char *blank = memchr(s, ' ', n);
    size_t word = blank ? (size_t)(blank - s) : n;
    const char *name = s + word + (blank != NULL);
    size_t left = n - word - (blank != NULL);
    if (gp_is(s, word, "file")) return put_part(m, name, left, err);
    if (gp_is(s, word, "formats")) {
        put_formats(m->to, name, left);
        return 0;
    }
    if (gp_is(s, word, "row")) return put_record(m, ROW, name, left, indent, err);
    if (gp_is(s, word, "list")) return put_record(m, LIST, name, left, indent, err);
    if (gp_is(s, word, "rows")) return put_record(m, ROWS, name, left, indent, err);
    return gp_fail(err, GP_E_SYNTAX, -1, "'%.*s' is neither rows, list, row, file nor formats", (int)n, s);
}

/* How far the line of PART that AT is in is indented. */
static int indent_of(const char *part, size_t at)
{
    size_t begin = at, blanks = 0;
    while (begin > 0 && part[begin - 1] != '\n') begin--;
    while (part[begin + blanks] == ' ') blanks++;
    return (int)blanks;
}

static int make(struct maker *m, const char *part, size_t n, struct gp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (part[i] != '@') {
            gp_buf_putc(m->to, part[i]);
            continue;
        }
        const char *end = memchr(part + i + 1, '@', n - i - 1);
        size_t inside = end ? (size_t)(end - part) - i - 1 : n - i - 1;
        if (put_made(m, part + i + 1, inside, indent_of(part, i), err)) return -1;
        i += inside + 1;
    }
    return 0;
}

int gp_schema_make(struct gp_buf *to, const char *tool, const char *part, size_t n, gp_schema_read *read,
                   void *ctx, struct gp_err *err)
{
    return make(&(struct maker){to, tool, read, ctx, 0}, part, n, err);
}
