// Rank tests against published tables, against counting all cases, and against figures of another
// implementation.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/math/stat.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

static void close_to(double got, double want, double part)
{
    if (fabs(got - want) <= part * fabs(want)) return;
    fail_msg("%.17g, not %.17g", got, want);
}

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

// ---- Mann-Whitney ----

/* Samples whose U is exactly that: of the pairs (a, b), U have b > a. No ties. */
static struct gp_stat_p with_u(size_t n, size_t m, size_t u)
{
    int64_t a[50], b[50];
    for (size_t i = 0; i < n; i++) a[i] = 1000 * (int64_t)(i + 1);
    for (size_t j = 0; j < m; j++) {
        size_t here = u < n ? u : n; // this many of A lie below
        b[j] = 1000 * (int64_t)here + 500 + (int64_t)j;
        u -= here;
    }
    return gp_stat_mann_whitney(a, n, b, m);
}

/* The largest U that is significant, two-sided, as printed in the tables of textbooks (after Mann and
 * Whitney, Auble, Milton). */
TEST(critical_values_of_u_are_those_published)
{
    static const struct {
        size_t n, m, u5, u1; // at 0.05 and 0.01; 999: never
    } table[] = {
        {3, 3, 999, 999}, {4, 4, 0, 999},    {5, 5, 2, 0},       {6, 6, 5, 2},     {7, 7, 8, 4},
        {8, 8, 13, 7},    {9, 9, 17, 11},    {10, 10, 23, 16},   {11, 11, 30, 21}, {12, 12, 37, 27},
        {13, 13, 45, 34}, {14, 14, 55, 42},  {15, 15, 64, 51},   {16, 16, 75, 60}, {17, 17, 87, 70},
        {18, 18, 99, 81}, {19, 19, 113, 93}, {20, 20, 127, 105}, {3, 5, 0, 999},   {3, 8, 2, 999},
        {3, 10, 3, 0},    {4, 7, 3, 0},      {4, 10, 5, 2},      {5, 6, 3, 1},     {5, 8, 6, 2},
        {5, 10, 8, 4},    {6, 9, 10, 5},     {7, 10, 14, 9},     {8, 20, 41, 30},  {10, 20, 55, 42},
        {2, 8, 0, 999},   {15, 20, 90, 73},
    };
    for (size_t i = 0; i < GP_COUNT(table); i++) {
        size_t n = table[i].n, m = table[i].m, u5 = table[i].u5, u1 = table[i].u1;
        for (int swap = 0; swap < 2; swap++) {
            size_t x = swap ? m : n, y = swap ? n : m;
            if (u5 == 999) assert_true(with_u(x, y, 0).p > 0.05);
            else assert_true(with_u(x, y, u5).p <= 0.05 && with_u(x, y, u5 + 1).p > 0.05);
            if (u1 == 999) assert_true(with_u(x, y, 0).p > 0.01);
            else assert_true(with_u(x, y, u1).p <= 0.01 && with_u(x, y, u1 + 1).p > 0.01);
        }
    }
}

/* 2 / C(2n, n). */
TEST(the_smallest_p_is_known)
{
    static const double p[] = {1,        2 / 6.,    2 / 20.,    2 / 70.,    2 / 252.,
                               2 / 924., 2 / 3432., 2 / 12870., 2 / 48620., 2 / 184756.};
    static const double printed[] = {0.1,       0.028571,  0.0079365, 0.0021645,
                                     5.8275e-4, 1.5540e-4, 4.1135e-5, 1.0825e-5};
    for (size_t n = 1; n <= 10; n++) {
        close_to(with_u(n, n, 0).p, p[n - 1], 1e-15);
        close_to(gp_stat_least_p(n, n), p[n - 1], 1e-14);
        if (n >= 3) close_to(gp_stat_least_p(n, n), printed[n - 3], 1e-4);
    }
    close_to(with_u(25, 25, 0).p, 2 / 126410606437752., 1e-15); // C(50, 25)
    close_to(gp_stat_least_p(2, 8), 2 / 45., 1e-15);
    close_to(gp_stat_least_p(1, 1000000), 2 / 1000001., 1e-15);
    assert_true(gp_stat_least_p(3, 0) == 1);
    assert_true(gp_stat_least_p(1000000, 1000000) < 1e-300);
}

/* Hollander and Wolfe 1973, p. 69: permeability of membranes; one-sided p 0.1272, printed in R's manual,
 * too. */
