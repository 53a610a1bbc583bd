// Profiles: steps and their windows, shares of events that overlap, idle time, memory, places, saving.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/profile_priv.h"
#include "analyze/view/steps.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

#define NONE GP_PROFILE_NONE

/* One process with a thread and two streams of device 0; every launch gets the next correlation id. */
struct maker {
    struct gp_trace t;
    uint32_t process, thread, streams[2];
    uint64_t corr;
};

static struct maker begin(void)
{
    struct maker m;
    memset(&m, 0, sizeof m);
    gp_trace_init(&m.t, GP_NEED_ALL);
    m.process = mk_process(&m.t, 1, 0);
    m.thread = mk_thread(&m.t, m.process, 1);
    for (int i = 0; i < 2; i++) m.streams[i] = mk_stream(&m.t, m.process, 0, 7 + i);
    return m;
}

static void launch(struct maker *m, int stream, int64_t at, int64_t start, int64_t end, const char *name)
{
    mk_call(&m->t, m->thread, at, at + 1, "cudaLaunchKernel", ++m->corr);
    mk_kernel(&m->t, m->streams[stream], start, end, name, m->corr);
}

static void step(struct maker *m, int64_t from, int64_t to, const char *name)
{
    mk_host(&m->t, GP_RANGE, m->thread, from, to, name);
}

static struct gp_profile finish(struct maker *m, const struct gp_profile_opts *opts)
{
    struct gp_profile p;
    gp_trace_finish(&m->t);
    gp_profile_init(&p, opts);
    assert_int_equal(gp_profile_add_trace(&p, &m->t, NULL), 0);
    gp_trace_release(&m->t);
    return p;
}

static const struct gp_profile_event *event(const struct gp_profile *p, const char *kernel)
{
    for (size_t i = 0; i < p->events.n; i++)
        if (!strcmp(gp_profile_str(p, p->kernels.at[p->events.at[i].kernel].name), kernel))
            return &p->events.at[i];
    fail_msg("no event of kernel %s", kernel);
    return NULL;
}

/* What is promised of every profile: windows are shares, idle time and nothing else; lanes are the shares of
 * all. */
static void assert_sums(const struct gp_profile *p)
{
    for (size_t s = 0; s < p->steps.n; s++) {
        const struct gp_profile_step *step = &p->steps.at[s];
        int64_t sum = step->other_ns;
        for (size_t i = 0; i < p->events.n; i++)
            if (p->events.at[i].step == s) sum += p->events.at[i].share_ns;
        for (size_t i = 0; i < p->spills.n; i++) {
            if (p->spills.at[i].step == s) sum += p->spills.at[i].share_ns;
            if (p->events.at[p->spills.at[i].event].step == s) sum -= p->spills.at[i].share_ns;
        }
        assert_int_equal(sum, step->busy_ns);
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) sum += step->idle_ns[c];
        assert_int_equal(sum, step->wall_ns);
    }
    for (size_t l = 0; l < p->lanes.n; l++) {
        const struct gp_profile_lane *lane = &p->lanes.at[l];
        int64_t sum = 0;
        for (uint32_t i = 0; i < lane->n_events; i++) sum += p->events.at[lane->first_event + i].share_ns;
        assert_int_equal(sum, lane->whole.busy_ns);
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) sum += lane->whole.idle_ns[c];
        assert_int_equal(sum, lane->whole.wall_ns);
    }
}

/* a |--------|                 100..180
 * b     |-------|              140..210: 40 ns beside a
 * c                |---|       230..260 */
TEST(test_overlap_is_shared)
{
    struct maker m = begin();
    launch(&m, 0, 10, 100, 180, "a");
    launch(&m, 1, 20, 140, 210, "b");
    launch(&m, 0, 30, 230, 260, "c");
    struct gp_profile p = finish(&m, NULL);
    assert_int_equal(event(&p, "a")->share_ns, 40 + 20);
    assert_int_equal(event(&p, "b")->share_ns, 20 + 30);
    assert_int_equal(event(&p, "c")->share_ns, 30);
    assert_int_equal(p.lanes.at[0].whole.wall_ns, 160);
    assert_int_equal(p.lanes.at[0].whole.busy_ns, 140);
    assert_int_equal(p.lanes.at[0].whole.gpu_ns, 180);
    assert_int_equal(p.lanes.at[0].whole.host.launches, 3);
    assert_int_equal(p.step_source, GP_STEPS_NONE);
    assert_sums(&p);
    gp_profile_release(&p);
}

