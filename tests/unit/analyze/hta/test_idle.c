/* Why a device was idle. All expected values are worked out by hand from the times in the test; the limits
 * that a single launch has are in analyze/view/README.md: B = 10 us and K = 10 us where the medians are
 * small. */
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/view/idle_walk.h"
#include "formats/model/samples.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct scene {
    struct gp_trace t;
    struct gp_view v;
    struct gp_hta h;
    uint32_t process, main, other, s7, s9;
};

static int begin(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    gp_trace_init(&s->t, GP_NEED_ALL);
    s->process = mk_process(&s->t, 1, 0);
    s->main = mk_thread(&s->t, s->process, 1);
    s->other = mk_thread(&s->t, s->process, 2);
    s->s7 = mk_stream(&s->t, s->process, 0, 7);
    s->s9 = mk_stream(&s->t, s->process, 0, 9);
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct scene *s = *state;
    gp_view_release(&s->v);
    gp_hta_release(&s->h);
    gp_trace_release(&s->t);
    free(s);
    return 0;
}

/* Analyse; all that must hold of any trace is checked here. */
static void run(struct scene *s)
{
    gp_trace_finish(&s->t);
    gp_view_init(&s->v, &s->t, NULL);
    gp_hta_init(&s->h, NULL);
    GP_VEC_PUSH(&s->h.inputs, (struct gp_input_quality){.rank = -1});
    gp_hta_devices_section.add(&s->h, &s->v);
    struct gp_hta_idle idle;
    gp_hta_start_idle(&idle, &(struct gp_hta_opts){.threads = 2}, &s->v);
    gp_hta_finish_idle(&idle, &s->h);
    for (size_t i = 0; i < s->h.devices.n; i++) {
        const struct gp_hta_device *d = &s->h.devices.at[i];
        int64_t sum = 0, by_cause[GP_IDLE_CAUSE_COUNT] = {0};
        for (size_t k = 0; k < d->culprits.n; k++)
            by_cause[d->culprits.at[k].cause] += d->culprits.at[k].idle_ns;
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
            sum += d->idle_cause_ns[c];
            assert_int_equal(by_cause[c] + d->culprit_rest_ns[c], d->idle_cause_ns[c]);
        }
        assert_int_equal(sum, d->b.idle_ns);
        assert_int_equal(d->gaps.sum, d->b.idle_ns);
    }
}

static int64_t cause(const struct scene *s, enum gp_idle_cause c)
{
    return s->h.devices.at[0].idle_cause_ns[c];
}

static const struct gp_idle_culprit *culprit(const struct scene *s, size_t i)
{
    assert_true(i < s->h.devices.at[0].culprits.n);
    return &s->h.devices.at[0].culprits.at[i];
}

static const char *label(const struct scene *s, gp_sid sid) { return gp_hta_str(&s->h, sid); }

/* A kernel of stream 7 from 0 to 10000, launched at -5000, that the gap of every test begins with. */
static void first_kernel(struct scene *s)
{
    mk_call(&s->t, s->main, -5000, -1000, "cudaLaunchKernel", 1);
    mk_kernel(&s->t, s->s7, 0, 10000, "a", 1);
}

static void launch(struct scene *s, uint32_t thread, int64_t at, uint32_t stream, int64_t start,
                   uint64_t corr)
{
    mk_call(&s->t, thread, at, at + 4000, "cudaLaunchKernel", corr);
    mk_kernel(&s->t, stream, start, start + 10000, "b", corr);
}

#define SCENE(name) TEST_WITH(begin, end, name)

SCENE(test_host_then_launch)
{
    struct scene *s = *state;
    first_kernel(s);
    launch(s, s->main, 60000, s->s7, 66000, 2); /* gap 10000..66000 */
    run(s);
    assert_int_equal(cause(s, GP_IDLE_HOST), 50000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 6000);
    assert_int_equal(s->h.devices.at[0].gaps.n, 1);
    assert_int_equal(culprit(s, 0)->longest_ns, 50000);
    assert_int_equal(culprit(s, 0)->longest_at_ns, 10000);
    assert_int_equal(culprit(s, 0)->api, 0);
}

