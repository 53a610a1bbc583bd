// The critical path of small traces whose answer can be seen on paper.
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_rows.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct fixture {
    struct gp_trace t;
    uint32_t main, stream, other;
    struct gp_hta h;
    struct gp_view v;
};

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    gp_trace_init(&f->t, GP_NEED_ALL);
    uint32_t p = mk_process(&f->t, 1, 0);
    f->main = mk_thread(&f->t, p, 100);
    f->stream = mk_stream(&f->t, p, 0, 7);
    f->other = mk_stream(&f->t, p, 0, 8);
    gp_hta_init(&f->h, NULL);
}

static const struct gp_hta_path *path_of(struct fixture *f)
{
    gp_trace_finish(&f->t);
    gp_view_init(&f->v, &f->t, NULL);
    gp_hta_paths_section.add(&f->h, &f->v);
    assert_int_equal(f->h.paths.n, 1);
    const struct gp_hta_path *p = &f->h.paths.at[0];
    // Whatever the trace: pieces join without gap or overlap and sum to the window.
    int64_t at = p->begin_ns, sum = 0;
    for (size_t i = 0; i < p->pieces.n; i++) {
        assert_int_equal(p->pieces.at[i].begin_ns, at);
        assert_true(p->pieces.at[i].end_ns > at);
        at = p->pieces.at[i].end_ns;
    }
    assert_int_equal(at, p->end_ns);
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) sum += p->bound_ns[b];
    assert_int_equal(sum, p->end_ns - p->begin_ns);
    return p;
}

static void end(struct fixture *f)
{
    gp_view_release(&f->v);
    gp_hta_section_release(&gp_hta_paths_section, &f->h);
    GP_VEC_FREE(&f->h.steps);
    gp_hta_release(&f->h);
    gp_trace_release(&f->t);
}

TEST(a_kernel_that_the_host_was_late_for_leads_to_the_host)
{
    struct fixture f;
    begin(&f);
    mk_host(&f.t, GP_OP, f.main, 0, 100, "aten::add");
    mk_call(&f.t, f.main, 10, 20, "cudaLaunchKernel", 1);
    mk_call(&f.t, f.main, 60, 70, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 30, 50, "first", 1);
    mk_kernel(&f.t, f.stream, 80, 95, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    // 30..60 in aten::add, 60..80 from call to kernel, 80..95 the kernel
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 30);
    assert_int_equal(p->bound_ns[GP_PATH_LAUNCH], 20);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 15);
    assert_int_equal(p->pieces.n, 3);
    assert_string_equal(gp_hta_str(&f.h, p->pieces.at[0].name), "aten::add");
    assert_int_equal(p->pieces.at[0].tid, 100);
    assert_string_equal(gp_hta_str(&f.h, p->pieces.at[2].name), "second");
    assert_int_equal(p->pieces.at[2].stream, 7);
    end(&f);
}

TEST(queued_kernels_lead_to_each_other)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 2, "cudaLaunchKernel", 1);
    mk_call(&f.t, f.main, 3, 5, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 30, 50, "first", 1);
    mk_kernel(&f.t, f.stream, 52, 80, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 48); // 20 + 28
    assert_int_equal(p->bound_ns[GP_PATH_KERNEL_GAP], 2);
    assert_int_equal(p->bound_ns[GP_PATH_HOST] + p->bound_ns[GP_PATH_LAUNCH], 0);
    end(&f);
}

// Another tool knows no graph launches. The call leads to the first node, each node to the next.
TEST(a_graph_launch_leads_to_its_nodes)
{
    struct fixture f;
    begin(&f);
    mk_kernel(&f.t, f.stream, 0, 5, "before", GP_NO_ID);
    mk_host(&f.t, GP_OP, f.main, 0, 200, "replay");
    mk_call(&f.t, f.main, 20, 125, "cudaGraphLaunch", 1);
    mk_kernel(&f.t, f.stream, 100, 110, "node 1", 1);
    mk_kernel(&f.t, f.stream, 120, 140, "node 2", 1);
    const struct gp_hta_path *p = path_of(&f);
    // 0..20 in replay, 20..100 the launch, 100..110 node 1, 110..120 between them, 120..140 node 2
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 20);
    assert_int_equal(p->bound_ns[GP_PATH_LAUNCH], 80);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 30);
    assert_int_equal(p->bound_ns[GP_PATH_KERNEL_GAP], 10);
    assert_string_equal(gp_hta_str(&f.h, p->pieces.at[1].name), "cudaGraphLaunch");
    end(&f);
}

