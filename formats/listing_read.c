#include "formats/listing_read.h"

#include <string.h>
#include "formats/base/order.h"
#include "formats/base/str.h"

/* The next line at *FROM of the N bytes at TEXT, without its end, and move on. NULL at the end. */
static const char *next_line(const char *text, size_t n, size_t *from, size_t *length)
{
    const char *line = text + *from, *end = *from < n ? memchr(line, '\n', n - *from) : NULL;
    if (*from >= n) return NULL;
    *length = end ? (size_t)(end - line) : n - *from;
    *from += *length + 1;
    while (*length && (line[*length - 1] == '\r' || line[*length - 1] == ' ')) --*length;
    return line;
}

bool gp_listing_lines(struct gp_listing *l, struct gp_buf *text)
{
    size_t from = 0, n = 0;
    if (!text->n || memchr(text->data, 0, text->n)) return false;
    l->text = *text;
    *text = (struct gp_buf){0};
    for (const char *line; (line = next_line(l->text.data, l->text.n, &from, &n));) {
        const struct gp_listing_row row = {l->rows.n + 1, (size_t)(line - l->text.data), n};
        GP_VEC_PUSH(&l->rows, row);
    }
    return true;
}

/* What follows the blanks at the N bytes at LINE. */
static const char *skip_blanks(const char *line, size_t *n)
{
    while (*n && (*line == ' ' || *line == '\t')) line++, --*n;
    return line;
}

/* A comment with the offset, the text, a semicolon; behind it may be a comment with its encoding. */
static void add_instruction(struct gp_listing *l, const char *line, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t at = 0;
    line = skip_blanks(line, &n);
    const char *digits = line + 2, *end = memchr(line, ';', n);
    if (!end || n < 8 || !gp_begin(line, n, "/*")) return;
    for (line = digits; line < end && *line && strchr(hex, *line) && line < digits + 8; line++)
        at = at << 4 | (uint64_t)(strchr(hex, *line) - hex);
    if (line < digits + 4 || !gp_begin(line, (size_t)(end - line), "*/")) return;
    if (l->rows.n && at <= l->rows.at[l->rows.n - 1].at) return;
    n = (size_t)(end - line) - 2;
    line = skip_blanks(line + 2, &n);
    while (n && line[n - 1] == ' ') n--;
    GP_VEC_PUSH(&l->rows, ((struct gp_listing_row){at, l->text.n, n}));
    gp_buf_put(&l->text, line, n);
}

/* The function that LINE begins, of which *N are left; NULL: none. "Function : NAME" is cuobjdump's,
 * ".text.NAME:" nvdisasm's. */
static const char *function_of(const char *line, size_t *n)
{
    static const char ours[] = "Function : ", theirs[] = ".text.";
    const size_t before = gp_begin(line, *n, ours) ? sizeof ours - 1 : sizeof theirs - 1;
    if (before < sizeof ours - 1 && (!gp_begin(line, *n, theirs) || line[*n - 1] != ':')) return NULL;
    *n -= before + (before < sizeof ours - 1);
    return line + before;
}

bool gp_listing_sass(struct gp_listing *l, const char *text, size_t n, const char *function, const char *arch)
{
    static const char code[] = "code for ";
    bool fits = true, inside = false;
    size_t from = 0, length = 0;
    for (const char *line; (line = next_line(text, n, &from, &length)) && (inside || !l->rows.n);) {
        line = skip_blanks(line, &length);
        size_t name_n = length;
        const char *name = function_of(line, &name_n);
        if (gp_begin(line, length, code)) {
            fits = gp_begin(line + sizeof code - 1, length - sizeof code + 1, arch);
            inside = false;
        } else if (name) inside = fits && gp_is(name, name_n, function);
        else if (inside) add_instruction(l, line, length);
    }
    return l->rows.n > 0;
}

const struct gp_listing_row *gp_listing_row(const struct gp_listing *l, uint64_t at)
{
    GP_SEARCH(i, 0, l->rows.n, mid, l->rows.at[mid].at < at);
    return i < l->rows.n && l->rows.at[i].at == at ? &l->rows.at[i] : NULL;
}

void gp_listing_release(struct gp_listing *l)
{
    GP_VEC_FREE(&l->rows);
    gp_buf_release(&l->text);
}
