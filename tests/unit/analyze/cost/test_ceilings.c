// What a device can do: by its name, by its properties, by what a trace reached, and by a file.
#include <string.h>

#include "analyze/cost/ceilings.h"
#include "tests/unit/unit.h"

static void is_sheet(const char *name, const char *sheet, double memory, double half)
{
    struct gp_ceilings c;
    gp_ceilings_of_device(&c, name, NULL);
    if (!c.sheet || strcmp(c.sheet, sheet) != 0) print_error("%s: %s\n", name, c.sheet ? c.sheet : "none");
    assert_non_null(c.sheet);
    assert_string_equal(c.sheet, sheet);
    assert_true(c.memory.per_s == memory && c.memory.source == GP_CEILING_TABLE);
    assert_true(c.flops[GP_ARITH_FP16].per_s == half && c.flops[GP_ARITH_FP16].source == GP_CEILING_TABLE);
    assert_true(c.l2_bytes > 0);
}

/* Names as drivers give them. */
TEST(devices_by_name)
{
    is_sheet("NVIDIA H200", "NVIDIA H200", 4.8e12, 989.4e12);
    is_sheet("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM", 3.35e12, 989.4e12);
    is_sheet("NVIDIA H100 PCIe", "NVIDIA H100 PCIe", 2e12, 756e12);
    is_sheet("NVIDIA H100 NVL", "NVIDIA H100 NVL", 3.9e12, 835.5e12);
    is_sheet("NVIDIA GH200 480GB", "NVIDIA GH200", 4e12, 989.4e12);
    is_sheet("NVIDIA H20", "NVIDIA H20", 4e12, 148e12);
    is_sheet("NVIDIA A100-SXM4-40GB", "NVIDIA A100 40GB", 1.555e12, 312e12);
    is_sheet("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB", 2.039e12, 312e12);
    is_sheet("NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe", 1.935e12, 312e12);
    is_sheet("NVIDIA A100-PG509-200", "NVIDIA A100 40GB", 1.555e12, 312e12);
    is_sheet("Tesla V100-SXM2-16GB", "NVIDIA V100 SXM2", 900e9, 125e12);
    is_sheet("Tesla V100-PCIE-32GB", "NVIDIA V100 PCIe", 900e9, 112e12);
    is_sheet("NVIDIA L4", "NVIDIA L4", 300e9, 121e12);
    is_sheet("NVIDIA L40S", "NVIDIA L40S", 864e9, 362.05e12);
    is_sheet("NVIDIA A10", "NVIDIA A10", 600e9, 125e12);
    is_sheet("NVIDIA A10G", "NVIDIA A10G", 600e9, 70e12);
    is_sheet("Tesla T4", "NVIDIA T4", 320e9, 65e12);
    is_sheet("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090", 1008e9, 165.2e12);
    is_sheet("NVIDIA B200", "NVIDIA B200", 7.7e12, 2250e12);
    struct gp_ceilings c;
    static const char *const others[] = {"NVIDIA T400 4GB", "NVIDIA A1000", "NVIDIA GeForce GTX 1080", "",
                                         NULL};
    for (size_t i = 0; i < GP_COUNT(others); i++) {
        gp_ceilings_of_device(&c, others[i], NULL);
        assert_null(c.sheet);
        assert_true(c.memory.per_s == 0 && c.flops[GP_ARITH_FP32].per_s == 0);
    }
}

TEST(a_device_that_nobody_knows_by_its_properties)
{
    struct gp_ceilings c;
    struct gp_device d = gp_device_unknown();
    d.cc_major = 8, d.cc_minor = 9, d.sms = 60, d.core_clock_khz = 2000000, d.l2_bytes = 50000000;
    d.memory_bandwidth_bps = 500000000000;
    gp_ceilings_of_device(&c, "NVIDIA Something", &d);
    assert_null(c.sheet);
    assert_true(c.memory.per_s == 500e9 && c.memory.source == GP_CEILING_DEVICE);
    // 60 multiprocessors x 2e9 clocks x 256 and x 1024 operations
    assert_true(c.flops[GP_ARITH_FP32].per_s == 60.0 * 2e9 * 256);
    assert_true(c.flops[GP_ARITH_BF16].per_s == 60.0 * 2e9 * 1024);
    assert_int_equal(c.flops[GP_ARITH_BF16].source, GP_CEILING_DEVICE);
    assert_true(c.l2_bytes == 50000000 && c.flops[GP_ARITH_FP8].per_s == 0);
    // of a known one the recorded cache counts, and nothing else
    gp_ceilings_of_device(&c, "NVIDIA H200", &d);
    assert_true(c.memory.per_s == 4.8e12 && c.l2_bytes == 50000000);
    // large devices, only by their compute capability
    struct gp_device bare = gp_device_unknown();
    bare.cc_major = 9, bare.cc_minor = 0, bare.warp_size = 32;
    gp_ceilings_of_device(&c, "", &bare);
    assert_string_equal(c.sheet, "NVIDIA H100 SXM");
    bare.warp_size = 64; // AMD's numbers have another meaning
    gp_ceilings_of_device(&c, "", &bare);
    assert_null(c.sheet);
}

/* N rates: all but the best of REST. */
static void measure(struct gp_ceiling *top, size_t n, double rest, double best)
{
    double rates[200];
    for (size_t i = 0; i < n; i++) rates[i] = rest;
    rates[n / 2] = best;
    gp_ceiling_measure(top, rates, n);
}

