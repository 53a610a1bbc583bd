// Memory: kernels that reach little of the bandwidth, those that move twice the bytes of 16-bit data, and a
// device whose memory is almost full.
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
static const double FP32_PCT = 50;      /* of the bytes */
static const double SAVED_LOW = 0.3, SAVED_HIGH = 0.5; /* of a kernel's time, by half of the bytes */

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
    if (own || orders || gp_kernel_gathers(name)) return 0;
    int64_t least = (int64_t)(w->bound.memory_high_ns / REACHED);
    return gp_rule_dur(c, item) > least ? gp_rule_dur(c, item) - least : 0;
}

static void check_memory_access(struct gp_rule_ctx *c)
{
    struct gp_rule_lost sum = gp_rule_find_lost(c, lost_to_access, NULL);
    if (sum.worst == UINT32_MAX || gp_pct(sum.lost_ns, c->busy_ns) < ACCESS_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    gp_rule_find_lost(c, lost_to_access, s);
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
        "gathers and joins, which read what they are told to; copies into another order (see layout_churn)",
    .action = "make the inputs contiguous where they are created, or read and write whole rows; use "
              "compiled or vectorised kernels instead",
    .assumes = "only the order of their memory accesses slows them down",
    .expect = "these kernels to be faster",
    .run = check_memory_access,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
};

/* ---- 32 bits where 16 would do ---- */

/* Optimizers keep their states in FP32 deliberately. */
static bool is_fp32(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_item_work *w = &c->work[item];
    const char *name = gp_trace_str(c->t, c->t->configs.at[c->items[item].config].name);
    return w->shaped && w->share.element.arith == GP_ARITH_FP32 && w->share.element.size == 4 &&
           !gp_kernel_is_multi_tensor(name);
}

struct stored {
    double bytes, fp32_bytes;
    int64_t count, memory_ns;
    uint32_t longest; /* item; UINT32_MAX none */
};

static void check_low_precision(struct gp_rule_ctx *c)
{
    struct stored sum = {.longest = UINT32_MAX};
    struct gp_suggestion edits = {0};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const struct gp_item_work *w = &c->work[i];
        if (w->bound.regime != GP_REGIME_MEMORY || !gp_rule_is_here(c, i)) continue;
        int64_t dur = gp_rule_dur(c, i);
        sum.memory_ns += dur;
        sum.bytes += w->share.bytes_high;
        if (!is_fp32(c, i)) continue;
        sum.count++;
        edits.current_ns += dur;
        sum.fp32_bytes += w->share.bytes_high;
        if (sum.longest == UINT32_MAX || dur > gp_rule_dur(c, sum.longest)) sum.longest = i;
        gp_rule_edit_dur(&edits, i, (int64_t)((double)dur * (1 - SAVED_LOW)),
                         (int64_t)((double)dur * (1 - SAVED_HIGH)));
    }
    bool enough = sum.longest != UINT32_MAX && gp_pct(sum.memory_ns, c->busy_ns) >= MEMORY_PCT &&
                  100 * sum.fp32_bytes >= FP32_PCT * sum.bytes;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    double part = 100 * sum.fp32_bytes / sum.bytes;
    s->operation = gp_rule_item_label(c, sum.longest);
    s->resource_low_ns = (int64_t)(SAVED_LOW * (double)s->current_ns);
    s->resource_high_ns = (int64_t)(SAVED_HIGH * (double)s->current_ns);
    s->description = gp_rule_text(
        c, "The kernels are memory-bound, and %.0f%% of what they move is FP32: %lld kernels per step, %s",
        part, (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
    s->action = gp_rule_text(c,
                             "keep activations in bfloat16 or float16%s, with FP32 for the "
                             "optimizer states and for sums",
                             gp_rule_in(c, " (autocast, model.to)", "", ""));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_pct(s, "of_bytes", part);
    gp_rule_evidence_pct(s, "memory_of_busy", gp_pct(sum.memory_ns, c->busy_ns));
}

const struct gp_rule gp_rule_low_precision = {
    .name = "low_precision",
    .type = GP_SUGGEST_MEMORY,
    .summary = "FP32 tensors in a memory-bound program",
    .needs = "operators with shapes and types (record_shapes), device ceilings",
    .threshold = "memory-bound kernels take 50% of the busy time, and FP32 is 50% of their bytes",
    .guard = "optimizer states",
    .formula = "half of the bytes, which saves 30 to 50% of these kernels' time",
    .assumes = "16 bits are precise enough for these kernels' data",
    .check = "compare the losses of both runs; record again and run trace-diff: expect these kernels "
             "to be faster",
    .run = check_low_precision,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
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
