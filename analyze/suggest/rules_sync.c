// The host waits for the GPU, and the GPU then for the host.
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/map.h"

enum { SCALAR_BYTES = 16 };

static const double WAIT_PCT = 2; /* of the time, spent waiting */

bool gp_rule_is_scalar_read(const struct gp_rule_ctx *c, uint32_t item)
{
    int64_t bytes = gp_rule_bytes(c, item);
    return c->items[item].kind == GP_FRAME_MEMCPY && bytes > 0 && bytes <= SCALAR_BYTES &&
           gp_copy_to_host(gp_rule_name(c, item));
}

/* Which waiting calls: those that read a value or two, or those that wait for no copy; synchronous_copy
 * covers the others. */
static bool is_covered(const struct gp_rule_ctx *c, uint32_t call, bool scalars)
{
    uint32_t copy = gp_rule_copy_waited_for(c, call);
    if (scalars) return copy != GP_REPLAY_NONE && gp_rule_is_scalar_read(c, copy);
    return copy == GP_REPLAY_NONE && gp_call_synchronizes(c->calls[call].name);
}

struct waits {
    int64_t count;  /* of calls that waited */
    int64_t copies; /* of values that were read, with or without a wait */
    int64_t own;    /* of them in the user's own code, for certain */
    int64_t waited_ns;
    int64_t sized_ns;        /* of it under operators that must know the size of their result */
    uint32_t longest, sized; /* calls; the longest of those; UINT32_MAX: none */
};

/* The operator around CALL that waits to learn how large its result is; UINT32_MAX: there is none. */
static uint32_t op_that_needs_size(const struct gp_rule_ctx *c, uint32_t call)
{
    for (uint32_t node = c->calls[call].node; node != GP_HOST_NONE; node = c->v->hs.nodes[node].parent) {
        const struct gp_host_event *e = &c->v->hs.nodes[node];
        if (e->table == GP_OP && gp_op_needs_size(gp_trace_str(c->t, c->t->events[GP_OP].name[e->row])))
            return e->row;
    }
    return UINT32_MAX;
}

/* Is the value that CALL waits for how many elements pass a condition? They are written next. */
static bool reads_size(const struct gp_rule_ctx *c, uint32_t call)
{
    uint32_t item = gp_rule_copy_waited_for(c, call);
    return item != GP_REPLAY_NONE && item + 1 < c->p->items.n &&
           c->p->items.at[item + 1].step == c->p->items.at[item].step &&
           gp_kernel_selects(gp_rule_name(c, item + 1));
}

/* Is it the first one in its step after a check of gradients? A GradScaler reads it before the optimizer
 * runs. */
static bool reads_check(const struct gp_rule_ctx *c, uint32_t call)
{
    uint32_t item = gp_rule_copy_waited_for(c, call);
    if (item == GP_REPLAY_NONE) return false;
    for (uint32_t i = item; i-- > c->p->steps.at[c->p->items.at[item].step].first_item;) {
        if (gp_rule_is_scalar_read(c, i)) return false;
        if (gp_kernel_checks_finite(gp_rule_name(c, i))) return true;
    }
    return false;
}

static void add_sized_wait(const struct gp_rule_ctx *c, struct waits *w, uint32_t call)
{
    int64_t waited_ns = c->p->calls.at[call].waited_ns;
    if (op_that_needs_size(c, call) == UINT32_MAX && !reads_size(c, call)) return;
    w->sized_ns += waited_ns;
    if (w->sized == UINT32_MAX || waited_ns > c->p->calls.at[w->sized].waited_ns) w->sized = call;
}

/* At most the host's work for the whole read goes away. */
static void remove_read(const struct gp_rule_ctx *c, uint32_t call, struct gp_suggestion *s)
{
    uint32_t item = gp_rule_copy_waited_for(c, call), copying = c->p->items.at[item].call;
    GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, copying, c->calls[copying].before_ns / 2}));
    GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_OWN, copying, 0}));
    if (call != copying) GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_BEFORE, call, 0}));
}

/* The calls that waited, either those that read scalars or the others; adds their edits to S unless it is
 * NULL. A copy and the call after it may both wait for the copy, which is one read. */
