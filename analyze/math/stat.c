#include "analyze/math/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/mem.h"
#include "formats/base/order.h"

/* ---- the normal distribution ---- */

static double normal_above(double z) { return erfc(z / sqrt(2)) / 2; }

/* The z with P as the part above it. Halving ends by itself: the bounds become neighbours. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    for (;;) {
        double mid = low + (high - low) / 2;
        if (mid <= low || mid >= high) return mid;
        if (normal_above(mid) > p) low = mid;
        else high = mid;
    }
}

/* ---- exact distributions ---- */

/* How many ways there are to each sum: count[s - least] for sums from `least` on. */
struct ways {
    uint64_t *count;
    size_t n;
    uint32_t least;
};

/* The sums of K of the N ranks, which are in ascending order, N <= GP_STAT_RANKS_EXACT and K <= N / 2. Row k
 * of the table is for sums of k ranks, and begins with the least of them. C(50, 25) fits into 47 bits. */
static struct ways sums_of_k(const uint32_t *rank, size_t n, size_t k)
{
    uint32_t below[GP_STAT_RANKS_EXACT + 1] = {0}; /* sum of the I smallest */
    for (size_t i = 0; i < n; i++) below[i + 1] = below[i] + rank[i];
    size_t width = 1;
    for (size_t j = 1; j <= k; j++) {
        size_t w = below[n] - below[n - j] - below[j] + 1;
        if (w > width) width = w;
    }
    uint64_t *rows = gp_zalloc((k + 1) * width * sizeof *rows);
    rows[0] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t left = n - i - 1, most = i + 1 < k ? i + 1 : k; /* ranks to come can fill the rest */
        for (size_t j = most; j >= 1 && j + left >= k; j--) {
            uint32_t from = below[j - 1], to = below[i] - below[i - (j - 1)];
            uint64_t *row = rows + j * width + (from + rank[i] - below[j]);
            const uint64_t *before = rows + (j - 1) * width;
            for (uint32_t s = 0; s <= to - from; s++) row[s] += before[s];
        }
    }
    memmove(rows, rows + k * width, width * sizeof *rows);
    return (struct ways){rows, below[n] - below[n - k] - below[k] + 1, below[k]};
}

/* The sums of any of the N ranks, N <= GP_STAT_PAIRS_EXACT. */
static struct ways sums_of_any(const uint32_t *rank, size_t n)
{
    size_t top = 0;
    for (size_t i = 0; i < n; i++) top += rank[i];
    uint64_t *count = gp_zalloc((top + 1) * sizeof *count);
    count[0] = 1;
    size_t reached = 0;
    for (size_t i = 0; i < n; i++) {
        reached += rank[i];
        for (size_t s = reached; s >= rank[i]; s--) count[s] += count[s - rank[i]]; /* ranks are at least 1 */
    }
    return (struct ways){count, top + 1, 0};
}

struct tails {
    double at_most, at_least;
};

static struct tails tails_of(struct ways w, uint32_t sum)
{
    uint64_t below = 0, above = 0, at = w.count[sum - w.least];
    for (size_t i = 0; i < sum - w.least; i++) below += w.count[i];
    for (size_t i = sum - w.least + 1; i < w.n; i++) above += w.count[i];
    double all = (double)(below + at + above);
    return (struct tails){(double)(below + at) / all, (double)(at + above) / all};
}

/* Ranks come doubled, so that those of ties are whole. Where all are even, half of them does. */
static uint32_t halve_if_even(uint32_t *rank, size_t n, uint32_t sum)
{
    for (size_t i = 0; i < n; i++)
        if (rank[i] & 1) return sum;
    for (size_t i = 0; i < n; i++) rank[i] /= 2;
    return sum / 2;
}

/* ---- results ---- */

static double two_sided(double less, double more)
{
    double p = 2 * (less < more ? less : more);
    return p < 1 ? p : 1;
}

static struct gp_stat_p nothing(size_t n, size_t m)
{
    return (struct gp_stat_p){1, 1, 1, GP_STAT_NONE, n, m};
}

