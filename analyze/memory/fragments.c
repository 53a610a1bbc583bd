/* How the segments lie when the snapshot is taken, and why an allocation failed. */
#include "analyze/memory/memory_priv.h"

static struct gp_memory_pool *pool_of(struct gp_memory_fragmentation *f, const struct gp_snapshot_segment *g)
{
    for (size_t i = 0; i < f->pools.n; i++) {
        struct gp_memory_pool *p = &f->pools.at[i];
        if (p->id[0] == g->pool[0] && p->id[1] == g->pool[1] && p->stream == g->stream &&
            p->large == g->large && p->expandable == g->expandable)
            return p;
    }
    struct gp_memory_pool fresh = {
        .id = {g->pool[0], g->pool[1]}, .stream = g->stream, .large = g->large, .expandable = g->expandable};
    GP_VEC_PUSH(&f->pools, fresh);
    return &f->pools.at[f->pools.n - 1];
}

static void add_segment(struct gp_memory_fragmentation *f, const struct gp_snapshot *s,
                        const struct gp_snapshot_segment *g)
{
    struct gp_memory_pool *p = pool_of(f, g);
    int64_t active = 0, free = 0, largest = 0;
    for (size_t k = g->first_block; k < g->first_block + g->n_blocks; k++) {
        const struct gp_snapshot_block *b = &s->blocks.at[k];
        if (b->state == GP_BLOCK_INACTIVE) {
            free += b->size;
            if (b->size > largest) largest = b->size;
            continue;
        }
        active += b->size;
        if (b->state == GP_BLOCK_PENDING) continue;
        f->allocated += b->size;
        if (b->requested_size > 0 && b->requested_size < b->size) f->rounding += b->size - b->requested_size;
    }
    bool whole = !active;
    p->segments++;
    p->whole += whole;
    p->reserved += g->total_size;
    p->active += active;
    *(whole ? &p->free_whole : &p->free_split) += free;
    if (largest > p->largest_free) p->largest_free = largest;
}

void gp_fragments_find(struct gp_memory_device *d)
{
    struct gp_memory_fragmentation *f = &d->fragmentation;
    for (size_t i = 0; i < d->s->segments.n; i++)
        if (d->s->segments.at[i].device == d->number) add_segment(f, d->s, &d->s->segments.at[i]);
    for (size_t i = 0; i < f->pools.n; i++) {
        const struct gp_memory_pool *p = &f->pools.at[i];
        f->known = true;
        f->segments += p->segments;
        f->whole_segments += p->whole;
        f->reserved += p->reserved;
        f->active += p->active;
        f->free_whole += p->free_whole;
        f->free_split += p->free_split;
        if (p->largest_free > f->largest_free) f->largest_free = p->largest_free;
    }
}

/* What devices of data centres report as their memory, in tenths of a GiB. */
static const int sizes_tenths[] = {148, 158, 222,  238,  318,  396,  445,  475, 640,
                                   795, 945, 1200, 1398, 1780, 1920, 2560, 2880};

static bool is_beyond_devices(int64_t bytes)
{
    return bytes > ((int64_t)1 << 30) / 10 * sizes_tenths[GP_COUNT(sizes_tenths) - 1];
}

/* Is HELD about all of such a device? The context of the process and its libraries are missing of it: a twentieth. */
static bool is_whole_device(int64_t held)
{
    const int64_t tenth = ((int64_t)1 << 30) / 10;
    for (size_t i = 0; i < GP_COUNT(sizes_tenths); i++) {
        int64_t size = sizes_tenths[i] * tenth;
        if (held <= size && held >= size - size / 20) return true;
    }
    return false;
}

static gp_sid key_of(struct gp_memory *m, const struct gp_snapshot *s, uint32_t stack)
{
    struct gp_buf b = {0};
    if (!s->stacks.at[stack].n) return 0;
    gp_site_key(&b, s, stack);
    gp_sid key = gp_intern(&m->strings, b.data ? b.data : "", b.n);
    gp_buf_release(&b);
    return key;
}

/* Who asked; and of what the device has, how much could this process have had at most: all, unless others hold some. */
void gp_ooms_judge(struct gp_memory *m, struct gp_memory_device *d)
{
    for (size_t i = 0; i < d->ooms.n; i++) {
        struct gp_memory_oom *o = &d->ooms.at[i];
        o->key = key_of(m, d->s, o->stack);
        int64_t cached = o->reserved - o->active, reach = o->device_free + o->reserved;
        if (o->requested <= cached) {
            o->verdict = GP_OOM_FRAGMENTATION;
            continue;
        }
        o->guessed = d->total_bytes <= 0 && !is_beyond_devices(o->requested);
        if (d->total_bytes <= 0 && !o->guessed) {
            o->verdict = GP_OOM_TOO_LARGE;
            continue;
        }
        bool others = o->guessed ? !is_whole_device(reach) : o->requested <= d->total_bytes - o->active;
        o->verdict = others ? GP_OOM_OTHERS : GP_OOM_TOO_LARGE;
    }
}
