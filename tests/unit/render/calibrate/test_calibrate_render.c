// Measurements in their forms: a document of ceilings that can be read back, comparisons, operations over
// sizes.
#include <stdio.h>
#include <string.h>
#include "analyze/calibrate/calibration.h"
#include "analyze/calibrate/compare.h"
#include "formats/base/buf.h"
#include "render/calibrate/calibrate_formats.h"
#include "tests/unit/answer_text.h"
#include "tests/unit/unit.h"

/* GPU 3 of one. */
static void measured(struct gp_calibration *c)
{
    static const char *const lines[] = {"fact device NVIDIA H200",
                                        "figure memory_copy 4.3e12",
                                        "figure launch 2700",
                                        "figure sustained_bf16 6.2e14",
                                        "op copy fp32 1000 8000 0 3000 3200 3100 3300 2900",
                                        "op copy fp32 100000000 800000000 0 250000 250000"};
    gp_calibration_devices(c, &(int){3}, 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) gp_calibration_line(c, 0, lines[i]);
    gp_calibration_settle(c);
    assert_int_equal(c->strange, 0);
}

TEST(the_document_of_ceilings_is_read_back_as_it_was)
{
    struct gp_calibration c = {0};
    struct gp_buf b = {0};
    struct gp_err err = {0};
    double base[GP_FIGURE_COUNT];
    measured(&c);
    struct gp_calibrate_answer a = {.c = &c};
    answer_text(&b, gp_ceilings_formats, "json", &a);
    assert_int_equal(gp_compare_document(base, b.data, b.n, &err), 0);
    for (int f = 0; f < GP_FIGURE_COUNT; f++) {
        if (f == GP_FIGURE_MEMORY_COPY) assert_true(base[f] == 4.3e12);
        else if (f == GP_FIGURE_LAUNCH) assert_true(base[f] == 2700);
        else if (f == GP_FIGURE_SUSTAINED_BF16) assert_true(base[f] == 6.2e14);
        else assert_true(base[f] == 0); /* what was not measured is not there */
    }
    gp_buf_release(&b);
    gp_calibration_release(&c);
}

TEST(a_table_has_only_what_was_measured)
{
    struct gp_calibration c = {0};
    struct gp_buf b = {0};
    measured(&c);
    struct gp_calibrate_answer a = {.c = &c, .width = ANSWER_WIDE};
    assert_string_equal(answer_text(&b, gp_ceilings_formats, "text", &a),
                        "NVIDIA H200: memory copies at 4.30 TB/s, bf16 products at an unknown rate.\n"
                        "\n"
                        "Ceilings\n"
                        "  Figure               GPU 3\n"
                        "  memory, copy         4.30 TB/s\n"
                        "  bf16, sustained      620 TFLOP/s\n"
                        "  launch, on the host  2.70 µs\n");
    gp_buf_release(&b);
    gp_calibration_release(&c);
}

/* 4.3 of 4.0 is 7.5% faster; a launch of 2700 ns beside one of 2500 has 92.6% of its speed. */
TEST(a_comparison_names_what_is_slower_by_more_than_the_tolerance)
{
    struct gp_calibration c = {0};
    struct gp_compare p;
    struct gp_buf b = {0};
    double base[GP_FIGURE_COUNT] = {[GP_FIGURE_MEMORY_COPY] = 4e12, [GP_FIGURE_LAUNCH] = 2500};
    measured(&c);
    struct gp_calibrate_answer a = {.c = &c, .compare = &p, .base = "last.json", .width = ANSWER_WIDE};
    gp_compare_begin(&p, c.devices, 1, base, 5);
    const char *text = answer_text(&b, gp_ceilings_formats, "text", &a);
    assert_non_null(
        strstr(text, "SLOWER than last.json in 1 of 2 figures: GPU 3, launch, on the host, by 7.4%."));
    assert_non_null(strstr(text, "+7.5%"));
    gp_compare_begin(&p, c.devices, 1, base, 10);
    assert_null(strstr(answer_text(&b, gp_ceilings_formats, "text", &a), "SLOWER"));
    gp_buf_release(&b);
    gp_calibration_release(&c);
}

/* Median and quartiles of five; 800 MB in 250 us are 3.2 of 4.3 TB/s. Twice the shortest time lies at
 * 1000 * 100000^(ln 2 / ln(250 / 3.1)) = 6159 elements. */
TEST(an_operation_over_its_sizes_is_a_table_and_a_sentence)
{
    struct gp_calibration c = {0};
    struct gp_buf b = {0};
    measured(&c);
    struct gp_calibrate_answer a = {.c = &c, .width = ANSWER_WIDE};
    const char *text = answer_text(&b, gp_sweep_formats, "text", &a);
    assert_non_null(
        strstr(text, "copy of fp32: bound by its launch below 6.16k elements, bound by memory above."));
    assert_non_null(strstr(text, "3.10 µs  3.00 µs     3.20 µs"));
    assert_non_null(strstr(text, "3.20 TB/s  -             74.4%  memory"));
    const char *json = answer_text(&b, gp_sweep_formats, "json", &a);
    assert_non_null(
        strstr(json, "{\"elements\": 1000, \"bytes\": 8000, \"flops\": 0, \"ns\": 3100, \"low_ns\": 3000, "
                     "\"high_ns\": 3200, \"repeats\": 5, "));
    assert_non_null(strstr(json, "\"compute_share\": null"));
    gp_buf_release(&b);
    gp_calibration_release(&c);
}

TEST(the_picture_has_a_chart_of_each_kind_and_the_ceiling)
{
    static const char *const titles[] = {"Time of a call", "Elements per second",
                                         "Bytes read and written per second", "What bounds it",
                                         "memory 4.30 TB/s"};
    struct gp_calibration c = {0};
    struct gp_buf b = {0};
    char text[80];
    measured(&c);
    struct gp_calibrate_answer a = {.c = &c};
    const char *svg = answer_text(&b, gp_sweep_formats, "svg", &a);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        snprintf(text, sizeof text, ">%s<", titles[i]);
        assert_non_null(strstr(svg, text));
    }
    assert_null(strstr(svg, "nan"));
    gp_buf_release(&b);
    gp_calibration_release(&c);
}
