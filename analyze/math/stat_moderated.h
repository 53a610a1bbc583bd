/* stat_moderated.h -- a t test for a handful of steps and many operations. Three steps per side leave four
 * degrees of freedom, which is little for one operation; but a step has many operations with similar
 * variation. The moderated test (Smyth 2004, as in limma) uses the other operations as prior knowledge, to
 * the degree that they agree. Knows nothing of traces, operations or verdicts. All functions are pure.
 *
 *     struct gp_stat_spread prior;
 *     gp_stat_spread_fit(&prior, variances, n_ops, df);                  // pooled variances of logarithms
 *     struct gp_stat_logs a = gp_stat_logs_of(base, n), b = gp_stat_logs_of(cur, m);
 *     struct gp_stat_ratio r;
 *     double p = gp_stat_moderated(&r, &prior, &a, &b, variance, n + m - 2, 0.05);
 */
#ifndef GP_ANALYZE_STAT_MODERATED_H
#define GP_ANALYZE_STAT_MODERATED_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/math/stat.h"

/* Mean and variance (divided by N - 1; 0 for fewer than 2) of the logarithms of N values; smaller ones than 1
 * count as 1. */
struct gp_stat_logs {
    double mean, variance;
    size_t n;
};
struct gp_stat_logs gp_stat_logs_of(const int64_t *v, size_t n);

/* What the variances of many operations have in common. */
struct gp_stat_spread {
    double df;       /* its weight in degrees of freedom; 0: none, they disagree or are too few */
    double variance; /* the usual one */
};
enum { GP_STAT_PRIOR_MOST = 20 }; /* what agreement is worth at most */
/* From N variances > 0 with DF degrees of freedom each. O(n). */
void gp_stat_spread_fit(struct gp_stat_spread *s, const double *variances, size_t n, double df);

/* The two-sided p of the difference of means, for one operation whose VARIANCE (pooled over both sides, DF
 * degrees of freedom) is drawn towards the usual one; 1 if nothing is known. R becomes the ratio b / a with
 * its interval, confidence 0 where that is unknown. 0 < ALPHA < 1. */
double gp_stat_moderated(struct gp_stat_ratio *r, const struct gp_stat_spread *s,
                         const struct gp_stat_logs *a, const struct gp_stat_logs *b, double variance,
                         double df, double alpha);

#endif
