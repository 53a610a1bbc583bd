// The same work again and again within a step: items one by one, experts one by one, an environment on the
// host. Layers of a model look alike but are not repeated work: no turn of theirs takes anything from the
// host or gives it anything, and none is larger or smaller than the others.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/map.h"

static const double SHARE_PCT = 5; /* of the steps, on the host or on the GPU */

/* Rules that a loop explains. */
#define COVERED " batching scalar_read synchronous_copy small_copies "

enum {
    GROUP_LOW = 4, /* items that fit in one batch at least */
    EXPERTS_LOW = 2,
    STEPS_LEAST = 8,     /* turns that stay on the GPU; fewer may be layers whose results are joined */
    MANY = 64,           /* parts of tensors; fewer are what a model does */
    WEIGHTS = 4,         /* copies to the device in each turn of one size: of a layer's weights */
    READ_LEAST = 8,      /* launches of a turn that gives a value; fewer only watch a result */
    VALUES_LEAST = 16,   /* turns that work on a value each */
    GRADIENTS = 2,       /* turns that the gradients of a loop may have more or less */
    DEVICE_LAUNCHES = 4, /* in place of what the host did between two copies */
    PASSED_BYTES = 65536,
    PASSES_LEAST = 2, /* a step: once may be a result that the next step works on */
};

/* What the turns of a loop are to each other. */
enum dependence {
    UNRELATED, /* nothing shows that it is more than the layers of a model */
    ITEMS,     /* of different sizes, or none gives anything to the host */
    LOOKUPS,   /* of rows, whose results are not indices */
    PARTS,     /* of a tensor are set or copied */
    VALUES,    /* of a tensor, which the host reads, and which could all be read first */
    ROUND_TRIP,
    MAYBE_ITEMS, /* from here on each may need the one before: which memory a kernel reads is not recorded */
    TIME_STEPS,  /* of a recurrent layer */
    COLLECTED,   /* the results of all turns are put together */
    READ,        /* the host reads a value of each turn */
    PASSES,      /* each computes gradients, and works on them */
};

static bool is_each(uint32_t n, const struct gp_loop *loop) { return n >= loop->count - loop->count / 4; }

static bool varies(const struct gp_loop *loop) { return loop->rises > 1 && loop->falls > 1; }

/* Bytes of the copies of turn K between host and device, to the device or from it. */
static int64_t crossing(const struct gp_rule_ctx *c, const struct gp_loop *loop, uint32_t k, bool out)
{
    int64_t bytes = 0;
    for (uint32_t j = 0; j < loop->period; j++) {
        uint32_t item = gp_loop_item(c->loops, loop, k, j);
        if (!gp_rule_crosses(c, item)) continue;
        bool to_host = gp_copy_to_host(gp_rule_name(c, item));
        if (to_host == out) bytes += gp_rule_bytes(c, item);
    }
    return bytes;
}

/* Does each turn take as many bytes as the one before gave? */
static bool takes_what_it_gave(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    for (uint32_t k = 0; k + 1 < loop->count; k++)
        if (crossing(c, loop, k, true) != crossing(c, loop, k + 1, false)) return false;
    return true;
}

/* Nothing crosses between host and GPU. The layers of a model do not count: their results are not put
 * together, and where they are (DenseNet), each turn joins those before it. Neither does what a library loops
 * over by itself. */
static enum dependence on_device(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    uint32_t items = loop->count * loop->period;
    if (loop->in || loop->out || loop->reads || loop->inner || loop->joins || loop->backward || c->single_ops)
        return UNRELATED;
    if (is_each(loop->lookups, loop) && loop->lookups + loop->plain == items) return LOOKUPS;
    if (loop->count < STEPS_LEAST || loop->period < 2) return UNRELATED;
    if (is_each(loop->recurrent, loop) && is_each(loop->own, loop)) return TIME_STEPS;
    return loop->joined || (is_each(loop->aside, loop) && !loop->products) ? COLLECTED : UNRELATED;
}

static uint32_t step_of(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    return c->p->items.at[gp_loop_item(c->loops, loop, 0, 0)].step;
}

static bool is_backward(const struct gp_loop *loop)
{
    return loop->backward * 2 > loop->count * loop->period && !loop->in && !loop->out && !loop->inner &&
           !loop->trains;
}

