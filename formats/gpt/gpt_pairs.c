#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt_encode_priv.h"

enum { ROUNDS = 8 };
#define NONE UINT32_MAX

/* ---- correlation ids ---- */

/* Correlation id -> position of the call in ORDER. Ids close together go into an array, others into a map. */
struct calls {
    uint64_t least, span;
    uint32_t *array;
    struct gp_map map;
};

static void calls_init(struct calls *c, const struct gp_events *api, const uint32_t *order)
{
    uint64_t most = 0;
    memset(c, 0, sizeof *c);
    c->least = UINT64_MAX;
    for (size_t i = 0; i < api->n; i++) {
        uint64_t id = api->corr[i];
        if (id == GP_NO_ID) continue;
        if (id < c->least) c->least = id;
        if (id > most) most = id;
    }
    if (c->least > most) return;
    c->span = most - c->least < 8 * api->n + 1024 ? most - c->least + 1 : 0;
    if (c->span) {
        c->array = gp_alloc_ones(c->span * sizeof *c->array);
    }
    for (size_t i = 0; i < api->n; i++) {
        uint64_t id = api->corr[order[i]];
        if (id == GP_NO_ID) continue;
        if (!c->span) gp_map_put(&c->map, id, (uint32_t)i);
        else if (c->array[id - c->least] == NONE) c->array[id - c->least] = (uint32_t)i;
    }
}

static uint32_t calls_find(const struct calls *c, uint64_t id)
{
    if (id == GP_NO_ID) return NONE;
    if (c->span) return id - c->least < c->span ? c->array[id - c->least] : NONE;
    const uint32_t *at = gp_map_get(&c->map, id);
    return at ? *at : NONE;
}

/* ---- pairs ---- */

/* Both tables in order, and the position of each event's partner in the other one. */
struct match {
    const struct gp_events *gpu, *api;
    uint32_t *gpu_order, *api_order, *call, *work;
};

static bool tied(const struct gp_events *e, const uint32_t *order, size_t i)
{
    return i && e->start_ns[order[i - 1]] == e->start_ns[order[i]] &&
           e->dur_ns[order[i - 1]] == e->dur_ns[order[i]];
}

static void part(struct match *m, uint32_t gpu, uint32_t api)
{
    m->call[gpu] = NONE;
    m->work[api] = NONE;
}

/* In a file, pairs come before single events, in the order of their GPU events. Separate the pairs that would
 * swap with an event of the same time; with ALL, all pairs that have such a neighbour. True if any was
 * separated. */
static bool part_ties(struct match *m, bool all)
{
    bool any = false;
    for (uint32_t i = 1; i < m->gpu->n; i++) {
        if (!tied(m->gpu, m->gpu_order, i)) continue;
        if (all && m->call[i - 1] != NONE) part(m, i - 1, m->call[i - 1]), any = true;
        if (m->call[i] == NONE || (!all && m->call[i - 1] != NONE)) continue;
        part(m, i, m->call[i]);
        any = true;
    }
    for (uint32_t i = 1; i < m->api->n; i++) {
        if (!tied(m->api, m->api_order, i)) continue;
        uint32_t before = m->work[i - 1], now = m->work[i];
        if (all && before != NONE) part(m, before, i - 1), any = true;
        if (now == NONE || (!all && before != NONE && before < now)) continue;
        part(m, now, i);
        any = true;
    }
    return any;
}

static void find_partners(struct match *m)
{
    memset(m->call, 0xff, m->gpu->n * sizeof *m->call);
    memset(m->work, 0xff, m->api->n * sizeof *m->work);
    if (!m->gpu->corr || !m->api->corr || !m->api->n) return;
    struct calls calls;
    calls_init(&calls, m->api, m->api_order);
    for (uint32_t i = 0; i < m->gpu->n; i++) {
        uint32_t at = calls_find(&calls, m->gpu->corr[m->gpu_order[i]]);
        if (at == NONE || m->work[at] != NONE) continue;
        m->call[i] = at;
        m->work[at] = i;
    }
    free(calls.array);
    gp_map_release(&calls.map);
    for (int round = 1; part_ties(m, round == ROUNDS) && round < ROUNDS;) round++;
}

void gp_pairs_find(struct gp_pairs *p, const struct gp_events *gpu, const struct gp_events *api)
{
    size_t need = 4 * gpu->n + 3 * api->n + 1;
    if (need > p->cap) {
        free(p->memory);
        p->cap = need + need / 2;
        p->memory = gp_alloc(p->cap * sizeof *p->memory);
    }
    struct match m = {gpu, api, p->memory, p->memory + gpu->n, NULL, NULL};
    m.call = m.api_order + api->n;
    m.work = m.call + gpu->n;
    p->gpu = m.work + api->n;
    p->api = p->gpu + gpu->n;
    gp_events_order(gpu, m.gpu_order);
    gp_events_order(api, m.api_order);
    find_partners(&m);
    p->n = p->nlone_gpu = p->nlone_api = 0;
    p->lone_gpu = m.gpu_order;
    p->lone_api = m.api_order;
    for (size_t i = 0; i < gpu->n; i++) {
        if (m.call[i] != NONE) {
            p->gpu[p->n] = m.gpu_order[i];
            p->api[p->n++] = m.api_order[m.call[i]];
        }
    }
    for (size_t i = 0; i < gpu->n; i++)
        if (m.call[i] == NONE) p->lone_gpu[p->nlone_gpu++] = m.gpu_order[i];
    for (size_t i = 0; i < api->n; i++)
        if (m.work[i] == NONE) p->lone_api[p->nlone_api++] = m.api_order[i];
}

void gp_pairs_release(struct gp_pairs *p)
{
    free(p->memory);
    memset(p, 0, sizeof *p);
}
