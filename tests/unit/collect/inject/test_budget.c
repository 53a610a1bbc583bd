// What recording costs is worked out and kept under a limit: by hand, second by second.
#include <string.h>

#include "collect/inject/budget.h"
#include "tests/unit/unit.h"

static const int64_t MS = 1000000, SECOND = 1000000000;

/* A program, and what recording it really costs: a launch, CUPTI's coming and leaving, and what stays while
 * it is away, in ppm. */
struct program {
    uint64_t rate, calls, waits, allocations, nodes; /* a second */
    int64_t launch_ns, move_ns;
    double stays_ppm;
    int64_t step_ns; /* bare, 0: it has none that are seen */
    bool early;      /* steps were seen before CUPTI came */
    bool late;       /* CUPTI hands records out a turn later */
    uint64_t held;   /* launches whose records it has */
    struct gp_budget b;
    int64_t now_ns, recorded_for_ns, cost_ns;
    unsigned windows;
};

/* For so long, in turns of 100 ms. */
static void run(struct program *p, int64_t for_ns)
{
    const int64_t turn_ns = 100 * MS;
    for (int64_t end_ns = p->now_ns + for_ns; p->now_ns < end_ns;) {
        struct gp_budget_counts c = {.launches = 0};
        enum gp_budget_phase before = p->b.phase;
        double slower = (double)p->rate * (double)p->launch_ns / 1e9;
        if (before == GP_BUDGET_RECORD) {
            uint32_t out = p->b.left_out;
            c.launches = p->rate / 10;
            c.nodes = p->nodes / 10;
            c.calls = out & GP_BUDGET_CALLS ? 0 : p->calls / 10;
            c.waits = out & GP_BUDGET_EVENTS ? 0 : p->waits / 10;
            c.allocations = out & GP_BUDGET_MEMORY ? 0 : p->allocations / 10;
            p->recorded_for_ns += turn_ns;
            p->cost_ns += (int64_t)(slower / (1 + slower) * (double)turn_ns);
        } else {
            p->cost_ns += (int64_t)(p->stays_ppm / 1e6 * (double)turn_ns);
        }
        if (p->late) {
            uint64_t newer = c.launches;
            c.launches = p->held;
            p->held = newer;
        }
        if (p->step_ns) {
            c.step_with_ns = (int64_t)((double)p->step_ns * (1 + slower));
            if (p->windows || before != GP_BUDGET_RECORD)
                c.step_rest_ns = c.step_stays_ns = (int64_t)((double)p->step_ns * (1 + p->stays_ppm / 1e6));
            if (p->early) c.step_before_ns = p->step_ns;
        }
        p->now_ns += turn_ns;
        gp_budget_turn(&p->b, p->now_ns, &c);
        if ((p->b.phase == GP_BUDGET_RECORD) == (before == GP_BUDGET_RECORD)) continue;
        memset(&c, 0, sizeof c);
        c.moved_ns = p->move_ns;
        p->cost_ns += p->move_ns;
        p->windows += p->b.phase == GP_BUDGET_RECORD;
        gp_budget_turn(&p->b, p->now_ns, &c);
    }
}

static void begin(struct program *p, uint32_t limit_ppm)
{
    gp_budget_init(&p->b, limit_ppm, GP_BUDGET_MEMORY | GP_BUDGET_EVENTS | GP_BUDGET_CALLS);
    p->now_ns = SECOND;
}

TEST(parts_go_in_their_order_as_far_as_needed)
{
    /* allocations 1%, waits 0.4%, calls 0.2% and those of launches 0.015%, launches 0.6% */
    struct program p = {.rate = 750, .allocations = 10000, .waits = 20000, .calls = 10000};
    struct program q = p, r = p, s = p;
    begin(&p, 30000);
    run(&p, 5 * SECOND);
    assert_int_equal(p.b.left_out, 0);
    assert_in_range(p.b.share_ppm, 21800, 22600);
    begin(&q, 20000);
    run(&q, 5 * SECOND);
    assert_int_equal(q.b.left_out, GP_BUDGET_MEMORY);
    begin(&r, 12000);
    run(&r, 5 * SECOND);
    assert_int_equal(r.b.left_out, GP_BUDGET_MEMORY | GP_BUDGET_EVENTS);
    begin(&s, 7000);
    run(&s, 5 * SECOND);
    assert_int_equal(s.b.left_out, GP_BUDGET_MEMORY | GP_BUDGET_EVENTS | GP_BUDGET_CALLS);
    assert_in_range(s.b.share_ppm, 5900, 6100);
    assert_int_equal(s.b.phase, GP_BUDGET_RECORD);
}

TEST(what_cannot_be_left_out_is_not)
{
    struct program p = {.rate = 2000, .waits = 20000, .calls = 10000};
    gp_budget_init(&p.b, 11000, GP_BUDGET_CALLS);
    p.now_ns = SECOND;
    run(&p, 5 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS);
}