SCENE(test_sync_pseudo_events_are_idle_time) /* not busy: 100 of 130 us in another tool */
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, 1000, 120000, "cudaDeviceSynchronize", 5);
    size_t row = mk_host(&s->t, GP_SYNC, s->s7, 1000, 120000, "Context Sync");
    gp_set_corr(&s->t.events[GP_SYNC], row, 5);
    launch(s, s->main, 130000, s->s7, 140000, 2);
    run(s);
    assert_int_equal(s->h.devices.at[0].b.idle_ns, 130000);
    assert_int_equal(cause(s, GP_IDLE_SYNC), 110000);
    assert_int_equal(cause(s, GP_IDLE_HOST), 10000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 10000);
    assert_string_equal(label(s, culprit(s, 0)->api), "cudaDeviceSynchronize");
}

SCENE(test_item_is_an_operator_around_a_sync)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_OP, s->main, 2000, 50000, "aten::item");
    mk_call(&s->t, s->main, 3000, 40000, "cudaStreamSynchronize", 0);
    launch(s, s->main, 60000, s->s7, 65000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_SYNC), 30000); /* 10000..40000 */
    assert_int_equal(cause(s, GP_IDLE_HOST), 20000); /* item's end, and after it */
    assert_string_equal(label(s, culprit(s, 0)->op), "aten::item");
}

SCENE(test_queued_kernels_20us_apart) /* 30 "ns" is 30 us in another tool */
{
    struct scene *s = *state;
    for (int i = 0; i < 5; i++) { /* launched at once, far ahead; 20 us between */
        mk_call(&s->t, s->main, -50000 + i * 4000, -47000 + i * 4000, "cudaLaunchKernel", (uint64_t)i + 1);
        mk_kernel(&s->t, s->s7, i * 30000, i * 30000 + 10000, "k", (uint64_t)i + 1);
    }
    run(s);
    assert_int_equal(cause(s, GP_IDLE_QUEUED), 80000);
    assert_int_equal(s->h.devices.at[0].b.idle_ns, 80000);
}

SCENE(test_one_stall_among_queued_kernels_is_unknown)
{
    struct scene *s = *state;
    int64_t at = 0;
    for (int i = 0; i < 7; i++) { /* gaps of 1 us, and one of 500: K is 10 us */
        mk_call(&s->t, s->main, -90000 + i * 4000, -88000 + i * 4000, "cudaLaunchKernel", (uint64_t)i + 1);
        mk_kernel(&s->t, s->s7, at, at + 10000, "k", (uint64_t)i + 1);
        at += i == 3 ? 510000 : 11000;
    }
    run(s);
    assert_int_equal(cause(s, GP_IDLE_QUEUED), 5 * 1000 + 10000);
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 490000);
}

/* Kernels follow each other after 1 us, but one after 20: at most 10 of these are what queued kernels cost. A
 * fixed limit of 30 us, as another tool has it, would call all of them so. */
SCENE(test_a_gap_of_20_us_is_no_gap_between_queued_kernels)
{
    struct scene *s = *state;
    int64_t at = 0;
    for (int i = 0; i < 7; i++) {
        mk_call(&s->t, s->main, -90000 + i * 4000, -88000 + i * 4000, "cudaLaunchKernel", (uint64_t)i + 1);
        mk_kernel(&s->t, s->s7, at, at + 10000, "k", (uint64_t)i + 1);
        at += i == 3 ? 30000 : 11000;
    }
    run(s);
    assert_int_equal(cause(s, GP_IDLE_QUEUED), 5 * 1000 + 10000);
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 10000);
}

SCENE(test_queued_behind_another_stream)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, 0, 1000, "cudaLaunchKernel", 2); /* on stream 9, launched while "a" runs */
    mk_kernel(&s->t, s->s9, 13000, 20000, "b", 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_DEPENDENCY), 3000);
}

