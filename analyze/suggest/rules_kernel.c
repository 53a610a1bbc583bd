// Kernels with faster alternatives: products without Tensor Cores, attention in pieces, an optimizer in
// pieces.
#include <stdlib.h>
#include <string.h>
#include "analyze/cost/occupancy.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double TENSOR_PCT = 5, ATTENTION_PCT = 2;
static const double TF32_LEAST = 1.5; /* times as fast as FP32 */

enum {
    AROUND = 8,          /* kernels from one product to the other of an attention, at most */
    OPTIMIZER_LEAST = 4, /* kernels per step */
};

/* NS, less PCT percent of it. */
static int64_t less(int64_t ns, int64_t pct) { return ns - ns / 100 * pct; }

/* ---- products without Tensor Cores ---- */

/* How many times as fast as FP32 the matrix units are in TYPE. 0: they have no such type, or it is
 * unknown. */
static double factor_of(const struct gp_rule_ctx *c, enum gp_arith type)
{
    double fp32 = gp_ceiling_attainable(&c->s->ceilings.flops[GP_ARITH_FP32]);
    return fp32 > 0 ? gp_ceiling_attainable(&c->s->ceilings.flops[type]) / fp32 : 0;
}

/* Products of 32 bits: those of 16, such as cuDNN's convolutions of few channels, do not become TF32. */
static bool is_plain_name(const char *name)
{
    bool half = strstr(name, "__half") || strstr(name, "__nv_bfloat16");
    return gp_matrix_use_of(name, strlen(name)) == GP_MATRIX_NO && !gp_kernel_is_double(name) && !half;
}

static bool is_convolution(const char *name) { return gp_name_has_one_of(name, " fprop dgrad wgrad "); }

static bool is_tf32_convolution(const char *name) { return is_convolution(name) && strstr(name, "tf32"); }

static void check_tensor_cores(struct gp_rule_ctx *c)
{
    int64_t total = 0, count = 0;
    uint32_t longest = UINT32_MAX;
    double factor = factor_of(c, GP_ARITH_TF32);
    bool half = factor < TF32_LEAST; /* no TF32: V100, T4 */
    if (half) factor = factor_of(c, GP_ARITH_FP16);
    if (factor < TF32_LEAST) return;
    struct gp_suggestion edits = {0};
    uint8_t *plain = gp_rule_match_configs(c, is_plain_name);
    bool cudnn_may = gp_rule_any_kernel(c, is_tf32_convolution); /* it chose the others */
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (c->items[i].kind != GP_FRAME_GEMM || !plain[c->items[i].config]) continue;
        if (cudnn_may && is_convolution(gp_rule_name(c, i))) continue;
        double dur = (double)gp_rule_dur(c, i);
        total += gp_rule_dur(c, i);
        count++;
        if (longest == UINT32_MAX || gp_rule_dur(c, i) > gp_rule_dur(c, longest)) longest = i;
        gp_rule_edit_dur(&edits, i, (int64_t)(dur / (factor > 2 ? factor / 2 : 1)), (int64_t)(dur / factor));
    }
    free(plain);
    struct gp_suggestion *s = gp_rule_suggest_edits(c, gp_pct(total, c->busy_ns) >= TENSOR_PCT, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, longest);
    s->current_ns = gp_rule_per_step(c, total);
    s->resource_high_ns = less(s->current_ns, (int64_t)(100 / factor));
    s->resource_low_ns = factor > 2 ? less(s->current_ns, (int64_t)(200 / factor)) : 0;
    s->description =
        gp_rule_text(c, "Matrix products without Tensor Cores, judging by their names: %lld per step, %s",
                     (long long)gp_rule_per_step(c, count), gp_rule_ns(c, s->current_ns));
    s->action = gp_intern_cstr(
        &c->s->strings,
        half ? gp_rule_in(c,
                          "use half precision with torch.autocast(\"cuda\", torch.float16) and "
                          "torch.amp.GradScaler: this device has no TF32",
                          "use float16 with scaled losses: this device has no TF32",
                          "use float16: this device has no TF32")
             : gp_rule_in(c,
                          "enable TF32 with torch.set_float32_matmul_precision(\"high\"), or use bfloat16 "
                          "autocast",
                          "enable TF32 with jax.default_matmul_precision(\"tensorfloat32\"), or use bfloat16",
                          "let the library use TF32 (cuBLAS: CUBLAS_COMPUTE_32F_FAST_TF32, CuPy: "
                          "CUPY_TF32=1), or use half precision"));
    const char *type = half ? "FP16" : "TF32";
    s->formula = gp_rule_text(
        c, "%s is %.1f times as fast as FP32 on this device: at least half that factor, at most all of it",
        type, factor);
    s->assumes = gp_rule_text(c, "the 10 mantissa bits of %s are enough%s; the products are large", type,
                              half ? ", and so is its range with scaled losses" : "");
    gp_rule_evidence_count(s, "products", gp_rule_per_step(c, count));
    gp_rule_evidence_ns(s, "products", s->current_ns);
    gp_rule_evidence_pct(s, "of_busy", gp_pct(total, c->busy_ns));
}

