// What the words of --metrics stand for: each name once, in order, by chip.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "collect/counters/sets.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

/* The names of TEXT on CHIP, each with a blank behind it; the message where it is refused. */
static const char *names(const char *text, const char *chip, bool sampled)
{
    static char list[8000];
    struct gp_metric_names n = {0};
    struct gp_err err = {0};
    list[0] = '\0';
    if (sampled ? gp_sampled_names_parse(&n, text, chip, &err) : gp_metric_names_parse(&n, text, chip, &err))
        snprintf(list, sizeof list, "%s", err.msg);
    else
        for (size_t i = 0; i < n.n; i++) {
            strcat(list, n.at[i]);
            strcat(list, " ");
        }
    gp_metric_names_release(&n);
    return list;
}

#define TIME "gpu__time_duration.sum "

TEST(names_are_each_there_once_and_time_always)
{
    assert_string_equal(names("a__b.sum,c__d.avg,a__b.sum", "GH100", false), "a__b.sum c__d.avg " TIME);
    assert_string_equal(names("gpu__time_duration.sum,a__b.sum", "GH100", false), TIME "a__b.sum ");
    assert_string_equal(names(",,a__b.sum,", "GH100", false), "a__b.sum " TIME);
}

TEST(nothing_is_the_basic_set)
{
    char basic[8000];
    snprintf(basic, sizeof basic, "%s", names("basic", "GH100", false));
    assert_string_equal(names("", "GH100", false), basic);
    assert_int_equal(strncmp(basic, TIME "sm__cycles_elapsed.max ", strlen(TIME "sm__cycles_elapsed.max ")),
                     0);
}

TEST(memory_has_the_names_of_the_chip)
{
    assert_non_null(strstr(names("traffic", "GH100", false), " dram__bytes_read.sum dram__bytes_write.sum "));
    assert_non_null(
        strstr(names("traffic", "GB202", false), " dram__bytes_op_read.sum dram__bytes_op_write.sum "));
    assert_null(strstr(names("traffic", "GB202", false), "dram__bytes_read"));
}

TEST(a_roofline_of_a_type_counts_its_operations_and_their_peak)
{
    const char *fp64 = names("roofline:fp64", "GH100", false);
    assert_non_null(strstr(fp64, " sm__ops_path_tensor_src_fp64.sum "
                                 "sm__ops_path_tensor_src_fp64.sum.peak_sustained_elapsed.per_second "));
    assert_null(strstr(fp64, "bf16"));
    assert_string_equal(names("roofline:int3", "GH100", false),
                        "--metrics: roofline:int3: not one of bf16, fp16, tf32, fp64, fp8");
}

TEST(what_is_no_set_is_refused_with_what_there_is)
{
    assert_non_null(strstr(names("everything", "GH100", false), "no set 'everything': basic, traffic, "));
    assert_string_equal(names("sm__cycles_active", "GH100", false),
                        "--metrics: sm__cycles_active needs a rollup, such as sm__cycles_active.sum");
}

TEST(samples_take_names_and_no_sets)
{
    assert_string_equal(names("dram__bytes_read.sum", "GH100", true), "dram__bytes_read.sum ");
    assert_non_null(strstr(names("basic", "GH100", true), "'basic' is not a metric with a rollup"));
    assert_non_null(strstr(names("", "GH100", true), "pcie__read_bytes.sum pcie__write_bytes.sum "));
}

/* 64 metrics are the most there can be, GP_METRICS_MOST; a longer list is refused, not cut. */
TEST(every_set_parses_on_every_chip)
{
    static const char *const chips[] = {"GH100", "GB100", "GB202", "TU102", "unheard of"};
    const char *what, *set;
    for (size_t c = 0; c < sizeof chips / sizeof *chips; c++)
        for (size_t i = 0; (set = gp_metric_set_name(i, &what)); i++) {
            assert_true(strlen(what) > 0);
            if (strstr(names(set, chips[c], false), "--metrics")) fail_msg("%s on %s", set, chips[c]);
        }
}
