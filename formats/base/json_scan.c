#include "formats/base/json_scan.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/utf8.h"

/* ---- where strings and containers end ---- */

/* Bits of a block of 64 bytes: where the quotes, backslashes and brackets are. */
struct masks {
    uint64_t quote, back, open, close;
};

#if defined(__SSE2__)
static inline uint64_t equal64(const __m128i v[4], char c)
{
    __m128i k = _mm_set1_epi8(c);
    uint64_t r = 0;
    for (int i = 3; i >= 0; i--) r = r << 16 | (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], k));
    return r;
}

static inline struct masks load_masks(const char *p)
{
    __m128i v[4], low[4];
    for (int i = 0; i < 4; i++) {
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + i * 16));
        low[i] = _mm_or_si128(v[i], _mm_set1_epi8(0x20)); /* '[' and '{', ']' and '}' differ in this bit */
    }
    return (struct masks){equal64(v, '"'), equal64(v, '\\'), equal64(low, '{'), equal64(low, '}')};
}
#else
static inline struct masks load_masks(const char *p)
{
    struct masks m = {0, 0, 0, 0};
    for (int i = 0; i < 64; i++) {
        m.quote |= (uint64_t)(p[i] == '"') << i;
        m.back |= (uint64_t)(p[i] == '\\') << i;
        m.open |= (uint64_t)(p[i] == '{' || p[i] == '[') << i;
        m.close |= (uint64_t)(p[i] == '}' || p[i] == ']') << i;
    }
    return m;
}
#endif

/* The characters that are escaped by the backslashes in BACK; *CARRY: is the first one, and is the next
 * block's. */
static uint64_t escaped(uint64_t back, bool *carry)
{
    uint64_t r = *carry;
    back &= ~r;
    *carry = back >> 63;
    if (!(back & back << 1)) return r | back << 1; /* each stands by itself */
    *carry = false;
    while (back) {
        uint64_t bit = back & -back;
        if (bit >> 63) *carry = true;
        r |= bit << 1;
        back &= ~(bit | bit << 1);
    }
    return r;
}

const char *gp_json_odd_string_end(const char *p, const char *end)
{
    bool carry = false;
    for (; p < end; p += 64) {
        struct masks m = load_masks(p);
        if (m.back || carry) m.quote &= ~escaped(m.back, &carry);
        if (!m.quote) continue;
        p += __builtin_ctzll(m.quote);
        return p < end ? p : end;
    }
    return end;
}

/* Bit i is the parity of the bits up to i: for quotes, it marks the inside of strings. */
static inline uint64_t prefix_xor(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
}

const char *gp_json_container_end(const char *p, const char *end, const char **at)
{
    uint64_t in_string = 0; /* all ones inside */
    bool carry = false;
    int depth = 0;
    for (; p < end; p += 64) {
        struct masks m = load_masks(p);
        if (m.back || carry) m.quote &= ~escaped(m.back, &carry);
        uint64_t inside = prefix_xor(m.quote) ^ in_string;
        in_string = (uint64_t)((int64_t)inside >> 63);
        uint64_t brackets = (m.open | m.close) & ~inside;
        for (; brackets; brackets &= brackets - 1) {
            int i = __builtin_ctzll(brackets);
            depth += m.open >> i & 1 ? 1 : -1;
            if (depth == 0) return p + i + 1;
            if (depth > GP_JSON_DEPTH) {
                *at = p + i;
                return NULL;
            }
        }
    }
    *at = end;
    return NULL;
}

/* ---- values ---- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '+' || c == '-' || c == '.' || c == '#' || c == '%';
}

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

static enum gp_json_kind word_kind(const char *p, size_t n)
{
    if (gp_is(p, n, "true") || gp_is(p, n, "null") || gp_is(p, n, "false")) return GP_JSON_WORD;
    bool digit = false;
    for (size_t i = 0; i < n; i++) {
        if (!is_number_char(p[i])) return GP_JSON_BARE;
        digit |= p[i] >= '0' && p[i] <= '9';
    }
    return digit ? GP_JSON_NUMBER : GP_JSON_BARE;
}

const char *gp_json_value(const char *p, const char *end, struct gp_json_value *v, const char **at)
{
    p = gp_json_space(p);
    if (*p == '"') {
        bool odd = false;
        const char *q = gp_json_string_end(p + 1, end, &odd);
        *at = end;
        if (q >= end) return NULL;
        *v = (struct gp_json_value){p + 1, (size_t)(q - p - 1), odd ? GP_JSON_ODD_STRING : GP_JSON_STRING};
        return q + 1;
    }
    if (*p == '{' || *p == '[') {
        const char *q = gp_json_container_end(p, end, at);
        if (q) *v = (struct gp_json_value){p, (size_t)(q - p), *p == '{' ? GP_JSON_OBJECT : GP_JSON_ARRAY};
        return q;
    }
    const char *q = p;
    while (is_word_char(*q)) q++;
    *at = q;
    if (q == p || q >= end) return NULL;
    *v = (struct gp_json_value){p, (size_t)(q - p), word_kind(p, (size_t)(q - p))};
    return q;
}

bool gp_json_next(const char **p, const char *end, struct gp_json_value *key, struct gp_json_value *v)
{
    const char *at, *q = gp_json_space(*p);
    while (*q == ',') q = gp_json_space(q + 1);
    if (q >= end || *q == '}' || *q == ']') return false;
    if (key) {
        if (*q != '"' || !(q = gp_json_value(q, end, key, &at))) return false;
        q = gp_json_space(q);
        if (*q++ != ':') return false;
    }
    if (!(q = gp_json_value(q, end, v, &at))) return false;
    *p = q;
    return true;
}

/* ---- strings ---- */

