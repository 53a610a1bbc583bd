// Host work inside steps that belongs before or beside them: allocation, loading code, compiling, loading
// data, operators on the CPU.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/view/idle_walk.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"

static const double WORTH_PCT = 0.3, INPUT_PCT = 5;
enum { INPUT_BYTES = 256 }; /* more than a few values */

struct texts {
    /* the count and the time per step are added to the description */
    const char *description, *action, *formula, *assumes, *check;
    int64_t least_pct;  /* of that time goes at least */
    const char *change; /* what of the action saves the time; NULL: what it begins with */
    const char *jax;    /* in place of the action in a program of JAX; NULL: the same */
};

/* Suggest to take BY_CALL, which sums to TOTAL, from the host; COUNT is 0 where nothing shows it. */
static struct gp_suggestion *suggest(struct gp_rule_ctx *c, const int64_t *by_call, int64_t total,
                                     int64_t count, const struct texts *t)
{
    struct gp_suggestion *s = gp_rule_suggest(c);
    gp_rule_save_host(c, s, by_call);
    for (size_t i = 0; i < s->low.n; i++) {
        uint32_t call = s->low.at[i].index;
        s->low.at[i].ns = c->calls[call].before_ns - gp_part(by_call[call], t->least_pct, 100);
    }
    s->current_ns = s->resource_high_ns = gp_rule_per_step(c, total);
    s->resource_low_ns = gp_part(s->current_ns, t->least_pct, 100);
    s->description =
        gp_rule_text(c, "%s%s%s: %s per step on the launching threads", t->description, count ? ", " : "",
                     count ? gp_rule_times(c, count) : "", gp_rule_ns(c, s->current_ns));
    s->action = gp_intern_cstr(&c->s->strings, c->jax && t->jax ? t->jax : t->action);
    if (t->change) s->change = gp_intern_cstr(&c->s->strings, t->change);
    s->formula = gp_intern_cstr(&c->s->strings, t->formula);
    s->assumes = gp_intern_cstr(&c->s->strings, t->assumes);
    s->check = gp_intern_cstr(&c->s->strings, t->check);
    if (count) gp_rule_evidence_count(s, "events", count);
    gp_rule_evidence_ns(s, "host_time", s->current_ns);
    return s;
}

/* ---- allocation ---- */

/* Does it go on: does at least half as much of BY_CALL pass in the later half of the steps as in the earlier
 * one? A cache that still grows ends to. */
static bool goes_on(const struct gp_rule_ctx *c, const int64_t *by_call)
{
    int64_t early = 0, late = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        bool is_late = c->p->calls.at[k].step >= (c->n_steps + 1) / 2;
        if (is_late) late = gp_add_saturated(late, by_call[k]);
        else if (c->p->calls.at[k].step < c->n_steps / 2) early = gp_add_saturated(early, by_call[k]);
    }
    return c->n_steps > 1 && late >= early / 2;
}

static void check_allocation(struct gp_rule_ctx *c)
{
    static const struct texts texts = {
        "The driver allocates or frees memory inside steps",
        "let a caching allocator keep the memory: no torch.cuda.empty_cache() in steps, "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, cudaMallocAsync in CUDA programs",
        "a replay of the steps without that host time",
        "the memory still fits when it is kept",
        "record again and run trace-diff: expect less idle_blocking_call",
        100,
        NULL,
        "let XLA keep the memory: not XLA_PYTHON_CLIENT_ALLOCATOR=platform, nor "
        "XLA_PYTHON_CLIENT_PREALLOCATE=false"};
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), count = 0;
    int64_t total = gp_rule_host_time(c, GP_API, gp_call_allocates, by_call, &count);
    if (c->p->found_steps && count * 2 >= (int64_t)c->n_steps && gp_pct(total, c->plan_ns) >= WORTH_PCT &&
        goes_on(c, by_call))
        suggest(c, by_call, total, count, &texts);
    free(by_call);
}