/* From the tails of the sum of B's ranks: a large sum is a large B. */
static struct gp_stat_p exactly(struct tails t, size_t n, size_t m)
{
    return (struct gp_stat_p){two_sided(t.at_most, t.at_least), t.at_least, t.at_most, GP_STAT_EXACT, n, m};
}

/* OFF is the excess of B's sum over its mean; 0.5 is the continuity correction. */
static struct gp_stat_p normally(double off, double variance, size_t n, size_t m)
{
    double sd = sqrt(variance);
    double more = normal_above((off - 0.5) / sd), less = normal_above((-off - 0.5) / sd);
    return (struct gp_stat_p){two_sided(less, more), more, less, GP_STAT_NORMAL, n, m};
}

/* ---- Mann-Whitney ---- */

struct item {
    bool counts; /* it is of b */
    int64_t value;
};

GP_COMPARE(by_value, struct item, GP_UP(value))

/* What the ranks of sorted items come to. All doubled. */
struct ranked {
    uint64_t sum_b;
    double ties; /* sum of t^3 - t over groups of T equal ones */
};

/* AT are N sorted elements of SIZE bytes, each with a bool first: does it count for the sum? RANK may be
 * NULL. */
static struct ranked rank_sorted(const void *at, size_t n, size_t size,
                                 int (*compare)(const void *a, const void *b), uint32_t *rank)
{
    const char *p = at;
    struct ranked r = {0};
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t count = 0;
        for (end = i; end < n && !compare(p + i * size, p + end * size); end++)
            count += *(const bool *)(p + end * size);
        uint64_t doubled = i + 1 + end; /* the mean of i + 1 .. end, twice */
        for (size_t k = i; rank && k < end; k++) rank[k] = (uint32_t)doubled;
        double t = (double)(end - i);
        r.sum_b += doubled * count;
        r.ties += t * t * t - t;
    }
    return r;
}

static struct gp_stat_p exact_ranks(const struct item *item, size_t n, size_t m)
{
    uint32_t rank[GP_STAT_RANKS_EXACT];
    uint32_t sum = (uint32_t)rank_sorted(item, n + m, sizeof *item, by_value, rank).sum_b;
    bool smaller_b = m <= n;
    if (!smaller_b) sum = (uint32_t)((n + m) * (n + m + 1)) - sum; /* A's; all doubled ranks are N (N + 1) */
    sum = halve_if_even(rank, n + m, sum);
    struct ways w = sums_of_k(rank, n + m, smaller_b ? m : n);
    struct tails t = tails_of(w, sum);
    free(w.count);
    if (!smaller_b) t = (struct tails){t.at_least, t.at_most};
    return exactly(t, n, m);
}

static struct gp_stat_p normal_ranks(struct ranked r, size_t n, size_t m)
{
    double a = (double)n, b = (double)m, all = a + b;
    double off = ((double)r.sum_b - b * (all + 1)) / 2;
    return normally(off, a * b / 12 * (all + 1 - r.ties / (all * (all - 1))), n, m);
}

struct gp_stat_p gp_stat_mann_whitney(const int64_t *a, size_t n, const int64_t *b, size_t m)
{
    if (!n || !m) return nothing(n, m);
    struct item *item = gp_alloc((n + m) * sizeof *item);
    for (size_t i = 0; i < n; i++) item[i] = (struct item){false, a[i]};
    for (size_t i = 0; i < m; i++) item[n + i] = (struct item){true, b[i]};
    qsort(item, n + m, sizeof *item, by_value);
    struct gp_stat_p p;
    if (item[0].value == item[n + m - 1].value) p = nothing(n, m);
    else if (n + m <= GP_STAT_RANKS_EXACT) p = exact_ranks(item, n, m);
    else p = normal_ranks(rank_sorted(item, n + m, sizeof *item, by_value, NULL), n, m);
    free(item);
    return p;
}

/* ---- signed ranks ---- */

