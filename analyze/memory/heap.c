#include "analyze/memory/memory_priv.h"

#include <string.h>

enum { LEAST_BLOCK = 512 };
#define SIZE_MOST  ((int64_t)1 << 60)
#define WALK_MOST  ((uint64_t)1 << 27)
#define SMALL_MOST ((int64_t)1 << 20) /* requests up to here come from segments of their own kind */

void gp_heap_init(struct gp_heap *h, const struct gp_snapshot_settings *settings, bool sizes_are_real)
{
    memset(h, 0, sizeof *h);
    h->settings = *settings;
    h->sizes_are_real = sizes_are_real;
}

void gp_heap_release(struct gp_heap *h)
{
    gp_map_release(&h->of_addr);
    GP_VEC_FREE(&h->blocks);
}

static int log2_of(uint64_t v)
{
    int n = 0;
    while (v >>= 1) n++;
    return n;
}

/* Parts that each power of two is divided into for a request of SIZE. */
static int64_t parts_of(const struct gp_heap *h, int64_t size)
{
    int power = log2_of((uint64_t)size) - 20;
    return h->settings.roundups[power < 0 ? 0 : power >= GP_ROUNDUPS ? GP_ROUNDUPS - 1 : power];
}

int64_t gp_heap_round(const struct gp_heap *h, int64_t requested)
{
    if (h->sizes_are_real) return requested;
    if (requested < LEAST_BLOCK) return LEAST_BLOCK;
    int64_t parts = parts_of(h, requested);
    if (parts > 1 && requested > LEAST_BLOCK * parts) {
        int64_t floor = (int64_t)1 << log2_of((uint64_t)requested);
        int64_t part = floor >> log2_of((uint64_t)parts);
        if (requested == floor || part < 1) return requested;
        return (requested + part - 1) / part * part;
    }
    return (requested + LEAST_BLOCK - 1) / LEAST_BLOCK * LEAST_BLOCK;
}

uint32_t gp_heap_find(const struct gp_heap *h, uint64_t addr)
{
    const uint32_t *b = gp_map_get(&h->of_addr, addr);
    return b ? *b : GP_HEAP_NONE;
}

/* The block that begins at ADDR, made new. */
static uint32_t put_block(struct gp_heap *h, uint64_t addr, int64_t size, bool expandable)
{
    uint32_t *at = gp_map_put(&h->of_addr, addr, (uint32_t)h->blocks.n);
    uint32_t b = *at;
    if (b == h->blocks.n) GP_VEC_PUSH(&h->blocks, (struct gp_heap_block){.addr = addr});
    h->blocks.at[b] = (struct gp_heap_block){.addr = addr,
                                             .size = size,
                                             .prev = GP_HEAP_NONE,
                                             .next = GP_HEAP_NONE,
                                             .life = GP_HEAP_NONE,
                                             .state = GP_HEAP_FREE,
                                             .placed = true,
                                             .expandable = expandable};
    return b;
}

/* A and B, either of which may be none, become neighbours. */
static void link_blocks(struct gp_heap *h, uint32_t a, uint32_t b)
{
    if (a != GP_HEAP_NONE) h->blocks.at[a].next = b;
    if (b != GP_HEAP_NONE) h->blocks.at[b].prev = a;
}

/* Block B, which is free, takes in the free one behind it. */
static void merge_next(struct gp_heap *h, uint32_t b)
{
    struct gp_heap_block *one = &h->blocks.at[b];
    if (one->next == GP_HEAP_NONE) return;
    struct gp_heap_block *other = &h->blocks.at[one->next];
    if (one->state != GP_HEAP_FREE || other->state != GP_HEAP_FREE) return;
    if (other->size > SIZE_MOST - one->size) return;
    one->size += other->size;
    other->state = GP_HEAP_GONE;
    link_blocks(h, b, other->next);
}

/* The last block before ADDR of a segment whose pieces may be anywhere: few, so that a walk over all blocks
 * will do. */
static uint32_t ends_at(struct gp_heap *h, uint64_t addr)
{
    if (h->walked > WALK_MOST) return GP_HEAP_NONE;
    h->walked += h->blocks.n;
    for (uint32_t b = 0; b < h->blocks.n; b++) {
        const struct gp_heap_block *k = &h->blocks.at[b];
        if (k->state != GP_HEAP_GONE && k->expandable && k->addr + (uint64_t)k->size == addr) return b;
    }
    return GP_HEAP_NONE;
}

