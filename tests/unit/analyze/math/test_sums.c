// Sums, products and parts of times that no trace should hold.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/math/sums.h"

static void sums_saturate(void **state)
{
    (void)state;
    assert_int_equal(gp_add_saturated(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(gp_add_saturated(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(gp_add_saturated(INT64_MAX, INT64_MIN), -1);
}

static void products_saturate(void **state)
{
    (void)state;
    assert_int_equal(gp_mul_saturated(1695835572943803000, 20), INT64_MAX);
    assert_int_equal(gp_mul_saturated(-1695835572943803000, 20), INT64_MIN);
    assert_int_equal(gp_mul_saturated(INT64_MIN, -1), INT64_MAX);
    assert_int_equal(gp_mul_saturated(-3, 5), -15);
}

static void parts_are_those_of_the_whole_product(void **state)
{
    (void)state;
    assert_int_equal(gp_part(19, 3, 10), 5); /* 5.7 */
    assert_int_equal(gp_part(-19, 3, 10), -5);
    assert_int_equal(gp_part(1695835572942021000, 50, 100), 847917786471010500);
    assert_int_equal(gp_part(INT64_MAX, 9, 10), 8301034833169298226); /* .3 */
    assert_int_equal(gp_part(INT64_MAX, 11, 10), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_saturate),
        cmocka_unit_test(products_saturate),
        cmocka_unit_test(parts_are_those_of_the_whole_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
