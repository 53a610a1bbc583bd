/* request.h -- a request taken apart: the target's path and arguments, and the headers that matter; and
 * whether it may ask. All of it comes from outside; nothing here opens, allocates or prints.
 *
 *     struct gp_request r = {.method = GP_METHOD_GET, .host = "localhost:8080"};
 *     int status = gp_request_target(&r, "/api/advice?trace=0123456789abcdef", &err); // 0, or 400, or 414
 *     const char *id = gp_request_arg(&r, "trace");
 *     if (!status) status = gp_guard_check(&guard, &r, false, &err);                  // 0, or 401, 403, 421
 */
#ifndef GP_RENDER_SERVE_REQUEST_H
#define GP_RENDER_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_upload_job; /* upload.h */

enum gp_method { GP_METHOD_GET, GP_METHOD_HEAD, GP_METHOD_POST, GP_METHOD_OTHER };

enum { GP_TARGET_BYTES = 4096, GP_TARGET_ARGS = 96, GP_TARGET_PARTS = 5 };

struct gp_request_arg {
    const char *name, *value;
};

struct gp_request {
    enum gp_method method;
    /* headers as they were sent; NULL where they were not */
    const char *host, *origin, *fetch_site, *fetch_mode, *cookie, *authorization, *accept, *accept_encoding,
        *if_none_match, *range, *if_range, *length;
    struct gp_upload_job *upload; /* its body as it comes in; NULL: none is wanted */
    /* filled by gp_request_target(); texts point into `bytes` */
    const char *parts[GP_TARGET_PARTS]; /* of the path, between its slashes */
    size_t nparts;
    struct gp_request_arg args[GP_TARGET_ARGS];
    size_t nargs;
    char bytes[GP_TARGET_BYTES];
};

/* Take TARGET apart: a path of at most GP_TARGET_PARTS parts and a query, percent-encoded. Returns 0, or the
 * HTTP status of the error, with ERR filled: control characters and bytes that are not UTF-8 are
 * never accepted. */
GP_MUST_CHECK int gp_request_target(struct gp_request *r, const char *target, struct gp_err *err);
/* The first argument called NAME, NULL if there is none. */
const char *gp_request_arg(const struct gp_request *r, const char *name);

/* How much TYPE is wanted by a header such as "text/html, text/plain;q=0.8": 0 to 1000, and 1000 where HEADER
 * is NULL. */
int gp_header_quality(const char *header, const char *type);
/* Does the list of tags in HEADER, of If-None-Match, have TAG, which is without quotes? "*" has all. */
bool gp_header_has_tag(const char *header, const char *tag);
/* The value of cookie NAME in HEADER; *N becomes its length. NULL if there is none. */
const char *gp_header_cookie(const char *header, const char *name, size_t *n);

struct gp_header_range {
    uint64_t from, n;
};
/* The one range of bytes that HEADER asks of SIZE bytes: 0 and *RANGE, -1 if it cannot be satisfied, 1 if the
 * whole is to be sent: no range, several, or nothing that can be read. */
int gp_header_range(const char *header, uint64_t size, struct gp_header_range *range);

/* ---- who may ask: hosts, the token and the cookie that it is exchanged for, and origins ---- */

enum { GP_TOKEN_TEXT = 33, GP_GUARD_NAME = 32 }; /* 128 bits in hexadecimal, and the NUL */

struct gp_guard {
    bool wants_token;    /* on TCP: all users of a machine share its loopback */
    uint16_t port;       /* that a Host must name; 0: any, as a forwarded socket has */
    const char *address; /* that it listens on, another name of it; NULL: none */
    /* more names that a Host may have, such as that of a proxy; borrowed */
    const char *const *hosts;
    size_t nhosts;
    /* filled by gp_guard_init() */
    char token[GP_TOKEN_TEXT];  /* in the link that is printed */
    char cookie[GP_TOKEN_TEXT]; /* given for the token */
    /* Cookies know no ports: one of "localhost" is sent to all servers of the machine, also to those of other
     * users. One of this name, which browsers resolve to the machine as well and nobody can guess, is sent to
     * us only. */
    char name[GP_GUARD_NAME]; /* "g0123456789abcdef.localhost" */
};

/* Make the secrets. -1 with ERR filled if the system has no randomness. */
GP_MUST_CHECK int gp_guard_init(struct gp_guard *g, struct gp_err *err);
/* TO gets GP_TOKEN_TEXT bytes of random text. */
GP_MUST_CHECK int gp_guard_random(char *to, struct gp_err *err);
/* May R be answered? OPEN: its route is not secret (the page that takes the token). Returns 0, or the
 * status of the refusal with ERR filled: 421 for a foreign host, 403 for a foreign origin, 401 without token
 * and cookie. */
GP_MUST_CHECK int gp_guard_check(const struct gp_guard *g, const struct gp_request *r, bool open,
                                 struct gp_err *err);
/* Does R carry the token itself, as "Authorization: Bearer TOKEN"? */
bool gp_guard_has_token(const struct gp_guard *g, const struct gp_request *r);
/* Is the client of R authenticated: by the token, the cookie, or, where there is no token, its connection? */
bool gp_guard_lets_in(const struct gp_guard *g, const struct gp_request *r);
/* Append the value of a Set-Cookie header. */
void gp_guard_put_cookie(const struct gp_guard *g, struct gp_buf *b);

#endif
