#include "formats/base/num.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

TEST(durations_are_exact)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"0", 0},
        {"7ns", 7},
        {"10us", 10000},
        {"1.5ms", 1500000},
        {"2s", 2000000000},
        {"0.000000001s", 1},
        {"1.0000000019s", 1000000001},
        {"3.7ns", 3},
        {"1m", 60000000000},
        {"2h", 7200000000000},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036.854775807s", INT64_MAX},
    };
    for (size_t i = 0; i < GP_COUNT(good); i++) {
        int64_t ns = -1;
        assert_int_equal(gp_parse_duration(good[i].text, &ns, NULL), 0);
        assert_true(ns == good[i].ns);
    }
    static const char *const bad[] = {"",
                                      "us",
                                      "7",
                                      "1.5",
                                      "0.0",
                                      "-1us",
                                      "+1",
                                      " 1",
                                      "1 us",
                                      "1,5ms",
                                      "1.ms",
                                      ".5s",
                                      "1e3",
                                      "1.5.2s",
                                      "0x10",
                                      "nan",
                                      "1us ",
                                      "9223372036854775808ns",
                                      "9223372036.854775808s",
                                      "99999999999999999999ns",
                                      "18446744073709551616s"};
    for (size_t i = 0; i < GP_COUNT(bad); i++) {
        int64_t ns = 77;
        struct gp_err err = {0};
        assert_int_equal(gp_parse_duration(bad[i], &ns, &err), -1);
        assert_int_equal(err.code, GP_E_USAGE);
        assert_int_equal(ns, 77);
    }
}

TEST(a_bare_number_is_seconds_only_where_people_wait)
{
    int64_t ns = 0;
    struct gp_err err = {0};
    assert_int_equal(gp_parse_seconds("10", &ns, &err), 0);
    assert_true(ns == INT64_C(10000000000));
    assert_int_equal(gp_parse_seconds("0.5", &ns, &err), 0);
    assert_true(ns == 500000000);
    assert_int_equal(gp_parse_seconds("20ms", &ns, &err), 0);
    assert_true(ns == 20000000);
    assert_int_equal(gp_parse_seconds("9223372037", &ns, &err), -1);
    assert_int_equal(gp_parse_duration("10", &ns, &err), -1);
    assert_string_equal(err.msg, "'10' has no unit: write 10us, 10ms or 10s");
}

TEST(sizes_are_exact)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"12", 12},
                {"1k", 1024},
                {"64M", 67108864},
                {"2G", 2147483648},
                {"1T", 1099511627776},
                {"18446744073709551615", UINT64_MAX},
                {"17179869183G", 17179869183u * (UINT64_C(1) << 30)}};
    for (size_t i = 0; i < GP_COUNT(good); i++) {
        uint64_t v = 1;
        assert_int_equal(gp_parse_size(good[i].text, &v, NULL), 0);
        assert_true(v == good[i].bytes);
    }
    static const char *const bad[] = {
        "", "K", "-1", "1.5K", "1KB", "1 K", "18446744073709551616", "17179869184G"};
    for (size_t i = 0; i < GP_COUNT(bad); i++) {
        uint64_t v = 77;
        assert_int_equal(gp_parse_size(bad[i], &v, NULL), -1);
        assert_int_equal(v, 77);
    }
}

TEST(percentages_are_plain_decimals)
{
    static const struct {
        const char *text;
        double pct;
    } good[] = {{"5%", 5}, {"5", 5}, {"0.5%", 0.5}, {"12.25", 12.25}, {"250%", 250}, {"0", 0}};
    for (size_t i = 0; i < GP_COUNT(good); i++) {
        double v = -1;
        assert_int_equal(gp_parse_percent(good[i].text, &v, NULL), 0);
        assert_true(v == good[i].pct);
    }
    static const char *const bad[] = {"",    "%",   "-5%",   "5%%",  "5 %", "nan",
                                      "inf", "1e9", "0x1p3", "1,5%", "5."};
    for (size_t i = 0; i < GP_COUNT(bad); i++) {
        double v = 77;
        assert_int_equal(gp_parse_percent(bad[i], &v, NULL), -1);
        assert_true(v == 77);
    }
}

TEST(probabilities_are_between_0_and_1)
{
    double v = 77;
    struct gp_err err = {0};
    assert_int_equal(gp_parse_probability("0.05", &v, NULL), 0);
    assert_true(v == 0.05);
    static const char *const bad[] = {"", "0", "1", "1.5", "-0.1", "5%", "nan", "0,05"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        v = 77;
        assert_int_equal(gp_parse_probability(bad[i], &v, &err), -1);
        assert_true(v == 77);
    }
    assert_string_equal(err.msg, "'0,05' is not a probability, such as 0.05");
}
