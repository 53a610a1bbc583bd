// Switches of PyTorch that were left on: autograd looks for NaN in each gradient; cuDNN tries all its ways to
// compute a convolution, in each step.
#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

enum {
    CHECK = 3, /* items: compares a gradient with itself, joins the results, copies one byte to the host */
    CHECKS_LEAST = 8, /* a step */
    PARTS = 8,        /* of the backward pass's launches, so many at least */
    PYTHON_TIMES = 4, /* what Python takes before a launch of forward, in usual gaps, most of backward */
    TRIALS_LEAST = 6, /* runs of a convolution in a row, with a wait after each */
    WAYS_LEAST = 3,   /* different kernels among them */
};

/* Is a Python function between autograd's engine and CALL? Then a hook of the program's checks gradients. */
static bool is_in_hook(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_host_event *nodes = c->v->hs.nodes;
    for (uint32_t node = c->calls[call].node; node != GP_HOST_NONE; node = nodes[node].parent) {
        gp_sid sid = c->t->events[nodes[node].table].name[nodes[node].row];
        const char *name = gp_trace_str(c->t, sid);
        if (!strcmp(name, GP_STACK_AUTOGRAD) || gp_name_is_backward(name, gp_string_len(&c->t->strings, sid)))
            return false;
        if (nodes[node].table == GP_PYTHON && !gp_frame_is_state(name)) return !gp_frame_runs_backward(name);
    }
    return false;
}

/* Is ITEM, of the backward pass, the last of such a check? */
static bool ends_check(const struct gp_rule_ctx *c, uint32_t item)
{
    if (!c->items[item].backward || !gp_rule_is_scalar_read(c, item) || gp_rule_bytes(c, item) != 1)
        return false;
    if (item < c->p->steps.at[c->p->items.at[item].step].first_item + CHECK - 1) return false;
    const char *joins = gp_rule_name(c, item - 1), *compares = gp_rule_name(c, item - 2);
    bool joined = strstr(joins, "or_kernel") || (gp_copy_on_device(joins) && gp_rule_bytes(c, item - 1) == 1);
    return joined && strstr(compares, "CompareEqFunctor") && !is_in_hook(c, c->p->items.at[item].call);
}

/* What a check launches and waits for goes. Returns how long it waited. */
static int64_t remove_check(const struct gp_rule_ctx *c, uint32_t last, uint8_t *calls,
                            struct gp_suggestion *s)
{
    for (uint32_t item = last - CHECK + 1; item <= last; item++) {
        uint32_t call = c->p->items.at[item].call;
        calls[call] = 1;
        gp_rule_remove_call(c, s, call, true);
    }
    int64_t waited_ns = 0;
    for (uint32_t k = c->p->items.at[last].call, to = k + 2; k < to && k < c->p->calls.n; k++) {
        if (gp_rule_copy_waited_for(c, k) != last) continue;
        calls[k] = 1;
        waited_ns += c->p->calls.at[k].waited_ns;
        gp_rule_edit_all(s, GP_EDIT_NO_WAIT, k, 0);
    }
    return waited_ns;
}

static void check_anomaly_detection(struct gp_rule_ctx *c)
{
    int64_t checks = 0, backward = 0, waited_ns = 0;
    for (uint32_t i = 0; i < c->p->items.n && c->torch; i++) {
        checks += ends_check(c, i);
        backward += c->items[i].backward;
    }
    if (checks < CHECKS_LEAST * (int64_t)c->n_steps || checks * PARTS < backward) return;
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    struct gp_suggestion edits = {0};
    for (uint32_t i = 0; i < c->p->items.n; i++)
        if (ends_check(c, i)) waited_ns += remove_check(c, i, calls, &edits);
    gp_rule_absorb(c, calls,
                   " scalar_read synchronous_copy small_copies blocking_sync tiny_kernels batching ", NULL);
    struct gp_suggestion *s = gp_rule_suggest_edits(c, true, &edits);
    int64_t usual = gp_rule_usual_gap(c);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t call = c->p->items.at[i].call;
        int64_t before = c->calls[call].before_ns, python = usual * PYTHON_TIMES;
        if (c->items[i].backward || c->p->replay.calls.at[call].n != 1 || before <= usual) continue;
        if (before > python) GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, call, python}));
        gp_rule_edit_high(s, GP_EDIT_BEFORE, call, usual);
    }
    s->current_ns = gp_rule_per_step(c, waited_ns);
    s->description =
        gp_rule_text(c,
                     "Autograd looks for NaN in each gradient: the host reads the answer %s and waits "
                     "%s per step for it",
                     gp_rule_times(c, checks), gp_rule_ns(c, s->current_ns));
    gp_rule_evidence_count(s, "checks", gp_rule_per_step(c, checks));
    free(calls);
}

const struct gp_rule gp_rule_anomaly_detection = {
    .name = "anomaly_detection",
    .type = GP_SUGGEST_SYNC,
    .summary = "autograd's anomaly detection, which is for finding errors, is on",
    .needs = "kernels and copies with their launch calls, bytes of the copies",
    .threshold =
        "eight times per step and after one in eight launches of the backward pass, autograd's own thread "
        "compares a tensor with itself, joins the results, and reads one byte",
    .guard = "such checks in forward, in hooks (a Python function within autograd), of a GradScaler",
    .action =
        "switch anomaly detection off: torch.autograd.set_detect_anomaly(False), and no detect_anomaly() "
        "around steps",
    .change = "switch autograd's anomaly detection off",
    .formula =
        "the kernels, copies and waits of the checks go; of what passes before launches of forward, where a "
        "traceback is kept of each operator, all but four usual gaps, at most all but one",
    .assumes = "gradients are not NaN; if a loss becomes NaN, switch it on to find out where",
    .expect = "fewer copies to the host, and less idle_synchronisation and idle_host",
    .run = check_anomaly_detection,
    .measured = true,
};

