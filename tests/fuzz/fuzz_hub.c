/* fuzz_hub.c -- the launcher's socket and the memory that it shares, with up to four clients at once, some of
 * which behave while others do not. The input is a list of steps, each a byte for the step, one for the
 * client, and what the step needs. Kernels of clients that behave are accepted, and whatever comes out is a
 * valid trace. */
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "collect/hub.h"
#include "collect/wire/shared.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/shaped.h"
#include "tests/unit/trace_check.h"

enum { BUFFER = 16 << 20, CLIENTS = 4, SLOTS = 4, MAX_STEPS = 64 };

struct client {
    int fd; /* -1: not connected */
    uint32_t pid;
    struct gp_shared shared;
};

struct world {
    char name[64];
    int listen_fd;
    struct gp_hub *hub;
    struct gp_buf file;
    bool full;
    struct client clients[CLIENTS];
};

static int on_block(void *ctx, const void *block, size_t n)
{
    struct world *w = ctx;
    gp_buf_put(&w->file, block, n);
    return 0;
}

static bool is_full(void *ctx) { return ((const struct world *)ctx)->full; }

static void serve(struct world *w)
{
    struct pollfd fds[CLIENTS * MAX_STEPS + 1];
    for (int i = 0; i < 3; i++) {
        FUZZ_CHECK(gp_hub_poll_size(w->hub) <= sizeof fds / sizeof *fds);
        size_t n = gp_hub_poll_fds(w->hub, fds, !w->full);
        if (poll(fds, (nfds_t)n, 0) <= 0) break;
        gp_hub_serve(w->hub, fds, n);
    }
}

/* ---- steps of a client ---- */

static void leave(struct client *c)
{
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    if (c->shared.map) gp_shared_unmap(&c->shared);
    c->shared.map = NULL;
}

