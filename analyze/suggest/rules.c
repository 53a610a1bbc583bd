/* What rules have in common: facts they ask for, edits, texts and evidence. */
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "analyze/math/nth.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "analyze/view/backward.h"
#include "analyze/view/idle_walk.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

static const double HOST_CAUSE_PCT = 5; /* of a step: less is lost between two runs of a program */

enum {
    UPDATES_LEAST = 3, /* of tensors one after the other, to be those of an optimizer */
    UPDATE_KERNELS_MOST = 16
};

int64_t gp_rule_per_step(const struct gp_rule_ctx *c, int64_t total)
{
    int64_t n = c->n_steps ? (int64_t)c->n_steps : 1;
    return (total + (total < 0 ? -n / 2 : n / 2)) / n;
}

int64_t gp_rule_kernels(const struct gp_rule_ctx *c)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++)
        n += gp_gpu_config(c->t, c->p->items.at[i].row)->kind == GP_KERNEL;
    return n;
}

/* ---- text ---- */

/* FORMAT without its "per step": with no steps, figures stand for the whole trace. */
static void put_without_steps(struct gp_buf *b, const char *format)
{
    static const char words[] = " per step";
    const char *from = format;
    for (const char *at; (at = strstr(from, words)) != NULL; from = at + strlen(words))
        gp_buf_put(b, from, (size_t)(at - from));
    gp_buf_puts(b, from);
}

/* BEFORE and TEXT, interned; 0 if TEXT is NULL. */
static gp_sid fixed_text(struct gp_rule_ctx *c, const char *before, const char *text)
{
    struct gp_buf whole = {0};
    if (!text) return 0;
    gp_buf_puts(&whole, before);
    if (c->p->found_steps) gp_buf_puts(&whole, text);
    else put_without_steps(&whole, text);
    gp_sid sid = gp_intern(&c->s->strings, whole.data, whole.n);
    gp_buf_release(&whole);
    return sid;
}

struct gp_suggestion *gp_rule_suggest(struct gp_rule_ctx *c)
{
    const struct gp_rule *r = c->rule;
    GP_VEC_PUSH(&c->s->suggestions,
                ((struct gp_suggestion){
                    .rule = r,
                    .action = fixed_text(c, "", r->action),
                    .change = fixed_text(c, "", r->change),
                    .formula = fixed_text(c, "", r->formula),
                    .assumes = fixed_text(c, "", r->assumes),
                    .check = r->check ? fixed_text(c, "", r->check)
                                      : fixed_text(c, "record again and run trace-diff: expect ", r->expect),
                }));
    return &c->s->suggestions.at[c->s->suggestions.n - 1];
}

struct gp_suggestion *gp_rule_suggest_edits(struct gp_rule_ctx *c, bool enough, struct gp_suggestion *edits)
{
    struct gp_suggestion *s = enough ? gp_rule_suggest(c) : NULL;
    if (s) s->low = edits->low, s->high = edits->high, s->free = edits->free;
    else gp_suggestion_release(edits);
    if (s) s->current_ns = s->resource_high_ns = gp_rule_per_step(c, edits->current_ns);
    memset(edits, 0, sizeof *edits);
    return s;
}

void gp_rule_remove_call(const struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t call, bool before)
{
    const struct gp_replay_call *r = &c->p->replay.calls.at[call];
    for (uint32_t i = r->first; i < r->first + r->n; i++) gp_rule_edit_all(s, GP_EDIT_GONE, i, 0);
    gp_rule_edit_all(s, GP_EDIT_OWN, call, 0);
    gp_rule_edit_all(s, GP_EDIT_NO_WAIT, call, 0);
    if (before) gp_rule_edit_all(s, GP_EDIT_BEFORE, call, 0);
}

void gp_suggestion_release(struct gp_suggestion *s)
{
    GP_VEC_FREE(&s->evidence);
    GP_VEC_FREE(&s->predictions);
    GP_VEC_FREE(&s->low);
    GP_VEC_FREE(&s->high);
    GP_VEC_FREE(&s->free);
    GP_VEC_FREE(&s->sure);
}

