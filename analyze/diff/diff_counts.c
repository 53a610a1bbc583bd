/* --gate counts: what a step does, which chance does not change: calls, kernels by name and what they need,
 * copies, bytes. What is the same in all steps of the baseline must not be more in most steps of the current
 * side. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/stat.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"

enum { NAMES = 3 /* of kernels in a sentence */ };

/* What is counted of an operation's launches. X(enum, gate, per launch) */
#define NEEDS(X)                                                                                             \
    X(CALLS, "by name", "launches")                                                                          \
    X(BLOCKS, "blocks", "blocks")                                                                            \
    X(THREADS, "threads", "threads")                                                                         \
    X(WAVES, "waves", "waves of blocks")                                                                     \
    X(REGISTERS, "registers", "registers per thread")                                                        \
    X(SHARED, "shared_memory", "bytes of shared memory per block")                                           \
    X(LOCAL, "local_memory", "bytes of local memory per thread")                                             \
    X(INSTRUCTIONS, "instructions", "instructions of warps")                                                 \
    X(TENSOR, "tensor_instructions", "instructions of matrix units")                                         \
    X(L2, "l2_bytes", "bytes of the L2 cache")                                                               \
    X(DRAM, "dram_bytes", "bytes of device memory")
enum need { NEEDS(GP_FIRST) NEED_COUNT };
static const struct {
    const char *gate, *text;
} needs[] = {
#define X(id, gate, text) {gate, text},
    NEEDS(X)
#undef X
};

struct counts {
    struct gp_diff_work *w;
    int64_t *values[GP_DIFF_SIDES]; /* by step */
    struct gp_buf varying;          /* names of counts that do */
};

/* -1: not known. */
static int64_t need_of(const struct gp_profile *p, uint32_t event, enum need need)
{
    const struct gp_profile_kernel *k = &p->kernels.at[p->events.at[event].kernel];
    int64_t blocks = (int64_t)k->grid[0] * k->grid[1] * k->grid[2];
    int64_t threads = (int64_t)k->block[0] * k->block[1] * k->block[2];
    const int64_t of[] = {
        1, blocks, blocks * threads, k->waves, k->registers, k->shared_bytes, k->local_bytes};
    if (need >= INSTRUCTIONS)
        return p->counted.n ? p->counted.at[(size_t)event * GP_COUNTED_COUNT + (need - INSTRUCTIONS)] : -1;
    return of[need] > 0 || (need >= SHARED && k->registers) ? of[need] : -1;
}

/* ---- where ---- */

struct line {
    gp_sid name, module;
    int64_t n[GP_DIFF_SIDES]; /* of all steps */
};

struct lines {
    const struct counts *c;
    GP_VEC(struct line) at;
    struct gp_map at_of; /* line << 32 | module -> index */
};

static void add_to_line(struct lines *l, int side, const struct gp_profile *p, gp_sid name, uint32_t place,
                        int64_t n)
{
    struct gp_strings *to = &l->c->w->d->strings;
    if (!name || !n) return;
    while (place && p->places.at[place].kind != GP_FRAME_MODULE) place = p->places.at[place].parent;
    gp_sid module = place ? gp_intern_from(to, &p->strings, p->places.at[place].label) : 0;
    struct line line = {.name = gp_intern_from(to, &p->strings, name), .module = module};
    uint32_t at = *gp_map_put(&l->at_of, (uint64_t)line.name << 32 | module, (uint32_t)l->at.n);
    if (at == l->at.n) GP_VEC_PUSH(&l->at, line);
    l->at.at[at].n[side] = gp_add_saturated(l->at.at[at].n[side], n);
}

/* Where OP needs that. */
static void add_op(struct lines *l, int side, uint32_t op, enum need need)
{
    const struct gp_diff_group *g = &l->c->w->side[side];
    const size_t *first = &g->first_call[l->c->w->calls_of[op]];
    for (size_t i = first[0]; i < first[1]; i++) {
        const struct gp_profile *p = gp_diff_profile_of(g, &g->calls[i]);
        uint32_t place = p->events.at[g->calls[i].event].place;
        add_to_line(l, side, p, p->places.at[place].line, place, need_of(p, g->calls[i].event, need));
    }
}

