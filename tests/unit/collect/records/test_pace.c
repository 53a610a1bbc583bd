/* How fast a process is while nobody records it. */
#include <string.h>
#include "collect/records/pace.h"
#include "tests/unit/unit.h"

struct run {
    struct gp_pace_markers markers;
    struct gp_trace trace;
    int64_t now_ns;
};

static void begin(struct run *r)
{
    memset(r, 0, sizeof *r);
    gp_trace_init(&r->trace, GP_NEED_ALL);
    r->now_ns = 1000;
}

static void end(struct run *r)
{
    gp_pace_release(&r->markers);
    gp_trace_release(&r->trace);
}

/* N beginnings, NS apart. */
static void steps(struct run *r, const char *name, int n, int64_t ns, uint64_t gap)
{
    for (int i = 0; i < n; i++, r->now_ns += ns) gp_pace_begins(&r->markers, 7, name, r->now_ns, gap);
}

static size_t count(const struct run *r, enum gp_pace_how how, int64_t dur_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < r->trace.paces.n; i++)
        n += r->trace.paces.at[i].how == how && r->trace.paces.at[i].dur_ns == dur_ns;
    return n;
}

TEST(before_the_first_recording_the_later_half_counts)
{
    struct run r;
    begin(&r);
    steps(&r, "step", 5, 900, 0);
    steps(&r, "step", 6, 100, 0); /* 10 steps: 5 of 900, 5 of 100 */
    gp_pace_put(&r.markers, &r.trace, 3, INT64_MAX);
    assert_int_equal(r.trace.paces.n, 5);
    assert_int_equal(count(&r, GP_PACE_BARE, 100), 5);
    assert_int_equal(r.trace.paces.at[0].process, 3);
    assert_int_equal(r.trace.paces.at[0].start_ns, 1000 + 5 * 900);
    gp_pace_put(&r.markers, &r.trace, 3, INT64_MAX);
    assert_int_equal(r.trace.paces.n, 5); /* each step once */
    end(&r);
}

TEST(no_step_reaches_into_a_recording)
{
    struct run r;
    begin(&r);
    steps(&r, "step 1", 9, 100, 0);
    int64_t entered_ns = r.now_ns;
    r.now_ns += 5000; /* recorded; nothing that reaches into it is a step of a pause */
    steps(&r, "step 20", 4, 110, 1);
    r.now_ns += 5000;
    steps(&r, "step 30", 3, 120, 2);
    gp_pace_put(&r.markers, &r.trace, 0, entered_ns);
    assert_int_equal(count(&r, GP_PACE_BARE, 100), 4);
    assert_int_equal(count(&r, GP_PACE_PAUSE, 110), 3);
    assert_int_equal(count(&r, GP_PACE_PAUSE, 120), 2);
    assert_int_equal(r.trace.paces.n, 9);
    end(&r);
}

TEST(the_name_that_suggests_a_step_most_is_chosen_and_stays)
{
    struct run r;
    begin(&r);
    for (int i = 0; i < 20; i++) {
        steps(&r, "batch", 1, 10, 0);
        steps(&r, "optimizer step", 1, 10, 0); /* a part of a step */
        steps(&r, "layer", 1, 10, 0);
        steps(&r, i % 2 ? "ProfilerStep#3" : "forward", 1, 70, 0);
    }
    gp_pace_put(&r.markers, &r.trace, 0, INT64_MAX);
    assert_int_equal(r.trace.paces.n, count(&r, GP_PACE_BARE, 200));
    assert_true(r.trace.paces.n > 0);
    /* what was chosen stays, even where another name is better in a pause */
    steps(&r, "iteration 5", 9, 10, 1);
    size_t before = r.trace.paces.n;
    gp_pace_put(&r.markers, &r.trace, 0, INT64_MAX);
    assert_int_equal(r.trace.paces.n, before);
    end(&r);
}

TEST(too_few_are_no_pace_and_many_are_bounded)
{
    struct run r;
    begin(&r);
    steps(&r, "step", 3, 100, 0);
    gp_pace_put(&r.markers, &r.trace, 0, INT64_MAX);
    assert_int_equal(r.trace.paces.n, 0);
    steps(&r, "step", 500, 100, 0);
    gp_pace_put(&r.markers, &r.trace, 0, INT64_MAX);
    assert_int_equal(r.trace.paces.n, GP_PACE_KEPT / 2);
    end(&r);
}

TEST(each_thread_has_its_own_steps)
{
    struct run r;
    begin(&r);
    for (int i = 0; i < 20; i++) { /* two threads in turn */
        gp_pace_begins(&r.markers, 1 + i % 2, "step", r.now_ns, 0);
        r.now_ns += 50;
    }
    gp_pace_put(&r.markers, &r.trace, 0, INT64_MAX);
    assert_int_equal(count(&r, GP_PACE_BARE, 100), r.trace.paces.n);
    assert_int_equal(r.trace.paces.n, 5);
    end(&r);
}
