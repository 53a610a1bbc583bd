#include "render/fleet/send.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "analyze/hta/hta.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/net/datagram.h"

static const int64_t EVERY_NS = 1000000000, LONGEST_NS = 30000000000;

/* What a call of kernel NAME took before, 0 in its first digests; NS is what it takes now. */
static int64_t usual_ns(struct gp_sender *s, const char *name, int64_t ns)
{
    enum { NAMES_MOST = 4096, LEAST = 10, WEIGHT = 600 };
    gp_sid id = s->names.n < NAMES_MOST ? gp_intern_cstr(&s->names, name)
                                        : gp_intern_find(&s->names, name, strlen(name));
    if (id == UINT32_MAX) return 0;
    while (s->usual.n <= id) GP_VEC_PUSH(&s->usual, ((struct gp_sender_usual){0}));
    struct gp_sender_usual *u = &s->usual.at[id];
    int64_t before = u->n < LEAST ? 0 : u->ns;
    u->n += u->n < WEIGHT;
    u->ns += (ns - u->ns) / u->n;
    return before;
}

/* A receiver that ends and is started again has a new socket. */
static bool send_now(struct gp_sender *s, const struct gp_buf *b)
{
    struct gp_err ignored = {0};
    if (s->fd < 0) s->fd = gp_net_connect(s->address, &ignored);
    if (s->fd < 0) return false;
    if (gp_net_send(s->fd, b->data, b->n)) return true;
    if (errno == EAGAIN || errno == ENOBUFS) return false;
    close(s->fd);
    s->fd = -1;
    return false;
}

static void send_member(struct gp_sender *s, const struct gp_fleet *f, const struct gp_fleet_member *m,
                        int64_t real_ns)
{
    struct gp_buf b = {0};
    struct gp_digest d = {.run = s->run,
                          .seq = ++s->seq,
                          .merged = 1,
                          .time_ns = real_ns,
                          .last_step = f->last_step,
                          .dropped = s->dropped + s->window.lost,
                          .member = *m};
    if (m->key.rank < 0) {
        s->unranked++;
        d.member.key.rank = m->device >= 0 ? (int32_t)m->device : 0;
        d.member.key.tag ^= s->host;
    }
    for (size_t i = 0; i < m->kernels.n && i < GP_DIGEST_KERNELS; i++)
        d.usual_ns[i] = usual_ns(s, gp_string(&f->strings, m->kernels.at[i].name), m->kernels.at[i].call_ns);
    gp_digest_put(&b, &d, &f->strings, &s->key);
    if (send_now(s, &b)) s->sent++;
    else s->dropped++;
    gp_buf_release(&b);
}

/* Were there whole steps? */
static bool send_window(struct gp_sender *s, int64_t real_ns, bool anyway)
{
    struct gp_trace t;
    struct gp_hta h;
    bool stepped = false;
    if (gp_window_trace(&s->window, GP_HTA_NEED, &t)) return false;
    gp_hta_init(&h, NULL);
    if (!gp_hta_add_trace(&h, &t, NULL)) {
        stepped = h.fleet.stepped != 0;
        for (size_t i = 0; i < h.fleet.kept.n && (stepped || anyway); i++) {
            const struct gp_fleet_member *m = &h.fleet.kept.at[i];
            send_member(s, &h.fleet, m, real_ns);
        }
    }
    gp_trace_release(&t);
    gp_hta_release(&h);
    return stepped;
}

/* Steps that take longer than a second are waited for, ever longer, so that a recording without steps costs
 * little. */
static void maybe_send(struct gp_sender *s, int64_t now_ns, int64_t real_ns)
{
    if (!s->due_ns) {
        s->begun_ns = now_ns;
        s->wait_ns = EVERY_NS;
        s->due_ns = now_ns + EVERY_NS;
    }
    if (now_ns < s->due_ns || !s->window.events.n) return;
    bool late = now_ns - s->begun_ns >= LONGEST_NS;
    if (send_window(s, real_ns, late) || late) {
        gp_window_cut(&s->window);
        s->begun_ns = now_ns;
        s->wait_ns = EVERY_NS;
    } else {
        s->wait_ns *= 2;
    }
    s->due_ns = now_ns + s->wait_ns;
}

bool gp_sender_put(struct gp_sender *s, const void *data, size_t n, int64_t now_ns, int64_t real_ns)
{
    if (!gp_window_put(&s->window, data, n)) return false;
    maybe_send(s, now_ns, real_ns);
    return true;
}

void gp_sender_end(struct gp_sender *s, int64_t real_ns)
{
    if (s->window.events.n) send_window(s, real_ns, true);
    gp_window_release(&s->window);
    gp_strings_release(&s->names);
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
    GP_VEC_FREE(&s->usual);
}

int gp_sender_open(struct gp_sender *s, const char *address, const struct gp_digest_key *key,
                   struct gp_err *err)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    *s = (struct gp_sender){.address = address,
                            .key = *key,
                            .run = (uint64_t)getpid() << 40 ^ (uint64_t)gp_clock_ns(CLOCK_REALTIME),
                            .host = (uint32_t)gp_hash_bytes(host, strlen(host))};
    s->fd = gp_net_connect(address, err);
    return s->fd < 0 ? -1 : 0;
}

int gp_sender_run(struct gp_sender *s, int in, struct gp_err *err)
{
    uint8_t data[1 << 16];
    bool good = true;
    ssize_t n;
    while (good && (n = read(in, data, sizeof data)) != 0) {
        if (n < 0 && errno != EINTR) break;
        if (n > 0)
            good =
                gp_sender_put(s, data, (size_t)n, gp_clock_ns(CLOCK_MONOTONIC), gp_clock_ns(CLOCK_REALTIME));
    }
    good = good && s->window.begun;
    gp_sender_end(s, gp_clock_ns(CLOCK_REALTIME));
    return good ? 0 : gp_fail(err, GP_E_FORMAT, -1, "standard input: not a recording of gpuprof-collect");
}