/* A ratio, TOP / BOTTOM >= 1. */
struct pair {
    bool counts; /* b > a */
    uint64_t top, bottom;
};

/* P / Q against R / S, by their continued fractions when the products would not fit. */
static int compare_fractions(uint64_t p, uint64_t q, uint64_t r, uint64_t s)
{
    if ((p | q | r | s) <= UINT32_MAX) return (p * s > r * q) - (p * s < r * q);
    for (;;) {
        uint64_t i = p / q, j = r / s;
        if (i != j) return i > j ? 1 : -1;
        p %= q, r %= s;
        if (!p || !r) return (p > r) - (p < r);
        uint64_t p0 = p, q0 = q; /* p / q < r / s < 1 when s / r < q / p */
        p = s, q = r, r = q0, s = p0;
    }
}

GP_COMPARE(by_size, struct pair, GP_THEN(compare_fractions(x->top, x->bottom, y->top, y->bottom)))

static uint64_t at_least_1(int64_t v) { return v < 1 ? 1 : (uint64_t)v; }

static struct gp_stat_p test_pairs(struct pair *pair, size_t n)
{
    if (!n) return nothing(0, 0);
    qsort(pair, n, sizeof *pair, by_size);
    if (n > GP_STAT_PAIRS_EXACT) {
        struct ranked r = rank_sorted(pair, n, sizeof *pair, by_size, NULL);
        double k = (double)n, mean = k * (k + 1) / 4;
        return normally((double)r.sum_b / 2 - mean, k * (k + 1) * (2 * k + 1) / 24 - r.ties / 48, n, n);
    }
    uint32_t rank[GP_STAT_PAIRS_EXACT];
    uint32_t sum = (uint32_t)rank_sorted(pair, n, sizeof *pair, by_size, rank).sum_b;
    sum = halve_if_even(rank, n, sum);
    struct ways w = sums_of_any(rank, n);
    struct tails t = tails_of(w, sum);
    free(w.count);
    return exactly(t, n, n);
}

struct gp_stat_p gp_stat_signed_rank_ratio(const int64_t *a, const int64_t *b, size_t n)
{
    struct pair *pair = gp_alloc((n ? n : 1) * sizeof *pair);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = at_least_1(a[i]), y = at_least_1(b[i]);
        pair[used] = x < y ? (struct pair){true, y, x} : (struct pair){false, x, y};
        used += x != y;
    }
    struct gp_stat_p p = test_pairs(pair, used);
    free(pair);
    return p;
}

/* ---- which order statistics make an interval ---- */

/* The K-th smallest and K-th largest value, K from 1. */
struct bounds {
    double k;
    double confidence;
};

/* K is one more than the largest sum whose probability with all below it is at most half of ALPHA. */
static struct bounds bounds_of_ways(struct ways w, double alpha)
{
    double all = 0, sum = 0, outside = 0;
    for (size_t i = 0; i < w.n; i++) all += (double)w.count[i];
    size_t k = 0;
    for (; k < w.n && (sum + (double)w.count[k]) / all <= alpha / 2; k++) sum += (double)w.count[k];
    outside = k ? 2 * sum / all : 2 * (double)w.count[0] / all;
    free(w.count);
    return (struct bounds){k ? (double)k : 1, outside < 1 ? 1 - outside : 0};
}

static struct bounds normal_bounds(double mean, double variance, double widest, double alpha)
{
    double sd = sqrt(variance);
    double k = floor(mean - normal_quantile(alpha / 2) * sd - 0.5) + 1;
    if (k < 1) return (struct bounds){1, widest};
    return (struct bounds){k, 1 - 2 * normal_above((mean - k + 0.5) / sd)};
}

static struct bounds bounds_of_ranks(size_t n, size_t m, double alpha)
{
    if (n + m <= GP_STAT_RANKS_EXACT) {
        uint32_t rank[GP_STAT_RANKS_EXACT];
        for (size_t i = 0; i < n + m; i++) rank[i] = (uint32_t)i + 1;
        return bounds_of_ways(sums_of_k(rank, n + m, n < m ? n : m), alpha);
    }
    double a = (double)n, b = (double)m;
    return normal_bounds(a * b / 2, a * b * (a + b + 1) / 12, 1 - gp_stat_least_p(n, m), alpha);
}

