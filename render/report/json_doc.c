#include "render/report/json_doc.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"

enum {
    LINES_TO = 2, /* the depth down to which members have lines of their own */
    CHUNK = 1 << 20
};

/* ---- syntax ---- */

/* What stands before the next member or element, with room for EXTRA bytes more; returns where they go. */
static char *put_separator(struct gp_doc *d, size_t extra)
{
    bool line = d->depth <= LINES_TO && d->depth > 0;
    char *at = gp_buf_reserve(d->b, 2 + 2 * LINES_TO + extra), *p = at;
    if (d->comma) *p++ = ',';
    if (line) *p++ = '\n';
    else if (d->comma) *p++ = ' ';
    for (int i = 0; line && i < 2 * d->depth; i++) *p++ = ' ';
    d->comma = true;
    d->b->n += (size_t)(p - at);
    return p;
}

void gp_doc_next(struct gp_doc *d) { put_separator(d, 0); }

bool gp_doc_room(struct gp_doc *d)
{
    if (d->to && d->b->n > CHUNK) {
        gp_output_write(d->to, d->b->data, d->b->n);
        d->b->n = 0;
    }
    return !d->most || d->b->n <= d->most;
}

void gp_doc_key(struct gp_doc *d, const char *k)
{
    static const char after[] = "\": ";
    size_t n = strlen(k), all = 1 + n + sizeof after - 1;
    char *p = put_separator(d, all);
    *p = '"';
    memcpy(p + 1, k, n);
    memcpy(p + 1 + n, after, sizeof after - 1);
    d->b->n += all;
}

void gp_doc_begin(struct gp_doc *d, char bracket)
{
    gp_buf_putc(d->b, bracket);
    d->depth++;
    d->comma = false;
}

void gp_doc_end(struct gp_doc *d, char bracket)
{
    d->depth--;
    if (d->comma && d->depth < LINES_TO) {
        gp_buf_putc(d->b, '\n');
        for (int i = 0; i < d->depth; i++) gp_buf_puts(d->b, "  ");
    }
    gp_buf_putc(d->b, bracket);
    d->comma = true;
}

void gp_doc_list(struct gp_doc *d, const char *k)
{
    gp_doc_key(d, k);
    gp_doc_begin(d, '[');
}

void gp_doc_object(struct gp_doc *d, const char *k)
{
    gp_doc_key(d, k);
    gp_doc_begin(d, '{');
}

void gp_doc_element(struct gp_doc *d)
{
    gp_doc_next(d);
    gp_doc_begin(d, '{');
}

/* ---- members ---- */

void gp_doc_i64(struct gp_doc *d, const char *k, int64_t v)
{
    gp_doc_key(d, k);
    gp_buf_put_i64(d->b, v);
}

void gp_doc_u64(struct gp_doc *d, const char *k, uint64_t v)
{
    gp_doc_key(d, k);
    gp_buf_put_u64(d->b, v);
}

void gp_doc_null(struct gp_doc *d, const char *k)
{
    gp_doc_key(d, k);
    gp_buf_puts(d->b, "null");
}

void gp_doc_bool(struct gp_doc *d, const char *k, bool v)
{
    gp_doc_key(d, k);
    gp_buf_puts(d->b, v ? "true" : "false");
}

void gp_doc_cstr(struct gp_doc *d, const char *k, const char *s)
{
    gp_doc_key(d, k);
    gp_json_put_string(d->b, s, strlen(s));
}

void gp_doc_sid(struct gp_doc *d, const char *k, gp_sid sid)
{
    gp_doc_key(d, k);
    gp_json_put_string(d->b, gp_string(d->strings, sid), gp_string_len(d->strings, sid));
}

void gp_doc_sids(struct gp_doc *d, const char *k, const gp_sid *at, size_t n)
{
    gp_doc_list(d, k);
    for (size_t i = 0; i < n; i++) {
        gp_doc_next(d);
        gp_json_put_string(d->b, gp_string(d->strings, at[i]), gp_string_len(d->strings, at[i]));
    }
    gp_doc_end(d, ']');
}

void gp_doc_known(struct gp_doc *d, const char *k, int64_t v)
{
    if (v < 0) gp_doc_null(d, k);
    else gp_doc_i64(d, k, v);
}

void gp_doc_issue(struct gp_doc *d, const char *kind, uint64_t count, int64_t offset)
{
    if (!count) return;
    gp_doc_element(d);
    gp_doc_cstr(d, "kind", kind);
    gp_doc_u64(d, "count", count);
    gp_doc_known(d, "first_offset", offset);
    gp_doc_end(d, '}');
}