/* The whole cost, of moves and of the first second as well, at any time from a minute on. */
static void assert_kept(struct program *p, uint32_t limit_ppm)
{
    begin(p, limit_ppm);
    int64_t begun_ns = p->now_ns;
    run(p, 60 * SECOND);
    for (int i = 0; i < 300; i++) {
        run(p, SECOND);
        assert_true((double)p->cost_ns <= (double)limit_ppm / 1e6 * (double)(p->now_ns - begun_ns));
    }
    assert_int_equal(p->b.left_out, GP_BUDGET_WINDOWS);
    assert_true(p->b.share_ppm <= limit_ppm);
}

TEST(at_last_everything_is_recorded_in_windows_and_all_of_it_keeps_to_the_limit)
{
    struct program p = {.rate = 50000, .launch_ns = 3900, .move_ns = 20 * MS}, q = p, r = p;
    assert_kept(&p, 20000);
    assert_true(p.windows > 40);
    assert_true(p.recorded_for_ns > 12 * SECOND); /* of 360 */
    q.move_ns = 150 * MS;                         /* comes and goes slowly */
    assert_kept(&q, 20000);
    assert_true(q.windows > 8);
    r.rate = 2000; /* hardly costs more than the limit */
    r.launch_ns = 4000;
    assert_kept(&r, 7500);
}

TEST(records_that_come_after_a_window_are_counted)
{
    struct program p = {.rate = 50000, .launch_ns = GP_BUDGET_LAUNCH_NS * 13 / 10, .late = true}, q = p;
    assert_kept(&p, 20000); /* a launch takes 6 of the 7.8 us that it makes the program later */
    assert_true(p.windows > 20);
    assert_false(p.b.measured);
    q.step_ns = 10 * MS; /* nor are they counted beside what steps show */
    q.late = false;
    struct program r = q;
    r.late = true;
    assert_kept(&q, 20000);
    assert_kept(&r, 20000);
    assert_in_range(r.recorded_for_ns, q.recorded_for_ns * 9 / 10, q.recorded_for_ns * 11 / 10);
    assert_in_range(r.b.launch_ns, q.b.launch_ns * 9 / 10, q.b.launch_ns * 13 / 10);
}

TEST(steps_show_what_a_launch_costs)
{
    struct program p = {.rate = 20000, .launch_ns = 9000, .step_ns = 50 * MS, .move_ns = 20 * MS}, q = p;
    assert_kept(&p, 20000); /* 15%, where 14% would be assumed */
    assert_true(p.b.measured);
    assert_in_range(p.b.launch_ns, 7500, 7800); /* of the time that it takes with the recording */
    q.launch_ns = 500;                          /* no launch is taken to be cheap */
    assert_kept(&q, 20000);
    assert_true(q.recorded_for_ns < p.recorded_for_ns * 3);
}

TEST(a_process_that_stays_slower_has_no_other_window)
{
    struct program p = {.rate = 50000, .launch_ns = 3900, .move_ns = MS, .step_ns = 20 * MS, .early = true},
                   q = p;
    p.stays_ppm = 70000;
    begin(&p, 20000);
    run(&p, 100 * SECOND);
    assert_int_equal(p.b.phase, GP_BUDGET_OVER);
    assert_in_range(p.b.stays_ppm, 69900, 70100);
    assert_int_equal(p.windows, 0);
    q.stays_ppm = 3000;
    begin(&q, 20000);
    run(&q, 100 * SECOND);
    assert_int_equal(q.b.phase == GP_BUDGET_OVER, 0);
    assert_true(q.windows > 5);
}

TEST(a_program_that_hardly_launches_is_not_paused)
{
    struct program p = {.rate = 20, .waits = 200000};
    begin(&p, 20000);
    run(&p, 20 * SECOND);
    assert_int_equal(p.recorded_for_ns, 20 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_EVENTS);
    assert_false(p.b.measured);
}

TEST(graphs_that_are_recorded_in_the_first_pause_end_with_another_window)
{
    struct gp_budget b;
    struct gp_budget_counts c = {.launches = 5000, .nodes = 2000};
    int64_t now_ns = SECOND;
    unsigned windows = 0;
    gp_budget_init(&b, 20000, GP_BUDGET_CALLS);
    for (int i = 0; i < 300; i++) { /* 40 ms in each of 100 ms */
        enum gp_budget_phase before = b.phase;
        gp_budget_turn(&b, now_ns += 100 * MS, &c);
        windows += before == GP_BUDGET_REST && b.phase == GP_BUDGET_RECORD;
        c.launches = b.phase == GP_BUDGET_RECORD ? 5000 : 0;
        c.nodes = windows < 2 ? 2000 : 0;
        if (windows == 1 && b.phase == GP_BUDGET_RECORD) assert_true(i < 25); /* and not after 20 s */
    }
    assert_true(b.graphs_ended);
    assert_int_equal(windows, 1);
}

TEST(graphs_cost_by_their_nodes)
{
    struct program p = {.rate = 100, .nodes = 29000};
    begin(&p, 40000);
    run(&p, 3 * SECOND);
    assert_int_equal(p.b.left_out, GP_BUDGET_WINDOWS); /* 4.35% and more */
    begin(&p, 50000);
    run(&p, 3 * SECOND);
    assert_int_equal(p.b.left_out, 0);
}
