/* live.h -- shows a recording while it runs: keeps the blocks of the last minute besides writing them, and
 * sends those of the last seconds, as a whole trace, to whoever connects to a socket that only its owner can
 * open. Sends nothing to others, never waits for a reader, and does not look into blocks.
 *
 *     struct gp_live *l = gp_live_open("/run/user/1000/train.sock", &err);
 *     gp_live_put(l, block, n, now_ns);
 *     size_t n = gp_live_poll_fds(l, fds);           // then poll()
 *     gp_live_serve(l, fds, n, now_ns);
 *     gp_live_close(l);
 *
 * A reader sends one line, "last NANOSECONDS", and gets a binary trace (schemas/gpt-1.md) until the end of
 * the connection.
 */
#ifndef GP_COLLECT_LAUNCHER_LIVE_H
#define GP_COLLECT_LAUNCHER_LIVE_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_LIVE_READERS = 4, GP_LIVE_FDS = GP_LIVE_READERS + 1 };

struct gp_live;

/* Listen at PATH, of --serve. NULL with ERR filled. */
struct gp_live *gp_live_open(const char *path, struct gp_err *err) GP_MUST_CHECK;
/* A copy of a complete block that arrived at NOW_NS, which never decreases. L may be NULL. */
void gp_live_put(struct gp_live *l, const void *block, size_t n, int64_t now_ns);
/* Fill at most GP_LIVE_FDS for poll(); returns how many. L may be NULL. */
size_t gp_live_poll_fds(const struct gp_live *l, struct pollfd *fds);
/* Handle the events of those N. */
void gp_live_serve(struct gp_live *l, const struct pollfd *fds, size_t n, int64_t now_ns);
/* Ends all connections and removes the socket. L may be NULL. */
void gp_live_close(struct gp_live *l);

#endif
