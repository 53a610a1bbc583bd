/* rate.h -- did more than so many things happen within any one second? Counts them in tenths of a second, on whatever clock
 * the caller has. Knows nothing about what is counted.
 *
 *     gp_rate_init(&r, 500000);
 *     if (gp_rate_add(&r, now_ns, n)) ...      // n more by now: the last second had more than 500,000 of them
 */
#ifndef GP_COLLECT_RATE_H
#define GP_COLLECT_RATE_H

#include <stdbool.h>
#include <stdint.h>

enum { GP_RATE_PARTS = 10 };

struct gp_rate {
    uint64_t limit; /* things a second */
    int64_t part;   /* number of the latest tenth of a second, since the clock's 0 */
    uint64_t n[GP_RATE_PARTS];
};

void gp_rate_init(struct gp_rate *r, uint64_t limit);
/* N more things have happened by NOW_NS, not negative; earlier times than the latest count as that. True when the tenths of a
 * second around the last one hold more than the limit. */
bool gp_rate_add(struct gp_rate *r, int64_t now_ns, uint64_t n);

#endif