/* Three run for 10 ns: 3 each, and the ns that is left over is the first one's. */
TEST(test_remainders)
{
    struct maker m = begin();
    uint32_t third = mk_stream(&m.t, m.process, 0, 9);
    launch(&m, 0, 10, 100, 110, "a");
    launch(&m, 1, 20, 100, 110, "b");
    mk_kernel(&m.t, third, 100, 110, "c", 0);
    struct gp_profile p = finish(&m, NULL);
    int64_t sum = event(&p, "a")->share_ns + event(&p, "b")->share_ns + event(&p, "c")->share_ns;
    assert_int_equal(sum, 10);
    assert_int_equal(event(&p, "a")->share_ns, 4);
    assert_int_equal(event(&p, "b")->share_ns, 3);
    assert_sums(&p);
    gp_profile_release(&p);
}

/* Step 1 launches a and b, step 2 c: b still runs when c, on another stream, opens the window of step 2.
 *
 * a  |---|                100..130
 * b        |---------|    150..210
 * c             |--------|     180..240 */
TEST(test_work_that_runs_into_the_next_step)
{
    struct maker m = begin();
    step(&m, 0, 50, "ProfilerStep#1");
    launch(&m, 0, 10, 100, 130, "a");
    launch(&m, 0, 20, 150, 210, "b");
    step(&m, 60, 90, "ProfilerStep#2");
    launch(&m, 1, 70, 180, 240, "c");
    struct gp_profile p = finish(&m, NULL);
    assert_int_equal(p.steps.n, 2);
    assert_int_equal(p.step_source, GP_STEPS_MARKER);
    const struct gp_profile_step *one = &p.steps.at[0], *two = &p.steps.at[1];
    assert_string_equal(gp_profile_str(&p, one->name), "ProfilerStep#1");
    assert_true(one->n == 2 && two->n == 1 && !one->open && two->open && !one->cut && !two->cut);
    assert_true(one->begin_ns == 0 && one->wall_ns == 80 && one->busy_ns == 60 && one->gpu_ns == 90);
    assert_true(two->begin_ns == 80 && two->wall_ns == 60 && two->busy_ns == 60 && two->gpu_ns == 60);
    assert_int_equal(one->host_ns, 50);
    /* b: 30 in its own window, 15 of the 30 that it shares with c in the next */
    assert_int_equal(event(&p, "b")->share_ns, 45);
    assert_int_equal(p.spills.n, 1);
    assert_true(p.spills.at[0].step == 1 && p.spills.at[0].share_ns == 15);
    assert_true(&p.events.at[p.spills.at[0].event] == event(&p, "b"));
    assert_int_equal(event(&p, "c")->share_ns, 45);
    assert_sums(&p);
    gp_profile_release(&p);
}

/* What is launched outside all steps takes time from their windows, too. */
TEST(test_work_of_no_step)
{
    struct maker m = begin();
    step(&m, 0, 50, "ProfilerStep#1");
    launch(&m, 0, 10, 100, 130, "a");
    launch(&m, 0, 55, 140, 150, "between");
    step(&m, 60, 90, "ProfilerStep#2");
    launch(&m, 0, 70, 200, 240, "b");
    struct gp_profile p = finish(&m, NULL);
    assert_int_equal(event(&p, "between")->step, NONE);
    assert_int_equal(p.steps.at[0].wall_ns, 100);
    assert_int_equal(p.steps.at[0].busy_ns, 40);
    assert_int_equal(p.steps.at[0].gpu_ns, 30);
    assert_int_equal(p.spills.n, 1);
    assert_true(p.spills.at[0].step == 0 && p.spills.at[0].share_ns == 10);
    assert_sums(&p);
    struct gp_profile_opts whole = {.no_steps = true};
    struct maker again = begin();
    step(&again, 0, 50, "ProfilerStep#1");
    launch(&again, 0, 10, 100, 130, "a");
    gp_profile_release(&p);
    p = finish(&again, &whole);
    assert_true(p.steps.n == 0 && p.step_source == GP_STEPS_NONE && p.spills.n == 0);
    assert_sums(&p);
    gp_profile_release(&p);
}

