#include "analyze/math/stat_moderated.h"

#include <math.h>

struct gp_stat_logs gp_stat_logs_of(const int64_t *v, size_t n)
{
    struct gp_stat_logs l = {0, 0, n};
    for (size_t i = 0; i < n; i++) l.mean += log(v[i] > 1 ? (double)v[i] : 1) / (double)n;
    for (size_t i = 0; i < n && n > 1; i++) {
        double off = log(v[i] > 1 ? (double)v[i] : 1) - l.mean;
        l.variance += off * off / (double)(n - 1);
    }
    return l;
}

/* Derivatives of the logarithm of the gamma function: by the recurrence up to where the series is exact. */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 10; x++) sum -= 1 / x;
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           y * (1 / 12. - y * (1 / 120. - y * (1 / 252. - y * (1 / 240. - y * (1 / 132.)))));
}

static double trigamma(double x)
{
    double sum = 0;
    for (; x < 10; x++) sum += 1 / (x * x);
    double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1 / 6. - y * (1 / 30. - y * (1 / 42. - y * (1 / 30.))));
}

/* The X for which trigamma(X) is V > 0: it falls without end. */
static double trigamma_inverse(double v)
{
    double low = 1e-8, high = 1e8;
    for (int i = 0; i < 200; i++) {
        double mid = sqrt(low * high);
        if (trigamma(mid) > v) low = mid;
        else high = mid;
    }
    return high;
}

/* Logarithms of variances that differ only by chance spread by trigamma(df / 2); any excess shows how much
 * the true variances differ. */
void gp_stat_spread_fit(struct gp_stat_spread *s, const double *variances, size_t n, double df)
{
    double mean = 0, spread = 0, offset = df > 0 ? digamma(df / 2) - log(df / 2) : 0;
    s->df = s->variance = 0;
    if (n < 3 || !(df > 0)) return;
    for (size_t i = 0; i < n; i++) mean += (log(variances[i]) - offset) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = log(variances[i]) - offset - mean;
        spread += off * off / (double)(n - 1);
    }
    spread -= trigamma(df / 2);
    s->df = spread > 0 ? fmin(2 * trigamma_inverse(spread), GP_STAT_PRIOR_MOST) : GP_STAT_PRIOR_MOST;
    s->variance = exp(mean + digamma(s->df / 2) - log(s->df / 2));
}

double gp_stat_moderated(struct gp_stat_ratio *r, const struct gp_stat_spread *s,
                         const struct gp_stat_logs *a, const struct gp_stat_logs *b, double variance,
                         double df, double alpha)
{
    *r = (struct gp_stat_ratio){1, 1, 1, 0};
    if (!a->n || !b->n) return 1;
    double all = s->df + df, usual = all > 0 ? (s->df * s->variance + df * variance) / all : 0;
    double off = b->mean - a->mean, error = sqrt(usual * (1 / (double)a->n + 1 / (double)b->n));
    r->estimate = r->low = r->high = exp(off);
    if (!(all > 0) || !(error > 0)) return 1;
    double reach = error * gp_stat_t_quantile(alpha / 2, all);
    r->low = exp(off - reach);
    r->high = exp(off + reach);
    r->confidence = 1 - alpha;
    return 2 * gp_stat_t_above(fabs(off) / error, all);
}
