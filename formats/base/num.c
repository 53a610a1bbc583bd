#include "formats/base/num.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

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

/* The exponent, behind 'e' or 'E'. */
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

/* ---- amounts as people write them ---- */

static int not_a(struct gp_err *err, const char *s, const char *what, const char *like)
{
    return gp_fail(err, GP_E_USAGE, -1, "'%s' is not a %s, such as %s", s, what, like);
}

static int too_large(struct gp_err *err, const char *s)
{
    return gp_fail(err, GP_E_USAGE, -1, "'%s' is too large", s);
}

/* Digits at *S into *V; *S moves past them. False if there are none or they overflow (then *S does not move).
 */
static bool digits(const char **s, uint64_t *v)
{
    const char *p = *s;
    uint64_t sum = 0;
    for (; gp_is_digit(*p); p++) {
        unsigned d = (unsigned)(*p - '0');
        if (sum > (UINT64_MAX - d) / 10) return false;
        sum = sum * 10 + d;
    }
    if (p == *s) return false;
    *v = sum;
    *s = p;
    return true;
}

/* What a number without a unit is counted in, 0: it must have one, unless it is 0. */
static int read_duration(const char *s, uint64_t bare_ns, int64_t *ns, struct gp_err *err)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},
                 {"us", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"m", UINT64_C(60000000000)},
                 {"min", UINT64_C(60000000000)},
                 {"h", UINT64_C(3600000000000)}};
    const char *p = s, *like = "10us, 1.5ms or 2s";
    uint64_t whole;
    if (!gp_is_digit(*p)) return not_a(err, s, "duration", like);
    if (!digits(&p, &whole)) return too_large(err, s);
    const char *fraction = NULL;
    if (*p == '.') {
        fraction = ++p;
        if (!gp_is_digit(*p)) return not_a(err, s, "duration", like);
        while (gp_is_digit(*p)) p++;
    }
    uint64_t unit = *p ? 0 : bare_ns;
    if (!*p && !bare_ns) {
        if (!fraction && !whole) unit = 1;
        else return gp_fail(err, GP_E_USAGE, -1, "'%s' has no unit: write %sus, %sms or %ss", s, s, s, s);
    }
    for (size_t i = 0; i < GP_COUNT(units); i++)
        if (!strcmp(p, units[i].name)) unit = units[i].ns;
    if (unit == 0) return not_a(err, s, "duration", like);
    if (whole > (uint64_t)INT64_MAX / unit) return too_large(err, s);
    uint64_t sum = whole * unit;
    for (uint64_t place = unit / 10; fraction && gp_is_digit(*fraction); fraction++, place /= 10)
        sum += (uint64_t)(*fraction - '0') * place; /* fractions of a nanosecond are dropped */
    if (sum > INT64_MAX) return too_large(err, s);
    *ns = (int64_t)sum;
    return 0;
}

int gp_parse_duration(const char *s, int64_t *ns, struct gp_err *err) { return read_duration(s, 0, ns, err); }

int gp_parse_seconds(const char *s, int64_t *ns, struct gp_err *err)
{
    return read_duration(s, UINT64_C(1000000000), ns, err);
}

int gp_parse_size(const char *s, uint64_t *bytes, struct gp_err *err)
{
    static const char letters[] = "KMGT";
    const char *p = s;
    uint64_t v;
    if (!gp_is_digit(*p)) return not_a(err, s, "number", "10, 64K or 2M");
    if (!digits(&p, &v)) return too_large(err, s);
    int shift = 0;
    if (*p) {
        char upper = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
        const char *l = strchr(letters, upper);
        if (!l || p[1]) return not_a(err, s, "number", "10, 64K or 2M");
        shift = 10 * (int)(l - letters + 1);
    }
    if (v > UINT64_MAX >> shift) return too_large(err, s);
    *bytes = v << shift;
    return 0;
}

int gp_parse_percent(const char *s, double *pct, struct gp_err *err)
{
    /* strtod() obeys the locale and takes "nan" and "0x1p3", so the digits are read here. */
    const char *p = s;
    double v = 0;
    if (!gp_is_digit(*p)) return not_a(err, s, "percentage", "5% or 0.5%");
    for (; gp_is_digit(*p); p++) v = v * 10 + (*p - '0');
    if (*p == '.') {
        if (!gp_is_digit(*++p)) return not_a(err, s, "percentage", "5% or 0.5%");
        double part = 0, scale = 1;
        for (; gp_is_digit(*p) && scale < 1e15; p++, scale *= 10) part = part * 10 + (*p - '0');
        while (gp_is_digit(*p)) p++;
        v += part / scale;
    }
    if (*p == '%') p++;
    if (*p) return not_a(err, s, "percentage", "5% or 0.5%");
    if (!isfinite(v)) return too_large(err, s);
    *pct = v;
    return 0;
}

int gp_parse_probability(const char *s, double *p, struct gp_err *err)
{
    double v;
    if (!gp_double_from_text(s, strlen(s), &v) || v <= 0 || v >= 1)
        return not_a(err, s, "probability", "0.05");
    *p = v;
    return 0;
}
