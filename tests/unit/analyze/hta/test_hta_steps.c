// Steps: from ranges, from graphs, from what repeats; what belongs to which; windows and their figures.
#include <stdio.h>
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/view/steps.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/model/step_name.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

/* A process with a main thread, an autograd thread and a stream; every launch gets the next correlation
 * id. */
struct maker {
    struct gp_trace t;
    uint32_t main, other, stream, process;
    uint64_t corr;
};

static struct maker begin(void)
{
    struct maker m;
    memset(&m, 0, sizeof m);
    gp_trace_init(&m.t, GP_NEED_ALL);
    m.process = mk_process(&m.t, 1, 0);
    m.main = mk_thread(&m.t, m.process, 1);
    m.other = mk_thread(&m.t, m.process, 2);
    m.stream = mk_stream(&m.t, m.process, 0, 7);
    m.t.rank = 3;
    return m;
}

/* Launched at AT for 2 ns from THREAD, on the GPU from START to END. */
static void launch_on(struct maker *m, uint32_t thread, uint32_t stream, int64_t at, int64_t start,
                      int64_t end, const char *name)
{
    mk_call(&m->t, thread, at, at + 2, "cudaLaunchKernel", ++m->corr);
    mk_kernel(&m->t, stream, start, end, name, m->corr);
}

static void launch(struct maker *m, int64_t at, int64_t start, int64_t end, const char *name)
{
    launch_on(m, m->main, m->stream, at, start, end, name);
}

/* A graph launch of N kernels of 10 ns each. */
static void replay(struct maker *m, int64_t at, int64_t start, int n, uint64_t graph)
{
    mk_call(&m->t, m->main, at, at + 2, "cudaGraphLaunch", ++m->corr);
    for (int i = 0; i < n; i++) {
        char name[20];
        snprintf(name, sizeof name, "node%d", i);
        size_t row = mk_kernel(&m->t, m->stream, start + i * 10, start + i * 10 + 10, name, m->corr);
        gp_set_graph(&m->t.events[GP_GPU], row, graph);
    }
}

static void range(struct maker *m, int64_t begin_ns, int64_t end_ns, const char *name)
{
    mk_host(&m->t, GP_RANGE, m->main, begin_ns, end_ns, name);
}

static int add(struct gp_hta *h, struct maker *m, struct gp_err *err)
{
    struct gp_view v;
    gp_trace_finish(&m->t);
    gp_view_init(&v, &m->t, NULL);
    h->work->err = err;
    gp_hta_steps_section.add(h, &v);
    gp_steps_release(&h->work->steps);
    memset(&h->work->steps, 0, sizeof h->work->steps);
    gp_view_release(&v);
    gp_trace_release(&m->t);
    return h->work->failed;
}

static struct gp_hta finish(struct maker *m, const char *marker)
{
    struct gp_hta h;
    struct gp_hta_opts opts = {.step_marker = marker};
    gp_hta_init(&h, &opts);
    assert_int_equal(add(&h, m, NULL), 0);
    gp_hta_section_sort(&gp_hta_steps_section, &h);
    return h;
}

static void release(struct gp_hta *h)
{
    gp_hta_section_release(&gp_hta_steps_section, h);
    gp_hta_release(h);
}

static void assert_step(const struct gp_hta *h, size_t i, const char *name, int64_t begin_ns, int64_t end_ns,
                        uint64_t launches, bool partial)
{
    assert_in_range(i, 0, h->steps.n - 1);
    const struct gp_hta_step *s = &h->steps.at[i];
    assert_string_equal(gp_hta_str(h, s->name), name);
    assert_int_equal(s->begin_ns, begin_ns);
    assert_int_equal(s->end_ns, end_ns);
    assert_int_equal(s->launches, launches);
    assert_int_equal(s->partial, partial);
    assert_int_equal(s->b.span_ns, end_ns - begin_ns);
    assert_int_equal(s->b.compute_ns + s->b.exposed_communication_ns + s->b.exposed_memory_ns + s->b.idle_ns,
                     s->b.span_ns);
}

/* The GPU lags: what step 1 launches runs while step 2 is on the host. A kernel of step 2 is launched by the
 * autograd thread. What is launched between the steps is in none, but lies in a window. */