SCENE(test_ordered_wait_explains_a_long_stall)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, 0, 500, "cudaStreamWaitEvent", 0);
    mk_call(&s->t, s->main, 1000, 2000, "cudaLaunchKernel", 2);
    mk_kernel(&s->t, s->s7, 1010000, 1020000, "b", 2); /* 1 ms after */
    run(s);
    assert_int_equal(cause(s, GP_IDLE_DEPENDENCY) + cause(s, GP_IDLE_QUEUED), 1000000);
    assert_int_equal(cause(s, GP_IDLE_QUEUED), 50000); /* K: 4 x 1 ms is bounded */
}

SCENE(test_a_wait_record_of_the_stream_tells_too)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_SYNC, s->s9, 300, 400, "Stream Wait Event");
    mk_call(&s->t, s->main, 1000, 2000, "cudaLaunchKernel", 2);
    mk_kernel(&s->t, s->s9, 110000, 120000, "b", 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_DEPENDENCY), 100000);
}

SCENE(test_wait_record_of_another_stream_tells_nothing)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_SYNC, s->s7, 300, 400, "Stream Wait Event");
    mk_call(&s->t, s->main, 1000, 2000, "cudaLaunchKernel", 2);
    mk_kernel(&s->t, s->s9, 110000, 120000, "b", 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_DEPENDENCY), 10000); /* B after the other stream was done */
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 90000);
}

SCENE(test_launch_on_its_way_when_the_gap_begins)
{
    struct scene *s = *state;
    first_kernel(s);
    launch(s, s->main, 20000, s->s7, 28000, 2); /* latency 8 us, in the gap 10000..28000 */
    launch(s, s->main, 36000, s->s7, 43000, 3); /* began before the gap 38000..43000 */
    run(s);
    /* host 10000..20000; 8000; then the call lasts to 40000 and the median, 8 us, to 44000. The median of a
     * histogram is 1/16 exact, but with one value it is that value. */
    assert_int_equal(cause(s, GP_IDLE_HOST), 10000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 13000);
}

SCENE(test_autograd_thread_launches_while_main_waits)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_RANGE, s->main, 5000, 200000, "backward");
    mk_host(&s->t, GP_PYTHON, s->main, 6000, 200000, "torch/autograd/graph.py(1): run");
    mk_host(&s->t, GP_PYTHON, s->main, 7000, 200000, "waiting for a lock"); /* for the other thread */
    mk_call(&s->t, s->other, 1000, 1500, "cudaLaunchKernel", 3); /* main is not who launched last */
    mk_kernel(&s->t, s->s9, 2000, 3000, "c", 3);
    mk_host(&s->t, GP_OP, s->other, 40000, 90000, "MmBackward0");
    launch(s, s->other, 60000, s->s7, 66000, 2);
    run(s);
    /* 10000..40000 the other thread sleeps: main tells; 40000..60000 its own operator */
    assert_int_equal(cause(s, GP_IDLE_HOST), 50000);
    assert_int_equal(cause(s, GP_IDLE_LOCK), 0);
    assert_string_equal(label(s, culprit(s, 0)->range), "backward");
    assert_int_equal(culprit(s, 0)->idle_ns, 30000);
    assert_int_equal(culprit(s, 0)->op, 0);
    assert_string_equal(label(s, culprit(s, 1)->op), "MmBackward0");
    assert_int_equal(culprit(s, 1)->idle_ns, 20000);
    assert_int_equal(culprit(s, 1)->range, 0);
}

/* After the last launch of the backward pass the main thread still waits for it, then launches. */
SCENE(test_main_waits_for_the_backward_pass_and_no_lock)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_PYTHON, s->main, 5000, 60000, "torch/autograd/graph.py(869): _engine_run_backward");
    mk_host(&s->t, GP_PYTHON, s->main, 5000, 60000, "waiting for a lock");
    mk_host(&s->t, GP_PYTHON, s->main, 60000, 80000, "train.py(3): report");
    mk_host(&s->t, GP_PYTHON, s->main, 62000, 80000, "waiting for the GIL");
    launch(s, s->main, 90000, s->s7, 98000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_LOCK), 18000); /* 62000..80000: it does not run the backward pass */
    assert_int_equal(cause(s, GP_IDLE_HOST), 80000 - 18000); /* the rest of 10000..90000 */
}

