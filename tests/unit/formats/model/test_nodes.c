// Which ranges the nodes of graphs were captured under: while a trace is made, and when it is read.
#include <stdlib.h>

#include "formats/model/nodes.h"
#include "tests/unit/gpt_util.h"
#include "tests/unit/nodes_util.h"
#include "tests/unit/unit.h"

static void check_run(const struct gp_trace *t, size_t i, uint64_t first, uint64_t count, gp_sid captured)
{
    assert_true(i < t->node_runs.n);
    assert_int_equal(t->node_runs.at[i].first, first);
    assert_int_equal(t->node_runs.at[i].count, count);
    assert_int_equal(t->node_runs.at[i].captured, captured);
}

TEST(neighbours_that_are_alike_are_one_run)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    for (uint64_t node = 100; node < 1100; node++) gp_nodes_set(&nodes, node, node < 600 ? 7 : 8, 0);
    gp_nodes_set(&nodes, 50, 7, 0);
    gp_nodes_set(&nodes, 1101, 8, 0); /* 1100 is not there */
    assert_int_equal(t.node_runs.n, 4);
    check_run(&t, 0, 100, 500, 7);
    check_run(&t, 1, 600, 500, 8);
    check_run(&t, 2, 50, 1, 7);
    check_run(&t, 3, 1101, 1, 8);
    assert_int_equal(captured_under(&nodes, 599), 7);
    assert_int_equal(captured_under(&nodes, 600), 8);
    assert_int_equal(captured_under(&nodes, 1100), 0);
    assert_int_equal(captured_under(&nodes, 49), 0);
    assert_int_equal(captured_under(&nodes, UINT64_MAX), 0);
    gp_nodes_release(&nodes);
    gp_trace_release(&t);
}

TEST(what_is_said_later_counts_and_first_nodes_stay)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    for (uint64_t node = 10; node < 20; node++) gp_nodes_set(&nodes, node, 1, 0);
    gp_nodes_set(&nodes, 14, 2, 0); /* from the middle: 10-13, 14, 15-19 */
    gp_nodes_set(&nodes, 10, 3, 0); /* the first: 10, 11-13 */
    gp_nodes_set(&nodes, 19, 0, 0); /* the last: 15-18, 19 */
    gp_nodes_set(&nodes, 14, 2, 0);
    assert_int_equal(t.node_runs.n, 5);
    check_run(&t, 0, 10, 1, 3);
    check_run(&t, 1, 14, 1, 2);
    check_run(&t, 2, 15, 4, 1);
    check_run(&t, 3, 11, 3, 1);
    check_run(&t, 4, 19, 1, 0);
    static const gp_sid want[] = {3, 1, 1, 1, 2, 1, 1, 1, 1, 0};
    for (uint64_t node = 10; node < 20; node++)
        assert_int_equal(captured_under(&nodes, node), want[node - 10]);
    gp_nodes_release(&nodes);
    gp_trace_release(&t);
}

/* Against a table of all nodes. */
TEST(any_order_gives_the_same_answers)
{
    enum { NODES = 300 };
    struct gp_trace t;
    gp_sid said[NODES] = {0};
    uint64_t seed = 5;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    for (int round = 0; round < 5000; round++) {
        uint64_t node = pick(&seed, NODES), other = pick(&seed, NODES);
        gp_nodes_set(&nodes, node, said[node] = (gp_sid)pick(&seed, 4), 0);
        assert_int_equal(captured_under(&nodes, other), said[other]);
    }
    for (uint64_t node = 0; node < NODES; node++) assert_int_equal(captured_under(&nodes, node), said[node]);
    gp_nodes_release(&nodes);
    gp_trace_release(&t);
}

static size_t add_gpu(struct gp_trace *t, uint32_t producer, uint64_t node)
{
    struct gp_process p = gp_process_unknown();
    p.pid = producer;
    p.producer = producer;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_STREAM;
    k.process = gp_trace_process(t, &p);
    struct gp_config c;
    memset(&c, 0, sizeof c);
    size_t row = gp_events_add(&t->events[GP_GPU], (int64_t)t->events[GP_GPU].n, 1, gp_trace_track(t, &k), 0);
    gp_set_config(&t->events[GP_GPU], row, gp_trace_config(t, &c));
    gp_set_node(&t->events[GP_GPU], row, node);
    return row;
}

