#include "analyze/diff/comparison.h"

#include <stdlib.h>
#include "formats/base/mem.h"

int gp_comparison_open(struct gp_comparison *c, const struct gp_sides_asked *asked,
                       const struct gp_paths *gates, struct gp_err *err)
{
    if (gp_sides_sort(&c->sides, asked, err) || gp_gates_parse(&c->gates, gates->at, gates->n, err))
        return -1;
    c->parts = gp_zalloc(c->sides.n * sizeof *c->parts);
    return asked->against ? gp_baseline_load(&c->saved, asked->folder, asked->against, err) : 0;
}

void gp_comparison_run(struct gp_comparison *c, const struct gp_diff_opts *opts)
{
    struct gp_diff_opts o = *opts;
    GP_VEC(const struct gp_profile *) base = {0}, cur = {0};
    for (size_t i = 0; i < c->saved.n; i++) GP_VEC_PUSH(&base, &c->saved.at[i]);
    for (size_t i = 0; i < c->sides.n_base; i++) GP_VEC_PUSH(&base, &c->parts[i]);
    for (size_t i = c->sides.n_base; i < c->sides.n; i++) GP_VEC_PUSH(&cur, &c->parts[i]);
    o.gates = c->gates.at;
    o.n_gates = c->gates.n;
    o.gate_none = c->gates.none;
    o.expects = c->expects.at.n ? &c->expects : NULL;
    gp_diff_init(&c->diff, &o);
    gp_diff_run(&c->diff, base.at, base.n, cur.at, cur.n);
    GP_VEC_FREE(&base);
    GP_VEC_FREE(&cur);
}

int gp_comparison_save(struct gp_comparison *c, const struct gp_sides_asked *asked, struct gp_err *err)
{
    size_t first = c->sides.n_base;
    return gp_baseline_save_all(asked->folder, asked->save, c->parts + first, c->sides.n - first, err);
}

void gp_comparison_release(struct gp_comparison *c)
{
    gp_diff_release(&c->diff);
    for (size_t i = 0; c->parts && i < c->sides.n; i++) gp_profile_release(&c->parts[i]);
    free(c->parts);
    gp_sides_release(&c->sides);
    gp_baseline_release(&c->saved);
    gp_expects_release(&c->expects);
    GP_VEC_FREE(&c->gates);
}
