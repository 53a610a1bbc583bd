// Kernels whose warps stall on one line, by samples of the GPU's program counters: a rule per cause. What
// mending saves of the kernel is worked out in analyze/metrics (stalls.h), and of the step by the replay.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/metrics/stalls.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/buf.h"

static const double STALL_PCT = 2; /* of the busy time, of one kernel */

#define PREFIX "stall_"

/* By config: has it the name of K, which does not communicate? Those wait for other ranks. */
static uint8_t *configs_of(const struct gp_rule_ctx *c, const struct gp_stalled *k)
{
    uint8_t *of = gp_zalloc(c->t->configs.n + 1);
    for (size_t i = 0; i < c->t->configs.n; i++)
        of[i] = !strcmp(gp_trace_str(c->t, c->t->configs.at[i].name), gp_suggest_str(c->s, k->name));
    return of;
}

static void describe(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct gp_stalled *k,
                     int64_t count)
{
    const enum gp_stall_cause cause = (enum gp_stall_cause)k->cause;
    struct gp_buf place = {0};
    gp_stall_put_place(&place, &c->s->strings, k->lines.at);
    const char *at = gp_buf_str(&place);
    s->operation = k->brief;
    s->place = gp_intern(&c->s->strings, at, place.n);
    s->description = gp_rule_text(
        c,
        "Warps of %s wait at %s for %s: in %.1f%% (+-%.1f) of its samples; it runs %lld times per step, %s",
        gp_suggest_str(c->s, k->brief), at, gp_stall_cause_text(cause), 100 * k->stalled, 100 * k->error,
        (long long)count, gp_rule_ns(c, s->current_ns));
    s->action = gp_rule_text(c, "at %s, %s", at, gp_stall_cause_fix(cause));
    s->change = gp_rule_text(c, "mend the stalls for %s at %s", gp_stall_cause_text(cause), at);
    s->formula =
        gp_rule_text(c,
                     "the kernel becomes %.0f to %.0f%% shorter: from what is left if other stalls take "
                     "the place of these, to what issue slots and the other stalls leave",
                     100 * k->saved_low, 100 * k->saved_high);
    gp_rule_evidence_count(s, "samples", k->samples);
    gp_rule_evidence_pct(s, "stalled", 100 * k->stalled);
    gp_rule_evidence_pct(s, "stalled_error", 100 * k->error);
    gp_rule_evidence_pct(s, "issuing", 100 - gp_pct(k->latency, k->samples));
    gp_rule_evidence_pct(s, "kernel_shorter_least", 100 * k->saved_low);
    gp_rule_evidence_pct(s, "kernel_shorter_most", 100 * k->saved_high);
    gp_buf_release(&place);
}

static void suggest_for(struct gp_rule_ctx *c, const struct gp_stalled *k)
{
    uint8_t *of = configs_of(c, k);
    int64_t total = 0, count = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!of[c->items[i].config] || !gp_rule_is_here(c, i)) continue;
        total += gp_rule_dur(c, i);
        count++;
    }
    if (gp_pct(total, c->busy_ns) >= STALL_PCT) {
        struct gp_suggestion *s = gp_rule_suggest(c);
        for (uint32_t i = 0; i < c->p->items.n; i++) {
            const double dur = (double)gp_rule_dur(c, i);
            if (!of[c->items[i].config] || !gp_rule_is_here(c, i)) continue;
            gp_rule_edit_dur(s, i, (int64_t)(dur * (1 - k->saved_low)), (int64_t)(dur * (1 - k->saved_high)));
        }
        s->current_ns = gp_rule_per_step(c, total);
        s->resource_low_ns = (int64_t)((double)s->current_ns * k->saved_low);
        s->resource_high_ns = (int64_t)((double)s->current_ns * k->saved_high);
        describe(c, s, k, gp_rule_per_step(c, count));
    }
    free(of);
}

static void check_stalls(struct gp_rule_ctx *c)
{
    for (size_t i = 0; i < c->stalls.kernels.n; i++) {
        const struct gp_stalled *k = &c->stalls.kernels.at[i];
        if (gp_stalled_is_sure(k) &&
            !strcmp(c->rule->name + strlen(PREFIX), gp_stall_cause_name((enum gp_stall_cause)k->cause)))
            suggest_for(c, k);
    }
}

/* One for each enum gp_stall_cause; its name is that of the cause behind the prefix. */
#define RULE(id, kind, what)                                                                                 \
    const struct gp_rule gp_rule_stall_##id = {                                                              \
        .name = PREFIX #id,                                                                                  \
        .type = kind,                                                                                        \
        .summary = "kernels that stall on one line: " what,                                                  \
        .needs = "samples of program counters (gpuprof-collect --pc-sample)",                                \
        .threshold = "shares known within 3 points; 2% of the busy time",                                    \
        .guard = "",                                                                                         \
        .assumes = "all launches of the kernel stall alike",                                                 \
        .expect = "a shorter kernel",                                                                        \
        .run = check_stalls,                                                                                 \
        .to_know =                                                                                           \
            "record more samples, or count bytes and operations (gpuprof-collect --metrics roofline)",       \
    }

RULE(memory_access, GP_SUGGEST_ALGORITHM, "uncoalesced, strided, repeated or atomic accesses to memory");
RULE(bank_conflicts, GP_SUGGEST_ALGORITHM, "shared memory, such as conflicts of banks");
RULE(barrier, GP_SUGGEST_ALGORITHM, "barriers, at which warps wait for others");
RULE(dependent_chain, GP_SUGGEST_ALGORITHM, "operations that each wait for the one before");
RULE(busy_unit, GP_SUGGEST_ALGORITHM, "an arithmetic unit that is busy, such as that of double precision");
RULE(instructions, GP_SUGGEST_ALGORITHM, "branches, instructions and constants that are not in caches");
RULE(spills, GP_SUGGEST_ALGORITHM, "values that do not fit into registers and go to local memory");
RULE(low_occupancy, GP_SUGGEST_PARALLELIZATION, "too few warps to hide the latency of memory");
RULE(tail, GP_SUGGEST_PARALLELIZATION, "a last wave of blocks that leaves most of the device idle");
