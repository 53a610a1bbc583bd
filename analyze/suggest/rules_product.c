// Matrix products of known sizes: those far below what the device can do, and those of inefficient sizes.
#include <stdlib.h>
#include <string.h>
#include "analyze/cost/pointwise.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double PRODUCT_PCT = 5;  /* of the busy time */
static const double BELOW_ROOF = 0.6; /* of the attainable rate */

enum {
    ROOF_NS_LEAST = 20000, /* shorter kernels are bound by their launch */
    ALIGNED = 8,           /* 16-bit elements loaded at once */
    NARROW = 64,           /* a matrix with fewer columns is almost a vector */
};

/* The matrix product that an item computes; NULL if unknown. An operator that needs several products, or a
 * split one, cannot be attributed to one kernel. Memory sets of a workspace do not count. */
static const struct gp_work *product_of(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_item_work *w = &c->work[item];
    bool known = c->items[item].kind == GP_FRAME_GEMM && w->shaped && w->alone;
    return known && w->share.product.k > 0 && w->share.arith < GP_ARITH_COUNT ? &w->share : NULL;
}

/* Duration of a product at the attainable rates of memory and, at its clock, of arithmetic; 0: unknown. */
static double roof_ns(const struct gp_rule_ctx *c, uint32_t item, const struct gp_work *w)
{
    const struct gp_ceilings *top = &c->s->ceilings;
    double flops = gp_ceiling_at(&top->flops[w->arith], c->work[item].clock),
           bytes = gp_ceiling_attainable(&top->memory);
    if (flops <= 0 || bytes <= 0) return 0;
    double compute = w->flops / flops * 1e9, memory = w->bytes_high / bytes * 1e9;
    return compute > memory ? compute : memory;
}

static bool is_lone(const struct gp_rule_ctx *c, uint32_t item)
{
    uint32_t row = c->p->items.at[item].row;
    return !gp_rule_rows_beside(c, GP_CLASS_COMPUTE)[row] &&
           !gp_rule_rows_beside(c, GP_CLASS_COMMUNICATION)[row];
}

/* The same as product_of(), but NULL unless the item has the device to itself. */
static const struct gp_work *lone_product_of(const struct gp_rule_ctx *c, uint32_t item)
{
    return is_lone(c, item) ? product_of(c, item) : NULL;
}

/* ---- sizes that are not multiples of 8 ---- */

/* Rows of K and N elements are contiguous in memory; M counts rows and need not be a multiple. */
static bool is_odd(const struct gp_work *w)
{
    const struct gp_work_product *p = &w->product;
    return (w->arith == GP_ARITH_FP16 || w->arith == GP_ARITH_BF16) && p->k >= NARROW && p->n >= NARROW &&
           (p->k % ALIGNED || p->n % ALIGNED);
}

/* The elements that a 16-bit product loads at once, if its name shows that they are fewer than ALIGNED; 0: it
 * does not. */
static unsigned few_at_once(const struct gp_rule_ctx *c, uint32_t item)
{
    const char *name = gp_rule_name(c, item);
    if (c->items[item].kind != GP_FRAME_GEMM || !gp_kernel_is_half_tensorop(name)) return 0;
    unsigned n = gp_kernel_alignment(name);
    return n < ALIGNED ? n : 0;
}

/* At most all but what the device needs for the work; where that is unknown, all but the loads that are left
 * if each loads ALIGNED elements. */
static int64_t lost_to_odd(const struct gp_rule_ctx *c, uint32_t item)
{
    if (c->apart[item]) return 0;
    unsigned few = few_at_once(c, item);
    const struct gp_work *w = lone_product_of(c, item);
    double dur = (double)gp_rule_dur(c, item), roof = w && (few || is_odd(w)) ? roof_ns(c, item, w) : 0;
    if (roof > 0) return roof < dur ? (int64_t)(dur - roof) : 0;
    return few && is_lone(c, item) ? gp_rule_dur(c, item) / ALIGNED * (int64_t)(ALIGNED - few) : 0;
}

/* What is odd about the worst product: its sizes, or its loads. */
static gp_sid odd_text(struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t worst, int64_t count)
{
    const struct gp_work *w = product_of(c, worst);
    gp_rule_evidence_count(s, "products", count);
    if (!w || !is_odd(w)) {
        gp_rule_evidence_count(s, "elements_at_once", few_at_once(c, worst));
        return gp_rule_text(
            c,
            "16-bit matrix products (%lld per step, %s) load fewer than %d elements at once, as "
            "their sizes or offsets are not multiples of %d; the worst loads %u, by its name",
            (long long)count, gp_rule_ns(c, s->current_ns), ALIGNED, ALIGNED, few_at_once(c, worst));
    }
    const struct gp_work_product p = w->product;
    gp_rule_evidence_count(s, "k", p.k);
    gp_rule_evidence_count(s, "n", p.n);
    return gp_rule_text(c,
                        "16-bit matrix products (%lld per step, %s) have sizes that are not "
                        "multiples of 8; the worst is %lld x %lld times %lld x %lld",
                        (long long)count, gp_rule_ns(c, s->current_ns), (long long)p.m, (long long)p.k,
                        (long long)p.k, (long long)p.n);
}

static void suggest_odd(struct gp_rule_ctx *c)
{
    struct gp_rule_lost sum = gp_rule_find_lost(c, lost_to_odd, NULL);
    if (sum.worst == UINT32_MAX || gp_pct(sum.total_ns, c->busy_ns) < PRODUCT_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    gp_rule_find_lost(c, lost_to_odd, s);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.lost_ns);
    s->description = odd_text(c, s, sum.worst, gp_rule_per_step(c, sum.count));
}

