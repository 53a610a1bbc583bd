// What cannot be true of GPU events is found, what merely looks strange is left alone.
#include <stdio.h>
#include <stdlib.h>

#include "analyze/view/quality.h"
#include "analyze/view/repair.h"
#include "formats/base/err.h"
#include "formats/reader.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static const int64_t BASE = INT64_C(4368637478100000);

struct made {
    struct gp_trace t;
    uint32_t thread, s7, s9;
};

static struct made begin(void)
{
    struct made m;
    gp_trace_init(&m.t, GP_NEED_ALL);
    uint32_t p = mk_process(&m.t, 1, 0);
    m.thread = mk_thread(&m.t, p, 1);
    m.s7 = mk_stream(&m.t, p, 0, 7);
    m.s9 = mk_stream(&m.t, p, 0, 9);
    return m;
}

/* A launch 10 ns before the kernel. */
static void launched(struct made *m, uint32_t stream, int64_t start, int64_t end, uint64_t corr)
{
    mk_call(&m->t, m->thread, start - 10, start - 5, "cudaLaunchKernel", corr);
    mk_kernel(&m->t, stream, start, end, "k", corr);
}

static void expect(struct made *m, enum gp_repair repair, uint64_t times, uint64_t durations)
{
    gp_trace_finish(&m->t);
    gp_repair(&m->t, repair);
    assert_int_equal(m->t.issues[GP_Q_OUTLIER_TIME].count, times);
    assert_int_equal(m->t.issues[GP_Q_OUTLIER_DURATION].count, durations);
}

static int64_t gpu_ns(const struct made *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->t.events[GP_GPU].n; i++) sum += m->t.events[GP_GPU].dur_ns[i];
    return sum;
}

/* 100 kernels of 10 us in 1.2 ms; one of them is said to last 3.4 s. */
static struct made corrupt_duration(void)
{
    struct made m = begin();
    for (int i = 0; i < 100; i++)
        launched(&m, m.s7, BASE + i * 12000, BASE + i * 12000 + (i == 40 ? INT64_C(3400000000) : 10000),
                 (uint64_t)i + 1);
    return m;
}

TEST(test_duration_over_following_events)
{
    struct made m = corrupt_duration();
    expect(&m, GP_REPAIR_NONE, 0, 1);
    assert_int_equal(gpu_ns(&m), 99 * 10000 + INT64_C(3400000000)); /* told, nothing changed */
    gp_trace_release(&m.t);

    m = corrupt_duration();
    expect(&m, GP_REPAIR_CLIP, 0, 1);
    assert_int_equal(m.t.events[GP_GPU].n, 100);
    assert_int_equal(gpu_ns(&m), 99 * 10000 + 12000); /* ends where the next begins */
    gp_trace_release(&m.t);

    m = corrupt_duration();
    expect(&m, GP_REPAIR_DROP, 0, 1);
    assert_int_equal(m.t.events[GP_GPU].n, 99);
    assert_int_equal(gpu_ns(&m), 99 * 10000);
    struct gp_err err = {0};
    if (gp_trace_check(&m.t, &err)) fail_msg("%s", err.msg);
    assert_int_equal(m.t.events[GP_GPU].corr[40], 42); /* the columns moved together */
    gp_trace_release(&m.t);
}

TEST(test_two_in_a_row)
{
    struct made m = begin();
    launched(&m, m.s7, BASE, BASE + INT64_C(3000000000), 1);
    launched(&m, m.s7, BASE + 12000, BASE + INT64_C(5000000000), 2);
    launched(&m, m.s7, BASE + 24000, BASE + 30000, 3);
    expect(&m, GP_REPAIR_CLIP, 0, 2);
    assert_int_equal(gpu_ns(&m), 12000 + 12000 + 6000);
    gp_trace_release(&m.t);
}

/* Clipped to nothing, an event comes behind the longer ones that start with it. */
TEST(test_clipping_keeps_the_order)
{
    struct made m = begin();
    launched(&m, m.s7, BASE, BASE + INT64_C(3000000000), 1);
    launched(&m, m.s7, BASE, BASE + 10, 2);
    expect(&m, GP_REPAIR_CLIP, 0, 1);
    assert_int_equal(m.t.events[GP_GPU].dur_ns[0], 10);
    assert_int_equal(m.t.events[GP_GPU].dur_ns[1], 0);
    assert_int_equal(m.t.events[GP_GPU].corr[0], 2);
    gp_trace_release(&m.t);
}

