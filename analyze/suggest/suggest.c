// Builds the facts, runs the rules, and replays their suggestions. The rules themselves are in rules_*.c.
#include "analyze/hta/breakdown.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/suggest.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/view/idle_walk.h"
#include "analyze/view/quality.h"
#include "analyze/view/repair.h"
#include "analyze/view/steps.h"
#include "analyze/names/names.h"
#include "analyze/math/nth.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/suggest_regime_priv.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/scale.h"
#include "formats/model/metric.h"
#include "formats/base/str.h"

enum {
    TRUSTED_PCT = 2,
    STEP_PCT =
        25, /* by which the replayed step may differ from the device's, which begins and ends elsewhere */
    DAMAGE_PCT = 1, /* of the events, which may be lacking or wrong */
    STEPS_FEW = 3,
    MODEL_PCT = 15, /* of a saving: what a replay of a change may be off, besides */
    HOST_PCT = 30,  /* of the least that a change of the host's work saves: unrecorded, waits are shorter */
    WAITS_PCT = 20, /* for another rank: what this one saves by itself is then no saving */
    LEAD_PCT = 5,   /* of an only step, before its first kernel */
    WIDE_PCT = 10,  /* of a step: an interval that is worth making narrower */
    UNMEASURED_PART = 4,
    SINGLE_OPS_PART = 7, /* of the kernels */
    NOTE_PARTS = 3,      /* of a step: a recorder that adds less is not worth a note */
    NOISE_PCT = 1, /* of a step, between two runs of the same program; measured on an H200: 0.6 and 0.8 % */
    /* of what the GPU waits or the host copies: hosts differ more, by 13 to 45 % in programs of the jury */
    HOST_NOISE_PCT = 3
};

GP_WORD(gp_suggest_type_name, enum gp_suggest_type, GP_SUGGEST_TYPES, 1)

const char *gp_priority_name(enum gp_priority p)
{
    static const char *const names[] = {"none", "low", "medium", "high", "critical"};
    return names[p];
}

void gp_suggest_init(struct gp_suggest *s, const struct gp_suggest_opts *opts)
{
    memset(s, 0, sizeof *s);
    s->regime = GP_REGIME_UNKNOWN;
    if (opts) s->opts = *opts;
}

static void release_suggestion(struct gp_suggestion *s)
{
    GP_VEC_FREE(&s->evidence);
    GP_VEC_FREE(&s->predictions);
    GP_VEC_FREE(&s->low);
    GP_VEC_FREE(&s->high);
    GP_VEC_FREE(&s->free);
    GP_VEC_FREE(&s->sure);
}

void gp_suggest_release(struct gp_suggest *s)
{
    for (size_t i = 0; i < s->suggestions.n; i++) release_suggestion(&s->suggestions.at[i]);
    GP_VEC_FREE(&s->suggestions);
    GP_VEC_FREE(&s->inputs);
    GP_VEC_FREE(&s->notes);
    GP_VEC_FREE(&s->kernels);
    GP_VEC_FREE(&s->ops);
    gp_roofline_release(&s->roofline);
    GP_VEC_FREE(&s->chains);
    GP_VEC_FREE(&s->chain_kernels);
    gp_strings_release(&s->strings);
    memset(s, 0, sizeof *s);
}

void gp_suggest_set_inputs(struct gp_suggest *s, const struct gp_input_quality *in, size_t n,
                           const struct gp_strings *strings)
{
    for (size_t i = 0; i < n; i++)
        GP_VEC_PUSH(&s->inputs, gp_input_quality_copy(&in[i], &s->strings, strings));
}

const struct gp_input_quality *gp_suggest_inputs(const struct gp_suggest *s, size_t *n)
{
    *n = s->inputs.n ? s->inputs.n : 1;
    return s->inputs.n ? s->inputs.at : &s->input;
}

/* ---- facts ---- */

/* The innermost operator at or around a host event, as its row * 2, and 1 more when the autograd engine is
 * around it. */
static uint32_t operator_in(void *ctx, uint32_t node, uint32_t around)
{
    const struct gp_view *v = ctx;
    const struct gp_host_event *e = &v->hs.nodes[node];
    if (e->table != GP_OP) return around;
    gp_sid name = v->t->events[GP_OP].name[e->row];
    bool backward = (around != GP_HOST_NONE && (around & 1)) ||
                    gp_name_is_backward(gp_trace_str(v->t, name), gp_string_len(&v->t->strings, name));
    return e->row << 1 | backward;
}

/* UINT32_MAX: none. BACKWARD is set when the autograd engine is around it, and left alone when not. */
static uint32_t operator_around(struct gp_rule_ctx *c, struct gp_host_memo *ops, uint32_t node,
                                bool *backward)
{
    uint32_t found = gp_host_memo_get(ops, node, operator_in, (void *)(uintptr_t)c->v);
    if (found == GP_HOST_NONE) return UINT32_MAX;
    if (found & 1) *backward = true;
    return found >> 1;
}

/* If no operators are recorded: the autograd engine launches from its own thread. */
static bool launched_aside(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan *p = c->p;
    const struct gp_events *api = &c->t->events[GP_API];
    uint32_t first = p->steps.at[p->items.at[item].step].first_call;
    return api->track[p->calls.at[p->items.at[item].call].row] != api->track[p->calls.at[first].row];
}

/* Do single operations of JAX make up a part of the kernels that no compiled step has? What jax.numpy itself
 * compiled, such as jnp.var, is then a small part of a step. */
static bool runs_single_ops(const struct gp_rule_ctx *c)
{
    uint8_t *single = gp_rule_match_configs(c, gp_kernel_is_jax_single);
    size_t count = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++)
        count += single[gp_get_config(&c->t->events[GP_GPU], c->p->items.at[i].row)];
    free(single);
    return count * SINGLE_OPS_PART >= c->p->items.n && c->p->items.n;
}

