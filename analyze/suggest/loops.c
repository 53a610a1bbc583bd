#include "analyze/suggest/loops_priv.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/cost/pointwise.h"
#include "analyze/names/names.h"
#include "analyze/suggest/rules_priv.h"

enum {
    SCALAR_BYTES = 16,
    DEPTH_MOST = 256,
    SKIPPED = 2, /* turns that do something else */
    PERIOD_LEAST = 8,
    PERIOD_MOST = 1000, /* of turns that are looked for beyond a run */
    JOIN_WITHIN = 8,    /* items after a loop whose results are joined */
    GRADIENT_WORK = 8,  /* launches after a backward pass */
    JOIN_OTHERS = 2,    /* tensors that are joined with those of the turns */
};

/* ---- what is equal ---- */

/* The same work on other sizes: a product may be done by another kernel, and an elementwise one vectorized or
 * not. 0: a part of its neighbour, which not all of them have. */
static gp_sid symbol_of(struct gp_rule_ctx *c, uint32_t item)
{
    uint32_t kind = c->items[item].kind;
    const char *name = gp_rule_name(c, item);
    if (kind == GP_FRAME_MEMSET || strstr(name, "splitK") || strstr(name, "splitk")) return 0;
    if (kind == GP_FRAME_MEMCPY)
        return gp_rule_text(c, "%s", gp_copy_to_device(name) ? "in" : gp_copy_to_host(name) ? "out" : "copy");
    if (kind == GP_FRAME_GEMM || kind == GP_FRAME_ATTENTION) return gp_rule_text(c, "kind %u", kind);
    if (strstr(name, "indexFunc")) return gp_rule_text(c, "indexFunc"); /* ...SmallIndex, ...LargeIndex */
    const char *label = gp_suggest_str(c->s, gp_rule_item_label(c, item));
    const char *functor = strstr(label, "elementwise_kernel<");
    return gp_intern_cstr(&c->s->strings, functor ? functor + strlen("elementwise_kernel") : label);
}

/* ---- where it is ---- */

/* The innermost function that is around both nodes; GP_HOST_NONE. */
static uint32_t function_around(const struct gp_rule_ctx *c, uint32_t a, uint32_t b)
{
    const struct gp_host_event *nodes = c->v->hs.nodes;
    uint32_t up[DEPTH_MOST], n = 0;
    for (; a != GP_HOST_NONE && n < DEPTH_MOST; a = nodes[a].parent) up[n++] = a;
    for (; b != GP_HOST_NONE; b = nodes[b].parent)
        for (uint32_t i = 0; i < n; i++) {
            if (up[i] != b) continue;
            while (b != GP_HOST_NONE && !gp_rule_is_function(c, &nodes[b])) b = nodes[b].parent;
            return b;
        }
    return GP_HOST_NONE;
}

/* The function that all turns are in. */
static void find_place(const struct gp_rule_ctx *c, const struct gp_loops *l, struct gp_loop *loop)
{
    uint32_t first = gp_loop_item(l, loop, 0, 0),
             last = gp_loop_item(l, loop, loop->count - 1, loop->period - 1);
    uint32_t node = function_around(c, c->calls[c->p->items.at[first].call].node,
                                    c->calls[c->p->items.at[last].call].node);
    if (node == GP_HOST_NONE) return;
    loop->function = c->t->events[GP_PYTHON].name[c->v->hs.nodes[node].row];
}

/* ---- what a part does ---- */

/* Adds to rows by index. */
static bool scatters(const char *name)
{
    return gp_name_has_one_of(name, " indexFunc scatter index_put index_add indexing_backward ");
}

static bool joins_of_xla(const char *name) { return strstr(name, "concatenate_fusion") != NULL; }

static bool moves(const struct gp_rule_ctx *c, uint32_t item, gp_rule_match *direction)
{
    return c->items[item].kind == GP_FRAME_MEMCPY && direction(gp_rule_name(c, item)) &&
           gp_rule_bytes(c, item) > SCALAR_BYTES;
}

