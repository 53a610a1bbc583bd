#include "formats/base/num.h"
#include "formats/base/str.h"

#include <stdlib.h>
#include <string.h>

/* Exponents beyond this make no difference: far too large, or zero. */
enum { EXPONENT_LIMIT = 100000, DOUBLE_TEXT_LIMIT = 400 };

/* The parts of a decimal number: digits (without the point), how many of them are before the point, and the
 * sign. */
struct decimal {
    const char *digits; /* first digit; the text may have one '.' among them */
    size_t n;           /* characters, the point included */
    int64_t before;     /* digits before the point, the exponent added */
    bool negative;
};

/* The exponent part: what follows 'e' or 'E'. */
static bool read_exponent(const char *s, size_t n, int64_t *out)
{
    size_t i = 0;
    bool negative = n && s[0] == '-';
    if (n && (s[0] == '-' || s[0] == '+')) i++;
    if (i == n) return false;
    int64_t e = 0;
    for (; i < n; i++) {
        if (!gp_is_digit(s[i])) return false;
        if (e < EXPONENT_LIMIT) e = e * 10 + (s[i] - '0');
    }
    *out = negative ? -e : e;
    return true;
}

static bool split(const char *s, size_t n, struct decimal *d)
{
    size_t i = 0, digits = 0;
    bool point = false;
    int64_t exponent = 0;
    d->negative = n && s[0] == '-';
    if (d->negative) i++;
    d->digits = s + i;
    d->before = 0;
    for (; i < n && s[i] != 'e' && s[i] != 'E'; i++) {
        if (s[i] == '.') {
            if (point) return false;
            point = true;
        } else {
            if (!gp_is_digit(s[i])) return false;
            digits++;
            d->before += !point;
        }
    }
    d->n = (size_t)(s + i - d->digits);
    if (!digits) return false;
    if (i < n && !read_exponent(s + i + 1, n - i - 1, &exponent)) return false;
    d->before += exponent;
    return true;
}

/* The integer part of the number, plus one if the digit after it is five or more. */
static bool round_to_integer(const struct decimal *d, uint64_t *out)
{
    uint64_t v = 0;
    int64_t left = d->before;
    for (size_t i = 0; i < d->n && left >= 0; i++) {
        if (d->digits[i] == '.') continue;
        unsigned digit = (unsigned)(d->digits[i] - '0');
        if (left == 0) {
            if (digit >= 5 && v++ == UINT64_MAX) return false;
            left = -1;
            break;
        }
        if (v > (UINT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
        left--;
    }
    for (; left > 0 && v; left--) {
        if (v > UINT64_MAX / 10) return false;
        v *= 10;
    }
    *out = v;
    return true;
}

bool gp_ns_from_us(const char *s, size_t n, int64_t *ns)
{
    struct decimal d;
    uint64_t v;
    if (!split(s, n, &d)) return false;
    d.before += 3;
    if (!round_to_integer(&d, &v) || v > INT64_MAX) return false;
    *ns = d.negative ? -(int64_t)v : (int64_t)v;
    return true;
}

bool gp_u64_from_text(const char *s, size_t n, uint64_t *v)
{
    uint64_t r = 0;
    if (!n) return false;
    for (size_t i = 0; i < n; i++) {
        if (!gp_is_digit(s[i])) return false;
        unsigned digit = (unsigned)(s[i] - '0');
        if (r > (UINT64_MAX - digit) / 10) return false;
        r = r * 10 + digit;
    }
    *v = r;
    return true;
}

bool gp_i64_from_text(const char *s, size_t n, int64_t *v)
{
    bool negative = n && s[0] == '-';
    uint64_t r;
    if (!gp_u64_from_text(s + negative, n - negative, &r)) return false;
    if (r > (uint64_t)INT64_MAX + negative) return false;
    if (negative) *v = r == (uint64_t)INT64_MAX + 1 ? INT64_MIN : -(int64_t)r;
    else *v = (int64_t)r;
    return true;
}

bool gp_u64_from_hex(const char *s, size_t n, uint64_t *v)
{
    if (n < 3 || n > 18 || s[0] != '0' || (s[1] | 0x20) != 'x') return false;
    uint64_t r = 0;
    for (size_t i = 2; i < n; i++) {
        unsigned c = (unsigned char)s[i], low = c | 0x20;
        if (c >= '0' && c <= '9') r = r << 4 | (c - '0');
        else if (low >= 'a' && low <= 'f') r = r << 4 | (low - 'a' + 10);
        else return false;
    }
    *v = r;
    return true;
}

bool gp_double_from_text(const char *s, size_t n, double *v)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d;
    uint64_t m = 0;
    size_t digits = 0;
    if (n > DOUBLE_TEXT_LIMIT || !split(s, n, &d)) return false;
    for (size_t i = 0; i < d.n; i++) {
        if (d.digits[i] == '.') continue;
        if (digits < 19) m = m * 10 + (unsigned)(d.digits[i] - '0');
        digits++;
    }
    int64_t exponent = d.before - (int64_t)digits;
    /* A mantissa below 2^53 and a power of ten up to 22 are both exact, so one operation rounds correctly. */
    if (digits <= 19 && m < (1ull << 53) && exponent >= -22 && exponent <= 22) {
        double r = exponent < 0 ? (double)m / powers[-exponent] : (double)m * powers[exponent];
        *v = d.negative ? -r : r;
        return true;
    }
    char text[DOUBLE_TEXT_LIMIT + 1];
    memcpy(text, s, n);
    text[n] = '\0';
    *v = strtod(text, NULL);
    return true;
}
