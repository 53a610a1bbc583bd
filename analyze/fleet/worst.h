/* worst.h -- the K largest of any number of values, each with whose it is: a value that merges exactly in any
 * order. Of equal values the lower rank comes first.
 *
 *     struct gp_worst w = {.most = 4};
 *     gp_worst_add(&w, own_ns, (struct gp_fleet_key){.rank = 7});
 *     for (uint32_t i = 0; i < w.n; i++) use(w.at[i].key.rank);
 */
#ifndef GP_ANALYZE_FLEET_WORST_H
#define GP_ANALYZE_FLEET_WORST_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/math/serialize.h"
#include "analyze/result/field.h"

/* Who: a rank; TAG tells members of one rank apart (devices, repeated inputs). */
struct gp_fleet_key {
    int32_t rank;
    uint32_t tag;
};

enum { GP_WORST_MOST = 16 };
struct gp_worst_entry {
    int64_t value;
    struct gp_fleet_key key;
};
struct gp_worst {
    uint32_t n, most; /* most: 1 .. GP_WORST_MOST */
    struct gp_worst_entry at[GP_WORST_MOST];
};

int gp_fleet_key_compare(struct gp_fleet_key a, struct gp_fleet_key b);
void gp_worst_add(struct gp_worst *w, int64_t value, struct gp_fleet_key key);
void gp_worst_merge(struct gp_worst *to, const struct gp_worst *from);
bool gp_worst_has(const struct gp_worst *w, struct gp_fleet_key key);
/* How keys are saved, in whatever has one. */
extern const struct gp_record gp_fleet_keys;
/* Save or load, as X says; MOST is kept. */
void gp_worst_serialize(struct gp_serializer *x, struct gp_worst *w);

#endif
