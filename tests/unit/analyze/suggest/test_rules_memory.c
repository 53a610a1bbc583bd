// The rules of kernels that memory bounds, each on a step that makes it speak and on one that nearly does.
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define COPY "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<copy>>(int)"
#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
/* 64 x 1024 x 1024 numbers: 268.4 MB in FP32 */
#define DIMS    "{\"Input Dims\": [[64, 1024, 1024], [64, 1024, 1024], []], "
#define FLOATS  "\"Input type\": [\"float\", \"float\", \"Scalar\"]}"
#define HALVES  "\"Input type\": [\"c10::Half\", \"c10::Half\", \"Scalar\"]}"
#define STRANGE "\"Input type\": [\"\", \"\", \"Scalar\"]}"

static void on_h200(struct program *p)
{
    if (p->t.devices.n) return;
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(&p->t, "NVIDIA H200");
    GP_VEC_PUSH(&p->t.devices, d);
}

/* An operator that launches one kernel of so many blocks. */
static void operator_of(struct program *p, const char *op, const char *args, const char *name, int64_t dur)
{
    on_h200(p);
    int64_t from = p->now;
    kernel_of(p, name, 100000, dur);
    size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, op);
    gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, args));
    wait(p, "cudaDeviceSynchronize");
}

// ---- memory_access ----

static void slow_copy(struct program *p) { operator_of(p, "aten::copy_", DIMS FLOATS, COPY, 500 * US); }

static void fast_copy(struct program *p) { operator_of(p, "aten::copy_", DIMS FLOATS, COPY, 270 * US); }

static void small_copy(struct program *p)
{
    operator_of(p, "aten::copy_", "{\"Input Dims\": [[7, 1024, 1024], [7, 1024, 1024]], " FLOATS, COPY,
                500 * US);
}

static void copy_of_unknown_bytes(struct program *p)
{
    operator_of(p, "aten::copy_", DIMS STRANGE, COPY, 500 * US);
}

static void slow_copy_in_a_long_step(struct program *p)
{
    slow_copy(p);
    operator_of(p, "aten::mm", "{}", GEMM, 19 * MS);
}

static void rows_at_random(struct program *p)
{
    operator_of(p, "aten::copy_", DIMS FLOATS, "void at::native::vectorized_gather_kernel<16, long>(int)",
                500 * US);
}

/* It makes a tensor contiguous: that is what takes time. */
static void into_another_order(struct program *p)
{
    operator_of(p, "aten::copy_", DIMS FLOATS,
                "void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda()>(int)",
                500 * US);
}

#define SOFTMAX "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(int)"

static void before_a_softmax(struct program *p)
{
    kernel(p, GEMM, 100 * US), slow_copy(p), kernel(p, SOFTMAX, 60 * US);
}

static void within_an_attention(struct program *p) { before_a_softmax(p), kernel(p, GEMM, 100 * US); }

#define SUM "void at::native::elementwise_kernel<128, 4, at::native::CUDAFunctor_add<float> >(int)"

static void sum_after(struct program *p, const char *name)
{
    kernel(p, name, 100 * US);
    operator_of(p, "aten::copy_", DIMS FLOATS, SUM, 500 * US);
}

static void bias_of_a_convolution(struct program *p)
{
    sum_after(p, "void cudnn::engines_precompiled::nhwcToNchwKernel<float, float>()");
}

static void sum_after_a_product(struct program *p) { sum_after(p, GEMM); }

TEST(memory_that_is_moved_slowly)
{
    is_silent(within_an_attention, "memory_access"); // the rule attention takes it away
    speaks(before_a_softmax, "memory_access", 0, 360190);
    is_silent(bias_of_a_convolution, "memory_access");
    struct program p;
    run(&p, sum_after_a_product);
    assert_non_null(said(&p, "memory_access"));
    end(&p);
    is_silent(into_another_order, "memory_access");
    is_silent(rows_at_random, "memory_access");
    // 536.87 MB read and written take 111.85 us at 4.8 TB/s, 22 % of 500; at 80 % of that 139.81 us, so that
    // 360.19 go
    speaks(slow_copy, "memory_access", 0, 360190);
    is_silent(fast_copy, "memory_access");  // 111.85 of 268 us beside the 2 of an empty kernel: 42 %
    is_silent(small_copy, "memory_access"); // 58.7 MB
    is_silent(copy_of_unknown_bytes, "memory_access");
    is_silent(slow_copy_in_a_long_step, "memory_access"); // 1.8 % of the busy time
}

