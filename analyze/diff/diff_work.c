/* Do both sides do the same work? Another algorithm for it is what people compare; another model or batch is
 * not. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/names/kernel_key.h"
#include "formats/base/map.h"
#include "formats/base/order.h"

static bool is_work(uint32_t kind)
{
    return kind == GP_FRAME_GEMM || kind == GP_FRAME_ATTENTION || kind == GP_FRAME_COMMUNICATION;
}

/* Calls FN for each GPU event of the samples of a side. */
static void each_event(struct gp_diff_work *w, int side, void *ctx,
                       void (*fn)(void *ctx, int side, const struct gp_diff_sample *s,
                                  const struct gp_profile *p, const struct gp_profile_event *e))
{
    const struct gp_diff_group *g = &w->side[side];
    GP_EACH(const struct gp_diff_sample, s, g->samples) {
        const struct gp_profile *p = g->profiles[s->profile];
        for (uint32_t k = s->s->first; k < s->s->first + s->s->n; k++) fn(ctx, side, s, p, &p->events.at[k]);
    }
}

static double per_step(const struct gp_diff_work *w, int side, double sum)
{
    size_t n = w->side[side].samples.n;
    return n ? sum / (double)n : 0;
}

static double larger_of(double a, double b) { return a > b ? a : b; }

/* ---- another batch, another width: the same kernels over grids that all changed by one factor ---- */

static const double FACTOR_SAME = 1.1;     /* grids within this of each other changed by one factor */
static const double FACTOR_LEAST = 1.2;    /* ... and by so much at least */
static const double PART_LOOKED_AT = 0.01; /* of the GPU time: what less shows is not believed */
enum { KERNELS_LEAST = 3 };

/* Of one kernel. */
struct grid_row {
    double calls[GP_DIFF_SIDES], blocks[GP_DIFF_SIDES], ns[GP_DIFF_SIDES];
};

struct grids {
    struct gp_diff_work *w;
    struct gp_map rows_of; /* by name */
    GP_VEC(struct grid_row) rows;
};

/* How the grid of a launch changed, as a logarithm, and how much time that concerns. */
struct grid_change {
    double factor, ns;
};

/* Products and collectives choose their grids by other things than the size of their work, and so do sums and
 * what belongs to convolutions; what an optimizer does to lists of tensors depends on the parameters, not on
 * the batch. */
static bool tells_size(const char *name, const struct gp_profile_kernel *k)
{
    if (is_work(k->kind) || gp_class_of((enum gp_frame_kind)k->kind) != GP_CLASS_COMPUTE || !k->grid[0])
        return false;
    return !strstr(name, "multi_tensor_apply") && !strstr(name, "reduce_kernel") && !strstr(name, "cudnn");
}

static void add_grid(void *ctx, int side, const struct gp_diff_sample *s, const struct gp_profile *p,
                     const struct gp_profile_event *e)
{
    struct grids *g = ctx;
    const struct gp_profile_kernel *k = &p->kernels.at[e->kernel];
    (void)s;
    if (!tells_size(gp_profile_str(p, k->name), k)) return;
    gp_sid name = gp_intern_from(&g->w->d->strings, &p->strings, k->name);
    uint32_t at = *gp_map_put(&g->rows_of, name, (uint32_t)g->rows.n);
    if (at == g->rows.n) GP_VEC_PUSH(&g->rows, ((struct grid_row){{0}, {0}, {0}}));
    g->rows.at[at].calls[side]++;
    g->rows.at[at].blocks[side] += (double)k->grid[0] * k->grid[1] * k->grid[2];
    g->rows.at[at].ns[side] += (double)e->dur_ns;
}

GP_COMPARE(compare_changes, struct grid_change, GP_UP(factor))

/* How the grids of kernels on both sides changed, each with the logarithm of its factor: 0 where they did
 * not. A loop over small grids that became one launch over a large one does the same work, and so do calls of
 * one block. */
