// Memory: kernels that reach little of the bandwidth, those that move twice the bytes that they may need,
// arrays that are copied to be changed, and a device whose memory is almost full.
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "analyze/cost/pointwise.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/args.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double REACHED = 0.8;      /* of the ceiling, as kernels with sequential accesses reach it */
static const double BYTES_LEAST = 64e6; /* smaller kernels may be slow for other reasons */
static const double ACCESS_PCT = 2;     /* of the busy time, lost */
static const double MEMORY_PCT = 50;    /* of the busy time, for the storage type to matter */
static const double FP32_PCT = 50;      /* of their time */
static const double TF32_PCT = 5;       /* of the busy time */
static const double SAVED_LOW = 0.3, SAVED_HIGH = 0.5; /* of a kernel's time, by half of the bytes */
static const double DOUBLE_PCT = 5, ALL_PCT = 50, DONATION_PCT = 5; /* of the busy time */

enum {
    DOUBLE_NS = 10000,  /* shorter kernels may take as long with half of the bytes */
    UPDATE_WITHIN = 16, /* launches from a copy to what changes it */
};

/* ---- far below memory bandwidth ---- */

/* Time saved if the kernel moves its bytes, and no more, as fast as others do; 0: not for this rule. */
static int64_t lost_to_access(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_item_work *w = &c->work[item];
    if (w->bound.regime != GP_REGIME_INEFFICIENT || w->bound.reason != GP_INEFFICIENT_ACCESS) return 0;
    if (w->share.products || w->share.bytes_low < BYTES_LEAST) return 0;
    const char *name = gp_rule_name(c, item);
    bool own = c->items[item].backward && gp_kernel_is_strided(name);      /* autograd's */
    bool orders = gp_kernel_is_strided(name) && gp_pointwise_copies(name); /* so that others need not */
    bool bias =
        item && gp_kernel_is_strided(name) && gp_name_has_one_of(name, " CUDAFunctor_add ") &&
        gp_name_has_one_of(gp_rule_name(c, item - 1), " nhwcToNchw convolve fprop_implicit fprop_opt ");
    if (own || orders || bias || c->apart[item] || gp_kernel_gathers(name)) return 0;
    int64_t least = (int64_t)(w->bound.memory_high_ns / REACHED);
    return gp_rule_dur(c, item) > least ? gp_rule_dur(c, item) - least : 0;
}

static void check_memory_access(struct gp_rule_ctx *c)
{
    struct gp_suggestion edits = {0};
    uint8_t *attention = gp_zalloc(c->p->items.n + 1); /* which one kernel replaces: see attention */
    gp_rule_mark_attention(c, attention);
    c->apart = attention;
    struct gp_rule_lost sum = gp_rule_find_lost(c, lost_to_access, &edits);
    c->apart = NULL;
    free(attention);
    struct gp_suggestion *s = gp_rule_suggest_edits(c, gp_pct(sum.lost_ns, c->busy_ns) >= ACCESS_PCT, &edits);
    if (!s) return;
    const struct gp_work *w = &c->work[sum.worst].share;
    const struct gp_ceiling *top = &c->s->ceilings.memory;
    double gbps = w->bytes_high / (double)gp_rule_dur(c, sum.worst);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.lost_ns);
    s->description = gp_rule_text(
        c, "Kernels (%lld per step, %s) move a lot of memory slowly: the worst reaches %.0f of %.0f GB/s",
        (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), gbps, top->per_s / 1e9);
    s->formula = gp_rule_text(
        c, "between nothing and all but the time that their bytes take at 80%% of %.0f GB/s (%s)",
        top->per_s / 1e9, gp_ceiling_source_text((enum gp_ceiling_source)top->source));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_bytes(s, "worst_moves", (int64_t)w->bytes_high);
    gp_rule_evidence_ns(s, "worst", gp_rule_dur(c, sum.worst));
    gp_rule_evidence_pct(s, "of_bandwidth", 100 * gbps * 1e9 / top->per_s);
    gp_rule_evidence_counted(c, s, sum.worst);
}