/* Of the edits of S, those that concern the CALLS. */
static size_t count_within(const struct gp_rule_ctx *c, const struct gp_suggestion *s, const uint8_t *calls)
{
    size_t n = 0;
    for (size_t i = 0; i < s->high.n; i++) {
        const struct gp_edit *e = &s->high.at[i];
        bool of_call = e->kind == GP_EDIT_BEFORE || e->kind == GP_EDIT_OWN || e->kind == GP_EDIT_NO_WAIT;
        n += calls[of_call ? e->index : c->p->items.at[e->index].call];
    }
    return n;
}

void gp_rule_absorb(struct gp_rule_ctx *c, const uint8_t *calls, const char *names,
                    struct gp_suggestion *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->s->suggestions.n; i++) {
        struct gp_suggestion *one = &c->s->suggestions.at[i];
        const char *name = one->rule->name;
        bool named = gp_is_one_of(name, strlen(name), names);
        if (!named || count_within(c, one, calls) * 3 <= one->high.n * 2) c->s->suggestions.at[kept++] = *one;
        else if (graph && gp_is_one_of(name, strlen(name), " compile cuda_graph ")) { /* in this order */
            gp_suggestion_release(graph);
            *graph = *one;
        } else gp_suggestion_release(one);
    }
    c->s->suggestions.n = kept;
}

const char *gp_rule_times(struct gp_rule_ctx *c, int64_t count)
{
    int64_t steps = c->n_steps ? (int64_t)c->n_steps : 1;
    const char *unit = count == 1 ? "time" : "times";
    gp_sid text = count == steps && steps > 1 ? gp_rule_text(c, "once per step")
                  : count % steps == 0
                      ? gp_rule_text(c, "%lld %s per step", (long long)(count / steps), unit)
                      : gp_rule_text(c, "%lld %s in %lld steps", (long long)count, unit, (long long)steps);
    return gp_suggest_str(c->s, text);
}

gp_sid gp_rule_text(struct gp_rule_ctx *c, const char *format, ...)
{
    struct gp_buf whole = {0}, text = {0};
    if (c->p && !c->p->found_steps) {
        put_without_steps(&whole, format);
        format = gp_buf_str(&whole);
    }
    va_list args;
    va_start(args, format);
    gp_buf_vprintf(&text, format, args);
    va_end(args);
    gp_buf_release(&whole);
    return gp_intern_buf(&c->s->strings, &text);
}

static const char *scaled(struct gp_rule_ctx *c, enum gp_unit unit, int64_t value)
{
    struct gp_buf b = {0};
    gp_scale_put(&b, unit, value > 0 ? value : 0);
    const char *text = gp_suggest_str(c->s, gp_intern(&c->s->strings, b.data, b.n));
    gp_buf_release(&b);
    return text;
}

const char *gp_rule_ns(struct gp_rule_ctx *c, int64_t ns) { return scaled(c, GP_UNIT_NS, ns); }

const char *gp_rule_size(struct gp_rule_ctx *c, int64_t bytes) { return scaled(c, GP_UNIT_BYTES, bytes); }

gp_sid gp_rule_label(struct gp_rule_ctx *c, enum gp_table table, gp_sid name)
{
    struct gp_buf plain = {0}, label = {0};
    const char *s = gp_trace_str(c->t, name);
    size_t n = gp_string_len(&c->t->strings, name);
    if (table == GP_GPU) {
        gp_name_demangle(&plain, s, n);
        gp_name_kernel_label(&label, plain.data, plain.n);
    } else if (table == GP_OP) {
        gp_name_op_label(&label, s, n);
    } else if (table == GP_RANGE) {
        gp_name_range_label(&label, s, n);
    } else if (table == GP_PYTHON) {
        gp_name_python_label(&label, s, n);
    } else {
        gp_buf_put(&label, s, n);
    }
    gp_sid sid = gp_intern(&c->s->strings, label.n ? label.data : s, label.n ? label.n : n);
    gp_buf_release(&plain);
    gp_buf_release(&label);
    return sid;
}

gp_sid gp_rule_full_name(struct gp_rule_ctx *c, uint32_t item)
{
    gp_sid name = gp_gpu_config(c->t, c->p->items.at[item].row)->name;
    struct gp_buf plain = {0};
    gp_name_demangle(&plain, gp_trace_str(c->t, name), gp_string_len(&c->t->strings, name));
    gp_sid sid = gp_intern(&c->s->strings, plain.data, plain.n);
    gp_buf_release(&plain);
    return sid;
}

