#include "formats/base/utf8.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

struct range {
    uint32_t first, last;
};

/* Marks that are drawn onto the character before them, and characters that are not drawn. Blocks, not a
 * complete table: traces contain code and messages. */
static const struct range zero_wide[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd},
    {0x0610, 0x061a}, {0x064b, 0x065f},   {0x0900, 0x0902},   {0x0941, 0x0948}, {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},   {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x202a, 0x202e}, {0x2060, 0x2064},   {0x20d0, 0x20ff},   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0001, 0xe01ef},
};

static const struct range two_wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f3fa}, {0x1f400, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

/* Surrogates cannot be read from valid text, only from escapes. */
static const struct range hostile[] = {
    {0x80, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
    {0xd800, 0xdfff}, {0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static bool in_ranges(const struct range *r, size_t n, uint32_t c)
{
    GP_SEARCH(low, 0, n, mid, c > r[mid].last);
    return low < n && c >= r[low].first;
}

uint32_t gp_utf8_next(const char *s, size_t n, size_t *used)
{
    const uint8_t *p = (const uint8_t *)s;
    *used = 1;
    if (p[0] < 0x80) return p[0];
    /* Only the second byte's range depends on the first. */
    uint8_t low = 0x80, high = 0xbf;
    size_t more;
    uint32_t c;
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        more = 1;
        c = p[0] & 0x1f;
    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        more = 2;
        c = p[0] & 0x0f;
        if (p[0] == 0xe0) low = 0xa0;  /* overlong below */
        if (p[0] == 0xed) high = 0x9f; /* surrogates above */
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        more = 3;
        c = p[0] & 0x07;
        if (p[0] == 0xf0) low = 0x90;
        if (p[0] == 0xf4) high = 0x8f; /* beyond U+10FFFF above */
    } else {
        return GP_UTF8_BAD;
    }
    for (size_t i = 1; i <= more; i++) {
        if (i >= n || p[i] < low || p[i] > high) return GP_UTF8_BAD;
        c = c << 6 | (p[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
        *used = i + 1;
    }
    return c;
}

bool gp_utf8_is_hostile(uint32_t c)
{
    return (c & 0xfffe) == 0xfffe || in_ranges(hostile, GP_COUNT(hostile), c);
}

uint32_t gp_utf8_shown(uint32_t c)
{
    enum { PICTURES = 0x2400 };
    if (c < 0x20) return c + PICTURES;
    if (c < 0x7f) return c;
    if (c == 0x7f) return PICTURES + 0x21;
    return gp_utf8_is_hostile(c) ? GP_UTF8_BAD : c;
}

size_t gp_utf8_encode(char to[4], uint32_t c)
{
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    to[0] = (char)(first[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++) to[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

void gp_utf8_put(struct gp_buf *to, uint32_t cp)
{
    char text[4];
    gp_buf_put(to, text, gp_utf8_encode(text, cp));
}

void gp_utf8_clean(struct gp_buf *to, const char *s, size_t n)
{
    for (size_t i = 0, used; i < n; i += used)
        gp_utf8_put(to, gp_utf8_shown(gp_utf8_next(s + i, n - i, &used)));
}

/* A bad sequence decodes to the same value as a good U+FFFD does. */
static bool is_bad(const char *s, uint32_t c, size_t used)
{
    return c == GP_UTF8_BAD && !gp_is(s, used, "\xef\xbf\xbd");
}

bool gp_utf8_valid(const char *s, size_t n)
{
    for (size_t i = 0, used; i < n; i += used) {
        uint32_t c = gp_utf8_next(s + i, n - i, &used);
        if (is_bad(s + i, c, used)) return false;
    }
    return true;
}

void gp_utf8_repair(struct gp_buf *to, const char *s, size_t n)
{
    for (size_t i = 0, used; i < n; i += used) {
        uint32_t c = gp_utf8_next(s + i, n - i, &used);
        if (is_bad(s + i, c, used)) gp_buf_put(to, GP_TEXT("\xef\xbf\xbd"));
        else gp_buf_put(to, s + i, used);
    }
}

int gp_utf8_columns_of(uint32_t c)
{
    if (c >= 0x20 && c < 0x7f) return 1;
    if (in_ranges(zero_wide, GP_COUNT(zero_wide), c)) return 0;
    return in_ranges(two_wide, GP_COUNT(two_wide), c) ? 2 : 1;
}

size_t gp_utf8_width(const char *s, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0, used; i < n; i += used)
        columns += (size_t)gp_utf8_columns_of(gp_utf8_next(s + i, n - i, &used));
    return columns;
}

size_t gp_utf8_fit_bytes(const char *s, size_t n, size_t max)
{
    if (n <= max) return n;
    size_t i = max, back = 0;
    while (i > 0 && back < 3 && ((uint8_t)s[i] & 0xc0) == 0x80) {
        i--;
        back++;
    }
    size_t used;
    gp_utf8_next(s + i, n - i, &used);
    return i + used > max ? i : max; /* stray continuation bytes belong to nothing and can be separated */
}
