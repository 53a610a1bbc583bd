// Hardware counters in their forms: every value where it belongs, and nothing in the place of what is
// missing.
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/listing_read.h"
#include "render/metrics/metrics_formats.h"
#include "render/metrics/stall_code.h"
#include "tests/unit/answer_text.h"
#include "tests/unit/metrics_make.h"
#include "tests/unit/pc_make.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/unit.h"

/* Two kernels with three launches each, of which one of "product" was not measured:
 * tests/unit/metrics_make.h. */
static void by_kernel(struct gp_metrics *m)
{
    struct gp_trace t;
    struct gp_err err = {0};
    mm_trace(&t);
    assert_int_equal(gp_trace_check(&t, &err), 0);
    assert_int_equal(gp_metrics_of(m, &t, &(struct gp_metrics_opts){.per = GP_METRICS_PER_KERNEL}, &err), 0);
    gp_trace_release(&t);
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')); text++) n++;
    return n;
}

#define PRODUCT "product,\"grid 132, block 128\",,3,2,8000,,"
#define COPY    "copy,\"grid 16, block 128\",,3,3,4000,,"

/* Five metrics are counts, with four figures each; a rate and a share have no sum: three each. */
TEST(a_row_per_kernel_metric_and_figure)
{
    struct gp_metrics m;
    struct gp_buf b = {0};
    by_kernel(&m);
    struct gp_metrics_answer a = {.m = &m, .reduce = -1};
    const char *csv = answer_text(&b, gp_metrics_formats, "csv", &a);
    assert_int_equal(lines_of(csv), 1 + 2 * (5 * 4 + 2 * 3));
    assert_non_null(strstr(csv, PRODUCT "dram__bytes_read.sum,byte,sum,1000\r\n")); /* of one launch */
    assert_non_null(strstr(csv, COPY "dram__bytes_read.sum,byte,mean,20000\r\n"));
    /* (50 * 1000 + 50 * 1000 + 80 * 2000) / 4000 */
    assert_non_null(strstr(csv, COPY "sm__warps_active.avg.pct_of_peak_sustained_active,%,mean,65\r\n"));
    a.reduce = GP_REDUCE_SUM;
    csv = answer_text(&b, gp_metrics_formats, "csv", &a);
    assert_int_equal(lines_of(csv), 1 + 2 * 5);
    assert_null(strstr(csv, "mean"));
    gp_buf_release(&b);
    gp_metrics_release(&m);
}

TEST(a_column_per_metric)
{
    struct gp_metrics m;
    struct gp_buf b = {0};
    by_kernel(&m);
    struct gp_metrics_answer a = {.m = &m, .reduce = GP_REDUCE_MEAN, .wide = true};
    const char *csv = answer_text(&b, gp_metrics_formats, "csv", &a);
    assert_int_equal(lines_of(csv), 3);
    assert_non_null(strstr(csv, PRODUCT "4000,1000,1000,4000,8000000,1e+16,25\r\n"));
    assert_non_null(strstr(csv, COPY "1333.3333333333333,20000,20000,46000,0,1e+16,65\r\n"));
    gp_buf_release(&b);
    gp_metrics_release(&m);
}

/* 16 MFLOP in 8 us are 2 TFLOP/s. Of the products, bytes were measured of one launch only, so that they are
 * not known of all; 120 kB of copies in 4 us are 30 GB/s. */
