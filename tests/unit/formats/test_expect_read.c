// Predictions: what is read of them, and that nothing else is.
#include <string.h>

#include "formats/base/err.h"
#include "formats/expect_read.h"
#include "tests/unit/unit.h"

#define FILE_OF(items) "{\"schema\": \"gpuprof/expect/1\", \"predictions\": [" items "]}"

static int read(struct gp_expect_file *f, const char *text, struct gp_err *err)
{
    memset(f, 0, sizeof *f);
    return gp_expect_read(f, text, strlen(text), err);
}

TEST(subjects_and_units)
{
    struct gp_expect_file f;
    struct gp_err err = {0};
    assert_int_equal(
        read(&f,
             FILE_OF("{\"metric\": \"step\", \"low_ns\": -12.5, \"high_ns\": 3e3, \"rule\": \"x\"},"
                     "{\"high_pct\": -60, \"idle\": \"host\", \"low_pct\": -80},"
                     "{\"operation\": \"a\\\"\\u00e9\", \"low\": 1, \"high\": 1}"),
             &err),
        0);
    assert_int_equal(f.items.n, 3);
    const struct gp_expect_item *i = f.items.at;
    assert_int_equal(i[0].sort, GP_EXPECT_METRIC);
    assert_string_equal(i[0].name, "step");
    assert_true(!i[0].percent && i[0].low == -12.5 && i[0].high == 3000);
    assert_int_equal(i[1].sort, GP_EXPECT_IDLE);
    assert_true(i[1].percent && i[1].low == -80 && i[1].high == -60);
    assert_int_equal(i[2].sort, GP_EXPECT_OPERATION);
    assert_string_equal(i[2].name, "a\"\xC3\xA9");
    gp_expect_file_release(&f);
}

TEST(what_is_no_prediction_is_told_and_nothing_is_kept)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "not a JSON object"},
        {"[1]", "not a JSON object"},
        {"{", "not a JSON object"},
        {"{\"predictions\": [{\"metric\": \"a\", \"low\": 1, \"high\": 2}]}", "schema"},
        {"{\"schema\": \"gpuprof/expect/2\", \"predictions\": [{\"metric\": \"a\", \"low\": 1, \"high\": "
         "2}]}",
         "schema"},
        {FILE_OF(""), "no predictions"},
        {FILE_OF("7"), "prediction 1 is not an object"},
        {FILE_OF("{\"metric\": \"a\", \"low\": 1, \"high\": 2}, {\"low\": 1, \"high\": 2}"),
         "prediction 2 must have one of"},
        {FILE_OF("{\"metric\": \"a\", \"idle\": \"b\", \"low\": 1, \"high\": 2}"),
         "prediction 1 must have one of"},
        {FILE_OF("{\"metric\": \"a\", \"low\": 1}"), "lowest and a highest"},
        {FILE_OF("{\"metric\": \"a\", \"low\": 1, \"high\": \"2\"}"), "lowest and a highest"},
        {FILE_OF("{\"metric\": \"a\", \"low\": 2, \"high\": 1}"), "low is above high"},
        {FILE_OF("{\"metric\": \"a\", \"low\": 1, \"high\": 1e999}"), "lowest and a highest"},
    };
    for (size_t i = 0; i < GP_COUNT(wrong); i++) {
        struct gp_expect_file f;
        struct gp_err err = {0};
        assert_int_equal(read(&f, wrong[i].text, &err), -1);
        assert_non_null(strstr(err.msg, wrong[i].message));
        assert_int_equal(f.items.n, 0);
    }
}

TEST(every_beginning_of_a_file_is_read_without_harm)
{
    static const char whole[] = FILE_OF("{\"operation\": \"gemm\\u0041\", \"low_ns\": -1.5, \"high_ns\": 2}");
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        struct gp_expect_file f = {0};
        assert_int_equal(gp_expect_read(&f, whole, n, NULL), -1);
    }
}