/* Does XLA make kernels of the steps, and PyTorch none? */
static bool is_jax(const struct gp_rule_ctx *c)
{
    uint8_t *xla = gp_rule_match_configs(c, gp_kernel_is_xla),
            *torch = gp_rule_match_configs(c, gp_kernel_is_pytorch);
    bool any_xla = false, any_torch = false;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t config = gp_get_config(&c->t->events[GP_GPU], c->p->items.at[i].row);
        any_xla |= xla[config];
        any_torch |= torch[config];
    }
    free(xla);
    free(torch);
    return any_xla && !any_torch;
}

static void know_items(struct gp_rule_ctx *c, struct gp_host_memo *ops)
{
    const struct gp_plan *p = c->p;
    c->jax = is_jax(c);
    c->single_ops = runs_single_ops(c);
    uint8_t *compiled = gp_rule_match_configs(c, c->single_ops ? gp_kernel_is_triton : gp_kernel_is_compiled);
    c->items = gp_zalloc((p->items.n + 1) * sizeof *c->items);
    for (uint32_t i = 0; i < p->items.n; i++) {
        struct gp_rule_item *item = &c->items[i];
        uint32_t row = p->items.at[i].row;
        item->kind = gp_view_kind(c->v, row);
        item->config = gp_get_config(&c->t->events[GP_GPU], row);
        item->compiled = compiled[item->config];
        item->op = operator_around(c, ops, c->v->at.node[row], &item->backward);
        if (!c->t->events[GP_OP].n) item->backward = launched_aside(c, i);
        item->position = i - p->steps.at[p->items.at[i].step].first_item;
    }
    free(compiled);
}

static void know_calls(struct gp_rule_ctx *c, struct gp_host_memo *ops)
{
    const struct gp_plan *p = c->p;
    bool backward;
    c->calls = gp_zalloc((p->calls.n + 1) * sizeof *c->calls);
    c->launches_here = gp_zalloc(c->t->tracks.n + 1);
    for (uint32_t k = 0; k < p->calls.n; k++) {
        struct gp_rule_call *call = &c->calls[k];
        uint32_t row = p->calls.at[k].row;
        call->name = gp_trace_str(c->t, c->t->events[GP_API].name[row]);
        call->node = gp_host_node(&c->v->hs, GP_API, row);
        call->op = operator_around(c, ops, call->node, &backward);
        call->before_ns = p->replay.calls.at[k].before_ns > 0 ? p->replay.calls.at[k].before_ns : 0;
        if (p->replay.calls.at[k].n) c->launches_here[c->t->events[GP_API].track[row]] = 1;
    }
}

/* Of the devices that the plan's items run on, the one with the most work. */
static uint32_t busiest_device(const struct gp_rule_ctx *c)
{
    int64_t *work = gp_zalloc((c->v->devices.n + 1) * sizeof *work);
    uint32_t best = 0;
    for (size_t i = 0; i < c->p->items.n; i++) {
        uint32_t row = c->p->items.at[i].row, d = c->v->device_of_row[row];
        work[d] = gp_add_saturated(work[d], c->t->events[GP_GPU].dur_ns[row]);
    }
    for (uint32_t d = 1; d < c->v->devices.n; d++)
        if (work[d] > work[best]) best = d;
    free(work);
    return best;
}

struct idle_sum {
    struct gp_rule_ctx *c;
    uint32_t device;
    int64_t begin_ns, end_ns;
};

static void add_idle(void *ctx, const struct gp_idle_piece *piece)
{
    struct idle_sum *sum = ctx;
    int64_t begin = piece->begin_ns > sum->begin_ns ? piece->begin_ns : sum->begin_ns;
    int64_t end = piece->end_ns < sum->end_ns ? piece->end_ns : sum->end_ns;
    if (piece->device == sum->device && begin < end) sum->c->idle_ns[piece->cause] += end - begin;
}

/* Busy and idle time from the first step's first GPU event to the last one's end. */
static void know_device(struct gp_rule_ctx *c)
{
    uint32_t d = busiest_device(c);
    const struct gp_events *gpu = &c->t->events[GP_GPU];
    struct idle_sum sum = {c, d, INT64_MAX, INT64_MIN};
    struct gp_breakdown b;
    c->device = d;
    c->props = c->v->devices.at[d].props;
    c->s->step.rank = c->v->devices.at[d].rank;
    for (size_t i = 0; i < c->p->items.n; i++) {
        uint32_t row = c->p->items.at[i].row;
        if (c->v->device_of_row[row] != d) continue;
        if (gpu->start_ns[row] < sum.begin_ns) sum.begin_ns = gpu->start_ns[row];
        if (gpu->start_ns[row] + gpu->dur_ns[row] > sum.end_ns)
            sum.end_ns = gpu->start_ns[row] + gpu->dur_ns[row];
        c->gpu_ns += gpu->dur_ns[row];
    }
    if (sum.end_ns <= sum.begin_ns) return;
    gp_breakdown_rows(&b, c->v, c->v->rows + c->v->devices.at[d].first, c->v->devices.at[d].n, sum.begin_ns,
                      sum.end_ns);
    c->busy_ns = b.busy_ns;
    c->compute_ns = b.compute_ns;
    c->exposed_communication_ns = b.exposed_communication_ns;
    c->exposed_memory_ns = b.exposed_memory_ns;
    gp_idle_walk(c->v, add_idle, &sum);
}

