/* What to do, most urgent first. A healthy run gets nothing. */
#include <stdlib.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

static gp_sid place_of(struct gp_compile *c, gp_sid file, int32_t line, gp_sid function)
{
    const char *name = gp_base_name(gp_compile_str(c, file)), *f = gp_compile_str(c, function);
    if (line >= 0) return gp_compile_print(c, "%s:%d%s%s", name, line, *f ? " " : "", f);
    return gp_compile_print(c, "%s%s%s", name, *name ? " " : "", f);
}

static struct gp_compile_advice *add(struct gp_compile *c, const char *rule,
                                     enum gp_compile_priority priority, gp_sid place, gp_sid text,
                                     gp_sid action)
{
    GP_VEC_PUSH(&c->advice, (struct gp_compile_advice){.rule = rule,
                                                       .priority = priority,
                                                       .place = place,
                                                       .operation = place,
                                                       .description = text,
                                                       .action = action,
                                                       .index = GP_CLOG_NONE,
                                                       .row = GP_CLOG_NONE});
    return &c->advice.at[c->advice.n - 1];
}

/* ---- recompiles ---- */

/* What to do about a guard that fails again and again. */
static gp_sid action_of(struct gp_compile *c, const struct gp_compile_recompile *r)
{
    const char *e = gp_compile_str(c, r->expression);
    switch ((enum gp_recompile_kind)r->kind) {
    case GP_RECOMPILE_SIZE:
        return gp_compile_print(
            c,
            "Mark the size as dynamic before the first call (torch._dynamo.mark_dynamic, %s), or pad to "
            "one size",
            e);
    case GP_RECOMPILE_NUMBER:
        return gp_compile_print(
            c, "Pass %s as a tensor, or compile with dynamic=True or None; its value is then not compiled in",
            e);
    case GP_RECOMPILE_FLAG:
        return gp_compile_print(
            c, "Compile one function per value of %s, or decide outside the compiled function", e);
    case GP_RECOMPILE_DTYPE: return gp_compile_print(c, "Convert %s to one data type before the call", e);
    case GP_RECOMPILE_STRIDE:
        return gp_compile_print(c, "Make the memory layout of %s the same at each call: contiguous()", e);
    case GP_RECOMPILE_DEVICE: return gp_compile_print(c, "Keep %s on one device", e);
    case GP_RECOMPILE_GRAD:
        return gp_compile_print(c, "Call it either always or never with tensors that require gradients, or "
                                   "compile one function for training and one for inference");
    case GP_RECOMPILE_GLOBAL:
        return gp_compile_print(c, "Enter no_grad, autocast and the like in the same way before each call");
    case GP_RECOMPILE_OBJECT:
        return gp_compile_print(c, "Reuse the object instead of making a new one for each call");
    case GP_RECOMPILE_KEYS:
        return gp_compile_print(c, "Keep the keys and the length of the container the same");
    case GP_RECOMPILE_OTHER:
    case GP_RECOMPILE_KIND_COUNT: break;
    }
    return gp_compile_print(c, "Make the guard hold at each call: %s", gp_compile_str(c, r->sample));
}

static void advise_recompile(struct gp_compile *c, uint32_t i)
{
    const struct gp_compile_recompile *r = &c->recompiles.at[i];
    enum { MANY = 3 };
    if (!r->limit && r->count < MANY && !r->stalls) return;
    gp_sid place = place_of(c, r->file, r->line, r->function), action = action_of(c, r);
    gp_sid text = gp_compile_print(
        c,
        r->limit ? "%u compiles reach the limit, and it runs eagerly from then on; cause: %s (%s)"
                 : "compiled again %u times; cause: %s (%s)",
        r->count, gp_recompile_kind_text((enum gp_recompile_kind)r->kind), gp_compile_str(c, r->expression));
    if (!r->limit)
        text = gp_compile_print(c, "%s; %s of compile time", gp_compile_str(c, text), GP_NS(r->compile_ns));
    if (r->stalls)
        text = gp_compile_print(c, "%s; %u of them inside steady steps", gp_compile_str(c, text), r->stalls);
    struct gp_compile_advice *a = add(c, r->limit ? "recompile_limit" : "recompiles",
                                      r->limit    ? GP_COMPILE_CRITICAL
                                      : r->stalls ? GP_COMPILE_HIGH
                                                  : GP_COMPILE_MEDIUM,
                                      place, text, action);
    a->index = i;
    for (uint32_t k = 0; k < c->breaks.n && a->row == GP_CLOG_NONE; k++)
        if (c->breaks.at[k].recompile == i) a->row = k;
}