TEST(test_equal_steps_have_equal_sequences)
{
    struct maker m = begin();
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        step(&m, i * 1000, i * 1000 + 900, name);
        launch(&m, 0, i * 1000 + 10, i * 1000 + 100, i * 1000 + 200 + i, "a");
        launch(&m, 0, i * 1000 + 20, i * 1000 + 300, i * 1000 + 400, i == 2 ? "c" : "b");
    }
    struct gp_profile p = finish(&m, NULL);
    assert_int_equal(p.steps.n, 3);
    assert_true(p.steps.at[0].sequence == p.steps.at[1].sequence);
    assert_true(p.steps.at[0].sequence != p.steps.at[2].sequence);
    gp_profile_release(&p);
}

TEST(test_places_and_calls)
{
    struct maker m = begin();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 500, "train");
    mk_host(&m.t, GP_OP, m.thread, 5, 100, "aten::linear");
    mk_host(&m.t, GP_OP, m.thread, 8, 90, "aten::addmm");
    launch(&m, 0, 10, 1000, 1100, "a");
    launch(&m, 0, 20, 1100, 1200, "b");
    mk_host(&m.t, GP_OP, m.thread, 200, 300, "aten::addmm");
    launch(&m, 0, 210, 1300, 1400, "c");
    launch(&m, 0, 600, 1400, 1500, "d");
    struct gp_profile p = finish(&m, NULL);
    const struct gp_profile_place *a = &p.places.at[event(&p, "a")->place],
                                  *c = &p.places.at[event(&p, "c")->place];
    assert_string_equal(gp_profile_str(&p, a->label), "aten::addmm");
    assert_string_equal(gp_profile_str(&p, a->op), "aten::addmm");
    assert_string_equal(gp_profile_str(&p, a->range), "train");
    assert_string_equal(gp_profile_str(&p, p.places.at[a->parent].label), "aten::linear");
    assert_true(a->op == c->op && c->parent == p.places.at[a->parent].parent);
    assert_int_equal(event(&p, "d")->place, 0);
    assert_int_equal(event(&p, "a")->firsts, GP_PROFILE_FIRST_OF_OP | GP_PROFILE_FIRST_OF_RANGE);
    assert_int_equal(event(&p, "b")->firsts, 0);
    assert_int_equal(event(&p, "c")->firsts, GP_PROFILE_FIRST_OF_OP);
    assert_int_equal(event(&p, "d")->firsts, 0);
    assert_true(event(&p, "a")->launch == 0 && event(&p, "d")->launch == 3);
    gp_profile_release(&p);
}

static void allocate(struct maker *m, int64_t at, int64_t bytes, int64_t total)
{
    struct gp_events *e = &m->t.events[GP_MEMORY];
    size_t row = mk_host(&m->t, GP_MEMORY, m->thread, at, at, "[memory]");
    gp_set_bytes(e, row, bytes);
    gp_set_total(e, row, total);
    gp_set_extra(e, row, mk_name(&m->t, "{\"Device Type\":1,\"Device Id\":0}"));
}

TEST(test_memory_and_waits)
{
    struct maker m = begin();
    allocate(&m, 1, 1000, 1000);
    step(&m, 10, 100, "ProfilerStep#1");
    launch(&m, 0, 20, 200, 210, "a");
    allocate(&m, 30, 500, 1500);
    allocate(&m, 40, -500, 1000);
    mk_host(&m.t, GP_API, m.thread, 50, 80, "cudaDeviceSynchronize");
    step(&m, 110, 200, "ProfilerStep#2");
    launch(&m, 0, 120, 300, 310, "a");
    mk_host(&m.t, GP_API, m.thread, 130, 140, "cudaMalloc");
    struct gp_profile p = finish(&m, NULL);
    const struct gp_profile_host *one = &p.steps.at[0].host, *two = &p.steps.at[1].host;
    assert_true(p.has_memory);
    assert_true(one->allocations == 1 && one->allocated_bytes == 500 && one->peak_bytes == 1500 &&
                one->end_bytes == 1000);
    assert_true(two->allocations == 0 && two->peak_bytes == 1000); /* what there was when it began */
    assert_int_equal(p.lanes.at[0].whole.host.peak_bytes, 1500);
    assert_true(one->syncs == 1 && one->sync_ns == 30 && one->blocking == 0);
    assert_true(two->syncs == 0 && two->blocking == 1);
    gp_profile_release(&p);
}

