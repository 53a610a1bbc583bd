// Distributions: exact sums and deviations, quantiles within their bound, and merging that does not show.
#include <stdlib.h>

#include <math.h>
#include "analyze/hta/hta.h"
#include "tests/unit/unit.h"

static struct gp_histogram dist_of(const int64_t *v, size_t n)
{
    struct gp_histogram d = {0};
    for (size_t i = 0; i < n; i++) gp_histogram_add(&d, v[i]);
    return d;
}

static void expect_near(double got, double want, double relative)
{
    if (fabs(got - want) > relative * fabs(want)) fail_msg("%.17g is not %.17g", got, want);
}

TEST(test_by_hand)
{
    const int64_t v[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* mean 5, squared deviations 32, 32 / 8 = 4, root 2 */
    struct gp_histogram d = dist_of(v, 8);
    assert_int_equal(d.n, 8);
    assert_int_equal(d.sum, 40);
    assert_int_equal(d.min, 2);
    assert_int_equal(d.max, 9);
    assert_true(gp_histogram_stddev(&d) == 2);
    assert_int_equal(gp_histogram_quantile(&d, 0), 2);
    assert_int_equal(gp_histogram_quantile(&d, 0.5), 4); /* the 4th of 8 */
    assert_int_equal(gp_histogram_quantile(&d, 0.51), 5);
    assert_int_equal(gp_histogram_quantile(&d, 1), 9);
    gp_histogram_release(&d);
}

TEST(test_few_values)
{
    struct gp_histogram d = {0};
    assert_int_equal(gp_histogram_quantile(&d, 0.5), 0);
    assert_true(gp_histogram_stddev(&d) == 0);
    gp_histogram_add(&d, 1000003);
    assert_true(gp_histogram_stddev(&d) == 0);
    assert_int_equal(gp_histogram_quantile(&d, 0.5), 1000003); /* exact: all values are equal */
    gp_histogram_add(&d, 1000003);
    assert_null(d.buckets);
    assert_int_equal(gp_histogram_quantile(&d, 0.99), 1000003);
    gp_histogram_release(&d);
}

/* Large values that differ little: what sums of squares in floating point get wrong. Deviations 0, 1, 2
 * around the mean: variance 2/3. */
TEST(test_nothing_cancels)
{
    const int64_t far = INT64_C(900000000000000);
    const int64_t v[] = {far, far + 1, far + 2};
    struct gp_histogram d = dist_of(v, 3);
    expect_near(gp_histogram_stddev(&d), sqrt(2.0 / 3), 1e-15);
    gp_histogram_release(&d);
    const int64_t w[] = {-far, far, 0, 0}; /* far squared times 2, by 4 */
    d = dist_of(w, 4);
    expect_near(gp_histogram_stddev(&d), (double)far / sqrt(2), 1e-15);
    gp_histogram_release(&d);
    const int64_t x[] = {-5, -4}; /* mean -4.5 */
    d = dist_of(x, 2);
    expect_near(gp_histogram_stddev(&d), 0.5, 1e-15);
    gp_histogram_release(&d);
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

TEST(test_quantiles_are_close)
{
    enum { N = 999 };
    static int64_t v[N];
    uint64_t seed = 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v[i] = (int64_t)(seed >> (2 + seed % 60)); /* of every magnitude, up to 2^62 */
    }
    struct gp_histogram d = dist_of(v, N);
    qsort(v, N, sizeof *v, compare);
    for (int i = 1; i < N - 1; i++) {
        int64_t got = gp_histogram_quantile(&d, (i + 0.5) / N); /* rank i + 1 of N */
        expect_near((double)got, (double)v[i], v[i] < 16 ? 0 : 1 / 16.0);
    }
    gp_histogram_release(&d);
}

static void expect_same(const struct gp_histogram *a, const struct gp_histogram *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->sum, b->sum);
    assert_int_equal(a->min, b->min);
    assert_int_equal(a->max, b->max);
    assert_true(gp_histogram_stddev(a) == gp_histogram_stddev(b));
    for (int q = 0; q <= 100; q++)
        assert_int_equal(gp_histogram_quantile(a, q / 100.0), gp_histogram_quantile(b, q / 100.0));
}

TEST(test_merging_does_not_show)
{
    const int64_t v[] = {5, 5, 5, 70000, 123456789, 0, 17, 17, INT64_C(3400000000)};
    struct gp_histogram all = dist_of(v, 9);
    for (size_t cut = 0; cut <= 9; cut++) {
        struct gp_histogram a = dist_of(v, cut), b = dist_of(v + cut, 9 - cut);
        gp_histogram_merge(&a, &b);
        expect_same(&a, &all);
        gp_histogram_release(&a);
        gp_histogram_release(&b);
    }
    gp_histogram_release(&all);
}

TEST(test_sums_stay_at_the_limit)
{
    struct gp_histogram d = {0};
    for (int i = 0; i < 20; i++) gp_histogram_add(&d, i % 2 ? INT64_MAX : 1);
    assert_int_equal(d.sum, INT64_MAX);
    assert_true(gp_histogram_stddev(&d) <= 0x1p62 && gp_histogram_stddev(&d) > 0);
    assert_int_equal(gp_histogram_quantile(&d, 0.25), 1);
    gp_histogram_release(&d);
}
