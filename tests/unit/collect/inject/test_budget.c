// What recording costs is worked out and kept under a limit: by hand, second by second.
#include <string.h>

#include "collect/inject/budget.h"
#include "tests/unit/unit.h"

static const int64_t MS = 1000000, SECOND = 1000000000;

/* A program that launches RATE times a second, each taking BARE_NS, and RECORDED_NS while it is recorded. */
struct program {
    uint64_t rate, calls, waits, allocations, nodes; /* a second */
    int64_t bare_ns, recorded_ns;
    struct gp_budget_times with, without;
    struct gp_budget b;
    int64_t now_ns, recorded_for_ns, probed_for_ns;
};

static void add(struct gp_budget_times *t, int64_t ns, uint64_t n)
{
    int64_t i = ns / GP_BUDGET_BUCKET_NS;
    t->bucket[i < GP_BUDGET_BUCKETS ? i : GP_BUDGET_BUCKETS - 1] += (uint32_t)n;
    t->n += n;
}

/* For so long, in turns of 100 ms, and of 10 in a probe. */
static void run(struct program *p, int64_t for_ns)
{
    for (int64_t end_ns = p->now_ns + for_ns; p->now_ns < end_ns;) {
        struct gp_budget_counts c = {.with = &p->with, .without = &p->without};
        int64_t step_ns = p->b.phase == GP_BUDGET_PROBE ? 10 * MS : 100 * MS;
        uint64_t launches = p->rate * (uint64_t)step_ns / (uint64_t)SECOND,
                 per = (uint64_t)(SECOND / step_ns);
        if (p->b.phase == GP_BUDGET_RECORD) {
            add(&p->with, p->recorded_ns, launches);
            uint32_t out = p->b.left_out;
            c.launches = launches;
            c.nodes = p->nodes / per;
            c.calls = out & GP_BUDGET_CALLS ? 0 : p->calls / per;
            c.waits = out & GP_BUDGET_EVENTS ? 0 : p->waits / per;
            c.allocations = out & GP_BUDGET_MEMORY ? 0 : p->allocations / per;
            p->recorded_for_ns += step_ns;
        } else if (p->b.phase == GP_BUDGET_PROBE) {
            add(&p->without, p->bare_ns, launches);
            p->probed_for_ns += step_ns;
        }
        p->now_ns += step_ns;
        gp_budget_turn(&p->b, p->now_ns, &c);
        if (p->b.forget) memset(&p->with, 0, sizeof p->with), memset(&p->without, 0, sizeof p->without);
    }
}

static void begin(struct program *p, uint32_t limit_ppm)
{
    gp_budget_init(&p->b, limit_ppm, GP_BUDGET_MEMORY | GP_BUDGET_EVENTS | GP_BUDGET_CALLS);
    p->now_ns = SECOND;
}

TEST(the_shorter_half_is_what_a_launch_takes)
{
    struct gp_budget_times t = {.n = 0};
    assert_int_equal(gp_budget_typical(&t), -1);
    add(&t, 320, 60); /* in a bucket from 320 to 383 */
    add(&t, 640, 40);
    add(&t, 5000000, 100); /* the queue was full */
    assert_int_equal(gp_budget_typical(&t), (60 * 352 + 40 * 672) / 100);
}

TEST(a_launch_costs_what_it_takes_longer_when_it_is_recorded)
{
    struct program p = {.rate = 20000, .bare_ns = 3200, .recorded_ns = 8000};
    begin(&p, 500000);
    assert_int_equal(p.b.launch_ns, GP_BUDGET_LAUNCH_NS);
    run(&p, 4 * SECOND);
    assert_true(p.b.measured);
    assert_int_equal(p.b.launch_ns, 4800);
    assert_int_equal(gp_budget_launch_ns(&p.b), 4800 + GP_BUDGET_NOTE_NS);
    assert_int_equal(p.b.left_out, 0);
    assert_in_range(p.b.share_ppm, 99000, 101000); /* 20000 * 5 us */
    assert_true(p.probed_for_ns <= 360 * MS);      /* of 4 s */
}

