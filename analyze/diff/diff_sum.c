/* Figures of operations and of the sides: sums over the samples, and their means. */
#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "analyze/diff/diff_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/hash.h"
#include "formats/base/map.h"

#define NONE GP_PROFILE_NONE

/* ---- calls of each operation ---- */

/* Equal names and grids get the same number on both sides. Two with the same hash count as equal: calls are
 * then paired by order only. */
static void number_shapes(struct gp_diff_work *w)
{
    struct gp_map numbers = {0};
    GP_EACH_OF(struct gp_diff_group, g, w->side, GP_DIFF_SIDES) {
        g->shape_of = gp_zalloc((g->n + 1) * sizeof *g->shape_of);
        for (size_t i = 0; i < g->n; i++) {
            const struct gp_profile *p = g->profiles[i];
            g->shape_of[i] = gp_alloc((p->kernels.n + 1) * sizeof **g->shape_of);
            for (size_t k = 0; k < p->kernels.n; k++) {
                const struct gp_profile_kernel *kernel = &p->kernels.at[k];
                uint64_t hash = gp_hash_u64(gp_string_hash(&p->strings, kernel->name), kernel->kind);
                for (int a = 0; a < 3; a++)
                    hash = gp_hash_u64(gp_hash_u64(hash, kernel->grid[a]), kernel->block[a]);
                g->shape_of[i][k] = *gp_map_put(&numbers, hash, (uint32_t)numbers.n);
            }
        }
    }
    gp_map_release(&numbers);
}

/* The calls of each operation in the order of samples, then launches: counted, then dealt out. */
static void deal_calls(struct gp_diff_work *w, int side)
{
    struct gp_diff_group *g = &w->side[side];
    size_t n_ops = w->d->ops.n;
    size_t *first = gp_zalloc((n_ops + 2) * sizeof *first);
    GP_EACH(const struct gp_diff_sample, s, g->samples) {
        const struct gp_profile *p = g->profiles[s->profile];
        for (uint32_t k = s->s->first; k < s->s->first + s->s->n; k++)
            first[gp_diff_op_of(w, side, s->profile, &p->events.at[k]) + 2]++;
    }
    for (size_t i = 2; i < n_ops + 2; i++) first[i] += first[i - 1];
    g->calls = gp_alloc((first[n_ops + 1] + 1) * sizeof *g->calls);
    for (uint32_t i = 0; i < g->samples.n; i++) {
        const struct gp_diff_sample *s = &g->samples.at[i];
        const struct gp_profile *p = g->profiles[s->profile];
        for (uint32_t k = s->s->first; k < s->s->first + s->s->n; k++) {
            const struct gp_profile_event *e = &p->events.at[k];
            size_t at = first[gp_diff_op_of(w, side, s->profile, e) + 1]++;
            g->calls[at] = (struct gp_diff_call){e->dur_ns, i, g->shape_of[s->profile][e->kernel], k};
        }
    }
    g->first_call = first; /* dealing moved each one on to where the next begins */
}

/* ---- figures ---- */

/* How an operation was launched, and how much of it is communication. */
struct launched {
    bool by_graph[GP_DIFF_SIDES]; /* most calls */
    int64_t waits_ns;
};

