#include "collect/inject/inject_stacks.h"

#include <string.h>
#include "collect/inject/inject.h"
#include "collect/inject/thread_ring.h"

static _Atomic uint32_t wanted; /* enum gp_stacks_mode */
static struct gp_stack_process *process;

/* ---- what stacks stand for ---- */

static bool put_definition(struct gp_thread_ring *t, enum gp_note_op op, uint64_t id, const char *text,
                           const void *args, size_t n)
{
    struct gp_note note = {.op = (uint16_t)op, .args_n = (uint16_t)n, .domain = "", .id = id};
    if (!text) note.text = "";
    bool ok = gp_ring_put(t->ring, &note, text, text ? strlen(text) : 0, args, gp_thread_ring_reserve(t));
    gp_thread_ring_wake(t);
    return ok;
}

static bool put_function(void *ctx, uint32_t number, const char *name, const char *file)
{
    size_t n = strlen(file);
    return put_definition(ctx, GP_NOTE_FUNCTION, number, name, file, n < UINT16_MAX ? n : UINT16_MAX);
}

static bool put_place(void *ctx, uint32_t number, const char *path, uint64_t offset)
{
    struct gp_thread_ring *t = ctx;
    struct gp_note note = {.op = GP_NOTE_PLACE, .domain = "", .id = number, .other = offset};
    return gp_thread_ring_put(t, &note, path, gp_thread_ring_reserve(t));
}

static bool put_frame(void *ctx, uint32_t number, uint32_t parent, uint32_t function, uint32_t line)
{
    struct gp_note_frame f = {parent, function, line, 0};
    return put_definition(ctx, GP_NOTE_FRAME, number, NULL, &f, sizeof f);
}

/* ---- stacks ---- */

/* A stack that could not be had counts like a note that did not fit. */
static void refuse(struct gp_thread_ring *t)
{
    struct gp_launch_counts now = gp_launch_stack_counts(t->stack), *before = &t->counted;
    if (now.cut != before->cut) gp_ring_refuse(t->ring, GP_NOTE_DEEP);
    else if (now.broken != before->broken) gp_ring_refuse(t->ring, GP_NOTE_BROKEN);
    else if (now.many != before->many) gp_ring_refuse(t->ring, GP_NOTE_MANY);
    else if (now.refused != before->refused) gp_ring_refuse(t->ring, GP_NOTE_FRAME);
    *before = now;
}

static uint32_t read_stack(struct gp_thread_ring *t, int64_t *waiter)
{
    if (GP_UNLIKELY(!t->stack)) {
        struct gp_launch_sink sink = {put_function, put_place, put_frame, t};
        t->stack = gp_launch_stack_new(process, &sink, atomic_load(&wanted) == GP_STACKS_NATIVE);
        if (!t->stack) return 0;
    }
    uint32_t number = gp_launch_stack_read(t->stack, waiter);
    if (GP_UNLIKELY(!number)) refuse(t);
    return number;
}

bool gp_inject_stacks_on(void)
{
    return atomic_load_explicit(&wanted, memory_order_relaxed) >= GP_STACKS_LAUNCH;
}

uint32_t gp_inject_stack_here(void)
{
    struct gp_thread_ring *t = gp_inject_stacks_on() ? gp_thread_ring_get() : NULL;
    int64_t waiter;
    return t ? read_stack(t, &waiter) : 0;
}

void gp_inject_stack_of_call(uint32_t corr)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    int64_t waiter = 0;
    if (GP_UNLIKELY(!t) || corr == t->placed) return; /* a driver call inside a runtime call is the same */
    t->placed = corr;
    struct gp_note_stack s = {.corr = corr, .stack = read_stack(t, &waiter)};
    if (!s.stack) return;
    s.waiter = (uint32_t)waiter;
    struct gp_note note = {.op = GP_NOTE_STACK, .args_n = sizeof s, .domain = "", .text = ""};
    if (GP_UNLIKELY(!gp_ring_put(t->ring, &note, "", 0, (const char *)&s, gp_thread_ring_reserve(t))))
        gp_ring_refuse(t->ring, note.op);
    gp_thread_ring_wake(t);
}

void gp_inject_stacks_start(enum gp_stacks_mode mode)
{
    const char *why = NULL;
    if (mode >= GP_STACKS_LAUNCH && !process) process = gp_stack_process_new();
    atomic_store(&wanted, process ? (uint32_t)mode : GP_STACKS_NONE);
    if (process && !gp_stack_process_has_python(process, &why) && why) gp_debug("no Python stacks: %s", why);
}

void gp_inject_stacks_refresh(void)
{
    if (process) gp_stack_process_refresh(process);
}