/* Does autograd compute gradients in as many turns? */
static bool has_gradients(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    for (size_t i = 0; i < c->loops->v.n; i++) {
        const struct gp_loop *other = &c->loops->v.at[i];
        if (is_backward(other) && abs((int)other->count - (int)loop->count) <= GRADIENTS &&
            step_of(c, other) == step_of(c, loop))
            return true;
    }
    return false;
}

/* Can no turn need what the one before computed but for the values? A reduction takes at once what an
 * elementwise kernel gave, or the same line of the program goes on: that was a part of an expression. What a
 * compiler fused may give more, and a byte that is read decides on the next turn. */
static bool keeps_values_only(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    uint32_t next = gp_loop_item(c->loops, loop, 0, 0);
    for (uint32_t i = 1; i < loop->count * loop->period; i++) {
        uint32_t item = next, kind = c->items[item].kind;
        next = gp_loop_item(c->loops, loop, i / loop->period, i % loop->period);
        if (gp_rule_is_scalar_read(c, item) && gp_rule_bytes(c, item) > 1) continue;
        if (!gp_rule_computes(c, item) || c->items[item].compiled) return false;
        bool ends = !gp_rule_computes(c, next) || gp_rule_blocks(c, next) == 1,
             taken = c->items[next].kind == GP_FRAME_REDUCTION;
        if (gp_rule_blocks(c, item) != 1 && !(kind == GP_FRAME_ELEMENTWISE && taken) &&
            !(kind == GP_FRAME_REDUCTION && (taken || ends)) &&
            !gp_rule_same_line(c, c->p->items.at[item].call, c->p->items.at[next].call))
            return false;
    }
    return true;
}

/* Only a value crosses. Turns that get one as well may be items, and so may those of a loss, except layers of
 * experts, which look up and add by index; and any that keep no more. Others make a token of the one before,
 * or come nearer to a solution. What a library loops over is not the program's to change. */
static enum dependence with_value(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    if (loop->inner || loop->backward) return UNRELATED;
    if (loop->joined && !loop->products && loop->count >= STEPS_LEAST) return COLLECTED;
    bool sums = loop->count >= VALUES_LEAST && !loop->products && keeps_values_only(c, loop),
         deep = loop->period >= READ_LEAST && loop->products && !(loop->gathers && loop->scatters) &&
                (is_each(loop->fed, loop) || has_gradients(c, loop));
    return (sums || deep) && !loop->samples && !gp_rule_library_loops(c, loop) ? READ : UNRELATED;
}

/* Kernels of one block and a read in each turn, and nothing else: a few values of a tensor. */
static bool is_values(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    return loop->count >= VALUES_LEAST && loop->reads == loop->count && loop->single >= loop->count &&
           loop->single + loop->reads == loop->count * loop->period && !loop->products && !loop->backward &&
           !loop->inner && !loop->samples && !gp_rule_library_loops(c, loop);
}

static enum dependence dependence_of(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    bool in = is_each(loop->in, loop), out = is_each(loop->out, loop), reads = is_each(loop->reads, loop);
    if (loop->trains) return UNRELATED;
    if (is_values(c, loop)) return VALUES;
    if (loop->products && loop->samples && is_each(loop->fed, loop) && (out || reads)) return ROUND_TRIP;
    uint32_t items = loop->count * loop->period; /* many parts of tensors are neither layers nor parameters */
    if (loop->count >= MANY && loop->plain == items && loop->whole < items / 4 * 3 && !loop->inner)
        return PARTS;
    if (is_each(loop->passes, loop) && loop->count >= STEPS_LEAST && !out && !loop->inner &&
        c->p->found_steps)
        return PASSES;
    if (!in && !out) return reads ? with_value(c, loop) : on_device(c, loop);
    if (!loop->products || (!out && !reads && loop->in >= WEIGHTS * loop->count && !varies(loop)))
        return UNRELATED;
    if (in && out && takes_what_it_gave(c, loop)) return ROUND_TRIP;
    return varies(loop) || (!out && !reads) ? ITEMS : MAYBE_ITEMS;
}