static struct bounds bounds_of_pairs(size_t n, double alpha)
{
    if (n <= GP_STAT_PAIRS_EXACT) {
        uint32_t rank[GP_STAT_PAIRS_EXACT];
        for (size_t i = 0; i < n; i++) rank[i] = (uint32_t)i + 1;
        return bounds_of_ways(sums_of_any(rank, n), alpha);
    }
    double k = (double)n;
    return normal_bounds(k * (k + 1) / 4, k * (k + 1) * (2 * k + 1) / 24, 1 - gp_stat_least_p_pairs(n),
                         alpha);
}

/* ---- ratios ---- */

/* Numbers in ascending order, and how many of their combinations are at most T. What combines them rounds
 * monotonically, so that a walk along both lists finds the place where it passes T. */
struct combinations {
    double *a, *b;
    size_t n, m;
    bool pairs; /* products of two of B, each also with itself; otherwise b / a */
};

static double count_up_to(const struct combinations *c, double t)
{
    double count = 0;
    if (c->pairs) {
        size_t j = c->m;
        for (size_t i = 0; i < c->m; i++) {
            while (j && c->b[i] * c->b[j - 1] > t) j--;
            if (j <= i) break;
            count += (double)(j - i);
        }
        return count;
    }
    for (size_t i = 0, j = 0; i < c->n; i++) {
        while (j < c->m && c->b[j] / c->a[i] <= t) j++;
        count += (double)j;
    }
    return count;
}

