/* The history of a device, entry by entry, to the lives of its blocks. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"

/* Lives of blocks that were there before, as long as they are apart: their numbers have this bit. */
#define WAS_BEFORE ((uint32_t)1 << 31)

struct replay {
    struct gp_memory *m;
    struct gp_memory_device *d;
    const struct gp_snapshot *s;
    struct gp_heap heap;
    GP_VEC(struct gp_memory_life) before;
    bool requests; /* requests to free are recorded, not only when they were carried out */
    uint32_t now;  /* position after the current entry */
    uint32_t span; /* innermost range */
    gp_breaks *breaks;
    size_t next_break;
    int64_t mapped, mapped_least; /* reserved since the history began, and the least of it */
};

static struct gp_memory_life *life_at(struct replay *r, uint32_t life)
{
    return life & WAS_BEFORE ? &r->before.at[life & ~WAS_BEFORE] : &r->d->lives.at[life];
}

/* A block that was there before the history, first seen where row I frees it. */
static uint32_t add_before(struct replay *r, uint64_t addr, int64_t requested, int64_t bytes, uint32_t stack)
{
    uint32_t last = (uint32_t)r->d->rows + 1;
    struct gp_memory_life fresh = {.bytes = bytes,
                                   .requested = requested,
                                   .addr = addr,
                                   .end = last,
                                   .done = last,
                                   .site = gp_site_of(r->m, r->d, stack, GP_NO_SPAN),
                                   .span = GP_NO_SPAN,
                                   .end_span = GP_NO_SPAN};
    GP_VEC_PUSH(&r->before, fresh);
    return (uint32_t)(r->before.n - 1) | WAS_BEFORE;
}

static void end_life(struct replay *r, uint32_t life, bool done)
{
    struct gp_memory_life *l = life_at(r, life);
    if (l->end > r->now) {
        l->end = r->now;
        l->end_span = r->span;
    }
    if (done) l->done = r->now;
}

/* The ranges that begin and end up to TIME_NS. */
static void pass_ranges(struct replay *r, int64_t time_ns)
{
    uint32_t position = r->now - 1;
    for (; r->next_break < r->breaks->n; r->next_break++) {
        const struct gp_break *k = &r->breaks->at[r->next_break];
        if (k->time_ns > time_ns || (k->end && k->time_ns == time_ns)) return;
        if (k->end) r->d->spans.at[k->other].end = position;
        else r->d->spans.at[k->other].begin = r->d->spans.at[k->other].end = position;
        r->span = k->span;
    }
}

static void allocate(struct replay *r, size_t row)
{
    const struct gp_snapshot_rows *rows = &r->s->rows;
    uint32_t b = gp_heap_find(&r->heap, rows->addr[row]);
    if (b != GP_HEAP_NONE && r->heap.blocks.at[b].state >= GP_HEAP_LIVE) {
        r->d->lost_frees++;
        if (r->heap.blocks.at[b].life != GP_HEAP_NONE) end_life(r, r->heap.blocks.at[b].life, true);
    }
    b = gp_heap_take(&r->heap, rows->addr[row], rows->size[row]);
    r->heap.blocks.at[b].life = (uint32_t)r->d->lives.n;
    uint32_t last = (uint32_t)r->d->rows + 1;
    struct gp_memory_life fresh = {.bytes = r->heap.blocks.at[b].size,
                                   .requested = rows->size[row],
                                   .addr = rows->addr[row],
                                   .begin = r->now,
                                   .end = last,
                                   .done = last,
                                   .site = gp_site_of(r->m, r->d, rows->stack[row], r->span),
                                   .span = r->span,
                                   .end_span = GP_NO_SPAN,
                                   .stream = rows->stream[row],
                                   .context = rows->context[row]};
    GP_VEC_PUSH(&r->d->lives, fresh);
    r->d->allocations++;
}

/* The block that row frees, where it was there before the history began; GP_HEAP_NONE: it was freed
 * already. */
static uint32_t first_seen(struct replay *r, size_t row)
{
    const struct gp_snapshot_rows *rows = &r->s->rows;
    uint32_t b = gp_heap_find(&r->heap, rows->addr[row]);
    if (b != GP_HEAP_NONE) {
        r->d->double_frees++;
        return GP_HEAP_NONE;
    }
    uint32_t life = add_before(r, rows->addr[row], rows->size[row], gp_heap_round(&r->heap, rows->size[row]),
                               rows->stack[row]);
    b = gp_heap_take(&r->heap, rows->addr[row], rows->size[row]);
    r->heap.blocks.at[b].life = life;
    return b;
}

