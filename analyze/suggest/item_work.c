// The work of a plan's kernels, how fast the device could do it, and what bounds them.
#include "analyze/suggest/rules_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/cost/pointwise.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/cost/occupancy.h"
#include "analyze/metrics/measured.h"
#include "analyze/view/gauges.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"

enum {
    EMPTY_NS = 2000,         /* an empty kernel takes less on any current device */
    SAMPLE_NS = 20000,       /* products that are shorter are bound by their launch */
    MEMORY_SAMPLE = 1 << 25, /* bytes of kernels that show what memory can do */
    BLOCKS_LEAST = 16,       /* so that the last block, which may be part empty, does not matter */
};

/* Times what the memory can do: with twice the bytes, kernels at 70% of it seem to move more. */
static const double TOO_FAST = 1.4;

/* An operator that launched kernels of the plan. */
struct op {
    uint32_t row;     /* of GP_OP */
    uint32_t longest; /* item */
    uint32_t kernels;
    int64_t total_ns; /* of its kernels */
    bool known;
    struct gp_work work;
};

/* What the name and launch of a kernel show. */
struct config {
    bool done, known, stated;   /* STATED: by XLA, in its args */
    bool transposes;            /* the order of channels, within a convolution */
    unsigned tile;              /* of a product */
    bool pointwise, vectorized; /* its work is that of its grid; and may be half of that */
    struct gp_work work;
    uint32_t blocks;
    double waves;
    enum gp_matrix_use matrix;
};

/* What counters state the peak of. */
enum { PEAK_MEMORY = GP_ARITH_COUNT, PEAK_L2, PEAKS };

struct find {
    struct gp_rule_ctx *c;
    GP_VEC(struct op) ops;
    uint32_t *op_of; /* by item: index into ops; UINT32_MAX */
    struct config *configs;
    struct gp_map models; /* name of an operator -> is its work known? */
    struct gp_measured measured;
    struct {
        double at_peak, ns; /* sums of peak x time, and of the times */
    } peaks[PEAKS];
    struct gp_buf name;
};

/* ---- kernels ---- */

static const struct config *config_of(struct find *f, uint32_t item)
{
    const struct gp_rule_ctx *c = f->c;
    struct config *k = &f->configs[c->items[item].config];
    if (k->done) return k;
    const struct gp_config *config = &c->t->configs.at[c->items[item].config];
    struct gp_occupancy o;
    k->done = true;
    f->name.n = 0;
    gp_name_demangle(&f->name, gp_trace_str(c->t, config->name), gp_string_len(&c->t->strings, config->name));
    const char *name = gp_buf_str(&f->name);
    bool products = c->items[item].kind == GP_FRAME_GEMM;
    k->stated = config->extra && gp_work_of_args(&k->work, gp_trace_str(c->t, config->extra), products);
    k->known = k->stated || (config->grid[1] <= 1 && config->grid[2] <= 1 &&
                             gp_work_of_kernel(&k->work, name, config->grid[0]));
    k->vectorized = gp_pointwise_is_vectorized(name);
    k->transposes = strstr(name, "nchwToNhwc") || strstr(name, "nhwcToNchw");
    k->tile = gp_kernel_tile(name);
    k->pointwise = k->known && !k->stated && !gp_kernel_is_multi_tensor(name);
    k->blocks = config->grid[0];
    k->matrix = gp_matrix_use_of(name, strlen(name));
    gp_occupancy_of(&o, c->t, config, c->props);
    k->waves = o.waves;
    return k;
}

/* ---- operators ---- */

static bool has_model(struct find *f, uint32_t row)
{
    gp_sid name = f->c->t->events[GP_OP].name[row];
    uint32_t *known = gp_map_put(&f->models, name, UINT32_MAX);
    if (*known == UINT32_MAX) *known = gp_work_knows_op(gp_trace_str(f->c->t, name));
    return *known;
}

/* Which kernels each operator launched itself. All kernels of a graph have one launch: they are not the
 * operator's. */
static void find_ops(struct find *f)
{
    const struct gp_rule_ctx *c = f->c;
    uint32_t *at = gp_zalloc((c->t->events[GP_OP].n + 1) * sizeof *at); /* index into ops + 1 */
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t row = c->items[i].op;
        f->op_of[i] = UINT32_MAX;
        if (row == UINT32_MAX || !gp_rule_computes(c, i) ||
            c->p->replay.calls.at[c->p->items.at[i].call].n != 1 || !has_model(f, row) ||
            config_of(f, i)->transposes)
            continue;
        if (!at[row]) {
            GP_VEC_PUSH(&f->ops, ((struct op){.row = row, .longest = i}));
            at[row] = (uint32_t)f->ops.n;
        }
        struct op *op = &f->ops.at[at[row] - 1];
        f->op_of[i] = at[row] - 1;
        op->kernels++;
        op->total_ns = gp_add_saturated(op->total_ns, gp_rule_dur(c, i));
        if (gp_rule_dur(c, i) > gp_rule_dur(c, op->longest)) op->longest = i;
    }
    free(at);
}

