#include "collect/stacks/launch_stack.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include "collect/cpython/python_code.h"
#include "collect/stacks/own_python.h"
#include "collect/stacks/stacks_priv.h"
#include "collect/unwind/unwind.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/model/trace.h"

enum { OWNED_BY_C = 3, SHIMS_SINCE = 12, POINTERS_SINCE = 11, FIRST_TABLE = 1024, LOOK_AGAIN = 4096 };
/* So many stacks of a thread are read by calls that cannot fault, and so many frames may be no code. */
enum { DOUBTED = 4, BROKEN_MOST = 16 };

/* Function NUMBER was the code at an address while that had MARK. */
struct function {
    uint64_t mark;
    uint32_t number;
};

/* The stack of a frame below PARENT. */
struct known {
    uint64_t code, ip, mark;
    uint32_t parent, number; /* 0: free */
};

struct gp_launch_stack {
    struct gp_launch_sink sink;
    const struct gp_own_python *python; /* NULL: not found yet */
    struct gp_frame *frames[2];         /* GP_LAUNCH_DEPTH each: the last stack and this one, in turns */
    const struct gp_frame *last;        /* of it, innermost first */
    uint32_t last_n, turn, doubted;
    uint32_t base;                 /* the stack that this thread's frames stand on, see gp_waiting */
    uint32_t ids[GP_LAUNCH_DEPTH]; /* of the last stack, outermost first */
    struct known *table;
    uint32_t mask, used, functions_used;
    struct gp_map function_at; /* code -> index */
    GP_VEC(struct function) functions;
    struct gp_strings strings;
    struct gp_py_codes codes;
    struct gp_waiting *waiting;          /* of a thread of autograd; otherwise NULL */
    struct gp_native *native;            /* NULL: no native frames were read yet */
    bool both;                           /* native frames below those of Python, too */
    struct gp_python_thread *registered; /* so that such threads find this one */
    uint32_t autograd;                   /* the function GP_STACK_AUTOGRAD, 0: not defined */
    struct gp_launch_counts counts;
};

/* ---- what numbers stand for ---- */

