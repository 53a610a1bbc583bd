/* net.h -- sockets of connections: to listen on TCP, or in the file system, where only the owner can
 * connect; and to connect to the latter.
 *
 *     int fd = gp_listen_unix("/run/user/1000/gpuprof.sock", "--socket", &err);
 *     int other = gp_listen_tcp("127.0.0.1", 0, &port, &err);      // 0: any free port, returned in PORT
 */
#ifndef GP_FORMATS_NET_NET_H
#define GP_FORMATS_NET_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "formats/base/declare.h"

/* A socket of mode 0600 at PATH. One that nobody answers is replaced; whatever is there otherwise stays. For
 * programs that have not started threads yet. -1 with ERR naming OPTION and PATH. */
GP_MUST_CHECK int gp_listen_unix(const char *path, const char *option, struct gp_err *err);
/* The same for datagrams. */
GP_MUST_CHECK int gp_listen_unix_datagrams(const char *path, const char *option, struct gp_err *err);
/* Close FD, and remove the socket at PATH if then nobody answers: it is not another program's. PATH NULL:
 * there is none. */
void gp_listen_end(int fd, const char *path);
/* ADDRESS is numeric, IPv4 or IPv6. */
GP_MUST_CHECK int gp_listen_tcp(const char *address, uint16_t port, uint16_t *got, struct gp_err *err);
/* Keep others from listening on PORT of ADDRESS until the descriptor is closed. -1: somebody does already;
 * -2: there is no such address here. */
GP_MUST_CHECK int gp_listen_reserve(const char *address, uint16_t port);

/* A connection to the socket at PATH, whose reads and writes give up after WAIT_S seconds; -1 with errno. */
GP_MUST_CHECK int gp_connect_unix(const char *path, int wait_s);

/* ---- datagrams ----
 * Digests over datagrams: a Unix socket (a path with a "/"), or UDP ("HOST:PORT"). A message
 * that cannot be sent at once is dropped by its sender: nothing waits.
 *
 *     int fd = gp_net_listen("127.0.0.1:7707", &remote, &err);     // remote: other machines reach it
 *     int to = gp_net_connect("node0:7707", &err);
 */

/* A descriptor that datagrams to ADDRESS arrive at; -1 with ERR filled. A Unix socket is made, only for its
 * owner; one that nobody listens to any more is replaced. */
GP_MUST_CHECK int gp_net_listen(const char *address, bool *remote, struct gp_err *err);
/* One that sends to ADDRESS. */
GP_MUST_CHECK int gp_net_connect(const char *address, struct gp_err *err);
/* False: it was dropped. */
bool gp_net_send(int fd, const void *data, size_t n);
/* Hand new messages to MESSAGE, at most a few thousand, so that a sender without end cannot
 * keep the caller. ROOM holds one of them: longer ones arrive cut at CAP bytes. */
void gp_net_receive(int fd, void *room, size_t cap, void (*message)(void *ctx, const void *data, size_t n),
                    void *ctx);

#endif