TEST(test_launched_in_a_step)
{
    struct maker m = begin();
    range(&m, 0, 100, "ProfilerStep#1");
    launch(&m, 10, 150, 200, "a");
    launch(&m, 20, 200, 260, "b");
    launch(&m, 105, 270, 280, "between");
    range(&m, 110, 200, "ProfilerStep#2");
    launch_on(&m, m.other, m.stream, 120, 300, 340, "c");
    launch(&m, 130, 340, 350, "d");
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 2);
    assert_step(&h, 0, "ProfilerStep#1", 150, 300, 2, false);
    assert_int_equal(h.steps.at[0].source, GP_STEPS_MARKER);
    assert_int_equal(h.steps.at[0].rank, 3);
    assert_int_equal(h.steps.at[0].host_begin_ns, 0);
    assert_int_equal(h.steps.at[0].host_end_ns, 100);
    assert_int_equal(h.steps.at[0].b.busy_ns, 50 + 60 + 10); /* the one between counts for the window */
    assert_int_equal(h.steps.at[0].b.idle_ns, 30);
    assert_step(&h, 1, "ProfilerStep#2", 300, 350, 2, true); /* what would have followed is unknown */
    release(&h);
}

/* What still runs where a step ends counts on both sides, each with its part. */
TEST(test_kernel_across_the_end)
{
    struct maker m = begin();
    uint32_t copies = mk_stream(&m.t, m.process, 0, 8);
    for (int i = 0; i < 3; i++) {
        char name[30];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        range(&m, i * 100, i * 100 + 100, name);
        launch(&m, i * 100 + 10, i * 100 + 20, i * 100 + 40, "a");
        launch_on(&m, m.main, copies, i * 100 + 50, i * 100 + 60, i * 100 + 130, "b");
    }
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 3);
    assert_step(&h, 0, "ProfilerStep#0", 20, 120, 2, false);
    assert_int_equal(h.steps.at[0].b.busy_ns, 20 + 60);
    assert_int_equal(h.steps.at[0].b.gpu_events, 2);
    assert_step(&h, 1, "ProfilerStep#1", 120, 220, 2, false);
    assert_int_equal(h.steps.at[1].b.busy_ns, 20 + 60); /* 120-140, of which 120-130 twice; 160-220 */
    assert_int_equal(h.steps.at[1].b.gpu_events, 3);
    assert_int_equal(h.steps.at[1].b.gpu_ns, 10 + 20 + 60);
    assert_step(&h, 2, "ProfilerStep#2", 220, 330, 2, true);
    release(&h);
}

static void assert_rank(const char *name, int rank, int64_t number)
{
    size_t base;
    uint64_t n;
    assert_int_equal(gp_step_name_rank(name, strlen(name), &base, &n), rank);
    assert_true(n == (number < 0 ? GP_NO_ID : (uint64_t)number));
}

TEST(test_names_of_steps)
{
    assert_rank("ProfilerStep#12", 0, 12);
    assert_rank("execute_context_1(888_788544)_generation_0(0)", 0, -1);
    assert_rank("execute_32_context_0(sq0sk0)_generation_32(sq32sk55086)", 0, -1);
    assert_rank("execute_model", 3, -1);
    assert_rank("train_step_3", 1, 3);
    assert_rank("iteration 17/100", 1, 17);
    assert_rank("[Step 5]", 1, 5);
    assert_rank("batch=4", 2, 4);
    assert_rank("epoch 2", 4, 2);
    assert_rank("work 9", 3, 9);
    assert_rank("layer_3", GP_STEP_NEVER, 3);
    assert_rank("Optimizer.step#AdamW.step", GP_STEP_NEVER, -1);
    assert_rank("12", GP_STEP_NEVER, 12);
    assert_rank("step", 1, -1);
    assert_rank("", GP_STEP_NEVER, -1);
    assert_rank("step 99999999999999999999999", 3, -1); /* no number that fits: says nothing */
}

