// What bounds a kernel, on both sides of each threshold, on a device of round numbers: 1 TB/s, 100 TFLOP/s in
// 16 bits, 10 in FP32, a cache of 10 MB, and 1 us for an empty kernel. So 1 MB takes 1 us, and 100 MFLOP in
// 16 bits do.
#include <math.h>
#include <string.h>

#include "analyze/cost/regime.h"
#include "tests/unit/unit.h"

static struct gp_ceilings device(void)
{
    struct gp_ceilings c = {.memory = {1e12, GP_CEILING_TABLE}, .l2_bytes = 10e6, .empty_ns = 1000};
    c.flops[GP_ARITH_BF16] = (struct gp_ceiling){100e12, GP_CEILING_TABLE};
    c.flops[GP_ARITH_FP32] = (struct gp_ceiling){10e12, GP_CEILING_TABLE};
    return c;
}

/* A kernel that takes US, with so much to do; times at the roofs in us. */
struct kernel {
    double us, compute_us, low_us, high_us;
    double waves, part;
    uint32_t kind;
    bool products, beside;
};

static struct gp_regime_answer of(struct kernel k)
{
    struct gp_ceilings c = device();
    struct gp_work w = {.bytes_low = k.low_us * 1e6, .bytes_high = k.high_us * 1e6, .products = k.products};
    w.arith = k.products ? GP_ARITH_BF16 : GP_ARITH_FP32;
    w.flops = k.compute_us * (k.products ? 100e6 : 10e6);
    struct gp_regime_kernel in = {.kind = k.kind ? k.kind : GP_FRAME_ELEMENTWISE,
                                  .dur_ns = (int64_t)(k.us * 1000),
                                  .work = &w,
                                  .waves = k.waves,
                                  .part = k.part,
                                  .beside = k.beside};
    struct gp_regime_answer a;
    gp_regime_of_kernel(&a, &in, &c);
    return a;
}

static enum gp_regime regime(struct kernel k) { return of(k).regime; }

TEST(nothing_is_told_of_what_is_not_known)
{
    struct gp_ceilings c = device(), none = {.empty_ns = 1000};
    struct gp_work w = {.bytes_low = 50e6, .bytes_high = 50e6, .arith = GP_ARITH_FP32};
    struct gp_regime_answer a;
    static const struct {
        uint32_t kind;
        enum gp_regime regime;
    } kinds[] = {{GP_FRAME_GEMM, GP_REGIME_UNKNOWN},       {GP_FRAME_ATTENTION, GP_REGIME_COMPUTE},
                 {GP_FRAME_ELEMENTWISE, GP_REGIME_MEMORY}, {GP_FRAME_REDUCTION, GP_REGIME_MEMORY},
                 {GP_FRAME_COMPUTE, GP_REGIME_UNKNOWN},    {GP_FRAME_COMMUNICATION, GP_REGIME_COMMUNICATION},
                 {GP_FRAME_MEMCPY, GP_REGIME_TRANSFER},    {GP_FRAME_MEMSET, GP_REGIME_TRANSFER}};
    for (size_t i = 0; i < GP_COUNT(kinds); i++) {
        struct gp_regime_kernel k = {.kind = kinds[i].kind, .dur_ns = 100000};
        gp_regime_of_kernel(&a, &k, &c);
        assert_int_equal(a.regime, kinds[i].regime);
        k.work = &w; // without ceilings it is the same
        gp_regime_of_kernel(&a, &k, &none);
        assert_int_equal(a.regime, kinds[i].regime);
    }
    // a product in a type whose ceiling is unknown
    w = (struct gp_work){
        .flops = 1e9, .bytes_low = 1e6, .bytes_high = 1e6, .arith = GP_ARITH_FP8, .products = true};
    gp_regime_of_kernel(&a, &(struct gp_regime_kernel){.kind = GP_FRAME_GEMM, .dur_ns = 100000, .work = &w},
                        &c);
    assert_int_equal(a.regime, GP_REGIME_UNKNOWN);
    assert_true(a.compute_ns == 0);
}

