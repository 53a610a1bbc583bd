// The host is late: the GPU waits for launches. Graphs, compilation, and what Python does between them.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "analyze/view/idle_cause.h"
#include "formats/base/str.h"

static const double HOST_BOUND_PCT = 20, /* of the window, idle because the host was late */
    LOOP_PCT = 5;                        /* of the steps */

enum {
    GRAPH_STEPS_LEAST = 3,
    GRAPH_GAP_LOW_NS = 0, /* between nodes of a graph: nothing to 1.5 us on current devices */
    GRAPH_GAP_HIGH_NS = 1500,
    GRAPH_LAUNCH_NS = 10000, /* the call that launches a graph, at most */
    GRAPH_START_NS = 60000,  /* from it to the first node, at most: measured at 62 us on an H200 */
    SMALL_GRAPH_NODES = 20,
    SMALL_GRAPHS_LEAST = 4,
    TURNS_LEAST = 64, /* launches in compiled loops, a step */
    UNROLLED = 8,
    LAUNCHES_LEAST = 100, /* that go, in a trace without steps */
    GAP_NS = 30000,       /* host time without any event */
    PLACE_NS = 200000, /* the same, in which more than a framework's own Python between operators may run */
    PLACE_TIMES = 10,  /* the usual gap */
};

/* ---- chains of kernels that a compiler fuses ---- */

/* OPTIMIZER: by item, is it part of an optimizer that needs many kernels? No compiled model has those. */
static bool is_fusible(const struct gp_rule_ctx *c, uint32_t item, const uint8_t *optimizer)
{
    uint32_t kind = c->items[item].kind;
    return (kind == GP_FRAME_ELEMENTWISE || kind == GP_FRAME_REDUCTION) && !c->items[item].compiled &&
           !optimizer[item] && !gp_kernel_is_multi_tensor(gp_rule_name(c, item));
}

/* Idle time of the stream just before an item that found the device idle. */
static int64_t idle_before(const struct gp_rule_ctx *c, uint32_t item, uint32_t previous)
{
    const struct gp_plan_item *p = c->p->items.at;
    int64_t idle = p[item].start_ns - p[previous].start_ns - gp_rule_dur(c, previous);
    return p[item].drained && idle > 0 ? idle : 0;
}

/* The remaining kernels are launched from compiled code, with no operators around them: at best in half the
 * time, and in none where XLA runs the whole step as one program. Those of a backward pass have no Python
 * around them anyway. */
static void edit_faster_launches(const struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t item,
                                 const uint8_t *optimizer)
{
    uint32_t call = c->p->items.at[item].call;
    if (c->p->replay.calls.at[call].n == 1 && !optimizer[item] && !c->items[item].backward)
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, call,
                                                c->single_ops ? 0 : c->calls[call].before_ns / 2}));
}

struct chains {
    int64_t members, launches_saved, host_ns, compiled;
};

/* Can I become part of the kernel that ran before it, for sure? A reduction reads what an elementwise kernel
 * wrote and the other way round; two reductions stay two kernels, and what the backward pass keeps for later
 * is written anyway. */
static bool surely_fused(const struct gp_rule_ctx *c, uint32_t i, uint32_t previous)
{
    return !c->items[i].backward && !c->items[previous].backward &&
           (c->items[i].kind == GP_FRAME_ELEMENTWISE || c->items[previous].kind == GP_FRAME_ELEMENTWISE);
}

/* Remove the launches of all but the first kernel of each chain: at least those that are certain, with the
 * idle time before them; at most all of them, with their whole host time. */
