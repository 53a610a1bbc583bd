/* Which call of a step is which call of the other side's step. */
#include <stdlib.h>
#include "analyze/diff/diff_decide_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/order.h"

/* Calls of one shape stay in their order. */
GP_COMPARE(by_shape, struct gp_diff_call, GP_UP(shape) GP_UP(event))

/* The calls of one sample of an operation that has COUNT in each. */
static struct gp_diff_call *calls_of(struct gp_diff_group *g, uint32_t op, size_t sample, size_t count)
{
    return g->calls + g->first_call[op] + sample * count;
}

static bool same_shapes(const struct gp_diff_call *a, const struct gp_diff_call *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].shape != b[i].shape) return false;
    return true;
}

static bool all_alike(struct gp_decider *t, int side, const struct gp_diff_call *like, uint32_t op,
                      size_t count)
{
    struct gp_diff_group *g = &t->w->side[side];
    for (size_t i = 0; i < g->samples.n; i++)
        if (!same_shapes(like, calls_of(g, op, i, count), count)) return false;
    return true;
}

/* How often each step calls an operation, if that is the same in all steps of both sides; otherwise 0. */
size_t gp_decide_count(const struct gp_decider *t, uint32_t op)
{
    size_t count = 0;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &t->w->side[side];
        size_t n = g->first_call[op + 1] - g->first_call[op];
        if (!g->samples.n || n % g->samples.n) return 0;
        if (side && n / g->samples.n != count) return 0;
        count = n / g->samples.n;
        for (size_t i = 0; i < n; i++)
            if (g->calls[g->first_call[op] + i].sample != i / (count ? count : 1)) return 0;
    }
    return count;
}

/* Are the calls of a step the same in all steps of both sides, one by one? Sorting them by shape helps if
 * compilers launch in a different order. If the sides have different shapes, only the order within each
 * remains. */
static bool can_pair(struct gp_decider *t, uint32_t op, size_t count)
{
    struct gp_diff_call *base = calls_of(&t->w->side[GP_DIFF_BASE], op, 0, count);
    struct gp_diff_call *cur = calls_of(&t->w->side[GP_DIFF_CUR], op, 0, count);
    bool steady = all_alike(t, GP_DIFF_BASE, base, op, count) && all_alike(t, GP_DIFF_CUR, cur, op, count);
    if (steady && same_shapes(base, cur, count)) return true;
    const struct gp_diff_op *o = &t->d->ops.at[op];
    if (steady && (o->retiled || o->reshaped)) return true;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        for (size_t i = 0; i < t->w->side[side].samples.n; i++)
            qsort(calls_of(&t->w->side[side], op, i, count), count, sizeof *base, by_shape);
    return all_alike(t, GP_DIFF_BASE, base, op, count) && all_alike(t, GP_DIFF_CUR, base, op, count);
}

/* Twice the median over the steps of each position, so that it is an integer. */
static void find_medians(struct gp_decider *t, int side, uint32_t op, size_t count)
{
    struct gp_diff_group *g = &t->w->side[side];
    size_t n = g->samples.n;
    t->pairs[side].n = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < n; i++) t->sums[side][i] = calls_of(g, op, i, count)[k].dur_ns;
        qsort(t->sums[side], n, sizeof *t->sums[side], gp_order_i64);
        GP_VEC_PUSH(&t->pairs[side], gp_add_saturated(t->sums[side][(n - 1) / 2], t->sums[side][n / 2]));
    }
}

bool gp_decide_pairs(struct gp_decider *t, uint32_t op, size_t count)
{
    if (!can_pair(t, op, count)) return false;
    find_medians(t, GP_DIFF_BASE, op, count);
    find_medians(t, GP_DIFF_CUR, op, count);
    return true;
}