static size_t grid_changes(const struct grids *g, struct grid_change *changes)
{
    size_t n = 0;
    GP_EACH(const struct grid_row, r, g->rows) {
        if (!r->calls[GP_DIFF_BASE] || !r->calls[GP_DIFF_CUR]) continue;
        double blocks[GP_DIFF_SIDES], ns[GP_DIFF_SIDES];
        for (int side = 0; side < GP_DIFF_SIDES; side++) {
            blocks[side] = per_step(g->w, side, r->blocks[side]);
            ns[side] = per_step(g->w, side, r->ns[side]);
        }
        double total = log(blocks[GP_DIFF_CUR] / blocks[GP_DIFF_BASE]);
        double base = r->blocks[GP_DIFF_BASE] / r->calls[GP_DIFF_BASE],
               cur = r->blocks[GP_DIFF_CUR] / r->calls[GP_DIFF_CUR], call = log(cur / base);
        if (!(base > 0 && cur > 0) || larger_of(base, cur) <= 1) continue;
        bool changed = fabs(call) > log(FACTOR_SAME);
        if (changed && total / call < 0.5) continue;
        changes[n++] = (struct grid_change){changed ? call : 0, larger_of(ns[GP_DIFF_BASE], ns[GP_DIFF_CUR])};
    }
    qsort(changes, n, sizeof *changes, compare_changes);
    return n;
}

/* The factor by which the grids of half of the kernels changed, or of kernels with half of their time; 0:
 * there is none. */
static double common_factor(const struct grids *g, uint32_t *kernels)
{
    const struct gp_diff *d = g->w->d;
    struct grid_change *changes = gp_alloc((g->rows.n + 1) * sizeof *changes);
    size_t n = grid_changes(g, changes), most = 0, from = 0, to = 0;
    double gpu = larger_of((double)d->side[GP_DIFF_BASE].gpu_ns, (double)d->side[GP_DIFF_CUR].gpu_ns);
    double factor = 0, all = 0, ns = 0;
    for (size_t i = 0; i < n; i++) all += changes[i].ns;
    for (size_t i = 0; i < n; i++) { /* those from FROM to TO have about the factor of I */
        for (; to < n && changes[to].factor <= changes[i].factor + log(FACTOR_SAME); to++)
            ns += changes[to].ns;
        for (; changes[from].factor < changes[i].factor - log(FACTOR_SAME); from++) ns -= changes[from].ns;
        size_t many = to - from;
        bool enough = many >= KERNELS_LEAST || (many == n && n > 1);
        if (!enough || many <= most || (many * 2 < n && ns * 2 < all)) continue;
        if (ns < PART_LOOKED_AT * gpu || fabs(changes[i].factor) <= log(FACTOR_LEAST)) continue;
        most = many;
        factor = exp(changes[from + many / 2].factor);
    }
    *kernels = (uint32_t)most;
    free(changes);
    return factor;
}

static bool check_size(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct grids g = {.w = w};
    uint32_t kernels;
    for (int side = 0; side < GP_DIFF_SIDES; side++) each_event(w, side, &g, add_grid);
    double factor = common_factor(&g, &kernels);
    GP_VEC_FREE(&g.rows);
    gp_map_release(&g.rows_of);
    if (!(factor > 0)) return false;
    gp_diff_reason(
        d, "size", !d->opts.any_work, d->opts.any_work ? 0 : GP_DIFF_ALL_CLASSES,
        gp_diff_text(d, "another batch or model: %" PRIu32 " kernels run over grids %.3g times as large",
                     kernels, factor));
    return true;
}

/* ---- other work ---- */

/* Per step. "Work" is products, attention and collectives: their number does not depend on how a program was
 * compiled. "Common" products run the same kernels over the same grids on both sides; "known" is what has an
 * operation on both. */
struct work {
    double calls[GP_DIFF_SIDES], attention[GP_DIFF_SIDES];
    double runs[GP_DIFF_SIDES]; /* calls of another shape than the last few: of a loop, its body once */
    /* GPU time */
    double ns[GP_DIFF_SIDES], products[GP_DIFF_SIDES], common[GP_DIFF_SIDES];
    double rest[GP_DIFF_SIDES], known[GP_DIFF_SIDES];
    double shared[GP_DIFF_SIDES]; /* in operations that both sides run equally often */
    double both[GP_DIFF_SIDES];   /* in operations that both sides run */
    double fused[GP_DIFF_SIDES];  /* in kernels of a compiler that fuses */
};

enum {
    BODY = 4,         /* products of a loop's body */
    PRODUCTS_FEW = 4, /* fewer do not show whether the work is the same */
};

struct counter {
    struct gp_diff_work *w;
    struct work *work;
    const uint8_t *seen; /* bits of sides, by shape */
    const struct gp_diff_sample *sample;
    uint32_t last[BODY], n_last;
};

static void count_run(struct counter *c, int side, const struct gp_diff_sample *s, uint32_t shape)
{
    if (c->sample != s) c->n_last = 0;
    c->sample = s;
    bool known = false;
    for (uint32_t i = 0; i < c->n_last && i < BODY; i++) known |= c->last[i] == shape;
    c->last[c->n_last++ % BODY] = shape;
    c->work->runs[side] += !known;
}

