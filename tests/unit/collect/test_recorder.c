// The flight recorder: what goes straight on, what is kept, what is forgotten, and that the result is a whole
// trace.
#include <string.h>

#include "collect/recorder.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_columns.h"
#include "formats/gpt/gpt_write.h"
#include "formats/reader.h"
#include "tests/unit/unit.h"

struct fixture {
    struct gp_recorder *r;
    int64_t now_ns;
    struct gp_buf got; /* a file header, and what went on */
    unsigned events, others;
};

static bool is_event(const void *block)
{
    struct gp_gpt_block_header h;
    assert_true(gp_gpt_get_header(block, &h));
    assert_true(gp_gpt_block_ok(block, &h));
    return h.kind == GP_GPT_LAUNCH || (h.kind >= GP_GPT_EVENTS && h.kind != GP_GPT_END);
}

static void went_on(void *ctx, const void *block, size_t n)
{
    struct fixture *f = ctx;
    gp_buf_put(&f->got, block, n);
    f->events += is_event(block);
    f->others += !is_event(block);
}

static int put_block(void *ctx, const void *block, size_t n)
{
    struct fixture *f = ctx;
    gp_recorder_put(f->r, block, n, f->now_ns);
    return 0;
}

static void begin(struct fixture *f, int64_t last_ns, size_t max_bytes)
{
    uint8_t header[GP_GPT_HEADER_SIZE];
    memset(f, 0, sizeof *f);
    gp_gpt_file_header(header);
    gp_buf_put(&f->got, header, sizeof header);
    f->r = gp_recorder_new(last_ns, max_bytes, went_on, f);
}

static void end(struct fixture *f)
{
    gp_recorder_free(f->r);
    gp_buf_release(&f->got);
}

/* A trace of which each flush is one range: number i lasts from 1000 * i for 10 ns and is called by its
 * number. */
struct source {
    struct gp_trace t;
    struct gp_gpt_writer *w;
    uint32_t track;
};

static void open_source(struct source *s, struct fixture *f, uint32_t producer)
{
    struct gp_gpt_write_opts o = {.producer = producer};
    struct gp_process p = gp_process_unknown();
    struct gp_track k = gp_track_unknown();
    gp_trace_init(&s->t, GP_NEED_ALL);
    p.pid = 100 + producer;
    k.process = gp_trace_process(&s->t, &p);
    k.tid = 7;
    s->track = gp_trace_track(&s->t, &k);
    s->w = gp_gpt_writer_new(&o, put_block, f);
}

static void put_range(struct source *s, int64_t i)
{
    char name[2] = {(char)('a' + i % 26), 0};
    gp_events_add(&s->t.events[GP_RANGE], 1000 * i, 10, s->track, gp_intern_cstr(&s->t.strings, name));
    assert_int_equal(gp_gpt_flush(s->w, &s->t), 0);
    gp_trace_clear_events(&s->t);
}

static void close_source(struct source *s, bool in_order)
{
    if (in_order) assert_int_equal(gp_gpt_end(s->w, &s->t), 0);
    gp_gpt_writer_free(s->w);
    gp_trace_release(&s->t);
}

static void read_back(struct fixture *f, struct gp_trace *t)
{
    struct gp_read_opts opts = {.need = GP_NEED_ALL};
    struct gp_err err = {0};
    assert_int_equal(gp_trace_read_memory(t, f->got.data, f->got.n, &opts, &err), 0);
}

TEST(names_go_on_and_events_wait)
{
    struct fixture f;
    struct source s;
    begin(&f, 100, 1 << 20);
    open_source(&s, &f, 1);
    put_range(&s, 0);
    assert_true(f.others > 0);
    assert_int_equal(f.events, 0);
    gp_recorder_dump(f.r);
    assert_int_equal(f.events, 1);
    gp_recorder_dump(f.r); /* nothing is written twice */
    assert_int_equal(f.events, 1);
    close_source(&s, false);
    end(&f);
}

TEST(the_last_ones_are_a_whole_trace)
{
    struct fixture f;
    struct source s;
    struct gp_trace t;
    begin(&f, 100, 1 << 20);
    open_source(&s, &f, 3);
    for (int i = 0; i < 20; i++) { /* at 0, 30, 60, ... 570: the last 100 are from 480 on */
        f.now_ns = 30 * i;
        put_range(&s, i);
    }
    close_source(&s, true);
    gp_recorder_end(f.r);
    read_back(&f, &t);
    assert_int_equal(t.events[GP_RANGE].n, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(t.events[GP_RANGE].start_ns[i], 1000 * (16 + i));
    assert_string_equal(gp_trace_str(&t, t.events[GP_RANGE].name[0]), "q"); /* the 17th letter */
    assert_string_equal(gp_trace_verdict(&t), "clean"); /* no block is missed, and the end is there */
    gp_trace_release(&t);
    end(&f);
}

TEST(a_process_that_did_not_end_has_no_end)
{
    struct fixture f;
    struct source a, b;
    struct gp_trace t;
    begin(&f, 1000, 1 << 20);
    open_source(&a, &f, 1);
    open_source(&b, &f, 2);
    put_range(&a, 0);
    put_range(&b, 1);
    close_source(&a, true);
    close_source(&b, false);
    gp_recorder_end(f.r);
    read_back(&f, &t);
    assert_int_equal(t.events[GP_RANGE].n, 2);
    assert_true(t.issues[GP_Q_TRUNCATED].count > 0);
    gp_trace_release(&t);
    end(&f);
}

TEST(memory_is_bounded_and_what_that_costs_is_counted)
{
    struct fixture f;
    struct source s;
    begin(&f, 1000000, 300);
    open_source(&s, &f, 1);
    for (int i = 0; i < 50; i++) put_range(&s, i);
    gp_recorder_dump(f.r);
    assert_true(f.events > 0 && f.events < 10);
    assert_int_equal(gp_recorder_crowded_out(f.r), 50 - f.events);
    close_source(&s, false);
    end(&f);
}

TEST(the_last_gpu_work_is_known)
{
    struct fixture f;
    struct source s;
    struct gp_config c;
    begin(&f, 1000, 1 << 20);
    open_source(&s, &f, 1);
    f.now_ns = 50;
    put_range(&s, 0);
    assert_int_equal(gp_recorder_gpu_ns(f.r), 0);
    memset(&c, 0, sizeof c);
    uint32_t config = gp_trace_config(&s.t, &c);
    size_t row = gp_events_add(&s.t.events[GP_GPU], 5, 5, s.track, 0);
    gp_set_config(&s.t.events[GP_GPU], row, config);
    f.now_ns = 70;
    assert_int_equal(gp_gpt_flush(s.w, &s.t), 0);
    assert_int_equal(gp_recorder_gpu_ns(f.r), 70);
    close_source(&s, false);
    end(&f);
}

TEST(what_is_no_block_is_dropped)
{
    struct fixture f;
    begin(&f, 1000, 1 << 20);
    gp_recorder_put(f.r, "GPBK", 4, 1);
    gp_recorder_end(f.r);
    assert_int_equal(f.events + f.others, 0);
    end(&f);
}
