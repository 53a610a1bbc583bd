/* site.h -- what the server answers, as a table of routes. From a request to a reply; knows no sockets.
 *
 *     struct gp_site site = {.guard = &guard, .library = &library};
 *     struct gp_reply reply = {0};
 *     gp_site_answer(&site, &request, &reply);
 *     gp_reply_release(&reply);
 */
#ifndef GP_RENDER_SERVE_SITE_H
#define GP_RENDER_SERVE_SITE_H

#include "render/serve/guard.h"
#include "render/serve/library.h"
#include "render/serve/reply.h"
#include "render/serve/request.h"

struct gp_upload;    /* upload.h */
struct gp_live_view; /* live.h */

struct gp_site {
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
    bool body; /* takes one: the answer comes after all of gp_site_take() */
    /* 0, or a status with ERR filled. */
    int (*answer)(const struct gp_site *s, const struct gp_request *r, struct gp_reply *reply,
                  struct gp_err *err);
};
/* Ends with {0}. */
extern const struct gp_route gp_routes[];

/* The route of R, NULL if there is none; *OTHER_METHOD: there is one, but not with that method. */
const struct gp_route *gp_site_route(const struct gp_request *r, bool *other_method);
/* May R be answered? False with the refusal in REPLY. Filled without looking at a body. */
bool gp_site_admits(const struct gp_site *s, const struct gp_request *r, struct gp_reply *reply);
/* Where the route of R, which has been admitted, takes a body: get ready for it, and take N bytes of it.
 * False with the refusal in REPLY. */
bool gp_site_begin(const struct gp_site *s, struct gp_request *r, struct gp_reply *reply);
bool gp_site_take(struct gp_request *r, const void *data, size_t n, struct gp_reply *reply);
/* Fill REPLY, which is zeroed. R has been admitted. */
void gp_site_answer(const struct gp_site *s, const struct gp_request *r, struct gp_reply *reply);

#endif
