/* pool.h -- the activity buffers of one process: a free list that the launch path pops from without
 * allocating, and a queue of filled buffers that the flush thread takes from. Buffers are zeroed and their
 * pages touched before they are handed out. Memory is bounded: when too many filled buffers wait, the newest
 * is dropped and counted. Thread safe.
 *
 *     uint8_t *p = gp_pool_take(pool);                 // launch path
 *     gp_pool_fill(pool, p, valid);                    // completion callback
 *     while (gp_pool_next(pool, &p, &valid)) { read(p, valid); gp_pool_give(pool, p, valid); }
 */
#ifndef GP_COLLECT_POOL_H
#define GP_COLLECT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_pool;

struct gp_pool_opts {
    size_t buffer_bytes;
    size_t ready;       /* so many buffers are kept ready by gp_pool_prepare() */
    size_t max_waiting; /* so many filled ones may wait */
    /* Counts the records in a buffer that is dropped. */
    uint64_t (*count)(uint8_t *data, size_t valid);
};

struct gp_pool *gp_pool_new(const struct gp_pool_opts *opts);
size_t gp_pool_buffer_bytes(const struct gp_pool *p);
/* A zeroed buffer, 4096-byte aligned; NULL when the system has no memory. O(1) while there are ready ones. */
uint8_t *gp_pool_take(struct gp_pool *p);
/* Queue a buffer whose first VALID bytes are filled. Returns how many buffers wait, 0 when it was dropped. */
size_t gp_pool_fill(struct gp_pool *p, uint8_t *data, size_t valid);
/* The oldest filled buffer; false when none waits. */
bool gp_pool_next(struct gp_pool *p, uint8_t **data, size_t *valid);
/* Zero the first VALID bytes (and some more; none when VALID is 0) and put the buffer back. */
void gp_pool_give(struct gp_pool *p, uint8_t *data, size_t valid);
/* Make up to MORE buffers, touching their pages; call it from a thread that may wait. True while too few are
 * ready. */
bool gp_pool_prepare(struct gp_pool *p, size_t more);
/* Records dropped so far, and the number of buffers that exist. */
uint64_t gp_pool_dropped(struct gp_pool *p);
size_t gp_pool_buffers(struct gp_pool *p);
/* No buffer may be in use any more. */
void gp_pool_free(struct gp_pool *p);

#endif