const struct gp_rule gp_rule_tensor_cores = {
    .name = "tensor_cores",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "matrix products in plain FP32 on a device that has TF32, or Tensor Cores for FP16 only",
    .needs = "kernel names that show it (ffma, simt), device ceilings",
    .threshold = "5% of the busy time",
    .guard = "double precision; products of 16 bits; convolutions beside those in TF32; unclear names",
    .expect = "faster products under other names",
    .run = check_tensor_cores,
    .to_know = "measure the device (gpuprof-measure --calibrate) for its rates in TF32 and 16 bits",
    .measured = true,
    .least_pct = 75,
};

/* ---- attention in pieces ---- */

/* Of scores, not of a loss, whose softmax is a logarithm. */
static bool is_softmax(const struct gp_rule_ctx *c, uint32_t item)
{
    const char *name = gp_rule_name(c, item);
    return c->items[item].kind == GP_FRAME_REDUCTION && gp_kernel_is_softmax(name) &&
           !gp_kernel_is_log_softmax(name);
}

/* Can the kernel run between the products of an attention? Masks, scales, dropout, casts and checks can. */
static bool is_between(const struct gp_rule_ctx *c, uint32_t item)
{
    const char *name = gp_rule_name(c, item);
    enum gp_class class = gp_class_of((enum gp_frame_kind)c->items[item].kind);
    if (class != GP_CLASS_COMPUTE) return c->items[item].kind == GP_FRAME_MEMSET;
    return c->items[item].kind != GP_FRAME_ATTENTION && !strstr(name, "nll_loss") &&
           !strstr(name, "layer_norm") && !strstr(name, "LayerNorm");
}

static bool same_place(const struct gp_plan *p, int64_t i, uint32_t as)
{
    return i >= 0 && i < (int64_t)p->items.n && p->items.at[i].step == p->items.at[as].step &&
           p->replay.items.at[i].stream == p->replay.items.at[as].stream;
}

/* The product nearest to a softmax, before or after it (BY -1 or 1); NONE. The backward pass has two in a
 * row. */
static uint32_t product_beside(const struct gp_rule_ctx *c, uint32_t softmax, int by)
{
    int64_t i = softmax;
    for (int n = 0; n < AROUND; n++) {
        i += by;
        if (!same_place(c->p, i, softmax)) return GP_REPLAY_NONE;
        if (c->items[i].kind == GP_FRAME_GEMM) {
            bool two = strstr(gp_rule_name(c, softmax), "ackward") && same_place(c->p, i + by, softmax) &&
                       c->items[i + by].kind == GP_FRAME_GEMM;
            return (uint32_t)(two ? i + by : i);
        }
        if (!is_between(c, (uint32_t)i)) return GP_REPLAY_NONE;
    }
    return GP_REPLAY_NONE;
}

struct attention {
    int64_t count, total_ns, between_ns;
    /* Of the softmaxes in forward, those of PyTorch's scaled_dot_product_attention itself, which has no fused
     * kernel for its operands, and looks for rows that are masked whole. */
    int64_t forward, safe;
    uint32_t softmax;
};

/* A launch that goes for certain takes its usual host time along; what is longer before it is Python's, which
 * may stay. */
static void surely_launch_no_more(const struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t call,
                                  int64_t usual_ns)
{
    int64_t left = c->calls[call].before_ns - usual_ns;
    if (c->p->replay.calls.at[call].n != 1) return;
    GP_VEC_PUSH(&s->sure, ((struct gp_edit){GP_EDIT_OWN, call, 0}));
    GP_VEC_PUSH(&s->sure, ((struct gp_edit){GP_EDIT_BEFORE, call, left > 0 ? left : 0}));
}

/* Masks and scales before the first product, casts after the last: at best they go away as well. BY is -1 or
 * 1. */
static void edit_around(struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t product, int by)
{
    int64_t i = (int64_t)product + by;
    for (int n = 0; n < AROUND && same_place(c->p, i, product) && is_between(c, (uint32_t)i); n++, i += by) {
        gp_rule_edit_high(s, GP_EDIT_GONE, (uint32_t)i, 0);
        gp_rule_edit_launch(c, s, c->p->items.at[i].call);
    }
}

void gp_rule_mark_attention(const struct gp_rule_ctx *c, uint8_t *items)
{
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!is_softmax(c, i)) continue;
        uint32_t from = product_beside(c, i, -1), to = product_beside(c, i, 1);
        if (from != GP_REPLAY_NONE && to != GP_REPLAY_NONE) memset(items + from, 1, to + 1 - from);
    }
}

