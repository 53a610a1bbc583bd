/* thread_ring.h -- what the library keeps of each thread of the program: its ring of notes, which the flush
 * thread drains, and what its ranges and stacks need between two calls. Made at a thread's first note, freed
 * by the flush thread when the thread is gone. A process that makes notes but does not use CUDA only fills
 * its rings, which is cheap, and stops at the first one that is full.
 *
 *     struct gp_thread_ring *t = gp_thread_ring_get();               // in a call of the program
 *     if (t && !gp_thread_ring_put(t, &note, text, reserve)) gp_ring_refuse(t->ring, note.op);
 *     gp_thread_ring_drain(take, ctx, refused);                      // flush thread
 */
#ifndef GP_COLLECT_INJECT_THREAD_RING_H
#define GP_COLLECT_INJECT_THREAD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "collect/stacks/launch_stack.h"
#include "collect/inject/wakeup.h"
#include "collect/wire/ring.h"
#include "formats/base/buf.h"
#include "formats/base/declare.h"

/* Room for the end of a range, which must not be refused. */
enum { GP_POP_BYTES = 2 * sizeof(struct gp_note), GP_NOTE_TEXT_MOST = 4096 /* bytes */ };

/* A range of this thread whose end the capture window waits for. */
struct gp_range_watch {
    const char *domain; /* NULL: none */
    uint32_t nested;    /* ranges of that domain that were pushed inside */
};

/* The thread writes, the flush thread reads and, when the thread is gone, frees. */
struct gp_thread_ring {
    struct gp_thread_ring *next;
    struct gp_ring *ring;
    int64_t tid;
    unsigned epoch;                  /* in which it is used: no other recording and no fork child */
    unsigned forks;                  /* before it was made */
    uint32_t open;                   /* pushes that were accepted and not popped */
    uint32_t skipped;                /* pushes that were refused and not popped */
    struct gp_range_watch watch[2];  /* by GP_CAPTURE_START and GP_CAPTURE_STOP */
    struct gp_buf args;              /* of the current event; never grows */
    struct gp_launch_stack *stack;   /* NULL: none was read yet */
    struct gp_launch_counts counted; /* what of it was refused here */
    uint32_t placed;                 /* the correlation id of the call whose stack was read last */
    _Atomic bool woke;               /* this is half full, which the flush thread knows */
    _Atomic bool gone;               /* the thread has ended */
};

/* The calling thread's; NULL if nothing is recorded any more, or there is no memory. */
static inline struct gp_thread_ring *gp_thread_ring_get(void);
/* Append NOTE and, unless it has one, TEXT, leaving RESERVE bytes free. False if there is no room. */
static inline bool gp_thread_ring_put(struct gp_thread_ring *t, const struct gp_note *note, const char *text,
                                      size_t reserve);
/* What must stay free for the ends of open ranges. */
static inline size_t gp_thread_ring_reserve(const struct gp_thread_ring *t)
{
    return (size_t)(t->open + 1) * GP_POP_BYTES;
}
/* Has any thread made a note? */
bool gp_thread_ring_used(void);
/* Hand over the notes of all threads, each thread's in order; TAKE NULL: drop them. REFUSED: how many of each
 * enum gp_note_op did not fit since the last call. */
void gp_thread_ring_drain(void (*take)(void *ctx, int64_t tid, const struct gp_note *note), void *ctx,
                          uint64_t refused[GP_NOTE_OPS]);
/* Nothing is noted from now on. */
void gp_thread_ring_off(void);
/* The notes of another recording begin; those of the last one are discarded. */
void gp_thread_ring_on(void);
/* In a fork child: discard the parent's threads; with OFF, note nothing. */
void gp_thread_ring_forked(bool off);

/* ---- internal: what runs in every call of the program is here, so that it can be inlined ---- */

/* On a cache line that rarely changes. */
extern struct gp_thread_rings {
    _Alignas(64) _Atomic unsigned epoch; /* changes in a fork child, and when recording ends */
} gp_thread_rings;
extern _Thread_local struct gp_thread_ring *gp_thread_ring_own;
struct gp_thread_ring *gp_thread_ring_new(void);

static inline struct gp_thread_ring *gp_thread_ring_get(void)
{
    struct gp_thread_ring *t = gp_thread_ring_own;
    if (GP_LIKELY(t && t->epoch == atomic_load_explicit(&gp_thread_rings.epoch, memory_order_relaxed)))
        return t;
    return gp_thread_ring_new();
}

/* Tell the flush thread once that there is much to read. */
static inline void gp_thread_ring_wake(struct gp_thread_ring *t)
{
    if (GP_UNLIKELY(gp_ring_half_full(t->ring)) && !atomic_exchange(&t->woke, true)) gp_inject_wake(false);
}

static inline bool gp_thread_ring_put(struct gp_thread_ring *t, const struct gp_note *note, const char *text,
                                      size_t reserve)
{
    size_t n = note->text ? 0 : strlen(text);
    bool ok = gp_ring_put(t->ring, note, text, n < GP_NOTE_TEXT_MOST ? n : GP_NOTE_TEXT_MOST, t->args.data,
                          reserve);
    gp_thread_ring_wake(t);
    return ok;
}

#endif
