/* server.h -- the routes behind a socket, by libmicrohttpd: a thread per connection, limits of connections,
 * headers and time, and the headers that every answer has. The only module that knows that library.
 *
 *     struct gp_server_opts opts = {.listen_fd = fd, .connections = 64, .head_ns = 10000000000};
 *     struct gp_server *server = gp_server_start(&backend, &opts, &err);
 *     gp_server_stop(server);
 */
#ifndef GP_RENDER_SERVE_SERVER_H
#define GP_RENDER_SERVE_SERVER_H

#include <stdint.h>
#include "formats/base/declare.h"
#include "render/serve/routes.h"

enum { GP_SERVER_ENDING = 32 }; /* connections that are being closed, besides those that are open */

struct gp_server_opts {
    int listen_fd; /* then the server's */
    unsigned connections;
    int64_t head_ns; /* in which a request must be there, from its first byte or the connection */
    int64_t idle_ns; /* without a byte in either direction */
};

struct gp_server;

/* SITE must stay until the stop. NULL with ERR filled. */
struct gp_server *gp_server_start(const struct gp_backend *backend, const struct gp_server_opts *opts,
                                  struct gp_err *err) GP_MUST_CHECK;
/* When the last request came (CLOCK_MONOTONIC, ns). */
int64_t gp_server_last_ns(struct gp_server *s);
/* Closes all connections. What requests wait for must have been stopped. Accepts NULL. */
void gp_server_stop(struct gp_server *s);

#endif