static void free_block(struct replay *r, size_t row, bool completed)
{
    uint32_t b = gp_heap_find(&r->heap, r->s->rows.addr[row]);
    bool known = b != GP_HEAP_NONE && r->heap.blocks.at[b].life != GP_HEAP_NONE &&
                 r->heap.blocks.at[b].state >= GP_HEAP_LIVE;
    if (known && !completed && r->heap.blocks.at[b].state == GP_HEAP_PENDING) {
        r->d->double_frees++;
        return;
    }
    if (!known) b = first_seen(r, row);
    if (b == GP_HEAP_NONE) return;
    uint32_t life = r->heap.blocks.at[b].life;
    struct gp_memory_life *l = life_at(r, life);
    if (l->requested != r->s->rows.size[row]) r->d->size_mismatches++;
    /* a request before the history began: not allocated at its start, but not given back either */
    if (!known && completed && r->requests) l->end = 0;
    end_life(r, life, completed);
    if (!completed) {
        r->heap.blocks.at[b].state = GP_HEAP_PENDING;
        return;
    }
    if (!(life & WAS_BEFORE)) r->d->frees++;
    gp_heap_give(&r->heap, b);
}

static void map_memory(struct replay *r, size_t row, int sign)
{
    r->mapped += sign * r->s->rows.size[row];
    if (r->mapped < r->mapped_least) r->mapped_least = r->mapped;
}

static void run_out(struct replay *r, size_t row)
{
    const struct gp_snapshot_rows *rows = &r->s->rows;
    struct gp_memory_oom oom = {.position = r->now,
                                .time_ns = rows->time_ns[row],
                                .requested = rows->size[row],
                                .device_free = rows->addr[row] <= INT64_MAX ? (int64_t)rows->addr[row] : 0,
                                .stack = rows->stack[row],
                                .context = rows->context[row],
                                .span = r->span};
    GP_VEC_PUSH(&r->d->ooms, oom);
}

static void run_row(struct replay *r, size_t row)
{
    const struct gp_snapshot_rows *rows = &r->s->rows;
    switch (rows->action[row]) {
    case GP_ACT_ALLOC: allocate(r, row); break;
    case GP_ACT_FREE_REQUESTED: free_block(r, row, false); break;
    case GP_ACT_FREE_COMPLETED: free_block(r, row, true); break;
    case GP_ACT_SEGMENT_ALLOC:
    case GP_ACT_SEGMENT_MAP:
        gp_heap_segment(&r->heap, rows->addr[row], rows->size[row], rows->action[row] == GP_ACT_SEGMENT_MAP);
        map_memory(r, row, 1);
        r->d->churn.segment_allocs++;
        break;
    case GP_ACT_SEGMENT_FREE:
    case GP_ACT_SEGMENT_UNMAP:
        gp_heap_unmap(&r->heap, rows->addr[row], rows->size[row]);
        map_memory(r, row, -1);
        r->d->churn.segment_frees++;
        break;
    case GP_ACT_OOM: run_out(r, row); break;
    default: break;
    }
}

/* ---- against the state at the end ---- */

/* The snapshot's block K, which is in use: what the history says of it becomes what it says of itself. False:
 * the layout was worked out wrong. */
static bool settle_block(struct replay *r, const struct gp_snapshot_block *k)
{
    uint32_t b = gp_heap_find(&r->heap, k->address);
    uint32_t life = b != GP_HEAP_NONE ? r->heap.blocks.at[b].life : GP_HEAP_NONE;
    bool in_use = b != GP_HEAP_NONE && r->heap.blocks.at[b].state >= GP_HEAP_LIVE && life != GP_HEAP_NONE;
    if (!in_use) {
        int64_t requested = k->requested_size ? k->requested_size : k->size;
        life = add_before(r, k->address, requested, k->size, k->stack);
        if (k->state == GP_BLOCK_PENDING) life_at(r, life)->end = 0;
        return true;
    }
    struct gp_memory_life *l = life_at(r, life);
    bool same = l->bytes == k->size;
    l->bytes = k->size;
    r->heap.blocks.at[b].life = GP_HEAP_NONE; /* settled */
    return same;
}

/* Blocks that the history leaves in use and the snapshot does not know: their frees are missing. */
static void close_others(struct replay *r)
{
    GP_EACH(const struct gp_heap_block, k, r->heap.blocks) {
        if (k->state < GP_HEAP_LIVE || k->life == GP_HEAP_NONE) continue;
        struct gp_memory_life *l = life_at(r, k->life);
        uint32_t last = (uint32_t)r->d->rows;
        if (l->end > last) {
            l->end = last > l->begin ? last : l->begin;
            r->d->lost_frees++;
        }
        if (l->done > last) l->done = l->end;
    }
}

