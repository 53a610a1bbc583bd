// What the host does while the GPU has nothing to do: after the last call of a step, after it has copied
// results, and at any other place.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double END_PCT = 80, /* of a gap, within the step's range */
    TIME_PCT = 5, GAP_PCT = 20;   /* of the steps */

enum {
    RESULT_BYTES = 16, /* more than a value or two */
    INPUT_WITHIN = 4,  /* calls after a gap */
    GAP_STEPS = 2,     /* with a gap; one may be chance */
};

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

/* Suggest to take a half of BY_CALL from the host, at most all of it; NULL: the GPU hardly waits for it. */
static struct gp_suggestion *suggest_gaps(struct gp_rule_ctx *c, const int64_t *by_call)
{
    struct gp_suggestion edits = {0};
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        int64_t left = c->calls[k].before_ns - by_call[k];
        if (!by_call[k]) continue;
        calls[k] = 1;
        edits.current_ns += by_call[k];
        GP_VEC_PUSH(&edits.low, ((struct gp_edit){GP_EDIT_BEFORE, k, left + by_call[k] / 2}));
        gp_rule_edit_high(&edits, GP_EDIT_BEFORE, k, left);
    }
    int64_t idle_ns = gp_rule_idle_in(c, GP_IDLE_HOST, by_call);
    struct gp_suggestion *s = NULL;
    if (gp_pct(edits.current_ns, c->plan_ns) >= TIME_PCT && gp_rule_idle_matters(c, idle_ns)) {
        gp_rule_absorb(c, calls, " step_end input_stall python_gap ", NULL);
        s = gp_rule_suggest_edits(c, true, &edits);
        gp_rule_evidence_idle(c, s, idle_ns);
    }
    gp_suggestion_release(&edits);
    free(calls);
    return s;
}

static void check_step_end(struct gp_rule_ctx *c)
{
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), count = 0, frees = 0;
    struct gp_suggestion before = {0}, *s = NULL; /* of the last call, as what follows it makes none */
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (!c->calls[k].held_ns || !gp_rule_ends_step(c, k)) continue;
        by_call[k] = c->calls[k].held_ns;
        count++;
        frees += frees_before(c, k);
        GP_VEC_PUSH(&before.high, ((struct gp_edit){GP_EDIT_BEFORE, k - 1, 0}));
    }
    if (count * 2 >= (int64_t)c->n_steps && count) s = suggest_gaps(c, by_call);
    if (s) {
        s->place = gp_rule_place(c, &before);
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
    }
    gp_suggestion_release(&before);
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
              "metrics and checkpoints can wait or run in another thread; and what prepares the next batch "
              "can run during the step",
    .change = "leave out what the host does at the end of each step, or do it every few steps",
    .formula = "a replay of the steps without half of that host time, or at most without all of it",
    .assumes = "the next step does not need it",
    .expect = "less idle_host",
    .run = check_step_end,
    .gaps = true,
    .frames = "which show what the host does there",
    .measured = true,
};

/* ---- results ---- */

uint32_t gp_rule_result_before(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_events *api = &c->t->events[GP_API];
    if (!call || api->track[c->p->calls.at[call].row] != api->track[c->p->calls.at[call - 1].row])
        return GP_REPLAY_NONE;
    uint32_t copy = gp_rule_copy_waited_for(c, call - 1);
    bool is = copy != GP_REPLAY_NONE && gp_copy_to_host(gp_rule_name(c, copy)) &&
              gp_rule_bytes(c, copy) > RESULT_BYTES;
    return is ? copy : GP_REPLAY_NONE;
}

int64_t gp_rule_input_after(const struct gp_rule_ctx *c, uint32_t call)
{
    int64_t bytes = 0;
    for (uint32_t k = call; k < call + INPUT_WITHIN && k < c->p->calls.n; k++) {
        const struct gp_replay_call *r = &c->p->replay.calls.at[k];
        if (r->n && gp_rule_crosses(c, r->first) && gp_copy_to_device(gp_rule_name(c, r->first)))
            bytes = gp_add_saturated(bytes, gp_rule_bytes(c, r->first));
    }
    return bytes;
}

static void check_host_results(struct gp_rule_ctx *c)
{
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), usual = gp_rule_usual_gap(c);
    int64_t count = 0, bytes = 0;
    struct gp_suggestion *s = NULL;
    for (uint32_t k = 0; k < c->p->calls.n && c->p->found_steps; k++) {
        if (c->calls[k].before_ns < usual * GP_RULE_LONG_TIMES) continue;
        uint32_t copy = gp_rule_result_before(c, k);
        if (copy == GP_REPLAY_NONE || gp_rule_input_after(c, k) > RESULT_BYTES) continue;
        by_call[k] = c->calls[k].before_ns - usual;
        bytes += gp_rule_bytes(c, copy);
        count++;
    }
    if (count && count + 1 >= (int64_t)c->n_steps) s = suggest_gaps(c, by_call);
    if (s) {
        s->place = gp_rule_place_between(c, by_call);
        s->description = gp_rule_text(c,
                                      "The host works for a long time on what it has copied from the GPU (%s "
                                      "on average), %s: %s per step",
                                      gp_rule_size(c, bytes / count), gp_rule_times(c, count),
                                      gp_rule_ns(c, s->current_ns));
    }
    free(by_call);
}

