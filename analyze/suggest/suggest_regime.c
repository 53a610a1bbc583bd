#include "analyze/suggest/rules_priv.h"

#include <math.h>
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "analyze/view/idle_cause.h"
#include "formats/base/map.h"

/* ---- kernels and operators: sums over launches with one key ---- */

/* Weighted by time; WEIGHT 0: never counted. */
struct mean {
    double sum, weight;
};

/* Extra data of a struct gp_suggest_kernel while it is summed up. */
struct sums {
    int64_t regime_ns[GP_REGIME_COUNT];
    int64_t reason_ns[GP_INEFFICIENT_ARITHMETIC + 1];
    int64_t tier_ns[GP_WORK_TIERS];
    int64_t stall_ns[GP_STALL_COUNT + 1];
    double l2_ns; /* what the measured bytes of the L2 cache take there */
    double l2_bytes, l1_bytes;
    struct mean occupancy, issue, tensor;
    int64_t counted_ns;
    int64_t arith_ns[GP_ARITH_COUNT + 1];
    int64_t below_memory_ns; /* inefficient, with memory as the nearer roof */
    int64_t cached_ns, longest_ns;
    double memory_ns, cache_ns; /* what its bytes take, from memory and with the L2 cache's help */
};

static const double FASTER = 1.02; /* than memory: more than two measurements of its rate differ by */

struct groups {
    struct gp_map at; /* key -> index */
    GP_VEC(struct gp_suggest_kernel) all;
    GP_VEC(struct sums) sums;
};

static void add(int64_t *to, int64_t ns) { *to = gp_add_saturated(*to, ns); }

static void add_mean(struct mean *m, double v, int64_t ns)
{
    if (isnan(v)) return;
    m->sum += v * (double)ns;
    m->weight += (double)ns;
}

static double mean_of(const struct mean *m) { return m->weight > 0 ? m->sum / m->weight : NAN; }

/* What counters say of an item; NULL: nothing. */
static void add_counted(struct gp_suggest_kernel *k, struct sums *s, const struct gp_item_work *w, int64_t ns,
                        const struct gp_counted *counted)
{
    if (!counted) return;
    add(&s->stall_ns[counted->stall], ns);
    add_mean(&s->occupancy, counted->occupancy_pct, ns);
    add_mean(&s->issue, counted->issue_pct, ns);
    add_mean(&s->tensor, counted->tensor_pct, ns);
    if (w->tier != GP_WORK_COUNTERS) return;
    add(&k->measured_ns, ns);
    if (w->flops_measured) add(&k->flops_measured_ns, ns);
    if (w->by_mean) add(&k->by_mean_ns, ns);
    s->l2_bytes += counted->l2_bytes;
    s->l1_bytes += counted->l1_bytes;
    s->l2_ns += w->bound.cache_ns;
}

static void add_item(struct gp_suggest_kernel *k, struct sums *s, const struct gp_item_work *w, int64_t ns,
                     const struct gp_ceilings *c)
{
    k->count++;
    add(&k->total_ns, ns);
    add(&s->regime_ns[w->bound.regime], ns);
    add(&s->reason_ns[w->bound.reason], ns);
    add(&s->tier_ns[w->tier], ns);
    if (w->bound.regime == GP_REGIME_INEFFICIENT && w->bound.roof == GP_REGIME_MEMORY)
        add(&s->below_memory_ns, ns);
    if (w->tier == GP_WORK_UNKNOWN) return;
    if (w->bound.impossible) {
        add(&k->impossible_ns, ns);
        return;
    }
    add(&k->known_ns, ns);
    add(&s->arith_ns[w->share.arith], ns);
    if (w->bound.fits_cache) add(&s->cached_ns, ns);
    k->flops += w->share.flops;
    k->bytes_low += w->share.bytes_low;
    k->bytes_high += w->share.bytes_high;
    double bytes = (w->share.bytes_low + w->share.bytes_high) / 2;
    s->memory_ns += gp_ceilings_memory_ns(c, bytes, w->share.written);
    s->cache_ns += gp_ceilings_cached_ns(c, bytes, w->share.written);
}

