/* sums.h -- arithmetic on ns and bytes that damaged input cannot break.
 *
 *     total_ns = gp_add_saturated(total_ns, dur_ns);
 *     double share_pct = gp_pct(dur_ns, total_ns);
 */
#ifndef GP_ANALYZE_SUMS_H
#define GP_ANALYZE_SUMS_H

#include <stdint.h>

/* A + B, saturating. Sums of damaged times must not become small again. */
static inline int64_t gp_add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* A - B of times that may be anything: it wraps around. */
static inline int64_t gp_minus_wrapped(int64_t a, int64_t b)
{
    uint64_t d = (uint64_t)a - (uint64_t)b;
    return d <= INT64_MAX ? (int64_t)d : -(int64_t)(UINT64_MAX - d) - 1;
}

/* A x B, saturating. */
static inline int64_t gp_mul_saturated(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
    return product;
}

/* A x NUM / DEN, rounded towards zero as if the product could not overflow; saturating. NUM and DEN: 1 to
 * 1,000,000. */
static inline int64_t gp_part(int64_t a, int64_t num, int64_t den)
{
    return gp_add_saturated(gp_mul_saturated(a / den, num), a % den * num / den);
}

/* A / B in percent; 0 when B is 0. */
static inline double gp_pct(int64_t a, int64_t b) { return b ? 100.0 * (double)a / (double)b : 0; }

#endif
