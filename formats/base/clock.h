/* clock.h -- the clocks of the system as integer nanoseconds.
 *
 *     int64_t begin_ns = gp_clock_ns(CLOCK_MONOTONIC);
 */
#ifndef GP_FORMATS_BASE_CLOCK_H
#define GP_FORMATS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t gp_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
