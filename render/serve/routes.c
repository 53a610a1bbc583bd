#include "render/serve/routes.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/json_write.h"
#include "formats/base/mem.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "render/page/assets.h"
#include "render/serve/live.h"
#include "render/serve/pages.h"
#include "render/serve/upload.h"

/* ---- replies ---- */

/* Copies VALUE without control characters. */
static void put_header(struct gp_reply *r, const char *name, const char *value)
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
    case 401: return "This server needs a token";
    case 403:
    case 421: return "Refused";
    case 404: return "Not found";
    case 422: return "This file cannot be read";
    case 503: return "Busy";
    case 504: return "This takes too long";
    default: return "This did not work";
    }
}

void gp_reply_error(struct gp_reply *r, int status, bool page, const char *why)
{
    r->status = status;
    r->body.n = 0;
    gp_blob_drop(r->blob);
    r->blob = NULL;
    if (status == 503) put_header(r, "Retry-After", "2");
    if (status == 401) put_header(r, "WWW-Authenticate", "Bearer realm=\"trace-serve\"");
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

/* ---- the API ---- */

#define ANSWER(name)                                                                                         \
    static int name(GP_UNUSED const struct gp_backend *s, GP_UNUSED const struct gp_request *r,              \
                    struct gp_reply *reply, GP_UNUSED struct gp_err *err)

static int refuse(int status, struct gp_err *err, const char *why)
{
    gp_fail(err, GP_E_USAGE, -1, "%s", why);
    return status;
}

static void put_string(struct gp_buf *b, const char *key, const char *text)
{
    gp_buf_printf(b, "\"%s\": ", key);
    gp_json_put_string(b, text, strlen(text));
}

static void put_file(const struct gp_backend *s, struct gp_buf *b, const struct gp_catalog_file *f)
{
    gp_buf_printf(b, "{\"id\": \"%s\", ", f->id);
    put_string(b, "name", f->name);
    gp_buf_printf(b,
                  ", \"kind\": \"%s\", \"format\": \"%s\", \"compression\": \"%s\", \"size_bytes\": %llu, ",
                  f->kind == GP_CATALOG_TRACE      ? "trace"
                  : f->kind == GP_CATALOG_SNAPSHOT ? "memory"
                                                   : "compile",
                  f->format, f->compression, (unsigned long long)f->size_bytes);
    gp_buf_printf(b, "\"modified_ns\": %lld, \"pages\": [", (long long)f->modified_ns);
    const char *sep = "";
    for (const struct gp_query *q = gp_queries; q->name; q++)
        if (q->page && q->kinds & f->kind && gp_crew_has(s->library->crew, q->tool)) {
            gp_buf_printf(b, "%s\"%s\"", sep, q->page);
            sep = ", ";
        }
    gp_buf_puts(b, "]}");
}

ANSWER(get_traces)
{
    struct gp_catalog_list *l = gp_catalog_list(s->library->catalog, false);
    gp_buf_puts(&reply->body, "[");
    for (size_t i = 0; i < l->n; i++) {
        gp_buf_puts(&reply->body, i ? ",\n" : "");
        put_file(s, &reply->body, &l->at[i]);
    }
    gp_buf_puts(&reply->body, "]\n");
    gp_catalog_drop(l);
    return 0;
}

ANSWER(get_trace)
{
    struct gp_catalog_list *l = gp_catalog_list(s->library->catalog, false);
    const struct gp_catalog_file *f = gp_catalog_find(l, r->parts[2]);
    if (f) put_file(s, &reply->body, f);
    gp_buf_puts(&reply->body, "\n");
    gp_catalog_drop(l);
    return f ? 0 : refuse(404, err, "no such trace, or it is gone; /api/traces lists all traces");
}

ANSWER(get_api)
{
    struct gp_buf *b = &reply->body;
    gp_buf_puts(
        b, "{\"schema\": \"gpuprof/trace-serve/1\", \"tool\": \"trace-serve\", \"version\": \"" GP_VERSION
           "\",\n\"routes\": [");
    for (const struct gp_route *t = gp_routes; t->method; t++) {
        gp_buf_printf(b, "%s{\"method\": \"%s\", \"path\": \"%s\", ", t == gp_routes ? "\n" : ",\n",
                      t->method, t->path);
        put_string(b, "does", t->does);
        gp_buf_puts(b, "}");
    }
    gp_buf_puts(b, "],\n\"questions\": [");
    for (const struct gp_query *q = gp_queries; q->name; q++) {
        gp_buf_puts(b, q == gp_queries ? "\n" : ",\n");
        bool installed = gp_crew_has(s->library->crew, q->tool);
        gp_buf_printf(b, "{\"name\": \"%s\", \"tool\": \"%s\", \"installed\": %s, \"formats\": [", q->name,
                      q->tool, installed ? "true" : "false");
        for (const struct gp_form *f = q->forms; f < q->forms + GP_QUERY_FORMS && f->name; f++)
            gp_buf_printf(b, "%s\"%s\"", f == q->forms ? "" : ", ", f->name);
        gp_buf_puts(b, "], \"args\": [");
        for (size_t i = 0; i < GP_QUERY_ARGS && q->args[i]; i++)
            gp_buf_printf(b, "%s\"%s\"", i ? ", " : "", q->args[i] + (*q->args[i] == '!'));
        gp_buf_puts(b, "]}");
    }
    gp_buf_puts(b, "]}\n");
    return 0;
}

/* ---- answers of the tools ---- */

static int send_answer(struct gp_reply *reply, struct gp_query_call *ask)
{
    reply->blob = ask->blob;
    reply->type = ask->form->type;
    if (!strcmp(ask->form->name, "html") || !strcmp(ask->form->name, "svg")) reply->policy = GP_POLICY_TOOLS;
    put_header(reply, "Vary", "Accept, Accept-Encoding");
    return 0;
}

static int ask(const struct gp_backend *s, const struct gp_request *r, const char *question,
               struct gp_reply *reply, struct gp_err *err)
{
    struct gp_query_call a = {.query = gp_query_named(question), .request = r};
    if (!a.query) return refuse(404, err, "no such query; /api lists all queries");
    int status = gp_query_run(s->library, &a, err);
    return status ? status : send_answer(reply, &a);
}

ANSWER(get_profiler)
{
    const char *q = r->parts[2];
    bool elsewhere = !strcmp(q, "advice") || !strcmp(q, "compare") || !strcmp(q, "perfetto");
    return ask(s, r, elsewhere ? "" : q, reply, err);
}

ANSWER(get_named) { return ask(s, r, r->parts[1], reply, err); }

ANSWER(get_trace_page)
{
    struct gp_query_call a = {
        .query = gp_query_of_page(r->parts[2]), .request = r, .id = r->parts[1], .format = "html"};
    if (!a.query) return refuse(404, err, "traces have no page of that name");
    int status = gp_query_run(s->library, &a, err);
    return status ? status : send_answer(reply, &a);
}

/* All of a trace as Perfetto reads it best, or a range of it. */
ANSWER(get_perfetto)
{
    bool part = gp_request_arg(r, "range") || gp_request_arg(r, "steps");
    struct gp_query_call a = {.query = gp_query_named(part ? "timeline" : "perfetto"),
                              .request = r,
                              .id = r->parts[1],
                              .format = part ? "json" : "perfetto"};
    struct gp_buf b = {0};
    int status = gp_query_run(s->library, &a, err);
    if (status) return status;
    gp_buf_puts(&b, "attachment; filename=\"");
    /* Only characters that headers and file systems take. */
    for (const char *p = a.name; *p; p++)
        gp_buf_putc(
            &b, strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *p) ? *p : '_');
    gp_buf_puts(&b, part ? ".json\"" : ".pftrace\"");
    put_header(reply, "Content-Disposition", gp_buf_str(&b));
    gp_buf_release(&b);
    return send_answer(reply, &a);
}