const struct gp_rule gp_rule_memory_access = {
    .name = "memory_access",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "kernels that move a lot of memory far below its bandwidth",
    .needs = "operators with shapes (record_shapes), or PyTorch's elementwise kernels; device ceilings",
    .threshold = "64 MB or more at less than 40% of the bandwidth (ncu: 60%); 2% of the busy time lost",
    .guard =
        "unknown bytes; less than one wave of blocks; kernels that run beside others; matrix products; "
        "gathers and joins, which read what they are told to; copies into another order (see layout_churn); "
        "PyTorch's own sum of a convolution and its bias",
    .action = "make the inputs contiguous where they are created, or read and write whole rows; use "
              "compiled or vectorised kernels instead",
    .assumes = "only the order of their memory accesses slows them down",
    .expect = "these kernels to be faster",
    .run = check_memory_access,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
};

/* ---- 32 bits where 16 would do ---- */

/* By item: is its name one of FP32? NULL unless most products are in TF32: of what those read, 10 bits of the
 * mantissa count, as many as FP16 has. */
static uint8_t *find_fp32_names(const struct gp_rule_ctx *c, const uint8_t *tf32)
{
    int64_t ns = 0, all = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (c->items[i].kind != GP_FRAME_GEMM || !gp_rule_is_here(c, i)) continue;
        all += gp_rule_dur(c, i);
        ns += tf32[i] ? gp_rule_dur(c, i) : 0;
    }
    bool most = 2 * ns > all && gp_pct(ns, c->busy_ns) >= TF32_PCT;
    return most ? gp_rule_match_items(c, gp_kernel_is_single) : NULL;
}

/* Optimizers keep their states in FP32 deliberately. */
static bool is_fp32(const struct gp_rule_ctx *c, uint32_t item, const uint8_t *named)
{
    const struct gp_item_work *w = &c->work[item];
    bool fp32 = w->shaped ? w->share.element.arith == GP_ARITH_FP32 && w->share.element.size == 4
                          : named && named[item];
    return fp32 && !gp_kernel_is_multi_tensor(gp_rule_name(c, item));
}

struct stored {
    int64_t count, memory_ns, fp32_ns, tf32_ns; /* FP32 is memory-bound, TF32 products */
    uint32_t longest;                           /* item */
};

/* KEPT: the part of TF32's time that 16 bits take. */
static struct stored find_stored(const struct gp_rule_ctx *c, double kept, struct gp_suggestion *edits)
{
    struct stored sum = {0};
    uint8_t *tf32 = gp_rule_match_items(c, gp_kernel_is_tf32), *named = find_fp32_names(c, tf32);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        int64_t dur = gp_rule_dur(c, i);
        bool product = named && tf32[i];
        if (!gp_rule_is_here(c, i) || (!product && c->work[i].bound.regime != GP_REGIME_MEMORY)) continue;
        *(product ? &sum.tf32_ns : &sum.memory_ns) += dur;
        if (!product && !is_fp32(c, i, named)) continue;
        if (!sum.count++ || dur > gp_rule_dur(c, sum.longest)) sum.longest = i;
        sum.fp32_ns += product ? 0 : dur;
        gp_rule_edit_dur(edits, i, product ? dur : (int64_t)((double)dur * (1 - SAVED_LOW)),
                         (int64_t)((double)dur * (product ? kept : 1 - SAVED_HIGH)));
    }
    edits->current_ns = sum.fp32_ns + sum.tf32_ns;
    free(named);
    free(tf32);
    return sum;
}

