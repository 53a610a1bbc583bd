// The roofline plot: where circles, roofs and the rug stand, what is reported, and names that would be
// markup.
#include <string.h>

#include "analyze/stacks/calltree.h"
#include "analyze/cost/regime.h"
#include "formats/base/buf.h"
#include "render/page/chart_roofline.h"
#include "render/page/page_html.h"
#include "render/suggest/suggest_formats.h"
#include "tests/unit/unit.h"

struct sample {
    struct gp_strings names;
    struct gp_roofline r;
    struct gp_buf b;
};

static void roof(struct sample *m, const char *name, bool memory, double per_s)
{
    struct gp_roof one = {.name = gp_intern_cstr(&m->names, name),
                          .memory = memory,
                          .per_s = per_s,
                          .source = GP_CEILING_TABLE};
    GP_VEC_PUSH(&m->r.roofs, one);
}

static struct gp_roofline_point *point(struct sample *m, const char *name, int64_t ns, double flops,
                                       double low, double high)
{
    struct gp_roofline_point one = {.label = gp_intern_cstr(&m->names, name),
                                    .kind = GP_FRAME_GEMM,
                                    .regime = GP_REGIME_COMPUTE,
                                    .roof = UINT32_MAX,
                                    .count = 3,
                                    .total_ns = ns,
                                    .flops = flops,
                                    .bytes_low = low,
                                    .bytes_high = high};
    GP_VEC_PUSH(&m->r.points, one);
    return &m->r.points.at[m->r.points.n - 1];
}

static const char *plot(struct sample *m, bool narrow)
{
    struct gp_svg w = {.out = &m->b};
    m->b.n = 0;
    gp_chart_roofline(&w, &(struct gp_chart_roofline){.r = &m->r, .names = &m->names, .narrow = narrow});
    assert_int_equal(w.depth, 0);
    return gp_buf_str(&m->b);
}

static void drop(struct sample *m)
{
    GP_VEC_FREE(&m->r.roofs);
    GP_VEC_FREE(&m->r.points);
    gp_strings_release(&m->names);
    gp_buf_release(&m->b);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word)) n++;
    return n;
}

/* A memory of 1 TB/s, arithmetic of 100 TFLOP/s; a kernel that does 10 TFLOP/s, 10 for a byte, for 1 ms; as
 * much time is unknown. The axes then go from 10 / 1.5 / 1.6 to 500 * 1.3 FLOP/B and from 1e12 * 10 / 1.5 /
 * 1.6 / 1.8 to 1.8e14 FLOP/s, on 684 by 420 pixels from 52, 20. */
static void make(struct sample *m)
{
    *m = (struct sample){0};
    roof(m, "memory", true, 1e12);
    roof(m, "fp32", false, 1e14);
    point(m, "gemm", 1000000, 1e10, 1e9, 1e9)->roof = 1;
    m->r.unknown_ns = 1000000;
}

TEST(a_circle_stands_where_its_figures_are)
{
    struct sample m;
    make(&m);
    const char *svg = plot(&m, false);
    // 52 + 684 lg(1.5 1.6) / lg(650 2.4 / 10); 20 + 420 lg 18 / lg(1.8 1.8 24); half of the time: 1 + 52 /
    // sqrt 2
    assert_non_null(strstr(svg, "<circle class=\"k-gemm\" cx=\"170.58\" cy=\"298.84\" r=\"37.77\"/>"));
    assert_non_null(strstr(svg, "10.0 TFLOP/s, 10.0 FLOP per byte\n1.00 TB/s of memory\nbound by "
                                "arithmetic\n100% of the roof memory 1.00 TB/s</title>"));
    assert_non_null(strstr(svg, "gemm\n3 kernels, 1.00 ms, 50.0% of the total time\n"));
    assert_null(strstr(svg, "whisker"));
    drop(&m);
}

TEST(roofs_bend_where_arithmetic_equals_memory)
{
    struct sample m;
    make(&m);
    const char *svg = plot(&m, false);
    // from the left edge to 100 FLOP/B, 1e14 FLOP/s; from there to the right edge
    assert_non_null(strstr(svg, "<line x1=\"52\" y1=\"383.3\" x2=\"482.47\" y2=\"76.7\"/>"));
    assert_non_null(strstr(svg, "<line x1=\"482.47\" y1=\"76.7\" x2=\"736\" y2=\"76.7\"/>"));
    assert_non_null(strstr(svg, "<title>fp32: 100 TFLOP/s, from the device&#39;s data sheet</title>"));
    assert_non_null(strstr(svg, ">memory 1.00 TB/s</text>"));
    assert_non_null(strstr(svg, ">fp32 100 TFLOP/s</text>"));
    drop(&m);
}

