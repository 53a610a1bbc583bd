// When a process is recorded: triggers as they are written, windows, and what the launcher adds to them.
#include <signal.h>
#include <string.h>

#include "collect/wire/capture_window.h"
#include "tests/unit/unit.h"

static struct gp_trigger trigger(const char *text)
{
    struct gp_trigger t;
    assert_true(gp_trigger_parse(text, &t));
    return t;
}

/* A window with these triggers; "" is none. */
static struct gp_capture window(const char *start, const char *stop, int64_t duration_ns)
{
    struct gp_capture g;
    struct gp_capture_opts o;
    memset(&o, 0, sizeof o);
    if (*start) o.start = trigger(start);
    if (*stop) o.stop = trigger(stop);
    o.open = !*start;
    o.duration_ns = duration_ns;
    gp_capture_init(&g, &o, 100);
    return g;
}

TEST(triggers_are_read)
{
    struct gp_trigger t = trigger("range:lib:step@12");
    assert_int_equal(t.when, GP_WHEN_RANGE);
    assert_string_equal(t.name, "lib:step");
    assert_int_equal(t.n, 12);
    t = trigger("range:user@host"); /* no number behind it: part of the name */
    assert_string_equal(t.name, "user@host");
    assert_int_equal(t.n, 0);
    assert_int_equal(trigger("launch:1000").n, 1000);
    assert_int_equal(trigger("SIGUSR2").signal, SIGUSR2);
    assert_int_equal(trigger("profiler").when, GP_WHEN_PROFILER);
    static const char *const bad[] = {"",          "range:",    "range:@1", "launch:",   "launch:0",
                                      "launch:-1", "launch:1x", "SIGTERM",  "profilers", "5s"};
    for (size_t i = 0; i < GP_COUNT(bad); i++) assert_false(gp_trigger_parse(bad[i], &t));
    char name[200] = "range:";
    memset(name + 6, 'x', 110); /* longer than goes over the wire */
    name[116] = 0;
    assert_false(gp_trigger_parse(name, &t));
}

TEST(an_open_gate_cuts_nothing)
{
    struct gp_capture g = window("", "", 0);
    int64_t a = -5, b = INT64_C(1) << 60;
    assert_true(g.open);
    assert_true(gp_capture_clip(&g, &a, &b));
    assert_int_equal(a, -5);
    assert_int_equal(b, INT64_C(1) << 60);
    gp_capture_release(&g);
}

TEST(ranges_are_cut_to_the_windows_they_touch)
{
    struct gp_capture g = window("profiler", "profiler", 0);
    static const int64_t edges[][2] = {{200, 300}, {400, 500}, {600, 700}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(gp_capture_profiler(&g, true, edges[i][0]));
        assert_false(gp_capture_profiler(&g, true, edges[i][0] + 1)); /* open already */
        assert_true(gp_capture_profiler(&g, false, edges[i][1]));
    }
    static const struct {
        int64_t from, to, cut_from, cut_to;
    } cases[] = {{0, 1000, 200, 700},  {250, 260, 250, 260}, {250, 450, 250, 450}, {350, 450, 400, 450},
                 {310, 390, -1, -1},   {0, 199, -1, -1},     {701, 800, -1, -1},   {450, 550, 450, 500},
                 {300, 300, 300, 300}, {0, 200, 200, 200}};
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        int64_t a = cases[i].from, b = cases[i].to;
        bool any = gp_capture_clip(&g, &a, &b);
        assert_int_equal(any, cases[i].cut_from >= 0);
        if (!any) continue;
        assert_int_equal(a, cases[i].cut_from);
        assert_int_equal(b, cases[i].cut_to);
    }
    gp_capture_release(&g);
}

TEST(launches_are_counted)
{
    struct gp_capture g = window("launch:3", "launch:5", 0);
    bool was_open[8];
    for (int i = 0; i < 8; i++) {
        gp_capture_launch_begins(&g, 1000 + 10 * i);
        was_open[i] = g.open;
        assert_int_equal(gp_capture_counts_launches(&g), i <= 5);
        gp_capture_launch_ends(&g, 1005 + 10 * i);
    }
    static const bool expected[8] = {false, false, false, true, true, false, false, false};
    assert_memory_equal(was_open, expected, sizeof expected);
    gp_capture_release(&g);
}

