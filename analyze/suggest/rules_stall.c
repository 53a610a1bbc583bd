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

/* Of items with the name of K: how long they take, and with S, edits. A kernel that communicates waits for
 * other ranks. */
static int64_t edit(const struct gp_rule_ctx *c, const struct gp_stalled *k, struct gp_suggestion *s)
{
    uint8_t *of = gp_zalloc(c->t->configs.n + 1);
    int64_t total = 0;
    for (size_t i = 0; i < c->t->configs.n; i++)
        of[i] = !strcmp(gp_trace_str(c->t, c->t->configs.at[i].name), gp_suggest_str(c->s, k->name));
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const int64_t ns = gp_rule_dur(c, i);
        if (!of[c->items[i].config] || !gp_rule_is_here(c, i) || !gp_rule_computes(c, i)) continue;
        total += ns;
        if (s)
            gp_rule_edit_dur(s, i, (int64_t)((double)ns * (1 - k->saved_low)),
                             (int64_t)((double)ns * (1 - k->saved_high)));
    }
    free(of);
    return total;
}

static void suggest_for(struct gp_rule_ctx *c, const struct gp_stalled *k)
{
    const char *cause = gp_stall_cause_text((enum gp_stall_cause)k->cause);
    const int64_t total = edit(c, k, NULL);
    struct gp_buf place = {0};
    if (gp_pct(total, c->busy_ns) < STALL_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    (void)edit(c, k, s);
    gp_stall_put_place(&place, &c->s->strings, k->lines.at);
    const char *at = gp_buf_str(&place);
    s->operation = k->brief;
    s->place = gp_intern(&c->s->strings, at, place.n);
    s->current_ns = gp_rule_per_step(c, total);
    s->resource_low_ns = (int64_t)((double)s->current_ns * k->saved_low);
    s->resource_high_ns = (int64_t)((double)s->current_ns * k->saved_high);
    s->description =
        gp_rule_text(c, "Warps of %s (%s per step) wait at %s for %s: in %.1f%% (+-%.1f) of its samples",
                     gp_suggest_str(c->s, k->brief), gp_rule_ns(c, s->current_ns), at, cause,
                     100 * k->stalled, 100 * k->error);
    s->action = gp_rule_text(c, "at %s, %s", at, gp_stall_cause_fix((enum gp_stall_cause)k->cause));
    s->change = gp_rule_text(c, "mend the stalls for %s at %s", cause, at);
    s->formula =
        gp_rule_text(c,
                     "the kernel becomes %.0f to %.0f%% shorter: other stalls take the place of these, or "
                     "issue slots, memory and the other stalls leave no more",
                     100 * k->saved_low, 100 * k->saved_high);
    gp_rule_evidence_count(s, "samples", k->samples);
    gp_rule_evidence_pct(s, "stalled", 100 * k->stalled);
    gp_rule_evidence_pct(s, "issuing", 100 - gp_pct(k->latency, k->samples));
    gp_buf_release(&place);
}

static void check_stalls(struct gp_rule_ctx *c)
{
    for (size_t i = 0; i < c->stalls.kernels.n; i++) {
        const struct gp_stalled *k = &c->stalls.kernels.at[i];
        if (gp_stalled_is_sure(k) && gp_stalled_is_theirs(&c->s->strings, k) &&
            !strcmp(c->rule->name + strlen(PREFIX), gp_stall_cause_name((enum gp_stall_cause)k->cause)))
            suggest_for(c, k);
    }
}

/* One for each cause; its name is that of the cause behind the prefix. */
#define X(id, cause, text, fix, ...)                                                                         \
    const struct gp_rule gp_rule_stall_##cause = {                                                           \
        .name = PREFIX #cause,                                                                               \
        .type = GP_SUGGEST_ALGORITHM,                                                                        \
        .summary = "kernels whose warps wait, on one line, for " text,                                       \
        .needs = "samples of program counters (gpuprof-collect --pc-sample)",                                \
        .threshold = "shares known within 3 points; 2% of the busy time",                                    \
        .guard = "kernels of libraries whose lines are not known",                                           \
        .assumes = "all launches of the kernel stall alike",                                                 \
        .expect = "a shorter kernel",                                                                        \
        .run = check_stalls,                                                                                 \
        .to_know = "record more samples, or count what the kernel does (gpuprof-collect --metrics why)",     \
    };
GP_STALL_CAUSES(X)
#undef X
