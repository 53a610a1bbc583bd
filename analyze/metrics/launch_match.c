#include "analyze/metrics/launch_match.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"
#include "formats/base/order.h"

/* Launches of the timing trace for which one group stands, of one rank. */
struct run {
    uint32_t group, first, n; /* in sorted */
};

struct find {
    struct gp_launch_match *m;
    const struct gp_trace *counters, *timing;
    GP_VEC(int32_t) ranks;              /* of the counters' trace */
    GP_VEC(struct gp_launch_keys) keys; /* by those: kernel, grid and block -> group */
    uint32_t *rank_of;                  /* by process of the timing trace: index in ranks; UINT32_MAX */
    struct gp_map group_of;             /* config and rank -> group */
    GP_VEC(struct run) runs;
    uint32_t *run_of; /* by row of GP_GPU */
};

static int32_t rank_at(const struct gp_trace *t, uint32_t track)
{
    uint32_t process = track < t->tracks.n ? t->tracks.at[track].process : UINT32_MAX;
    return process < t->processes.n ? t->processes.at[process].rank : -1;
}

static uint32_t find_rank(const struct find *f, int32_t rank)
{
    for (uint32_t i = 0; i < f->ranks.n; i++)
        if (f->ranks.at[i] == rank) return i;
    return UINT32_MAX;
}

static bool is_launch(const struct gp_trace *t, size_t row)
{
    const struct gp_events *e = &t->events[GP_METRIC];
    return gp_get_config(e, row) < t->configs.n && !gp_get_cat(e, row);
}

/* ---- measured launches ---- */

static uint32_t measured_group(struct find *f, size_t row)
{
    const struct gp_events *e = &f->counters->events[GP_METRIC];
    int32_t rank = rank_at(f->counters, e->track[row]);
    uint32_t at = find_rank(f, rank);
    if (at == UINT32_MAX) {
        at = (uint32_t)f->ranks.n;
        GP_VEC_PUSH(&f->ranks, rank);
        GP_VEC_PUSH(&f->keys, ((struct gp_launch_keys){.value = {.n = 0}}));
    }
    uint32_t *group = gp_launch_keys_put(&f->keys.at[at], &f->counters->configs.at[gp_get_config(e, row)]);
    if (*group == UINT32_MAX) {
        *group = (uint32_t)f->m->groups.n;
        GP_VEC_PUSH(&f->m->groups, ((struct gp_launch_group){.rank = at}));
    }
    return *group;
}

static void group_measured(struct find *f)
{
    const struct gp_events *e = &f->counters->events[GP_METRIC];
    uint32_t *of = gp_alloc((e->n + 1) * sizeof *of), first = 0;
    for (size_t i = 0; i < e->n; i++) {
        of[i] = is_launch(f->counters, i) ? measured_group(f, i) : UINT32_MAX;
        if (of[i] != UINT32_MAX) f->m->groups.at[of[i]].n++;
    }
    for (size_t g = 0; g < f->m->groups.n; g++) {
        f->m->groups.at[g].first = first;
        first += f->m->groups.at[g].n;
        f->m->groups.at[g].n = 0;
    }
    f->m->rows = gp_alloc((first + (size_t)1) * sizeof *f->m->rows);
    for (size_t i = 0; i < e->n; i++) {
        if (of[i] == UINT32_MAX) continue;
        struct gp_launch_group *g = &f->m->groups.at[of[i]];
        f->m->rows[g->first + g->n++] = (uint32_t)i;
    }
    free(of);
}

/* ---- launches of the timing trace ---- */

static uint32_t group_of_config(struct find *f, uint32_t config, uint32_t rank)
{
    uint32_t *at = gp_map_put(&f->group_of, (uint64_t)config << 32 | rank, UINT32_MAX - 1);
    if (*at != UINT32_MAX - 1) return *at;
    struct gp_config c = f->timing->configs.at[config];
    *at = UINT32_MAX;
    if (c.kind != GP_KERNEL) return UINT32_MAX;
    if (f->timing != f->counters)
        c.name = gp_intern_find(&f->counters->strings, gp_trace_str(f->timing, c.name),
                                gp_string_len(&f->timing->strings, c.name));
    const uint32_t *group = c.name != UINT32_MAX ? gp_launch_keys_get(&f->keys.at[rank], &c) : NULL;
    if (group) *at = *group;
    return *at;
}

/* The processes of the timing trace are counted apart: each ran the program. */
static void group_launches(struct find *f)
{
    const struct gp_events *gpu = &f->timing->events[GP_GPU];
    struct gp_map run_at = {0};
    f->run_of = gp_alloc((gpu->n + 1) * sizeof *f->run_of);
    for (size_t i = 0; i < gpu->n; i++) {
        uint32_t process = f->timing->tracks.at[gpu->track[i]].process;
        uint32_t rank = process < f->timing->processes.n ? f->rank_of[process] : UINT32_MAX;
        uint32_t group = rank != UINT32_MAX ? group_of_config(f, gp_get_config(gpu, i), rank) : UINT32_MAX;
        f->m->row[i] = f->run_of[i] = UINT32_MAX;
        f->m->group[i] = group;
        if (group == UINT32_MAX) continue;
        uint32_t *run = gp_map_put(&run_at, (uint64_t)group << 32 | process, UINT32_MAX);
        if (*run == UINT32_MAX) {
            *run = (uint32_t)f->runs.n;
            GP_VEC_PUSH(&f->runs, ((struct run){.group = group}));
        }
        f->run_of[i] = *run;
        f->runs.at[*run].n++;
        f->m->groups.at[group].launches++;
    }
    gp_map_release(&run_at);
}

struct launch {
    uint64_t corr;
    uint32_t row;
};

