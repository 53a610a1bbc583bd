#include "collect/records/call_stacks.h"

#include <stdlib.h>
#include <string.h>
#include "collect/records/records.h"
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/model/trace.h"
#include "formats/redact.h"

enum { THREADS_MOST = 1 << 16, NUMBERS_MOST = 1 << 20 };

struct gp_call_stack {
    uint32_t corr, stack, waiter; /* a track, UINT32_MAX: none */
};

/* NULL: there are too many. */
static struct gp_stack_thread *thread_of(struct gp_call_stacks *s, int64_t tid)
{
    if (s->list.n >= THREADS_MOST && !gp_map_get(&s->threads, (uint64_t)tid)) return NULL;
    uint32_t *at = gp_map_put(&s->threads, (uint64_t)tid, (uint32_t)s->list.n);
    if (*at == s->list.n) GP_VEC_PUSH(&s->list, (struct gp_stack_thread){{0}, {0}});
    return &s->list.at[*at];
}

/* Number 1 begins anew: the thread before it with that id has ended. */
static bool is_next(uint64_t number, size_t *n)
{
    if (number == 1) *n = 0;
    return number == *n + 1 && *n < NUMBERS_MOST;
}

/* The entry that stands for no code stays: analyses look for it. */
static void redact_frame(struct gp_buf *to, const char *s, size_t n)
{
    if (strcmp(s, GP_STACK_AUTOGRAD) != 0) gp_redact_name(to, s, n);
    else gp_buf_put(to, s, n);
}

static bool note_function(struct gp_call_stacks *s, struct gp_stack_thread *t, const struct gp_note *note)
{
    const char *name = gp_note_text(note);
    if (!is_next(note->id, &t->functions.n)) return false;
    struct gp_stack_function f = {
        gp_records_own_text(s->records, name, strlen(name), redact_frame),
        gp_records_own_text(s->records, gp_note_args(note), note->args_n, gp_redact_name), 0};
    GP_VEC_PUSH(&t->functions, f);
    return true;
}

/* Native code, whose functions are found out later. */
static bool note_place(struct gp_call_stacks *s, struct gp_stack_thread *t, const struct gp_note *note)
{
    const char *path = gp_note_text(note);
    struct gp_trace *trace = &s->records->trace;
    if (!is_next(note->id, &t->functions.n) || trace->symbols.n >= GP_CALL_STACKS_MOST) return false;
    struct gp_symbol k = {.module =
                              *path ? gp_records_own_text(s->records, path, strlen(path), gp_redact_name) : 0,
                          .offset = *path ? note->other : 0};
    struct gp_stack_function f = {.symbol = gp_trace_symbol(trace, &k)};
    while (s->path_of.n <= f.symbol) GP_VEC_PUSH(&s->path_of, 0);
    s->path_of.at[f.symbol] = gp_intern_cstr(&s->paths, path);
    GP_VEC_PUSH(&t->functions, f);
    return true;
}

static uint32_t entry_of(const struct gp_stack_thread *t, uint64_t number)
{
    return number && number <= t->stacks.n ? t->stacks.at[number - 1] : 0;
}

/* A stack below one for which there was no room has none, too. */
static bool note_frame(struct gp_call_stacks *s, struct gp_stack_thread *t, const struct gp_note *note)
{
    struct gp_note_frame f;
    struct gp_trace *trace = &s->records->trace;
    if (note->args_n != sizeof f || !is_next(note->id, &t->stacks.n)) return false;
    memcpy(&f, gp_note_args(note), sizeof f);
    uint32_t parent = entry_of(t, f.parent), entry = 0;
    bool known = f.function && f.function <= t->functions.n && f.parent < note->id;
    if (known && (parent || !f.parent) && trace->stacks.n < GP_CALL_STACKS_MOST) {
        const struct gp_stack_function *function = &t->functions.at[f.function - 1];
        struct gp_stack k = {parent, function->name, function->file, f.line, function->symbol};
        entry = gp_trace_stack(trace, &k);
    }
    GP_VEC_PUSH(&t->stacks, entry);
    return known;
}

static bool note_calls(struct gp_call_stacks *s, const struct gp_stack_thread *t, const struct gp_note *note)
{
    struct gp_note_stack k;
    if (note->args_n % sizeof k) return false;
    if (!s->calls) s->calls = gp_zalloc((size_t)GP_CALL_STACKS_KEPT * sizeof *s->calls);
    for (size_t i = 0; i < note->args_n; i += sizeof k) {
        memcpy(&k, gp_note_args(note) + i, sizeof k);
        uint32_t waiter = k.waiter ? gp_records_thread(s->records, k.waiter) : UINT32_MAX;
        s->calls[k.corr % GP_CALL_STACKS_KEPT] = (struct gp_call_stack){k.corr, entry_of(t, k.stack), waiter};
    }
    return true;
}

bool gp_call_stacks_note(struct gp_call_stacks *s, int64_t tid, const struct gp_note *note)
{
    bool ok = true;
    if (note->op != GP_NOTE_FUNCTION && note->op != GP_NOTE_PLACE && note->op != GP_NOTE_FRAME &&
        note->op != GP_NOTE_STACK)
        return false;
    struct gp_stack_thread *t = thread_of(s, tid);
    if (!t) ok = false;
    else if (note->op == GP_NOTE_FUNCTION) ok = note_function(s, t, note);
    else if (note->op == GP_NOTE_PLACE) ok = note_place(s, t, note);
    else if (note->op == GP_NOTE_FRAME) ok = note_frame(s, t, note);
    else ok = note_calls(s, t, note);
    s->bad += !ok;
    return true;
}

uint32_t gp_call_stacks_entry(const struct gp_call_stacks *s, int64_t tid, uint64_t number)
{
    const uint32_t *at = gp_map_get(&s->threads, (uint64_t)tid);
    return at ? entry_of(&s->list.at[*at], number) : 0;
}

uint32_t gp_call_stacks_of(const struct gp_call_stacks *s, uint32_t corr, uint32_t *waiter)
{
    const struct gp_call_stack *k = s->calls ? &s->calls[corr % GP_CALL_STACKS_KEPT] : NULL;
    *waiter = UINT32_MAX;
    if (!k || k->corr != corr || !corr) return 0;
    *waiter = k->waiter;
    return k->stack;
}

void gp_call_stacks_forget(struct gp_call_stacks *s)
{
    if (s->calls) memset(s->calls, 0, (size_t)GP_CALL_STACKS_KEPT * sizeof *s->calls);
}

void gp_call_stacks_release(struct gp_call_stacks *s)
{
    for (size_t i = 0; i < s->list.n; i++) {
        GP_VEC_FREE(&s->list.at[i].functions);
        GP_VEC_FREE(&s->list.at[i].stacks);
    }
    GP_VEC_FREE(&s->list);
    GP_VEC_FREE(&s->path_of);
    gp_strings_release(&s->paths);
    gp_map_release(&s->threads);
    free(s->calls);
    *s = (struct gp_call_stacks){0};
}
