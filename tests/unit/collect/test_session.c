// One process as the launcher sees it: buffers, names, notes and windows become a trace; what it leaves
// behind is salvaged.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/records/notes.h"
#include "collect/session.h"
#include "collect/wire/shared.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/reader.h"
#include "tests/unit/record_make.h"
#include "tests/unit/unit.h"

enum { BUFFER = 65536, NAME = 0x5000, NOW = 1000000 };

/* A process that exists only in its memory and its frames. */
struct fixture {
    struct gp_shared shared;
    struct gp_session *session;
    struct gp_buf file;
    uint64_t seq;
};

static int on_block(void *ctx, const void *block, size_t n)
{
    gp_buf_put(ctx, block, n);
    return 0;
}

static void begin(struct fixture *f)
{
    uint8_t head[GP_GPT_HEADER_SIZE];
    struct gp_err err = {0};
    memset(f, 0, sizeof *f);
    gp_gpt_file_header(head);
    gp_buf_put(&f->file, head, sizeof head);
    struct gp_session_opts o = {.producer = 3,
                                .pid = PID,
                                .rank = 2,
                                .api = GP_API_LEVEL_SYNC,
                                .buffer_bytes = BUFFER,
                                .now_ns = NOW,
                                .on_block = on_block,
                                .ctx = &f->file};
    f->session = gp_session_new(&o, &err);
    assert_non_null(f->session);
    struct gp_shared_opts shape = gp_shared_size(BUFFER);
    assert_true(gp_shared_map(&f->shared, gp_session_fd(f->session), &shape));
    gp_session_sent(f->session);
    gp_shared_log(&f->shared, GP_NAME_THREAD, PID, "program");
    gp_shared_log(&f->shared, GP_NAME_RUNTIME, LAUNCH_CBID, "cudaLaunchKernel_v7000");
    gp_shared_learn(&f->shared, GP_ACTIVITY_CONCURRENT_KERNEL, KERNEL_BYTES);
    gp_shared_learn(&f->shared, GP_ACTIVITY_RUNTIME, CALL_BYTES);
    gp_shared_set_earliest(&f->shared, NOW);
}

static bool send(struct fixture *f, enum gp_wire_type type, const void *frame, size_t n)
{
    return gp_session_take(f->session, (uint32_t)type, frame, n);
}

static uint8_t *take_slot(struct fixture *f, uint32_t i)
{
    atomic_store(&gp_shared_slot(&f->shared, i)->state, GP_SLOT_OUT);
    return gp_shared_buffer(&f->shared, i);
}

static void mark_slot(struct fixture *f, uint32_t i, enum gp_slot_state state, const uint8_t *end,
                      uint64_t records)
{
    struct gp_slot *slot = gp_shared_slot(&f->shared, i);
    slot->valid = (uint32_t)(end - gp_shared_buffer(&f->shared, i));
    slot->seq = ++f->seq;
    slot->records = records;
    slot->names = gp_shared_logged(&f->shared);
    atomic_store(&slot->state, state);
}

static bool send_filled(struct fixture *f, uint32_t i)
{
    struct gp_wire_filled frame = {i, 0};
    return send(f, GP_WIRE_FILLED, &frame, sizeof frame);
}

/* A call and its kernel of that number, at times that follow from it. */
static uint8_t *put_launch(uint8_t *p, uint32_t corr)
{
    int64_t t = NOW + 1000 * (int64_t)corr;
    return make_kernel(make_call(p, corr, t, t + 100), NAME, corr, t + 200, t + 300);
}

static void send_note(struct fixture *f, enum gp_note_op op, int64_t ns, const char *text)
{
    struct gp_note note = {.op = (uint16_t)op, .time_ns = ns, .domain = "", .text = text};
    struct gp_buf b = {0};
    gp_notes_put(&b, TID, &note);
    assert_true(send(f, GP_WIRE_NOTES, b.data, b.n));
    gp_buf_release(&b);
}

/* The trace that came out. */
static struct gp_trace end(struct fixture *f)
{
    struct gp_trace t;
    struct gp_read_opts opts = {.threads = 1};
    struct gp_err err = {0};
    gp_session_free(f->session);
    gp_shared_unmap(&f->shared);
    assert_int_equal(gp_trace_read_memory(&t, f->file.data, f->file.n, &opts, &err), 0);
    gp_buf_release(&f->file);
    return t;
}

static void bye(struct fixture *f, int64_t ns)
{
    struct gp_wire_bye b = {ns};
    assert_true(send(f, GP_WIRE_BYE, &b, sizeof b));
    gp_session_end(f->session, GP_END_BYE, ns);
}

static const char *kernel_name(const struct gp_trace *t, size_t row)
{
    return gp_trace_str(t, t->events[GP_GPU].name[row]);
}