TEST(the_example_of_a_textbook)
{
    static const int64_t x[] = {80, 83, 189, 104, 145, 138, 191, 164, 73, 146}, y[] = {115, 88, 90, 74, 121};
    struct gp_stat_p t = gp_stat_mann_whitney(x, 10, y, 5);
    close_to(t.p_less, 0.1272, 1e-3);
    close_to(t.p, 0.2544, 1e-3);
    assert_int_equal(t.how, GP_STAT_EXACT);
}

/* All ways to choose M of the values, counted. */
static void enumerate_ranks(const int64_t *v, size_t n, size_t m, double *less, double *more)
{
    size_t all = n + m;
    int64_t rank[16], seen = 0, at_most = 0, at_least = 0, total = 0;
    for (size_t i = 0; i < all; i++) {
        rank[i] = 1;
        for (size_t j = 0; j < all; j++) rank[i] += 2 * (v[j] < v[i]) + (v[j] == v[i]); // doubled
        if (i >= n) seen += rank[i];
    }
    for (uint32_t set = 0; set < 1u << all; set++) {
        int64_t sum = 0;
        size_t k = 0;
        for (size_t i = 0; i < all; i++)
            if (set >> i & 1) sum += rank[i], k++;
        if (k != m) continue;
        total++, at_most += sum <= seen, at_least += sum >= seen;
    }
    *less = (double)at_most / (double)total;
    *more = (double)at_least / (double)total;
}

TEST(ranks_with_ties_equal_counting_all_cases)
{
    uint64_t seed = 1;
    for (int round = 0; round < 400; round++) {
        size_t n = 1 + random_below(&seed, 5), m = 1 + random_below(&seed, 5);
        int64_t v[10];
        uint64_t kinds = 1 + random_below(&seed, 12);
        for (size_t i = 0; i < n + m; i++) v[i] = 2000 + 32 * (int64_t)random_below(&seed, kinds);
        double less, more;
        enumerate_ranks(v, n, m, &less, &more);
        struct gp_stat_p t = gp_stat_mann_whitney(v, n, v + n, m);
        close_to(t.p_less, less, 1e-14);
        close_to(t.p_more, more, 1e-14);
        close_to(t.p, fmin(1, 2 * fmin(less, more)), 1e-14);
    }
}

/* scipy.stats.mannwhitneyu, "asymptotic" with continuity correction, and "exact". */
TEST(large_samples_equal_another_implementation)
{
    int64_t a[40], b[35], c[20], d[25];
    for (int i = 0; i < 40; i++) a[i] = 1000 + (i * i * 7 + i * 3) % 17;
    for (int i = 0; i < 35; i++) b[i] = 1002 + (i * i * 5 + i * 11) % 19;
    struct gp_stat_p t = gp_stat_mann_whitney(a, 40, b, 35);
    assert_int_equal(t.how, GP_STAT_NORMAL);
    close_to(t.p, 0.005732080163634772, 1e-9);
    close_to(t.p_more, 0.002866040081817386, 1e-9);
    close_to(t.p_less, 0.9972260728831603, 1e-9);
    for (int i = 0; i < 20; i++) c[i] = 3 * i;
    for (int i = 0; i < 25; i++) d[i] = 3 * i + 10;
    close_to(gp_stat_mann_whitney(c, 20, d, 25).p, 0.008570229869246798, 1e-12);
}

/* z = (312.5 - 200 - 0.5) / 51.54 = 2.173 and (325 - 209 - 0.5) / 53.07 = 2.176: p = 0.0298 and 0.0295. Scipy
 * has 0.02888 for the first when exact. */
TEST(exact_and_normal_meet)
{
    struct gp_stat_p exact = with_u(25, 25, 200), normal = with_u(25, 26, 209);
    assert_int_equal(exact.how, GP_STAT_EXACT);
    assert_int_equal(normal.how, GP_STAT_NORMAL);
    close_to(normal.p, 0.0295, 2e-3);
    close_to(exact.p, 0.02888127183114, 1e-12);
}