static void count_event(void *ctx, int side, const struct gp_diff_sample *s, const struct gp_profile *p,
                        const struct gp_profile_event *e)
{
    struct counter *c = ctx;
    struct work *work = c->work;
    const struct gp_profile_kernel *k = &p->kernels.at[e->kernel];
    const struct gp_diff_op *op = &c->w->d->ops.at[gp_diff_op_of(c->w, side, s->profile, e)];
    bool both = op->side[GP_DIFF_BASE].present && op->side[GP_DIFF_CUR].present;
    double ns = (double)e->dur_ns;
    if (both && !op->count_changed) work->shared[side] += ns;
    if (both) work->both[side] += ns;
    if (gp_kernel_is_fused(gp_profile_str(p, k->name), gp_string_len(&p->strings, k->name)))
        work->fused[side] += ns;
    if (!is_work(k->kind)) {
        work->rest[side] += ns;
        if (both) work->known[side] += ns;
        return;
    }
    uint32_t shape = c->w->side[side].shape_of[s->profile][e->kernel];
    work->calls[side]++;
    work->attention[side] += k->kind == GP_FRAME_ATTENTION;
    work->ns[side] += ns;
    if (k->kind == GP_FRAME_GEMM) work->products[side] += ns;
    if (k->kind == GP_FRAME_GEMM && c->seen[shape] == 3) work->common[side] += ns;
    count_run(c, side, s, shape);
}

static void count_work(struct gp_diff_work *w, struct work *work)
{
    GP_VEC(uint8_t) seen = {0}; /* bits of sides, by shape */
    memset(work, 0, sizeof *work);
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        for (size_t i = 0; i < w->side[side].first_call[w->d->ops.n]; i++) {
            uint32_t shape = w->side[side].calls[i].shape;
            while (seen.n <= shape) GP_VEC_PUSH(&seen, 0);
            seen.at[shape] |= (uint8_t)(1 << side);
        }
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        struct counter c = {.w = w, .work = work, .seen = seen.at};
        each_event(w, side, &c, count_event);
        work->calls[side] = per_step(w, side, work->calls[side]);
        work->attention[side] = per_step(w, side, work->attention[side]);
        work->runs[side] = per_step(w, side, work->runs[side]);
    }
    GP_VEC_FREE(&seen);
}

static bool is_most(const double part[GP_DIFF_SIDES], const struct work *work, double least)
{
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        if (part[side] < least * (work->ns[side] + work->rest[side])) return false;
    return true;
}

static bool is_below(const double part[GP_DIFF_SIDES], const struct work *work, double share)
{
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        if (part[side] >= share * (work->ns[side] + work->rest[side])) return false;
    return true;
}

static bool within_twice(double a, double b) { return a <= 2 * b && b <= 2 * a; }

/* Attention kernels of one side stand for products of the other (two each forward, four or five backward,
 * where they have helpers), and all else that it multiplies is the same. */
static bool is_attention(const struct work *work)
{
    enum { MOST = 5 };
    double kernels = work->attention[GP_DIFF_CUR] - work->attention[GP_DIFF_BASE];
    double calls = work->calls[GP_DIFF_CUR] - work->calls[GP_DIFF_BASE];
    double products = kernels - calls; /* that are gone where KERNELS are new */
    int side = kernels > 0 ? GP_DIFF_CUR : GP_DIFF_BASE;
    if (kernels == 0 || products / kernels < 1 || products / kernels > MOST) return false;
    return work->common[side] * 2 >= work->products[side]; /* its other products are still there */
}

/* One side calls a few products over and over where the other has as many of another shape, and what is not
 * products is on both sides, or next to nothing. */
static bool is_loop(const struct work *work)
{
    enum { TURNS = 4 };
    int more = work->calls[GP_DIFF_CUR] > work->calls[GP_DIFF_BASE];
    if (work->calls[more] < TURNS * work->calls[!more] || !work->calls[!more]) return false;
    if (work->calls[more] < TURNS * work->runs[more] || work->calls[!more] > 2 * work->runs[!more])
        return false;
    if (!within_twice(work->runs[GP_DIFF_BASE], work->runs[GP_DIFF_CUR])) return false;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        if (work->common[side] * 2 > work->products[side]) return false; /* more of the same */
        if (work->known[side] * 2 < work->rest[side] && work->rest[side] * 10 > work->ns[side]) return false;
    }
    return true;
}