TEST(buffers_become_events_with_the_names_of_their_time)
{
    struct fixture f;
    begin(&f);
    gp_shared_log(&f.shared, GP_NAME_TEXT, NAME, "gemm");
    mark_slot(&f, 0, GP_SLOT_FILLED, put_launch(take_slot(&f, 0), 1), 2);
    gp_shared_log(&f.shared, GP_NAME_TEXT, NAME, "relu"); /* another module at that place */
    mark_slot(&f, 1, GP_SLOT_FILLED, put_launch(take_slot(&f, 1), 2), 2);
    assert_true(send_filled(&f, 0));
    assert_int_equal(atomic_load(&gp_shared_slot(&f.shared, 0)->state), GP_SLOT_DONE);
    assert_int_equal(gp_shared_buffer(&f.shared, 0)[0], 0);
    assert_false(send_filled(&f, 0)); /* it is not filled any more */
    assert_true(send_filled(&f, 1));
    bye(&f, NOW + 5000);
    assert_int_equal(gp_session_stats(f.session)->kernels, 2);
    struct gp_trace t = end(&f);
    assert_int_equal(t.events[GP_GPU].n, 2);
    assert_int_equal(t.events[GP_API].n, 2);
    assert_string_equal(kernel_name(&t, 0), "gemm");
    assert_string_equal(kernel_name(&t, 1), "relu");
    assert_string_equal(gp_trace_str(&t, t.events[GP_API].name[0]), "cudaLaunchKernel");
    assert_int_equal(t.processes.at[0].pid, PID);
    assert_string_equal(gp_trace_str(&t, t.processes.at[0].name), "program");
    assert_int_equal(t.issues[GP_Q_TRUNCATED].count, 0);
    gp_trace_release(&t);
}