const struct gp_rule gp_rule_allocation = {
    .name = "allocation",
    .type = GP_SUGGEST_MEMORY,
    .summary = "driver allocations inside steps, which block the host and the GPU",
    .needs = "all API calls (gpuprof-collect --api all, or torch.profiler)",
    .threshold = "every second step, 0.3% of the time",
    .guard =
        "stream-ordered allocation (Async); a cache that still grows: less than half as much in the later "
        "half of the steps; traces without steps, where it may be part of the start-up",
    .run = check_allocation,
    .gaps = true,
    .measured = true,
    .least_pct = 40,
};

/* ---- loading code ---- */

static void check_module_load(struct gp_rule_ctx *c)
{
    static const struct texts texts = {
        "Kernels are loaded inside steps (lazy module loading)",
        "run each shape once before the measurement, or set CUDA_MODULE_LOADING=EAGER",
        "a replay of the steps without that host time",
        "the recorded steps should represent a long run",
        "record again after a longer warm-up: expect no module loads",
        100,
        NULL,
        NULL};
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), count = 0;
    int64_t total = gp_rule_host_time(c, GP_API, gp_call_loads_module, by_call, &count);
    if (c->p->found_steps && count && gp_pct(total, c->plan_ns) >= WORTH_PCT)
        suggest(c, by_call, total, count, &texts);
    free(by_call);
}

const struct gp_rule gp_rule_module_load = {
    .name = "module_load",
    .type = GP_SUGGEST_CACHING,
    .summary = "GPU code loaded inside steady steps",
    .needs = "all API calls (gpuprof-collect --api all, or torch.profiler)",
    .threshold = "0.3% of the time",
    .guard = "warm-up steps; traces without steps, where it may be part of the start-up",
    .run = check_module_load,
    .gaps = true,
};

/* ---- compiling ---- */

/* The function of a Python frame, "file.py(12): function". */
static const char *function_of(const char *frame)
{
    const char *at = strstr(frame, "): ");
    return at ? at + strlen("): ") : "";
}

/* Files of compilers also have what runs at every launch: only functions that compile count. */
static bool is_compilation(const char *name)
{
    const char *function = function_of(name);
    if (strstr(name, "triton/compiler/compiler.py"))
        return gp_starts(function, "compile") || gp_starts(function, "make_");
    if (strstr(name, "inductor/compile_fx.py")) return strstr(function, "compile") != NULL;
    return strstr(name, "compile_inner") || strstr(name, "_dynamo/convert_frame.py") ||
           gp_starts(name, "TSL:XlaCompile:") || gp_call_compiles(name); /* the first: a range of JAX's */
}

static void check_recompilation(struct gp_rule_ctx *c)
{
    static const struct texts texts = {
        "Code is compiled inside steps",
        "run it with TORCH_TRACE=logs, and \"trace-compile logs\" with this trace: it reports what is "
        "compiled again and which guard failed; for changing shapes use torch.compile(dynamic=True) or "
        "torch._dynamo.mark_dynamic, otherwise a longer warm-up",
        "a replay of the steps without that host time",
        "it happens throughout the run, not only in these steps",
        "record again: expect no compilation",
        100,
        "let nothing be compiled inside steps",
        "jit a function once, outside of the step, and pass it what changes as an argument; pad changing "
        "shapes; jax_log_compiles reports what is compiled again"};
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), count = 0, total = 0;
    static const enum gp_table tables[] = {GP_PYTHON, GP_OP, GP_RANGE, GP_API};
    for (size_t i = 0; !total && i < GP_COUNT(tables); i++)
        total = gp_rule_host_time(c, tables[i], is_compilation, by_call, &count);
    if (c->p->found_steps && count && gp_pct(total, c->plan_ns) >= WORTH_PCT) {
        struct gp_suggestion *s = suggest(c, by_call, total, count, &texts);
        int64_t most = 0, sum = 0; /* of one step */
        for (uint32_t k = 0; k < c->p->calls.n; k++) {
            sum = by_call[k] + (k && c->p->calls.at[k].step == c->p->calls.at[k - 1].step ? sum : 0);
            if (sum > most) most = sum;
        }
        if (c->n_steps > 1 && gp_mul_saturated(most, 2) > total)
            s->description = gp_rule_text(c, "%s, but %s in one of the steps",
                                          gp_suggest_str(c->s, s->description), gp_rule_ns(c, most));
    }
    free(by_call);
}