/* Four hexadecimal digits at P, or -1. */
static int32_t hex4(const char *p, size_t n)
{
    int32_t r = 0;
    if (n < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i], low = (char)(c | 0x20);
        if (c >= '0' && c <= '9') r = r * 16 + (c - '0');
        else if (low >= 'a' && low <= 'f') r = r * 16 + (low - 'a' + 10);
        else return -1;
    }
    return r;
}

/* P: after "\u". Returns how many bytes were used; *BAD is set if they are not a character. */
static size_t decode_unicode(struct gp_buf *to, const char *p, size_t n, bool *bad)
{
    int32_t c = hex4(p, n);
    if (c < 0) {
        *bad = true;
        gp_buf_put(to, GP_TEXT("\\u"));
        return 0;
    }
    if (c >= 0xd800 && c < 0xdc00 && n >= 6 && p[4] == '\\' && p[5] == 'u') {
        int32_t low = hex4(p + 6, n - 6);
        if (low >= 0xdc00 && low < 0xe000) {
            gp_utf8_put(to, 0x10000u + (((uint32_t)c - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u));
            return 10;
        }
    }
    bool lone = c >= 0xd800 && c < 0xe000;
    *bad |= lone;
    gp_utf8_put(to, lone ? GP_UTF8_BAD : (uint32_t)c);
    return 4;
}

/* The escape at P. Returns the number of bytes. */
static size_t decode_escape(struct gp_buf *to, const char *p, size_t n, bool *bad)
{
    static const char from[] = "\"\\/bfnrt", what[] = "\"\\/\b\f\n\r\t";
    if (n >= 2 && p[1] == 'u') return 2 + decode_unicode(to, p + 2, n - 2, bad);
    const char *known = n >= 2 && p[1] ? strchr(from, p[1]) : NULL;
    if (!known) {
        *bad = true;
        gp_buf_putc(to, '\\');
        return 1;
    }
    gp_buf_putc(to, what[known - from]);
    return 2;
}

bool gp_json_decode(struct gp_buf *to, const char *p, size_t n)
{
    bool bad = false;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)p[i];
        if (c == '\\') {
            i += decode_escape(to, p + i, n - i, &bad);
        } else if (c < 0x80) {
            bad |= c < 0x20;
            gp_buf_putc(to, (char)c);
            i++;
        } else {
            size_t used;
            uint32_t point = gp_utf8_next(p + i, n - i, &used);
            bad |= point == GP_UTF8_BAD && !(used == 3 && c == 0xef);
            gp_utf8_put(to, point);
            i += used;
        }
    }
    return bad;
}

/* ---- repair ---- */

static bool is_json_number(const char *p, size_t n)
{
    size_t i = n && p[0] == '-', digits = i;
    while (i < n && p[i] >= '0' && p[i] <= '9') i++;
    if (i == digits || (i - digits > 1 && p[digits] == '0')) return false;
    if (i < n && p[i] == '.') {
        digits = ++i;
        while (i < n && p[i] >= '0' && p[i] <= '9') i++;
        if (i == digits) return false;
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-')) i++;
        digits = i;
        while (i < n && p[i] >= '0' && p[i] <= '9') i++;
        if (i == digits) return false;
    }
    return i == n;
}