/* ---- breaks ---- */

static void advise_break(struct gp_compile *c, uint32_t i)
{
    const struct gp_compile_break *b = &c->breaks.at[i];
    const struct gp_break_family_row *f = &gp_break_families[b->family];
    if (b->caused_by != GP_CLOG_NONE || (b->family == GP_FAMILY_RECOMPILES && b->recompile != GP_CLOG_NONE))
        return;
    bool vain = gp_compile_in_vain(b);
    enum gp_compile_priority priority = vain || b->family == GP_FAMILY_RECOMPILES ? GP_COMPILE_CRITICAL
                                        : b->whole_frame || b->cost_ns > 0        ? GP_COMPILE_HIGH
                                                                                  : GP_COMPILE_MEDIUM;
    gp_sid place = place_of(c, b->file, b->line, b->function), text;
    if (vain)
        text =
            gp_compile_print(c, "the compiler fails %u times with %s", b->count, gp_compile_str(c, b->kind));
    else
        text =
            gp_compile_print(c, "%s (%s)%s", b->whole_frame ? "runs without being compiled" : "graph break",
                             f->title, b->cost_ns > 0 ? ": the GPU waits" : "");
    gp_sid action = gp_intern_cstr(&c->log->strings, f->action);
    struct gp_compile_advice *a =
        add(c, vain ? "compile_failure" : "graph_break", priority, place, text, action);
    a->saving_ns = b->cost_ns > 0 ? b->cost_ns : 0;
    a->index = a->row = i;
}

/* ---- the rest ---- */

static void advise_skips(struct gp_compile *c)
{
    for (size_t i = 0; i < c->cudagraphs.skips.n; i++) {
        const struct gp_compile_skip s = c->cudagraphs.skips.at[i];
        const char *reason = gp_compile_str(c, s.reason);
        gp_sid place = place_of(c, s.file, s.line, s.function);
        gp_sid text = gp_compile_print(c, "no CUDA graph: %s", gp_compile_str(c, s.text));
        gp_sid action = gp_intern_cstr(
            &c->log->strings,
            strstr(reason, "mutated")
                ? "Do not change inputs in place: return the new value, or copy the input inside"
            : strstr(reason, "cpu")     ? "Move CPU tensors to the GPU before the call"
            : strstr(reason, "dynamic") ? "Use fixed shapes: pad, or compile with dynamic=False"
                                        : "Remove what the reason names from the compiled function");
        add(c, "cudagraph_skip", GP_COMPILE_HIGH, place, text, action);
    }
}

static void advise_modes(struct gp_compile *c)
{
    GP_EACH(const struct gp_compile_mode, m, c->modes) {
        if (!m->slower || m->baseline || m->speedup <= 0 || c->traces.at[m->trace].role != GP_COMPILE_RUN)
            continue;
        gp_sid text = gp_compile_print(c, "the step is not faster than %s: %.2fx",
                                       gp_compile_str(c, c->modes.at[0].name), m->speedup);
        gp_sid action = gp_intern_cstr(
            &c->log->strings, "Run it eagerly, or try another mode: mode=\"reduce-overhead\" where the host "
                              "is slower than the GPU");
        add(c, "slower", GP_COMPILE_CRITICAL, m->name, text, action);
    }
}

/* Compiling goes on in the middle of the run and no guard is known to be the reason. */
static void advise_stalls(struct gp_compile *c)
{
    uint32_t explained = 0;
    for (size_t i = 0; i < c->recompiles.n; i++) explained += c->recompiles.at[i].stalls;
    for (size_t i = 0; i < c->breaks.n; i++) explained += gp_compile_in_vain(&c->breaks.at[i]);
    if (!c->time.stalls || explained) return;
    gp_sid text = gp_compile_print(c, "%s of compile time lie inside steady steps", GP_NS(c->time.stall_ns));
    gp_sid action = gp_intern_cstr(&c->log->strings,
                                   "Run each shape and each path once before the loop that is measured");
    add(c, "compile_in_steps", GP_COMPILE_HIGH, 0, text, action);
}

