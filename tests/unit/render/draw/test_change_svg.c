// Charts of what changed: places by hand, from the grid that is in waterfall_svg.c: labels take 320 of 960,
// values 158, so that 482 are left for the bars.
#include <stdio.h>
#include <string.h>

#include "formats/base/buf.h"
#include "render/draw/change_svg.h"
#include "tests/unit/unit.h"

static const char *fall(struct gp_buf *b, const struct gp_waterfall *f)
{
    struct gp_svg w = {.out = b, .html = true};
    gp_waterfall_svg(&w, f);
    return gp_buf_str(b);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

TEST(each_bar_begins_where_the_one_before_ended)
{
    struct gp_buf b = {0};
    // 1000 -> 600 -> 800: all 482 pixels are 1000, so 600 are 289.2 and 800 are 385.6
    const struct gp_waterfall_bar bars[] = {{.label = "a", .change = -400}, {.label = "b", .change = 200}};
    const char *s = fall(&b, &(struct gp_waterfall){.label = "l",
                                                    .from_name = "was",
                                                    .to_name = "is",
                                                    .from = 1000,
                                                    .to = 800,
                                                    .bars = bars,
                                                    .bars_n = 2});
    assert_non_null(strstr(s, "class=\"w-total\" x=\"320\" y=\"8\" width=\"482\""));
    assert_non_null(strstr(s, "class=\"w-better\" x=\"609.2\" y=\"32\" width=\"192.8\""));
    assert_non_null(strstr(s, "class=\"w-worse\" x=\"609.2\" y=\"56\" width=\"96.4\""));
    // 320 + 385.6 = 609.2 + 96.4
    assert_non_null(strstr(s, "class=\"w-total\" x=\"320\" y=\"80\" width=\"385.6\""));
    assert_null(strstr(s, "class=\"tear\""));
    assert_non_null(strstr(s, ">\xE2\x88\x92"
                              "400 ns</text>"));
    assert_non_null(strstr(s, ">\xE2\x88\x92"
                              "40.0%</text>"));
    gp_buf_release(&b);
}

TEST(small_changes_are_seen_beside_a_large_whole_which_is_then_torn)
{
    struct gp_buf b = {0};
    const struct gp_waterfall_bar bars[] = {{.label = "a", .change = 300}};
    // the plot begins at 100000 - 300 / 3 and is 400 wide: the change has three quarters of it, 361.5 pixels
    const char *s = fall(&b, &(struct gp_waterfall){.label = "l",
                                                    .from_name = "was",
                                                    .to_name = "is",
                                                    .from = 100000,
                                                    .to = 100300,
                                                    .bars = bars,
                                                    .bars_n = 1});
    assert_int_equal(count(s, "class=\"tear\""), 2);
    assert_non_null(strstr(s, "class=\"w-worse\" x=\"440.5\" y=\"32\" width=\"361.5\""));
    assert_non_null(strstr(s, "class=\"w-total\" x=\"320\" y=\"56\" width=\"482\""));
    gp_buf_release(&b);
}

TEST(nothing_changed_or_nothing_was_there)
{
    struct gp_buf b = {0};
    const struct gp_waterfall_bar grown[] = {{.label = "a", .change = 5}};
    fall(&b, &(struct gp_waterfall){.label = "l", .from_name = "was", .to_name = "is", .from = 7, .to = 7});
    fall(&b, &(struct gp_waterfall){.label = "l", .from_name = "was", .to_name = "is"});
    const char *s =
        fall(&b, &(struct gp_waterfall){
                     .label = "l", .from_name = "was", .to_name = "is", .to = 5, .bars = grown, .bars_n = 1});
    assert_null(strstr(s, "=\"-"));
    assert_null(strstr(s, "nan"));
    gp_buf_release(&b);
}

TEST(the_largest_values_do_not_overflow)
{
    struct gp_buf b = {0};
    const struct gp_waterfall_bar bars[] = {{.label = "a", .change = -(INT64_MAX - 1)},
                                            {.label = "b", .change = INT64_MAX - 1}};
    const char *s = fall(&b, &(struct gp_waterfall){.label = "l",
                                                    .from_name = "was",
                                                    .to_name = "is",
                                                    .from = INT64_MAX,
                                                    .to = INT64_MAX,
                                                    .bars = bars,
                                                    .bars_n = 2});
    assert_null(strstr(s, "x=\"-"));
    assert_null(strstr(s, "width=\"-"));
    gp_buf_release(&b);
}

TEST(names_of_changes_are_escaped)
{
    struct gp_buf b = {0};
    const struct gp_waterfall_bar bars[] = {
        {.label = "<b>", .full = "</title><script>", .note = "<i>", .change = 1}};
    const struct gp_volcano_dot dot = {
        .label = "<b>", .full = "</title>\n<script>", .change_pct = 50, .q = .001, .k = "worse"};
    fall(&b, &(struct gp_waterfall){.label = "<u>",
                                    .from_name = "<s>",
                                    .to_name = "<s>",
                                    .from = 1,
                                    .to = 2,
                                    .bars = bars,
                                    .bars_n = 1});
    struct gp_svg w = {.out = &b, .html = true};
    gp_volcano_svg(
        &w, &(struct gp_volcano){.label = "<u>", .dots = &dot, .dots_n = 1, .alpha = .05, .floor_pct = 1});
    const char *s = gp_buf_str(&b);
    for (const char *const *evil = (const char *const[]){"<b>", "<i>", "<u>", "<s>", "<script", NULL}; *evil;
         evil++)
        assert_null(strstr(s, *evil));
    gp_buf_release(&b);
}

TEST(dots_beyond_the_picture_stand_at_its_edge)
{
    struct gp_buf b = {0};
    const struct gp_volcano_dot dots[] = {
        {.label = "much", .change_pct = 1e9, .q = 0, .weight = 1, .k = "worse"},
        {.label = "gone", .change_pct = -100, .q = 1e-300, .weight = 0, .k = "better"},
        {.label = "same", .change_pct = 0, .q = 1, .weight = 1e18, .k = "same"},
    };
    struct gp_svg w = {.out = &b, .html = true};
    gp_volcano_svg(
        &w, &(struct gp_volcano){.label = "l", .dots = dots, .dots_n = 3, .alpha = .05, .floor_pct = 1});
    const char *s = gp_buf_str(&b);
    assert_int_equal(count(s, "beyond"), 2);
    assert_int_equal(count(s, "<circle"), 3);
    assert_null(strstr(s, "=\"-"));
    // 960 wide, 46 left and 18 right: the middle is at 494
    assert_non_null(strstr(s, "class=\"v-same\" cx=\"494\""));
    assert_non_null(strstr(s, "class=\"v-worse beyond\" cx=\"942\" cy=\"14\""));
    assert_non_null(strstr(s, "class=\"v-better beyond\" cx=\"46\" cy=\"14\""));
    gp_buf_release(&b);
}