/* The input says how much there was before: what the history never frees of it is one block. */
static void add_rest(struct replay *r)
{
    int64_t rest = r->d->known_base;
    for (size_t i = 0; i < r->before.n; i++)
        if (r->before.at[i].end) rest -= r->before.at[i].bytes;
    if (r->d->known_base <= 0 || rest <= 0) return;
    uint32_t life = add_before(r, 0, rest, rest, 0);
    life_at(r, life)->site = (uint32_t)r->d->sites.n;
    struct gp_memory_site before = {.key = gp_intern_cstr(&r->m->strings, "[allocated before the trace]")};
    GP_VEC_PUSH(&r->d->sites, before);
}

static void settle(struct replay *r)
{
    struct gp_memory_device *d = r->d;
    bool cut =
        r->s->issues[GP_Q_TRUNCATED].count > 0; /* then the history does not reach to the state at the end */
    bool same = true, any = false;
    size_t n;
    const struct gp_snapshot_segment *segments = gp_snapshot_segments(r->s, d->number, &n);
    GP_EACH_OF(const struct gp_snapshot_segment, g, segments, n) {
        any = true;
        d->reserved_end += g->total_size;
        for (size_t k = g->first_block; k < g->first_block + g->n_blocks; k++) {
            const struct gp_snapshot_block *block = &r->s->blocks.at[k];
            if (block->state == GP_BLOCK_ACTIVE) {
                d->end_bytes += block->size;
                d->end_blocks++;
            }
            if (block->state != GP_BLOCK_INACTIVE && (!cut || !d->rows)) same &= settle_block(r, block);
        }
    }
    if (any && !cut) close_others(r);
    d->exact = same && any && !cut;
    if (!any || cut) d->reserved_start = -r->mapped_least;
    else d->reserved_start = d->reserved_end - r->mapped;
    if (d->reserved_start < 0) d->reserved_start = 0;
    if (!any) d->reserved_end = d->reserved_start + r->mapped;
}

/* What was there before comes first. */
static void put_before(struct replay *r)
{
    struct gp_memory_device *d = r->d;
    size_t n = r->before.n, old = d->lives.n;
    if (!n) return;
    GP_VEC_RESERVE(&d->lives, old + n);
    if (old) memmove(d->lives.at + n, d->lives.at, old * sizeof *d->lives.at);
    memcpy(d->lives.at, r->before.at, n * sizeof *d->lives.at);
    d->lives.n = old + n;
    for (size_t i = 0; i < n; i++) {
        if (!d->lives.at[i].end) continue;
        d->base_blocks++;
        d->base_bytes += d->lives.at[i].bytes;
    }
}

static enum gp_history judge(const struct replay *r)
{
    const struct gp_memory_device *d = r->d;
    if (!d->rows) return GP_HISTORY_NONE;
    if (d->s->sums_only) return GP_HISTORY_SUMS;
    if (d->rows == 1 && d->base_blocks > 1) return GP_HISTORY_STATE;
    return d->base_blocks || r->before.n || d->reserved_start > 0 ? GP_HISTORY_TAIL : GP_HISTORY_WHOLE;
}

static void look_ahead(struct replay *r)
{
    const struct gp_snapshot_rows *rows = &r->s->rows;
    size_t end = r->d->first_row + r->d->rows;
    for (size_t i = r->d->first_row; i < end && !r->requests; i++)
        r->requests = rows->action[i] == GP_ACT_FREE_REQUESTED;
}

void gp_replay(struct gp_memory *m, struct gp_memory_device *d, gp_breaks *breaks)
{
    struct replay r = {.m = m, .d = d, .s = d->s, .breaks = breaks, .span = GP_NO_SPAN};
    int64_t last_ns = INT64_MIN;
    gp_heap_init(&r.heap, &d->s->settings, d->s->sizes_are_real);
    look_ahead(&r);
    for (size_t i = 0; i < d->rows; i++) {
        size_t row = d->first_row + i;
        int64_t time_ns = d->s->rows.time_ns[row];
        d->unordered += time_ns < last_ns;
        last_ns = time_ns;
        r.now = (uint32_t)i + 1;
        pass_ranges(&r, time_ns);
        run_row(&r, row);
    }
    r.now = (uint32_t)d->rows + 1;
    pass_ranges(&r, INT64_MAX);
    settle(&r);
    add_rest(&r);
    if (!d->exact) { /* the layout is unknown: blocks that are gone have the requested size, rounded */
        GP_EACH(struct gp_memory_life, l, r.d->lives)
            if (l->end <= r.d->rows) l->bytes = gp_heap_round(&r.heap, l->requested);
    }
    put_before(&r);
    d->history = judge(&r);
    gp_heap_release(&r.heap);
    GP_VEC_FREE(&r.before);
}