static struct chains edit_chains(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    const struct gp_plan *p = c->p;
    struct chains sum = {0};
    uint32_t previous = UINT32_MAX, run = 0;
    uint8_t *optimizer = gp_rule_optimizer_pieces(c);
    for (uint32_t i = 0; i < p->items.n; i++) {
        sum.compiled += c->items[i].compiled;
        if (s) edit_faster_launches(c, s, i, optimizer);
        if (!is_fusible(c, i, optimizer)) {
            previous = UINT32_MAX;
            continue;
        }
        bool member = previous != UINT32_MAX && p->items.at[previous].step == p->items.at[i].step &&
                      p->replay.items.at[previous].stream == p->replay.items.at[i].stream &&
                      !gp_plan_waits_between(p, previous, i);
        uint32_t call = p->items.at[i].call;
        if (member && p->replay.calls.at[call].n == 1) {
            int64_t before = c->calls[call].before_ns, idle = idle_before(c, i, previous);
            sum.launches_saved++;
            sum.host_ns += before + p->replay.calls.at[call].own_ns;
            if (s && surely_fused(c, i, previous))
                GP_VEC_PUSH(&s->low,
                            ((struct gp_edit){GP_EDIT_BEFORE, call, idle < before ? before - idle : 0}));
            if (s) {
                GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, call, 0}));
                GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_OWN, call, 0}));
            }
        }
        run = member ? run + 1 : 1;
        sum.members += run > 2 ? 1 : run == 2 ? 2 : 0; /* one that stays by itself forms no chain */
        previous = i;
    }
    free(optimizer);
    return sum;
}

static void host_is_free(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (!c->p->replay.calls.at[k].n) continue;
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_BEFORE, k, 0}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_OWN, k, 0}));
    }
}

/* Do all steps run the same kernels in the same order, some with grids that only grow, as with a cache that
 * is joined with each new token? */
static bool grids_grow(const struct gp_rule_ctx *c)
{
    const struct gp_plan_step *steps = c->p->steps.at;
    bool grown = false;
    if (c->p->steps.n < GRAPH_STEPS_LEAST || c->same_steps) return false;
    for (size_t s = 1; s < c->p->steps.n; s++)
        if (steps[s].n_items != steps[0].n_items) return false;
    for (uint32_t i = 0; i < steps[0].n_items; i++) {
        uint32_t first = steps[0].first_item + i;
        for (size_t s = 1; s < c->p->steps.n; s++) {
            uint32_t item = steps[s].first_item + i, before = steps[s - 1].first_item + i;
            if (c->t->configs.at[c->items[item].config].name !=
                    c->t->configs.at[c->items[first].config].name ||
                gp_rule_blocks(c, item) < gp_rule_blocks(c, before))
                return false;
            grown |= gp_rule_blocks(c, item) > gp_rule_blocks(c, before);
        }
    }
    return grown;
}

/* Why it is idle, and whether that is mostly what these changes leave: one long gap, or loading data. */
static const char *late_text(struct gp_rule_ctx *c, double late)
{
    bool held = 2 * gp_pct(c->held_ns, c->s->step.step_ns) > late;
    return gp_suggest_str(c->s,
                          gp_rule_text(c, "%.0f%% of the time because the host is late%s", late,
                                       held ? ", mostly since it loads data or does one other thing" : ""));
}