static void check_low_precision(struct gp_rule_ctx *c)
{
    const struct gp_ceiling *of = c->s->ceilings.flops;
    double tf32 = gp_ceiling_attainable(&of[GP_ARITH_TF32]), bf16 = gp_ceiling_attainable(&of[GP_ARITH_BF16]),
           kept = tf32 > 0 && bf16 > tf32 ? tf32 / bf16 : 1;
    struct gp_suggestion edits = {0};
    struct stored sum = find_stored(c, kept, &edits);
    double part = gp_pct(sum.fp32_ns, sum.memory_ns);
    bool enough =
        sum.fp32_ns && gp_pct(sum.memory_ns + sum.tf32_ns, c->busy_ns) >= MEMORY_PCT && part >= FP32_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, sum.longest);
    s->resource_low_ns = gp_rule_per_step(c, (int64_t)(SAVED_LOW * (double)sum.fp32_ns));
    s->resource_high_ns =
        gp_rule_per_step(c, (int64_t)(SAVED_HIGH * (double)sum.fp32_ns + (1 - kept) * (double)sum.tf32_ns));
    s->description =
        gp_rule_text(c,
                     "%s and %.0f%% of the time of memory-bound kernels is that of FP32 tensors: %lld "
                     "kernels per step, %s",
                     sum.tf32_ns ? "Products are in TF32," : "The kernels are memory-bound,", part,
                     (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
    s->action = gp_rule_text(c,
                             "keep activations in bfloat16 or float16%s, with FP32 for the "
                             "optimizer states and for sums",
                             gp_rule_in(c, " (autocast, model.to)", "", ""));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_pct(s, "of_memory_bound", part);
    gp_rule_evidence_pct(s, "memory_of_busy", gp_pct(sum.memory_ns, c->busy_ns));
    gp_rule_evidence_ns(s, "tf32_products", gp_rule_per_step(c, sum.tf32_ns));
}

const struct gp_rule gp_rule_low_precision = {
    .name = "low_precision",
    .type = GP_SUGGEST_MEMORY,
    .summary = "FP32 tensors in a memory-bound program, or beside products in TF32",
    .needs = "operators with shapes and types (record_shapes), or products in TF32 by their names; device "
             "ceilings",
    .threshold = "memory-bound kernels and products in TF32 take 50% of the busy time, and FP32 takes 50% of "
                 "the time of the memory-bound ones",
    .guard = "optimizer states; names without shapes, unless most products are in TF32, whose mantissa has "
             "10 bits, like that of FP16",
    .formula = "half of the bytes, which saves 30 to 50% of the time of memory-bound kernels; at most also "
               "what the rate of 16 bits is above TF32's",
    .assumes = "16 bits are precise enough for these kernels' data",
    .check = "compare the losses of both runs; record again and run trace-diff: expect these kernels "
             "to be faster",
    .run = check_low_precision,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
};

/* ---- waits that show no call ---- */

/* JAX waits for a device without a call of the driver. What S saves there shortens long gaps of the host, in
 * half of which or more the device works off what it has and ends: at most to nothing, if nothing is left. */
static void shorten_waits(const struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    int64_t over = 0, least = gp_mul_saturated(gp_rule_usual_gap(c), GP_RULE_LONG_TIMES), low = 0, high = 0;
    size_t n_low = s->low.n, n_high = s->high.n, l = 0, h = 0;
    for (uint32_t k = 0; c->jax && k < c->p->calls.n; k++) {
        const struct gp_replay_call *call = &c->p->replay.calls.at[k];
        int64_t at = c->t->events[GP_API].start_ns[c->p->calls.at[k].row], before = c->calls[k].before_ns,
                beside = over - (at - before);
        if (over <= at && before >= least && beside >= before / 2) {
            int64_t left = before - (low < beside ? low : beside);
            GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, k, left}));
            gp_rule_edit_high(s, GP_EDIT_BEFORE, k, high < beside ? before - high : 0);
        }
        if (over <= at) low = high = 0;
        for (uint32_t i = call->first; i < call->first + call->n; i++) {
            int64_t dur = gp_rule_dur(c, i), end = c->p->items.at[i].start_ns + dur;
            if (l < n_low && s->low.at[l].index == i) low += dur - s->low.at[l++].ns;
            if (h < n_high && s->high.at[h].index == i) high += dur - s->high.at[h++].ns;
            if (end > over) over = end;
        }
    }
}

/* ---- 64 bits where 32 would do ---- */

/* The most that single precision saves. */
static int64_t lost_to_double(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_ceiling *of = c->s->ceilings.flops;
    bool product = c->items[item].kind == GP_FRAME_GEMM;
    if (!c->apart[item]) return 0;
    double fp64 = gp_ceiling_attainable(&of[GP_ARITH_FP64]), part = SAVED_HIGH,
           rate = gp_ceiling_attainable(
               &of[product && of[GP_ARITH_TF32].per_s > 0 ? GP_ARITH_TF32 : GP_ARITH_FP32]);
    if (c->work[item].bound.regime != GP_REGIME_MEMORY && fp64 > 0 && fp64 < rate * (1 - part))
        part = 1 - fp64 / rate;
    return (int64_t)((double)gp_rule_dur(c, item) * part);
}

