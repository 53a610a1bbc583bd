#include "collect/stacks/launch_stack.h"

#include <stdlib.h>
#include "collect/stacks/stacks_priv.h"
#include "collect/unwind/unwind.h"

struct gp_stack_process *gp_stack_process_new(void)
{
    struct gp_stack_process *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->unwinder = gp_unwinder_new(false);
    return p;
}

void gp_stack_process_refresh(struct gp_stack_process *p)
{
    if (p->unwinder) gp_unwind_refresh(p->unwinder);
}

const struct gp_own_python *gp_stack_process_python(struct gp_stack_process *p, const char **why)
{
    if (why) *why = NULL;
    if (atomic_load_explicit(&p->python_found, memory_order_acquire)) {
        if (p->python.process.pid != getpid()) { /* in a fork child the memory is another process's */
            gp_remote_close(&p->python.process);
            p->python.memory = gp_remote_open(&p->python.process, getpid());
            atomic_store(&p->latest, NULL); /* and so are the threads */
            atomic_store(&p->first, NULL);
        }
        return &p->python;
    }
    if (!gp_stack_try(&p->looking)) return NULL; /* somebody looks right now */
    bool found = atomic_load(&p->python_found) || gp_own_python_find(&p->python, &p->why);
    atomic_store(&p->python_found, found);
    if (why && !found) *why = p->why;
    gp_stack_let_go(&p->looking);
    return found ? &p->python : NULL;
}

bool gp_stack_process_has_python(struct gp_stack_process *p, const char **why)
{
    return gp_stack_process_python(p, why) != NULL;
}
