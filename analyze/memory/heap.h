/* heap.h -- how an allocator of segments lays blocks out, replayed: which block an allocation got and how
 * large it really was, from the addresses in its history and its rules for splitting. Knows nothing of files
 * or stacks.
 *
 *     struct gp_heap h;
 *     gp_heap_init(&h, &settings);
 *     gp_heap_segment(&h, addr, 2 << 20, false);
 *     uint32_t b = gp_heap_take(&h, addr, 700);      // h.blocks.at[b].size == 1024
 *     gp_heap_give(&h, b);
 */
#ifndef GP_ANALYZE_MEMORY_HEAP_H
#define GP_ANALYZE_MEMORY_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/pickle/snapshot.h"

#define GP_HEAP_NONE UINT32_MAX

enum gp_heap_state {
    GP_HEAP_GONE, /* merged into another block, or never there */
    GP_HEAP_FREE,
    GP_HEAP_LIVE,
    GP_HEAP_PENDING, /* freed, and still used by another stream */
};

struct gp_heap_block {
    uint64_t addr;
    int64_t size;
    uint32_t prev, next; /* neighbours in the segment, GP_HEAP_NONE at its ends */
    uint32_t life;       /* the caller's */
    uint8_t state;       /* enum gp_heap_state */
    bool placed;         /* its segment is known */
    bool expandable;
};

struct gp_heap {
    struct gp_snapshot_settings settings;
    bool sizes_are_real; /* sizes in the history are those of blocks */
    struct gp_map of_addr;
    GP_VEC(struct gp_heap_block) blocks;
    uint64_t walked; /* blocks that were looked at one by one: there is a limit */
};

void gp_heap_init(struct gp_heap *h, const struct gp_snapshot_settings *settings, bool sizes_are_real);
void gp_heap_release(struct gp_heap *h);

/* REQUESTED bytes as the allocator rounds them. */
int64_t gp_heap_round(const struct gp_heap *h, int64_t requested);
/* The block that begins at ADDR, whatever its state; GP_HEAP_NONE when there never was one. O(1). */
uint32_t gp_heap_find(const struct gp_heap *h, uint64_t addr);
/* A new segment, or, with JOINS, a piece that is mapped behind or before others of its segment. */
void gp_heap_segment(struct gp_heap *h, uint64_t addr, int64_t size, bool joins);
/* A segment, or a piece of one, that is given back. */
void gp_heap_unmap(struct gp_heap *h, uint64_t addr, int64_t size);
/* Allocate at ADDR, which must not be live: the block. */
uint32_t gp_heap_take(struct gp_heap *h, uint64_t addr, int64_t requested);
/* Block B is free, and one with free neighbours. */
void gp_heap_give(struct gp_heap *h, uint32_t b);

#endif
