#include "render/fleet/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "analyze/hta/hta.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/json_write.h"
#include "formats/base/openmetrics.h"
#include "formats/base/utf8.h"
#include "formats/net/net.h"

static void record(const struct gp_intake *in, const void *data, size_t n)
{
    struct gp_buf framed = {0};
    if (!in->record && !in->copy) return;
    gp_digest_frame(&framed, data, n);
    if (in->copy) gp_output_write(in->copy, framed.data, framed.n);
    if (in->record) {
        fwrite(framed.data, 1, framed.n, in->record);
        fflush(in->record);
    }
    gp_buf_release(&framed);
}

/* A replay of an old message, or a sender whose clock is wrong. */
static bool is_clock_off(const struct gp_digest *d)
{
    int64_t off_s = (d->time_ns - gp_clock_ns(CLOCK_REALTIME)) / 1000000000;
    return off_s >= GP_INTAKE_OFF_S || off_s <= -GP_INTAKE_OFF_S;
}

void gp_intake_message(void *ctx, const void *data, size_t n)
{
    struct gp_intake *in = ctx;
    struct gp_digest d;
    struct gp_strings names = {0};
    if (gp_digest_get(&d, &names, data, n, &in->key, NULL)) {
        in->refused++;
    } else if (!in->replay && is_clock_off(&d)) {
        in->off++;
    } else {
        in->used++;
        record(in, data, n);
        int64_t now_ns = in->replay ? d.time_ns : gp_now_ns();
        gp_watch_add(in->watch, &d, &names, now_ns);
    }
    gp_digest_release(&d);
    gp_strings_release(&names);
}

void gp_intake_receive(struct gp_intake *in, int fd)
{
    uint8_t room[GP_DIGEST_BYTES + 1];
    gp_net_receive(fd, room, sizeof room, gp_intake_message, in);
}

void gp_intake_forward(void *ctx, const struct gp_digest *d, const struct gp_strings *names)
{
    struct gp_intake *in = ctx;
    struct gp_buf b = {0};
    gp_digest_put(&b, d, names, &in->key);
    in->forwarded++;
    if (!gp_net_send(in->forward, b.data, b.n)) in->dropped++;
    gp_buf_release(&b);
}

int gp_intake_open(const char *path, FILE **to, struct gp_err *err)
{
    if (!path || (*to = fopen(path, "w"))) return 0;
    return gp_fail(err, GP_E_IO, -1, "%s: cannot write: %s", path, strerror(errno));
}

int gp_intake_record(struct gp_intake *in, const char *path, struct gp_err *err)
{
    if (!path || !in->replay) return gp_intake_open(path, &in->record, err);
    return (in->copy = gp_output_open(path, err)) ? 0 : -1;
}

int gp_intake_end(struct gp_intake *in, const char *path, int failed, struct gp_err *err)
{
    if (in->copy && gp_output_close(in->copy, !failed, failed ? NULL : err)) failed = -1;
    return gp_intake_close(path, in->record, failed, err);
}

int gp_intake_close(const char *path, FILE *file, int failed, struct gp_err *err)
{
    if (!file) return failed;
    bool whole = !ferror(file) && !(file == stdout ? fflush(file) : fclose(file));
    if (failed || whole) return failed;
    return gp_fail(err, GP_E_IO, -1, "%s: cannot write: %s", path ? path : "standard output",
                   strerror(errno));
}

/* ---- sending ---- */

static const int64_t EVERY_NS = 1000000000, LONGEST_NS = 30000000000;

/* The earlier time of a call of kernel NAME, 0 in its first digests; NS is its time now. */
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

/* Steps that take longer than a second are waited for. A window that is read in vain delays the next try by
 * twenty times what that took, so that a recording without steps costs little, and steps that begin late are
 * found at once. */
static void maybe_send(struct gp_sender *s, int64_t now_ns, int64_t real_ns)
{
    if (!s->due_ns) {
        s->begun_ns = now_ns;
        s->due_ns = now_ns + EVERY_NS;
    }
    if (now_ns < s->due_ns || !s->window.events.n) return;
    bool late = now_ns - s->begun_ns >= LONGEST_NS;
    int64_t wait_ns = EVERY_NS;
    if (send_window(s, real_ns, late) || late) {
        gp_window_cut(&s->window);
        s->begun_ns = now_ns;
    } else if ((gp_now_ns() - now_ns) * 20 > wait_ns) {
        wait_ns = (gp_now_ns() - now_ns) * 20;
    }
    s->due_ns = now_ns + wait_ns;
}