static void check_compile(struct gp_rule_ctx *c)
{
    double late = gp_rule_host_bound_pct(c);
    if (late < HOST_BOUND_PCT || c->p->drained * 2 < c->p->items.n) return;
    struct chains sum = edit_chains(c, NULL);
    if (sum.compiled * 10 >= (int64_t)c->p->items.n) return;
    if (sum.launches_saved < (int64_t)(2 * c->n_steps)) return;
    if (!c->p->found_steps && sum.launches_saved < LAUNCHES_LEAST) return; /* of a model that is made */
    struct gp_suggestion *s = gp_rule_suggest(c);
    edit_chains(c, s);
    host_is_free(c, s);
    s->current_ns = gp_rule_per_step(c, c->idle_ns[GP_IDLE_HOST] + c->idle_ns[GP_IDLE_LAUNCH]);
    s->resource_high_ns = gp_rule_per_step(c, sum.host_ns);
    bool grows = !c->jax && grids_grow(c);
    int64_t launches = gp_rule_per_step(c, sum.launches_saved), members = gp_rule_per_step(c, sum.members);
    s->description = gp_rule_text(
        c,
        "The GPU is idle %s; %lld of the %lld kernels per step are small and form chains that a "
        "compiler can fuse",
        late_text(c, late), (long long)members, (long long)gp_rule_per_step(c, gp_rule_kernels(c)));
    s->action =
        grows ? gp_intern_cstr(
                    &c->s->strings,
                    "give generation a static cache (cache_implementation=\"static\"), since sizes grow from "
                    "step to step and each would be compiled anew, then use torch.compile(model, "
                    "mode=\"reduce-overhead\")")
              : gp_rule_text(c, "use %s, or fuse these operators by hand", gp_rule_compiler(c));
    if (grows)
        s->change = gp_rule_text(c, "compile generation with a static cache: torch.compile(model, "
                                    "mode=\"reduce-overhead\")");
    s->formula = gp_rule_text(c,
                              "%lld launches per step go away: at least the idle time before each, at most "
                              "all of its host time (%s) and half of the host time before the others",
                              (long long)launches, gp_rule_ns(c, s->resource_high_ns));
    gp_rule_evidence_pct(s, "host_late", late);
    gp_rule_evidence_count(s, "launches", gp_rule_per_step(c, (int64_t)c->p->calls.n));
    gp_rule_evidence_count(s, "launches_saved", launches);
    gp_rule_evidence_ns(s, "queue_p50", c->s->step.queue_p50_ns);
}

const struct gp_rule gp_rule_compile = {
    .name = "compile",
    .type = GP_SUGGEST_COMPILE,
    .summary = "the host is late, and many launched kernels are small ones that a compiler can fuse",
    .needs = "kernels with their launch calls",
    .threshold = "idle because of the host 20% of the time; half of the kernels find the GPU idle",
    .guard =
        "a tenth of the kernels already come from a compiler; kernels between which the host reads a value; "
        "without steps, fewer than 100 launches that go",
    .assumes = "neighbouring elementwise and reduction kernels can be fused; the compiler's own "
               "guards cost less than the saving",
    .expect = "less idle_host and fewer launches",
    .run = check_compile,
    .measured = true,
    .general = true,
};

/* ---- one graph for a step ---- */

/* How often per step the host reads a value or two in the middle of it, if it waits for nothing else there;
 * UINT32_MAX: it does. */
static uint32_t reads_inside(const struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    uint32_t reads = 0;
    for (uint32_t k = 0; k < p->calls.n; k++) {
        const struct gp_plan_step *step = &p->steps.at[p->calls.at[k].step];
        if (!gp_plan_waited_for_result(p, k) || k + 1 == step->first_call + step->n_calls) continue;
        uint32_t copy = gp_rule_copy_waited_for(c, k);
        if (copy == GP_REPLAY_NONE || !gp_rule_is_scalar_read(c, copy)) return UINT32_MAX;
        reads++;
    }
    uint32_t steps = p->steps.n ? (uint32_t)p->steps.n : 1;
    return (reads + steps - 1) / steps;
}

/* Enough steps, all the same, without graphs yet and with no wait inside but for one value. */
static bool can_capture(const struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    if (p->steps.n < GRAPH_STEPS_LEAST || !p->found_steps || !c->same_steps) return false;
    for (uint32_t k = 0; k < p->calls.n; k++)
        if (p->replay.calls.at[k].n > 1) return false;
    return reads_inside(c) <= 1;
}

static bool is_fused_adam(const char *name) { return gp_name_has_one_of(name, " FusedAdam fused_adam "); }

/* Is there an optimizer among PIECES that counts its steps on the host, unless it is made capturable? Adam
 * and those like it do, which take roots; SGD does not. */
static bool counts_steps(const struct gp_rule_ctx *c, const uint8_t *pieces)
{
    bool any = gp_rule_any_kernel(c, is_fused_adam);
    for (uint32_t i = 0; i < c->p->items.n && !any; i++)
        any = pieces[i] && gp_name_has_one_of(gp_rule_name(c, i), " Sqrt sqrt addcdiv ");
    return any;
}