TEST(what_was_handed_over_or_not_is_taken_once)
{
    struct fixture f;
    begin(&f);
    gp_shared_log(&f.shared, GP_NAME_TEXT, NAME, "gemm");
    mark_slot(&f, 5, GP_SLOT_FILLED, put_launch(take_slot(&f, 5), 1), 2);
    assert_true(send_filled(&f, 5));
    mark_slot(&f, 4, GP_SLOT_FILLED, put_launch(take_slot(&f, 4), 2), 2); /* not told of any more */
    mark_slot(&f, 3, GP_SLOT_RETURNED, put_launch(put_launch(take_slot(&f, 3), 3), 4), 0);
    uint8_t *p = put_launch(take_slot(&f, 2), 5); /* being filled */
    make_kernel(p, NAME + 1, 6, NOW + 7000, 0);   /* has not ended */
    gp_session_end(f.session, GP_END_CUT, NOW + 9000);
    assert_int_equal(gp_session_stats(f.session)->salvaged, 2 + 4 + 2);
    assert_int_equal(gp_session_stats(f.session)->kernels, 5);
    gp_session_end(f.session, GP_END_CUT, NOW + 9000); /* there is nothing left */
    struct gp_trace t = end(&f);
    assert_int_equal(t.events[GP_GPU].n, 5);
    assert_int_equal(t.events[GP_API].n, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(t.events[GP_GPU].start_ns[i], NOW + 1000 * (int64_t)(i + 1) + 200);
    assert_int_equal(t.losses.n, 1);
    assert_string_equal(gp_trace_str(&t, t.losses.at[0].reason), "had not ended when the process did");
    gp_trace_release(&t);
}

TEST(a_process_that_lives_on_gives_what_it_had_handed_over)
{
    struct fixture f;
    begin(&f);
    mark_slot(&f, 0, GP_SLOT_FILLED, put_launch(take_slot(&f, 0), 1), 2);
    put_launch(take_slot(&f, 1), 2);
    gp_session_end(f.session, GP_END_STOPPED, NOW + 9000);
    struct gp_trace t = end(&f);
    assert_int_equal(t.events[GP_GPU].n, 1);
    assert_string_equal(kernel_name(&t, 0), "[unnamed kernel]"); /* its name was never in the log */
    gp_trace_release(&t);
}

TEST(open_ranges_end_with_the_last_that_was_seen)
{
    struct fixture f;
    begin(&f);
    struct gp_wire_window w = {0, INT64_MIN, INT64_MAX};
    assert_true(send(&f, GP_WIRE_WINDOW, &w, sizeof w));
    send_note(&f, GP_NOTE_PUSH, NOW + 100, "outer");
    put_launch(take_slot(&f, 1), 4);
    gp_session_end(f.session, GP_END_CUT, NOW + 900000);
    struct gp_trace t = end(&f);
    assert_int_equal(t.events[GP_RANGE].n, 1);
    assert_string_equal(gp_trace_str(&t, t.events[GP_RANGE].name[0]), "outer");
    assert_int_equal(t.events[GP_RANGE].start_ns[0], NOW + 100);
    assert_int_equal(t.events[GP_RANGE].dur_ns[0], 4000 + 300 - 100); /* when the kernel ended */
    assert_string_equal(gp_trace_str(&t, gp_get_extra(&t.events[GP_RANGE], 0)), "{\"open\":true}");
    gp_trace_release(&t);
}

TEST(windows_cut_ranges_and_are_marked)
{
    struct fixture f;
    begin(&f);
    struct gp_wire_window frames[] = {
        {0, NOW + 10, INT64_MAX}, {0, NOW + 10, NOW + 50}, {1, NOW + 60, NOW + 70}};
    for (size_t i = 0; i < 3; i++) assert_true(send(&f, GP_WIRE_WINDOW, &frames[i], sizeof frames[i]));
    struct gp_wire_window bad[] = {{3, 1, 2},
                                   {0, NOW + 10, NOW + 90},
                                   {1, NOW + 60, NOW + 80},
                                   {UINT64_MAX, 1, 2},
                                   {2, INT64_MAX - 5, INT64_MAX}, /* times that a trace cannot hold */
                                   {2, NOW + 80, INT64_MAX - 5},
                                   {2, NOW + 60, NOW + 90}}; /* begins in the one before */
    for (size_t i = 0; i < GP_COUNT(bad); i++) assert_false(send(&f, GP_WIRE_WINDOW, &bad[i], sizeof bad[i]));
    send_note(&f, GP_NOTE_PUSH, NOW, "a");
    send_note(&f, GP_NOTE_POP, NOW + 40, "");
    send_note(&f, GP_NOTE_PUSH, NOW + 80, "b"); /* in no window */
    send_note(&f, GP_NOTE_POP, NOW + 90, "");
    bye(&f, NOW + 100);
    struct gp_trace t = end(&f);
    assert_int_equal(t.events[GP_MARK].n, 4);
    assert_int_equal(t.events[GP_RANGE].n, 1);
    assert_int_equal(t.events[GP_RANGE].start_ns[0], NOW + 10);
    assert_int_equal(t.events[GP_RANGE].dur_ns[0], 30);
    gp_trace_release(&t);
}

TEST(a_process_that_never_got_far_leaves_nothing)
{
    struct fixture f;
    size_t none = GP_GPT_HEADER_SIZE;
    begin(&f);
    assert_true(send(&f, GP_WIRE_BYE, NULL, 0)); /* there was no CUPTI */
    gp_session_end(f.session, GP_END_BYE, NOW);
    assert_int_equal(f.file.n, none);
    gp_session_free(f.session);
    gp_shared_unmap(&f.shared);
    gp_buf_release(&f.file);
    begin(&f);
    gp_shared_unmap(&f.shared);
    gp_session_free(f.session); /* nobody said that it has ended */
    assert_int_equal(f.file.n, none);
    gp_buf_release(&f.file);
}

TEST(a_device_is_stored_once_as_the_driver_describes_it)
{
    struct fixture f;
    struct gp_wire_device d = {
        .id = 1, .sms = 132, .memory_bytes = 151397597184, .memory_bandwidth_bps = 4916736000000};
    begin(&f);
    memset(d.name, 'x', sizeof d.name); /* not terminated */
    assert_true(send(&f, GP_WIRE_DEVICE, &d, sizeof d));
    d.sms = 1;
    assert_true(send(&f, GP_WIRE_DEVICE, &d, sizeof d));
    assert_false(send(&f, GP_WIRE_DEVICE, &d, sizeof d - 4));
    d.id = -1;
    assert_false(send(&f, GP_WIRE_DEVICE, &d, sizeof d));
    d.id = 1024;
    assert_false(send(&f, GP_WIRE_DEVICE, &d, sizeof d));
    bye(&f, NOW + 10);
    struct gp_trace t = end(&f);
    assert_int_equal(t.devices.n, 1);
    const struct gp_device *g = &t.devices.at[0];
    assert_int_equal(g->id, 1);
    assert_int_equal(g->sms, 132);
    assert_int_equal(g->memory_bytes, 151397597184);
    assert_int_equal(g->memory_bandwidth_bps, 4916736000000);
    assert_int_equal(strlen(gp_trace_str(&t, g->name)), sizeof d.name - 1);
    gp_trace_release(&t);
}

/* The time it began at is what it wrote there. */
TEST(a_process_that_began_at_the_end_of_time_is_salvaged)
{
    struct fixture f;
    begin(&f);
    gp_shared_log(&f.shared, GP_NAME_TEXT, NAME, "gemm");
    gp_shared_set_earliest(&f.shared, INT64_MAX);
    uint8_t *p = take_slot(&f, 0);
    p = make_kernel(p, NAME, 1, INT64_MAX - 20, INT64_MAX - 10); /* as late as it says that it lives */
    make_kernel(p, NAME, 2, NOW + 200, NOW + 300);               /* before that */
    gp_session_end(f.session, GP_END_CUT, NOW + 9000);
    assert_int_equal(gp_session_stats(f.session)->salvaged, 1);
    struct gp_trace t = end(&f);
    gp_trace_release(&t);
}

/* Frames of all types and lengths full of all kinds of bytes, over memory that is full of them, too. */
TEST(nothing_that_a_process_does_harms_us)
{
    uint64_t seed = 7;
    for (int round = 0; round < 20; round++) {
        struct fixture f;
        begin(&f);
        uint8_t bytes[512];
        for (uint32_t i = 0; i < 4; i++) {
            uint8_t *p = take_slot(&f, i);
            for (size_t k = 0; k < BUFFER; k++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                p[k] = (uint8_t)(k % 8 ? (k % 8 < 4 ? 0 : seed >> 60) : (seed >> 56) % 50);
            }
            struct gp_slot *slot = gp_shared_slot(&f.shared, i);
            slot->valid = (uint32_t)(seed >> 32);
            slot->records = seed;
            slot->names = seed << 3;
            atomic_store(&slot->state, GP_SLOT_OUT + i % 3);
        }
        for (uint32_t type = 0; type <= GP_WIRE_DEVICE; type++)
            for (size_t n = 0; n < sizeof bytes; n += 4) {
                for (size_t k = 0; k < n; k++) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;
                    bytes[k] = (uint8_t)(k % 8 < 2 ? seed >> 59 : seed >> 63 ? seed >> 56 : 0);
                }
                gp_session_take(f.session, type, bytes, n);
            }
        gp_session_end(f.session, round % 2 ? GP_END_CUT : GP_END_STOPPED, NOW * 2);
        struct gp_trace t = end(&f);
        gp_trace_release(&t);
    }
}