static void sum_op(struct gp_diff_work *w, int side, uint32_t op, struct launched *l)
{
    const struct gp_diff_group *g = &w->side[side];
    struct gp_diff_figure *f = &w->d->ops.at[op].side[side];
    uint32_t first = w->d->opts.by == GP_DIFF_BY_OP ? GP_PROFILE_FIRST_OF_OP : GP_PROFILE_FIRST_OF_RANGE;
    uint64_t firsts = 0, graphs = 0;
    for (size_t i = g->first_call[op]; i < g->first_call[op + 1]; i++) {
        const struct gp_profile *p = gp_diff_profile_of(g, &g->calls[i]);
        const struct gp_profile_event *e = &p->events.at[g->calls[i].event];
        int64_t dur = e->dur_ns;
        if (!f->calls || dur < f->min_ns) f->min_ns = dur;
        if (!f->calls || dur > f->max_ns) f->max_ns = dur;
        f->calls++;
        f->sum_ns = gp_add_saturated(f->sum_ns, dur);
        f->bytes = gp_add_saturated(f->bytes, e->bytes);
        firsts += w->d->opts.by == GP_DIFF_BY_LINE || (e->firsts & first) != 0;
        graphs += p->places.at[e->place].by_graph;
        if (p->kernels.at[e->kernel].kind == GP_FRAME_COMMUNICATION)
            l->waits_ns = gp_add_saturated(l->waits_ns, dur);
    }
    if (!f->calls) return;
    f->count = (double)f->calls / (double)g->samples.n;
    f->mean_ns = (double)f->sum_ns / (double)f->calls;
    f->bytes = gp_diff_mean(f->bytes, g->samples.n);
    f->host_count = (double)firsts / (double)g->samples.n;
    l->by_graph[side] = graphs * 2 > f->calls;
}

/* GPU time per step of the operations, which sums to that of the side. */
static void give_totals(struct gp_diff_work *w, int side)
{
    struct gp_diff *d = w->d;
    const struct gp_diff_group *g = &w->side[side];
    size_t n = d->ops.n;
    int64_t *parts = gp_alloc(2 * (n + 1) * sizeof *parts), *out = parts + n + 1, whole = 0;
    const char **keys = gp_alloc((n + 1) * sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        parts[i] = d->ops.at[i].side[side].sum_ns;
        keys[i] = gp_diff_str(d, d->ops.at[i].key);
        whole = gp_add_saturated(whole, parts[i]);
    }
    if (g->samples.n) {
        d->side[side].gpu_ns = gp_diff_apportion(parts, keys, n, whole, g->samples.n, out);
        for (size_t i = 0; i < n; i++) d->ops.at[i].side[side].total_ns = out[i];
    }
    free(parts);
    free(keys);
}

/* What the kernels of an operation were launched with. */
static void compare_launches(struct gp_diff_work *w, uint32_t op)
{
    struct gp_diff_op *o = &w->d->ops.at[op];
    const struct gp_diff_group *a = &w->side[GP_DIFF_BASE], *b = &w->side[GP_DIFF_CUR];
    uint64_t base = o->side[GP_DIFF_BASE].calls, cur = o->side[GP_DIFF_CUR].calls;
    o->count_changed = base && cur && base * b->samples.n != cur * a->samples.n;
    if (!base || !cur || o->retiled || w->d->opts.by != GP_DIFF_BY_KERNEL) return;
    struct gp_map shapes = {0};
    for (size_t i = a->first_call[op]; i < a->first_call[op + 1]; i++)
        gp_map_put(&shapes, a->calls[i].shape, 0);
    for (size_t i = b->first_call[op]; i < b->first_call[op + 1] && !o->reshaped; i++)
        o->reshaped = !gp_map_get(&shapes, b->calls[i].shape);
    gp_map_release(&shapes);
}

/* ---- metrics ---- */

int64_t gp_diff_metric_of_event(const struct gp_profile *p, const struct gp_profile_event *e,
                                enum gp_metric_id m)
{
    const struct gp_profile_kernel *k = &p->kernels.at[e->kernel];
    enum gp_class class = gp_class_of((enum gp_frame_kind)k->kind);
    bool copy = k->kind == GP_FRAME_MEMCPY;
    if (m == GP_METRIC_COMPUTE) return class == GP_CLASS_COMPUTE ? e->dur_ns : 0;
    if (m == GP_METRIC_COMMUNICATION) return class == GP_CLASS_COMMUNICATION ? e->dur_ns : 0;
    if (m == GP_METRIC_MEMORY) return class == GP_CLASS_MEMORY ? e->dur_ns : 0;
    if (m == GP_METRIC_KERNELS) return class != GP_CLASS_MEMORY;
    if (m == GP_METRIC_COLLECTIVES) return class == GP_CLASS_COMMUNICATION;
    if (m == GP_METRIC_COPIES) return copy;
    if (m == GP_METRIC_COPY_BYTES) return copy ? e->bytes : 0;
    if (m == GP_METRIC_PAGEABLE) return copy && gp_copy_is_pageable(gp_profile_str(p, k->name));
    if (m == GP_METRIC_SETS) return k->kind == GP_FRAME_MEMSET;
    return m != GP_METRIC_GRAPHS || p->places.at[e->place].by_graph;
}

