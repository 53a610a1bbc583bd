/* Counters by kernel, range and launch: sums and weighted means worked out by hand, and what is missing stays
 * missing. */
#include <math.h>

#include "analyze/cost/ceilings.h"
#include "analyze/metrics/metrics.h"
#include "formats/base/err.h"
#include "tests/unit/metrics_make.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/unit.h"

static void of(struct gp_metrics *m, const struct gp_metrics_opts *o)
{
    struct gp_trace t;
    struct gp_err err = {0};
    mm_trace(&t);
    assert_int_equal(gp_trace_check(&t, &err), 0);
    assert_int_equal(gp_metrics_of(m, &t, o, &err), 0);
    gp_trace_release(&t);
}

static void check(double v, double expected) { assert_true(fabs(v - expected) <= fabs(expected) * 1e-12); }

TEST(kernels)
{
    struct gp_metrics m;
    of(&m, &(struct gp_metrics_opts){.per = GP_METRICS_PER_KERNEL});
    assert_int_equal(m.groups.n, 2);
    assert_int_equal(m.columns.n, MM_COUNT);
    assert_int_equal(m.launches, 6);
    assert_int_equal(m.launches_measured, 5);
    assert_true(m.distorted);
    const struct gp_metrics_group *product = &m.groups.at[0], *copy = &m.groups.at[1]; /* by time */
    assert_string_equal(gp_metrics_str(&m, product->name), "product");
    assert_int_equal(product->count, 3);
    assert_int_equal(product->measured, 2);
    assert_int_equal(product->time_ns, 8000);
    assert_int_equal(copy->count, 3);
    assert_int_equal(copy->time_ns, 4000);
    check(gp_metrics_stat(&m, 1, MM_READ)->sum, 60000);
    check(gp_metrics_stat(&m, 1, MM_READ)->mean, 20000);
    check(gp_metrics_stat(&m, 1, MM_READ)->max, 40000);
    check(gp_metrics_stat(&m, 1, MM_PCT)->mean, 65); /* (50 * 1000 + 50 * 1000 + 80 * 2000) / 4000 */
    assert_true(isnan(gp_metrics_stat(&m, 1, MM_PCT)->sum));
    assert_int_equal(gp_metrics_stat(&m, 0, MM_READ)->n, 1); /* the other one is missing */
    check(gp_metrics_stat(&m, 0, MM_READ)->sum, 1000);
    check(gp_metrics_stat(&m, 0, MM_PCT)->mean, 25);
    const struct gp_counted k = m.groups.at[0].counted;
    check(k.flops, 16e6);
    assert_int_equal(k.arith, GP_ARITH_BF16);
    check(k.peak_flops, 0.5e16); /* the counter is about sparse matrices */
    gp_metrics_release(&m);
}

TEST(ranges_and_launches)
{
    struct gp_metrics m;
    of(&m, &(struct gp_metrics_opts){.per = GP_METRICS_PER_RANGE});
    assert_int_equal(m.groups.n, 1);
    assert_int_equal(m.groups.at[0].measured, 2);
    assert_int_equal(m.groups.at[0].time_ns, 10000);
    check(gp_metrics_stat(&m, 0, MM_OPS)->sum, 16e6);
    gp_metrics_release(&m);
    of(&m, &(struct gp_metrics_opts){.per = GP_METRICS_PER_LAUNCH, .top = 2, .sort = "dram__bytes_read"});
    assert_int_equal(m.groups.n, 2);
    assert_int_equal(m.rest.rows, 3);
    assert_int_equal(m.rest.time_ns, 9000); /* the shorter copy and both products */
    assert_int_equal(m.launches_measured, 5);
    assert_int_equal(m.groups.at[0].ordinal, 2); /* the longer copy */
    assert_int_equal(m.groups.at[1].ordinal, 0);
    check(gp_metrics_stat(&m, 0, MM_READ)->sum, 40000);
    gp_metrics_release(&m);
}

/* The product: 16,000,000 operations in 8000 ns, 8000 bytes of L2; one of its two launches lacks those of
 * memory. The copy: no operations. */
TEST(points_of_a_roofline)
{
    struct gp_metrics m;
    struct gp_strings names = {0};
    struct gp_roofline r = {0};
    of(&m, &(struct gp_metrics_opts){.per = GP_METRICS_PER_KERNEL});
    gp_metrics_roofline(&r, &names, &m, NULL);
    assert_int_equal(r.roofs.n, 1);
    check(r.roofs.at[0].per_s, 0.5e16);
    assert_int_equal(r.roofs.at[0].source, GP_CEILING_COUNTERS);
    assert_int_equal(r.points.n, 1);
    check(gp_roofline_flops_per_s(&r.points.at[0]), 2e12);
    check(r.points.at[0].l2_bytes, 8000);
    check(r.points.at[0].bytes_high, 0);
    assert_int_equal(r.unknown_ns, 4000);
    gp_roofline_release(&r);
    struct gp_ceilings measured = {.memory = {3e12, GP_CEILING_FILE}};
    measured.flops[GP_ARITH_BF16] = (struct gp_ceiling){4e15, GP_CEILING_FILE};
    gp_metrics_roofline(&r, &names, &m, &measured);
    assert_int_equal(r.roofs.n, 2);
    check(r.roofs.at[0].per_s, 3e12);
    check(r.roofs.at[1].per_s, 4e15);
    assert_int_equal(r.points.at[0].roof, 1);
    gp_roofline_release(&r);
    gp_strings_release(&names);
    gp_metrics_release(&m);
}