/* Where a metric is counted that is of events. */
static void add_events(struct lines *l, int side, enum gp_metric_id m)
{
    const struct gp_diff_group *g = &l->c->w->side[side];
    for (size_t i = 0; i < g->samples.n; i++) {
        const struct gp_profile_step *s = g->samples.at[i].s;
        const struct gp_profile *p = g->profiles[g->samples.at[i].profile];
        for (uint32_t k = s->first; k < s->first + s->n; k++) {
            const struct gp_profile_event *e = &p->events.at[k];
            add_to_line(l, side, p, p->places.at[e->place].line, e->place, gp_diff_metric_of_event(p, e, m));
        }
    }
}

/* One that is of calls that wait, or of allocations. */
static void add_calls(struct lines *l, int side, enum gp_metric_id m)
{
    const struct gp_diff_group *g = &l->c->w->side[side];
    uint32_t sort = m == GP_METRIC_SYNCS      ? GP_PROFILE_SYNC
                    : m == GP_METRIC_BLOCKING ? GP_PROFILE_BLOCKING
                                              : GP_PROFILE_ALLOCATION;
    size_t *first = gp_alloc((g->n + 1) * sizeof *first), n = 0; /* by profile: its steps */
    for (size_t i = 0; i < g->n; n += g->profiles[i++]->steps.n) first[i] = n;
    uint32_t *samples = gp_zalloc((n + 1) * sizeof *samples); /* by step */
    GP_EACH(const struct gp_diff_sample, s, g->samples)
        samples[first[s->profile] + (size_t)(s->s - g->profiles[s->profile]->steps.at)]++;
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_profile *p = g->profiles[i];
        for (size_t k = 0; k < p->calls.n; k++)
            if (p->calls.at[k].sort == sort)
                add_to_line(l, side, p, p->calls.at[k].line, 0, samples[first[i] + p->calls.at[k].step]);
    }
    free(samples);
    free(first);
}

/* The lines where it grew most, per step, end the sentence; of what became less, those where it did. */
static void put_place(struct lines *l, struct gp_diff_gate *g, struct gp_buf *why)
{
    struct gp_diff *d = l->c->w->d;
    for (int k = 0; k < NAMES; k++) {
        struct line *most = NULL;
        int64_t by = 0;
        for (size_t i = 0; i < l->at.n; i++) {
            const int64_t *n = l->at.at[i].n;
            int64_t grew = gp_diff_mean(n[GP_DIFF_CUR], l->c->w->side[GP_DIFF_CUR].samples.n) -
                           gp_diff_mean(n[GP_DIFF_BASE], l->c->w->side[GP_DIFF_BASE].samples.n);
            if ((g->value < 0 ? -grew : grew) <= llabs(by)) continue;
            most = &l->at.at[i];
            by = grew;
        }
        if (!most) break;
        if (!k) g->place = most->name;
        if (!k) g->module = most->module;
        bool all = !k && (double)by == g->value;
        gp_buf_printf(why, ", %s%s", all ? "at " : k ? "" : "most at ", gp_diff_str(d, most->name));
        if (!all) gp_buf_printf(why, " (%+" PRId64 ")", by);
        if (most->module) gp_buf_printf(why, " in %s", gp_diff_str(d, most->module));
        if (all) break;
        memset(most->n, 0, sizeof most->n);
    }
    g->why = gp_diff_text(d, "%s", gp_buf_str(why));
    GP_VEC_FREE(&l->at);
    gp_map_release(&l->at_of);
}

/* ---- counts ---- */

static bool varies(const int64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0]) return true;
    return false;
}

