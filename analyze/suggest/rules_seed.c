// Rules about a step as a whole and its operators: an idle device, repeated and constant work, CPU work,
// memory, one process for several devices.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/args.h"
#include "analyze/cost/occupancy.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "analyze/view/idle_cause.h"

static const double BUSY_PCT = 75;      /* of the time, below which the device counts as idle */
static const double EXPLAINED_PCT = 10; /* of the step, saved by other suggestions */
static const double BATCH_PCT = 1;      /* of the busy time */
static const double CPU_PCT = 1;        /* of the time */
static const double MEMORY_PCT = 90;    /* of the device's */

enum {
    RUN_LEAST = 10,        /* equal kernels in a row */
    CONSTANTS_LEAST = 100, /* equal operators per step */
    CPU_NS = 10000000,     /* of one operator of the CPU */
    REPEATED = 3,          /* occurrences: the first is a warm-up */
};

static void add_high(struct gp_suggestion *s, enum gp_edit_kind kind, uint32_t index, int64_t ns)
{
    GP_VEC_PUSH(&s->high, ((struct gp_edit){kind, index, ns}));
    GP_VEC_PUSH(&s->free, ((struct gp_edit){kind, index, ns}));
}

/* ---- equal kernels in a row ---- */

/* Does ITEM run the same as the previous item in its step, on the same stream? */
static bool repeats(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan *p = c->p;
    return item && c->items[item].config == c->items[item - 1].config &&
           p->items.at[item].step == p->items.at[item - 1].step &&
           p->replay.items.at[item].stream == p->replay.items.at[item - 1].stream;
}

/* Share of the device that one launch fills, 0..1; 0 if unknown, if it fills all of it, or if it cannot be
 * batched. */
static double fills(const struct gp_rule_ctx *c, uint32_t item)
{
    struct gp_occupancy o;
    const struct gp_config *config = &c->t->configs.at[c->items[item].config];
    if (gp_class_of((enum gp_frame_kind)c->items[item].kind) != GP_CLASS_COMPUTE) return 0;
    if (gp_kernel_is_multi_tensor(gp_trace_str(c->t, config->name))) return 0;
    gp_occupancy_of(&o, c->t, config, c->props);
    return o.waves < 1 ? o.waves : 0;
}

struct batches {
    int64_t runs, count, total_ns, saved_ns;
    uint32_t longest; /* item that begins the longest run; UINT32_MAX none */
    uint32_t most;    /* kernels in it */
};

/* One launch for the run [FROM, TO): it takes as long as its longest kernel, or as its waves. */
static void batch_run(const struct gp_rule_ctx *c, uint32_t from, uint32_t to, struct batches *sum,
                      struct gp_suggestion *s)
{
    double part = fills(c, from);
    uint32_t n = to - from;
    int64_t total = 0, longest = 0;
    if (n < RUN_LEAST || part <= 0) return;
    for (uint32_t i = from; i < to; i++) {
        total += gp_rule_dur(c, i);
        if (gp_rule_dur(c, i) > longest) longest = gp_rule_dur(c, i);
    }
    int64_t empty = c->s->empty_ns < total / n ? c->s->empty_ns * n : total; /* begins and ends n times */
    int64_t batched = (int64_t)((double)(total - empty) * part);
    if (batched < longest) batched = longest;
    sum->runs++;
    sum->count += n;
    sum->total_ns += total;
    sum->saved_ns += total - batched;
    if (n > sum->most) sum->most = n, sum->longest = from;
    for (uint32_t i = from; s && i < to; i++) {
        uint32_t call = c->p->items.at[i].call;
        add_high(s, GP_EDIT_DUR, i, batched / n);
        if (i == from) continue;
        add_high(s, GP_EDIT_GAP, i, 0);
        if (c->p->replay.calls.at[call].n != 1) continue;
        add_high(s, GP_EDIT_BEFORE, call, 0);
        add_high(s, GP_EDIT_OWN, call, 0);
    }
}