/* ---- our own pages ---- */

static int own_page(struct gp_reply *reply, struct gp_page_shell *shell, struct gp_err *err)
{
    if (gp_guard_random(reply->nonce, err)) return 500;
    shell->nonce = reply->nonce;
    reply->type = "text/html; charset=utf-8";
    reply->policy = GP_POLICY_OWN;
    gp_pages_put(&reply->body, shell);
    return 0;
}

static int page_of(const struct gp_backend *s, const char *id, const char *title, struct gp_reply *reply,
                   struct gp_err *err)
{
    struct gp_buf settings = {0};
    struct gp_catalog_list *l = strcmp(id, "list") ? NULL : gp_catalog_list(s->library->catalog, false);
    gp_buf_printf(&settings, "{\"upload\": %s, \"live\": %s", s->upload ? "true" : "false",
                  s->live ? "true" : "false");
    if (s->perfetto) {
        gp_buf_puts(&settings, ", ");
        put_string(&settings, "perfetto", s->perfetto);
    }
    gp_buf_puts(&settings, "}");
    struct gp_page_shell shell = {.title = title, .id = id, .settings = gp_buf_str(&settings), .plain = l};
    int status = own_page(reply, &shell, err);
    gp_catalog_drop(l);
    gp_buf_release(&settings);
    return status;
}

