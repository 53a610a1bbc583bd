/* Launches, queues and graphs. All expected values are worked out by hand from the times in the test. */
#include <stdlib.h>

#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "formats/base/buf.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct scene {
    struct gp_trace t;
    struct gp_view v;
    struct gp_hta h;
    uint32_t process, main, s7, s9;
};

static int begin(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    gp_trace_init(&s->t, GP_NEED_ALL);
    s->process = mk_process(&s->t, 1, 0);
    s->main = mk_thread(&s->t, s->process, 1);
    s->s7 = mk_stream(&s->t, s->process, 0, 7);
    s->s9 = mk_stream(&s->t, s->process, 0, 9);
    gp_hta_init(&s->h, NULL);
    *state = s;
    return 0;
}

static void release(struct gp_hta *h) { gp_hta_release(h); }

static int end(void **state)
{
    struct scene *s = *state;
    release(&s->h);
    gp_view_release(&s->v);
    gp_trace_release(&s->t);
    free(s);
    return 0;
}

static void add(struct scene *s)
{
    gp_trace_finish(&s->t);
    gp_view_init(&s->v, &s->t, NULL);
    gp_hta_launches_section.add(&s->h, &s->v);
    gp_hta_graphs_section.add(&s->h, &s->v);
}

static void run(struct scene *s)
{
    add(s);
    gp_hta_section_sort(&gp_hta_launches_section, &s->h);
    gp_hta_section_sort(&gp_hta_graphs_section, &s->h);
}

static void launch(struct scene *s, int64_t at, int64_t dur, uint32_t stream, int64_t start, int64_t gpu_dur,
                   uint64_t corr)
{
    mk_call(&s->t, s->main, at, at + dur, "cudaLaunchKernel", corr);
    mk_kernel(&s->t, stream, start, start + gpu_dur, "k", corr);
}

static const struct gp_api_stat *api(const struct scene *s, const char *name)
{
    for (size_t i = 0; i < s->h.api.n; i++)
        if (!strcmp(gp_hta_str(&s->h, s->h.api.at[i].name), name)) return &s->h.api.at[i];
    fail_msg("no %s", name);
    return NULL;
}

#define SCENE(name) TEST_WITH(begin, end, name)

SCENE(test_delay_and_short_kernels)
{
    struct scene *s = *state;
    launch(s, 0, 4000, s->s7, 6000, 1000, 1);        /* delay 2000; kernel shorter than its call */
    launch(s, 10000, 4000, s->s7, 12000, 4000, 2);   /* starts in the call: delay 0; as long: not shorter */
    launch(s, 20000, 4000, s->s7, 19000, 9000, 3);   /* 1000 before its call */
    launch(s, 100000, 4000, s->s7, 100000, 5000, 5); /* at the very begin of its call */
    mk_kernel(&s->t, s->s7, 50000, 51000, "nobody's", 99);
    run(s);
    const struct gp_hta_launches *l = &s->h.launches;
    assert_int_equal(l->gpu_events, 5);
    assert_int_equal(l->linked, 4);
    assert_int_equal(l->calls, 4);
    assert_int_equal(l->delay.n, 4);
    assert_int_equal(l->delay.sum, 2000);
    assert_int_equal(l->api_dur.sum, 16000);
    assert_int_equal(l->short_kernels, 1);
    assert_int_equal(l->short_kernel_ns, 1000);
    assert_int_equal(l->before_launch, 1);
    assert_int_equal(l->worst_before_ns, 1000);
    assert_int_equal(l->max_queue, 1);
}

SCENE(test_other_launching_calls) /* which another tool does not know */
{
    struct scene *s = *state;
    static const char *const names[] = {"cuLaunchKernelEx", "hipExtModuleLaunchKernel", "cudaLaunchKernelExC",
                                        "hipMemcpyAsync"};
    for (uint64_t i = 0; i < 4; i++) {
        mk_call(&s->t, s->main, (int64_t)i * 100, (int64_t)i * 100 + 10, names[i], i + 1);
        mk_kernel(&s->t, s->s7, (int64_t)i * 100 + 15, (int64_t)i * 100 + 50, "k", i + 1);
    }
    run(s);
    assert_int_equal(s->h.launches.calls, 4);
    assert_int_equal(s->h.launches.delay.sum, 20);
    assert_int_equal(api(s, "hipExtModuleLaunchKernel")->launches, 1);
}