static void add_item(const struct gp_rule_ctx *c, struct gp_loop *loop, uint32_t item, const uint8_t *pieces)
{
    const char *name = gp_rule_name(c, item);
    loop->total_ns += gp_rule_dur(c, item);
    loop->in += moves(c, item, gp_copy_to_device);
    loop->out += moves(c, item, gp_copy_to_host);
    loop->fed += c->items[item].kind == GP_FRAME_MEMCPY && gp_copy_to_device(name);
    loop->reads += gp_rule_is_scalar_read(c, item);
    loop->products += c->items[item].kind == GP_FRAME_GEMM;
    loop->gathers += gp_name_has_one_of(name, " gather index_elementwise indexSelect ");
    loop->scatters += scatters(name);
    loop->backward += c->items[item].backward;
    loop->joins += gp_kernel_joins(name) || joins_of_xla(name);
    loop->recurrent += gp_kernel_is_recurrent(name);
    loop->own += gp_kernel_is_pytorch(name);
    loop->aside += c->items[item].kind == GP_FRAME_MEMCPY && gp_copy_on_device(name);
    loop->lookups += gp_kernel_gathers(name) && !gp_kernel_joins(name) && !scatters(name);
    loop->plain += gp_pointwise_copies(name) || gp_pointwise_fills(name) || strstr(name, "arange");
    loop->whole += strstr(name, "vectorized_elementwise_kernel") != NULL;
    loop->single += gp_rule_computes(c, item) && gp_rule_blocks(c, item) == 1;
    loop->inner += c->p->replay.calls.at[c->p->items.at[item].call].n > 1;
    loop->samples |=
        gp_name_has_one_of(name, " multinomial distribution_elementwise ") && !c->items[item].backward;
    loop->trains |= pieces[item] || gp_kernel_is_multi_tensor(name);
}

/* AFTER: how many launches came after a backward pass, and 1; 0: none since the last product. Few of them
 * only prepare the next forward pass. */
static void add_pass(const struct gp_rule_ctx *c, struct gp_loop *loop, uint32_t item, uint32_t *after)
{
    if (c->items[item].backward) *after = 1;
    else if (c->items[item].kind == GP_FRAME_GEMM) *after = 0;
    else if (*after && (*after)++ == GRADIENT_WORK) loop->passes++;
}

static int64_t threads_of(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_config *k = &c->t->configs.at[c->items[item].config];
    return gp_mul_saturated(gp_rule_blocks(c, item),
                            gp_mul_saturated(gp_mul_saturated(k->block[0], k->block[1]), k->block[2]));
}

/* Do kernels after LAST join a tensor of each of COUNT turns? Of a grid's rows, each copies one; XLA's have
 * as many threads as LAST had in all turns. */
static bool is_joined(const struct gp_rule_ctx *c, uint32_t last, uint32_t count)
{
    int64_t tensors = 0, of_one = threads_of(c, last);
    for (uint32_t i = last + 1; i <= last + JOIN_WITHIN && i < c->p->items.n; i++) {
        if (c->p->items.at[i].step != c->p->items.at[last].step) break;
        const char *name = gp_rule_name(c, i);
        if (gp_kernel_joins(name))
            tensors = gp_add_saturated(tensors, c->t->configs.at[c->items[i].config].grid[1]);
        else if (joins_of_xla(name) && of_one > 0 && threads_of(c, i) % of_one == 0)
            tensors = gp_add_saturated(tensors, threads_of(c, i) / of_one);
        else if (tensors) break;
    }
    return tensors >= count && tensors <= (int64_t)count + JOIN_OTHERS;
}

static void find_facts(const struct gp_rule_ctx *c, const struct gp_loops *l, struct gp_loop *loop,
                       const uint8_t *pieces)
{
    int64_t before = 0;
    uint32_t after = 0;
    for (uint32_t k = 0; k < loop->count; k++) {
        int64_t blocks = 0;
        for (uint32_t j = 0; j < loop->period; j++) {
            uint32_t item = gp_loop_item(l, loop, k, j);
            add_item(c, loop, item, pieces);
            blocks += gp_rule_blocks(c, item);
            add_pass(c, loop, item, &after);
        }
        loop->rises += k && blocks > before;
        loop->falls += k && blocks < before;
        before = blocks;
    }
    uint32_t from = gp_loop_item(l, loop, 0, 0),
             to = gp_loop_item(l, loop, loop->count - 1, loop->period - 1);
    for (uint32_t call = c->p->items.at[from].call; call <= c->p->items.at[to].call; call++)
        loop->host_ns += c->calls[call].before_ns + c->p->replay.calls.at[call].own_ns;
    /* a library loops by itself */
    if (c->items[from].op != UINT32_MAX && c->items[from].op == c->items[to].op) loop->inner += loop->count;
    loop->joined = is_joined(c, to, loop->count);
    find_place(c, l, loop);
}