static uint64_t bits_of(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static double of_bits(uint64_t u)
{
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* The K-th smallest combination, K from 1: positive doubles are ordered as their bits are, so this is found
 * by halving among all doubles, exactly. */
static double kth(const struct combinations *c, double k)
{
    double least = c->pairs ? c->b[0] * c->b[0] : c->b[0] / c->a[c->n - 1];
    double most = c->pairs ? c->b[c->m - 1] * c->b[c->m - 1] : c->b[c->m - 1] / c->a[0];
    uint64_t low = bits_of(least), high = bits_of(most);
    GP_NARROW(low, high, mid, count_up_to(c, of_bits(mid)) < k)
    return of_bits(low);
}

static double *sorted_ratios(const int64_t *over, const int64_t *v, size_t n)
{
    double *to = gp_alloc(n * sizeof *to);
    for (size_t i = 0; i < n; i++)
        to[i] = (double)at_least_1(v[i]) / (over ? (double)at_least_1(over[i]) : 1);
    qsort(to, n, sizeof *to, gp_order_double);
    return to;
}

/* ALL combinations. Those of pairs are squares of ALL. */
static struct gp_stat_ratio ratio_of(const struct combinations *c, double all, struct bounds at)
{
    double middle = floor((all + 1) / 2), next = floor(all / 2) + 1;
    double below = kth(c, middle), above = next > middle ? kth(c, next) : below;
    struct gp_stat_ratio r = {0, kth(c, at.k), kth(c, all - at.k + 1), at.confidence};
    if (c->pairs) below = sqrt(below), above = sqrt(above), r.low = sqrt(r.low), r.high = sqrt(r.high);
    r.estimate = below < above ? sqrt(below * above) : below;
    return r;
}

struct gp_stat_ratio gp_stat_ratio(const int64_t *a, size_t n, const int64_t *b, size_t m, double alpha)
{
    if (!n || !m) return (struct gp_stat_ratio){1, 1, 1, 0};
    struct combinations c = {.a = sorted_ratios(NULL, a, n), .b = sorted_ratios(NULL, b, m), .n = n, .m = m};
    struct gp_stat_ratio r = ratio_of(&c, (double)n * (double)m, bounds_of_ranks(n, m, alpha));
    free(c.a);
    free(c.b);
    return r;
}

struct gp_stat_ratio gp_stat_ratio_paired(const int64_t *a, const int64_t *b, size_t n, double alpha)
{
    if (!n) return (struct gp_stat_ratio){1, 1, 1, 0};
    struct combinations c = {.b = sorted_ratios(a, b, n), .m = n, .pairs = true};
    struct gp_stat_ratio r = ratio_of(&c, (double)n * ((double)n + 1) / 2, bounds_of_pairs(n, alpha));
    free(c.b);
    return r;
}

/* ---- Welch ---- */

/* The continued fraction of the incomplete beta function, from its front: value = product of steps. It
 * converges fast where x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    static const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int i = 1; i < 10000; i++) {
        double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
        double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
        double step = 1;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1 + term * d, c = 1 + term / c;
            if (fabs(d) < tiny) d = tiny;
            if (fabs(c) < tiny) c = tiny;
            d = 1 / d;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-15) break;
    }
    return value;
}

/* gamma(a + 1/2) / gamma(a): the series for large A, walked down to small ones. (lgamma() has a global.) */
static double gamma_step(double a)
{
    double step = 1;
    for (; a < 100; a++) step *= a / (a + 0.5);
    double x = 1 / a;
    double series =
        1 + x * (-1 / 8. + x * (1 / 128. + x * (5 / 1024. + x * (-21 / 32768. - x * 399 / 262144.))));
    return step * sqrt(a) * series;
}

double gp_stat_t_above(double t, double df)
{
    double x = df / (df + t * t), a = df / 2, b = 0.5;
    if (!(t > 0)) return 0.5;
    double front =
        gamma_step(a) / sqrt(acos(-1)) * exp(a * log(x)) * sqrt(1 - x); /* x^a (1 - x)^b / B(a, b) */
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a / 2;
    return (1 - front * beta_fraction(b, a, 1 - x) / b) / 2;
}

double gp_stat_t_quantile(double p, double df)
{
    double low = 0, high = 1;
    while (gp_stat_t_above(high, df) > p && high < 1e300) high *= 2;
    for (;;) {
        double mid = low + (high - low) / 2;
        if (mid <= low || mid >= high) return mid;
        if (gp_stat_t_above(mid, df) > p) low = mid;
        else high = mid;
    }
}

/* Mean of logarithms, and the variance of that mean. */
struct mean {
    double at, variance;
};

static struct mean mean_of_logs(const int64_t *v, size_t n)
{
    struct mean m = {0, 0};
    for (size_t i = 0; i < n; i++) m.at += log((double)at_least_1(v[i])) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = log((double)at_least_1(v[i])) - m.at;
        m.variance += off * off / ((double)n - 1) / (double)n;
    }
    return m;
}

struct welch {
    double off, error, df; /* difference of means, its standard error; df 0: nothing to test */
};

static struct welch welch_of(const int64_t *a, size_t n, const int64_t *b, size_t m)
{
    if (n < 2 || m < 2) return (struct welch){0};
    struct mean x = mean_of_logs(a, n), y = mean_of_logs(b, m);
    double sum = x.variance + y.variance, off = y.at - x.at;
    if (!(sum > 1e-24)) return (struct welch){off, 0, 0}; /* equal but for the rounding of the mean */
    double df =
        sum * sum / (x.variance * x.variance / ((double)n - 1) + y.variance * y.variance / ((double)m - 1));
    return (struct welch){off, sqrt(sum), df};
}

struct gp_stat_p gp_stat_welch(const int64_t *a, size_t n, const int64_t *b, size_t m)
{
    struct welch w = welch_of(a, n, b, m);
    if (!(w.df > 0)) return nothing(n, m);
    double above = gp_stat_t_above(fabs(w.off / w.error), w.df), below = 1 - above;
    double more = w.off > 0 ? above : below, less = w.off > 0 ? below : above;
    return (struct gp_stat_p){two_sided(less, more), more, less, GP_STAT_T, n, m};
}

struct gp_stat_ratio gp_stat_ratio_welch(const int64_t *a, size_t n, const int64_t *b, size_t m, double alpha)
{
    if (!n || !m) return (struct gp_stat_ratio){1, 1, 1, 0};
    struct welch w = welch_of(a, n, b, m);
    double off = n > 1 && m > 1 ? w.off : mean_of_logs(b, m).at - mean_of_logs(a, n).at;
    if (!(w.df > 0)) return (struct gp_stat_ratio){exp(off), exp(off), exp(off), 0};
    double half = gp_stat_t_quantile(alpha / 2, w.df) * w.error;
    return (struct gp_stat_ratio){exp(off), exp(off - half), exp(off + half), 1 - alpha};
}

/* ---- medians ---- */

double gp_stat_median(const int64_t *v, size_t n)
{
    if (!n) return 0;
    int64_t *s = gp_alloc(n * sizeof *s);
    memcpy(s, v, n * sizeof *s);
    qsort(s, n, sizeof *s, gp_order_i64);
    int64_t below = s[(n - 1) / 2], above = s[n / 2];
    free(s);
    return below == above ? (double)below : (double)below / 2 + (double)above / 2;
}

double gp_stat_mad(const int64_t *v, size_t n)
{
    if (!n) return 0;
    double median = gp_stat_median(v, n), *off = gp_alloc(n * sizeof *off);
    for (size_t i = 0; i < n; i++) off[i] = fabs((double)v[i] - median);
    qsort(off, n, sizeof *off, gp_order_double);
    double mad = (off[(n - 1) / 2] + off[n / 2]) / 2;
    free(off);
    return mad;
}

bool gp_stat_apart(const int64_t *a, size_t n, const int64_t *b, size_t m, double more)
{
    int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {0, 0};
    for (size_t i = 0; i < n + m; i++) {
        int64_t v = i < n ? a[i] : b[i - n];
        if (v < low[i >= n]) low[i >= n] = v;
        if (v > high[i >= n]) high[i >= n] = v;
    }
    return (double)low[1] > more * (double)high[0] || (double)low[0] > more * (double)high[1];
}

/* ---- many tests ---- */

struct tested {
    double p;
    size_t at;
};

GP_COMPARE(by_p, struct tested, GP_UP(p) GP_UP(at))

void gp_stat_adjust(const double *p, double *q, size_t n)
{
    struct tested *t = gp_alloc((n ? n : 1) * sizeof *t);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i])) q[i] = p[i];
        else t[m++] = (struct tested){p[i], i};
    }
    qsort(t, m, sizeof *t, by_p);
    double least = 1;
    for (size_t i = m; i-- > 0;) {
        double v = t[i].p * ((double)m / (double)(i + 1));
        if (v < least) least = v;
        q[t[i].at] = least;
    }
    free(t);
}