gp_sid gp_rule_item_label(struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_config *config = gp_gpu_config(c->t, c->p->items.at[item].row);
    if (config->kind == GP_KERNEL) return gp_rule_label(c, GP_GPU, config->name);
    return gp_intern_cstr(&c->s->strings, gp_trace_str(c->t, config->name));
}

/* ---- the device ---- */

/* Rows of the device are sorted by start: the forward pass finds what began before a row, the backward pass
 * what began after it. */
static uint8_t *rows_beside(const struct gp_rule_ctx *c, enum gp_class class)
{
    const struct gp_events *gpu = &c->t->events[GP_GPU];
    const struct gp_view_device *d = &c->v->devices.at[c->device];
    const uint32_t *rows = c->v->rows + d->first;
    uint8_t *beside = gp_zalloc(gpu->n + 1);
    int64_t over = INT64_MIN, next = INT64_MAX;
    for (size_t i = 0; i < d->n; i++) {
        int64_t start = gpu->start_ns[rows[i]], end = start + gpu->dur_ns[rows[i]];
        if (start < over) beside[rows[i]] = 1;
        if (gp_view_class(c->v, rows[i]) == class && end > over) over = end;
    }
    for (size_t i = d->n; i-- > 0;) {
        int64_t start = gpu->start_ns[rows[i]], end = start + gpu->dur_ns[rows[i]];
        if (next < end) beside[rows[i]] = 1;
        if (gp_view_class(c->v, rows[i]) == class) next = start;
    }
    return beside;
}

const uint8_t *gp_rule_rows_beside(const struct gp_rule_ctx *c, enum gp_class class)
{
    if (!c->beside[class]) c->beside[class] = rows_beside(c, class);
    return c->beside[class];
}

struct gp_rule_lost gp_rule_find_lost(const struct gp_rule_ctx *c, gp_rule_loss *loss,
                                      struct gp_suggestion *s)
{
    struct gp_rule_lost sum = {.worst = UINT32_MAX};
    int64_t most = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!gp_rule_is_here(c, i)) continue;
        int64_t ns = loss(c, i);
        if (ns <= 0) continue;
        sum.count++;
        sum.total_ns += gp_rule_dur(c, i);
        sum.lost_ns += ns;
        if (ns > most) most = ns, sum.worst = i;
        if (!s) continue;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_DUR, i, gp_rule_dur(c, i) - ns}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, i, 0}));
    }
    return sum;
}

/* ---- names ---- */

uint8_t *gp_rule_match_configs(const struct gp_rule_ctx *c, gp_rule_match *match)
{
    uint8_t *by_config = gp_zalloc(c->t->configs.n + 1);
    for (size_t i = 0; i < c->t->configs.n; i++) {
        gp_sid name = c->t->configs.at[i].name;
        by_config[i] = match(gp_trace_str(c->t, name));
    }
    return by_config;
}

/* A match, evaluated once per name. */
struct match_memo {
    const struct gp_rule_ctx *c;
    gp_rule_match *match;
    uint8_t *answers; /* by sid: 0 not evaluated yet */
};

static bool matches(struct match_memo *a, gp_sid name)
{
    enum { UNKNOWN, YES, NO };
    uint8_t *answer = &a->answers[name];
    if (*answer == UNKNOWN) *answer = a->match(gp_trace_str(a->c->t, name)) ? YES : NO;
    return *answer == YES;
}

/* ---- the host ---- */

struct outermost {
    const struct gp_rule_ctx *c;
    uint32_t tables;
    gp_rule_match *match;
};

static uint32_t outermost_in(void *ctx, uint32_t node, uint32_t around)
{
    const struct outermost *o = ctx;
    const struct gp_host_event *e = &o->c->v->hs.nodes[node];
    if (around != GP_HOST_NONE || !(o->tables & GP_NEED(e->table))) return around;
    gp_sid name = o->c->t->events[e->table].name[e->row];
    return o->match(gp_trace_str(o->c->t, name)) ? node : GP_HOST_NONE;
}