static struct batches find_batches(const struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    struct batches sum = {.longest = UINT32_MAX};
    for (uint32_t from = 0, to; from < c->p->items.n; from = to) {
        for (to = from + 1; to < c->p->items.n && repeats(c, to);) to++;
        batch_run(c, from, to, &sum, s);
    }
    return sum;
}

static void ask_batching(struct gp_rule_ctx *c)
{
    struct batches sum = find_batches(c, NULL);
    if (sum.runs < (int64_t)c->n_steps || gp_pct(sum.total_ns, c->busy_ns) < BATCH_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    find_batches(c, s);
    s->operation = gp_rule_item_label(c, sum.longest);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.saved_ns);
    s->description = gp_rule_text(
        c,
        "Kernels (%lld per step, %s) are launched in runs of equal kernels with equal grids that "
        "fill only part of the device; the longest run has %u",
        (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), sum.most);
    s->action = gp_rule_text(c, "replace each run of equal kernels with one launch: %s",
                             gp_rule_in(c, "bmm, torch.stack, torch.vmap, or a _foreach_ operator",
                                        "jax.vmap, or one batched product"));
    s->formula = gp_rule_text(c, "between nothing and all launches but one per run, with kernels running "
                                 "side by side until the device is full");
    s->assumes =
        gp_rule_text(c, "the kernels do not need one another's results, which a trace does not show");
    s->check = gp_rule_text(c, "record again and run trace-diff: expect fewer launches and larger grids");
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_count(s, "rows", gp_rule_per_step(c, sum.runs));
    gp_rule_evidence_count(s, "longest_row", sum.most);
}

const struct gp_rule gp_rule_batching = {
    .name = "batching",
    .type = GP_SUGGEST_BATCHING,
    .summary = "runs of equal kernels that one launch could replace",
    .needs = "grids, blocks, registers and shared memory, the device's properties",
    .threshold =
        "10 equal kernels with equal grids and nothing between them, in each step; 1% of the busy time",
    .guard = "kernels that fill the device or already process many tensors; the low end is nothing, as the "
             "trace does not show whether they depend on one another",
    .run = ask_batching,
    .to_know = "record operators with shapes",
    .sizes = true,
    .measured = true,
    .least_pct = 35,
};

/* ---- the CPU works while the device waits ---- */

/* Is it an operator by name? Those that wait, move or allocate belong to other rules. */
static bool is_cpu_work(const char *name)
{
    return strstr(name, "::") && !strstr(name, "autograd") && !strstr(name, "DataLoader") &&
           !strstr(name, "::item") && !strstr(name, "local_scalar_dense") && !strstr(name, "::empty");
}