SCENE(test_a_thread_that_merely_waits_is_not_asked)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, 0, 200000, "cudaStreamSynchronize", 0);
    launch(s, s->other, 60000, s->s7, 66000, 2); /* in no range: user code of another thread */
    run(s);
    assert_int_equal(cause(s, GP_IDLE_HOST), 50000);
    assert_int_equal(cause(s, GP_IDLE_SYNC), 0);
}

SCENE(test_stack_changes_split_the_gap)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_OP, s->main, 20000, 100000, "aten::to");
    mk_host(&s->t, GP_OP, s->main, 25000, 95000, "aten::copy_");
    mk_call(&s->t, s->main, 28000, 92000, "cudaMalloc", 0);
    launch(s, s->main, 110000, s->s7, 115000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_ALLOCATION), 64000);
    assert_int_equal(cause(s, GP_IDLE_HOST), 36000);
    assert_string_equal(label(s, culprit(s, 0)->op), "aten::copy_");
    assert_string_equal(label(s, culprit(s, 0)->api), "cudaMalloc");
    assert_int_equal(culprit(s, 0)->idle_ns, 64000);
    /* in nothing: 10000..20000 and 100000..110000, one gap */
    assert_int_equal(culprit(s, 1)->idle_ns, 20000);
    assert_int_equal(culprit(s, 1)->gaps, 1);
}

/* The gap from 10000 to 85000 lies in two steps, which have one label: it is one gap, and its longest is all
 * of both. */
SCENE(test_names_with_one_label_are_one)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_RANGE, s->main, 5000, 40000, "step 1");
    mk_host(&s->t, GP_RANGE, s->main, 40000, 80000, "step 2");
    launch(s, s->main, 80000, s->s7, 85000, 2);
    run(s);
    assert_string_equal(label(s, culprit(s, 0)->range), "step");
    assert_int_equal(culprit(s, 0)->idle_ns, 70000);
    assert_int_equal(culprit(s, 0)->longest_ns, 70000);
    assert_int_equal(culprit(s, 0)->gaps, 1);
}

SCENE(test_data_loading)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_host(&s->t, GP_RANGE, s->main, 0, 90000,
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    mk_host(&s->t, GP_OP, s->main, 20000, 80000, "aten::stack");
    launch(s, s->main, 100000, s->s7, 105000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_DATA), 80000);
    assert_int_equal(cause(s, GP_IDLE_HOST), 10000);
    assert_string_equal(label(s, culprit(s, 0)->op), "aten::stack");
}

/* What samples show of a frame is its cause, and the function is the culprit; samples of the time are
 * counted. Around 20000 to 30000 data is loaded, and garbage is collected in it all the same. */
SCENE(test_work_of_frames)
{
    struct scene *s = *state;
    struct gp_events *e = &s->t.events[GP_SAMPLE];
    first_kernel(s);
    mk_host(&s->t, GP_PYTHON, s->main, 0, 90000, "train.py(3): step");
    mk_host(&s->t, GP_PYTHON, s->main, 12000, 20000, GP_SAMPLED_LOCK);
    mk_host(&s->t, GP_PYTHON, s->main, 20000, 30000, "torch/utils/data/dataloader.py(9): next");
    mk_host(&s->t, GP_PYTHON, s->main, 24000, 28000, GP_SAMPLED_GARBAGE);
    mk_host(&s->t, GP_PYTHON, s->main, 28000, 29000, GP_SAMPLED_GIL);
    mk_host(&s->t, GP_PYTHON, s->main, 40000, 50000, "logging/__init__.py(1489): info");
    mk_host(&s->t, GP_PYTHON, s->main, 60000, 65000, "<frozen importlib._bootstrap>(1): _find_and_load");
    size_t row = gp_events_add(e, 11000, 8000, s->main, gp_intern_cstr(&s->t.strings, "running"));
    gp_set_total(e, row, 8); /* every 1000 from 11000 to 19000 */
    launch(s, s->main, 100000, s->s7, 105000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_LOCK), 8000);
    assert_int_equal(cause(s, GP_IDLE_DATA), 6000);
    assert_int_equal(cause(s, GP_IDLE_GARBAGE), 4000);
    assert_int_equal(cause(s, GP_IDLE_LOGGING), 10000);
    assert_int_equal(cause(s, GP_IDLE_IMPORT), 5000);
    assert_int_equal(cause(s, GP_IDLE_HOST), 2000 + 10000 + 10000 + 35000);
    for (size_t i = 0; i < s->h.devices.at[0].culprits.n; i++) {
        const struct gp_idle_culprit *c = culprit(s, i);
        if (c->cause == GP_IDLE_LOCK) assert_string_equal(label(s, c->python), "train.py(3): step");
        if (c->cause == GP_IDLE_GARBAGE)
            assert_string_equal(label(s, c->python), "torch/utils/data/dataloader.py(9): next");
        assert_int_equal(c->samples, c->cause == GP_IDLE_LOCK                ? 8
                                     : c->cause == GP_IDLE_HOST && c->python ? 1
                                                                             : 0);
    }
}