/* Does every step run the same kernels, with the same grids, in the same order? */
static bool all_steps_equal(const struct gp_rule_ctx *c)
{
    const struct gp_plan_step *steps = c->p->steps.at;
    for (size_t s = 1; s < c->p->steps.n; s++) {
        if (steps[s].n_items != steps[0].n_items) return false;
        for (uint32_t i = 0; i < steps[s].n_items; i++)
            if (c->items[steps[s].first_item + i].config != c->items[steps[0].first_item + i].config)
                return false;
    }
    return c->p->steps.n > 1;
}

static int64_t median_queue(const struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    int64_t *wait = gp_alloc((p->items.n + 1) * sizeof *wait), median = 0;
    for (size_t i = 0; i < p->items.n; i++) {
        wait[i] =
            p->items.at[i].start_ns - c->t->events[GP_API].start_ns[p->calls.at[p->items.at[i].call].row];
        if (wait[i] < 0) wait[i] = 0;
    }
    if (p->items.n) median = gp_nth(wait, p->items.n, p->items.n / 2);
    free(wait);
    return median;
}

/* The step time of all tools, on the device that works most; without steps, all of the plan. */
static int64_t step_length(struct gp_rule_ctx *c)
{
    struct gp_step_sharing sharing = {0};
    struct gp_device_steps steps;
    int64_t whole_ns = c->p->recorded_ns / (int64_t)c->p->steps.n;
    if (!c->p->found_steps) return whole_ns;
    gp_device_steps_find(&steps, &sharing, c->v, &c->v->devices.at[c->device], c->p->program);
    struct gp_step_stretch w = gp_device_steps_window(&steps);
    c->s->step.timed = (uint32_t)w.timed;
    c->s->step.whole = w.whole > 0;
    c->s->step.median_ns = w.median_ns;
    gp_device_steps_release(&steps);
    gp_step_sharing_release(&sharing);
    return w.mean_ns > 0 ? w.mean_ns : whole_ns;
}

/* What the launching thread did for most of the host time from BEGIN to END: the innermost event that covers
 * half of it. */
static gp_sid busy_with(struct gp_rule_ctx *c, int64_t begin_ns, int64_t end_ns)
{
    const struct gp_host_stack *hs = &c->v->hs;
    uint32_t track = c->t->events[GP_API].track[c->p->calls.at[0].row];
    uint32_t node = gp_host_at(hs, track, begin_ns + (end_ns - begin_ns) / 2);
    for (; node != GP_HOST_NONE; node = hs->nodes[node].parent) {
        const struct gp_host_event *e = &hs->nodes[node];
        int64_t from = e->start_ns > begin_ns ? e->start_ns : begin_ns,
                to = e->end_ns < end_ns ? e->end_ns : end_ns;
        if (e->table == GP_API || to - from < (end_ns - begin_ns) / 2) continue;
        return gp_rule_label(c, (enum gp_table)e->table, c->t->events[e->table].name[e->row]);
    }
    return 0;
}

/* An only step has no step before it to whose end the time before its first kernel would belong. */
static int64_t lead_of(const struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    int64_t begin = p->steps.at[0].begin_ns, first = INT64_MAX;
    if (!p->found_steps || p->steps.n > 1 || p->warm_up) return 0;
    for (size_t i = 0; i < p->items.n; i++)
        if (p->items.at[i].start_ns < first) first = p->items.at[i].start_ns;
    return first > begin ? first - begin : 0;
}

static void tell_lead(struct gp_rule_ctx *c)
{
    int64_t lead = lead_of(c), begin = c->p->steps.at[0].begin_ns;
    if (gp_pct(lead, c->p->recorded_ns) < LEAD_PCT) return;
    c->s->step.lead_ns = lead;
    c->s->step.lead = busy_with(c, begin, begin + lead);
    GP_VEC_PUSH(&c->s->notes, gp_rule_text(c, "the step begins on the host %s before its first kernel%s%s",
                                           gp_rule_ns(c, lead), c->s->step.lead ? ", most of it in " : "",
                                           c->s->step.lead ? gp_suggest_str(c->s, c->s->step.lead) : ""));
}

/* Is the input so damaged that steps may lack events, or have some at wrong times? One that only ends early
 * does not. */
static bool is_damaged(const struct gp_trace *t)
{
    static const enum gp_issue_kind wrong[] = {GP_Q_SYNTAX,        GP_Q_BAD_TIME,         GP_Q_BAD_DURATION,
                                               GP_Q_UNMATCHED_END, GP_Q_UNMATCHED_BEGIN,  GP_Q_LIMIT,
                                               GP_Q_OUTLIER_TIME,  GP_Q_OUTLIER_DURATION, GP_Q_LOSS};
    int64_t count = 0;
    for (size_t i = 0; i < GP_COUNT(wrong); i++)
        count = gp_add_saturated(count, (int64_t)t->issues[wrong[i]].count);
    return t->issues[GP_Q_BAD_BLOCK].count || t->issues[GP_Q_MISSING_BLOCK].count ||
           gp_pct(count, (int64_t)t->input.events) > DAMAGE_PCT;
}

/* The replay, without the time before the first kernel of an only step, against the step on the device. */
static bool is_step_replayed(const struct gp_rule_ctx *c)
{
    int64_t off = c->replay_step_ns - lead_of(c) - c->s->step.step_ns;
    return (off < 0 ? -off : off) <= gp_part(c->s->step.step_ns, STEP_PCT, 100);
}

