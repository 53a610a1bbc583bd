// Decimal text to integers, exactly.
#include <string.h>

#include "formats/base/count.h"
#include "formats/base/num.h"
#include "tests/unit/unit.h"

static void us_is(const char *text, int64_t want)
{
    int64_t ns = 77;
    if (!gp_ns_from_us(text, strlen(text), &ns)) fail_msg("%s: no number", text);
    if (ns != want) fail_msg("%s: %lld ns", text, (long long)ns);
}

static void us_is_not(const char *text)
{
    int64_t ns = 77;
    if (gp_ns_from_us(text, strlen(text), &ns)) fail_msg("%s: read as %lld", text, (long long)ns);
    assert_int_equal(ns, 77);
}

TEST(microseconds_are_exact)
{
    us_is("123.456", 123456);
    us_is("4368637478229.227", 4368637478229227);
    us_is("0.1", 100);
    us_is("-1.5", -1500);
    us_is("7", 7000);
    us_is("007.5", 7500);
    us_is("9223372036854775.807", INT64_MAX);
}

TEST(exponents_are_exact)
{
    us_is("1e2", 100000);
    us_is("1.05E1", 10500);
    us_is("1250e-3", 1250);
    us_is("0.00013E6", 130000);
    us_is("4.368637478229227e12", 4368637478229227);
    us_is("0e99999999999999999999", 0);
    us_is("5e-99999999999999999999", 0);
}

TEST(further_decimals_are_rounded_half_away_from_zero)
{
    us_is("0.0004", 0);
    us_is("0.0005", 1);
    us_is("-0.0005", -1);
    us_is("1.2344999999999", 1234);
    us_is("1.9996", 2000);
    us_is("5e-4", 1);
    us_is("5e-5", 0);
}

TEST(what_is_no_number_or_does_not_fit_is_refused)
{
    const char *bad[] = {"",    "-",   ".",     "1.2.3", "1e",  "1e+",   "NaN",
                         "0x1", "+1 ", "1e300", "1 ",    "--1", "1e2e3", "9223372036854775.8075"};
    for (size_t i = 0; i < GP_COUNT(bad); i++) us_is_not(bad[i]);
}

TEST(integers_stop_where_64_bits_do)
{
    uint64_t u = 0;
    int64_t i = 0;
    assert_true(gp_u64_from_text("18446744073709551615", 20, &u) && u == UINT64_MAX);
    assert_false(gp_u64_from_text("18446744073709551616", 20, &u));
    assert_false(gp_u64_from_text("-1", 2, &u));
    assert_true(gp_i64_from_text("-9223372036854775808", 20, &i) && i == INT64_MIN);
    assert_false(gp_i64_from_text("9223372036854775808", 19, &i));
    assert_true(gp_u64_from_hex("0x1fF", 5, &u) && u == 511);
    assert_false(gp_u64_from_hex("0x", 2, &u));
    assert_false(gp_u64_from_hex("0x11111111111111111", 19, &u));
}

TEST(doubles_are_the_nearest)
{
    double v = 0;
    assert_true(gp_double_from_text("0.1", 3, &v) && v == 0.1);
    assert_true(gp_double_from_text("-2.5e3", 6, &v) && v == -2500.0);
    assert_true(gp_double_from_text("1.7976931348623157e308", 22, &v) && v == 1.7976931348623157e308);
    assert_false(gp_double_from_text("nan", 3, &v));
}