/* Send the rest, and release. */
static void end_sender(struct gp_sender *s, int64_t real_ns)
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
        if (n < 0) continue;
        good = gp_window_put(&s->window, data, (size_t)n);
        if (good) maybe_send(s, gp_now_ns(), gp_clock_ns(CLOCK_REALTIME));
    }
    good = good && s->window.begun;
    end_sender(s, gp_clock_ns(CLOCK_REALTIME));
    return good ? 0 : gp_fail(err, GP_E_FORMAT, -1, "standard input: not a recording of gpuprof-collect");
}

/* ---- output ---- */

void gp_watch_line(struct gp_buf *b, const struct gp_watch_event *e, bool json)
{
    const struct gp_row_of of = {.of = NULL};
    if (!json) {
        gp_buf_printf(b, "+%" PRId64 " s  ", e->time_ns / 1000000000);
        gp_utf8_clean(b, e->text, strlen(e->text));
        gp_buf_putc(b, '\n');
        return;
    }
    gp_buf_puts(b, "{\"schema\":\"gpuprof/trace-fleet/1\"");
    for (size_t i = 0; i < gp_watch_events.n; i++) {
        const struct gp_field *f = &gp_watch_events.fields[i];
        struct gp_cell c = gp_field_cell(f, e, &of);
        gp_buf_printf(b, ",\"%s\":", f->id);
        if (c.none) gp_buf_puts(b, "null");
        else if (c.type == GP_CELL_NAME || c.type == GP_CELL_TEXT) gp_json_put_string(b, c.text, c.text_len);
        else gp_buf_put_i64(b, c.i);
    }
    gp_buf_puts(b, "}\n");
}

/* ---- OpenMetrics ---- */

static void put_label(struct gp_openmetrics *m, const char *name, const char *text)
{
    gp_openmetrics_label(m, name, text, strlen(text));
}

static void put_medians(struct gp_openmetrics *m, const struct gp_watch_state *s)
{
    static const char name[] = "fleet_median_seconds";
    gp_openmetrics_family(m, name, "gauge", "seconds",
                          "Time per step of the median rank, by what it is spent on.");
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) {
        if (!gp_openmetrics_series(m, name)) continue;
        put_label(m, "part", gp_fleet_metric_name((enum gp_fleet_metric)i));
        gp_openmetrics_seconds(m, s->ns[i]);
    }
}

static void put_slow(struct gp_openmetrics *m, const struct gp_watch_state *s)
{
    static const char name[] = "fleet_slow_seconds";
    gp_openmetrics_family(m, name, "gauge", "seconds",
                          "How much longer per step than the median rank, or before.");
    for (size_t i = 0; i < s->n_slow; i++) {
        const struct gp_slow *slow = &s->slow[i].slow;
        if (!gp_openmetrics_series(m, name)) continue;
        put_label(m, "what", gp_slow_what_name(slow->what));
        gp_openmetrics_label_int(m, "rank", slow->key.rank);
        gp_openmetrics_label_int(m, "device", slow->device);
        put_label(m, "cause", gp_slow_cause_name(slow->cause));
        put_label(m, "kernel", s->slow[i].kernel);
        gp_openmetrics_seconds(m, slow->ns - slow->median_ns);
    }
}

void gp_watch_openmetrics(struct gp_buf *b, const struct gp_watch_state *s)
{
    enum { SERIES_MOST = 200 };
    struct gp_openmetrics m = {.b = b, .most = SERIES_MOST};
    gp_openmetrics_family(&m, "fleet_ranks", "gauge", "", "Devices that send.");
    if (gp_openmetrics_series(&m, "fleet_ranks")) gp_openmetrics_count(&m, s->ranks);
    gp_openmetrics_total(&m, "fleet_digests", "", "Digests that were used.", (int64_t)s->digests);
    gp_openmetrics_total(&m, "fleet_late", "",
                         "Digests that came twice, out of order or from an earlier run.", (int64_t)s->late);
    gp_openmetrics_total(&m, "fleet_stepless", "", "Digests without steps, which cannot be compared.",
                         (int64_t)s->stepless);
    gp_openmetrics_total(&m, "fleet_missing", "", "Digests that never came.", (int64_t)s->missing);
    gp_openmetrics_total(&m, "fleet_dropped", "", "Digests and blocks of recordings that senders dropped.",
                         (int64_t)s->dropped);
    gp_openmetrics_total(&m, "fleet_crowded", "", "Digests of more ranks than are watched.",
                         (int64_t)s->crowded);
    put_medians(&m, s);
    put_slow(&m, s);
    gp_openmetrics_end(&m);
}