static uint32_t largest(const int64_t *ns, uint32_t from, uint32_t n)
{
    uint32_t best = from;
    for (uint32_t i = from + 1; i < n; i++)
        if (ns[i] > ns[best]) best = i;
    return best;
}

static void settle(struct gp_suggest_kernel *k, const struct sums *s)
{
    k->regime = largest(s->regime_ns, 0, GP_REGIME_COUNT);
    k->roof = GP_REGIME_UNKNOWN;
    k->tier = largest(s->tier_ns, 0, GP_WORK_TIERS);
    k->l2_bytes = k->measured_ns > 0 ? s->l2_bytes : NAN;
    k->l1_bytes = k->measured_ns > 0 ? s->l1_bytes : NAN;
    k->occupancy_pct = mean_of(&s->occupancy);
    k->issue_pct = mean_of(&s->issue);
    k->tensor_pct = mean_of(&s->tensor);
    k->stall = largest(s->stall_ns, 0, GP_STALL_COUNT);
    if (!s->stall_ns[k->stall]) k->stall = GP_STALL_COUNT;
    k->arith = k->known_ns > 0 ? largest(s->arith_ns, 0, GP_ARITH_COUNT + 1) : (uint32_t)GP_ARITH_NONE;
    k->fits_cache = s->cached_ns > 0 && s->cached_ns >= k->known_ns - s->cached_ns;
    if (k->regime != GP_REGIME_INEFFICIENT) return;
    bool memory = s->below_memory_ns >= s->regime_ns[GP_REGIME_INEFFICIENT] - s->below_memory_ns;
    k->roof = memory ? GP_REGIME_MEMORY : GP_REGIME_COMPUTE;
    k->reason = largest(s->reason_ns, GP_INEFFICIENT_NOT + 1, GP_INEFFICIENT_ARITHMETIC + 1);
}

/* How near the nearer roof is. */
static void measure(struct gp_suggest_kernel *k, const struct sums *sums, const struct gp_ceilings *c)
{
    const struct gp_ceiling *flops = k->arith < GP_ARITH_COUNT ? &c->flops[k->arith] : NULL;
    double ns = (double)k->known_ns;
    k->roof_arith = GP_ARITH_NONE;
    if (k->known_ns <= 0) return;
    double compute = flops && flops->per_s > 0 ? k->flops / flops->per_s * 1e9 / ns : 0;
    bool all_measured = k->measured_ns == k->known_ns; /* its bytes of memory do come from there */
    bool faster = sums->memory_ns > FASTER * ns && sums->cache_ns < sums->memory_ns;
    k->from_cache = all_measured ? sums->l2_ns > sums->memory_ns : faster;
    double cached = all_measured ? sums->l2_ns : sums->cache_ns;
    double memory = (k->from_cache ? cached : sums->memory_ns) / ns;
    if (compute > 0 && compute >= memory) k->roof_arith = k->arith;
    k->roof_pct = 100 * (compute > memory ? compute : memory);
}

static int compare_kernels(const void *a, const void *b)
{
    const struct gp_suggest_kernel *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* The group of KEY, made when it is new. */
static uint32_t group_of(struct groups *g, uint64_t key)
{
    uint32_t *at = gp_map_put(&g->at, key, UINT32_MAX);
    if (*at != UINT32_MAX) return *at;
    *at = (uint32_t)g->all.n;
    GP_VEC_PUSH(&g->all, ((struct gp_suggest_kernel){.count = 0}));
    GP_VEC_PUSH(&g->sums, ((struct sums){.longest_ns = -1}));
    return *at;
}

static void end_groups(struct groups *g, const struct gp_ceilings *c)
{
    for (size_t i = 0; i < g->all.n; i++) {
        settle(&g->all.at[i], &g->sums.at[i]);
        measure(&g->all.at[i], &g->sums.at[i], c);
    }
    if (g->all.n) qsort(g->all.at, g->all.n, sizeof *g->all.at, compare_kernels);
    GP_VEC_FREE(&g->sums);
    gp_map_release(&g->at);
}

static void sum_kernels(struct gp_rule_ctx *c)
{
    struct groups g = {{0}, {0}, {0}};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t at = group_of(&g, c->t->configs.at[c->items[i].config].name);
        struct gp_suggest_kernel *k = &g.all.at[at];
        if (!k->count) {
            k->name = gp_rule_full_name(c, i);
            k->label = gp_rule_item_label(c, i);
            k->kind = c->items[i].kind;
        }
        add_item(k, &g.sums.at[at], &c->work[i], gp_rule_dur(c, i), &c->s->ceilings);
        add_counted(k, &g.sums.at[at], &c->work[i], gp_rule_dur(c, i), gp_item_counted(c, i));
    }
    end_groups(&g, &c->s->ceilings);
    c->s->kernels.at = g.all.at, c->s->kernels.n = g.all.n, c->s->kernels.cap = g.all.cap;
}

