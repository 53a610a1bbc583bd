/* clock.h -- the clocks of the system as integer nanoseconds. Nothing else calls clock_gettime().
 *
 *     int64_t begin_ns = gp_now_ns();
 *     int64_t start_realtime_ns = gp_clock_ns(CLOCK_REALTIME);
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

/* CLOCK_MONOTONIC, the clock of traces and of deadlines. */
static inline int64_t gp_now_ns(void) { return gp_clock_ns(CLOCK_MONOTONIC); }

/* Do nothing for so long. */
static inline void gp_rest_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* SECONDS from now, for functions that wait until a time of day. */
static inline struct timespec gp_clock_after(int seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += seconds;
    return t;
}

#endif