/* Layers repeat inside of steps, epochs hold them: steps are what counts. */
TEST(test_steps_among_other_ranges)
{
    struct maker m = begin();
    range(&m, 0, 1000, "epoch 0");
    for (int i = 0; i < 4; i++) {
        char name[30];
        snprintf(name, sizeof name, "iter %d", i);
        range(&m, i * 100, i * 100 + 90, name);
        range(&m, i * 100, i * 100 + 40, "layer 0");
        launch(&m, i * 100 + 10, i * 100 + 15, i * 100 + 30, "a");
        range(&m, i * 100 + 40, i * 100 + 80, "layer 1");
        launch(&m, i * 100 + 50, i * 100 + 55, i * 100 + 70, "b");
    }
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 4);
    assert_step(&h, 1, "iter 1", 115, 215, 2, false);
    assert_step(&h, 3, "iter 3", 315, 370, 2, true);
    release(&h);
}

/* 3 ranges "step" of 300 ns, in each of which numbers begin ANEW, or go on where the last one ended. */
static struct gp_hta steps_with_numbers(struct maker *m, bool anew)
{
    *m = begin();
    for (int i = 0; i < 3; i++) {
        range(m, i * 300, i * 300 + 290, "step");
        for (int k = 0; k < 2; k++) {
            char name[30];
            int at = i * 300 + 100 + k * 50;
            snprintf(name, sizeof name, "[iter=%d]", anew ? k : 2 * i + k);
            range(m, at, at + 40, name);
            launch(m, at + 10, at + 15, at + 30, "a");
        }
    }
    return finish(m, NULL);
}

/* A compiler numbers the iterations of a loop within each step; a program numbers its steps throughout. */
TEST(test_numbers_that_begin_anew_are_within_steps)
{
    struct maker m;
    struct gp_hta h = steps_with_numbers(&m, true);
    assert_int_equal(h.steps.n, 3);
    assert_step(&h, 1, "step", 415, 715, 2, false);
    release(&h);
    h = steps_with_numbers(&m, false);
    assert_int_equal(h.steps.n, 6);
    assert_step(&h, 1, "[iter=1]", 165, 415, 1, false);
    release(&h);
}

/* The launches of 300 equal layers repeat as those of steps do. */
TEST(test_layers_of_an_engine_are_one_step)
{
    struct maker m = begin();
    range(&m, 0, 6050, "execute_context_1(888_788544)_generation_0(0)");
    for (int i = 0; i < 300; i++) {
        launch(&m, i * 20 + 10, i * 20 + 12, i * 20 + 18, "attention");
        launch(&m, i * 20 + 20, i * 20 + 22, i * 20 + 24, "product");
    }
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 1);
    assert_int_equal(h.steps.at[0].b.gpu_events, 600);
    release(&h);
}

/* Ranges with numbers that say nothing and hold little are not steps. */
TEST(test_numbers_alone_are_no_steps)
{
    struct maker m = begin();
    for (int i = 0; i < 5; i++) {
        char name[30], kernel[30];
        snprintf(name, sizeof name, "work %d", i);
        range(&m, i * 100, i * 100 + 20, name);
        launch(&m, i * 100 + 10, i * 100 + 15, i * 100 + 30, "a");
        for (int k = 0; k < 3; k++) {
            snprintf(kernel, sizeof kernel, "other%d", i * 3 + k);
            launch(&m, i * 100 + 40 + 10 * k, i * 100 + 45 + 10 * k, i * 100 + 50 + 10 * k, kernel);
        }
    }
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 0);
    release(&h);
}

TEST(test_marker_of_the_user)
{
    struct maker m = begin();
    range(&m, 0, 100, "ProfilerStep#0");
    range(&m, 10, 40, "my work: a");
    launch(&m, 20, 25, 30, "a");
    range(&m, 50, 90, "my work: b");
    range(&m, 60, 70, "my work: inside b");
    launch(&m, 80, 85, 95, "b");
    struct gp_hta h = finish(&m, "^my work");
    assert_int_equal(h.steps.n, 2);
    assert_step(&h, 0, "my work: a", 25, 85, 1, false);
    assert_step(&h, 1, "my work: b", 85, 95, 1, true);
    release(&h);
}