double gp_stat_least_p(size_t n, size_t m)
{
    size_t k = n < m ? n : m, rest = n < m ? m : n;
    double p = 2;
    for (size_t i = 1; i <= k && p > 0; i++) p *= (double)i / (double)(rest + i);
    return p < 1 ? p : 1;
}

double gp_stat_least_p_pairs(size_t n) { return n < 2 ? 1 : ldexp(2, n < 2000 ? -(int)n : -2000); }

size_t gp_stat_least_n(double alpha, size_t tests)
{
    double limit = alpha / (tests ? (double)tests : 1);
    size_t n = 1;
    while (gp_stat_least_p(n, n) > limit) n++;
    return n;
}

size_t gp_stat_least_pairs(double alpha, size_t tests)
{
    double limit = alpha / (tests ? (double)tests : 1);
    size_t n = 1;
    while (gp_stat_least_p_pairs(n) > limit) n++;
    return n;
}

/* The t test's number for a shift of normal values on logarithms; ranks need pi / 3 times as many. */
size_t gp_stat_enough_n(double ratio, double spread, double alpha, size_t tests)
{
    static const double pi = 3.14159265358979323846, most = 1e6;
    if (!(ratio > 0) || isinf(ratio) || ratio == 1 || !(spread >= 0) || isinf(spread)) return 0;
    double z = normal_quantile(alpha / 2 / (tests ? (double)tests : 1)) + normal_quantile(0.1);
    double off = spread / log(ratio), n = ceil(2 * pi / 3 * z * z * off * off);
    size_t least = gp_stat_least_n(alpha, tests);
    if (!(n < most)) return 0;
    return n > (double)least ? (size_t)n : least;
}

