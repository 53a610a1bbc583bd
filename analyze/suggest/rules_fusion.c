// Kernels that read again what another kernel just wrote: chains, epilogues of products, casts, copies into
// another order, fills. These rules cover GPU time; compile covers a late host.
#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/chains_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "analyze/cost/pointwise.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/buf.h"

static const double HOST_BOUND_PCT = 20, FUSION_PCT = 1, EPILOGUE_PCT = 1, CAST_PCT = 5, LAYOUT_PCT = 3,
                    FILL_PCT = 0.5;

enum {
    EPILOGUE_MOST = 2, /* kernels after a product */
    FILLS_LEAST = 4,   /* in a row, if no name shows their purpose */
    JOINS_PART = 3,    /* of the time of copies, for joins to be worth a word */
    JOINED_LEAST = 2,  /* of the time of what is joined again: what reads it may take longer */
};

/* The launch of a kernel that becomes part of another one. Where the host is late, compile covers it. */
static void launch_no_more(const struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t item)
{
    if (gp_rule_host_bound_unrecorded_pct(c) < HOST_BOUND_PCT)
        gp_rule_edit_launch(c, s, c->p->items.at[item].call);
}

uint8_t *gp_rule_match_items(const struct gp_rule_ctx *c, gp_rule_match *match)
{
    enum { UNKNOWN, YES, NO };
    uint8_t *by_config = gp_zalloc(c->t->configs.n + 1), *by_item = gp_zalloc(c->p->items.n + 1);
    struct gp_buf name = {0};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint8_t *known = &by_config[c->items[i].config];
        const struct gp_config *config = gp_gpu_config(c->t, c->p->items.at[i].row);
        if (*known == UNKNOWN) {
            name.n = 0;
            gp_name_demangle(&name, gp_trace_str(c->t, config->name),
                             gp_string_len(&c->t->strings, config->name));
            *known = config->kind == GP_KERNEL && match(gp_buf_str(&name)) ? YES : NO;
        }
        by_item[i] = *known == YES;
    }
    gp_buf_release(&name);
    free(by_config);
    return by_item;
}

struct sum {
    int64_t count, ns;
    uint32_t longest; /* item */
};

static struct sum sum_of(const struct gp_rule_ctx *c, const uint8_t *items)
{
    struct sum sum = {.longest = UINT32_MAX};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!items[i]) continue;
        sum.count++;
        sum.ns = gp_add_saturated(sum.ns, gp_rule_dur(c, i));
        if (sum.longest == UINT32_MAX || gp_rule_dur(c, i) > gp_rule_dur(c, sum.longest)) sum.longest = i;
    }
    return sum;
}

/* All of ITEMS go, at most; at least too, where SURE. */
static struct gp_suggestion *without(struct gp_rule_ctx *c, const uint8_t *items, struct sum sum, bool sure)
{
    struct gp_suggestion *s = gp_rule_suggest(c);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!items[i]) continue;
        if (sure) gp_rule_edit_all(s, GP_EDIT_GONE, i, 0);
        else gp_rule_edit_high(s, GP_EDIT_GONE, i, 0);
        gp_rule_edit_launch(c, s, c->p->items.at[i].call);
    }
    s->operation = gp_rule_item_label(c, sum.longest);
    s->current_ns = s->resource_high_ns = gp_rule_per_step(c, sum.ns);
    s->resource_low_ns = sure ? s->current_ns : 0;
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_pct(s, "of_busy", gp_pct(sum.ns, c->busy_ns));
    return s;
}

/* ---- chains ---- */

/* One kernel in place of a chain. At least, each member reads less; at most, the longest does all the work,
 * or the memory traffic takes its minimum time. */
