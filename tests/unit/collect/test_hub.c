// The launcher's end: frames from processes that behave, break off or make no sense; the sink behind it.
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/hub.h"
#include "collect/wire/shared.h"
#include "collect/output.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "tests/unit/unit.h"

struct fixture {
    char name[64];
    int listen_fd;
    struct gp_hub *hub;
    struct gp_buf got;
    unsigned blocks;
    bool full;
};

static int on_block(void *ctx, const void *block, size_t n)
{
    struct fixture *f = ctx;
    gp_buf_put(&f->got, block, n);
    f->blocks++;
    return 0;
}

static bool is_full(void *ctx) { return ((const struct fixture *)ctx)->full; }

static bool odd_ranks(void *ctx, const struct gp_hub_process *process)
{
    (void)ctx;
    return process->rank % 2 != 0;
}

static void begin(struct fixture *f)
{
    static int serial;
    struct gp_err err = {0};
    struct gp_hub_opts o = {
        .welcome = {.api = GP_API_LEVEL_SYNC, .buffer_bytes = 65536, .flush_ns = 5},
        .on_block = on_block,
        .on_joined = odd_ranks,
        .is_full = is_full,
        .ctx = f,
    };
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "@gpuprof-test-%ld-%d", (long)getpid(), serial++);
    f->listen_fd = gp_wire_listen(f->name, &err);
    assert_true(f->listen_fd >= 0);
    f->hub = gp_hub_new(f->listen_fd, &o);
}

static void end(struct fixture *f)
{
    gp_hub_free(f->hub);
    gp_buf_release(&f->got);
    close(f->listen_fd);
}

static void serve(struct fixture *f)
{
    struct pollfd fds[16];
    for (int i = 0; i < 6; i++) {
        size_t n = gp_hub_poll_fds(f->hub, fds, true);
        if (poll(fds, (nfds_t)n, 20) >= 0) gp_hub_serve(f->hub, fds, n);
    }
}

static int join(struct fixture *f, struct gp_wire_welcome *w)
{
    struct gp_wire_hello hello = {GP_WIRE_VERSION, 1, -1, 0};
    int fd = gp_wire_connect(f->name);
    assert_true(fd >= 0);
    assert_int_equal(gp_wire_send(fd, GP_WIRE_HELLO, &hello, sizeof hello), 0);
    serve(f);
    int memory;
    assert_int_equal(gp_wire_receive_fd(fd, GP_WIRE_WELCOME, w, sizeof *w, 1000, &memory), 0);
    close(memory);
    return fd;
}

/* A whole flush that holds nothing but a time and a loss, which makes blocks. */
static void send_flush(int fd)
{
    struct gp_wire_tick t = {1000, 2000};
    struct gp_wire_loss l = {3, "things", "for a test"};
    struct gp_wire_write w = {77};
    assert_int_equal(gp_wire_send(fd, GP_WIRE_TICK, &t, sizeof t), 0);
    assert_int_equal(gp_wire_send(fd, GP_WIRE_LOSS, &l, sizeof l), 0);
    assert_int_equal(gp_wire_send(fd, GP_WIRE_WRITE, &w, sizeof w), 0);
}

/* What a process says of itself is added up for all of them. */
TEST(processor_time_that_cannot_be_is_not_believed)
{
    struct fixture f;
    struct gp_wire_welcome w;
    begin(&f);
    static const int64_t claims[] = {INT64_MAX, INT64_MAX, INT64_MIN, -1};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct gp_wire_write write = {claims[i]};
        int fd = join(&f, &w);
        send_flush(fd);
        assert_int_equal(gp_wire_send(fd, GP_WIRE_WRITE, &write, sizeof write), 0);
        serve(&f);
        close(fd);
    }
    serve(&f);
    assert_int_equal(gp_hub_totals(f.hub).stats.cpu_ns, 4 * 77);
    end(&f);
}