/* A compiler made most of the kernels of one side only: their names do not tell what they replace. */
static bool is_compiled(const struct work *work)
{
    bool most[GP_DIFF_SIDES];
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        most[side] = work->fused[side] * 2 > work->ns[side] + work->rest[side];
    return most[GP_DIFF_BASE] != most[GP_DIFF_CUR];
}

/* Products are not the same number, and hardly any operation is on both sides, or those that are run in other
 * numbers; and no compiler explains it. */
static bool is_another_program(const struct gp_diff *d, const struct work *work)
{
    enum { OPERATIONS_FEW = 8, PART = 4 };
    size_t both = 0;
    double a = work->calls[GP_DIFF_BASE], b = work->calls[GP_DIFF_CUR];
    for (size_t i = 0; i < d->ops.n; i++)
        both += d->ops.at[i].side[GP_DIFF_BASE].present && d->ops.at[i].side[GP_DIFF_CUR].present;
    if (d->ops.n < OPERATIONS_FEW || fabs(a - b) <= 0.01 * larger_of(a, b) || is_compiled(work)) return false;
    if (is_most(work->both, work, 0.5) && is_below(work->shared, work, 0.05)) return true;
    return both * PART <= d->ops.n && !is_most(work->shared, work, 0.2);
}

/* Compilers and libraries split products and join them, but not to half or double their number, unless they
 * choose another algorithm. */
static bool is_other(const struct gp_diff *d, const struct work *work)
{
    double a = work->calls[GP_DIFF_BASE], b = work->calls[GP_DIFF_CUR];
    double more = a > b ? a : b, less = a > b ? b : a;
    bool nothing_shared = is_below(work->shared, work, 0.1);
    bool explained = is_attention(work) || is_loop(work);
    if (more >= PRODUCTS_FEW && less * 2 < more) return !explained && !is_most(work->shared, work, 0.5);
    if (!explained && is_another_program(d, work)) return true;
    if (!nothing_shared || explained) return false;
    return more < PRODUCTS_FEW ? !is_compiled(work) : less * 4 < more * 3;
}

/* What replaced what, if that explains the change of the number of products. 0: it does not. */
static gp_sid algorithm_of(struct gp_diff *d, const struct work *work)
{
    const char *unit = gp_diff_unit_name((enum gp_diff_unit)d->unit);
    double was = work->calls[GP_DIFF_BASE], is = work->calls[GP_DIFF_CUR];
    double kernels = work->attention[GP_DIFF_CUR] - work->attention[GP_DIFF_BASE],
           products = kernels - (is - was);
    if (is_attention(work) && kernels > 0)
        return gp_diff_text(d, "another algorithm: %.4g attention kernel%s per %s instead of %.4g products",
                            kernels, kernels == 1 ? "" : "s", unit, products);
    if (is_attention(work))
        return gp_diff_text(d, "another algorithm: %.4g products per %s instead of %.4g attention kernel%s",
                            -products, unit, -kernels, kernels == -1 ? "" : "s");
    if (is_loop(work) || !within_twice(was, is))
        return gp_diff_text(d, "another algorithm: %.4g product%s per %s instead of %.4g", is,
                            is == 1 ? "" : "s", unit, was);
    return 0;
}

/* ---- runs of one side ---- */

/* Samples of a side by run: those of run R are at[first[R]] up to at[first[R + 1]]. */
struct runs {
    uint32_t *first, *at;
};

static struct runs group_runs(const struct gp_diff_group *g, uint32_t n_runs)
{
    struct runs r = {gp_zalloc((n_runs + 2) * sizeof *r.first), gp_alloc((g->samples.n + 1) * sizeof *r.at)};
    for (size_t i = 0; i < g->samples.n; i++) r.first[g->run_of[g->samples.at[i].profile] + 2]++;
    for (uint32_t run = 2; run < n_runs + 2; run++) r.first[run] += r.first[run - 1];
    for (size_t i = 0; i < g->samples.n; i++)
        r.at[r.first[g->run_of[g->samples.at[i].profile] + 1]++] = (uint32_t)i;
    return r;
}

/* GPU time of a run by operation, added to NS; returns its sum. */
static double sum_run(const struct gp_diff_work *w, int side, const struct runs *r, uint32_t run, double *ns)
{
    const struct gp_diff_group *g = &w->side[side];
    double sum = 0;
    for (uint32_t i = r->first[run]; i < r->first[run + 1]; i++) {
        const struct gp_diff_sample *s = &g->samples.at[r->at[i]];
        const struct gp_profile_event *e = &g->profiles[s->profile]->events.at[s->s->first];
        for (uint32_t k = 0; k < s->s->n; k++) {
            ns[gp_diff_op_of(w, side, s->profile, &e[k])] += (double)e[k].dur_ns;
            sum += (double)e[k].dur_ns;
        }
    }
    return sum;
}