static void tell_step(struct gp_rule_ctx *c)
{
    struct gp_suggest_step *s = &c->s->step;
    const struct gp_plan *p = c->p;
    s->found = p->found_steps;
    s->source = p->source;
    s->steps = (uint32_t)p->steps.n;
    s->warm_up = p->warm_up;
    s->first =
        p->steps.at[0].name ? gp_intern_cstr(&c->s->strings, gp_trace_str(c->t, p->steps.at[0].name)) : 0;
    s->step_ns = step_length(c);
    s->busy_ns = gp_rule_per_step(c, c->busy_ns);
    s->gpu_ns = gp_rule_per_step(c, c->gpu_ns);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) s->idle_ns[i] = gp_rule_idle_per_step(c, c->idle_ns[i]);
    s->kernels = (uint64_t)gp_rule_per_step(c, (int64_t)p->items.n);
    uint64_t launching = 0;
    for (size_t k = 0; k < p->calls.n; k++) launching += p->replay.calls.at[k].n > 0;
    s->launches = (uint64_t)gp_rule_per_step(c, (int64_t)launching);
    s->queue_p50_ns = median_queue(c);
    s->launch_ns = p->replay.launch_ns;
    s->gap_ns = p->graph_gap_ns;
    s->replay_ns = c->replay_step_ns;
    s->replay_error_pct = c->plan_ns ? 100.0 * (double)(c->replay_ns - c->plan_ns) / (double)c->plan_ns : 0;
    s->damaged = is_damaged(c->t);
    s->trusted = !s->damaged && is_step_replayed(c) && s->replay_error_pct <= TRUSTED_PCT &&
                 s->replay_error_pct >= -TRUSTED_PCT;
}

/* The recorded step, less what the replays without the recorder take less. */
static void tell_bare_step(struct gp_rule_ctx *c)
{
    struct gp_suggest_step *s = &c->s->step;
    const struct gp_bare *b = c->bare;
    int64_t least_ns = c->busy_ns < 0 ? 0 : gp_rule_per_step(c, c->busy_ns);
    int64_t low = s->step_ns - (c->replay_step_ns - b->most.step_ns),
            high = s->step_ns - (c->replay_step_ns - b->least.step_ns);
    if (low < least_ns) low = least_ns < s->step_ns ? least_ns : s->step_ns;
    if (high < low) high = low;
    s->given = b->measured;
    if (s->given) low = high = c->s->opts.unprofiled_ns;
    s->recorder = b->recorder ? b->recorder->name : NULL;
    s->unprofiled_low_ns = low;
    s->unprofiled_high_ns = high;
    s->unprofiled_ns = low + gp_part(high - low, b->recorder ? b->recorder->likely_pct : 0, 100);
}

/* ---- chains ---- */

static void tell_chains(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    for (size_t k = 0; k < c->chains->kinds.n; k++) {
        const struct gp_chain_kind *kind = &c->chains->kinds.at[k];
        const struct gp_chain *chain = &c->chains->all.at[kind->example];
        struct gp_suggest_chain one = {.signature = kind->signature, .n = chain->n, .count = kind->count};
        one.first = (uint32_t)s->chain_kernels.n;
        one.counts = kind->counts;
        one.total_ns = gp_rule_per_step(c, kind->total_ns);
        one.saved_low_ns = gp_rule_per_step(c, kind->low_ns);
        one.saved_high_ns = gp_rule_per_step(c, kind->high_ns);
        GP_VEC_PUSH(&s->chains, one);
        for (uint32_t i = chain->first; i < chain->first + chain->n; i++) {
            const struct gp_chain_kernel *kernel = &c->chains->kernels.at[i];
            GP_VEC_PUSH(&s->chain_kernels,
                        ((struct gp_suggest_chain_kernel){.name = gp_rule_full_name(c, kernel->item),
                                                          .label = gp_rule_item_label(c, kernel->item),
                                                          .kind = c->items[kernel->item].kind,
                                                          .ns = c->p->replay.items.at[kernel->item].dur_ns,
                                                          .bytes = kernel->read_bytes + kernel->written_bytes,
                                                          .passed_bytes = kernel->passed_bytes}));
        }
    }
}

/* ---- savings ---- */

static void note(struct gp_rule_ctx *c, gp_sid text)
{
    GP_VEC_PUSH(&c->s->notes, text);
}

static bool same_edits(const struct gp_edit *a, size_t n_a, const struct gp_edit *b, size_t n_b)
{
    if (n_a != n_b) return false;
    for (size_t i = 0; i < n_a; i++)
        if (a[i].kind != b[i].kind || a[i].index != b[i].index || a[i].ns != b[i].ns) return false;
    return true;
}

static double speedup(int64_t step_ns, int64_t saving_ns)
{
    return saving_ns > 0 && saving_ns < step_ns ? (double)step_ns / (double)(step_ns - saving_ns) : 1;
}

/* By the expected saving. Critical is worth doing even at the low end. What may save a percent (MOST_NS,
 * before noise is added) is worth a look in any case. */
static enum gp_priority priority_of(const struct gp_suggest_step *step, const struct gp_suggestion *s,
                                    int64_t most_ns)
{
    double low = gp_pct(s->saving_low_ns, step->unprofiled_ns);
    double expected = gp_pct(s->saving_ns, step->unprofiled_ns), high = gp_pct(most_ns, step->unprofiled_ns);
    if (expected >= 20 && low >= 5) return GP_PRIORITY_CRITICAL;
    if (expected >= 5) return GP_PRIORITY_HIGH;
    if (expected >= 1) return GP_PRIORITY_MEDIUM;
    return expected >= 0.3 || high >= 1 ? GP_PRIORITY_LOW : GP_PRIORITY_NONE;
}

/* By how much two runs of the program differ: the host more than the GPU, but for what loading data or one
 * long gap holds. */
static int64_t noise_of(const struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *step = &c->s->step;
    int64_t waits_ns = step->unprofiled_high_ns - step->busy_ns - c->held_ns;
    int64_t noise_ns = step->unprofiled_high_ns / 100 * NOISE_PCT;
    return waits_ns > 0 ? noise_ns + waits_ns / 100 * HOST_NOISE_PCT : noise_ns;
}