SCENE(test_outliers)
{
    struct scene *s = *state;
    for (int i = 0; i < 20; i++) {
        mk_call(&s->t, s->main, i * 1000000, i * 1000000 + 4000, "cudaLaunchKernel", 0);
        mk_call(&s->t, s->main, i * 1000000 + 10000, i * 1000000 + 210000, "cudaMalloc", 0);
    }
    mk_call(&s->t, s->main, 30000000, 30050000, "cudaLaunchKernel", 0); /* 50 us: not longer than that */
    mk_call(&s->t, s->main, 31000000, 31051000, "cudaLaunchKernel", 0); /* 51 us, more than 10 x 4 us */
    mk_call(&s->t, s->main, 32000000, 33000000, "cudaMalloc", 0);       /* 1 ms, 5 times its median */
    run(s);
    assert_int_equal(api(s, "cudaLaunchKernel")->outliers, 1);
    assert_int_equal(api(s, "cudaMalloc")->outliers, 0);
    assert_int_equal(api(s, "cudaMalloc")->dur.n, 21);
    assert_string_equal(gp_hta_str(&s->h, s->h.api.at[0].name), "cudaMalloc"); /* longest in all first */
    assert_int_equal(s->h.launches.calls, 0);
}

SCENE(test_correlation_0_joins_nothing) /* 4000 x 4000 rows in another tool */
{
    struct scene *s = *state;
    for (int i = 0; i < 4000; i++) {
        mk_call(&s->t, s->main, i * 100, i * 100 + 10, "cudaLaunchKernel", 0);
        mk_kernel(&s->t, s->s7, i * 100 + 20, i * 100 + 50, "k", 0);
    }
    run(s);
    assert_int_equal(s->h.launches.gpu_events, 4000);
    assert_int_equal(s->h.launches.linked, 0);
    assert_int_equal(s->h.launches.delay.n, 0);
    assert_int_equal(s->h.launches.max_queue, 0);
    assert_int_equal(api(s, "cudaLaunchKernel")->dur.n, 4000);
    assert_int_equal(api(s, "cudaLaunchKernel")->launches, 0);
}

SCENE(test_queue_of_each_stream)
{
    struct scene *s = *state;
    launch(s, 0, 5, s->s7, 100, 50, 1);
    launch(s, 10, 5, s->s7, 150, 50, 2);
    launch(s, 20, 5, s->s9, 25, 300, 3); /* its own stream: it waits for nobody */
    launch(s, 30, 5, s->s7, 200, 50, 4);
    launch(s, 100, 5, s->s7, 250, 50, 5); /* the first starts at this very time: launched before it left */
    run(s);
    assert_int_equal(s->h.launches.max_queue, 4);
    assert_int_equal(s->h.launches.queue_len.n, 5);
    assert_int_equal(s->h.launches.queue_len.sum, 0 + 1 + 0 + 2 + 3);
    assert_int_equal(s->h.launches.queue_len.max, 3);
    assert_int_equal(s->h.launches.queue_full_ns, 0);
}

SCENE(test_queue_of_launches_that_overtake)
{
    struct scene *s = *state;
    launch(s, 0, 5, s->s7, 200, 50, 1);  /* nobody before it */
    launch(s, 150, 5, s->s7, 160, 5, 2); /* behind the first */
    launch(s, 170, 5, s->s7, 180, 5, 3); /* the same: the second has started */
    run(s);
    assert_int_equal(s->h.launches.queue_len.sum, 2);
    assert_int_equal(s->h.launches.max_queue, 2);
}

/* N launches a ns apart from FROM; the first starts at START, then one each 10 ns. */
static void fill(struct scene *s, uint32_t stream, int64_t from, int64_t start, int n, uint64_t corr)
{
    for (int i = 0; i < n; i++) launch(s, from + i, 1, stream, start + i * 10, 10, corr + (uint64_t)i);
}

