// Communication that kernels wait for, and that comes in small pieces.
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double EXPOSED_PCT = 5;

enum { SMALL_COUNT = 10, SMALL_NS = 100000 };

static bool is_collective(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_class_of((enum gp_frame_kind)c->items[item].kind) == GP_CLASS_COMMUNICATION;
}

/* Are gradients reduced? A program with a backward pass has them, and one without exchanges parts of its
 * layers. */
static bool trains(const struct gp_rule_ctx *c)
{
    for (uint32_t i = 0; i < c->p->items.n; i++)
        if (c->items[i].backward && gp_rule_computes(c, i)) return true;
    return false;
}

static uint32_t longest_collective(const struct gp_rule_ctx *c)
{
    uint32_t longest = UINT32_MAX;
    for (uint32_t i = 0; i < c->p->items.n; i++)
        if (is_collective(c, i) && (longest == UINT32_MAX || gp_rule_dur(c, i) > gp_rule_dur(c, longest)))
            longest = i;
    return longest;
}

static const char *what_overlaps(const struct gp_rule_ctx *c, uint32_t longest)
{
    const char *name = gp_rule_name(c, longest);
    if (gp_name_has_one_of(name, " SendRecv "))
        return "overlap what is sent with work that does not need it: more micro-batches or another schedule "
               "of a pipeline, or route as much to each expert";
    if (!trains(c) && !c->jax)
        return "join collectives of layers with what follows them (fused all-reduce and norm, custom "
               "all-reduce), overlap them with other requests, or split the model over fewer devices";
    if (!c->torch)
        return "overlap them with what does not need them (in JAX by XLA's latency-hiding scheduler), or "
               "accumulate gradients";
    return gp_name_has_one_of(name, " AllGather ReduceScatter ")
               ? "try prefetching (FSDP), or gradient accumulation"
               : "try other bucket sizes (bucket_cap_mb), gradient accumulation or compression";
}

static void check_exposed_communication(struct gp_rule_ctx *c)
{
    double exposed = gp_pct(gp_rule_per_step(c, c->exposed_communication_ns), c->s->step.step_ns);
    uint32_t longest = longest_collective(c);
    if (exposed < EXPOSED_PCT || longest == UINT32_MAX) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    int64_t total = 0, count = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!is_collective(c, i)) continue;
        count++;
        total += gp_rule_dur(c, i);
        gp_rule_edit_high(s, GP_EDIT_GONE, i, 0);
    }
    s->operation = gp_rule_item_label(c, longest);
    s->current_ns = gp_rule_per_step(c, total);
    s->resource_high_ns = gp_rule_per_step(c, c->exposed_communication_ns);
    s->description = gp_rule_text(
        c, "The GPU communicates for %s per step without computing at the same time (%.0f%% of the time)",
        gp_rule_ns(c, s->resource_high_ns), exposed);
    s->action = gp_rule_text(c, "%s; %s which rank the others wait for", what_overlaps(c, longest),
                             c->v->devices.n > 1 ? "trace-hta shows" : "run trace-hta on all ranks to see");
    gp_rule_evidence_count(s, "collectives", gp_rule_per_step(c, count));
    gp_rule_evidence_pct(s, "exposed", exposed);
}

const struct gp_rule gp_rule_exposed_communication = {
    .name = "exposed_communication",
    .type = GP_SUGGEST_COMMUNICATION,
    .summary = "communication not overlapped by kernels",
    .needs = "kernel names",
    .threshold = "5% of the time",
    .guard = "the low end is nothing, as a part of it may be waiting for other ranks",
    .formula = "between nothing and all of it, as a part of it may be waiting for other ranks",
    .assumes = "some work does not need the result yet",
    .expect = "less exposed communication",
    .run = check_exposed_communication,
    .to_know = "run trace-hta on a trace of all ranks, which shows what is waiting",
};

/* ---- in small pieces ---- */

static void check_small_collectives(struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    int64_t count = 0, shortest = INT64_MAX, total = 0;
    for (uint32_t i = 0; i < p->items.n; i++) {
        int64_t dur = gp_rule_dur(c, i);
        if (!is_collective(c, i)) continue;
        if (dur < shortest) shortest = dur;
        if (dur < SMALL_NS) count++, total += dur;
    }
    if (count <= (int64_t)(SMALL_COUNT * c->n_steps)) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    uint32_t step = UINT32_MAX;
    for (uint32_t i = 0; i < p->items.n; i++) {
        int64_t dur = gp_rule_dur(c, i);
        if (!is_collective(c, i) || dur >= SMALL_NS) continue;
        bool first = p->items.at[i].step != step;
        step = p->items.at[i].step;
        if (first) continue;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_DUR, i, dur - shortest}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, i, 0}));
        gp_rule_edit_launch(c, s, p->items.at[i].call); /* the host calls for one where it did for many */
    }
    s->operation = gp_rule_item_label(c, longest_collective(c));
    s->current_ns = gp_rule_per_step(c, total);
    s->resource_high_ns = gp_rule_per_step(c, shortest * (count - (int64_t)c->n_steps));
    s->description = gp_rule_text(c, "Collectives that take less than 100 us each: %lld per step, %s in all",
                                  (long long)gp_rule_per_step(c, count), gp_rule_ns(c, s->current_ns));
    s->action = gp_rule_text(
        c, "merge the %lld short collectives per step into fewer: %s", (long long)gp_rule_per_step(c, count),
        c->jax      ? "let XLA combine them (--xla_gpu_all_reduce_combine_threshold_bytes)"
        : trains(c) ? "larger buckets (bucket_cap_mb), coalescing"
                    : "fuse those of one layer, or reduce once per layer; buckets are for gradients, "
                      "and nothing here has a backward pass");
    s->formula = gp_rule_text(
        c, "between nothing and, for each but one, the shortest one's time (%s) and its host time",
        gp_rule_ns(c, shortest));
    gp_rule_evidence_count(s, "collectives", gp_rule_per_step(c, count));
    gp_rule_evidence_ns(s, "shortest", shortest);
}

const struct gp_rule gp_rule_small_collectives = {
    .name = "small_collectives",
    .type = GP_SUGGEST_COMMUNICATION,
    .summary = "many short collectives",
    .needs = "kernel names",
    .threshold = "more than 10 per step below 100 us",
    .guard = "",
    .assumes = "the collectives are ready at about the same time",
    .expect = "fewer collectives",
    .run = check_small_collectives,
    .to_know = "record all ranks together, which shows what is waiting",
    .measured = true,
};
