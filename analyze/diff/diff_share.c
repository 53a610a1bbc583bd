/* The change of the step time as a sum over operations and causes of idle time, exact to the ns; and how much
 * of an operation's part comes from more calls, longer calls, or less work beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/order.h"

#define NONE GP_PROFILE_NONE

/* ---- means that add up ---- */

int64_t gp_diff_mean(int64_t sum, uint64_t n)
{
    int64_t d = (int64_t)n, q = sum / d, r = sum % d;
    if (r < 0) {
        q--;
        r += d;
    }
    return q + (r >= d - r);
}

struct part {
    int64_t rest;
    const char *key;
    size_t index;
};

GP_COMPARE(compare_parts, struct part, GP_DOWN(rest) GP_THEN(strcmp(x->key, y->key)) GP_UP(index))

int64_t gp_diff_apportion(const int64_t *parts, const char *const *keys, size_t n_parts, int64_t whole,
                          uint64_t n, int64_t *out)
{
    int64_t mean = gp_diff_mean(whole, n), missing = mean, d = (int64_t)n;
    struct part *rests = gp_alloc((n_parts + 1) * sizeof *rests);
    for (size_t i = 0; i < n_parts; i++) {
        out[i] = parts[i] / d;
        rests[i] = (struct part){parts[i] % d, keys[i], i};
        missing = gp_minus_wrapped(missing, out[i]);
    }
    if (missing > 0 && n_parts) qsort(rests, n_parts, sizeof *rests, compare_parts);
    for (size_t i = 0; i < n_parts && missing > 0; i++, missing--) out[rests[i].index]++;
    free(rests);
    return mean;
}

/* ---- shares ---- */

/* Sums over the windows of one side. */
struct shares {
    struct gp_diff_work *w;
    int side;
    int64_t *op_ns; /* by operation */
    int64_t other_ns, idle_ns[GP_IDLE_CAUSE_COUNT], wall_ns;
};

static void add_share(struct shares *s, uint32_t profile, uint32_t event, int64_t ns)
{
    const struct gp_profile *p = s->w->side[s->side].profiles[profile];
    uint32_t op = gp_diff_op_of(s->w, s->side, profile, &p->events.at[event]);
    int64_t *sum = op == NONE ? &s->other_ns : &s->op_ns[op];
    *sum = gp_add_saturated(*sum, ns);
}

/* The windows that are used of one profile. */
static uint8_t *windows_of(const struct gp_diff_group *g, uint32_t profile)
{
    const struct gp_profile *p = g->profiles[profile];
    uint8_t *used = gp_zalloc(p->steps.n + 1);
    GP_EACH(const struct gp_diff_sample, sample, g->samples)
        if (sample->profile == profile && sample->window) used[sample->s - p->steps.at] = 1;
    return used;
}

static void add_profile(struct shares *s, uint32_t profile)
{
    const struct gp_diff_group *g = &s->w->side[s->side];
    const struct gp_profile *p = g->profiles[profile];
    uint8_t *used = windows_of(g, profile);
    size_t spill = 0;
    for (uint32_t i = 0; i < p->events.n; i++) {
        const struct gp_profile_event *e = &p->events.at[i];
        int64_t own = e->share_ns;
        for (; spill < p->spills.n && p->spills.at[spill].event == i; spill++) {
            const struct gp_profile_spill *sp = &p->spills.at[spill];
            own -= sp->share_ns;
            if (sp->step != NONE && used[sp->step]) add_share(s, profile, i, sp->share_ns);
        }
        if (e->step != NONE && used[e->step]) add_share(s, profile, i, own);
    }
    free(used);
}

static void add_whole(struct shares *s, uint32_t profile)
{
    const struct gp_profile *p = s->w->side[s->side].profiles[profile];
    for (uint32_t i = 0; i < p->events.n; i++) add_share(s, profile, i, p->events.at[i].share_ns);
}

static void add_shares(struct shares *s)
{
    const struct gp_diff_group *g = &s->w->side[s->side];
    for (uint32_t i = 0; i < g->n; i++) {
        if (s->w->d->unit == GP_DIFF_PER_STEP) add_profile(s, i);
        else add_whole(s, i);
    }
    GP_EACH(const struct gp_diff_sample, sample, g->samples) {
        if (!sample->window) continue;
        s->wall_ns = gp_add_saturated(s->wall_ns, sample->s->wall_ns);
        s->other_ns = gp_add_saturated(s->other_ns, sample->s->other_ns);
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
            s->idle_ns[c] = gp_add_saturated(s->idle_ns[c], sample->s->idle_ns[c]);
    }
}

/* ---- terms ---- */

static gp_sid cause_name(struct gp_diff *d, const struct gp_diff_cause *c)
{
    if (c->sort == GP_CAUSE_OP) return d->ops.at[c->index].label;
    if (c->sort == GP_CAUSE_OTHER) return gp_intern_cstr(&d->strings, "work of other steps");
    return gp_diff_text(d, "idle: %s", gp_idle_cause_name((enum gp_idle_cause)c->index));
}