/* Nodes of a graph start in another order each time; their numbers put them in order. */
TEST(test_graph_nodes_are_ordered_by_number)
{
    struct maker m = begin();
    static const int64_t starts[2][2] = {{100, 120}, {320, 300}};
    for (int i = 0; i < 2; i++) {
        mk_call(&m.t, m.thread, i * 200, i * 200 + 5, "cudaGraphLaunch", ++m.corr);
        for (uint64_t node = 0; node < 2; node++) {
            size_t row = mk_kernel(&m.t, m.streams[node], starts[i][node], starts[i][node] + 10,
                                   node ? "b" : "a", m.corr);
            gp_set_node(&m.t.events[GP_GPU], row, node + 1);
        }
    }
    struct gp_profile p = finish(&m, NULL);
    assert_int_equal(p.events.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(gp_profile_str(&p, p.kernels.at[p.events.at[i].kernel].name), i % 2 ? "b" : "a");
    assert_int_equal(p.lanes.at[0].whole.host.graph_launches, 2);
    assert_int_equal(p.lost, 0);
    gp_profile_release(&p);
}

/* Replayed twice: what was captured in a range is of that range, which each replay calls; the rest is of the
 * step. */
TEST(test_captured_work_is_in_the_ranges_of_its_capture)
{
    static const char *const captured[] = {"train\x1flayer 0", "train\x1flayer 0", "train\x1flayer 1",
                                           "train"};
    struct maker m = begin();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 1000, "train");
    for (int i = 0; i < 2; i++) {
        mk_host(&m.t, GP_RANGE, m.thread, 10 + i * 200, 100 + i * 200, "step");
        mk_call(&m.t, m.thread, 20 + i * 200, 25 + i * 200, "cudaGraphLaunch", ++m.corr);
        for (int k = 0; k < 4; k++) {
            int64_t start = 2000 + 100 * i + 10 * k;
            const char name[] = {(char)('a' + k), (char)('0' + i), 0};
            size_t row = mk_kernel(&m.t, m.streams[0], start, start + 5, name, m.corr);
            gp_set_node(&m.t.events[GP_GPU], row, (uint64_t)k + 1);
            gp_set_captured(&m.t.events[GP_GPU], row, mk_name(&m.t, captured[k]));
        }
    }
    launch(&m, 0, 600, 3000, 3010, "eager");
    struct gp_profile p = finish(&m, NULL);
    const struct gp_profile_place *a = &p.places.at[event(&p, "a0")->place];
    assert_string_equal(gp_profile_str(&p, a->label), "layer");
    assert_string_equal(gp_profile_str(&p, a->range), "layer");
    assert_string_equal(gp_profile_str(&p, p.places.at[a->parent].label), "cudaGraphLaunch");
    assert_true(event(&p, "a0")->place == event(&p, "c1")->place);
    const struct gp_profile_place *d = &p.places.at[event(&p, "d0")->place];
    assert_string_equal(gp_profile_str(&p, d->label), "cudaGraphLaunch");
    assert_string_equal(gp_profile_str(&p, d->range), "step");
    static const char *const first[] = {"a0", "c0", "d0", "a1", "c1", "d1"};
    for (size_t i = 0; i < 6; i++) assert_int_equal(event(&p, first[i])->firsts, GP_PROFILE_FIRST_OF_RANGE);
    assert_true(!event(&p, "b0")->firsts && !event(&p, "b1")->firsts);
    assert_true(p.places.at[event(&p, "a0")->place].by_graph && p.places.at[event(&p, "d0")->place].by_graph);
    assert_true(!p.places.at[event(&p, "eager")->place].by_graph && !p.places.at[0].by_graph);
    assert_true(p.lanes.at[0].whole.host.graph_launches == 2 && p.lanes.at[0].whole.host.launches == 3);
    gp_profile_release(&p);
}

TEST(test_launches_without_kernels_are_lost)
{
    struct maker m = begin();
    launch(&m, 0, 10, 100, 180, "a");
    mk_call(&m.t, m.thread, 20, 21, "cudaLaunchKernel", ++m.corr);
    mk_call(&m.t, m.thread, 30, 31, "cudaMemcpyAsync", ++m.corr); /* of nothing: no launch of a kernel */
    struct gp_profile p = finish(&m, NULL);
    assert_int_equal(p.lost, 1);
    gp_profile_release(&p);
}

