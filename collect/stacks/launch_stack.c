#include "collect/stacks/launch_stack.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include "collect/cpython/python_code.h"
#include "collect/stacks/own_python.h"
#include "collect/stacks/stack_numbers.h"
#include "collect/stacks/stacks_priv.h"
#include "formats/base/str.h"

enum { OWNED_BY_C = 3, SHIMS_SINCE = 12, POINTERS_SINCE = 11, LOOK_AGAIN = 4096 };
/* So many stacks of a thread are read by calls that cannot fault, and so many frames may be no code. */
enum { DOUBTED = 4, BROKEN_MOST = 16 };
enum { TOO_DEEP = GP_LAUNCH_DEPTH + 1, NO_STACK }; /* instead of a number of frames */

struct gp_launch_stack {
    struct gp_stack_numbers numbers;
    const struct gp_own_python *python; /* NULL: not found yet */
    struct gp_frame *frames[2];         /* GP_LAUNCH_DEPTH each: the last stack and this one, in turns */
    const struct gp_frame *last;        /* of it, innermost first */
    uint32_t last_n, turn, doubted;
    uint32_t base;                       /* the stack that this thread's frames stand on, see gp_waiting */
    uint32_t ids[GP_LAUNCH_DEPTH];       /* of the last stack, outermost first */
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

/* Fill TO with the frames from AT on, innermost first; their number, or TOO_DEEP, or NO_STACK if what is
 * there is none. DOUBT: make sure that memory is there before it is read. */
static inline uint32_t walk(const struct gp_own_python *py, uint64_t at, struct gp_frame *to, bool doubt)
{
    const struct gp_py_layout *o = &py->layout;
    /* in registers, whatever is written to TO */
    const uint32_t previous_at = o->frame_previous, code_at = o->frame_code, ip_at = o->frame_ip,
                   owner_at = o->frame_owner;
    const bool pointers = o->minor >= POINTERS_SINCE, shims = o->minor >= SHIMS_SINCE;
    uint32_t n = 0, most = 2 * GP_LAUNCH_DEPTH;
    for (; at; most--) {
        if (!most || n == GP_LAUNCH_DEPTH) return TOO_DEEP;
        if (doubt && !is_there(py, at, o->frame_bytes)) return NO_STACK;
        uint64_t previous = gp_own_u64(at + previous_at);
        if (!shims || *(const uint8_t *)(uintptr_t)(at + owner_at) < OWNED_BY_C) {
            struct gp_frame *f = &to[n++];
            f->at = at;
            f->code = gp_own_u64(at + code_at) & ~UINT64_C(3);
            f->ip = pointers ? gp_own_u64(at + ip_at) : gp_own_u32(at + ip_at);
            if (!f->code || (doubt && !is_there(py, f->code, o->code_bytes))) return NO_STACK;
            f->mark = gp_own_code_mark(py, f->code, doubt);
        }
        at = previous;
    }
    return n;
}

static inline bool same_frame(const struct gp_frame *a, const struct gp_frame *b)
{
    return !((a->at ^ b->at) | (a->code ^ b->code) | (a->ip ^ b->ip) | (a->mark ^ b->mark));
}

/* The number of the N frames at FRAMES on BASE. What they share with the last stack, from the outermost on,
 * is not looked up again. */
static uint32_t number_of(struct gp_launch_stack *s, const struct gp_frame *frames, uint32_t n, uint32_t base)
{
    uint32_t same = 0, id = base;
    const struct gp_frame *a = frames + n, *b = s->last + s->last_n;
    if (base == s->base)
        while (same < n && same < s->last_n && same_frame(--a, --b)) same++;
    if (same) id = s->ids[same - 1];
    for (; same < n; same++) {
        uint32_t below = gp_stack_numbers_below(&s->numbers, id, &frames[n - 1 - same]);
        if (!below) break;
        s->ids[same] = id = below;
    }
    s->last = frames + (n - same);
    s->last_n = same;
    s->base = base;
    return same == n ? id : 0;
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
    s->frames[0] = malloc(2 * GP_LAUNCH_DEPTH * sizeof *s->frames[0]);
    if (!s->frames[0]) {
        s->python = NULL;
        return false;
    }
    s->frames[1] = s->frames[0] + GP_LAUNCH_DEPTH;
    s->last = s->frames[0];
    s->doubted = DOUBTED;
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
    if (GP_UNLIKELY(s->numbers.counts.broken > BROKEN_MOST)) return 0;
    uint64_t state = gp_own_python_state(py), at = 0;
    bool doubt = s->doubted && state;
    uint8_t bytes[GP_PY_THREAD_MOST];
    if (doubt && !gp_remote_get(&py->memory, state, bytes, py->layout.thread_bytes)) return 0;
    if (state) at = innermost(&py->layout, state);
    struct gp_frame *to = s->frames[s->turn ^= 1];
    uint32_t n = GP_UNLIKELY(doubt) ? walk(py, at, to, true) : walk(py, at, to, false);
    s->doubted -= doubt && n && n != NO_STACK;
    if (GP_UNLIKELY(n > GP_LAUNCH_DEPTH)) {
        s->numbers.counts.cut += n == TOO_DEEP;
        s->numbers.counts.broken += n == NO_STACK;
        s->last_n = 0;
        return 0;
    }
    uint32_t base =
        GP_UNLIKELY(s->waiting != NULL) ? gp_waiting_stack(s->waiting, &s->numbers, py, waiter) : 0;
    uint32_t id = n ? number_of(s, to, n, base) : base;
    if (!n) s->last_n = 0;
    if (n && !s->waiting) gp_python_thread_ran(s->numbers.process, &s->registered, state);
    *unknown = n && !id;
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

struct gp_launch_counts gp_launch_stack_counts(const struct gp_launch_stack *s)
{
    return s->numbers.counts;
}

void gp_launch_stack_free(struct gp_launch_stack *s)
{
    if (!s) return;
    gp_python_thread_ended(s->registered);
    gp_waiting_free(s->waiting);
    gp_native_free(s->native);
    gp_stack_numbers_release(&s->numbers);
    free(s->frames[0]);
    free(s);
}
