// Sums, products and parts of times that no trace should hold.
#include "analyze/math/sums.h"
#include "tests/unit/unit.h"

TEST(sums_saturate)
{
    assert_int_equal(gp_add_saturated(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(gp_add_saturated(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(gp_add_saturated(INT64_MAX, INT64_MIN), -1);
}

TEST(products_saturate)
{
    assert_int_equal(gp_mul_saturated(1695835572943803000, 20), INT64_MAX);
    assert_int_equal(gp_mul_saturated(-1695835572943803000, 20), INT64_MIN);
    assert_int_equal(gp_mul_saturated(INT64_MIN, -1), INT64_MAX);
    assert_int_equal(gp_mul_saturated(-3, 5), -15);
}

TEST(parts_are_those_of_the_whole_product)
{
    assert_int_equal(gp_part(19, 3, 10), 5); /* 5.7 */
    assert_int_equal(gp_part(-19, 3, 10), -5);
    assert_int_equal(gp_part(1695835572942021000, 50, 100), 847917786471010500);
    assert_int_equal(gp_part(INT64_MAX, 9, 10), 8301034833169298226); /* .3 */
    assert_int_equal(gp_part(INT64_MAX, 11, 10), INT64_MAX);
}