/* ---- notes on their way ---- */

TEST(notes_arrive_as_they_were)
{
    struct gp_ring *r = gp_ring_new(1 << 16);
    struct gp_note a = {.op = GP_NOTE_PUSH, .time_ns = 5, .domain = "lib", .id = 7, .other = 9, .args_n = 4};
    struct gp_note b = {.op = GP_NOTE_MARK, .time_ns = 6, .domain = "", .text = "registered"};
    assert_true(gp_ring_put(r, &a, "text", 4, "\"x\":", 0));
    assert_true(gp_ring_put(r, &b, "", 0, NULL, 0));
    struct gp_buf bytes = {0};
    for (const struct gp_note *n; (n = gp_ring_peek(r)); gp_ring_pop(r, n)) gp_notes_put(&bytes, TID, n);
    gp_ring_free(r);
    struct gp_notes notes = {0};
    int64_t tid = 0;
    gp_notes_set(&notes, bytes.data, bytes.n);
    const struct gp_note *n = gp_notes_next(&notes, &tid);
    assert_non_null(n);
    assert_int_equal(tid, TID);
    assert_int_equal(n->op, GP_NOTE_PUSH);
    assert_int_equal(n->time_ns, 5);
    assert_int_equal(n->id, 7);
    assert_int_equal(n->other, 9);
    assert_string_equal(n->domain, "lib");
    assert_string_equal(gp_note_text(n), "text");
    assert_memory_equal(gp_note_args(n), "\"x\":", 4);
    n = gp_notes_next(&notes, &tid);
    assert_non_null(n);
    assert_string_equal(gp_note_text(n), "registered");
    assert_string_equal(n->domain, "");
    assert_int_equal(n->args_n, 0);
    assert_null(gp_notes_next(&notes, &tid));
    assert_false(notes.bad);
    for (size_t cut = 1; cut < bytes.n; cut++) { /* what is cut off is noticed, unless it is a whole note */
        unsigned whole = 0;
        uint8_t *copy = gp_alloc(cut);
        memcpy(copy, bytes.data, cut);
        gp_notes_set(&notes, copy, cut);
        while (gp_notes_next(&notes, &tid)) whole++;
        assert_true(whole < 2);
        assert_true(notes.bad || whole == 1);
        free(copy);
    }
    for (size_t i = 0; i < bytes.n; i++) /* any byte may be any other */
        for (unsigned m = 1; m < 256; m *= 3) {
            bytes.data[i] = (char)(bytes.data[i] ^ (char)m);
            gp_notes_set(&notes, bytes.data, bytes.n);
            while ((n = gp_notes_next(&notes, &tid)))
                assert_true(strlen(gp_note_text(n)) + strlen(n->domain) < bytes.n);
            bytes.data[i] = (char)(bytes.data[i] ^ (char)m);
        }
    gp_notes_release(&notes);
    gp_buf_release(&bytes);
}
