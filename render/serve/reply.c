#include "render/serve/reply.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/json_write.h"
#include "formats/base/mem.h"
#include "render/serve/guard.h"
#include "render/serve/live.h"
#include "render/serve/pages.h"

void gp_reply_header(struct gp_reply *r, const char *name, const char *value)
{
    if (r->nheaders == GP_REPLY_HEADERS) return;
    size_t n = strlen(value), to = 0;
    char *copy = gp_alloc(n + 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)value[i] >= 0x20 && value[i] != 0x7f) copy[to++] = value[i];
    copy[to] = 0;
    r->headers[r->nheaders].name = name;
    r->headers[r->nheaders++].value = copy;
}

static const char *title_of(int status)
{
    switch (status) {
    case 401:
        return "This server needs a token";
    case 403:
    case 421:
        return "Refused";
    case 404:
        return "Not found";
    case 422:
        return "This file cannot be read";
    case 503:
        return "Busy";
    case 504:
        return "This takes too long";
    default:
        return "This did not work";
    }
}

void gp_reply_error(struct gp_reply *r, int status, bool page, const char *why)
{
    r->status = status;
    r->body.n = 0;
    gp_blob_drop(r->blob);
    r->blob = NULL;
    if (status == 503) gp_reply_header(r, "Retry-After", "2");
    if (status == 401) gp_reply_header(r, "WWW-Authenticate", "Bearer realm=\"trace-serve\"");
    if (page && !*r->nonce && gp_guard_random(r->nonce, NULL)) page = false;
    if (page) {
        struct gp_page_shell s = {.title = title_of(status),
                                  .id = status == 401 ? "enter" : "error",
                                  .nonce = r->nonce,
                                  .text = why};
        r->type = "text/html; charset=utf-8";
        r->policy = GP_POLICY_OWN;
        gp_pages_put(&r->body, &s);
        return;
    }
    r->type = "application/json";
    r->policy = GP_POLICY_NOTHING;
    gp_buf_printf(&r->body, "{\"status\": %d, \"error\": ", status);
    gp_json_put_string(&r->body, why, strlen(why));
    gp_buf_puts(&r->body, "}\n");
}

void gp_reply_release(struct gp_reply *r)
{
    for (size_t i = 0; i < r->nheaders; i++) free(r->headers[i].value);
    gp_buf_release(&r->body);
    gp_blob_drop(r->blob);
    gp_live_stream_close(r->stream);
    memset(r, 0, sizeof *r);
}