TEST(ranges_open_and_close_it_by_name_and_number)
{
    bool changed;
    struct gp_capture g = window("range:step@2", "range:step@2", 0);
    assert_false(gp_capture_range_begins(&g, GP_CAPTURE_START, "", "other", 1, &changed));
    assert_false(gp_capture_range_begins(&g, GP_CAPTURE_START, "", "step", 2, &changed)); /* the first */
    assert_false(gp_capture_range_begins(&g, GP_CAPTURE_START, "", "steps", 3, &changed));
    assert_true(gp_capture_range_begins(&g, GP_CAPTURE_START, "", "step", 4, &changed));
    assert_true(changed && g.open);
    /* the end of what starts is nothing by itself */
    assert_false(gp_capture_range_ends(&g, GP_CAPTURE_START, 5));
    assert_true(gp_capture_range_ends(&g, GP_CAPTURE_STOP, 6));
    assert_false(g.open);
    gp_capture_release(&g);
    g = window("range:lib:step", "", 0);
    assert_false(gp_capture_range_begins(&g, GP_CAPTURE_START, "li", "b:step", 1, &changed));
    assert_true(gp_capture_range_begins(&g, GP_CAPTURE_START, "lib", "step", 2, &changed));
    gp_capture_release(&g);
}

TEST(a_duration_closes_it_for_good)
{
    struct gp_capture g = window("profiler", "profiler", 50);
    assert_int_equal(g.due_ns, 0);
    gp_capture_profiler(&g, true, 200);
    assert_int_equal(g.due_ns, 250);
    gp_capture_profiler(&g, false, 210);
    gp_capture_profiler(&g, true, 220);
    assert_false(gp_capture_tick(&g, 249));
    assert_true(gp_capture_tick(&g, 250));
    assert_false(gp_capture_profiler(&g, true, 300));
    assert_false(g.open);
    assert_int_equal(g.windows.n, 2);
    assert_int_equal(g.windows.at[1].end_ns, 250);
    gp_capture_release(&g);
}

static struct gp_control control(const char *start, const char *stop)
{
    struct gp_control c;
    struct gp_trigger a = {0}, b = {0};
    if (*start) a = trigger(start);
    if (*stop) b = trigger(stop);
    gp_control_init(&c, &a, &b, 0);
    return c;
}

TEST(what_starts_ends_itself)
{
    struct gp_control c = control("range:x@4", "");
    assert_false(c.capture.open);
    assert_int_equal(c.capture.stop.when, GP_WHEN_RANGE);
    assert_string_equal(c.capture.stop.name, "x");
    assert_int_equal(c.capture.stop.n, 4);
    c = control("launch:7", "");
    assert_int_equal(c.capture.stop.when, GP_WHEN_UNSET);
    c = control("", "profiler");
    assert_true(c.capture.open);
}

TEST(signals_go_back_and_forth_or_one_way_each)
{
    uint64_t one = UINT64_C(1) << SIGUSR1, two = UINT64_C(1) << SIGUSR2;
    struct gp_control c = control("SIGUSR1", "SIGUSR1");
    assert_true(gp_control_signals(&c) == one);
    assert_true(gp_control_turn(&c, one, 1) && c.capture.open);
    assert_true(gp_control_turn(&c, one, 2) && !c.capture.open);
    assert_false(gp_control_turn(&c, 0, 3));
    c = control("SIGUSR1", "SIGUSR2");
    assert_true(gp_control_turn(&c, one, 1) && c.capture.open);
    /* told again: a process may have stopped by itself */
    assert_true(gp_control_turn(&c, one, 2) && c.capture.open);
    assert_true(gp_control_turn(&c, two, 3) && !c.capture.open);
    c = control("profiler", "SIGUSR2");
    assert_true(gp_control_turn(&c, two, 1) && !c.capture.open);
}

TEST(times_come_once)
{
    struct gp_control c;
    struct gp_trigger a = {.when = GP_WHEN_TIME, .time_ns = 100}, b = {.when = GP_WHEN_TIME, .time_ns = 300};
    gp_control_init(&c, &a, &b, 0);
    assert_int_equal(gp_control_due(&c), 0);
    gp_control_begin(&c, 1000);
    assert_int_equal(gp_control_due(&c), 1100);
    assert_false(gp_control_turn(&c, 0, 1099));
    assert_true(gp_control_turn(&c, 0, 1100) && c.capture.open);
    assert_int_equal(gp_control_due(&c), 1300);
    assert_false(gp_control_turn(&c, 0, 1200));
    assert_true(gp_control_turn(&c, 0, 1400) && !c.capture.open);
    assert_int_equal(gp_control_due(&c), 0);
}