/* One launch per step; at least of all but an optimizer that counts its steps. Returns whether there is
 * one. */
static bool edit_graph(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    const struct gp_plan *p = c->p;
    uint8_t *pieces = gp_rule_optimizer_pieces(c);
    bool counts = counts_steps(c, pieces);
    for (uint32_t k = 0; k < p->calls.n; k++) {
        const struct gp_replay_call *call = &p->replay.calls.at[k];
        const struct gp_plan_step *step = &p->steps.at[p->calls.at[k].step];
        if (!call->n) continue;
        if (call->first == step->first_item) {
            GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_OWN, k, GRAPH_LAUNCH_NS}));
            GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_DELAY, call->first, GRAPH_START_NS}));
            continue;
        }
        struct gp_edit before = {GP_EDIT_BEFORE, k, 0}, own = {GP_EDIT_OWN, k, 0};
        GP_VEC_PUSH(&s->high, before);
        GP_VEC_PUSH(&s->high, own);
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_GAP, call->first, GRAPH_GAP_LOW_NS}));
        if (counts && pieces[call->first]) continue;
        GP_VEC_PUSH(&s->low, before);
        GP_VEC_PUSH(&s->low, own);
        GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_GAP, call->first, GRAPH_GAP_HIGH_NS}));
    }
    free(pieces);
    return counts;
}

static void check_cuda_graph(struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    double late = gp_rule_host_bound_pct(c);
    if (late < HOST_BOUND_PCT / 2 || !can_capture(c)) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    bool optimizer = edit_graph(c, s), reads = reads_inside(c) > 0;
    const char *whole = c->single_ops ? "compile the whole step as one function with jax.jit"
                                      : "run several steps in one call of a jitted function (jax.lax.scan)";
    s->unsure = reads; /* the value may be needed: at least nothing */
    if (reads) s->low.n = 0;
    host_is_free(c, s);
    int64_t n = gp_rule_per_step(c, (int64_t)p->items.n), kernels = gp_rule_per_step(c, gp_rule_kernels(c));
    s->current_ns = gp_rule_per_step(c, c->idle_ns[GP_IDLE_HOST] + c->idle_ns[GP_IDLE_LAUNCH]);
    s->description = gp_rule_text(c,
                                  "All %zu steps launch the same %lld kernels with the same grids%s, and the "
                                  "GPU is idle %s",
                                  p->steps.n, (long long)kernels,
                                  n > kernels ? " and the same copies and sets" : "", late_text(c, late));
    s->action =
        c->jax ? gp_rule_text(c, "%s%s, which XLA can launch as a CUDA graph",
                              reads ? "read no value in the middle of the step, then " : "", whole)
        : c->torch
            ? gp_rule_text(c,
                           "capture the step as a CUDA graph%s: torch.cuda.graph%s, or "
                           "torch.compile(mode=\"reduce-overhead\")",
                           reads ? ", if nothing needs the value that is read in the middle of it, in your "
                                   "own code or in a library"
                                 : "",
                           optimizer ? " with an optimizer made with capturable=True" : "")
            : gp_rule_text(c,
                           "capture the step as a CUDA graph (torch.cuda.graph in PyTorch, otherwise "
                           "cudaStreamBeginCapture or what calls it)%s",
                           reads ? ", without the value that is read in it" : "");
    if (reads)
        s->change = gp_rule_text(c, "%s, with no value read in the middle of it",
                                 c->jax ? whole : "capture the step as a CUDA graph");
    s->formula = gp_rule_text(
        c,
        "one launch instead of %lld: the busy time, %lld gaps of at most 1.5 us, and up to 60 us to start%s",
        (long long)gp_rule_per_step(c, (int64_t)p->calls.n), (long long)n,
        optimizer ? "; at least without the optimizer, which stays as it is" : "");
    gp_rule_evidence_pct(s, "host_late", late);
    gp_rule_evidence_count(s, "kernels", kernels);
    gp_rule_evidence_count(s, "gpu_events", n);
    gp_rule_evidence_count(s, "identical_steps", (int64_t)p->steps.n);
    gp_rule_evidence_ns(s, "queue_p50", c->s->step.queue_p50_ns);
}