TEST(where_there_is_nothing_to_test_p_is_1)
{
    static const int64_t same[60] = {0};
    struct gp_stat_p t[] = {
        gp_stat_mann_whitney(NULL, 0, same, 5),    gp_stat_mann_whitney(same, 5, NULL, 0),
        gp_stat_mann_whitney(same, 5, same, 5),    gp_stat_mann_whitney(same, 60, same, 60),
        gp_stat_signed_rank_ratio(same, same, 60), gp_stat_signed_rank_ratio(NULL, NULL, 0),
    };
    for (size_t i = 0; i < GP_COUNT(t); i++) {
        assert_true(t[i].p == 1);
        assert_int_equal(t[i].how, GP_STAT_NONE);
    }
}

TEST(swapped_sides_swap_tails)
{
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + random_below(&seed, 40), m = 1 + random_below(&seed, 40);
        int64_t a[40], b[40];
        for (size_t i = 0; i < n; i++) a[i] = (int64_t)random_below(&seed, 30);
        for (size_t i = 0; i < m; i++) b[i] = (int64_t)random_below(&seed, 30);
        struct gp_stat_p t = gp_stat_mann_whitney(a, n, b, m), u = gp_stat_mann_whitney(b, m, a, n);
        close_to(t.p, u.p, 1e-12);
        close_to(t.p_more, u.p_less, 1e-12);
        size_t k = n < m ? n : m;
        t = gp_stat_signed_rank_ratio(a, b, k), u = gp_stat_signed_rank_ratio(b, a, k);
        close_to(t.p, u.p, 1e-12);
        close_to(t.p_more, u.p_less, 1e-12);
    }
}

TEST(the_largest_values_do_no_harm)
{
    static const int64_t a[] = {INT64_MIN, INT64_MIN, INT64_MIN}, b[] = {INT64_MAX, INT64_MAX, INT64_MAX - 1};
    close_to(gp_stat_mann_whitney(a, 3, b, 3).p, 0.1, 1e-15);
    close_to(gp_stat_signed_rank_ratio(a, b, 3).p, 0.25, 1e-15);
    close_to(gp_stat_ratio(a, 3, b, 3, 0.05).estimate, 0x1p63, 1e-15);
    close_to(gp_stat_ratio_paired(b, a, 3, 0.05).estimate, 0x1p-63, 1e-15);
    close_to(gp_stat_median(b, 3), 0x1p63, 1e-15);
    assert_true(gp_stat_mad(a, 3) == 0);
}

// ---- signed ranks ----

/* Of differences: the ratios are as large as these, in the same order. */
static struct gp_stat_p signed_rank(const int64_t *a, const int64_t *b, size_t n)
{
    int64_t x[64], y[64];
    for (size_t i = 0; i < n; i++) {
        int64_t d = b[i] - a[i];
        x[i] = d < 0 ? 1 - d : 1;
        y[i] = d > 0 ? 1 + d : 1;
    }
    return gp_stat_signed_rank_ratio(x, y, n);
}

/* Differences 1 .. n, of which those that sum to T are negative. */
static struct gp_stat_p with_t(size_t n, size_t t)
{
    int64_t a[64], b[64];
    for (size_t i = n; i-- > 0;) {
        int64_t d = (int64_t)i + 1;
        bool negative = (size_t)d <= t;
        if (negative) t -= (size_t)d;
        a[i] = 1000, b[i] = negative ? 1000 - d : 1000 + d;
    }
    assert_int_equal(t, 0);
    return signed_rank(a, b, n);
}

/* The largest smaller sum of ranks that is significant, two-sided (McCornack 1965; the tables of
 * textbooks). */
TEST(critical_values_of_signed_ranks_are_those_published)
{
    static const struct {
        size_t n, t5, t1;
    } table[] = {
        {5, 999, 999},  {6, 0, 999},    {7, 2, 999},  {8, 3, 0},    {9, 5, 1},     {10, 8, 3},
        {11, 10, 5},    {12, 13, 7},    {13, 17, 9},  {14, 21, 12}, {15, 25, 15},  {16, 29, 19},
        {17, 34, 23},   {18, 40, 27},   {19, 46, 32}, {20, 52, 37}, {21, 58, 42},  {22, 65, 48},
        {23, 73, 54},   {24, 81, 61},   {25, 89, 68}, {26, 98, 75}, {27, 107, 83}, {28, 116, 91},
        {29, 126, 100}, {30, 137, 109},
    };
    for (size_t i = 0; i < GP_COUNT(table); i++) {
        size_t n = table[i].n, t5 = table[i].t5, t1 = table[i].t1;
        if (t5 == 999) assert_true(with_t(n, 0).p > 0.05);
        else assert_true(with_t(n, t5).p <= 0.05 && with_t(n, t5 + 1).p > 0.05);
        if (t1 == 999) assert_true(with_t(n, 0).p > 0.01);
        else assert_true(with_t(n, t1).p <= 0.01 && with_t(n, t1 + 1).p > 0.01);
    }
    close_to(with_t(10, 0).p, 2 / 1024., 1e-15);
    close_to(gp_stat_least_p_pairs(10), 2 / 1024., 1e-15);
    close_to(with_t(40, 0).p, 0x1p-39, 1e-15);
}