/* The interval of the replays, A to B, plus the error of the model: PCT at the low end, MODEL_PCT at the high
 * end. No end passes what is left above LEAST_NS: the low end if the recorder cost most, the high end if it
 * cost least. */
static void widen(const struct gp_rule_ctx *c, int pct, int64_t noise_ns, int64_t a, int64_t b,
                  int64_t least_ns, int64_t *low, int64_t *high)
{
    const struct gp_suggest_step *step = &c->s->step;
    int64_t most = step->unprofiled_low_ns - least_ns, whole = step->unprofiled_high_ns;
    if (a > most) a = most > 0 ? most : 0;
    most = whole - least_ns;
    if (b > most) b = most > 0 ? most : 0;
    int64_t noise = noise_ns < b ? noise_ns : b;
    *low = a / 100 * (100 - pct) - noise;
    *high = b / 100 * (100 + MODEL_PCT) + noise;
    if (*low < 0) *low = 0;
    if (most > b + (whole - b) / 2) most = b + (whole - b) / 2; /* nothing takes no time */
    if (most >= whole) most = whole - 1;
    if (*high > most) *high = most > 0 ? most : 0;
    if (*low > *high) *low = *high;
}

/* An unrecorded step may be longer than the recorded one, but what goes was recorded: MOST_NS. */
static void keep_within(int64_t most_ns, int64_t *low, int64_t *high)
{
    if (*high > most_ns) *high = most_ns;
    if (*low > *high) *low = *high;
}

/* The expected saving: in the middle of LOW and HIGH, the likely savings of the low and the high edits. A
 * rule that was never compared with a measurement gets a quarter of the way. */
static int64_t expected_of(const struct gp_suggestion *s, int64_t low, int64_t high, int64_t sure)
{
    int64_t least = s->unsure ? 0 : gp_part(sure, s->rule->least_pct, 100);
    if (low < least) low = least;
    int64_t expected = low + (high - low) / (s->rule->measured ? 2 : UNMEASURED_PART);
    if (expected < s->saving_low_ns) expected = s->saving_low_ns;
    return expected < s->saving_high_ns ? expected : s->saving_high_ns;
}

/* Wherever this kind of change was measured, it gained a certain part of the high end: the low end is at
 * least that. Two limits hold: what there is to gain, and what the high edits save with a slow host, since a
 * step whose GPU has less to do may wait for the host instead. SURE: of which a part is certain. */
static void raise_low(struct gp_rule_ctx *c, struct gp_suggestion *s, int64_t least_ns,
                      const struct gp_bare_saving *sure)
{
    if (s->unsure) return;
    int64_t high = sure->more_ns / 100 * (100 + MODEL_PCT) + c->noise_ns;
    if (high > s->saving_high_ns || !s->sure.n) high = s->saving_high_ns;
    int64_t low = high / 100 * s->rule->least_pct - c->noise_ns;
    int64_t most = (c->s->step.unprofiled_low_ns - least_ns) / 100 * (100 - HOST_PCT) - c->noise_ns;
    if (low > most) low = most;
    most = gp_part(sure->slow_ns, 100 - MODEL_PCT, 100) - c->noise_ns;
    if (low > most) low = most;
    if (low <= s->saving_low_ns) return;
    s->saving_low_ns = low;
    s->formula =
        gp_rule_text(c,
                     "%s; at least %d%% of the most, which every measured change of this kind gained "
                     "where the host kept up",
                     gp_suggest_str(c->s, s->formula), s->rule->least_pct);
}

/* Does the saving depend on how fast the host is? Pageable memory is copied by it. */
static bool is_of_host(const struct gp_rule_ctx *c, const struct gp_suggestion *s, int64_t least_ns)
{
    return s->rule->type == GP_SUGGEST_TRANSFER || least_ns == gp_rule_per_step(c, c->busy_ns);
}

/* Pageable memory is copied by the host, so that what it takes differs between runs as the host's work
 * does. */
static int64_t noise_in(const struct gp_rule_ctx *c, const struct gp_suggestion *s)
{
    return c->noise_ns +
           (s->rule->type == GP_SUGGEST_TRANSFER ? gp_part(s->current_ns, HOST_NOISE_PCT, 100) : 0);
}

/* Are the sizes recorded for most of the GPU's work? */
static bool sizes_known(const struct gp_rule_ctx *c)
{
    const int64_t *of = c->s->tier_ns;
    return of[GP_WORK_SHAPES] > of[GP_WORK_NAMES] + of[GP_WORK_UNKNOWN];
}

/* What would make a wide interval narrower: the step's time without the recorder, where that makes a third of
 * the difference, otherwise what the rule asks for. */
static gp_sid to_know_of(struct gp_rule_ctx *c, const struct gp_suggestion *s, int64_t recorder_ns)
{
    int64_t width = s->saving_high_ns - s->saving_low_ns;
    if (gp_pct(width, c->s->step.unprofiled_ns) < WIDE_PCT) return 0;
    if (gp_mul_saturated(recorder_ns, 3) >= width)
        return gp_rule_text(c, "time the steps without the recorder and give that with --step-time");
    if (s->rule->frames && !gp_rule_python_is_known(c))
        return gp_rule_text(c, "record Python frames (%s), %s", gp_rule_shows_python(c), s->rule->frames);
    if (!s->rule->to_know || (s->rule->sizes && sizes_known(c))) return 0;
    if (c->counted.n && strstr(s->rule->to_know, "--metrics")) return 0;
    return gp_intern_cstr(&c->s->strings, s->rule->to_know);
}

/* The most that waits cost, B in the replays: a host that does not wait works faster than one that does, by
 * twice at most. */
