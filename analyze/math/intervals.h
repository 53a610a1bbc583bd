/* intervals.h -- sorted, disjoint time intervals and the arithmetic on them.
 * Knows nothing about events or GPUs. All times are ns; [begin, end) is half open; empty intervals vanish.
 *
 *     struct gp_intervals a = {0};
 *     gp_intervals_add(&a, 10, 20);
 *     gp_intervals_add(&a, 15, 30);
 *     gp_intervals_normalise(&a);                 // one interval, 10..30
 *     int64_t ns = gp_intervals_length(&a);       // 20
 */
#ifndef GP_ANALYZE_INTERVALS_H
#define GP_ANALYZE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

struct gp_interval {
    int64_t begin_ns, end_ns;
};

/* A zeroed set is empty. "Normal" means sorted and disjoint, touching ones joined. */
struct gp_intervals {
    GP_VEC(struct gp_interval) v;
};

/* Append [BEGIN, END); nothing if END <= BEGIN. If it begins no earlier than the last one it is joined at
 * once, so a set filled in order of time is always normal and stays small. */
void gp_intervals_add(struct gp_intervals *s, int64_t begin_ns, int64_t end_ns);
/* Sort and join. O(n) when it is normal already, O(n log n) otherwise. */
void gp_intervals_normalise(struct gp_intervals *s);
/* Sum of the lengths. S must be normal. */
int64_t gp_intervals_length(const struct gp_intervals *s);
/* Length of the part of A that is also in B. Both normal. O(na + nb). */
int64_t gp_intervals_overlap(const struct gp_intervals *a, const struct gp_intervals *b);
/* Length of the part of S inside [BEGIN, END). S normal. O(log n + hits). */
int64_t gp_intervals_within(const struct gp_intervals *s, int64_t begin_ns, int64_t end_ns);
void gp_intervals_release(struct gp_intervals *s);

#endif
