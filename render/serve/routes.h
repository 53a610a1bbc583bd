/* routes.h -- from a request to a reply, by a table of routes. Knows no sockets.
 *
 *     struct gp_backend backend = {.guard = &guard, .library = &library};
 *     struct gp_reply reply = {0};
 *     gp_routes_answer(&backend, &request, &reply);
 *     gp_reply_release(&reply);
 */
#ifndef GP_RENDER_SERVE_ROUTES_H
#define GP_RENDER_SERVE_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "render/serve/library.h"
#include "render/serve/request.h"

struct gp_live_stream; /* live.h */
struct gp_live_view;   /* live.h */

/* ---- replies: a status, a type, headers, and bytes of one of three kinds ---- */

enum { GP_REPLY_HEADERS = 8 };

/* What a page may load and run. */
enum gp_reply_policy {
    GP_POLICY_NOTHING, /* data: nothing at all */
    GP_POLICY_TOOLS,   /* pages of the tools: their scripts, by hash */
    GP_POLICY_OWN,     /* our own pages: scripts with the nonce, and our API */
};

struct gp_reply {
    int status;
    const char *type; /* static */
    enum gp_reply_policy policy;
    char nonce[40];
    struct {
        const char *name; /* static */
        char *value;
    } headers[GP_REPLY_HEADERS];
    size_t nheaders;
    /* one of these */
    struct gp_buf body;
    struct gp_blob *blob;
    struct gp_live_stream *stream;
};

/* An error with its reason: JSON, or, where PAGE, a page for people. */
void gp_reply_error(struct gp_reply *r, int status, bool page, const char *why);
void gp_reply_release(struct gp_reply *r);

/* ---- routes ---- */

struct gp_upload; /* upload.h */

/* Where routes get their answers. */
struct gp_backend {
    const struct gp_guard *guard;
    struct gp_library *library;
    const char *perfetto;      /* address of a page that takes traces, NULL: none */
    struct gp_upload *upload;  /* where files may be sent, NULL: nowhere */
    struct gp_live_view *live; /* a recording that runs, NULL: none */
};

/* One route; {} in its path stands for any part. */
struct gp_route {
    const char *method, *path, *does;
    bool open; /* answered without a token */
    bool page; /* for people: its errors are pages */
    bool body; /* takes one: the answer comes after all of gp_routes_take() */
    /* 0, or a status with ERR filled. */
    int (*answer)(const struct gp_backend *s, const struct gp_request *r, struct gp_reply *reply,
                  struct gp_err *err);
};
/* Ends with {0}. */
extern const struct gp_route gp_routes[];

/* The route of R, NULL if there is none; *OTHER_METHOD: there is one, but of another method. */
const struct gp_route *gp_routes_find(const struct gp_request *r, bool *other_method);
/* May R be answered? False with the refusal in REPLY. Filled without looking at a body. */
bool gp_routes_admit(const struct gp_backend *s, const struct gp_request *r, struct gp_reply *reply);
/* Where the route of R, which has been admitted, takes a body: get ready for it, and take N bytes of it.
 * False with the refusal in REPLY. */
bool gp_routes_begin(const struct gp_backend *s, struct gp_request *r, struct gp_reply *reply);
bool gp_routes_take(struct gp_request *r, const void *data, size_t n, struct gp_reply *reply);
/* Fill REPLY, which is zeroed. R has been admitted. */
void gp_routes_answer(const struct gp_backend *s, const struct gp_request *r, struct gp_reply *reply);

#endif