const struct gp_rule gp_rule_cuda_graph = {
    .name = "cuda_graph",
    .type = GP_SUGGEST_LAUNCH,
    .summary = "the host is late, and every step launches the same kernels",
    .needs = "kernels with their launch calls, three steps",
    .threshold = "idle because of the host 10% of the time; all steps have the same kernels, grids and order",
    .guard = "the host waits inside a step, but for one value that it reads; the trace already has graphs; "
             "grids change",
    .assumes = "shapes do not change; nothing in a step depends on values that the host reads",
    .expect = "one launch per step and no idle_host inside it",
    .run = check_cuda_graph,
    .measured = true,
    .general = true,
    .least_pct = 38,
};

/* ---- graphs that are too small ---- */

static void check_small_graphs(struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    struct gp_suggestion edits = {0};
    int64_t graphs = 0, nodes = 0;
    for (uint32_t k = 0, step = UINT32_MAX; k < p->calls.n; k++) {
        if (!gp_call_launches_graph(c->calls[k].name)) continue;
        bool first = p->calls.at[k].step != step;
        step = p->calls.at[k].step;
        graphs++;
        nodes += p->replay.calls.at[k].n;
        if (first) continue;
        gp_rule_edit_all(&edits, GP_EDIT_OWN, k, 0);
        gp_rule_edit_high(&edits, GP_EDIT_BEFORE, k, 0);
    }
    bool enough = graphs >= (int64_t)(SMALL_GRAPHS_LEAST * c->n_steps) && nodes < SMALL_GRAPH_NODES * graphs;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->description =
        gp_rule_text(c, "%lld CUDA graphs are launched per step, with %lld nodes each on average",
                     (long long)gp_rule_per_step(c, graphs), (long long)(nodes / graphs));
    gp_rule_evidence_count(s, "graphs", gp_rule_per_step(c, graphs));
    gp_rule_evidence_count(s, "nodes_a_graph", nodes / graphs);
}

const struct gp_rule gp_rule_small_graphs = {
    .name = "small_graphs",
    .type = GP_SUGGEST_LAUNCH,
    .summary = "many small CUDA graphs instead of one large graph",
    .needs = "graph launches",
    .threshold = "four graphs per step, of fewer than 20 nodes each",
    .guard = "",
    .action = "capture more into one graph; find what ends each capture",
    .formula = "all launches but one go away: at least their own time, at most also the host time "
               "between them",
    .expect = "fewer launches",
    .run = check_small_graphs,
};

/* ---- loops that JAX compiles ---- */

static void check_scan_loop(struct gp_rule_ctx *c)
{
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    struct gp_host_memo memo = {.hs = &c->v->hs};
    struct gp_suggestion edits = {0};
    uint32_t last = GP_HOST_NONE;
    int64_t launches = 0, gpu_ns = 0;
    for (uint32_t k = 0; k < c->p->calls.n && c->jax; k++) {
        const struct gp_replay_call *call = &c->p->replay.calls.at[k];
        uint32_t node = gp_rule_outermost(c, &memo, c->calls[k].node, GP_NEED(GP_RANGE), gp_range_is_while);
        if (node == GP_HOST_NONE || !call->n) continue;
        bool unrolls = ++launches % UNROLLED != 0;
        calls[k] = 1;
        edits.current_ns += c->calls[k].before_ns + call->own_ns;
        for (uint32_t i = call->first; i < call->first + call->n; i++) {
            gpu_ns += gp_rule_dur(c, i);
            unrolls &= gp_name_has_one_of(gp_rule_name(c, i), " loop_ memcpy Memcpy "); /* XLA fuses these */
            if (node == last) gp_rule_edit_high(&edits, GP_EDIT_GONE, i, 0);
        }
        for (int kind = GP_EDIT_BEFORE; node == last && kind <= GP_EDIT_OWN; kind++) {
            if (unrolls) GP_VEC_PUSH(&edits.low, ((struct gp_edit){(enum gp_edit_kind)kind, k, 0}));
            gp_rule_edit_high(&edits, (enum gp_edit_kind)kind, k, 0);
        }
        last = node;
    }
    gp_host_memo_release(&memo);
    if (launches >= (int64_t)(TURNS_LEAST * c->n_steps) && gpu_ns * 2 < edits.current_ns &&
        gp_pct(edits.current_ns, c->plan_ns) >= LOOP_PCT) {
        gp_rule_absorb(c, calls, " small_graphs cuda_graph compile tiny_kernels fusion batching ", NULL);
        struct gp_suggestion *s = gp_rule_suggest_edits(c, true, &edits);
        s->description = gp_rule_text(
            c, "XLA launches each turn of compiled loops anew: %lld launches per step, %s each on the GPU",
            (long long)gp_rule_per_step(c, launches), gp_rule_ns(c, gpu_ns / launches));
        gp_rule_evidence_count(s, "launches", gp_rule_per_step(c, launches));
    }
    gp_suggestion_release(&edits);
    free(calls);
}

