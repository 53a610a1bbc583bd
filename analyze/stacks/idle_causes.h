/* idle_causes.h -- why the devices of a tree of idle time were idle: the causes and what each weighs.
 *
 *     struct gp_idle_share causes[GP_IDLE_SHARES];
 *     size_t n = gp_idle_shares(&flame, causes);
 */
#ifndef GP_ANALYZE_IDLE_CAUSES_H
#define GP_ANALYZE_IDLE_CAUSES_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/stacks.h"

enum { GP_IDLE_SHARES = 16 }; /* more than there are causes */

struct gp_idle_share {
    const char *name; /* "host", of the flame's strings */
    int64_t ns;
};

/* Fill CAUSES with those of FLAME, the largest first; the same cause on several devices counts once. Returns
 * how many. */
size_t gp_idle_shares(const struct gp_flame *flame, struct gp_idle_share causes[GP_IDLE_SHARES]);

#endif
