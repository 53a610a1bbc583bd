/* listen.h -- sockets of connections: to listen on TCP, or in the file system, where only the owner can
 * connect; and to connect to the latter.
 *
 *     int fd = gp_listen_unix("/run/user/1000/gpuprof.sock", "--socket", &err);
 *     int other = gp_listen_tcp("127.0.0.1", 0, &port, &err);      // 0: any free port, returned in PORT
 */
#ifndef GP_FORMATS_NET_LISTEN_H
#define GP_FORMATS_NET_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
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

#endif
