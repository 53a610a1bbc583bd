/* stat.h -- is a difference between two sets of durations real, and how large is it? Tests and intervals
 * without assumptions about the distribution of durations, exact for the few steps that people record. Knows
 * nothing of traces, operations or verdicts. Durations are integer ns.
 *
 *     struct gp_stat_p t = gp_stat_mann_whitney(base, n, cur, m);       // steps of two runs, in any order
 *     struct gp_stat_ratio r = gp_stat_ratio(base, n, cur, m, 0.05);    // how much: cur / base
 *     p[op] = t.p;
 *     gp_stat_adjust(p, q, ops);                                        // q <= 0.05 after looking at all ops
 *     if (q[op] <= 0.05 && r.low > 1.01) ... slower by 100 * (r.estimate - 1) percent ...
 *
 * All functions are pure: no state, the same result for the same values in any order (pairs stay pairs).
 * Arrays are only read and may be NULL if their number is 0. Each call frees its memory before it returns: 16
 * bytes per value, and half a megabyte for an exact test.
 *
 * "Pairs" are values of the same position on both sides: call 7 of a step with call 7 of the other side's
 * step. They find with 3 steps what whole steps need 20 for, but only make sense if positions correspond.
 *
 * Ratios are of values of at least 1 ns: smaller ones count as 1 ns. */
#ifndef GP_ANALYZE_STAT_H
#define GP_ANALYZE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Up to these numbers of values p is exact, ties and all; beyond it is a normal approximation with a
 * correction for ties and for continuity, which is then close. */
enum { GP_STAT_RANKS_EXACT = 50 /* both sides together */, GP_STAT_PAIRS_EXACT = 40 /* that differ */ };

/* ---- tests ---- */

enum gp_stat_how { GP_STAT_NONE, GP_STAT_EXACT, GP_STAT_NORMAL, GP_STAT_T };

struct gp_stat_p {
    double p; /* two-sided, 0 < p <= 1; 1 when there is nothing to test */
    /* one-sided: probability that a current side that is not larger looks this much larger */
    double p_more;
    double p_less;        /* the mirror of p_more */
    enum gp_stat_how how; /* GP_STAT_NONE: a side is empty, all values are equal */
    size_t n, m;          /* values that were used, per side; pairs without a difference are not */
};

/* Mann-Whitney: do values of B tend to be larger or smaller than those of A? The sides may have any sizes.
 * O(N log N), and at most about N^4 / 100 steps when exact (0.5 ms for N = 50). */
struct gp_stat_p gp_stat_mann_whitney(const int64_t *a, size_t n, const int64_t *b, size_t m);

/* Wilcoxon's signed ranks of the N ratios b[i] / a[i]: every pair weighs the same, and the interval of
 * gp_stat_ratio_paired goes with it. Equal pairs are left out; ratios are compared exactly. O(N log N). */
struct gp_stat_p gp_stat_signed_rank_ratio(const int64_t *a, const int64_t *b, size_t n);

/* Welch's t test of the means of logarithms: for sums of many kernels, which are close enough to normal, and
 * for few values, for which rank tests are powerless. Each side needs 2 values, of at least 1 ns, that are
 * not all equal on both sides. */
struct gp_stat_p gp_stat_welch(const int64_t *a, size_t n, const int64_t *b, size_t m);

/* Upper tail of Student's distribution with DF > 0 degrees of freedom above T >= 0; and the T whose upper
 * tail is P, 0 < P <= 0.5. */
double gp_stat_t_above(double t, double df);
double gp_stat_t_quantile(double p, double df);

/* ---- sizes of effects ---- */

/* How many times as large B is, with an interval. For durations, a low above 1 means slower. */
struct gp_stat_ratio {
    double estimate; /* Hodges-Lehmann: the geometric median of the ratios; 1 when a side is empty */
    double low, high;
    /* that the interval covers the true ratio: at least 1 - alpha if there are enough values, otherwise
     * that of the widest possible interval; 0 if a side is empty */
    double confidence;
};

