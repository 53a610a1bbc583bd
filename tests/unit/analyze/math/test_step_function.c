// Step functions: areas and means by hand, and what lies outside of what is known.
#include <math.h>
#include "analyze/math/step_function.h"
#include "tests/unit/unit.h"

/* 2 from 100, 4 from 300, known until 400. */
static struct gp_step_function make(void)
{
    struct gp_step_function f = {0};
    gp_step_add(&f, 100, 2);
    gp_step_add(&f, 300, 4);
    gp_step_end(&f, 400);
    return f;
}

TEST(areas_and_means)
{
    struct gp_step_function f = make();
    assert_true(gp_step_area(&f, 200, 400) == 600);
    assert_true(gp_step_mean(&f, 200, 400) == 3);
    assert_true(gp_step_area(&f, 120, 130) == 20);
    GP_VEC_FREE(&f.points);
}

TEST(only_what_is_known_counts)
{
    struct gp_step_function f = make(), none = {0};
    assert_int_equal(gp_step_covered(&f, 0, 150), 50);
    assert_int_equal(gp_step_covered(&f, 350, 900), 50);
    assert_int_equal(gp_step_covered(&f, 500, 900), 0);
    assert_true(gp_step_area(&f, 0, 1000) == 800);
    assert_true(isnan(gp_step_mean(&f, 0, 100)));
    assert_true(isnan(gp_step_mean(&none, 0, 100)));
    GP_VEC_FREE(&f.points);
}

TEST(where_a_value_changes)
{
    struct gp_step_function f = make();
    assert_int_equal(gp_step_at(&f, 50), 0);
    assert_int_equal(gp_step_at(&f, 299), 0);
    assert_int_equal(gp_step_at(&f, 300), 1);
    assert_int_equal(gp_step_until(&f, 0, 1000), 300);
    assert_int_equal(gp_step_until(&f, 0, 200), 200);
    assert_int_equal(gp_step_until(&f, 1, 1000), 1000);
    GP_VEC_FREE(&f.points);
}

/* What was rounded in the whole before it does not reach a short part. */
TEST(a_constant_stays_itself)
{
    struct gp_step_function f = {0};
    for (int64_t i = 0; i <= 100000; i++) gp_step_add(&f, i * 10007, 1999999999);
    assert_true(gp_step_mean(&f, 999990003, 1000133524) == 1999999999);
    GP_VEC_FREE(&f.points);
}