const struct gp_rule gp_rule_scan_loop = {
    .name = "scan_loop",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "the turns of a loop that JAX has compiled are launched one after the other",
    .needs = "kernels with their launch calls, XLA's ranges",
    .threshold = "64 launches per step in ranges of XLA's while loops, 5% of the time",
    .guard = "turns that keep the GPU busy for half of the time; loops of Python around compiled functions",
    .action =
        "use jax.lax.associative_scan, if a turn is a linear or another associative function of what the one "
        "before gave; otherwise let each launch do several turns: jax.lax.scan(..., unroll=8)",
    .change = "compute all turns at once with jax.lax.associative_scan, or several per launch with unroll",
    .formula =
        "at least seven of eight launches of elementwise kernels go, which XLA fuses with those of other "
        "turns; at most all turns but the first",
    .assumes =
        "a turn depends on the one before only by what a scan can combine; or unrolled turns are fused",
    .expect = "fewer launches",
    .run = check_scan_loop,
};

/* ---- graph breaks ---- */

/* A region that torch.compile made one function: its name begins so in operators and ranges. */
static bool is_region(const char *name)
{
    return gp_starts(name, "Torch-Compiled Region") || gp_starts(name, "CompiledFunction") ||
           strstr(name, "Call CompiledFxGraph") != NULL;
}

struct breaks {
    /* changes from one region to another of the same phase, and the host time there */
    int64_t count;
    uint32_t example; /* a call that comes after one */
};

/* Walk through the calls; there is a break between two regions of the same direction (forward, backward) in a
 * step. */
static struct breaks find_breaks(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    struct breaks b = {.example = UINT32_MAX};
    uint32_t last = GP_HOST_NONE, last_call = 0;
    struct gp_host_memo regions = {.hs = &c->v->hs};
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (!c->p->replay.calls.at[k].n) continue;
        uint32_t region = gp_rule_outermost(c, &regions, c->calls[k].node, GP_NEED_ALL, is_region);
        if (region == GP_HOST_NONE) continue;
        bool backward = c->items[c->p->replay.calls.at[k].first].backward,
             backward_before =
                 last == GP_HOST_NONE || c->items[c->p->replay.calls.at[last_call].first].backward;
        if (last != GP_HOST_NONE && region != last && backward == backward_before &&
            c->p->calls.at[k].step == c->p->calls.at[last_call].step) {
            b.count++;
            b.example = k;
            for (uint32_t i = last_call + 1; i <= k; i++) {
                s->current_ns += c->calls[i].before_ns;
                GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, i, c->calls[i].before_ns / 2}));
                gp_rule_edit_high(s, GP_EDIT_BEFORE, i, 0);
            }
        }
        last = region;
        last_call = k;
    }
    gp_host_memo_release(&regions);
    return b;
}