/* The value of a metric in one step. */
static int64_t value_of(const struct gp_profile *p, const struct gp_profile_step *s, enum gp_metric_id m)
{
    const struct gp_profile_host *h = &s->host;
    switch (m) {
    case GP_METRIC_GPU: return s->gpu_ns;
    case GP_METRIC_BUSY: return s->busy_ns;
    case GP_METRIC_STEP: return s->wall_ns;
    case GP_METRIC_IDLE: return s->wall_ns - s->busy_ns;
    case GP_METRIC_HOST: return s->host_ns;
    case GP_METRIC_EVENTS: return s->n;
    case GP_METRIC_LAUNCHES: return (int64_t)h->launches;
    case GP_METRIC_GRAPHS: return (int64_t)h->graph_launches;
    case GP_METRIC_SYNCS: return (int64_t)h->syncs;
    case GP_METRIC_BLOCKING: return (int64_t)h->blocking;
    case GP_METRIC_ALLOCATIONS: return (int64_t)h->allocations;
    case GP_METRIC_ALLOCATED: return h->allocated_bytes;
    case GP_METRIC_PEAK_MEM: return h->peak_bytes;
    case GP_METRIC_PEAK_RESERVED: return h->peak_reserved_bytes;
    default: break;
    }
    int64_t sum = 0;
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        sum = gp_add_saturated(sum, gp_diff_metric_of_event(p, &p->events.at[i], m));
    return sum;
}

static bool has_metric(const struct gp_diff *d, const struct gp_diff_group *g, enum gp_metric_id m)
{
    bool memory = m == GP_METRIC_ALLOCATIONS || m == GP_METRIC_ALLOCATED || m == GP_METRIC_PEAK_MEM ||
                  m == GP_METRIC_PEAK_RESERVED;
    bool between = m == GP_METRIC_BUSY || m == GP_METRIC_STEP || m == GP_METRIC_IDLE || m == GP_METRIC_HOST;
    if (m == GP_METRIC_HOST && d->unit == GP_DIFF_PER_TRACE) return false;
    if (between && d->untimed) return false;
    if (!g->samples.n) return false;
    for (size_t i = 0; i < g->samples.n; i++)
        if (m == GP_METRIC_EQUAL && g->samples.at[i].s->clock_khz <= 0) return false;
    for (size_t i = 0; i < g->n; i++)
        if (memory && !g->profiles[i]->has_memory) return false;
    return true;
}

/* Values by sample, for samples that have one: times on the GPU are known only for windows. Returns their
 * number. */
size_t gp_diff_metric_values(const struct gp_diff_work *w, int side, enum gp_metric_id m, int64_t *to)
{
    const struct gp_diff_group *g = &w->side[side];
    bool window = m == GP_METRIC_BUSY || m == GP_METRIC_STEP || m == GP_METRIC_IDLE;
    size_t n = 0;
    GP_EACH(const struct gp_diff_sample, s, g->samples) {
        if (window && !s->window) continue;
        to[n++] = m == GP_METRIC_EQUAL
                      ? gp_diff_at_equal_clocks(w->d, s->s->gpu_ns,
                                                value_of(g->profiles[s->profile], s->s, GP_METRIC_COMPUTE),
                                                s->s->clock_khz)
                      : value_of(g->profiles[s->profile], s->s, m);
    }
    return n;
}

