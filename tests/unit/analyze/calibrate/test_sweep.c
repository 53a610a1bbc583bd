// An operation over its sizes: medians, shares, regimes and their borders, by hand; sizes as people write
// them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include "analyze/calibrate/sweep.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

static struct gp_figures h200(void)
{
    struct gp_figures f = {.value = {0}};
    f.value[GP_FIGURE_MEMORY_COPY] = 4e12;
    f.value[GP_FIGURE_FP32] = 6e13;
    f.value[GP_FIGURE_BF16] = 8e14;
    f.fact[GP_FACT_l2_bytes] = 50000000;
    return f;
}

static void take(struct gp_sweep *s, const char *line)
{
    struct gp_err err = {0};
    assert_int_equal(gp_sweep_line(s, line, &err), 0);
}

TEST(a_copy_by_hand)
{
    struct gp_figures f = h200();
    struct gp_sweep s = {0};
    take(&s, "op copy fp32 100000000 800000000 0 250000 250000");  // 3.2 TB/s
    take(&s, "op copy fp32 1000 8000 0 3000 3200 3100 3300 2900"); // in any order
    take(&s, "op copy fp32 1000000 8000000 0 4000");
    take(&s, "op copy fp32 4000000 32000000 0 7000"); // 4.57 TB/s: in the cache
    take(&s, "op copy fp32 1000000 8000000 0 5000");  // the same once more
    gp_sweep_settle(&s, &f);
    assert_int_equal(s.ops.n, 1);
    const struct gp_sweep_op *o = &s.ops.at[0];
    assert_int_equal(o->points.n, 4);
    assert_true(o->points.at[0].ns == 3100 && o->points.at[0].low_ns == 3000 &&
                o->points.at[0].high_ns == 3200);
    assert_int_equal(o->points.at[0].repeats, 5);
    assert_int_equal(o->points.at[1].repeats, 2);
    assert_true(o->points.at[1].ns == 4500);
    assert_int_equal(o->points.at[1].regime, GP_SWEEP_LAUNCH);
    assert_int_equal(o->points.at[2].regime, GP_SWEEP_CACHE);
    assert_int_equal(o->points.at[3].regime, GP_SWEEP_MEMORY);
    assert_true(fabs(o->points.at[3].memory_share - 0.8) < 1e-9);
    // twice 3,100 ns, on the straight line from (1M, 4.5 us) to (4M, 7 us) in logarithms
    assert_int_equal(o->borders.n, 2);
    double part = log(6200.0 / 4500) / log(7000.0 / 4500);
    assert_true(fabs(o->borders.at[0].elements - 1e6 * pow(4, part)) < 1);
    assert_true(fabs(o->borders.at[1].elements - sqrt(4e6 * 1e8)) < 1);
    assert_int_equal(o->borders.at[1].from, 4000000);
    gp_sweep_release(&s);
}

TEST(large_sizes_alone_are_not_bound_by_their_launch)
{
    struct gp_figures f = h200();
    struct gp_sweep s = {0};
    take(&s, "op copy fp32 64000000 512000000 0 130000");                // 3.94 of 4 TB/s
    take(&s, "op matmul bf16 67000000 400000000 1099511627776 1390000"); // 791 of 800 TFLOP/s
    // 2.7 GB/s: only the launch explains it
    take(&s, "op exp fp32 1000 8000 1000 3000");
    gp_sweep_settle(&s, &f);
    assert_int_equal(s.ops.at[0].points.at[0].regime, GP_SWEEP_MEMORY);
    assert_int_equal(s.ops.at[1].points.at[0].regime, GP_SWEEP_COMPUTE);
    assert_int_equal(s.ops.at[2].points.at[0].regime, GP_SWEEP_LAUNCH);
    gp_sweep_release(&s);
}

TEST(faster_than_a_copy_is_the_cache_only_where_it_has_room)
{
    struct gp_figures f = h200();
    struct gp_sweep s = {0};
    take(&s, "op add fp32 1000 12000 1000 3000");
    take(&s, "op add fp32 1000000000 12000000000 1000000000 2900000"); // 4.14 TB/s of 12 GB
    gp_sweep_settle(&s, &f);
    assert_true(s.ops.at[0].points.at[1].memory_share > 1);
    assert_int_equal(s.ops.at[0].points.at[1].regime, GP_SWEEP_MEMORY);
    gp_sweep_release(&s);
}

TEST(products_are_held_against_their_type)
{
    struct gp_figures f = h200();
    struct gp_sweep s = {0};
    take(&s, "op matmul bf16 256 1536 8192 8000");
    take(&s, "op matmul bf16 67108864 402653184 1099511627776 1400000");
    take(&s, "op cos bf16 256 1024 256 8000");
    take(&s, "op matmul int8 256 1024 8192 8000");
    gp_sweep_settle(&s, &f);
    assert_true(gp_sweep_flops_per_s(&s, &s.ops.at[0]) == 8e14);
    assert_true(gp_sweep_flops_per_s(&s, &s.ops.at[1]) == 6e13); // computed in fp32
    assert_true(gp_sweep_flops_per_s(&s, &s.ops.at[2]) == 0);    // not measured
    assert_int_equal(s.ops.at[0].points.at[1].regime, GP_SWEEP_COMPUTE);
    assert_true(fabs(s.ops.at[0].points.at[1].compute_share - 1099511627776 / 1.4e-3 / 8e14) < 1e-9);
    gp_sweep_release(&s);
}

TEST(sizes_as_people_write_them)
{
    uint64_t v[GP_SWEEP_SIZES];
    struct gp_err err = {0};
    static const char *const wrong[] = {"",       "x",          "1K:",    "1K:2K",     "1K:2K:2", "2K:1K:x2",
                                        "1:8:x1", "1:8:x0",     "0:8:x2", "1:8:+0",    "8,4",     "4,4",
                                        "4,,8",   "1K:2K:x2:3", "-1",     "1:9999:+1", "1:2:y2"};
    assert_int_equal(gp_sweep_sizes("1K:1G:x2", v, &err), 21);
    assert_true(v[0] == 1024 && v[20] == 1 << 30);
    assert_int_equal(gp_sweep_sizes("1K:5K:x3", v, &err), 2);
    assert_int_equal(gp_sweep_sizes("1000:3000:+1000", v, &err), 3);
    assert_true(v[2] == 3000);
    assert_int_equal(gp_sweep_sizes("7,4096", v, &err), 2);
    assert_int_equal(gp_sweep_sizes("8:8:x2", v, &err), 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(gp_sweep_sizes(wrong[i], v, &err), -1);
}