static void estimate_ops(struct find *f)
{
    const struct gp_trace *t = f->c->t;
    struct gp_shapes shapes;
    for (size_t k = 0; k < f->ops.n; k++) {
        struct op *op = &f->ops.at[k];
        if (!gp_shapes_read(&shapes, gp_trace_str(t, gp_get_extra(&t->events[GP_OP], op->row)))) continue;
        const char *kernel = gp_trace_str(t, t->configs.at[f->c->items[op->longest].config].name);
        op->known =
            gp_work_of_op(&op->work, gp_trace_str(t, t->events[GP_OP].name[op->row]), &shapes, kernel);
        if (op->known)
            gp_work_settle_arith(&op->work, config_of(f, op->longest)->matrix, f->c->s->ceilings.flops,
                                 op->total_ns, f->c->props && f->c->props->warp_size == 64);
    }
}

/* ---- what a grid stands for ---- */

/* Against the shapes of operators with a single, vectorized kernel: half as much? 0: there are none. */
static double part_by_shapes(struct find *f)
{
    size_t half = 0, whole = 0;
    for (size_t k = 0; k < f->ops.n; k++) {
        const struct op *op = &f->ops.at[k];
        const struct config *config = config_of(f, op->longest);
        if (!op->known || op->kernels != 1 || !config->pointwise || !config->vectorized) continue;
        if (config->blocks < BLOCKS_LEAST || op->work.bytes_high <= 0) continue;
        double ratio = config->work.bytes_high / op->work.bytes_high;
        half += ratio > 1.6 && ratio < 2.5;
        whole += ratio > 0.8 && ratio < 1.25;
    }
    return half > whole ? GP_POINTWISE_HALF : whole ? 1 : 0;
}

/* Would most large kernels move more than the device can, by its data sheet? Then they moved half of it. */
static double part_by_rate(struct find *f)
{
    const struct gp_rule_ctx *c = f->c;
    const struct gp_ceilings *top = &c->s->ceilings;
    size_t over = 0, n = 0;
    for (uint32_t i = 0; i < c->p->items.n && top->memory.per_s > 0; i++) {
        if (!gp_rule_computes(c, i)) continue;
        const struct config *config = config_of(f, i);
        if (!config->pointwise || !config->vectorized || config->work.bytes_low < 2 * top->l2_bytes) continue;
        n++;
        over += config->work.bytes_low * 1e9 > TOO_FAST * top->memory.per_s * (double)gp_rule_dur(c, i);
    }
    return over * 2 > n ? GP_POINTWISE_HALF : 1;
}

static void find_grid_part(struct find *f)
{
    struct gp_rule_ctx *c = f->c;
    c->grid_part = 0;
    if (c->props && c->props->warp_size == 64) return;
    c->grid_part = part_by_shapes(f);
    if (c->grid_part <= 0) c->grid_part = part_by_rate(f);
}

/* ---- items ---- */

static void share(struct gp_work *w, double part)
{
    w->flops *= part;
    w->bytes_low *= part;
    w->bytes_high *= part;
    if (part < 1) w->written = -1; /* one kernel may read what another writes */
}

static void assign_work(struct find *f)
{
    const struct gp_rule_ctx *c = f->c;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        struct gp_item_work *w = &c->work[i];
        const struct op *op = f->op_of[i] != UINT32_MAX ? &f->ops.at[f->op_of[i]] : NULL;
        w->share.arith = GP_ARITH_NONE;
        w->share.written = -1;
        w->counted = UINT32_MAX;
        if (!gp_rule_computes(c, i)) continue;
        if (op && op->known) {
            w->share = op->work;
            w->alone = op->kernels == 1;
            w->tier = GP_WORK_SHAPES;
            w->shaped = true;
            w->part =
                op->total_ns > 0 ? (double)gp_rule_dur(c, i) / (double)op->total_ns : 1 / (double)op->kernels;
            share(&w->share, w->part);
        } else if (config_of(f, i)->known && (c->grid_part > 0 || !config_of(f, i)->pointwise)) {
            w->share = config_of(f, i)->work;
            if (config_of(f, i)->pointwise && config_of(f, i)->vectorized) share(&w->share, c->grid_part);
            w->alone = true;
            w->tier = config_of(f, i)->stated ? GP_WORK_SHAPES : GP_WORK_NAMES;
            if (config_of(f, i)->stated)
                gp_work_settle_arith(&w->share, config_of(f, i)->matrix, f->c->s->ceilings.flops,
                                     gp_rule_dur(c, i), f->c->props && f->c->props->warp_size == 64);
        }
    }
}