TEST(a_tile_tells_what_bounds_a_product)
{
    static const struct {
        uint32_t tile;
        enum gp_regime regime;
    } cases[] = {{0, GP_REGIME_UNKNOWN},
                 {1, GP_REGIME_MEMORY},
                 {16, GP_REGIME_MEMORY},
                 {32, GP_REGIME_UNKNOWN},
                 {64, GP_REGIME_COMPUTE}};
    const struct gp_ceilings none = {.empty_ns = 1500};
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_regime_answer a;
        struct gp_regime_kernel k = {.kind = GP_FRAME_GEMM, .dur_ns = 100000, .tile = cases[i].tile};
        gp_regime_of_kernel(&a, &k, &none);
        assert_int_equal(a.regime, cases[i].regime);
    }
}

TEST(short_kernels_are_overhead)
{
    // 2 x 1 us and 1 us more
    assert_int_equal(regime((struct kernel){.us = 3, .low_us = 2, .high_us = 2}), GP_REGIME_OVERHEAD);
    assert_int_equal(regime((struct kernel){.us = 3.001, .low_us = 2, .high_us = 2}), GP_REGIME_MEMORY);
}

TEST(what_cannot_be_is_unknown)
{
    // 101 us: 1 us and 115.15 us are what 1.15 x 101 allows for 116.15; of it 10 MB come from the cache at 4
    // TB/s, 2.5 us instead of 10: so 122.65 us of bytes are just possible
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 122.6, .high_us = 122.6}), GP_REGIME_MEMORY);
    struct gp_regime_answer a = of((struct kernel){.us = 101, .low_us = 122.7, .high_us = 122.7});
    assert_int_equal(a.regime, GP_REGIME_UNKNOWN);
    assert_true(a.impossible);
    // the least that must be moved decides, not the most
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 90, .high_us = 500}), GP_REGIME_MEMORY);
    // arithmetic has no cache
    assert_int_equal(
        regime((struct kernel){.us = 101, .compute_us = 115.1, .low_us = 1, .high_us = 1, .products = true}),
        GP_REGIME_COMPUTE);
    assert_int_equal(
        regime((struct kernel){.us = 101, .compute_us = 115.2, .low_us = 1, .high_us = 1, .products = true}),
        GP_REGIME_UNKNOWN);
}

TEST(what_fits_the_cache_may_be_faster_than_memory)
{
    // 9 MB in 4 us: 2.25 TB/s
    struct gp_regime_answer a = of((struct kernel){.us = 4, .low_us = 9, .high_us = 9});
    assert_int_equal(a.regime, GP_REGIME_MEMORY);
    assert_true(a.fits_cache);
    assert_false(of((struct kernel){.us = 20, .low_us = 10, .high_us = 10}).fits_cache);
}

TEST(a_roof_explains_from_40_percent_on)
{
    // of 100 us beside the 1 us of an empty kernel
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 40, .high_us = 40}), GP_REGIME_MEMORY);
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 39.9, .high_us = 39.9}),
                     GP_REGIME_INEFFICIENT);
    assert_int_equal(
        regime((struct kernel){.us = 101, .compute_us = 40, .low_us = 9, .high_us = 9, .products = true}),
        GP_REGIME_COMPUTE);
    assert_int_equal(
        regime((struct kernel){.us = 101, .compute_us = 39.9, .low_us = 9, .high_us = 9, .products = true}),
        GP_REGIME_INEFFICIENT);
    // bytes that may be moved explain as well as those that must be
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 20, .high_us = 40}), GP_REGIME_MEMORY);
    // the larger one of the two
    assert_int_equal(
        regime((struct kernel){.us = 101, .compute_us = 60, .low_us = 59, .high_us = 59, .products = true}),
        GP_REGIME_COMPUTE);
    assert_int_equal(
        regime((struct kernel){.us = 101, .compute_us = 60, .low_us = 61, .high_us = 61, .products = true}),
        GP_REGIME_MEMORY);
}