static struct gp_diff_gate gate_for(struct gp_diff *d, const char *name, uint32_t metric)
{
    struct gp_diff_gate g = {.text = gp_diff_text(d, "counts: %s", name),
                             .metric = metric,
                             .op = GP_PROFILE_NONE,
                             .absolute = true,
                             .power_pct = NAN};
    return g;
}

static void gate_metric(struct counts *c, enum gp_metric_id m)
{
    struct gp_diff *d = c->w->d;
    struct gp_diff_gate g = gate_for(d, gp_metric_name(m), m);
    size_t n = gp_diff_metric_values(c->w, GP_DIFF_BASE, m, c->values[GP_DIFF_BASE]);
    size_t k = gp_diff_metric_values(c->w, GP_DIFF_CUR, m, c->values[GP_DIFF_CUR]);
    if (!n || !k) return;
    if (varies(c->values[GP_DIFF_BASE], n)) {
        gp_buf_printf(&c->varying, "%s%s", c->varying.n ? ", " : "", gp_metric_name(m));
        return;
    }
    int64_t was = c->values[GP_DIFF_BASE][0], is = llround(gp_stat_median(c->values[GP_DIFF_CUR], k));
    g.value = (double)(is - was);
    g.broken = is > was;
    if (g.broken) {
        struct gp_buf why = {0};
        gp_buf_printf(&why, "%s: %" PRId64 " in most steps, %" PRId64 " before", gp_metric_text(m), is, was);
        struct lines lines = {.c = c};
        for (int side = 0; side < GP_DIFF_SIDES; side++)
            (m < GP_METRIC_SYNCS ? add_events : add_calls)(&lines, side, m);
        put_place(&lines, &g, &why);
        gp_buf_release(&why);
    }
    GP_VEC_PUSH(&d->gates, g);
}

enum known { UNKNOWN, VARIES, STEADY, KNOWNS };

/* What an operation needs in each step of a side. */
static enum known find_needs(struct counts *c, int side, uint32_t op, enum need need)
{
    const struct gp_diff_group *g = &c->w->side[side];
    const size_t *first = &g->first_call[c->w->calls_of[op]];
    int64_t *v = c->values[side];
    memset(v, 0, g->samples.n * sizeof *v);
    for (size_t i = first[0]; i < first[1]; i++) {
        const struct gp_diff_call *call = &g->calls[i];
        int64_t n = need_of(gp_diff_profile_of(g, call), call->event, need);
        if (n < 0) return UNKNOWN;
        v[call->sample] = gp_add_saturated(v[call->sample], n);
    }
    return varies(v, g->samples.n) ? VARIES : STEADY;
}

/* Does OP need more than before? Of an operation with more calls only those are said. Fewer registers count,
 * too: a kernel that was held to them spills others, and CUPTI of CUDA 13 reports no local memory. WHY gets a
 * sentence, OPS how many operations there are of what is known. */
static int64_t growth_of(struct counts *c, uint32_t op, enum need need, uint32_t ops[KNOWNS],
                         struct gp_buf *why)
{
    struct gp_diff *d = c->w->d;
    size_t steps = c->w->side[GP_DIFF_CUR].samples.n;
    enum known known = find_needs(c, GP_DIFF_BASE, op, CALLS);
    int64_t was = c->values[GP_DIFF_BASE][0], per[GP_DIFF_SIDES];
    find_needs(c, GP_DIFF_CUR, op, CALLS);
    int64_t is = llround(gp_stat_median(c->values[GP_DIFF_CUR], steps));
    if (need == CALLS) {
        ops[known]++;
        if (known != STEADY || is <= was) return 0;
        bool is_new = !d->ops.at[op].side[GP_DIFF_BASE].present;
        gp_buf_printf(why, "%s +%" PRId64 "%s", gp_diff_str(d, d->ops.at[op].label), is - was,
                      is_new ? " (new)" : "");
        return is - was;
    }
    if (known != STEADY || is != was || !was) return 0;
    known = find_needs(c, GP_DIFF_BASE, op, need);
    per[GP_DIFF_BASE] = c->values[GP_DIFF_BASE][0];
    if (find_needs(c, GP_DIFF_CUR, op, need) == UNKNOWN) known = UNKNOWN;
    ops[known]++;
    if (known != STEADY) return 0;
    per[GP_DIFF_CUR] = llround(gp_stat_median(c->values[GP_DIFF_CUR], steps));
    if (per[GP_DIFF_CUR] == per[GP_DIFF_BASE]) return 0;
    if (per[GP_DIFF_CUR] < per[GP_DIFF_BASE] && need != REGISTERS) return 0;
    gp_buf_printf(why, "%s: %.9g %s, %.9g before", gp_diff_str(d, d->ops.at[op].label),
                  (double)per[GP_DIFF_CUR] / (double)is, needs[need].text,
                  (double)per[GP_DIFF_BASE] / (double)was);
    return per[GP_DIFF_CUR] - per[GP_DIFF_BASE];
}

