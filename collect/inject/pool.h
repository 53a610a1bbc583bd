/* pool.h -- the activity buffers of one process, which are slots of the memory shared with the launcher: a
 * list of zeroed ones that the launch path pops from without allocating, and a queue of filled ones that the
 * flush thread walks and delivers to the launcher, which returns them zeroed. Memory is bounded: if too many
 * filled buffers wait, the newest is dropped and counted. Thread safe.
 *
 *     uint8_t *p = gp_pool_take(pool);                    // launch path
 *     gp_pool_fill(pool, p, valid);                       // completion callback
 *     while (gp_pool_next(pool, &p, &valid)) {            // flush thread
 *         look(p, valid);
 *         send(gp_pool_deliver(pool, records));
 *     }
 */
#ifndef GP_COLLECT_POOL_H
#define GP_COLLECT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/wire/shared.h"

struct gp_pool;

struct gp_pool_opts {
    struct gp_shared *shared; /* owned by the caller; all of its slots belong to the pool */
    size_t ready;             /* the number of buffers that gp_pool_prepare() keeps ready */
    size_t max_waiting;       /* maximum bytes in filled ones that wait, here or for the launcher */
    /* Counts the records in a buffer that is dropped. */
    uint64_t (*count)(uint8_t *data, size_t valid);
};

struct gp_pool *gp_pool_new(const struct gp_pool_opts *opts);
size_t gp_pool_buffer_bytes(const struct gp_pool *p);
/* A zeroed buffer, 4096-byte aligned; NULL if there is no memory. O(1) while there are ready ones. */
uint8_t *gp_pool_take(struct gp_pool *p);
/* Queue a buffer whose first VALID bytes are filled. False if it was dropped. */
bool gp_pool_fill(struct gp_pool *p, uint8_t *data, size_t valid);
/* The oldest filled buffer, which stays in the queue; false if none waits. */
bool gp_pool_next(struct gp_pool *p, uint8_t **data, size_t *valid);
/* Pass it, with this number of records, to the launcher. Returns the number of its slot. */
uint32_t gp_pool_deliver(struct gp_pool *p, uint64_t records);
/* Zero the first VALID bytes (and some more; none if VALID is 0) and put back a buffer that was taken. */
void gp_pool_give(struct gp_pool *p, uint8_t *data, size_t valid);
/* Take back slots that the launcher is done with, and make up to MORE buffers, touching their first pages;
 * call it from a thread that may wait. True while too few are ready. */
bool gp_pool_prepare(struct gp_pool *p, size_t more);
/* The launcher is gone, so nobody will read the waiting buffers: release their memory. */
void gp_pool_abandon(struct gp_pool *p);
/* The number of records dropped so far, and of buffers that take up memory. */
uint64_t gp_pool_dropped(struct gp_pool *p);
/* How many of them CUPTI has. */
size_t gp_pool_out(struct gp_pool *p);
size_t gp_pool_buffers(struct gp_pool *p);
/* No buffer may be in use. */
void gp_pool_free(struct gp_pool *p);

#endif
