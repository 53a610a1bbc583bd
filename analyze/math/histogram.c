#include "analyze/math/histogram.h"

/* All sums are integers, so the order and grouping of values do not matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/mem.h"

/* ---- unsigned 128-bit integers, which stay at their largest value ---- */

struct wide {
    uint64_t hi, lo;
};

static struct wide multiply(uint64_t a, uint64_t b)
{
    uint64_t ah = a >> 32, al = a & UINT32_MAX, bh = b >> 32, bl = b & UINT32_MAX;
    uint64_t low = al * bl, cross = al * bh;
    uint64_t mid = ah * bl + (low >> 32) + (cross & UINT32_MAX); /* at most 2^64 - 1 */
    return (struct wide){ah * bh + (cross >> 32) + (mid >> 32), mid << 32 | (low & UINT32_MAX)};
}

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static void add_wide(struct gp_histogram *d, struct wide w)
{
    struct wide sum = {d->sq_hi + w.hi, d->sq_lo + w.lo};
    uint64_t carry = sum.lo < w.lo;
    bool over = sum.hi < w.hi || (carry && sum.hi == UINT64_MAX);
    d->sq_hi = over ? UINT64_MAX : sum.hi + carry;
    d->sq_lo = over ? UINT64_MAX : sum.lo;
}

/* ---- the histogram ---- */

/* 0..15 for the values themselves, then 8 for each power of two from 16 on. */
static unsigned bucket_of(int64_t v)
{
    if (v < 16) return v < 0 ? 0 : (unsigned)v;
    unsigned e = 63 - (unsigned)__builtin_clzll((uint64_t)v); /* the power of two in V */
    return 16 + (e - 4) * 8 + (unsigned)((uint64_t)v >> (e - 3) & 7);
}

/* The middle of a bucket: at most 1/16 from everything in it. */
static int64_t bucket_middle(unsigned b)
{
    if (b < 16) return b;
    unsigned e = (b - 16) / 8 + 4;
    uint64_t width = UINT64_C(1) << (e - 3);
    return (int64_t)((8 + (b - 16) % 8) * width + width / 2);
}

