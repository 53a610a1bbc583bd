/* unwind_priv.h -- private to this wing and its tests: a walk from registers that are given.
 *
 *     uint64_t regs[GP_UNWIND_REGISTERS] = {[GP_REG_SP] = sp};
 *     struct gp_unwind_result r = gp_unwind_from(u, thread, regs, pc);
 */
#ifndef GP_COLLECT_UNWIND_PRIV_H
#define GP_COLLECT_UNWIND_PRIV_H

#include "collect/unwind/places.h"
#include "collect/unwind/rows.h"
#include "collect/unwind/unwind.h"

/* Registers by their DWARF numbers. KEPT: those that a call leaves as they were, and the stack pointer. */
#ifdef __aarch64__
enum { GP_REG_FP = 29, GP_REG_LINK = 30, GP_REG_SP = 31, GP_REG_PC = 32, GP_REG_FIRST_KEPT = 19 };
#define GP_REGS_KEPT UINT64_C(0xfff80000)
#else
enum { GP_REG_FP = 6, GP_REG_SP = 7, GP_REG_PC = 16 };
#define GP_REGS_KEPT UINT64_C(0xf0c8)
#endif

struct gp_unwinder {
    struct gp_rows rows;
    struct gp_places places;
    unsigned probes_most; /* pages that a walk may ask the kernel for */
};

/* Where a register has its value. Anything larger is the address of the slot that it was saved in. */
enum { GP_FROM_START, GP_FROM_WALK, GP_FROM_NOWHERE };

struct gp_walk {
    struct gp_unwinder *u;
    struct gp_unwind_thread *t;
    uint64_t value[GP_UNWIND_REGISTERS], from[GP_UNWIND_REGISTERS];
    uint64_t begin, end; /* memory that can be read */
    unsigned probes;
    uint64_t ip;
    bool interrupted; /* IP has not run yet, so it is itself in the function */
    uint32_t place;   /* of the last pc */
};

/* One frame outwards; false: T's end says why not. */
bool gp_walk_step(struct gp_walk *w);

/* From an instruction at PC that has not run, whose registers are REGS. The thread's stack must be known. */
struct gp_unwind_result gp_unwind_from(struct gp_unwinder *u, struct gp_unwind_thread *t,
                                       const uint64_t *regs, uint64_t pc);

/* A word of memory of a stack, which an address sanitizer may have poisoned. */
#if defined(__GNUC__)
struct gp_stack_word {
    uint64_t v;
} __attribute__((packed, may_alias));
__attribute__((no_sanitize_address, no_sanitize_thread)) static inline uint64_t gp_stack_load(uint64_t at)
{
    return ((const struct gp_stack_word *)(uintptr_t)at)->v;
}
#endif

#endif
