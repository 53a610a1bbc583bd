/* topk.h -- top K values with their owners: a value that merges exactly in any order. Of equal values the
 * lower rank comes first.
 *
 *     struct gp_topk w = {.most = 4};
 *     gp_topk_add(&w, own_ns, (struct gp_fleet_key){.rank = 7});
 *     for (uint32_t i = 0; i < w.n; i++) use(w.at[i].key.rank);
 */
#ifndef GP_ANALYZE_FLEET_TOPK_H
#define GP_ANALYZE_FLEET_TOPK_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/math/serialize.h"
#include "analyze/result/field.h"

/* Who: a rank; TAG tells members of one rank apart (devices, repeated inputs). */
struct gp_fleet_key {
    int32_t rank;
    uint32_t tag;
};

enum { GP_TOPK_MOST = 16 };
struct gp_topk_entry {
    int64_t value;
    struct gp_fleet_key key;
};
struct gp_topk {
    uint32_t n, most; /* most: 1 .. GP_TOPK_MOST */
    struct gp_topk_entry at[GP_TOPK_MOST];
};

int gp_fleet_key_compare(struct gp_fleet_key a, struct gp_fleet_key b);
void gp_topk_add(struct gp_topk *w, int64_t value, struct gp_fleet_key key);
void gp_topk_merge(struct gp_topk *to, const struct gp_topk *from);
bool gp_topk_has(const struct gp_topk *w, struct gp_fleet_key key);
/* How keys are saved, in whatever has one. */
extern const struct gp_record gp_fleet_keys;
/* Save or load, as X says; MOST is kept. */
void gp_topk_serialize(struct gp_serializer *x, struct gp_topk *w);

#endif
