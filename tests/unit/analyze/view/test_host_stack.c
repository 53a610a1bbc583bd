// Nesting of host events by time. Expected parents and self times are worked out by hand.
#include <stdlib.h>

#include "analyze/view/host_stack.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct made {
    struct gp_trace t;
    uint32_t process, thread;
    struct gp_host_stack hs;
};

static struct made make(void)
{
    struct made m;
    gp_trace_init(&m.t, GP_NEED_ALL);
    m.process = mk_process(&m.t, 1, 0);
    m.thread = mk_thread(&m.t, m.process, 1);
    return m;
}

static void build(struct made *m)
{
    gp_trace_finish(&m->t);
    gp_host_stack_build_self(&m->hs, &m->t);
}

static void done(struct made *m)
{
    gp_host_stack_release(&m->hs);
    gp_trace_release(&m->t);
}

/* The node of the event called NAME, which is there once. */
static uint32_t node_of(const struct made *m, const char *name)
{
    for (uint32_t i = 0; i < m->hs.n; i++) {
        const struct gp_host_event *ev = &m->hs.nodes[i];
        if (!strcmp(gp_trace_str(&m->t, m->t.events[ev->table].name[ev->row]), name)) return i;
    }
    fail_msg("no event %s", name);
    return 0;
}

static void expect_inside(const struct made *m, const char *child, const char *parent)
{
    uint32_t got = m->hs.nodes[node_of(m, child)].parent;
    assert_int_equal(got, parent ? node_of(m, parent) : GP_HOST_NONE);
}

static int64_t self_of(const struct made *m, const char *name) { return m->hs.self_ns[node_of(m, name)]; }

TEST(events_lie_in_the_innermost_one_around_them)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 1000, "a");
    mk_host(&m.t, GP_OP, m.thread, 100, 400, "b");
    mk_host(&m.t, GP_OP, m.thread, 200, 300, "c");
    mk_host(&m.t, GP_OP, m.thread, 500, 600, "d");
    mk_host(&m.t, GP_OP, m.thread, 1000, 1100, "e"); /* begins where a ends: beside it */
    build(&m);
    expect_inside(&m, "a", NULL);
    expect_inside(&m, "b", "a");
    expect_inside(&m, "c", "b");
    expect_inside(&m, "d", "a");
    expect_inside(&m, "e", NULL);
    assert_int_equal(self_of(&m, "a"), 1000 - 300 - 100);
    assert_int_equal(self_of(&m, "b"), 300 - 100);
    assert_int_equal(self_of(&m, "c"), 100);
    done(&m);
}

TEST(of_equal_times_the_outer_table_holds_the_other)
{
    struct made m = make();
    mk_host(&m.t, GP_API, m.thread, 10, 20, "api");
    mk_host(&m.t, GP_OP, m.thread, 10, 20, "op");
    mk_host(&m.t, GP_PYTHON, m.thread, 10, 20, "python");
    mk_host(&m.t, GP_RANGE, m.thread, 10, 20, "range");
    build(&m);
    expect_inside(&m, "api", "op");
    expect_inside(&m, "op", "python");
    expect_inside(&m, "python", "range");
    expect_inside(&m, "range", NULL);
    assert_int_equal(self_of(&m, "api"), 10);
    assert_int_equal(self_of(&m, "range"), 0);
    done(&m);
}

TEST(a_child_that_ends_a_microsecond_late_is_a_child)
{
    struct made m = make();
    mk_host(&m.t, GP_PYTHON, m.thread, 0, 10000, "parent");
    mk_host(&m.t, GP_PYTHON, m.thread, 5000, 11000, "child"); /* late by 1,000 */
    mk_host(&m.t, GP_PYTHON, m.thread, 6000, 11000, "inner");
    build(&m);
    expect_inside(&m, "child", "parent");
    expect_inside(&m, "inner", "child");
    assert_int_equal(m.hs.nodes[node_of(&m, "inner")].end_ns, 10000);
    assert_int_equal(m.hs.overlapping, 0);
    assert_int_equal(m.hs.clamped, 2);
    assert_int_equal(m.t.events[GP_PYTHON].dur_ns[1], 6000); /* for layout only */
    done(&m);
}

TEST(a_child_that_ends_one_nanosecond_late_is_a_child)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "parent");
    mk_host(&m.t, GP_OP, m.thread, 50, 101, "child");
    build(&m);
    expect_inside(&m, "child", "parent");
    done(&m);
}