/* Hollander and Wolfe 1973, p. 29: depression scale; V = 40, one-sided p 0.01953. */
TEST(the_paired_example_of_a_textbook)
{
    static const int64_t x[] = {1830, 500, 1620, 2480, 1680, 1880, 1550, 3060, 1300};
    static const int64_t y[] = {878, 647, 598, 2050, 1060, 1290, 1060, 3140, 1290};
    struct gp_stat_p t = signed_rank(x, y, 9);
    close_to(t.p_less, 10 / 512., 1e-14);
    close_to(t.p, 20 / 512., 1e-14);
}

TEST(signed_ranks_with_ties_and_zeros_equal_counting_all_cases)
{
    uint64_t seed = 3;
    for (int round = 0; round < 400; round++) {
        size_t n = 1 + random_below(&seed, 10), used = 0;
        int64_t a[10], b[10], d[10], seen = 0, at_most = 0, at_least = 0;
        uint64_t kinds = 1 + random_below(&seed, 8);
        for (size_t i = 0; i < n; i++) {
            a[i] = 5000, b[i] = 5000 + (int64_t)random_below(&seed, 2 * kinds + 1) - (int64_t)kinds;
            if (b[i] != a[i]) d[used++] = b[i] - a[i];
        }
        struct gp_stat_p t = signed_rank(a, b, n);
        if (!used) {
            assert_int_equal(t.how, GP_STAT_NONE);
            continue;
        }
        int64_t rank[10];
        for (size_t i = 0; i < used; i++) {
            rank[i] = 1;
            for (size_t j = 0; j < used; j++)
                rank[i] += 2 * (llabs(d[j]) < llabs(d[i])) + (llabs(d[j]) == llabs(d[i]));
            if (d[i] > 0) seen += rank[i];
        }
        for (uint32_t set = 0; set < 1u << used; set++) {
            int64_t sum = 0;
            for (size_t i = 0; i < used; i++) sum += set >> i & 1 ? rank[i] : 0;
            at_most += sum <= seen, at_least += sum >= seen;
        }
        double all = (double)(1u << used);
        assert_int_equal(t.n, used);
        close_to(t.p_less, (double)at_most / all, 1e-14);
        close_to(t.p_more, (double)at_least / all, 1e-14);
    }
}

/* scipy.stats.wilcoxon, "approx" with continuity correction. */
TEST(many_pairs_equal_another_implementation)
{
    int64_t x[60], y[60];
    for (int i = 0; i < 60; i++) x[i] = 1000 + i * 37 % 101, y[i] = 1003 + i * 53 % 97;
    struct gp_stat_p t = signed_rank(x, y, 60);
    assert_int_equal(t.how, GP_STAT_NORMAL);
    close_to(t.p, 0.7824961506995411, 1e-9);
    close_to(t.p_more, 0.6115761513168171, 1e-9);
    close_to(t.p_less, 0.3912480753497706, 1e-9);
}

/* Ratios 3/2, 5/4, 2/3 (which is as far from 1 as 3/2), 7/8 and, too large for products, 1 + 2^-62 and less
 * than that. In order of size: 1 + 1/(2^62+1), 1 + 2^-62, 8/7 (less), 5/4, then 3/2 and 2/3 (less) tied at
 * 5.5. The sum of those that are more: 1 + 2 + 4 + 5.5. */
TEST(ratios_are_compared_exactly)
{
    int64_t big = INT64_C(1) << 62;
    int64_t a[] = {2000, 4000, 3000, 8000, big, big + 1}, b[] = {3000, 5000, 2000, 7000, big + 1, big + 2};
    struct gp_stat_p t = gp_stat_signed_rank_ratio(a, b, 6);
    double less, more, doubled[] = {2, 4, 6, 8, 11, 11}, seen = 25;
    int at_most = 0, at_least = 0;
    for (int set = 0; set < 64; set++) {
        double sum = 0;
        for (int i = 0; i < 6; i++) sum += set >> i & 1 ? doubled[i] : 0;
        at_most += sum <= seen, at_least += sum >= seen;
    }
    less = at_most / 64., more = at_least / 64.;
    close_to(t.p_less, less, 1e-15);
    close_to(t.p_more, more, 1e-15);
}