/* Is the text between the quotes valid as it is? */
static bool is_sound_string(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)p[i];
        size_t used = 1;
        if (c < 0x20) return false;
        if (c == '\\') {
            if (n - i < 2 || !p[i + 1] || !strchr("\"\\/bfnrtu", p[i + 1])) return false;
            used = p[i + 1] == 'u' ? 6 : 2;
            int32_t code = used == 6 ? hex4(p + i + 2, n - i - 2) : 0;
            if (code < 0) return false;
            if (code >= 0xd800 && code < 0xe000) { /* valid in pairs; single ones are left to the repair */
                int32_t low = n - i >= 12 && p[i + 6] == '\\' && p[i + 7] == 'u' ? hex4(p + i + 8, 4) : -1;
                if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000) return false;
                used = 12;
            }
        } else if (c >= 0x80) {
            if (gp_utf8_next(p + i, n - i, &used) == GP_UTF8_BAD && !(used == 3 && c == 0xef)) return false;
        }
        i += used;
    }
    return true;
}

static void put_escaped(struct gp_buf *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') gp_buf_printf(to, "\\%c", c);
        else if (c < 0x20) gp_buf_printf(to, "\\u%04x", c);
        else gp_buf_putc(to, (char)c);
    }
}

static void clean_scalar(struct gp_buf *to, const struct gp_json_value *v, unsigned *changes)
{
    bool string = gp_json_is_string(v);
    bool word = v->kind == GP_JSON_BARE || (v->kind == GP_JSON_NUMBER && !is_json_number(v->p, v->n));
    if (word) *changes |= GP_JSON_CLEANED_WORD;
    if (string || word) gp_buf_putc(to, '"');
    if (v->kind == GP_JSON_ODD_STRING && !is_sound_string(v->p, v->n)) {
        struct gp_buf text = {0};
        gp_json_decode(&text, v->p, v->n);
        put_escaped(to, text.data, text.n);
        gp_buf_release(&text);
        *changes |= GP_JSON_CLEANED_TEXT;
    } else {
        gp_buf_put(to, v->p, v->n);
    }
    if (string || word) gp_buf_putc(to, '"');
}

/* What may follow. */
enum want { WANT_VALUE, WANT_VALUE_OR_CLOSE, WANT_KEY_OR_CLOSE, WANT_COLON, WANT_COMMA_OR_CLOSE };

struct cleaner {
    struct gp_buf *to;
    enum want want;
    int depth;
    char closers[GP_JSON_DEPTH + 1];
    size_t comma; /* where the last comma is in TO, so that a trailing one can be removed */
    bool trailing;
};

static int clean_punctuation(struct cleaner *c, char ch)
{
    bool may_open = c->want == WANT_VALUE || c->want == WANT_VALUE_OR_CLOSE;
    if (ch == '{' || ch == '[') {
        if (!may_open || c->depth == GP_JSON_DEPTH) return -1;
        c->closers[c->depth++] = ch == '{' ? '}' : ']';
        c->want = ch == '{' ? WANT_KEY_OR_CLOSE : WANT_VALUE_OR_CLOSE;
        c->trailing = false;
    } else if (ch == '}' || ch == ']') {
        bool may_close =
            c->want == WANT_COMMA_OR_CLOSE || c->want == WANT_KEY_OR_CLOSE || c->want == WANT_VALUE_OR_CLOSE;
        if (!may_close || !c->depth || c->closers[c->depth - 1] != ch) return -1;
        if (c->trailing) c->to->data[c->comma] = ' ';
        c->trailing = false;
        c->depth--;
        c->want = WANT_COMMA_OR_CLOSE;
    } else if (ch == ',') {
        if (c->want != WANT_COMMA_OR_CLOSE || !c->depth) return -1;
        c->comma = c->to->n;
        c->trailing = true;
        c->want = c->closers[c->depth - 1] == '}' ? WANT_KEY_OR_CLOSE : WANT_VALUE_OR_CLOSE;
    } else {
        if (c->want != WANT_COLON) return -1;
        c->want = WANT_VALUE;
    }
    gp_buf_putc(c->to, ch);
    return 0;
}

int gp_json_clean(struct gp_buf *to, const char *p, const char *end, unsigned *changes)
{
    struct cleaner c = {.to = to, .want = WANT_VALUE};
    *changes = 0;
    while (p < end) {
        const char *at, *q = gp_json_space(p);
        struct gp_json_value v;
        gp_buf_put(to, p, (size_t)(q - p));
        if ((p = q) >= end) break;
        if (*p && strchr("{}[],:", *p)) {
            if (clean_punctuation(&c, *p++)) return -1;
            continue;
        }
        bool is_key = c.want == WANT_KEY_OR_CLOSE && *p == '"';
        if (!is_key && c.want != WANT_VALUE && c.want != WANT_VALUE_OR_CLOSE) return -1;
        if (!(p = gp_json_value(p, end + 1, &v, &at)) || p > end) return -1;
        clean_scalar(to, &v, changes);
        c.trailing = false;
        c.want = is_key ? WANT_COLON : WANT_COMMA_OR_CLOSE;
    }
    return c.want == WANT_COMMA_OR_CLOSE && !c.depth ? 0 : -1;
}
