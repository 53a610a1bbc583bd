/* unwind.h -- the native stack of the calling thread, from inside a program that is not ours, in a call that
 * the program makes: no lock of the program, no signal, no unwinder of libgcc. Return addresses follow from
 * the call frame information (CFI) that compilers write for exceptions (.eh_frame), so code without frame
 * pointers is walked exactly. x86-64 and aarch64; elsewhere a stack has no frames. Knows neither CUDA nor
 * symbols.
 *
 *     struct gp_unwinder *u = gp_unwinder_new(false);     // one per process
 *     struct gp_unwind_result r = gp_unwind(u, thread);   // THREAD: zeroed once, one per thread
 *     if (!r.same) for (uint32_t i = 0; i < r.n; i++) use(r.ip[i]);
 *     if (gp_unwind_module(u, r.ip[0], &module)) use(module.path, r.ip[0] - module.bias);
 *     gp_unwind_refresh(u);                               // now and then, outside of such calls
 *
 * Modules are found with _dl_find_object() of glibc 2.35 and newer, which waits for nothing. Where it is
 * missing, an own index is used that gp_unwind_refresh() fills: what was loaded since is unknown until then.
 *
 * Reads of the stack stay between the stack pointer and the end of the thread's stack. A thread's first walk
 * asks the C library for that, which may allocate and, in the main thread, read a file of /proc; later walks
 * allocate nothing. If the stack pointer lies elsewhere (a coroutine, an alternate stack), each page is first
 * probed with a system call, 0.3 us, and the chain is not used again. A chain or table that makes no sense
 * ends the walk.
 *
 * Why a chain may be used again. A step outwards is a function of the return address, which selects the
 * rule, of the registers that the rule's canonical frame address (CFA) is made of, and of the words that
 * are read at addresses made of these. Each word that took part in a walk is kept with its address: the
 * return address of each frame, and, where a CFA is based on a register other than the stack pointer, the
 * slot that this register was restored from, or the register itself if no frame had saved it. If the stack
 * pointer, these registers, these words and the modules of the chain are what they were, then, by induction
 * from the innermost frame, each step reads what it read and ends where it ended: a new walk would return the
 * same chain. No words are left out, so equal inner frames never end a comparison. A module is the same if
 * its range, its link map, the head of its table and its build id are, and if gp_unwind_refresh() saw nothing
 * unloaded; only one without a build id that another of equal shape replaces goes unnoticed until the next
 * refresh. */
#ifndef GP_COLLECT_UNWIND_H
#define GP_COLLECT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GP_UNWIND_DEPTH = 512,  /* frames at most */
    GP_UNWIND_WORDS = 1200, /* words of a chain that are compared; a chain with more is not used again */
    GP_UNWIND_MODULES = 16, /* modules of such a chain */
    GP_UNWIND_PATH = 4096,
#ifdef __aarch64__
    GP_UNWIND_REGISTERS = 33 /* by their DWARF numbers */
#else
    GP_UNWIND_REGISTERS = 17
#endif
};

/* Why a walk ended. */
enum gp_unwind_end {
    GP_UNWIND_OUTERMOST, /* the whole stack */
    GP_UNWIND_NO_CFI,    /* code without CFI (made at run time, or stripped of it), and no frame pointer */
    GP_UNWIND_CORRUPT,   /* CFI or stack that make no sense, or memory that is not the thread's */
    GP_UNWIND_DEEP,      /* more than GP_UNWIND_DEPTH frames */
    GP_UNWIND_NEVER      /* no walk: another one of this thread is under way, or an unknown machine */
};

/* Where code lies; TAG changes when something else lies there, 0: no module. */
struct gp_unwind_place {
    uint64_t begin, end, bias, hdr; /* HDR: address of .eh_frame_hdr, 0: none */
    uint64_t id;                    /* address of the build id, 0: none */
    uint64_t pc;                    /* which was looked for */
    uint32_t tag;
};

/* Per thread; zeroed is ready. Holds the last chain. 24 KB, of which short chains touch little. */
struct gp_unwind_thread {
    uint64_t stack_begin, stack_end; /* end 0: not asked for yet */
    uint64_t start[GP_UNWIND_REGISTERS];
    uint64_t used; /* bits of registers of START that the chain depends on */
    uint32_t n, words_n, places_n, exact;
    enum gp_unwind_end end;
    bool reusable, busy;
    struct gp_unwind_place places[GP_UNWIND_MODULES];
    uint64_t ip[GP_UNWIND_DEPTH];
    struct {
        uint64_t at, value;
    } words[GP_UNWIND_WORDS];
};

/* Return addresses, innermost first, valid until the thread's next walk. The first EXACT of them follow from
 * CFI; those behind were reached by a frame pointer in code without CFI and are likely, not certain. */
struct gp_unwind_result {
    const uint64_t *ip;
    uint32_t n, exact;
    enum gp_unwind_end end;
    bool whole; /* END is GP_UNWIND_OUTERMOST */
    bool same;  /* the same chain as last time */
};

/* A file in memory. An address less BIAS is an address of the file. PATH is as the loader has it, made
 * absolute; a path without a slash names nothing on disk (the kernel's linux-vdso.so.1). */
struct gp_unwind_module {
    uint64_t begin, end, bias;
    char path[GP_UNWIND_PATH];
};

struct gp_unwinder;

/* NULL without memory. Looks at the loaded modules as gp_unwind_refresh() does. OWN_INDEX: do without
 * _dl_find_object() even where it is there. */
struct gp_unwinder *gp_unwinder_new(bool own_index);
void gp_unwinder_free(struct gp_unwinder *u);

/* The stack of the calling thread from the caller of this function on. Keeps errno. */
struct gp_unwind_result gp_unwind(struct gp_unwinder *u, struct gp_unwind_thread *t);

/* Looks at the list of loaded modules, which takes a lock of the loader: never from within a call of the
 * program. Forgets what it knew if something was unloaded. By one thread at a time. */
void gp_unwind_refresh(struct gp_unwinder *u);

/* How often something was unloaded, as of the last refresh: what an address meant before may be different. */
uint32_t gp_unwind_generation(const struct gp_unwinder *u);

/* Which module IP lies in; false: none, so code that was made at run time. For new addresses only: may read a
 * link of /proc. */
bool gp_unwind_module(struct gp_unwinder *u, uint64_t ip, struct gp_unwind_module *m);

#endif