/* ---- counters ---- */

/* The counters of memory take the place of any model; those of operations where the item's operations were
 * counted. Of what was only counted in part, the shapes know more. */
static void measure_item(struct gp_item_work *w, const struct gp_counted *k)
{
    bool matrices = k->tensor_flops > 0;
    double shape_flops = w->share.flops;
    w->flops_measured = !k->tensor_unknown && (matrices || !isnan(k->vector_flops));
    if (w->flops_measured) {
        w->share.flops = k->flops;
        w->share.arith = k->arith;
        w->share.products = matrices;
    }
    w->share.flops_known = w->flops_measured || shape_flops > 0;
    w->share.bytes_low = w->share.bytes_high = k->dram_bytes;
    w->share.written = isnan(k->dram_written) ? -1 : k->dram_written;
    w->part = 0;
    w->tier = GP_WORK_COUNTERS;
}

static void add_peak(struct find *f, int at, double per_s, double ns)
{
    if (!(per_s > 0) || !(ns > 0)) return;
    f->peaks[at].at_peak += per_s * ns;
    f->peaks[at].ns += ns;
}

static void measure_items(struct find *f)
{
    struct gp_rule_ctx *c = f->c;
    const struct gp_trace *counters = c->s->opts.counters ? c->s->opts.counters : c->t;
    if (!counters->events[GP_METRIC].n) return;
    gp_measured_init(&f->measured, counters, c->t);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        struct gp_item_work *w = &c->work[i];
        struct gp_counted k;
        double ns = (double)gp_rule_dur(c, i);
        if (!gp_rule_computes(c, i)) continue;
        enum gp_measured_as as = gp_measured_at(&f->measured, c->p->items.at[i].row, &k);
        if (as == GP_MEASURED_NOT) continue;
        w->counted = (uint32_t)c->counted.n;
        w->by_mean = as == GP_MEASURED_MEAN;
        GP_VEC_PUSH(&c->counted, k);
        if (!isnan(k.dram_bytes)) measure_item(w, &k);
        add_peak(f, PEAK_MEMORY, k.peak_dram_bps, ns);
        add_peak(f, PEAK_L2, k.peak_l2_bps, ns);
        if (k.arith < GP_ARITH_COUNT) add_peak(f, (int)k.arith, k.peak_flops, ns);
    }
    gp_measured_release(&f->measured);
}

/* At the clock that the launches ran at, weighted by their time. A file with ceilings was measured, and goes
 * first. */
static void take_peaks(struct find *f)
{
    struct gp_ceilings *top = &f->c->s->ceilings;
    struct gp_ceiling *of[PEAKS] = {[PEAK_MEMORY] = &top->memory, [PEAK_L2] = &top->l2};
    for (int a = 0; a < GP_ARITH_COUNT; a++) of[a] = &top->flops[a];
    for (int i = 0; i < PEAKS; i++)
        if (f->peaks[i].ns > 0 && (of[i]->per_s <= 0 || of[i]->source != GP_CEILING_FILE))
            *of[i] = (struct gp_ceiling){f->peaks[i].at_peak / f->peaks[i].ns, GP_CEILING_COUNTERS};
}

/* ---- ceilings ---- */

struct samples {
    double *at;
    size_t n, cap;
};

/* On the device that works most: what its best kernels reached. */
static void measure_ceilings(struct find *f)
{
    const struct gp_rule_ctx *c = f->c;
    struct gp_ceilings *top = &c->s->ceilings;
    struct samples memory = {0}, flops[GP_ARITH_COUNT] = {{0}};
    double least = top->l2_bytes > MEMORY_SAMPLE ? top->l2_bytes : MEMORY_SAMPLE;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const struct gp_work *w = &c->work[i].share;
        double s = (double)gp_rule_dur(c, i) / 1e9;
        if (!gp_rule_is_here(c, i) || s <= 0) continue;
        if (!c->work[i].alone && c->work[i].tier != GP_WORK_COUNTERS) continue;
        if (!w->products && w->bytes_low > least) GP_VEC_PUSH(&memory, w->bytes_low / s);
        if (w->products && w->arith < GP_ARITH_COUNT && gp_rule_dur(c, i) >= SAMPLE_NS)
            GP_VEC_PUSH(&flops[w->arith], w->flops / s);
    }
    gp_ceiling_measure(&top->memory, memory.at, memory.n);
    GP_VEC_FREE(&memory);
    for (int a = 0; a < GP_ARITH_COUNT; a++) {
        gp_ceiling_measure(&top->flops[a], flops[a].at, flops[a].n);
        GP_VEC_FREE(&flops[a]);
    }
}