static struct waits find_waits(struct gp_rule_ctx *c, bool scalars, struct gp_suggestion *s)
{
    struct waits w = {.longest = UINT32_MAX, .sized = UINT32_MAX};
    uint32_t last = GP_REPLAY_NONE;
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        const struct gp_plan_call *call = &c->p->calls.at[k];
        if (c->p->replay.calls.at[k].waits_for == GP_REPLAY_NONE || !is_covered(c, k, scalars)) continue;
        uint32_t copy = scalars ? gp_rule_copy_waited_for(c, k) : GP_REPLAY_NONE;
        w.copies += copy != last;
        w.own += copy != last && gp_rule_code_of_call(c, k) == GP_CODE_OWN;
        last = copy;
        if (call->waited_for != GP_REPLAY_NONE) {
            w.count++;
            w.waited_ns += call->waited_ns;
            add_sized_wait(c, &w, k);
            if (w.longest == UINT32_MAX || call->waited_ns > c->p->calls.at[w.longest].waited_ns)
                w.longest = k;
        }
        if (!s) continue;
        if (scalars) remove_read(c, k, s);
        gp_rule_edit_all(s, GP_EDIT_NO_WAIT, k, 0);
    }
    return w;
}

/* What the waits in functions, operators and ranges of one label sum to. */
struct place {
    gp_sid label;
    int64_t ns;
    uint32_t node, depth; /* the deepest of them */
    uint32_t call;        /* the last one that was added, and 1 */
};

struct places {
    struct gp_rule_ctx *c;
    struct gp_map of_name, of_label; /* (table, name), (table, label) -> index */
    GP_VEC(struct place) v;
};

static struct place *place_at(struct places *p, const struct gp_host_event *e)
{
    gp_sid name = p->c->t->events[e->table].name[e->row];
    uint32_t *known = gp_map_put(&p->of_name, (uint64_t)e->table << 32 | name, UINT32_MAX);
    if (*known != UINT32_MAX) return &p->v.at[*known];
    gp_sid label = gp_rule_label(p->c, (enum gp_table)e->table, name);
    *known = *gp_map_put(&p->of_label, (uint64_t)e->table << 32 | label, (uint32_t)p->v.n);
    if (*known == p->v.n) GP_VEC_PUSH(&p->v, ((struct place){.label = label}));
    return &p->v.at[*known];
}

/* Is it the range of the step itself? */
static bool is_step(const struct gp_rule_ctx *c, uint32_t call, const struct gp_host_event *e)
{
    return e->table == GP_RANGE &&
           c->t->events[GP_RANGE].name[e->row] == c->p->steps.at[c->p->calls.at[call].step].name;
}

/* Add the wait of CALL to all places that it is in. */
static void add_places(struct places *p, uint32_t call)
{
    enum { MOST = 64 };
    const struct gp_rule_ctx *c = p->c;
    const struct gp_host_event *nodes = c->v->hs.nodes;
    uint32_t depth = MOST;
    for (uint32_t node = c->calls[call].node; node != GP_HOST_NONE && depth; node = nodes[node].parent) {
        uint32_t table = nodes[node].table;
        if (table != GP_OP && table != GP_RANGE && !gp_rule_is_function(c, &nodes[node])) continue;
        if (is_step(c, call, &nodes[node])) continue;
        struct place *place = place_at(p, &nodes[node]);
        if (place->call != call + 1) place->ns += c->p->calls.at[call].waited_ns;
        if (depth > place->depth) place->depth = depth, place->node = node;
        place->call = call + 1;
        depth--;
    }
}

/* The innermost place in which the calls waited for more than half of the time, since samples may lie beside
 * the waits: its label, or 0 if there is none. */
static gp_sid most_waited_in(struct gp_rule_ctx *c, bool scalars, bool *sampled)
{
    struct places p = {.c = c};
    const struct place *best = NULL;
    int64_t all_ns = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (c->p->calls.at[k].waited_for == GP_REPLAY_NONE || !is_covered(c, k, scalars)) continue;
        all_ns += c->p->calls.at[k].waited_ns;
        add_places(&p, k);
    }
    for (size_t i = 0; i < p.v.n; i++)
        if (gp_mul_saturated(p.v.at[i].ns, 2) > all_ns &&
            (!best || p.v.at[i].ns < best->ns || (p.v.at[i].ns == best->ns && p.v.at[i].depth > best->depth)))
            best = &p.v.at[i];
    gp_sid label = best ? best->label : 0;
    const struct gp_host_event *e = best ? &c->v->hs.nodes[best->node] : NULL;
    *sampled = e && gp_rule_is_sampled(c, (enum gp_table)e->table, e->row);
    gp_map_release(&p.of_name);
    gp_map_release(&p.of_label);
    GP_VEC_FREE(&p.v);
    return label;
}

