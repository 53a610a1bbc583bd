// From small traces to their replays: what is launched when, and what waits for what.
#include <stdio.h>

#include "analyze/suggest/plan.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct fixture {
    struct gp_trace t;
    struct gp_view v;
    struct gp_steps steps;
    struct gp_plan p;
    uint32_t process, main, stream, other;
};

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    gp_trace_init(&f->t, GP_NEED_ALL);
    f->process = mk_process(&f->t, 1, 0);
    f->main = mk_thread(&f->t, f->process, 100);
    f->stream = mk_stream(&f->t, f->process, 0, 7);
    f->other = mk_stream(&f->t, f->process, 0, 8);
}

static bool planned(struct fixture *f)
{
    struct gp_err err;
    gp_trace_finish(&f->t);
    gp_view_init(&f->v, &f->t, NULL);
    assert_int_equal(gp_steps_find(&f->steps, &f->v, NULL, &err), 0);
    return f->steps.v.n && gp_plan_build(&f->p, &f->v, &f->steps.v.at[0]);
}

static void end(struct fixture *f)
{
    gp_plan_release(&f->p);
    gp_steps_release(&f->steps);
    gp_view_release(&f->v);
    gp_trace_release(&f->t);
}

/* Steps of 100 us: a kernel 7 us after its call, another one after a pause of the host, and a wait for
 * that. */
static void make_steps(struct fixture *f, int n, int64_t first_ns)
{
    uint64_t corr = 1;
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        char name[32];
        int64_t length = i ? 100000 : first_ns;
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        mk_host(&f->t, GP_RANGE, f->main, at, at + length, name);
        mk_call(&f->t, f->main, at + 1000, at + 3000, "cudaLaunchKernel", corr);
        mk_kernel(&f->t, f->stream, at + 8000, at + 9000, "first", corr++);
        mk_call(&f->t, f->main, at + 10000, at + 12000, "cudaLaunchKernel", corr);
        mk_kernel(&f->t, f->stream, at + 17000, at + 30000, "second", corr++);
        mk_call(&f->t, f->main, at + 13000, at + 32000, "cudaStreamSynchronize", corr++);
        at += length;
    }
}

TEST(the_replay_of_no_change_is_what_was_recorded)
{
    struct fixture f;
    begin(&f);
    make_steps(&f, 4, 100000);
    assert_true(planned(&f));
    const struct gp_plan *p = &f.p;
    assert_true(p->found_steps);
    assert_int_equal(p->steps.n, 4);
    assert_int_equal(p->warm_up, 0);
    assert_int_equal(p->items.n, 8);
    assert_int_equal(p->calls.n, 12);
    assert_int_equal(p->replay.launch_ns, 7000);
    assert_int_equal(p->replay.wake_ns, 2000);
    assert_int_equal(p->drained, 8);
    assert_int_equal(p->recorded_ns, 400000);
    assert_int_equal(gp_plan_length(p), 400000);
    for (uint32_t s = 0; s < 4; s++) {
        assert_int_equal(p->steps.at[s].first_item, 2 * s);
        assert_int_equal(p->steps.at[s].n_items, 2);
        assert_int_equal(p->steps.at[s].first_call, 3 * s);
        assert_int_equal(p->steps.at[s].n_calls, 3);
        const struct gp_plan_call *wait = &p->calls.at[3 * s + 2];
        assert_int_equal(wait->waited_for, 2 * s + 1);
        assert_int_equal(wait->waited_ns, 19000 - 2000); // all of the call but what it takes at least
    }
    assert_int_equal(p->replay.calls.at[1].before_ns, 7000);  // 3 -> 10 us
    assert_int_equal(p->replay.calls.at[3].before_ns, 69000); // 32 -> 101 us
    end(&f);
}

TEST(a_wait_that_is_left_out_lets_the_host_go_on)
{
    struct fixture f;
    begin(&f);
    make_steps(&f, 4, 100000);
    assert_true(planned(&f));
    struct gp_edit edits[4];
    for (uint32_t s = 0; s < 4; s++) edits[s] = (struct gp_edit){GP_EDIT_NO_WAIT, 3 * s + 2, 0};
    // each step: the call ends at 13 + 2 us instead of 32
    assert_int_equal(gp_replay_run(&f.p.replay, edits, 4, NULL), 400000 - 4 * 17000);
    end(&f);
}

