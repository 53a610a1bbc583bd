#include "collect/stacks/launch_stack.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include "collect/cpython/python_code.h"
#include "collect/stacks/stack_numbers.h"
#include "collect/stacks/stacks_priv.h"
#include "formats/base/str.h"

enum { OWNED_BY_C = 3, SHIMS_SINCE = 12, POINTERS_SINCE = 11, LOOK_AGAIN = 4096 };
/* So many stacks of a thread are read by calls that cannot fault, and so many frames may be no code. */
enum { DOUBTED = 4, BROKEN_MOST = 16 };
/* Of frames of Python and those between them that stand for calls from C; of places in the table of them. */
enum { FRAMES = 2 * GP_LAUNCH_DEPTH, PLACES = 1024 };
enum found { WHOLE, TOO_DEEP, NO_STACK };

/* One of them, in the thread's last stack. */
struct kept {
    struct gp_frame frame;
    uint32_t number; /* of the stack that ends here */
    uint32_t depth;  /* how many functions that has */
};

struct gp_launch_stack {
    struct gp_stack_numbers numbers;
    const struct gp_own_python *python; /* NULL: not found yet */
    struct kept *last;                  /* the last stack, outermost first; FRAMES */
    struct gp_frame *fresh;             /* what differs from it, innermost first; twice FRAMES */
    uint32_t last_n, fresh_n, doubted, doubted_states;
    uint32_t base;                       /* the stack that this thread's frames stand on, see gp_waiting */
    uint16_t place[PLACES];              /* which of the last stack may lie at an address, by its bits */
    struct gp_waiting *waiting;          /* of a thread of autograd; otherwise NULL */
    struct gp_native *native;            /* NULL: no native frames were read yet */
    bool both;                           /* native frames below those of Python, too */
    struct gp_python_thread *registered; /* so that such threads find this one */
};

/* ---- walking ---- */

/* The innermost frame of the thread with that state. */
static inline uint64_t innermost(const struct gp_py_layout *o, uint64_t state)
{
    if (o->thread_frame != GP_PY_NONE) return gp_own_u64(state + o->thread_frame);
    uint64_t cframe = gp_own_u64(state + o->thread_cframe);
    return cframe ? gp_own_u64(cframe + o->cframe_at) : 0;
}

static bool is_there(const struct gp_own_python *py, uint64_t at, size_t n)
{
    uint8_t bytes[GP_PY_CODE_MOST];
    return gp_is_address(at) && gp_remote_get(&py->memory, at, bytes, n);
}

