/* map.h -- a hash map from u64 to u32 with open addressing; a zeroed map is empty. Insertion only. Where keys
 * lie depends on the process (hash.h): nobody can choose keys that meet, and nothing may go through the slots
 * in their order.
 *
 *     struct gp_map m = {0};
 *     *gp_map_put(&m, corr, UINT32_MAX) = row;
 *     const uint32_t *row = gp_map_get(&m, corr);     // NULL when absent
 */
#ifndef GP_BASE_MAP_H
#define GP_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct gp_map {
    uint64_t *keys;
    uint32_t *vals;
    uint8_t *used;
    uint64_t seed;
    size_t n, mask;
};

/* Where the value of KEY is stored; a new key gets DEFAULT_VAL. Valid until the next put. Amortised O(1). */
uint32_t *gp_map_put(struct gp_map *m, uint64_t key, uint32_t default_val);
/* The value of KEY, or NULL if it was never put. */
const uint32_t *gp_map_get(const struct gp_map *m, uint64_t key);
void gp_map_release(struct gp_map *m);

#endif