const struct gp_rule gp_rule_host_results = {
    .name = "host_results",
    .type = GP_SUGGEST_OVERLAP,
    .summary = "the GPU waits for what the host does with results that it has copied",
    .needs = "kernels and copies with their launch calls, bytes of the copies",
    .threshold =
        "in each step, 20 usual gaps or more after a copy to the host that the host waited for; 5% of "
        "the time, and the GPU is idle for it 5% of the time",
    .guard = "single values (see scalar_read); gaps with a copy to the GPU among the next four calls (see "
             "round_trip, input_stall)",
    .action =
        "do it every hundred steps if it is for a log (histograms, images, metrics), in another thread, or "
        "on the GPU, from which less is to be copied then",
    .change =
        "do less often, in another thread or on the GPU what the host does with results that it has copied",
    .formula = "a replay of the steps without half of that host time, or at most without all of it",
    .assumes = "the next step does not need it",
    .expect = "less idle_host",
    .run = check_host_results,
    .gaps = true,
    .frames = "which show what the host does there",
    .measured = true,
};

/* ---- at any other place ---- */

/* By call, the long gap before it, unless a suggestion that saves for certain may take half of it, or the GPU
 * works for half of it: the host may wait for it. The caller frees the result. */
static int64_t *gaps_left(struct gp_rule_ctx *c)
{
    int64_t *gaps = gp_zalloc((c->p->calls.n + 1) * sizeof *gaps);
    gp_sid where;
    gp_rule_idle_time(c, GP_IDLE_HOST, gaps, &where);
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        gaps[k] = gaps[k] > c->calls[k].held_ns / 2 ? c->calls[k].held_ns : 0;
    for (size_t i = 0; i < c->s->suggestions.n; i++) {
        const struct gp_suggestion *one = &c->s->suggestions.at[i];
        for (size_t k = 0; k < one->high.n && one->low.n; k++) {
            struct gp_edit e = gp_rule_left_gap(c, &one->high.at[k], one->rule);
            if (e.kind == GP_EDIT_BEFORE && e.ns < c->calls[e.index].before_ns / 2) gaps[e.index] = 0;
        }
    }
    return gaps;
}

static void check_host_gap(struct gp_rule_ctx *c)
{
    int64_t *gaps = gaps_left(c), count = 0, total = 0, steps = 0;
    uint32_t last = UINT32_MAX; /* step that was counted */
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (!gaps[k]) continue;
        steps += c->p->calls.at[k].step != last;
        last = c->p->calls.at[k].step;
        total += gaps[k];
        count++;
    }
    bool often = steps >= GAP_STEPS && steps * 3 >= 2 * (int64_t)c->n_steps && c->p->found_steps;
    struct gp_suggestion *s = NULL;
    if (often && gp_pct(total, c->plan_ns) >= GAP_PCT) s = suggest_gaps(c, gaps);
    if (s) {
        s->place = gp_rule_place_between(c, gaps);
        s->description = gp_rule_text(
            c, "The host launches nothing for a long time, and the GPU has nothing to do, %s: %s per step",
            gp_rule_times(c, count), gp_rule_ns(c, s->current_ns));
    }
    free(gaps);
}

const struct gp_rule gp_rule_host_gap = {
    .name = "host_gap",
    .type = GP_SUGGEST_OVERLAP,
    .summary = "the GPU waits for what the host does at one place or a few of each step",
    .needs = "kernels and copies with their launch calls",
    .threshold = "a long gap in two steps of three, and in two; 20% of the time, and the GPU is idle for it",
    .guard =
        "gaps that another suggestion explains, or in half of which the GPU works: the host may wait for "
        "it; what ranges, frames or samples name as something else; traces without steps",
    .action =
        "take what the host does there out of the step: compute once what is the same each time, do the "
        "rest on the GPU or without loops over single values, or during the step in another thread or "
        "process",
    .change = "take what the host does there out of the step, or do it on the GPU",
    .formula = "a replay of the steps without half of that host time, or at most without all of it",
    .assumes = "the trace does not show what it is, nor whether the next launches need it",
    .expect = "less idle_host",
    .run = check_host_gap,
    .gaps = true,
    .frames = "which show what the host does there",
};
