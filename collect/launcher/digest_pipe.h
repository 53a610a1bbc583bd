/* digest_pipe.h -- a second reader of a recording: trace-fleet --send, a process of its own, which makes
 * digests of it. Blocks wait in a queue of bounded size; without room there they are
 * dropped and counted. Never waits for it, but at the end for a moment. Does not look into blocks.
 *
 *     struct gp_digest_pipe *f = gp_digest_pipe_open("10.0.0.1:7707", "job.secret", &err);
 *     gp_digest_pipe_put(f, block, n);
 *     gp_digest_pipe_poll_fd(f, &fds[n]);                  // then poll(), then gp_digest_pipe_turn(f)
 *     gp_digest_pipe_end(f);
 *     uint64_t dropped = gp_digest_pipe_dropped(f);
 *     gp_digest_pipe_free(f);
 */
#ifndef GP_COLLECT_LAUNCHER_DIGEST_PIPE_H
#define GP_COLLECT_LAUNCHER_DIGEST_PIPE_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_digest_pipe;

/* Start the sender, with the file of a secret or NULL. NULL with ERR filled: it cannot be started. */
struct gp_digest_pipe *gp_digest_pipe_open(const char *address, const char *secret,
                                           struct gp_err *err) GP_MUST_CHECK;
/* A copy of a complete block. F may be NULL here and below. */
void gp_digest_pipe_put(struct gp_digest_pipe *f, const void *block, size_t n);
/* What to wait for: nothing (fd -1) while the queue is empty. */
void gp_digest_pipe_poll_fd(const struct gp_digest_pipe *f, struct pollfd *fd);
/* Hand on as much as fits. */
void gp_digest_pipe_turn(struct gp_digest_pipe *f);
/* Hand on the rest, and wait for the sender's end; at most some seconds, after which it is killed. */
void gp_digest_pipe_end(struct gp_digest_pipe *f);
/* Blocks that had no room, or came after the sender's end. */
uint64_t gp_digest_pipe_dropped(const struct gp_digest_pipe *f);
void gp_digest_pipe_free(struct gp_digest_pipe *f);

#endif
