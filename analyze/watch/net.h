/* net.h -- digests over datagrams: a Unix socket (a path with a "/"), or UDP ("HOST:PORT"). A message that cannot be sent at
 * once is dropped by its sender: nothing waits.
 *
 *     int fd = gp_net_listen("127.0.0.1:7707", &remote, &err);     // remote: others than this machine reach it
 *     int to = gp_net_connect("node0:7707", &err);
 */
#ifndef GP_ANALYZE_WATCH_NET_H
#define GP_ANALYZE_WATCH_NET_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/watch/digest.h"
#include "formats/base/err.h"

/* A descriptor that datagrams to ADDRESS arrive at; -1 with ERR filled. A Unix socket is made, only for its owner; one that
 * nobody listens to any more is replaced. */
GP_MUST_CHECK int gp_net_listen(const char *address, bool *remote, struct gp_err *err);
/* One that sends to ADDRESS. */
GP_MUST_CHECK int gp_net_connect(const char *address, struct gp_err *err);
/* False: it was dropped. */
bool gp_net_send(int fd, const void *data, size_t n);
/* Hand what has arrived to MESSAGE, at most a few thousand messages, so that whoever sends without end cannot keep the caller.
 * Longer messages than a digest arrive cut, at GP_DIGEST_BYTES + 1. */
void gp_net_receive(int fd, gp_digest_message_fn *message, void *ctx);
/* The key of the secret in the file PATH, which nobody else may read; NULL: none. */
GP_MUST_CHECK int gp_net_secret(const char *path, struct gp_digest_key *key, struct gp_err *err);

#endif