TEST(test_marker_that_fits_nothing_or_is_wrong)
{
    struct maker m = begin();
    range(&m, 0, 100, "ProfilerStep#0");
    launch(&m, 20, 25, 30, "a");
    struct gp_hta h = finish(&m, "nothing");
    assert_int_equal(h.steps.n, 0); /* what was asked for, not something else */
    release(&h);
    struct gp_hta_opts opts = {.step_marker = "a[b"};
    struct gp_err err = {0};
    gp_hta_init(&h, &opts);
    m = begin();
    launch(&m, 20, 25, 30, "a");
    assert_int_equal(add(&h, &m, &err), -1);
    assert_int_equal(err.code, GP_E_USAGE);
    m = begin();
    assert_int_equal(add(&h, &m, &err), -1); /* without GPU events, too */
    release(&h);
}

/* Four replays of one graph, each with a sampling kernel behind it. */
TEST(test_graph_replays)
{
    struct maker m = begin();
    for (int i = 0; i < 4; i++) {
        replay(&m, i * 100, i * 100 + 5, 5, 77);
        launch(&m, i * 100 + 10, i * 100 + 60, i * 100 + 70, "sample");
    }
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 4);
    assert_int_equal(h.steps.at[0].source, GP_STEPS_GRAPH);
    assert_step(&h, 0, "replay 1", 5, 105, 2, false);
    assert_step(&h, 3, "replay 4", 305, 370, 2, true);
    assert_int_equal(h.steps.at[3].host_begin_ns, 300);
    assert_int_equal(h.steps.at[3].host_end_ns, 312);
    release(&h);
}

/* Three graphs in turn are one step, with and without ids: then their size tells them apart. */
TEST(test_graphs_in_turn)
{
    for (int ids = 0; ids < 2; ids++) {
        struct maker m = begin();
        for (int i = 0; i < 12; i++)
            replay(&m, i * 100, i * 100 + 5, 3 + i % 3, ids ? (uint64_t)(i % 3) : GP_NO_ID);
        struct gp_hta h = finish(&m, NULL);
        assert_int_equal(h.steps.n, 4);
        assert_step(&h, 1, "replay 2", 305, 605, 3, false);
        release(&h);
    }
}

/* Initialisation, then five steps of a, b, c, d; the host waits before each c, so that this is where they
 * begin. */
TEST(test_periodic_launches)
{
    static const char *const kernels[] = {"a", "b", "c", "d"};
    struct maker m = begin();
    launch(&m, 0, 5, 8, "init1");
    launch(&m, 10, 15, 18, "init2");
    int64_t at = 100;
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 2) at += 5000;
        launch(&m, at, at + 5, at + 9, kernels[i % 4]);
        at += 10;
    }
    /* a b | c d a b | c d a b | c d a b | c d a b | c d: at 100, 5120, 10160, 15200, 20240, 25280 */
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 6);
    assert_int_equal(h.steps.at[0].source, GP_STEPS_PERIOD);
    assert_step(&h, 0, "period 0", 105, 5125, 2, true);
    assert_step(&h, 1, "period 1", 5125, 10165, 4, false);
    assert_step(&h, 4, "period 4", 20245, 25285, 4, false);
    assert_step(&h, 5, "period 5", 25285, 25299, 2, true);
    assert_int_equal(h.steps.at[1].host_begin_ns, 5120);
    assert_int_equal(h.steps.at[1].host_end_ns, 5152); /* b of the next pair: 5150 and the call's 2 */
    release(&h);
}

/* Ten steps of a, b, c, d: whether the recording begins with a or amid a step, each kernel has its time per
 * step. */
TEST(test_kernels_of_a_step)
{
    static const char *const kernels[] = {"a", "b", "c", "d"};
    for (int phase = 0; phase < 4; phase++) {
        struct maker m = begin();
        for (int i = 0; i < 40; i++) {
            int64_t at = i * 200 + (i + phase) / 4 * 90000;
            launch(&m, at, at + 5, at + 5 + 100 + i % 4, kernels[i % 4]);
        }
        struct gp_hta h;
        gp_hta_init(&h, NULL);
        gp_trace_finish(&m.t);
        assert_int_equal(gp_hta_add_trace(&h, &m.t, NULL), 0);
        gp_trace_release(&m.t);
        gp_fleet_settle(&h.fleet);
        assert_int_equal(h.fleet.kept.n, 1);
        assert_int_equal(h.fleet.kept.at[0].steps, 9);
        assert_int_equal(h.fleet.kept.at[0].kernels.n, 4);
        for (size_t k = 0; k < 4; k++) { /* the largest first */
            int64_t ns = h.fleet.kept.at[0].kernels.at[k].step_ns;
            assert_int_equal(ns, 103 - (int64_t)k);
        }
        gp_hta_release(&h);
    }
}