static void check_graph_breaks(struct gp_rule_ctx *c)
{
    struct gp_suggestion edits = {0};
    struct breaks b = find_breaks(c, &edits);
    struct gp_suggestion *s = gp_rule_suggest_edits(c, b.count >= (int64_t)c->n_steps, &edits);
    if (!s) return;
    s->resource_low_ns = s->current_ns / 2;
    if (c->calls[b.example].op != UINT32_MAX)
        s->operation = gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[c->calls[b.example].op]);
    s->description = gp_rule_text(c,
                                  "Graph breaks split the model: execution changes compiled regions %lld "
                                  "times per step, which costs %s of host time",
                                  (long long)gp_rule_per_step(c, b.count), gp_rule_ns(c, s->current_ns));
    gp_rule_evidence_count(s, "breaks", gp_rule_per_step(c, b.count));
    gp_rule_evidence_ns(s, "host_between", s->current_ns);
}

const struct gp_rule gp_rule_graph_breaks = {
    .name = "graph_breaks",
    .type = GP_SUGGEST_COMPILE,
    .summary = "a compiled model runs in several pieces",
    .needs = "operators or ranges of compiled regions",
    .threshold = "per step, one transition between regions of the same phase",
    .guard = "a change from forward to backward",
    .action = "remove what breaks the graph (prints, .item(), unsupported calls): run it with "
              "TORCH_TRACE=logs, and \"trace-compile logs\" with this trace reports where, why and "
              "what each break costs; torch.compile(fullgraph=True) turns a break into an error",
    .formula = "at least half of the host time between regions, at most all of it",
    .assumes = "the breaks are not intentional",
    .expect = "one region per phase and less idle_host",
    .run = check_graph_breaks,
    .gaps = true,
    .to_know = "record the compiler's log (TORCH_TRACE) and read it with trace-compile",
    .measured = true,
};

/* ---- Python between launches ---- */

/* The innermost event that is not a range. */
static uint32_t no_range_in(void *ctx, uint32_t node, uint32_t around)
{
    const struct gp_host_stack *hs = ctx;
    return hs->nodes[node].table == GP_RANGE ? around : node;
}

/* Host time before a call during which nothing recorded ran on its thread. */
static int64_t unseen_before(const struct gp_rule_ctx *c, struct gp_host_memo *running, uint32_t call)
{
    const struct gp_events *api = &c->t->events[GP_API];
    uint32_t row = c->p->calls.at[call].row, track = api->track[row];
    int64_t until = api->start_ns[row], since = until - c->calls[call].before_ns;
    const struct gp_host_stack *hs = &c->v->hs;
    uint32_t lo = hs->first[track], hi = hs->end[track], first = lo;
    while (lo < hi) { /* the first that begins at `until` or later */
        uint32_t mid = lo + (hi - lo) / 2;
        if (hs->nodes[mid].start_ns < until) lo = mid + 1;
        else hi = mid;
    }
    /* Events that begin in the gap, from its end on, and those that are open around it. */
    int64_t unseen = 0, at = until;
    for (uint32_t i = lo; i-- > first && hs->nodes[i].start_ns >= since;) {
        if (hs->nodes[i].table == GP_RANGE) continue; /* being in a range does not count as work */
        if (hs->nodes[i].end_ns < at) unseen += at - hs->nodes[i].end_ns;
        if (hs->nodes[i].start_ns < at) at = hs->nodes[i].start_ns;
    }
    if (gp_host_memo_get(running, gp_host_at(hs, track, since), no_range_in, (void *)(uintptr_t)hs) !=
        GP_HOST_NONE)
        return unseen;
    return unseen + (at > since ? at - since : 0);
}

/* Is ITEM where forward turns into backward: the last one that the program launches, or the first one of
 * autograd? It prepares there. */
static bool begins_backward(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan_step *step = &c->p->steps.at[c->p->items.at[item].step];
    uint32_t end = step->first_item + step->n_items;
    bool last = !c->items[item].backward && item + 1 < end && c->items[item + 1].backward;
    return last || (c->items[item].backward && item > step->first_item && !c->items[item - 1].backward);
}