typedef bool is_wanted(const struct gp_rule_ctx *c, const struct gp_loop *loop);

static bool is_experts(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    (void)c;
    bool sizes = loop->rises && loop->falls, products = loop->products >= 2 * loop->count;
    return sizes && products && is_each(loop->gathers, loop) && is_each(loop->scatters, loop) && !loop->in &&
           !loop->out && !loop->trains;
}

static bool is_round_trip(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    return dependence_of(c, loop) == ROUND_TRIP;
}

static bool is_items(const struct gp_rule_ctx *c, const struct gp_loop *loop)
{
    enum dependence d = dependence_of(c, loop);
    return d != UNRELATED && d != ROUND_TRIP;
}

/* ---- the loops of a rule ---- */

struct turns {
    const struct gp_loop *longest, *placed; /* the longest, and the longest whose function is known */
    int64_t loops, turns, launches;
    int64_t gpu_ns, host_ns, filled_ns; /* of all; the GPU's as if its multiprocessors had been full */
    uint8_t *calls;                     /* by call: it is of them */
    GP_VEC(const struct gp_loop *) v;   /* with the gradients of loops */
    struct gp_map known;                /* step, count of turns: of the loops but gradients */
};

/* The calls of turn K, and of what follows it until the next one. */
static void calls_of(const struct gp_rule_ctx *c, const struct gp_loop *loop, uint32_t k, uint32_t *from,
                     uint32_t *to)
{
    *from = c->p->items.at[gp_loop_item(c->loops, loop, k, 0)].call;
    *to = k + 1 < loop->count ? c->p->items.at[gp_loop_item(c->loops, loop, k + 1, 0)].call
                              : c->p->items.at[gp_loop_item(c->loops, loop, k, loop->period - 1)].call + 1;
    while (k + 1 == loop->count && *to < c->p->calls.n && !c->p->replay.calls.at[*to].n &&
           c->p->calls.at[*to].step == c->p->calls.at[*from].step)
        ++*to; /* and the wait for its result */
}

static uint64_t key_of(const struct gp_rule_ctx *c, const struct gp_loop *loop, int more)
{
    return (uint64_t)step_of(c, loop) << 32 | (uint32_t)((int)loop->count + more);
}

/* Does autograd compute in it the gradients of a loop of SUM, turn by turn? */
static bool is_gradient(const struct gp_rule_ctx *c, const struct turns *sum, const struct gp_loop *loop)
{
    if (!is_backward(loop)) return false;
    for (int more = -GRADIENTS; more <= GRADIENTS; more++)
        if (gp_map_get(&sum->known, key_of(c, loop, more))) return true;
    return false;
}

static void add_loop(const struct gp_rule_ctx *c, struct turns *sum, const struct gp_loop *loop,
                     bool gradient)
{
    uint32_t from, last, end;
    calls_of(c, loop, 0, &from, &end);
    calls_of(c, loop, loop->count - 1, &last, &end);
    if (sum->calls[from] || sum->calls[last]) return; /* within another one */
    for (uint32_t k = from; k < end; k++) sum->calls[k] = 1;
    sum->loops += !gradient;
    sum->turns += gradient ? 0 : loop->count;
    sum->launches += (int64_t)loop->count * loop->period;
    sum->gpu_ns += loop->total_ns;
    sum->host_ns += loop->host_ns;
    for (uint32_t k = 0; k < loop->count; k++)
        for (uint32_t j = 0; j < loop->period; j++) {
            uint32_t item = gp_loop_item(c->loops, loop, k, j);
            double part = gp_rule_fills(c, item);
            sum->filled_ns += (int64_t)((double)gp_rule_dur(c, item) * (part > 0 ? part : 1));
        }
    GP_VEC_PUSH(&sum->v, loop);
    if (gradient) return;
    gp_map_put(&sum->known, key_of(c, loop, 0), 0);
    if (!sum->longest ||
        (int64_t)loop->count * loop->period > (int64_t)sum->longest->count * sum->longest->period)
        sum->longest = loop;
    if (loop->function && !sum->placed) sum->placed = loop;
}