TEST(the_first_step_warms_up)
{
    struct fixture f;
    begin(&f);
    make_steps(&f, 5, 900000);
    assert_true(planned(&f));
    assert_int_equal(f.p.warm_up, 1);
    assert_int_equal(f.p.steps.n, 4);
    assert_int_equal(f.p.begin_ns, 900000);
    assert_int_equal(f.p.recorded_ns, 400000);
    end(&f);
}

TEST(a_kernel_waits_for_another_stream)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 2000, "cudaLaunchKernel", 1);
    mk_kernel(&f.t, f.stream, 7000, 100000, "long", 1);
    mk_call(&f.t, f.main, 3000, 5000, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.other, 101500, 110000, "after it", 2);
    mk_call(&f.t, f.main, 120000, 122000, "cudaLaunchKernel", 3);
    mk_kernel(&f.t, f.other, 177000, 180000, "late, for unknown reasons", 3);
    assert_true(planned(&f));
    assert_false(f.p.found_steps);
    assert_int_equal(f.p.steps.n, 1);
    const struct gp_replay_item *item = f.p.replay.items.at;
    // calls on an idle GPU: 7 us, and the one that is late: 57 us; the greater of the two is taken as median
    assert_int_equal(f.p.replay.launch_ns, 57000);
    assert_int_equal(item[0].after, GP_REPLAY_NONE);
    assert_int_equal(item[1].after, 0);
    assert_int_equal(item[1].delay_ns, 0); // 1.5 us after what it waited for is not a delay
    assert_int_equal(item[2].after, GP_REPLAY_NONE);
    end(&f);
}

TEST(a_copy_that_blocks_is_waited_for_by_its_own_call)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 50000, "cudaMemcpy", 1);
    mk_gpu(&f.t, f.stream, 10000, 45000, GP_MEMCPY, "Memcpy HtoD (Pageable -> Device)", 1);
    assert_true(planned(&f));
    assert_int_equal(f.p.calls.at[0].waited_for, 0);
    assert_int_equal(f.p.replay.calls.at[0].own_ns, 2000);
    assert_int_equal(f.p.calls.at[0].waited_ns, 48000);
    assert_int_equal(f.p.replay.wake_ns, 5000);
    // half the time for the copy: 10..27.5 us, and back at 32.5
    struct gp_edit half = {GP_EDIT_DUR, 0, 17500};
    assert_int_equal(gp_replay_run(&f.p.replay, &half, 1, NULL), 32500);
    end(&f);
}

TEST(the_host_copies_on_from_the_buffer_to_pageable_memory)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 4; i++) {
        int64_t at = i * 100000, late = i == 2 ? 30000 : 0; /* new pages, for one */
        mk_call(&f.t, f.main, at, at + 50000 + late, "cudaMemcpyAsync", (uint64_t)i + 1);
        mk_gpu(&f.t, f.stream, at + 10000, at + 45000, GP_MEMCPY, "Memcpy DtoH (Device -> Pageable)",
               (uint64_t)i + 1);
    }
    assert_true(planned(&f));
    assert_int_equal(f.p.replay.wake_ns, 5000);
    assert_int_equal(f.p.replay.calls.at[1].after_ns, 0);
    assert_int_equal(f.p.replay.calls.at[2].after_ns, 30000);
    assert_int_equal(gp_plan_length(&f.p), 350000);
    // without the wait, nothing is copied on: the next copy follows this one, 64 us earlier
    struct gp_edit edit = {GP_EDIT_NO_WAIT, 2, 0};
    assert_int_equal(gp_replay_run(&f.p.replay, &edit, 1, NULL), 350000 - 64000);
    end(&f);
}

/* Two kernels side by side, and a call NAME that waits until END: does it wait for all? */
static bool waits_for_all(const char *name, int64_t end_ns)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 2000, "cudaLaunchKernel", 1);
    mk_kernel(&f.t, f.stream, 7000, 40000, "a", 1);
    mk_call(&f.t, f.main, 3000, 5000, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.other, 10000, 30000, "b", 2);
    mk_call(&f.t, f.main, 6000, end_ns, name, 3);
    mk_call(&f.t, f.main, 60000, 62000, "cudaLaunchKernel", 4);
    mk_kernel(&f.t, f.stream, 67000, 70000, "c", 4);
    assert_true(planned(&f));
    assert_int_equal(f.p.calls.n, 4);
    assert_int_equal(f.p.replay.calls.at[2].waits_for, end_ns > 40000 ? 0 : 1);
    assert_true(gp_plan_waited_for_result(&f.p, 2));
    bool all = f.p.replay.calls.at[2].waits_for_all;
    end(&f);
    return all;
}

