// More than so many within a second.
#include "collect/wire/rate.h"
#include "tests/unit/unit.h"

static const int64_t MS = 1000000;

TEST(a_burst_and_a_stream_trip_alike)
{
    struct gp_rate r;
    gp_rate_init(&r, 1000);
    assert_false(gp_rate_add(&r, 5000 * MS, 1000)); /* no more than the limit */
    assert_true(gp_rate_add(&r, 5050 * MS, 1));
    gp_rate_init(&r, 1000);
    for (int i = 0; i < 9; i++) assert_false(gp_rate_add(&r, i * 100 * MS, 111)); /* 999 by then */
    assert_true(gp_rate_add(&r, 900 * MS, 2));
}

TEST(what_is_over_a_second_ago_counts_no_more)
{
    struct gp_rate r;
    gp_rate_init(&r, 1000);
    /* 100 every 100 ms is 1000 a second, for ever */
    for (int i = 0; i < 100; i++) assert_false(gp_rate_add(&r, i * 100 * MS, 100));
    assert_false(gp_rate_add(&r, 10900 * MS, 1000)); /* all the others have gone by */
    assert_true(gp_rate_add(&r, 11500 * MS, 1));
    assert_false(gp_rate_add(&r, 11900 * MS, 999));
}

TEST(a_clock_that_goes_back_or_far_ahead_does_no_harm)
{
    struct gp_rate r;
    gp_rate_init(&r, 10);
    assert_false(gp_rate_add(&r, 900000 * MS, 10));
    assert_true(gp_rate_add(&r, 100 * MS, 1)); /* as if now */
    assert_false(gp_rate_add(&r, INT64_MAX, 10));
    assert_false(gp_rate_add(&r, INT64_MAX, 0));
}