static void add_to_bucket(struct gp_histogram *d, unsigned b, uint64_t n)
{
    uint64_t sum = d->buckets[b] + n;
    d->buckets[b] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* While all values are equal, the histogram adds nothing to min and n. */
static void need_buckets(struct gp_histogram *d)
{
    if (d->buckets) return;
    d->buckets = gp_zalloc(GP_HISTOGRAM_BUCKETS * sizeof *d->buckets);
    if (d->n) add_to_bucket(d, bucket_of(d->min), d->n);
}

/* ---- adding ---- */

void gp_histogram_add(struct gp_histogram *d, int64_t v)
{
    if (d->n && !d->buckets && v != d->min) need_buckets(d);
    if (d->buckets) add_to_bucket(d, bucket_of(v), 1);
    if (!d->n || v < d->min) d->min = v;
    if (!d->n || v > d->max) d->max = v;
    d->n++;
    d->sum = gp_add_saturated(d->sum, v);
    uint64_t m = magnitude(v);
    add_wide(d, m <= UINT32_MAX ? (struct wide){0, m * m} : multiply(m, m));
}

void gp_histogram_merge(struct gp_histogram *to, const struct gp_histogram *from)
{
    if (!from->n) return;
    if (from->buckets || to->buckets || (to->n && to->min != from->min)) {
        need_buckets(to);
        for (unsigned b = 0; from->buckets && b < GP_HISTOGRAM_BUCKETS; b++)
            add_to_bucket(to, b, from->buckets[b]);
        if (!from->buckets) add_to_bucket(to, bucket_of(from->min), from->n);
    }
    if (!to->n || from->min < to->min) to->min = from->min;
    if (!to->n || from->max > to->max) to->max = from->max;
    to->n += from->n;
    to->sum = gp_add_saturated(to->sum, from->sum);
    add_wide(to, (struct wide){from->sq_hi, from->sq_lo});
}

/* ---- reading ---- */

/* The sum of (v - q)^2 with q = floor(sum / n) fits and is exact modulo 2^128; the fraction of the mean,
 * which is below 1, corrects it. Nothing cancels. */
double gp_histogram_stddev(const struct gp_histogram *d)
{
    if (d->n < 2 || d->min == d->max) return 0;
    if (d->sq_hi == UINT64_MAX || d->sum == INT64_MAX || d->sum == INT64_MIN || d->n > INT64_MAX)
        return ((double)d->max - (double)d->min) / 2; /* damaged input; the bound holds for any values */
    int64_t n = (int64_t)d->n, q = d->sum / n, r = d->sum % n;
    if (r < 0) q--, r += n;
    int64_t factor =
        gp_add_saturated(d->sum, r); /* sum (v - q)^2 = sum v^2 - q (2 sum - n q), 2 sum - n q = sum + r */
    struct wide p = multiply(magnitude(q), magnitude(factor)), s = {d->sq_hi, d->sq_lo};
    if ((q < 0) != (factor < 0)) p = (struct wide){~p.hi + !p.lo, 0 - p.lo};
    s.hi -= p.hi + (s.lo < p.lo);
    s.lo -= p.lo;
    double rest = (double)r / (double)n;
    double variance = ((double)s.hi * 0x1p64 + (double)s.lo) / (double)n - rest * rest;
    return variance > 0 ? sqrt(variance) : 0;
}

int64_t gp_histogram_quantile(const struct gp_histogram *d, double q)
{
    if (!d->n || q <= 0 || !d->buckets) return d->n ? d->min : 0;
    if (q >= 1) return d->max;
    uint64_t all = 0, seen = 0;
    for (unsigned b = 0; b < GP_HISTOGRAM_BUCKETS; b++) all += d->buckets[b];
    double rank = ceil(q * (double)all); /* the nearest rank, from 1 */
    for (unsigned b = 0; b < GP_HISTOGRAM_BUCKETS; b++) {
        seen += d->buckets[b];
        if (!d->buckets[b] || (double)seen < rank) continue;
        int64_t v = bucket_middle(b);
        return v < d->min ? d->min : v > d->max ? d->max : v;
    }
    return d->max;
}

int64_t gp_histogram_sum_upto(const struct gp_histogram *d, int64_t limit)
{
    if (!d->n || limit < d->min) return 0;
    if (limit >= d->max || !d->buckets) return d->sum;
    double sum = 0;
    for (unsigned b = 0; b < GP_HISTOGRAM_BUCKETS && bucket_middle(b) <= limit; b++)
        sum += (double)bucket_middle(b) * d->buckets[b];
    return sum < (double)d->sum ? (int64_t)sum : d->sum;
}

/* ---- saving, releasing ---- */

void gp_histogram_serialize(struct gp_serializer *x, struct gp_histogram *d)
{
    gp_serialize_u64(x, &d->n);
    if (d->n > INT64_MAX) x->failed = true;
    int64_t *const values[] = {&d->sum, &d->min, &d->max};
    uint64_t *const squares[] = {&d->sq_hi, &d->sq_lo};
    for (int i = 0; i < 3; i++) gp_serialize_i64(x, values[i]);
    for (int i = 0; i < 2; i++) gp_serialize_u64(x, squares[i]);
    bool has = d->buckets;
    gp_serialize_bool(x, &has);
    if (!x->save) d->buckets = has ? gp_zalloc(GP_HISTOGRAM_BUCKETS * sizeof *d->buckets) : NULL;
    if (!has) return;
    /* Few buckets are in use: distance to the last one, count. */
    uint32_t used = 0, at = 0;
    for (unsigned b = 0; b < GP_HISTOGRAM_BUCKETS; b++) used += d->buckets[b] != 0;
    gp_serialize_u32(x, &used);
    for (uint32_t i = 0; i < used && !x->failed; i++) {
        uint32_t next = at, step;
        while (x->save && !d->buckets[next]) next++;
        step = next - at;
        gp_serialize_u32(x, &step);
        if (step >= GP_HISTOGRAM_BUCKETS - at) {
            x->failed = true;
            return;
        }
        at += step;
        gp_serialize_u32(x, &d->buckets[at]);
        at++;
    }
}

void gp_histogram_release(struct gp_histogram *d)
{
    free(d->buckets);
    memset(d, 0, sizeof *d);
}
