#include "collect/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "formats/base/clock.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum { READ_BYTES = 1 << 18, MOST_CUTS = 4096 /* with names */ };
/* How long to leave the listener alone when there are no descriptors; how long a connection may say
 * nothing. */
static const int64_t REST_NS = 100000000, SILENCE_NS = 10000000000;

struct conn {
    int fd; /* -1 when closed */
    int32_t pid;
    uint32_t producer;
    int64_t since_ns; /* CLOCK_MONOTONIC */
    bool known;       /* has said HELLO as our clients do */
    bool greeted, said_bye;
    bool behind; /* the buffer may hold complete frames */
    uint8_t *buf;
    size_t n, cap;
    struct gp_session *session; /* while it is connected */
};

struct gp_hub {
    int listen_fd;
    bool stopped;
    struct gp_hub_opts opts;
    struct gp_err err; /* why the first process that could not be served failed */
    uint32_t refused, garbled, unserved;
    uint32_t producers;
    int spare_fd;
    int64_t rest_until_ns;      /* nothing is accepted until then; 0: no rest */
    GP_VEC(struct conn) conns;  /* the connected ones, in the order in which they came */
    struct gp_hub_totals ended; /* sums over the processes that are gone */
    GP_VEC(struct gp_hub_cut) cuts;
};

/* A descriptor that is given up to take a connection off the queue when there is no other. */
static int spare(void) { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

struct gp_hub *gp_hub_new(int listen_fd, const struct gp_hub_opts *opts)
{
    struct gp_hub *hub = gp_zalloc(sizeof *hub);
    hub->listen_fd = listen_fd;
    hub->opts = *opts;
    hub->spare_fd = spare();
    return hub;
}

static bool is_full(const struct gp_hub *hub)
{
    return hub->opts.is_full && hub->opts.is_full(hub->opts.ctx);
}

static void add_stats(struct gp_wire_stats *to, const struct gp_wire_stats *s)
{
#define X(sum) to->sum += s->sum;
    GP_WIRE_SUMS(X)
#undef X
    if (s->worst_inversion_ns > to->worst_inversion_ns) to->worst_inversion_ns = s->worst_inversion_ns;
    for (unsigned i = 0; i < GP_BUDGET_PARTS; i++)
        if (s->left_out_ns[i] && (!to->left_out_ns[i] || s->left_out_ns[i] < to->left_out_ns[i]))
            to->left_out_ns[i] = s->left_out_ns[i];
    to->left_out |= s->left_out;
    if (s->launch_ns > to->launch_ns) to->launch_ns = s->launch_ns;
    if (s->share_ppm > to->share_ppm) to->share_ppm = s->share_ppm;
}

/* Its session ends, and of it only sums stay. */
static void end_session(struct gp_hub *hub, struct conn *c, enum gp_session_end how)
{
    struct gp_hub_cut cut = {.pid = c->pid};
    if (c->session) {
        gp_session_end(c->session, how, gp_now_ns());
        hub->ended.recorded += gp_session_records(c->session);
        add_stats(&hub->ended.stats, gp_session_stats(c->session));
        cut.salvaged = gp_session_stats(c->session)->salvaged;
        gp_session_free(c->session);
        c->session = NULL;
    }
    if (!c->greeted) return;
    hub->ended.processes++;
    if (how != GP_END_CUT) return;
    hub->ended.cut++;
    if (hub->cuts.n < MOST_CUTS) GP_VEC_PUSH(&hub->cuts, cut);
}

static void close_conn(struct conn *c)
{
    close(c->fd);
    c->fd = -1;
    free(c->buf);
    c->buf = NULL;
    c->n = c->cap = 0;
}

static void lose_conn(struct gp_hub *hub, struct conn *c)
{
    if (!c->greeted && !c->known) hub->garbled++;
    end_session(hub, c, c->said_bye ? GP_END_BYE : GP_END_CUT);
    close_conn(c);
}

/* Take the closed ones off the list, which is gone through at every turn. */
static void forget_closed(struct gp_hub *hub)
{
    size_t n = 0;
    for (size_t i = 0; i < hub->conns.n; i++)
        if (hub->conns.at[i].fd >= 0) hub->conns.at[n++] = hub->conns.at[i];
    hub->conns.n = n;
}

static void add_conn(struct gp_hub *hub, int fd)
{
    GP_VEC_PUSH(&hub->conns, (struct conn){.fd = fd, .since_ns = gp_now_ns()});
}

/* Everybody on the machine sees the address, but only our own user and root may send. */
static void admit(struct gp_hub *hub, int fd)
{
    uint32_t uid;
    bool ours = gp_wire_peer_is_ours(fd, &uid);
    if (hub->stopped || !ours) {
        hub->refused += !ours;
        close(fd);
        return;
    }
    add_conn(hub, fd);
}

void gp_hub_adopt(struct gp_hub *hub, int fd)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    add_conn(hub, fd);
}

