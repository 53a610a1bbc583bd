/* feed.h -- a second reader of a recording: trace-fleet --send, a process of its own, which makes digests of
 * it. What it cannot take at once waits in a queue of bounded size; what has no room there is dropped and
 * counted. Never waits for it, but at the end for a moment. Does not know what blocks mean.
 *
 *     struct gp_feed *f = gp_feed_open("10.0.0.1:7707", "job.secret", &err);
 *     gp_feed_put(f, block, n);
 *     gp_feed_poll_fd(f, &fds[n]);                  // then poll(), then gp_feed_turn(f)
 *     gp_feed_end(f);
 *     uint64_t dropped = gp_feed_dropped(f);
 *     gp_feed_free(f);
 */
#ifndef GP_COLLECT_LAUNCHER_FEED_H
#define GP_COLLECT_LAUNCHER_FEED_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_feed;

/* Start the sender, with the file of a secret or NULL. NULL with ERR filled: it cannot be started. */
struct gp_feed *gp_feed_open(const char *address, const char *secret, struct gp_err *err) GP_MUST_CHECK;
/* A copy of a complete block. F may be NULL here and below. */
void gp_feed_put(struct gp_feed *f, const void *block, size_t n);
/* What to wait for: nothing (fd -1) while the queue is empty. */
void gp_feed_poll_fd(const struct gp_feed *f, struct pollfd *fd);
/* Hand on what fits. */
void gp_feed_turn(struct gp_feed *f);
/* Hand on what is left, and wait for the sender's end; at most some seconds, after which it is killed. */
void gp_feed_end(struct gp_feed *f);
/* Blocks that had no room, or came after the sender's end. */
uint64_t gp_feed_dropped(const struct gp_feed *f);
void gp_feed_free(struct gp_feed *f);

#endif