TEST(parts_go_in_their_order_as_far_as_needed)
{
    /* allocations 1%, waits 0.4%, calls 0.2% and those of launches 0.04%, launches 0.96% */
    struct program p = {.rate = 2000,
                        .allocations = 10000,
                        .waits = 20000,
                        .calls = 10000,
                        .bare_ns = 3200,
                        .recorded_ns = 8000};
    struct program q = p, r = p, s = p;
    begin(&p, 30000);
    run(&p, 5 * SECOND);
    assert_int_equal(p.b.left_out, 0);
    begin(&q, 20000);
    run(&q, 5 * SECOND);
    assert_int_equal(q.b.left_out, GP_BUDGET_MEMORY);
    begin(&r, 14000);
    run(&r, 5 * SECOND);
    assert_int_equal(r.b.left_out, GP_BUDGET_MEMORY | GP_BUDGET_EVENTS);
    begin(&s, 11000);
    run(&s, 5 * SECOND);
    assert_int_equal(s.b.left_out, GP_BUDGET_MEMORY | GP_BUDGET_EVENTS | GP_BUDGET_CALLS);
    assert_in_range(s.b.share_ppm, 9500, 9700);
}

TEST(what_cannot_be_left_out_is_not)
{
    struct program p = {.rate = 2000, .waits = 20000, .calls = 10000, .bare_ns = 3200, .recorded_ns = 8000};
    gp_budget_init(&p.b, 12000, GP_BUDGET_CALLS);
    p.now_ns = SECOND;
    run(&p, 5 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS);
}

TEST(at_last_everything_is_recorded_in_windows)
{
    struct program p = {.rate = 20000, .waits = 130000, .bare_ns = 3200, .recorded_ns = 8000}; /* 12.6% */
    begin(&p, 20000);
    run(&p, 3 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS);
    p.recorded_for_ns = 0;
    run(&p, 100 * SECOND);
    /* a window of 300 ms (a multiple of 100) and a rest of 5.3 times that */
    assert_in_range(p.recorded_for_ns, 15 * SECOND, 16200 * MS);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS);
}

/* What other programs do to a machine lengthens every second probe. */
TEST(the_median_of_the_latest_probes_counts)
{
    struct program p = {.rate = 20000, .bare_ns = 9600, .recorded_ns = 14400};
    begin(&p, 20000);
    run(&p, 3 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS);
    for (unsigned i = 0; i < 40; i++) {
        p.bare_ns = i % 4 == 1 ? 19200 : 9600;
        p.recorded_ns = i % 4 == 3 ? 28800 : 14400;
        unsigned probes = p.b.probes;
        while (p.b.probes == probes) run(&p, 10 * MS);
    }
    assert_int_equal(p.b.launch_ns, 4800);
    p.recorded_ns = 11200; /* it becomes cheaper */
    for (unsigned probes = p.b.probes; p.b.probes < probes + GP_BUDGET_PROBES;) run(&p, 10 * MS);
    assert_int_equal(p.b.launch_ns, GP_BUDGET_LAUNCH_NS);
    assert_false(p.b.measured);
}

TEST(no_launch_is_taken_to_be_cheap)
{
    struct program p = {.rate = 10000, .bare_ns = 3200, .recorded_ns = 3200};
    begin(&p, 20000);
    run(&p, 5 * SECOND);
    assert_false(p.b.measured);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS); /* 3% and more */
}

TEST(a_program_that_hardly_launches_is_not_paused)
{
    struct program p = {.rate = 20, .waits = 200000, .bare_ns = 3200, .recorded_ns = 4160};
    begin(&p, 20000);
    run(&p, 20 * SECOND);
    assert_int_equal(p.probed_for_ns, 0);
    assert_int_equal(p.b.left_out, GP_BUDGET_EVENTS);
    assert_false(p.b.measured);
}

TEST(graphs_cost_by_their_nodes)
{
    struct program p = {.rate = 100, .nodes = 100000, .bare_ns = 3200, .recorded_ns = 3200};
    begin(&p, 40000);
    run(&p, 3 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS); /* 4.5% and more */
    begin(&p, 50000);
    run(&p, 3 * SECOND);
    assert_int_equal(p.b.left_out, 0);
}
