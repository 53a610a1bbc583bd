// Whose work it is: what an operator does is charged once, to the kernels that it launched, and held against
// the device.
#include "tests/unit/metrics_make.h"
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define GEMM   "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define SIMT   "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4"
#define REDUCE "void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)"
#define ADD                                                                                                  \
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "                 \
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
#define SQUARE "{\"Input Dims\": [[4096, 4096], [4096, 4096]], "
#define HALVES "\"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"]}"
#define FLOATS "\"Input type\": [\"float\", \"float\"]}"

/* 2 * 4096^3, and three matrices of 4096^2 elements of 2 bytes */
static const double PRODUCT = 137438953472.0, MATRICES = 100663296.0;

static void on_h200(struct program *p)
{
    if (p->t.devices.n) return;
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(&p->t, "NVIDIA H200");
    GP_VEC_PUSH(&p->t.devices, d);
}

/* All that was launched since FROM belongs to the operator. */
static void operator_since(struct program *p, int64_t from, const char *op, const char *args)
{
    size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, op);
    gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, args));
}

static const struct gp_suggest_kernel *find(const struct program *p, const char *name, bool op)
{
    const struct gp_suggest_kernel *at = op ? p->s.ops.at : p->s.kernels.at;
    size_t n = op ? p->s.ops.n : p->s.kernels.n;
    for (size_t i = 0; i < n; i++)
        if (strstr(gp_suggest_str(&p->s, at[i].name), name)) return &at[i];
    fail_msg("no %s", name);
    return NULL;
}

static bool near(double a, double b) { return a >= b * 0.999999 && a <= b * 1.000001; }

static void split_product(struct program *p)
{
    on_h200(p);
    int64_t from = p->now;
    p->corr++;
    enqueue(p, 5 * US, GP_MEMSET, "Memset (Device)", 1 << 20);
    mk_call(&p->t, p->main, p->now, p->now + 4 * US, "cudaMemsetAsync", p->corr);
    host(p, 4 * US);
    kernel(p, GEMM, 300 * US), kernel(p, REDUCE, 100 * US);
    operator_since(p, from, "aten::mm", SQUARE HALVES);
    wait(p, "cudaDeviceSynchronize");
}

TEST(an_operator_is_charged_once)
{
    struct program p;
    run(&p, split_product);
    const struct gp_suggest_kernel *gemm = find(&p, "nvjet", false), *reduce = find(&p, "splitK", false);
    uint64_t n = gemm->count;
    // three quarters of it go to 300 of 400 us; the set has none
    assert_true(near(gemm->flops, PRODUCT * 0.75 * (double)n) &&
                near(reduce->flops, PRODUCT * 0.25 * (double)n));
    assert_true(near(gemm->bytes_low + reduce->bytes_low, MATRICES * (double)n));
    assert_int_equal(gemm->tier, GP_WORK_SHAPES);
    assert_true(find(&p, "Memset", false)->known_ns == 0);
    const struct gp_suggest_kernel *op = find(&p, "aten::mm", true);
    assert_true(near(op->flops, PRODUCT * (double)n));
    assert_int_equal(op->count, 3 * n); // with the set
    assert_int_equal(op->arith, GP_ARITH_BF16);
    // 137.4 GFLOP in 400 us are 343.6 TFLOP/s, 34.7 % of 989.4
    assert_true(op->roof_arith == GP_ARITH_BF16 && op->roof_pct > 34.72 && op->roof_pct < 34.74);
    end(&p);
}

/* 805.3 MB, which take 167.8 us at 4.8 TB/s, by two kernels. */
static void long_and_short(struct program *p)
{
    on_h200(p);
    int64_t from = p->now;
    kernel(p, "void long_reduce_kernel()", 800 * US), kernel(p, "void short_reduce_kernel()", 150 * US);
    operator_since(p, from, "aten::add", "{\"Input Dims\": [[64, 1024, 1024], [64, 1024, 1024]], " FLOATS);
    wait(p, "cudaDeviceSynchronize");
}

TEST(the_shorter_kernel_is_not_blamed)
{
    struct program p;
    run(&p, long_and_short);
    // all of the work would be 21 % of the long one's time, and more than the short one's
    assert_int_equal(find(&p, "long_reduce", false)->regime, GP_REGIME_INEFFICIENT);
    assert_int_equal(find(&p, "short_reduce", false)->regime, GP_REGIME_MEMORY);
    assert_int_equal(find(&p, "aten::add", true)->regime, GP_REGIME_INEFFICIENT);
    end(&p);
}

