#include "formats/base/amount.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

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

int gp_parse_duration(const char *s, int64_t *ns, struct gp_err *err)
{
    return read_duration(s, 0, ns, err);
}

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
