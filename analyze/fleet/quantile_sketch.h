/* quantile_sketch.h -- a distribution whose quantiles are at most 0.4% off, as a value: merging is exact,
 * commutative and associative, and its size depends on how many different values there are, not on how many
 * were added.
 *
 *     struct gp_sketch s = {0};
 *     gp_sketch_add(&s, own_ns);
 *     int64_t middle_ns = gp_sketch_median(&s), apart_ns = gp_sketch_deviation(&s, middle_ns);
 *     gp_sketch_release(&s);
 */
#ifndef GP_ANALYZE_FLEET_QUANTILE_SKETCH_H
#define GP_ANALYZE_FLEET_QUANTILE_SKETCH_H

#include <stdint.h>
#include "analyze/math/serialize.h"
#include "formats/base/vec.h"

/* Buckets have fixed borders: 128 per power of two, values below 128 exact. Negative values count as 0. */
enum { GP_SKETCH_BUCKETS = 128 + 56 * 128 };
struct gp_sketch_bucket {
    uint32_t index;
    uint64_t n;
};
struct gp_sketch {
    uint64_t n;
    int64_t sum;                        /* saturates */
    GP_VEC(struct gp_sketch_bucket) at; /* by index */
};

uint32_t gp_sketch_bucket_of(int64_t v);
/* The middle of bucket INDEX. */
int64_t gp_sketch_middle(uint32_t index);
void gp_sketch_add(struct gp_sketch *s, int64_t v);
void gp_sketch_merge(struct gp_sketch *to, const struct gp_sketch *from);
/* The lower median; 0 when empty. */
int64_t gp_sketch_median(const struct gp_sketch *s);
/* The median distance from MIDDLE, scaled to the standard deviation of a normal distribution (1.4826). */
int64_t gp_sketch_deviation(const struct gp_sketch *s, int64_t middle);
void gp_sketch_release(struct gp_sketch *s);
/* Save or load, as X says. */
void gp_sketch_serialize(struct gp_serializer *x, struct gp_sketch *s);

#endif