static struct gp_profile some_profile(void)
{
    struct maker m = begin();
    mk_host(&m.t, GP_OP, m.thread, 5, 40, "aten::mm");
    step(&m, 0, 50, "ProfilerStep#1");
    launch(&m, 0, 10, 100, 130, "a");
    launch(&m, 0, 20, 150, 210, "b");
    step(&m, 60, 90, "ProfilerStep#2");
    launch(&m, 1, 70, 180, 240, "c");
    mk_call(&m.t, m.thread, 30, 31, "cudaStreamSynchronize", ++m.corr);
    struct gp_profile p = finish(&m, NULL);
    for (int i = 0; i < 3 * GP_COUNTED_COUNT; i++) GP_VEC_PUSH(&p.counted, i - 1);
    gp_profile_hash(&p);
    return p;
}

TEST(test_saving)
{
    struct gp_profile p = some_profile(), q;
    struct gp_buf bytes = {0}, again = {0};
    struct gp_err err = {0};
    gp_profile_save(&p, &bytes);
    assert_true(gp_profile_is_saved(bytes.data, bytes.n) && !gp_profile_is_saved("{}", 2));
    gp_profile_init(&q, NULL);
    assert_int_equal(gp_profile_load(&q, bytes.data, bytes.n, &err), 0);
    assert_true(q.content == p.content && q.events.n == 3 && q.spills.n == 1 && q.steps.n == 2);
    assert_true(q.calls.n == 1 && q.calls.at[0].sort == GP_PROFILE_SYNC && q.counted.at[5] == 4);
    assert_sums(&q);
    gp_profile_save(&q, &again);
    assert_true(again.n == bytes.n && !memcmp(again.data, bytes.data, bytes.n));
    gp_profile_release(&q);
    gp_profile_release(&p);
    gp_buf_release(&again);
    /* Cut anywhere, or with any byte changed, it is refused and leaves nothing behind. */
    for (size_t i = 0; i < bytes.n; i++) {
        gp_profile_init(&q, NULL);
        assert_int_equal(gp_profile_load(&q, bytes.data, i, &err), -1);
        bytes.data[i] ^= 0x15;
        assert_int_equal(gp_profile_load(&q, bytes.data, bytes.n, &err), -1);
        bytes.data[i] ^= 0x15;
        assert_int_equal(q.events.n, 0);
        gp_profile_release(&q);
    }
    gp_buf_release(&bytes);
}

/* Bytes that pass the hash but make no sense are refused as well. */
TEST(test_saved_nonsense)
{
    for (int what = 0; what < 9; what++) {
        struct gp_profile p = some_profile(), q;
        struct gp_buf bytes = {0};
        if (what == 0) p.events.at[1].kernel = 99;
        if (what == 1) p.events.at[1].step = 99;
        if (what == 2) p.steps.at[1].first = 99;
        if (what == 3) p.lanes.at[0].n_steps = 99;
        if (what == 4) p.places.at[1].parent = 1;
        if (what == 5) p.spills.at[0].event = 99;
        if (what == 6) p.calls.at[0].step = 99;
        if (what == 7) p.calls.at[0].sort = GP_PROFILE_CALLS;
        if (what == 8) p.counted.n--;
        gp_profile_save(&p, &bytes);
        gp_profile_init(&q, NULL);
        assert_int_equal(gp_profile_load(&q, bytes.data, bytes.n, NULL), -1);
        gp_profile_release(&q);
        gp_profile_release(&p);
        gp_buf_release(&bytes);
    }
}

/* Whatever overlaps whatever: sums are sums. */
TEST(test_random_intervals)
{
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct maker m = begin();
        int64_t at = 0;
        for (int i = 0; i < 40; i++) {
            uint32_t r[4];
            for (int k = 0; k < 4; k++) r[k] = (seed = seed * 1664525 + 1013904223) >> 16;
            if (i % 8 == 0) {
                char name[32];
                snprintf(name, sizeof name, "ProfilerStep#%d", i / 8);
                step(&m, at, at + 100, name);
            }
            int64_t start = at + 5 + r[0] % 90;
            launch(&m, r[1] % 2, at + 1, start, start + r[2] % (round % 10 ? 60 : 400), r[3] % 3 ? "a" : "b");
            at += 13 + (i % 8 == 7 ? 20 : 0);
        }
        struct gp_profile p = finish(&m, NULL);
        assert_int_equal(p.steps.n, 5);
        assert_sums(&p);
        gp_profile_release(&p);
    }
}
