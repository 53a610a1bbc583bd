#include "render/serve/live.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/json_write.h"
#include "formats/base/mem.h"
#include "formats/net/net.h"

enum { CHUNK = 256 << 10, WAIT_S = 5 };
static const uint64_t MOST_BYTES = (uint64_t)512 << 20;
static const int64_t EVERY_NS = 1000000000, WINDOW_NS = INT64_C(3000000000);

/* One event, as it is sent. */
struct event {
    unsigned users;
    uint64_t number;
    struct gp_buf text;
};

struct gp_live_view {
    const char *socket;
    struct gp_crew *crew;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct event *last;
    int64_t made_ns; /* when LAST was begun */
    bool making, stopped;
    unsigned streams;
};

struct gp_live_stream {
    struct gp_live_view *view;
    struct event *event; /* that is being sent */
    size_t sent;
    uint64_t number; /* of the last one that was begun */
};

struct gp_live_view *gp_live_view_new(const char *socket, struct gp_crew *crew)
{
    struct gp_live_view *v = gp_zalloc(sizeof *v);
    pthread_condattr_t attr;
    v->socket = socket;
    v->crew = crew;
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &attr);
    pthread_condattr_destroy(&attr);
    return v;
}

/* ---- the recording ---- */

static int copy_all(int from, int to)
{
    char *chunk = gp_alloc(CHUNK);
    uint64_t total = 0;
    ssize_t n;
    while ((n = read(from, chunk, CHUNK)) > 0 && (total += (uint64_t)n) <= MOST_BYTES)
        if (gp_blob_write(to, chunk, (size_t)n)) break;
    free(chunk);
    if (!n && total) return 0;
    if (!n) errno = ENODATA;
    return -1;
}

int gp_live_fetch(const struct gp_live_view *v, int64_t last_ns, struct gp_err *err)
{
    char ask[40];
    int n = snprintf(ask, sizeof ask, "last %lld\n", (long long)last_ns),
        fd = gp_connect_unix(v->socket, WAIT_S), to = -1;
    bool failed =
        fd < 0 || send(fd, ask, (size_t)n, MSG_NOSIGNAL) != n || (to = gp_blob_fd()) < 0 || copy_all(fd, to);
    if (failed) gp_fail(err, GP_E_IO, -1, "the recording does not answer: %s", strerror(errno));
    if (fd >= 0) close(fd);
    if (failed && to >= 0) close(to);
    return failed ? -1 : to;
}

/* ---- events ---- */

static void report(struct gp_live_view *v, struct gp_buf *b)
{
    static const char *const options[] = {"--format=json", "--quiet", "--allow-empty", "--top=8",
                                          "--threads=1"};
    struct gp_err err = {0};
    struct gp_child_file file = {gp_live_fetch(v, WINDOW_NS, &err), "live.trace", NULL};
    struct gp_job job = {.tool = "trace-hta",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .files = &file,
                         .nfiles = 1};
    if (file.fd >= 0 && !gp_crew_run(v->crew, &job, &err)) {
        gp_buf_puts(b, "event: report\ndata: ");
        /* The end of a line would end the event; JSON has it only between words. */
        const char *json = gp_blob_map(job.answer);
        size_t n = gp_blob_whole(job.answer)->n;
        for (size_t i = 0; i < n; i++) gp_buf_putc(b, json[i] == '\n' || json[i] == '\r' ? ' ' : json[i]);
    } else {
        gp_buf_puts(b, "event: gone\ndata: {\"error\": ");
        gp_json_put_string(b, err.msg, strlen(err.msg));
        gp_buf_puts(b, "}");
    }
    gp_buf_puts(b, "\n\n");
    gp_blob_drop(job.answer);
    if (file.fd >= 0) close(file.fd);
}

static void drop_locked(struct event *e)
{
    if (!e || --e->users) return;
    gp_buf_release(&e->text);
    free(e);
}

/* Make the next event, with the lock held; others wait for it. */
static void make_locked(struct gp_live_view *v)
{
    struct event *e = gp_zalloc(sizeof *e);
    v->making = true;
    v->made_ns = gp_now_ns();
    pthread_mutex_unlock(&v->lock);
    report(v, &e->text);
    pthread_mutex_lock(&v->lock);
    e->users = 1;
    e->number = v->last ? v->last->number + 1 : 1;
    drop_locked(v->last);
    v->last = e;
    v->making = false;
    pthread_cond_broadcast(&v->changed);
}

/* An event after number AFTER, for the caller to keep; NULL when the server is shutting down. */
static struct event *next_event(struct gp_live_view *v, uint64_t after)
{
    pthread_mutex_lock(&v->lock);
    while (!v->stopped && (!v->last || v->last->number <= after)) {
        int64_t due = v->made_ns ? v->made_ns + EVERY_NS : 0;
        if (v->making) pthread_cond_wait(&v->changed, &v->lock);
        else if (gp_now_ns() >= due) make_locked(v);
        else {
            struct timespec t = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
            pthread_cond_timedwait(&v->changed, &v->lock, &t);
        }
    }
    struct event *e = v->stopped ? NULL : v->last;
    if (e) e->users++;
    pthread_mutex_unlock(&v->lock);
    return e;
}

/* ---- streams ---- */

struct gp_live_stream *gp_live_stream_open(struct gp_live_view *v, struct gp_err *err)
{
    pthread_mutex_lock(&v->lock);
    bool room = v->streams < GP_LIVE_STREAMS;
    v->streams += room;
    uint64_t seen = v->last ? v->last->number : 0;
    pthread_mutex_unlock(&v->lock);
    if (!room) {
        gp_fail(err, GP_E_LIMIT, -1, "the recording has too many viewers already");
        return NULL;
    }
    struct gp_live_stream *s = gp_zalloc(sizeof *s);
    s->view = v;
    s->number = seen;
    return s;
}

static void drop_event(struct gp_live_stream *s)
{
    pthread_mutex_lock(&s->view->lock);
    drop_locked(s->event);
    pthread_mutex_unlock(&s->view->lock);
    s->event = NULL;
    s->sent = 0;
}

long gp_live_stream_read(struct gp_live_stream *s, char *to, size_t size)
{
    if (s->event && s->sent == s->event->text.n) drop_event(s);
    if (!s->event) s->event = next_event(s->view, s->number);
    if (!s->event) return -1;
    s->number = s->event->number;
    size_t n = s->event->text.n - s->sent;
    if (n > size) n = size;
    memcpy(to, s->event->text.data + s->sent, n);
    s->sent += n;
    return (long)n;
}

void gp_live_stream_close(struct gp_live_stream *s)
{
    if (!s) return;
    drop_event(s);
    pthread_mutex_lock(&s->view->lock);
    s->view->streams--;
    pthread_mutex_unlock(&s->view->lock);
    free(s);
}

void gp_live_view_stop(struct gp_live_view *v)
{
    if (!v) return;
    pthread_mutex_lock(&v->lock);
    v->stopped = true;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

void gp_live_view_free(struct gp_live_view *v)
{
    if (!v) return;
    drop_locked(v->last);
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    free(v);
}