static struct attention find_attention(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    struct attention a = {.softmax = UINT32_MAX};
    int64_t usual_ns = s ? gp_rule_usual_gap(c) : 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!is_softmax(c, i)) continue;
        uint32_t from = product_beside(c, i, -1), to = product_beside(c, i, 1);
        if (from == GP_REPLAY_NONE || to == GP_REPLAY_NONE) continue;
        a.count++;
        a.forward += !strstr(gp_rule_name(c, i), "ackward");
        a.safe += i < to && strstr(gp_rule_name(c, i + 1), "isneginf");
        a.softmax = i;
        for (uint32_t k = from; k <= to; k++) {
            bool product = c->items[k].kind == GP_FRAME_GEMM;
            a.total_ns += gp_rule_dur(c, k);
            a.between_ns += product ? 0 : gp_rule_dur(c, k);
            if (!s) continue;
            struct gp_edit high = {product ? GP_EDIT_DUR : GP_EDIT_GONE, k, gp_rule_dur(c, k) / 10};
            if (!product) GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_GONE, k, 0}));
            GP_VEC_PUSH(&s->high, high);
            GP_VEC_PUSH(&s->sure, high);
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, k, 0}));
            if (k == from) continue;
            gp_rule_edit_launch(c, s, c->p->items.at[k].call);
            surely_launch_no_more(c, s, c->p->items.at[k].call, usual_ns);
        }
        if (!s) continue;
        edit_around(c, s, from, -1);
        edit_around(c, s, to, 1);
    }
    return a;
}

static void check_attention(struct gp_rule_ctx *c)
{
    struct attention a = find_attention(c, NULL);
    if (a.count < (int64_t)c->n_steps || gp_pct(a.total_ns, c->busy_ns) < ATTENTION_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    find_attention(c, s);
    s->operation = gp_rule_item_label(c, a.softmax);
    s->current_ns = gp_rule_per_step(c, a.total_ns);
    s->resource_low_ns = gp_rule_per_step(c, a.between_ns);
    s->resource_high_ns = s->resource_low_ns + (s->current_ns - s->resource_low_ns) / 10 * 9;
    s->description = gp_rule_text(c,
                                  "Attention runs as separate kernels (product, softmax, product) %lld times "
                                  "per step: %s in all, %s of it between the products",
                                  (long long)gp_rule_per_step(c, a.count), gp_rule_ns(c, s->current_ns),
                                  gp_rule_ns(c, s->resource_low_ns));
    const char *fused =
        gp_rule_in(c, "torch.nn.functional.scaled_dot_product_attention",
                   "jax.nn.dot_product_attention with implementation=\"cudnn\"", "fused attention");
    bool safe = a.safe * 2 > a.forward;
    s->action = gp_rule_text(
        c, safe ? "let %s run one kernel%s" : "use %s in bf16 or fp16, which runs one kernel%s", fused,
        safe
            ? ": within torch.nn.attention.sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION) it does, or warns why "
              "it cannot, such as a mask whose last dimension is not contiguous"
            : gp_rule_in(c,
                         "; a bias is its attn_mask, and a library's model needs its option for it "
                         "(attn_implementation=\"sdpa\" in transformers)",
                         "", ""));
    s->change = gp_rule_text(c, safe ? "let %s run one kernel" : "use %s in bf16 or fp16", fused);
    gp_rule_evidence_count(s, "attentions", gp_rule_per_step(c, a.count));
    gp_rule_evidence_ns(s, "between_products", s->resource_low_ns);
}

const struct gp_rule gp_rule_attention = {
    .name = "attention",
    .type = GP_SUGGEST_FUSION,
    .summary = "attention as product, softmax and product instead of one kernel",
    .needs = "kernel names",
    .threshold = "once per step, 2% of the busy time",
    .guard = "the softmax of a loss; normalisation in between",
    .formula = "at least the time between the products, at most also nine tenths of the products and all "
               "launches but one; the host time of those that go counts at the low end as far as it is usual",
    .assumes = "a fused kernel supports the mask and the head size",
    .expect = "softmax and products in one fused block",
    .run = check_attention,
    .to_know = "measure the device (gpuprof-measure --calibrate) for its rates in 16 bits",
    .measured = true,
    .least_pct = 60,
};

/* ---- an optimizer in pieces ---- */

struct pieces {
    int64_t count, gpu_ns, host_ns;
};

/* One kernel instead of many: 28 bytes per parameter are moved once (AdamW), where pieces move them about
 * three times. */
static struct pieces find_pieces(struct gp_rule_ctx *c, const uint8_t *pieces, struct gp_suggestion *s)
{
    const struct gp_plan *p = c->p;
    struct pieces sum = {0};
    uint32_t step = UINT32_MAX;
    for (uint32_t i = 0; i < p->items.n; i++) {
        if (!pieces[i]) continue;
        uint32_t call = p->items.at[i].call;
        bool first = p->items.at[i].step != step;
        step = p->items.at[i].step;
        sum.count++;
        sum.gpu_ns += gp_rule_dur(c, i);
        if (s) {
            gp_rule_edit_dur(s, i, less(gp_rule_dur(c, i), 40), less(gp_rule_dur(c, i), 75));
        }
        if (p->replay.calls.at[call].n != 1) continue;
        int64_t before = c->calls[call].before_ns, own = p->replay.calls.at[call].own_ns;
        sum.host_ns += first ? 0 : before + own;
        if (!s) continue;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, call, first ? before / 2 : 0}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_BEFORE, call, 0}));
        if (first) continue;
        GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, call, before / 2}));
        GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_OWN, call, own / 2}));
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_OWN, call, 0}));
    }
    return sum;
}