/* Two kernels of one graph inside an operator with shapes. */
static void graph_in_operator(struct program *p)
{
    on_h200(p);
    int64_t from = p->now;
    p->corr++;
    enqueue(p, 300 * US, GP_KERNEL, GEMM, 0);
    enqueue(p, 100 * US, GP_KERNEL, ADD, 0);
    mk_call(&p->t, p->main, p->now, p->now + 10 * US, "cudaGraphLaunch", p->corr);
    host(p, 10 * US);
    operator_since(p, from, "aten::mm", SQUARE HALVES);
    wait(p, "cudaDeviceSynchronize");
}

TEST(a_graph_is_not_its_operators)
{
    struct program p;
    run(&p, graph_in_operator);
    const struct gp_suggest_kernel *gemm = find(&p, "nvjet", false);
    assert_int_equal(gemm->tier, GP_WORK_UNKNOWN);
    assert_int_equal(gemm->regime, GP_REGIME_COMPUTE); // by its sort
    assert_true(gemm->known_ns == 0 && gemm->flops == 0 && gemm->roof_pct == 0);
    end(&p);
}

static void product_in_words(struct program *p, const char *name)
{
    on_h200(p);
    int64_t from = p->now;
    kernel(p, name, 4 * MS);
    operator_since(p, from, "aten::mm", SQUARE FLOATS);
    wait(p, "cudaDeviceSynchronize");
}

static void on_tensor_cores(struct program *p) { product_in_words(p, GEMM); }

static void in_plain_arithmetic(struct program *p) { product_in_words(p, SIMT); }