// ---- ratios ----

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median_of(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : sqrt(v[n / 2 - 1] * v[n / 2]);
}

/* Tables of K for 95% (Campbell and Gardner 1988): the K-th smallest and largest difference. */
TEST(intervals_begin_where_the_tables_say)
{
    static const struct {
        size_t n, k;
    } sides[] = {{5, 3}, {6, 6}, {7, 9}, {8, 14}, {9, 18}, {10, 24}, {12, 38}, {15, 65}, {20, 128}},
      pairs[] = {{6, 1}, {7, 3}, {8, 4}, {9, 6}, {10, 9}, {12, 14}, {15, 26}, {20, 53}, {30, 138}};
    static double all[1000];
    int64_t a[32], b[32];
    for (size_t t = 0; t < GP_COUNT(sides); t++) {
        size_t n = sides[t].n, k = 0;
        for (size_t i = 0; i < n; i++)
            a[i] = 1000 + 17 * (int64_t)(i * i), b[i] = 1100 + 23 * (int64_t)(i * i);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) all[k++] = (double)b[j] / (double)a[i];
        struct gp_stat_ratio r = gp_stat_ratio(a, n, b, n, 0.05);
        close_to(r.estimate, median_of(all, k), 1e-15);
        close_to(r.low, all[sides[t].k - 1], 1e-15);
        close_to(r.high, all[k - sides[t].k], 1e-15);
        assert_true(r.confidence >= 0.95 && r.confidence < 0.98);
    }
    for (size_t t = 0; t < GP_COUNT(pairs); t++) {
        size_t n = pairs[t].n, k = 0;
        for (size_t i = 0; i < n; i++) a[i] = 1000, b[i] = 950 + 7 * (int64_t)(i * i);
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++) all[k++] = sqrt((double)b[i] / 1000 * ((double)b[j] / 1000));
        struct gp_stat_ratio r = gp_stat_ratio_paired(a, b, n, 0.05);
        close_to(r.estimate, median_of(all, k), 1e-14);
        close_to(r.low, all[pairs[t].k - 1], 1e-14);
        close_to(r.high, all[k - pairs[t].k], 1e-14);
        assert_true(r.confidence >= 0.95 && r.confidence < 0.98);
    }
}

TEST(random_ratios_equal_sorting_them_all)
{
    static double all[4000];
    int64_t a[60], b[60];
    uint64_t seed = 11;
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + random_below(&seed, 60), m = 1 + random_below(&seed, 60), k = 0;
        for (size_t i = 0; i < 60; i++)
            a[i] = (int64_t)random_below(&seed, 50), b[i] = (int64_t)random_below(&seed, 50); // 0 counts as 1
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++) all[k++] = (double)(b[j] ? b[j] : 1) / (double)(a[i] ? a[i] : 1);
        struct gp_stat_ratio r = gp_stat_ratio(a, n, b, m, 0.05);
        close_to(r.estimate, median_of(all, k), 1e-14);
        assert_true(r.low <= r.estimate && r.estimate <= r.high);
        struct gp_stat_ratio back = gp_stat_ratio(b, m, a, n, 0.05);
        close_to(back.estimate, 1 / r.estimate, 1e-14);
        close_to(back.low, 1 / r.high, 1e-14);
        assert_true(r.confidence == back.confidence);
        k = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++)
                all[k++] = sqrt((double)(b[i] ? b[i] : 1) / (double)(a[i] ? a[i] : 1) *
                                (double)(b[j] ? b[j] : 1) / (double)(a[j] ? a[j] : 1));
        close_to(gp_stat_ratio_paired(a, b, n, 0.05).estimate, median_of(all, k), 1e-14);
    }
}

