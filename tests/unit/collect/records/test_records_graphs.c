// CUDA graphs as wholes: their rows, and the nodes that are counted as not seen.
#include <limits.h>
#include <string.h>

#include "collect/records/records.h"
#include "tests/unit/unit.h"

static struct gp_records records(void)
{
    struct gp_records r;
    struct gp_records_opts o = {.pid = 100, .rank = -1, .api = GP_API_LEVEL_NONE};
    gp_records_init(&r, &o);
    return r;
}

#define PUT(rec, at, type, value)                                                                            \
    do {                                                                                                     \
        type gp_v_ = (type)(value);                                                                          \
        memcpy((rec) + (at), &gp_v_, sizeof gp_v_);                                                          \
    } while (0)

static void add_node(struct gp_records *r, uint32_t graph, uint32_t node, uint32_t corr)
{
    uint8_t rec[216] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_CONCURRENT_KERNEL);
    PUT(rec, GP_AT_KERNEL_start, int64_t, 10 * corr + node);
    PUT(rec, GP_AT_KERNEL_end, int64_t, 10 * corr + node + 1);
    PUT(rec, GP_AT_KERNEL_correlationId, uint32_t, corr);
    PUT(rec, GP_AT_KERNEL_graphId, uint32_t, graph);
    PUT(rec, GP_AT_KERNEL_graphNodeId, uint64_t, node);
    assert_true(gp_record_is_node(rec) == (graph != 0));
    gp_records_add(r, rec);
}

static void add_graph(struct gp_records *r, uint32_t graph, uint32_t device, uint32_t corr)
{
    uint8_t rec[56] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_GRAPH_TRACE);
    PUT(rec, GP_AT_GRAPH_correlationId, uint32_t, corr);
    PUT(rec, GP_AT_GRAPH_start, int64_t, 1000 * corr);
    PUT(rec, GP_AT_GRAPH_end, int64_t, 1000 * corr + 700);
    PUT(rec, GP_AT_GRAPH_deviceId, uint32_t, device);
    PUT(rec, GP_AT_GRAPH_graphId, uint32_t, graph);
    PUT(rec, GP_AT_GRAPH_contextId, uint32_t, 1);
    PUT(rec, GP_AT_GRAPH_streamId, uint32_t, 7);
    assert_false(gp_record_is_node(rec));
    gp_records_add(r, rec);
}

TEST(a_launch_is_one_kernel)
{
    struct gp_records r = records();
    add_graph(&r, 12, 3, 5);
    add_graph(&r, 12, INT_MAX, 6); /* its first node runs on the host */
    gp_records_commit(&r, false);
    const struct gp_events *e = &r.trace.events[GP_GPU];
    assert_int_equal(e->n, 2);
    assert_string_equal(gp_trace_str(&r.trace, e->name[0]), "CUDA graph 12");
    assert_int_equal(gp_gpu_config(&r.trace, 0)->kind, GP_KERNEL);
    assert_int_equal(e->dur_ns[0], 700);
    assert_int_equal(gp_get_graph(e, 0), 12);
    assert_int_equal(gp_get_node(e, 0), GP_NO_ID);
    assert_int_equal(gp_get_corr(e, 0), 5);
    assert_int_equal(r.trace.tracks.at[e->track[0]].device, 3);
    assert_int_equal(r.trace.tracks.at[e->track[0]].stream, 7);
    assert_int_equal(r.trace.tracks.at[e->track[1]].device, -1);
    assert_int_equal(r.stats.kernels, 2);
    assert_int_equal(r.trace.losses.n, 0); /* that is what was asked for */
    gp_records_release(&r);
}

TEST(from_then_on_the_nodes_of_a_launch_become_one_row)
{
    struct gp_records r = records();
    const struct gp_events *e = &r.trace.events[GP_GPU];
    for (uint32_t node = 1; node <= 4; node++) add_node(&r, 12, node, 5);
    for (uint32_t node = 1; node <= 3; node++) add_node(&r, 12, node, 6);
    add_node(&r, 0, 0, 8); /* of no graph */
    gp_records_whole_graphs(&r, 90);
    add_node(&r, 12, 4, 6); /* that launch had begun before */
    add_node(&r, 0, 0, 8);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 4 + 4 + 2);
    assert_int_equal(r.trace.losses.n, 0);
    for (uint32_t node = 4; node >= 1; node--) add_node(&r, 12, node, 9);
    for (uint32_t node = 1; node <= 2; node++) add_node(&r, 13, node, 10);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 10); /* more of them may come */
    add_node(&r, 12, 1, 11);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 11);
    assert_string_equal(gp_trace_str(&r.trace, e->name[10]), "CUDA graph 12");
    assert_int_equal(e->start_ns[10], 91);
    assert_int_equal(e->dur_ns[10], 4); /* 91..92 to 94..95 */
    assert_int_equal(gp_get_corr(e, 10), 9);
    assert_int_equal(gp_get_graph(e, 10), 12);
    assert_int_equal(gp_get_node(e, 10), GP_NO_ID);
    assert_int_equal(r.trace.losses.n, 1);
    assert_int_equal(r.trace.losses.at[0].count, 4);
    gp_records_commit(&r, true);
    assert_int_equal(e->n, 13);
    assert_int_equal(r.trace.losses.n, 2);
    assert_int_equal(r.trace.losses.at[1].count, 3);
    assert_int_equal(r.trace.events[GP_MARK].n, 1);
    assert_int_equal(r.trace.events[GP_MARK].start_ns[0], 90);
    gp_records_release(&r);
}

TEST(a_launch_of_which_nothing_more_comes_is_over)
{
    struct gp_records r = records();
    gp_records_whole_graphs(&r, 0);
    add_node(&r, 12, 1, 5);
    for (int i = 0; i < 19; i++) gp_records_tick(&r, 1000 + i);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_GPU].n, 0);
    gp_records_tick(&r, 2000);
    gp_records_commit(&r, false);
    gp_records_tick(&r, 3000); /* its call never comes */
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_GPU].n, 1);
    gp_records_release(&r);
}
