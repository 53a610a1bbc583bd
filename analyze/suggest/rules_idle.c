// An idle device that no other rule explains: runs last, as it looks at the suggestions of the others.
#include "analyze/math/sums.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double BUSY_PCT = 75;      /* of the time, below which the device counts as idle */
static const double EXPLAINED_PCT = 10; /* of the step, saved by other suggestions */

/* The idle time's largest cause. */
static enum gp_idle_cause largest_cause(const struct gp_rule_ctx *c)
{
    int best = 0;
    for (int i = 1; i < GP_IDLE_CAUSE_COUNT; i++)
        if (c->idle_ns[i] > c->idle_ns[best]) best = i;
    return (enum gp_idle_cause)best;
}

/* The most that all rules before this one would save together, in percent of the step. What leaves long gaps
 * alone explains none. */
static double explained_pct(const struct gp_rule_ctx *c)
{
    GP_VEC(struct gp_edit) all = {0};
    const struct gp_suggest *s = c->s;
    for (size_t i = 0; i < s->suggestions.n; i++)
        for (size_t k = 0; k < s->suggestions.at[i].high.n; k++)
            GP_VEC_PUSH(&all,
                        gp_rule_left_gap(c, &s->suggestions.at[i].high.at[k], s->suggestions.at[i].rule));
    int64_t saved = all.n ? c->replay_step_ns - gp_plan_step_ns(c->p, all.at, all.n) : 0;
    GP_VEC_FREE(&all);
    return gp_pct(saved, c->replay_step_ns);
}

/* Remove half of CAUSE, or all of it for the ceiling. Returns false if there is nothing to change. */
static bool edit_cause(const struct gp_rule_ctx *c, enum gp_idle_cause cause, struct gp_suggestion *s)
{
    if (cause == GP_IDLE_SYNC) {
        for (uint32_t k = 0; s && k < c->p->calls.n; k++) gp_rule_edit_high(s, GP_EDIT_NO_WAIT, k, 0);
    } else if (cause == GP_IDLE_DEPENDENCY) {
        for (uint32_t i = 0; s && i < c->p->items.n; i++) {
            GP_VEC_PUSH(&s->high,
                        ((struct gp_edit){GP_EDIT_DELAY, i, c->p->replay.items.at[i].delay_ns / 2}));
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_DELAY, i, 0}));
        }
    } else if (cause <= GP_IDLE_ALLOCATION) { /* of the host */
        for (uint32_t k = 0; s && k < c->p->calls.n; k++) {
            int64_t half = c->calls[k].before_ns / 2, held = c->p->found_steps ? 0 : c->calls[k].held_ns;
            GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, k, half > held ? half : held}));
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_BEFORE, k, 0}));
            GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_OWN, k, 0}));
        }
    }
    return cause <= GP_IDLE_ALLOCATION;
}

static const char *action_of(const struct gp_rule_ctx *c, enum gp_idle_cause cause)
{
    switch (cause) {
    case GP_IDLE_SYNC: return "find out what the host waits for, and whether it has to";
    case GP_IDLE_DEPENDENCY:
        return "find out which stream the GPU waits for, and whether it needs all of that work first";
    default:
        return !c->jax ? "find out what the host does before the launches: look at the launching thread in "
                         "trace2timeline"
                       : "find out what the host does before the launches: set jax_log_compiles, which "
                         "reports what is compiled anew in steps";
    }
}

static void check_low_utilisation(struct gp_rule_ctx *c)
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
    bool compiled = (cause == GP_IDLE_HOST || cause == GP_IDLE_LAUNCH) && gp_rule_is_compiled(c) &&
                    c->held_ns * 2 < gp_rule_per_step(c, idle);
    s->looks = !compiled;
    s->action = gp_intern_cstr(&c->s->strings,
                               compiled ? gp_rule_in(c,
                                                     "launch compiled regions as CUDA graphs: "
                                                     "torch.compile(mode=\"reduce-overhead\")",
                                                     "run several steps in one call of a jitted function, "
                                                     "with jax.lax.scan over them",
                                                     "launch compiled regions as CUDA graphs")
                                        : action_of(c, cause));
    if (s->looks && !c->jax && cause != GP_IDLE_SYNC && cause != GP_IDLE_DEPENDENCY &&
        !gp_rule_python_is_known(c))
        s->action =
            gp_rule_text(c,
                         "find out what the host does before the launches: record Python frames (%s), "
                         "and look at the launching thread in trace2timeline",
                         gp_rule_shows_python(c));
    s->formula =
        gp_intern_cstr(&c->s->strings, cause == GP_IDLE_SYNC
                                           ? "between nothing and a replay of the steps without any wait"
                                           : "between nothing and a replay of the steps with half of that");
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
    .assumes = "no other process uses the device",
    .run = check_low_utilisation,
    .gaps = true,
    .frames = "which show what the host does",
};
