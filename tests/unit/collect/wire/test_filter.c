// --filter: ranks and kernel names, as they are written and as they compare.
#include <string.h>

#include "collect/wire/filter.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

static struct gp_filter filter(const char *text)
{
    struct gp_filter f;
    struct gp_err err = {0};
    assert_int_equal(gp_filter_parse(&f, text, &err), 0);
    return f;
}

TEST(nothing_is_left_out_without_one)
{
    struct gp_filter f = filter(NULL);
    assert_true(gp_filter_rank(&f, -1) && gp_filter_rank(&f, 7));
    assert_true(gp_filter_name(f.kernel, "anything"));
    f = filter("");
    assert_true(gp_filter_rank(&f, -1));
}

TEST(ranks_are_numbers_and_ranges)
{
    struct gp_filter f = filter("rank:0,2-3,9");
    static const int32_t in[] = {0, 2, 3, 9}, out[] = {-1, 1, 4, 8, 10};
    for (size_t i = 0; i < 4; i++) assert_true(gp_filter_rank(&f, in[i]));
    for (size_t i = 0; i < 5; i++) assert_false(gp_filter_rank(&f, out[i]));
}

TEST(names_are_patterns)
{
    struct gp_filter f = filter("kernel:*gemm* rank:1");
    assert_true(gp_filter_name(f.kernel, "_Z4gemmPf"));
    assert_false(gp_filter_name(f.kernel, "_Z4reluPf"));
    assert_true(gp_filter_rank(&f, 1));
    assert_false(gp_filter_rank(&f, 0));
    assert_true(gp_filter_name("nccl[DK]*", "ncclDevKernel_AllReduce"));
}

TEST(nonsense_is_refused)
{
    static const char *const bad[] = {
        "rank:",   "rank:x", "rank:1,",       "rank:3-2",          "rank:1-", "rank:99999999999",
        "kernel:", "gemm",   "rank:1 rank:2", "kernel:a kernel:b", "rank:-1", "rank:1 x"};
    struct gp_filter f;
    for (size_t i = 0; i < GP_COUNT(bad); i++) {
        struct gp_err err = {0};
        assert_int_equal(gp_filter_parse(&f, bad[i], &err), -1);
        assert_int_equal(err.code, GP_E_USAGE);
    }
    char many[400] = "rank:0"; /* more than there is room for */
    for (int i = 0; i < 64; i++) strcat(many, ",1");
    struct gp_err err = {0};
    assert_int_equal(gp_filter_parse(&f, many, &err), -1);
}
