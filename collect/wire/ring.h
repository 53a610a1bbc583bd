/* ring.h -- notes from one thread to the flush thread: a byte ring with one writer and one reader, without
 * locks. A note that does not fit is refused, without waiting; the caller's RESERVE keeps room for the ends
 * of accepted begins, so that ends always fit. Pages are touched only as they are used.
 *
 *     struct gp_ring *r = gp_ring_new(1 << 20);
 *     gp_ring_put(r, &note, text, n, NULL, 0);                            // the one writer
 *     while ((note = gp_ring_peek(r))) { use(note); gp_ring_pop(r, note); } // the one reader
 *     atomic_load(&r->refused[GP_NOTE_MARK])                              // marks that did not fit so far
 */
#ifndef GP_COLLECT_WIRE_RING_H
#define GP_COLLECT_WIRE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "formats/base/declare.h"

enum gp_note_op {
    GP_NOTE_PAD,
    GP_NOTE_PUSH,
    GP_NOTE_POP,
    GP_NOTE_START,
    GP_NOTE_STOP,
    GP_NOTE_MARK,
    GP_NOTE_NODE,  /* node ID of a CUDA graph was created: the ranges that are open now are its own */
    GP_NOTE_CLONE, /* node ID was made after node OTHER, whose ranges it has */
    /* a call that waits, or records an event that others wait for: the args are a struct gp_note_wait */
    GP_NOTE_WAIT,
    GP_NOTE_CALL,     /* a call that launches, copies or waits: the args are a struct gp_note_call */
    GP_NOTE_FUNCTION, /* a number of this thread stands for a function: text: its name, args: its file */
    GP_NOTE_FRAME,    /* what a stack stands for, of this thread: the args are a struct gp_note_frame */
    GP_NOTE_PLACE,    /* the same of native code: the text is the path of its file, OTHER the address there */
    GP_NOTE_STACK,    /* a call begins: its stack. The args are one struct gp_note_stack, on the wire many */
    /* never put, only refused: the stack of a call has too many frames, some that cannot be read, or is one
     * too many */
    GP_NOTE_DEEP,
    GP_NOTE_BROKEN,
    GP_NOTE_MANY,
};
enum { GP_NOTE_OPS = GP_NOTE_MANY + 1 };

/* Numbers of CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_; a record of an event is not one of those. */
enum gp_wait { GP_WAIT_RECORD, GP_WAIT_EVENT, GP_WAIT_STREAM_EVENT, GP_WAIT_STREAM, GP_WAIT_CONTEXT };

/* From time_ns of its note to END_NS. */
struct gp_note_wait {
    int64_t end_ns;
    uint64_t event;                 /* handle of the CUDA event, 0 none */
    uint32_t corr, context, stream; /* CUPTI's numbers, UINT32_MAX unknown */
    uint32_t type;                  /* enum gp_wait */
};

/* From time_ns of its note to END_NS. */
struct gp_note_call {
    int64_t end_ns;
    uint32_t corr, cbid; /* CUPTI's numbers */
    int32_t ret;
    uint32_t driver; /* of the driver, otherwise of the runtime */
};

/* Stack ID of the note is FUNCTION at LINE, called from stack PARENT; 0: unknown, or the outermost. */
struct gp_note_frame {
    uint32_t parent, function, line, reserved;
};

/* The call with that correlation id has that stack. WAITER: the thread whose frames it begins with, if this
 * is a thread of autograd; otherwise 0. */
struct gp_note_stack {
    uint32_t corr, stack, waiter;
};

/* What happened. If TEXT is NULL, the text follows the struct, NUL-terminated; then the args follow. */
struct gp_note {
    uint32_t size; /* with text and args, a multiple of 8; set by gp_ring_put */
    uint16_t op;   /* enum gp_note_op */
    /* bytes of args, 0: none: the content of a payload, as the inside of a JSON object; see
     * GP_NOTE_WAIT */
    uint16_t args_n;
    int64_t time_ns;
    const char *domain; /* name of the NVTX domain, "" for the default one; never freed */
    const char *text;   /* a registered string, which is never freed, or NULL */
    /* GP_NOTE_START and GP_NOTE_STOP: which range; GP_NOTE_NODE and GP_NOTE_CLONE: which node;
     * GP_NOTE_FUNCTION, GP_NOTE_PLACE and GP_NOTE_FRAME: which number */
    uint64_t id;
    /* GP_NOTE_CLONE: which node it was made after; GP_NOTE_PUSH and GP_NOTE_NODE: the stack, 0 unknown */
    uint64_t other;
};