/* False: there are too few of them to matter. The caller releases SUM. */
static bool find_turns(const struct gp_rule_ctx *c, is_wanted *wanted, struct turns *sum)
{
    *sum = (struct turns){.calls = gp_zalloc(c->p->calls.n + 1)};
    for (size_t i = 0; i < c->loops->v.n; i++)
        if (wanted(c, &c->loops->v.at[i])) add_loop(c, sum, &c->loops->v.at[i], false);
    for (size_t i = 0; i < c->loops->v.n && sum->loops; i++)
        if (is_gradient(c, sum, &c->loops->v.at[i])) add_loop(c, sum, &c->loops->v.at[i], true);
    int64_t most = sum->host_ns > sum->gpu_ns ? sum->host_ns : sum->gpu_ns;
    return sum->loops >= (int64_t)c->n_steps && gp_pct(most, c->plan_ns) >= SHARE_PCT;
}

/* Could the GPU do the turns in half the time or less, side by side? */
static bool has_room(const struct turns *sum) { return gp_mul_saturated(sum->filled_ns, 2) < sum->host_ns; }

static void release_turns(struct turns *sum)
{
    free(sum->calls);
    GP_VEC_FREE(&sum->v);
    gp_map_release(&sum->known);
}

/* ---- one batch for several turns ---- */

/* The launches of turn K go: with a later one of its group; at the high end only, or also at the LOW one. */
static void remove_turn(const struct gp_rule_ctx *c, const struct gp_loop *loop, uint32_t k,
                        struct gp_suggestion *s, bool low)
{
    uint32_t from, to;
    calls_of(c, loop, k, &from, &to);
    for (uint32_t call = from; call < to; call++)
        for (int kind = GP_EDIT_BEFORE; kind <= GP_EDIT_NO_WAIT; kind++)
            (low ? gp_rule_edit_all : gp_rule_edit_high)(s, (enum gp_edit_kind)kind, call, 0);
}

/* Place J of all turns runs as one kernel: as long as the longest, times what it fills of the device. */
static void batch_place(const struct gp_rule_ctx *c, const struct gp_loop *loop, uint32_t j,
                        struct gp_suggestion *s)
{
    int64_t total = 0, longest = 0, batched = 0;
    for (uint32_t k = 0; k < loop->count; k++) {
        uint32_t item = gp_loop_item(c->loops, loop, k, j);
        int64_t dur = gp_rule_dur(c, item), empty = c->s->empty_ns < dur ? c->s->empty_ns : dur;
        double part = gp_rule_fills(c, item);
        total += dur;
        if (dur > longest) longest = dur;
        batched += part > 0 ? (int64_t)((double)(dur - empty) * part) : dur;
    }
    if (batched < longest) batched = longest;
    if (batched > total) batched = total;
    s->resource_high_ns += total - batched;
    for (uint32_t k = 0; k < loop->count; k++) {
        uint32_t item = gp_loop_item(c->loops, loop, k, j);
        gp_rule_edit_high(s, GP_EDIT_DUR, item, batched / loop->count);
        if (k) gp_rule_edit_high(s, GP_EDIT_GAP, item, 0);
    }
}

/* All turns of a loop as one at the high end, GROUP of them at the low one. */
static void batch_loop(const struct gp_rule_ctx *c, const struct gp_loop *loop, uint32_t group,
                       struct gp_suggestion *s)
{
    for (uint32_t k = 1; k < loop->count; k++) remove_turn(c, loop, k, s, group && k % group);
    for (uint32_t j = 0; j < loop->period; j++) batch_place(c, loop, j, s);
}

/* Where, how often, how long; and without the findings that are about the same launches. */
static void describe_turns(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct turns *sum)
{
    double filled = gp_pct(sum->filled_ns, sum->gpu_ns);
    if (sum->placed) s->operation = gp_rule_label(c, GP_PYTHON, sum->placed->function);
    s->current_ns = gp_rule_per_step(c, sum->host_ns > sum->gpu_ns ? sum->host_ns : sum->gpu_ns);
    gp_rule_evidence_count(s, "turns", gp_rule_per_step(c, sum->turns));
    gp_rule_evidence_count(s, "loops", gp_rule_per_step(c, sum->loops));
    gp_rule_evidence_count(s, "launches_per_turn", sum->launches / sum->turns);
    gp_rule_evidence_ns(s, "gpu_per_turn", sum->gpu_ns / sum->turns);
    gp_rule_evidence_ns(s, "host_per_turn", sum->host_ns / sum->turns);
    gp_rule_evidence_pct(s, "filled", filled);
}

