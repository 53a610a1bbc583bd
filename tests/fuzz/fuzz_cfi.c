/* fuzz_cfi.c -- a module and a stack that hold anything. The input: what to do (4 bytes), how many words the
 * stack has (2), the stack, the module, which begins with its search table. The walk ends, reads nothing
 * outside of both, which end where their memory does, and gives the same stack to a thread that remembers the
 * last one as to one that does not, also after a word of the stack has changed. */
#include <string.h>
#include <sys/mman.h>
#include "collect/unwind/unwind_priv.h"
#include "tests/fuzz/help/fuzz.h"

enum { ADDRESSES = 1, WITH_HEADER = 2, HEAD = 6, STACK_MOST = 512, PAGE = 4096, MODULE_MOST = 1 << 14 };

struct module {
    uint8_t *begin;
    size_t n;
};

static bool find(void *ctx, uint64_t pc, struct gp_unwind_place *place)
{
    const struct module *m = ctx;
    uint64_t begin = (uintptr_t)m->begin;
    if (pc - begin >= m->n) return false;
    *place =
        (struct gp_unwind_place){.begin = begin, .end = begin + m->n, .bias = begin, .hdr = begin, .tag = 5};
    return true;
}

/* A word as it is, or as an address of the module or of the stack. */
static uint64_t word(uint64_t v, const struct module *m, const uint64_t *stack, size_t words)
{
    if ((v & 3) == 0) return (uintptr_t)m->begin + (v >> 2) % m->n;
    if ((v & 3) == 1) return (uintptr_t)(stack + (v >> 2) % words);
    return v;
}

struct threads {
    struct gp_unwind_thread remembers, fresh;
};

static void walk(struct gp_unwinder *u, struct threads *t, const uint64_t *regs, uint64_t pc)
{
    memset(&u->rows, 0, sizeof u->rows);
    struct gp_unwind_result a = gp_unwind_from(u, &t->remembers, regs, pc);
    t->fresh.reusable = false;
    struct gp_unwind_result b = gp_unwind_from(u, &t->fresh, regs, pc);
    t->fresh.reusable = false;
    struct gp_unwind_result cached = gp_unwind_from(u, &t->fresh, regs, pc);
    FUZZ_CHECK(a.n <= GP_UNWIND_DEPTH && a.exact <= a.n && !b.same);
    FUZZ_CHECK(a.n == b.n && a.end == b.end && a.exact == b.exact);
    FUZZ_CHECK(a.n == cached.n && a.end == cached.end);
    FUZZ_CHECK(!memcmp(a.ip, b.ip, a.n * sizeof *a.ip));
}

static void walk_often(const uint8_t *data, const struct module *m, uint64_t *stack, size_t words)
{
    static struct gp_unwinder *u; /* large, and made once */
    static struct threads *t;
    uint64_t regs[GP_UNWIND_REGISTERS];
    if (!u) u = gp_unwinder_new(false);
    if (!t) t = calloc(1, sizeof *t);
    u->places.find = find;
    u->places.ctx = (void *)(uintptr_t)m;
    u->probes_most = 0;
    t->remembers.reusable = false;
    t->remembers.stack_begin = t->fresh.stack_begin = (uintptr_t)stack;
    t->remembers.stack_end = t->fresh.stack_end = (uintptr_t)(stack + words);
    for (size_t r = 0; r < GP_UNWIND_REGISTERS; r++) regs[r] = stack[(data[2] + r) % words];
    regs[GP_REG_SP] = (uintptr_t)stack;
    uint64_t pc = (uintptr_t)m->begin + data[1] % m->n;
    walk(u, t, regs, pc);
    walk(u, t, regs, pc);
    stack[data[3] % words] ^= 0x30;
    walk(u, t, regs, pc);
    regs[data[3] % GP_REG_PC] += 8;
    walk(u, t, regs, pc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *room; /* pages for the stack, a page without access, those of the module, another */
    const size_t stack_room = STACK_MOST * 8, module_at = stack_room + PAGE;
    if (size < HEAD + 9) return 0;
    if (!room) {
        room = mmap(NULL, module_at + MODULE_MOST + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
        mprotect(room + stack_room, PAGE, PROT_NONE);
        mprotect(room + module_at + MODULE_MOST, PAGE, PROT_NONE);
    }
    size_t words = (size_t)(data[4] | data[5] << 8) % STACK_MOST + 1;
    if (words > (size - HEAD - 1) / 8) words = (size - HEAD - 1) / 8;
    uint64_t *stack = (uint64_t *)(void *)(room + stack_room) - words;
    struct module m = {.n = size - HEAD - 8 * words};
    if (m.n > MODULE_MOST) m.n = MODULE_MOST;
    bool with_header = *data & WITH_HEADER && m.n > PAGE; /* where program headers are looked for */
    m.begin = room + module_at + (with_header ? 0 : MODULE_MOST - m.n);
    memcpy(stack, data + HEAD, 8 * words);
    memcpy(m.begin, data + HEAD + 8 * words, m.n);
    for (size_t i = 0; *data & ADDRESSES && i < words; i++) stack[i] = word(stack[i], &m, stack, words);
    walk_often(data, &m, stack, words);
    return 0;
}
