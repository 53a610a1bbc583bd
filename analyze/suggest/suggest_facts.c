// The facts that rules query, and the step of the answer, from the plan and the view.
#include "analyze/suggest/rules_priv.h"

#include <stdlib.h>
#include "analyze/hta/breakdown.h"
#include "analyze/math/nth.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/view/idle_walk.h"
#include "analyze/view/steps.h"
#include "formats/base/str.h"

enum {
    TRUSTED_PCT = 2,     /* by which an unchanged replay may miss the recording */
    STEP_PCT = 25,       /* and a replayed step the device's, which begins and ends elsewhere */
    DAMAGE_PCT = 1,      /* of the events, which may be lacking or wrong */
    LEAD_PCT = 5,        /* of an only step, before its first kernel */
    SINGLE_OPS_PART = 7, /* of the kernels */
};

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

/* If no operators are recorded: PyTorch's autograd launches from its own thread, JAX copies from several. */
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

static bool has_torch_operators(const struct gp_trace *t)
{
    for (gp_sid i = 1; i < t->strings.n; i++)
        if (gp_name_has_one_of(gp_trace_str(t, i), " ^aten:: ^autograd::engine:: ")) return true;
    return false;
}

static void collect_items(struct gp_rule_ctx *c, struct gp_host_memo *ops)
{
    const struct gp_plan *p = c->p;
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
        item->position = i - p->steps.at[p->items.at[i].step].first_item;
    }
    free(compiled);
    c->torch = gp_rule_any_kernel(c, gp_kernel_is_pytorch);
    c->torch = c->torch || gp_rule_any_kernel(c, gp_kernel_is_triton_fused);
    c->jax = !c->torch && gp_rule_any_kernel(c, gp_kernel_is_xla);
    c->torch |= has_torch_operators(c->t);
    for (uint32_t i = 0; i < p->items.n && c->torch && !c->t->events[GP_OP].n; i++)
        c->items[i].backward = launched_aside(c, i);
    for (uint32_t i = 0; i < p->items.n && !c->first_product; i++)
        if (c->items[i].kind == GP_FRAME_GEMM || c->items[i].kind == GP_FRAME_ATTENTION) c->first_product = i;
}

static void collect_calls(struct gp_rule_ctx *c, struct gp_host_memo *ops)
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
static void collect_device(struct gp_rule_ctx *c)
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
static gp_sid activity_between(struct gp_rule_ctx *c, int64_t begin_ns, int64_t end_ns)
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

void gp_rule_note_lead(struct gp_rule_ctx *c)
{
    int64_t lead = lead_of(c), begin = c->p->steps.at[0].begin_ns;
    if (gp_pct(lead, c->p->recorded_ns) < LEAD_PCT) return;
    c->s->step.lead_ns = lead;
    c->s->step.lead = activity_between(c, begin, begin + lead);
    gp_rule_note(c, gp_rule_text(c, "the step begins on the host %s before its first kernel%s%s",
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

bool gp_rule_is_step_replayed(const struct gp_rule_ctx *c)
{
    int64_t off = c->replay_step_ns - lead_of(c) - c->s->step.step_ns;
    return (off < 0 ? -off : off) <= gp_part(c->s->step.step_ns, STEP_PCT, 100);
}

static void summarize_step(struct gp_rule_ctx *c)
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
    s->trusted = !s->damaged && gp_rule_is_step_replayed(c) && s->replay_error_pct <= TRUSTED_PCT &&
                 s->replay_error_pct >= -TRUSTED_PCT;
}

/* The recorded step, less what the replays without the recorder take less. */
void gp_rule_unprofiled_step(struct gp_rule_ctx *c)
{
    struct gp_suggest_step *s = &c->s->step;
    const struct gp_unprofiled *b = c->unprofiled;
    int64_t least_ns = c->busy_ns < 0 ? 0 : gp_rule_per_step(c, c->busy_ns);
    int64_t low = s->step_ns - (c->replay_step_ns - b->most.step_ns),
            high = s->step_ns - (c->replay_step_ns - b->least.step_ns);
    if (low < least_ns) low = least_ns < s->step_ns ? least_ns : s->step_ns;
    if (high < low) high = low;
    s->unprofiled_source = b->source;
    if (b->source != GP_UNPROFILED_MODEL) low = high = b->step_ns;
    s->recorder = b->recorder ? b->recorder->name : NULL;
    s->unprofiled_low_ns = low;
    s->unprofiled_high_ns = high;
    s->unprofiled_ns = low + gp_part(high - low, b->recorder ? b->recorder->likely_pct : 0, 100);
    if (s->unprofiled_ns > s->step_ns) s->unprofiled_ns = s->step_ns; /* it may, but is not likely to */
}

void gp_rule_collect_facts(struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    struct gp_host_memo ops = {.hs = &c->v->hs};
    c->n_steps = p->steps.n;
    c->plan_ns = p->recorded_ns;
    c->replay_ns = gp_plan_length(p);
    c->replay_step_ns = gp_plan_step_ns(p, NULL, 0);
    collect_items(c, &ops);
    collect_calls(c, &ops);
    gp_host_memo_release(&ops);
    gp_rule_find_held(c);
    collect_device(c);
    c->same_steps = all_steps_equal(c);
    summarize_step(c);
}

void gp_rule_release_facts(struct gp_rule_ctx *c)
{
    free(c->items);
    free(c->calls);
    free(c->work);
    GP_VEC_FREE(&c->counted);
    GP_VEC_FREE(&c->needless);
    free(c->needless_of);
    free(c->launches_here);
    for (int i = 0; i < GP_CLASS_COUNT; i++) free(c->beside[i]);
}