static const char *turn_text(struct gp_rule_ctx *c, const struct turns *sum)
{
    return gp_suggest_str(
        c->s, gp_rule_text(c, "one takes %s on the host and %s on the GPU, of which it fills %.0f%%",
                           gp_rule_ns(c, sum->host_ns / sum->turns), gp_rule_ns(c, sum->gpu_ns / sum->turns),
                           gp_pct(sum->filled_ns, sum->gpu_ns)));
}

/* ---- items, one by one ---- */

struct turn_words {
    const char *one, *after; /* a turn; what comes after what */
    const char *action;      /* NULL: that of the rule */
};

static const struct turn_words *words_of(enum dependence d)
{
    static const struct turn_words words[] = {
        [UNRELATED] = {"an item", "one item after the other", NULL},
        [LOOKUPS] = {"a lookup", "one lookup of rows after the other",
                     "look all rows up at once: one table with an offset for each feature, or one lookup "
                     "with all indices"},
        [TIME_STEPS] = {"a time step", "one time step of a recurrent layer after the other",
                        "give the recurrent layer the whole sequence in one call"},
        [COLLECTED] = {"a turn", "one turn of a loop after the other, whose results are then put together",
                       "compute all turns of the loop at once, by broadcasting or by a batched operator"},
        [PARTS] = {"a part", "one part of a tensor after the other is set or copied",
                   "set or copy all parts at once, by a mask or an index"},
        [VALUES] = {"a value", "for one value of a tensor after the other, which the host reads",
                    "work on all values at once, by operators on whole tensors such as where, gather and "
                    "scatter, or copy the tensor to the host once, loop there, and copy the result back"},
        [READ] = {"a turn", "one turn of a loop after the other, and the host reads a value of each",
                  "run all turns of the loop as one batch and read once if none needs the result of another"},
        [PASSES] =
            {"a turn",
             "a forward pass, a backward pass, and work on its gradients for one item after the other",
             "compute the gradients of all items at once, with torch.func.vmap of torch.func.grad, or by "
             "one backward pass of their batch where nobody needs them one by one"},
    };
    return d <= PASSES && words[d].one ? &words[d] : &words[UNRELATED];
}

/* Each may need the one before, and is then still launched faster by a graph, or with fewer launches by a
 * compiler: at least what that saves, GRAPH. */
static void describe_possible(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct turn_words *w,
                              struct gp_suggestion *graph)
{
    bool compiles = graph->rule == &gp_rule_compile;
    GP_VEC_FREE(&s->low);
    s->low = graph->low;
    memset(&graph->low, 0, sizeof graph->low);
    s->unsure = true;
    s->description =
        gp_rule_text(c, "%s. The trace does not show whether %s needs the result of the one before",
                     gp_suggest_str(c->s, s->description), w->one);
    s->formula = gp_rule_text(c,
                              "at most the launches and waits of all turns but the first go, and their "
                              "kernels run side by side until the device is full; at least %s",
                              !s->low.n  ? "nothing"
                              : compiles ? "what a compiler saves"
                                         : "what launching the step as one CUDA graph saves");
    if (s->low.n)
        s->action =
            gp_rule_text(c, "%s; where %s needs the one before, %s", gp_suggest_str(c->s, s->action), w->one,
                         compiles ? gp_suggest_str(c->s, graph->action)
                         : c->jax ? "run the whole loop within one jax.jit (jax.lax.scan)"
                                  : "capture the step as a CUDA graph");
}

