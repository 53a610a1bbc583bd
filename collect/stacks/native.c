/* The native stack of the calling thread as a number: all of it for a thread that runs no Python, or what
 * lies between the innermost Python frame and the call. Frames of CUDA's own libraries and of ours, the
 * innermost ones, are left out: the call is named by its record. */
#include <stdlib.h>
#include <string.h>
#include "collect/stacks/stack_numbers.h"
#include "collect/stacks/stacks_priv.h"
#include "collect/unwind/unwind.h"
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { REMEMBERED = 64 };

struct gp_native {
    struct gp_unwind_thread thread;
    uint64_t ip[GP_UNWIND_DEPTH];  /* the frames that have numbers, innermost first */
    uint32_t ids[GP_UNWIND_DEPTH]; /* outermost first */
    uint32_t n, parent, stack;
    uint32_t generation;
    struct {
        uint64_t ip;
        bool hidden;
    } seen[REMEMBERED]; /* whether a frame is left out, by the bits of its address */
};

/* ---- which frames count ---- */

/* Libraries of CUDA, and the one that this code is part of. */
static bool is_hidden_module(const struct gp_unwind_module *m)
{
    static const char *const names[] = {"libcupti.so", "libcuda.so", "libcudart.so", "libcudadebugger.so"};
    uint64_t here = (uint64_t)(uintptr_t)&is_hidden_module;
    const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;
    if (here >= m->begin && here < m->end) return true;
    for (size_t i = 0; i < GP_COUNT(names); i++)
        if (gp_starts(name, names[i])) return true;
    return false;
}

static bool is_hidden(struct gp_native *n, struct gp_unwinder *u, uint64_t ip)
{
    size_t i = (ip ^ ip >> 6) % REMEMBERED;
    if (n->seen[i].ip == ip) return n->seen[i].hidden;
    struct gp_unwind_module m;
    n->seen[i].ip = ip;
    return n->seen[i].hidden = gp_unwind_module(u, ip, &m) && is_hidden_module(&m);
}

static bool is_of_python(struct gp_stack_process *p, uint64_t ip)
{
    struct gp_unwind_module m;
    if (!atomic_load_explicit(&p->python_end, memory_order_relaxed) &&
        gp_unwind_module(p->unwinder, p->python.runtime, &m)) {
        atomic_store(&p->python_begin, m.begin);
        atomic_store(&p->python_end, m.end);
    }
    return ip >= atomic_load_explicit(&p->python_begin, memory_order_relaxed) &&
           ip < atomic_load_explicit(&p->python_end, memory_order_relaxed);
}

/* ---- numbers ---- */

/* The number of the N frames at IP, innermost first, below PARENT. What they share with the last ones, from
 * the outermost on, is not looked up again. */
static uint32_t number_of(struct gp_native *k, struct gp_stack_numbers *s, const uint64_t *ip, uint32_t n,
                          uint32_t parent, uint32_t generation)
{
    uint32_t same = 0, id = parent;
    if (parent == k->parent && generation == k->generation)
        while (same < n && same < k->n && ip[n - 1 - same] == k->ip[k->n - 1 - same]) same++;
    if (same) id = k->ids[same - 1];
    uint32_t done = same;
    for (; done < n; done++) {
        struct gp_frame f = {0, ip[n - 1 - done], GP_FRAME_NATIVE, generation};
        uint32_t below = gp_stack_numbers_below(s, id, &f);
        if (!below) break;
        k->ids[done] = id = below;
    }
    memmove(k->ip, ip + (n - done), done * sizeof *ip);
    k->n = done;
    k->parent = parent;
    k->generation = generation;
    return k->stack = done == n ? id : 0;
}

uint32_t gp_native_stack(struct gp_native *k, struct gp_stack_numbers *s, const struct gp_own_python *py,
                         uint32_t parent)
{
    struct gp_unwinder *u = s->process->unwinder;
    if (!u) return parent;
    struct gp_unwind_result r = gp_unwind(u, &k->thread);
    uint32_t generation = gp_unwind_generation(u), from = 0, to = r.n;
    if (r.same && k->stack && k->parent == parent && k->generation == generation) return k->stack;
    while (from < r.n && is_hidden(k, u, r.ip[from])) from++;
    if (parent && py)
        for (to = from; to < r.n && !is_of_python(s->process, r.ip[to]); to++) continue;
    uint32_t root = parent;
    if (!parent && !r.whole) root = gp_stack_numbers_unknown(s); /* the outer frames are not known */
    if (!parent && !r.whole && !root) return 0;
    return number_of(k, s, r.ip + from, to - from, root, generation);
}

/* ---- life ---- */

struct gp_native *gp_native_new(void)
{
    struct gp_native *k = calloc(1, sizeof *k);
    if (k) k->parent = UINT32_MAX;
    return k;
}

void gp_native_free(struct gp_native *k) { free(k); }
