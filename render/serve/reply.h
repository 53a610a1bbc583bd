/* reply.h -- what is sent back: a status, a type, headers, and bytes of one of three kinds. Knows no sockets.
 *
 *     struct gp_reply reply = {0};
 *     gp_reply_header(&reply, "Location", "/");
 *     gp_reply_error(&reply, 404, false, "there is no such page");
 *     gp_reply_release(&reply);
 */
#ifndef GP_RENDER_SERVE_REPLY_H
#define GP_RENDER_SERVE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/buf.h"
#include "render/serve/blob.h"

enum { GP_REPLY_HEADERS = 8 };

/* What a page may load and run. */
enum gp_reply_policy {
    GP_POLICY_NOTHING, /* data: nothing at all */
    GP_POLICY_TOOLS,   /* pages of the tools: their scripts, by hash */
    GP_POLICY_OWN,     /* our own pages: scripts with the nonce, and our API */
};

struct gp_live_stream; /* live.h */

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

/* Copies VALUE; what could end a header is left out. */
void gp_reply_header(struct gp_reply *r, const char *name, const char *value);
/* An error with its reason: JSON, or, where PAGE, a page for people. */
void gp_reply_error(struct gp_reply *r, int status, bool page, const char *why);
void gp_reply_release(struct gp_reply *r);

#endif
