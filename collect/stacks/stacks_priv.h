/* stacks_priv.h -- shared by the parts of collect/stacks:
 *
 *     launch_stack.c    the stack of the calling thread, as a number
 *     own_python.c      the interpreter of this process
 *     waiting.c         for a thread of autograd, the stack of the thread that waits for it
 *     native.c          native frames
 */
#ifndef GP_COLLECT_STACKS_STACKS_PRIV_H
#define GP_COLLECT_STACKS_STACKS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct gp_own_python;
struct gp_launch_stack;

/* A frame: where it is, its code, its instruction, and by what the code is recognised. Of a native one CODE is
 * the return address and IP is GP_FRAME_NATIVE. */
struct gp_frame {
    uint64_t at, code, ip, mark;
};
#define GP_FRAME_NATIVE UINT64_MAX

/* ---- launch_stack.c ---- */

/* The number of frame F below stack PARENT, defined if it is new; 0: it cannot be. */
uint32_t gp_launch_stack_below(struct gp_launch_stack *s, uint32_t parent, const struct gp_frame *f);
/* The same of the entry GP_STACK_AUTOGRAD. */
uint32_t gp_launch_stack_autograd(struct gp_launch_stack *s, uint32_t parent);
/* The entry that stands for outer frames that are not known. */
uint32_t gp_launch_stack_unknown(struct gp_launch_stack *s);
/* The file of the code at CODE; "" if it is none. Valid until the next call. */
const char *gp_launch_stack_file(struct gp_launch_stack *s, uint64_t code);

/* ---- waiting.c ---- */

/* A thread with Python frames that has launched something. */
struct gp_python_thread;
/* The calling thread, whose state is STATE, has. *T: NULL the first time. */
void gp_python_thread_ran(struct gp_python_thread **t, uint64_t state);
void gp_python_thread_ended(struct gp_python_thread *t);

struct gp_waiting;
struct gp_waiting *gp_waiting_new(void);
/* The stack of the thread that waits in backward(), below it the entry of autograd, as a number of S, which
 * is the calling thread's; 0: no thread waits there. *TID: that thread, 0 none. */
uint32_t gp_waiting_stack(struct gp_waiting *w, struct gp_launch_stack *s, const struct gp_own_python *py,
                          int64_t *tid);
void gp_waiting_free(struct gp_waiting *w);

/* ---- native.c ---- */

struct gp_native;
struct gp_native *gp_native_new(void);
/* The number of the calling thread's native frames: below PARENT, the number of its Python stack, those that
 * are inside of it, or all if that is 0. PY may be NULL. 0: unknown. */
uint32_t gp_native_stack(struct gp_native *k, struct gp_launch_stack *s, const struct gp_own_python *py,
                         uint32_t parent);
/* The file that return address IP belongs to, GP_UNWIND_PATH bytes, and its address there. False: none. */
bool gp_native_place(uint64_t ip, char *path, uint64_t *offset);
void gp_native_free(struct gp_native *k);
void gp_native_refresh(void);

#endif