TEST(a_table_leaves_empty_what_is_not_known_of_all_launches)
{
    struct gp_metrics m;
    struct gp_buf b = {0};
    by_kernel(&m);
    struct gp_metrics_answer a = {.m = &m, .reduce = -1, .width = ANSWER_WIDE};
    const char *text = answer_text(&b, gp_metrics_formats, "text", &a);
    assert_non_null(strstr(text, "5 of 6 launches measured"));
    assert_non_null(strstr(text, "launches waited for each other"));
    assert_non_null(strstr(text, "product         3   8.00 µs       -          -   0.02     2.00    0.04%"));
    assert_non_null(strstr(text, "copy            3   4.00 µs  120 kB  30.0 GB/s"));
    const char *json = answer_text(&b, gp_metrics_formats, "json", &a);
    assert_non_null(strstr(json, "\"dram_bytes\": null"));
    assert_non_null(strstr(json, "\"dram_bytes\": 120000"));
    assert_non_null(strstr(json, "{\"sum\": null, \"mean\": 65, \"min\": 50, \"max\": 80}"));
    gp_buf_release(&b);
    gp_metrics_release(&m);
}

TEST(a_page_is_the_same_each_time_and_escapes_its_input)
{
    struct gp_metrics m;
    struct gp_buf one = {0}, two = {0};
    by_kernel(&m);
    struct gp_metrics_answer a = {.m = &m, .reduce = -1, .input = "a<b>.trace"};
    answer_text(&one, gp_metrics_formats, "html", &a);
    answer_text(&two, gp_metrics_formats, "html", &a);
    assert_string_equal(one.data, two.data);
    assert_non_null(strstr(one.data, "a&lt;b&gt;.trace"));
    assert_null(strstr(one.data, "a<b>"));
    gp_buf_release(&one);
    gp_buf_release(&two);
    gp_metrics_release(&m);
}

/* Lines 10, 20 and LAST of a file of 1,000. */
static void draw_code(struct gp_buf *out, uint32_t last)
{
    struct gp_trace t;
    struct gp_strings strings = {0};
    struct gp_stalls s;
    struct gp_listing l = {0};
    struct gp_buf text = {0};
    struct gp_svg w = {.out = out, .html = true};
    gp_trace_init(&t, GP_NEED_ALL);
    gp_intern(&strings, "", 0);
    struct pc pc = {.t = &t, .track = mk_thread(&t, mk_process(&t, 1, 0), 1), .name = "k", .dur_ns = 1000};
    const uint32_t lines[] = {10, 20, last};
    for (uint32_t i = 0; i < 3; i++) {
        pc_line(&pc, "k.cu", lines[i]);
        pc_add(&pc, 16 * i, "wait", 100 * (i + 1), 0);
    }
    gp_trace_finish(&t);
    gp_stalls_of(&s, &t, NULL, &strings);
    for (int i = 1; i <= 1000; i++) gp_buf_printf(&text, "text %d\n", i);
    l.of = gp_intern(&strings, "k.cu", 4);
    assert_true(gp_listing_lines(&l, &text));
    out->n = 0;
    gp_stall_code(&w, &s, &l, 1);
    gp_listing_release(&l);
    gp_stalls_release(&s);
    gp_strings_release(&strings);
    gp_trace_release(&t);
}

TEST(code_is_whole_where_its_hot_lines_are_close_and_has_gaps_elsewhere)
{
    struct gp_buf b = {0};
    draw_code(&b, 60);
    assert_null(strstr(gp_buf_str(&b), "class=\"gap\""));
    assert_null(strstr(gp_buf_str(&b), "text 6<"));
    for (int i = 7; i <= 63; i++) {
        char line[40];
        snprintf(line, sizeof line, ">text %d<", i);
        assert_non_null(strstr(gp_buf_str(&b), line));
    }
    assert_null(strstr(gp_buf_str(&b), "text 64<"));
    draw_code(&b, 999);
    assert_non_null(strstr(gp_buf_str(&b), ">text 13<"));
    assert_null(strstr(gp_buf_str(&b), ">text 14<"));
    assert_non_null(strstr(gp_buf_str(&b), ">text 17<"));
    assert_non_null(strstr(gp_buf_str(&b), ">text 1000<"));
    const char *gap = strstr(gp_buf_str(&b), "class=\"gap\"");
    assert_non_null(gap);
    assert_non_null(strstr(gap + 1, "class=\"gap\""));
    gp_buf_release(&b);
}
