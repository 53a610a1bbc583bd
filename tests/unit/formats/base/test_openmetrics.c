// OpenMetrics text: exact seconds, escaped labels, a bounded number of series.
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/openmetrics.h"
#include "tests/unit/unit.h"

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    while ((text = strstr(text, what))) text += strlen(what), n++;
    return n;
}

TEST(seconds_are_exact_and_labels_escaped)
{
    struct gp_buf b = {0};
    struct gp_openmetrics m = {.b = &b, .most = 10};
    gp_openmetrics_family(&m, "busy_seconds", "counter", "seconds", "Busy.");
    assert_true(gp_openmetrics_series(&m, "busy_seconds_total"));
    gp_openmetrics_label(&m, "name", "a\"b\\c\nd", 7);
    gp_openmetrics_label_int(&m, "gpu", -1);
    gp_openmetrics_seconds(&m, 1500000001);
    assert_true(gp_openmetrics_series(&m, "busy_seconds_total"));
    gp_openmetrics_seconds(&m, INT64_MIN);
    gp_openmetrics_end(&m);
    assert_string_equal(
        gp_buf_str(&b),
        "# TYPE gpuprof_busy_seconds counter\n# UNIT gpuprof_busy_seconds seconds\n"
        "# HELP gpuprof_busy_seconds Busy.\n"
        "gpuprof_busy_seconds_total{name=\"a\\\"b\\\\c\\nd\",gpu=\"-1\"} 1.500000001\n"
        "gpuprof_busy_seconds_total -9223372036.854775808\n"
        "# TYPE gpuprof_series_left_out gauge\n"
        "# HELP gpuprof_series_left_out Series that are not here because there would be too many.\n"
        "gpuprof_series_left_out 0\n# EOF\n");
    gp_buf_release(&b);
}

TEST(there_are_never_more_series_than_asked_for)
{
    struct gp_buf b = {0};
    struct gp_openmetrics m = {.b = &b, .most = 200};
    struct gp_openmetrics_steps steps = {0};
    size_t written = 0;
    for (int i = 0; i < 190; i++) {
        bool room = gp_openmetrics_series(&m, "x_total");
        if (room) gp_openmetrics_count(&m, 1);
        written += room;
    }
    assert_int_equal(written, 190);
    gp_openmetrics_put_steps(&m, &steps); /* 16 lines have no room any more, and nothing of them is written */
    for (int i = 0; i < 100; i++)
        if (gp_openmetrics_series(&m, "x_total")) gp_openmetrics_count(&m, 1);
    gp_openmetrics_end(&m);
    assert_int_equal(count_of(gp_buf_str(&b), "gpuprof_x_total "), 199);
    assert_int_equal(count_of(gp_buf_str(&b), "step_seconds"), 0);
    assert_non_null(strstr(gp_buf_str(&b), "gpuprof_series_left_out 107\n")); /* 16 of the steps, 91 of 100 */
    gp_buf_release(&b);
}

TEST(steps_are_in_the_bucket_of_their_upper_bound)
{
    struct gp_buf b = {0};
    struct gp_openmetrics m = {.b = &b, .most = 200};
    struct gp_openmetrics_steps s = {0};
    gp_openmetrics_step(&s, 1000000);
    gp_openmetrics_step(&s, 1000001);
    gp_openmetrics_step(&s, INT64_C(20000000000));
    gp_openmetrics_put_steps(&m, &s);
    const char *text = gp_buf_str(&b);
    assert_non_null(strstr(text, "le=\"0.001\"} 1\n"));
    assert_non_null(strstr(text, "le=\"0.0025\"} 2\n"));
    assert_non_null(strstr(text, "le=\"10.0\"} 2\n"));
    assert_non_null(strstr(text, "le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "_sum 20.002000001\ngpuprof_step_seconds_count 3\n"));
    gp_buf_release(&b);
}