/* Duration of an empty kernel: at most that of the shortest kernel present, and of one on any current
 * device. */
static void measure_empty(struct find *f)
{
    struct gp_ceilings *top = &f->c->s->ceilings;
    int64_t shortest = INT64_MAX;
    if (top->empty_ns > 0) return;
    for (uint32_t i = 0; i < f->c->p->items.n; i++)
        if (gp_rule_computes(f->c, i) && gp_rule_dur(f->c, i) < shortest) shortest = gp_rule_dur(f->c, i);
    top->empty_ns = shortest < EMPTY_NS ? (double)shortest : EMPTY_NS;
    top->empty_source = shortest < EMPTY_NS ? GP_CEILING_TRACE : GP_CEILING_ASSUMED;
}

static void find_ceilings(struct find *f)
{
    const struct gp_rule_ctx *c = f->c;
    const char *name = c->props ? gp_trace_str(c->t, c->props->name) : NULL;
    gp_ceilings_of_device(&c->s->ceilings, name, c->props);
    if (c->s->opts.ceilings) gp_ceilings_prefer(&c->s->ceilings, c->s->opts.ceilings);
}

/* ---- clocks ---- */

/* The clock at which each kernel ran, as part of the highest one. */
static void find_clocks(const struct gp_rule_ctx *c)
{
    const struct gp_events *gpu = &c->t->events[GP_GPU];
    struct gp_gauges g;
    gp_gauges_find(&g, c->v);
    for (uint32_t i = 0; i < c->p->items.n && g.gpus.n; i++) {
        uint32_t row = c->p->items.at[i].row;
        const struct gp_gauge_gpu *of = gp_gauges_of(&g, c->v->device_of_row[row]);
        double mhz = gp_gauge_mhz(of, gpu->start_ns[row], gpu->start_ns[row] + gpu->dur_ns[row]);
        if (of && of->boost_mhz > 0 && mhz > 0) c->work[i].clock = mhz / of->boost_mhz;
    }
    gp_gauges_release(&g);
}

/* ---- regimes ---- */

static void find_regimes(struct find *f)
{
    const struct gp_rule_ctx *c = f->c;
    const uint8_t *beside = gp_rule_rows_beside(c, GP_CLASS_COMPUTE);
    const uint8_t *talking = gp_rule_rows_beside(c, GP_CLASS_COMMUNICATION);
    find_clocks(c);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        struct gp_item_work *w = &c->work[i];
        uint32_t row = c->p->items.at[i].row;
        struct gp_regime_kernel k = {.kind = c->items[i].kind, .dur_ns = gp_rule_dur(c, i)};
        if (w->tier != GP_WORK_UNKNOWN) k.work = &w->share;
        if (w->tier == GP_WORK_COUNTERS) k.counted = gp_item_counted(c, i);
        if (k.work) k.waves = config_of(f, i)->waves;
        if (k.kind == GP_FRAME_GEMM) k.tile = config_of(f, i)->tile;
        k.part = w->part;
        k.beside = beside[row] || talking[row];
        k.clock = w->clock;
        gp_regime_of_kernel(&w->bound, &k, &c->s->ceilings);
        if (k.work && !k.counted && !w->bound.impossible)
            gp_regime_limit(&w->share, &c->s->ceilings, w->bound.fits_cache, gp_rule_dur(c, i));
    }
}

void gp_item_work_find(struct gp_rule_ctx *c)
{
    struct find f = {.c = c};
    c->work = gp_zalloc((c->p->items.n + 1) * sizeof *c->work);
    f.op_of = gp_alloc((c->p->items.n + 1) * sizeof *f.op_of);
    f.configs = gp_zalloc((c->t->configs.n + 1) * sizeof *f.configs);
    find_ceilings(&f);
    find_ops(&f);
    estimate_ops(&f);
    find_grid_part(&f);
    assign_work(&f);
    measure_items(&f);
    take_peaks(&f);
    measure_ceilings(&f);
    measure_empty(&f);
    find_regimes(&f);
    GP_VEC_FREE(&f.ops);
    gp_map_release(&f.models);
    gp_buf_release(&f.name);
    free(f.op_of);
    free(f.configs);
}
