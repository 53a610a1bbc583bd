/* rate.h -- did more things happen within one second than a limit? Counts them in tenths of a second, on the
 * caller's clock. Knows nothing of the things counted.
 *
 *     gp_rate_init(&r, 500000);
 *     if (gp_rate_add(&r, now_ns, n)) ...    // n more: over 500,000 in the last second
 */
#ifndef GP_COLLECT_WIRE_RATE_H
#define GP_COLLECT_WIRE_RATE_H

#include <stdbool.h>
#include <stdint.h>

enum { GP_RATE_PARTS = 10 };

struct gp_rate {
    uint64_t limit; /* things per second */
    int64_t part;   /* number of the latest tenth of a second since time 0 of the clock */
    uint64_t n[GP_RATE_PARTS];
};

void gp_rate_init(struct gp_rate *r, uint64_t limit);
/* N more things have happened by NOW_NS, which is not negative; times before the latest one count as the
 * latest. True if the tenths of a second around the last one hold more than the limit. */
bool gp_rate_add(struct gp_rate *r, int64_t now_ns, uint64_t n);

#endif
