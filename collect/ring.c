#include "collect/ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* How struct gp_note begins: all that there is of padding. */
struct note_head {
    uint32_t size;
    uint16_t op, args_n;
};

struct gp_ring *gp_ring_new(size_t size)
{
    struct gp_ring *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) {
        free(r);
        return NULL;
    }
    r->data = m;
    r->size = size;
    return r;
}

/* Room for a note of N bytes at HEAD, the padding to the end of the ring included when it does not fit before
 * it. */
static size_t room_needed(const struct gp_ring *r, uint64_t head, size_t n)
{
    size_t to_end = r->size - (size_t)(head & (r->size - 1));
    return n <= to_end ? n : to_end + n;
}

bool gp_ring_put(struct gp_ring *r, const struct gp_note *note, const char *text, size_t n, const char *args,
                 size_t reserve)
{
    size_t text_bytes = note->text ? 0 : n + 1;
    size_t size = (sizeof *note + text_bytes + note->args_n + 7) & ~(size_t)7;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    size_t need = room_needed(r, head, size);
    if (need + reserve > r->size - (size_t)(head - tail)) return false;
    if (need != size) {
        struct note_head pad = {(uint32_t)(need - size), GP_NOTE_PAD, 0};
        memcpy(r->data + (head & (r->size - 1)), &pad, sizeof pad);
        head += need - size;
    }
    uint8_t *to = r->data + (head & (r->size - 1));
    struct gp_note copy = *note;
    copy.size = (uint32_t)size;
    memcpy(to, &copy, sizeof copy);
    if (text_bytes) {
        memcpy(to + sizeof copy, text, n);
        to[sizeof copy + n] = 0;
    }
    if (note->args_n) memcpy(to + sizeof copy + text_bytes, args, note->args_n);
    atomic_store_explicit(&r->head, head + size, memory_order_release);
    return true;
}

void gp_ring_refuse(struct gp_ring *r)
{
    uint64_t n = atomic_load_explicit(&r->refused, memory_order_relaxed); /* only the writer changes it */
    atomic_store_explicit(&r->refused, n + 1, memory_order_relaxed);
}

const struct gp_note *gp_ring_peek(struct gp_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    while (tail != head) {
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

bool gp_ring_half_full(struct gp_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    return head - atomic_load_explicit(&r->tail, memory_order_relaxed) > r->size / 2;
}

void gp_ring_free(struct gp_ring *r)
{
    if (!r) return;
    munmap(r->data, r->size);
    free(r);
}
