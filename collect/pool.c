#include "collect/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "formats/base/mem.h"
#include "formats/base/vec.h"

struct filled {
    uint8_t *data;
    size_t valid;
};

struct gp_pool {
    struct gp_pool_opts opts;
    pthread_mutex_t lock;
    GP_VEC(uint8_t *)
    ready; /* room for every buffer is reserved when it is made, so that giving back never allocates */
    struct filled *queue; /* a ring of max_waiting + 1 entries */
    size_t first, waiting;
    size_t buffers;
    uint64_t dropped;
};

struct gp_pool *gp_pool_new(const struct gp_pool_opts *opts)
{
    struct gp_pool *p = gp_zalloc(sizeof *p);
    p->opts = *opts;
    p->queue = gp_alloc((opts->max_waiting + 1) * sizeof *p->queue);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

size_t gp_pool_buffer_bytes(const struct gp_pool *p)
{
    return p->opts.buffer_bytes;
}

/* A new buffer that is in nobody's hands yet. With TOUCH every page is made present. */
static uint8_t *make_buffer(struct gp_pool *p, bool touch)
{
    void *m = mmap(NULL, p->opts.buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return NULL;
    if (touch) memset(m, 0, p->opts.buffer_bytes);
    pthread_mutex_lock(&p->lock);
    p->buffers++;
    GP_VEC_RESERVE(&p->ready, p->buffers);
    pthread_mutex_unlock(&p->lock);
    return m;
}

uint8_t *gp_pool_take(struct gp_pool *p)
{
    uint8_t *data = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->ready.n) data = p->ready.at[--p->ready.n];
    pthread_mutex_unlock(&p->lock);
    return data ? data : make_buffer(p, false);
}

/* CUPTI may have begun records behind those that it calls valid. */
enum { BEYOND_BYTES = 64 << 10 };

void gp_pool_give(struct gp_pool *p, uint8_t *data, size_t valid)
{
    if (valid)
        memset(data, 0,
               valid + BEYOND_BYTES < p->opts.buffer_bytes ? valid + BEYOND_BYTES : p->opts.buffer_bytes);
    pthread_mutex_lock(&p->lock);
    bool keep = p->ready.n < 2 * p->opts.ready;
    if (keep) p->ready.at[p->ready.n++] = data;
    else p->buffers--;
    pthread_mutex_unlock(&p->lock);
    if (!keep) munmap(data, p->opts.buffer_bytes); /* grown in a burst that is over */
}

size_t gp_pool_fill(struct gp_pool *p, uint8_t *data, size_t valid)
{
    pthread_mutex_lock(&p->lock);
    size_t waiting = 0;
    if (p->waiting < p->opts.max_waiting) {
        p->queue[(p->first + p->waiting) % (p->opts.max_waiting + 1)] = (struct filled){data, valid};
        waiting = ++p->waiting;
    }
    pthread_mutex_unlock(&p->lock);
    if (waiting) return waiting;
    uint64_t lost = p->opts.count ? p->opts.count(data, valid) : 1;
    gp_pool_give(p, data, valid);
    pthread_mutex_lock(&p->lock);
    p->dropped += lost;
    pthread_mutex_unlock(&p->lock);
    return 0;
}

bool gp_pool_next(struct gp_pool *p, uint8_t **data, size_t *valid)
{
    pthread_mutex_lock(&p->lock);
    bool any = p->waiting > 0;
    if (any) {
        *data = p->queue[p->first].data;
        *valid = p->queue[p->first].valid;
        p->first = (p->first + 1) % (p->opts.max_waiting + 1);
        p->waiting--;
    }
    pthread_mutex_unlock(&p->lock);
    return any;
}

bool gp_pool_prepare(struct gp_pool *p, size_t more)
{
    for (;;) {
        pthread_mutex_lock(&p->lock);
        bool enough = p->ready.n >= p->opts.ready;
        pthread_mutex_unlock(&p->lock);
        if (enough || !more--) return !enough;
        uint8_t *data = make_buffer(p, true);
        if (!data) return false;
        gp_pool_give(p, data, 0);
    }
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
    size_t n = p->buffers;
    pthread_mutex_unlock(&p->lock);
    return n;
}

void gp_pool_free(struct gp_pool *p)
{
    if (!p) return;
    uint8_t *data;
    size_t valid;
    while (gp_pool_next(p, &data, &valid)) gp_pool_give(p, data, 0);
    for (size_t i = 0; i < p->ready.n; i++) munmap(p->ready.at[i], p->opts.buffer_bytes);
    GP_VEC_FREE(&p->ready);
    free(p->queue);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