static void describe_waits(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct waits *w,
                           bool scalars)
{
    s->current_ns = s->resource_high_ns = gp_rule_per_step(c, w->waited_ns);
    if (scalars) gp_rule_evidence_count(s, "reads", gp_rule_per_step(c, w->copies));
    gp_rule_evidence_count(s, "waits", gp_rule_per_step(c, w->count));
    gp_rule_evidence_ns(s, "waited", s->current_ns);
    gp_rule_evidence_text(s, "longest_in", gp_intern_cstr(&c->s->strings, c->calls[w->longest].name));
    bool sampled;
    s->operation = most_waited_in(c, scalars, &sampled);
    if (!s->operation) s->operation = gp_intern_cstr(&c->s->strings, c->calls[w->longest].name);
    if (sampled) gp_rule_evidence_text(s, "place_from", gp_intern_cstr(&c->s->strings, "samples"));
}

/* Where nothing shows whose code reads, it may be a library's. */
static const char *or_library(const struct gp_rule_ctx *c)
{
    bool shown = c->t->events[GP_API].stack || gp_rule_python_is_known(c);
    return shown ? "" : "; in a library's code, only an option of the library helps";
}

/* What waits is not the program, but an operator: it must know how many elements it returns. */
static void describe_sized_result(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct waits *w)
{
    uint32_t row = op_that_needs_size(c, w->sized);
    if (row != UINT32_MAX) s->operation = gp_rule_label(c, GP_OP, c->t->events[GP_OP].name[row]);
    const char *op = row != UINT32_MAX ? gp_suggest_str(c->s, s->operation) : "nonzero or a mask as index";
    s->description = gp_rule_text(c,
                                  "The host reads single values from the GPU %s and waits %s per step for "
                                  "them, mostly because %s must know how many elements it returns",
                                  gp_rule_times(c, w->copies), gp_rule_ns(c, s->current_ns), op);
    const char *how =
        gp_rule_in(c, "apply masks with torch.where or a product, use torch.nonzero_static(size=N)",
                   "apply masks with jax.numpy.where or a product, use nonzero(size=N)",
                   "apply masks with where() or a product");
    if (gp_name_has_one_of(op, " bincount unique "))
        how = "count with scatter_add_ of ones into a tensor of fixed size, sort and mask in place of unique";
    else if (gp_name_has_one_of(op, " repeat_interleave ")) how = "give repeat_interleave its output_size";
    s->action = gp_rule_text(c,
                             "avoid results whose size depends on the data: %s, or compute what they "
                             "give once and reuse it%s",
                             how, or_library(c));
    s->assumes = gp_rule_text(c, "the number of elements has a bound, or the mask can be applied without it");
}

/* Does a GradScaler, which must know whether gradients overflowed, or an optimizer ask for most of the
 * values? Nobody can make them ask less often. */
static bool asked_by_framework(const struct gp_rule_ctx *c)
{
    int64_t theirs = 0, all = 0;
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        if (c->p->calls.at[k].waited_for == GP_REPLAY_NONE || !is_covered(c, k, true)) continue;
        all++;
        theirs += gp_rule_is_of_framework(c, k) || reads_check(c, k);
    }
    return theirs * 2 > all;
}

/* The loop whose turns launch the same and read more than half of all values; NULL. Turns that also get
 * values, multiply or draw samples need the one before, as tokens do, or have a rule of their own. */
static const struct gp_loop *loop_of_reads(const struct gp_rule_ctx *c, const struct waits *w)
{
    for (size_t i = 0; i < c->loops->v.n; i++) {
        const struct gp_loop *l = &c->loops->v.at[i];
        bool other = l->fed || l->products || l->samples || l->backward || l->inner || l->trains;
        if (!other && l->reads >= l->count && l->reads * 2 > gp_rule_per_step(c, w->copies)) return l;
    }
    return NULL;
}