static inline uint16_t *place_of(struct gp_launch_stack *s, uint64_t at)
{
    return &s->place[at * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static inline uint64_t ip_at(const struct gp_py_layout *o, uint64_t at)
{
    return o->minor >= POINTERS_SINCE ? gp_own_u64(at + o->frame_ip) : gp_own_u32(at + o->frame_ip);
}

/* A frame that stands for a call from C has no mark. */
static inline bool is_function(const struct gp_frame *f) { return f->mark != 0; }

/* Is the frame at F's address still F? */
static inline bool stands(const struct gp_own_python *py, const struct gp_frame *f, uint64_t at)
{
    const struct gp_py_layout *o = &py->layout;
    uint64_t code = gp_own_u64(at + o->frame_code) & ~UINT64_C(3);
    if ((code ^ f->code) | (ip_at(o, at) ^ f->ip)) return false;
    return !is_function(f) || gp_own_code_mark(py, code, false) == f->mark;
}

/* Of the N outermost frames of the last stack, does the one at AT stand, and all that it was called by? Their
 * number, 0 none: then those that stand are added to what differs, since their callers do, and *AT is where
 * they were called from. The addresses to read are those of the last stack, which the thread's own are only
 * compared with: so no reading waits for the one before it. */
static inline uint32_t standing(struct gp_launch_stack *s, uint64_t *at, uint32_t *n)
{
    const uint32_t previous_at = s->python->layout.frame_previous;
    uint32_t first = *place_of(s, *at), i = first;
    if (first >= *n || s->last[first].frame.at != *at) return 0;
    for (bool all = false;; i--) {
        uint64_t here = s->last[i].frame.at, caller = i ? s->last[i - 1].frame.at : 0;
        __asm__("" : "+r"(here)); /* otherwise the compiler reads where the frame before says */
        if (!stands(s->python, &s->last[i].frame, here)) {
            *at = here;
            *n = i++;
            break;
        }
        uint64_t previous = gp_own_u64(here + previous_at);
        all = previous == caller;
        if (all && !i) return first + 1;
        if (all) continue;
        *at = previous;
        *n = i;
        break;
    }
    for (uint32_t k = first + 1; k-- > i;) s->fresh[s->fresh_n++] = s->last[k].frame;
    return 0;
}

/* Find what of the stack whose innermost frame is at AT the N outermost frames of the last one are, *SAME,
 * and the rest. DOUBT: make sure that memory is there before it is read. */
static inline enum found walk(struct gp_launch_stack *s, uint64_t at, uint32_t n, bool doubt, uint32_t *same)
{
    const struct gp_own_python *py = s->python;
    const struct gp_py_layout *o = &py->layout;
    s->fresh_n = 0;
    for (*same = 0; at && !(*same = standing(s, &at, &n)) && at;) {
        if (s->fresh_n >= FRAMES) return TOO_DEEP;
        if (doubt && !is_there(py, at, o->frame_bytes)) return NO_STACK;
        struct gp_frame *f = &s->fresh[s->fresh_n++];
        *f = (struct gp_frame){at, gp_own_u64(at + o->frame_code) & ~UINT64_C(3), ip_at(o, at), 0};
        if (o->minor < SHIMS_SINCE || *(const uint8_t *)(uintptr_t)(at + o->frame_owner) < OWNED_BY_C) {
            if (!f->code || (doubt && !is_there(py, f->code, o->code_bytes))) return NO_STACK;
            f->mark = gp_own_code_mark(py, f->code, doubt);
            if (!f->mark) return NO_STACK;
        }
        at = gp_own_u64(at + o->frame_previous);
    }
    return WHOLE;
}

/* The number of the stack whose SAME outermost frames are those of the last one, on BASE. */
static enum found put_fresh(struct gp_launch_stack *s, uint32_t same, uint32_t base, uint32_t *number)
{
    uint32_t id = same ? s->last[same - 1].number : base, depth = same ? s->last[same - 1].depth : 0;
    s->base = base;
    s->last_n = same;
    *number = 0;
    if (same + s->fresh_n > FRAMES) return TOO_DEEP;
    for (uint32_t i = s->fresh_n; i-- > 0;) {
        const struct gp_frame *f = &s->fresh[i];
        if (is_function(f)) {
            if (depth++ == GP_LAUNCH_DEPTH) return TOO_DEEP;
            id = gp_stack_numbers_below(&s->numbers, id, f);
            if (!id) return WHOLE;
        }
        *place_of(s, f->at) = (uint16_t)s->last_n;
        s->last[s->last_n++] = (struct kept){*f, id, depth};
    }
    *number = id;
    return WHOLE;
}

/* ---- one stack ---- */

static bool is_of_autograd(void)
{
    char name[32] = "";
    return !prctl(PR_GET_NAME, name) && gp_starts(name, "pt_autograd");
}

/* The interpreter may begin after CUDA does. */
static bool find_python(struct gp_launch_stack *s)
{
    if (s->numbers.counts.reads % LOOK_AGAIN) return false;
    s->python = gp_stack_process_python(s->numbers.process, NULL);
    if (!s->python) return false;
    s->last = malloc(FRAMES * (sizeof *s->last + 2 * sizeof *s->fresh));
    if (!s->last) {
        s->python = NULL;
        return false;
    }
    s->fresh = (struct gp_frame *)(void *)(s->last + FRAMES);
    s->doubted = s->doubted_states = DOUBTED;
    s->numbers.codes = (struct gp_py_codes){.layout = &s->python->layout,
                                            .remote = &s->python->memory,
                                            .strings = &s->numbers.strings,
                                            .code_type = s->python->code_type};
    if (is_of_autograd()) s->waiting = gp_waiting_new();
    return true;
}

/* The number of the Python frames, 0: there are none, or *UNKNOWN: they cannot be read. */
static uint32_t read_python(struct gp_launch_stack *s, int64_t *waiter, bool *unknown)
{
    const struct gp_own_python *py = s->python;
    *unknown = true;
    if (GP_UNLIKELY(s->numbers.counts.broken > BROKEN_MOST)) {
        s->numbers.counts.broken++;
        return 0;
    }
    uint64_t state = gp_own_python_state(py), at = 0;
    /* counted apart from its frames: a thread of autograd has none for long */
    if (GP_UNLIKELY(state && s->doubted_states)) {
        uint8_t bytes[GP_PY_THREAD_MOST];
        if (!gp_remote_get(&py->memory, state, bytes, py->layout.thread_bytes)) return 0;
        s->doubted_states--;
    }
    if (state) at = innermost(&py->layout, state);
    bool doubt = s->doubted && at;
    uint32_t base =
        GP_UNLIKELY(s->waiting != NULL) ? gp_waiting_stack(s->waiting, &s->numbers, py, waiter) : 0;
    uint32_t same, id, known = base == s->base ? s->last_n : 0;
    enum found found = GP_UNLIKELY(doubt) ? walk(s, at, 0, true, &same) : walk(s, at, known, false, &same);
    if (found == WHOLE) found = put_fresh(s, same, base, &id);
    if (GP_UNLIKELY(found != WHOLE)) {
        s->numbers.counts.cut += found == TOO_DEEP;
        s->numbers.counts.broken += found == NO_STACK;
        s->last_n = 0;
        return 0;
    }
    bool any = at != 0;
    s->doubted -= doubt;
    if (any && !s->waiting) gp_python_thread_ran(s->numbers.process, &s->registered, state);
    *unknown = any && !id;
    return id;
}

static bool get_native(struct gp_launch_stack *s)
{
    if (!s->native) s->native = gp_native_new();
    return s->native != NULL;
}

uint32_t gp_launch_stack_read(struct gp_launch_stack *s, int64_t *waiter)
{
    *waiter = 0;
    bool python = s->python || find_python(s), unknown = false;
    s->numbers.counts.reads++;
    uint32_t id = python ? read_python(s, waiter, &unknown) : 0;
    if (GP_UNLIKELY((!id || s->both) && !unknown) && get_native(s))
        id = gp_native_stack(s->native, &s->numbers, s->python, id);
    s->numbers.counts.known += id != 0;
    return id;
}

/* ---- life ---- */

struct gp_launch_stack *gp_launch_stack_new(struct gp_stack_process *process,
                                            const struct gp_launch_sink *sink, bool native)
{
    struct gp_launch_stack *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->numbers.sink = *sink;
    s->numbers.process = process;
    s->both = native;
    return s;
}

struct gp_launch_counts gp_launch_stack_counts(const struct gp_launch_stack *s) { return s->numbers.counts; }

void gp_launch_stack_free(struct gp_launch_stack *s)
{
    if (!s) return;
    gp_python_thread_ended(s->registered);
    gp_waiting_free(s->waiting);
    gp_native_free(s->native);
    gp_stack_numbers_release(&s->numbers);
    free(s->last);
    free(s);
}