TEST(events_that_truly_cross_lie_beside_each_other)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 100000, "outer");
    mk_host(&m.t, GP_RANGE, m.thread, 10000, 20000, "a");
    mk_host(&m.t, GP_RANGE, m.thread, 15000, 25000, "b"); /* late by 5 us */
    mk_host(&m.t, GP_OP, m.thread, 16000, 17000, "in both");
    mk_host(&m.t, GP_OP, m.thread, 21000, 22000, "in b");
    build(&m);
    expect_inside(&m, "a", "outer");
    expect_inside(&m, "b", "outer");
    expect_inside(&m, "in both", "b");
    expect_inside(&m, "in b", "b");
    assert_int_equal(m.hs.overlapping, 1);
    /* what they share counts for b: a has 10..15, b 15..25 less the two operators, outer the rest of 100 */
    assert_int_equal(self_of(&m, "a"), 5000);
    assert_int_equal(self_of(&m, "b"), 8000);
    assert_int_equal(self_of(&m, "outer"), 85000);
    done(&m);
}

TEST(a_python_frame_that_crosses_closes_frames_only)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 100000, "step"); /* has what the frame loses */
    mk_host(&m.t, GP_OP, m.thread, 0, 50000, "region");
    mk_host(&m.t, GP_PYTHON, m.thread, 1000, 20000, "frame");
    /* recorded 40 us longer than the operator around it */
    mk_host(&m.t, GP_PYTHON, m.thread, 10000, 90000, "next");
    mk_host(&m.t, GP_OP, m.thread, 30000, 31000, "inner");
    mk_host(&m.t, GP_OP, m.thread, 60000, 61000, "after");
    build(&m);
    expect_inside(&m, "next", "region");
    expect_inside(&m, "inner", "next");
    expect_inside(&m, "region", "step");
    expect_inside(&m, "after", "step");
    assert_int_equal(m.hs.nodes[node_of(&m, "next")].end_ns, 50000);
    assert_int_equal(m.hs.overlapping, 1);
    /* the region has 0..1, the frame 1..10, what crosses it 10..50 less the operator within */
    assert_int_equal(self_of(&m, "step"), 49000);
    assert_int_equal(self_of(&m, "region"), 1000);
    assert_int_equal(self_of(&m, "frame"), 9000);
    assert_int_equal(self_of(&m, "next"), 39000);
    done(&m);
}

TEST(the_tolerance_is_just_a_microsecond)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 10000, "a");
    mk_host(&m.t, GP_OP, m.thread, 5000, 11001, "b");
    build(&m);
    expect_inside(&m, "b", NULL);
    assert_int_equal(m.hs.overlapping, 1);
    done(&m);
}

TEST(events_without_duration_are_children_and_hold_nothing)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "a");
    mk_host(&m.t, GP_OP, m.thread, 50, 50, "zero");
    mk_host(&m.t, GP_OP, m.thread, 50, 50, "zero too");
    mk_host(&m.t, GP_OP, m.thread, 60, 70, "b");
    build(&m);
    expect_inside(&m, "zero", "a");
    expect_inside(&m, "zero too", "a");
    expect_inside(&m, "b", "a");
    assert_int_equal(self_of(&m, "a"), 90);
    done(&m);
}

TEST(threads_are_nested_on_their_own)
{
    struct made m = make();
    uint32_t second = mk_thread(&m.t, m.process, 2), stream = mk_stream(&m.t, m.process, 0, 7);
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "a");
    mk_host(&m.t, GP_OP, second, 10, 90, "b");
    size_t row = mk_host(&m.t, GP_RANGE, stream, 0, 100, "no host event");
    build(&m);
    expect_inside(&m, "b", NULL);
    assert_int_equal(m.hs.n, 2);
    assert_int_equal(gp_host_node(&m.hs, GP_RANGE, row), GP_HOST_NONE);
    assert_int_equal(gp_host_node(&m.hs, GP_OP, 1), node_of(&m, "b"));
    done(&m);
}

/* All of one time: tables are ordered by what holds what, rows of one table by their order. */
TEST(rows_of_equal_times_have_their_own_nodes)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "op 0");
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "op 1");
    mk_host(&m.t, GP_RANGE, m.thread, 0, 100, "range");
    mk_host(&m.t, GP_PYTHON, m.thread, 0, 100, "python");
    mk_host(&m.t, GP_API, m.thread, 0, 100, "call");
    mk_host(&m.t, GP_OP, m.thread, 0, 50, "shorter");
    build(&m);
    assert_int_equal(gp_host_node(&m.hs, GP_RANGE, 0), 0);
    assert_int_equal(gp_host_node(&m.hs, GP_PYTHON, 0), 1);
    assert_int_equal(gp_host_node(&m.hs, GP_OP, 0), 2);
    assert_int_equal(gp_host_node(&m.hs, GP_OP, 1), 3);
    assert_int_equal(gp_host_node(&m.hs, GP_API, 0), 4);
    assert_int_equal(gp_host_node(&m.hs, GP_OP, 2), 5);
    assert_int_equal(gp_host_track(&m.hs, 5), m.thread);
    expect_inside(&m, "shorter", "call");
    done(&m);
}