TEST(bars_go_from_the_most_bytes_to_the_least)
{
    struct sample m;
    make(&m);
    m.r.points.at[0].bytes_low = 8e8;
    m.r.points.at[0].bytes_high = 1.2e9; // the middle is as before: 8.33 to 12.5 FLOP/B
    const char *svg = plot(&m, false);
    // 52 + 684 lg(10 / 1.2 2.4 / 10) / lg 156, and of 10 / .8
    assert_non_null(
        strstr(svg, "<g class=\"whisker\"><line x1=\"145.89\" y1=\"298.84\" x2=\"200.81\" y2=\"298.84\"/>"));
    assert_non_null(strstr(svg, "8.33 to 12.5 FLOP per byte"));
    drop(&m);
}

TEST(measured_caches_have_marks_at_their_own_intensity)
{
    struct sample m;
    make(&m);
    m.r.points.at[0].measured_ns = m.r.points.at[0].total_ns;
    m.r.points.at[0].l2_bytes = 2e9; // 5 FLOP/B
    m.r.points.at[0].l1_bytes = 4e9; // 2.5, so that the axis begins at 2.5 / 1.3 / 1.6
    const char *svg = plot(&m, false);
    // 52 + 684 lg(2.08 x 2) / lg(650 x 2.08 / 2.5), 20 + 420 lg 18 / lg(1.8 1.8 x 208 / 2.5), less 4 pixels
    // each
    assert_non_null(strstr(svg, "<path class=\"level\" d=\"M202.94 232.90h8v8h-8z\"/>"));
    assert_non_null(strstr(svg, "<path class=\"level\" d=\"M131.60 232.90l4 8h-8z\"/>"));
    assert_non_null(strstr(svg, "bytes measured, 5.00 FLOP per byte of L2, 2.50 FLOP per byte of L1\n"));
    assert_non_null(strstr(svg, ">per byte of L2</text>"));
    m.r.points.at[0].l1_bytes = 0;
    assert_null(strstr(plot(&m, false), "per byte of L1"));
    drop(&m);
}

static const char *counted_plot(struct sample *m)
{
    struct gp_svg w = {.out = &m->b};
    m->b.n = 0;
    gp_chart_roofline(&w, &(struct gp_chart_roofline){.r = &m->r, .names = &m->names, .counted = true});
    return gp_buf_str(&m->b);
}

TEST(where_all_was_counted_every_circle_has_its_caches)
{
    struct sample m;
    make(&m);
    m.r.points.at[0].l2_bytes = 2e9;
    point(&m, "short", 1000, 1e7, 1e6, 1e6)->l2_bytes =
        2e6; // a two thousandth of the time: a circle of 2 pixels
    m.r.roofs.at[1].source = GP_CEILING_FILE;
    const char *svg = plot(&m, false);
    assert_int_equal(count(svg, "class=\"level\""), 2); // one, and its legend
    assert_null(strstr(svg, "measured<"));
    svg = counted_plot(&m);
    assert_int_equal(count(svg, "class=\"level\""), 3);
    assert_non_null(strstr(svg, ">memory 1.00 TB/s, peak<"));
    assert_non_null(strstr(svg, ">fp32 100 TFLOP/s<"));
    assert_non_null(strstr(svg, ">measured<"));
    drop(&m);
}

TEST(without_bytes_of_memory_there_are_marks_of_caches_alone)
{
    struct sample m;
    make(&m);
    m.r.points.at[0].bytes_low = m.r.points.at[0].bytes_high = 0;
    m.r.points.at[0].l2_bytes = 1e9; // 10 FLOP/B: where the circle of make() is
    const char *svg = counted_plot(&m);
    assert_int_equal(count(svg, "class=\"level\""), 2);
    assert_int_equal(count(svg, "<circle class=\"k-gemm\""), 1); // the legend
    assert_non_null(strstr(svg, "bytes of memory unknown"));
    drop(&m);
}

TEST(without_arithmetic_it_is_at_the_left_below_the_slope)
{
    struct sample m;
    make(&m);
    point(&m, "copy", 1000000, 0, 5e8, 5e8); // half of what memory can do
    const char *svg = plot(&m, false);
    // the lowest is now half of the slope at the left edge: lg 155.52 decades. 13 pixels from the edge:
    // 20 + 420 (lg(1.8e14 / .5e12 * .24) - 13 lg 156 / 684) / lg 155.52
    assert_non_null(strstr(svg, " cx=\"65\" cy=\"383.1\""));
    assert_non_null(strstr(svg, ">none</text>"));
    assert_non_null(strstr(svg, "no known arithmetic\n500 GB/s of memory\nbound by arithmetic\n50% "
                                "of the roof memory 1.00 TB/s"));
    drop(&m);
}

TEST(what_is_too_short_is_a_column_of_its_share)
{
    struct sample m;
    make(&m);
    m.r.latency_ns = 2000000; // half of all
    const char *svg = plot(&m, false);
    assert_non_null(strstr(svg, "<rect class=\"k-idle\" x=\"52\" y=\"230\" width=\"12\" height=\"210\"/>"));
    assert_non_null(strstr(svg, ">too short for either: 50.0%</text>"));
    drop(&m);
}

