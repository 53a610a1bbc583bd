/* stacks_priv.h -- shared by the parts of collect/stacks:
 *
 *     launch_stack.c     the stack of the calling thread, as a number
 *     stack_numbers.c    what numbers stand for
 *     stack_process.c    what all threads of the process share
 *     own_python.c       the interpreter of this process
 *     waiting.c          for a thread of autograd, the stack of the thread that waits for it
 *     native.c           native frames
 */
#ifndef GP_COLLECT_STACKS_STACKS_PRIV_H
#define GP_COLLECT_STACKS_STACKS_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>
#include "collect/stacks/own_python.h"

struct gp_stack_numbers;
struct gp_py_reader;
struct gp_unwinder;
struct gp_python_thread;

/* ---- stack_process.c ---- */

struct gp_stack_process {
    _Atomic pid_t looking; /* see gp_stack_try() */
    _Atomic bool python_found;
    const char *why; /* it was not; of who looks */
    struct gp_own_python python;
    _Atomic uint64_t python_begin, python_end; /* its code; END 0: not known yet */
    struct gp_unwinder *unwinder;              /* NULL: no native stacks */
    _Atomic(struct gp_python_thread *) first,
        latest;            /* threads with Python frames that have launched something */
    _Atomic pid_t reading; /* somebody uses the reader, see gp_stack_try() */
    struct gp_py_reader *reader;
};

/* Take what somebody of the process may hold, without waiting. What a thread of the parent held when this
 * process was born by fork() is free. */
static inline bool gp_stack_try(_Atomic pid_t *holder)
{
    pid_t us = getpid(), seen = atomic_load(holder);
    return seen != us && atomic_compare_exchange_strong(holder, &seen, us);
}

static inline void gp_stack_let_go(_Atomic pid_t *holder) { atomic_store(holder, 0); }

/* NULL if there is none that can be read: then *WHY, unless it is NULL, is a static text, or NULL where there
 * is none at all. */
const struct gp_own_python *gp_stack_process_python(struct gp_stack_process *p, const char **why);

/* ---- waiting.c ---- */

/* The calling thread, whose state is STATE, has launched something. *T: NULL the first time. */
void gp_python_thread_ran(struct gp_stack_process *p, struct gp_python_thread **t, uint64_t state);
void gp_python_thread_ended(struct gp_python_thread *t);

struct gp_waiting;
struct gp_waiting *gp_waiting_new(void);
/* The stack of the thread that waits in backward(), below it the entry of autograd, as a number of S, which
 * is the calling thread's; 0: no thread waits there. *TID: that thread, 0 none. */
uint32_t gp_waiting_stack(struct gp_waiting *w, struct gp_stack_numbers *s, const struct gp_own_python *py,
                          int64_t *tid);
void gp_waiting_free(struct gp_waiting *w);

/* ---- native.c ---- */

struct gp_native;
struct gp_native *gp_native_new(void);
/* The number of the calling thread's native frames: below PARENT, the number of its Python stack, those that
 * are inside of it, or all if that is 0. PY may be NULL. 0: unknown. */
uint32_t gp_native_stack(struct gp_native *k, struct gp_stack_numbers *s, const struct gp_own_python *py,
                         uint32_t parent);
void gp_native_free(struct gp_native *k);

#endif