/* Peaks are those of the highest step; everything else is a mean. Exact results from elsewhere are reused. */
static int64_t metric_of_side(const struct gp_diff_work *w, int side, enum gp_metric_id m)
{
    const struct gp_diff_side *s = &w->d->side[side];
    if (m == GP_METRIC_GPU) return s->gpu_ns;
    if (m == GP_METRIC_BUSY) return s->busy_ns;
    if (m == GP_METRIC_STEP) return s->step_ns;
    if (m == GP_METRIC_IDLE) return s->step_ns - s->busy_ns;
    int64_t *values = gp_alloc((w->side[side].samples.n + 1) * sizeof *values), sum = 0, most = 0;
    size_t n = gp_diff_metric_values(w, side, m, values);
    for (size_t i = 0; i < n; i++) {
        sum = gp_add_saturated(sum, values[i]);
        if (values[i] > most) most = values[i];
    }
    free(values);
    bool peak = m == GP_METRIC_PEAK_MEM || m == GP_METRIC_PEAK_RESERVED;
    return peak ? most : n ? gp_diff_mean(sum, n) : 0;
}

static void fill_metrics(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    for (int m = 0; m < GP_METRIC_COUNT; m++) {
        struct gp_diff_metric *metric = &d->metrics[m];
        enum gp_metric_id id = (enum gp_metric_id)m;
        metric->id = id;
        metric->known = true;
        for (int side = 0; side < GP_DIFF_SIDES; side++) metric->known &= has_metric(d, &w->side[side], id);
        for (int side = 0; side < GP_DIFF_SIDES; side++) metric->side[side] = metric_of_side(w, side, id);
        metric->change = metric->side[GP_DIFF_CUR] - metric->side[GP_DIFF_BASE];
        metric->change_pct = gp_diff_change_pct(metric->side[GP_DIFF_BASE], metric->side[GP_DIFF_CUR]);
    }
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        d->side[side].peak_bytes = has_metric(d, &w->side[side], GP_METRIC_PEAK_MEM)
                                       ? d->metrics[GP_METRIC_PEAK_MEM].side[side]
                                       : -1;
}

void gp_diff_sum(struct gp_diff_work *w)
{
    gp_diff_find_clocks(w);
    struct gp_diff *d = w->d;
    struct launched *l = gp_zalloc((d->ops.n + 1) * sizeof *l);
    number_shapes(w);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        deal_calls(w, side);
        for (uint32_t i = 0; i < d->ops.n; i++) sum_op(w, side, i, &l[i]);
        give_totals(w, side);
    }
    w->waits = gp_zalloc(d->ops.n + 1);
    for (size_t i = 0; i < d->ops.n; i++) { /* most of whose time is communication */
        const struct gp_diff_figure *f = d->ops.at[i].side;
        w->waits[i] = l[i].waits_ns / 2 > gp_add_saturated(f[GP_DIFF_BASE].sum_ns, f[GP_DIFF_CUR].sum_ns) / 4;
    }
    gp_diff_share(w);
    for (uint32_t i = 0; i < d->ops.n; i++) {
        struct gp_diff_op *op = &d->ops.at[i];
        compare_launches(w, i);
        bool both = op->side[GP_DIFF_BASE].present && op->side[GP_DIFF_CUR].present;
        op->relaunched = both && l[i].by_graph[GP_DIFF_BASE] != l[i].by_graph[GP_DIFF_CUR];
        op->change_ns = op->side[GP_DIFF_CUR].total_ns - op->side[GP_DIFF_BASE].total_ns;
        op->change_pct = gp_diff_change_pct(op->side[GP_DIFF_BASE].total_ns, op->side[GP_DIFF_CUR].total_ns);
    }
    free(l);
    fill_metrics(w);
}
