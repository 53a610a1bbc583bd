// The trace model: tables, lazily made columns, dictionaries, sorting, issues, the checker.
#include <stdlib.h>

#include "formats/base/err.h"
#include "formats/model/trace.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/unit.h"

static struct gp_trace new_trace(void)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_process p = gp_process_unknown();
    struct gp_track k = gp_track_unknown();
    k.process = gp_trace_process(&t, &p);
    gp_trace_track(&t, &k);
    return t;
}

TEST(a_column_costs_nothing_until_a_row_needs_it)
{
    struct gp_events e = {0};
    gp_events_add(&e, 10, 1, 0, 0);
    gp_set_corr(&e, 0, GP_NO_ID);
    assert_null(e.corr);
    gp_events_add(&e, 20, 1, 0, 0);
    gp_set_corr(&e, 1, 77);
    gp_events_add(&e, 30, 1, 0, 0);
    assert_true(gp_get_corr(&e, 0) == GP_NO_ID);
    assert_int_equal(gp_get_corr(&e, 1), 77);
    assert_true(gp_get_corr(&e, 2) == GP_NO_ID);
    assert_int_equal(gp_get_bytes(&e, 2), 0);
    gp_events_release(&e);
}

TEST(columns_made_before_the_first_row_grow_with_the_table)
{
    struct gp_events e = {0};
    gp_events_materialise(&e, GP_COL_EXT);
    for (int i = 0; i < 1000; i++) {
        size_t row = gp_events_add(&e, i, 0, 0, 0);
        if (i % 3 == 0) gp_set_ext(&e, row, (uint64_t)i);
    }
    for (size_t i = 0; i < 1000; i++) assert_true(gp_get_ext(&e, i) == (i % 3 ? GP_NO_ID : i));
    gp_events_release(&e);
}

TEST(equal_configs_tracks_and_processes_are_stored_once)
{
    struct gp_trace t = new_trace();
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.grid[0] = 4;
    assert_int_equal(gp_trace_config(&t, &c), 0);
    c.grid[0] = 5;
    assert_int_equal(gp_trace_config(&t, &c), 1);
    c.grid[0] = 4;
    assert_int_equal(gp_trace_config(&t, &c), 0);

    struct gp_track k = gp_track_unknown();
    k.tid = 7;
    assert_int_equal(gp_trace_track(&t, &k), 1);
    k.name = gp_trace_intern(&t, "main", 4); // a name is not an identity
    assert_int_equal(gp_trace_track(&t, &k), 1);
    k.stream = 7;
    assert_int_equal(gp_trace_track(&t, &k), 2);

    struct gp_process p = gp_process_unknown();
    p.producer = 1; // the same pid on another producer is another process
    assert_int_equal(gp_trace_process(&t, &p), 1);
    gp_trace_release(&t);
}

TEST(finish_sorts_by_start_then_longer_first_then_input_order)
{
    struct gp_trace t = new_trace();
    struct gp_events *e = &t.events[GP_OP];
    const int64_t in[][2] = {{50, 1}, {10, 5}, {10, 9}, {10, 5}, {-3, 0}, {50, 1}};
    for (size_t i = 0; i < 6; i++) {
        gp_events_add(e, in[i][0], in[i][1], 0, 0);
        gp_set_ext(e, i, i);
    }
    gp_trace_finish(&t);
    const uint64_t want[] = {4, 2, 1, 3, 0, 5};
    for (size_t i = 0; i < 6; i++) assert_int_equal(gp_get_ext(e, i), want[i]);
    assert_int_equal(gp_trace_check(&t, NULL), 0);
    gp_trace_release(&t);
}

// Against a quadratic insertion sort, on many short random tables with many ties.
TEST(finish_removes_what_is_too_far_away)
{
    struct gp_trace t = new_trace();
    const int64_t starts[] = {INT64_MIN,    -GP_TIME_MOST - 1, -GP_TIME_MOST, 0,
                              GP_TIME_MOST, GP_TIME_MOST + 1,  INT64_MAX};
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        for (size_t i = 0; i < 7; i++)
            gp_set_ext(&t.events[table], gp_events_add(&t.events[table], starts[i], 5, 0, 0), i);
    gp_trace_finish(&t);
    assert_int_equal(t.issues[GP_Q_BAD_TIME].count, 4 * GP_TABLE_COUNT);
    assert_int_equal(t.issues[GP_Q_BAD_DURATION].count, 0);
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        assert_int_equal(t.events[table].n, 3);
        for (size_t i = 0; i < 3; i++) assert_int_equal(gp_get_ext(&t.events[table], i), i + 2);
    }
    gp_trace_release(&t);
}