static void send_bye(int fd)
{
    struct gp_wire_bye b = {5000};
    assert_int_equal(gp_wire_send(fd, GP_WIRE_BYE, &b, sizeof b), 0);
}

TEST(processes_are_numbered_and_their_blocks_marked)
{
    struct fixture f;
    struct gp_wire_welcome a, b;
    begin(&f);
    int fa = join(&f, &a), fb = join(&f, &b);
    assert_int_equal(a.producer, 1);
    assert_int_equal(b.producer, 2);
    assert_int_equal(a.flush_ns, 5);
    send_flush(fb);
    serve(&f);
    assert_true(f.blocks > 0);
    struct gp_gpt_block_header h;
    assert_true(gp_gpt_get_header((const uint8_t *)f.got.data, &h));
    assert_int_equal(h.producer, 2);
    assert_true(gp_gpt_block_ok((const uint8_t *)f.got.data, &h));
    close(fa);
    close(fb);
    serve(&f);
    assert_int_equal(gp_hub_totals(f.hub).live, 0);
    assert_int_equal(gp_hub_totals(f.hub).cut, 2);
    size_t from = 0;
    struct gp_hub_cut cut;
    for (int i = 0; i < 2; i++) {
        assert_true(gp_hub_next_cut(f.hub, &from, &cut));
        assert_int_equal(cut.pid, 1); /* what join() says that it is */
        assert_int_equal(cut.salvaged, 0);
    }
    assert_false(gp_hub_next_cut(f.hub, &from, &cut));
    end(&f);
}

/* What is gone through at every turn is as long as the list of those that are connected. */
TEST(of_processes_that_are_gone_only_sums_stay)
{
    struct fixture f;
    struct gp_wire_welcome w;
    begin(&f);
    int stays = join(&f, &w);
    for (int i = 0; i < 50; i++) {
        int fd = join(&f, &w);
        assert_int_equal(w.producer, i + 2);
        send_flush(fd);
        if (i % 5) send_bye(fd);
        serve(&f);
        close(fd);
        serve(&f);
        assert_int_equal(gp_hub_poll_size(f.hub), 2); /* the listener and the one that stays */
    }
    struct gp_hub_totals t = gp_hub_totals(f.hub);
    assert_int_equal(t.processes, 51);
    assert_int_equal(t.live, 1);
    assert_int_equal(t.cut, 10);
    assert_int_equal(t.stats.dropped, 50 * 3);
    assert_int_equal(t.stats.cpu_ns, 50 * 77);
    send_flush(stays);
    serve(&f);
    assert_int_equal(gp_hub_totals(f.hub).stats.dropped, 51 * 3);
    close(stays);
    end(&f);
}

TEST(a_process_that_says_bye_is_not_cut_and_its_sums_count)
{
    struct fixture f;
    struct gp_wire_welcome w;
    begin(&f);
    int fd = join(&f, &w);
    send_flush(fd);
    send_bye(fd);
    close(fd);
    serve(&f);
    struct gp_hub_totals t = gp_hub_totals(f.hub);
    assert_int_equal(t.stats.dropped, 3);
    assert_int_equal(t.stats.cpu_ns, 77);
    assert_int_equal(t.processes, 1);
    assert_int_equal(t.cut, 0);
    size_t from = 0;
    struct gp_hub_cut cut;
    assert_false(gp_hub_next_cut(f.hub, &from, &cut));
    end(&f);
}

/* While what comes out is not wanted, frames wait; those that are here already as well as later ones. */
TEST(nothing_is_taken_while_the_outputs_are_full)
{
    struct fixture f;
    struct gp_wire_welcome w;
    begin(&f);
    int fd = join(&f, &w);
    f.full = true;
    send_flush(fd);
    send_bye(fd);
    serve(&f);
    assert_int_equal(f.blocks, 0);
    f.full = false;
    serve(&f);
    assert_true(f.blocks > 0);
    close(fd);
    serve(&f);
    assert_int_equal(gp_hub_totals(f.hub).stats.dropped, 3);
    assert_int_equal(gp_hub_totals(f.hub).cut, 0);
    end(&f);
}

