#include "render/serve/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/vec.h"
#include "render/serve/live.h"
#include "render/serve/pages.h"
#include "render/serve/upload.h"

enum {
    HEAD_BYTES = 24 << 10,
    STACK_BYTES = 512 << 10,
    STREAM_BYTES = 32 << 10,
    MOST_CONNECTIONS = 1024,
    ENDING = GP_SERVER_ENDING,
    PLACES = MOST_CONNECTIONS + ENDING
};

static const int64_t ANSWER_NS = INT64_C(900000000000); /* in which an answer must be made and sent */

/* A connection that is open. */
struct client {
    int fd;          /* -1: this place is free */
    int64_t due_ns;  /* deadline of the current step; 0: none */
    uint64_t number; /* of the connection */
    bool busy;       /* an answer is being made or sent */
    bool let_in;     /* it is authenticated */
    bool ending;     /* we have closed it */
};

struct gp_server {
    const struct gp_backend *backend;
    struct gp_server_opts opts;
    struct MHD_Daemon *daemon;
    pthread_t watch;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ending;
    int64_t last_ns;
    uint64_t connected; /* connections so far */
    struct client clients[PLACES];
};

/* One request while it comes in. */
struct exchange {
    struct gp_request request;
    struct gp_reply reply;
    bool admitted, replied, failed;
    int bad_target; /* status */
    struct gp_err err;
};

/* ---- time of requests: a client that sends a byte now and then does not hold a connection ---- */

static void end_client(struct client *c)
{
    shutdown(c->fd, SHUT_RDWR);
    c->ending = true;
}

/* When all connections are taken, the oldest that is not authenticated goes, so that strangers cannot
 * keep out users; if all are, NEWEST. */
static void make_place(struct gp_server *s, struct client *newest)
{
    struct client *oldest = newest;
    unsigned open = 0;
    GP_EACH_OF(struct client, c, s->clients, PLACES) {
        if (c->fd < 0 || c->ending) continue;
        open++;
        if (!c->let_in && c->number < oldest->number) oldest = c;
    }
    if (open > s->opts.connections) end_client(oldest);
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **place,
                          enum MHD_ConnectionNotificationCode what)
{
    struct gp_server *s = ctx;
    pthread_mutex_lock(&s->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        for (size_t i = 0; info && !*place && i < PLACES; i++)
            if (s->clients[i].fd < 0) {
                s->clients[i] = (struct client){.fd = info->connect_fd,
                                                .due_ns = gp_now_ns() + s->opts.head_ns,
                                                .number = s->connected++};
                *place = &s->clients[i];
            }
        if (*place) make_place(s, *place);
    } else if (*place) ((struct client *)*place)->fd = -1;
    pthread_mutex_unlock(&s->lock);
}

static struct client *client_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void note_let_in(struct gp_server *s, struct MHD_Connection *c)
{
    struct client *client = client_of(c);
    pthread_mutex_lock(&s->lock);
    if (client) client->let_in = true;
    pthread_mutex_unlock(&s->lock);
}

/* The request of C is there, or its answer is sent and another request may come. */
static void note(struct gp_server *s, struct MHD_Connection *c, bool answering)
{
    struct client *client = client_of(c);
    pthread_mutex_lock(&s->lock);
    s->last_ns = gp_now_ns();
    if (client) {
        client->due_ns = s->last_ns + (answering ? ANSWER_NS : s->opts.head_ns);
        client->busy = answering;
    }
    pthread_mutex_unlock(&s->lock);
}