/* Is less than half of the GPU time of either in operations that both have? */
static bool runs_differ(const double *a, double sum_a, const double *b, double sum_b, size_t n)
{
    double both_a = 0, both_b = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(a[i] > 0 && b[i] > 0)) continue;
        both_a += a[i];
        both_b += b[i];
    }
    return sum_a > 0 && sum_b > 0 && (both_a * 2 < sum_a || both_b * 2 < sum_b);
}

static const char *path_of_run(const struct gp_diff_work *w, int side, uint32_t run)
{
    const struct gp_diff_group *g = &w->side[side];
    size_t i = 0;
    while (i + 1 < g->n && g->run_of[i] != run) i++;
    return gp_profile_str(g->profiles[i], g->profiles[i]->input.path);
}

/* Runs of one side are of one program: their mean says nothing otherwise. */
static void check_runs(struct gp_diff_work *w, int side)
{
    struct gp_diff *d = w->d;
    uint32_t n_runs = d->side[side].runs;
    if (n_runs < 2) return;
    struct runs r = group_runs(&w->side[side], n_runs);
    size_t bytes = (d->ops.n + 1) * sizeof(double);
    double *first = gp_zalloc(bytes), *other = gp_zalloc(bytes), sum = sum_run(w, side, &r, 0, first);
    bool differ = false;
    for (uint32_t run = 1; run < n_runs && !differ; run++) {
        memset(other, 0, bytes);
        differ = runs_differ(first, sum, other, sum_run(w, side, &r, run, other), d->ops.n);
        if (differ)
            gp_diff_reason(d, "work", !d->opts.any_work, d->opts.any_work ? 0 : GP_DIFF_ALL_CLASSES,
                           gp_diff_text(d, "different programs in the %s: %s and %s",
                                        side == GP_DIFF_BASE ? "baseline" : "current group",
                                        path_of_run(w, side, 0), path_of_run(w, side, run)));
    }
    GP_RELEASE(free, first, other, r.first, r.at);
}

void gp_diff_check_work(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    struct work work;
    if (!w->side[GP_DIFF_BASE].samples.n || !w->side[GP_DIFF_CUR].samples.n) return;
    for (int side = 0; side < GP_DIFF_SIDES; side++) check_runs(w, side);
    bool sized = check_size(w);
    count_work(w, &work);
    double was = work.calls[GP_DIFF_BASE], is = work.calls[GP_DIFF_CUR];
    gp_sid algorithm = sized ? 0 : algorithm_of(d, &work);
    if (is_other(d, &work)) {
        gp_sid text = 0;
        if (was >= PRODUCTS_FEW || is >= PRODUCTS_FEW)
            text = gp_diff_text(
                d, "different work: %.4g and %.4g matrix products, attention kernels and collectives per %s",
                was, is, gp_diff_unit_name((enum gp_diff_unit)d->unit));
        else text = gp_diff_text(d, "different work: hardly any operation is on both sides");
        gp_diff_reason(d, "work", !d->opts.any_work, d->opts.any_work ? 0 : GP_DIFF_ALL_CLASSES, text);
    } else if (algorithm) {
        gp_diff_reason(d, "algorithm", false, 0, algorithm);
    } else if (fabs(was - is) > 0.01 * larger_of(was, is)) {
        gp_diff_reason(
            d, "work_changed", false, 0,
            gp_diff_text(d,
                         "slightly different work: %.4g and %.4g matrix products, attention kernels "
                         "and collectives per %s",
                         was, is, gp_diff_unit_name((enum gp_diff_unit)d->unit)));
    }
}

void gp_diff_check_program(struct gp_diff *d)
{
    enum { KERNELS_FEW = 8 };
    const struct gp_diff_summary *s = &d->summary;
    size_t apart = (size_t)s->added + s->removed;
    if (!d->comparable || d->ops.n < KERNELS_FEW || apart * 2 <= d->ops.n) return;
    gp_diff_reason(d, "few_in_common", false, 0,
                   gp_diff_text(d,
                                "these may be different programs: %" PRIu32
                                " operations are gone and %" PRIu32 " new, %zu %s on both sides",
                                s->removed, s->added, d->ops.n - apart,
                                d->ops.n - apart == 1 ? "is" : "are"));
}
