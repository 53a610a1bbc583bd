// Forward kernels that run again within the backward pass.
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/map.h"

static const double SHARE_PCT = 3; /* of the GPU's work */

enum {
    GRAM = 6, /* kernels in a row that backward has in common with forward */
    DIFFERENT_LEAST = 3,
};

/* The kernels of one step that run forward, or backward, in the order of launches. */
struct part {
    const struct gp_rule_ctx *c;
    GP_VEC(uint32_t) items;
};

static void collect(struct part *p, const struct gp_plan_step *step, bool backward)
{
    p->items.n = 0;
    for (uint32_t i = step->first_item; i < step->first_item + step->n_items; i++)
        if (p->c->items[i].backward == backward && gp_rule_computes(p->c, i)) GP_VEC_PUSH(&p->items, i);
}

static uint32_t config_at(const struct part *p, size_t i) { return p->c->items[p->items.at[i]].config; }

/* A hash of the GRAM kernels at I and of their grids; 0: they have no product or attention, or are nearly all
 * the same. */
static uint64_t gram_at(const struct part *p, size_t i)
{
    uint64_t hash = 1;
    uint32_t different = 0, last = UINT32_MAX;
    bool heavy = false;
    for (size_t k = i; k < i + GRAM; k++) {
        uint32_t config = config_at(p, k), kind = p->c->items[p->items.at[k]].kind;
        hash = (hash ^ (config + 1)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        heavy |= kind == GP_FRAME_GEMM || kind == GP_FRAME_ATTENTION;
        different += config != last;
        last = config;
    }
    return heavy && different >= DIFFERENT_LEAST ? hash : 0;
}

enum { AGAIN = 1, ORIGINAL };

/* What equals from F of FORWARD and B of BACKWARD on, to both sides, runs again; returns its end. */
static size_t mark_equal(const struct part *forward, size_t f, const struct part *backward, size_t b,
                         uint8_t *again)
{
    size_t to = b;
    for (size_t x = f, y = b; x-- > 0 && y-- > 0 && config_at(forward, x) == config_at(backward, y);) {
        again[backward->items.at[y]] = AGAIN;
        again[forward->items.at[x]] = ORIGINAL;
    }
    for (; f < forward->items.n && to < backward->items.n && config_at(forward, f) == config_at(backward, to);
         f++, to++) {
        again[backward->items.at[to]] = AGAIN;
        again[forward->items.at[f]] = ORIGINAL;
    }
    return to;
}

/* Mark by item what backward runs AGAIN, and its ORIGINAL. */
static void mark_step(struct part *forward, struct part *backward, const struct gp_plan_step *step,
                      uint8_t *again)
{
    struct gp_map grams = {0};
    collect(forward, step, false);
    collect(backward, step, true);
    for (size_t i = 0; i + GRAM <= forward->items.n && backward->items.n; i++) {
        uint64_t hash = gram_at(forward, i);
        if (hash) gp_map_put(&grams, hash, (uint32_t)i);
    }
    for (size_t i = 0; i + GRAM <= backward->items.n;) {
        uint64_t hash = gram_at(backward, i);
        const uint32_t *at = hash ? gp_map_get(&grams, hash) : NULL;
        size_t end = at ? mark_equal(forward, *at, backward, i, again) : i;
        i = end > i ? end : i + 1;
    }
    gp_map_release(&grams);
}

struct again {
    int64_t count, total_ns, host_ns, products;
};

/* Add up what is marked, and its edits to S if it is given. Between two kernels that run again, all of the
 * host's time is theirs; at least half of that before the first of them, where the rest belongs to what
 * stays. At most, the host also no longer packs each tensor that forward saves, and unpacks it in backward,
 * beside the launches there. */
static struct again sum_marked(const struct gp_rule_ctx *c, const uint8_t *again, struct gp_suggestion *s)
{
    struct again sum = {0};
    int64_t usual = s ? gp_rule_usual_gap(c) : 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        bool hooked = again[i] == ORIGINAL || (again[i] != AGAIN && c->items[i].backward);
        uint32_t call = c->p->items.at[i].call;
        int64_t before = c->calls[call].before_ns;
        if (s && hooked && before > usual && c->p->replay.calls.at[call].n == 1)
            gp_rule_edit_high(s, GP_EDIT_BEFORE, call, usual);
        if (again[i] != AGAIN) continue;
        sum.count++;
        sum.products += c->items[i].kind == GP_FRAME_GEMM || c->items[i].kind == GP_FRAME_ATTENTION;
        sum.total_ns += gp_rule_dur(c, i);
        sum.host_ns += before + c->p->replay.calls.at[call].own_ns;
        if (!s) continue;
        gp_rule_edit_all(s, GP_EDIT_GONE, i, 0);
        if (c->p->replay.calls.at[call].n != 1) continue;
        bool inside = i && again[i - 1] == AGAIN && c->p->items.at[i - 1].step == c->p->items.at[i].step;
        GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, call, inside ? 0 : before / 2}));
        if (inside) GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_OWN, call, 0}));
        gp_rule_edit_high(s, GP_EDIT_BEFORE, call, 0);
        gp_rule_edit_high(s, GP_EDIT_OWN, call, 0);
    }
    return sum;
}