/* The first row of TABLE that starts at AT or later. */
static size_t row_from(const struct gp_events *e, int64_t at_ns)
{
    size_t lo = 0, hi = e->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (e->start_ns[mid] < at_ns) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

static bool has_call_inside(const struct gp_rule_ctx *c, size_t op)
{
    const struct gp_events *ops = &c->t->events[GP_OP], *api = &c->t->events[GP_API];
    int64_t end = ops->start_ns[op] + ops->dur_ns[op];
    for (size_t i = row_from(api, ops->start_ns[op]); i < api->n && api->start_ns[i] < end; i++)
        if (api->track[i] == ops->track[op]) return true;
    return false;
}

struct cpu_work {
    int64_t count, total_ns, most_ns;
    uint32_t longest; /* row of GP_OP; UINT32_MAX none */
};

/* Operators without any call in the host time before CALL; of nested ones only the outermost counts. */
static void look_before(const struct gp_rule_ctx *c, uint32_t call, struct cpu_work *sum,
                        struct gp_suggestion *s)
{
    const struct gp_events *ops = &c->t->events[GP_OP], *api = &c->t->events[GP_API];
    uint32_t row = c->p->calls.at[call].row;
    int64_t until = api->start_ns[row], from = until - c->calls[call].before_ns, time = 0;
    for (size_t i = row_from(ops, from); i < ops->n && ops->start_ns[i] < until; i++) {
        int64_t end = ops->start_ns[i] + ops->dur_ns[i];
        if (ops->dur_ns[i] < CPU_NS || ops->start_ns[i] < from || end > until) continue;
        if (ops->track[i] != api->track[row] || has_call_inside(c, i)) continue;
        if (!is_cpu_work(gp_trace_str(c->t, ops->name[i]))) continue;
        from = end;
        time += ops->dur_ns[i];
        sum->count++;
        if (ops->dur_ns[i] > sum->most_ns) sum->most_ns = ops->dur_ns[i], sum->longest = (uint32_t)i;
    }
    sum->total_ns += time;
    if (s && time) add_high(s, GP_EDIT_BEFORE, call, c->calls[call].before_ns - time);
}

static struct cpu_work find_cpu_work(const struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    struct cpu_work sum = {.longest = UINT32_MAX};
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        if (c->calls[k].before_ns >= CPU_NS) look_before(c, k, &sum, s);
    return sum;
}

static void ask_routing(struct gp_rule_ctx *c)
{
    struct cpu_work sum = find_cpu_work(c, NULL);
    if (sum.count < REPEATED || sum.count * 2 < (int64_t)c->n_steps) return;
    if (gp_pct(sum.total_ns, c->plan_ns) < CPU_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    find_cpu_work(c, s);
    s->operation = gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[sum.longest]);
    s->current_ns = s->resource_high_ns = gp_rule_per_step(c, sum.total_ns);
    s->description =
        gp_rule_text(c, "The launching thread runs operators on the CPU for %s per step, the longest for %s",
                     gp_rule_ns(c, s->current_ns), gp_rule_ns(c, sum.most_ns));
    s->action = gp_rule_text(c, "find out why these operators take so long; run them on the GPU, or ahead of "
                                "time in another thread or process");
    s->change = gp_rule_text(c, "run these operators on the GPU, or ahead of time");
    s->formula = gp_rule_text(c, "between nothing and a replay of the steps without that host time");
    s->assumes = gp_rule_text(c, "the results can be produced elsewhere at no cost to this thread");
    s->check = gp_rule_text(c, "record again and run trace-diff: expect less idle_host");
    gp_rule_evidence_count(s, "operators", sum.count);
    gp_rule_evidence_ns(s, "host_time", s->current_ns);
}

const struct gp_rule gp_rule_routing = {
    .name = "routing",
    .type = GP_SUGGEST_ROUTING,
    .summary = "long CPU operators on the launching thread",
    .needs = "operators, launch calls",
    .threshold = "operators of 10 ms without a call to the GPU, in every second step and three times in all; "
                 "1% of the time",
    .guard = "threads that launch nothing; kernels, however short, stay on the GPU",
    .run = ask_routing,
};

/* ---- memory ---- */

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

static void ask_memory_peak(struct gp_rule_ctx *c)
{
    const struct gp_events *m = &c->t->events[GP_MEMORY];
    int64_t peak = 0, reserved = 0, size = c->props ? c->props->memory_bytes : 0;
    for (size_t i = 0; i < m->n; i++) {
        if (gp_get_total(m, i) <= peak || !is_device_memory(c->t, i)) continue;
        peak = gp_get_total(m, i);
        reserved = gp_get_reserved(m, i);
    }
    if (size <= 0 || gp_pct(peak, size) <= MEMORY_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    s->description = gp_rule_text(
        c, "Allocated memory peaks at %.1f GB, %.0f%% of the device's memory: larger batches will not fit",
        (double)peak / 1e9, gp_pct(peak, size));
    s->action = gp_rule_text(
        c, "use smaller types, activation checkpointing, a chunked loss, or gradients set to None");
    s->formula = gp_rule_text(c, "no saving of time is claimed: it saves memory");
    s->check = gp_rule_text(c, "record again with profile_memory: expect a lower peak");
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
    .run = ask_memory_peak,
};

/* ---- a process for several devices ---- */

static bool is_data_parallel(const char *name)
{
    return !strcmp(name, "DataParallel.forward");
}

/* Number of rows of TABLE, within the steps, that are a forward pass of one process on several devices. */
static int64_t count_data_parallel(const struct gp_rule_ctx *c, enum gp_table table)
{
    const struct gp_events *e = &c->t->events[table];
    int64_t count = 0, end = c->p->steps.at[c->p->steps.n - 1].end_ns;
    for (size_t i = row_from(e, c->p->begin_ns); i < e->n && e->start_ns[i] < end; i++)
        count += is_data_parallel(gp_trace_str(c->t, e->name[i]));
    return count;
}

static void ask_data_parallel(struct gp_rule_ctx *c)
{
    int64_t count = count_data_parallel(c, GP_OP) + count_data_parallel(c, GP_RANGE);
    if (!count) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    s->operation = gp_rule_text(c, "DataParallel.forward");
    s->description = gp_rule_text(
        c,
        "One process drives several devices (torch.nn.DataParallel, %lld times in %zu steps): it "
        "copies the model to them each time, and its threads share one interpreter",
        (long long)count, c->n_steps);
    s->action = gp_rule_text(c, "use torch.nn.parallel.DistributedDataParallel, with one process per device");
    s->formula =
        gp_rule_text(c, "no saving is claimed: a replay of this program cannot predict the other one");
    s->check = gp_rule_text(c, "record all ranks and run trace-diff");
    gp_rule_evidence_count(s, "forward_passes", count);
}

const struct gp_rule gp_rule_data_parallel = {
    .name = "data_parallel",
    .type = GP_SUGGEST_PARALLELIZATION,
    .summary = "one process that drives several devices with torch.nn.DataParallel",
    .needs = "operators or ranges",
    .threshold = "once",
    .guard = "DistributedDataParallel; no saving is claimed",
    .run = ask_data_parallel,
};

/* ---- constants that are made again and again ---- */

static bool makes_constant(const char *name)
{
    static const char *const names[] = {"aten::arange",        "aten::full",         "aten::ones",
                                        "aten::zeros",         "aten::eye",          "aten::linspace",
                                        "aten::scalar_tensor", "aten::tril_indices", "aten::triu_indices"};
    for (size_t i = 0; i < GP_COUNT(names); i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* The recorded inputs of an operator: equal if text and length are equal. */
struct given {
    const char *inputs;
    size_t n;
};

static struct given inputs_of(const struct gp_rule_ctx *c, size_t op)
{
    struct gp_arg a;
    struct given given = {0};
    const char *at = gp_trace_str(c->t, gp_get_extra(&c->t->events[GP_OP], op));
    while (gp_args_next(&at, &a))
        if (gp_arg_is(&a, "Concrete Inputs")) given = (struct given){a.value, a.n};
    return given;
}

struct constant {
    gp_sid name;
    struct given given;
    uint32_t call;
    uint32_t op;
};

static int compare_constants(const void *a, const void *b)
{
    const struct constant *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->given.n != y->given.n) return x->given.n < y->given.n ? -1 : 1;
    int order = memcmp(x->given.inputs, y->given.inputs, x->given.n);
    if (order) return order;
    return x->call < y->call ? -1 : x->call > y->call;
}

/* A node that autograd itself made for an operator, "SelectBackward0", or the engine around it: its constants
 * are PyTorch's. The backward pass of a function of the program has no digit. */
static bool is_autograd_node(const char *name)
{
    const char *part = strstr(name, "Backward"), *next;
    while (part && (next = strstr(part + 1, "Backward"))) part = next;
    return part && part[strlen("Backward")] >= '0' && part[strlen("Backward")] <= '9';
}

/* The launch calls of operators that create constants; the outermost such operator counts. Returns their
 * number. */
static size_t find_constants(const struct gp_rule_ctx *c, struct constant *all)
{
    size_t n = 0;
    struct gp_host_memo makers = {.hs = &c->v->hs}, engine = {.hs = &c->v->hs};
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        uint32_t node = gp_rule_outermost(c, &makers, c->calls[k].node, GP_NEED(GP_OP), makes_constant);
        if (node == GP_HOST_NONE) continue;
        if (gp_rule_outermost(c, &engine, node, GP_NEED(GP_OP), is_autograd_node) != GP_HOST_NONE) continue;
        uint32_t op = c->v->hs.nodes[node].row;
        struct given given = inputs_of(c, op);
        if (given.n) all[n++] = (struct constant){c->t->events[GP_OP].name[op], given, k, op};
    }
    gp_host_memo_release(&makers);
    gp_host_memo_release(&engine);
    return n;
}

struct constants {
    int64_t count, host_ns;
    uint32_t op; /* row of GP_OP; UINT32_MAX none */
    size_t most;
    int64_t *by_call; /* host time in the operators before each call */
};

/* When the program began to ask for operator OP: after the event before it on its thread, but not longer
 * before than it takes. */
static int64_t asked_for_at(const struct gp_rule_ctx *c, uint32_t op)
{
    const struct gp_host_stack *hs = &c->v->hs;
    uint32_t node = gp_host_node(hs, GP_OP, op), before = node ? node - 1 : GP_HOST_NONE;
    int64_t begin = c->t->events[GP_OP].start_ns[op], most = c->t->events[GP_OP].dur_ns[op];
    while (before != GP_HOST_NONE && hs->nodes[before].parent != hs->nodes[node].parent)
        before = hs->nodes[before].parent;
    if (before == GP_HOST_NONE || gp_host_track(hs, before) != gp_host_track(hs, node)) return begin;
    if (hs->nodes[before].end_ns > begin) return begin;
    int64_t pause = begin - hs->nodes[before].end_ns;
    return begin - (pause < most ? pause : most);
}

/* N equal constants, by call: all but the first of each step can go. If they are made once per step, RECUR,
 * all can be kept from step to step. */
static void add_constants(const struct gp_rule_ctx *c, const struct constant *at, size_t n, bool recur,
                          struct constants *sum, struct gp_suggestion *s)
{
    uint32_t step = UINT32_MAX;
    if (n > sum->most) sum->most = n, sum->op = at[0].op;
    for (size_t i = 0; i < n; i++) {
        const struct gp_replay_call *call = &c->p->replay.calls.at[at[i].call];
        bool first = c->p->calls.at[at[i].call].step != step;
        step = c->p->calls.at[at[i].call].step;
        if (first && !recur) continue;
        const struct gp_events *ops = &c->t->events[GP_OP];
        int64_t end = ops->start_ns[at[i].op] + ops->dur_ns[at[i].op], begin = asked_for_at(c, at[i].op);
        sum->count++;
        sum->host_ns += gp_rule_time_before_calls(c, begin, end, sum->by_call) + call->own_ns;
        if (!s) continue;
        add_high(s, GP_EDIT_OWN, at[i].call, 0);
        for (uint32_t item = call->first; item < call->first + call->n; item++)
            add_high(s, GP_EDIT_GONE, item, 0);
    }
}

/* The end of the constants that equal the one at FROM. */
static size_t equal_until(const struct constant *all, size_t n, size_t from)
{
    size_t to = from + 1;
    while (to < n && all[to].name == all[from].name && all[to].given.n == all[from].given.n &&
           !memcmp(all[to].given.inputs, all[from].given.inputs, all[from].given.n))
        to++;
    return to;
}

/* Constants of many values, each of which is made once in every step. */
static size_t count_recurring(const struct gp_rule_ctx *c, const struct constant *all, size_t n)
{
    size_t count = 0;
    for (size_t from = 0, to; from < n; from = to) {
        to = equal_until(all, n, from);
        if (to - from == c->n_steps && c->n_steps > 1) count += to - from;
    }
    return count;
}

/* Store in BY_CALL the host time of the operators that can go. */
static struct constants sum_constants(const struct gp_rule_ctx *c, const struct constant *all, size_t n,
                                      int64_t *by_call, struct gp_suggestion *s)
{
    struct constants sum = {.op = UINT32_MAX, .by_call = by_call};
    bool recurring = count_recurring(c, all, n) >= CONSTANTS_LEAST * c->n_steps;
    memset(by_call, 0, (c->p->calls.n + 1) * sizeof *by_call);
    for (size_t from = 0, to; from < n; from = to) {
        to = equal_until(all, n, from);
        bool recur = recurring && to - from == c->n_steps;
        if (recur || to - from >= CONSTANTS_LEAST * c->n_steps)
            add_constants(c, all + from, to - from, recur, &sum, s);
    }
    return sum;
}

static void ask_caching(struct gp_rule_ctx *c)
{
    struct constant *all = gp_alloc((c->p->calls.n + 1) * sizeof *all);
    size_t n = find_constants(c, all);
    if (n) qsort(all, n, sizeof *all, compare_constants);
    int64_t *by_call = gp_alloc((c->p->calls.n + 1) * sizeof *by_call);
    struct constants sum = sum_constants(c, all, n, by_call, NULL);
    if (sum.op != UINT32_MAX) {
        struct gp_suggestion *s = gp_rule_suggest(c);
        sum_constants(c, all, n, by_call, s);
        gp_rule_save_host(c, s, by_call);
        s->low.n = 0; /* they may be needed: at least nothing */
        s->operation = gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[sum.op]);
        s->current_ns = s->resource_high_ns = gp_rule_per_step(c, sum.host_ns);
        s->description =
            gp_rule_text(c,
                         "The same constants are created again %lld times per step, which takes %s on the "
                         "launching threads",
                         (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns));
        s->action = gp_rule_text(c, "create the constants once and keep them (in a module buffer)");
        s->formula = gp_rule_text(
            c,
            "between nothing and all of them, but one per step of those that are made several times in it");
        s->assumes = gp_rule_text(c, "nothing writes to the constants");
        s->check = gp_rule_text(c, "record again and run trace-diff: expect fewer launches");
        gp_rule_evidence_count(s, "made_again", gp_rule_per_step(c, sum.count));
        gp_rule_evidence_ns(s, "host_time", s->current_ns);
    }
    free(by_call);
    free(all);
}

const struct gp_rule gp_rule_caching = {
    .name = "caching",
    .type = GP_SUGGEST_CACHING,
    .summary = "constants that are created again and again",
    .needs = "operators with their inputs (record_shapes)",
    .threshold = "per step, 100 equal operators that fill a tensor from numbers only, or 100 that are the "
                 "same in each step",
    .guard = "operators that take tensors; what autograd makes in its own nodes; the low end is nothing, as "
             "the trace does not show whether "
             "something writes to the result",
    .run = ask_caching,
    .frames = "which show who asks for it again",
    .measured = true,
    .least_pct = 40,
};

/* ---- an idle device, and no other rule that helps ---- */

/* The idle time's largest cause. */
static enum gp_idle_cause largest_cause(const struct gp_rule_ctx *c)
{
    int best = 0;
    for (int i = 1; i < GP_IDLE_CAUSE_COUNT; i++)
        if (c->idle_ns[i] > c->idle_ns[best]) best = i;
    return (enum gp_idle_cause)best;
}

/* The most that all rules before this one would save together, in percent of the step. */
static double explained_pct(const struct gp_rule_ctx *c)
{
    GP_VEC(struct gp_edit) all = {0};
    const struct gp_suggest *s = c->s;
    for (size_t i = 0; i < s->suggestions.n; i++)
        for (size_t k = 0; k < s->suggestions.at[i].high.n; k++)
            GP_VEC_PUSH(&all, s->suggestions.at[i].high.at[k]);
    int64_t saved = all.n ? c->replay_step_ns - gp_plan_step_ns(c->p, all.at, all.n) : 0;
    GP_VEC_FREE(&all);
    return gp_pct(saved, c->replay_step_ns);
}

/* Remove half of CAUSE, or all of it for the ceiling. Returns false if there is nothing to change. */
static bool edit_cause(const struct gp_rule_ctx *c, enum gp_idle_cause cause, struct gp_suggestion *s)
{
    switch (cause) {
    case GP_IDLE_HOST:
    case GP_IDLE_LAUNCH:
    case GP_IDLE_DATA:
    case GP_IDLE_PYTHON:
    case GP_IDLE_GARBAGE:
    case GP_IDLE_LOCK:
    case GP_IDLE_LOGGING:
    case GP_IDLE_IMPORT:
    case GP_IDLE_ALLOCATION:
        for (uint32_t k = 0; s && k < c->p->calls.n; k++) {
            GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, k, c->calls[k].before_ns / 2}));
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_BEFORE, k, 0}));
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_OWN, k, 0}));
        }
        return true;
    case GP_IDLE_SYNC:
        for (uint32_t k = 0; s && k < c->p->calls.n; k++) add_high(s, GP_EDIT_NO_WAIT, k, 0);
        return true;
    case GP_IDLE_DEPENDENCY:
        for (uint32_t i = 0; s && i < c->p->items.n; i++) {
            GP_VEC_PUSH(&s->high,
                        ((struct gp_edit){GP_EDIT_DELAY, i, c->p->replay.items.at[i].delay_ns / 2}));
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_DELAY, i, 0}));
        }
        return true;
    default:
        return false;
    }
}