TEST(the_innermost_event_at_a_time_is_found)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 100, 1000, "a");
    mk_host(&m.t, GP_OP, m.thread, 200, 300, "b");
    mk_host(&m.t, GP_OP, m.thread, 210, 220, "c");
    build(&m);
    assert_int_equal(gp_host_at(&m.hs, m.thread, 99), GP_HOST_NONE);
    assert_int_equal(gp_host_at(&m.hs, m.thread, 100), node_of(&m, "a"));
    assert_int_equal(gp_host_at(&m.hs, m.thread, 215), node_of(&m, "c"));
    assert_int_equal(gp_host_at(&m.hs, m.thread, 220), node_of(&m, "b"));
    assert_int_equal(gp_host_at(&m.hs, m.thread, 500), node_of(&m, "a"));
    assert_int_equal(gp_host_at(&m.hs, m.thread, 1000), GP_HOST_NONE);
    done(&m);
}

TEST(a_hundred_thousand_levels_are_no_problem)
{
    enum { N = 100000 };
    struct made m = make();
    for (int i = 0; i < N; i++) mk_host(&m.t, GP_PYTHON, m.thread, i, 3 * N - i, "f");
    build(&m);
    for (uint32_t i = 1; i < N; i++) assert_int_equal(m.hs.nodes[i].parent, i - 1);
    assert_int_equal(m.hs.self_ns[0], 2);
    done(&m);
}

TEST(a_hundred_thousand_crossings_take_no_time)
{
    enum { N = 100000 };
    struct made m = make();
    /* each begins before all earlier ones have ended, and ends 5 us after the one before */
    for (int64_t i = 0; i < N; i++) mk_host(&m.t, GP_RANGE, m.thread, i, (i + N) * 5000, "r");
    build(&m);
    assert_int_equal(m.hs.overlapping, N - 1);
    /* every one has the nanosecond until the next begins; the last all the rest */
    assert_int_equal(m.hs.self_ns[7], 1);
    assert_true(m.hs.self_ns[N - 1] == (int64_t)(2 * N - 1) * 5000 - (N - 1));
    done(&m);
}

TEST(times_at_the_edge_of_the_clock_do_no_harm)
{
    struct made m = make();
    struct gp_events *op = &m.t.events[GP_OP];
    gp_events_add(op, -GP_TIME_MOST, GP_DURATION_MOST, m.thread, mk_name(&m.t, "a"));
    gp_events_add(op, -5, GP_DURATION_MOST - 1, m.thread, mk_name(&m.t, "b"));
    gp_events_add(op, GP_TIME_MOST, 5, m.thread, mk_name(&m.t, "c"));
    build(&m);
    assert_int_equal(m.hs.n, 3);
    done(&m);
}

/* Walking up, step by step, is what gp_host_ends_from() must agree with, at any depth and place. */
TEST(long_ways_up_end_where_short_steps_do)
{
    static const int64_t depths[] = {10, 63, 65, 66, 1000};
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
        struct made m = make();
        for (int64_t i = 0; i < depths[d]; i++) { /* two inside each other at each end */
            int64_t end = 100000 - i / 2 * 10;
            mk_host(&m.t, GP_OP, m.thread, i, end, "o");
            if (i % 3 == 0) mk_host(&m.t, GP_API, m.thread, i, i + 1, "c");
        }
        build(&m);
        assert_int_equal(m.hs.jump != NULL, depths[d] > 64);
        uint32_t far = 0;
        for (uint32_t node = 0; node < m.hs.n; node++) {
            for (int64_t at = 94990; at <= 100005; at += 5) {
                uint32_t up = node, ended = GP_HOST_NONE, last;
                for (; up != GP_HOST_NONE && m.hs.nodes[up].end_ns < at; up = m.hs.nodes[up].parent)
                    ended = up;
                assert_int_equal(gp_host_ends_from(&m.hs, node, at, &last), up);
                assert_int_equal(last, ended);
                far += ended != GP_HOST_NONE;
            }
        }
        assert_true(far > 0);
        done(&m);
    }
}

TEST(an_empty_trace_has_no_events)
{
    struct made m = make();
    build(&m);
    assert_int_equal(m.hs.n, 0);
    assert_int_equal(gp_host_at(&m.hs, m.thread, 5), GP_HOST_NONE);
    done(&m);
}
