// Lines of gpuprof-bench to figures: which result counts, what is left out, what stands against measuring.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include "analyze/calibrate/calibration.h"
#include "tests/unit/unit.h"

static void take(struct gp_calibration *c, const char *const *lines)
{
    for (; *lines; lines++) gp_calibration_line(c, 0, *lines);
}

TEST(the_best_counts_but_of_what_is_sustained_the_median)
{
    static const char *const lines[] = {"figure memory_copy 4.1e12",    "figure memory_copy 4.3e12",
                                        "figure memory_copy 4.2e12",    "figure launch 3100",
                                        "figure launch 2700",           "figure launch 2900",
                                        "figure sustained_bf16 6e14",   "figure sustained_bf16 7e14",
                                        "figure sustained_bf16 6.2e14", NULL};
    struct gp_calibration c = {0};
    gp_calibration_devices(&c, &(int){0}, 1);
    take(&c, lines);
    gp_calibration_settle(&c);
    const double *v = c.devices[0].value;
    assert_true(v[GP_FIGURE_MEMORY_COPY] == 4.3e12);
    assert_true(v[GP_FIGURE_LAUNCH] == 2700);
    assert_true(v[GP_FIGURE_SUSTAINED_BF16] == 6.2e14);
    assert_true(v[GP_FIGURE_FP8] == 0);
    assert_true(gp_calibration_any(&c));
    gp_calibration_release(&c);
}

TEST(facts_are_of_the_start_or_of_the_soak)
{
    static const char *const lines[] = {"fact device NVIDIA H200", "fact sm_mhz 1980", "fact power_mw 120000",
                                        "fact phase soak",         "fact sm_mhz 1400", "fact sm_mhz 1500",
                                        "fact sm_mhz 1460",        "fact end ",        NULL};
    struct gp_calibration c = {0};
    gp_calibration_devices(&c, &(int){3}, 1);
    take(&c, lines);
    gp_calibration_settle(&c);
    const struct gp_figures *f = &c.devices[0];
    assert_string_equal(f->device, "NVIDIA H200");
    assert_int_equal(f->fact[GP_FACT_sm_mhz], 1980);
    assert_int_equal(f->soaked[GP_FACT_sm_mhz], 1460);
    assert_int_equal(f->fact[GP_FACT_power_mw], 120000);
    assert_int_equal(f->soaked[GP_FACT_power_mw], -1);
    assert_int_equal(f->fact[GP_FACT_mig], -1);
    assert_true(f->ended);
    assert_false(gp_calibration_any(&c));
    gp_calibration_release(&c);
}

TEST(lines_that_are_none_are_counted)
{
    static const char *const lines[] = {"",
                                        "figure",
                                        "figure bf16",
                                        "figure bf16 fast",
                                        "figure bf16 -1",
                                        "figure bf16 nan",
                                        "figure bf16 1e999",
                                        "op",
                                        "op copy fp32 0 1 1 5",
                                        "op copy fp32 8 1 1",
                                        "nonsense x y",
                                        "op copy fp32 8 64 0 5 x",
                                        NULL};
    static const char *const fine[] = {"figure unheard_of 3", "fact unheard_of 3", "missing fp8 it has none",
                                       NULL};
    struct gp_calibration c = {0};
    gp_calibration_devices(&c, &(int){0}, 1);
    take(&c, lines);
    assert_int_equal(c.strange, 12);
    take(&c, fine);
    assert_int_equal(c.strange, 12);
    assert_int_equal(c.devices[0].missing.n, 1);
    gp_figures_lack(&c.devices[0], "fp8", "once more");
    assert_string_equal(c.devices[0].missing.at[0].why, "it has none");
    gp_calibration_settle(&c);
    assert_false(gp_calibration_any(&c));
    gp_calibration_release(&c);
}

TEST(copies_between_devices_are_a_matrix)
{
    struct gp_calibration c = {0};
    gp_calibration_devices(&c, (int[]){2, 5}, 2);
    gp_calibration_line(&c, 0, "figure peer_2_5 3e11");
    gp_calibration_line(&c, 0, "figure peer_2_5 3.5e11");
    gp_calibration_line(&c, 0, "figure peer_5_2 3.4e11");
    gp_calibration_line(&c, 0, "figure peer_5_9 1e11"); // nobody asked
    assert_true(c.peer[0] == 0 && c.peer[1] == 3.5e11 && c.peer[2] == 3.4e11 && c.peer[3] == 0);
    assert_int_equal(c.strange, 0);
    gp_calibration_release(&c);
}

TEST(what_stands_against_it)
{
    static const struct {
        const char *line, *why;
    } cases[] = {{"fact users 1", "1 other process runs on it"},
                 {"fact users 3", "3 other processes run on it"},
                 {"fact mig 1", "it is divided into instances (MIG)"},
                 {"fact power_limit_mw 350000", "its power is capped at 350 of 700 W"},
                 {"fact power_limit_mw 700000", NULL},
                 {"fact users 0", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gp_calibration c = {0};
        char why[160] = "";
        gp_calibration_devices(&c, &(int){0}, 1);
        gp_calibration_line(&c, 0, "fact default_power_limit_mw 700000");
        gp_calibration_line(&c, 0, cases[i].line);
        gp_calibration_settle(&c);
        assert_int_equal(gp_figures_unfit(&c.devices[0], why, sizeof why), cases[i].why != NULL);
        if (cases[i].why) assert_string_equal(why, cases[i].why);
        gp_calibration_release(&c);
    }
}

TEST(quantiles_lie_between)
{
    struct gp_samples s = {0};
    assert_true(gp_samples_quantile(&s, 0.5) == 0);
    static const double v[] = {5, 1, 4, 2};
    for (int i = 0; i < 4; i++) GP_VEC_PUSH(&s.v, v[i]);
    assert_true(gp_samples_quantile(&s, 0) == 1);
    assert_true(gp_samples_quantile(&s, 0.5) == 3);
    assert_true(gp_samples_quantile(&s, 0.25) == 1.75);
    assert_true(gp_samples_quantile(&s, 1) == 5);
    GP_VEC_FREE(&s.v);
}
