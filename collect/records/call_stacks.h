/* call_stacks.h -- the stacks of calls, as a process notes them: each thread of it numbers its functions and
 * stacks from 1 on, and gives the number of the stack of each call. Makes entries of the trace of them, equal
 * ones of all threads once, and keeps which call has which until the record of the call comes. Everything
 * that a process sends is checked. One caller at a time.
 *
 *     struct gp_call_stacks stacks = {.records = &records};
 *     if (!gp_call_stacks_note(&stacks, tid, note)) ...                // it is of another kind
 *     uint32_t stack = gp_call_stacks_of(&stacks, corr, &waiter);     // 0: unknown
 *     gp_call_stacks_release(&stacks);
 */
#ifndef GP_COLLECT_RECORDS_CALL_STACKS_H
#define GP_COLLECT_RECORDS_CALL_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/ring.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

struct gp_records;

/* The stacks of so many calls, the latest, are kept; and entries of all threads together. */
enum { GP_CALL_STACKS_KEPT = 1 << 20, GP_CALL_STACKS_MOST = 1 << 20 };

struct gp_stack_function {
    gp_sid name, file;
    uint32_t symbol; /* of native code, which has no name yet; 0: of Python */
};

/* What the numbers of a thread stand for; number N is at N - 1. */
struct gp_stack_thread {
    GP_VEC(struct gp_stack_function) functions;
    GP_VEC(uint32_t) stacks; /* entries of the trace */
};

/* Zero it, then set records. */
struct gp_call_stacks {
    struct gp_records *records; /* borrowed: its trace gets the entries */
    struct gp_map threads;      /* tid -> index */
    GP_VEC(struct gp_stack_thread) list;
    struct gp_strings paths;     /* of modules, as they are on disk */
    GP_VEC(gp_sid) path_of;      /* by symbol of the trace; 0: it has a name, or no module */
    struct gp_call_stack *calls; /* by the low bits of their correlation ids; NULL: none has come */
    uint64_t bad;                /* notes that cannot be */
};

/* Use a note of thread TID. False if it is of another kind. */
bool gp_call_stacks_note(struct gp_call_stacks *s, int64_t tid, const struct gp_note *note);
/* The entry of the stack with that number of thread TID; 0: there is none. */
uint32_t gp_call_stacks_entry(const struct gp_call_stacks *s, int64_t tid, uint64_t number);
/* The entry of the stack of a call, 0: unknown. *WAITER: the track of the thread that its first frames belong
 * to, if it waits for the call's thread; otherwise UINT32_MAX. */
uint32_t gp_call_stacks_of(const struct gp_call_stacks *s, uint32_t corr, uint32_t *waiter);
/* Forget which call has which. */
void gp_call_stacks_forget(struct gp_call_stacks *s);
void gp_call_stacks_release(struct gp_call_stacks *s);

#endif
