
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include "collect/unwind/unwind_priv.h"

enum { PROBES_MOST = 64 };

struct gp_unwinder *gp_unwinder_new(bool own_index)
{
    struct gp_unwinder *u = mmap(NULL, sizeof *u, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (u == MAP_FAILED) return NULL;
    u->probes_most = PROBES_MOST;
    gp_places_init(&u->places, own_index);
    return u;
}

void gp_unwinder_free(struct gp_unwinder *u)
{
    if (!u) return;
    gp_places_release(&u->places);
    munmap(u, sizeof *u);
}

void gp_unwind_refresh(struct gp_unwinder *u) { gp_places_refresh(&u->places); }

bool gp_unwind_module(struct gp_unwinder *u, uint64_t ip, struct gp_unwind_module *m)
{
    struct gp_unwind_place place = {.tag = 0};
    int kept = errno;
    gp_places_enter(&u->places);
    bool found = gp_places_find(&u->places, ip, &place) && gp_place_path(&u->places, ip, m->path);
    gp_places_leave(&u->places);
    errno = kept;
    if (!found) return false;
    m->begin = place.begin;
    m->end = place.end;
    m->bias = place.bias;
    return true;
}

static void ask_for_stack(struct gp_unwind_thread *t)
{
    pthread_attr_t attr;
    void *begin;
    size_t n;
    int kept = errno;
    t->stack_end = 1; /* if it cannot be found out: a stack that no address lies in */
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        if (!pthread_attr_getstack(&attr, &begin, &n)) {
            t->stack_begin = (uintptr_t)begin;
            t->stack_end = (uintptr_t)begin + n;
        }
        pthread_attr_destroy(&attr);
    }
    errno = kept;
}

/* Does all that the last chain depends on have the value that it had? unwind.h says why that is enough. */
static bool is_same(struct gp_unwinder *u, const struct gp_unwind_thread *t, const uint64_t *regs)
{
    if (!t->reusable || regs[GP_REG_SP] != t->start[GP_REG_SP] || regs[GP_REG_PC] != t->start[GP_REG_PC])
        return false;
    for (uint64_t used = t->used; used; used &= used - 1) {
        int r = __builtin_ctzll(used);
        if (regs[r] != t->start[r]) return false;
    }
    for (uint32_t i = 0; i < t->words_n; i++)
        if (gp_stack_load(t->words[i].at) != t->words[i].value) return false;
    for (uint32_t i = 0; i < t->places_n; i++)
        if (!gp_places_are_same(&u->places, &t->places[i])) return false;
    return true;
}

static void walk(struct gp_unwinder *u, struct gp_unwind_thread *t, const uint64_t *regs)
{
    uint64_t sp = regs[GP_REG_SP];
    struct gp_walk w = {.u = u, .t = t, .ip = regs[GP_REG_PC], .interrupted = true};
    t->n = t->words_n = t->places_n = 0;
    t->used = UINT64_C(1) << GP_REG_SP;
    t->exact = GP_UNWIND_DEPTH;
    t->end = GP_UNWIND_DEEP;
    t->reusable = true;
    for (unsigned r = 0; r < GP_UNWIND_REGISTERS; r++) {
        t->start[r] = w.value[r] = regs[r];
        w.from[r] = GP_REGS_KEPT >> r & 1 || r == GP_REG_PC ? GP_FROM_START : GP_FROM_NOWHERE;
    }
    if (sp >= t->stack_begin && sp < t->stack_end) {
        w.begin = sp;
        w.end = t->stack_end;
    }
    while (t->n < GP_UNWIND_DEPTH && gp_walk_step(&w)) t->ip[t->n++] = w.ip;
    if (t->exact > t->n) t->exact = t->n;
}

struct gp_unwind_result gp_unwind_from(struct gp_unwinder *u, struct gp_unwind_thread *t,
                                       const uint64_t *regs, uint64_t pc)
{
    uint64_t start[GP_UNWIND_REGISTERS];
    if (t->busy) return (struct gp_unwind_result){.end = GP_UNWIND_NEVER};
    t->busy = true;
    memcpy(start, regs, sizeof start);
    start[GP_REG_PC] = pc;
    gp_places_enter(&u->places);
    bool same = is_same(u, t, start);
    if (!same) walk(u, t, start);
    gp_places_leave(&u->places);
    t->busy = false;
    return (struct gp_unwind_result){t->ip, t->n, t->exact, t->end, t->end == GP_UNWIND_OUTERMOST, same};
}

/* The walk begins in this very function, whose own frame leads to the caller: its CFI is exact at every
 * instruction. */
#if defined(__x86_64__)
#define GET_REGISTERS(regs)                                                                                  \
    __asm__ volatile("leaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)\n\tmovq %%rbx, 24(%0)\n\t"                 \
                     "movq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r12, 96(%0)\n\t"                    \
                     "movq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)"                     \
                     :                                                                                       \
                     : "r"(regs)                                                                             \
                     : "rax", "memory")
#elif defined(__aarch64__)
#define GET_REGISTERS(regs)                                                                                  \
    __asm__ volatile("adr x9, .\n\tstr x9, [%0, #256]\n\tstp x19, x20, [%0, #152]\n\t"                       \
                     "stp x21, x22, [%0, #168]\n\tstp x23, x24, [%0, #184]\n\tstp x25, x26, [%0, #200]\n\t"  \
                     "stp x27, x28, [%0, #216]\n\tstp x29, x30, [%0, #232]\n\tmov x9, sp\n\t"                \
                     "str x9, [%0, #248]"                                                                    \
                     :                                                                                       \
                     : "r"(regs)                                                                             \
                     : "x9", "memory")
#endif

#ifdef GET_REGISTERS
__attribute__((noinline)) struct gp_unwind_result gp_unwind(struct gp_unwinder *u, struct gp_unwind_thread *t)
{
    uint64_t regs[GP_UNWIND_REGISTERS] = {0};
    if (!t->stack_end) ask_for_stack(t);
    GET_REGISTERS(regs);
    return gp_unwind_from(u, t, regs, regs[GP_REG_PC]);
}
#else
struct gp_unwind_result gp_unwind(struct gp_unwinder *u, struct gp_unwind_thread *t)
{
    (void)u;
    if (!t->stack_end) ask_for_stack(t);
    return (struct gp_unwind_result){.ip = t->ip, .end = GP_UNWIND_NEVER};
}
#endif

uint32_t gp_unwind_generation(const struct gp_unwinder *u)
{
    return atomic_load_explicit(&u->places.generation, memory_order_relaxed);
}