void gp_heap_segment(struct gp_heap *h, uint64_t addr, int64_t size, bool joins)
{
    uint32_t next = GP_HEAP_NONE, prev = GP_HEAP_NONE;
    if (joins) {
        next = gp_heap_find(h, addr + (uint64_t)size);
        if (next != GP_HEAP_NONE &&
            (h->blocks.at[next].state == GP_HEAP_GONE || !h->blocks.at[next].expandable))
            next = GP_HEAP_NONE;
        prev = ends_at(h, addr);
    }
    uint32_t b = put_block(h, addr, size, joins);
    link_blocks(h, prev, b);
    link_blocks(h, b, next);
    merge_next(h, b);
    if (prev != GP_HEAP_NONE) merge_next(h, prev);
}

/* The free block that holds ADDR. */
static uint32_t free_around(struct gp_heap *h, uint64_t addr)
{
    uint32_t b = gp_heap_find(h, addr);
    if (b != GP_HEAP_NONE && h->blocks.at[b].state == GP_HEAP_FREE) return b;
    if (h->walked > WALK_MOST) return GP_HEAP_NONE;
    h->walked += h->blocks.n;
    for (b = 0; b < h->blocks.n; b++) {
        const struct gp_heap_block *k = &h->blocks.at[b];
        if (k->state == GP_HEAP_FREE && k->addr < addr && addr - k->addr < (uint64_t)k->size) return b;
    }
    return GP_HEAP_NONE;
}

void gp_heap_unmap(struct gp_heap *h, uint64_t addr, int64_t size)
{
    uint32_t b = free_around(h, addr);
    if (b == GP_HEAP_NONE) return;
    struct gp_heap_block old = h->blocks.at[b];
    int64_t before = (int64_t)(addr - old.addr), after = old.size - before - size;
    if (before) {
        h->blocks.at[b].size = before;
        h->blocks.at[b].next = GP_HEAP_NONE;
    } else {
        h->blocks.at[b].state = GP_HEAP_GONE;
        if (old.prev != GP_HEAP_NONE) h->blocks.at[old.prev].next = GP_HEAP_NONE;
    }
    uint32_t rest = after > 0 ? put_block(h, addr + (uint64_t)size, after, old.expandable) : GP_HEAP_NONE;
    if (rest != GP_HEAP_NONE) link_blocks(h, rest, old.next);
    else if (old.next != GP_HEAP_NONE) h->blocks.at[old.next].prev = GP_HEAP_NONE;
}

/* Is a rest of REST bytes behind a block of SIZE cut off, to be used by others? */
static bool splits(const struct gp_heap *h, bool expandable, int64_t size, int64_t rest)
{
    if (size <= SMALL_MOST || expandable || h->settings.expandable) return rest >= LEAST_BLOCK;
    if (h->settings.max_split_size > 0 && size >= h->settings.max_split_size) return false;
    return rest > SMALL_MOST;
}

uint32_t gp_heap_take(struct gp_heap *h, uint64_t addr, int64_t requested)
{
    int64_t size = gp_heap_round(h, requested);
    uint32_t b = gp_heap_find(h, addr);
    if (b == GP_HEAP_NONE || h->blocks.at[b].state != GP_HEAP_FREE || h->blocks.at[b].size < size ||
        !h->blocks.at[b].placed) {
        b = put_block(h, addr, size, false);
        h->blocks.at[b].placed = false;
    }
    struct gp_heap_block old = h->blocks.at[b];
    if (old.placed && old.size > size && splits(h, old.expandable, size, old.size - size)) {
        uint32_t rest = put_block(h, addr + (uint64_t)size, old.size - size, old.expandable);
        h->blocks.at[b].size = size;
        link_blocks(h, b, rest);
        link_blocks(h, rest, old.next);
    }
    h->blocks.at[b].state = GP_HEAP_LIVE;
    return b;
}

void gp_heap_give(struct gp_heap *h, uint32_t b)
{
    struct gp_heap_block *k = &h->blocks.at[b];
    k->state = GP_HEAP_FREE;
    k->life = GP_HEAP_NONE;
    if (!k->placed) return;
    uint32_t prev = k->prev;
    merge_next(h, b);
    if (prev != GP_HEAP_NONE) merge_next(h, prev);
}