/* A row that was made of samples. */
static void sampled(struct scene *s, int64_t begin_ns, int64_t end_ns, const char *name)
{
    size_t row = mk_host(&s->t, GP_PYTHON, s->main, begin_ns, end_ns, name);
    gp_set_cat(&s->t.events[GP_PYTHON], row, gp_intern_cstr(&s->t.strings, GP_SAMPLED_CATEGORY));
}

/* Python runs for 2.99 ms, waits for 1.2 ms, and runs for 0.8 ms, which is too short to know; a frame that a
 * profiler recorded is not a sample. */
SCENE(test_python_that_runs_for_long)
{
    struct scene *s = *state;
    first_kernel(s);
    sampled(s, 0, 5000000, "train.py(3): step");
    sampled(s, 3000000, 4200000, "sleeping");
    launch(s, s->main, 5000000, s->s7, 5006000, 2);
    mk_host(&s->t, GP_PYTHON, s->main, 5010000, 8000000, "train.py(9): profiled");
    launch(s, s->main, 8000000, s->s7, 8006000, 3);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_PYTHON), 2990000);
    assert_int_equal(cause(s, GP_IDLE_HOST), 1200000 + 800000 + 2984000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 2 * 6000);
    assert_string_equal(label(s, culprit(s, 0)->python), "train.py(3): step");
    assert_int_equal(culprit(s, 0)->cause, GP_IDLE_PYTHON);
}

/* What a function does between a wait and its next call belongs to the wait, if it is short: B is 20 us
 * here. */
SCENE(test_a_function_that_waits_and_launches_again)
{
    struct scene *s = *state;
    first_kernel(s);
    sampled(s, 0, 200000, "train.py(7): read_all");
    mk_call(&s->t, s->main, 1000, 20000, "cudaStreamSynchronize", 0);
    launch(s, s->main, 24000, s->s7, 29000, 2); /* ends at 39000 */
    mk_call(&s->t, s->main, 30000, 42000, "cudaStreamSynchronize", 0);
    launch(s, s->main, 46000, s->s7, 51000, 3); /* ends at 61000 */
    mk_call(&s->t, s->main, 52000, 64000, "cudaStreamSynchronize", 0);
    launch(s, s->main, 94000, s->s7, 99000, 4);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_SYNC), (10000 + 4000) + (3000 + 4000) + 3000);
    assert_int_equal(cause(s, GP_IDLE_HOST), 30000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 3 * 5000);
    for (size_t i = 0; i < s->h.devices.at[0].culprits.n; i++) {
        const struct gp_idle_culprit *c = culprit(s, i);
        if (c->cause == GP_IDLE_SYNC) assert_string_equal(label(s, c->api), "cudaStreamSynchronize");
        assert_string_equal(label(s, c->python), "train.py(7): read_all");
    }
}