static void describe_pieces(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct pieces *sum)
{
    s->current_ns = gp_rule_per_step(c, sum->gpu_ns);
    s->resource_low_ns = s->current_ns - less(s->current_ns, 40);
    s->resource_high_ns = s->current_ns - less(s->current_ns, 75);
    s->description = gp_rule_text(
        c, "The optimizer runs %lld kernels per step: %s on the GPU, with %s of host time between them",
        (long long)gp_rule_per_step(c, sum->count), gp_rule_ns(c, s->current_ns),
        gp_rule_ns(c, gp_rule_per_step(c, sum->host_ns)));
    s->action = gp_intern_cstr(
        &c->s->strings,
        gp_rule_in(
            c, "construct the optimizer with fused=True (torch.optim.AdamW, Adam, SGD), or compile its step",
            "compile the optimizer's update with jax.jit, together with the gradients",
            "update all parameters in one kernel"));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum->count));
    gp_rule_evidence_ns(s, "host_between", gp_rule_per_step(c, sum->host_ns));
}

/* Not of an update: copies, as of FSDP or of a graph's inputs, gradients set to zero, and what clips them. */
static bool is_no_update(const char *name)
{
    return gp_kernel_is_multi_tensor(name) &&
           gp_name_has_one_of(name, " ::Copy< 4CopyI CopyFunctor ZeroFunctor LpNorm BinaryOpScalarTensor ");
}

/* Leave those PIECES that a fused optimizer makes fewer: none of plain SGD, which adds in one pass, nor where
 * one runs already and nothing else takes roots, as Adam does: the rest counts steps. */
static void keep_updates(const struct gp_rule_ctx *c, uint8_t *pieces)
{
    bool fused = gp_rule_any_kernel(c, gp_kernel_is_fused_optimizer), gains = false;
    uint8_t *others = gp_rule_match_configs(c, is_no_update);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const char *name = gp_rule_name(c, i);
        pieces[i] &= !others[c->items[i].config];
        if (!pieces[i] || gains) continue;
        gains = !gp_kernel_is_multi_tensor(name) || strstr(name, "Sqrt") ||
                (!fused && !strstr(name, "BinaryOpListAlpha"));
    }
    if (!gains) memset(pieces, 0, c->p->items.n);
    free(others);
}

static void check_optimizer(struct gp_rule_ctx *c)
{
    uint8_t *pieces = gp_rule_optimizer_pieces(c);
    keep_updates(c, pieces);
    struct pieces sum = find_pieces(c, pieces, NULL);
    if (sum.count > (int64_t)(OPTIMIZER_LEAST * c->n_steps)) {
        struct gp_suggestion *s = gp_rule_suggest(c);
        find_pieces(c, pieces, s);
        describe_pieces(c, s, &sum);
    }
    free(pieces);
}

const struct gp_rule gp_rule_optimizer = {
    .name = "optimizer",
    .type = GP_SUGGEST_FUSION,
    .summary = "an optimizer that needs many kernels for one update",
    .needs = "kernel names; for optimizers with single-tensor kernels, ranges, frames or operators",
    .threshold = "more than 4 kernels per step",
    .guard = "fused optimizers; plain SGD; copies, zeros and clipping of many tensors at once",
    .formula = "40 to 75% of the kernel time, as everything is read and written once instead of "
               "about three times; half of the host time between the launches, at most all of it and "
               "half of the host time before the first",
    .assumes = "the optimizer has a fused version; its parameters are on one device",
    .expect = "the optimizer in one fused block",
    .run = check_optimizer,
    .to_know = "record operators with shapes, which show the number of parameters",
    .sizes = true,
    .measured = true,
};