/* A copy of 5 us whose call lasts 40 us. */
static bool waits_for_copy(const char *call, const char *copy)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 40000, call, 1);
    mk_gpu(&f.t, f.stream, 10000, 15000, GP_MEMCPY, copy, 1);
    mk_call(&f.t, f.main, 41000, 43000, "cudaLaunchKernel", 2);
    mk_kernel(&f.t, f.stream, 50000, 51000, "k", 2);
    assert_true(planned(&f));
    bool waits = f.p.calls.at[0].waited_for == 0;
    end(&f);
    return waits;
}

TEST(an_asynchronous_copy_does_not_wait)
{
    assert_false(waits_for_copy("cudaMemcpyAsync", "Memcpy DtoD (Device -> Device)"));
    assert_false(waits_for_copy("cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)"));
    /* through a driver buffer */
    assert_true(waits_for_copy("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)"));
    assert_true(waits_for_copy("cudaMemcpy", "Memcpy HtoD (Pinned -> Device)"));
    assert_true(waits_for_copy("hipMemcpyWithStream", "Memcpy DtoH (Device -> Pageable)"));
}

/* Launches every us of kernels of 10 us: QUEUED of them are on the stream when the last call begins, which
 * takes LONG. */
static uint32_t waits_with_queue(int queued, int64_t long_ns, int64_t *own_ns)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 500, "cudaLaunchKernel", 1);
    mk_kernel(&f.t, f.stream, 1000000, 1010000, "k", 1); // nothing is over before all are launched
    for (int i = 1; i <= queued; i++) {
        bool last = i == queued;
        mk_call(&f.t, f.main, i * 1000, i * 1000 + (last ? long_ns : 500), "cudaLaunchKernel",
                (uint64_t)i + 1);
        mk_kernel(&f.t, f.stream, 1000000 + i * 10000, 1010000 + i * 10000, "k", (uint64_t)i + 1);
    }
    assert_true(planned(&f));
    uint32_t item = f.p.calls.at[queued].waited_for;
    *own_ns = f.p.replay.calls.at[queued].own_ns;
    assert_false(gp_plan_waited_for_result(&f.p, (uint32_t)queued)); // waiting for room gives no result
    end(&f);
    return item;
}

TEST(a_launch_into_a_full_queue_waits)
{
    int64_t own;
    assert_int_equal(waits_with_queue(1005, 30000, &own), GP_REPLAY_NONE); // less than 50 us
    // from 1,005 to 1,065 us: those that end at 1,010, 1,020 ... 1,060 are over
    assert_int_equal(waits_with_queue(1005, 60000, &own), 5);
    assert_int_equal(own, 2000); // what a call that waits takes at least
    assert_int_equal(waits_with_queue(900, 200000, &own), GP_REPLAY_NONE); // there is room
    assert_int_equal(own, 200000);
}

TEST(calls_that_wait_for_a_device_wait_for_all_of_it)
{
    assert_true(waits_for_all("cudaDeviceSynchronize", 43000));
    assert_true(waits_for_all("hipDeviceSynchronize", 43000));
    assert_true(waits_for_all("cuCtxSynchronize", 43000));
    assert_false(waits_for_all("cudaStreamSynchronize", 43000));
    assert_false(waits_for_all("cudaEventSynchronize", 43000));
    // it went on while the other stream was at work: it was about another device, or something else is wrong
    assert_false(waits_for_all("cudaDeviceSynchronize", 33000));
}

TEST(kernels_of_a_graph_follow_each_other)
{
    struct fixture f;
    begin(&f);
    mk_call(&f.t, f.main, 0, 9000, "cudaGraphLaunch", 1);
    mk_kernel(&f.t, f.stream, 20000, 21000, "a", 1);
    mk_kernel(&f.t, f.stream, 21800, 23000, "b", 1);
    mk_kernel(&f.t, f.stream, 23800, 24000, "c", 1);
    assert_true(planned(&f));
    assert_int_equal(f.p.replay.calls.at[0].n, 3);
    assert_int_equal(f.p.graph_gap_ns, 800);
    assert_int_equal(f.p.recorded_ns, 24000);
    assert_int_equal(gp_plan_length(&f.p), 24000);
    end(&f);
}