ANSWER(get_list) { return page_of(s, "list", "Traces", reply, err); }

ANSWER(get_compare_page)
{
    if (!gp_request_arg(r, "a") || !gp_request_arg(r, "b"))
        return page_of(s, "compare", "Compare", reply, err);
    struct gp_query_call a = {.query = gp_query_named("compare"), .request = r, .format = "html"};
    int status = gp_query_run(s->library, &a, err);
    return status ? status : send_answer(reply, &a);
}

ANSWER(get_hand_over) { return page_of(s, "perfetto", "Open in Perfetto", reply, err); }

ANSWER(post_session)
{
    struct gp_buf b = {0};
    if (s->guard->wants_token && !gp_guard_has_token(s->guard, r))
        return refuse(401, err, "this is not the token of this server");
    gp_guard_put_cookie(s->guard, &b);
    put_header(reply, "Set-Cookie", gp_buf_str(&b));
    gp_buf_release(&b);
    gp_buf_puts(&reply->body, "{\"entered\": true}\n");
    return 0;
}

ANSWER(get_openapi)
{
    gp_buf_put(&reply->body, gp_asset_serve_openapi.data, gp_asset_serve_openapi.n);
    return 0;
}

/* A file that has just come. */
static int send_new(const struct gp_backend *s, const char *name, struct gp_reply *reply)
{
    struct gp_catalog_list *l = gp_catalog_list(s->library->catalog, true);
    const struct gp_catalog_file *newest = NULL;
    reply->status = 201;
    for (size_t i = 0; i < l->n && !newest; i++)
        if (!strcmp(gp_base_name(l->at[i].name), name)) newest = &l->at[i];
    if (newest) put_file(s, &reply->body, newest);
    else gp_buf_puts(&reply->body, "{}");
    gp_buf_puts(&reply->body, "\n");
    gp_catalog_drop(l);
    return 0;
}

/* ---- a recording that runs ---- */

static int no_live(struct gp_err *err)
{
    return refuse(404, err,
                  "no recording is shown: start trace-serve with --live and gpuprof-collect with --serve");
}

ANSWER(get_live_page) { return s->live ? page_of(s, "live", "Running now", reply, err) : no_live(err); }

ANSWER(get_live)
{
    if (!s->live) return no_live(err);
    reply->type = "text/event-stream";
    reply->stream = gp_live_stream_open(s->live, err);
    return reply->stream ? 0 : 503;
}

/* All of FD into the folder of uploads. */
static int store(const struct gp_backend *s, int fd, char *name, struct gp_err *err)
{
    struct gp_upload_job *job;
    struct gp_blob *blob = gp_blob_take(fd);
    uint64_t n = gp_blob_whole(blob)->n;
    int status = gp_upload_begin(s->upload, "live.trace", n, &job, err);
    if (!status) {
        status = gp_upload_put(job, gp_blob_map(blob), n, err);
        if (status) gp_upload_abort(job);
        else status = gp_upload_end(job, name, err);
    }
    gp_blob_drop(blob);
    return status;
}

ANSWER(post_keep)
{
    char name[GP_UPLOAD_NAME];
    int64_t last_ns = INT64_C(10000000000);
    const char *last = gp_request_arg(r, "last");
    if (!s->live) return no_live(err);
    if (last && (gp_parse_seconds(last, &last_ns, err) || last_ns <= 0)) return 400;
    if (!s->upload)
        return refuse(403, err, "there is no folder to store it in: start trace-serve with --upload DIR");
    int fd = gp_live_fetch(s->live, last_ns, err);
    if (fd < 0) return 502;
    int status = store(s, fd, name, err);
    return status ? status : send_new(s, name, reply);
}

ANSWER(post_upload)
{
    char name[GP_UPLOAD_NAME];
    if (!r->upload) return refuse(400, err, "the request is empty");
    int status = gp_upload_end(r->upload, name, err);
    return status ? status : send_new(s, name, reply);
}

/* ---- routes ---- */

