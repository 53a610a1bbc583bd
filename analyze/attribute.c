#include "analyze/attribute.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"

#define NO_ROW UINT32_MAX

static bool is_id(uint64_t id)
{
    return id != 0 && id != GP_NO_ID;
}

/* ---- (producer, id) -> first row ---- */

struct id_index {
    struct gp_map producers;           /* -> index into maps; producers are few */
    GP_VEC(struct gp_map) by_producer; /* id -> row */
};

static struct gp_map *map_of(struct id_index *x, uint32_t producer)
{
    uint32_t i = *gp_map_put(&x->producers, producer, (uint32_t)x->by_producer.n);
    if (i == x->by_producer.n) GP_VEC_PUSH(&x->by_producer, (struct gp_map){0});
    return &x->by_producer.at[i];
}

static uint32_t lookup(const struct id_index *x, uint32_t producer, uint64_t id)
{
    const uint32_t *i = gp_map_get(&x->producers, producer);
    const uint32_t *row = i ? gp_map_get(&x->by_producer.at[*i], id) : NULL;
    return row ? *row : NO_ROW;
}

static void release_index(struct id_index *x)
{
    for (size_t i = 0; i < x->by_producer.n; i++) gp_map_release(&x->by_producer.at[i]);
    GP_VEC_FREE(&x->by_producer);
    gp_map_release(&x->producers);
}

/* ---- calls by correlation id ---- */

/* A call whose id others have, too. */
struct twin {
    uint64_t corr;
    int64_t start_ns;
    uint32_t producer, row;
};

struct calls {
    struct id_index first;
    GP_VEC(struct twin) twins; /* all calls of shared ids, sorted */
};

static int compare_twins(const void *a, const void *b)
{
    const struct twin *x = a, *y = b;
    if (x->producer != y->producer) return x->producer < y->producer ? -1 : 1;
    if (x->corr != y->corr) return x->corr < y->corr ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static struct twin twin_of(const struct gp_trace *t, uint32_t row)
{
    const struct gp_events *api = &t->events[GP_API];
    return (struct twin){api->corr[row], api->start_ns[row], gp_track_producer(t, api->track[row]), row};
}

static uint64_t index_calls(struct calls *c, const struct gp_trace *t)
{
    const struct gp_events *api = &t->events[GP_API];
    uint64_t duplicates = 0;
    if (!api->corr) return 0;
    struct id_index shared = {0};
    for (uint32_t i = 0; i < api->n; i++) {
        if (!is_id(api->corr[i])) continue;
        uint32_t producer = gp_track_producer(t, api->track[i]);
        uint32_t first = *gp_map_put(map_of(&c->first, producer), api->corr[i], i);
        if (first == i) continue;
        duplicates++;
        if (*gp_map_put(map_of(&shared, producer), api->corr[i], i) == i)
            GP_VEC_PUSH(&c->twins, twin_of(t, first));
        GP_VEC_PUSH(&c->twins, twin_of(t, i));
    }
    release_index(&shared);
    if (c->twins.n) qsort(c->twins.at, c->twins.n, sizeof *c->twins.at, compare_twins);
    return duplicates;
}

/* Among the calls that share the id of FIRST, the last that began no later than AT_NS. FIRST when none did,
 * or when it is alone. */
static uint32_t pick_twin(const struct calls *c, const struct gp_trace *t, uint32_t first, int64_t at_ns)
{
    if (!c->twins.n) return first;
    struct twin key = twin_of(t, first);
    key.start_ns = at_ns;
    key.row = NO_ROW;
    size_t lo = 0, hi = c->twins.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_twins(&c->twins.at[mid], &key) <= 0) lo = mid + 1;
        else hi = mid;
    }
    if (!lo) return first;
    const struct twin *found = &c->twins.at[lo - 1];
    return found->corr == key.corr && found->producer == key.producer ? found->row : first;
}