static void check_repeated_work(struct gp_rule_ctx *c)
{
    struct turns sum;
    struct gp_suggestion graph = {0};
    if (find_turns(c, is_items, &sum) && has_room(&sum)) {
        gp_rule_absorb(c, sum.calls,
                       COVERED "pageable_copy copy_overlap blocking_sync cuda_graph compile tiny_kernels "
                               "fusion layout_churn small_grid ",
                       &graph);
        struct gp_suggestion *s = gp_rule_suggest(c);
        const struct turn_words *w = words_of(dependence_of(c, sum.longest));
        bool possible = false;
        for (size_t i = 0; i < sum.v.n; i++) {
            possible |= dependence_of(c, sum.v.at[i]) >= MAYBE_ITEMS;
            batch_loop(c, sum.v.at[i], GROUP_LOW, s);
        }
        s->resource_high_ns = gp_rule_per_step(c, s->resource_high_ns);
        describe_turns(c, s, &sum);
        s->description =
            gp_rule_text(c, "The same %u launches run %lld times per step, %s: %s", sum.longest->period,
                         (long long)gp_rule_per_step(c, sum.turns), w->after, turn_text(c, &sum));
        const char *vmap = "compute all turns of the loop at once, with jax.vmap of what a turn does";
        bool collected = c->jax && w == words_of(COLLECTED);
        if (w->action) s->change = 0, s->action = gp_rule_text(c, "%s", collected ? vmap : w->action);
        if (possible) describe_possible(c, s, w, &graph);
        else
            s->assumes = gp_rule_text(c, "%ss differ in nothing but their size, and fit in memory together",
                                      strchr(w->one, ' ') + 1);
    }
    gp_suggestion_release(&graph);
    release_turns(&sum);
}

const struct gp_rule gp_rule_repeated_work = {
    .name = "repeated_work",
    .type = GP_SUGGEST_BATCHING,
    .summary = "the same sequence of launches for one item after the other",
    .needs = "kernels with their launch calls; grids",
    .threshold =
        "four turns or more in a row in each step, with a matrix product and a copy between host and "
        "GPU in each, or with eight launches, of which the host reads a value, or that only look rows up; "
        "16 turns of a read and of kernels of one block, or of sums, or of one line; eight turns of a "
        "recurrent layer, or whose results one kernel joins, or each copies aside, or of a forward and a "
        "backward pass with eight launches after it; 5% of the time",
    .guard =
        "layers: other turns that stay on the GPU, or that join the results of those before; turns that "
        "change parameters; what one operator or graph launches; round trips (see round_trip); turns "
        "that fill half of the GPU all the time; turns with a value read that draw samples, get no value "
        "each and have no gradients (tokens, solvers), that look up and add by index (layers of "
        "experts), or that a library loops over; reads of a byte, which decide what comes next. Where each "
        "turn may need the one before, the low end is that of a CUDA graph or a compiler, or nothing",
    .action = "call the model once for all items, as one padded batch, or once for each group of items of "
              "like size",
    .change = "call the model once for all items, as one padded batch",
    .formula = "the launches and waits of all turns but the first go, and their kernels run side by side "
               "until the device is full; at least three turns of four go, with kernels as they are",
    .assumes = "no item needs the result of another; together they fit in memory",
    .expect = "fewer launches and larger grids",
    .run = check_repeated_work,
    .frames = "which show the loop",
    .least_pct = 75,
    .measured = true,
};

/* ---- experts, one by one ---- */

static void check_experts(struct gp_rule_ctx *c)
{
    struct turns sum;
    if (find_turns(c, is_experts, &sum) && has_room(&sum)) {
        gp_rule_absorb(c, sum.calls, COVERED, NULL);
        struct gp_suggestion *s = gp_rule_suggest(c);
        for (size_t i = 0; i < sum.v.n; i++) batch_loop(c, sum.v.at[i], EXPERTS_LOW, s);
        s->resource_high_ns = gp_rule_per_step(c, s->resource_high_ns);
        describe_turns(c, s, &sum);
        if (c->jax)
            s->action = gp_rule_text(
                c, "sort the rows by expert and run all experts of a layer at once, with jax.lax.ragged_dot");
        s->description =
            gp_rule_text(c,
                         "Experts run one after the other: %lld times per step, rows are looked up by index, "
                         "multiplied and added back, each time another number of rows; %s",
                         (long long)gp_rule_per_step(c, sum.turns), turn_text(c, &sum));
    }
    release_turns(&sum);
}