/* All n * m ratios b[j] / a[i]; the interval is the k-th smallest and the k-th largest, k from the
 * distribution of U (exact up to GP_STAT_RANKS_EXACT values). The ratios are not stored: O((n + m) log(n +
 * m)). 0 < ALPHA < 1. */
struct gp_stat_ratio gp_stat_ratio(const int64_t *a, size_t n, const int64_t *b, size_t m, double alpha);
/* Of the n (n + 1) / 2 geometric means of two of the ratios b[i] / a[i] (each with itself, too). O(n log
 * n). */
struct gp_stat_ratio gp_stat_ratio_paired(const int64_t *a, const int64_t *b, size_t n, double alpha);
/* Of geometric means, with the interval that goes with gp_stat_welch; confidence 0 where that has nothing to
 * test. */
struct gp_stat_ratio gp_stat_ratio_welch(const int64_t *a, size_t n, const int64_t *b, size_t m,
                                         double alpha);

/* The middle value; the mean of the two middle ones of an even number. 0 of none. O(n log n). */
double gp_stat_median(const int64_t *v, size_t n);
/* The median distance from the median, as it is (1.4826 times that estimates a standard deviation). */
double gp_stat_mad(const int64_t *v, size_t n);
/* Do all values of one side exceed those of the other by a factor of at least MORE? */
bool gp_stat_apart(const int64_t *a, size_t n, const int64_t *b, size_t m, double more);

/* ---- many tests ---- */

/* Benjamini-Hochberg: q[i] is the least rate of false findings at which test I is one. NaN in P is "not
 * tested": it stays NaN in Q and does not count. P and Q may be the same array. O(n log n). */
void gp_stat_adjust(const double *p, double *q, size_t n);

/* The smallest possible p with N and M values, or with N pairs: 2 / C(N + M, N), 2 / 2^N; at most 1. */
double gp_stat_least_p(size_t n, size_t m);
double gp_stat_least_p_pairs(size_t n);
/* The fewest values per side (pairs) with which one of TESTS tests can be significant at ALPHA, whatever the
 * others give: the smallest n with gp_stat_least_p(n, n) <= ALPHA / TESTS. TESTS 0 counts as 1. 0 < ALPHA <
 * 1. */
size_t gp_stat_least_n(double alpha, size_t tests);
size_t gp_stat_least_pairs(double alpha, size_t tests);
/* Approximate number of values per side needed to detect, nine times out of ten, that one side is RATIO times
 * the other, when values vary by SPREAD (a standard deviation as a part of the median: 0.01). At least
 * gp_stat_least_n; 0 if RATIO is 1 or if a million values would not suffice. */
size_t gp_stat_enough_n(double ratio, double spread, double alpha, size_t tests);

/* ---- parts of durations ---- */

/* The tick of the clock that measured the durations, in ns: the largest of 1, 4, 8, 10, 16, 32, 64, 100, 1000
 * such that nearly all values are within 1 ns of a multiple. 1 if there are too few values (fewer than 16, or
 * fewer than 8 different ones). O(n). */
int64_t gp_stat_tick(const int64_t *v, size_t n);

/* The ratio of means, mean(B) / mean(A), of two series in order of time, with a percentile interval from
 * GP_STAT_DRAWS resamplings of circular blocks of ceil(sqrt(n)) neighbours, because neighbours may be
 * correlated. The same SEED gives the same interval. It is an interval, not a test: one run per side does not
 * predict the next run. `confidence` is 1 - ALPHA, or 0 if a side has fewer than 2 values (then low = high =
 * estimate). O(GP_STAT_DRAWS * (sqrt n + sqrt m)). */
enum { GP_STAT_DRAWS = 2000 };
struct gp_stat_ratio gp_stat_ratio_of_means(const int64_t *a, size_t n, const int64_t *b, size_t m,
                                            double alpha, uint64_t seed);

#endif
