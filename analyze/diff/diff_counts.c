/* --gate counts: what a step does, which chance does not change: calls, kernels by name, copies, bytes. What
 * is the same in all steps of the baseline must not be more in most steps of the current side. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/stat.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"

enum { NAMES = 3 /* of kernels in a sentence */ };

struct counts {
    struct gp_diff_work *w;
    int64_t *values[GP_DIFF_SIDES]; /* by step */
    struct gp_buf varying;          /* names of counts that do */
    uint32_t varying_names;         /* of kernels whose number does */
    bool looked;                    /* for the place, which only broken counts have */
    gp_sid place;
    int64_t grew; /* GPU events per step there */
};

/* ---- where ---- */

struct line {
    gp_sid name;
    int64_t n[GP_DIFF_SIDES]; /* GPU events of all steps */
};

/* The line whose GPU events grew most in number. */
static void find_place(struct counts *c)
{
    struct gp_diff *d = c->w->d;
    GP_VEC(struct line) lines = {0};
    struct gp_map at_of = {0};
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &c->w->side[side];
        for (size_t i = 0; i < g->samples.n; i++) {
            const struct gp_profile *p = g->profiles[g->samples.at[i].profile];
            const struct gp_profile_step *s = g->samples.at[i].s;
            for (uint32_t e = s->first; e < s->first + s->n; e++) {
                gp_sid line = p->places.at[p->events.at[e].place].line;
                if (!line) continue;
                line = gp_intern_from(&d->strings, &p->strings, line);
                uint32_t *at = gp_map_put(&at_of, line, (uint32_t)lines.n);
                if (*at == lines.n) GP_VEC_PUSH(&lines, ((struct line){.name = line}));
                lines.at[*at].n[side]++;
            }
        }
    }
    for (size_t i = 0; i < lines.n; i++) {
        int64_t per_step[GP_DIFF_SIDES] = {0};
        for (int side = 0; side < GP_DIFF_SIDES; side++)
            if (c->w->side[side].samples.n)
                per_step[side] = gp_diff_mean(lines.at[i].n[side], c->w->side[side].samples.n);
        int64_t grew = per_step[GP_DIFF_CUR] - per_step[GP_DIFF_BASE];
        if (grew <= c->grew) continue;
        c->grew = grew;
        c->place = lines.at[i].name;
    }
    GP_VEC_FREE(&lines);
    gp_map_release(&at_of);
}

/* ---- counts ---- */

static bool varies(const int64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0]) return true;
    return false;
}

static void put_place(struct counts *c, struct gp_diff_gate *g, struct gp_buf *why)
{
    if (!c->looked) find_place(c);
    c->looked = true;
    if (!c->place) return;
    g->place = c->place;
    gp_buf_printf(why, ", most at %s (+%" PRId64 " GPU events)", gp_diff_str(c->w->d, c->place), c->grew);
}

static struct gp_diff_gate gate_for(struct gp_diff *d, const char *name, uint32_t metric)
{
    struct gp_diff_gate g;
    memset(&g, 0, sizeof g);
    g.text = gp_diff_text(d, "counts: %s", name);
    g.metric = metric;
    g.op = GP_PROFILE_NONE;
    g.absolute = true;
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
        put_place(c, &g, &why);
        g.why = gp_diff_text(d, "%s", gp_buf_str(&why));
        gp_buf_release(&why);
    }
    GP_VEC_PUSH(&d->gates, g);
}

/* Calls of an operation in each step of a side. */
static size_t calls_by_step(struct counts *c, int side, uint32_t op)
{
    const struct gp_diff_group *g = &c->w->side[side];
    const size_t *first = &g->first_call[c->w->calls_of[op]];
    memset(c->values[side], 0, g->samples.n * sizeof *c->values[side]);
    for (size_t i = first[0]; i < first[1]; i++) c->values[side][g->calls[i].sample]++;
    return g->samples.n;
}

/* By how many more calls most steps have of OP; 0: no more, or the baseline varies. */
static int64_t growth_of(struct counts *c, uint32_t op, bool *is_new)
{
    size_t n = calls_by_step(c, GP_DIFF_BASE, op), k = calls_by_step(c, GP_DIFF_CUR, op);
    *is_new = !c->w->d->ops.at[op].side[GP_DIFF_BASE].present;
    bool unsteady = varies(c->values[GP_DIFF_BASE], n);
    c->varying_names += unsteady;
    if (!n || !k || unsteady) return 0;
    int64_t grew = llround(gp_stat_median(c->values[GP_DIFF_CUR], k)) - c->values[GP_DIFF_BASE][0];
    return grew > 0 ? grew : 0;
}

/* By name, so that one kernel instead of another is seen, too. */
static void gate_kernels(struct counts *c)
{
    struct gp_diff *d = c->w->d;
    struct gp_diff_gate g = gate_for(d, "by name", GP_METRIC_KERNELS);
    struct gp_buf why = {0};
    int64_t worst = 0;
    for (uint32_t i = 0; i < d->ops.n; i++) {
        bool is_new;
        int64_t grew = growth_of(c, i, &is_new);
        if (!grew) continue;
        if (g.n_ops++ < NAMES)
            gp_buf_printf(&why, "%s%s +%" PRId64 "%s", why.n ? ", " : "", gp_diff_str(d, d->ops.at[i].label),
                          grew, is_new ? " (new)" : "");
        if (grew <= worst) continue;
        worst = grew;
        g.op = i;
    }
    g.broken = g.n_ops > 0;
    g.value = (double)worst;
    if (!c->w->side[GP_DIFF_BASE].samples.n || !c->w->side[GP_DIFF_CUR].samples.n ||
        d->metrics[GP_METRIC_KERNELS].refused) {
        g.broken = true; /* what was not counted did not pass */
        g.value = NAN;
        g.why = gp_diff_text(d, "the recordings do not allow this comparison");
        g.n_ops = 0;
    }
    if (g.n_ops > NAMES) gp_buf_printf(&why, " and %u more", g.n_ops - NAMES);
    if (g.n_ops) {
        put_place(c, &g, &why);
        g.why = gp_diff_text(d, "%s", gp_buf_str(&why));
    }
    gp_buf_release(&why);
    GP_VEC_PUSH(&d->gates, g);
}

void gp_diff_gate_counts(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct counts c = {.w = w};
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        c.values[side] = gp_alloc((w->side[side].samples.n + 1) * sizeof *c.values[side]);
    for (int m = 0; m < GP_METRIC_COUNT; m++)
        if (gp_metric_class((enum gp_metric_id)m) == GP_METRIC_EXACT && d->metrics[m].known &&
            !d->metrics[m].refused)
            gate_metric(&c, (enum gp_metric_id)m);
    gate_kernels(&c);
    if (c.varying_names)
        gp_buf_printf(&c.varying, "%s%u kernels by name", c.varying.n ? ", " : "", c.varying_names);
    if (c.varying.n)
        gp_diff_note(d, "varying_counts", "not gated, as they vary within the baseline: %s",
                     gp_buf_str(&c.varying));
    gp_buf_release(&c.varying);
    for (int side = 0; side < GP_DIFF_SIDES; side++) free(c.values[side]);
}