TEST(small_grids_of_little_work_only_wait)
{
    // 2 us of 8, on less than one wave
    assert_int_equal(regime((struct kernel){.us = 9, .low_us = 1.99, .high_us = 1.99, .waves = 0.9}),
                     GP_REGIME_OVERHEAD);
    assert_int_equal(regime((struct kernel){.us = 9, .low_us = 2, .high_us = 2, .waves = 0.9}),
                     GP_REGIME_INEFFICIENT);
    assert_int_equal(regime((struct kernel){.us = 9, .low_us = 1.99, .high_us = 1.99, .waves = 1}),
                     GP_REGIME_INEFFICIENT);
    assert_int_equal(regime((struct kernel){.us = 9, .low_us = 1.99, .high_us = 1.99}),
                     GP_REGIME_INEFFICIENT);
    // 10 us and no more
    assert_int_equal(regime((struct kernel){.us = 10, .low_us = 2, .high_us = 2, .waves = 0.9}),
                     GP_REGIME_OVERHEAD);
    assert_int_equal(regime((struct kernel){.us = 10.001, .low_us = 2, .high_us = 2, .waves = 0.9}),
                     GP_REGIME_INEFFICIENT);
}

TEST(inefficient_kernels_have_a_reason)
{
    struct gp_regime_answer a = of((struct kernel){.us = 101, .low_us = 30, .high_us = 30, .waves = 0.5});
    assert_int_equal(a.reason, GP_INEFFICIENT_BLOCKS);
    assert_int_equal(a.roof, GP_REGIME_MEMORY);
    a = of((struct kernel){.us = 101, .low_us = 30, .high_us = 30, .waves = 2});
    assert_int_equal(a.reason, GP_INEFFICIENT_ACCESS);
    a = of((struct kernel){.us = 101, .low_us = 30, .high_us = 30, .beside = true});
    assert_int_equal(a.reason, GP_INEFFICIENT_BESIDE);
    a = of((struct kernel){.us = 101, .low_us = 0.9, .high_us = 0.9});
    assert_int_equal(a.reason, GP_INEFFICIENT_LITTLE);
    a = of((struct kernel){.us = 101, .compute_us = 30, .low_us = 2, .high_us = 2, .products = true});
    assert_int_equal(a.reason, GP_INEFFICIENT_ARITHMETIC);
    assert_int_equal(a.roof, GP_REGIME_COMPUTE);
    assert_int_equal(of((struct kernel){.us = 101, .low_us = 50, .high_us = 50}).reason, GP_INEFFICIENT_NOT);
}

/* 30 us of work by time; with all of the operator's work it would be 60. */
TEST(a_part_of_an_operator_is_not_blamed_for_the_others)
{
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 30, .high_us = 30, .part = 0.5}),
                     GP_REGIME_MEMORY);
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 30, .high_us = 30, .part = 0.8}),
                     GP_REGIME_INEFFICIENT); // 37.5 at most
    assert_int_equal(regime((struct kernel){.us = 101, .low_us = 30, .high_us = 30, .part = 1}),
                     GP_REGIME_INEFFICIENT);
}

TEST(three_regimes)
{
    static const enum gp_regime folds[][3] = {
        {GP_REGIME_OVERHEAD, GP_REGIME_UNKNOWN, GP_REGIME_OVERHEAD},
        {GP_REGIME_MEMORY, GP_REGIME_MEMORY, GP_REGIME_MEMORY},
        {GP_REGIME_COMPUTE, GP_REGIME_COMPUTE, GP_REGIME_COMPUTE},
        {GP_REGIME_INEFFICIENT, GP_REGIME_MEMORY, GP_REGIME_MEMORY},
        {GP_REGIME_INEFFICIENT, GP_REGIME_COMPUTE, GP_REGIME_COMPUTE},
        {GP_REGIME_TRANSFER, GP_REGIME_UNKNOWN, GP_REGIME_MEMORY},
        {GP_REGIME_COMMUNICATION, GP_REGIME_UNKNOWN, GP_REGIME_MEMORY},
        {GP_REGIME_MIXED, GP_REGIME_UNKNOWN, GP_REGIME_OVERHEAD},
        {GP_REGIME_UNKNOWN, GP_REGIME_UNKNOWN, GP_REGIME_OVERHEAD},
    };
    for (size_t i = 0; i < GP_COUNT(folds); i++)
        assert_int_equal(gp_regime_classic(folds[i][0], folds[i][1]), folds[i][2]);
}