static void edit_chain(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct gp_chain *chain)
{
    uint32_t longest = chain->first;
    int64_t left = chain->total_ns - chain->high_ns;
    for (uint32_t k = chain->first; k < chain->first + chain->n; k++)
        if (gp_rule_dur(c, c->chains->kernels.at[k].item) >
            gp_rule_dur(c, c->chains->kernels.at[longest].item))
            longest = k;
    int64_t most = gp_rule_dur(c, c->chains->kernels.at[longest].item), stay = left < most ? left : most;
    left -= stay; /* what the longest cannot take */
    for (uint32_t k = chain->first; k < chain->first + chain->n; k++) {
        uint32_t item = c->chains->kernels.at[k].item;
        int64_t less = gp_chain_not_read(c->chains, &c->chains->kernels.at[k], gp_rule_dur(c, item));
        if (less > 0)
            GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_DUR, item, gp_rule_dur(c, item) - less}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, item, 0}));
        if (k == longest) {
            if (stay < most) GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_DUR, item, stay}));
            continue;
        }
        int64_t keeps = left < gp_rule_dur(c, item) ? left : gp_rule_dur(c, item);
        left -= keeps;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){keeps ? GP_EDIT_DUR : GP_EDIT_GONE, item, keeps}));
        if (k > chain->first) launch_no_more(c, s, item);
    }
}

static void describe_chains(struct gp_rule_ctx *c, struct gp_suggestion *s, int64_t chains, int64_t kernels)
{
    long long n = (long long)gp_rule_per_step(c, chains);
    s->description = gp_rule_text(c,
                                  "Kernels that only read, change and write memory run back to back in %lld "
                                  "%s per step: %lld kernels, %s, where one kernel per chain would do",
                                  n, n == 1 ? "chain" : "chains", (long long)gp_rule_per_step(c, kernels),
                                  gp_rule_ns(c, s->current_ns));
    s->action = gp_rule_text(c, "use %s, or write one Triton kernel per chain; --format dot shows the chains",
                             gp_rule_compiler(c));
    s->formula = gp_rule_text(c,
                              "at least what is not read again where sizes are certain (%s); at most, each "
                              "chain shrinks to its longest kernel or its memory time (%s less)",
                              gp_rule_ns(c, s->resource_low_ns), gp_rule_ns(c, s->resource_high_ns));
    gp_rule_evidence_count(s, "chains", gp_rule_per_step(c, chains));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, kernels));
    gp_rule_evidence_ns(s, "not_read_again", s->resource_low_ns);
    gp_rule_evidence_bytes(s, "best_bandwidth_per_us", (int64_t)(c->chains->bytes_ns * 1000));
}