const struct gp_rule gp_rule_experts = {
    .name = "experts",
    .type = GP_SUGGEST_BATCHING,
    .summary = "the experts of a layer run one after the other",
    .needs = "kernels with their launch calls; grids",
    .threshold = "four turns or more in a row, with two products, a lookup and a sum by index in each, of "
                 "sizes that go up and down; 5% of the time",
    .guard = "turns that copy between host and device, or change parameters; turns that fill half of "
             "the GPU all the time",
    .action =
        "sort the rows by expert and run all experts of a layer at once: torch.nn.functional.grouped_mm, a "
        "grouped kernel (MegaBlocks, Triton), or in transformers experts_implementation=\"grouped_mm\"",
    .change = "run all experts of a layer at once, by grouped matrix products",
    .formula = "the launches and waits of all turns but the first go, and their kernels run side by side "
               "until the device is full; at least those of every second turn go, with kernels as they are",
    .assumes = "the experts of a layer have weights of one shape",
    .expect = "fewer launches and larger grids",
    .run = check_experts,
    .frames = "which show the module",
};

/* ---- to the host and back ---- */

/* What follows the copy to the host, until the next turn has copied back, goes. */
static void stay_on_device(const struct gp_rule_ctx *c, const struct gp_loop *loop, uint32_t k,
                           int64_t usual_ns, struct gp_suggestion *s)
{
    uint32_t from, to;
    calls_of(c, loop, k, &from, &to);
    for (uint32_t call = from; call < to; call++) {
        const struct gp_replay_call *r = &c->p->replay.calls.at[call];
        if (r->waits_for != GP_REPLAY_NONE) gp_rule_edit_all(s, GP_EDIT_NO_WAIT, call, 0);
        bool copies = false, in = false;
        for (uint32_t item = r->first; item < r->first + r->n; item++) {
            if (!gp_rule_crosses(c, item)) continue;
            copies = true;
            in |= gp_copy_to_device(gp_rule_name(c, item));
            gp_rule_edit_all(s, GP_EDIT_GONE, item, 0);
        }
        if (!copies) continue;
        gp_rule_edit_all(s, GP_EDIT_OWN, call, 0);
        int64_t most = DEVICE_LAUNCHES * usual_ns, before = c->calls[call].before_ns;
        if (in && before > most) gp_rule_edit_high(s, GP_EDIT_BEFORE, call, most);
    }
}

/* What goes to the host by item OUT and comes back by IN, and the host's time between them, goes. */
static void pass_by_host(const struct gp_rule_ctx *c, uint32_t out, uint32_t in, uint8_t *calls,
                         struct gp_suggestion *s)
{
    uint32_t from = c->p->items.at[out].call, to = c->p->items.at[in].call;
    for (uint32_t k = from; k <= to; k++) {
        calls[k] = 1;
        if (k > from) gp_rule_edit_high(s, GP_EDIT_BEFORE, k, 0);
        if (k == from || k == to) gp_rule_remove_call(c, s, k, false);
        else gp_rule_edit_all(s, GP_EDIT_NO_WAIT, k, 0);
        s->current_ns += (k > from ? c->calls[k].before_ns : 0) + c->p->replay.calls.at[k].own_ns +
                         c->p->calls.at[k].waited_ns;
    }
}

/* The item that runs after item I, which copies to the device: what it is copied for. KNOWN: the answer for
 * one before it, so that it is looked for once in a row of copies. */
static uint32_t copied_for(const struct gp_rule_ctx *c, uint32_t i, uint32_t known)
{
    if (i < known) return known;
    while (i + 1 < c->p->items.n && gp_rule_crosses(c, i)) i++;
    return i;
}

/* Without a loop: as many bytes come back as went to the host before, by the next copy, and for another
 * kernel than those before: for the same one it may be another item. */