/* The same calls without a pause anywhere may as well be the layers of one step. */
TEST(test_layers_are_no_steps)
{
    static const char *const kernels[] = {"a", "b", "c", "d"};
    struct maker m = begin();
    for (int i = 0; i < 48; i++) launch(&m, i * 10, i * 10 + 5, i * 10 + 9, kernels[i % 4]);
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 0);
    release(&h);
}

/* Two devices of one process have the same steps, each with its own work; where a device has none it has no
 * step. */
TEST(test_devices)
{
    struct maker m = begin();
    uint32_t second = mk_stream(&m.t, m.process, 1, 7);
    range(&m, 0, 100, "ProfilerStep#0");
    launch(&m, 10, 15, 20, "a");
    launch_on(&m, m.main, second, 20, 25, 45, "b");
    range(&m, 100, 200, "ProfilerStep#1");
    launch(&m, 110, 115, 120, "a");
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 3);
    assert_step(&h, 0, "ProfilerStep#0", 15, 115, 1, false);
    assert_step(&h, 1, "ProfilerStep#1", 115, 120, 1, true);
    assert_int_equal(h.steps.at[2].device, 1);
    assert_step(&h, 2, "ProfilerStep#0", 25, 45, 1, true);
    release(&h);
}

/* No launch is recorded: time on the GPU must do. */
TEST(test_no_launch_records)
{
    static const char *const kernels[] = {"a", "b", "c"};
    struct maker m = begin();
    for (int i = 0; i < 12; i++) {
        int64_t at = i * 10 + i / 3 * 10000;
        mk_kernel(&m.t, m.stream, at, at + 8, kernels[i % 3], 0);
    }
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 4);
    assert_step(&h, 1, "period 2", 10030, 20060, 0, false);
    release(&h);
}

TEST(test_nothing)
{
    struct maker m = begin();
    range(&m, 0, 10, "ProfilerStep#0");
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.steps.n, 0);
    release(&h);
}

static struct maker make(int rank)
{
    struct maker m = begin();
    m.t.rank = rank;
    for (int i = 0; i < 3; i++) {
        char name[30];
        snprintf(name, sizeof name, "ProfilerStep#%d", i + rank);
        range(&m, i * 100, i * 100 + 90, name);
        launch(&m, i * 100 + 10, i * 100 + 20 + rank, i * 100 + 40, "a");
    }
    return m;
}

static void save(struct gp_hta *h, struct gp_buf *to)
{
    struct gp_serializer x = {.save = to, .strings = &h->strings};
    to->n = 0;
    gp_hta_section_serialize(&gp_hta_steps_section, &x, h);
}

TEST(test_merging_is_adding)
{
    struct gp_hta one, two, three, loaded;
    struct gp_hta *all[] = {&one, &two, &three, &loaded};
    for (int i = 0; i < 4; i++) gp_hta_init(all[i], NULL);
    gp_intern_cstr(&three.strings, "shifts the sids");
    for (int rank = 2; rank >= 0; rank--) {
        struct maker a = make(rank), b = make(rank);
        assert_int_equal(add(&one, &a, NULL), 0);
        assert_int_equal(add(rank == 2 ? &two : &three, &b, NULL), 0);
    }
    struct gp_buf x = {0}, y = {0};
    save(&three, &x);
    const uint8_t *bytes = (const uint8_t *)x.data;
    struct gp_serializer load = {.load = bytes, .end = bytes + x.n, .strings = &loaded.strings};
    gp_hta_section_serialize(&gp_hta_steps_section, &load, &loaded);
    assert_false(load.failed);
    gp_hta_section_merge(&gp_hta_steps_section, &two, &loaded);
    gp_hta_section_sort(&gp_hta_steps_section, &one);
    gp_hta_section_sort(&gp_hta_steps_section, &two);
    save(&one, &x);
    save(&two, &y);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    assert_int_equal(two.steps.n, 9);
    assert_step(&two, 0, "ProfilerStep#0", 20, 120, 1, false);
    for (int i = 0; i < 4; i++) release(all[i]);
    gp_buf_release(&x);
    gp_buf_release(&y);
}