/* The hub may have hung up by now, or its queue be full; then it is not sent. */
static void push(struct client *c, const void *data, size_t n)
{
    if (c->fd >= 0 && send(c->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) leave(c);
}

static void push_frame(struct client *c, uint32_t type, const void *data, size_t n)
{
    struct gp_wire_head head = {type, (uint32_t)n};
    push(c, &head, sizeof head);
    push(c, data, n);
}

static void connect_to(struct world *w, struct client *c)
{
    leave(c);
    c->fd = gp_wire_connect(w->name);
}

static void map_memory(struct client *c)
{
    struct gp_wire_welcome welcome;
    struct gp_shared_opts shape = gp_shared_size(BUFFER);
    int memory = -1;
    if (gp_wire_receive_fd(c->fd, GP_WIRE_WELCOME, &welcome, sizeof welcome, 0, &memory)) return;
    FUZZ_CHECK(welcome.slots == shape.slots && gp_shared_map(&c->shared, memory, &shape));
    close(memory);
    for (size_t i = 0; fuzz_shaped_kind(i); i++)
        gp_shared_learn(&c->shared, fuzz_shaped_kind(i), fuzz_shaped_bytes(fuzz_shaped_kind(i)));
    gp_shared_log(&c->shared, GP_NAME_TEXT, FUZZ_TEXT_AT, "_Z4gemmPfS_i");
    gp_shared_log(&c->shared, GP_NAME_THREAD, c->pid, "main");
    gp_shared_log(&c->shared, GP_NAME_RUNTIME, 7, "cudaLaunchKernel_v7000");
}

static void join(struct world *w, struct client *c, struct fuzz_take *in)
{
    c->pid = 100;
    struct gp_wire_hello hello = {GP_WIRE_VERSION, (int32_t)c->pid, (int32_t)fuzz_take_number(in, 1) - 1, 0};
    connect_to(w, c);
    push_frame(c, GP_WIRE_HELLO, &hello, sizeof hello);
    serve(w);
    if (c->fd >= 0) map_memory(c);
}

static void fill_slot(struct client *c, struct fuzz_take *in)
{
    uint64_t count;
    uint32_t i = (uint32_t)fuzz_take_number(in, 1) % SLOTS, odd = (uint32_t)fuzz_take_number(in, 1);
    if (!c->shared.map) return;
    struct gp_slot *slot = gp_shared_slot(&c->shared, i);
    slot->valid = (uint32_t)fuzz_shaped_records(gp_shared_buffer(&c->shared, i), BUFFER, in, c->pid, &count);
    slot->records = count;
    slot->names = gp_shared_logged(&c->shared);
    if (odd & 1) slot->valid = (uint32_t)fuzz_take_any(in);
    if (odd & 2) slot->records = fuzz_take_any(in);
    if (odd & 4) slot->names = fuzz_take_any(in);
    slot->seq = odd & 8 ? fuzz_take_any(in) : 1;
    atomic_store(&slot->state, odd & 16 ? odd >> 5 : GP_SLOT_FILLED);
    struct gp_wire_filled filled = {odd & 32 ? (uint32_t)fuzz_take_any(in) : i, 0};
    if (!(odd & 64)) push_frame(c, GP_WIRE_FILLED, &filled, sizeof filled);
}

static void log_name(struct client *c, struct fuzz_take *in)
{
    char text[64];
    size_t n = fuzz_take_number(in, 1) % sizeof text;
    enum gp_name_kind kind = (enum gp_name_kind)(fuzz_take_number(in, 1) % 6);
    uint64_t key = fuzz_take_any(in) * (kind == GP_NAME_TEXT ? FUZZ_TEXT_AT : 1);
    const uint8_t *p = fuzz_take_bytes(in, &n);
    memcpy(text, p, n);
    text[n] = 0;
    if (c->shared.map) gp_shared_log(&c->shared, kind, key, text);
}

/* Anywhere in the first page, the slots, the log or the first buffers. */
static void scribble(struct client *c, struct fuzz_take *in)
{
    size_t n = fuzz_take_number(in, 1), at = fuzz_take_number(in, 2) * 8, area = fuzz_take_number(in, 1) % 3;
    const uint8_t *p = fuzz_take_bytes(in, &n);
    if (!c->shared.map) return;
    size_t from = area == 0 ? 0 : area == 1 ? c->shared.log_at : c->shared.buffers_at;
    memcpy(c->shared.map + from + at, p, n);
}

/* N bytes become samples of program counters whose parts fit, with one text and as many rows as there is room
 * for. */
static void shape_counters(uint8_t *payload, size_t n)
{
    struct gp_pc_head h;
    if (n < sizeof h + 8) return;
    memcpy(&h, payload, sizeof h);
    h.end_ns = h.start_ns + (h.end_ns & INT32_MAX);
    h.total &= INT32_MAX;
    h.dropped &= h.total;
    h.other &= h.total;
    h.full &= INT32_MAX;
    h.mode = GP_PC_CONTINUOUS + (h.mode & 1);
    h.period &= GP_PC_PERIOD_MOST;
    h.texts = 1;
    h.text_bytes = 8;
    h.rows = (uint32_t)((n - sizeof h - h.text_bytes) / sizeof(struct gp_pc_row));
    memcpy(payload, &h, sizeof h);
    payload[sizeof h] |= GP_PC_TEXT_FILE;
    payload[sizeof h + 7] = 0;
}

/* A frame of any type, of the right size or of another. */
static void send_frame(struct client *c, struct fuzz_take *in)
{
    static const size_t sizes[] = {0,
                                   sizeof(struct gp_wire_hello),
                                   sizeof(struct gp_wire_welcome),
                                   sizeof(struct gp_wire_fact),
                                   sizeof(struct gp_wire_tick),
                                   sizeof(struct gp_wire_filled),
                                   sizeof(struct gp_wire_window),
                                   0,
                                   sizeof(struct gp_wire_loss),
                                   sizeof(struct gp_wire_write),
                                   sizeof(struct gp_wire_bye),
                                   sizeof(struct gp_wire_record),
                                   sizeof(struct gp_wire_graphs),
                                   [GP_WIRE_DEVICE] = sizeof(struct gp_wire_device),
                                   [GP_WIRE_BUDGET] = sizeof(struct gp_wire_budget)};
    uint8_t payload[2048] = {0};
    uint32_t type = (uint32_t)fuzz_take_number(in, 1);
    size_t n = type < sizeof sizes / sizeof *sizes && sizes[type] ? sizes[type] : fuzz_take_number(in, 1),
           given = n;
    FUZZ_CHECK(n <= sizeof payload);
    const uint8_t *p = fuzz_take_bytes(in, &given);
    memcpy(payload, p, given);
    if (type == GP_WIRE_PC_ROWS) {
        shape_counters(payload, n);
        n -= n < sizeof(struct gp_pc_head) + 8
                 ? 0
                 : (n - sizeof(struct gp_pc_head) - 8) % sizeof(struct gp_pc_row);
    }
    push_frame(c, type, payload, n);
}

static void send_raw(struct client *c, struct fuzz_take *in)
{
    size_t n = fuzz_take_number(in, 1);
    const uint8_t *p = fuzz_take_bytes(in, &n);
    push(c, p, n);
}

static void flush(struct client *c, struct fuzz_take *in)
{
    struct gp_wire_tick tick = {(int64_t)(1000 + fuzz_take_any(in)), 0};
    struct gp_wire_write write = {(int64_t)fuzz_take_any(in)};
    push_frame(c, GP_WIRE_TICK, &tick, sizeof tick);
    push_frame(c, GP_WIRE_WRITE, &write, sizeof write);
}

static void say_bye(struct client *c, struct fuzz_take *in)
{
    struct gp_wire_bye bye = {(int64_t)fuzz_take_any(in)};
    push_frame(c, GP_WIRE_BYE, &bye, sizeof bye);
}

static void step(struct world *w, struct fuzz_take *in)
{
    unsigned what = (unsigned)fuzz_take_number(in, 1);
    struct client *c = &w->clients[fuzz_take_number(in, 1) % CLIENTS];
    switch (what % 13) {
    case 0: join(w, c, in); break;
    case 1:
    case 2: fill_slot(c, in); break;
    case 3: flush(c, in); break;
    case 4: send_frame(c, in); break;
    case 5: send_raw(c, in); break;
    case 6: log_name(c, in); break;
    case 7: scribble(c, in); break;
    case 8: say_bye(c, in); break;
    case 9: leave(c); break;
    case 10: connect_to(w, c); break;
    case 11: w->full = !w->full; break;
    default: gp_hub_record(w->hub, fuzz_take_number(in, 1) & 1, fuzz_take_number(in, 1) & 1); break;
    }
    serve(w);
}

/* ---- the whole ---- */

static void check_file(const struct gp_buf *file)
{
    struct gp_read_opts opts = {.threads = 1};
    struct gp_trace t;
    struct gp_err err = {0};
    if (gp_trace_read_memory(&t, file->data, file->n, &opts, &err)) return; /* there may be nothing in it */
    FUZZ_CHECK(!t.issues[GP_Q_BAD_BLOCK].count && !gp_trace_check(&t, &err));
    gp_trace_release(&t);
}

static void check_totals(const struct gp_hub *hub)
{
    struct gp_hub_totals t = gp_hub_totals(hub);
    struct gp_hub_cut cut;
    uint32_t cuts = 0;
    for (size_t from = 0; gp_hub_next_cut(hub, &from, &cut);) cuts++;
    FUZZ_CHECK(t.live == 0 && (t.cut == cuts || cuts == 4096) && t.cut <= t.processes);
    if (getenv("FUZZ_TOTALS"))
        fprintf(stderr, "%u processes, %u cut, %u refused, %llu kernels\n", t.processes, t.cut, t.refused,
                (unsigned long long)t.stats.kernels);
}

static void begin(struct world *w)
{
    static unsigned serial;
    struct gp_err err = {0};
    uint8_t head[GP_GPT_HEADER_SIZE];
    struct gp_hub_opts o = {
        .welcome = {.api = GP_API_LEVEL_ALL, .buffer_bytes = BUFFER, .flush_ns = 5, .memory = 1},
        .on_block = on_block,
        .is_full = is_full,
        .ctx = w};
    memset(w, 0, sizeof *w);
    for (int i = 0; i < CLIENTS; i++) w->clients[i].fd = -1;
    snprintf(w->name, sizeof w->name, "@gpuprof-fuzz-%ld-%u", (long)getpid(), serial++);
    w->listen_fd = gp_wire_listen(w->name, &err);
    FUZZ_CHECK(w->listen_fd >= 0);
    w->hub = gp_hub_new(w->listen_fd, &o);
    gp_gpt_file_header(head);
    gp_buf_put(&w->file, head, sizeof head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_take in = {data, data + size};
    struct world w;
    begin(&w);
    for (int i = 0; i < MAX_STEPS && in.at < in.end; i++) step(&w, &in);
    w.full = false;
    serve(&w);
    for (int i = 0; i < CLIENTS; i++) leave(&w.clients[i]);
    serve(&w);
    gp_hub_stop(w.hub);
    check_totals(w.hub);
    gp_hub_free(w.hub);
    close(w.listen_fd);
    check_file(&w.file);
    gp_buf_release(&w.file);
    return 0;
}
