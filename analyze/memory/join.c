/* A snapshot and a trace of one run: what the trace knows of an allocation goes to the block that the
 * snapshot has of it. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/order.h"

#define NEAR_NS ((int64_t)2000000) /* the two clocks and the time between both notes of an allocation */

/* ---- the same allocation ---- */

struct event {
    uint64_t addr;
    int64_t time_ns;
    uint32_t life;
};

typedef GP_VEC(struct event) events;

GP_COMPARE(by_place, struct event, GP_UP(addr) GP_UP(time_ns) GP_UP(life))

static void collect(const struct gp_memory_device *d, events *all)
{
    for (size_t i = 0; i < d->lives.n; i++) {
        const struct gp_memory_life *l = &d->lives.at[i];
        if (l->begin) GP_VEC_PUSH(all, (struct event){l->addr, gp_memory_time(d, l->begin), (uint32_t)i});
    }
    if (all->n) qsort(all->at, all->n, sizeof *all->at, by_place);
}

/* The event of ALL that is nearest to E in time, at the same address; NULL: none is near. */
static const struct event *nearest(const events *all, const struct event *e)
{
    GP_SEARCH(lo, 0, all->n, mid, by_place(&all->at[mid], e) < 0);
    const struct event *best = NULL;
    int64_t least = NEAR_NS + 1;
    for (size_t i = lo ? lo - 1 : 0; i < all->n && i <= lo; i++) {
        const struct event *k = &all->at[i];
        int64_t apart = k->time_ns < e->time_ns ? e->time_ns - k->time_ns : k->time_ns - e->time_ns;
        if (k->addr != e->addr || apart >= least) continue;
        best = k;
        least = apart;
    }
    return best;
}

/* ---- what the trace knows ---- */

struct joining {
    struct gp_memory *m;
    struct gp_memory_device *to;
    const struct gp_memory_device *from;
    struct gp_map stacks; /* of FROM -> of TO */
    struct gp_map pairs;  /* site of TO << 32 | site of FROM -> site of TO */
};

static uint32_t move_frame(struct gp_snapshot *to, const struct gp_snapshot *from,
                           const struct gp_snapshot_frame *f)
{
    struct gp_snapshot_frame own = *f;
    own.name = gp_intern_from(&to->strings, &from->strings, f->name);
    own.file = gp_intern_from(&to->strings, &from->strings, f->file);
    GP_VEC_PUSH(&to->frames, own);
    return (uint32_t)to->frames.n - 1;
}

static uint32_t move_stack(struct joining *j, uint32_t stack)
{
    struct gp_snapshot *to = j->to->s;
    const struct gp_snapshot *from = j->from->s;
    if (!stack) return 0;
    uint32_t *known = gp_map_put(&j->stacks, stack, 0);
    if (*known) return *known;
    struct gp_snapshot_stack old = from->stacks.at[stack], own = {(uint32_t)to->stack_frames.n, old.n};
    for (uint32_t i = 0; i < old.n; i++) {
        uint32_t frame = move_frame(to, from, &from->frames.at[from->stack_frames.at[old.first + i]]);
        GP_VEC_PUSH(&to->stack_frames, frame);
    }
    GP_VEC_PUSH(&to->stacks, own);
    return *known = (uint32_t)to->stacks.n - 1;
}

/* Site OWN with what OTHER, of the trace, has beside it. */
static uint32_t pair_of(struct joining *j, uint32_t own, uint32_t other)
{
    uint32_t *known = gp_map_put(&j->pairs, (uint64_t)own << 32 | other, UINT32_MAX);
    if (*known != UINT32_MAX) return *known;
    struct gp_memory_site site = j->to->sites.at[own];
    const struct gp_memory_site *more = &j->from->sites.at[other];
    if (site.stand_in && more->stack) {
        site.stack = move_stack(j, more->stack);
        site.key = more->key;
        if (!site.phase) site.phase = more->phase;
    }
    if (!site.op) site.op = more->op;
    if (more->module) site.module = more->module;
    GP_VEC_PUSH(&j->to->sites, site);
    return *known = (uint32_t)j->to->sites.n - 1;
}

/* True if both are of one run: half of what the trace has of allocations is in the snapshot. */
static bool join(struct gp_memory *m, struct gp_memory_device *to, const struct gp_memory_device *from)
{
    struct joining j = {.m = m, .to = to, .from = from};
    events own = {0}, other = {0};
    size_t matched = 0;
    collect(to, &own);
    collect(from, &other);
    for (size_t i = 0; i < other.n; i++) matched += nearest(&own, &other.at[i]) != NULL;
    bool same = matched > 0 && matched * 2 >= other.n;
    for (size_t i = 0; same && i < own.n; i++) {
        const struct event *e = nearest(&other, &own.at[i]);
        if (!e) continue;
        struct gp_memory_life *l = &to->lives.at[own.at[i].life];
        l->site = pair_of(&j, l->site, from->lives.at[e->life].site);
        to->joined++;
    }
    GP_RELEASE(gp_map_release, &j.stacks, &j.pairs);
    GP_RELEASE(gp_vec_free, &own, &other);
    return same;
}

void gp_memory_drop_devices(struct gp_memory *m, const bool *drop)
{
    size_t n = 0;
    for (size_t i = 0; i < m->devices.n; i++) {
        if (drop[i]) gp_memory_release_device(&m->devices.at[i]);
        else m->devices.at[n++] = m->devices.at[i];
    }
    m->devices.n = n;
}

static bool is_allocator(const struct gp_memory_device *d) { return !d->kind && d->number >= 0; }

/* A device of a trace, whose sizes are what was asked for, by its number. */
struct asked {
    int32_t number;
    uint32_t device;
};

GP_COMPARE(by_number_last_first, struct asked, GP_UP(number) GP_DOWN(device))

typedef GP_VEC(struct asked) asked_vec;

static size_t first_of(const asked_vec *all, int32_t number)
{
    GP_SEARCH(lo, 0, all->n, mid, all->at[mid].number < number);
    return lo;
}

void gp_join(struct gp_memory *m)
{
    asked_vec asked = {0};
    bool *drop = gp_zalloc(m->devices.n + 1);
    for (uint32_t i = 0; i < m->devices.n; i++) {
        const struct gp_memory_device *d = &m->devices.at[i];
        if (d->s->sizes_are_real && is_allocator(d)) GP_VEC_PUSH(&asked, ((struct asked){d->number, i}));
    }
    if (asked.n) qsort(asked.at, asked.n, sizeof *asked.at, by_number_last_first);
    for (size_t i = 0; i < m->devices.n && asked.n; i++) {
        struct gp_memory_device *to = &m->devices.at[i];
        if (to->s->sizes_are_real || !is_allocator(to)) continue;
        for (size_t k = first_of(&asked, to->number); k < asked.n && asked.at[k].number == to->number; k++) {
            const struct gp_memory_device *from = &m->devices.at[asked.at[k].device];
            if (drop[asked.at[k].device] || !join(m, to, from)) continue;
            to->graph_launches += from->graph_launches;
            drop[asked.at[k].device] = true;
        }
    }
    gp_memory_drop_devices(m, drop);
    free(drop);
    GP_VEC_FREE(&asked);
}