const struct gp_rule gp_rule_recompilation = {
    .name = "recompilation",
    .type = GP_SUGGEST_COMPILE,
    .summary = "code compiled inside steady steps",
    .needs = "Python frames, or ranges of the compiler",
    .threshold = "0.3% of the time",
    .guard = "warm-up steps; traces without steps, where it may be part of the start-up",
    .run = check_recompilation,
    .gaps = true,
};

/* ---- what Python does instead of launching ---- */

static bool collects_garbage(const char *name) { return gp_frame_work(name) == GP_WORK_GARBAGE; }

static bool waits_for_lock(const char *name) { return gp_frame_work(name) == GP_WORK_LOCK; }

static bool writes_log(const char *name) { return gp_frame_work(name) == GP_WORK_LOGGING; }

static bool imports(const char *name) { return gp_frame_work(name) == GP_WORK_IMPORT; }

/* The kinds of such work: rules are made of them below. */
static const struct pause {
    bool (*is)(const char *name);
    enum gp_idle_cause cause;
    struct texts texts;
} pauses[] = {
    {collects_garbage,
     GP_IDLE_GARBAGE,
     {"Python collects garbage while the GPU waits",
      "call gc.freeze() after the set-up and gc.disable() in the loop, and gc.collect() where no step waits "
      "for it",
      "a replay of the steps with that host time, or without it",
      "memory that only cycles hold may stay longer",
      "record again and run trace-diff: expect less idle_garbage_collection", 50, NULL, NULL}},
    {waits_for_lock,
     GP_IDLE_LOCK,
     {"The launching thread waits for a lock or for another thread",
      "look at what holds the lock (trace2timeline shows the samples of all threads): do less while it is "
      "held, or do it in another process if it is Python's own lock",
      "a replay of the steps with that host time, or without it",
      "the other thread's work can be done elsewhere or later",
      "record again and run trace-diff: expect less idle_lock", 0, "do less while the lock is held", NULL}},
    {writes_log,
     GP_IDLE_LOGGING,
     {"The launching thread writes log messages",
      "log less often, or use logging.handlers.QueueHandler so that another thread formats and writes",
      "a replay of the steps with that host time, or without it", "another thread can write them",
      "record again and run trace-diff: expect less idle_logging", 50, NULL, NULL}},
    {imports,
     GP_IDLE_IMPORT,
     {"The launching thread imports modules inside steps",
      "import them before the first step, at the top of the file",
      "a replay of the steps with that host time, or without it",
      "it happens throughout the run, not only in these steps",
      "record again and run trace-diff: expect less idle_import", 50, NULL, NULL}},
};

/* Only what the GPU waits for can be saved. */
static void check_pause(struct gp_rule_ctx *c, const struct pause *p)
{
    int64_t idle_ns = c->s->step.idle_ns[p->cause], count = 0;
    bool starts = p->cause == GP_IDLE_IMPORT && !c->p->found_steps;
    if (starts || !gp_rule_idle_matters(c, idle_ns)) return;
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call);
    gp_rule_host_time(c, GP_PYTHON, p->is, by_call, &count);
    memset(by_call, 0, (c->p->calls.n + 1) * sizeof *by_call);
    gp_sid where;
    int64_t total = gp_rule_idle_time(c, p->cause, by_call, &where);
    struct gp_suggestion *s = suggest(c, by_call, total, count, &p->texts);
    s->operation = where;
    s->limit_ns = idle_ns;
    gp_rule_evidence_idle(c, s, idle_ns);
    free(by_call);
}

