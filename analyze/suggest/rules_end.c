// The end of a step: what the host does after its last call.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double END_PCT = 80, TIME_PCT = 5; /* of a gap, within the step's range; of the steps */

/* When the range of the step that CALL is in ends; 0: it has none. */
static int64_t end_of_step(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_host_event *nodes = c->v->hs.nodes;
    gp_sid name = c->p->steps.at[c->p->calls.at[call].step].name;
    for (uint32_t node = c->calls[call].node; name && node != GP_HOST_NONE; node = nodes[node].parent)
        if (nodes[node].table == GP_RANGE && c->t->events[GP_RANGE].name[nodes[node].row] == name)
            return nodes[node].end_ns;
    return 0;
}

bool gp_rule_ends_step(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_events *api = &c->t->events[GP_API];
    if (!call || c->p->calls.at[call].step == c->p->calls.at[call - 1].step) return false;
    uint32_t row = c->p->calls.at[call].row;
    int64_t begin = api->start_ns[row] - c->calls[call].before_ns;
    return gp_pct(end_of_step(c, call - 1) - begin, c->calls[call].before_ns) >= END_PCT;
}

/* Does the host give memory back to the driver before CALL, in the gap? */
static bool frees_before(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_events *api = &c->t->events[GP_API];
    uint32_t row = c->p->calls.at[call].row;
    int64_t until = api->start_ns[row];
    for (size_t i = gp_events_from(api, until - c->calls[call].before_ns);
         i < api->n && api->start_ns[i] < until; i++) {
        const char *name = gp_trace_str(c->t, api->name[i]);
        if (api->track[i] == api->track[row] && gp_call_allocates(name) && strstr(name, "Free")) return true;
    }
    return false;
}

static void check_step_end(struct gp_rule_ctx *c)
{
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), total = 0, count = 0, frees = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (!c->calls[k].held_ns || !gp_rule_ends_step(c, k)) continue;
        by_call[k] = c->calls[k].held_ns;
        total += by_call[k];
        count++;
        frees += frees_before(c, k);
    }
    int64_t idle_ns = gp_rule_idle_in(c, GP_IDLE_HOST, by_call);
    if (count * 2 >= (int64_t)c->n_steps && gp_pct(total, c->plan_ns) >= TIME_PCT &&
        gp_rule_idle_matters(c, idle_ns)) {
        struct gp_suggestion before = {0}, *s = gp_rule_suggest(c);
        for (uint32_t k = 0; k < c->p->calls.n; k++) {
            if (!by_call[k]) continue;
            int64_t left = c->calls[k].before_ns - by_call[k];
            GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, k, left + by_call[k] / 2}));
            gp_rule_edit_high(s, GP_EDIT_BEFORE, k, left);
            GP_VEC_PUSH(&before.high, ((struct gp_edit){GP_EDIT_BEFORE, k - 1, 0}));
        }
        s->place = gp_rule_place(c, &before); /* of the last call, as what follows it makes none */
        gp_suggestion_release(&before);
        s->current_ns = s->resource_high_ns = gp_rule_per_step(c, total);
        s->description = gp_rule_text(
            c,
            "The host does something for a long time at the end of a step, after its last call%s, %s: %s per "
            "step%s",
            s->place ? " (see below)" : "", gp_rule_times(c, count), gp_rule_ns(c, s->current_ns),
            frees ? ". Then it gives memory back to the driver, as torch.cuda.empty_cache() does" : "");
        if (!c->torch)
            s->change = s->action =
                gp_rule_text(c, "leave out what the host does there, or do it every few steps");
        else if (frees * 2 >= count)
            s->change =
                gp_rule_text(c, "leave out torch.cuda.empty_cache() at the end of each step, and what runs "
                                "before it, such as gc.collect()");
        gp_rule_evidence_idle(c, s, idle_ns);
    }
    free(by_call);
}

const struct gp_rule gp_rule_step_end = {
    .name = "step_end",
    .type = GP_SUGGEST_OVERLAP,
    .summary = "the GPU waits for what the host does at the end of a step",
    .needs = "ranges of steps, kernels and copies with their launch calls",
    .threshold = "a long gap in every second step, four fifths of it before the end of the step's range; 5% "
                 "of the time, and the GPU is idle for it 5% of the time",
    .guard = "gaps that reach into the next step or lie between steps (see input_stall); what ranges, frames "
             "or samples name as something else",
    .action = "leave out what the host does there, or do it every few steps: gc.collect() and "
              "torch.cuda.empty_cache() are not needed, since Python and PyTorch use freed memory again; "
              "metrics and checkpoints can "
              "wait or "
              "run in another thread; and what prepares the next batch can run during the step",
    .change = "leave out what the host does at the end of each step, or do it every few steps",
    .formula = "a replay of the steps without half of that host time, or at most without all of it",
    .assumes = "the next step does not need it",
    .expect = "less idle_host",
    .run = check_step_end,
    .gaps = true,
    .frames = "which show what the host does there",
};