TEST(test_long_kernels_are_left_alone)
{
    struct made m = begin();
    launched(&m, m.s9, BASE, BASE + INT64_C(3400000000), 1); /* alone on its stream */
    for (uint64_t i = 0; i < 50; i++) /* on the other; the last lasts 2 s, and nothing comes after it */
        launched(&m, m.s7, BASE + (int64_t)i * 12000,
                 BASE + (int64_t)i * 12000 + (i == 49 ? 2000000000 : 10000), i + 2);
    expect(&m, GP_REPAIR_DROP, 0, 0);
    assert_int_equal(m.t.events[GP_GPU].n, 51);
    gp_trace_release(&m.t);
}

/* Programmatic dependent launch: each kernel begins before the last one ends, and short ones may end there,
 * too. */
TEST(test_dependent_launches_are_left_alone)
{
    struct made m = begin();
    for (uint64_t i = 0; i < 50; i++) {
        int64_t at = BASE + (int64_t)i * 3000000;
        launched(&m, m.s7, at, at + 2500000, 2 * i + 1);
        launched(&m, m.s7, at + 2480000, at + 2499000, 2 * i + 2);
    }
    expect(&m, GP_REPAIR_DROP, 0, 0);
    gp_trace_release(&m.t);
}

/* A row into which all streams were put: a transfer of 30 ms over hundreds of kernels. */
TEST(test_a_row_of_several_streams)
{
    struct made m = begin();
    for (uint64_t i = 0; i < 20; i++) {
        int64_t at = BASE + (int64_t)i * 40000000;
        mk_kernel(&m.t, m.s7, at, at + 30000000, "ncclDevKernel", 100 * i + 1);
        for (uint64_t k = 0; k < 9; k++)
            launched(&m, m.s7, at + 1000 + (int64_t)k * 12000, at + 11000 + (int64_t)k * 12000,
                     100 * i + k + 2);
    }
    expect(&m, GP_REPAIR_DROP, 0, 0);
    gp_trace_release(&m.t);
}

/* Branches of a graph share a stream's number; but 3.4 s among a hundred of 10 us by the same name is too
 * much. */
TEST(test_graphs)
{
    for (int corrupt = 0; corrupt < 2; corrupt++) {
        struct made m = begin();
        mk_call(&m.t, m.thread, BASE - 10, BASE - 5, "cudaGraphLaunch", 1);
        for (int i = 0; i < 100; i++) {
            int64_t at = BASE + i * 12000;
            size_t row =
                mk_kernel(&m.t, m.s7, at, at + (i == 40 && corrupt ? INT64_C(3400000000) : 10000), "k", 1);
            gp_set_graph(&m.t.events[GP_GPU], row, 3);
        }
        size_t row = mk_kernel(&m.t, m.s7, BASE + 1, BASE + 5000000, "branch", 1);
        gp_set_graph(&m.t.events[GP_GPU], row, 3);
        expect(&m, GP_REPAIR_NONE, 0, (uint64_t)corrupt);
        gp_trace_release(&m.t);
    }
}

TEST(test_starts_far_from_all_others)
{
    struct made m = begin();
    for (uint64_t i = 1; i <= 300; i++) {
        int64_t at = BASE + (int64_t)i * 12000;
        mk_call(&m.t, m.thread, at - 10, at - 5, "cudaLaunchKernel", i);
        int64_t wrong = i == 1 ? INT64_C(100000000000000) : i == 77 ? -INT64_C(7000000000000) : 0;
        mk_kernel(&m.t, m.s7, at - wrong, at - wrong + 10000, "k", i);
    }
    expect(&m, GP_REPAIR_CLIP, 2, 0);
    assert_int_equal(m.t.events[GP_GPU].n, 298); /* a wrong time cannot be mended */
    gp_trace_release(&m.t);
}