/* 3 and 3: of C(6, 3) = 20 orders one lies beyond the whole range on each side. */
TEST(too_few_values_get_the_widest_interval_and_what_it_is_worth)
{
    static const int64_t a[] = {100, 101, 102}, b[] = {110, 111, 112};
    struct gp_stat_ratio r = gp_stat_ratio(a, 3, b, 3, 0.05);
    close_to(r.confidence, 0.9, 1e-15);
    close_to(r.low, 110. / 102, 1e-15);
    close_to(r.high, 112. / 100, 1e-15);
    r = gp_stat_ratio_paired(a, b, 3, 0.05);
    close_to(r.confidence, 0.75, 1e-15);
    r = gp_stat_ratio(a, 1, b, 1, 0.05);
    assert_true(r.confidence == 0 && r.low == r.high);
    assert_true(gp_stat_ratio(a, 3, b, 0, 0.05).confidence == 0);
    assert_true(gp_stat_ratio(a, 3, b, 0, 0.05).estimate == 1);
    assert_true(gp_stat_ratio_paired(NULL, NULL, 0, 0.05).confidence == 0);
    int64_t many[60];
    for (int i = 0; i < 60; i++) many[i] = 100 + i;
    close_to(gp_stat_ratio(a, 1, many, 60, 0.01).confidence, 1 - 2 / 61., 1e-14);
}

TEST(many_values_get_a_narrow_interval_soon)
{
    enum { N = 20000 };
    int64_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    for (int i = 0; i < N; i++) a[i] = 10000 + (int64_t)i * 7919 % 1000;
    for (int i = 0; i < N; i++) b[i] = a[i] * 105 / 100 + i * 31 % 41 - 20;
    struct gp_stat_ratio r = gp_stat_ratio(a, N, b, N, 0.05);
    close_to(r.estimate, 1.05, 1e-3);
    assert_true(r.low > 1.04 && r.high < 1.06 && r.confidence >= 0.95);
    r = gp_stat_ratio_paired(a, b, N, 0.05);
    close_to(r.estimate, 1.05, 1e-3);
    assert_true(r.low > 1.04 && r.high < 1.06 && r.confidence >= 0.95);
    assert_true(gp_stat_signed_rank_ratio(a, b, N).p < 1e-9);
    free(a);
    free(b);
}

/* An interval covers what is true as often as it says: here the ratio is 1, and an interval that leaves it
 * out is wrong. */
TEST(intervals_cover_the_truth)
{
    enum { ROUNDS = 2000 };
    uint64_t seed = 5;
    int wrong = 0, wrong_pairs = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t a[10], b[10];
        for (int i = 0; i < 10; i++) {
            a[i] = 100000 + (int64_t)random_below(&seed, 5000);
            b[i] = 100000 + (int64_t)random_below(&seed, 5000);
        }
        struct gp_stat_ratio r = gp_stat_ratio(a, 10, b, 10, 0.05), p = gp_stat_ratio_paired(a, b, 10, 0.05);
        wrong += r.low > 1 || r.high < 1;
        wrong_pairs += p.low > 1 || p.high < 1;
    }
    // The exact rates are 0.0433 and 0.0488; 4 standard deviations are 0.018 and 0.019.
    assert_true(wrong > ROUNDS * 25 / 1000 && wrong < ROUNDS * 62 / 1000);
    assert_true(wrong_pairs > ROUNDS * 29 / 1000 && wrong_pairs < ROUNDS * 68 / 1000);
}

TEST(medians_and_deviations)
{
    static const int64_t v[] = {9, 1, 1, 6, 2, 2, 4}; // median 2, distances 7 1 1 4 0 0 2
    assert_true(gp_stat_median(v, 7) == 2);
    assert_true(gp_stat_mad(v, 7) == 1);
    assert_true(gp_stat_median(v, 2) == 5);
    assert_true(gp_stat_mad(v, 2) == 4);
    assert_true(gp_stat_median(NULL, 0) == 0 && gp_stat_mad(NULL, 0) == 0);
}

// ---- Welch ----

/* scipy.stats.ttest_ind(log b, log a, equal_var=False); the interval from its quantile at 4.357890608681024
 * degrees. */
