// Host time in Python functions that samples show. The pieces of idle time have it as their cause, so this is
// the same walk.
#include <stdlib.h>
#include "analyze/names/name_predicates.h"
#include "analyze/view/backward.h"
#include "analyze/view/idle_walk.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/mem.h"

/* What functions do meanwhile. */
enum sort { RUNS, WAITS, SORTS };

/* Of one sort, or of several. */
struct python_time {
    int64_t *by_call; /* host time before it */
    int64_t *by_name; /* of functions, by sid; NULL: not asked for */
    int64_t sum;      /* of all */
};

struct python_walk {
    const struct gp_rule_ctx *c;
    uint32_t device; /* that waits; UINT32_MAX: any */
    struct python_time *to[SORTS];
};

static gp_sid name_of(const struct gp_rule_ctx *c, uint32_t node)
{
    return c->t->events[GP_PYTHON].name[c->v->hs.nodes[node].row];
}

static bool is_python(const struct gp_rule_ctx *c, uint32_t node)
{
    return node != GP_HOST_NONE && c->v->hs.nodes[node].table == GP_PYTHON;
}

static void add_piece(void *ctx, const struct gp_idle_piece *p)
{
    const struct python_walk *walk = ctx;
    const struct gp_rule_ctx *c = walk->c;
    uint32_t function = p->node;
    if ((walk->device != UINT32_MAX && walk->device != p->device) || !is_python(c, p->node)) return;
    bool waits = p->cause == GP_IDLE_HOST && p->end_ns - p->begin_ns >= GP_RULE_LONG_NS &&
                 gp_frame_is_state(gp_trace_str(c->t, name_of(c, p->node)));
    if (!waits && p->cause != GP_IDLE_PYTHON) return;
    struct python_time *time = walk->to[waits ? WAITS : RUNS];
    if (waits && gp_backward_waits(c->t, &c->v->hs, p->node))
        return; /* for autograd's thread, which launches */
    if (waits && is_python(c, c->v->hs.nodes[function].parent)) function = c->v->hs.nodes[function].parent;
    int64_t ns = gp_rule_time_before_calls(c, p->begin_ns, p->end_ns, time->by_call);
    if (time->by_name) time->by_name[name_of(c, function)] += ns;
    time->sum += ns;
}

void gp_rule_python_held(const struct gp_rule_ctx *c, int64_t *by_call)
{
    struct python_time time = {.by_call = by_call};
    struct python_walk walk = {c, UINT32_MAX, {&time, &time}};
    if (c->t->events[GP_SAMPLE].n) gp_idle_walk(c->v, add_piece, &walk);
}

static gp_sid longest(const struct python_time *time, size_t n)
{
    gp_sid most = 0;
    for (gp_sid i = 1; i < n; i++)
        if (time->by_name[i] > time->by_name[most]) most = i;
    return most;
}

static void suggest(struct gp_rule_ctx *c, const struct python_time *time, enum sort sort)
{
    bool runs = sort == RUNS;
    struct gp_suggestion *s = gp_rule_suggest(c);
    gp_rule_save_host(c, s, time->by_call);
    for (size_t i = 0; i < s->low.n; i++)
        s->low.at[i].ns = c->calls[s->low.at[i].index].before_ns - time->by_call[s->low.at[i].index] / 2;
    s->current_ns = s->resource_high_ns = s->limit_ns = gp_rule_idle_per_step(c, time->sum);
    s->resource_low_ns = s->current_ns / 2;
    s->description = gp_rule_text(c, "The launching thread %s for %s per step, mainly in %s",
                                  runs ? "runs Python code" : "sleeps or waits", gp_rule_ns(c, s->current_ns),
                                  gp_trace_str(c->t, longest(time, c->t->strings.n)));
    s->action = gp_rule_text(c, "%s",
                             runs ? "move this Python code out of the steps: compute its results once, let "
                                    "one call of NumPy or PyTorch "
                                    "do what a loop does, or run it in another thread or process"
                                  : "move this wait out of the steps, or to another thread or process");
    s->check = gp_rule_text(c, "record again and run trace-diff: expect less idle_%s",
                            runs ? "python_overhead" : "host");
    gp_rule_evidence_ns(s, "host_time", s->current_ns);
    gp_rule_evidence_idle(c, s, s->current_ns);
}

static void check_python_overhead(struct gp_rule_ctx *c)
{
    struct python_time time[SORTS] = {{0}};
    struct python_walk walk = {c, c->device, {&time[RUNS], &time[WAITS]}};
    if (!c->t->events[GP_SAMPLE].n) return;
    for (int sort = 0; sort < SORTS; sort++) {
        time[sort].by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *time[sort].by_call);
        time[sort].by_name = gp_zalloc((c->t->strings.n + 1) * sizeof *time[sort].by_name);
    }
    gp_idle_walk(c->v, add_piece, &walk);
    for (int sort = 0; sort < SORTS; sort++) {
        if (gp_rule_idle_matters(c, gp_rule_idle_per_step(c, time[sort].sum)))
            suggest(c, &time[sort], (enum sort)sort);
        free(time[sort].by_call);
        free(time[sort].by_name);
    }
}

const struct gp_rule gp_rule_python_overhead = {
    .name = "python_overhead",
    .type = GP_SUGGEST_OVERLAP,
    .summary = "the GPU waits while the launching thread runs Python code, or waits in code called from it",
    .needs = "samples (gpuprof-collect --sample)",
    .threshold = "5% of the time, in pieces of 1 ms or more without a call of CUDA",
    .guard = "loading data, garbage, locks, logging and imports, which have rules of their own; a thread "
             "that waits for the backward pass",
    .formula = "a replay of the steps without half of that host time, or without all of it",
    .assumes = "the next launches do not need all of its results",
    .run = check_python_overhead,
    .gaps = true,
};