uint32_t gp_rule_outermost(const struct gp_rule_ctx *c, struct gp_host_memo *memo, uint32_t node,
                           uint32_t tables, gp_rule_match *match)
{
    struct outermost o = {c, tables, match};
    return gp_host_memo_get(memo, node, outermost_in, &o);
}

/* The first call that begins at AT or later. */
static uint32_t call_from(const struct gp_rule_ctx *c, int64_t at_ns)
{
    const struct gp_events *api = &c->t->events[GP_API];
    uint32_t lo = 0, hi = (uint32_t)c->p->calls.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (api->start_ns[c->p->calls.at[mid].row] < at_ns) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* Assign the host time [BEGIN, END) to the calls that it precedes. */
int64_t gp_rule_time_before_calls(const struct gp_rule_ctx *c, int64_t begin_ns, int64_t end_ns,
                                  int64_t *by_call)
{
    const struct gp_events *api = &c->t->events[GP_API];
    int64_t sum = 0;
    for (uint32_t k = call_from(c, begin_ns); k < c->p->calls.n; k++) {
        int64_t until = api->start_ns[c->p->calls.at[k].row], since = until - c->calls[k].before_ns;
        if (since >= end_ns) break;
        int64_t from = since > begin_ns ? since : begin_ns, to = until < end_ns ? until : end_ns;
        if (from >= to) continue;
        by_call[k] += to - from;
        sum += to - from;
    }
    return sum;
}

const char *gp_rule_shows_python(const struct gp_rule_ctx *c)
{
    const struct gp_recorder *r = c->unprofiled ? c->unprofiled->recorder : NULL;
    if (c->jax || (r && !strcmp(r->name, "gpuprof-collect"))) return "gpuprof-collect --sample";
    return r && !strcmp(r->name, "torch.profiler") ? "with_stack=True"
                                                   : "gpuprof-collect --sample, or with_stack=True";
}

bool gp_rule_is_sampled(const struct gp_rule_ctx *c, enum gp_table table, size_t row)
{
    return table == GP_PYTHON &&
           gp_category_is_sampled(gp_trace_str(c->t, gp_get_cat(&c->t->events[table], row)));
}

int64_t gp_rule_host_time(const struct gp_rule_ctx *c, enum gp_table table, gp_rule_match *match,
                          int64_t *by_call, int64_t *count)
{
    const struct gp_events *e = &c->t->events[table];
    struct match_memo memo = {c, match, gp_zalloc(c->t->strings.n + 1)};
    struct gp_host_memo outermost = {.hs = &c->v->hs};
    int64_t sum = 0, begin = c->p->begin_ns, end = c->p->steps.at[c->p->steps.n - 1].end_ns;
    for (size_t i = 0; i < e->n && e->start_ns[i] < end; i++) {
        if (e->start_ns[i] + e->dur_ns[i] <= begin || !c->launches_here[e->track[i]]) continue;
        if (!matches(&memo, e->name[i])) continue;
        uint32_t node = gp_host_node(&c->v->hs, table, i);
        if (table == GP_PYTHON && gp_backward_waits(c->t, &c->v->hs, node)) continue; /* another launches */
        if (node != GP_HOST_NONE && gp_rule_outermost(c, &outermost, node, GP_NEED(table), match) != node)
            continue;
        int64_t time = gp_rule_time_before_calls(c, e->start_ns[i], e->start_ns[i] + e->dur_ns[i], by_call);
        if (count) *count += time > 0 && !gp_rule_is_sampled(c, table, i);
        sum += time;
    }
    gp_host_memo_release(&outermost);
    free(memo.answers);
    return sum;
}

/* ---- what the device waits for ---- */

int64_t gp_rule_idle_per_step(const struct gp_rule_ctx *c, int64_t total)
{
    int64_t all = 0, left = c->s->step.step_ns - c->s->step.busy_ns;
    if (!c->p->found_steps || c->n_steps < 2) return gp_rule_per_step(c, total);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) all = gp_add_saturated(all, c->idle_ns[i]);
    return all > 0 && left > 0 ? (int64_t)((double)left * ((double)total / (double)all)) : 0;
}