SCENE(test_time_on_a_full_queue_of_any_stream) /* the last stream alone in another tool */
{
    struct scene *s = *state;
    fill(s, s->s9, 0, 5000, 1030, 1);        /* 1000 at 999; 999 left when the 31st starts, at 5300 */
    fill(s, s->s7, 3000, 5030, 1025, 10000); /* 1000 at 3999; 999 left when the 26th starts, at 5280 */
    run(s);
    assert_int_equal(s->h.launches.max_queue, 1030);
    assert_int_equal(s->h.launches.queue_full_ns, 5300 - 999); /* together, not twice */
}

SCENE(test_a_graph_is_one_entry_of_a_full_queue)
{
    struct scene *s = *state;
    mk_call(&s->t, s->main, 0, 50, "cudaGraphLaunch", 1);
    for (int i = 0; i < 2000; i++) mk_kernel(&s->t, s->s7, 100 + i, 101 + i, "node", 1);
    run(s);
    assert_int_equal(s->h.launches.max_queue, 2000);
    assert_int_equal(s->h.launches.queue_full_ns, 0);
}

static void graph_launch(struct scene *s, int64_t at, uint64_t corr, uint64_t graph, int64_t second_dur)
{
    mk_call(&s->t, s->main, at, at + 50, "cudaGraphLaunch", corr);
    size_t a = mk_kernel(&s->t, s->s7, at + 100, at + 110, "first", corr);
    size_t b = mk_kernel(&s->t, s->s7, at + 120, at + 120 + second_dur, "second", corr);
    if (graph == GP_NO_ID) return;
    struct gp_events *gpu = &s->t.events[GP_GPU];
    gp_set_graph(gpu, a, graph);
    gp_set_graph(gpu, b, graph);
    gp_set_node(gpu, a, graph * 100 + 1);
    gp_set_node(gpu, b, graph * 100 + 2);
}

SCENE(test_graph_launches) /* 0 rows in another tool */
{
    struct scene *s = *state;
    graph_launch(s, 0, 1, 5, 20);
    graph_launch(s, 1000, 2, 5, 25);
    graph_launch(s, 2000, 3, 6, 7);
    graph_launch(s, 2500, 5, 5, 22);
    launch(s, 3000, 10, s->s7, 3100, 5, 4);
    run(s);
    const struct gp_hta_launches *l = &s->h.launches;
    assert_int_equal(l->linked, 9);
    assert_int_equal(l->calls, 5);
    assert_int_equal(l->graph_calls, 4);
    assert_int_equal(l->graph_events, 8);
    assert_int_equal(l->delay.n, 1); /* nodes wait for each other, not for the call */
    assert_int_equal(l->delay.sum, 90);
    assert_int_equal(l->short_kernels, 1);
    assert_int_equal(l->max_queue, 2); /* one call, two kernels */
    assert_int_equal(l->queue_len.n, 5);
    assert_int_equal(api(s, "cudaGraphLaunch")->launches, 8);
    assert_int_equal(s->h.graphs.n, 2);
    const struct gp_graph_stat *g = &s->h.graphs.at[0]; /* the busiest first: 97, then 17 */
    assert_int_equal(g->graph, 5);
    assert_int_equal(g->launches, 3);
    assert_int_equal(g->gpu_events, 6);
    assert_int_equal(g->nodes, 2);
    assert_int_equal(g->span.min, 40); /* 100..140 */
    assert_int_equal(g->span.max, 45);
    assert_int_equal(g->busy.sum, 30 + 35 + 32);
    assert_int_equal(g->worst_node, 502);
    assert_string_equal(gp_hta_str(&s->h, g->worst_node_name), "second");
    assert_int_equal(g->worst_node_min_ns, 20);
    assert_int_equal(g->worst_node_max_ns, 25);
    assert_string_equal(gp_hta_str(&s->h, g->api), "cudaGraphLaunch");
    assert_int_equal(s->h.graphs.at[1].graph, 6);
}