SCENE(test_graph_launch)
{
    struct scene *s = *state;
    first_kernel(s);
    /* still in the call: it is delivered all the same */
    mk_call(&s->t, s->main, 50000, 66000, "cudaGraphLaunch", 2);
    mk_kernel(&s->t, s->s7, 60000, 61000, "n0", 2);
    mk_kernel(&s->t, s->s7, 62000, 63000, "n1", 2);
    mk_kernel(&s->t, s->s9, 64000, 65000, "n2", 2); /* another branch */
    run(s);
    assert_int_equal(cause(s, GP_IDLE_HOST), 40000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 10000);
    assert_int_equal(cause(s, GP_IDLE_QUEUED), 1000);
    assert_int_equal(cause(s, GP_IDLE_DEPENDENCY), 1000); /* n2 waited for n1 */
}

SCENE(test_slow_launch_call_is_the_hosts)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, 20000, 1020000, "cudaLaunchKernel", 2); /* loads the module first */
    mk_kernel(&s->t, s->s7, 1015000, 1030000, "b", 2);
    run(s);
    /* B is bounded by 100 us: median 995 us. 10000..20000 before the call, the call's 915000 before the last
     * 100 us ahead of c = 1015000 */
    assert_int_equal(cause(s, GP_IDLE_HOST), 10000 + 895000);
    assert_int_equal(cause(s, GP_IDLE_LAUNCH), 100000);
    assert_string_equal(label(s, culprit(s, 0)->api), "cudaLaunchKernel");
}

SCENE(test_a_blocking_copy_is_no_launch_on_its_way)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, 15000, 90000, "cudaMemcpy", 2); /* stages pageable memory, copies, waits */
    mk_gpu(&s->t, s->s7, 40000, 80000, GP_MEMCPY, "Memcpy HtoD", 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_HOST), 5000);
    assert_int_equal(cause(s, GP_IDLE_ALLOCATION), 25000);
}

struct told {
    struct gp_idle_piece at[16];
    int n;
};

static void note(void *ctx, const struct gp_idle_piece *p)
{
    struct told *t = ctx;
    assert_true(t->n < 16);
    t->at[t->n++] = *p;
}

SCENE(test_pieces_follow_each_other_and_differ)
{
    struct scene *s = *state;
    struct told told = {.n = 0};
    first_kernel(s);
    mk_host(&s->t, GP_OP, s->main, 12000, 13000, "op");
    mk_host(&s->t, GP_OP, s->main, 13000, 14000, "op"); /* another call of it: another piece */
    launch(s, s->main, 20000, s->s7, 29000, 2);         /* in the call until 24000, and after it: one piece */
    run(s);
    gp_idle_walk(&s->v, note, &told);
    static const int64_t ends[] = {12000, 13000, 14000, 20000, 29000};
    assert_int_equal(told.n, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(told.at[i].begin_ns, i ? ends[i - 1] : 10000);
        assert_int_equal(told.at[i].end_ns, ends[i]);
        assert_int_equal(told.at[i].gap_begin_ns, 10000);
        assert_int_equal(told.at[i].gap_end_ns, 29000);
    }
    assert_int_equal(told.at[3].node, GP_HOST_NONE);
    assert_int_equal(told.at[4].cause, GP_IDLE_LAUNCH);
}

SCENE(test_long_after_a_launch_on_an_idle_device)
{
    struct scene *s = *state;
    int64_t at = 0;
    for (uint64_t i = 1; i <= 5; i++) { /* latency 5 us: B = 20 us but for the histogram's 1/16 */
        launch(s, s->main, at, s->s7, at + (i == 3 ? 305000 : 5000), i);
        at += i == 3 ? 400000 : 100000;
    }
    run(s);
    int64_t b =
        cause(s, GP_IDLE_LAUNCH) - 3 * 5000 - 4000; /* the first ends no gap; the call of 4 us, and B */
    assert_in_range(b, 18750, 21250);
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 305000 - 4000 - b);
    assert_int_equal(cause(s, GP_IDLE_DEPENDENCY), 0);
}

SCENE(test_no_launch_record)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_kernel(&s->t, s->s7, 60000, 70000, "b", 99);
    mk_kernel(&s->t, s->s7, 80000, 90000, "c", 0); /* correlation 0 is none */
    mk_call(&s->t, s->main, 15000, 16000, "cudaLaunchKernel", 0);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 60000);
}