TEST(runs_go_to_the_events_of_their_producer)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *gpu = &t.events[GP_GPU];
    add_gpu(&t, 0, 5);
    add_gpu(&t, 1, 5);
    add_gpu(&t, 2, 5);
    add_gpu(&t, 0, GP_NO_ID);
    gp_set_captured(gpu, add_gpu(&t, 0, 5), 9); /* knows for itself */
    add_gpu(&t, 0, 9);
    add_gpu(&t, 0, 10);
    add_gpu(&t, 0, 7);
    add_gpu(&t, 0, 4);
    /* 5 is in the run from 5, 7 in that from 6, which ends there: so 10 is in none, for the first one ends at
     * 6 */
    const struct gp_node_run runs[] = {{.first = 6, .count = 2, .captured = 2},
                                       {.first = 5, .count = 100, .captured = 1},
                                       {.count = 10, .captured = 3, .producer = 1},
                                       {.first = 9, .count = 1, .captured = 4}};
    for (size_t i = 0; i < 4; i++) GP_VEC_PUSH(&t.node_runs, runs[i]);
    gp_nodes_resolve(&t);
    static const gp_sid want[] = {1, 3, 0, 0, 9, 4, 0, 2, 0};
    for (size_t i = 0; i < 9; i++) assert_int_equal(gp_get_captured(gpu, i), want[i]);
    assert_int_equal(t.node_runs.n, 0);
    gp_trace_release(&t);
}

TEST(stacks_of_nodes_go_to_the_events_beside_the_ranges)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    struct gp_events *gpu = &t.events[GP_GPU];
    for (uint64_t i = 0; i < 6; i++) gp_nodes_set(&nodes, 10 + i, 1, i < 2 ? 5 : 6); /* 10-11, 12-15 */
    for (uint64_t i = 0; i < 6; i++) gp_nodes_clone(&nodes, 30 + i, 10 + i);
    assert_int_equal(t.node_runs.n, 3);
    for (uint64_t i = 0; i < 6; i++) add_gpu(&t, 0, 30 + i);
    add_gpu(&t, 0, 10);
    add_gpu(&t, 0, 16);
    gp_set_stack(gpu, 3, 9); /* knows one of the two for itself */
    gp_set_captured(gpu, 4, 2);
    gp_nodes_resolve(&t);
    static const uint32_t stacks[] = {5, 5, 6, 9, 6, 6, 5, 0};
    static const gp_sid captured[] = {1, 1, 1, 1, 2, 1, 1, 0};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(gp_get_stack(gpu, i), stacks[i]);
        assert_int_equal(gp_get_captured(gpu, i), captured[i]);
    }
    gp_nodes_release(&nodes);
    gp_trace_release(&t);
}

TEST(clones_are_found_through_their_originals)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    for (uint64_t i = 0; i < 4; i++) gp_nodes_clone(&nodes, 200 + i, 100 + i); /* of what is not known yet */
    for (uint64_t i = 0; i < 4; i++) gp_nodes_clone(&nodes, 300 + i, 200 + i); /* and these of those */
    assert_int_equal(captured_under(&nodes, 300), 0);
    for (uint64_t i = 0; i < 4; i++) gp_nodes_set(&nodes, 100 + i, (gp_sid)(1 + i / 2), 0);
    gp_nodes_clone(&nodes, 400, 300); /* no longer than the way of its original */
    assert_int_equal(t.node_runs.n, 5);
    check_run(&t, 0, 200, 4, 0);
    check_run(&t, 1, 300, 4, 0);
    assert_true(t.node_runs.at[0].original == 100 && t.node_runs.at[1].original == 100 &&
                t.node_runs.at[4].original == 100);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(captured_under(&nodes, 200 + i), 1 + i / 2);
        assert_int_equal(captured_under(&nodes, 300 + i), 1 + i / 2);
    }
    gp_nodes_set(&nodes, 301, 9, 0); /* 300, 301, 302-303, whose first is a clone of 102 */
    assert_int_equal(t.node_runs.at[6].original, 102);
    static const gp_sid want[] = {1, 9, 2, 2};
    for (uint64_t i = 0; i < 4; i++) add_gpu(&t, 0, 300 + i);
    gp_nodes_resolve(&t);
    for (uint64_t i = 0; i < 4; i++) assert_int_equal(gp_get_captured(&t.events[GP_GPU], i), want[i]);
    gp_nodes_release(&nodes);
    gp_trace_release(&t);
}

