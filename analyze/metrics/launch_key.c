#include "analyze/metrics/launch_key.h"

#include <string.h>

static struct gp_launch_key key_of(const struct gp_config *c)
{
    struct gp_launch_key k = {.name = c->name, .value = UINT32_MAX, .next = UINT32_MAX};
    memcpy(k.grid, c->grid, sizeof k.grid);
    memcpy(k.block, c->block, sizeof k.block);
    return k;
}

static uint64_t hash_of(const struct gp_launch_key *k)
{
    return gp_hash_place(k, offsetof(struct gp_launch_key, value), gp_hash_seed());
}

static bool same(const struct gp_launch_key *a, const struct gp_launch_key *b)
{
    return a->name == b->name && !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block);
}

uint32_t *gp_launch_keys_put(struct gp_launch_keys *k, const struct gp_config *c)
{
    struct gp_launch_key key = key_of(c);
    uint32_t *first = gp_map_put(&k->first, hash_of(&key), UINT32_MAX);
    for (uint32_t i = *first; i != UINT32_MAX; i = k->all.at[i].next)
        if (same(&k->all.at[i], &key)) return &k->all.at[i].value;
    key.next = *first;
    *first = (uint32_t)k->all.n;
    GP_VEC_PUSH(&k->all, key);
    return &k->all.at[k->all.n - 1].value;
}

const uint32_t *gp_launch_keys_get(const struct gp_launch_keys *k, const struct gp_config *c)
{
    struct gp_launch_key key = key_of(c);
    const uint32_t *first = gp_map_get(&k->first, hash_of(&key));
    for (uint32_t i = first ? *first : UINT32_MAX; i != UINT32_MAX; i = k->all.at[i].next)
        if (same(&k->all.at[i], &key)) return &k->all.at[i].value;
    return NULL;
}

void gp_launch_keys_release(struct gp_launch_keys *k)
{
    gp_map_release(&k->first);
    GP_VEC_FREE(&k->all);
}