/* Half an hour between two phases of a job: launches say that it was so. */
TEST(test_long_pauses_are_left_alone)
{
    struct made m = begin();
    for (uint64_t i = 1; i <= 300; i++)
        launched(&m, m.s7, BASE + (int64_t)i * 12000 + (i > 2 ? INT64_C(1800000000000) : 0),
                 BASE + (int64_t)i * 12000 + 10000 + (i > 2 ? INT64_C(1800000000000) : 0), i);
    expect(&m, GP_REPAIR_DROP, 0, 0);
    gp_trace_release(&m.t);
}

/* Without launches: a third of the events before the pause is not an outlier, 1 of 300 is. */
TEST(test_pauses_without_launches)
{
    for (int early = 1; early <= 100; early += 99) {
        struct made m = begin();
        for (int i = 0; i < 300; i++) {
            int64_t at = BASE + i * 12000 + (i < early ? 0 : INT64_C(1800000000000));
            mk_kernel(&m.t, m.s7, at, at + 10000, "k", 0);
        }
        expect(&m, GP_REPAIR_NONE, early == 1, 0);
        gp_trace_release(&m.t);
    }
}

TEST(test_start_of_zero)
{
    struct made m = begin(); /* launched at 90, recorded at 0 */
    mk_call(&m.t, m.thread, 90, 95, "cudaLaunchKernel", 5);
    mk_kernel(&m.t, m.s7, 0, 10, "k", 5);
    expect(&m, GP_REPAIR_NONE, 1, 0);
    gp_trace_release(&m.t);

    m = begin(); /* before an event that was launched earlier on the stream */
    mk_kernel(&m.t, m.s7, 0, 10, "k", 5);
    mk_kernel(&m.t, m.s7, 100, 110, "k", 4);
    expect(&m, GP_REPAIR_NONE, 1, 0);
    gp_trace_release(&m.t);

    m = begin(); /* where the trace begins */
    mk_kernel(&m.t, m.s7, 0, 10, "k", 4);
    mk_kernel(&m.t, m.s7, 100, 110, "k", 5);
    mk_kernel(&m.t, m.s9, 100, 110, "k", 3);
    expect(&m, GP_REPAIR_NONE, 0, 0);
    gp_trace_release(&m.t);
}

TEST(test_launches_are_counted)
{
    struct made m = begin();
    mk_call(&m.t, m.thread, 100, 110, "cudaLaunchKernel", 1);
    mk_call(&m.t, m.thread, 200, 210, "cudaLaunchKernel", 2);
    mk_kernel(&m.t, m.s7, 99, 105, "k", 1); /* 1 ns before its launch begins */
    mk_kernel(&m.t, m.s7, 200, 220, "k", 2);
    mk_kernel(&m.t, m.s7, 300, 320, "k", 3);
    mk_kernel(&m.t, m.s7, 400, 420, "k", 0);
    gp_trace_finish(&m.t);
    struct gp_view v;
    gp_view_init(&v, &m.t, NULL);
    gp_input_quality_count_launches(&m.t, &v);
    assert_int_equal(m.t.issues[GP_Q_BEFORE_LAUNCH].count, 1);
    assert_int_equal(m.t.issues[GP_Q_NO_CORRELATION].count, 2);
    gp_view_release(&v);
    gp_trace_release(&m.t);
}

static void expect_sample(const char *name, uint64_t times, uint64_t durations)
{
    char path[4096];
    const char *source = getenv("GP_SOURCE");
    snprintf(path, sizeof path, "%s/samples/broken/%s", source ? source : ".", name);
    struct made m;
    struct gp_read_opts opts = {.need = GP_NEED_ALL, .threads = 1};
    struct gp_err err = {0};
    if (gp_trace_read(&m.t, path, &opts, &err)) fail_msg("%s: %s", path, err.msg);
    gp_repair(&m.t, GP_REPAIR_DROP);
    assert_int_equal(m.t.issues[GP_Q_OUTLIER_TIME].count, times);
    assert_int_equal(m.t.issues[GP_Q_OUTLIER_DURATION].count, durations);
    assert_int_equal(m.t.events[GP_GPU].n, 3 - times - durations);
    gp_trace_release(&m.t);
}

TEST(test_samples)
{
    expect_sample("corrupt_duration.json", 0, 1);
    expect_sample("early_ts.json", 1, 0);
    expect_sample("zero_ts.json", 1, 0);
    expect_sample("window_end.json", 0, 0);
}