TEST(what_a_trace_reaches)
{
    struct gp_ceiling c = {4.8e12, GP_CEILING_TABLE};
    measure(&c, 19, 4e12, 4e12); // too few
    assert_true(c.per_s == 4.8e12 && c.source == GP_CEILING_TABLE);
    measure(&c, 20, 4e12, 4e12);
    assert_true(c.per_s == 4e12 && c.source == GP_CEILING_TRACE);
    c = (struct gp_ceiling){4.8e12, GP_CEILING_TABLE};
    measure(&c, 200, 4e12, 4.5e12); // one of 200 is not the 99th percentile
    assert_true(c.per_s == 4e12);
    c = (struct gp_ceiling){4.8e12, GP_CEILING_TABLE};
    measure(&c, 20, 2.8e12, 2.8e12); // less than 60 %: 2.88e12
    assert_true(c.per_s == 4.8e12 && c.source == GP_CEILING_TABLE);
    measure(&c, 20, 2.9e12, 2.9e12);
    assert_true(c.per_s == 2.9e12 && c.source == GP_CEILING_TRACE);
    c = (struct gp_ceiling){4.8e12, GP_CEILING_TABLE};
    measure(&c, 20, 6e12, 6e12); // nobody is faster than the data sheet
    assert_true(c.per_s == 4.8e12 && c.source == GP_CEILING_TRACE);
    c = (struct gp_ceiling){0, GP_CEILING_TABLE};
    measure(&c, 20, 1e12, 1e12); // of a device without data sheet
    assert_true(c.per_s == 1e12 && c.source == GP_CEILING_TRACE);
    c = (struct gp_ceiling){4.3e12, GP_CEILING_FILE};
    measure(&c, 20, 4e12, 4e12); // what was measured on purpose stays
    assert_true(c.per_s == 4.3e12 && c.source == GP_CEILING_FILE);
}

TEST(a_file_goes_first)
{
    struct gp_ceilings c, file = {.memory = {4.3e12, GP_CEILING_FILE}, .empty_ns = 1500};
    file.empty_source = GP_CEILING_FILE;
    file.flops[GP_ARITH_BF16] = (struct gp_ceiling){7.9e14, GP_CEILING_FILE};
    gp_ceilings_of_device(&c, "NVIDIA H200", NULL);
    gp_ceilings_prefer(&c, &file);
    assert_true(c.memory.per_s == 4.3e12 && c.memory.source == GP_CEILING_FILE);
    assert_true(c.flops[GP_ARITH_BF16].per_s == 7.9e14 && c.flops[GP_ARITH_FP16].per_s == 989.4e12);
    assert_true(c.empty_ns == 1500 && c.empty_source == GP_CEILING_FILE);
    assert_true(c.l2_bytes == 50.0 * 1048576);
    // all of what was measured is achievable, and 80 % of a data sheet
    assert_true(gp_ceiling_attainable(&c.memory) == 4.3e12);
    assert_true(gp_ceiling_attainable(&c.flops[GP_ARITH_FP16]) == 0.8 * 989.4e12);
}

/* A device that copies 4 TB/s, reads 5, writes 8, and has a cache of 10 MB at 10 TB/s: 1 MB of a copy takes
 * 250 ns, of reads 200, of writes 125, of the cache 100. */
static struct gp_ceilings mixed(void)
{
    return (struct gp_ceilings){.memory = {4e12, GP_CEILING_FILE},
                                .memory_read_per_s = 5e12,
                                .memory_write_per_s = 8e12,
                                .l2 = {10e12, GP_CEILING_FILE},
                                .l2_bytes = 10e6};
}

static bool near(double a, double b) { return a > b * (1 - 1e-12) - 1e-12 && a < b * (1 + 1e-12) + 1e-12; }

TEST(memory_is_as_fast_as_the_mix_of_reads_and_writes)
{
    struct gp_ceilings c = mixed();
    static const struct {
        double mb, written_mb, ns;
    } cases[] = {
        {100, 0, 20000},   // 100 read
        {100, 100, 12500}, // 100 written
        {100, 50, 25000},  // a copy of 50
        {90, 30, 21000},   // a sum of two: 60 MB of a copy, 15 us, and 30 read, 6 us
        {90, 60, 18750},   // 60 MB of a copy, and 30 written, 3.75 us
        {100, -1, 12500},  // not known: the fastest
        {0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bytes = cases[i].mb * 1e6, written = cases[i].written_mb * 1e6;
        assert_true(near(gp_ceilings_memory_ns(&c, bytes, written), cases[i].ns));
        assert_true(near(gp_ceilings_memory_bytes(&c, cases[i].ns, written), bytes));
    }
    // fewer than are written cannot be: half of the time for half of them
    assert_true(near(gp_ceilings_memory_bytes(&c, 6250, 100e6), 50e6));
    // a device of which only the copy was measured, and one of which nothing was
    c.memory_read_per_s = c.memory_write_per_s = 0;
    assert_true(near(gp_ceilings_memory_ns(&c, 90e6, 30e6), 22500));
    assert_true(near(gp_ceilings_memory_ns(&c, 90e6, -1), 22500));
    c.memory.per_s = 0;
    assert_true(gp_ceilings_memory_ns(&c, 90e6, 30e6) == 0 && gp_ceilings_cached_ns(&c, 90e6, 30e6) == 0);
}

TEST(the_cache_gives_as_much_as_it_holds)
{
    struct gp_ceilings c = mixed();
    assert_true(near(gp_ceilings_cached_ns(&c, 8e6, 4e6), 800));
    // 10 of 40 MB from the cache, 1 us; of the other 30, 15 are written: a copy, 7.5 us
    assert_true(near(gp_ceilings_cached_ns(&c, 40e6, 20e6), 8500));
    // 30 MB at the fastest rate, 3.75 us
    assert_true(near(gp_ceilings_cached_ns(&c, 40e6, -1), 4750));
    c.l2.per_s = 0; // four times the copy: 10 MB in 625 ns
    assert_true(near(gp_ceilings_cached_ns(&c, 40e6, 20e6), 8125));
}