TEST(clones_of_themselves_end)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    const struct gp_node_run runs[] = {{.first = 1, .count = 5, .original = 1},
                                       {.first = 10, .count = 1, .original = 11},
                                       {.first = 11, .count = 1, .original = 10},
                                       {.first = 20, .count = 1, .original = 4}};
    for (size_t i = 0; i < 4; i++) GP_VEC_PUSH(&t.node_runs, runs[i]);
    add_gpu(&t, 0, 3);
    add_gpu(&t, 0, 10);
    add_gpu(&t, 0, 20);
    gp_nodes_resolve(&t);
    for (size_t i = 0; i < 3; i++) assert_int_equal(gp_get_captured(&t.events[GP_GPU], i), 0);
    gp_trace_release(&t);
}

/* As the collector does it: events first, what is known of their nodes much later, and another process in
 * between. */
TEST(a_stream_of_blocks_tells_it_in_any_order)
{
    struct gp_trace t, back;
    struct gp_buf b = {0};
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    for (int k = 0; k < 10; k++) gp_trace_intern(&t, &"abcdefghij"[k], 1); /* sid k + 1 */
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_buf, &b);
    struct gp_gpt_writer *other = gp_gpt_writer_new(&(struct gp_gpt_write_opts){.producer = 3}, to_buf, &b);
    gp_gpt_begin(w);
    for (uint64_t node = 1; node <= 4; node++) add_gpu(&t, 0, node);
    gp_nodes_set(&nodes, 1, 1, 0);
    assert_int_equal(gp_gpt_flush(w, &t), 0);
    gp_trace_clear_events(&t);
    struct gp_trace u;
    gp_trace_init(&u, GP_NEED_ALL);
    gp_trace_intern(&u, "other", 5);
    add_gpu(&u, 0, 1);
    GP_VEC_PUSH(&u.node_runs, (struct gp_node_run){.first = 1, .count = 1, .captured = 1});
    assert_int_equal(gp_gpt_end(other, &u), 0);
    gp_nodes_set(&nodes, 2, 1, 0); /* run 0 goes on */
    gp_nodes_set(&nodes, 3, 2, 0);
    gp_nodes_set(&nodes, 1, 4, 0); /* and is taken back in part */
    assert_int_equal(gp_gpt_end(w, &t), 0);
    assert_int_equal(read_trace(&back, b.data, b.n), 0);
    assert_int_equal(back.issues[GP_Q_BAD_BLOCK].count, 0);
    static const char *const want[] = {"d", "a", "b", ""};
    const struct gp_events *gpu = &back.events[GP_GPU];
    assert_int_equal(gpu->n, 5);
    for (size_t i = 0, k = 0; i < 5; i++) {
        const char *captured = gp_trace_str(&back, gp_get_captured(gpu, i));
        if (back.processes.at[back.tracks.at[gpu->track[i]].process].producer == 3)
            assert_string_equal(captured, "other");
        else assert_string_equal(captured, want[k++]);
    }
    gp_gpt_writer_free(w);
    gp_gpt_writer_free(other);
    gp_nodes_release(&nodes);
    gp_buf_release(&b);
    gp_trace_release(&t);
    gp_trace_release(&u);
    gp_trace_release(&back);
}

TEST(too_many_runs_are_refused_and_counted)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_nodes nodes = {.trace = &t};
    for (uint64_t i = 0; i < GP_NODES_MAX_RUNS + 3; i++) gp_nodes_set(&nodes, 2 * i, 1, 0);
    assert_int_equal(t.node_runs.n, GP_NODES_MAX_RUNS);
    assert_int_equal(nodes.refused, 3);
    gp_nodes_release(&nodes);
    gp_trace_release(&t);
}