#define PAUSE_RULE(NAME, N, TYPE, SUMMARY)                                                                   \
    static void check_##NAME(struct gp_rule_ctx *c) { check_pause(c, &pauses[N]); }                          \
    const struct gp_rule gp_rule_##NAME = {                                                                  \
        .name = #NAME,                                                                                       \
        .type = TYPE,                                                                                        \
        .summary = SUMMARY,                                                                                  \
        .needs = "Python frames, or samples of them (gpuprof-collect --sample)",                             \
        .threshold = "the GPU is idle for it 5% of the time",                                                \
        .guard = "what the GPU does not wait for; other threads; a backward pass, which autograd's thread "  \
                 "launches",                                                                                 \
        .run = check_##NAME,                                                                                 \
        .gaps = true,                                                                                        \
    }
PAUSE_RULE(garbage_collection, 0, GP_SUGGEST_OVERLAP, "the GPU waits while Python collects garbage");
PAUSE_RULE(lock_wait, 1, GP_SUGGEST_SYNC, "the GPU waits while the launching thread waits for a lock");
PAUSE_RULE(logging, 2, GP_SUGGEST_OVERLAP, "the GPU waits while the launching thread writes log messages");
PAUSE_RULE(import, 3, GP_SUGGEST_OVERLAP, "the GPU waits while the launching thread imports modules");

/* ---- loading data ---- */

static bool loads_in_range(const char *name) { return gp_idle_loads_data(GP_RANGE, name, strlen(name)); }

static bool loads_in_op(const char *name) { return gp_idle_loads_data(GP_OP, name, strlen(name)); }

static bool loads_in_python(const char *name) { return gp_idle_loads_data(GP_PYTHON, name, strlen(name)); }

static bool is_loader(const char *name) { return gp_name_has_one_of(name, " DataLoader dataloader "); }

static int64_t input_time(const struct gp_rule_ctx *c, int64_t *by_call, int64_t *count)
{
    int64_t total = gp_rule_host_time(c, GP_RANGE, loads_in_range, by_call, count);
    if (!total) total = gp_rule_host_time(c, GP_OP, loads_in_op, by_call, count);
    if (!total) total = gp_rule_host_time(c, GP_PYTHON, loads_in_python, by_call, count);
    return total;
}

void gp_rule_find_held(struct gp_rule_ctx *c)
{
    enum { STEP_PARTS = 20 }; /* 5% of a step */
    int64_t *input = gp_zalloc((c->p->calls.n + 1) * sizeof *input), usual = gp_rule_usual_gap(c);
    int64_t least = c->plan_ns / (int64_t)(c->n_steps ? c->n_steps : 1) / STEP_PARTS;
    if (least < GP_RULE_LONG_NS || !c->p->found_steps)
        least = GP_RULE_LONG_NS; /* no step to have a part of */
    int64_t unusual = gp_mul_saturated(usual, GP_RULE_LONG_TIMES);
    if (least < unusual) least = unusual;
    input_time(c, input, NULL);
    gp_rule_host_time(c, GP_RANGE, gp_range_sets_up, input, NULL);
    for (size_t i = 0; i < GP_COUNT(pauses); i++) gp_rule_host_time(c, GP_PYTHON, pauses[i].is, input, NULL);
    gp_rule_python_held(c, input);
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        struct gp_rule_call *call = &c->calls[k];
        call->held_ns = input[k] < call->before_ns ? input[k] : call->before_ns;
        if (call->before_ns >= least && call->held_ns < call->before_ns - usual)
            call->held_ns = call->before_ns - usual;
        c->held_ns = gp_add_saturated(c->held_ns, call->held_ns);
    }
    c->held_ns = gp_rule_per_step(c, c->held_ns);
    free(input);
}

