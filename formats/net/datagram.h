/* datagram.h -- digests over datagrams: a Unix socket (a path with a "/"), or UDP ("HOST:PORT"). A message
 * that cannot be sent at once is dropped by its sender: nothing waits.
 *
 *     int fd = gp_net_listen("127.0.0.1:7707", &remote, &err);     // remote: other machines reach it
 *     int to = gp_net_connect("node0:7707", &err);
 */
#ifndef GP_FORMATS_NET_DATAGRAM_H
#define GP_FORMATS_NET_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

/* A descriptor that datagrams to ADDRESS arrive at; -1 with ERR filled. A Unix socket is made, only for its
 * owner; one that nobody listens to any more is replaced. */
GP_MUST_CHECK int gp_net_listen(const char *address, bool *remote, struct gp_err *err);
/* One that sends to ADDRESS. */
GP_MUST_CHECK int gp_net_connect(const char *address, struct gp_err *err);
/* False: it was dropped. */
bool gp_net_send(int fd, const void *data, size_t n);
/* Hand what has arrived to MESSAGE, at most a few thousand messages, so that whoever sends without end cannot
 * keep the caller. ROOM holds one of them: longer ones arrive cut at CAP bytes. */
void gp_net_receive(int fd, void *room, size_t cap, void (*message)(void *ctx, const void *data, size_t n),
                    void *ctx);

#endif