/* Ten times a kernel, a copy, and a kernel, all launched before any of them runs: 1 us before a copy, 3 us
 * after it. */
TEST(gaps_beside_copies_are_their_own)
{
    struct fixture f;
    uint64_t corr = 1;
    begin(&f);
    for (int i = 0; i < 30; i++)
        mk_call(&f.t, f.main, i * 1000, i * 1000 + 500, i % 3 == 1 ? "cudaMemcpyAsync" : "cudaLaunchKernel",
                (uint64_t)i + 1);
    int64_t at = 40000;
    for (int i = 0; i < 10; i++) {
        mk_kernel(&f.t, f.stream, at, at + 10000, "before", corr++);
        mk_gpu(&f.t, f.stream, at + 11000, at + 21000, GP_MEMCPY, "Memcpy HtoD (Pinned -> Device)", corr++);
        mk_kernel(&f.t, f.stream, at + 24000, at + 34000, "after", corr++);
        at += 34000 + 2000;
    }
    assert_true(planned(&f));
    assert_int_equal(f.p.replay.items.n, 30);
    assert_int_equal(f.p.replay.items.at[3].gap_ns, 2000);
    assert_int_equal(f.p.replay.items.at[4].gap_ns, 1000);
    assert_int_equal(f.p.replay.items.at[5].gap_ns, 3000);
    assert_int_equal(gp_plan_length(&f.p), f.p.recorded_ns);
    end(&f);
}

/* The host is far ahead: at the begin of the first step nothing runs, but half a millisecond of work is
 * queued. */
TEST(what_was_queued_before_the_steps_is_no_latency)
{
    struct fixture f;
    begin(&f);
    make_steps(&f, 1, 900000);
    mk_call(&f.t, f.main, 40000, 42000, "cudaLaunchKernel", 100);
    mk_kernel(&f.t, f.stream, 903000, 1400000, "queued", 100);
    for (int i = 0; i < 4; i++) {
        int64_t at = 900000 + i * 100000, start = 1401000 + i * 200000;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i + 1);
        mk_host(&f.t, GP_RANGE, f.main, at, at + 100000, name);
        mk_call(&f.t, f.main, at + 1000, at + 3000, "cudaLaunchKernel", 101 + (uint64_t)i);
        mk_kernel(&f.t, f.stream, start, start + 199000, "first", 101 + (uint64_t)i);
    }
    assert_true(planned(&f));
    assert_int_equal(f.p.begin_ns, 900000);
    assert_int_equal(f.p.items.n, 4);
    assert_int_equal(f.p.drained, 0);          // no kernel found the GPU without work,
    assert_int_equal(f.p.replay.launch_ns, 0); // so that nothing is known of a launch's latency
    end(&f);
}

/* A kernel starts 10 us after its call, a copy of a value 6 us, and the host waits for each copy. */
TEST(copies_and_kernels_start_after_times_of_their_own)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 40; i++) {
        int64_t at = i * 50000;
        uint64_t corr = 3 * (uint64_t)i + 1;
        mk_call(&f.t, f.main, at, at + 3000, "cudaLaunchKernel", corr);
        mk_kernel(&f.t, f.stream, at + 10000, at + 11000, "compare", corr);
        mk_call(&f.t, f.main, at + 20000, at + 23000, "cudaMemcpyAsync", corr + 1);
        mk_gpu(&f.t, f.stream, at + 26000, at + 27000, GP_MEMCPY, "Memcpy DtoH (Device -> Pinned)", corr + 1);
        mk_call(&f.t, f.main, at + 24000, at + 30000, "cudaStreamSynchronize", corr + 2);
    }
    assert_true(planned(&f));
    assert_int_equal(f.p.replay.launch_ns, 10000);
    assert_int_equal(f.p.replay.calls.at[1].sooner_ns, 4000);
    assert_int_equal(gp_plan_length(&f.p), f.p.recorded_ns);
    end(&f);
}

TEST(without_launches_there_is_no_plan)
{
    struct fixture f;
    begin(&f);
    mk_kernel(&f.t, f.stream, 20000, 21000, "a", GP_NO_ID);
    mk_kernel(&f.t, f.stream, 22000, 23000, "b", GP_NO_ID);
    assert_false(planned(&f));
    end(&f);
}