static void *watch(void *ctx)
{
    struct gp_server *s = ctx;
    pthread_mutex_lock(&s->lock);
    while (!s->ending) {
        int64_t now = gp_now_ns(), next = now + 1000000000;
        GP_EACH_OF(struct client, c, s->clients, PLACES)
            if (c->fd >= 0 && c->due_ns && now >= c->due_ns) end_client(c);
        struct timespec t = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
        pthread_cond_timedwait(&s->end, &s->lock, &t);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- a request ---- */

static void *on_target(void *ctx, const char *target, struct MHD_Connection *c)
{
    (void)ctx;
    (void)c;
    struct exchange *e = gp_zalloc(sizeof *e);
    e->bad_target = gp_request_target(&e->request, target, &e->err);
    return e;
}

static enum gp_method method_of(const char *m)
{
    if (!strcmp(m, "GET")) return GP_METHOD_GET;
    if (!strcmp(m, "HEAD")) return GP_METHOD_HEAD;
    return !strcmp(m, "POST") ? GP_METHOD_POST : GP_METHOD_OTHER;
}

/* Proxies differ on which of two equal headers counts: such a header is read as "", which is never
 * accepted. */
struct header {
    const char *name, *value;
    unsigned count;
};

static enum MHD_Result on_header(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct header *h = ctx;
    (void)kind;
    if (strcasecmp(name, h->name) != 0) return MHD_YES;
    h->value = value ? value : "";
    h->count++;
    return MHD_YES;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    struct header h = {.name = name};
    MHD_get_connection_values(c, MHD_HEADER_KIND, on_header, &h);
    return h.count > 1 ? "" : h.value;
}

static void take_headers(struct gp_request *r, struct MHD_Connection *c)
{
    r->host = header(c, "Host");
    r->origin = header(c, "Origin");
    r->fetch_site = header(c, "Sec-Fetch-Site");
    r->fetch_mode = header(c, "Sec-Fetch-Mode");
    r->cookie = header(c, "Cookie");
    r->authorization = header(c, "Authorization");
    r->accept = header(c, "Accept");
    r->accept_encoding = header(c, "Accept-Encoding");
    r->if_none_match = header(c, "If-None-Match");
    r->range = header(c, "Range");
    r->if_range = header(c, "If-Range");
    r->length = header(c, "Content-Length");
}

/* ---- the reply ---- */

static void put_common(struct MHD_Response *m, const struct gp_reply *r)
{
    struct gp_buf csp = {0};
    if (r->policy == GP_POLICY_TOOLS) gp_navbar_put_policy(&csp);
    else if (r->policy == GP_POLICY_OWN)
        gp_buf_printf(&csp,
                      "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
                      "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                      r->nonce, r->nonce);
    else
        gp_buf_puts(
            &csp, "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox");
    MHD_add_response_header(m, "Content-Security-Policy", gp_buf_str(&csp));
    gp_buf_release(&csp);
    MHD_add_response_header(m, "Content-Type", r->type);
    MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(m, "X-Frame-Options", "DENY");
    MHD_add_response_header(m, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(m, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(m, "Cache-Control", r->blob ? "private, no-cache" : "no-store");
    for (size_t i = 0; i < r->nheaders; i++)
        MHD_add_response_header(m, r->headers[i].name, r->headers[i].value);
}

static struct MHD_Response *of_file(const struct gp_blob_part *part, uint64_t from, uint64_t n)
{
    int fd = dup(part->fd); /* which keeps the bytes after the blob is gone */
    struct MHD_Response *m = fd < 0 ? NULL : MHD_create_response_from_fd_at_offset64(n, fd, from);
    if (!m && fd >= 0) close(fd);
    return m;
}

/* An answer of a tool: nothing if the client has it, a range of it, or all of it, packed where that is
 * accepted. */
static struct MHD_Response *of_blob(const struct gp_request *q, struct gp_reply *r, unsigned *status)
{
    const struct gp_blob_part *whole = gp_blob_whole(r->blob), *part = whole;
    struct gp_header_range range = {0, whole->n};
    bool may_range = q->range && (!q->if_range || gp_header_has_tag(q->if_range, whole->tag));
    int what = may_range ? gp_header_range(q->range, whole->n, &range) : 1;
    if (what == 1 && q->accept_encoding && gp_header_quality(q->accept_encoding, "gzip") > 0) {
        part = gp_blob_packed(r->blob);
        if (!part) part = whole;
    }
    char limits[80];
    struct MHD_Response *m;
    if (gp_header_has_tag(q->if_none_match, part->tag)) {
        *status = MHD_HTTP_NOT_MODIFIED;
        m = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    } else if (what < 0) {
        *status = MHD_HTTP_RANGE_NOT_SATISFIABLE;
        m = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
        snprintf(limits, sizeof limits, "bytes */%llu", (unsigned long long)whole->n);
        if (m) MHD_add_response_header(m, "Content-Range", limits);
    } else if (!what) {
        *status = MHD_HTTP_PARTIAL_CONTENT;
        m = of_file(whole, range.from, range.n);
        snprintf(limits, sizeof limits, "bytes %llu-%llu/%llu", (unsigned long long)range.from,
                 (unsigned long long)(range.from + range.n - 1), (unsigned long long)whole->n);
        if (m) MHD_add_response_header(m, "Content-Range", limits);
    } else m = of_file(part, 0, part->n);
    if (!m) return NULL;
    char text[32];
    snprintf(text, sizeof text, "\"%s\"", part->tag);
    MHD_add_response_header(m, "ETag", text);
    MHD_add_response_header(m, "Accept-Ranges", "bytes");
    if (part != whole) MHD_add_response_header(m, "Content-Encoding", "gzip");
    return m;
}

static ssize_t on_stream(void *ctx, uint64_t at, char *to, size_t size)
{
    (void)at;
    long n = gp_live_stream_read(ctx, to, size);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void on_stream_end(void *ctx) { gp_live_stream_close(ctx); }

/* Events until one of us has enough. */
static struct MHD_Response *of_stream(struct gp_reply *r)
{
    struct MHD_Response *m = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, on_stream,
                                                               r->stream, on_stream_end);
    if (m) r->stream = NULL;
    return m;
}

static enum MHD_Result send_reply(struct MHD_Connection *c, struct exchange *e)
{
    struct gp_reply *r = &e->reply;
    unsigned status = (unsigned)r->status;
    struct MHD_Response *m;
    e->replied = true;
    if (r->blob && status == 200) m = of_blob(&e->request, r, &status);
    else if (r->stream && e->request.method == GP_METHOD_GET) m = of_stream(r);
    else
        m = MHD_create_response_from_buffer(r->body.n, r->body.n ? r->body.data : (char *)(uintptr_t) "",
                                            MHD_RESPMEM_MUST_COPY);
    if (!m) return MHD_NO;
    put_common(m, r);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(m, "Allow", "GET, HEAD, POST");
    enum MHD_Result ok = MHD_queue_response(c, status, m);
    MHD_destroy_response(m);
    return ok;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *n, void **state)
{
    struct gp_server *s = ctx;
    struct exchange *e = *state;
    (void)url;
    (void)version;
    if (!e) return MHD_NO;
    if (e->replied) return MHD_YES;
    if (!e->admitted) {
        e->request.method = method_of(method);
        take_headers(&e->request, c);
        if (e->bad_target) gp_reply_error(&e->reply, e->bad_target, false, e->err.msg);
        else if (gp_routes_admit(s->backend, &e->request, &e->reply)) e->admitted = true;
        if (!e->admitted) return send_reply(c, e);
        if (gp_guard_lets_in(s->backend->guard, &e->request)) note_let_in(s, c);
        /* A client that is still sending may not see an answer before all of its body has been taken. */
        e->failed = !gp_routes_begin(s->backend, &e->request, &e->reply);
        if (e->request.upload) note(s, c, true); /* which may take its time */
        return MHD_YES;                          /* its body comes next, if it has one */
    }
    if (*n) {
        size_t size = *n;
        *n = 0;
        if (!e->failed && !gp_routes_take(&e->request, data, size, &e->reply)) {
            e->failed = true; /* which can be answered only when all of it has come */
            gp_upload_abort(e->request.upload);
            e->request.upload = NULL;
        }
        return MHD_YES;
    }
    note(s, c, true);
    if (!e->failed) gp_routes_answer(s->backend, &e->request, &e->reply);
    e->request.upload = NULL; /* the answer has used it */
    return send_reply(c, e);
}

static void on_done(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    struct exchange *e = *state;
    (void)why;
    *state = NULL;
    if (e) {
        gp_upload_abort(e->request.upload);
        gp_reply_release(&e->reply);
        free(e);
    }
    note(ctx, c, false);
}

static void on_log(void *ctx, const char *fmt, va_list ap)
{
    (void)ctx;
    (void)fmt;
    (void)ap; /* errors of clients are answered, not printed */
}

/* ---- start and stop ---- */

static struct MHD_Daemon *start_daemon(struct gp_server *s)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                     MHD_USE_ERROR_LOG | MHD_USE_ITC;
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
                            MHD_OPTION_LISTEN_SOCKET, s->opts.listen_fd, MHD_OPTION_CONNECTION_LIMIT,
                            s->opts.connections + ENDING, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)(s->opts.idle_ns / 1000000000), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)HEAD_BYTES, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
                            on_done, s, MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
                            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

struct gp_server *gp_server_start(const struct gp_backend *backend, const struct gp_server_opts *opts,
                                  struct gp_err *err)
{
    struct gp_server *s = gp_zalloc(sizeof *s);
    pthread_condattr_t attr;
    s->backend = backend;
    s->opts = *opts;
    s->last_ns = gp_now_ns();
    if (s->opts.connections > MOST_CONNECTIONS) s->opts.connections = MOST_CONNECTIONS;
    for (size_t i = 0; i < PLACES; i++) s->clients[i].fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->end, &attr);
    pthread_condattr_destroy(&attr);
    bool watched = !pthread_create(&s->watch, NULL, watch, s);
    s->daemon = watched ? start_daemon(s) : NULL;
    if (s->daemon) return s;
    gp_fail(err, GP_E_IO, -1, "the server cannot be started: %s", strerror(errno));
    if (watched) {
        gp_server_stop(s);
        return NULL;
    }
    close(opts->listen_fd);
    free(s);
    return NULL;
}

int64_t gp_server_last_ns(struct gp_server *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < PLACES; i++)
        if (s->clients[i].fd >= 0 && s->clients[i].busy) s->last_ns = gp_now_ns();
    int64_t ns = s->last_ns;
    pthread_mutex_unlock(&s->lock);
    return ns;
}

void gp_server_stop(struct gp_server *s)
{
    if (!s) return;
    if (s->daemon) MHD_stop_daemon(s->daemon);
    else close(s->opts.listen_fd);
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_signal(&s->end);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->watch, NULL);
    pthread_cond_destroy(&s->end);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