/* ---- cuDNN's benchmark ---- */

/* Runs of one convolution, each of which the host waits for. */
struct trials {
    uint32_t last, count, ways, way; /* the last call; different kernels in a row, and the last one */
};

static bool is_of_cudnn(const struct gp_rule_ctx *c, uint32_t item)
{
    return c->items[item].kind == GP_FRAME_MEMSET ||
           gp_name_has_one_of(gp_rule_name(c, item), " cudnn implicit_convolve winograd fft2d ");
}

static bool waits_only(const struct gp_rule_ctx *c, uint32_t call)
{
    return !c->p->replay.calls.at[call].n && gp_call_synchronizes(c->calls[call].name);
}

/* The trials that begin at CALL, which waits: between two waits is one convolution with what it needs. */
static struct trials trials_from(const struct gp_rule_ctx *c, uint32_t call)
{
    struct trials t = {.last = call, .way = UINT32_MAX};
    uint32_t convolutions = 0, step = c->p->calls.at[call].step;
    for (uint32_t k = call + 1; k < c->p->calls.n && c->p->calls.at[k].step == step; k++) {
        const struct gp_replay_call *launch = &c->p->replay.calls.at[k];
        if (waits_only(c, k)) {
            if (convolutions != 1) break;
            convolutions = 0;
            t.count++;
            t.last = k;
        }
        for (uint32_t i = launch->first; i < launch->first + launch->n; i++) {
            if (!is_of_cudnn(c, i)) return t;
            if (c->items[i].kind != GP_FRAME_GEMM) continue;
            convolutions++;
            t.ways += c->items[i].config != t.way;
            t.way = c->items[i].config;
        }
    }
    return t;
}

/* Before the FIRST call, which waits, the ways are prepared. */
static void remove_trials(const struct gp_rule_ctx *c, uint32_t first, const struct trials *t, uint8_t *calls,
                          struct gp_suggestion *s)
{
    const struct gp_events *api = &c->t->events[GP_API];
    int64_t before_ns = c->calls[first].before_ns;
    uint32_t row = c->p->calls.at[first].row, end = c->p->calls.at[t->last].row;
    GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_BEFORE, first, before_ns / 2}));
    gp_rule_edit_high(s, GP_EDIT_BEFORE, first, before_ns / t->ways);
    for (uint32_t k = first; k <= t->last; k++) calls[k] = 1, gp_rule_remove_call(c, s, k, k > first);
    s->current_ns += api->start_ns[end] + api->dur_ns[end] - api->start_ns[row] + before_ns;
}

static void check_cudnn_benchmark(struct gp_rule_ctx *c)
{
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    struct gp_suggestion edits = {0};
    int64_t count = 0, runs = 0, steps = 0;
    uint32_t last_step = UINT32_MAX;
    for (uint32_t k = 0; k < c->p->calls.n && c->torch && c->p->found_steps; k++) {
        if (!waits_only(c, k)) continue;
        struct trials t = trials_from(c, k);
        uint32_t first = k;
        k = t.last; /* if these are too few or too much alike, so are those that begin later among them */
        if (t.count < TRIALS_LEAST || t.ways < WAYS_LEAST) continue;
        remove_trials(c, first, &t, calls, &edits);
        count++;
        runs += t.count;
        steps += c->p->calls.at[k].step != last_step;
        last_step = c->p->calls.at[k].step;
    }
    if (steps > 1 && steps * 2 >= (int64_t)c->n_steps) {
        gp_rule_absorb(c, calls, " blocking_sync layout_churn tiny_kernels small_grid fusion compile ", NULL);
        struct gp_suggestion *s = gp_rule_suggest_edits(c, true, &edits);
        s->description = gp_rule_text(
            c,
            "cuDNN tries its ways to compute a convolution, and waits for each: %s, for %lld "
            "convolutions per step, %s with what it prepares",
            gp_rule_times(c, runs), (long long)gp_rule_per_step(c, count), gp_rule_ns(c, s->current_ns));
        gp_rule_evidence_count(s, "trials", gp_rule_per_step(c, runs));
    }
    gp_suggestion_release(&edits);
    free(calls);
}

const struct gp_rule gp_rule_cudnn_benchmark = {
    .name = "cudnn_benchmark",
    .type = GP_SUGGEST_CACHING,
    .summary = "cuDNN looks for the fastest way to compute convolutions in each step",
    .needs = "kernels with their launch calls, calls that wait",
    .threshold =
        "six times or more in a row, one convolution and a wait for it, by three kernels or more, in "
        "every second step",
    .guard = "steps in which shapes are met for the first time, if they are few; waits after other work",
    .action = "set torch.backends.cudnn.benchmark = False, or pad inputs to a few sizes: each new shape is "
              "tried anew",
    .change = "switch torch.backends.cudnn.benchmark off, or pad inputs to a few sizes",
    .formula =
        "the trials go; of the host's time before them, in which all ways are prepared, a half, at most "
        "all but one way's part",
    .assumes = "the way that cuDNN picks without trying is about as fast",
    .expect = "fewer kernels and waits, and less idle_host",
    .run = check_cudnn_benchmark,
    .gaps = true,
    .measured = true,
};
