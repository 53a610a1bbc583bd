#include "formats/base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/base/utf8.h"

enum { MAX_DEPTH = 64 };

/* ---- strings ---- */

/* The kind of a byte inside a JSON string. */
enum { PLAIN, ESCAPED, HIGH };

static int byte_class(unsigned char c)
{
    if (c >= 0x80) return HIGH;
    return c < 0x20 || c == '"' || c == '\\' || c == 0x7f ? ESCAPED : PLAIN;
}

/* The well-formed UTF-8 character at S (N > 0 bytes): its length, or minus the length of the longest piece
 * that could have begun one. *CP becomes the character. */
static int utf8_length(const char *s, size_t n, uint32_t *cp)
{
    size_t used;
    *cp = gp_utf8_next(s, n, &used);
    bool encoded = used == 3 && (unsigned char)*s == 0xef; /* U+FFFD itself */
    return *cp == GP_UTF8_BAD && !encoded ? -(int)used : (int)used;
}

bool gp_json_is_clean(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    for (size_t i = 0; i < n;) {
        int class = byte_class(p[i]), len = 1;
        uint32_t cp = 0;
        if (class == HIGH) len = utf8_length(s + i, n - i, &cp);
        if (class == ESCAPED || len < 0 || (class == HIGH && gp_utf8_is_hostile(cp))) return false;
        i += (size_t)len;
    }
    return true;
}

static void put_u16(struct gp_buf *b, uint32_t v)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', hex[v >> 12 & 15], hex[v >> 8 & 15], hex[v >> 4 & 15], hex[v & 15]};
    gp_buf_put(b, text, sizeof text);
}

static void put_escape(struct gp_buf *b, unsigned char c)
{
    switch (c) {
    case '"': gp_buf_put(b, GP_TEXT("\\\"")); break;
    case '\\': gp_buf_put(b, GP_TEXT("\\\\")); break;
    case '\n': gp_buf_put(b, GP_TEXT("\\n")); break;
    case '\t': gp_buf_put(b, GP_TEXT("\\t")); break;
    case '\r': gp_buf_put(b, GP_TEXT("\\r")); break;
    default: put_u16(b, c);
    }
}

/* Append the N bytes at S, with escapes for hostile characters, U+FFFD for invalid UTF-8 and, in the content
 * of a string, escapes that JSON requires. */
static void put_text(struct gp_buf *b, const char *s, size_t n, bool content)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t done = 0, i = 0;
    if (!n) return; /* S may be NULL */
    while (i < n) {
        int class = byte_class(p[i]), len = 1;
        uint32_t cp = 0;
        if (class == HIGH) len = utf8_length(s + i, n - i, &cp);
        bool plain = class == HIGH ? len > 0 && !gp_utf8_is_hostile(cp) : class == PLAIN || !content;
        if (plain) {
            i += (size_t)len;
            continue;
        }
        gp_buf_put(b, s + done, i - done);
        if (class == ESCAPED) put_escape(b, p[i]);
        else if (len > 0) {
            /* By its number; beyond 16 bits as a pair of surrogates. */
            if (cp >= 0x10000) put_u16(b, 0xd7c0 + (cp >> 10));
            put_u16(b, cp < 0x10000 ? cp : 0xdc00 | (cp & 0x3ff));
        } else {
            gp_buf_put(b, GP_TEXT("\xef\xbf\xbd"));
        }
        i += (size_t)(len < 0 ? -len : len);
        done = i;
    }
    gp_buf_put(b, s + done, n - done);
}

void gp_json_put_string(struct gp_buf *b, const char *s, size_t n)
{
    gp_buf_putc(b, '"');
    put_text(b, s, n, true);
    gp_buf_putc(b, '"');
}

void gp_json_put_valid(struct gp_buf *b, const char *s, size_t n) { put_text(b, s, n, false); }

/* ---- numbers ---- */

void gp_json_put_us(struct gp_buf *b, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    unsigned frac = (unsigned)(v % 1000);
    if (ns < 0) gp_buf_putc(b, '-');
    gp_buf_put_u64(b, v / 1000);
    if (!frac) return;
    char text[4] = {'.', (char)('0' + frac / 100), (char)('0' + frac / 10 % 10), (char)('0' + frac % 10)};
    gp_buf_put(b, text, sizeof text);
}