static void check_fusion(struct gp_rule_ctx *c)
{
    const struct gp_chains *all = c->chains;
    if (gp_rule_is_compiled(c)) return;
    int64_t total = 0, low = 0, high = 0, chains = 0, kernels = 0;
    for (size_t k = 0; k < all->kinds.n; k++) {
        const struct gp_chain_kind *kind = &all->kinds.at[k];
        if (!kind->counts) continue;
        total = gp_add_saturated(total, kind->total_ns);
        low = gp_add_saturated(low, kind->low_ns);
        high = gp_add_saturated(high, kind->high_ns);
        chains += kind->count;
        kernels += (int64_t)kind->count * all->all.at[kind->example].n;
    }
    if (!chains || gp_pct(high, c->busy_ns) < FUSION_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    uint32_t longest = UINT32_MAX;
    for (size_t i = 0; i < all->all.n; i++) {
        const struct gp_chain *chain = &all->all.at[i];
        if (!all->kinds.at[chain->kind].counts) continue;
        edit_chain(c, s, chain);
        if (longest == UINT32_MAX || chain->high_ns > all->all.at[longest].high_ns) longest = (uint32_t)i;
    }
    s->operation = gp_rule_item_label(c, all->kernels.at[all->all.at[longest].first].item);
    s->current_ns = gp_rule_per_step(c, total);
    s->resource_low_ns = gp_rule_per_step(c, low);
    s->resource_high_ns = gp_rule_per_step(c, high);
    describe_chains(c, s, chains, kernels);
}

const struct gp_rule gp_rule_fusion = {
    .name = "fusion",
    .type = GP_SUGGEST_FUSION,
    .summary = "chains of memory-bound kernels that one kernel could replace",
    .needs = "kernel names; grids for the certain part",
    .threshold = "chains that run three times per step or take 0.5% of the busy time, where one kernel per "
                 "chain saves 1% of it",
    .guard = "products, attention, communication, copies, waits, other streams and the backward pass end a "
             "chain; optimizer kernels are not part of one; a tenth of the kernels already come from a "
             "compiler; where the host is late 20% of the time, compile covers the launches",
    .assumes = "kernels that run back to back work on the same tensors; what the backward pass needs "
               "is still written",
    .expect = "fewer kernels, with a compiler's names",
    .run = check_fusion,
    .to_know = "record operators with shapes, which show what the kernels pass on",
    .sizes = true,
    .measured = true,
    .general = true,
    .least_pct = 55,
};

/* ---- what follows a product ---- */

static bool is_epilogue(const char *name)
{
    return gp_kernel_is_elementwise(name) && !gp_pointwise_fills(name) && !gp_pointwise_copies(name) &&
           !gp_kernel_is_multi_tensor(name) && !gp_kernel_is_compiled(name);
}

static bool is_sum(const char *n) { return gp_kernel_is_elementwise(n) && strstr(n, "CUDAFunctor_add"); }

/* By item: its chain, or NONE. */
static uint32_t *chains_of_items(const struct gp_rule_ctx *c)
{
    uint32_t *of = gp_alloc((c->p->items.n + 1) * sizeof *of);
    memset(of, 0xff, (c->p->items.n + 1) * sizeof *of);
    for (uint32_t i = 0; i < c->chains->all.n; i++) {
        const struct gp_chain *chain = &c->chains->all.at[i];
        for (uint32_t k = 0; k < chain->n; k++) of[c->chains->kernels.at[chain->first + k].item] = i;
    }
    return of;
}

/* Mark the one or two kernels after each product, but not the start of a longer chain, which fusion
 * covers. */
static uint8_t *epilogues(const struct gp_rule_ctx *c)
{
    uint8_t *fits = gp_rule_match_items(c, is_epilogue), *found = gp_zalloc(c->p->items.n + 1);
    uint32_t *chain = chains_of_items(c);
    const struct gp_plan *p = c->p;
    for (uint32_t i = 0; i < p->items.n; i++) {
        if (c->items[i].kind != GP_FRAME_GEMM) continue;
        uint32_t n = 0, at[EPILOGUE_MOST] = {0}, k = i + 1;
        for (; k < p->items.n && n <= EPILOGUE_MOST && p->items.at[k].step == p->items.at[i].step &&
               p->replay.items.at[k].stream == p->replay.items.at[i].stream;
             k++) {
            if (c->items[k].kind == GP_FRAME_MEMSET) continue;
            if (!fits[k]) break;
            if (n < EPILOGUE_MOST) at[n] = k;
            n++;
        }
        if (!n || n > EPILOGUE_MOST) continue;
        if (k < p->items.n && chain[k] != UINT32_MAX && chain[k] == chain[at[n - 1]]) continue;
        for (uint32_t e = 0; e < n; e++) found[at[e]] = 1;
    }
    free(fits);
    free(chain);
    return found;
}

static void check_epilogue(struct gp_rule_ctx *c)
{
    uint8_t *items = epilogues(c);
    struct sum sum = sum_of(c, items);
    if (sum.count >= (int64_t)c->n_steps && gp_pct(sum.ns, c->busy_ns) >= EPILOGUE_PCT) {
        struct gp_suggestion *s = gp_rule_suggest(c);
        int64_t gradients_ns = 0; /* in sums of gradients, which no epilogue of cuBLASLt does */
        for (uint32_t i = 0; i < c->p->items.n; i++) {
            if (!items[i]) continue;
            int64_t dur = gp_rule_dur(c, i);
            gradients_ns += c->items[i].backward && is_sum(gp_rule_name(c, i)) ? dur : 0;
            gp_rule_edit_dur(s, i, dur - gp_part(dur, 3, 10), dur - gp_part(dur, 9, 10));
            launch_no_more(c, s, i);
        }
        bool of_gradients = gp_mul_saturated(gradients_ns, 2) > sum.ns;
        s->operation = gp_rule_item_label(c, sum.longest);
        s->current_ns = gp_rule_per_step(c, sum.ns);
        s->resource_low_ns = gp_part(s->current_ns, 3, 10);
        s->resource_high_ns = gp_part(s->current_ns, 9, 10);
        s->description =
            gp_rule_text(c,
                         "One or two elementwise kernels after a matrix product read its result again: %lld "
                         "such kernels per step, %s",
                         (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
        s->action = gp_rule_text(
            c,
            of_gradients
                ? "compile as one all that gives these gradients (%s), which fuses their sums into the "
                  "product"
                : "use %s, which fuses such work into the product, or cuBLASLt epilogues (bias, GELU, "
                  "ReLU, scale)",
            gp_rule_in(c, "torch.compile(mode=\"max-autotune\")", "jax.jit on both", "a compiler"));
        gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
        gp_rule_evidence_pct(s, "of_busy", gp_pct(sum.ns, c->busy_ns));
    }
    free(items);
}

const struct gp_rule gp_rule_epilogue = {
    .name = "epilogue",
    .type = GP_SUGGEST_FUSION,
    .summary = "elementwise kernels right after a matrix product that could be fused into it",
    .needs = "kernel names",
    .threshold =
        "one or two of PyTorch's elementwise kernels after a product, once per step; 1% of the busy time",
    .guard = "copies and fills; longer chains; compiler kernels",
    .formula = "three to nine tenths of their time: their other inputs are still read",
    .assumes = "the kernels work on the product's result",
    .expect = "fewer elementwise kernels, and products that take a little longer",
    .run = check_epilogue,
    .to_know = "record operators with shapes, which show what the kernels pass on",
    .sizes = true,
    .measured = true,
    .least_pct = 38,
};

/* ---- casts ---- */

static bool turns_channels(const char *name) { return gp_name_has_one_of(name, " nchwToNhwc nhwcToNchw "); }

/* Leave out the casts that PyTorch's batch normalization makes of its own statistics. Returns whether a
 * product or attention reads most of the others of the forward pass next, perhaps with other channels first,
 * as it does those of weights and inputs. */
static bool drop_casts_of_norms(const struct gp_rule_ctx *c, uint8_t *items)
{
    const struct gp_plan *p = c->p;
    bool late = gp_rule_host_bound_unrecorded_pct(c) >= HOST_BOUND_PCT; /* launches count, not their time */
    uint8_t *turns = gp_rule_match_items(c, turns_channels);
    int64_t read = 0, forward = 0;
    uint32_t next = UINT32_MAX; /* the kernel behind all casts, sets and such turns */
    for (uint32_t i = p->items.n; i-- > 0;) {
        if (!items[i] && c->items[i].kind != GP_FRAME_MEMSET && !turns[i]) next = i;
        if (!items[i]) continue;
        bool reads = next != UINT32_MAX && p->items.at[next].step == p->items.at[i].step &&
                     p->replay.items.at[next].stream == p->replay.items.at[i].stream;
        bool product =
            reads && (c->items[next].kind == GP_FRAME_GEMM || c->items[next].kind == GP_FRAME_ATTENTION);
        if (reads && strstr(gp_rule_name(c, next), "batch_norm_calc")) items[i] = 0;
        if (!items[i] || c->items[i].backward) continue;
        int64_t size = late ? 1 : gp_rule_dur(c, i);
        forward += size;
        read += product ? size : 0;
    }
    free(turns);
    return gp_mul_saturated(read, 2) >= forward;
}

/* Does an optimizer run, for which 16 bits may be too few? */
static bool trains(const struct gp_rule_ctx *c)
{
    uint8_t *pieces = gp_rule_optimizer_pieces(c);
    bool any = memchr(pieces, 1, c->p->items.n) != NULL;
    free(pieces);
    return any || gp_rule_any_kernel(c, gp_kernel_is_fused_optimizer);
}

static void check_cast_churn(struct gp_rule_ctx *c)
{
    uint8_t *items = gp_rule_match_items(c, gp_pointwise_casts);
    bool weights = drop_casts_of_norms(c, items);
    struct sum sum = sum_of(c, items);
    if (sum.count >= (int64_t)c->n_steps && gp_pct(sum.ns, c->busy_ns) >= CAST_PCT) {
        struct gp_suggestion *s = without(c, items, sum, false);
        s->description =
            gp_rule_text(c, "Kernels that only convert tensors to another type: %lld per step, %s",
                         (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
        const char *compiler = gp_rule_in(c, "torch.compile", "jax.jit", "a compiler");
        if (!weights) { /* of what norms, softmax and losses work on */
            s->action = gp_rule_text(c,
                                     "let %s fuse these casts into the kernels beside them; no matrix "
                                     "product reads most of them next",
                                     compiler);
            s->change = gp_rule_text(c, "let %s fuse the casts into other kernels", compiler);
        } else {
            s->action = gp_rule_text(
                c,
                "keep the parameters in the type that the matrix products need%s, make inputs in "
                "it, cast unchanging tensors only once, and let %s fuse casts into other kernels",
                trains(c) ? " (and FP32 copies of them in the optimizer)" : "", compiler);
            s->change =
                gp_rule_text(c, "keep parameters and inputs in the type that the matrix products need");
        }
    }
    free(items);
}

const struct gp_rule gp_rule_cast_churn = {
    .name = "cast_churn",
    .type = GP_SUGGEST_MEMORY,
    .summary = "kernels that only convert tensors to another type",
    .needs = "kernel names",
    .threshold = "once per step, 5% of the busy time",
    .guard = "casts inside other kernels; those of batch normalization's own statistics; parameters, where "
             "no matrix product reads most of the casts next",
    .formula = "between nothing and all of them, as the trace does not show which are needed",
    .assumes = "fewer bits are enough where tensors are cast; an optimizer may need its own FP32 copy",
    .expect = "fewer copy kernels",
    .run = check_cast_churn,
    .to_know = "record operators with shapes, which show what is cast again",
    .sizes = true,
    .measured = true,
};

/* ---- order of elements ---- */

/* PyTorch's and cuDNN's batch normalization of tensors whose channels come first. */
static bool is_batch_norm(const char *name)
{
    if (strstr(name, "batch_norm")) return !strstr(name, "channels_last");
    return gp_name_has_one_of(name, " bn_fw_ bn_bw_ ");
}

/* Where convolutions turn the order of channels, the norms beside them read theirs in small pieces: with
 * channels last at most what they take beyond their bytes at the bandwidth of the memory, or half where the
 * bytes are unknown. */
static int64_t edit_norms(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    uint8_t *norms = gp_rule_match_items(c, is_batch_norm);
    int64_t lost = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!norms[i]) continue;
        const struct gp_item_work *w = &c->work[i];
        double least = w->tier != GP_WORK_UNKNOWN && !w->bound.impossible
                           ? (w->bound.memory_low_ns + w->bound.memory_high_ns) / 2
                           : 0;
        int64_t dur = gp_rule_dur(c, i), left = least > 0 && least < (double)dur ? (int64_t)least : dur / 2;
        gp_rule_edit_high(s, GP_EDIT_DUR, i, left);
        lost += dur - left;
    }
    free(norms);
    return lost;
}

/* PyTorch's group normalization, which takes longer with channels last: a denoiser with it did, by 32%. */
static bool is_group_norm(const char *name) { return gp_name_has_one_of(name, " GroupNorm ComputeFused "); }

static bool is_flat(const char *name) { return gp_name_has_one_of(name, " onv1d onv_transpose1d "); }

static bool is_plane(const char *name) { return gp_name_has_one_of(name, " onv2d onv_transpose2d "); }

static bool is_deep(const char *name) { return gp_name_has_one_of(name, " onv3d onv_transpose3d "); }

/* What convolutions are of, as bits. */
enum { SEQUENCES = 1, IMAGES = 2, VOLUMES = 4 };

/* By the filter in the name of a kernel, depth, height and width: "_t3r3s3_". */
static int filter_is_of(const char *name)
{
    const char *at = name;
    while ((at = strstr(at, "_t")) && !(at[2] > '0' && at[2] <= '9' && at[3] == 'r' && at[4] && at[5] == 's'))
        at++;
    if (!at) return 0;
    return at[2] > '1' ? VOLUMES : at[4] > '1' && at[6] > '1' ? IMAGES : 0;
}

/* By kernels, and by operators and functions around those that turn channels; 0: nothing shows it. CUTLASS
 * names all of them "Conv2d". */
static int what_is_convolved(const struct gp_rule_ctx *c, const uint8_t *turns)
{
    static gp_rule_match *const matches[] = {is_flat, is_plane, is_deep};
    int found = 0;
    for (size_t k = 0; k < GP_COUNT(matches); k++) {
        struct gp_host_memo memo = {.hs = &c->v->hs};
        for (uint32_t i = 0; i < c->p->items.n; i++) {
            uint32_t node = c->calls[c->p->items.at[i].call].node;
            if (!k && c->items[i].kind == GP_FRAME_GEMM) found |= filter_is_of(gp_rule_name(c, i));
            if (turns[i] && gp_rule_outermost(c, &memo, node, GP_NEED_ALL, matches[k]) != GP_HOST_NONE)
                found |= 1 << k;
        }
        gp_host_memo_release(&memo);
    }
    return found;
}

/* Would channels_last help? If most of the time is in kernels that turn channels, and these are not of
 * sequences, which have none. Keeps in ITEMS what that would remove, otherwise the rest, and JOINS. *OF: what
 * is convolved. */
static bool choose_layout_fix(const struct gp_rule_ctx *c, uint8_t *items, const uint8_t *joins, int *of)
{
    uint8_t *turns = gp_rule_match_items(c, turns_channels);
    int64_t turning = 0, copying = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!items[i]) continue;
        if (turns[i]) turning += gp_rule_dur(c, i);
        else if (!joins[i]) copying += gp_rule_dur(c, i);
    }
    *of = what_is_convolved(c, turns);
    bool channels = turning > copying && *of != SEQUENCES;
    for (uint32_t i = 0; i < c->p->items.n; i++)
        if (items[i] && !joins[i] && (bool)turns[i] != channels) items[i] = 0;
    free(turns);
    return channels;
}

/* The code that copies need not be the user's: a compiler joins it with what is beside it in any case. */
static void advise_copies(struct gp_rule_ctx *c, struct gp_suggestion *s, bool joins)
{
    const char *compiler = gp_rule_in(c, "torch.compile", "jax.jit", "a compiler");
    if (gp_rule_code_of(c, s) == GP_CODE_LIBRARY)
        s->action = gp_rule_text(c,
                                 "let %s fuse these copies, which a library makes, into the kernels beside "
                                 "them",
                                 compiler);
    else
        s->action = gp_rule_text(
            c, "let %s fuse these copies into the kernels beside them; in your own code, %s", compiler,
            joins ? "write into one tensor instead of joining several"
                  : "drop .contiguous() where the next operator accepts strides");
    s->change = gp_rule_text(c, "let %s fuse these copies into other kernels", compiler);
}

static void advise_layout(struct gp_rule_ctx *c, struct gp_suggestion *s, bool channels, bool joins, int of)
{
    const char *deep = of & VOLUMES ? "_3d" : "";
    bool slower = channels && gp_rule_any_kernel(c, is_group_norm);
    s->unsure = !channels || slower;
    s->looks = slower;
    int64_t norms_ns = channels ? gp_rule_per_step(c, edit_norms(c, s)) : 0;
    s->resource_high_ns += norms_ns;
    if (channels)
        s->action = gp_rule_text(
            c,
            "%suse channels_last%s for the model and its input "
            "(.to(memory_format=torch.channels_last%s))%s%s%s",
            slower ? "try it and time the step: " : "", deep, deep,
            of ? "" : ", if its convolutions are of images: there is none for sequences",
            slower ? "; group normalization takes longer with it: a denoiser took 32% longer in all" : "",
            joins ? "; write into one tensor instead of using torch.cat" : "");
    else advise_copies(c, s, joins);
    if (slower)
        s->change = gp_rule_text(c, "try channels_last%s, with which group normalization takes longer", deep);
    if (norms_ns) gp_rule_evidence_ns(s, "norms", norms_ns);
    s->assumes = gp_rule_text(c, "the kernels that read them work as well with the existing order");
}

/* Most of these copies, JOINED, join again what was joined before: half of their time goes for certain. */
static void advise_joined(struct gp_rule_ctx *c, struct gp_suggestion *s, int64_t joined)
{
    for (uint32_t i = 0; i < c->p->items.n; i++)
        if (c->needless_of[i] == GP_JOINED)
            GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_DUR, i, gp_rule_dur(c, i) / JOINED_LEAST}));
    s->unsure = true;
    s->resource_low_ns = gp_rule_per_step(c, joined) / JOINED_LEAST;
    s->description = gp_rule_text(c,
                                  "In each turn of a loop, tensors are joined to copies of what was joined "
                                  "before, as keys and values of "
                                  "a text that grows: %s",
                                  gp_rule_ns(c, gp_rule_per_step(c, joined)));
    s->action =
        gp_rule_text(c, "reserve memory for all turns at once and write what is new into it, instead of "
                        "torch.cat (in transformers cache_implementation=\"static\")");
    s->formula =
        gp_rule_text(c, "at least half of that, as what reads it may take longer; at most all copies");
}