static void sum_ops(struct gp_rule_ctx *c)
{
    struct groups g = {{0}, {0}, {0}};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (c->items[i].op == UINT32_MAX) continue;
        gp_sid name = c->t->events[GP_OP].name[c->items[i].op];
        uint32_t at = group_of(&g, name);
        struct gp_suggest_kernel *k = &g.all.at[at];
        if (!k->count) {
            k->name = gp_intern_cstr(&c->s->strings, gp_trace_str(c->t, name));
            k->label = gp_rule_label(c, GP_OP, name);
        }
        if (gp_rule_dur(c, i) > g.sums.at[at].longest_ns) {
            g.sums.at[at].longest_ns = gp_rule_dur(c, i);
            k->kind = c->items[i].kind;
        }
        add_item(k, &g.sums.at[at], &c->work[i], gp_rule_dur(c, i), &c->s->ceilings);
        add_counted(k, &g.sums.at[at], &c->work[i], gp_rule_dur(c, i), gp_item_counted(c, i));
    }
    end_groups(&g, &c->s->ceilings);
    c->s->ops.at = g.all.at, c->s->ops.n = g.all.n, c->s->ops.cap = g.all.cap;
}

/* ---- the step ---- */

/* Time on the busiest device; overlapping time counts once, for compute kernels first, by class. */
static void sum_step(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    struct gp_regime_step *parts = &s->regime_parts;
    int64_t by[GP_REGIME_COUNT] = {0}, below_memory = 0, computing = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const struct gp_regime_answer *a = &c->work[i].bound;
        if (!gp_rule_is_here(c, i)) continue;
        by[a->regime] += gp_rule_dur(c, i);
        if (a->regime == GP_REGIME_INEFFICIENT && a->roof == GP_REGIME_MEMORY)
            below_memory += gp_rule_dur(c, i);
        if (gp_class_of((enum gp_frame_kind)c->items[i].kind) != GP_CLASS_COMPUTE) continue;
        s->tier_ns[c->work[i].tier] += gp_rule_dur(c, i);
        if (c->work[i].tier != GP_WORK_COUNTERS) continue;
        if (c->work[i].flops_measured) s->flops_measured_ns += gp_rule_dur(c, i);
        if (c->work[i].by_mean) s->by_mean_ns += gp_rule_dur(c, i);
    }
    for (int r = 0; r < GP_REGIME_COUNT; r++)
        if (r != GP_REGIME_COMMUNICATION && r != GP_REGIME_TRANSFER) computing += by[r];
    double scale = computing ? (double)c->compute_ns / (double)computing : 0; /* streams side by side */
    parts->whole_ns = c->busy_ns;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) {
        parts->whole_ns += c->idle_ns[i];
        if (i != GP_IDLE_DEPENDENCY) parts->idle_ns += c->idle_ns[i];
    }
    parts->waiting_ns = c->idle_ns[GP_IDLE_DEPENDENCY];
    parts->lead_ns = s->step.lead_ns;
    parts->whole_ns += parts->lead_ns;
    parts->communication_ns = c->exposed_communication_ns;
    parts->transfer_ns = c->exposed_memory_ns;
    parts->latency_ns = (int64_t)((double)by[GP_REGIME_OVERHEAD] * scale);
    parts->compute_ns = (int64_t)((double)by[GP_REGIME_COMPUTE] * scale);
    parts->memory_ns = (int64_t)((double)by[GP_REGIME_MEMORY] * scale);
    parts->inefficient_ns = (int64_t)((double)by[GP_REGIME_INEFFICIENT] * scale);
    parts->below_memory_ns = (int64_t)((double)below_memory * scale);
    parts->unknown_ns = (int64_t)((double)by[GP_REGIME_UNKNOWN] * scale);
    s->regime = gp_regime_of_step(parts);
}