bool gp_rule_idle_matters(const struct gp_rule_ctx *c, int64_t idle_ns)
{
    return gp_pct(idle_ns, c->s->step.step_ns) >= HOST_CAUSE_PCT;
}

void gp_rule_evidence_idle(const struct gp_rule_ctx *c, struct gp_suggestion *s, int64_t idle_ns)
{
    gp_rule_evidence_ns(s, "idle", idle_ns);
    gp_rule_evidence_pct(s, "idle", gp_pct(idle_ns, c->s->step.step_ns));
}

struct idle_walk {
    struct gp_rule_ctx *c;
    enum gp_idle_cause cause;
    int64_t *by_call, *by_name; /* by sid of the trace: idle time in functions */
    int64_t sum;
    struct gp_host_memo functions;
};

/* The innermost Python function at NODE or around it. */
static uint32_t function_at(void *ctx, uint32_t node, uint32_t around)
{
    const struct gp_rule_ctx *c = ctx;
    const struct gp_host_event *e = &c->v->hs.nodes[node];
    if (e->table != GP_PYTHON) return around;
    gp_sid name = c->t->events[GP_PYTHON].name[e->row];
    return gp_frame_is_state(gp_trace_str(c->t, name)) ? around : name;
}

static void add_idle_of(void *ctx, const struct gp_idle_piece *piece)
{
    struct idle_walk *walk = ctx;
    if (piece->device != walk->c->device || piece->cause != walk->cause) return;
    int64_t ns = gp_rule_time_before_calls(walk->c, piece->begin_ns, piece->end_ns, walk->by_call);
    uint32_t function = gp_host_memo_get(&walk->functions, piece->node, function_at, walk->c);
    walk->by_name[function == GP_HOST_NONE ? 0 : function] += ns;
    walk->sum += ns;
}

int64_t gp_rule_idle_time(struct gp_rule_ctx *c, enum gp_idle_cause cause, int64_t *by_call, gp_sid *where)
{
    struct idle_walk walk = {
        c, cause, by_call, gp_zalloc((c->t->strings.n + 1) * sizeof(int64_t)), 0, {.hs = &c->v->hs}};
    gp_sid most = 0;
    gp_idle_walk(c->v, add_idle_of, &walk);
    gp_host_memo_release(&walk.functions);
    for (gp_sid i = 1; i < c->t->strings.n; i++)
        if (walk.by_name[i] > walk.by_name[most] || !most) most = walk.by_name[i] > 0 ? i : most;
    *where = most ? gp_rule_label(c, GP_PYTHON, most) : 0;
    free(walk.by_name);
    return walk.sum;
}

int64_t gp_rule_idle_in(struct gp_rule_ctx *c, enum gp_idle_cause cause, const int64_t *by_call)
{
    int64_t *idle = gp_zalloc((c->p->calls.n + 1) * sizeof *idle), sum = 0;
    gp_sid where;
    gp_rule_idle_time(c, cause, idle, &where);
    for (uint32_t k = 0; k < c->p->calls.n; k++) sum += idle[k] < by_call[k] ? idle[k] : by_call[k];
    free(idle);
    return gp_rule_idle_per_step(c, sum);
}

enum { FEW_LAUNCHES = 4 }; /* a step, as of graphs */

int64_t gp_rule_usual_gap(const struct gp_rule_ctx *c)
{
    int64_t *gap = gp_alloc((c->p->calls.n + 1) * sizeof *gap), median = 0;
    int64_t most = GP_RULE_LONG_NS / GP_RULE_LONG_TIMES; /* where half of the gaps may be long */
    size_t n = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++)
        if (c->p->replay.calls.at[k].n) gap[n++] = c->calls[k].before_ns;
    if (n) median = gp_nth(gap, n, n / 2);
    if (c->p->found_steps && n <= FEW_LAUNCHES * c->n_steps && median > most) median = most;
    free(gap);
    return median;
}

void gp_rule_save_host(const struct gp_rule_ctx *c, struct gp_suggestion *s, const int64_t *by_call)
{
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (by_call[k] <= 0) continue;
        int64_t left = c->calls[k].before_ns - by_call[k];
        gp_rule_edit_all(s, GP_EDIT_BEFORE, k, left > 0 ? left : 0);
    }
}