static int64_t unwaited(int64_t b, int64_t hurried_ns)
{
    if (hurried_ns <= b) return b;
    return hurried_ns < gp_mul_saturated(b, 2) ? hurried_ns : gp_mul_saturated(b, 2);
}

/* A change of the host's work cannot take what loading data or one long gap holds, whatever the model does
 * not know. B and LEAST_NS as in widen(). */
static void leave_held(const struct gp_rule_ctx *c, struct gp_suggestion *s, int64_t b, int64_t least_ns)
{
    if (!c->held_ns || s->rule->gaps || least_ns != gp_rule_per_step(c, c->busy_ns)) return;
    int64_t most = gp_bare_ideal_ns(c->bare, c);
    if (b > most) b = most;
    most = b + (most - b) / 2; /* nothing takes no time */
    if (s->saving_high_ns > most) s->saving_high_ns = most;
    if (s->saving_low_ns > most) s->saving_low_ns = most;
}

static void value(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    const struct gp_suggest_step *step = &c->s->step;
    bool gaps = s->rule->gaps;
    s->speedup_low = s->speedup_high = 1;
    if (!step->trusted) return;
    struct gp_bare_saving low = gp_bare_saved(c->bare, c, s->low.at, s->low.n, gaps), high = low;
    if (!same_edits(s->low.at, s->low.n, s->high.at, s->high.n))
        high = gp_bare_saved(c->bare, c, s->high.at, s->high.n, gaps);
    int64_t a = low.less_ns < high.less_ns ? low.less_ns : high.less_ns,
            b = high.more_ns > low.more_ns ? high.more_ns : low.more_ns;
    if (s->rule->type == GP_SUGGEST_SYNC) b = unwaited(b, high.hurried_ns);
    int64_t least_ns = gp_bare_least_ns(c, s);
    widen(c, is_of_host(c, s, least_ns) ? HOST_PCT : MODEL_PCT, noise_in(c, s), a, b, least_ns,
          &s->saving_low_ns, &s->saving_high_ns);
    leave_held(c, s, b, least_ns);
    struct gp_bare_saving sure = s->sure.n ? gp_bare_saved(c->bare, c, s->sure.at, s->sure.n, gaps) : high;
    raise_low(c, s, least_ns, &sure);
    keep_within(step->step_ns, &s->saving_low_ns, &s->saving_high_ns);
    if (s->limit_ns > 0) keep_within(s->limit_ns, &s->saving_low_ns, &s->saving_high_ns);
    s->saving_ns = expected_of(s, low.likely_ns, high.likely_ns, sure.likely_ns);
    s->ceiling_ns = b;
    if (!same_edits(s->free.at, s->free.n, s->high.at, s->high.n))
        s->ceiling_ns = gp_bare_saved(c->bare, c, s->free.at, s->free.n, true).more_ns;
    if (s->ceiling_ns < s->saving_high_ns) s->ceiling_ns = s->saving_high_ns;
    s->speedup_low = speedup(step->unprofiled_low_ns, s->saving_low_ns);
    s->speedup_high = speedup(step->unprofiled_high_ns, s->saving_high_ns);
    s->priority = priority_of(step, s, b);
    if (c->waits_pct >= WAITS_PCT && strcmp(s->rule->name, "straggler") != 0 && s->priority > GP_PRIORITY_LOW)
        s->priority = GP_PRIORITY_LOW; /* this rank would wait longer instead */
    if (s->looks && s->priority > GP_PRIORITY_LOW) s->priority = GP_PRIORITY_LOW;
    s->to_know = to_know_of(c, s, (high.more_ns - high.less_ns + low.more_ns - low.less_ns) / 2);
    if (s->saving_high_ns > 0)
        GP_VEC_PUSH(&s->predictions,
                    ((struct gp_prediction){"step", 0, -s->saving_high_ns, -s->saving_low_ns}));
}

/* Changes that make all of the host's work cheaper, and rules that were never measured, count half: a change
 * that removes the cause comes before them if it saves at least half as much. */
static int64_t weight_of(const struct gp_suggestion *s)
{
    return s->rule->general || !s->rule->measured ? s->saving_ns / 2 : s->saving_ns;
}

static int compare_suggestions(const void *a, const void *b)
{
    const struct gp_suggestion *x = a, *y = b;
    if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
    if (weight_of(x) != weight_of(y)) return weight_of(x) > weight_of(y) ? -1 : 1;
    if (x->saving_low_ns != y->saving_low_ns) return x->saving_low_ns > y->saving_low_ns ? -1 : 1;
    if (x->saving_high_ns != y->saving_high_ns) return x->saving_high_ns > y->saving_high_ns ? -1 : 1;
    if (x->resource_high_ns != y->resource_high_ns) return x->resource_high_ns > y->resource_high_ns ? -1 : 1;
    int order = strcmp(x->rule->name, y->rule->name);
    return order ? order : x->operation < y->operation ? -1 : x->operation > y->operation;
}

/* An edit of a rule that leaves long gaps alone leaves them among those of rules that do not, too. */
static struct gp_edit left_gap(const struct gp_rule_ctx *c, const struct gp_edit *e,
                               const struct gp_rule *rule)
{
    struct gp_edit one = *e;
    if (e->kind == GP_EDIT_BEFORE && !rule->gaps && one.ns < c->calls[e->index].held_ns)
        one.ns = c->calls[e->index].held_ns;
    return one;
}