/* Without anything that names it: long gaps that end in copies to the device of more than a few values. */
static int64_t gaps_before_copies(const struct gp_rule_ctx *c, int64_t *by_call, int64_t *count)
{
    int64_t total = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        const struct gp_replay_call *call = &c->p->replay.calls.at[k];
        if (!c->calls[k].held_ns || !call->n || c->items[call->first].kind != GP_FRAME_MEMCPY) continue;
        if (gp_rule_ends_step(c, k) || !gp_copy_to_device(gp_rule_name(c, call->first))) continue;
        if (gp_rule_input_after(c, k) < INPUT_BYTES) continue;
        by_call[k] = c->calls[k].held_ns;
        total += by_call[k];
        ++*count;
    }
    return total;
}

/* At most, what is copied lies on the GPU already. */
static void remove_copies(const struct gp_rule_ctx *c, const int64_t *by_call, struct gp_suggestion *s)
{
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        if (by_call[k]) gp_rule_edit_high(s, GP_EDIT_GONE, c->p->replay.calls.at[k].first, 0);
}

/* The function in which most of the loading passes that the GPU waits for; 0: none was recorded. */
static gp_sid loading_in(struct gp_rule_ctx *c)
{
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call);
    gp_sid where;
    gp_rule_idle_time(c, GP_IDLE_DATA, by_call, &where);
    free(by_call);
    return where;
}

/* Is it an operator by name? Those that wait, move or allocate belong to other rules. */
static bool is_cpu_work(const char *name)
{
    return strstr(name, "::") &&
           !gp_name_has_one_of(name, " autograd DataLoader ::item local_scalar_dense ::empty ");
}

static bool has_call_inside(const struct gp_rule_ctx *c, size_t op)
{
    const struct gp_events *ops = &c->t->events[GP_OP], *api = &c->t->events[GP_API];
    int64_t end = ops->start_ns[op] + ops->dur_ns[op];
    for (size_t i = gp_events_from(api, ops->start_ns[op]); i < api->n && api->start_ns[i] < end; i++)
        if (api->track[i] == ops->track[op]) return true;
    return false;
}

struct cpu_work {
    int64_t least_ns; /* of an operator that counts */
    int64_t count, total_ns, most_ns;
    uint32_t longest; /* row of GP_OP; UINT32_MAX none */
};

/* Operators without any call in the host time before CALL; of nested ones only the outermost counts. */
static void look_before(const struct gp_rule_ctx *c, uint32_t call, struct cpu_work *sum,
                        struct gp_suggestion *s)
{
    const struct gp_events *ops = &c->t->events[GP_OP], *api = &c->t->events[GP_API];
    uint32_t row = c->p->calls.at[call].row;
    int64_t until = api->start_ns[row], from = until - c->calls[call].before_ns, time = 0;
    for (size_t i = gp_events_from(ops, from); i < ops->n && ops->start_ns[i] < until; i++) {
        int64_t end = ops->start_ns[i] + ops->dur_ns[i];
        if (ops->dur_ns[i] < sum->least_ns || ops->start_ns[i] < from || end > until) continue;
        if (ops->track[i] != api->track[row] || has_call_inside(c, i)) continue;
        if (!is_cpu_work(gp_trace_str(c->t, ops->name[i]))) continue;
        from = end;
        time += ops->dur_ns[i];
        sum->count++;
        if (ops->dur_ns[i] > sum->most_ns) sum->most_ns = ops->dur_ns[i], sum->longest = (uint32_t)i;
    }
    sum->total_ns += time;
    if (s && time) gp_rule_edit_high(s, GP_EDIT_BEFORE, call, c->calls[call].before_ns - time);
}

/* The operators of the CPU before the calls that have something in BY_CALL. Those that are most of it would
 * run on the GPU. */
