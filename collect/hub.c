#include "collect/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum { READ_BYTES = 1 << 18 };

struct conn {
    int fd; /* -1 when closed */
    int32_t pid;
    bool greeted, said_bye;
    bool behind; /* the buffer may hold complete frames */
    uint8_t *buf;
    size_t n, cap;
    struct gp_session *session; /* while it is connected */
    struct gp_wire_stats stats; /* after that */
};

struct gp_hub {
    int listen_fd;
    bool stopped;
    struct gp_hub_opts opts;
    struct gp_err err; /* why the first process that could not be served failed */
    uint32_t refused;
    uint32_t producers;
    GP_VEC(struct conn) conns;
};

struct gp_hub *gp_hub_new(int listen_fd, const struct gp_hub_opts *opts)
{
    struct gp_hub *hub = gp_zalloc(sizeof *hub);
    hub->listen_fd = listen_fd;
    hub->opts = *opts;
    return hub;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_full(const struct gp_hub *hub)
{
    return hub->opts.is_full && hub->opts.is_full(hub->opts.ctx);
}

static void end_session(struct conn *c, enum gp_session_end how)
{
    if (!c->session) return;
    gp_session_end(c->session, how, now_ns());
    c->stats = *gp_session_stats(c->session);
    gp_session_free(c->session);
    c->session = NULL;
}

static void close_conn(struct conn *c)
{
    close(c->fd);
    c->fd = -1;
    free(c->buf);
    c->buf = NULL;
    c->n = c->cap = 0;
}

/* The address is visible to everybody on the machine, so only the same user (and root) may send. */
static bool peer_allowed(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len)) return false;
    return cred.uid == geteuid() || cred.uid == getuid() || cred.uid == 0;
}

static void accept_all(struct gp_hub *hub)
{
    for (;;) {
        int fd = accept(hub->listen_fd, NULL, NULL);
        if (fd < 0 && errno == EINTR) continue;
        if (fd < 0) return;
        if (hub->stopped || !peer_allowed(fd)) {
            hub->refused++;
            close(fd);
            continue;
        }
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        GP_VEC_PUSH(&hub->conns, (struct conn){.fd = fd});
    }
}

/* Send it its memory and its number. */
static bool welcome(struct gp_hub *hub, struct conn *c, const struct gp_hub_process *joined)
{
    struct gp_wire_welcome w = hub->opts.welcome;
    struct gp_err err = {0};
    struct gp_session_opts o = {.producer = joined->producer,
                                .pid = joined->pid,
                                .rank = joined->rank,
                                .api = w.api,
                                .memory = w.memory,
                                .buffer_bytes = w.buffer_bytes,
                                .kernel = hub->opts.kernel,
                                .now_ns = now_ns(),
                                .on_block = hub->opts.on_block,
                                .ctx = hub->opts.ctx};
    c->session = gp_session_new(&o, &err);
    if (!c->session) {
        if (!hub->err.code) hub->err = err;
        return false;
    }
    w.version = GP_WIRE_VERSION;
    w.producer = joined->producer;
    w.slots = gp_session_slots(c->session);
    int rc = gp_wire_send_fd(c->fd, GP_WIRE_WELCOME, &w, sizeof w, gp_session_fd(c->session));
    gp_session_sent(c->session);
    return !rc;
}

static bool greet(struct gp_hub *hub, struct conn *c, const uint8_t *p, size_t n)
{
    struct gp_wire_hello hello;
    if (n != sizeof hello) return false;
    memcpy(&hello, p, sizeof hello);
    if (hello.version != GP_WIRE_VERSION) return false;
    struct gp_hub_process joined = {hub->producers + 1, hello.pid, hello.rank};
    if (hub->opts.on_joined && !hub->opts.on_joined(hub->opts.ctx, &joined)) return false;
    hub->producers++;
    c->pid = hello.pid;
    c->greeted = true;
    return welcome(hub, c, &joined);
}

/* False if the frame is invalid: this is not one of our clients, or it is broken. */
static bool take_frame(struct gp_hub *hub, struct conn *c, uint32_t type, const uint8_t *p, size_t n)
{
    if (!c->greeted) return type == GP_WIRE_HELLO && greet(hub, c, p, n);
    if (!gp_session_take(c->session, type, p, n)) return false;
    c->said_bye |= type == GP_WIRE_BYE;
    return true;
}

/* Take complete frames from the front of the buffer, as long as more blocks are accepted. */
static bool take_frames(struct gp_hub *hub, struct conn *c)
{
    size_t at = 0;
    struct gp_wire_head head;
    bool ok = true;
    c->behind = false;
    while (ok && c->n - at >= sizeof head) {
        memcpy(&head, c->buf + at, sizeof head);
        if (head.len > GP_WIRE_MAX) return false;
        if (c->n - at - sizeof head < head.len) break;
        c->behind = is_full(hub);
        if (c->behind) break;
        ok = take_frame(hub, c, head.type, c->buf + at + sizeof head, head.len);
        at += sizeof head + head.len;
    }
    if (at) memmove(c->buf, c->buf + at, c->n - at);
    c->n -= at;
    return ok;
}