const struct gp_route gp_routes[] = {
    {"GET", "/", "the page with all traces", .page = true, .answer = get_list},
    {"GET", "/compare", "the page that compares traces a and b", .page = true, .answer = get_compare_page},
    {"GET", "/perfetto", "the page that hands a trace, or a range of it, to Perfetto", .page = true,
     .answer = get_hand_over},
    {"GET", "/traces/{id}/perfetto", "a trace, or a range of it, as a file for Perfetto", .page = true,
     .answer = get_perfetto},
    {"GET", "/traces/{id}/{page}", "a page about a trace", .page = true, .answer = get_trace_page},
    {"GET", "/api", "routes and questions", .answer = get_api},
    {"GET", "/api/openapi.json", "a description of this API", .answer = get_openapi},
    {"GET", "/api/traces", "all traces, newest first", .answer = get_traces},
    {"GET", "/api/traces/{id}", "one of them", .answer = get_trace},
    {"GET", "/api/profiler/{question}", "the answer of a tool about a trace", .answer = get_profiler},
    {"GET", "/api/advice", "suggestions for the traced program", .answer = get_named},
    {"GET", "/api/compare", "what changed from traces a to traces b", .answer = get_named},
    {"POST", "/api/session", "exchange the token for a cookie", .open = true, .answer = post_session},
    {"GET", "/live", "the page of a running program", .page = true, .answer = get_live_page},
    {"GET", "/api/live", "what a running program does, as events", .answer = get_live},
    {"POST", "/api/live/keep", "keep the last seconds of a running program as a trace", .answer = post_keep},
    {"POST", "/api/upload", "add a file to the folder of --upload", .body = true, .answer = post_upload},
    {0},
};

/* Does the pattern of T fit the parts of R? */
static bool fits(const struct gp_route *t, const struct gp_request *r)
{
    const char *p = t->path;
    for (size_t i = 0; i < r->nparts; i++) {
        if (*p++ != '/' || !*p) return false;
        size_t n = strcspn(p, "/");
        if (*p != '{' && !gp_is(p, n, r->parts[i])) return false;
        p += n;
    }
    return !*p || !strcmp(p, "/");
}

static bool has_method(const struct gp_route *t, enum gp_method m)
{
    return *t->method == 'P' ? m == GP_METHOD_POST : m == GP_METHOD_GET || m == GP_METHOD_HEAD;
}

const struct gp_route *gp_routes_find(const struct gp_request *r, bool *other_method)
{
    *other_method = false;
    for (const struct gp_route *t = gp_routes; t->method; t++) {
        if (!fits(t, r)) continue;
        if (has_method(t, r->method)) return t;
        *other_method = true;
    }
    return NULL;
}

/* Is R a browser's request for a page? */
static bool wants_page(const struct gp_request *r)
{
    return r->accept &&
           gp_header_quality(r->accept, "text/html") > gp_header_quality(r->accept, "application/json");
}

bool gp_routes_admit(const struct gp_backend *s, const struct gp_request *r, struct gp_reply *reply)
{
    struct gp_err err = {0};
    bool other;
    const struct gp_route *t = gp_routes_find(r, &other);
    int status = gp_guard_check(s->guard, r, t && t->open, &err);
    if (status) gp_reply_error(reply, status, wants_page(r) && (!t || t->page), err.msg);
    return !status;
}

bool gp_routes_begin(const struct gp_backend *s, struct gp_request *r, struct gp_reply *reply)
{
    struct gp_err err = {0};
    bool other;
    const struct gp_route *t = gp_routes_find(r, &other);
    uint64_t size;
    if (!t || !t->body) return true;
    if (!s->upload) {
        gp_reply_error(reply, 403, false,
                       "this server accepts no uploads: it was started without --upload DIR");
        return false;
    }
    if (!r->length || !gp_u64_from_text(r->length, strlen(r->length), &size)) size = UINT64_MAX;
    int status = gp_upload_begin(s->upload, gp_request_arg(r, "name"), size, &r->upload, &err);
    if (status) gp_reply_error(reply, status, false, err.msg);
    return !status;
}

bool gp_routes_take(struct gp_request *r, const void *data, size_t n, struct gp_reply *reply)
{
    struct gp_err err = {0};
    int status = r->upload ? gp_upload_put(r->upload, data, n, &err) : 0;
    if (status) gp_reply_error(reply, status, false, err.msg);
    return !status;
}

void gp_routes_answer(const struct gp_backend *s, const struct gp_request *r, struct gp_reply *reply)
{
    struct gp_err err = {0};
    bool other;
    const struct gp_route *t = gp_routes_find(r, &other);
    reply->status = 200;
    reply->type = "application/json";
    int status = t ? t->answer(s, r, reply, &err) : other ? 405 : 404;
    if (!t)
        gp_fail(&err, GP_E_USAGE, -1,
                other ? "method not allowed" : "no such page; /api lists all addresses");
    if (status) gp_reply_error(reply, status, wants_page(r) && (!t || t->page), err.msg);
}
