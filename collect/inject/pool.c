#include "collect/inject/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "formats/base/mem.h"

/* This much of a new buffer is touched in advance; the rest when it is first filled. Buffers are large and
 * there may be many threads. */
enum { TOUCHED = 1 << 20 };

/* Slot numbers in order of arrival: a ring with room for all slots. */
struct queue {
    uint32_t *at;
    size_t first, n;
};

struct gp_pool {
    struct gp_pool_opts opts;
    struct gp_shared *shared;
    pthread_mutex_t lock; /* for all that follows */
    uint32_t *ready;      /* zeroed slots, touched or not */
    size_t nready;
    uint32_t *bare; /* slots without memory that were used before */
    size_t nbare;
    uint32_t fresh;            /* slots from here on were never used */
    struct queue filled, sent; /* returned by CUPTI; the launcher's */
    size_t waiting;            /* bytes in both */
    uint64_t seq, dropped;
    size_t buffers, strays; /* strays: buffers that are not slots */
};

struct gp_pool *gp_pool_new(const struct gp_pool_opts *opts)
{
    struct gp_pool *p = gp_zalloc(sizeof *p);
    size_t slots = opts->shared->opts.slots;
    p->opts = *opts;
    p->shared = opts->shared;
    p->ready = gp_alloc(slots * sizeof *p->ready);
    p->bare = gp_alloc(slots * sizeof *p->bare);
    p->filled.at = gp_alloc(slots * sizeof *p->filled.at);
    p->sent.at = gp_alloc(slots * sizeof *p->sent.at);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

size_t gp_pool_buffer_bytes(const struct gp_pool *p) { return p->shared->opts.buffer_bytes; }

static void set_state(struct gp_pool *p, uint32_t i, enum gp_slot_state state)
{
    atomic_store_explicit(&gp_shared_slot(p->shared, i)->state, (uint32_t)state, memory_order_release);
}

static void push(struct gp_pool *p, struct queue *q, uint32_t i)
{
    q->at[(q->first + q->n++) % p->shared->opts.slots] = i;
}

static uint32_t pop(struct gp_pool *p, struct queue *q)
{
    uint32_t i = q->at[q->first];
    q->first = (q->first + 1) % p->shared->opts.slots;
    q->n--;
    return i;
}

/* ---- making buffers, all under the lock ---- */

/* A zeroed slot is free. The memory of slots that only a burst needed is released. */
static void put_back(struct gp_pool *p, uint32_t i)
{
    set_state(p, i, GP_SLOT_FREE);
    if (p->nready < 2 * p->opts.ready) {
        p->ready[p->nready++] = i;
        return;
    }
    gp_shared_trim(p->shared, i);
    p->bare[p->nbare++] = i;
    p->buffers--;
}

/* Take back slots that the launcher is done with, at most MOST. */
static void take_back(struct gp_pool *p, size_t most)
{
    while (most-- && p->sent.n) {
        const struct gp_slot *slot = gp_shared_slot(p->shared, p->sent.at[p->sent.first]);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) != GP_SLOT_DONE) return;
        p->waiting -= slot->valid;
        put_back(p, pop(p, &p->sent));
    }
}

/* A slot without memory; false if there is none left. */
static bool new_slot(struct gp_pool *p, uint32_t *i)
{
    if (p->nbare) *i = p->bare[--p->nbare];
    else if (p->fresh < p->shared->opts.slots) *i = p->fresh++;
    else return false;
    p->buffers++;
    return true;
}

/* More threads than slots: records in such a buffer will be lost, but CUPTI must get one. */
static uint8_t *make_stray(struct gp_pool *p)
{
    size_t n = gp_pool_buffer_bytes(p);
    void *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return NULL;
    p->strays++;
    return m;
}

uint8_t *gp_pool_take(struct gp_pool *p)
{
    uint32_t i;
    uint8_t *data = NULL;
    pthread_mutex_lock(&p->lock);
    if (!p->nready) take_back(p, 1);
    bool any = p->nready > 0;
    if (any) i = p->ready[--p->nready];
    else any = new_slot(p, &i);
    if (any) {
        set_state(p, i, GP_SLOT_OUT);
        data = gp_shared_buffer(p->shared, i);
    } else {
        data = make_stray(p);
    }
    pthread_mutex_unlock(&p->lock);
    return data;
}

static void free_stray(struct gp_pool *p, uint8_t *data)
{
    munmap(data, gp_pool_buffer_bytes(p));
    pthread_mutex_lock(&p->lock);
    if (p->strays) p->strays--; /* or CUPTI has kept it since a recording that is over */
    pthread_mutex_unlock(&p->lock);
}