bool gp_rule_crosses(const struct gp_rule_ctx *c, uint32_t item)
{
    const char *name = gp_rule_name(c, item);
    return c->items[item].kind == GP_FRAME_MEMCPY && (gp_copy_to_device(name) || gp_copy_to_host(name));
}

uint32_t gp_rule_copy_waited_for(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_replay_call *calls = c->p->replay.calls.at;
    const struct gp_events *api = &c->t->events[GP_API];
    if (calls[call].waits_for == GP_REPLAY_NONE) return GP_REPLAY_NONE;
    for (uint32_t k = call + 1; k-- && call - k < 2;) {
        if (api->track[c->p->calls.at[k].row] != api->track[c->p->calls.at[call].row]) break;
        for (uint32_t i = calls[k].first; i < calls[k].first + calls[k].n; i++)
            if (gp_rule_crosses(c, i) && (k == call || calls[call].waits_for >= i)) return i;
    }
    return GP_REPLAY_NONE;
}

double gp_rule_host_bound_pct(const struct gp_rule_ctx *c)
{
    int64_t idle = c->busy_ns;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) idle += c->idle_ns[i];
    return gp_pct(c->idle_ns[GP_IDLE_HOST] + c->idle_ns[GP_IDLE_LAUNCH], idle);
}

double gp_rule_host_bound_unrecorded_pct(const struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *s = &c->s->step;
    int64_t idle = 0, left = s->unprofiled_ns - s->busy_ns;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) idle += c->idle_ns[i];
    double late = gp_pct(c->idle_ns[GP_IDLE_HOST] + c->idle_ns[GP_IDLE_LAUNCH], idle);
    return left > 0 ? late * (double)left / (double)s->unprofiled_ns : 0;
}

bool gp_rule_is_of_framework(const struct gp_rule_ctx *c, uint32_t call)
{
    const struct gp_host_event *nodes = c->v->hs.nodes;
    for (uint32_t node = c->calls[call].node; node != GP_HOST_NONE; node = nodes[node].parent)
        if (nodes[node].table == GP_PYTHON &&
            gp_name_has_one_of(gp_trace_str(c->t, c->t->events[GP_PYTHON].name[nodes[node].row]),
                               " torch/amp/grad_scaler.py( torch/optim/ "))
            return true;
    return false;
}

/* ---- evidence ---- */

#define EVIDENCE(kind, of_unit, type, member)                                                                \
    void gp_rule_evidence_##kind(struct gp_suggestion *s, const char *name, type v)                          \
    {                                                                                                        \
        GP_VEC_PUSH(&s->evidence, ((struct gp_evidence){.name = name, .unit = of_unit, .member = v}));       \
    }
EVIDENCE(ns, GP_EVIDENCE_NS, int64_t, value)
EVIDENCE(count, GP_EVIDENCE_COUNT, int64_t, value)
EVIDENCE(bytes, GP_EVIDENCE_BYTES, int64_t, value)
EVIDENCE(pct, GP_EVIDENCE_PCT, double, pct)
EVIDENCE(text, GP_EVIDENCE_TEXT, gp_sid, text)
#undef EVIDENCE

void gp_rule_evidence_counted(struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t item)
{
    const struct gp_counted *k = gp_item_counted(c, item);
    if (!k) return;
    if (!isnan(k->occupancy_pct)) gp_rule_evidence_pct(s, "occupancy", k->occupancy_pct);
    if (!isnan(k->issue_pct)) gp_rule_evidence_pct(s, "issue", k->issue_pct);
    if (!isnan(k->tensor_pct)) gp_rule_evidence_pct(s, "tensor", k->tensor_pct);
    if (k->stall != GP_STALL_COUNT)
        gp_rule_evidence_text(s, "warps_wait_for",
                              gp_intern_cstr(&c->s->strings, gp_stall_text((enum gp_stall)k->stall)));
}

/* ---- who compiles ---- */

bool gp_rule_any_kernel(const struct gp_rule_ctx *c, gp_rule_match *is)
{
    uint8_t *match = gp_rule_match_configs(c, is);
    bool any = false;
    for (uint32_t i = 0; i < c->p->items.n && !any; i++) any = match[c->items[i].config];
    free(match);
    return any;
}