TEST(the_t_test_equals_another_implementation)
{
    static const int64_t a[] = {100000, 101000, 99500}, b[] = {104000, 105500, 103800, 104700};
    struct gp_stat_p t = gp_stat_welch(a, 3, b, 4);
    assert_int_equal(t.how, GP_STAT_T);
    close_to(t.p, 0.0012728380317176334, 1e-9);
    close_to(t.p_more, 0.0006364190158588167, 1e-9);
    close_to(t.p_less, 0.9993635809841412, 1e-9);
    struct gp_stat_ratio r = gp_stat_ratio_welch(a, 3, b, 4, 0.05);
    close_to(r.estimate, 1.0432602020044497, 1e-12);
    close_to(r.low, 1.0272989661642404, 1e-11);
    close_to(r.high, 1.0594694289922586, 1e-11);
    assert_true(r.confidence == 0.95);
    int64_t x[60], y[50];
    for (int i = 0; i < 60; i++) x[i] = 1000 + i * 37 % 101;
    for (int i = 0; i < 50; i++) y[i] = 1003 + i * 53 % 97;
    close_to(gp_stat_welch(x, 60, y, 50).p, 0.8244823530821863, 1e-9);
    static const int64_t two[] = {100, 101}, more[] = {200, 220};
    close_to(gp_stat_welch(two, 2, more, 2).p, 0.03917116827177179, 1e-9);
}

/* Student's table: of 2 against 2 with equal variances, df = 2, t = 4.3027 is 0.05. Logarithms 0, 2h against
 * d, d + 2h have the variance h * h of their means each: t = d / (sqrt(2) h). */
TEST(the_t_test_equals_the_table)
{
    const double big = 1e12, h = 0.01, d = 4.302653 * sqrt(2) * h;
    int64_t a[] = {(int64_t)big, (int64_t)(big * exp(2 * h))};
    int64_t b[] = {(int64_t)(big * exp(d)), (int64_t)(big * exp(d + 2 * h))};
    close_to(gp_stat_welch(a, 2, b, 2).p, 0.05, 1e-6);
    close_to(gp_stat_ratio_welch(a, 2, b, 2, 0.05).low, 1, 1e-7);
}

TEST(the_t_test_needs_two_values_that_differ)
{
    static const int64_t same[] = {777, 777, 777}, other[] = {800, 800, 800};
    assert_int_equal(gp_stat_welch(same, 3, other, 3).how, GP_STAT_NONE);
    assert_int_equal(gp_stat_welch(same, 1, other, 3).how, GP_STAT_NONE);
    struct gp_stat_ratio r = gp_stat_ratio_welch(same, 3, other, 3, 0.05);
    close_to(r.estimate, 800. / 777, 1e-12);
    assert_true(r.confidence == 0 && r.low == r.high);
    close_to(gp_stat_ratio_welch(same, 1, other, 1, 0.05).estimate, 800. / 777, 1e-12);
    assert_true(gp_stat_ratio_welch(NULL, 0, other, 1, 0.05).estimate == 1);
}

// ---- many tests ----

/* Benjamini and Hochberg 1995, section 5: of these 15 the first 4 are found at 0.05. */
TEST(many_tests_are_adjusted_as_published)
{
    double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                  0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    double want[] = {0.0015,           0.003,           0.0095,           0.035625,        0.0603,
                     0.0298 * 15 / 7,  0.0298 * 15 / 7, 0.0645,           0.0765,          0.486,
                     0.4262 * 15 / 11, 0.714875,        0.6528 * 15 / 13, 0.759 * 15 / 14, 1};
    double q[15], shuffled[17], r[17];
    gp_stat_adjust(p, q, 15);
    for (int i = 0; i < 15; i++) {
        close_to(q[i], want[i], 1e-12);
        shuffled[i * 7 % 15] = p[i];
        assert_int_equal(q[i] <= 0.05, i < 4);
    }
    shuffled[15] = shuffled[16] = NAN;
    gp_stat_adjust(shuffled, r, 17);
    for (int i = 0; i < 15; i++) assert_true(r[i * 7 % 15] == q[i]);
    assert_true(isnan(r[15]) && isnan(r[16]));
    gp_stat_adjust(p, p, 15); // in place
    assert_memory_equal(p, q, sizeof p);
    gp_stat_adjust(NULL, NULL, 0);
}

