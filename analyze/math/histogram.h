/* histogram.h -- a distribution that merges exactly, whatever the order: count, sum, extremes and a
 * histogram.
 *
 *     struct gp_histogram d = {0};
 *     gp_histogram_add(&d, dur_ns);
 *     int64_t median_ns = gp_histogram_quantile(&d, 0.5);
 *     gp_histogram_release(&d);
 */
#ifndef GP_ANALYZE_HISTOGRAM_H
#define GP_ANALYZE_HISTOGRAM_H

#include <stdint.h>
#include "analyze/math/serialize.h"

/* Count, sum, extremes, and a histogram with 8 buckets per power of two (values below 16 exact), which gives
 * quantiles with at most 1/16 relative error. Zeroed is empty. Negative values count as 0 in the
 * histogram. */
enum { GP_HISTOGRAM_BUCKETS = 496 };
struct gp_histogram {
    uint64_t n;
    int64_t sum, min, max;
    uint64_t sq_hi, sq_lo; /* sum of squares, 128 bits: exact, whatever the order of adding and merging */
    uint32_t *buckets;     /* GP_HISTOGRAM_BUCKETS, NULL until needed */
};
void gp_histogram_add(struct gp_histogram *d, int64_t v);
void gp_histogram_merge(struct gp_histogram *to, const struct gp_histogram *from);
/* 0 for fewer than two values (population formula: divided by n). */
double gp_histogram_stddev(const struct gp_histogram *d);
/* The value at quantile Q (0..1): min and max are exact. 0 when empty. */
int64_t gp_histogram_quantile(const struct gp_histogram *d, double q);
/* Sum of the values up to LIMIT, within 1/16; never more than the sum of all. */
int64_t gp_histogram_sum_upto(const struct gp_histogram *d, int64_t limit);
void gp_histogram_release(struct gp_histogram *d);
/* Save or load, as X says. */
void gp_histogram_serialize(struct gp_serializer *x, struct gp_histogram *d);

#endif