TEST(names_are_text)
{
    static const char evil[] = "</svg><script>alert(1)</script>\"'&\x01\xff";
    struct sample m;
    struct gp_buf out = {0};
    make(&m);
    point(&m, evil, 900000, 1e9, 1e9, 1e9);
    roof(&m, evil, false, 1e13);
    for (int narrow = 0; narrow < 2; narrow++) {
        const char *svg = plot(&m, narrow);
        assert_null(strstr(svg, "<script"));
        assert_non_null(
            strstr(svg, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\xE2\x90\x81\xEF\xBF\xBD"));
    }
    gp_roofline_svg(&out, &m.r, &m.names, evil);
    assert_null(strstr(gp_buf_str(&out), "<script"));
    assert_int_equal(count(gp_buf_str(&out), "<svg"), 2);
    gp_buf_release(&out);
    drop(&m);
}

TEST(figures_beyond_all_bounds_stay_in_the_picture)
{
    struct sample m;
    make(&m);
    point(&m, "all", 1, 1e300, 1e-300, 1e300);
    point(&m, "none", INT64_MAX / 4, 1e-300, 1, 1e300);
    point(&m, "nothing", 0, 0, 0, 0);
    point(&m, "below", 1000, 1, 1e12, 1e12);
    for (int narrow = 0; narrow < 2; narrow++) {
        const char *svg = plot(&m, narrow);
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "inf"));
        assert_int_equal(count(svg, "<circle class=\"k-gemm"), 6); // and the legend
        for (const char *at = svg; (at = strstr(at, " cx=\"")); at++) {
            double x = strtod(at + 5, NULL);
            assert_true(x >= 0 && x <= GP_ROOFLINE_WIDTH);
        }
    }
    drop(&m);
}

TEST(without_roofs_there_are_circles_alone)
{
    struct sample m;
    make(&m);
    m.r.roofs.n = 0;
    m.r.points.at[0].roof = UINT32_MAX;
    const char *svg = plot(&m, false);
    assert_null(strstr(svg, "class=\"roof\""));
    assert_int_equal(count(svg, "<circle class=\"k-gemm"), 2);
    assert_null(strstr(svg, "of the roof"));
    drop(&m);
}

TEST(circles_have_their_most)
{
    struct sample m;
    make(&m);
    for (int i = 0; i < 1000; i++) point(&m, "many", 1000, 1e6 * (i + 1), 1e6, 2e6);
    assert_int_equal(count(plot(&m, false), "<g class=\"point\">"), GP_ROOFLINE_POINTS);
    struct gp_svg w = {.out = &m.b, .html = true};
    struct gp_report rep = {0};
    m.b.n = 0;
    gp_roofline_section(&w, &m.r, &m.names, gp_roofline_summary(&rep, &m.r, &m.names));
    assert_non_null(strstr(gp_buf_str(&m.b), "Not drawn: 851 more"));
    assert_non_null(strstr(gp_buf_str(&m.b), "66.7% of the kernel time is in the chart"));
    gp_report_release(&rep);
    drop(&m);
}

TEST(nothing_is_no_axes_but_a_reason)
{
    struct sample m = {0};
    struct gp_report rep = {0};
    roof(&m, "memory", true, 1e12);
    m.r.unknown_ns = 5;
    struct gp_svg w = {.out = &m.b, .html = true};
    assert_null(gp_roofline_summary(&rep, &m.r, &m.names));
    gp_roofline_section(&w, &m.r, &m.names, NULL);
    assert_non_null(
        strstr(gp_buf_str(&m.b), "There is no roofline: the trace does not show how much arithmetic"));
    assert_null(strstr(gp_buf_str(&m.b), "<svg"));
    m.r.latency_ns = 6;
    m.b.n = 0;
    gp_roofline_svg(&m.b, &m.r, &m.names, NULL);
    assert_non_null(strstr(gp_buf_str(&m.b), "barely longer than an empty one"));
    assert_int_equal(count(gp_buf_str(&m.b), "<svg"), 1);
    gp_report_release(&rep);
    drop(&m);
}

TEST(numbers_have_three_digits)
{
    static const struct {
        double v;
        const char *text;
    } rates[] = {{4.8e12, "4.80 TB/s"},
                 {999.4e9, "999 GB/s"},
                 {999.6e9, "1.00 TB/s"},
                 {0, "0.00 B/s"},
                 {12, "12.0 B/s"}},
      intensities[] = {{.0833, "0.083"}, {1.5, "1.50"},     {206.9, "207"},
                       {999.6, "1,000"}, {12345, "12,345"}, {0, "0"}};
    struct gp_buf b = {0};
    for (size_t i = 0; i < GP_COUNT(rates); i++) {
        b.n = 0;
        gp_roofline_put_rate(&b, rates[i].v, "B/s");
        assert_string_equal(gp_buf_str(&b), rates[i].text);
    }
    for (size_t i = 0; i < GP_COUNT(intensities); i++) {
        b.n = 0;
        gp_roofline_put_intensity(&b, intensities[i].v);
        assert_string_equal(gp_buf_str(&b), intensities[i].text);
    }
    gp_buf_release(&b);
}