// ---- low_precision ----

static void additions(struct program *p, const char *args, const char *name, int64_t product)
{
    operator_of(p, "aten::add", args, name, 200 * US); // 805.3 MB in FP32 take 167.8 us
    operator_of(p, "aten::mm", "{}", GEMM, product);
}

static void words_in_memory(struct program *p) { additions(p, DIMS FLOATS, COPY, 190 * US); }

static void words_beside_long_products(struct program *p) { additions(p, DIMS FLOATS, COPY, 210 * US); }

static void halves_in_memory(struct program *p) { additions(p, DIMS HALVES, COPY, 190 * US); }

static void states_of_an_optimizer(struct program *p)
{
    additions(p, DIMS FLOATS, "void multi_tensor_apply_kernel<float>()", 190 * US);
}

#define TF32 "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x256x32_cudnn"
#define NORM "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<%s>(long, %s const*)"

/* Without shapes: a kernel of TYPE, then a product by its name and another one. */
static void beside(struct program *p, const char *type, const char *product, int64_t dur, int64_t other)
{
    char name[128];
    on_h200(p);
    snprintf(name, sizeof name, NORM, type, type);
    kernel(p, name, 200 * US), kernel(p, product, dur), kernel(p, GEMM, other);
    wait(p, "cudaDeviceSynchronize");
}

static void words_beside_tf32(struct program *p) { beside(p, "float", TF32, 300 * US, 10 * US); }

static void words_beside_halves(struct program *p) { beside(p, "float", GEMM, 100 * US, 10 * US); }

static void words_beside_both(struct program *p) { beside(p, "float", TF32, 50 * US, 60 * US); }

static void words_beside_little_tf32(struct program *p) { beside(p, "float", TF32, 10 * US, 5 * US); }

static void halves_beside_tf32(struct program *p) { beside(p, "__nv_bfloat16", TF32, 300 * US, 10 * US); }

TEST(what_is_stored_may_be_smaller)
{
    // 30 to 50 % of 200 us; at most also half of the product, as 16 bits run at twice the rate of TF32
    speaks(words_beside_tf32, "low_precision", 60 * US, 250 * US);
    is_silent(words_beside_halves, "low_precision");
    is_silent(words_beside_both, "low_precision");        // 45 % of the products
    is_silent(words_beside_little_tf32, "low_precision"); // 4.7 % of the busy time
    is_silent(halves_beside_tf32, "low_precision");
    speaks(words_in_memory, "low_precision", 60 * US, 100 * US); // 30 to 50 % of 200 us
    is_silent(words_beside_long_products, "low_precision");      // 49 % of the busy time
    is_silent(halves_in_memory, "low_precision");
    is_silent(states_of_an_optimizer, "low_precision");
}

// ---- double_precision ----

#define TWICE "cupy_multiply__complex128_complex128_complex128"
#define FFT                                                                                                  \
    "void vector_fft<4096u, EPT<32u>, 1u, (layout_t)0, unsigned int, double, Host>(arguments_t<unsigned "    \
    "int>)"
#define ADAM                                                                                                 \
    "void multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, float const*, double, double>(int)"
#define TOTAL                                                                                                \
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<double, sum_functor<double> > >(int)"
#define DGEMM "cutlass_80_tensorop_d884gemm_64x32_16x4_nn_align1"

/* Eight kernels of 50 us and so many blocks, beside a product of so long. */
static void eight(struct program *p, const char *name, uint32_t blocks, int64_t product)
{
    on_h200(p);
    p->t.devices.at[0].sms = 132;
    for (int i = 0; i < 8; i++) host(p, 5 * US), kernel_of(p, name, blocks, 50 * US);
    kernel_of(p, GEMM, 132, product);
    wait(p, "cudaDeviceSynchronize");
}