/* The joint saving of all that are worth it, replayed as one suggestion. */
static void value_joint(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    struct gp_suggestion all = {0};
    for (size_t i = 0; i < s->suggestions.n; i++) {
        const struct gp_suggestion *one = &s->suggestions.at[i];
        if (one->priority == GP_PRIORITY_NONE) continue;
        for (size_t k = 0; k < one->low.n; k++)
            GP_VEC_PUSH(&all.low, left_gap(c, &one->low.at[k], one->rule));
        for (size_t k = 0; k < one->high.n; k++)
            GP_VEC_PUSH(&all.high, left_gap(c, &one->high.at[k], one->rule));
        for (size_t k = 0; k < one->free.n; k++) GP_VEC_PUSH(&all.free, one->free.at[k]);
    }
    int64_t a = gp_bare_saved(c->bare, c, all.low.at, all.low.n, true).less_ns,
            b = gp_bare_saved(c->bare, c, all.high.at, all.high.n, true).more_ns;
    widen(c, MODEL_PCT, c->noise_ns, a, b, gp_bare_least_ns(c, &all), &s->joint_low_ns, &s->joint_high_ns);
    keep_within(s->step.step_ns, &s->joint_low_ns, &s->joint_high_ns);
    for (size_t i = 0; i < s->suggestions.n; i++) {
        const struct gp_suggestion *one = &s->suggestions.at[i];
        if (one->priority == GP_PRIORITY_NONE) continue; /* together they save at least what each does */
        if (s->joint_low_ns < one->saving_low_ns) s->joint_low_ns = one->saving_low_ns;
        if (s->joint_high_ns < one->saving_high_ns) s->joint_high_ns = one->saving_high_ns;
    }
    release_suggestion(&all);
}

/* What a rank that waits saves by itself, it waits longer instead. */
static void note_waiting_rank(struct gp_rule_ctx *c)
{
    if (c->waits_pct >= WAITS_PCT)
        note(
            c,
            gp_rule_text(
                c,
                "this rank waits %.0f%% of the time for another one: look at that one first; savings of this "
                "rank only make it wait longer",
                c->waits_pct));
}

static void value_all(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    note_waiting_rank(c);
    size_t kept = 0;
    for (size_t i = 0; i < s->suggestions.n; i++) {
        struct gp_suggestion *one = &s->suggestions.at[i];
        value(c, one);
        if (one->saving_high_ns < s->opts.min_saving_ns) {
            release_suggestion(one);
            continue;
        }
        s->suggestions.at[kept++] = *one;
    }
    s->suggestions.n = kept;
    if (s->step.trusted) value_joint(c);
    if (kept) qsort(s->suggestions.at, kept, sizeof *s->suggestions.at, compare_suggestions);
}

/* ---- what limits the answer ---- */

static bool flag(const struct gp_trace *t, const char *key)
{
    const char *value = gp_trace_get_meta(t, key);
    return value && (value[0] == '1' || value[0] == 't');
}

/* What the recorder added to a step, and that savings are without it. */
static void note_recorder(struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *s = &c->s->step;
    static const char *const keys[] = {"with_stack", "record_shapes", "profile_memory"};
    struct gp_buf flags = {0};
    for (size_t i = 0; i < GP_COUNT(keys); i++)
        if (flag(c->t, keys[i])) gp_buf_printf(&flags, "%s%s", flags.n ? ", " : " (", keys[i]);
    if (flags.n) gp_buf_putc(&flags, ')');
    const char *who = s->recorder ? s->recorder : "the recorder";
    if (s->unprofiled_high_ns > s->step_ns)
        note(c,
             gp_rule_text(
                 c,
                 "%s%s added up to %s to each step: savings are those without it; --step-time narrows them",
                 who, gp_buf_str(&flags), gp_rule_ns(c, s->step_ns - s->unprofiled_low_ns)));
    else if (s->unprofiled_low_ns == s->unprofiled_high_ns)
        note(c, gp_rule_text(c, "%s%s added %s to each step: savings are those without it", who,
                             gp_buf_str(&flags), gp_rule_ns(c, s->step_ns - s->unprofiled_ns)));
    else
        note(c,
             gp_rule_text(
                 c,
                 "%s%s added %s to %s to each step: savings are those without it; --step-time narrows them",
                 who, gp_buf_str(&flags), gp_rule_ns(c, s->step_ns - s->unprofiled_high_ns),
                 gp_rule_ns(c, s->step_ns - s->unprofiled_low_ns)));
    gp_buf_release(&flags);
}

/* Why no saving is claimed. */
static void note_distrust(struct gp_rule_ctx *c)
{
    static const char claims[] = "no saving of wall time is claimed, only less work for the GPU or the host";
    const struct gp_suggest_step *s = &c->s->step;
    if (s->damaged)
        note(c,
             gp_rule_text(c, "events of the input are lost or damaged, so steps may lack some: %s", claims));
    else if (!is_step_replayed(c))
        note(c, gp_rule_text(c, "a replayed step takes %s and a recorded one %s: %s",
                             gp_rule_ns(c, s->replay_ns), gp_rule_ns(c, s->step_ns), claims));
    else
        note(c, gp_rule_text(c, "a replay of the unchanged steps misses the recorded time by %.1f%%: %s",
                             s->replay_error_pct, claims));
}

static void note_capture(struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *s = &c->s->step;
    if (!s->found)
        note(c, gp_rule_text(c, "no steps were found, so the whole trace counts as one step; mark steps with "
                                "ranges, or name them with --step-marker"));
    else if (s->steps < STEPS_FEW)
        note(c, gp_rule_text(c, "only %u whole %s recorded: record five or more", s->steps,
                             s->steps == 1 ? "step is" : "steps are"));
    if (s->step_ns - s->unprofiled_ns >= s->step_ns / NOTE_PARTS) note_recorder(c);
    if (!s->trusted) note_distrust(c);
    uint64_t lost = 0;
    for (size_t i = 0; i < c->t->losses.n; i++) lost += c->t->losses.at[i].count;
    if (lost) note(c, gp_rule_text(c, "%llu events were lost while recording", (unsigned long long)lost));
}

