// Traces as Perfetto's protobuf, taken apart here a second time, from the published numbers of fields.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "formats/base/buf.h"
#include "formats/perfetto/perfetto_write.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct field {
    uint64_t number, value; /* of a message or text: its length */
    const uint8_t *p;       /* NULL: a number */
};

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t v = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        v |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80)) return v;
    }
    fail_msg("a number without an end");
    return 0;
}

static bool next(const uint8_t **at, const uint8_t *end, struct field *f)
{
    if (*at >= end) return false;
    uint64_t key = varint(at, end);
    *f = (struct field){.number = key >> 3};
    if ((key & 7) == 1) {
        memcpy(&f->value, *at, 8);
        *at += 8;
    } else {
        assert_true((key & 7) == 0 || (key & 7) == 2);
        f->value = varint(at, end);
        if ((key & 7) == 2) {
            f->p = *at;
            *at += f->value;
        }
    }
    assert_true(*at <= end);
    return true;
}

/* Field NUMBER of the N bytes at P, zeros if it has none. */
static struct field field(const struct field *message, uint64_t number)
{
    struct field f;
    const uint8_t *at = message->p;
    while (at && next(&at, message->p + message->value, &f))
        if (f.number == number) return f;
    return (struct field){0};
}

enum { TRACKS = 40, NAMES = 40 };

struct seen {
    char tracks[TRACKS][60]; /* by uuid */
    char names[NAMES][60];   /* by id, of the sequence that is read */
    uint64_t track, now;
    char text[4000];
};

