// Charts: lengths by hand, from the grid of 640 pixels that chart_svg.h's users see.
#include <stdio.h>
#include <string.h>

#include "formats/base/buf.h"
#include "render/draw/chart_svg.h"
#include "tests/unit/unit.h"

static const struct gp_chart_series two[] = {{"compute", "gemm"}, {"idle", "idle"}};

typedef void draw(struct gp_svg *w, const struct gp_chart *c);

static const char *drawn(struct gp_buf *b, draw *how, const struct gp_chart *c)
{
    struct gp_svg w = {.out = b, .html = true};
    how(&w, c);
    return gp_buf_str(b);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

TEST(parts_of_a_row_lie_behind_each_other_and_their_lengths_are_their_shares)
{
    struct gp_buf b = {0};
    const int64_t v[] = {300, 100};
    const struct gp_chart_row row = {.label = "a", .values = v};
    const char *s =
        drawn(&b, gp_chart_rows,
              &(struct gp_chart){.label = "l", .series = two, .series_n = 2, .rows = &row, .rows_n = 1});
    // labels take 60 at least, text on the right 112: 468 are left, of which 300 of 400 are 351 and the rest
    // 117
    assert_non_null(strstr(s, "class=\"k-gemm\" x=\"60\" y=\"6\" width=\"351\""));
    assert_non_null(strstr(s, "class=\"k-idle\" x=\"411\" y=\"6\" width=\"117\""));
    assert_non_null(strstr(s, "<title>a\ncompute: 300 ns (75.0%)\nidle: 100 ns (25.0%)</title>"));
    gp_buf_release(&b);
}

TEST(rows_share_one_scale_unless_each_has_its_own)
{
    struct gp_buf b = {0};
    const int64_t v[] = {400, 0}, w[] = {100, 0};
    const struct gp_chart_row rows[] = {{.label = "a", .values = v}, {.label = "b", .values = w}};
    struct gp_chart c = {.label = "l", .series = two, .series_n = 2, .rows = rows, .rows_n = 2};
    const char *s = drawn(&b, gp_chart_rows, &c);
    assert_int_equal(count(s, "width=\"468\""), 1);
    assert_int_equal(count(s, "width=\"117\""), 1);
    b.n = 0;
    c.each = true;
    assert_int_equal(count(drawn(&b, gp_chart_rows, &c), "width=\"468\""), 2);
    gp_buf_release(&b);
}

TEST(what_is_there_is_seen_and_what_is_not_there_is_not)
{
    struct gp_buf b = {0};
    const int64_t v[] = {1000000, 1}, w[] = {0, 0};
    const struct gp_chart_row rows[] = {{.label = "a", .values = v}, {.label = "b", .values = w}};
    const char *s =
        drawn(&b, gp_chart_rows,
              &(struct gp_chart){.label = "l", .series = two, .series_n = 2, .rows = rows, .rows_n = 2});
    assert_int_equal(count(s, "class=\"k-"), 2);
    assert_int_equal(count(s, "class=\"k-idle\" x=\"527.99\" y=\"6\" width=\"0.6\""), 1);
    gp_buf_release(&b);
}

TEST(columns_have_an_axis_with_round_steps)
{
    struct gp_buf b = {0};
    const int64_t v[] = {300, 130}, w[] = {50, 0};
    const struct gp_chart_row rows[] = {{.label = "a", .values = v}, {.label = "b", .values = w}};
    const char *s =
        drawn(&b, gp_chart_columns,
              &(struct gp_chart){.label = "l", .series = two, .series_n = 2, .rows = rows, .rows_n = 2});
    // 430 at most: steps of 100 up to 500, which are 176 high
    for (int i = 1; i <= 5; i++) {
        char tick[32];
        snprintf(tick, sizeof tick, ">%d ns</text>", 100 * i);
        assert_int_equal(count(s, tick), 1);
    }
    assert_null(strstr(s, ">600 ns</text>"));
    // 300 of 500 of 176 are 105.6, from 188 up to 82.4; 130 above it are 45.76; few columns are 82 wide
    assert_non_null(strstr(s, "y=\"82.4\" width=\"82\" height=\"105.6\""));
    assert_non_null(strstr(s, "y=\"36.64\" width=\"82\" height=\"45.76\""));
    gp_buf_release(&b);
}

TEST(the_largest_values_do_not_overflow)
{
    const int64_t v[] = {INT64_MAX, INT64_MAX}, w[] = {1, 0};
    const int64_t x[] = {1, INT64_MAX / 2, INT64_MAX};
    const struct gp_chart_series three[] = {{"a", "gemm"}, {"b", "gemm"}, {"c", "gemm"}};
    const struct gp_chart_row rows[] = {{.label = "a", .values = v}, {.label = "b", .values = w}};
    const struct gp_chart_row dots = {.label = "a", .values = x};
    draw *const all[] = {gp_chart_rows, gp_chart_columns, gp_chart_grouped};
    struct gp_buf b = {0};
    for (size_t i = 0; i < 3; i++) {
        struct gp_chart c = {.label = "l", .series = two, .series_n = 2, .rows = rows, .rows_n = 2};
        assert_null(strstr(drawn(&b, all[i], &c), "=\"-"));
    }
    struct gp_chart c = {.label = "l", .series = three, .series_n = 3, .rows = &dots, .rows_n = 1};
    assert_null(strstr(drawn(&b, gp_chart_dots, &c), "=\"-"));
    gp_buf_release(&b);
}

TEST(names_are_escaped_wherever_they_stand)
{
    struct gp_buf b = {0};
    const int64_t v[] = {1, 1};
    const struct gp_chart_row row = {
        .label = "<b>\"'&", .full = "</title><script>", .text = "<i>", .values = v};
    const char *s =
        drawn(&b, gp_chart_rows,
              &(struct gp_chart){.label = "<u>", .series = two, .series_n = 2, .rows = &row, .rows_n = 1});
    assert_null(strstr(s, "<b>"));
    assert_null(strstr(s, "<i>"));
    assert_null(strstr(s, "<u>"));
    assert_null(strstr(s, "<script"));
    assert_non_null(strstr(s, "&lt;b&gt;&quot;&#39;&amp;"));
    gp_buf_release(&b);
}