void gp_json_put_double(struct gp_buf *b, double v)
{
    char text[40];
    if (!isfinite(v)) {
        gp_buf_put(b, GP_TEXT("null"));
        return;
    }
    if (v < 9007199254740992.0 && v > -9007199254740992.0 && v == (double)(int64_t)v) {
        if (v == 0 && signbit(v))
            gp_buf_put(b, GP_TEXT("-0.0")); /* a reader of integers would lose the sign of "-0" */
        else gp_buf_put_i64(b, (int64_t)v);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    for (char *p = text; *p; p++)
        if (*p == ',') *p = '.'; /* a locale's decimal point */
    gp_buf_puts(b, text);
}

/* ---- checking ---- */

struct scan {
    const char *p, *end;
};

static void skip_space(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r')) s->p++;
}

static bool at_digit(const struct scan *s) { return s->p < s->end && gp_is_digit(*s->p); }

static bool take(struct scan *s, char c)
{
    if (s->p == s->end || *s->p != c) return false;
    s->p++;
    return true;
}

/* The four digits of a "\u". */
static bool take_u16(struct scan *s, unsigned *code)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *code = 0;
    for (int i = 0; i < 4; i++, s->p++) {
        const char *digit = s->p < s->end && *s->p ? strchr(digits, *s->p) : NULL;
        if (!digit) return false;
        *code = *code << 4 | (unsigned)((digit - digits) % 16);
    }
    return true;
}

static bool take_escape(struct scan *s)
{
    unsigned code, low;
    if (s->p == s->end) return false;
    char c = *s->p++;
    if (c != 'u') return c && strchr("\"\\/bfnrt", c);
    if (!take_u16(s, &code)) return false;
    if (code < 0xd800 || code > 0xdfff) return true;
    /* one half of a character, which needs the other: no text in UTF-8 has it, and strict readers refuse the
     * file */
    return code < 0xdc00 && take(s, '\\') && take(s, 'u') && take_u16(s, &low) && low >= 0xdc00 &&
           low <= 0xdfff;
}

static bool take_string(struct scan *s)
{
    if (!take(s, '"')) return false;
    while (s->p < s->end) {
        unsigned char c = (unsigned char)*s->p;
        if (c == '"') return take(s, '"');
        if (c < 0x20) return false;
        uint32_t cp;
        int len = c < 0x80 ? 1 : utf8_length(s->p, (size_t)(s->end - s->p), &cp);
        if (len < 0) return false;
        s->p += len;
        if (c == '\\' && !take_escape(s)) return false;
    }
    return false;
}

static bool take_digits(struct scan *s)
{
    if (!at_digit(s)) return false;
    while (at_digit(s)) s->p++;
    return true;
}

static bool take_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n)) return false;
    s->p += n;
    return true;
}

static bool take_scalar(struct scan *s)
{
    if (s->p == s->end) return false;
    switch (*s->p) {
    case '"': return take_string(s);
    case 't': return take_word(s, "true");
    case 'f': return take_word(s, "false");
    case 'n': return take_word(s, "null");
    default:
        take(s, '-');
        if (!take(s, '0') && !take_digits(s)) return false;
        if (take(s, '.') && !take_digits(s)) return false;
        if (take(s, 'e') || take(s, 'E')) {
            if (!take(s, '+')) take(s, '-');
            return take_digits(s);
        }
        return true;
    }
}

/* A value and the white space around it. */
static bool take_value(struct scan *s, int depth)
{
    skip_space(s);
    bool object = s->p < s->end && *s->p == '{';
    bool array = s->p < s->end && *s->p == '[';
    if (!object && !array) {
        if (!take_scalar(s)) return false;
        skip_space(s);
        return true;
    }
    char close = object ? '}' : ']';
    if (depth == MAX_DEPTH) return false;
    s->p++;
    skip_space(s);
    if (!take(s, close)) {
        do {
            skip_space(s);
            if (object) {
                if (!take_string(s)) return false;
                skip_space(s);
                if (!take(s, ':')) return false;
            }
            if (!take_value(s, depth + 1)) return false;
        } while (take(s, ','));
        if (!take(s, close)) return false;
    }
    skip_space(s);
    return true;
}

bool gp_json_is_valid(const char *s, size_t n)
{
    struct scan scan = {s, s + n};
    return n && take_value(&scan, 0) && scan.p == scan.end;
}

const char *gp_json_members(const char *s, size_t n, size_t *len)
{
    *len = 0;
    if (!gp_json_is_valid(s, n)) return NULL;
    struct scan scan = {s, s + n};
    skip_space(&scan);
    if (*scan.p != '{') return NULL;
    scan.p++;
    skip_space(&scan);
    const char *end = s + n;
    while (*--end != '}') {
    }
    while (end > scan.p && strchr(" \n\t\r", end[-1])) end--;
    *len = (size_t)(end - scan.p);
    return scan.p;
}