static enum gp_regime step(struct gp_regime_step s)
{
    s.whole_ns = 1000;
    return gp_regime_of_step(&s);
}

TEST(a_step_is_bound_by_what_makes_up_half_of_it)
{
    static const struct {
        struct gp_regime_step step;
        enum gp_regime want;
    } cases[] = {
        {{.idle_ns = 300, .latency_ns = 200, .compute_ns = 500}, GP_REGIME_OVERHEAD},
        {{.idle_ns = 290, .latency_ns = 200, .compute_ns = 510}, GP_REGIME_COMPUTE},
        {{.idle_ns = 100, .communication_ns = 510, .compute_ns = 390}, GP_REGIME_COMMUNICATION},
        {{.idle_ns = 100, .communication_ns = 240, .compute_ns = 660}, GP_REGIME_COMPUTE},
        {{.transfer_ns = 500, .communication_ns = 60, .memory_ns = 440}, GP_REGIME_TRANSFER},
        {{.unknown_ns = 600, .memory_ns = 300}, GP_REGIME_UNKNOWN},
        // a detection model: 41% idle is not memory bandwidth, and neither is half
        {{.idle_ns = 414, .memory_ns = 199, .unknown_ns = 182, .compute_ns = 100}, GP_REGIME_MIXED},
        {{.memory_ns = 223, .communication_ns = 189, .unknown_ns = 186, .idle_ns = 164}, GP_REGIME_MIXED},
        {{.transfer_ns = 300, .communication_ns = 260, .memory_ns = 440}, GP_REGIME_MIXED},
        // 50 of 1000 apart are no more than 10 %, 102 are
        {{.compute_ns = 525, .memory_ns = 475}, GP_REGIME_MIXED},
        {{.compute_ns = 551, .memory_ns = 449}, GP_REGIME_COMPUTE},
        // kernels far below both roofs are bound by neither
        {{.compute_ns = 350, .memory_ns = 300, .inefficient_ns = 350}, GP_REGIME_MIXED},
        {{.compute_ns = 240, .memory_ns = 200, .inefficient_ns = 560, .below_memory_ns = 560},
         GP_REGIME_INEFFICIENT},
        // waiting for other work does not count as overhead; time before the only step's first kernel is
        {{.waiting_ns = 978, .compute_ns = 17}, GP_REGIME_WAITING},
        {{.lead_ns = 570, .memory_ns = 200, .compute_ns = 150}, GP_REGIME_OVERHEAD},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++)
        if (step(cases[i].step) != cases[i].want) fail_msg("case %zu", i);
}

/* Measured bytes: of memory as W has them, of the L2 cache at 4 TB/s; NAN was not counted. */
static struct gp_regime_answer measured(struct gp_work w, struct gp_counted k, double us, uint32_t kind)
{
    struct gp_ceilings c = device();
    c.l2 = (struct gp_ceiling){4e12, GP_CEILING_COUNTERS};
    w.arith = w.flops > 0 ? GP_ARITH_BF16 : GP_ARITH_NONE;
    struct gp_regime_kernel in = {
        .kind = kind, .dur_ns = (int64_t)(us * 1000), .work = &w, .counted = &k, .waves = 4};
    struct gp_regime_answer a;
    gp_regime_of_kernel(&a, &in, &c);
    return a;
}