/* By name, so that one kernel instead of another is seen, too. */
static void gate_kernels(struct counts *c, enum need need)
{
    struct gp_diff *d = c->w->d;
    struct gp_diff_gate g = gate_for(d, needs[need].gate, GP_METRIC_KERNELS);
    struct gp_buf why = {0}, one = {0};
    struct lines lines = {.c = c};
    int64_t worst = 0;
    uint32_t ops[KNOWNS] = {0};
    for (uint32_t i = 0; i < d->ops.n; i++) {
        one.n = 0;
        int64_t grew = growth_of(c, i, need, ops, &one);
        if (!grew) continue;
        for (int side = 0; side < GP_DIFF_SIDES; side++) add_op(&lines, side, i, need);
        if (g.n_ops++ < NAMES) gp_buf_printf(&why, "%s%s", why.n ? ", " : "", gp_buf_str(&one));
        if (llabs(grew) <= llabs(worst)) continue;
        worst = grew;
        g.op = i;
    }
    g.broken = g.n_ops > 0;
    g.value = (double)worst;
    if (g.n_ops > NAMES) gp_buf_printf(&why, " and %u more", g.n_ops - NAMES);
    if (g.n_ops) put_place(&lines, &g, &why);
    if (ops[VARIES])
        gp_buf_printf(&c->varying, "%s%s of %u kernels", c->varying.n ? ", " : "", needs[need].text,
                      ops[VARIES]);
    gp_buf_release(&why);
    gp_buf_release(&one);
    if (ops[STEADY] || need == CALLS) GP_VEC_PUSH(&d->gates, g);
}

void gp_diff_gate_counts(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct counts c = {.w = w};
    bool compared = w->side[GP_DIFF_BASE].samples.n && w->side[GP_DIFF_CUR].samples.n &&
                    !d->metrics[GP_METRIC_KERNELS].refused;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        c.values[side] = gp_alloc((w->side[side].samples.n + 1) * sizeof *c.values[side]);
    for (int m = 0; m < GP_METRIC_COUNT; m++)
        if (gp_metric_class((enum gp_metric_id)m) == GP_METRIC_EXACT && d->metrics[m].known &&
            !d->metrics[m].refused)
            gate_metric(&c, (enum gp_metric_id)m);
    for (int need = 0; need < NEED_COUNT && compared; need++)
        if (need == CALLS || !d->two_recorders) gate_kernels(&c, (enum need)need);
    if (!compared) { /* what was not counted did not pass */
        struct gp_diff_gate g = gate_for(d, needs[CALLS].gate, GP_METRIC_KERNELS);
        g.broken = true;
        g.value = NAN;
        g.why = gp_diff_text(d, "the recordings do not allow this comparison");
        GP_VEC_PUSH(&d->gates, g);
    }
    if (c.varying.n)
        gp_diff_note(d, "varying_counts", "not gated, as they vary within the baseline: %s",
                     gp_buf_str(&c.varying));
    gp_buf_release(&c.varying);
    for (int side = 0; side < GP_DIFF_SIDES; side++) free(c.values[side]);
}