static void check_double_precision(struct gp_rule_ctx *c)
{
    struct gp_suggestion edits = {0};
    uint8_t *named = gp_rule_match_items(c, gp_kernel_is_double);
    c->apart = named;
    struct gp_rule_lost sum = gp_rule_find_lost(c, lost_to_double, &edits);
    c->apart = NULL;
    free(named);
    edits.current_ns = sum.total_ns;
    int64_t others_ns = sum.total_ns; /* sums may be in double precision on purpose */
    for (size_t k = 0; k < edits.high.n; k++) {
        uint32_t i = edits.high.at[k].index, kind = c->items[i].kind;
        int64_t dur = gp_rule_dur(c, i), low = (int64_t)((double)dur * (1 - SAVED_LOW));
        bool sums = kind == GP_FRAME_REDUCTION || gp_name_has_one_of(gp_rule_name(c, i), " scan Scan ");
        others_ns -= sums ? dur : 0;
        if (sums || (kind == GP_FRAME_GEMM && c->work[i].bound.regime != GP_REGIME_MEMORY)) continue;
        if (dur < DOUBLE_NS || !c->props || gp_rule_blocks(c, i) < c->props->sms) continue;
        GP_VEC_PUSH(&edits.low, ((struct gp_edit){GP_EDIT_DUR, i, low}));
    }
    bool enough = gp_pct(others_ns, c->busy_ns) >= DOUBLE_PCT || gp_pct(sum.total_ns, c->busy_ns) >= ALL_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    shorten_waits(c, s);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->resource_high_ns = gp_rule_per_step(c, sum.lost_ns);
    s->description = gp_rule_text(c, "Kernels compute in double precision: %lld per step, %s",
                                  (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
    const char *how =
        gp_rule_in(c, "dtype=torch.float32, and .float() of what NumPy made, which makes double arrays",
                   "leave jax_enable_x64 off, or make arrays with dtype=jnp.float32",
                   "make arrays with dtype=float32 or complex64: NumPy and CuPy make double ones");
    s->action = gp_rule_text(c, "use single precision where it is accurate enough: %s", how);
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_pct(s, "of_busy", gp_pct(sum.total_ns, c->busy_ns));
}

const struct gp_rule gp_rule_double_precision = {
    .name = "double_precision",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "kernels that compute in double precision",
    .needs = "kernel names that show it (double, float64, complex128, dgemm)",
    .threshold = "5% of the busy time without sums and scans, or 50% with them",
    .guard = "sums and scans beside others; names with another floating-point type beside it, of arguments "
             "or of sums",
    .change = "use single precision",
    .formula =
        "half of the bytes saves 30 to 50% of the time, at least nothing of products, sums, kernels under "
        "10 us and small grids; at most what FP32's rate, for products TF32's, is above FP64's",
    .assumes = "single precision is accurate enough",
    .check = "compare the results of both runs; record again and run trace-diff: expect shorter kernels",
    .run = check_double_precision,
    .gaps = true,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
    .measured = true,
};

/* ---- arrays that JAX copies to change a part of them ---- */

/* Does XLA change what copy ITEM made, soon after and in less time than the copy took? */
static bool is_changed(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan *p = c->p;
    for (uint32_t i = item + 1; i < p->items.n && i <= item + UPDATE_WITHIN; i++)
        if (p->items.at[i].step == p->items.at[item].step &&
            p->replay.items.at[i].stream == p->replay.items.at[item].stream &&
            gp_name_has_one_of(gp_rule_name(c, i), " dynamic_update_slice scatter "))
            return gp_rule_dur(c, i) < gp_rule_dur(c, item);
    return false;
}

static void check_donation(struct gp_rule_ctx *c)
{
    struct gp_host_memo memo = {.hs = &c->v->hs};
    struct gp_suggestion edits = {0};
    int64_t count = 0;
    for (uint32_t i = 0; c->jax && i < c->p->items.n; i++) {
        if (!gp_rule_is_here(c, i) || !gp_copy_on_device(gp_rule_name(c, i)) || !is_changed(c, i)) continue;
        uint32_t node = c->calls[c->p->items.at[i].call].node;
        if (gp_rule_outermost(c, &memo, node, GP_NEED(GP_RANGE), gp_range_is_while) != GP_HOST_NONE) continue;
        count++;
        edits.current_ns += gp_rule_dur(c, i);
        gp_rule_edit_all(&edits, GP_EDIT_GONE, i, 0);
    }
    gp_host_memo_release(&memo);
    bool enough = count >= (int64_t)c->n_steps && gp_pct(edits.current_ns, c->busy_ns) >= DONATION_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    uint32_t first = s->high.at[0].index;
    shorten_waits(c, s);
    s->operation = gp_rule_item_label(c, first);
    s->resource_low_ns = s->current_ns;
    s->description = gp_rule_text(
        c, "Arrays are copied whole %s, %s, before a kernel changes a part of the copy: the first has %s",
        gp_rule_times(c, count), gp_rule_ns(c, s->current_ns), gp_rule_size(c, gp_rule_bytes(c, first)));
    gp_rule_evidence_count(s, "copies", gp_rule_per_step(c, count));
}

const struct gp_rule gp_rule_donation = {
    .name = "donation",
    .type = GP_SUGGEST_MEMORY,
    .summary = "arrays that JAX copies, since what changes them was not given their memory",
    .needs = "kernel names, of a program of JAX",
    .threshold = "in each step a copy, and within 16 launches an update of a slice or a scatter that takes "
                 "less time; 5% of the busy time",
    .guard = "copies in XLA's while loops (lax.scan), which donation does not reach; other programs' copies",
    .action =
        "donate the array to the function that changes it (jax.jit with donate_argnums), and go on with "
        "what it returns; changes outside of jax.jit (x.at[i].set) belong in such a function",
    .change = "donate the array to the function that changes it (jax.jit with donate_argnums)",
    .formula = "these copies go",
    .assumes = "nothing reads the array as it was before; in long gaps the host waits for the device",
    .expect = "no such copies",
    .run = check_donation,
    .gaps = true,
    .measured = true,
};

/* ---- little memory left ---- */

static const double PEAK_PCT = 90; /* of the device's */

/* Is it GPU memory? Allocations of host memory are marked. */
static bool is_device_memory(const struct gp_trace *t, size_t row)
{
    struct gp_arg a;
    uint64_t type = 1;
    const char *at = gp_trace_str(t, gp_get_extra(&t->events[GP_MEMORY], row));
    while (gp_args_next(&at, &a))
        if (gp_arg_is(&a, "Device Type") && gp_arg_u64(&a, &type)) break;
    return type != 0;
}

static void check_memory_peak(struct gp_rule_ctx *c)
{
    const struct gp_events *m = &c->t->events[GP_MEMORY];
    int64_t peak = 0, reserved = 0, size = c->props ? c->props->memory_bytes : 0;
    for (size_t i = 0; i < m->n; i++) {
        if (gp_get_total(m, i) <= peak || !is_device_memory(c->t, i)) continue;
        peak = gp_get_total(m, i);
        reserved = gp_get_reserved(m, i);
    }
    if (size <= 0 || gp_pct(peak, size) <= PEAK_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    s->description = gp_rule_text(
        c, "Allocated memory peaks at %.1f GB, %.0f%% of the device's memory: larger batches will not fit",
        (double)peak / 1e9, gp_pct(peak, size));
    gp_rule_evidence_bytes(s, "peak", peak);
    gp_rule_evidence_bytes(s, "reserved", reserved);
    gp_rule_evidence_bytes(s, "device", size);
}

const struct gp_rule gp_rule_memory_peak = {
    .name = "memory_peak",
    .type = GP_SUGGEST_MEMORY,
    .summary = "device memory that is almost fully allocated",
    .needs = "allocations (profile_memory), the device's memory size",
    .threshold = "more than 90% of the device's memory allocated",
    .guard = "no saving of time is claimed",
    .action = "use smaller types, activation checkpointing, a chunked loss, or gradients set to None",
    .formula = "no saving of time is claimed: it saves memory",
    .check = "record again with profile_memory: expect a lower peak",
    .run = check_memory_peak,
};