/* Where the turn at AT repeats within SKIP places from FROM on, before END; END: it does not. */
static uint32_t next_turn(const uint32_t *symbols, uint32_t at, uint32_t period, uint32_t from, uint32_t end)
{
    uint32_t until = from + SKIPPED * period;
    for (uint32_t i = from; i <= until && i + period <= end; i++)
        if (!memcmp(&symbols[i], &symbols[at], period * sizeof *symbols)) return i;
    return end;
}

/* The same before FIRST, from BEGIN on. */
static uint32_t turn_before(const uint32_t *symbols, uint32_t at, uint32_t period, uint32_t first,
                            uint32_t begin)
{
    uint32_t least = first > begin + (SKIPPED + 1) * period ? first - (SKIPPED + 1) * period : begin;
    for (uint32_t i = first; i-- > least;)
        if (i + period <= first && !memcmp(&symbols[i], &symbols[at], period * sizeof *symbols)) return i;
    return UINT32_MAX;
}

/* The turns of a run of COUNT parts at AT, and those before and behind it with a turn or two between them
 * that do something else, as those of other sizes may. */
static void find_turns(struct gp_loops *l, struct gp_loop *loop, const uint32_t *symbols, uint32_t begin,
                       uint32_t end, uint32_t at, uint32_t count)
{
    uint32_t last = at + (count - 1) * loop->period, first = at, earlier = 0;
    bool extends = loop->period >= PERIOD_LEAST && loop->period <= PERIOD_MOST;
    loop->turns = (uint32_t)l->begins.n;
    while (extends && (first = turn_before(symbols, at, loop->period, first, begin)) != UINT32_MAX) {
        GP_VEC_PUSH(&l->begins, first);
        earlier++;
    }
    for (uint32_t i = 0; i < earlier / 2; i++) { /* in order of time */
        uint32_t *a = &l->begins.at[loop->turns + i], *b = &l->begins.at[loop->turns + earlier - 1 - i],
                 kept = *a;
        *a = *b;
        *b = kept;
    }
    for (uint32_t k = 0; k < count; k++) GP_VEC_PUSH(&l->begins, at + k * loop->period);
    while (extends) {
        last = next_turn(symbols, at, loop->period, last + loop->period, end);
        if (last == end) break;
        GP_VEC_PUSH(&l->begins, last);
    }
    loop->count = (uint32_t)l->begins.n - loop->turns;
}

void gp_loops_find(struct gp_loops *l, struct gp_rule_ctx *c)
{
    uint32_t *symbols = gp_alloc((c->p->items.n + 1) * sizeof *symbols), n = 0;
    gp_sid *by_config = gp_zalloc((c->t->configs.n + 1) * sizeof *by_config);
    uint8_t *known = gp_zalloc(c->t->configs.n + 1), *pieces = gp_rule_optimizer_pieces(c);
    struct gp_repeats found = {0};
    l->items = gp_alloc((c->p->items.n + 1) * sizeof *l->items);
    for (size_t s = 0; s < c->p->steps.n; s++) {
        const struct gp_plan_step *step = &c->p->steps.at[s];
        uint32_t from = n;
        for (uint32_t i = step->first_item; i < step->first_item + step->n_items; i++) {
            uint32_t config = c->items[i].config;
            if (!known[config]) by_config[config] = symbol_of(c, i), known[config] = 1;
            if (!by_config[config]) continue;
            symbols[n] = by_config[config];
            l->items[n++] = i;
        }
        size_t first = found.v.n;
        gp_repeats_find(&found, symbols + from, n - from);
        for (size_t i = first; i < found.v.n; i++) {
            const struct gp_repeat *r = &found.v.at[i];
            struct gp_loop loop = {.period = r->period};
            find_turns(l, &loop, symbols, from, n, from + r->first, r->count);
            find_facts(c, l, &loop, pieces);
            GP_VEC_PUSH(&l->v, loop);
        }
    }
    gp_repeats_release(&found);
    free(pieces);
    free(known);
    free(by_config);
    free(symbols);
}

void gp_loops_release(struct gp_loops *l)
{
    free(l->items);
    GP_VEC_FREE(&l->begins);
    GP_VEC_FREE(&l->v);
    memset(l, 0, sizeof *l);
}