static void without_shapes(struct program *p)
{
    on_h200(p);
    kernel_of(p, ADD, 100000, 300 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(types_are_those_that_are_used)
{
    struct program p;
    run(&p, on_tensor_cores);
    assert_int_equal(find(&p, "nvjet", false)->arith, GP_ARITH_TF32);
    end(&p);
    run(&p, in_plain_arithmetic);
    const struct gp_suggest_kernel *k = find(&p, "xmma", false);
    // 137.4 GFLOP in 4 ms are 34.4 TFLOP/s, 51 % of 67
    assert_true(k->arith == GP_ARITH_FP32 && k->regime == GP_REGIME_COMPUTE && k->roof_pct > 51 &&
                k->roof_pct < 52);
    end(&p);
}

TEST(names_tell_bytes_without_shapes)
{
    struct program p;
    run(&p, without_shapes);
    const struct gp_suggest_kernel *k = find(&p, "CUDAFunctor_add", false);
    assert_int_equal(k->tier, GP_WORK_NAMES);
    // 100000 blocks of 1024 elements, two read and one written: 1228.8 MB in 300 us are 4.1 TB/s
    assert_true(near(k->bytes_low, 1228.8e6 * (double)k->count) && k->bytes_low == k->bytes_high);
    assert_true(k->regime == GP_REGIME_MEMORY && k->roof_arith == GP_ARITH_NONE);
    assert_true(p.s.tier_ns[GP_WORK_NAMES] == k->total_ns && p.s.tier_ns[GP_WORK_SHAPES] == 0);
    end(&p);
}

/* 10000 blocks: 122.88 MB, of which 40.96 are written. At 4 TB/s for 81.92 MB of a copy and 5 for the other
 * 40.96 they take 28.672 us. */
static void sums_in(struct program *p, int64_t ns)
{
    on_h200(p);
    kernel_of(p, ADD, 10000, ns);
    wait(p, "cudaDeviceSynchronize");
}

static void sums_in_30us(struct program *p) { sums_in(p, 30 * US); }

static void sums_in_28us(struct program *p) { sums_in(p, 28200); }

static void sums_in_25us(struct program *p) { sums_in(p, 25 * US); }

TEST(a_roof_follows_reads_writes_and_the_cache)
{
    static const struct gp_ceilings measured = {.memory = {4e12, GP_CEILING_FILE},
                                                .memory_read_per_s = 5e12,
                                                .memory_write_per_s = 8e12,
                                                .l2 = {10e12, GP_CEILING_FILE},
                                                .l2_bytes = 50e6};
    static const struct {
        void (*step)(struct program *);
        bool cache;
        double pct;
    } cases[] = {
        {sums_in_30us, false, 95.573333},
        {sums_in_28us, false, 101.673759}, // within what two measurements differ by
        // faster than memory is: 50 MB from the cache, 5 us, and 72.88 of 122.88 MB in 17.005333 us
        {sums_in_25us, true, 88.021333},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct program p;
        run_on(&p, cases[i].step, &measured);
        const struct gp_suggest_kernel *k = find(&p, "CUDAFunctor_add", false);
        assert_true(k->from_cache == cases[i].cache && near(k->roof_pct, cases[i].pct));
        assert_true(k->regime == GP_REGIME_MEMORY && !k->fits_cache);
        end(&p);
    }
}

/* 100000 blocks of 512 elements, as their operator's shapes show, and one more without an operator. */
static void half_by_shapes(struct program *p)
{
    on_h200(p);
    int64_t from = p->now;
    kernel_of(p, ADD, 100000, 300 * US);
    operator_since(p, from, "aten::add", "{\"Input Dims\": [[51200000], [51200000]], " FLOATS);
    kernel_of(p, ADD, 200000, 600 * US);
    wait(p, "cudaDeviceSynchronize");
}

/* With 1024 elements a block it would move 1228.8 MB in 150 us: 8.2 TB/s. */
static void half_by_rate(struct program *p)
{
    on_h200(p);
    kernel_of(p, ADD, 100000, 150 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void on_another_vendors(struct program *p)
{
    if (!p->t.devices.n) {
        struct gp_device d = gp_device_unknown();
        d.id = 0;
        d.warp_size = 64;
        d.name = mk_name(&p->t, "AMD Instinct MI300X VF");
        GP_VEC_PUSH(&p->t.devices, d);
    }
    kernel_of(p, ADD, 100000, 300 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(the_trace_decides_what_a_block_stands_for)
{
    struct program p;
    run(&p, half_by_shapes);
    const struct gp_suggest_kernel *k = find(&p, "CUDAFunctor_add", false);
    // half of 10 launches of 614.4 MB by shapes, half of 1228.8 MB by their grid
    assert_true(near(k->bytes_high, (614.4e6 + 1228.8e6) / 2 * (double)k->count));
    end(&p);
    run(&p, half_by_rate);
    k = find(&p, "CUDAFunctor_add", false);
    assert_true(near(k->bytes_high, 614.4e6 * (double)k->count) && k->impossible_ns == 0);
    end(&p);
    run(&p, on_another_vendors);
    k = find(&p, "CUDAFunctor_add", false);
    assert_true(k->tier == GP_WORK_UNKNOWN && k->known_ns == 0);
    assert_true(p.s.ceilings.memory.per_s == 5.3e12 && !strcmp(p.s.ceilings.sheet, "AMD Instinct MI300X"));
    end(&p);
}

#define CONVOLUTION                                                                                          \
    "{\"Input Dims\": [[8, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []], \"Input type\": "       \
    "[\"float\", "                                                                                           \
    "\"float\", \"\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", \"ScalarList\", "          \
    "\"Scalar\"], "                                                                                          \
    "\"Concrete Inputs\": [\"\", \"\", \"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "    \
    "\"1\"]}"

static void turned_convolution(struct program *p)
{
    on_h200(p);
    int64_t from = p->now;
    kernel(p, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)", 100 * US);
    kernel(p, GEMM, 300 * US);
    operator_since(p, from, "aten::cudnn_convolution", CONVOLUTION);
    wait(p, "cudaDeviceSynchronize");
}

TEST(a_transpose_has_no_operations)
{
    struct program p;
    run(&p, turned_convolution);
    const struct gp_suggest_kernel *turn = find(&p, "nchwToNhwc", false), *product = find(&p, "nvjet", false);
    assert_true(turn->flops == 0 && turn->regime != GP_REGIME_COMPUTE);
    // 2 * 8 * 64 * 56 * 56 * 64 * 9, all of it the product's
    if (product->known_ns > 0) assert_true(near(product->flops, 1849688064.0 * (double)product->count));
    end(&p);
}

static void one_of_each(struct program *p)
{
    split_product(p);
    kernel_of(p, ADD, 100000, 300 * US);
    kernel(p, "somebodys_kernel", 50 * US);
    kernel(p, "short_kernel", 2 * US);
}

TEST(the_plot_has_every_kernel_once)
{
    struct program p;
    run(&p, one_of_each);
    const struct gp_roofline *r = &p.s.roofline;
    int64_t steps = (int64_t)find(&p, "nvjet", false)->count;
    assert_int_equal(r->points.n, 3); // product, its sum, addition
    assert_int_equal(r->unknown_ns, 50 * US * steps);
    assert_int_equal(r->latency_ns, 2 * US * steps);
    int64_t sum = 0;
    for (size_t i = 0; i < r->points.n; i++) {
        sum += r->points.at[i].total_ns;
        assert_true(!i || r->points.at[i].total_ns <= r->points.at[i - 1].total_ns);
    }
    assert_int_equal(sum, 700 * US * steps);
    // memory first, then flat roofs from the highest down: bf16 for the product, fp32 for nobody here
    assert_true(r->roofs.n >= 2 && r->roofs.at[0].memory && r->roofs.at[0].per_s == 4.8e12);
    assert_string_equal(gp_suggest_str(&p.s, r->roofs.at[1].name), "bf16");
    for (size_t i = 0; i < r->points.n; i++)
        if (r->points.at[i].flops > 0) assert_int_equal(r->points.at[i].roof, 1);
    end(&p);
}

/* A product that its shapes make bound by arithmetic: 137.4 GFLOP in 300 us, 46% of 989 TFLOP/s. */
static void measured_product(struct program *p)
{
    on_h200(p);
    int64_t from = p->now;
    kernel(p, GEMM, 300 * US);
    operator_since(p, from, "aten::mm", SQUARE HALVES);
    kernel(p, "other", 100 * US);
    wait(p, "cudaDeviceSynchronize");
}

/* Counters of another run, in which each of ten products read 900 MB, wrote 300 MB and did 450 G operations,
 * of 5 P that the units could per second. */
static void counters_of_product(struct gp_trace *t)
{
    static const double values[] = {300e3, 900e6, 300e6, 2.4e9, 450e9, 1e16, 25};
    struct mm k;
    struct gp_config c;
    mm_begin(&k, t);
    memset(&c, 0, sizeof c);
    c.name = mk_name(t, GEMM);
    for (int i = 0; i < 10; i++) {
        struct gp_events *e = &t->events[GP_METRIC];
        size_t row = gp_events_add(e, i * 1000000, 300000, k.thread, c.name);
        gp_set_config(e, row, gp_trace_config(t, &c));
        gp_metric_put(t, row, k.set, values);
    }
    gp_trace_finish(t);
}

TEST(counters_go_before_models)
{
    struct program p;
    struct gp_trace counters;
    counters_of_product(&counters);
    run_with(&p, measured_product, &(struct gp_suggest_opts){.counters = &counters}, NULL);
    const struct gp_suggest_kernel *gemm = find(&p, "nvjet", false);
    double n = (double)gemm->count;
    assert_int_equal(gemm->tier, GP_WORK_COUNTERS);
    assert_true(near(gemm->flops, 450e9 * n) && near(gemm->bytes_low, 1.2e9 * n));
    assert_true(near(gemm->bytes_high, 1.2e9 * n) && near(gemm->l2_bytes, 2.4e9 * n) &&
                isnan(gemm->l1_bytes));
    // 1.2 GB take 250 of 300 us at 4.8 TB/s; 1.5 PFLOP/s are 30% of what the counters state
    assert_int_equal(gemm->regime, GP_REGIME_MEMORY);
    assert_true(gemm->roof_arith == GP_ARITH_NONE && near(gemm->roof_pct, 100 * 250.0 / 300));
    const struct gp_ceiling *bf16 = &p.s.ceilings.flops[GP_ARITH_BF16];
    assert_true(bf16->source == GP_CEILING_COUNTERS && near(bf16->per_s, 5e15));
    assert_true(near(gemm->occupancy_pct, 25) && isnan(gemm->issue_pct) && gemm->stall == GP_STALL_COUNT);
    // 300 of 400 us, and the operations of all of them
    int64_t all = 0;
    for (int i = 0; i < GP_WORK_TIERS; i++) all += p.s.tier_ns[i];
    assert_int_equal(p.s.tier_ns[GP_WORK_COUNTERS] * 4, all * 3);
    assert_int_equal(p.s.flops_measured_ns, p.s.tier_ns[GP_WORK_COUNTERS]);
    assert_int_equal(p.s.roofline.measured_ns, p.s.tier_ns[GP_WORK_COUNTERS]);
    assert_int_equal(find(&p, "aten::mm", true)->tier, GP_WORK_COUNTERS);
    end(&p);
    // a ceiling that was measured on the device goes before the peak
    struct gp_ceilings file = {.empty_ns = 0};
    file.flops[GP_ARITH_BF16] = (struct gp_ceiling){1.6e15, GP_CEILING_FILE};
    run_with(&p, measured_product, &(struct gp_suggest_opts){.counters = &counters, .ceilings = &file}, NULL);
    gemm = find(&p, "nvjet", false);
    assert_int_equal(gemm->regime, GP_REGIME_COMPUTE);
    assert_true(gemm->roof_arith == GP_ARITH_BF16 && near(gemm->roof_pct, 100 * 1.5 / 1.6));
    end(&p);
    gp_trace_release(&counters);
}