static void name_operators(struct gp_rule_ctx *c, struct gp_suggestion *s, const int64_t *by_call)
{
    struct cpu_work sum = {.least_ns = c->s->step.step_ns / 100, .longest = UINT32_MAX};
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        if (by_call[k]) look_before(c, k, &sum, NULL);
    if (!sum.count) return;
    s->description =
        gp_rule_text(c, "%s, of which %s in operators of the CPU, the longest %s",
                     gp_suggest_str(c->s, s->description), gp_rule_ns(c, gp_rule_per_step(c, sum.total_ns)),
                     gp_suggest_str(c->s, gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[sum.longest])));
    if (gp_rule_per_step(c, sum.total_ns) * 2 < s->current_ns) return;
    const char *longest = gp_trace_str(c->t, c->t->events[GP_OP].name[sum.longest]);
    bool draws =
        gp_name_has_one_of(longest, " ::rand ::normal ::uniform ::bernoulli ::multinomial ::exponential ");
    s->change = gp_rule_text(c, "%s on the GPU, or prepare the next batch during the step",
                             draws ? "draw the random numbers" : "run the operators of the input");
    s->action =
        gp_rule_text(c,
                     "%s on the GPU%s, or prepare the next batch during the step (DataLoader "
                     "workers, another thread)",
                     draws ? "draw the random numbers" : "copy what these operators read and run them",
                     draws ? " (device=\"cuda\" in place of a copy)" : "");
}

/* Do half of the COUNT gaps begin after a result that was copied to the host? What is copied to the GPU may
 * depend on it, and cannot be prepared before then. */
static void describe_results(struct gp_rule_ctx *c, struct gp_suggestion *s, const int64_t *by_call,
                             int64_t count)
{
    int64_t after = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        after += by_call[k] && gp_rule_result_before(c, k) != GP_REPLAY_NONE;
    if (after * 2 < count) return;
    s->unsure = true;
    s->description = gp_rule_text(
        c, "The host works for a long time between a copy from the GPU and a copy to it, %s: %s per step",
        gp_rule_times(c, count), gp_rule_ns(c, s->current_ns));
    s->change = gp_rule_text(c, "do on the GPU what the host does between the copies");
    s->action = gp_rule_text(c, "%s; what needs no result can be prepared during the step, in another thread",
                             gp_suggest_str(c->s, s->change));
    s->assumes = gp_rule_text(c, "the GPU can do it; the trace does not show what it needs");
}

static void check_input_stall(struct gp_rule_ctx *c)
{
    static const struct texts gaps = {
        "The launching thread does something for a long time before it copies to the GPU",
        "prepare the next batch during the step (DataLoader workers, another thread), or on the GPU: its "
        "data can lie there, what changes it run there, and random numbers be drawn there; compute once what "
        "comes out the same each time",
        "a replay of the steps without half of these gaps, or at most without all of them and these copies",
        "it prepares the input, and another thread or process can do that as fast",
        "record again and run trace-diff: expect less idle_host",
        50,
        "prepare the next batch during the step, or on the GPU",
        "put on the GPU once, with jax.device_put, what is the same in each step: a compiled function copies "
        "each NumPy array that it gets; prepare the rest during the step, in another thread or process"};
    static const struct texts loads = {
        "The launching thread loads batches",
        "prepare the next batch during the step, in another thread or process; compute once what comes out "
        "the same for an item each time",
        "a replay of the steps without half of that host time, as batches are still handed over, or at most "
        "without all of it",
        "another thread or process can load the data as fast",
        "record again and run trace-diff: expect less idle_data_loading",
        50,
        "load the next batch during the step, in other processes",
        "load the next batch during the step, in other processes, and copy it with jax.device_put"};
    int64_t *by_call = gp_zalloc((c->p->calls.n + 1) * sizeof *by_call), count = 0;
    int64_t total = input_time(c, by_call, &count), idle_ns = c->s->step.idle_ns[GP_IDLE_DATA];
    const struct texts *texts = total ? &loads : &gaps;
    if (!total) {
        total = gaps_before_copies(c, by_call, &count);
        idle_ns = gp_rule_idle_in(c, GP_IDLE_HOST, by_call);
        if (count * 2 < (int64_t)c->n_steps || !c->p->found_steps) total = 0;
    }
    if (gp_pct(total, c->plan_ns) >= INPUT_PCT && gp_rule_idle_matters(c, idle_ns)) {
        struct gp_suggestion *s = suggest(c, by_call, total, count, texts);
        s->unsure = texts == &loads; /* workers may be slower than a step */
        if (texts == &loads) {
            s->operation = loading_in(c);
            const char *how = "use more DataLoader workers, prefetch_factor and persistent_workers=True; ";
            bool named = gp_rule_host_time(c, GP_RANGE, is_loader, by_call, NULL) ||
                         is_loader(gp_suggest_str(c->s, s->operation));
            s->action = gp_rule_text(c, "%s%s", named ? how : "", gp_suggest_str(c->s, s->action));
        } else if (!gp_rule_python_is_known(c))
            s->action = gp_rule_text(c, "look at what prepares the input there (%s), and %s",
                                     gp_rule_shows_python(c), gp_suggest_str(c->s, s->action));
        if (texts == &gaps) {
            for (size_t i = 0; i < s->high.n; i++) GP_VEC_PUSH(&s->sure, s->high.at[i]);
            remove_copies(c, by_call, s); /* the copies may stay */
            if (c->jax)
                s->change = gp_rule_text(c, "put on the GPU once what is the same in each step, or prepare "
                                            "the next batch during it");
            describe_results(c, s, by_call, count);
            name_operators(c, s, by_call);
        }
        s->place = gp_rule_place_between(c, by_call);
        gp_rule_evidence_idle(c, s, idle_ns);
    }
    free(by_call);
}

