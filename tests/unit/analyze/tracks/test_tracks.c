/* The layout of timelines. All expected lanes, sums and samples are worked out by hand from the times in the
 * test. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/tracks/tracks.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct scene {
    struct gp_trace t;
    struct gp_view v;
    struct gp_hta h;
    struct gp_tracks l;
    uint32_t process, main, s7;
};

static int begin(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    gp_trace_init(&s->t, GP_NEED_ALL);
    s->process = mk_process(&s->t, 1, 0);
    s->main = mk_thread(&s->t, s->process, 1);
    s->s7 = mk_stream(&s->t, s->process, 0, 7);
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct scene *s = *state;
    gp_tracks_release(&s->l);
    gp_view_release(&s->v);
    gp_hta_release(&s->h);
    gp_trace_release(&s->t);
    free(s);
    return 0;
}

static void run_in(struct scene *s, int64_t from, int64_t to)
{
    struct gp_err err;
    gp_trace_finish(&s->t);
    gp_hta_init(&s->h, NULL);
    assert_int_equal(gp_hta_add_viewed(&s->h, &s->t, &s->v, &err), 0);
    gp_hta_finish(&s->h);
    gp_tracks_build(&s->l, &s->v, &s->h, &(struct gp_tracks_opts){from, to});
}

static void run(struct scene *s) { run_in(s, 0, 0); }

static size_t op(struct scene *s, int64_t start, int64_t stop, const char *name)
{
    return gp_events_add(&s->t.events[GP_OP], start, stop - start, s->main, mk_name(&s->t, name));
}

static const struct gp_tracks_track *track(const struct scene *s, const char *id)
{
    for (size_t i = 0; i < s->l.tracks.n; i++)
        if (!strcmp(gp_string(&s->l.strings, s->l.tracks.at[i].id), id)) return &s->l.tracks.at[i];
    fail_msg("no track %s", id);
    return NULL;
}

/* "a b|c": the names on each lane of a track. */
static const char *lanes_of(const struct scene *s, const struct gp_tracks_track *k)
{
    static char text[4096];
    struct gp_buf b = {0};
    for (size_t i = k->first_lane; i < k->first_lane + k->lanes; i++) {
        const struct gp_lane *lane = &s->l.lanes.at[i];
        if (i > k->first_lane) gp_buf_putc(&b, '|');
        for (size_t e = lane->first; e < lane->first + lane->n; e++) {
            if (e > lane->first) gp_buf_putc(&b, ' ');
            gp_tracks_put_name(&s->l, s->l.name[e], &b);
        }
    }
    snprintf(text, sizeof text, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
    return text;
}

#define SCENE(name) TEST_WITH(begin, end, name)

SCENE(test_nesting)
{
    struct scene *s = *state;
    op(s, 0, 100000, "a");
    op(s, 10000, 50000, "b");
    op(s, 10000, 30000, "c");
    op(s, 60000, 90000, "d");
    op(s, 100000, 120000, "e"); /* begins where a ends */
    run(s);
    const struct gp_tracks_track *k = track(s, "process 1/thread 1");
    assert_string_equal(lanes_of(s, k), "a e|b d|c");
    assert_int_equal(k->count, 5);
    assert_int_equal(k->total_ns, 100000 + 40000 + 20000 + 30000 + 20000);
    assert_int_equal(k->crossed + k->clamped + k->crowded, 0);
    assert_int_equal(s->l.begin_ns, 0);
    assert_int_equal(s->l.end_ns, 120000);
}

/* x ends after a, in which it began, and after d, which is open, too: no lane of theirs is free. y is held
 * only by x. */
SCENE(test_crossing)
{
    struct scene *s = *state;
    op(s, 0, 100000, "a");
    op(s, 60000, 90000, "d");
    op(s, 80000, 120000, "x");
    op(s, 95000, 115000, "y");
    op(s, 101000, 102000, "z");
    op(s, 121000, 130000, "e");
    run(s);
    const struct gp_tracks_track *k = track(s, "process 1/thread 1");
    assert_string_equal(lanes_of(s, k), "a e|d|x|y|z");
    assert_int_equal(k->crossed, 1);
    assert_int_equal(k->total_ns, 100000 + 30000 + 40000 + 20000 + 1000 + 9000);
}

/* b ends 900 ns after a: rounded. f begins where a ends, and what lies in f finds b's lane free. Durations
 * stay. */
SCENE(test_rounding)
{
    struct scene *s = *state;
    op(s, 0, 100000, "a");
    op(s, 50000, 100900, "b");
    op(s, 100000, 200000, "f");
    op(s, 100500, 110000, "g");
    op(s, 150000, 201001, "h"); /* 1001 ns too long: it crosses */
    run(s);
    const struct gp_tracks_track *k = track(s, "process 1/thread 1");
    assert_string_equal(lanes_of(s, k), "a f|b g h");
    assert_int_equal(k->clamped, 1);
    assert_int_equal(k->crossed, 1);
    assert_int_equal(k->total_ns, 100000 + 50900 + 100000 + 9500 + 51001);
}

/* Kernels that overlap on a stream truly do, however little. */
SCENE(test_overlapping_kernels)
{
    struct scene *s = *state;
    mk_kernel(&s->t, s->s7, 0, 1000, "k", 1);
    mk_kernel(&s->t, s->s7, 999, 1900, "l", 2);
    mk_kernel(&s->t, s->s7, 1900, 2000, "m", 3);
    run(s);
    const struct gp_tracks_track *k = track(s, "gpu 0/stream 7");
    assert_string_equal(lanes_of(s, k), "k m|l");
    assert_int_equal(k->crossed, 1);
    assert_true(k->gpu);
}

SCENE(test_too_many_at_once)
{
    struct scene *s = *state;
    for (int i = 0; i < 300; i++) op(s, i, 100000 + 2000 * i, "n"); /* each crosses the ones before */
    run(s);
    const struct gp_tracks_track *k = track(s, "process 1/thread 1");
    assert_int_equal(k->lanes, GP_TRACKS_MOST);
    assert_int_equal(k->count, 300);
    assert_int_equal(k->crowded, 300 - GP_TRACKS_MOST);
    assert_int_equal(s->l.lanes.at[k->first_lane + GP_TRACKS_MOST - 1].n, 300 - GP_TRACKS_MOST + 1);
    assert_int_equal(k->total_ns, 300 * 100000 + 1999 * (299 * 300 / 2));
}

/* Every event is there once, its position is known, and lanes are in order. */
SCENE(test_nothing_is_lost)
{
    struct scene *s = *state;
    uint64_t dice = 1;
    int64_t sum = 0;
    enum { N = 5000 };
    for (int i = 0; i < N; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        int64_t start = (int64_t)(dice >> 40) % 1000000, dur = (int64_t)(dice >> 20) % 3000 * (i % 3);
        if (i % 2)
            gp_events_add(&s->t.events[GP_PYTHON], start, dur, s->main, mk_name(&s->t, "nn.Module: M_0"));
        else op(s, start, start + dur, "o");
        sum += dur;
    }
    run(s);
    const struct gp_tracks_track *k = track(s, "process 1/thread 1");
    assert_int_equal(k->count, N);
    assert_int_equal(k->total_ns, sum);
    uint8_t *seen = calloc(N, 1);
    for (size_t i = k->first_lane; i < k->first_lane + k->lanes; i++) {
        const struct gp_lane *lane = &s->l.lanes.at[i];
        for (size_t e = lane->first; e < lane->first + lane->n; e++) {
            seen[s->l.row[e] * 2 + (s->l.table[e] == GP_OP)]++;
            assert_int_equal(gp_tracks_place(&s->l, s->l.table[e], s->l.row[e]), e);
            if (e > lane->first) assert_true(gp_tracks_start(&s->l, e) >= gp_tracks_start(&s->l, e - 1));
            if (e > lane->first && k->crowded + k->clamped == 0)
                assert_true(gp_tracks_start(&s->l, e) >=
                            gp_tracks_start(&s->l, e - 1) + gp_tracks_dur(&s->l, e - 1));
        }
    }
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    free(seen);
}

SCENE(test_window)
{
    struct scene *s = *state;
    op(s, 0, 1000, "before");
    op(s, 500, 5000, "into");
    op(s, 3000, 3000, "instant");
    op(s, 4000, 9000, "out");
    op(s, 6000, 7000, "after");
    run_in(s, 1000, 6000);
    assert_string_equal(lanes_of(s, track(s, "process 1/thread 1")), "into|instant out");
    assert_int_equal(s->l.begin_ns, 0); /* time 0 is that of the trace */
    assert_int_equal(s->l.end_ns, 9000);
    assert_int_equal(gp_tracks_place(&s->l, GP_OP, 0), UINT32_MAX);
}

/* Launches at 0, 10000, 20000; starts at 15000, 30000, 40000. */
SCENE(test_queue_and_cause)
{
    struct scene *s = *state;
    for (uint64_t i = 0; i < 3; i++) {
        static const int64_t starts[] = {15000, 30000, 40000};
        mk_call(&s->t, s->main, (int64_t)i * 10000, (int64_t)i * 10000 + 2000, "cudaLaunchKernel", i + 1);
        mk_kernel(&s->t, s->s7, starts[i], starts[i] + 5000, "k", i + 1);
    }
    run(s);
    static const struct gp_tracks_sample expected[] = {{0, 1},     {10000, 2}, {15000, 1},
                                                       {20000, 2}, {30000, 1}, {40000, 0}};
    const struct gp_tracks_counter *c = &s->l.counters.at[track(s, "gpu 0/queue")->counter];
    assert_int_equal(c->samples.n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(c->samples.at[i].at_ns, expected[i].at_ns);
        assert_true(c->samples.at[i].value == expected[i].value);
    }
    assert_false(c->joined);
    size_t first = s->l.lanes.at[track(s, "gpu 0/stream 7")->first_lane].first;
    assert_int_equal(gp_tracks_cause(&s->l, first + 1), gp_tracks_place(&s->l, GP_API, 1));
    /* idle between the kernels: 20000..30000 and 35000..40000 */
    assert_int_equal(track(s, "gpu 0/idle")->total_ns, 15000);
}

/* Each device adds counters while those of the ones before it are there. */
SCENE(test_counters_of_many_devices)
{
    struct scene *s = *state;
    for (uint64_t d = 0; d < 16; d++) {
        uint32_t stream = mk_stream(&s->t, s->process, (int64_t)d, 7);
        mk_call(&s->t, s->main, 0, 1000, "cudaLaunchKernel", 2 * d + 1);
        mk_kernel(&s->t, stream, 10000, 15000, "k", 2 * d + 1);
        mk_call(&s->t, s->main, 20000, 21000, "cudaMemcpyAsync", 2 * d + 2);
        size_t copy = mk_gpu(&s->t, stream, 30000, 34000, GP_MEMCPY, "Memcpy HtoD", 2 * d + 2);
        gp_set_bytes(&s->t.events[GP_GPU], copy, 8000); /* 2 bytes a ns */
    }
    run(s);
    static const struct gp_tracks_sample queue[] = {{0, 1}, {10000, 0}, {20000, 1}, {30000, 0}};
    static const struct gp_tracks_sample copies[] = {{30000, 2}, {34000, 0}};
    assert_int_equal(s->l.counters.n, 3 * 16);
    for (int d = 0; d < 16; d++) {
        char id[32];
        snprintf(id, sizeof id, "gpu %d/queue", d);
        const struct gp_tracks_counter *c = &s->l.counters.at[track(s, id)->counter];
        assert_int_equal(c->samples.n, 4);
        assert_memory_equal(c->samples.at, queue, sizeof queue);
        snprintf(id, sizeof id, "gpu %d/copies", d);
        c = &s->l.counters.at[track(s, id)->counter];
        assert_int_equal(c->samples.n, 2);
        assert_memory_equal(c->samples.at, copies, sizeof copies);
    }
}

SCENE(test_long_counters)
{
    struct scene *s = *state;
    for (int i = 0; i < 100000; i++) {
        size_t row = gp_events_add(&s->t.events[GP_COUNTER], i * 10, 0, s->main, mk_name(&s->t, "c"));
        gp_set_value(&s->t.events[GP_COUNTER], row, i == 77777 ? 1000 : i % 5);
    }
    op(s, 0, 1000, "o");
    run(s);
    const struct gp_tracks_counter *c = &s->l.counters.at[track(s, "process 1/counter c")->counter];
    double most = 0;
    assert_true(c->joined);
    assert_true(c->samples.n <= GP_TRACKS_SAMPLES);
    for (size_t i = 0; i < c->samples.n; i++) {
        if (i) assert_true(c->samples.at[i].at_ns > c->samples.at[i - 1].at_ns);
        if (c->samples.at[i].value > most) most = c->samples.at[i].value;
    }
    assert_true(most == 1000); /* peaks stay */
}

SCENE(test_ids_differ)
{
    struct scene *s = *state;
    /* three threads that a file calls the same, of processes that have one number */
    for (int i = 0; i < 3; i++) {
        struct gp_process p = gp_process_unknown();
        p.pid = 5;
        p.producer = (uint32_t)i;
        uint32_t thread = mk_thread(&s->t, gp_trace_process(&s->t, &p), 9);
        gp_events_add(&s->t.events[GP_OP], 10 * i, 5, thread, mk_name(&s->t, "o"));
    }
    run(s);
    track(s, "process 5/thread 9");
    track(s, "process 5 (2)/thread 9");
    track(s, "process 5 (3)/thread 9");
}

/* Two processes that use a device each know it as number 0: it may be one, and their work lies apart. */
SCENE(test_one_device_of_two_processes)
{
    struct scene *s = *state;
    uint32_t other = mk_process(&s->t, 2, 1);
    mk_kernel(&s->t, s->s7, 0, 1000, "k", 1);
    mk_kernel(&s->t, mk_stream(&s->t, other, 0, 7), 500, 1500, "k", 1);
    run(s);
    assert_string_equal(lanes_of(s, track(s, "gpu 0 process 1/stream 7")), "k");
    assert_string_equal(lanes_of(s, track(s, "gpu 0 process 2/stream 7")), "k");
}

/* Host 0..30000 (an operator) and 50000..60000; GPU 20000..55000. */
SCENE(test_activity)
{
    struct scene *s = *state;
    op(s, 0, 30000, "o");
    op(s, 10000, 20000, "in it");
    mk_call(&s->t, s->main, 50000, 60000, "cudaLaunchKernel", 9);
    mk_kernel(&s->t, s->s7, 20000, 55000, "k", 1);
    run(s);
    struct gp_activity a = gp_activity_of(&s->v, 0, 100000);
    assert_int_equal(a.span_ns, 100000);
    assert_int_equal(a.cpu_ns, 40000);
    assert_int_equal(a.gpu_ns, 35000);
    assert_int_equal(a.both_ns, 15000);
    a = gp_activity_of(&s->v, 25000, 52000);
    assert_int_equal(a.cpu_ns, 5000 + 2000);
    assert_int_equal(a.gpu_ns, 27000);
    assert_int_equal(a.both_ns, 7000);
}

/* What happens before time 0 of the file counts as well: 5 us at -50 us and 5 us at 40 us. */
SCENE(test_activity_before_zero)
{
    struct scene *s = *state;
    mk_kernel(&s->t, s->s7, -50000, -45000, "a", 1);
    mk_kernel(&s->t, s->s7, 40000, 45000, "b", 2);
    run(s);
    struct gp_activity a = gp_activity_of(&s->v, -50000, 45000);
    assert_int_equal(a.span_ns, 95000);
    assert_int_equal(a.gpu_ns, 10000);
}

/* A device has one heading, above all processes: its waits for a whole context and the memory on it are
 * there, too. */
SCENE(test_one_heading_per_group)
{
    struct scene *s = *state;
    struct gp_track none = gp_track_unknown();
    none.kind = GP_TRACK_STREAM;
    none.process = s->process;
    none.tid = -1;
    none.device = 0;
    mk_kernel(&s->t, s->s7, 1000, 2000, "k", 1);
    op(s, 0, 500, "o");
    gp_events_add(&s->t.events[GP_SYNC], 2000, 500, gp_trace_track(&s->t, &none), mk_name(&s->t, "wait"));
    size_t row = gp_events_add(&s->t.events[GP_COUNTER], 0, 0, s->main, mk_name(&s->t, "c"));
    gp_set_value(&s->t.events[GP_COUNTER], row, 1);
    run(s);
    for (size_t i = 1; i < s->l.tracks.n; i++)
        assert_true(s->l.tracks.at[i].group >= s->l.tracks.at[i - 1].group);
    assert_int_equal(s->l.groups.n, 2);
    assert_int_equal(s->l.groups.at[0].device, 0);
    assert_string_equal(gp_string(&s->l.strings, track(s, "gpu 0/row -1/ranges")->name),
                        "no stream: waits for the whole context");
}

/* Rows that profilers write for themselves, without a process. */
SCENE(test_names_of_profilers)
{
    struct scene *s = *state;
    static const char *const pids[] = {" ", "Spans"}, *const names[] = {"profiler", "profiler: Spans"};
    for (int i = 0; i < 2; i++) {
        struct gp_process p = gp_process_unknown();
        struct gp_track k = gp_track_unknown();
        p.pid_text = mk_name(&s->t, pids[i]);
        k.kind = GP_TRACK_OTHER;
        k.process = gp_trace_process(&s->t, &p);
        k.tid_text = mk_name(&s->t, i ? "PyTorch Profiler" : " ");
        gp_events_add(&s->t.events[i ? GP_OTHER : GP_MARK], 10, 0, gp_trace_track(&s->t, &k),
                      mk_name(&s->t, "x"));
    }
    run(s);
    for (size_t i = 0; i < s->l.tracks.n; i++) {
        assert_true(gp_string_len(&s->l.strings, s->l.tracks.at[i].name) > 0);
        assert_string_equal(gp_string(&s->l.strings, s->l.groups.at[s->l.tracks.at[i].group].name),
                            names[s->l.tracks.at[i].sort != GP_TRACKS_MARKS]);
    }
}

SCENE(test_empty)
{
    struct scene *s = *state;
    run(s);
    assert_int_equal(s->l.n, 0);
    assert_int_equal(s->l.tracks.n, 0);
    assert_int_equal(s->l.begin_ns, s->l.end_ns);
}