static void by_correlation(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    const struct gp_events *gpu = &t->events[GP_GPU];
    if (!gpu->corr) return;
    struct calls calls = {0};
    a->duplicate_corr = index_calls(&calls, t);
    for (size_t i = 0; i < gpu->n; i++) {
        if (!is_id(gpu->corr[i])) continue;
        uint32_t row = lookup(&calls.first, gp_track_producer(t, gpu->track[i]), gpu->corr[i]);
        if (row == NO_ROW) continue;
        row = pick_twin(&calls, t, row, gpu->start_ns[i]);
        a->api_row[i] = row;
        a->node[i] = gp_host_node(hs, GP_API, row);
        if (a->node[i] != GP_HOST_NONE) a->how[i] = GP_BY_CORRELATION;
    }
    release_index(&calls.first);
    GP_VEC_FREE(&calls.twins);
}

/* ---- operators by External id ---- */

static void by_external_id(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *op = &t->events[GP_OP];
    if (!gpu->ext || !op->ext) return;
    struct id_index ops = {0};
    for (size_t i = 0; i < gpu->n; i++) {
        if (a->how[i] != GP_BY_NOTHING || !is_id(gpu->ext[i])) continue;
        if (!ops.by_producer.n)
            for (uint32_t k = 0; k < op->n; k++)
                if (is_id(op->ext[k]))
                    gp_map_put(map_of(&ops, gp_track_producer(t, op->track[k])), op->ext[k], k);
        uint32_t row = lookup(&ops, gp_track_producer(t, gpu->track[i]), gpu->ext[i]);
        if (row == NO_ROW) continue;
        a->node[i] = gp_host_node(hs, GP_OP, row);
        if (a->node[i] != GP_HOST_NONE) a->how[i] = GP_BY_EXTERNAL_ID;
    }
    release_index(&ops);
}

/* ---- arrows ---- */

static uint64_t place_key(uint32_t track, int64_t start_ns)
{
    return (uint64_t)start_ns * 0x9e3779b97f4a7c15u + track;
}

static bool is_launch_arrow(const struct gp_events *flow, size_t i, uint32_t phase)
{
    return gp_get_phase(flow, i) == phase && !gp_get_cat(flow, i) && is_id(gp_get_id(flow, i));
}

/* Arrows that start, by id; and arrows that end, by where. */
static void index_arrows(const struct gp_trace *t, struct id_index *from, struct gp_map *to)
{
    const struct gp_events *flow = &t->events[GP_FLOW];
    for (uint32_t i = 0; i < flow->n; i++) {
        if (is_launch_arrow(flow, i, 's'))
            gp_map_put(map_of(from, gp_track_producer(t, flow->track[i])), flow->id[i], i);
        else if (is_launch_arrow(flow, i, 'f'))
            gp_map_put(to, place_key(flow->track[i], flow->start_ns[i]), i);
    }
}

static void by_flow(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *flow = &t->events[GP_FLOW];
    if (!flow->id) return;
    struct id_index from = {0};
    struct gp_map to = {0};
    bool indexed = false;
    for (size_t i = 0; i < gpu->n; i++) {
        if (a->how[i] != GP_BY_NOTHING) continue;
        if (!indexed) index_arrows(t, &from, &to);
        indexed = true;
        const uint32_t *end = gp_map_get(&to, place_key(gpu->track[i], gpu->start_ns[i]));
        if (!end || flow->track[*end] != gpu->track[i] || flow->start_ns[*end] != gpu->start_ns[i]) continue;
        uint32_t begin = lookup(&from, gp_track_producer(t, gpu->track[i]), flow->id[*end]);
        if (begin == NO_ROW) continue;
        a->node[i] = gp_host_at(hs, flow->track[begin], flow->start_ns[begin]);
        if (a->node[i] != GP_HOST_NONE) a->how[i] = GP_BY_FLOW;
    }
    release_index(&from);
    gp_map_release(&to);
}

void gp_attribute(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    memset(a, 0, sizeof *a);
    size_t n = t->events[GP_GPU].n;
    a->node = gp_alloc(n * sizeof *a->node);
    a->api_row = gp_alloc(n * sizeof *a->api_row);
    a->how = gp_zalloc(n);
    memset(a->node, 0xff, n * sizeof *a->node);
    memset(a->api_row, 0xff, n * sizeof *a->api_row);
    by_correlation(a, t, hs);
    by_external_id(a, t, hs);
    by_flow(a, t, hs);
    for (size_t i = 0; i < n; i++) a->by[a->how[i]]++;
}

void gp_attribution_release(struct gp_attribution *a)
{
    free(a->node);
    free(a->api_row);
    free(a->how);
    memset(a, 0, sizeof *a);
}