static const char *action_of(enum gp_idle_cause cause)
{
    switch (cause) {
    case GP_IDLE_SYNC:
        return "find out what the host waits for, and whether it has to";
    case GP_IDLE_DEPENDENCY:
        return "find out which stream the GPU waits for, and whether it needs all of that work first";
    default:
        return "find out what the host does before the launches: look at the launching thread in "
               "trace2timeline";
    }
}

/* Does a tenth of the kernels come from a compiler? */
static bool is_compiled(const struct gp_rule_ctx *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) n += c->items[i].compiled;
    return n && n * 10 >= c->p->items.n;
}

static void ask_low_utilisation(struct gp_rule_ctx *c)
{
    int64_t idle = 0;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) idle += c->idle_ns[i];
    double busy = gp_pct(c->busy_ns, c->busy_ns + idle);
    enum gp_idle_cause cause = largest_cause(c);
    if (!idle || busy >= BUSY_PCT || !edit_cause(c, cause, NULL) || explained_pct(c) >= EXPLAINED_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    edit_cause(c, cause, s);
    s->current_ns = gp_rule_per_step(c, c->idle_ns[cause]);
    s->resource_high_ns = s->current_ns;
    s->description = gp_rule_text(
        c, "The GPU works %.0f%% of the time; it is idle for %s per step, and the main cause is: %s", busy,
        gp_rule_ns(c, gp_rule_per_step(c, idle)), gp_idle_cause_text(cause));
    bool host = cause == GP_IDLE_HOST || cause == GP_IDLE_LAUNCH;
    s->looks = !(host && is_compiled(c));
    s->action =
        gp_intern_cstr(&c->s->strings, host && is_compiled(c)
                                           ? gp_rule_in(c,
                                                        "launch compiled regions as CUDA graphs: "
                                                        "torch.compile(mode=\"reduce-overhead\")",
                                                        "compile the whole step as one function with jax.jit")
                                           : action_of(cause));
    if (s->looks && cause != GP_IDLE_SYNC && cause != GP_IDLE_DEPENDENCY && !gp_rule_python_is_known(c))
        s->action =
            gp_rule_text(c,
                         "find out what the host does before the launches: record Python frames (%s), "
                         "and look at the launching thread in trace2timeline",
                         gp_rule_shows_python(c));
    s->formula =
        gp_intern_cstr(&c->s->strings, cause == GP_IDLE_SYNC
                                           ? "between nothing and a replay of the steps without any wait"
                                           : "between nothing and a replay of the steps with half of that");
    s->assumes = gp_rule_text(c, "no other process uses the device");
    s->check =
        gp_rule_text(c, "record again and run trace-diff: expect less idle_%s", gp_idle_cause_name(cause));
    gp_rule_evidence_pct(s, "busy", busy);
    gp_rule_evidence_ns(s, "idle", gp_rule_per_step(c, idle));
    gp_rule_evidence_ns(s, "largest_cause", s->current_ns);
}

const struct gp_rule gp_rule_low_utilisation = {
    .name = "low_utilisation",
    .type = GP_SUGGEST_OVERLAP,
    .summary = "a device that is idle most of the time for a reason that no other rule can remedy",
    .needs = "kernels with their launch calls",
    .threshold = "busy less than three quarters of the time",
    .guard = "other suggestions save a tenth of the step; idle time that nothing recorded explains",
    .run = ask_low_utilisation,
    .frames = "which show what the host does",
};