TEST(counters_decide_by_what_was_measured)
{
    const struct gp_counted plain = {.l2_bytes = NAN, .issue_pct = NAN, .tensor_pct = NAN};
    struct gp_counted cached = plain, issuing = plain;
    cached.l2_bytes = 300e6; // 75 us
    issuing.issue_pct = 61;
    const struct gp_work some = {.bytes_low = 20e6, .bytes_high = 20e6, .flops_known = true};
    struct gp_work half = some, partly = some;
    half.bytes_low = half.bytes_high = 50e6;
    partly.flops_known = false;
    const uint32_t other = GP_FRAME_OTHER, gemm = GP_FRAME_GEMM;
    assert_int_equal(measured(half, plain, 101, other).regime, GP_REGIME_MEMORY);
    // 5 MB would fit the cache, but were read from memory
    struct gp_work little = {.bytes_low = 5e6, .bytes_high = 5e6, .flops_known = true};
    assert_false(measured(little, plain, 101, other).fits_cache);
    // faster than memory can be: measured is measured
    assert_false(measured(half, plain, 30, other).impossible);
    assert_int_equal(measured(half, plain, 30, other).regime, GP_REGIME_MEMORY);
    // little of memory, much of the cache
    struct gp_regime_answer a = measured(some, cached, 101, other);
    assert_true(a.regime == GP_REGIME_MEMORY && a.cache_ns == 75000);
    // nothing explains it, unless what was not counted does
    assert_int_equal(measured(some, plain, 101, other).regime, GP_REGIME_INEFFICIENT);
    assert_int_equal(measured(some, issuing, 101, other).regime, GP_REGIME_COMPUTE);
    assert_int_equal(measured(partly, plain, 101, other).regime, GP_REGIME_UNKNOWN);
    assert_int_equal(measured(partly, plain, 101, gemm).regime, GP_REGIME_UNKNOWN);
    assert_int_equal(measured(partly, plain, 101, GP_FRAME_ELEMENTWISE).regime, GP_REGIME_INEFFICIENT);
}

/* 30 us of products at the highest clock, in 100 us: inefficient, unless the clock was half of it. */
TEST(a_lower_clock_lowers_the_roof_of_a_data_sheet)
{
    struct gp_ceilings c = device();
    struct gp_work w = {
        .bytes_low = 1e6, .bytes_high = 1e6, .products = true, .arith = GP_ARITH_BF16, .flops = 3e9};
    struct gp_regime_kernel k = {.kind = GP_FRAME_GEMM, .dur_ns = 100000, .work = &w};
    struct gp_regime_answer a;
    gp_regime_of_kernel(&a, &k, &c);
    assert_int_equal(a.regime, GP_REGIME_INEFFICIENT);
    k.clock = 0.5;
    gp_regime_of_kernel(&a, &k, &c);
    assert_int_equal(a.regime, GP_REGIME_COMPUTE);
    assert_true(fabs(a.compute_ns - 60000) < 1e-6);
    c.flops[GP_ARITH_BF16].source = GP_CEILING_FILE; /* measured with its clocks */
    gp_regime_of_kernel(&a, &k, &c);
    assert_int_equal(a.regime, GP_REGIME_INEFFICIENT);
}

/* The clock is a mean: a kernel that ran faster than it allows is not impossible. */
TEST(clocks_make_nothing_impossible)
{
    struct gp_ceilings c = device();
    struct gp_work w = {
        .bytes_low = 1e6, .bytes_high = 1e6, .products = true, .arith = GP_ARITH_BF16, .flops = 9e9};
    struct gp_regime_kernel k = {.kind = GP_FRAME_GEMM, .dur_ns = 100000, .work = &w, .clock = 0.5};
    struct gp_regime_answer a;
    gp_regime_of_kernel(&a, &k, &c);
    assert_false(a.impossible);
    assert_int_equal(a.regime, GP_REGIME_COMPUTE);
}

TEST(what_is_attainable_at_a_clock)
{
    struct gp_ceiling sheet = {100e12, GP_CEILING_TABLE}, file = {100e12, GP_CEILING_FILE};
    assert_true(fabs(gp_ceiling_at(&sheet, 0) - 80e12) < 1);
    assert_true(fabs(gp_ceiling_at(&sheet, 0.5) - 45e12) < 1);
    assert_true(fabs(gp_ceiling_at(&file, 0.5) - 100e12) < 1);
}