/* ---- all of it ---- */

static bool wanted(const struct gp_suggest *s, const struct gp_rule *rule)
{
    for (size_t i = 0; i < s->opts.n_rules; i++)
        if (!strcmp(s->opts.rules[i], rule->name)) return true;
    return !s->opts.n_rules;
}

static void ask_rules(struct gp_rule_ctx *c)
{
    for (size_t i = 0; gp_rules[i]; i++) {
        if (!wanted(c->s, gp_rules[i])) continue;
        c->rule = gp_rules[i];
        c->rule->run(c);
    }
}

static void look_for_changes(struct gp_rule_ctx *c)
{
    struct gp_chains chains = {0};
    note_capture(c);
    gp_chains_find(&chains, c);
    c->chains = &chains;
    tell_chains(c);
    ask_rules(c);
    value_all(c);
    gp_chains_release(&chains);
}

/* What was worked out on the way to the kernels, and rests on times between launches. */
static void forget_times(struct gp_suggest *s)
{
    memset(&s->step, 0, sizeof s->step);
    memset(&s->regime_parts, 0, sizeof s->regime_parts);
    s->step.rank = -1;
    s->regime = GP_REGIME_UNKNOWN;
}

/* A step time that the user gave must be possible. */
static int check_given(const struct gp_rule_ctx *c, struct gp_err *err)
{
    const struct gp_suggest_step *s = &c->s->step;
    int64_t given_ns = c->s->opts.unprofiled_ns, bound_ns = s->step_ns;
    const char *what = "longer than the recorded step";
    if (given_ns <= 0 || c->s->untimed || (given_ns >= s->busy_ns && given_ns <= s->step_ns)) return 0;
    if (given_ns < s->busy_ns) what = "shorter than the GPU works in a step", bound_ns = s->busy_ns;
    struct gp_buf given = {0}, bound = {0};
    gp_scale_put(&given, GP_UNIT_NS, given_ns);
    gp_scale_put(&bound, GP_UNIT_NS, bound_ns);
    int failed = gp_fail(err, GP_E_USAGE, -1, "--step-time: %s is %s, %s", gp_buf_str(&given), what,
                         gp_buf_str(&bound));
    gp_buf_release(&given);
    gp_buf_release(&bound);
    return failed;
}

/* What follows from the facts of C. */
static void judge_plan(struct gp_rule_ctx *c)
{
    struct gp_bare bare;
    gp_bare_build(&bare, c, c->s->opts.unprofiled_ns);
    c->bare = &bare;
    tell_bare_step(c);
    c->noise_ns = noise_of(c);
    tell_lead(c);
    gp_item_work_find(c);
    gp_suggest_tell_regime(c);
    if (c->s->untimed) forget_times(c->s);
    else look_for_changes(c);
    gp_bare_release(&bare);
}

static int look_at_plan(struct gp_suggest *s, const struct gp_view *v, const struct gp_plan *p,
                        struct gp_err *err)
{
    uint8_t *beside[GP_CLASS_COUNT] = {NULL};
    struct gp_rule_ctx c = {.s = s, .t = v->t, .v = v, .p = p, .beside = beside};
    c.n_steps = p->steps.n;
    c.plan_ns = p->recorded_ns;
    c.replay_ns = gp_plan_length(p);
    c.replay_step_ns = gp_plan_step_ns(p, NULL, 0);
    struct gp_host_memo ops = {.hs = &v->hs};
    know_items(&c, &ops);
    know_calls(&c, &ops);
    gp_host_memo_release(&ops);
    gp_rule_find_held(&c);
    know_device(&c);
    c.same_steps = all_steps_equal(&c);
    tell_step(&c);
    int failed = check_given(&c, err);
    if (!failed) judge_plan(&c);
    free(c.items);
    free(c.calls);
    free(c.work);
    GP_VEC_FREE(&c.counted);
    free(c.launches_here);
    for (int i = 0; i < GP_CLASS_COUNT; i++) free(beside[i]);
    return failed;
}

/* The program with the most GPU work. */
static const struct gp_steps_program *main_program(const struct gp_steps *steps, const struct gp_view *v)
{
    const struct gp_steps_program *best = NULL;
    int64_t most = -1;
    for (size_t i = 0; i < steps->v.n; i++) {
        const struct gp_steps_program *program = &steps->v.at[i];
        int64_t work = 0;
        for (size_t k = 0; k < program->n; k++)
            work = gp_add_saturated(work, v->t->events[GP_GPU].dur_ns[program->rows[k]]);
        if (work > most) most = work, best = program;
    }
    return best;
}

int gp_suggest_run(struct gp_suggest *s, struct gp_trace *t, struct gp_err *err)
{
    struct gp_view v;
    struct gp_steps steps;
    struct gp_plan plan;
    gp_input_quality_read(&s->input, &s->strings, t);
    s->untimed = gp_trace_distorted(t);
    gp_repair(t, GP_REPAIR_DROP);
    gp_view_init(&v, t, s->opts.classes);
    int failed = gp_steps_find(&steps, &v, s->opts.step_marker, err);
    const struct gp_steps_program *program = failed ? NULL : main_program(&steps, &v);
    if (program && gp_plan_build(&plan, &v, program)) {
        failed = look_at_plan(s, &v, &plan, err);
        gp_plan_release(&plan);
    } else if (!failed) {
        struct gp_rule_ctx c = {.s = s};
        note(&c, gp_rule_text(&c, "most GPU events have no launch record, so nothing can be replayed or "
                                  "suggested; record the launching calls as well"));
    }
    gp_input_quality_judge(&s->input, &s->strings, t, &v);
    gp_steps_release(&steps);
    gp_view_release(&v);
    return failed;
}