/* Of the same priority: in the order of the table of breaks, then those without a row there. */
GP_COMPARE(by_priority, struct gp_compile_advice,
           GP_DOWN(priority) GP_KEY(x->priority == GP_COMPILE_CRITICAL ? x->row : 0,
                                    y->priority == GP_COMPILE_CRITICAL ? y->row : 0) GP_DOWN(saving_ns)
               GP_UP(row) GP_THEN(strcmp(x->rule, y->rule)) GP_UP(index))

void gp_compile_advise(struct gp_compile *c)
{
    for (uint32_t i = 0; i < c->recompiles.n; i++) advise_recompile(c, i);
    for (uint32_t i = 0; i < c->breaks.n; i++) advise_break(c, i);
    advise_skips(c);
    advise_modes(c);
    advise_stalls(c);
    if (c->advice.n) qsort(c->advice.at, c->advice.n, sizeof *c->advice.at, by_priority);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_compile_advice, member)

GP_GETTER(get_type) { gp_cell_text(c, *f->words); }

/* The step of the run; -1: there is no trace of it. */
static int64_t step_of(const struct gp_compile *c)
{
    for (size_t i = 0; i < c->modes.n; i++)
        if (c->traces.at[c->modes.at[i].trace].role == GP_COMPILE_RUN) return c->modes.at[i].step_ns;
    return -1;
}

GP_GETTER(get_current)
{
    c->i = step_of(x->of);
    c->none = c->i < 0;
}

GP_GETTER(get_least) { c->i = 0; }

GP_GETTER(get_least_speedup) { c->d = 1; }

GP_GETTER(get_most_speedup)
{
    const int64_t step_ns = step_of(x->of),
                  left = step_ns - ((const struct gp_compile_advice *)row)->saving_ns;
    c->d = step_ns > 0 && left > 0 ? (double)step_ns / (double)left : 1;
}

static const struct gp_field evidence_fields[] = {
    {"index", NULL, GP_CELL_ID, gp_compile_get_index, AT(index), .help = "of the break or the recompile",
     .flags = GP_FIELD_NULL},
};
static const struct gp_record evidence = {"evidence", NULL, GP_FIELDS(evidence_fields),
                                          sizeof(struct gp_compile_advice), .note = "what it rests on"};
static const char *const rules[] = {"recompile_limit", "recompiles", "graph_break",      "compile_failure",
                                    "cudagraph_skip",  "slower",     "compile_in_steps", NULL};
static const char *const types[] = {"compile", NULL};
static const struct gp_field advice_fields[] = {
    {"rule", NULL, GP_CELL_TEXT, gp_member_text, AT(rule), .words = rules},
    {"type", NULL, GP_CELL_TEXT, get_type, 0, .words = types},
    {"priority", NULL, GP_CELL_TEXT, gp_member_word, AT(priority), .words = gp_compile_priorities},
    {"operation", NULL, GP_CELL_NAME, gp_member_sid, AT(operation), .help = "the place that it is about"},
    {"description", NULL, GP_CELL_NAME, gp_member_sid, AT(description), .help = "what was found"},
    {"evidence", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &evidence},
    {"action", NULL, GP_CELL_NAME, gp_member_sid, AT(action), .help = "what to do"},
    {"current_ns", NULL, GP_CELL_NS, get_current, 0, .help = "the step of the run", .flags = GP_FIELD_NULL},
    {"saving_low_ns", NULL, GP_CELL_NS, get_least, 0, .help = "per step, at least"},
    {"saving_high_ns", NULL, GP_CELL_NS, gp_member_i64, AT(saving_ns),
     .help = "per step, at most; 0: not known"},
    {"speedup_low", NULL, GP_CELL_REAL, get_least_speedup, 0, .help = "of a step, at least"},
    {"speedup_high", NULL, GP_CELL_REAL, get_most_speedup, 0, .help = "of a step, at most"},
};
#undef AT
const struct gp_record gp_compile_suggestions = {"suggestions", NULL, GP_FIELDS(advice_fields),
                                                 sizeof(struct gp_compile_advice),
                                                 .note = "what to do, most urgent first"};