// The call of the second kernel begins while the first runs, but ends after it: nothing was queued.
TEST(a_kernel_whose_call_ends_late_was_not_queued)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 10, "cudaLaunchKernel", 1);
    mk_call(&f.t, f.main, 15, 30, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 12, 20, "first", 1);
    mk_kernel(&f.t, f.stream, 35, 40, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    // 12..15 between the calls, 15..35 from the second call to its kernel, 35..40 that
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 3);
    assert_int_equal(p->bound_ns[GP_PATH_LAUNCH], 20);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 5);
    end(&f);
}

// A call that loads a module first, say: only its last 10 us are launching.
TEST(most_of_a_long_launching_call_is_host_time)
{
    struct fixture f;
    begin(&f);
    mk_kernel(&f.t, f.stream, 0, 1000, "before", GP_NO_ID);
    mk_call(&f.t, f.main, 2000, 902000, "cudaLaunchKernel", 1);
    mk_kernel(&f.t, f.stream, 905000, 906000, "first", 1);
    const struct gp_hta_path *p = path_of(&f);
    // 0..2000 nothing recorded, 2000..892000 in the call, 892000..905000 launching
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 2000 + 890000);
    assert_int_equal(p->bound_ns[GP_PATH_LAUNCH], 13000);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 1000);
    end(&f);
}

TEST(overlapping_kernels_of_one_stream_count_once)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 1, "cudaLaunchKernel", 1);
    mk_call(&f.t, f.main, 1, 2, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 10, 50, "first", 1);
    mk_kernel(&f.t, f.stream, 40, 80, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 70); // 10..80
    assert_int_equal(p->pieces.n, 2);
    assert_int_equal(p->pieces.at[1].begin_ns, 40);
    end(&f);
}

TEST(a_synchronising_call_leads_to_what_it_waited_for)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 10, "cudaLaunchKernel", 1);
    mk_call(&f.t, f.main, 25, 55, "cudaDeviceSynchronize", GP_NO_ID);
    mk_host(&f.t, GP_OP, f.main, 56, 90, "aten::mul");
    mk_call(&f.t, f.main, 60, 62, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 30, 50, "first", 1);
    mk_kernel(&f.t, f.stream, 65, 70, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 25); // 30..50, 65..70
    assert_int_equal(p->bound_ns[GP_PATH_SYNC], 5);     // 50..55
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 5);     // 55..56 nothing recorded, 56..60 aten::mul
    assert_int_equal(p->bound_ns[GP_PATH_LAUNCH], 5);   // 60..65
    end(&f);
}

TEST(a_synchronising_call_that_did_not_wait_is_host_time)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 5, "cudaLaunchKernel", 1);
    mk_kernel(&f.t, f.stream, 10, 20, "first", 1);
    mk_call(&f.t, f.main, 30, 40, "cudaStreamSynchronize", GP_NO_ID);
    mk_call(&f.t, f.main, 40, 45, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 50, 60, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_SYNC], 0);
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 30); // 10..40
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 10);
    end(&f);
}

TEST(a_copy_that_blocks_the_host_is_waited_for)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 60, "cudaMemcpy", 1);
    mk_gpu(&f.t, f.stream, 20, 50, GP_MEMCPY, "Memcpy DtoH (Device -> Pageable)", 1);
    mk_call(&f.t, f.main, 70, 75, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 80, 90, "after", 2);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_MEMORY], 30);
    assert_int_equal(p->bound_ns[GP_PATH_SYNC], 10); // 50..60
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 10); // 60..70
    assert_int_equal(p->bound_ns[GP_PATH_LAUNCH], 10);
    end(&f);
}

TEST(a_long_wait_of_a_queued_kernel_leads_to_the_other_stream)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 1000, 2000, "cudaLaunchKernel", 1);
    mk_call(&f.t, f.main, 4000, 5000, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 10000, 50000, "producer", 1);
    mk_kernel(&f.t, f.other, 52000, 60000, "consumer", 2);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 48000);
    assert_int_equal(p->bound_ns[GP_PATH_KERNEL_GAP], 2000);
    assert_string_equal(gp_hta_str(&f.h, p->pieces.at[0].name), "producer");
    end(&f);
}

TEST(host_time_goes_to_the_thread_that_was_at_work)
{
    struct fixture f;
    begin(&f);
    uint32_t worker = mk_thread(&f.t, 0, 200);
    mk_call(&f.t, f.main, 0, 5, "cudaLaunchKernel", 1);
    mk_host(&f.t, GP_OP, f.main, 10, 50, "aten::loss");
    mk_call(&f.t, worker, 60, 65, "cudaLaunchKernel", 2); // nothing on this thread before it
    mk_kernel(&f.t, f.stream, 8, 9, "first", 1);
    mk_kernel(&f.t, f.stream, 70, 80, "second", 2);
    const struct gp_hta_path *p = path_of(&f);
    // 8..10 nothing, 10..50 aten::loss on the main thread, 50..60 nothing, 60..70 launch, 70..80 kernel
    assert_int_equal(p->bound_ns[GP_PATH_HOST], 52);
    bool seen = false;
    for (size_t i = 0; i < p->pieces.n; i++)
        if (!strcmp(gp_hta_str(&f.h, p->pieces.at[i].name), "aten::loss")) {
            seen = true;
            assert_int_equal(p->pieces.at[i].end_ns - p->pieces.at[i].begin_ns, 40);
        }
    assert_true(seen);
    end(&f);
}