static void say(struct seen *s, const char *fmt, ...) GP_PRINTF(2, 3);
static void say(struct seen *s, const char *fmt, ...)
{
    size_t n = strlen(s->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(s->text + n, sizeof s->text - n, fmt, args);
    va_end(args);
}

static void copy_text(char *to, struct field f)
{
    snprintf(to, 60, "%.*s", (int)f.value, f.p ? (const char *)f.p : "");
}

static void describe(struct seen *s, struct field track)
{
    struct field thread = field(&track, 4), process = field(&track, 3), name = field(&track, 2);
    uint64_t uuid = field(&track, 1).value;
    assert_true(uuid < TRACKS);
    copy_text(s->tracks[uuid], thread.p ? field(&thread, 5) : process.p ? field(&process, 6) : name);
}

/* A line: the track, when, what begins (B), ends (E), happens (I) or counts (C), and its arrows. */
static void event(struct seen *s, struct field e)
{
    uint64_t type = field(&e, 9).value, name = field(&e, 10).value;
    struct field flow = field(&e, 47), end = field(&e, 48);
    assert_true(type >= 1 && type <= 4 && name < NAMES);
    say(s, "%s: %" PRIu64 " %c", s->tracks[s->track], s->now, " BEIC"[type]);
    if (type == 1 || type == 3) say(s, " %s", s->names[name]);
    if (type == 4) say(s, " %" PRId64, (int64_t)field(&e, 30).value);
    if (flow.number) say(s, " ->%" PRIu64, flow.value);
    if (end.number) say(s, " <-%" PRIu64, end.value);
    say(s, "\n");
}

static void packet(struct seen *s, struct field p)
{
    struct field f, interned = field(&p, 12), snapshot = field(&p, 6), defaults = field(&p, 59),
                    e = field(&p, 11);
    const uint8_t *at;
    if (field(&p, 60).p) describe(s, field(&p, 60));
    for (at = snapshot.p; at && next(&at, snapshot.p + snapshot.value, &f);)
        if (field(&f, 1).value == 64) s->now = field(&f, 2).value;
    if (defaults.p) f = field(&defaults, 11), s->track = field(&f, 11).value;
    for (at = interned.p; at && next(&at, interned.p + interned.value, &f);) {
        if (f.number != 2) continue;
        assert_true(field(&f, 1).value < NAMES);
        copy_text(s->names[field(&f, 1).value], field(&f, 2));
    }
    if (!e.p) return;
    s->now += field(&p, 8).value; /* since the packet before */
    event(s, e);
}

static void packets(struct seen *s, const uint8_t *p, size_t n)
{
    const uint8_t *at = p;
    struct field f;
    while (next(&at, p + n, &f)) {
        struct field packed = field(&f, 50);
        if (!packed.p) {
            packet(s, f);
            continue;
        }
        static uint8_t plain[1 << 16];
        uLongf plain_n = sizeof plain;
        assert_int_equal(uncompress(plain, &plain_n, packed.p, packed.value), Z_OK);
        packets(s, plain, plain_n);
    }
}

static int collect(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

/* What the file of T holds, a line per event. Valid until the next call. */
static const char *written(struct gp_trace *t)
{
    static struct seen s;
    struct gp_buf b = {0};
    gp_trace_finish(t);
    assert_int_equal(gp_perfetto_write(t, NULL, 1, collect, &b), 0);
    memset(&s, 0, sizeof s);
    packets(&s, (const uint8_t *)b.data, b.n);
    gp_buf_release(&b);
    return s.text;
}

struct scene {
    struct gp_trace t;
    uint32_t thread, stream;
};

static void begin(struct scene *s)
{
    gp_trace_init(&s->t, GP_NEED_ALL);
    uint32_t process = mk_process(&s->t, 42, 0);
    s->thread = mk_thread(&s->t, process, 43);
    s->stream = mk_stream(&s->t, process, 0, 7);
}

TEST(spans_of_a_thread_nest_and_their_times_are_exact)
{
    struct scene s;
    begin(&s);
    mk_host(&s.t, GP_OP, s.thread, 1000, 9001, "aten::mm");
    mk_host(&s.t, GP_API, s.thread, 2000, 2003, "cudaLaunchKernel");
    mk_host(&s.t, GP_MARK, s.thread, 9001, 9001, "done");
    assert_string_equal(written(&s.t), "thread 43: 1000 B aten::mm\n"
                                       "thread 43: 2000 B cudaLaunchKernel\n"
                                       "thread 43: 2003 E\n"
                                       "thread 43: 9001 E\n"
                                       "thread 43: 9001 I done\n");
    gp_trace_release(&s.t);
}

TEST(work_that_overlaps_goes_to_tracks_beside_and_is_not_dropped)
{
    struct scene s;
    begin(&s);
    mk_kernel(&s.t, s.stream, 100, 300, "a", GP_NO_ID);
    mk_kernel(&s.t, s.stream, 200, 400, "b", GP_NO_ID);
    mk_kernel(&s.t, s.stream, 250, 260, "c", GP_NO_ID); /* inside both: a stream does not nest */
    mk_kernel(&s.t, s.stream, 300, 310, "d", GP_NO_ID); /* where a is over */
    assert_string_equal(written(&s.t),
                        "stream 7: 100 B a\nstream 7: 300 E\nstream 7: 300 B d\nstream 7: 310 E\n"
                        "stream 7, beside 1: 200 B b\nstream 7, beside 1: 400 E\n"
                        "stream 7, beside 2: 250 B c\nstream 7, beside 2: 260 E\n");
    gp_trace_release(&s.t);
}

TEST(spans_that_cross_on_a_thread_are_kept_apart)
{
    struct scene s;
    begin(&s);
    mk_host(&s.t, GP_RANGE, s.thread, 0, 50, "outer");
    mk_host(&s.t, GP_RANGE, s.thread, 40, 70, "crossing");
    assert_string_equal(written(&s.t), "thread 43: 0 B outer\nthread 43: 50 E\n"
                                       "thread 43, beside 1: 40 B crossing\nthread 43, beside 1: 70 E\n");
    gp_trace_release(&s.t);
}

/* One call and two kernels of one correlation id: an arrow to each; and how many are launched and not
 * over. */
TEST(an_arrow_leads_from_a_call_to_its_work)
{
    struct scene s;
    begin(&s);
    mk_call(&s.t, s.thread, 0, 10, "cudaGraphLaunch", 5);
    mk_kernel(&s.t, s.stream, 20000, 30000, "k", 5);
    assert_string_equal(written(&s.t), "thread 43: 0 B cudaGraphLaunch ->1\nthread 43: 10 E\n"
                                       "stream 7: 20000 B k <-1\nstream 7: 30000 E\n"
                                       "GPU queue: 0 C 1\nGPU queue: 30000 C 0\n");
    gp_trace_release(&s.t);
}

TEST(a_trace_that_begins_before_zero_is_moved_as_a_whole)
{
    struct scene s;
    begin(&s);
    mk_host(&s.t, GP_RANGE, s.thread, -50, 30, "r");
    mk_kernel(&s.t, s.stream, 10, 20, "k", GP_NO_ID);
    assert_string_equal(written(&s.t),
                        "thread 43: 0 B r\nthread 43: 80 E\nstream 7: 60 B k\nstream 7: 70 E\n");
    gp_trace_release(&s.t);
}

TEST(allocations_are_instants_and_sum_to_what_is_held)
{
    struct scene s;
    static const int64_t bytes[] = {100, 50, -100};
    begin(&s);
    for (int i = 0; i < 3; i++) {
        size_t row = mk_host(&s.t, GP_MEMORY, s.thread, 10 * i, 10 * i, i < 2 ? "alloc" : "free");
        gp_set_bytes(&s.t.events[GP_MEMORY], row, bytes[i]);
    }
    assert_string_equal(written(&s.t), "thread 43: 0 I alloc\nthread 43: 10 I alloc\nthread 43: 20 I free\n"
                                       "allocated memory: 0 C 100\nallocated memory: 10 C 150\n"
                                       "allocated memory: 20 C 50\n");
    gp_trace_release(&s.t);
}

static int refuse(void *ctx, const void *data, size_t n)
{
    (void)data;
    (void)n;
    ++*(int *)ctx;
    return -1;
}

TEST(a_sink_that_stops_is_not_asked_again)
{
    struct scene s;
    int calls = 0;
    begin(&s);
    mk_host(&s.t, GP_RANGE, s.thread, 0, 1, "r");
    gp_trace_finish(&s.t);
    assert_int_equal(gp_perfetto_write(&s.t, NULL, 1, refuse, &calls), -1);
    assert_int_equal(calls, 1);
    gp_trace_release(&s.t);
}

/* 200,000 spans are several chunks of 1 MiB. */
TEST(threads_do_not_change_a_byte)
{
    struct scene s;
    struct gp_buf one = {0}, four = {0};
    begin(&s);
    for (int64_t i = 0; i < 200000; i++)
        mk_host(&s.t, GP_OP, s.thread, 10 * i, 10 * i + 7, i % 2 ? "a" : "b");
    gp_trace_finish(&s.t);
    assert_int_equal(gp_perfetto_write(&s.t, NULL, 1, collect, &one), 0);
    assert_int_equal(gp_perfetto_write(&s.t, NULL, 4, collect, &four), 0);
    assert_int_equal(one.n, four.n);
    assert_memory_equal(one.data, four.data, one.n);
    gp_buf_release(&one);
    gp_buf_release(&four);
    gp_trace_release(&s.t);
}