/* The function that checkpointing calls again, of the most kernels, as far as that is known. */
static gp_sid module_of(struct gp_rule_ctx *c, const uint8_t *again)
{
    int64_t *by_name = gp_zalloc((c->t->strings.n + 1) * sizeof *by_name);
    gp_sid best = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        gp_sid inner = 0;
        uint32_t node = again[i] == AGAIN ? c->calls[c->p->items.at[i].call].node : GP_HOST_NONE;
        for (; node != GP_HOST_NONE; node = c->v->hs.nodes[node].parent) {
            const struct gp_host_event *e = &c->v->hs.nodes[node];
            gp_sid name = c->t->events[e->table].name[e->row];
            if (e->table == GP_PYTHON && gp_frame_is_checkpoint(gp_trace_str(c->t, name))) break;
            if (e->table == GP_PYTHON && gp_frame_is_forward(gp_trace_str(c->t, name))) inner = name;
        }
        if (node != GP_HOST_NONE && inner && ++by_name[inner] > (best ? by_name[best] : 0)) best = inner;
    }
    free(by_name);
    return best ? gp_rule_label(c, GP_PYTHON, best) : 0;
}

/* What was never allocated of the device; negative: not known. */
static int64_t free_memory(const struct gp_rule_ctx *c)
{
    const struct gp_events *m = &c->t->events[GP_MEMORY];
    int64_t peak = 0, size = c->props ? c->props->memory_bytes : 0;
    for (size_t i = 0; i < m->n; i++) {
        int64_t reserved = gp_get_reserved(m, i), total = gp_get_total(m, i);
        if (total > peak) peak = total;
        if (reserved > peak) peak = reserved;
    }
    return size > 0 && peak > 0 && peak <= size ? size - peak : -1;
}

static void check_recompute(struct gp_rule_ctx *c)
{
    uint8_t *again = gp_zalloc(c->p->items.n + 1);
    struct part forward = {.c = c}, backward = {.c = c};
    for (size_t s = 0; s < c->p->steps.n; s++) mark_step(&forward, &backward, &c->p->steps.at[s], again);
    struct again sum = sum_marked(c, again, NULL);
    if (sum.products >= (int64_t)c->n_steps && gp_pct(sum.total_ns, c->gpu_ns) >= SHARE_PCT) {
        struct gp_suggestion *s = gp_rule_suggest(c);
        int64_t unused = free_memory(c);
        sum_marked(c, again, s);
        if (c->jax)
            s->action =
                gp_rule_text(c, "use jax.checkpoint for fewer layers, as far as memory allows, or with a "
                                "policy that keeps what is costly to compute");
        s->operation = module_of(c, again);
        s->current_ns = s->resource_high_ns = gp_rule_per_step(c, sum.total_ns);
        s->resource_low_ns = s->resource_high_ns;
        s->description = gp_rule_text(
            c,
            "The backward pass runs %lld kernels of the forward pass again, %s per step on the GPU and %s on "
            "the host: activations are not kept (checkpointing)%s%s",
            (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns),
            gp_rule_ns(c, gp_rule_per_step(c, sum.host_ns)),
            unused >= 0 ? ". Memory that was never in use: " : "",
            unused >= 0 ? gp_rule_size(c, unused) : "");
        gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
        gp_rule_evidence_ns(s, "host_time", gp_rule_per_step(c, sum.host_ns));
        if (unused >= 0) gp_rule_evidence_bytes(s, "unused", unused);
    }
    GP_VEC_FREE(&forward.items);
    GP_VEC_FREE(&backward.items);
    free(again);
}

const struct gp_rule gp_rule_recompute = {
    .name = "recompute",
    .type = GP_SUGGEST_MEMORY,
    .summary = "forward kernels that run again within the backward pass",
    .needs = "kernels with their launch calls, from which thread or operator backward is known",
    .threshold = "six kernels in a row, one of them a product or attention, with the grids of the forward "
                 "pass; 3% of the GPU's work",
    .guard = "rows of equal kernels; the text states the memory that is free to keep activations, where "
             "allocations are recorded",
    .action = "checkpoint fewer layers, or none (gradient_checkpointing_disable()), as far as memory allows; "
              "or keep what is costly to compute (selective checkpointing)",
    .change = "keep the activations: checkpoint fewer layers, or none",
    .formula =
        "these kernels go, with the host's time for them: at least without half of what passes before the "
        "first of each row, at most with all of it, and with what passes before the other launches of "
        "backward, and before their originals, beyond the usual",
    .assumes = "the activations fit in memory",
    .expect = "fewer kernels in the backward pass, and a higher peak of memory",
    .run = check_recompute,
    .to_know = "record allocations (profile_memory=True), which show the memory that is free",
};
