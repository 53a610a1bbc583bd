#include "render/draw/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/base/utf8.h"

enum { ELLIPSIS = 0x2026, MIN_MIDDLE_CUT = 12, ROOM_LEAST = 16 };

struct gp_char gp_text_next(const char *s, size_t n)
{
    size_t len;
    uint32_t cp = gp_utf8_shown(gp_utf8_next(s, n, &len));
    return (struct gp_char){cp, (uint32_t)len};
}

void gp_text_put(struct gp_buf *b, uint32_t cp) { gp_utf8_put(b, cp); }

void gp_text_clean(struct gp_buf *b, const char *s, size_t n) { gp_utf8_clean(b, s, n); }

size_t gp_text_width(const char *s, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        struct gp_char c = gp_text_next(s + i, n - i);
        columns += (size_t)gp_utf8_columns_of(c.cp);
        i += c.len;
    }
    return columns;
}

/* Append the part of S in the columns [from, to); a wide character counts where it begins. */
static void put_columns(struct gp_buf *b, const char *s, size_t n, size_t from, size_t to)
{
    size_t at = 0;
    for (size_t i = 0; i < n && at < to;) {
        struct gp_char c = gp_text_next(s + i, n - i);
        size_t w = (size_t)gp_utf8_columns_of(c.cp);
        if (at >= from && at + w <= to) gp_text_put(b, c.cp);
        at += w;
        i += c.len;
    }
}

void gp_text_fit(struct gp_buf *b, const char *s, size_t n, size_t columns)
{
    size_t width = gp_text_width(s, n);
    if (width <= columns) {
        gp_text_clean(b, s, n);
        return;
    }
    if (columns < 3) return;
    size_t tail = columns < MIN_MIDDLE_CUT ? 0 : (columns - 1) / 3;
    put_columns(b, s, n, 0, columns - 1 - tail);
    gp_text_put(b, ELLIPSIS);
    put_columns(b, s, n, width - tail, width);
}

/* The beginning of the last part of a name: after the last "::" or ": " that is not in brackets. */
static size_t last_part(const char *s, size_t n)
{
    size_t at = 0;
    int depth = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        if (memchr("<([{", s[i], 4)) depth++;
        else if (memchr(">)]}", s[i], 4)) depth -= depth > 0;
        else if (s[i] == ':' && !depth && (s[i + 1] == ':' || s[i + 1] == ' ') && i + 2 < n) at = i + 2;
    }
    return at;
}

void gp_text_fit_name(struct gp_buf *b, const char *s, size_t n, size_t columns)
{
    size_t skip = gp_text_width(s, n) > columns ? last_part(s, n) : 0;
    gp_text_fit(b, s + skip, n - skip, columns);
}

/* The beginning of "file.py(12): function" in S, without the folders of the file; N: it has none. */
static size_t place_in(const char *s, size_t n)
{
    size_t found = n, word = 0;
    for (size_t i = 0; i + 2 < n; i++) {
        if (s[i] == '/' || s[i] == ' ') word = i + 1;
        size_t digits = 0;
        while (s[i] == '(' && i + 1 + digits < n && isdigit((unsigned char)s[i + 1 + digits])) digits++;
        size_t end = i + 1 + digits;
        if (digits && i > word && gp_begin(s + end, n - end, "): ")) found = word;
    }
    return found;
}

void gp_text_fit_place(struct gp_buf *b, const char *s, size_t n, size_t columns)
{
    size_t place = gp_text_width(s, n) > columns ? place_in(s, n) : n;
    if (place < n) gp_text_fit(b, s + place, n - place, columns);
    else gp_text_fit_name(b, s, n, columns);
}

/* The first byte to show so that byte FROM is seen: the beginning of its word, unless that is far back. */
static size_t word_before(const char *s, size_t n, size_t from)
{
    enum { FAR = 8 };
    size_t at = from < n ? from : n;
    while (at && from - at < FAR && (isalnum((unsigned char)s[at - 1]) || s[at - 1] == '_')) at--;
    if (from - at == FAR) at = from;
    while (at && at < n && ((unsigned char)s[at] & 0xC0) == 0x80) at--;
    return at;
}

void gp_text_fit_at(struct gp_buf *b, const char *s, size_t n, size_t columns, size_t from)
{
    enum { SEEN = 4 };
    size_t width = gp_text_width(s, n), at = gp_text_width(s, word_before(s, n, from < n ? from : n));
    size_t head = columns / 3, room = columns - 1 - head;
    bool near = at + SEEN + columns / 3 + 1 <= columns;
    if (width <= columns || columns < MIN_MIDDLE_CUT || near) {
        gp_text_fit(b, s, n, columns);
        return;
    }
    put_columns(b, s, n, 0, head);
    gp_text_put(b, ELLIPSIS);
    if (width - at <= room) {
        put_columns(b, s, n, width - room, width);
        return;
    }
    put_columns(b, s, n, at, at + room - 1);
    gp_text_put(b, ELLIPSIS);
}

/* A number and the short word after it, "1.23 ms", stay on one line. */
static bool is_glued(const char *s, size_t n, size_t space)
{
    enum { UNIT = 4 };
    size_t end = space + 1;
    while (end < n && s[end] != ' ') end++;
    return space && s[space - 1] >= '0' && s[space - 1] <= '9' && end - space - 1 <= UNIT;
}

void gp_text_wrap(struct gp_buf *b, const char *s, size_t n, size_t indent, size_t width)
{
    size_t room = width > indent + ROOM_LEAST ? width - indent : ROOM_LEAST, used = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && (s[end] != ' ' || is_glued(s, n, end))) end++;
        size_t w = gp_text_width(s + i, end - i);
        if (used && used + 1 + w > room) {
            gp_buf_putc(b, '\n');
            for (size_t k = 0; k < indent; k++) gp_buf_putc(b, ' ');
            used = 0;
        }
        if (used) {
            gp_buf_putc(b, ' ');
            used++;
        }
        if (w > room) {
            gp_text_fit(b, s + i, end - i, room);
            used = room;
        } else {
            gp_text_clean(b, s + i, end - i);
            used += w;
        }
        while (end < n && s[end] == ' ') end++;
        i = end;
    }
}

/* ---- dot ---- */

void gp_dot_text(struct gp_buf *b, const char *s, size_t n)
{
    size_t from = b->n;
    for (size_t i = 0; i < n;) {
        if (b->n - from >= GP_DOT_LONGEST) {
            gp_buf_puts(b, "\u2026");
            return;
        }
        struct gp_char c = gp_text_next(s + i, n - i);
        i += c.len;
        if (c.cp == '"' || c.cp == '\\') gp_buf_putc(b, '\\');
        gp_text_put(b, c.cp);
    }
}

void gp_color_put(struct gp_buf *b, struct gp_color c) { gp_buf_printf(b, "#%02x%02x%02x", c.r, c.g, c.b); }

void gp_dot_color(struct gp_buf *b, struct gp_color c)
{
    gp_buf_printf(b, "\"#%02x%02x%02x\"", c.r, c.g, c.b);
}
