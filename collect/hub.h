/* hub.h -- the launcher's end of all connections: lets processes in, numbers them, takes their frames apart
 * and hands whole trace blocks on. A process that breaks off in the middle of a frame loses that frame alone.
 * Does not decode blocks and knows nothing about the command that is traced.
 *
 *     struct gp_hub *hub = gp_hub_new(listen_fd, &welcome, on_block, ctx);
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
#include "collect/wire.h"

struct gp_hub;

/* Takes one whole block of N bytes, whose producer number is right. */
typedef void gp_hub_block(void *ctx, const void *block, size_t n);

/* A process that has connected. */
struct gp_hub_process {
    uint32_t producer; /* of its blocks */
    int32_t pid, rank; /* rank: -1 unknown */
};
/* False: it is turned away, and runs untraced. */
typedef bool gp_hub_joined(void *ctx, const struct gp_hub_process *process);

struct gp_hub_totals {
    struct gp_wire_stats stats; /* sums over all processes; worst_inversion_ns is the largest */
    uint32_t processes;         /* that connected */
    uint32_t cut;               /* that ended without saying BYE */
    uint32_t live;              /* still connected */
    uint32_t refused;           /* connections turned away: another user's, or no client of ours */
};

/* LISTEN_FD stays the caller's. WELCOME is what each process is told, its producer number filled in. */
struct gp_hub *gp_hub_new(int listen_fd, const struct gp_wire_welcome *welcome, gp_hub_block *on_block,
                          void *ctx);
/* Have JOINED called, with the context of gp_hub_new(), for every process before its first block comes. */
void gp_hub_on_joined(struct gp_hub *hub, gp_hub_joined *joined);
/* How many struct pollfd gp_hub_poll_fds() may fill. */
size_t gp_hub_poll_size(const struct gp_hub *hub);
/* Fill FDS with what to wait for; without READING, new connections alone, so that the senders wait. */
size_t gp_hub_poll_fds(const struct gp_hub *hub, struct pollfd *fds, bool reading);
/* Handle what poll() reported for the N entries filled by the call before. */
void gp_hub_serve(struct gp_hub *hub, const struct pollfd *fds, size_t n);
/* Tell all processes, and those that are yet to come, to record from now on, or no longer. */
void gp_hub_record(struct gp_hub *hub, bool open);
/* Close every connection, which tells the processes to stop tracing. No new ones are let in after that. */
void gp_hub_stop(struct gp_hub *hub);
struct gp_hub_totals gp_hub_totals(const struct gp_hub *hub);
/* The process id of the next process that ended without saying BYE, and *FROM moved behind it (begin with 0); -1 when
 * there is none left. */
int32_t gp_hub_next_cut(const struct gp_hub *hub, size_t *from);
void gp_hub_free(struct gp_hub *hub);

#endif