/* ---- parts of durations ---- */

static bool has_variety(const int64_t *v, size_t n, size_t want)
{
    int64_t seen[8];
    size_t k = 0;
    for (size_t i = 0; i < n && k < want; i++) {
        size_t j = 0;
        while (j < k && seen[j] != v[i]) j++;
        if (j == k) seen[k++] = v[i];
    }
    return k == want;
}

/* Three residues are within 1 of a multiple of T, which 3 / T of all values hit by chance: of the rest, 4 of
 * 5 must hit them as well. */
int64_t gp_stat_tick(const int64_t *v, size_t n)
{
    static const int64_t ticks[] = {1000, 100, 64, 32, 16, 10, 8, 4};
    if (n < 16 || !has_variety(v, n, 8)) return 1;
    for (size_t k = 0; k < GP_COUNT(ticks); k++) {
        int64_t t = ticks[k];
        size_t hits = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t off = v[i] % t;
            if (off < 0) off += t;
            hits += off <= 1 || off == t - 1;
        }
        double chance = 3 / (double)t;
        if ((double)hits / (double)n >= chance + 0.8 * (1 - chance)) return t;
    }
    return 1;
}

/* ---- bootstrap ---- */

/* The generator "splitmix64": a Weyl sequence through a mixing function. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* up_to[i] = the sum of the first I values, for twice the series, so that blocks run on over its end. */
static double *running_sums(const int64_t *v, size_t n)
{
    double *up_to = gp_alloc((2 * n + 1) * sizeof *up_to);
    up_to[0] = 0;
    for (size_t i = 0; i < 2 * n; i++) up_to[i + 1] = up_to[i] + (double)at_least_1(v[i < n ? i : i - n]);
    return up_to;
}

static double draw_mean(const double *up_to, size_t n, size_t block, uint64_t *random)
{
    double sum = 0;
    for (size_t done = 0; done < n;) {
        size_t from = (size_t)(next_random(random) % n), len = n - done < block ? n - done : block;
        sum += up_to[from + len] - up_to[from];
        done += len;
    }
    return sum / (double)n;
}

struct gp_stat_ratio gp_stat_ratio_of_means(const int64_t *a, size_t n, const int64_t *b, size_t m,
                                            double alpha, uint64_t seed)
{
    if (!n || !m) return (struct gp_stat_ratio){1, 1, 1, 0};
    double *sum_a = running_sums(a, n), *sum_b = running_sums(b, m);
    double estimate = sum_b[m] / (double)m / (sum_a[n] / (double)n);
    struct gp_stat_ratio r = {estimate, estimate, estimate, 0};
    if (n > 1 && m > 1) {
        double *draw = gp_alloc(GP_STAT_DRAWS * sizeof *draw);
        size_t block_a = (size_t)ceil(sqrt((double)n)), block_b = (size_t)ceil(sqrt((double)m));
        for (size_t i = 0; i < GP_STAT_DRAWS; i++) {
            double mean_a = draw_mean(sum_a, n, block_a, &seed), mean_b = draw_mean(sum_b, m, block_b, &seed);
            draw[i] = mean_b / mean_a;
        }
        qsort(draw, GP_STAT_DRAWS, sizeof *draw, gp_order_double);
        size_t cut = (size_t)(alpha / 2 * GP_STAT_DRAWS);
        r.low = draw[cut], r.high = draw[GP_STAT_DRAWS - 1 - cut], r.confidence = 1 - alpha;
        free(draw);
    }
    free(sum_a);
    free(sum_b);
    return r;
}
