// Figures beside a base: rates and times, what is not known, the three kinds of base.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include "analyze/calibrate/compare.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

TEST(more_is_better_of_rates_and_less_of_times)
{
    struct gp_figures f[2] = {{.value = {0}}, {.value = {0}}};
    double base[GP_FIGURE_COUNT] = {[GP_FIGURE_BF16] = 100, [GP_FIGURE_LAUNCH] = 100, [GP_FIGURE_L2] = 100};
    struct gp_compare c;
    f[0].value[GP_FIGURE_BF16] = 94;
    f[0].value[GP_FIGURE_LAUNCH] = 80;
    f[1].value[GP_FIGURE_BF16] = 96;
    f[1].value[GP_FIGURE_LAUNCH] = 125;
    f[1].value[GP_FIGURE_FP8] = 1; // the base has none
    gp_compare_begin(&c, f, 2, base, 5);
    assert_true(fabs(gp_compare_change(&c, GP_FIGURE_BF16, 0) + 6) < 1e-9);
    assert_true(fabs(gp_compare_change(&c, GP_FIGURE_LAUNCH, 0) - 25) < 1e-9);
    assert_true(fabs(gp_compare_change(&c, GP_FIGURE_LAUNCH, 1) + 20) < 1e-9);
    assert_true(isnan(gp_compare_change(&c, GP_FIGURE_FP8, 1)));
    assert_true(isnan(gp_compare_change(&c, GP_FIGURE_L2, 0)));
    assert_int_equal(c.compared, 4);
    assert_int_equal(c.worse, 2);
    assert_true(gp_compare_is_worse(&c, GP_FIGURE_BF16, 0));
    assert_false(gp_compare_is_worse(&c, GP_FIGURE_BF16, 1));
    assert_false(gp_compare_is_worse(&c, GP_FIGURE_FP8, 1));
}

TEST(a_document_gives_what_it_has)
{
    static const char text[] =
        "{\"schema\": \"gpuprof/ceilings/1\", \"memory_bytes_per_s\": 4.3e12, \"launch_ns\": 2700,"
        " \"flops_per_s\": {\"bf16\": 8e14}, \"sustained\": {\"bf16_flops_per_s\": 6.6e14, \"sm_mhz\": 1455},"
        " \"devices\": [{\"memory_bytes_per_s\": 1}]}";
    double base[GP_FIGURE_COUNT];
    struct gp_err err = {0};
    assert_int_equal(gp_compare_document(base, text, sizeof text - 1, &err), 0);
    assert_true(base[GP_FIGURE_MEMORY_COPY] == 4.3e12 && base[GP_FIGURE_LAUNCH] == 2700);
    assert_true(base[GP_FIGURE_BF16] == 8e14 && base[GP_FIGURE_SUSTAINED_BF16] == 6.6e14);
    assert_true(base[GP_FIGURE_FP8] == 0 && base[GP_FIGURE_H2D] == 0);
    for (size_t n = 0; n < sizeof text - 1; n++)
        assert_int_equal(gp_compare_document(base, text, n, &err), -1);
    assert_int_equal(gp_compare_document(base, "[]", 2, &err), -1);
}

TEST(a_sheet_is_four_fifths_and_siblings_are_their_median)
{
    double base[GP_FIGURE_COUNT];
    struct gp_figures f[3] = {{.value = {0}}, {.value = {0}}, {.value = {0}}};
    assert_true(gp_compare_sheet(base, "NVIDIA H200"));
    assert_true(fabs(base[GP_FIGURE_MEMORY_COPY] / (0.8 * 4.8e12) - 1) < 0.01);
    assert_true(base[GP_FIGURE_LAUNCH] == 0);
    assert_false(gp_compare_sheet(base, "an abacus"));
    f[0].value[GP_FIGURE_BF16] = 3;
    f[1].value[GP_FIGURE_BF16] = 1;
    f[2].value[GP_FIGURE_BF16] = 2;
    f[2].value[GP_FIGURE_FP8] = 7;
    gp_compare_siblings(base, f, 3);
    assert_true(base[GP_FIGURE_BF16] == 2 && base[GP_FIGURE_FP8] == 7 && base[GP_FIGURE_L2] == 0);
}
