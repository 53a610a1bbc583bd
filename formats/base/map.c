#include "formats/base/map.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/hash.h"
#include "formats/base/mem.h"

static size_t slot_of(const struct gp_map *m, uint64_t key)
{
    size_t i = (size_t)gp_hash_u64(key, m->seed) & m->mask;
    while (m->used[i] && m->keys[i] != key) i = (i + 1) & m->mask;
    return i;
}

static void grow(struct gp_map *m)
{
    struct gp_map old = *m;
    size_t size = old.keys ? (old.mask + 1) * 2 : 64;
    m->keys = gp_alloc(size * sizeof *m->keys);
    m->vals = gp_alloc(size * sizeof *m->vals);
    m->used = gp_zalloc(size);
    m->mask = size - 1;
    if (!old.keys) m->seed = gp_hash_seed();
    for (size_t i = 0; old.keys && i <= old.mask; i++) {
        if (!old.used[i]) continue;
        size_t j = slot_of(m, old.keys[i]);
        m->used[j] = 1;
        m->keys[j] = old.keys[i];
        m->vals[j] = old.vals[i];
    }
    GP_RELEASE(free, old.keys, old.vals, old.used);
}

uint32_t *gp_map_put(struct gp_map *m, uint64_t key, uint32_t default_val)
{
    if (!m->keys || m->n * 2 > m->mask) grow(m);
    size_t i = slot_of(m, key);
    if (!m->used[i]) {
        m->used[i] = 1;
        m->keys[i] = key;
        m->vals[i] = default_val;
        m->n++;
    }
    return &m->vals[i];
}

const uint32_t *gp_map_get(const struct gp_map *m, uint64_t key)
{
    if (!m->keys) return NULL;
    size_t i = slot_of(m, key);
    return m->used[i] ? &m->vals[i] : NULL;
}

void gp_map_release(struct gp_map *m)
{
    GP_RELEASE(free, m->keys, m->vals, m->used);
    memset(m, 0, sizeof *m);
}