static void check_scalar_read(struct gp_rule_ctx *c)
{
    struct waits w = find_waits(c, true, NULL);
    if (!w.count || w.count * 2 < (int64_t)c->n_steps || asked_by_framework(c)) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    find_waits(c, true, s);
    describe_waits(c, s, &w, true);
    s->description = gp_rule_text(
        c, "The host reads single values from the GPU %s (as .item() does) and waits %s per step for them",
        gp_rule_times(c, w.copies), gp_rule_ns(c, s->current_ns));
    if (w.sized != UINT32_MAX && gp_mul_saturated(w.sized_ns, 2) > w.waited_ns) {
        describe_sized_result(c, s, &w);
        return;
    }
    if (gp_rule_code_of(c, s) == GP_CODE_LIBRARY) {
        s->action = gp_rule_text(
            c, "let the library that reads them leave the check out, by an option or another call, "
               "or give it the value from the host");
        if (w.own * 2 >= (int64_t)c->n_steps)
            s->action = gp_rule_text(c, "%s; your own code reads %s: do that only every few steps",
                                     gp_suggest_str(c->s, s->action), gp_rule_times(c, w.own));
        return;
    }
    const struct gp_loop *loop = loop_of_reads(c, &w);
    if (loop) {
        s->description =
            gp_rule_text(c, "%s. %u of them are read in %u turns of a loop that launch the same %u kernels",
                         gp_suggest_str(c->s, s->description), loop->reads, loop->count,
                         loop->period - loop->reads / loop->count);
        s->change = gp_rule_text(c, "compute what all turns of the loop read in one call, and read it once");
        s->action =
            gp_rule_text(c, "%s, where no turn needs the one before; otherwise read every few turns%s",
                         gp_suggest_str(c->s, s->change), or_library(c));
        return;
    }
    s->action = gp_rule_text(c,
                             "read values only every few steps, or keep them on the GPU and decide there, "
                             "with %s in place of if%s",
                             gp_rule_in(c, "torch.where", "jax.numpy.where or jax.lax.cond", "a mask"),
                             or_library(c));
}

const struct gp_rule gp_rule_scalar_read = {
    .name = "scalar_read",
    .type = GP_SUGGEST_SYNC,
    .summary = "the host reads single values from the GPU and waits for them",
    .needs = "copies with bytes, synchronising calls",
    .threshold = "a copy of at most 16 bytes to the host that the host waits for, every second step",
    .guard =
        "waits that cost nothing in the replay because the GPU had no work left save nothing; values that "
        "a GradScaler or an optimizer of PyTorch asks for",
    .formula = "a replay of the steps without these waits: the host keeps launching",
    .assumes = "what the host does next does not depend on the value",
    .expect = "less idle_synchronisation and idle_host",
    .run = check_scalar_read,
    .frames = "which show what the value decides",
    .measured = true,
};

static void check_blocking_sync(struct gp_rule_ctx *c)
{
    struct waits w = find_waits(c, false, NULL);
    if (w.count * 2 < (int64_t)c->n_steps || gp_pct(w.waited_ns, c->plan_ns) < WAIT_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    find_waits(c, false, s);
    describe_waits(c, s, &w, false);
    s->description =
        gp_rule_text(c, "The host waits for the GPU %s, %s per step; the longest wait is in %s",
                     gp_rule_times(c, w.count), gp_rule_ns(c, s->current_ns), c->calls[w.longest].name);
}

const struct gp_rule gp_rule_blocking_sync = {
    .name = "blocking_sync",
    .type = GP_SUGGEST_SYNC,
    .summary = "the host waits in synchronising calls",
    .needs = "synchronising calls",
    .threshold = "2% of the time, every second step",
    .guard = "one wait at the end of the recording; waits right after a copy (see synchronous_copy); waits "
             "that cost nothing in the replay save nothing",
    .action = "remove the synchronisation, or wait for an event from an earlier step",
    .formula = "a replay of the steps without these waits: the host keeps launching",
    .assumes = "nothing needs the results on the host at that moment",
    .expect = "less idle_synchronisation and idle_host",
    .run = check_blocking_sync,
    .frames = "which show who waits",
    .measured = true,
};