/* Positions count all bytes ever written and read. What one side writes is on its own cache lines, and each
 * side reads the other's only if the last value that it saw is not enough. */
struct gp_ring {
    uint8_t *data;
    size_t size;                           /* a power of two */
    _Alignas(64) _Atomic uint64_t head;    /* the writer's: the end of what can be read */
    uint64_t next, seen_tail;              /* where the next note goes: the head, or after padding */
    _Atomic uint64_t refused[GP_NOTE_OPS]; /* the writer's, per enum gp_note_op */
    _Alignas(64) _Atomic uint64_t tail;    /* the reader's */
    uint64_t seen_head;
};

/* SIZE is a power of two. NULL if there is no memory. */
struct gp_ring *gp_ring_new(size_t size);
/* Append NOTE, N bytes of TEXT (unless note->text is set) and note->args_n bytes of ARGS, leaving RESERVE
 * bytes free. False if there is no room. */
static inline bool gp_ring_put(struct gp_ring *r, const struct gp_note *note, const char *text, size_t n,
                               const char *args, size_t reserve);
/* Count a note of OP, an enum gp_note_op, that did not fit; called by the writer. */
void gp_ring_refuse(struct gp_ring *r, unsigned op);
/* What is lost with notes of OP, for a message, and why: "ranges", "too many at once"; static. */
const char *gp_note_plural(unsigned op);
const char *gp_note_reason(unsigned op);
/* The oldest note, or NULL. */
const struct gp_note *gp_ring_peek(struct gp_ring *r);
void gp_ring_pop(struct gp_ring *r, const struct gp_note *note);
/* Is more than half of it in use? Called by the writer. */
static inline bool gp_ring_half_full(struct gp_ring *r);
void gp_ring_free(struct gp_ring *r);

/* ---- internal: what runs in every call of the program is here, so that it can be inlined ---- */

/* Room for SIZE bytes at r->next, which moves if they would cross the end; false if there is none. */
bool gp_ring_make_room(struct gp_ring *r, size_t size, size_t reserve);
bool gp_ring_look(struct gp_ring *r);

static inline bool gp_ring_put(struct gp_ring *r, const struct gp_note *note, const char *text, size_t n,
                               const char *args, size_t reserve)
{
    size_t text_bytes = note->text ? 0 : n + 1;
    size_t size = (sizeof *note + text_bytes + note->args_n + 7) & ~(size_t)7, mask = r->size - 1;
    if (GP_UNLIKELY(size > r->size - (r->next & mask) ||
                    size + reserve > r->size - (r->next - r->seen_tail)) &&
        !gp_ring_make_room(r, size, reserve))
        return false;
    uint8_t *to = r->data + (r->next & mask);
    struct gp_note *copy = (struct gp_note *)(void *)to;
    *copy = *note;
    copy->size = (uint32_t)size;
    to += sizeof *note;
    if (text_bytes) {
        memcpy(to, text, n);
        to[n] = 0;
    }
    if (GP_UNLIKELY(args && note->args_n)) memcpy(to + text_bytes, args, note->args_n);
    r->next += size;
    atomic_store_explicit(&r->head, r->next, memory_order_release);
    return true;
}

static inline bool gp_ring_half_full(struct gp_ring *r)
{
    return GP_UNLIKELY(r->next - r->seen_tail > r->size / 2) && gp_ring_look(r);
}

static inline const char *gp_note_text(const struct gp_note *n)
{
    return n->text ? n->text : (const char *)(n + 1);
}

/* note->args_n bytes. */
static inline const char *gp_note_args(const struct gp_note *n)
{
    const char *after = (const char *)(n + 1);
    return n->text ? after : after + strlen(after) + 1;
}

#endif