TEST(how_many_steps_it_takes)
{
    assert_int_equal(gp_stat_least_n(0.05, 0), 4);
    assert_int_equal(gp_stat_least_n(0.05, 13), 6);
    assert_int_equal(gp_stat_least_n(0.05, 60), 7);
    assert_int_equal(gp_stat_least_n(0.05, 200), 8);
    assert_int_equal(gp_stat_least_n(0.05, 1000), 9);
    assert_int_equal(gp_stat_least_pairs(0.05, 1), 6);  // 2 / 64
    assert_int_equal(gp_stat_least_pairs(0.05, 10), 9); // 2 / 512 = 0.0039
    assert_int_equal(gp_stat_enough_n(1.05, 0.001, 0.05, 1), 4);
    // 2 * pi / 3 * ((1.959964 + 1.281552) * 0.02 / log 1.02)^2 = 22.4
    assert_int_equal(gp_stat_enough_n(1.02, 0.02, 0.05, 1), 23);
    assert_int_equal(gp_stat_enough_n(1 / 1.02, 0.02, 0.05, 1), 23);
    assert_int_equal(gp_stat_enough_n(1, 0.02, 0.05, 1), 0);
    assert_int_equal(gp_stat_enough_n(1.0000001, 0.5, 0.05, 1), 0);
    assert_int_equal(gp_stat_enough_n(NAN, 0.5, 0.05, 1), 0);
}

// ---- the clock, the bootstrap ----

TEST(ticks_of_clocks_are_found)
{
    static const int64_t ticks[] = {1, 10, 32, 64, 100, 1000};
    int64_t v[200];
    uint64_t seed = 9;
    for (size_t k = 0; k < GP_COUNT(ticks); k++) {
        for (int i = 0; i < 200; i++) v[i] = ticks[k] * (3000 + (int64_t)random_below(&seed, 997));
        assert_int_equal(gp_stat_tick(v, 200), ticks[k]);
        for (int i = 0; i < 200 && ticks[k] > 1; i++) v[i] += (int64_t)random_below(&seed, 3) - 1;
        assert_int_equal(gp_stat_tick(v, 200), ticks[k]);
    }
    assert_int_equal(gp_stat_tick(v, 15), 1);
    for (int i = 0; i < 200; i++) v[i] = 32000 * (1 + i % 7); // too few different ones
    assert_int_equal(gp_stat_tick(v, 200), 1);
    for (int i = 0; i < 200; i++) v[i] = -32 * (3000 + i * 13);
    assert_int_equal(gp_stat_tick(v, 200), 32);
    assert_int_equal(gp_stat_tick(NULL, 0), 1);
}

TEST(the_bootstrap_is_reproducible_and_covers)
{
    int64_t a[50], b[50];
    uint64_t seed = 21;
    for (int i = 0; i < 50; i++)
        a[i] = 100000 + (int64_t)random_below(&seed, 10000),
        b[i] = 110000 + (int64_t)random_below(&seed, 10000);
    struct gp_stat_ratio r = gp_stat_ratio_of_means(a, 50, b, 50, 0.05, 42);
    struct gp_stat_ratio again = gp_stat_ratio_of_means(a, 50, b, 50, 0.05, 42);
    struct gp_stat_ratio other = gp_stat_ratio_of_means(a, 50, b, 50, 0.05, 43);
    assert_memory_equal(&r, &again, sizeof r);
    assert_true(r.estimate == other.estimate && r.low != other.low);
    assert_true(r.low > 1.06 && r.low < r.estimate && r.estimate < r.high && r.high < 1.13);
    struct gp_stat_ratio one = gp_stat_ratio_of_means(a, 1, b, 50, 0.05, 42);
    assert_true(one.confidence == 0 && one.low == one.estimate);
    assert_true(gp_stat_ratio_of_means(NULL, 0, b, 50, 0.05, 42).estimate == 1);
    // A constant series has no other mean.
    for (int i = 0; i < 50; i++) a[i] = 2000, b[i] = 3000;
    r = gp_stat_ratio_of_means(a, 50, b, 50, 0.05, 1);
    assert_true(r.low == 1.5 && r.high == 1.5);
}

/* Steps that stay slow or fast for 10 at a time vary more in their mean than their number suggests: blocks
 * keep that. */
TEST(the_bootstrap_knows_neighbours)
{
    int64_t runs[100], mixed[100];
    for (int i = 0; i < 100; i++) runs[i] = i / 10 % 2 ? 1100 : 1000, mixed[i] = i % 2 ? 1100 : 1000;
    struct gp_stat_ratio r = gp_stat_ratio_of_means(runs, 100, runs, 100, 0.05, 3);
    struct gp_stat_ratio m = gp_stat_ratio_of_means(mixed, 100, mixed, 100, 0.05, 3);
    assert_true(r.high - r.low > 4 * (m.high - m.low));
}
