// The answer of trace-compile in its forms, from a log that is worked out by hand.
#include <string.h>
#include "formats/base/buf.h"
#include "render/compile/compile_formats.h"
#include "render/compile/compile_priv.h"
#include "tests/unit/answer_text.h"
#include "tests/unit/compile_make.h"
#include "tests/unit/unit.h"

/* f is traced for 500 us, 300 of them in the backend; g takes 50; then 7 us record a graph. */
#define TWO_FRAMES                                                                                           \
    EVENT("0/0", "dynamo", "B", "1000")                                                                      \
    EVENT("0/0", "backend_compile", "B", "1100")                                                             \
    EVENT("0/0", "backend_compile", "E", "1400")                                                             \
    EVENT("0/0", "dynamo", "E", "1500")                                                                      \
    METRICS("0", "0",                                                                                        \
            "\"co_name\": \"f\", \"co_filename\": \"a.py\", \"co_firstlineno\": 3,"                          \
            " \"graph_op_count\": 2")                                                                        \
    EVENT("1/0", "dynamo", "B", "2000")                                                                      \
    EVENT("1/0", "dynamo", "E", "2050")                                                                      \
    METRICS("1", "0",                                                                                        \
            "\"co_name\": \"g\", \"co_filename\": \"a.py\", \"co_firstlineno\": 9,"                          \
            " \"graph_op_count\": 1")                                                                        \
    EVENT("0/0", "CUDAGraphNode.record", "B", "3000")                                                        \
    EVENT("0/0", "CUDAGraphNode.record", "E", "3007")

static const char *answer(struct gp_buf *b, const struct gp_compile *c, const char *format)
{
    struct gp_compile_answer a = {.c = c, .width = ANSWER_WIDE, .input = "<log>"};
    return answer_text(b, gp_compile_formats, format, &a);
}

/* 557 us in all: 250 of tracing, 300 of the backend, 7 of recording. */
TEST(time_is_split_into_classes_and_frames_that_add_up)
{
    struct gp_compile c;
    struct gp_buf b = {0};
    struct gp_compile_log log = compile_log_of(TWO_FRAMES);
    compile_finish(&c, &log);
    const char *text = answer(&b, &c, "text");
    assert_non_null(strstr(text, "Nothing to do: no graph breaks"));
    assert_non_null(strstr(text, "557 µs"));
    const char *json = answer(&b, &c, "json");
    assert_non_null(strstr(json, "\"total_ns\": 557000"));
    assert_non_null(strstr(json, "\"dynamo_ns\": 250000"));
    assert_non_null(strstr(json, "\"aot_ns\": 300000"));
    assert_non_null(strstr(json, "\"cudagraphs_ns\": 7000"));
    gp_buf_release(&b);
    compile_release(&c, &log);
}

TEST(a_break_is_a_row_with_its_place_and_a_sentence)
{
    struct gp_compile c;
    struct gp_buf b = {0};
    struct gp_compile_log log = compile_log_of(BREAK("0", "0", "0124", "5") METRICS(
        "0", "0", "\"co_name\": \"f\", \"co_filename\": \"a.py\", \"restart_reasons\": [\"k0124\"]"));
    compile_finish(&c, &log);
    const char *text = answer(&b, &c, "text");
    assert_null(strstr(text, "Nothing to do"));
    assert_non_null(strstr(text, "a.py:5"));
    const char *json = answer(&b, &c, "json");
    assert_non_null(strstr(json, "\"line\": 5"));
    assert_non_null(strstr(json, "\"cost_ns\": null")); /* unknown without a trace, and not 0 */
    gp_buf_release(&b);
    compile_release(&c, &log);
}

TEST(what_is_wrong_with_a_log_is_said_first)
{
    struct gp_compile c;
    struct gp_buf b = {0};
    struct gp_compile_log log =
        compile_log_of(METRICS("0", "0", "\"co_name\": \"f\"") METRICS("0", "2", "\"co_name\": \"f\""));
    compile_finish(&c, &log);
    assert_non_null(strstr(answer(&b, &c, "text"), "1 compile is missing in the log: compile ids have gaps"));
    gp_buf_release(&b);
    compile_release(&c, &log);
}

TEST(a_page_escapes_what_it_is_given_and_is_the_same_each_time)
{
    struct gp_compile c;
    struct gp_buf one = {0}, two = {0};
    struct gp_compile_log log =
        compile_log_of(EVENT("0/0", "dynamo", "B", "1000") EVENT("0/0", "dynamo", "E", "1500")
                           METRICS("0", "0", "\"co_name\": \"<script>\", \"co_filename\": \"a.py\""));
    compile_finish(&c, &log);
    answer(&one, &c, "html");
    answer(&two, &c, "html");
    assert_string_equal(one.data, two.data);
    assert_non_null(strstr(one.data, "&lt;log&gt;"));
    assert_non_null(strstr(one.data, "&lt;script&gt;"));
    assert_null(strstr(one.data, "<log>"));
    gp_buf_release(&one);
    gp_buf_release(&two);
    compile_release(&c, &log);
}

TEST(an_empty_log_has_no_picture_and_no_row)
{
    struct gp_compile c;
    struct gp_buf b = {0};
    struct gp_compile_log log = compile_log_of("");
    compile_finish(&c, &log);
    assert_null(strstr(answer(&b, &c, "html"), "class=\"icicle\""));
    assert_non_null(strstr(answer(&b, &c, "json"), "\"total_ns\": 0"));
    assert_non_null(strstr(b.data, "\"breaks\": []"));
    gp_buf_release(&b);
    compile_release(&c, &log);
}