static void check_layout_churn(struct gp_rule_ctx *c)
{
    uint8_t *items = gp_rule_match_items(c, gp_pointwise_reorders),
            *joins = gp_rule_match_items(c, gp_kernel_joins);
    for (uint32_t i = 0; i < c->p->items.n; i++) /* of a split, it is the gradient: nobody wrote torch.cat */
        if (joins[i] && c->items[i].backward) items[i] = 0;
    int of;
    bool channels = choose_layout_fix(c, items, joins, &of);
    struct sum sum = sum_of(c, items);
    int64_t joining = 0, joined = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        joining += joins[i] && items[i] ? gp_rule_dur(c, i) : 0;
        joined += c->needless_of[i] == GP_JOINED ? gp_rule_dur(c, i) : 0;
    }
    bool many = gp_mul_saturated(joining, JOINS_PART) > sum.ns;
    free(joins);
    if (sum.count >= (int64_t)c->n_steps && gp_pct(sum.ns, c->busy_ns) >= LAYOUT_PCT) {
        struct gp_suggestion *s = without(c, items, sum, false);
        s->description = gp_rule_text(
            c, "Kernels that only join tensors or copy them into another order: %lld per step, %s",
            (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
        if (gp_mul_saturated(joined, JOINED_LEAST) > sum.ns) advise_joined(c, s, joined);
        else advise_layout(c, s, channels, many, of);
    }
    free(items);
}

const struct gp_rule gp_rule_layout_churn = {
    .name = "layout_churn",
    .type = GP_SUGGEST_MEMORY,
    .summary = "kernels that only join tensors or copy them into another order",
    .needs = "kernel names",
    .threshold = "once per step, 3% of the busy time",
    .guard = "copies that change the type; joins in a backward pass, which are gradients of splits; "
             "channels_last for convolutions of sequences, or where copies with strides take longer than "
             "turning channels; the user's own code, where stacks show a library's",
    .formula = "between nothing and all of them, as some may be needed",
    .expect = "fewer copy kernels",
    .run = check_layout_churn,
    .to_know =
        "record hardware counters (gpuprof-collect --metrics) of the copies and of the layers around them",
    .measured = true,
    .least_pct = 55,
};

/* ---- fills of gradients ---- */

static bool is_zero_grad(const char *name) { return strstr(name, "zero_grad") != NULL; }

static bool in_zero_grad(const struct gp_rule_ctx *c, struct gp_host_memo *memo, uint32_t item)
{
    uint32_t node = c->calls[c->p->items.at[item].call].node;
    return gp_rule_outermost(c, memo, node, GP_NEED_ALL, is_zero_grad) != GP_HOST_NONE;
}

/* Fills inside zero_grad, of many tensors at once, or several of whole tensors in a row outside the backward
 * pass of which no stack shows what for. */
static uint8_t *gradient_fills(const struct gp_rule_ctx *c)
{
    const struct gp_events *api = &c->t->events[GP_API];
    uint8_t *items = gp_rule_match_items(c, gp_pointwise_fills);
    struct gp_host_memo zero_grads = {.hs = &c->v->hs};
    for (uint32_t i = 0, n; i < c->p->items.n; i += n ? n : 1) {
        bool several = true;
        for (n = 0; i + n < c->p->items.n && items[i + n] && !c->items[i + n].backward &&
                    c->p->items.at[i + n].step == c->p->items.at[i].step;
             n++)
            several &= strstr(gp_rule_name(c, i + n), "vectorized_elementwise_kernel") &&
                       !gp_get_stack(api, c->p->calls.at[c->p->items.at[i + n].call].row);
        several &= n >= FILLS_LEAST;
        for (uint32_t k = i; k < i + (n ? n : 1); k++) {
            const char *name = gp_rule_name(c, k);
            items[k] =
                items[k] && (several || strstr(name, "ZeroFunctor") || in_zero_grad(c, &zero_grads, k));
        }
    }
    gp_host_memo_release(&zero_grads);
    return items;
}

/* If gradients exist, one kernel per gradient adds those of the step to them; if not, the new ones are used
 * as they are. The sums move at most three times the bytes of the fills, which only write. */
static void edit_sums(struct gp_rule_ctx *c, struct gp_suggestion *s, const uint8_t *fills)
{
    enum { BYTES = 3 };
    uint8_t *sums = gp_rule_match_items(c, is_sum);
    for (size_t step = 0; step < c->p->steps.n; step++) {
        const struct gp_plan_step *at = &c->p->steps.at[step];
        int64_t left = 0;
        for (uint32_t i = at->first_item; i < at->first_item + at->n_items; i++)
            left += fills[i] ? gp_rule_dur(c, i) * BYTES : 0;
        for (uint32_t i = at->first_item; i < at->first_item + at->n_items && left > 0; i++) {
            if (!sums[i] || !c->items[i].backward) continue;
            int64_t less = gp_rule_dur(c, i) < left ? gp_rule_dur(c, i) : left;
            gp_rule_edit_high(s, GP_EDIT_DUR, i, gp_rule_dur(c, i) - less);
            s->resource_high_ns += less;
            left -= less;
        }
    }
    free(sums);
}

static void check_zero_fill(struct gp_rule_ctx *c)
{
    uint8_t *items = gradient_fills(c);
    struct sum sum = sum_of(c, items);
    if (sum.count >= (int64_t)c->n_steps && gp_pct(sum.ns, c->busy_ns) >= FILL_PCT) {
        struct gp_suggestion *s = without(c, items, sum, true);
        s->description =
            gp_rule_text(c, "Kernels that fill gradients with zeros: %lld per step, %s",
                         (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
        s->resource_high_ns *= (int64_t)c->n_steps;
        edit_sums(c, s, items);
        s->resource_high_ns = gp_rule_per_step(c, s->resource_high_ns);
    }
    free(items);
}

const struct gp_rule gp_rule_zero_fill = {
    .name = "zero_fill",
    .type = GP_SUGGEST_MEMORY,
    .summary = "gradients filled with zeros before they are written",
    .needs = "kernel names; for single fills, ranges or operators called zero_grad",
    .threshold = "once per step, 0.5% of the busy time",
    .guard = "fewer than four single fills in a row, or of parts of tensors, or with a stack that has no "
             "zero_grad; fills of the backward pass",
    .action = "use optimizer.zero_grad(set_to_none=True), the default since PyTorch 2.0",
    .formula = "at least all of these kernels, at most also their launches and the backward kernels "
               "that add to the gradients",
    .assumes = "the filled tensors are gradients, and nothing reads them before they are written",
    .expect = "no fills",
    .run = check_zero_fill,
    .measured = true,
};