static void check_passing(struct gp_rule_ctx *c)
{
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    struct gp_suggestion edits = {0};
    int64_t count = 0, bytes = 0;
    gp_sid what = 0, before = 0; /* of this copy and of the one before to the device */
    uint32_t last = UINT32_MAX, next = 0;
    for (uint32_t i = 0; i < c->p->items.n && c->p->found_steps; i++) {
        if (!gp_rule_crosses(c, i)) continue;
        bool in = gp_copy_to_device(gp_rule_name(c, i)), back = last != UINT32_MAX && in;
        if (in) {
            next = copied_for(c, i, next);
            before = what;
            what = c->t->configs.at[c->items[next].config].name;
        }
        back = back && c->p->items.at[i].step == c->p->items.at[last].step && what != before &&
               gp_copy_to_host(gp_rule_name(c, last)) && gp_rule_bytes(c, i) == gp_rule_bytes(c, last) &&
               gp_rule_bytes(c, i) > PASSED_BYTES;
        if (back) pass_by_host(c, last, i, calls, &edits), count++, bytes += gp_rule_bytes(c, i);
        last = i;
    }
    if (count >= PASSES_LEAST * (int64_t)c->n_steps && gp_pct(edits.current_ns, c->plan_ns) >= SHARE_PCT) {
        gp_rule_absorb(c, calls, COVERED "pageable_copy copy_overlap blocking_sync input_stall host_results ",
                       NULL);
        struct gp_suggestion *s = gp_rule_suggest_edits(c, true, &edits);
        s->description = gp_rule_text(
            c, "Data goes to the host, and as many bytes come back next, %s (%s): %s per step",
            gp_rule_times(c, count), gp_rule_size(c, bytes / count), gp_rule_ns(c, s->current_ns));
        s->change = gp_rule_text(c, "keep on the GPU what goes to the host and comes back");
        s->action = gp_rule_text(c,
                                 "%s: functions can take and give arrays of the GPU, and what the host "
                                 "changes in between can be done there",
                                 gp_suggest_str(c->s, s->change));
        s->formula =
            gp_rule_text(c, "at least the copies and waits go, at most also the host's time in between");
        gp_rule_evidence_count(s, "passes", gp_rule_per_step(c, count));
    }
    gp_suggestion_release(&edits);
    free(calls);
}

static void check_round_trip(struct gp_rule_ctx *c)
{
    struct turns sum;
    if (find_turns(c, is_round_trip, &sum)) {
        gp_rule_absorb(c, sum.calls, COVERED "pageable_copy blocking_sync input_stall step_end ", NULL);
        struct gp_suggestion *s = gp_rule_suggest(c);
        int64_t usual = gp_rule_usual_gap(c);
        for (size_t i = 0; i < sum.v.n; i++)
            for (uint32_t k = 0; k < sum.v.at[i]->count; k++) stay_on_device(c, sum.v.at[i], k, usual, s);
        describe_turns(c, s, &sum);
        s->description = gp_rule_text(
            c,
            "Data goes to the host and back %lld times per step (%s and %s each time), and the "
            "GPU waits for what the host does in between: %s",
            (long long)gp_rule_per_step(c, sum.turns), gp_rule_size(c, crossing(c, sum.longest, 0, true)),
            gp_rule_size(c, crossing(c, sum.longest, 0, false)), turn_text(c, &sum));
        if (sum.longest->samples)
            s->action = gp_rule_text(
                c, "do on the GPU what the host does between the copies (step the environment there, as "
                   "tensors), or run several environments per turn while the host works on others");
    } else {
        check_passing(c);
    }
    release_turns(&sum);
}

const struct gp_rule gp_rule_round_trip = {
    .name = "round_trip",
    .type = GP_SUGGEST_TRANSFER,
    .summary = "a loop copies to the host, works there, and copies back",
    .needs = "kernels and copies with their launch calls, bytes of the copies",
    .threshold =
        "four turns or more in a row in each step, with a copy each way and a matrix product in each; or "
        "twice or more in each step, as many bytes, more than 64 KB, come back as went to the host; 5% of "
        "the time",
    .guard = "copies back for the same kernel, as of the next item; turns that draw no sample and do not "
             "take as many bytes as the one before gave: those may be items (see repeated_work)",
    .action =
        "do on the GPU what the host does between the copies, or let it work on one batch while the GPU "
        "computes another",
    .change = "keep the loop on the GPU: do there what the host does between the copies",
    .formula = "at least the copies and waits go; at most also, of the host's time before each copy "
               "to the GPU all but that of four launches",
    .assumes = "what the host does can be done on the GPU in about four launches",
    .expect = "fewer copies, and less idle_synchronisation and idle_host",
    .run = check_round_trip,
    .gaps = true,
    .frames = "which show the loop",
    .measured = true,
};
