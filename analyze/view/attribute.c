#include "analyze/view/attribute.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"
#include "formats/base/order.h"

static bool is_id(uint64_t id) { return id != 0 && id != GP_NO_ID; }

/* ---- rows by (producer, id) ---- */

struct id_row {
    uint64_t id;
    uint32_t producer, row;
};

/* Sorted by (producer, id, row). Profilers count ids up, so that rows in order of time mostly are, and one id
 * is found near the one that was found before. */
struct id_index {
    GP_VEC(struct id_row) rows;
    size_t hint;
};

GP_COMPARE(compare_ids, struct id_row, GP_UP(producer) GP_UP(id) GP_UP(row))

/* All rows of E with an id, IDS[row]. */
static void index_ids(struct id_index *x, const struct gp_trace *t, const struct gp_events *e,
                      const uint64_t *ids)
{
    bool sorted = true;
    GP_VEC_RESERVE(&x->rows, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        if (!is_id(ids[i])) continue;
        struct id_row *to = &x->rows.at[x->rows.n++];
        *to = (struct id_row){ids[i], gp_track_producer(t, e->track[i]), i};
        sorted &= x->rows.n == 1 || compare_ids(to - 1, to) < 0;
    }
    if (!sorted) qsort(x->rows.at, x->rows.n, sizeof *x->rows.at, compare_ids);
}

static bool is_before(const struct id_row *r, uint32_t producer, uint64_t id)
{
    return r->producer != producer ? r->producer < producer : r->id < id;
}

/* The first entry with that id; NULL if there is none. */
static const struct id_row *find_id(struct id_index *x, uint32_t producer, uint64_t id)
{
    const struct id_row *r = x->rows.at;
    size_t lo = 0, hi = x->rows.n, at = x->hint, step = 1;
    if (at < hi && is_before(&r[at], producer, id)) {
        for (lo = at + 1; step < hi - lo && is_before(&r[lo + step - 1], producer, id); step *= 2) lo += step;
        if (step < hi - lo) hi = lo + step;
    } else {
        hi = at;
        if (at && is_before(&r[at - 1], producer, id)) lo = at;
    }
    GP_NARROW(lo, hi, mid, is_before(&r[mid], producer, id));
    x->hint = lo;
    return lo < x->rows.n && r[lo].producer == producer && r[lo].id == id ? &r[lo] : NULL;
}

static bool same_id(const struct id_row *a, const struct id_row *b)
{
    return a->producer == b->producer && a->id == b->id;
}

/* Among the calls with the id of FIRST, the last that began no later than AT_NS. FIRST when none did. */
static uint32_t pick_call(const struct id_index *x, const struct id_row *first, const int64_t *start_ns,
                          int64_t at_ns)
{
    const struct id_row *lo = first, *hi = x->rows.at + x->rows.n;
    if (hi - lo < 2 || !same_id(first, first + 1)) return first->row;
    while (hi - lo > 1) {
        const struct id_row *mid = lo + (hi - lo) / 2;
        if (same_id(mid, first) && start_ns[mid->row] <= at_ns) lo = mid;
        else hi = mid;
    }
    return lo->row;
}

static void by_correlation(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    if (!gpu->corr || !api->corr) return;
    struct id_index calls = {.hint = 0};
    index_ids(&calls, t, api, api->corr);
    for (size_t i = 1; i < calls.rows.n; i++)
        a->duplicate_corr += same_id(&calls.rows.at[i - 1], &calls.rows.at[i]);
    for (size_t i = 0; i < gpu->n; i++) {
        if (!is_id(gpu->corr[i])) continue;
        const struct id_row *first = find_id(&calls, gp_track_producer(t, gpu->track[i]), gpu->corr[i]);
        if (!first) continue;
        uint32_t row = pick_call(&calls, first, api->start_ns, gpu->start_ns[i]);
        a->api_row[i] = row;
        a->node[i] = gp_host_node(hs, GP_API, row);
        if (a->node[i] != GP_HOST_NONE) a->how[i] = GP_BY_CORRELATION;
    }
    GP_VEC_FREE(&calls.rows);
}