static void all_is_double(struct program *p) { eight(p, TWICE, 1000, 100 * US); }

static void transforms_are_double(struct program *p) { eight(p, FFT, 1000, 100 * US); }

static void few_blocks_are_double(struct program *p) { eight(p, TWICE, 100, 100 * US); }

static void products_are_double(struct program *p) { eight(p, DGEMM, 1000, 100 * US); }

static void little_is_double(struct program *p) { eight(p, TWICE, 1000, 8 * MS); }

static void single(struct program *p) { eight(p, "cupy_add__float32_float_float32", 1000, 100 * US); }

static void double_arguments(struct program *p) { eight(p, ADAM, 1000, 100 * US); }

static void sums_are_double(struct program *p) { eight(p, TOTAL, 1000, 100 * US); }

static void sums_beside_others(struct program *p) { eight(p, TOTAL, 1000, 500 * US); }

TEST(single_precision_may_do)
{
    speaks(all_is_double, "double_precision", 120 * US, 200 * US); // 30 to 50 % of 400 us
    speaks(transforms_are_double, "double_precision", 120 * US, 200 * US);
    speaks(few_blocks_are_double, "double_precision", 0, 200 * US);
    // on an H200 TF32 is 494.7 / 67 times as fast, and FP32 no faster
    speaks(products_are_double, "double_precision", 0, 345822);
    is_silent(little_is_double, "double_precision"); // 4.8 % of the busy time
    is_silent(single, "double_precision");
    is_silent(double_arguments, "double_precision");
    speaks(sums_are_double, "double_precision", 0, 200 * US);
    is_silent(sums_beside_others, "double_precision"); // 44 % of the busy time
}

// ---- donation ----

#define UPDATE "loop_dynamic_update_slice_fusion"
#define COPIED "Memcpy DtoD (Device -> Device)"

/* Four calls of a function of JAX: each copies an array in 500 us, and NAME changes so much of the copy. Then
 * the host waits for the device, by the CALL or without one. */
static void calls_of_jax(struct program *p, const char *name, int64_t dur, const char *by)
{
    for (int i = 0; i < 4; i++) {
        host(p, 5 * US), copy(p, COPIED, 500 * US, 1 << 30, false);
        host(p, 5 * US), kernel(p, name, dur);
    }
    if (by) wait(p, by);
    else p->now = p->gpu_free + 20 * US;
    kernel(p, "loop_add_fusion", 10 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void changes_a_row(struct program *p) { calls_of_jax(p, UPDATE, 5 * US, "cudaDeviceSynchronize"); }

static void waits_without_a_call(struct program *p) { calls_of_jax(p, UPDATE, 5 * US, NULL); }

static void changes_nothing(struct program *p) { calls_of_jax(p, "loop_fusion", 5 * US, NULL); }

static void changes_with_more_work(struct program *p) { calls_of_jax(p, UPDATE, 600 * US, NULL); }

static void turns_of_a_scan(struct program *p)
{
    int64_t from = p->now;
    calls_of_jax(p, UPDATE, 5 * US, NULL);
    mk_host(&p->t, GP_RANGE, p->main, from, p->now, "while.12");
}

static void clones(struct program *p)
{
    operator_of(p, "aten::clone", "{}", COPY, 10 * US);
    calls_of_jax(p, "void scatter_kernel(float*)", 5 * US, NULL);
}

TEST(what_is_changed_need_not_be_copied)
{
    speaks(changes_a_row, "donation", 2000 * US, 2000 * US);
    // the device works for 2,040 us, of which the host takes 76 for its calls, and waits 20 more
    speaks(waits_without_a_call, "donation", 1964 * US, 1984 * US);
    is_silent(changes_nothing, "donation");
    is_silent(changes_with_more_work, "donation");
    is_silent(turns_of_a_scan, "donation");
    is_silent(clones, "donation");
}
