/* launch_stack.h -- the exact stack of the calling thread, read in the call that launches work, in the
 * process itself: the frames of a thread that is inside our hook stand still, so they are read at the speed
 * of memory, without the lock of the interpreter, whether or not the thread holds it. A stack is a number:
 * what it stands for is defined once per thread, before it is used. Knows nothing of CUDA or of rings.
 *
 *     struct gp_stack_process *p = gp_stack_process_new();           // one per process
 *     struct gp_launch_stack *s = gp_launch_stack_new(p, &sink, native);   // one per thread
 *     uint32_t id = gp_launch_stack_read(s, &waiter);                // in the hook; 0: no stack is known
 *     gp_launch_stack_free(s);
 *
 * Each frame is compared with the same place of the thread's last stack, counted from the outermost, and what
 * differs is looked up in a table. All frames are compared: a frame may stand at the same address with the
 * same code and instruction while its caller has moved on. Beside its address, a code object is recognised by
 * its version (from CPython 3.12 on), otherwise by its names, lines and table of lines, since another one may
 * have taken its place.
 *
 * A thread that runs no Python has its native stack, see collect/unwind/unwind.h.
 *
 * A thread of autograd has no Python frames of its own, or those of hooks: its stack begins with that of the
 * thread that waits for it in backward(), then the entry GP_STACK_AUTOGRAD. That thread stands still, too;
 * that it does is checked again now and then, with reads that cannot fault.
 */
#ifndef GP_COLLECT_STACKS_LAUNCH_STACK_H
#define GP_COLLECT_STACKS_LAUNCH_STACK_H

#include <stdbool.h>
#include <stdint.h>

enum { GP_LAUNCH_DEPTH = 2048, GP_LAUNCH_STACKS_MOST = 1 << 18 /* that differ, per thread */ };

/* Takes what numbers stand for. False: no room now; then the stack is unknown and defined at its next use. */
struct gp_launch_sink {
    /* Function NUMBER: NAME, FILE. */
    bool (*function)(void *ctx, uint32_t number, const char *name, const char *file);
    /* Function NUMBER: the native code at OFFSET, a return address in the addresses of the file PATH; "": it
     * lies in no file, or is not known. */
    bool (*place)(void *ctx, uint32_t number, const char *path, uint64_t offset);
    /* Stack NUMBER is FUNCTION at LINE (0: unknown), called from stack PARENT (0: it is the outermost). */
    bool (*stack)(void *ctx, uint32_t number, uint32_t parent, uint32_t function, uint32_t line);
    void *ctx;
};

struct gp_launch_counts {
    uint64_t reads, known; /* stacks that were asked for, and that there were */
    uint64_t cut;     /* deeper than GP_LAUNCH_DEPTH: the outer frames are missing, so no stack is given */
    uint64_t broken;  /* frames whose code could not be read */
    uint64_t many;    /* more than GP_LAUNCH_STACKS_MOST differ */
    uint64_t refused; /* the sink had no room */
};

/* What all threads of the process share. Made before the program's calls are hooked, never freed: any thread
 * may be in one. NULL if there is no memory. */
struct gp_stack_process *gp_stack_process_new(void);
/* Is there an interpreter whose stacks can be read? If not, *WHY is a static text, NULL while there is none.
 * Looks again as long as there is none. */
bool gp_stack_process_has_python(struct gp_stack_process *p, const char **why);
/* Now and then, outside of calls of the program: see gp_unwind_refresh(). */
void gp_stack_process_refresh(struct gp_stack_process *p);

/* For the calling thread. SINK is copied. NATIVE: native frames below those of Python, too, not only where a
 * thread runs no Python. NULL if there is no memory. */
struct gp_launch_stack *gp_launch_stack_new(struct gp_stack_process *process,
                                            const struct gp_launch_sink *sink, bool native);
/* The number of the calling thread's stack; 0 if it cannot be read. *WAITER:
 * the thread whose frames the stack begins with, if this is a thread of autograd; otherwise 0. */
uint32_t gp_launch_stack_read(struct gp_launch_stack *s, int64_t *waiter);
/* What has happened so far. By the owner, or when that is gone. */
struct gp_launch_counts gp_launch_stack_counts(const struct gp_launch_stack *s);
void gp_launch_stack_free(struct gp_launch_stack *s);

#endif
