/* dist.h -- a distribution that merges exactly, whatever the order: count, sum, extremes and a histogram.
 *
 *     struct gp_dist d = {0};
 *     gp_dist_add(&d, dur_ns);
 *     int64_t median_ns = gp_dist_quantile(&d, 0.5);
 *     gp_dist_release(&d);
 */
#ifndef GP_ANALYZE_DIST_H
#define GP_ANALYZE_DIST_H

#include <stdint.h>
#include "analyze/math/serialize.h"

/* Count, sum, extremes, and a histogram with 8 buckets per power of two (values below 16 exact), which gives
 * quantiles with at most 1/16 relative error. Zeroed is empty. Negative values count as 0 in the
 * histogram. */
enum { GP_DIST_BUCKETS = 496 };
struct gp_dist {
    uint64_t n;
    int64_t sum, min, max;
    uint64_t sq_hi, sq_lo; /* sum of squares, 128 bits: exact, whatever the order of adding and merging */
    uint32_t *buckets;     /* GP_DIST_BUCKETS, NULL until needed */
};
void gp_dist_add(struct gp_dist *d, int64_t v);
void gp_dist_merge(struct gp_dist *to, const struct gp_dist *from);
/* 0 for fewer than two values (population formula: divided by n). */
double gp_dist_stddev(const struct gp_dist *d);
/* The value at quantile Q (0..1): min and max are exact. 0 when empty. */
int64_t gp_dist_quantile(const struct gp_dist *d, double q);
/* Sum of the values up to LIMIT, within 1/16; never more than the sum of all. */
int64_t gp_dist_sum_upto(const struct gp_dist *d, int64_t limit);
void gp_dist_release(struct gp_dist *d);
/* Save or load, as X says. */
void gp_dist_serialize(struct gp_serializer *x, struct gp_dist *d);

#endif
