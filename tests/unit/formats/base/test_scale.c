// Numbers as a person reads them; every expectation is rounded by hand.
#include <stdio.h>

#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "tests/unit/unit.h"

static void expect(enum gp_unit unit, int64_t v, const char *text)
{
    struct gp_buf b = {0};
    gp_scale_put(&b, unit, v);
    assert_string_equal(gp_buf_str(&b), text);
    gp_buf_release(&b);
}

static void expect_share(int64_t part, int64_t whole, const char *text)
{
    struct gp_buf b = {0};
    gp_scale_put_share(&b, part, whole);
    assert_string_equal(gp_buf_str(&b), text);
    gp_buf_release(&b);
}

TEST(times_have_three_digits_and_the_largest_unit_that_fits)
{
    expect(GP_UNIT_NS, 0, "0 ns");
    expect(GP_UNIT_NS, 999, "999 ns");
    expect(GP_UNIT_NS, 1000, "1.00 \xC2\xB5s");
    expect(GP_UNIT_NS, 1234567, "1.23 ms");
    expect(GP_UNIT_NS, 12345678, "12.3 ms");
    expect(GP_UNIT_NS, 123456789, "123 ms");
    expect(GP_UNIT_NS, 1500000000, "1.50 s");
    expect(GP_UNIT_NS, 1234567890123, "1,235 s");
}

TEST(rounding_up_may_change_the_digits_or_the_unit)
{
    expect(GP_UNIT_NS, 1235000, "1.24 ms"); // a half goes up
    expect(GP_UNIT_NS, 1234999, "1.23 ms");
    expect(GP_UNIT_NS, 9995000, "10.0 ms"); // not "10.00"
    expect(GP_UNIT_NS, 99950000, "100 ms");
    expect(GP_UNIT_NS, 999499, "999 \xC2\xB5s");
    expect(GP_UNIT_NS, 999500, "1.00 ms"); // not "1000 us"
    expect(GP_UNIT_NS, 999999999, "1.00 s");
    expect(GP_UNIT_NS, 999999999999, "1,000 s");
    expect(GP_UNIT_NS, INT64_MAX, "9,223,372,037 s");
}

TEST(bytes_are_in_powers_of_1000_and_counts_exact)
{
    expect(GP_UNIT_BYTES, 512, "512 B");
    expect(GP_UNIT_BYTES, 1048576, "1.05 MB");
    expect(GP_UNIT_BYTES, 80000000000, "80.0 GB");
    expect(GP_UNIT_COUNT, 7, "7");
    expect(GP_UNIT_COUNT, 1000, "1,000");
    expect(GP_UNIT_COUNT, 1234567, "1,234,567");
}

TEST(shares_say_what_they_are_small_or_whole)
{
    expect_share(0, 10, "0%");
    expect_share(5, 0, "0%");
    expect_share(10, 10, "100%");
    expect_share(1, 3, "33.3%");
    expect_share(2, 3, "66.7%");
    expect_share(1, 20, "5.00%");
    expect_share(1, 8, "12.5%");
    expect_share(30500, 32500, "93.8%"); // 93.846: rounding twice, over 93.85, would give 93.9
    expect_share(9996, 100000, "10.0%");
    expect_share(1, 10000, "0.01%");
    expect_share(1, 30000, "<0.01%");
    expect_share(99999, 100000, "99.9%"); // only the whole is 100%
    expect_share(INT64_MAX / 4, INT64_MAX / 2, "50.0%");
}