TEST(a_process_that_is_not_wanted_is_turned_away)
{
    struct fixture f;
    struct gp_wire_welcome w;
    struct gp_wire_hello even = {GP_WIRE_VERSION, 1, 4, 0}, odd = {GP_WIRE_VERSION, 1, 5, 0};
    begin(&f);
    int fa = gp_wire_connect(f.name), fb = gp_wire_connect(f.name);
    assert_int_equal(gp_wire_send(fa, GP_WIRE_HELLO, &even, sizeof even), 0);
    assert_int_equal(gp_wire_send(fb, GP_WIRE_HELLO, &odd, sizeof odd), 0);
    serve(&f);
    assert_int_equal(gp_wire_receive(fa, GP_WIRE_WELCOME, &w, sizeof w, 1000), -1);
    assert_int_equal(gp_wire_receive(fb, GP_WIRE_WELCOME, &w, sizeof w, 1000), 0);
    assert_int_equal(w.producer, 1);
    assert_int_equal(gp_hub_totals(f.hub).processes, 1);
    assert_int_equal(gp_hub_totals(f.hub).garbled, 0);
    close(fa);
    close(fb);
    end(&f);
}

TEST(half_a_frame_is_dropped_the_whole_ones_stay)
{
    struct fixture f;
    struct gp_wire_welcome w;
    struct gp_wire_head half = {GP_WIRE_NOTES, 1000};
    begin(&f);
    int fd = join(&f, &w);
    send_flush(fd);
    serve(&f);
    assert_true(f.blocks > 0);
    assert_int_equal(send(fd, &half, sizeof half, 0), sizeof half);
    assert_int_equal(send(fd, "half", 4, 0), 4);
    close(fd);
    serve(&f);
    assert_int_equal(gp_hub_totals(f.hub).cut, 1);
    assert_int_equal(gp_hub_totals(f.hub).stats.dropped, 3);
    end(&f);
}

TEST(nonsense_is_turned_away)
{
    static const struct gp_wire_head heads[] = {
        {99, 0}, {GP_WIRE_WRITE, 0}, {GP_WIRE_HELLO, 0xffffffffu}, {0, 0}};
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < GP_COUNT(heads); i++) {
        int fd = gp_wire_connect(f.name);
        char c;
        assert_int_equal(send(fd, &heads[i], sizeof heads[i], 0), sizeof heads[i]);
        serve(&f);
        assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), 0); /* closed by the other side */
        close(fd);
    }
    assert_int_equal(gp_hub_totals(f.hub).garbled, 4);
    assert_int_equal(gp_hub_totals(f.hub).processes, 0);
    assert_int_equal(f.blocks, 0);
    end(&f);
}

TEST(a_stopped_hub_closes_and_lets_nobody_in)
{
    struct fixture f;
    struct gp_wire_welcome w;
    char c;
    begin(&f);
    int fd = join(&f, &w);
    gp_hub_stop(f.hub);
    assert_int_equal(recv(fd, &c, 1, 0), 0);
    int late = gp_wire_connect(f.name);
    serve(&f);
    assert_int_equal(recv(late, &c, 1, 0), 0);
    assert_int_equal(gp_hub_totals(f.hub).cut, 0);
    close(fd);
    close(late);
    end(&f);
}

TEST(the_sink_writes_beside_and_renames)
{
    char path[64];
    struct gp_err err = {0};
    int wake[2];
    assert_int_equal(pipe(wake), 0);
    snprintf(path, sizeof path, "/tmp/gpuprof-sink-%ld", (long)getpid());
    struct gp_sink *s = gp_sink_open(path, -1, wake[1], &err);
    assert_non_null(s);
    gp_sink_put(s, "abc", 3);
    gp_sink_put(s, "def", 3);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(gp_sink_close(s, true, &err), 0);
    char text[16] = "";
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 6);
    assert_string_equal(text, "abcdef");
    close(fd);
    unlink(path);
    s = gp_sink_open(path, -1, wake[1], &err);
    gp_sink_put(s, "abc", 3);
    assert_int_equal(gp_sink_close(s, false, &err), 0);
    assert_int_not_equal(access(path, F_OK), 0);
    close(wake[0]);
    close(wake[1]);
}

