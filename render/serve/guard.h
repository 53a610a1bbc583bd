/* guard.h -- who may ask: the list of hosts, the token and the cookie that it is exchanged for, and where a
 * request that changes something may come from. Knows requests, not sockets.
 *
 *     struct gp_guard g = {.port = 8080, .wants_token = true};
 *     if (gp_guard_init(&g, &err)) ...
 *     int status = gp_guard_check(&g, &request, false, &err);   // 0, or 401, 403, 421
 */
#ifndef GP_RENDER_SERVE_GUARD_H
#define GP_RENDER_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "render/serve/request.h"

enum { GP_TOKEN_TEXT = 33 }; /* 128 bits in hexadecimal, and the NUL */
enum { GP_GUARD_NAME = 32 };

struct gp_guard {
    bool wants_token;    /* on TCP: all users of a machine share its loopback */
    uint16_t port;       /* that a Host must name; 0: any, as a forwarded socket has */
    const char *address; /* that it listens on, another name of it; NULL: none */
    /* more names that a Host may have, such as that of a proxy; borrowed */
    const char *const *hosts;
    size_t nhosts;
    /* filled by gp_guard_init() */
    char token[GP_TOKEN_TEXT];  /* in the link that is printed */
    char cookie[GP_TOKEN_TEXT]; /* what it is exchanged for */
    /* Cookies know no ports: one of "localhost" is sent to all servers of the
   * machine, also to those of other users. One of this name, which browsers
   * lead to the machine as well and nobody can guess, is sent to us only. */
    char name[GP_GUARD_NAME]; /* "g0123456789abcdef.localhost" */
};

/* Make the secrets. -1 with ERR filled if the system has no randomness. */
GP_MUST_CHECK int gp_guard_init(struct gp_guard *g, struct gp_err *err);
/* TO gets GP_TOKEN_TEXT bytes of random text. */
GP_MUST_CHECK int gp_guard_random(char *to, struct gp_err *err);
/* May R be answered? OPEN: what it asks for is not secret (the page that takes the token). Returns 0, or the
 * status of the refusal with ERR filled: 421 for a foreign host, 403 for a foreign origin, 401 without token
 * and cookie. */
GP_MUST_CHECK int gp_guard_check(const struct gp_guard *g, const struct gp_request *r, bool open,
                                 struct gp_err *err);
/* Does R carry the token itself, as "Authorization: Bearer TOKEN"? */
bool gp_guard_has_token(const struct gp_guard *g, const struct gp_request *r);
/* Has the client of R shown that it is let in: by the token, the cookie, or,
 * where there is no token, by its connection? */
bool gp_guard_lets_in(const struct gp_guard *g, const struct gp_request *r);
/* Append the value of a Set-Cookie header. */
void gp_guard_put_cookie(const struct gp_guard *g, struct gp_buf *b);

#endif
