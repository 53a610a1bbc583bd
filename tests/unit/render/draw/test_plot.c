// The kit of all charts: where values stand on an axis, what a tick draws, and which places are free.
// Positions by hand.
#include <math.h>
#include <string.h>

#include "formats/base/buf.h"
#include "render/draw/plot.h"
#include "tests/unit/unit.h"

static long milli(double v) { return lround(v * 1000); }

TEST(values_stand_in_proportion_or_by_their_powers)
{
    struct gp_axis line = {.from = 10, .to = 20, .at = 100, .end = 50}; // upwards
    assert_int_equal(milli(gp_axis_at(&line, 10)), milli(100));
    assert_int_equal(milli(gp_axis_at(&line, 15)), milli(75));
    assert_int_equal(milli(gp_axis_at(&line, 30)), milli(0));
    assert_int_equal(milli(gp_axis_value(&line, 75)), milli(15));
    struct gp_axis powers = {.log = true, .from = -1, .to = 3, .at = 0, .end = 400};
    assert_int_equal(milli(gp_axis_at(&powers, 0.1)), milli(0));
    assert_int_equal(milli(gp_axis_at(&powers, 100)), milli(300));
    assert_int_equal(milli(gp_axis_value(&powers, 300)), milli(100));
}

TEST(steps_are_round_and_at_most_five)
{
    const int64_t most[] = {1, 4, 5, 10, 24, 25, 99, 100}, step[] = {1, 1, 2, 5, 5, 10, 20, 50};
    for (int i = 0; i < 8; i++) assert_int_equal(gp_plot_step(most[i]), step[i]);
    assert_true(gp_plot_step(INT64_MAX) > INT64_MAX / 10);
    assert_int_equal(gp_plot_scaled(INT64_MAX / 2, INT64_MAX, 1000), 500 - 1); // rounded down
    assert_int_equal(gp_plot_scaled(1, 0, 1000), 0);
}

TEST(a_tick_is_a_line_through_the_plot_and_a_text_beside_it)
{
    struct gp_frame f = {.x = {.to = 4, .at = 50, .end = 250},
                         .y = {.log = true, .to = 2, .at = 120, .end = 20}};
    struct gp_buf b = {0}, text = {0};
    struct gp_svg w = {.out = &b};
    gp_buf_puts(&text, "one");
    gp_frame_tick_x(&w, &f, 1, 16, &text);
    assert_int_equal(text.n, 0);
    assert_string_equal(gp_buf_str(&b), "<line class=\"rule\" x1=\"100\" y1=\"20\" x2=\"100\" y2=\"120\"/>"
                                        "<text class=\"tick mid\" x=\"100\" y=\"136\">one</text>");
    b.n = 0;
    gp_frame_tick_y(&w, &f, 10, 7, &text); // nothing to be written beside it
    assert_string_equal(gp_buf_str(&b), "<line class=\"rule\" x1=\"50\" y1=\"70\" x2=\"250\" y2=\"70\"/>");
    gp_buf_release(&b);
    gp_buf_release(&text);
}

TEST(tooltips_have_lines_and_nothing_else_that_is_markup)
{
    struct gp_buf b = {0}, text = {0};
    struct gp_svg w = {.out = &b};
    gp_buf_puts(&text, "a<b\nc\rd");
    gp_plot_circle(&w, "dot", 1.25, 2, 0.5, &text);
    assert_string_equal(gp_buf_str(&b), "<circle class=\"dot\" cx=\"1.25\" cy=\"2\" r=\"0.5\">"
                                        "<title>a&lt;b\nc\xE2\x90\x8D"
                                        "d</title></circle>");
    gp_buf_release(&b);
    gp_buf_release(&text);
}

TEST(boxes_that_only_touch_leave_each_other_free)
{
    struct gp_box taken[] = {{0, 0, 10, 10}, {20, 0, 10, 10}};
    assert_false(gp_box_taken(taken, 2, (struct gp_box){10, 0, 10, 10}));
    assert_true(gp_box_taken(taken, 2, (struct gp_box){10, 0, 11, 10}));
    assert_false(gp_box_taken(taken, 1, (struct gp_box){10, 0, 11, 10}));
    assert_true(gp_box_meets((struct gp_box){2, 2, 1, 1}, taken[0]));
}

TEST(names_are_cut_to_their_room)
{
    struct gp_buf text = {0};
    gp_buf_puts(&text, "aten::linear");
    assert_int_equal(milli(gp_plot_width(&text, 6.8)), milli(12 * 6.8));
    gp_plot_fit(&text, 49, 700); // room for seven letters
    assert_string_equal(gp_buf_str(&text), "linear");
    gp_buf_release(&text);
}