/* ---- operators by External id ---- */

static void by_external_id(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *op = &t->events[GP_OP];
    if (!gpu->ext || !op->ext) return;
    struct id_index ops = {.hint = 0};
    bool indexed = false;
    for (size_t i = 0; i < gpu->n; i++) {
        if (a->how[i] != GP_BY_NOTHING || !is_id(gpu->ext[i])) continue;
        if (!indexed) index_ids(&ops, t, op, op->ext);
        indexed = true;
        const struct id_row *first = find_id(&ops, gp_track_producer(t, gpu->track[i]), gpu->ext[i]);
        if (!first) continue;
        a->node[i] = gp_host_node(hs, GP_OP, first->row);
        if (a->node[i] != GP_HOST_NONE) a->how[i] = GP_BY_EXTERNAL_ID;
    }
    GP_VEC_FREE(&ops.rows);
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
        if (is_launch_arrow(flow, i, 's')) {
            struct id_row r = {flow->id[i], gp_track_producer(t, flow->track[i]), i};
            GP_VEC_PUSH(&from->rows, r);
        } else if (is_launch_arrow(flow, i, 'f')) {
            gp_map_put(to, place_key(flow->track[i], flow->start_ns[i]), i);
        }
    }
    if (from->rows.n) qsort(from->rows.at, from->rows.n, sizeof *from->rows.at, compare_ids);
}

static void by_flow(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *flow = &t->events[GP_FLOW];
    if (!flow->id) return;
    struct id_index from = {.hint = 0};
    struct gp_map to = {0};
    bool indexed = false;
    for (size_t i = 0; i < gpu->n; i++) {
        if (a->how[i] != GP_BY_NOTHING) continue;
        if (!indexed) index_arrows(t, &from, &to);
        indexed = true;
        const uint32_t *end = gp_map_get(&to, place_key(gpu->track[i], gpu->start_ns[i]));
        if (!end || flow->track[*end] != gpu->track[i] || flow->start_ns[*end] != gpu->start_ns[i]) continue;
        const struct id_row *begin = find_id(&from, gp_track_producer(t, gpu->track[i]), flow->id[*end]);
        if (!begin) continue;
        a->node[i] = gp_host_at(hs, flow->track[begin->row], flow->start_ns[begin->row]);
        if (a->node[i] != GP_HOST_NONE) a->how[i] = GP_BY_FLOW;
    }
    GP_VEC_FREE(&from.rows);
    gp_map_release(&to);
}

static void allocate(struct gp_attribution *a, size_t n)
{
    memset(a, 0, sizeof *a);
    a->node = gp_alloc(n * sizeof *a->node);
    a->api_row = gp_alloc(n * sizeof *a->api_row);
    a->how = gp_zalloc(n);
}

void gp_attribute(struct gp_attribution *a, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    size_t n = t->events[GP_GPU].n;
    allocate(a, n);
    memset(a->node, 0xff, n * sizeof *a->node);
    memset(a->api_row, 0xff, n * sizeof *a->api_row);
    by_correlation(a, t, hs);
    by_external_id(a, t, hs);
    by_flow(a, t, hs);
    for (size_t i = 0; i < n; i++) a->by[a->how[i]]++;
}

void gp_attribution_pick(struct gp_attribution *a, const struct gp_attribution *from, const uint32_t *rows,
                         size_t n)
{
    allocate(a, n);
    for (size_t i = 0; i < n; i++) {
        a->node[i] = from->node[rows[i]];
        a->api_row[i] = from->api_row[rows[i]];
        a->how[i] = from->how[rows[i]];
        a->by[a->how[i]]++;
    }
    a->duplicate_corr = from->duplicate_corr;
}

void gp_attribution_release(struct gp_attribution *a)
{
    GP_RELEASE(free, a->node, a->api_row, a->how);
    memset(a, 0, sizeof *a);
}
