// The moderated t test: variances that agree and disagree, and the test between them.
#include <math.h>
#include <stdlib.h>

#include "analyze/math/stat_moderated.h"
#include "tests/unit/unit.h"

static void assert_near(double value, double expected, double part)
{
    if (!(fabs(value - expected) <= part * fabs(expected))) fail_msg("%.12g is not %.12g", value, expected);
}

TEST(test_logs)
{
    /* log 100, log 200, log 400: mean log 200, each log 2 from it; variance 2 (log 2)^2 / 2 */
    struct gp_stat_logs l = gp_stat_logs_of((int64_t[]){100, 400, 200}, 3);
    assert_near(l.mean, log(200), 1e-14);
    assert_near(l.variance, log(2) * log(2), 1e-13);
    l = gp_stat_logs_of((int64_t[]){0}, 1); /* counts as 1 */
    assert_true(l.mean == 0 && l.variance == 0);
    l = gp_stat_logs_of(NULL, 0);
    assert_true(l.mean == 0 && l.variance == 0 && l.n == 0);
}

TEST(test_variances_that_agree)
{
    /* They spread less than chance would make them: all the knowledge there may be. With d0 = 20 and df = 4
     * the usual one is exp(log 0.01 - digamma(2) + log 2 + digamma(10) - log 10); digamma(2) = 0.4227843351,
     * digamma(10) = 2.2517525891. */
    double same[] = {0.01, 0.01, 0.01, 0.01};
    struct gp_stat_spread s;
    gp_stat_spread_fit(&s, same, 4, 4);
    assert_near(s.df, GP_STAT_PRIOR_MOST, 0);
    assert_near(s.variance, 0.01 * exp(2.2517525890667211 - 0.4227843350984671) / 5, 1e-9);
}

TEST(test_variances_that_disagree)
{
    /* log variances -2, 0, 2: variance 4. With df = 2 chance makes trigamma(1) = pi^2 / 6 = 1.6449 of it; d0
     * is twice the x with trigamma(x) = 2.3551. */
    double v[] = {exp(-2), 1, exp(2)};
    struct gp_stat_spread s;
    gp_stat_spread_fit(&s, v, 3, 2);
    double x = s.df / 2, trigamma = 0;
    for (int i = 0; i < 2000000; i++) trigamma += 1 / ((x + i) * (x + i)); /* the series that defines it */
    trigamma += 1 / (x + 2000000) + 0.5 / ((x + 2000000) * (x + 2000000));
    assert_near(trigamma, 4 - acos(-1) * acos(-1) / 6, 1e-9);
    assert_true(s.df > 1 && s.df < 2);
}

TEST(test_too_few_variances)
{
    struct gp_stat_spread s;
    gp_stat_spread_fit(&s, (double[]){1, 2}, 2, 4);
    assert_true(s.df == 0 && s.variance == 0);
    gp_stat_spread_fit(&s, (double[]){1, 2, 3}, 3, 0);
    assert_true(s.df == 0);
}

TEST(test_without_prior_it_is_students)
{
    /* Logs 0, 1, 2 and 3, 4, 5: variances 1, difference 3, error sqrt(2 / 3), t = 3.6742 with 4 degrees of
     * freedom: p = 0.021311641128756837. The 95% limit is 2.7764451052. */
    struct gp_stat_spread none = {0, 0};
    struct gp_stat_logs a = {1, 1, 3}, b = {4, 1, 3};
    struct gp_stat_ratio r;
    assert_near(gp_stat_moderated(&r, &none, &a, &b, 1, 4, 0.05), 0.021311641128756837, 1e-9);
    assert_near(r.estimate, exp(3), 1e-12);
    assert_near(r.low, exp(3 - 2.7764451051977987 * sqrt(2. / 3)), 1e-9);
    assert_near(r.high, exp(3 + 2.7764451051977987 * sqrt(2. / 3)), 1e-9);
    assert_near(r.confidence, 0.95, 1e-12);
}

TEST(test_prior_moves_the_variance)
{
    /* (6 x 4 + 4 x 1) / 10 = 2.8, error sqrt(2.8 x 2 / 3), 10 degrees of freedom: as Student's with these. */
    struct gp_stat_spread prior = {6, 4};
    struct gp_stat_logs a = {1, 1, 3}, b = {4, 1, 3};
    struct gp_stat_ratio r, swapped;
    double p = gp_stat_moderated(&r, &prior, &a, &b, 1, 4, 0.05);
    assert_near(p, 2 * gp_stat_t_above(3 / sqrt(2.8 * 2 / 3), 10), 1e-12);
    assert_near(gp_stat_moderated(&swapped, &prior, &b, &a, 1, 4, 0.05), p, 1e-12);
    assert_near(swapped.low * r.high, 1, 1e-12);
    assert_near(swapped.estimate * r.estimate, 1, 1e-12);
}

TEST(test_nothing_to_test)
{
    struct gp_stat_spread none = {0, 0};
    struct gp_stat_logs a = {1, 0, 1}, empty = {0, 0, 0};
    struct gp_stat_ratio r;
    assert_true(gp_stat_moderated(&r, &none, &a, &a, 0, 0, 0.05) == 1 && r.confidence == 0);
    assert_true(gp_stat_moderated(&r, &none, &a, &empty, 1, 4, 0.05) == 1 && r.confidence == 0);
}