SCENE(test_launch_after_its_kernel_tells_nothing)
{
    struct scene *s = *state;
    first_kernel(s);
    launch(s, s->main, 61000, s->s7, 60000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 50000);
}

SCENE(test_two_devices)
{
    struct scene *s = *state;
    uint32_t d1 = mk_stream(&s->t, s->process, 1, 7);
    first_kernel(s);
    launch(s, s->main, 20000, d1, 25000, 2);
    launch(s, s->main, 45000, d1, 50000, 3);
    launch(s, s->main, 60000, s->s7, 66000, 4);
    run(s);
    assert_int_equal(s->h.devices.n, 2);
    assert_int_equal(cause(s, GP_IDLE_HOST), 50000);
    assert_int_equal(s->h.devices.at[1].b.idle_ns, 15000);
    assert_int_equal(s->h.devices.at[1].idle_cause_ns[GP_IDLE_HOST], 10000);
    assert_int_equal(s->h.devices.at[1].idle_cause_ns[GP_IDLE_LAUNCH], 5000);
}

SCENE(test_of_events_that_start_together_the_first_stream_tells)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_kernel(&s->t, s->s9, 60000, 90000, "longer, no record", 0);
    launch(s, s->main, 55000, s->s7, 60000, 2);
    run(s);
    assert_int_equal(cause(s, GP_IDLE_UNKNOWN), 0);
    assert_int_equal(cause(s, GP_IDLE_HOST), 45000);
}

SCENE(test_overlap_on_a_stream_is_no_gap)
{
    struct scene *s = *state;
    first_kernel(s);
    mk_call(&s->t, s->main, -900, -800, "cudaLaunchKernel", 2);
    mk_kernel(&s->t, s->s7, 200, 400, "inside a", 2); /* longer than K before the gap ends */
    mk_call(&s->t, s->main, -700, -600, "cudaLaunchKernel", 3);
    mk_kernel(&s->t, s->s7, 11000, 12000, "after a", 3);
    run(s);
    assert_int_equal(s->h.devices.at[0].b.idle_ns, 1000);
    assert_int_equal(cause(s, GP_IDLE_QUEUED), 1000);
}

TEST(test_names_of_calls)
{
    static const struct {
        const char *name;
        enum gp_idle_cause cause;
    } calls[] = {
        {"cudaDeviceSynchronize", GP_IDLE_SYNC},     {"hipEventSynchronize", GP_IDLE_SYNC},
        {"cuCtxSynchronize", GP_IDLE_SYNC},          {"cudaStreamWaitEvent", GP_IDLE_HOST},
        {"cudaMalloc", GP_IDLE_ALLOCATION},          {"cudaMallocAsync", GP_IDLE_HOST},
        {"cudaFreeHost", GP_IDLE_ALLOCATION},        {"cudaHostAlloc", GP_IDLE_ALLOCATION},
        {"cuMemAlloc_v2", GP_IDLE_ALLOCATION},       {"cuMemcpyHtoD_v2", GP_IDLE_ALLOCATION},
        {"cuMemcpyHtoDAsync_v2", GP_IDLE_HOST},      {"hipMemcpy", GP_IDLE_ALLOCATION},
        {"hipMemcpyWithStream", GP_IDLE_ALLOCATION}, {"cudaMemsetAsync", GP_IDLE_HOST},
        {"cudaLaunchKernel", GP_IDLE_HOST},          {"cudaFuncGetAttributes", GP_IDLE_HOST},
    };
    for (size_t i = 0; i < GP_COUNT(calls); i++)
        assert_string_equal(gp_idle_cause_name(gp_idle_call_cause(calls[i].name)),
                            gp_idle_cause_name(calls[i].cause));
}

