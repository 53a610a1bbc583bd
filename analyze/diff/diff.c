
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "formats/base/order.h"

#define NONE GP_PROFILE_NONE

/* ---- life ---- */

void gp_diff_init(struct gp_diff *d, const struct gp_diff_opts *opts)
{
    memset(d, 0, sizeof *d);
    d->opts.step_bound_pct = 25;
    if (opts) d->opts = *opts;
    if (!(d->opts.alpha > 0 && d->opts.alpha < 1)) d->opts.alpha = 0.05;
    if (!(d->opts.threshold_pct > 0)) d->opts.threshold_pct = 5;
    if (!(d->opts.noise_pct > 0)) d->opts.noise_pct = 1;
    d->noise_measured_pct = d->noise_wall_pct = NAN;
    d->tick_ns = 1;
}

void gp_diff_release(struct gp_diff *d)
{
    GP_RELEASE(gp_vec_free, &d->inputs, &d->reasons, &d->ops, &d->causes, &d->blocks, &d->stacks, &d->steps,
               &d->gates, &d->expects, &d->notes, &d->names, &d->samples);
    gp_strings_release(&d->strings);
    memset(d, 0, sizeof *d);
}

/* ---- inputs ---- */

static void add_inputs(struct gp_diff *d, const struct gp_diff_group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_profile *p = g->profiles[i];
        GP_VEC_PUSH(&d->inputs, gp_input_quality_copy(&p->input, &d->strings, &p->strings));
        if (p->tick_ns > d->tick_ns) d->tick_ns = p->tick_ns;
    }
}

static void take_env(struct gp_diff *d, const struct gp_diff_group *g, int side)
{
    if (!g->n) return;
    const struct gp_profile *p = g->profiles[0];
    struct gp_profile_env *env = &d->side[side].env;
    *env = p->env;
    env->gpu = gp_intern_from(&d->strings, &p->strings, env->gpu);
    env->recorder = gp_intern_from(&d->strings, &p->strings, env->recorder);
    env->framework = gp_intern_from(&d->strings, &p->strings, env->framework);
    env->command = gp_intern_from(&d->strings, &p->strings, env->command);
}

static bool is_identical(const struct gp_diff_work *w)
{
    const struct gp_diff_group *a = &w->side[GP_DIFF_BASE], *b = &w->side[GP_DIFF_CUR];
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->profiles[i]->content != b->profiles[i]->content) return false;
    return a->n > 0;
}

/* ---- order ---- */

/* Of numbers of operations. */
GP_COMPARE_IN(by_change, uint32_t, struct gp_diff,
              GP_KEY(llabs(of->ops.at[*y].change_ns), llabs(of->ops.at[*x].change_ns))
                  GP_THEN(strcmp(gp_diff_str(of, of->ops.at[*x].key), gp_diff_str(of, of->ops.at[*y].key)))
                      GP_KEY(of->ops.at[*x].kind, of->ops.at[*y].kind))

static void renumber(struct gp_diff_work *w, const uint32_t *now)
{
    for (size_t i = 0; i < w->d->causes.n; i++)
        if (w->d->causes.at[i].sort == GP_CAUSE_OP) w->d->causes.at[i].index = now[w->d->causes.at[i].index];
    GP_EACH_OF(const struct gp_diff_group, g, w->side, GP_DIFF_SIDES) {
        for (size_t i = 0; i < g->n; i++) {
            const struct gp_profile *p = g->profiles[i];
            size_t n = w->d->opts.by == GP_DIFF_BY_KERNEL ? p->kernels.n : p->places.n;
            for (size_t k = 0; k < n; k++)
                if (g->op_of[i][k] != NONE) g->op_of[i][k] = now[g->op_of[i][k]];
        }
    }
}

static void sort_ops(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    size_t n = d->ops.n;
    uint32_t *now = gp_alloc((n + 1) * sizeof *now), *was = gp_alloc((n + 1) * sizeof *was);
    struct gp_diff_op *sorted = gp_alloc((n + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < n; i++) was[i] = i;
    gp_sort_in(was, n, sizeof *was, by_change, d);
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = d->ops.at[was[i]];
        now[was[i]] = i;
    }
    if (n) memcpy(d->ops.at, sorted, n * sizeof *sorted);
    w->calls_of = was;
    renumber(w, now);
    free(sorted);
    free(now);
}

/* ---- all of it ---- */

static void release_group(struct gp_diff_group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->op_of) free(g->op_of[i]);
        if (g->shape_of) free(g->shape_of[i]);
    }
    GP_RELEASE(free, g->op_of, g->shape_of, g->run_of, g->first_call, g->calls);
    GP_VEC_FREE(&g->samples);
}

void gp_diff_run(struct gp_diff *d, const struct gp_profile *const *base, size_t n_base,
                 const struct gp_profile *const *cur, size_t n_cur)
{
    struct gp_diff_work w = {.d = d};
    w.side[GP_DIFF_BASE].profiles = base;
    w.side[GP_DIFF_BASE].n = n_base;
    w.side[GP_DIFF_CUR].profiles = cur;
    w.side[GP_DIFF_CUR].n = n_cur;
    d->n_base_inputs = n_base;
    d->identical = is_identical(&w);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        add_inputs(d, &w.side[side]);
        take_env(d, &w.side[side], side);
    }
    d->untimed = gp_input_quality_untimed(d->inputs.at, d->inputs.n);
    gp_diff_choose_steps(&w);
    gp_diff_match(&w);
    gp_diff_sum(&w);
    gp_diff_compare(&w);
    gp_diff_decide(&w);
    gp_diff_excuse(d);
    sort_ops(&w);
    gp_diff_blocks(&w);
    gp_diff_stacks(&w);
    gp_diff_judge(d);
    gp_diff_check_program(d);
    gp_diff_gates(&w);
    gp_diff_say(&w);
    for (int side = 0; side < GP_DIFF_SIDES; side++) release_group(&w.side[side]);
    free(w.waits);
    free(w.calls_of);
}