/* There are no descriptors left: close the connection of whoever waits, who then runs untraced. False when
 * that does not work either: then the listener must be left alone for a while. */
static bool turn_away(struct gp_hub *hub)
{
    if (!hub->err.code) gp_fail(&hub->err, GP_E_IO, -1, "%s", strerror(errno));
    if (hub->spare_fd < 0) return false;
    close(hub->spare_fd);
    int fd = accept4(hub->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    hub->unserved += fd >= 0;
    if (fd >= 0) close(fd);
    hub->spare_fd = spare();
    return fd >= 0;
}

static void accept_all(struct gp_hub *hub)
{
    for (;;) {
        int fd = accept4(hub->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            admit(hub, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            if (turn_away(hub)) continue;
            hub->rest_until_ns = gp_now_ns() + REST_NS;
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* A connection without a hello must not hold a descriptor for ever. */
static void drop_silent(struct gp_hub *hub)
{
    int64_t since_ns = gp_now_ns() - SILENCE_NS;
    GP_EACH(struct conn, c, hub->conns)
        if (c->fd >= 0 && !c->greeted && c->since_ns <= since_ns) lose_conn(hub, c);
}

/* Send it its memory and its number. */
static bool welcome(struct gp_hub *hub, struct conn *c, const struct gp_hub_process *joined, uint32_t room_mb)
{
    struct gp_wire_welcome w = hub->opts.welcome;
    struct gp_err err = {0};
    struct gp_session_opts o = {.producer = joined->producer,
                                .pid = joined->pid,
                                .rank = joined->rank,
                                .api = w.api,
                                .memory = w.memory,
                                .measured = w.metrics.per != GP_MEASURE_OFF,
                                .buffer_bytes = w.buffer_bytes,
                                .room_mb = room_mb,
                                .kernel = hub->opts.kernel,
                                .redact = hub->opts.redact,
                                .now_ns = gp_now_ns(),
                                .on_block = hub->opts.on_block,
                                .on_events = hub->opts.on_events,
                                .on_note = hub->opts.on_note,
                                .on_reach = hub->opts.on_reach,
                                .beside = hub->opts.beside,
                                .ctx = hub->opts.ctx};
    c->session = gp_session_new(&o, &err);
    if (!c->session) {
        if (!hub->err.code) hub->err = err;
        hub->unserved++;
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
    c->known = true; /* one of ours, even where it is not recorded */
    struct gp_hub_process joined = {hub->producers + 1, hello.pid, hello.rank};
    if (hub->opts.on_joined && !hub->opts.on_joined(hub->opts.ctx, &joined)) return false;
    hub->producers++;
    c->pid = hello.pid;
    c->producer = joined.producer;
    c->greeted = welcome(hub, c, &joined, hello.room_mb);
    return c->greeted;
}

/* False if the frame is invalid: this is not one of our clients, or it is broken. */
static bool take_frame(struct gp_hub *hub, struct conn *c, uint32_t type, const uint8_t *p, size_t n)
{
    struct gp_wire_say say;
    if (type == GP_WIRE_SAY && n == sizeof say && hub->opts.on_say) {
        memcpy(&say, p, sizeof say);
        say.text[sizeof say.text - 1] = 0;
        hub->opts.on_say(hub->opts.ctx, say.text);
        return c->known = true;
    }
    if (!c->greeted) return type == GP_WIRE_HELLO && greet(hub, c, p, n);
    if (!gp_session_take(c->session, type, p, n)) return false;
    c->said_bye |= type == GP_WIRE_BYE;
    struct gp_wire_cut_done done;
    if (gp_session_answer(c->session, &done) && gp_wire_send(c->fd, GP_WIRE_CUT_DONE, &done, sizeof done))
        return false; /* it cannot take so few bytes: it is about to be closed */
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

size_t gp_hub_poll_size(const struct gp_hub *hub) { return hub->conns.n + 1; }

size_t gp_hub_poll_fds(const struct gp_hub *hub, struct pollfd *fds, bool reading)
{
    size_t n = 0;
    bool rests = hub->rest_until_ns && gp_now_ns() < hub->rest_until_ns;
    fds[n++] = (struct pollfd){.fd = rests ? -1 : hub->listen_fd, .events = POLLIN};
    GP_EACH(const struct conn, c, hub->conns)
        if (c->fd >= 0 && !c->behind && (reading || !c->greeted))
            fds[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    return n;
}

static struct conn *find_conn(struct gp_hub *hub, int fd, size_t *from)
{
    for (; *from < hub->conns.n; (*from)++)
        if (hub->conns.at[*from].fd == fd) return &hub->conns.at[*from];
    return NULL;
}

int64_t gp_hub_due(const struct gp_hub *hub)
{
    int64_t due_ns = hub->rest_until_ns;
    GP_EACH(const struct conn, c, hub->conns) {
        if (c->fd < 0 || c->greeted) continue;
        int64_t silent_ns = c->since_ns + SILENCE_NS;
        if (!due_ns || silent_ns < due_ns) due_ns = silent_ns;
    }
    return due_ns;
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
    if (hub->rest_until_ns && gp_now_ns() >= hub->rest_until_ns) hub->rest_until_ns = 0;
    drop_silent(hub);
    forget_closed(hub);
    if (n && fds[0].revents) accept_all(hub);
}

void gp_hub_record(struct gp_hub *hub, bool open, bool leave)
{
    struct gp_wire_record r = {open, leave};
    hub->opts.welcome.capture.open = open;
    GP_EACH(const struct conn, c, hub->conns) {
        /* If it cannot take so few bytes, it is about to be closed. */
        if (c->fd >= 0 && c->greeted && gp_wire_send(c->fd, GP_WIRE_RECORD, &r, sizeof r)) continue;
    }
}

bool gp_hub_mark(struct gp_hub *hub, uint32_t producer, const char *name, int64_t ns)
{
    bool any = false;
    GP_EACH(struct conn, c, hub->conns) {
        if (!c->session || (producer && c->producer != producer)) continue;
        gp_session_mark(c->session, name, ns);
        any = true;
    }
    return any;
}

bool gp_hub_has_pace(const struct gp_hub *hub)
{
    for (size_t i = 0; i < hub->conns.n; i++)
        if (hub->conns.at[i].session && gp_session_has_pace(hub->conns.at[i].session)) return true;
    return false;
}

void gp_hub_stop(struct gp_hub *hub)
{
    hub->stopped = true;
    GP_EACH(struct conn, c, hub->conns) {
        if (c->fd < 0) continue;
        end_session(hub, c, c->said_bye ? GP_END_BYE : GP_END_STOPPED);
        close_conn(c);
    }
    hub->conns.n = 0;
}

struct gp_hub_totals gp_hub_totals(const struct gp_hub *hub)
{
    struct gp_hub_totals t = hub->ended;
    t.refused = hub->refused;
    t.garbled = hub->garbled;
    t.unserved = hub->unserved;
    t.err = hub->err;
    t.live = (uint32_t)hub->conns.n;
    GP_EACH(const struct conn, c, hub->conns) {
        t.processes += c->greeted;
        if (!c->session) continue;
        t.recorded += gp_session_records(c->session);
        add_stats(&t.stats, gp_session_stats(c->session));
    }
    return t;
}

bool gp_hub_next_cut(const struct gp_hub *hub, size_t *from, struct gp_hub_cut *cut)
{
    if (*from >= hub->cuts.n) return false;
    *cut = hub->cuts.at[(*from)++];
    return true;
}

uint32_t gp_hub_producer(struct gp_hub *hub) { return ++hub->producers; }

void gp_hub_free(struct gp_hub *hub)
{
    if (!hub) return;
    for (size_t i = 0; i < hub->conns.n; i++)
        if (hub->conns.at[i].fd >= 0) {
            gp_session_free(hub->conns.at[i].session);
            close_conn(&hub->conns.at[i]);
        }
    if (hub->spare_fd >= 0) close(hub->spare_fd);
    GP_VEC_FREE(&hub->conns);
    GP_VEC_FREE(&hub->cuts);
    free(hub);
}
