/* launch_key.h -- launches of one kernel with one grid and one block, from whatever table they are: registers
 * and shared memory, which not everything records, do not count. A map from configs to numbers. Private to
 * the wing.
 *
 *     struct gp_launch_keys keys = {0};
 *     *gp_launch_keys_put(&keys, config) = 7;            // UINT32_MAX when it is new
 *     const uint32_t *group = gp_launch_keys_get(&keys, other);
 *     gp_launch_keys_release(&keys);
 */
#ifndef GP_ANALYZE_METRICS_LAUNCH_KEY_H
#define GP_ANALYZE_METRICS_LAUNCH_KEY_H

#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

struct gp_launch_key {
    uint32_t name, grid[3], block[3]; /* NAME: a number of the caller's, the same for the same name */
    uint32_t value, next;             /* NEXT: index of the next with this hash, UINT32_MAX: none */
};

struct gp_launch_keys {
    struct gp_map first; /* hash -> index */
    GP_VEC(struct gp_launch_key) all;
};

/* The value of C's key, whose names are of one trace; UINT32_MAX if it is new. Valid until the next put. */
uint32_t *gp_launch_keys_put(struct gp_launch_keys *k, const struct gp_config *c);
/* NULL if it was never put. */
const uint32_t *gp_launch_keys_get(const struct gp_launch_keys *k, const struct gp_config *c);
void gp_launch_keys_release(struct gp_launch_keys *k);

#endif