/* Of durations that are too much together the longest become 0: GP_DURATION_MOST is 2^57, and all may be
 * 2^58. */
TEST(finish_bounds_durations_and_their_sum)
{
    static const struct {
        int64_t dur_ns[6], expected_ns[6];
        uint64_t cut;
    } cases[] = {
        {{INT64_MAX, 7, GP_DURATION_MOST + 1}, {0, 7, 0}, 2},
        {{GP_DURATION_MOST, GP_DURATION_MOST}, {GP_DURATION_MOST, GP_DURATION_MOST}, 0},
        {{GP_DURATION_MOST, GP_DURATION_MOST, 1}, {0, 0, 1}, 2},
    };
    for (size_t c = 0; c < 3; c++) {
        struct gp_trace t = new_trace();
        struct gp_events *e = &t.events[GP_GPU];
        for (int64_t i = 0; i < 6; i++) gp_events_add(e, i, cases[c].dur_ns[i], 0, 0);
        gp_trace_finish(&t);
        for (size_t i = 0; i < 6; i++) assert_int_equal(e->dur_ns[i], cases[c].expected_ns[i]);
        assert_int_equal(t.issues[GP_Q_BAD_DURATION].count, cases[c].cut);
        gp_trace_release(&t);
    }
}

/* A year that is in many rows: none of them can stay, and the short ones do. */
TEST(finish_bounds_the_sum_of_many)
{
    struct gp_trace t = new_trace();
    struct gp_events *e = &t.events[GP_GPU];
    const int64_t year_ns = INT64_C(31536000000000000);
    for (int64_t i = 0; i < 1000; i++) gp_events_add(e, i, i % 2 ? year_ns : 1000, 0, 0);
    gp_trace_finish(&t);
    assert_int_equal(t.issues[GP_Q_BAD_DURATION].count, 500);
    int64_t sum = 0;
    for (size_t i = 0; i < e->n; i++) sum += e->dur_ns[i];
    assert_int_equal(sum, 500 * 1000);
    gp_trace_release(&t);
}

TEST(sorting_agrees_with_a_simple_sort)
{
    srand(1);
    for (int round = 0; round < 200; round++) {
        struct gp_trace t = new_trace();
        struct gp_events *e = &t.events[GP_OP];
        int n = rand() % 120;
        int64_t want[120][3];
        for (int i = 0; i < n; i++) {
            int64_t start = rand() % 40 + (rand() % 8 ? i : 0), dur = rand() % 4;
            gp_events_add(e, start, dur, 0, 0);
            gp_set_id(e, (size_t)i, (uint64_t)i);
            int j = i;
            for (; j && (want[j - 1][0] > start || (want[j - 1][0] == start && want[j - 1][1] < dur)); j--)
                memcpy(want[j], want[j - 1], sizeof want[j]);
            want[j][0] = start, want[j][1] = dur, want[j][2] = i;
        }
        gp_trace_finish(&t);
        for (int i = 0; i < n; i++) assert_int_equal(gp_get_id(e, (size_t)i), want[i][2]);
        assert_int_equal(gp_trace_check(&t, NULL), 0);
        gp_trace_release(&t);
    }
}

TEST(issues_keep_the_first_offset_and_decide_the_verdict)
{
    struct gp_trace t = new_trace();
    assert_string_equal(gp_trace_verdict(&t), "clean");
    gp_trace_issue(&t, GP_Q_BAD_TIME, 1, 900);
    gp_trace_issue(&t, GP_Q_BAD_TIME, 2, 30);
    gp_trace_issue(&t, GP_Q_BAD_TIME, 0, 1);
    gp_trace_issue(&t, GP_Q_BAD_DURATION, 5, -1);
    assert_int_equal(t.issues[GP_Q_BAD_TIME].count, 3);
    assert_int_equal(t.issues[GP_Q_BAD_TIME].first_offset, 30);
    assert_int_equal(t.issues[GP_Q_BAD_DURATION].first_offset, -1);
    assert_int_equal(gp_trace_skipped(&t), 3); // a repaired duration is not a skipped event
    assert_false(gp_trace_truncated(&t));
    assert_string_equal(gp_trace_verdict(&t), "unusable"); // issues and nothing left
    gp_events_add(&t.events[GP_MARK], 1, 0, 0, 0);
    assert_string_equal(gp_trace_verdict(&t), "repaired");
    gp_trace_release(&t);
}

