/* hub.h -- the launcher's end of all connections: accepts processes, numbers them, splits their bytes into
 * frames and passes these to the session of each process (session.h), which turns them into trace blocks. A
 * process that breaks off in the middle of a frame loses only that frame. Does not know the meaning of
 * frames, nor the traced command.
 *
 *     struct gp_hub *hub = gp_hub_new(listen_fd, &opts);
 *     n = gp_hub_poll_fds(hub, fds, cap, reading);   // then poll()
 *     gp_hub_serve(hub, fds, n);
 *     gp_hub_free(hub);
 */
#ifndef GP_COLLECT_HUB_H
#define GP_COLLECT_HUB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/session.h"
#include "collect/wire/wire.h"
#include "formats/base/err.h"

struct gp_hub;

/* A connected process. */
struct gp_hub_process {
    uint32_t producer; /* of its blocks */
    int32_t pid, rank; /* rank: -1 unknown */
};
/* False: it is rejected and runs untraced. */
typedef bool gp_hub_joined(void *ctx, const struct gp_hub_process *process);

struct gp_hub_opts {
    struct gp_wire_welcome welcome; /* sent to each process, with its producer number filled in */
    const char *kernel;             /* see gp_filter_name(); owned by the caller */
    bool redact;                    /* see formats/redact.h */
    int (*on_block)(void *ctx, const void *block, size_t n); /* a gp_gpt_sink that never stops */
    gp_session_events *on_events;                            /* may be NULL */
    gp_session_note *on_note;                                /* may be NULL, as the next */
    gp_session_reach *on_reach;
    gp_hub_joined *on_joined;                    /* called before the first block of a process; may be NULL */
    gp_cuts_beside *beside;                      /* what goes beside the sessions of a process; may be NULL */
    void (*on_say)(void *ctx, const char *text); /* why a process is not recorded; may be NULL */
    /* Must no more blocks be produced at the moment? May be NULL. */
    bool (*is_full)(void *ctx);
    void *ctx;
};

/* A process that ended without BYE. */
struct gp_hub_cut {
    int32_t pid;
    uint64_t salvaged; /* records that it had not handed over */
};

struct gp_hub_totals {
    struct gp_wire_stats stats; /* sums over all processes; worst_inversion_ns is the largest */
    uint32_t processes;         /* that connected */
    uint32_t recorded;          /* whose recording has begun */
    uint32_t cut;               /* that ended without BYE */
    uint32_t live;              /* still connected */
    uint32_t refused;           /* connections of other users */
    uint32_t garbled;           /* connections that were not of our clients */
    uint32_t unserved;          /* processes that could not be served */
    struct gp_err err;          /* why the first of those could not */
};

/* LISTEN_FD is owned by the caller. */
struct gp_hub *gp_hub_new(int listen_fd, const struct gp_hub_opts *opts);
/* How many struct pollfd gp_hub_poll_fds() may fill. */
size_t gp_hub_poll_size(const struct gp_hub *hub);
/* Fill FDS for poll(); without READING, only new connections, so that the senders wait. */
size_t gp_hub_poll_fds(const struct gp_hub *hub, struct pollfd *fds, bool reading);
/* When gp_hub_serve() must be called even if nothing happens (CLOCK_MONOTONIC, ns); 0: never. */
int64_t gp_hub_due(const struct gp_hub *hub);
/* Handle the events of the N entries filled by the call before. */
void gp_hub_serve(struct gp_hub *hub, const struct pollfd *fds, size_t n);
/* Tell all current and future processes to record from now on, or to stop; LEAVE: they hand over the rest,
 * and disconnect. */
void gp_hub_record(struct gp_hub *hub, bool open, bool leave);
/* Take a connection to a process, which is about to say HELLO. */
void gp_hub_adopt(struct gp_hub *hub, int fd);
/* Put a mark into the trace of PRODUCER, 0: of all. False: it is gone. */
bool gp_hub_mark(struct gp_hub *hub, uint32_t producer, const char *name, int64_t ns);
/* Has a process shown how long its steps take while nothing is recorded? */
bool gp_hub_has_pace(const struct gp_hub *hub);
/* Take all that the processes have handed over and close every connection, which tells them to stop tracing.
 * No new ones are accepted after that. */
void gp_hub_stop(struct gp_hub *hub);
struct gp_hub_totals gp_hub_totals(const struct gp_hub *hub);
/* The next process that ended without BYE, of the first 4096 of them (the totals count all); *FROM moves past
 * it (begin with 0). False if there is none left. */
bool gp_hub_next_cut(const struct gp_hub *hub, size_t *from, struct gp_hub_cut *cut);
/* A number for a producer of blocks that is not a process of the hub. */
uint32_t gp_hub_producer(struct gp_hub *hub);
void gp_hub_free(struct gp_hub *hub);

#endif
