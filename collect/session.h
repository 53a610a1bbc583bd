/* session.h -- the launcher's side of one traced process: owns the memory that they share, reads the buffers that the
 * process says are filled, brings records, ranges and what else it sends together, and hands on whole blocks of the binary
 * trace. When the process is gone without a farewell, what it had not handed over is salvaged. Believes nothing that the
 * process says or has written without checking it. Does not know sockets, other processes, or what becomes of the blocks.
 *
 *     struct gp_session *s = gp_session_new(&opts, &err);
 *     send(gp_session_fd(s)); gp_session_sent(s);
 *     if (!gp_session_take(s, type, payload, n)) ...       // frame by frame; false: it makes no sense
 *     gp_session_end(s, GP_END_CUT);
 *     gp_session_free(s);
 */
#ifndef GP_COLLECT_SESSION_H
#define GP_COLLECT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/wire.h"

struct gp_session;

/* Takes one whole block of N bytes, whose producer number is right. */
typedef void gp_session_block(void *ctx, const void *block, size_t n);

struct gp_session_opts {
    uint32_t producer;     /* of its blocks */
    int32_t pid, rank;     /* as the process sees them; rank: -1 unknown */
    uint32_t api;          /* enum gp_api_level */
    uint32_t memory;       /* allocations are recorded */
    uint32_t buffer_bytes; /* of one activity buffer */
    const char *kernel;    /* see gp_filter_name(); stays the caller's */
    int64_t now_ns;        /* CLOCK_MONOTONIC */
    gp_session_block *on_block;
    void *ctx;
};

/* How it ended. */
enum gp_session_end {
    GP_END_BYE,     /* in order */
    GP_END_CUT,     /* it is gone, or has closed our socket: what it still had is salvaged */
    GP_END_STOPPED, /* it lives, but nobody waits for more of it */
};

/* NULL with ERR filled when there is no shared memory to be had. */
struct gp_session *gp_session_new(const struct gp_session_opts *opts, struct gp_err *err) GP_MUST_CHECK;
/* What the process is to be sent; to be told when it has been, because it is closed then. */
int gp_session_fd(const struct gp_session *s);
uint32_t gp_session_slots(const struct gp_session *s);
void gp_session_sent(struct gp_session *s);
/* Take in one frame of N bytes. False when it is none of those that a process sends, or cannot be true. */
bool gp_session_take(struct gp_session *s, uint32_t type, const void *payload, size_t n);
/* Nothing more will come. At NOW_NS; once. */
void gp_session_end(struct gp_session *s, enum gp_session_end how, int64_t now_ns);
const struct gp_wire_stats *gp_session_stats(const struct gp_session *s);
void gp_session_free(struct gp_session *s);

#endif