static void check_python_gap(struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    if (!c->t->events[GP_OP].n || !c->same_steps || gp_rule_host_bound_pct(c) < HOST_BOUND_PCT) return;
    uint32_t n = p->steps.at[0].n_calls;
    for (size_t i = 1; i < p->steps.n; i++)
        if (p->steps.at[i].n_calls != n) return;
    uint32_t worst = UINT32_MAX;
    int64_t most = 0, *by_call = gp_zalloc((p->calls.n + 1) * sizeof *by_call), total = 0, places = 0;
    int64_t least = gp_mul_saturated(gp_rule_usual_gap(c), PLACE_TIMES);
    if (least < PLACE_NS) least = PLACE_NS;
    uint8_t *optimizer = gp_rule_optimizer_pieces(c);
    struct gp_host_memo running = {.hs = &c->v->hs};
    for (uint32_t k = 1; k < n; k++) { /* the first of a step follows what is between steps */
        int64_t sum = 0;
        size_t seen = 0;
        for (size_t i = 0; i < p->steps.n; i++) {
            uint32_t call = p->steps.at[i].first_call + k;
            int64_t unseen = unseen_before(c, &running, call);
            if (unseen >= GAP_NS) seen++, sum += unseen, by_call[call] = unseen;
        }
        const struct gp_replay_call *call = &p->replay.calls.at[p->steps.at[0].first_call + k];
        bool own = call->n && (optimizer[call->first] || begins_backward(c, call->first) ||
                               gp_kernel_is_fused_optimizer(gp_rule_name(c, call->first)));
        if (seen * 5 < p->steps.n * 4 || own || sum < least * (int64_t)seen) {
            for (size_t i = 0; i < p->steps.n; i++) by_call[p->steps.at[i].first_call + k] = 0;
            continue;
        }
        places++;
        total += sum;
        if (sum > most) most = sum, worst = p->steps.at[0].first_call + k;
    }
    gp_host_memo_release(&running);
    free(optimizer);
    if (worst != UINT32_MAX && gp_pct(total, c->plan_ns) >= 1) {
        struct gp_suggestion *s = gp_rule_suggest(c);
        gp_rule_save_host(c, s, by_call);
        s->low.n = 0; /* it may be needed: at least nothing */
        s->looks = true;
        s->current_ns = s->resource_high_ns = gp_rule_per_step(c, total);
        if (c->calls[worst].op != UINT32_MAX)
            s->operation = gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[c->calls[worst].op]);
        s->description =
            gp_rule_text(c,
                         "At %lld place%s in every step, nothing is recorded on the launching thread for 200 "
                         "us or more (%s in all); the longest gap is before this operator",
                         (long long)places, places == 1 ? "" : "s", gp_rule_ns(c, s->current_ns));
        s->action =
            gp_rule_python_is_known(c)
                ? gp_rule_text(c, "look there in trace2timeline, and move what runs out of the step")
                : gp_rule_text(c,
                               "record with Python frames (%s) to see what runs there, then move it out of "
                               "the step",
                               gp_rule_shows_python(c));
        gp_rule_evidence_count(s, "places", places);
        gp_rule_evidence_ns(s, "unseen", s->current_ns);
    }
    free(by_call);
}

const struct gp_rule gp_rule_python_gap = {
    .name = "python_gap",
    .type = GP_SUGGEST_LAUNCH,
    .summary = "the launching thread spends time on something unrecorded, at the same place in each step",
    .needs = "operators, launch calls, equal steps",
    .threshold = "200 us and ten usual gaps at the same place in 80% of the steps; 1% of the time in all",
    .guard = "the GPU does not wait for the host; an optimizer; where autograd begins",
    .formula = "between nothing and all of that time",
    .assumes = "the time is work of this thread, not of the garbage collector or another thread",
    .expect = "less idle_host",
    .run = check_python_gap,
    .gaps = true,
    .frames = "which show what runs there",
};