/* ---- the plot ---- */

static void add_levels(struct gp_roofline_point *p, const struct gp_item_work *w, int64_t ns,
                       const struct gp_counted *counted)
{
    if (w->tier != GP_WORK_COUNTERS || !counted) return;
    add(&p->measured_ns, ns);
    p->l2_bytes += counted->l2_bytes;
    p->l1_bytes += counted->l1_bytes;
}

/* A sum without one of its parts is not one. */
static void settle_levels(struct gp_roofline_point *p)
{
    bool all = p->measured_ns == p->total_ns;
    if (!all || isnan(p->l2_bytes)) p->l2_bytes = 0;
    if (!all || isnan(p->l1_bytes)) p->l1_bytes = 0;
}

/* A point for each kernel and type, and what has none. */
static void sum_roofline(struct gp_rule_ctx *c)
{
    struct gp_roofline *r = &c->s->roofline;
    struct gp_map at = {0};
    uint32_t roof_of[GP_ARITH_COUNT + 1];
    bool used[GP_ARITH_COUNT + 1] = {false};
    for (uint32_t i = 0; i < c->p->items.n; i++)
        if (c->work[i].share.flops > 0) used[c->work[i].share.arith] = true;
    gp_roofline_add_roofs(r, &c->s->strings, &c->s->ceilings, used, roof_of);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const struct gp_item_work *w = &c->work[i];
        enum gp_regime regime = w->bound.regime;
        int64_t ns = gp_rule_dur(c, i);
        if (regime == GP_REGIME_COMMUNICATION || regime == GP_REGIME_TRANSFER) continue;
        if (w->tier == GP_WORK_COUNTERS) add(&r->measured_ns, ns);
        if (regime == GP_REGIME_OVERHEAD) add(&r->latency_ns, ns);
        else if (w->tier == GP_WORK_UNKNOWN || w->bound.impossible) add(&r->unknown_ns, ns);
        if (regime == GP_REGIME_OVERHEAD || w->tier == GP_WORK_UNKNOWN || w->bound.impossible) continue;
        gp_sid name = c->t->configs.at[c->items[i].config].name;
        uint32_t *k = gp_map_put(&at, ((uint64_t)name << 8 | w->share.arith) << 8 | regime, UINT32_MAX);
        if (*k == UINT32_MAX) {
            *k = (uint32_t)r->points.n;
            GP_VEC_PUSH(&r->points, ((struct gp_roofline_point){.label = gp_rule_item_label(c, i),
                                                                .kind = c->items[i].kind,
                                                                .regime = regime,
                                                                .roof = roof_of[w->share.arith]}));
        }
        struct gp_roofline_point *p = &r->points.at[*k];
        p->count++;
        add(&p->total_ns, ns);
        p->flops += w->share.flops;
        p->bytes_low += w->share.bytes_low;
        p->bytes_high += w->share.bytes_high;
        add_levels(p, w, ns, gp_item_counted(c, i));
    }
    gp_map_release(&at);
    for (size_t i = 0; i < r->points.n; i++) settle_levels(&r->points.at[i]);
    gp_roofline_sort(r);
}

void gp_rule_sum_regimes(struct gp_rule_ctx *c)
{
    c->s->empty_ns = (int64_t)c->s->ceilings.empty_ns;
    sum_kernels(c);
    sum_ops(c);
    sum_step(c);
    sum_roofline(c);
}