TEST(some_columns)
{
    struct gp_metrics m;
    of(&m,
       &(struct gp_metrics_opts){.only = "lts__t_bytes,dram__bytes_write.sum", .sort = "lts__t_bytes.sum"});
    assert_int_equal(m.columns.n, 2);
    check(gp_metrics_stat(&m, 0, 1)->sum, 138000); /* copies: 24000 + 24000 + 90000 */
    gp_metrics_release(&m);
    struct gp_trace t;
    struct gp_err err = {0};
    mm_trace(&t);
    assert_int_equal(gp_metrics_of(&m, &t, &(struct gp_metrics_opts){.only = "nonsense"}, &err), -1);
    gp_metrics_release(&m);
    assert_int_equal(gp_metrics_of(&m, &t, &(struct gp_metrics_opts){.sort = "nonsense"}, &err), -1);
    gp_metrics_release(&m);
    gp_trace_release(&t);
}

/* The other trace has the copy three times, as here, and the product four times for 1000 ns each: two of them
 * are 2000. */
TEST(times_of_another_trace)
{
    struct gp_metrics m;
    struct gp_trace t, counters;
    struct mm k;
    struct gp_err err;
    mm_trace(&counters);
    assert_int_equal(
        gp_metrics_of(&m, &counters, &(struct gp_metrics_opts){.per = GP_METRICS_PER_KERNEL}, &err), 0);
    mm_begin(&k, &t);
    for (int i = 0; i < 3; i++) mm_launch(&k, 1000 + i * 1000, 300 + i, "copy", 16, NULL);
    for (int i = 0; i < 4; i++) mm_launch(&k, 9000 + i * 2000, 1000, "product", 132, NULL);
    mm_launch(&k, 30000, 7, "copy", 17, NULL); /* another grid */
    gp_trace_finish(&t);
    gp_metrics_join(&m, &counters, &t);
    assert_int_equal(m.groups.at[1].joined_ns, 903);
    assert_false(m.groups.at[1].joined_by_mean);
    assert_int_equal(m.groups.at[0].joined_ns, 2000);
    assert_true(m.groups.at[0].joined_by_mean);
    gp_metrics_release(&m);
    // the longest three launches, each with its own time: two products and the third copy
    struct gp_metrics_opts launches = {.per = GP_METRICS_PER_LAUNCH, .top = 3};
    assert_int_equal(gp_metrics_of(&m, &counters, &launches, &err), 0);
    gp_metrics_join(&m, &counters, &t);
    assert_int_equal(m.groups.n, 3);
    assert_int_equal(m.groups.at[0].joined_ns, 1000);
    assert_int_equal(m.groups.at[2].ordinal, 2);
    assert_int_equal(m.groups.at[2].joined_ns, 302);
    assert_false(m.groups.at[2].joined_by_mean);
    gp_metrics_release(&m);
    gp_trace_release(&t);
    gp_trace_release(&counters);
}

TEST(reductions)
{
    assert_int_equal(gp_metric_reduce_of("dram__bytes.sum"), GP_REDUCE_SUM);
    assert_int_equal(gp_metric_reduce_of("sm__cycles_active.avg"), GP_REDUCE_SUM);
    assert_int_equal(gp_metric_reduce_of("sm__cycles_elapsed.avg.per_second"), GP_REDUCE_MEAN);
    assert_int_equal(gp_metric_reduce_of("dram__bytes.sum.pct_of_peak_sustained_elapsed"), GP_REDUCE_MEAN);
    assert_int_equal(gp_metric_reduce_of("lts__t_sector_hit_rate.pct"), GP_REDUCE_MEAN);
    assert_int_equal(gp_metric_reduce_of("nothing"), GP_REDUCE_MEAN);
}

/* A counter of all instructions contains those of single ones: 100 are not 160. Integers do not count. */
TEST(parents_and_parts)
{
    const char *const names[] = {"sm__ops_path_tensor_src_fp16.sum",
                                 "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
                                 "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum",
                                 "sm__ops_path_tensor_src_int8.sum", "sm__inst_executed_pipe_tensor.sum"};
    struct gp_counters c;
    struct gp_counted k;
    gp_counters_init(&c, names, 5);
    gp_counters_read(&c, (double[]){100, 60, 7, 1000, 3}, &k);
    check(k.flops, 107);
    assert_int_equal(k.arith, GP_ARITH_FP16);
    assert_false(k.tensor_unknown);
    gp_counters_read(&c, (double[]){0, 0, 0, 0, 3}, &k);
    assert_true(k.tensor_unknown);
    assert_true(isnan(k.dram_bytes) && isnan(k.vector_flops));
}
