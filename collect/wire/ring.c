#include "collect/wire/ring.h"

#include <stdlib.h>
#include <sys/mman.h>

/* The beginning of struct gp_note, which is all that padding has. */
struct note_head {
    uint32_t size;
    uint16_t op, args_n;
};

struct gp_ring *gp_ring_new(size_t size)
{
    struct gp_ring *r = aligned_alloc(_Alignof(struct gp_ring), sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) {
        free(r);
        return NULL;
    }
    r->data = m;
    r->size = size;
    return r;
}

bool gp_ring_make_room(struct gp_ring *r, size_t size, size_t reserve)
{
    size_t to_end = r->size - (size_t)(r->next & (r->size - 1)), padding = size > to_end ? to_end : 0;
    r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    if (padding + size + reserve > r->size - (size_t)(r->next - r->seen_tail)) return false;
    if (!padding) return true;
    struct note_head pad = {(uint32_t)padding, GP_NOTE_PAD, 0};
    memcpy(r->data + (r->next & (r->size - 1)), &pad, sizeof pad);
    r->next += padding;
    return true;
}

bool gp_ring_look(struct gp_ring *r)
{
    r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    return r->next - r->seen_tail > r->size / 2;
}

void gp_ring_refuse(struct gp_ring *r, unsigned op)
{
    uint64_t n = atomic_load_explicit(&r->refused[op], memory_order_relaxed); /* only the writer changes it */
    atomic_store_explicit(&r->refused[op], n + 1, memory_order_relaxed);
}

const char *gp_note_plural(unsigned op)
{
    static const char *const plurals[GP_NOTE_OPS] = {
        [GP_NOTE_PUSH] = "ranges",
        [GP_NOTE_POP] = "ends of ranges",
        [GP_NOTE_START] = "ranges",
        [GP_NOTE_STOP] = "ends of ranges",
        [GP_NOTE_MARK] = "marks",
        [GP_NOTE_NODE] = "ranges of graph nodes",
        [GP_NOTE_CLONE] = "ranges of graph nodes",
        [GP_NOTE_WAIT] = "waits and event records",
        [GP_NOTE_CALL] = "API calls",
        [GP_NOTE_FUNCTION] = "stacks",
        [GP_NOTE_PLACE] = "stacks",
        [GP_NOTE_FRAME] = "stacks",
        [GP_NOTE_STACK] = "stacks",
        [GP_NOTE_DEEP] = "stacks",
        [GP_NOTE_BROKEN] = "stacks",
        [GP_NOTE_MANY] = "stacks",
    };
    return op < GP_NOTE_OPS && plurals[op] ? plurals[op] : "notes";
}

const char *gp_note_reason(unsigned op)
{
    return op == GP_NOTE_DEEP     ? "too deep"
           : op == GP_NOTE_BROKEN ? "frames could not be read"
           : op == GP_NOTE_MANY   ? "too many different ones"
                                  : "too many at once";
}

const struct gp_note *gp_ring_peek(struct gp_ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail == r->seen_head) r->seen_head = atomic_load_explicit(&r->head, memory_order_acquire);
    while (tail != r->seen_head) {
        const uint8_t *p = r->data + (tail & (r->size - 1));
        struct note_head pad;
        memcpy(&pad, p, sizeof pad);
        if (pad.op != GP_NOTE_PAD) return (const struct gp_note *)(const void *)p;
        tail += pad.size;
        atomic_store_explicit(&r->tail, tail, memory_order_release);
    }
    return NULL;
}

void gp_ring_pop(struct gp_ring *r, const struct gp_note *note)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + note->size, memory_order_release);
}

void gp_ring_free(struct gp_ring *r)
{
    if (!r) return;
    munmap(r->data, r->size);
    free(r);
}