/* CUPTI has the slot: one that came back twice would be somebody else's already. */
static bool is_out(struct gp_pool *p, size_t i)
{
    return atomic_load_explicit(&gp_shared_slot(p->shared, i)->state, memory_order_acquire) == GP_SLOT_OUT;
}

void gp_pool_give(struct gp_pool *p, uint8_t *data, size_t valid)
{
    size_t i;
    if (!gp_shared_find(p->shared, data, &i)) {
        free_stray(p, data);
        return;
    }
    if (!is_out(p, i)) return;
    if (valid) gp_shared_clear(p->shared, i, valid);
    pthread_mutex_lock(&p->lock);
    put_back(p, (uint32_t)i);
    pthread_mutex_unlock(&p->lock);
}

bool gp_pool_fill(struct gp_pool *p, uint8_t *data, size_t valid)
{
    size_t i;
    bool ours = gp_shared_find(p->shared, data, &i), kept = false;
    pthread_mutex_lock(&p->lock);
    if (ours && p->waiting + valid > p->opts.max_waiting) take_back(p, p->sent.n);
    if (ours && p->waiting + valid <= p->opts.max_waiting) {
        struct gp_slot *slot = gp_shared_slot(p->shared, i);
        slot->valid = (uint32_t)valid;
        slot->seq = ++p->seq;
        set_state(p, (uint32_t)i, GP_SLOT_RETURNED);
        push(p, &p->filled, (uint32_t)i);
        p->waiting += valid;
        kept = true;
    }
    pthread_mutex_unlock(&p->lock);
    if (kept) return true;
    uint64_t lost = p->opts.count ? p->opts.count(data, valid) : 1;
    gp_pool_give(p, data, valid);
    pthread_mutex_lock(&p->lock);
    p->dropped += lost;
    pthread_mutex_unlock(&p->lock);
    return false;
}

bool gp_pool_next(struct gp_pool *p, uint8_t **data, size_t *valid)
{
    pthread_mutex_lock(&p->lock);
    bool any = p->filled.n > 0;
    if (any) {
        uint32_t i = p->filled.at[p->filled.first];
        *data = gp_shared_buffer(p->shared, i);
        *valid = gp_shared_slot(p->shared, i)->valid;
    }
    pthread_mutex_unlock(&p->lock);
    return any;
}

uint32_t gp_pool_deliver(struct gp_pool *p, uint64_t records)
{
    pthread_mutex_lock(&p->lock);
    uint32_t i = pop(p, &p->filled);
    struct gp_slot *slot = gp_shared_slot(p->shared, i);
    slot->records = records;
    slot->names = gp_shared_logged(p->shared);
    push(p, &p->sent, i);
    set_state(p, i, GP_SLOT_FILLED);
    pthread_mutex_unlock(&p->lock);
    return i;
}

bool gp_pool_prepare(struct gp_pool *p, size_t more)
{
    for (;;) {
        uint32_t i;
        pthread_mutex_lock(&p->lock);
        take_back(p, p->sent.n);
        bool enough = p->nready >= p->opts.ready, any = !enough && more && new_slot(p, &i);
        pthread_mutex_unlock(&p->lock);
        if (!any) return !enough && !more;
        more--;
        size_t n = gp_pool_buffer_bytes(p);
        memset(gp_shared_buffer(p->shared, i), 0, n < TOUCHED ? n : TOUCHED);
        pthread_mutex_lock(&p->lock);
        put_back(p, i);
        pthread_mutex_unlock(&p->lock);
    }
}

void gp_pool_abandon(struct gp_pool *p)
{
    struct queue *both[] = {&p->filled, &p->sent};
    pthread_mutex_lock(&p->lock);
    p->waiting = 0;
    for (size_t k = 0; k < 2; k++)
        while (both[k]->n) {
            uint32_t i = pop(p, both[k]);
            gp_shared_trim(p->shared, i);
            set_state(p, i, GP_SLOT_FREE);
            p->bare[p->nbare++] = i;
            p->buffers--;
        }
    pthread_mutex_unlock(&p->lock);
}

uint64_t gp_pool_dropped(struct gp_pool *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t n = p->dropped;
    pthread_mutex_unlock(&p->lock);
    return n;
}

size_t gp_pool_buffers(struct gp_pool *p)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->buffers + p->strays;
    pthread_mutex_unlock(&p->lock);
    return n;
}

size_t gp_pool_out(struct gp_pool *p)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->buffers + p->strays - p->nready - p->filled.n - p->sent.n;
    pthread_mutex_unlock(&p->lock);
    return n;
}

void gp_pool_free(struct gp_pool *p)
{
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    free(p->filled.at);
    free(p->sent.at);
    free(p->ready);
    free(p->bare);
    free(p);
}
