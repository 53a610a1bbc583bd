// Constants that are made again and again.
#include <stdlib.h>
#include <string.h>
#include "analyze/names/args.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/str.h"

enum { CONSTANTS_LEAST = 100 }; /* equal operators per step */

static bool makes_constant(const char *name)
{
    return gp_is_one_of(name, strlen(name),
                        " aten::arange aten::full aten::ones aten::zeros aten::eye aten::linspace "
                        "aten::scalar_tensor aten::tril_indices aten::triu_indices ");
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
        gp_rule_edit_high(s, GP_EDIT_OWN, at[i].call, 0);
        for (uint32_t item = call->first; item < call->first + call->n; item++)
            gp_rule_edit_high(s, GP_EDIT_GONE, item, 0);
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

static void check_caching(struct gp_rule_ctx *c)
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
             "the trace does not show whether something writes to the result",
    .action = "create the constants once and keep them (in a module buffer)",
    .formula = "between nothing and all of them, but one per step of those that are made several times in it",
    .assumes = "nothing writes to the constants",
    .expect = "fewer launches",
    .run = check_caching,
    .frames = "which show who asks for it again",
    .measured = true,
    .least_pct = 40,
};