static void lose_conn(struct gp_hub *hub, struct conn *c)
{
    if (!c->greeted) hub->refused++;
    end_session(c, c->said_bye ? GP_END_BYE : GP_END_CUT);
    close_conn(c);
}

static void read_conn(struct gp_hub *hub, struct conn *c)
{
    if (c->cap - c->n < READ_BYTES) {
        c->cap = c->cap * 2 < c->n + READ_BYTES ? c->n + READ_BYTES : c->cap * 2;
        c->buf = gp_realloc(c->buf, c->cap);
    }
    ssize_t k = recv(c->fd, c->buf + c->n, c->cap - c->n, 0);
    if (k < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (k > 0) c->n += (size_t)k;
    if (k <= 0 || !take_frames(hub, c)) lose_conn(hub, c);
}

size_t gp_hub_poll_size(const struct gp_hub *hub)
{
    return hub->conns.n + 1;
}

size_t gp_hub_poll_fds(const struct gp_hub *hub, struct pollfd *fds, bool reading)
{
    size_t n = 0;
    fds[n++] = (struct pollfd){.fd = hub->listen_fd, .events = POLLIN};
    for (size_t i = 0; i < hub->conns.n; i++) {
        const struct conn *c = &hub->conns.at[i];
        if (c->fd >= 0 && !c->behind && (reading || !c->greeted))
            fds[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    }
    return n;
}

static struct conn *find_conn(struct gp_hub *hub, int fd, size_t *from)
{
    for (; *from < hub->conns.n; (*from)++)
        if (hub->conns.at[*from].fd == fd) return &hub->conns.at[*from];
    return NULL;
}

void gp_hub_serve(struct gp_hub *hub, const struct pollfd *fds, size_t n)
{
    for (size_t i = 0; i < hub->conns.n && !is_full(hub); i++) {
        struct conn *c = &hub->conns.at[i];
        if (c->fd >= 0 && c->behind && !take_frames(hub, c)) lose_conn(hub, c);
    }
    size_t from = 0; /* the entries are in the order of the connections */
    for (size_t i = 1; i < n; i++) {
        struct conn *c = find_conn(hub, fds[i].fd, &from);
        if (c && fds[i].revents) read_conn(hub, c);
    }
    if (n && fds[0].revents) accept_all(hub);
}

void gp_hub_record(struct gp_hub *hub, bool open)
{
    struct gp_wire_record r = {open, 0};
    hub->opts.welcome.gate.open = open;
    for (size_t i = 0; i < hub->conns.n; i++) {
        const struct conn *c = &hub->conns.at[i];
        /* If it cannot take so few bytes, it is about to be closed. */
        if (c->fd >= 0 && c->greeted && gp_wire_send(c->fd, GP_WIRE_RECORD, &r, sizeof r)) continue;
    }
}

void gp_hub_stop(struct gp_hub *hub)
{
    hub->stopped = true;
    for (size_t i = 0; i < hub->conns.n; i++) {
        struct conn *c = &hub->conns.at[i];
        if (c->fd < 0) continue;
        end_session(c, c->said_bye ? GP_END_BYE : GP_END_STOPPED);
        c->said_bye = true; /* we end this ourselves */
        close_conn(c);
    }
}

struct gp_hub_totals gp_hub_totals(const struct gp_hub *hub)
{
    struct gp_hub_totals t = {.refused = hub->refused, .err = hub->err};
    for (size_t i = 0; i < hub->conns.n; i++) {
        const struct conn *c = &hub->conns.at[i];
        const struct gp_wire_stats *s = c->session ? gp_session_stats(c->session) : &c->stats;
        t.live += c->fd >= 0;
        if (!c->greeted) continue;
        t.processes++;
        t.cut += c->fd < 0 && !c->said_bye;
        t.stats.salvaged += s->salvaged;
        t.stats.kernels += s->kernels;
        t.stats.copies += s->copies;
        t.stats.sets += s->sets;
        t.stats.calls += s->calls;
        t.stats.ranges += s->ranges;
        t.stats.allocations += s->allocations;
        t.stats.dropped += s->dropped;
        t.stats.bad_time += s->bad_time;
        t.stats.inversions += s->inversions;
        t.stats.cpu_ns += s->cpu_ns;
        if (s->worst_inversion_ns > t.stats.worst_inversion_ns)
            t.stats.worst_inversion_ns = s->worst_inversion_ns;
    }
    return t;
}

bool gp_hub_next_cut(const struct gp_hub *hub, size_t *from, struct gp_hub_cut *cut)
{
    while (*from < hub->conns.n) {
        const struct conn *c = &hub->conns.at[(*from)++];
        if (!c->greeted || c->fd >= 0 || c->said_bye) continue;
        *cut = (struct gp_hub_cut){c->pid, c->stats.salvaged};
        return true;
    }
    return false;
}

void gp_hub_free(struct gp_hub *hub)
{
    if (!hub) return;
    for (size_t i = 0; i < hub->conns.n; i++)
        if (hub->conns.at[i].fd >= 0) {
            gp_session_free(hub->conns.at[i].session);
            close_conn(&hub->conns.at[i]);
        }
    GP_VEC_FREE(&hub->conns);
    free(hub);
}
