// From words to times: ranges, steps by number, and what keeps its events.
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/err.h"
#include "render/timeline/timeline_formats.h"
#include "tests/unit/unit.h"

static void assert_range(const char *text, int64_t origin, int64_t begin, int64_t end)
{
    struct gp_timeline_window w = {0, 0};
    assert_int_equal(gp_timeline_range(&w, "range", text, strlen(text), origin, NULL), 0);
    assert_int_equal(w.begin_ns, begin);
    assert_int_equal(w.end_ns, end);
}

TEST(ranges_count_from_the_first_event)
{
    assert_range("12us-14us", 0, 12000, 14000);
    assert_range("12us-14us", 500, 12500, 14500);
    assert_range("12us-", 500, 12500, 500 + INT64_MAX / 4);
    assert_range("-14us", 500, 500, 14500);
    assert_range("-", INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2); /* bounded, so that no sum overflows */
}

TEST(what_is_not_a_range_is_refused)
{
    struct gp_timeline_window w;
    struct gp_err err = {0};
    assert_int_equal(gp_timeline_range(&w, "range", "5", 1, 0, &err), -1);
    assert_string_equal(err.msg, "--range: '5' is not a time range, such as 12ms-14ms");
    assert_int_equal(gp_timeline_range(&w, "detail", "5ms-1ms", 7, 0, &err), -1);
    assert_string_equal(err.msg, "--detail: '5ms-1ms' ends before it begins");
    assert_int_equal(gp_timeline_range(&w, "range", "x-1ms", 5, 0, &err), -1);
    assert_string_equal(err.msg, "--range: 'x' is not a duration, such as 10us, 1.5ms or 2s");
}

/* Three steps of 10, 30 and 20 ns, the second of which begins 5 ns earlier on the host. */
static void make_steps(struct gp_hta *h)
{
    static const char *const names[] = {"step 3", "step 4", "step 5"};
    static const int64_t begin[] = {0, 10, 40}, end[] = {10, 40, 60};
    gp_hta_init(h, NULL);
    for (size_t i = 0; i < 3; i++) {
        struct gp_hta_step s = {.begin_ns = begin[i], .end_ns = end[i]};
        s.name = gp_intern_cstr(&h->strings, names[i]);
        if (i == 1) s.host_begin_ns = 5, s.host_end_ns = 35;
        GP_VEC_PUSH(&h->steps, s);
    }
}

TEST(steps_go_by_the_numbers_in_their_names)
{
    struct gp_hta h;
    struct gp_timeline_window w = {0, 0};
    struct gp_err err = {0};
    make_steps(&h);
    assert_int_equal(gp_timeline_steps(&w, "4", &h, &err), 0);
    assert_int_equal(w.begin_ns, 5);
    assert_int_equal(w.end_ns, 40);
    w = (struct gp_timeline_window){0, 0};
    assert_int_equal(gp_timeline_steps(&w, "4-9", &h, &err), 0);
    assert_int_equal(w.end_ns, 60);
    assert_int_equal(gp_timeline_steps(&(struct gp_timeline_window){0, 0}, "7", &h, &err), -1);
    assert_string_equal(err.msg, "--steps: no step has that number; the first of 3 is 'step 3'");
    assert_int_equal(gp_timeline_steps(&w, "4-3", &h, &err), -1);
    assert_string_equal(err.msg, "--steps: '4-3' is not a step or a range of steps, such as 3 or 3-5");
    gp_hta_release(&h);
}

TEST(detail_takes_the_longest_with_some_time_around_them)
{
    struct gp_hta h;
    struct gp_tracks l = {0};
    struct gp_timeline_windows to = {0};
    make_steps(&h);
    GP_VEC_PUSH(&l.gaps, ((struct gp_tracks_gap){.begin_ns = 100, .end_ns = 140}));
    /* touches: one gap of 80 */
    GP_VEC_PUSH(&l.gaps, ((struct gp_tracks_gap){.begin_ns = 140, .end_ns = 180}));
    GP_VEC_PUSH(&l.gaps, ((struct gp_tracks_gap){.begin_ns = 200, .end_ns = 250}));
    assert_int_equal(gp_timeline_detail(&to, "steps:1,gaps:1,1ns-9ns", &l, &h, 1000, NULL), 0);
    assert_int_equal(to.n, 3);
    assert_int_equal(to.at[0].begin_ns, 10 - 30 / 8);
    assert_int_equal(to.at[0].end_ns, 40 + 30 / 8);
    assert_int_equal(to.at[1].begin_ns, 90);
    assert_int_equal(to.at[1].end_ns, 190);
    assert_int_equal(to.at[2].begin_ns, 1001);
    assert_int_equal(to.at[2].end_ns, 1009);
    GP_VEC_FREE(&to);
    GP_VEC_FREE(&l.gaps);
    gp_hta_release(&h);
}