GP_COMPARE(compare_launches, struct launch, GP_UP(corr) GP_UP(row))

/* Kernels of several streams begin in another order than they were launched in. */
static void match_run(struct find *f, struct launch *at, const struct run *run)
{
    const struct gp_launch_group *g = &f->m->groups.at[run->group];
    bool sorted = true;
    for (uint32_t i = 1; i < run->n; i++) sorted &= compare_launches(&at[i - 1], &at[i]) < 0;
    if (!sorted) qsort(at, run->n, sizeof *at, compare_launches);
    if (run->n % g->n && g->n % run->n) return;
    for (uint32_t i = 0; i < run->n; i++) f->m->row[at[i].row] = f->m->rows[g->first + i % g->n];
}

static void match_positions(struct find *f)
{
    const struct gp_events *gpu = &f->timing->events[GP_GPU];
    struct launch *at = gp_alloc((gpu->n + 1) * sizeof *at);
    uint32_t first = 0;
    for (size_t r = 0; r < f->runs.n; r++) {
        f->runs.at[r].first = first;
        first += f->runs.at[r].n;
        f->runs.at[r].n = 0;
    }
    for (size_t i = 0; i < gpu->n; i++) {
        if (f->run_of[i] == UINT32_MAX) continue;
        struct run *run = &f->runs.at[f->run_of[i]];
        at[run->first + run->n++] = (struct launch){gp_get_corr(gpu, i), (uint32_t)i};
    }
    for (size_t r = 0; r < f->runs.n; r++) match_run(f, at + f->runs.at[r].first, &f->runs.at[r]);
    free(at);
}

/* ---- in one trace ---- */

static uint64_t id_of(const struct gp_trace *t, const struct gp_events *e, size_t row)
{
    const uint32_t process = t->tracks.at[e->track[row]].process;
    return (uint64_t)(process < t->processes.n ? t->processes.at[process].producer : 0) << 48 ^
           gp_get_corr(e, row);
}

/* False if no launch has an id. */
static bool match_ids(struct find *f)
{
    const struct gp_events *e = &f->counters->events[GP_METRIC], *gpu = &f->timing->events[GP_GPU];
    struct gp_map row_of = {0};
    bool any = false;
    for (size_t i = 0; i < e->n; i++) {
        if (!is_launch(f->counters, i) || gp_get_corr(e, i) == GP_NO_ID) continue;
        *gp_map_put(&row_of, id_of(f->counters, e, i), 0) = (uint32_t)i;
        any = true;
    }
    for (size_t i = 0; any && i < gpu->n; i++) {
        if (f->m->group[i] == UINT32_MAX || gp_get_corr(gpu, i) == GP_NO_ID) continue;
        const uint32_t *at = gp_map_get(&row_of, id_of(f->timing, gpu, i));
        if (at) f->m->row[i] = *at;
    }
    gp_map_release(&row_of);
    return any;
}

void gp_launch_match_find(struct gp_launch_match *m, const struct gp_trace *counters,
                          const struct gp_trace *timing)
{
    struct find f = {.m = m, .counters = counters, .timing = timing};
    size_t n = timing->events[GP_GPU].n;
    memset(m, 0, sizeof *m);
    m->row = gp_alloc((n + 1) * sizeof *m->row);
    m->group = gp_alloc((n + 1) * sizeof *m->group);
    group_measured(&f);
    /* Processes of a rank that was measured, or, if only one was, of any. */
    const struct gp_trace *t = f.timing;
    f.rank_of = gp_alloc((t->processes.n + 1) * sizeof *f.rank_of);
    for (size_t p = 0; p < t->processes.n; p++) {
        f.rank_of[p] = find_rank(&f, t->processes.at[p].rank);
        if (f.rank_of[p] == UINT32_MAX && f.ranks.n == 1) f.rank_of[p] = 0;
    }
    group_launches(&f);
    if (counters != timing || !match_ids(&f)) match_positions(&f);
    for (size_t i = 0; i < f.keys.n; i++) gp_launch_keys_release(&f.keys.at[i]);
    GP_VEC_FREE(&f.keys);
    GP_VEC_FREE(&f.ranks);
    GP_VEC_FREE(&f.runs);
    gp_map_release(&f.group_of);
    free(f.rank_of);
    free(f.run_of);
}

void gp_launch_match_release(struct gp_launch_match *m)
{
    GP_VEC_FREE(&m->groups);
    free(m->row);
    free(m->group);
    free(m->rows);
    memset(m, 0, sizeof *m);
}

/* ---- keys of launches ---- */

struct key {
    uint32_t name, grid[3], block[3]; /* NAME: a sid of the trace */
};

static struct key key_of(const struct gp_config *c)
{
    const uint32_t *g = c->grid, *b = c->block;
    return (struct key){c->name, {g[0], g[1], g[2]}, {b[0], b[1], b[2]}};
}

uint32_t *gp_launch_keys_put(struct gp_launch_keys *k, const struct gp_config *c)
{
    const struct key key = key_of(c);
    const gp_sid sid = gp_intern(&k->all, (const char *)&key, sizeof key);
    while (k->value.n <= sid) GP_VEC_PUSH(&k->value, UINT32_MAX);
    return &k->value.at[sid];
}

const uint32_t *gp_launch_keys_get(const struct gp_launch_keys *k, const struct gp_config *c)
{
    const struct key key = key_of(c);
    const gp_sid sid = gp_intern_find(&k->all, (const char *)&key, sizeof key);
    return sid < k->value.n ? &k->value.at[sid] : NULL;
}

void gp_launch_keys_release(struct gp_launch_keys *k)
{
    gp_strings_release(&k->all);
    GP_VEC_FREE(&k->value);
}