static uint64_t hash_known(uint32_t parent, uint64_t code, uint64_t ip)
{
    uint64_t h = (code ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= ip + (h >> 29);
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

static struct known *slot_of(struct known *table, uint32_t mask, uint32_t parent, const struct gp_frame *f)
{
    uint32_t i = (uint32_t)hash_known(parent, f->code, f->ip) & mask;
    for (;; i = (i + 1) & mask) {
        struct known *k = &table[i];
        if (!k->number || (k->code == f->code && k->ip == f->ip && k->parent == parent && k->mark == f->mark))
            return k;
    }
}

static bool grow(struct gp_launch_stack *s)
{
    uint32_t size = s->table ? (s->mask + 1) * 2 : FIRST_TABLE;
    struct known *bigger = calloc(size, sizeof *bigger);
    if (!bigger) return false;
    for (uint32_t i = 0; s->table && i <= s->mask; i++) {
        const struct known *k = &s->table[i];
        struct gp_frame f = {0, k->code, k->ip, k->mark};
        if (k->number) *slot_of(bigger, size - 1, k->parent, &f) = *k;
    }
    free(s->table);
    s->table = bigger;
    s->mask = size - 1;
    return true;
}

static bool tell_place(struct gp_launch_stack *s, uint64_t ip)
{
    char path[GP_UNWIND_PATH];
    uint64_t offset;
    gp_native_place(ip, path, &offset);
    return s->sink.place(s->sink.ctx, s->functions_used + 1, path, offset);
}

/* The function of F, whose code is C unless it is native; 0: the sink has no room. */
static uint32_t function_of(struct gp_launch_stack *s, const struct gp_frame *f, const struct gp_py_code *c)
{
    uint32_t *at = gp_map_put(&s->function_at, f->code, (uint32_t)s->functions.n);
    if (*at < s->functions.n && s->functions.at[*at].mark == f->mark) return s->functions.at[*at].number;
    bool ok = c ? s->sink.function(s->sink.ctx, s->functions_used + 1, gp_string(&s->strings, c->name),
                                   gp_string(&s->strings, c->file))
                : tell_place(s, f->code);
    if (!ok) {
        s->counts.refused++;
        return 0;
    }
    struct function fresh = {f->mark, ++s->functions_used};
    if (*at == s->functions.n) GP_VEC_PUSH(&s->functions, fresh);
    else s->functions.at[*at] = fresh;
    return fresh.number;
}

static uint32_t define(struct gp_launch_stack *s, uint32_t parent, uint32_t function, uint32_t line)
{
    if (!s->sink.stack(s->sink.ctx, s->used + 1, parent, function, line)) {
        s->counts.refused++;
        return 0;
    }
    return ++s->used;
}

/* A frame that was not met below PARENT before. */
static uint32_t add_frame(struct gp_launch_stack *s, uint32_t parent, const struct gp_frame *f)
{
    if (s->used >= GP_LAUNCH_STACKS_MOST || (s->used * 2 >= s->mask && !grow(s))) {
        s->counts.many++;
        return 0;
    }
    const struct gp_py_code *c = NULL;
    bool ok = true;
    uint32_t line = 0;
    if (f->ip != GP_FRAME_NATIVE) {
        gp_py_codes_trim(&s->codes);
        c = gp_py_code(&s->codes, f->code);
        ok = c && gp_py_codes_check(&s->codes, &c, 1);
        line = ok ? gp_py_code_line(&s->codes, c, f->ip, &ok) : 0;
    }
    if (!ok) {
        s->counts.broken++;
        return 0;
    }
    uint32_t function = function_of(s, f, c);
    uint32_t number = function ? define(s, parent, function, line) : 0;
    if (number)
        *slot_of(s->table, s->mask, parent, f) = (struct known){f->code, f->ip, f->mark, parent, number};
    return number;
}

uint32_t gp_launch_stack_below(struct gp_launch_stack *s, uint32_t parent, const struct gp_frame *f)
{
    const struct known *k = s->table ? slot_of(s->table, s->mask, parent, f) : NULL;
    return k && k->number ? k->number : add_frame(s, parent, f);
}

uint32_t gp_launch_stack_autograd(struct gp_launch_stack *s, uint32_t parent)
{
    struct gp_frame f = {0, 1, 0, 0}; /* no code lies there */
    const struct known *k = s->table ? slot_of(s->table, s->mask, parent, &f) : NULL;
    if (k && k->number) return k->number;
    if (!s->autograd && s->sink.function(s->sink.ctx, s->functions_used + 1, GP_STACK_AUTOGRAD, ""))
        s->autograd = ++s->functions_used;
    if (!s->autograd || s->used >= GP_LAUNCH_STACKS_MOST || (s->used * 2 >= s->mask && !grow(s))) return 0;
    uint32_t number = define(s, parent, s->autograd, 0);
    if (number) *slot_of(s->table, s->mask, parent, &f) = (struct known){1, 0, 0, parent, number};
    return number;
}

uint32_t gp_launch_stack_unknown(struct gp_launch_stack *s)
{
    struct gp_frame f = {0, 2, GP_FRAME_NATIVE, 0}; /* no code lies there */
    return gp_launch_stack_below(s, 0, &f);
}

const char *gp_launch_stack_file(struct gp_launch_stack *s, uint64_t code)
{
    const struct gp_py_code *c = gp_py_code(&s->codes, code);
    return c ? gp_string(&s->strings, c->file) : "";
}

/* ---- walking ---- */

/* Without a version: another code object may have some of these, but hardly all. */
static inline uint64_t mark_of(uint64_t code, uint32_t version_at, const struct gp_py_layout *o)
{
    uint32_t version = version_at == GP_PY_NONE ? 0 : gp_own_u32(code + version_at);
    if (GP_LIKELY(version)) return version;
    return gp_own_u64(code + o->code_name) ^ gp_own_u64(code + o->code_file) * 5 ^
           gp_own_u64(code + o->code_lines) * 3 ^ (uint64_t)gp_own_u32(code + o->code_first) << 48;
}

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

/* Fill TO with the frames from AT on, innermost first; their number, or GP_LAUNCH_DEPTH + 1 if there are
 * more, or what is there is none. DOUBT: make sure that memory is there before it is read. */
static inline uint32_t walk(const struct gp_own_python *py, uint64_t at, struct gp_frame *to, bool doubt)
{
    const struct gp_py_layout *o = &py->layout;
    /* in registers, whatever is written to TO */
    const uint32_t previous_at = o->frame_previous, code_at = o->frame_code, ip_at = o->frame_ip,
                   owner_at = o->frame_owner, version_at = o->code_version;
    const bool pointers = o->minor >= POINTERS_SINCE, shims = o->minor >= SHIMS_SINCE;
    uint32_t n = 0, most = 2 * GP_LAUNCH_DEPTH;
    for (; at; most--) {
        if (!most || n == GP_LAUNCH_DEPTH || (doubt && !is_there(py, at, o->frame_bytes)))
            return GP_LAUNCH_DEPTH + 1;
        uint64_t previous = gp_own_u64(at + previous_at);
        if (!shims || *(const uint8_t *)(uintptr_t)(at + owner_at) < OWNED_BY_C) {
            struct gp_frame *f = &to[n++];
            f->at = at;
            f->code = gp_own_u64(at + code_at) & ~UINT64_C(3);
            f->ip = pointers ? gp_own_u64(at + ip_at) : gp_own_u32(at + ip_at);
            if (!f->code || (doubt && !is_there(py, f->code, o->code_bytes))) return GP_LAUNCH_DEPTH + 1;
            f->mark = mark_of(f->code, version_at, o);
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
        uint32_t below = gp_launch_stack_below(s, id, &frames[n - 1 - same]);
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
    if (s->counts.reads % LOOK_AGAIN) return false;
    s->python = gp_own_python(NULL);
    if (!s->python) return false;
    s->frames[0] = malloc(2 * GP_LAUNCH_DEPTH * sizeof *s->frames[0]);
    if (!s->frames[0]) {
        s->python = NULL;
        return false;
    }
    s->frames[1] = s->frames[0] + GP_LAUNCH_DEPTH;
    s->last = s->frames[0];
    s->doubted = DOUBTED;
    s->codes = (struct gp_py_codes){.layout = &s->python->layout,
                                    .remote = &s->python->memory,
                                    .strings = &s->strings,
                                    .code_type = s->python->code_type};
    if (is_of_autograd()) s->waiting = gp_waiting_new();
    return true;
}

/* The number of the Python frames, 0: there are none, or *UNKNOWN: they cannot be read. */
static uint32_t read_python(struct gp_launch_stack *s, int64_t *waiter, bool *unknown)
{
    const struct gp_own_python *py = s->python;
    *unknown = true;
    if (GP_UNLIKELY(s->counts.broken > BROKEN_MOST)) return 0;
    uint64_t state = gp_own_python_state(py), at = 0;
    bool doubt = s->doubted && state;
    uint8_t bytes[GP_PY_THREAD_MOST];
    if (doubt && !gp_remote_get(&py->memory, state, bytes, py->layout.thread_bytes)) return 0;
    if (state) at = innermost(&py->layout, state);
    struct gp_frame *to = s->frames[s->turn ^= 1];
    uint32_t n = GP_UNLIKELY(doubt) ? walk(py, at, to, true) : walk(py, at, to, false);
    s->doubted -= doubt && n;
    if (GP_UNLIKELY(n > GP_LAUNCH_DEPTH)) {
        s->counts.cut += !doubt;
        s->counts.broken += doubt;
        s->last_n = 0;
        return 0;
    }
    uint32_t base = GP_UNLIKELY(s->waiting != NULL) ? gp_waiting_stack(s->waiting, s, py, waiter) : 0;
    uint32_t id = n ? number_of(s, to, n, base) : base;
    if (!n) s->last_n = 0;
    if (n && !s->waiting) gp_python_thread_ran(&s->registered, state);
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
    s->counts.reads++;
    uint32_t id = python ? read_python(s, waiter, &unknown) : 0;
    if (GP_UNLIKELY((!id || s->both) && !unknown) && get_native(s))
        id = gp_native_stack(s->native, s, s->python, id);
    s->counts.known += id != 0;
    return id;
}

/* ---- life ---- */

struct gp_launch_stack *gp_launch_stack_new(const struct gp_launch_sink *sink, bool native)
{
    struct gp_launch_stack *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->sink = *sink;
    s->both = native;
    return s;
}

void gp_launch_stack_refresh(void)
{
    gp_native_refresh();
}

void gp_launch_stack_count(struct gp_launch_stack *s, struct gp_launch_counts *counts)
{
    counts->reads += s->counts.reads;
    counts->known += s->counts.known;
    counts->cut += s->counts.cut;
    counts->broken += s->counts.broken;
    counts->many += s->counts.many;
    counts->refused += s->counts.refused;
}

void gp_launch_stack_free(struct gp_launch_stack *s)
{
    if (!s) return;
    gp_python_thread_ended(s->registered);
    gp_waiting_free(s->waiting);
    gp_native_free(s->native);
    gp_py_codes_release(&s->codes);
    gp_strings_release(&s->strings);
    gp_map_release(&s->function_at);
    GP_VEC_FREE(&s->functions);
    free(s->frames[0]);
    free(s->table);
    free(s);
}

bool gp_launch_python(const char **why)
{
    return gp_own_python(why) != NULL;
}
