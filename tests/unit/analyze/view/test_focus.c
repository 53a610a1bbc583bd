/* The step window, the warm-up and what a trace is restricted to. All expected times are worked out by
 * hand. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/view/focus.h"
#include "analyze/view/steps.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct scene {
    struct gp_trace t;
    struct gp_view v;
    struct gp_steps steps;
    struct gp_focus focus;
    uint32_t process, main, s7;
    uint64_t corr;
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
    gp_focus_release(&s->focus);
    gp_steps_release(&s->steps);
    gp_view_release(&s->v);
    gp_trace_release(&s->t);
    free(s);
    return 0;
}

static void work(struct scene *s, int64_t at, int64_t start, int64_t stop)
{
    mk_call(&s->t, s->main, at, at + 5, "cudaLaunchKernel", ++s->corr);
    mk_kernel(&s->t, s->s7, start, stop, "k", s->corr);
}

/* Steps of these lengths from 1000 on, each with a kernel of 10 at 20. Returns where the last one ends. */
static int64_t run_steps(struct scene *s, const int64_t *lengths, size_t n)
{
    int64_t at = 1000;
    for (size_t i = 0; i < n; i++) {
        char name[48];
        snprintf(name, sizeof name, "ProfilerStep#%zu", i);
        mk_host(&s->t, GP_RANGE, s->main, at, at + lengths[i], name);
        work(s, at + 1, at + 20, at + 30);
        at += lengths[i];
    }
    return at;
}

static bool run(struct scene *s)
{
    struct gp_err err;
    gp_trace_finish(&s->t);
    gp_view_init(&s->v, &s->t, NULL);
    assert_int_equal(gp_steps_find(&s->steps, &s->v, NULL, &err), 0);
    return gp_focus_make(&s->focus, &s->v, &s->steps);
}

static struct gp_step_stretch window(struct scene *s)
{
    struct gp_step_sharing sharing = {0};
    struct gp_device_steps steps;
    gp_device_steps_find(&steps, &sharing, &s->v, &s->v.devices.at[0], &s->steps.v.at[0]);
    struct gp_step_stretch w = gp_device_steps_window(&steps);
    gp_device_steps_release(&steps);
    gp_step_sharing_release(&sharing);
    return w;
}

#define SCENE(name) TEST_WITH(begin, end, name)

/* Warm-up of 900 and 300; then 100, 110, 90, 100, 100 and the last: the window begins at 2220. */
SCENE(test_window)
{
    struct scene *s = *state;
    static const int64_t lengths[] = {900, 300, 100, 110, 90, 100, 100, 100};
    work(s, 0, 10, 60); /* start-up */
    int64_t stop = run_steps(s, lengths, 8);
    assert_int_equal(stop, 2800);
    work(s, stop + 50, stop + 60, stop + 70);
    assert_true(run(s));
    assert_int_equal(s->steps.v.at[0].steady, 2);
    struct gp_step_stretch w = window(s);
    assert_int_equal(w.first, 2);
    assert_int_equal(w.end, 8);
    assert_int_equal(w.whole, 5);
    assert_int_equal(w.timed, 5);
    assert_int_equal(w.begin_ns, 2220);
    assert_int_equal(w.end_ns, 2730);
    assert_int_equal(w.mean_ns, 100);
    assert_int_equal(w.median_ns, 100);
    assert_int_equal(s->focus.t.events[GP_GPU].n, 6);
    assert_int_equal(s->focus.left_out, 4);
    assert_int_equal(s->focus.span_ns, 510);
    assert_int_equal(s->focus.outside_ns, 2870 - 10 - 510);
    assert_int_equal(s->t.events[GP_GPU].n, 10); /* the whole trace is as it was */
}

/* A kernel of the warm-up that reaches into the window counts from its begin on. */
SCENE(test_edges_are_cut)
{
    struct scene *s = *state;
    static const int64_t lengths[] = {900, 100, 100, 100, 100};
    uint32_t other = mk_stream(&s->t, s->process, 0, 8);
    run_steps(s, lengths, 5);
    mk_call(&s->t, s->main, 1500, 1505, "cudaLaunchKernel", ++s->corr);
    mk_kernel(&s->t, other, 1600, 1950, "long", s->corr);
    assert_true(run(s));
    const struct gp_events *gpu = &s->focus.t.events[GP_GPU];
    assert_int_equal(gpu->n, 5);
    assert_int_equal(gpu->start_ns[0], 1920);
    assert_int_equal(gpu->dur_ns[0], 30);             /* the longer one of two that begin there */
    assert_int_equal(s->focus.view.at.api_row[0], 1); /* calls at 1001, 1500, 1901 ... */
    assert_int_equal(s->focus.view.at.by[GP_BY_CORRELATION], 5);
    for (size_t i = 1; i < gpu->n; i++) assert_true(gpu->start_ns[i] >= gpu->start_ns[i - 1]);
}

/* Two steps: the first is warm-up only if it takes more than twice as long. */
SCENE(test_few_steps)
{
    struct scene *s = *state;
    static const int64_t lengths[] = {210, 100, 50};
    run_steps(s, lengths, 3);
    assert_true(run(s));
    assert_int_equal(s->steps.v.at[0].steady, 1);
    struct gp_step_stretch w = window(s);
    assert_int_equal(w.timed, 1);
    assert_int_equal(w.mean_ns, 100);
}

SCENE(test_nothing_outside)
{
    struct scene *s = *state;
    static const int64_t lengths[] = {190, 100, 50};
    run_steps(s, lengths, 3);
    assert_false(run(s));
    assert_int_equal(s->focus.windows, 1);
    assert_int_equal(window(s).mean_ns, 145);
}

SCENE(test_no_steps)
{
    struct scene *s = *state;
    work(s, 0, 10, 20);
    assert_false(run(s));
    assert_int_equal(s->focus.windows, 0);
    assert_int_equal(window(s).timed, 0);
}
