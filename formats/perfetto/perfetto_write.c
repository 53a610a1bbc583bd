
#include <stdlib.h>
#include "formats/perfetto/perfetto_priv.h"

/* ---- launches ---- */

static uint64_t launch_key(const struct gp_trace *t, const struct gp_events *e, size_t row)
{
    return (uint64_t)t->processes.at[t->tracks.at[e->track[row]].process].producer << 40 ^
           gp_get_corr(e, row);
}

/* Correlation ids that lie close together need no hash table. */
struct calls {
    uint32_t *dense;
    uint64_t least, n;
    struct gp_map sparse;
};

static void index_calls(struct calls *c, const struct gp_trace *t)
{
    enum { ROOM = 16 };
    const struct gp_events *api = &t->events[GP_API];
    uint64_t most = 0;
    c->least = UINT64_MAX;
    for (size_t i = 0; i < api->n; i++) {
        if (gp_get_corr(api, i) == GP_NO_ID) continue;
        uint64_t key = launch_key(t, api, i);
        if (key < c->least) c->least = key;
        if (key > most) most = key;
    }
    if (c->least <= most && most - c->least < ROOM * (uint64_t)api->n) {
        c->n = most - c->least + 1;
        c->dense = gp_alloc_ones(c->n * sizeof *c->dense);
    }
    for (size_t i = 0; i < api->n; i++) {
        if (gp_get_corr(api, i) == GP_NO_ID) continue;
        uint64_t key = launch_key(t, api, i);
        if (c->dense) c->dense[key - c->least] = (uint32_t)i;
        else *gp_map_put(&c->sparse, key, 0) = (uint32_t)i;
    }
}

static uint32_t find_call(const struct calls *c, uint64_t key)
{
    if (c->dense) return key - c->least < c->n ? c->dense[key - c->least] : GP_PF_NONE;
    const uint32_t *row = gp_map_get(&c->sparse, key);
    return row ? *row : GP_PF_NONE;
}

/* Who launched whom, by correlation id. Nothing if no GPU event has a call. */
static void find_launches(struct gp_pf *w)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU], *api = &w->t->events[GP_API];
    struct calls calls = {0};
    bool any = false;
    index_calls(&calls, w->t);
    w->launch_of = gp_alloc((gpu->n + 1) * sizeof *w->launch_of);
    w->first = gp_zalloc((api->n + 2) * sizeof *w->first);
    w->launches = gp_alloc((gpu->n + 1) * sizeof *w->launches);
    for (size_t i = 0; i < gpu->n; i++) {
        bool has = gp_get_corr(gpu, i) != GP_NO_ID;
        w->launch_of[i] = has ? find_call(&calls, launch_key(w->t, gpu, i)) : GP_PF_NONE;
        if (w->launch_of[i] == GP_PF_NONE) continue;
        any = true;
        w->first[w->launch_of[i] + 1]++;
    }
    for (size_t i = 1; i <= api->n; i++) w->first[i] += w->first[i - 1];
    for (size_t i = gpu->n; i-- > 0;)
        if (w->launch_of[i] != GP_PF_NONE) w->launches[--w->first[w->launch_of[i] + 1]] = (uint32_t)i;
    for (size_t i = 0; i < api->n; i++) w->first[i] = w->first[i + 1];
    w->first[api->n] = 0;
    for (size_t i = 0; i < gpu->n; i++) w->first[api->n] += w->launch_of[i] != GP_PF_NONE;
    free(calls.dense);
    gp_map_release(&calls.sparse);
    if (any) return;
    GP_RELEASE(free, w->launch_of, w->first, w->launches);
    w->launch_of = w->first = w->launches = NULL;
}

/* ---- the whole ---- */

static void make_texts(struct gp_pf *w)
{
    static const char *const keys[] = {GP_PF_ARGS(GP_SECOND)};
    for (size_t i = 0; i < GP_COUNT(keys); i++) w->keys[i] = gp_pf_text(w, keys[i], strlen(keys[i]));
    for (int i = 0; i < GP_TABLE_COUNT + 3; i++) {
        const char *usual = i < GP_TABLE_COUNT ? gp_table_category((enum gp_table)i)
                                               : gp_gpu_kind_category((enum gp_gpu_kind)(i - GP_TABLE_COUNT));
        w->usual[i] = gp_pf_text(w, usual, strlen(usual));
    }
}

int gp_perfetto_write(const struct gp_trace *t, gp_perfetto_plain_name *plain_name, int threads,
                      gp_perfetto_sink *sink, void *ctx)
{
    struct gp_pf w = {.t = t, .plain_name = plain_name, .sequences = 1};
    gp_pf_chunks_init(&w.chunks, threads, sink, ctx);
    make_texts(&w);
    int64_t least = 0;
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (w.t->events[i].n && w.t->events[i].start_ns[0] < least) least = w.t->events[i].start_ns[0];
    w.shift_ns = -least;
    find_launches(&w);
    gp_pf_put_rest(&w);
    gp_pf_clocks(&w);
    gp_pf_processes(&w);
    gp_pf_tracks_of_events(&w);
    gp_pf_counters(&w);
    gp_pf_flush(&w.chunks);
    int stopped = w.chunks.stopped ? -1 : 0;
    gp_pf_chunks_release(&w.chunks);
    for (int i = 0; i < GP_PF_KINDS; i++) GP_VEC_FREE(&w.known[i]);
    GP_RELEASE(gp_buf_release, &w.interned, &w.event, &w.config_args);
    GP_RELEASE(gp_vec_free, &w.configs, &w.class_of);
    gp_strings_release(&w.own);
    gp_map_release(&w.group_uuids);
    GP_RELEASE(free, w.process_uuids, w.launch_of, w.first, w.launches);
    return stopped;
}
