/* inject_stacks.h -- the stacks of calls: read where a call begins, on the thread that makes it, and put into
 * its ring before whatever refers to them.
 *
 *     gp_inject_stacks_start(opts.stacks);
 *     gp_inject_stack_of_call(corr);                       // in the hook of a call
 *     note.other = gp_inject_stack_here();                 // in an NVTX call
 */
#ifndef GP_COLLECT_INJECT_INJECT_STACKS_H
#define GP_COLLECT_INJECT_INJECT_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/wire.h"

void gp_inject_stacks_start(enum gp_stacks_mode mode);
/* Are stacks read? */
bool gp_inject_stacks_on(void);
/* The number of the calling thread's stack, 0 if it is unknown or not wanted. */
uint32_t gp_inject_stack_here(void);
/* Note the stack of the call with that correlation id, which begins. */
void gp_inject_stack_of_call(uint32_t corr);
/* Flush thread: look which libraries have come and gone. */
void gp_inject_stacks_refresh(void);

#endif
