#include "formats/base/intern.h"

#include <stdlib.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include "formats/base/buf.h"

/* ---- hash.h ---- */

uint64_t gp_hash_bytes(const void *p, size_t n) { return XXH3_64bits(p, n); }

uint64_t gp_hash_seed(void)
{
    const void *drawn = (const void *)(uintptr_t)getauxval(AT_RANDOM); /* 16 bytes */
    uint64_t seed = 0;
    if (drawn) seed = gp_hash_bytes(drawn, 16); /* the bytes themselves are the C library's secret */
    return seed;
}

uint64_t gp_hash_place(const void *p, size_t n, uint64_t seed) { return XXH3_64bits_withSeed(p, n, seed); }

/* ---- the table ---- */

static void grow_slots(struct gp_strings *s)
{
    uint32_t size = s->slots ? (s->mask + 1) * 2 : 64;
    free(s->slots);
    s->slots = gp_zalloc((size_t)size * sizeof *s->slots);
    s->mask = size - 1;
    for (uint32_t sid = 0; sid < s->n; sid++) {
        uint32_t i = (uint32_t)s->hash[sid] & s->mask;
        while (s->slots[i]) i = (i + 1) & s->mask;
        s->slots[i] = sid + 1;
    }
}

static gp_sid append(struct gp_strings *s, const char *p, size_t n, uint64_t hash)
{
    if (n > UINT32_MAX - 1 || s->n == UINT32_MAX - 1) gp_out_of_memory(n);
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->at = gp_realloc(s->at, s->cap * sizeof *s->at);
        s->len = gp_realloc(s->len, s->cap * sizeof *s->len);
        s->hash = gp_realloc(s->hash, s->cap * sizeof *s->hash);
    }
    s->at[s->n] = gp_arena_strndup(&s->bytes, p, n);
    s->len[s->n] = (uint32_t)n;
    s->hash[s->n] = hash;
    return s->n++;
}

/* The slot that holds the bytes, or the free slot where they belong. */
static uint32_t find_slot(const struct gp_strings *s, const char *p, size_t n, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & s->mask;
    for (; s->slots[i]; i = (i + 1) & s->mask) {
        uint32_t sid = s->slots[i] - 1;
        if (s->hash[sid] == hash && s->len[sid] == n && (!n || !memcmp(s->at[sid], p, n))) break;
    }
    return i;
}

static void insert_empty(struct gp_strings *s)
{
    grow_slots(s);
    s->seed = gp_hash_seed();
    uint64_t hash = gp_hash_place("", 0, s->seed);
    s->slots[find_slot(s, "", 0, hash)] = append(s, "", 0, hash) + 1;
}

gp_sid gp_intern_hashed(struct gp_strings *s, const char *p, size_t n, uint64_t hash)
{
    if (!s->slots) insert_empty(s);
    uint32_t i = find_slot(s, p, n, hash);
    if (s->slots[i]) return s->slots[i] - 1;
    gp_sid sid = append(s, p, n, hash);
    s->slots[i] = sid + 1;
    if (s->n > (s->mask + 1) / 2) grow_slots(s);
    return sid;
}

gp_sid gp_intern(struct gp_strings *s, const char *p, size_t n)
{
    if (!s->slots) insert_empty(s);
    return gp_intern_hashed(s, p, n, gp_hash_place(p, n, s->seed));
}

gp_sid gp_intern_cstr(struct gp_strings *s, const char *p) { return gp_intern(s, p, strlen(p)); }

gp_sid gp_intern_buf(struct gp_strings *s, struct gp_buf *b)
{
    gp_sid sid = gp_intern(s, b->n ? b->data : "", b->n);
    gp_buf_release(b);
    return sid;
}

gp_sid gp_intern_find(const struct gp_strings *s, const char *p, size_t n)
{
    if (!s->slots) return n ? UINT32_MAX : 0;
    uint32_t i = find_slot(s, p, n, gp_hash_place(p, n, s->seed));
    return s->slots[i] ? s->slots[i] - 1 : UINT32_MAX;
}

void gp_strings_release(struct gp_strings *s)
{
    gp_arena_release(&s->bytes);
    GP_RELEASE(free, s->at, s->len, s->hash, s->slots);
    memset(s, 0, sizeof *s);
}
