/* step_function.h -- a value over time that holds from each of its points until the next, and its integral.
 * Knows no events.
 *
 *     struct gp_step_function f = {0};
 *     gp_step_add(&f, 100, 2); gp_step_add(&f, 300, 4); gp_step_end(&f, 400);
 *     gp_step_area(&f, 200, 400);                 // 600
 *     gp_step_covered(&f, 0, 150);                // 50 ns
 *     GP_VEC_FREE(&f.points);
 */
#ifndef GP_ANALYZE_STEP_FUNCTION_H
#define GP_ANALYZE_STEP_FUNCTION_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

/* What sums up is only the difference to the first value: the integral of a large value that hardly changes,
 * far from the first point, is as exact as that near it. */
struct gp_step_point {
    int64_t at_ns;
    double value, before; /* from here on; the integral until here of what is above the first value */
};

/* A zeroed one is empty. It is known from first_ns to last_ns. */
struct gp_step_function {
    int64_t first_ns, last_ns;
    GP_VEC(struct gp_step_point) points;
};

/* No earlier than the last point. */
void gp_step_add(struct gp_step_function *f, int64_t at_ns, double value);
/* It is known until then; that may be before the last point. */
void gp_step_end(struct gp_step_function *f, int64_t last_ns);
/* The part of the time between that is known, in ns, and the integral over it. */
int64_t gp_step_covered(const struct gp_step_function *f, int64_t begin_ns, int64_t end_ns);
double gp_step_area(const struct gp_step_function *f, int64_t begin_ns, int64_t end_ns);
/* The mean between two times; not a number where nothing is known. */
double gp_step_mean(const struct gp_step_function *f, int64_t begin_ns, int64_t end_ns);
/* The last point that is not after AT_NS; the first one if all are. There must be one. O(log n). */
size_t gp_step_at(const struct gp_step_function *f, int64_t at_ns);
/* Where the value may change after AT_NS, which point I holds at; at most END_NS. */
static inline int64_t gp_step_until(const struct gp_step_function *f, size_t i, int64_t end_ns)
{
    return i + 1 < f->points.n && f->points.at[i + 1].at_ns < end_ns ? f->points.at[i + 1].at_ns : end_ns;
}

#endif