/* The main thread waits in backward() from 40 to 100 while autograd's launches. */
TEST(a_thread_that_waits_for_the_backward_pass_leads_to_the_one_that_launches_it)
{
    struct fixture f;
    begin(&f);
    uint32_t autograd = mk_thread(&f.t, mk_process(&f.t, 1, 0), 200);
    mk_host(&f.t, GP_PYTHON, f.main, 0, 120, "train.py(1): step");
    mk_host(&f.t, GP_PYTHON, f.main, 40, 100, "torch/autograd/graph.py(869): _engine_run_backward");
    mk_host(&f.t, GP_PYTHON, f.main, 40, 100, "waiting for a lock");
    mk_call(&f.t, f.main, 10, 20, "cudaLaunchKernel", 1);
    mk_call(&f.t, autograd, 60, 70, "cudaLaunchKernel", 2);
    mk_call(&f.t, f.main, 110, 115, "cudaLaunchKernel", 3);
    mk_kernel(&f.t, f.stream, 30, 35, "forward", 1);
    mk_kernel(&f.t, f.stream, 75, 80, "backward", 2);
    mk_kernel(&f.t, f.stream, 120, 130, "update", 3);
    const struct gp_hta_path *p = path_of(&f);
    // from the first kernel on; back from 110: the step to 100, what runs the backward pass to 70, its call
    // to 60, and before that the wait
    static const struct {
        int64_t begin_ns, end_ns;
        const char *name;
        int64_t tid;
    } expected[] = {{30, 40, "train.py(1): step", 100},
                    {40, 60, "torch/autograd/graph.py(869): _engine_run_backward", 100},
                    {60, 70, "cudaLaunchKernel", 200},
                    {70, 100, "torch/autograd/graph.py(869): _engine_run_backward", 200},
                    {100, 110, "train.py(1): step", 100}};
    assert_true(GP_COUNT(expected) <= p->pieces.n);
    for (size_t i = 0; i < GP_COUNT(expected); i++) {
        const struct gp_path_piece *piece = &p->pieces.at[i];
        assert_int_equal(piece->begin_ns, expected[i].begin_ns);
        assert_int_equal(piece->end_ns, expected[i].end_ns);
        assert_string_equal(gp_hta_str(&f.h, piece->name), expected[i].name);
        assert_int_equal(piece->tid, expected[i].tid);
    }
    end(&f);
}

TEST(without_launch_records_the_stream_still_explains)
{
    struct fixture f;
    begin(&f);
    mk_kernel(&f.t, f.stream, 0, 10, "a", GP_NO_ID);
    mk_kernel(&f.t, f.stream, 30, 40, "b", GP_NO_ID);
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 20);
    assert_int_equal(p->bound_ns[GP_PATH_KERNEL_GAP], 20);
    end(&f);
}

TEST(events_without_duration_do_not_hold_up_the_walk)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 50; i++) {
        mk_kernel(&f.t, f.stream, 1000, 1000, "zero", GP_NO_ID);
        mk_kernel(&f.t, f.other, 1000, 1000, "zero too", GP_NO_ID);
    }
    mk_kernel(&f.t, f.stream, 0, 5, "first", GP_NO_ID);
    mk_kernel(&f.t, f.stream, 9000, 9001, "last", GP_NO_ID);
    path_of(&f);
    end(&f);
}

TEST(the_median_step_is_the_window)
{
    struct fixture f;
    begin(&f);
    const int64_t at[] = {0, 100, 300, 700}; // lengths 100, 200, 400: the median is 100..300
    for (int i = 0; i < 4; i++) mk_kernel(&f.t, f.stream, at[i], at[i] + 50, "k", GP_NO_ID);
    for (int i = 0; i < 3; i++) {
        struct gp_hta_step s = {.rank = -1, .begin_ns = at[i], .end_ns = at[i + 1], .partial = false};
        GP_VEC_PUSH(&f.h.steps, s);
    }
    const struct gp_hta_path *p = path_of(&f);
    assert_int_equal(p->begin_ns, 100);
    assert_int_equal(p->end_ns, 300);
    assert_int_equal(p->bound_ns[GP_PATH_COMPUTE], 50);
    assert_int_equal(p->bound_ns[GP_PATH_KERNEL_GAP], 150);
    end(&f);
}