SCENE(test_graph_without_ids)
{
    struct scene *s = *state;
    graph_launch(s, 0, 1, GP_NO_ID, 20);
    graph_launch(s, 1000, 2, GP_NO_ID, 50);
    mk_call(&s->t, s->main, 3000, 3050, "cudaGraphLaunch", 3);
    mk_kernel(&s->t, s->s7, 3100, 3200, "first", 3);
    mk_kernel(&s->t, s->s9, 3110, 3120, "second", 3); /* beside it, and done before */
    run(s);
    assert_int_equal(s->h.graphs.n, 1);
    const struct gp_graph_stat *g = &s->h.graphs.at[0];
    assert_int_equal(g->graph, GP_NO_ID);
    assert_int_equal(g->launches, 3);
    assert_int_equal(g->span.max, 100);
    assert_int_equal(g->nodes, 2); /* by their place */
    assert_int_equal(g->worst_node, GP_NO_ID);
    assert_int_equal(g->worst_node_min_ns, 10); /* the first: 10, 10, 100; the second: 20, 50, 10 */
    assert_int_equal(g->worst_node_max_ns, 100);
    assert_string_equal(gp_hta_str(&s->h, g->api), "cudaGraphLaunch");
}

SCENE(test_graph_without_launch_record)
{
    struct scene *s = *state;
    graph_launch(s, 0, 1, 5, 20);
    graph_launch(s, 1000, 2, 5, 20);
    s->t.events[GP_API].n = 0; /* the collector lost the calls */
    run(s);
    assert_int_equal(s->h.launches.linked, 0);
    assert_int_equal(s->h.graphs.n, 1);
    assert_int_equal(s->h.graphs.at[0].launches, 2);
    assert_int_equal(s->h.graphs.at[0].api, 0);
}

SCENE(test_merging_and_saving_change_nothing)
{
    struct scene *s = *state;
    launch(s, 0, 4000, s->s7, 6000, 1000, 1);
    graph_launch(s, 20000, 2, 5, 20);
    add(s);
    struct gp_hta other, loaded;
    gp_hta_init(&other, NULL);
    gp_intern_cstr(&other.strings, "so that ids differ");
    gp_hta_launches_section.add(&other, &s->v);
    gp_hta_graphs_section.add(&other, &s->v);
    gp_hta_section_merge(&gp_hta_launches_section, &s->h, &other);
    gp_hta_section_merge(&gp_hta_graphs_section, &s->h, &other);
    release(&other);

    struct gp_buf bytes = {0};
    gp_hta_init(&loaded, NULL);
    struct gp_serializer save = {.save = &bytes, .strings = &s->h.strings};
    gp_hta_section_serialize(&gp_hta_launches_section, &save, &s->h);
    gp_hta_section_serialize(&gp_hta_graphs_section, &save, &s->h);
    struct gp_serializer load = {.load = (const uint8_t *)bytes.data,
                                 .end = (const uint8_t *)bytes.data + bytes.n,
                                 .strings = &loaded.strings};
    gp_hta_section_serialize(&gp_hta_launches_section, &load, &loaded);
    gp_hta_section_serialize(&gp_hta_graphs_section, &load, &loaded);
    assert_false(load.failed);
    assert_ptr_equal(load.load, load.end);
    release(&s->h);
    s->h = loaded;
    gp_hta_launches_section.add(&s->h, &s->v); /* a third time, onto what was loaded */
    gp_hta_section_sort(&gp_hta_launches_section, &s->h);
    gp_hta_section_sort(&gp_hta_graphs_section, &s->h);
    assert_int_equal(s->h.launches.gpu_events, 9);
    assert_int_equal(s->h.launches.calls, 6);
    assert_int_equal(s->h.launches.graph_calls, 3);
    assert_int_equal(s->h.launches.graph_events, 6);
    assert_int_equal(s->h.launches.delay.sum, 3 * 2000);
    assert_int_equal(s->h.launches.max_queue, 2);
    assert_int_equal(s->h.api.n, 2);
    assert_int_equal(api(s, "cudaGraphLaunch")->launches, 6);
    assert_int_equal(s->h.graphs.n, 2); /* two traces: two graphs */
    assert_string_equal(gp_hta_str(&s->h, s->h.graphs.at[1].worst_node_name), "first");
    gp_buf_release(&bytes);
}