static void make_causes(struct gp_diff *d, bool other)
{
    if (d->untimed) return; /* of nothing */
    for (uint32_t i = 0; i < d->ops.n; i++)
        GP_VEC_PUSH(&d->causes, ((struct gp_diff_cause){.sort = GP_CAUSE_OP, .index = i}));
    for (uint32_t i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
        GP_VEC_PUSH(&d->causes, ((struct gp_diff_cause){.sort = GP_CAUSE_IDLE, .index = i}));
    if (other) GP_VEC_PUSH(&d->causes, ((struct gp_diff_cause){.sort = GP_CAUSE_OTHER}));
    for (size_t i = 0; i < d->causes.n; i++) d->causes.at[i].name = cause_name(d, &d->causes.at[i]);
}

/* Unlike labels, keys differ where causes do, and do not depend on which side is which. */
static const char *cause_key(const struct gp_diff *d, const struct gp_diff_cause *c)
{
    return gp_diff_str(d, c->sort == GP_CAUSE_OP ? d->ops.at[c->index].key : c->name);
}

static int64_t sum_of(const struct shares *s, const struct gp_diff_cause *c)
{
    if (c->sort == GP_CAUSE_OP) return s->op_ns[c->index];
    return c->sort == GP_CAUSE_IDLE ? s->idle_ns[c->index] : s->other_ns;
}

static void give_means(struct shares *s)
{
    struct gp_diff *d = s->w->d;
    struct gp_diff_side *side = &d->side[s->side];
    size_t n = d->causes.n;
    int64_t *parts = gp_alloc(2 * (n + 1) * sizeof *parts), *out = parts + n + 1;
    const char **keys = gp_alloc((n + 1) * sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        parts[i] = sum_of(s, &d->causes.at[i]);
        keys[i] = cause_key(d, &d->causes.at[i]);
    }
    uint32_t windows = s->w->side[s->side].windows;
    if (windows) side->step_ns = gp_diff_apportion(parts, keys, n, s->wall_ns, windows, out);
    side->busy_ns = side->step_ns;
    for (size_t i = 0; i < n && windows; i++) {
        struct gp_diff_cause *c = &d->causes.at[i];
        c->side_ns[s->side] = out[i];
        if (c->sort == GP_CAUSE_OP) d->ops.at[c->index].side[s->side].share_ns = out[i];
        if (c->sort != GP_CAUSE_IDLE) continue;
        side->idle_ns[c->index] = out[i];
        side->busy_ns = gp_minus_wrapped(side->busy_ns, out[i]);
    }
    free(parts);
    free(keys);
}

/* The three parts sum to the change of the share. Rounded halves go away from zero, so that swapped sides
 * give opposite numbers. */
static void split_effect(struct gp_diff_op *op)
{
    const struct gp_diff_figure *a = &op->side[GP_DIFF_BASE], *b = &op->side[GP_DIFF_CUR];
    int64_t total = b->total_ns - a->total_ns;
    if (a->present && b->present) {
        double count = (b->count - a->count) * (a->mean_ns + b->mean_ns) / 2;
        op->count_effect_ns = fabs(count) < 0x1p62 ? llround(count) : 0;
        op->percall_effect_ns = gp_minus_wrapped(total, op->count_effect_ns);
    } else {
        op->count_effect_ns = total;
    }
    op->overlap_effect_ns = gp_minus_wrapped(b->share_ns - a->share_ns, total);
}

struct sorted {
    struct gp_diff_cause c;
    const char *key;
};

GP_COMPARE(compare_causes, struct sorted,
           GP_KEY(llabs(y->c.change_ns), llabs(x->c.change_ns)) GP_UP(c.sort) GP_THEN(strcmp(x->key, y->key)))

static void finish_causes(struct gp_diff *d)
{
    struct sorted *sorted = gp_alloc((d->causes.n + 1) * sizeof *sorted);
    d->residual_ns = d->side[GP_DIFF_CUR].step_ns - d->side[GP_DIFF_BASE].step_ns;
    for (size_t i = 0; i < d->causes.n; i++) {
        struct gp_diff_cause *c = &d->causes.at[i];
        c->change_ns = c->side_ns[GP_DIFF_CUR] - c->side_ns[GP_DIFF_BASE];
        d->residual_ns = gp_minus_wrapped(d->residual_ns, c->change_ns);
        sorted[i] = (struct sorted){*c, cause_key(d, c)};
    }
    if (d->causes.n) qsort(sorted, d->causes.n, sizeof *sorted, compare_causes);
    for (size_t i = 0; i < d->causes.n; i++) d->causes.at[i] = sorted[i].c;
    free(sorted);
}

void gp_diff_share(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct shares s[GP_DIFF_SIDES];
    memset(s, 0, sizeof s);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        s[side].w = w;
        s[side].side = side;
        s[side].op_ns = gp_zalloc((d->ops.n + 1) * sizeof *s[side].op_ns);
        add_shares(&s[side]);
    }
    make_causes(d, s[GP_DIFF_BASE].other_ns || s[GP_DIFF_CUR].other_ns);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        give_means(&s[side]);
        free(s[side].op_ns);
    }
    for (size_t i = 0; i < d->ops.n; i++) split_effect(&d->ops.at[i]);
    gp_diff_clock_cause(w);
    finish_causes(d);
}