/* A limit on the size of files is a disk that is full. */
TEST(a_full_disk_keeps_what_was_put_whole)
{
    char path[64], chunk[1000] = "", told[64];
    struct gp_err err = {0};
    struct rlimit before, small;
    struct stat st;
    int wake[2];
    assert_int_equal(pipe(wake), 0);
    snprintf(path, sizeof path, "/tmp/gpuprof-full-%ld", (long)getpid());
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4500;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct gp_sink *s = gp_sink_open(path, -1, wake[1], &err);
    for (int i = 0; i < 10; i++) gp_sink_put(s, chunk, sizeof chunk);
    assert_int_equal(gp_sink_close(s, true, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    snprintf(told, sizeof told, "kept the first %d bytes", 4000);
    assert_non_null(strstr(err.msg, told));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 4000);
    unlink(path);
    close(wake[0]);
    close(wake[1]);
}

TEST(a_welcome_that_cannot_be_does_not_fit)
{
    struct gp_wire_welcome good = {.version = GP_WIRE_VERSION,
                                   .buffer_bytes = 8 << 20,
                                   .flush_ns = 100000000,
                                   .slots = 16},
                           w;
    assert_true(gp_wire_welcome_fits(&good));
#define REFUSED(member, value)                                                                               \
    do {                                                                                                     \
        w = good;                                                                                            \
        w.member = value;                                                                                    \
        assert_false(gp_wire_welcome_fits(&w));                                                              \
    } while (0)
    REFUSED(version, GP_WIRE_VERSION - 1);
    REFUSED(api, GP_API_LEVEL_ALL + 1);
    REFUSED(graphs, GP_GRAPHS_WHOLE + 1);
    REFUSED(buffer_bytes, 0);
    REFUSED(buffer_bytes, GP_WIRE_BUFFER_LEAST - 1);
    REFUSED(buffer_bytes, UINT32_MAX);
    REFUSED(flush_ns, 0);
    REFUSED(flush_ns, INT64_MIN);
    REFUSED(flush_ns, INT64_MAX);
    REFUSED(slots, 0);
    REFUSED(slots, gp_shared_size(8 << 20).slots + 1);
    REFUSED(slots, UINT32_MAX);
    REFUSED(capture.duration_ns, -1);
    REFUSED(capture.start.when, GP_WHEN_PACE + 1);
    w = good;
    memset(w.capture.stop.name, 'x', sizeof w.capture.stop.name); /* a text without an end */
    assert_false(gp_wire_welcome_fits(&w));
}

/* Descriptors that are used up: whoever connects is closed at once, is counted, and the listener is empty. */
TEST(without_descriptors_processes_are_turned_away)
{
    struct fixture f;
    struct rlimit before, small;
    int clients[5];
    char c;
    begin(&f);
    for (int i = 0; i < 5; i++) assert_true((clients[i] = gp_wire_connect(f.name)) >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    small = before;
    int next = dup(STDIN_FILENO);
    close(next);
    small.rlim_cur = (rlim_t)next; /* all below are open: there is no new one but the hub's spare */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    serve(&f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    struct gp_hub_totals t = gp_hub_totals(f.hub);
    assert_int_equal(t.processes + t.refused + t.garbled, 0);
    assert_int_equal(t.unserved, 5);
    assert_non_null(strstr(t.err.msg, "Too many open files"));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(recv(clients[i], &c, 1, MSG_DONTWAIT), 0);
        close(clients[i]);
    }
    end(&f);
}