bool gp_rule_is_function(const struct gp_rule_ctx *c, const struct gp_host_event *e)
{
    gp_sid name = c->t->events[e->table].name[e->row];
    const char *text = gp_trace_str(c->t, name);
    return e->table == GP_PYTHON && !gp_frame_is_state(text) &&
           !gp_name_is_glue(text, gp_string_len(&c->t->strings, name));
}

bool gp_rule_is_compiled(const struct gp_rule_ctx *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) n += c->items[i].compiled;
    return n && n * 10 >= c->p->items.n;
}

const char *gp_rule_compiler(const struct gp_rule_ctx *c)
{
    bool cupy = gp_rule_any_kernel(c, gp_kernel_is_cupy);
    return gp_rule_in(c, "torch.compile(model)", "jax.jit on the whole step",
                      cupy ? "cupy.fuse" : "a compiler that fuses them");
}

/* ---- pieces of an optimizer ---- */

/* A range, frame or operator that is called an optimizer. */
static bool is_optimizer(const char *name)
{
    return gp_starts(name, "Optimizer.step") || !strcmp(name, "optimizer");
}

static bool in_optimizer(const struct gp_rule_ctx *c, struct gp_host_memo *memo, uint32_t item)
{
    uint32_t node = c->calls[c->p->items.at[item].call].node;
    return gp_rule_outermost(c, memo, node, GP_NEED_ALL, is_optimizer) != GP_HOST_NONE;
}

static bool is_foreach(const char *name)
{
    return gp_kernel_is_multi_tensor(name) && !gp_kernel_is_fused_optimizer(name);
}

/* Items that are one run: of one step, on one stream. */
static bool same_run(const struct gp_rule_ctx *c, uint32_t a, uint32_t b)
{
    return c->p->items.at[a].step == c->p->items.at[b].step &&
           c->p->replay.items.at[a].stream == c->p->replay.items.at[b].stream;
}

/* Elementwise kernels from BEGIN to END, a run: each update is as long as the one before it, the first as
 * long as the second. */
static void mark_updates(const struct gp_rule_ctx *c, const uint8_t *updates, uint32_t begin, uint32_t end,
                         uint8_t *pieces)
{
    uint32_t last = UINT32_MAX, n = 0, first = 0;
    for (uint32_t i = begin; i < end; i++) {
        if (!(c->items[i].kind == GP_FRAME_ELEMENTWISE && updates[c->items[i].config])) continue;
        if (n++ == 1) first = 2 * last + 1 > i + begin ? 2 * last + 1 - i : begin;
        last = i;
    }
    if (n < UPDATES_LEAST || (last - first) / n > UPDATE_KERNELS_MOST) return;
    memset(pieces + first, 1, last + 1 - first);
}

/* An optimizer that updates its parameters tensor by tensor, by the names of its kernels only. */
static void mark_loops(const struct gp_rule_ctx *c, uint8_t *pieces)
{
    uint8_t *updates = gp_rule_match_configs(c, gp_kernel_ends_update);
    for (uint32_t i = 0; i < c->p->items.n;) {
        uint32_t begin = i;
        while (i < c->p->items.n && c->items[i].kind == GP_FRAME_ELEMENTWISE && same_run(c, begin, i)) i++;
        mark_updates(c, updates, begin, i, pieces);
        if (i == begin) i++;
    }
    free(updates);
}

uint8_t *gp_rule_optimizer_pieces(const struct gp_rule_ctx *c)
{
    uint8_t *foreach = gp_rule_match_configs(c, is_foreach),
            *fused = gp_rule_match_configs(c, gp_kernel_is_fused_optimizer),
            *pieces = gp_zalloc(c->p->items.n + 1);
    struct gp_host_memo optimizers = {.hs = &c->v->hs};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t kind = c->items[i].kind, config = c->items[i].config;
        if (gp_class_of((enum gp_frame_kind)kind) != GP_CLASS_COMPUTE || fused[config]) continue;
        pieces[i] = foreach[config] || (kind == GP_FRAME_ELEMENTWISE && in_optimizer(c, &optimizers, i));
    }
    mark_loops(c, pieces);
    gp_host_memo_release(&optimizers);
    free(foreach);
    free(fused);
    return pieces;
}
