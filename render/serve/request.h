/* request.h -- what a client asks for, taken apart: the target's path and arguments, and the headers that
 * matter. All of it comes from outside; nothing here opens, allocates or prints.
 *
 *     struct gp_request r = {.method = GP_METHOD_GET, .host = "localhost:8080"};
 *     int status = gp_request_target(&r, "/api/advice?trace=0123456789abcdef", &err);    // 0, or 400, or 414
 *     const char *id = gp_request_arg(&r, "trace");
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
 * HTTP status of what is wrong with it, with ERR filled: control characters and bytes that are not UTF-8 are
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

#endif