TEST(test_names_of_data_loading)
{
    static const struct {
        enum gp_table table;
        const char *name;
        bool loads;
    } names[] = {
        {GP_RANGE, "load", true},
        {GP_RANGE, "Load Batch 7", true},
        {GP_RANGE, "## data_load ##", true},
        {GP_RANGE, "download weights", false},
        {GP_RANGE, "loss", false},
        {GP_OP, "load", false},
        {GP_OP, "aten::data", false},
        {GP_PYTHON, "torch/utils/data/dataloader.py(630): __next__", true},
        {GP_PYTHON, "torch/utils/datastructures.py(1): f", false},
        {GP_RANGE, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", true},
    };
    for (size_t i = 0; i < GP_COUNT(names); i++)
        if (gp_idle_loads_data(names[i].table, names[i].name, strlen(names[i].name)) != names[i].loads)
            fail_msg("%s", names[i].name);
}

static void check_node(void *ctx, const struct gp_idle_piece *p)
{
    const struct scene *s = ctx;
    if (p->cause != GP_IDLE_HOST) return;
    assert_int_equal(gp_host_at(&s->v.hs, s->main, p->begin_ns), p->node);
    assert_int_equal(gp_host_at(&s->v.hs, s->main, p->end_ns - 1), p->node);
}

/* Gaps of 0.3 to 90 us over operators that nest four deep, found one by one by another way. */
SCENE(test_each_piece_is_told_by_what_was_open)
{
    struct scene *s = *state;
    int64_t at = 0;
    for (uint64_t i = 1; i <= 400; i++) {
        int64_t gap = 300 + (int64_t)(i * i * 7919 % 90000);
        for (int64_t k = 0; k < gap / 500; k++)
            mk_host(&s->t, GP_OP, s->main, at + k * 500, at + k * 500 + 100 + (k * 37 % 11) * 180, "op");
        at += gap;
        mk_call(&s->t, s->main, at, at + 5, "cudaLaunchKernel", i);
        mk_kernel(&s->t, s->s7, at + 10, at + 2000, "k", i);
        at += 2000;
    }
    run(s);
    gp_idle_walk(&s->v, check_node, s);
    assert_true(cause(s, GP_IDLE_HOST) > 0);
}

static void count(void *ctx, const struct gp_idle_piece *p)
{
    (void)p;
    ++*(size_t *)ctx;
}

/* A damaged file can name any number of devices, whose gaps all span the whole file. */
SCENE(test_many_devices_take_bounded_time)
{
    struct scene *s = *state;
    for (int i = 0; i < 20000; i++) mk_host(&s->t, GP_OP, s->main, i * 100, i * 100 + 50, "op");
    for (uint64_t i = 0; i < 5000; i++) {
        uint32_t stream = mk_stream(&s->t, s->process, (int64_t)i + 10, 7);
        mk_kernel(&s->t, stream, 0, 10, "a", 0);
        mk_call(&s->t, s->main, 2000000 + (int64_t)i * 10, 2000005 + (int64_t)i * 10, "cudaLaunchKernel",
                i + 1);
        mk_kernel(&s->t, stream, 2100000, 2100010, "b", i + 1);
    }
    run(s);
    size_t pieces = 0; /* 5000 times 40000, one per step, without a bound */
    gp_idle_walk(&s->v, count, &pieces);
    assert_in_range(pieces, 10000, 1000000); /* 16 x 35000, the walk that passes it, two for each gap after */
    assert_int_equal(s->h.devices.n, 5000);
    assert_int_equal(s->h.devices.at[4999].b.idle_ns, 2099990);
}

/* Bit by bit: the host waits or works in these, whatever it does; other streams, the queue and what is
 * unknown are not its. */
TEST(what_waits_for_the_host)
{
    int64_t ns[GP_IDLE_CAUSE_COUNT];
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) ns[c] = INT64_C(1) << c;
    assert_int_equal(gp_idle_for_host_ns(ns),
                     (INT64_C(1) << GP_IDLE_CAUSE_COUNT) - 1 - (INT64_C(1) << GP_IDLE_DEPENDENCY) -
                         (INT64_C(1) << GP_IDLE_QUEUED) - (INT64_C(1) << GP_IDLE_OTHER) -
                         (INT64_C(1) << GP_IDLE_UNKNOWN));
    ns[GP_IDLE_LOGGING] = ns[GP_IDLE_LOCK] = INT64_MAX;
    assert_true(gp_idle_for_host_ns(ns) == INT64_MAX);
}