const struct gp_rule gp_rule_input_stall = {
    .name = "input_stall",
    .type = GP_SUGGEST_INPUT,
    .summary = "the GPU waits while the launching thread loads data",
    .needs =
        "ranges, operators or Python frames of the data loader; or a long gap that ends in copies to the GPU",
    .threshold = "5% of the time, and the GPU is idle for it 5% of the time",
    .guard =
        "loading that the GPU does not wait for; worker threads; gaps of a trace without steps, which may "
        "be part of the start-up",
    .run = check_input_stall,
    .gaps = true,
    .frames = "which show what the loading waits for",
    .measured = true,
    .least_pct = 75,
};

/* ---- the CPU works while the device waits ---- */

static const double CPU_PCT = 1; /* of the time */

enum {
    CPU_NS = 10000000, /* of one operator of the CPU */
    REPEATED = 3,      /* occurrences: the first is a warm-up */
};

static void check_routing(struct gp_rule_ctx *c)
{
    struct cpu_work sum = {.least_ns = CPU_NS, .longest = UINT32_MAX};
    struct gp_suggestion edits = {0};
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        if (c->calls[k].before_ns >= CPU_NS) look_before(c, k, &sum, &edits);
    bool enough = sum.count >= REPEATED && sum.count * 2 >= (int64_t)c->n_steps && c->p->found_steps &&
                  gp_pct(sum.total_ns, c->plan_ns) >= CPU_PCT;
    edits.current_ns = sum.total_ns;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->operation = gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[sum.longest]);
    s->description =
        gp_rule_text(c, "The launching thread runs operators on the CPU for %s per step, the longest for %s",
                     gp_rule_ns(c, s->current_ns), gp_rule_ns(c, sum.most_ns));
    gp_rule_evidence_count(s, "operators", sum.count);
    gp_rule_evidence_ns(s, "host_time", s->current_ns);
}

const struct gp_rule gp_rule_routing = {
    .name = "routing",
    .type = GP_SUGGEST_ROUTING,
    .summary = "long CPU operators on the launching thread",
    .needs = "operators, launch calls",
    .threshold = "operators of 10 ms without a call to the GPU, in every second step and three times in all; "
                 "1% of the time",
    .guard =
        "threads that launch nothing; kernels, however short, stay on the GPU; traces without steps, where "
        "a model may be initialized",
    .action = "find out why these operators take so long; run them on the GPU, or ahead of time in "
              "another thread or process",
    .change = "run these operators on the GPU, or ahead of time",
    .formula = "between nothing and a replay of the steps without that host time",
    .assumes = "the results can be produced elsewhere at no cost to this thread",
    .expect = "less idle_host",
    .run = check_routing,
    .gaps = true,
};