TEST(metadata_is_replaced_not_repeated)
{
    struct gp_trace t = new_trace();
    assert_null(gp_trace_get_meta(&t, "rank"));
    gp_trace_set_meta(&t, "rank", "3", 1);
    gp_trace_set_meta(&t, "rank", "4", 1);
    assert_string_equal(gp_trace_get_meta(&t, "rank"), "4");
    assert_int_equal(t.meta.n, 1);
    gp_trace_release(&t);
}

TEST(the_checker_finds_each_broken_invariant)
{
    struct gp_err err = {0};
    struct gp_trace t = new_trace();
    struct gp_events *e = &t.events[GP_GPU];
    struct gp_config c;
    memset(&c, 0, sizeof c);
    gp_trace_config(&t, &c);
    gp_events_add(e, 10, 1, 0, 0);
    gp_events_add(e, 20, 1, 0, 0);
    assert_int_equal(gp_trace_check(&t, &err), 0);
    e->start_ns[1] = 9;
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "gpu row 1: not sorted");
    e->start_ns[1] = 20, e->dur_ns[1] = -1;
    assert_int_equal(gp_trace_check(&t, &err), -1);
    e->dur_ns[1] = 1, e->track[0] = 1;
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "gpu row 0: no such track");
    e->track[0] = 0, e->name[0] = 1000;
    assert_int_equal(gp_trace_check(&t, &err), -1);
    e->name[0] = 0;
    gp_set_config(e, 0, 1);
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "gpu row 0: no such config");
    gp_set_config(e, 0, 0);
    gp_set_waiter(e, 0, 0);
    gp_set_stack(e, 1, 1);
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "gpu row 1: no such stack");
    GP_VEC_PUSH(&t.stacks, (struct gp_stack){0});
    GP_VEC_PUSH(&t.stacks, (struct gp_stack){0});
    assert_int_equal(gp_trace_check(&t, &err), 0);
    e->waiter[0] = 1;
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "gpu row 0: no such waiting track");
    t.stacks.at[1].symbol = 1;
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "stack 1: no such string, parent or symbol");
    GP_VEC_PUSH(&t.symbols, (struct gp_symbol){0});
    GP_VEC_PUSH(&t.symbols, (struct gp_symbol){.caller = 2});
    assert_int_equal(gp_trace_check(&t, &err), -1);
    assert_string_equal(err.msg, "symbol 1: no such string or symbol");
    gp_trace_release(&t);
}

TEST(cleared_events_leave_the_dictionaries)
{
    struct gp_trace t = new_trace();
    gp_sid name = gp_trace_intern(&t, "gemm", 4);
    gp_events_add(&t.events[GP_OP], 1, 1, 0, name);
    gp_set_corr(&t.events[GP_OP], 0, 3);
    gp_trace_clear_events(&t);
    assert_int_equal(t.events[GP_OP].n, 0);
    assert_int_equal(gp_trace_intern(&t, "gemm", 4), name);
    gp_events_add(&t.events[GP_OP], 2, 1, 0, name); // the old correlation must not shine through
    assert_true(gp_get_corr(&t.events[GP_OP], 0) == GP_NO_ID);
    gp_trace_release(&t);
}

TEST(the_first_row_from_a_time_on_is_found)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *e = &t.events[GP_MARK];
    assert_int_equal(gp_events_from(e, 0), 0);
    uint32_t track = gp_trace_gpu_track(&t, 3, "GPU 3");
    for (int64_t ns = 10; ns <= 30; ns += 10) gp_events_add(e, ns, 0, track, 0);
    gp_events_add(e, 30, 0, track, 0);
    assert_int_equal(gp_events_from(e, INT64_MIN), 0);
    assert_int_equal(gp_events_from(e, 10), 0);
    assert_int_equal(gp_events_from(e, 11), 1);
    assert_int_equal(gp_events_from(e, 30), 2);
    assert_int_equal(gp_events_from(e, 31), 4);
    assert_int_equal(gp_trace_gpu_track(&t, 3, "GPU 3"), track);
    assert_true(t.tracks.at[track].device == 3 && t.processes.at[t.tracks.at[track].process].pid == 3);
    gp_trace_release(&t);
}