/* Mark the products whose sizes are not those of layers, but of the data: of attention in pieces, whose rows
 * are tokens, and convolutions, known by a batch normalization that follows, whose rows are pixels. */
static void mark_sizes_of_data(const struct gp_rule_ctx *c, uint8_t *items)
{
    gp_rule_mark_attention(c, items);
    for (uint32_t i = c->p->items.n, next = UINT32_MAX; i-- > 0;) {
        bool norm = next != UINT32_MAX && strstr(gp_rule_name(c, next), "batch_norm");
        bool same = norm && c->p->items.at[next].step == c->p->items.at[i].step;
        if (c->items[i].kind == GP_FRAME_GEMM) items[i] |= same;
        if (c->items[i].kind != GP_FRAME_MEMSET && !gp_pointwise_casts(gp_rule_name(c, i))) next = i;
    }
}

static void check_odd_dimensions(struct gp_rule_ctx *c)
{
    uint8_t *apart = gp_zalloc(c->p->items.n + 1);
    mark_sizes_of_data(c, apart);
    c->apart = apart;
    suggest_odd(c);
    c->apart = NULL;
    free(apart);
}

const struct gp_rule gp_rule_odd_dimensions = {
    .name = "odd_dimensions",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "16-bit matrix products whose sizes are not multiples of 8",
    .needs = "operators with shapes (record_shapes) and device ceilings, or names that show the alignment",
    .threshold = "K or N not a multiple of 8, or loads of fewer than 8 elements; 5% of the busy time",
    .guard = "matrices of fewer than 64 columns; the number of rows; products of attention in pieces, and "
             "convolutions, whose sizes are those of the data; products already at the roof",
    .action = "pad these sizes (vocabulary, heads, features) to multiples of 8, or better, 64",
    .formula = "between nothing and what the device can do in arithmetic or memory bandwidth, whichever "
               "takes longer; without sizes, the share of its loads that loading 8 elements at once saves",
    .assumes = "because of these sizes, the kernel loads in smaller pieces",
    .expect = "other, faster kernels",
    .run = check_odd_dimensions,
    .to_know = "time the product with padded sizes (gpuprof-measure --op matmul)",
    .measured = true,
    .least_pct = 60,
};

/* ---- far below the roof ---- */

/* Other rules cover plain FP32 arithmetic and odd sizes. */
static int64_t lost_below_roof(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_work *w = lone_product_of(c, item);
    if (!w) return 0;
    double roof = roof_ns(c, item, w);
    if (is_odd(w) || few_at_once(c, item) || w->arith == GP_ARITH_FP32 || w->arith == GP_ARITH_FP64) return 0;
    if (roof < ROOF_NS_LEAST || roof >= BELOW_ROOF * (double)gp_rule_dur(c, item)) return 0;
    return gp_rule_dur(c, item) - (int64_t)roof;
}

static void check_gemm_roof(struct gp_rule_ctx *c)
{
    struct gp_rule_lost sum = gp_rule_find_lost(c, lost_below_roof, NULL);
    if (sum.worst == UINT32_MAX || gp_pct(sum.lost_ns, c->busy_ns) < PRODUCT_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    const struct gp_work *worst = product_of(c, sum.worst);
    const struct gp_work_product p = worst->product;
    gp_rule_find_lost(c, lost_below_roof, s);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.lost_ns);
    double tflops = worst->flops / (double)gp_rule_dur(c, sum.worst) / 1e3;
    s->description = gp_rule_text(c,
                                  "Matrix products (%lld per step, %s) run far below what the device can do; "
                                  "the worst, %lld x %lld times %lld x %lld, runs at %.0f TFLOP/s",
                                  (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns),
                                  (long long)p.m, (long long)p.k, (long long)p.k, (long long)p.n, tflops);
    s->action = gp_rule_text(c,
                             "try another layout or tile for these products%s, larger "
                             "batches, or one product instead of several",
                             gp_rule_in(c, " (max-autotune)", "", ""));
    const struct gp_ceiling *top = &c->s->ceilings.flops[worst->arith];
    s->formula = gp_rule_text(
        c, "between nothing and %.0f TFLOP/s in %s or %.0f GB/s, whichever takes longer, from %s",
        gp_ceiling_at(top, c->work[sum.worst].clock) / 1e12, gp_arith_name(worst->arith),
        gp_ceiling_attainable(&c->s->ceilings.memory) / 1e9,
        gp_ceiling_source_text((enum gp_ceiling_source)top->source));
    gp_rule_evidence_count(s, "products", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_count(s, "m", p.m);
    gp_rule_evidence_count(s, "n", p.n);
    gp_rule_evidence_count(s, "k", p.k);
}

const struct gp_rule gp_rule_gemm_roof = {
    .name = "gemm_roof",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "large matrix products far below what the device can do",
    .needs = "operators with shapes (record_shapes), device ceilings",
    .threshold = "less than 60% of the attainable rate, at which they would take 20 us or more; 5% of the "
                 "busy time lost",
    .guard = "kernels that run beside others or beside communication; operators with several kernels; plain "
             "FP32; odd sizes",
    .assumes = "without recorded clocks, the device runs at those for which its ceilings hold",
    .expect = "these products to be faster",
    .run = check_gemm_roof,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
};
