/* session.h -- the launcher's side of one traced process: owns the shared memory, reads the buffers that the
 * process reports as filled, joins records, ranges and everything else that it sends, and passes on complete
 * blocks of the binary trace. If the process disappears without a farewell, the rest of its records is
 * salvaged. Checks everything that the process sends or has written. Does not know sockets, other processes,
 * or where the blocks go.
 *
 *     struct gp_session *s = gp_session_new(&opts, &err);
 *     send(gp_session_fd(s)); gp_session_sent(s);
 *     if (!gp_session_take(s, type, payload, n)) ...       // frame by frame; false: invalid
 *     gp_session_end(s, GP_END_CUT);
 *     gp_session_free(s);
 */
#ifndef GP_COLLECT_SESSION_H
#define GP_COLLECT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/cuts.h"
#include "collect/wire/ring.h"
#include "collect/wire/wire.h"
#include "formats/model/trace.h"

struct gp_session;

/* Of a process that ran before it was recorded. */
#define GP_SESSION_UNKNOWN                                                                                   \
    "graphs, ranges and names of streams that were there before, and the stacks of such graphs, are not "    \
    "known"

/* Takes one complete block of N bytes with the right producer number. */
typedef void gp_session_block(void *ctx, const void *block, size_t n);
/* Looks at the new events of a process, which are in T and about to become blocks. */
typedef void gp_session_events(void *ctx, uint32_t producer, int32_t rank, const struct gp_trace *t);

/* Looks at a note of a thread, as it comes. */
typedef void gp_session_note(void *ctx, uint32_t producer, int64_t tid, const struct gp_note *note);

/* All that happened in the process until NS has come. */
typedef void gp_session_reach(void *ctx, uint32_t producer, int64_t ns);

/* The receivers of the recording. Either function may be NULL. */
struct gp_block_sink {
    gp_session_block *on_block;
    gp_session_events *on_events;
    void *ctx;
};

struct gp_session_opts {
    uint32_t producer;     /* of its blocks */
    int32_t pid, rank;     /* as in the process's own view; rank: -1 unknown */
    uint32_t api;          /* enum gp_api_level */
    uint32_t memory;       /* allocations are recorded */
    bool measured;         /* hardware counters are read of kernels */
    uint32_t buffer_bytes; /* of one activity buffer */
    uint32_t room_mb;      /* of the process's addresses for the memory, 0: no limit */
    const char *kernel;    /* see gp_filter_name(); owned by the caller */
    bool redact;           /* the program's own texts are stored as hashes, see formats/redact.h */
    int64_t now_ns;        /* CLOCK_MONOTONIC */
    int (*on_block)(void *ctx, const void *block, size_t n); /* a gp_gpt_sink that never stops */
    gp_session_events *on_events;                            /* may be NULL, as these */
    gp_session_note *on_note;
    gp_session_reach *on_reach;
    gp_cuts_beside *beside;
    void *ctx;
};

/* How it ended. */
enum gp_session_end {
    GP_END_BYE,     /* in order */
    GP_END_CUT,     /* it is gone, or has closed the socket: the rest is salvaged */
    GP_END_STOPPED, /* it lives, but nobody waits for more data */
};

/* NULL with ERR filled if there is no shared memory. */
struct gp_session *gp_session_new(const struct gp_session_opts *opts, struct gp_err *err) GP_MUST_CHECK;
/* The descriptor to send to the process; call gp_session_sent() afterwards, which closes it. */
int gp_session_fd(const struct gp_session *s);
uint32_t gp_session_slots(const struct gp_session *s);
void gp_session_sent(struct gp_session *s);
/* Handle one frame of N bytes. False if it is not a frame that a process sends, or is implausible. */
bool gp_session_take(struct gp_session *s, uint32_t type, const void *payload, size_t n);
/* Is there an answer to send to the process? */
bool gp_session_answer(struct gp_session *s, struct gp_wire_cut_done *answer);
/* Write a mark at NS, and what came before it. */
void gp_session_mark(struct gp_session *s, const char *name, int64_t ns);
/* Is it known how long its steps take while nothing is recorded? */
bool gp_session_has_pace(const struct gp_session *s);
/* Has its recording begun? */
bool gp_session_records(const struct gp_session *s);
/* Nothing more will come, as of NOW_NS. Call once. */
void gp_session_end(struct gp_session *s, enum gp_session_end how, int64_t now_ns);
const struct gp_wire_stats *gp_session_stats(const struct gp_session *s);
void gp_session_free(struct gp_session *s);

#endif
