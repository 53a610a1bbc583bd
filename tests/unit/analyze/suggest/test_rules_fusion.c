// Every rule of rules_fusion.c on a step that makes it speak, and on one that nearly does. The GPU is the
// slower one, so that its time is the step's: a kernel that is gone takes its time and the 1 us before it
// with it.
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define GEMM "sm90_xmma_gemm_f32f32_tn"
#define ADD                                                                                                  \
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "                 \
    "std::array<char*, "                                                                                     \
    "3ul> >(int)"
#define MUL                                                                                                  \
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "      \
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)"
#define GELU                                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, "                                                     \
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "                                               \
    "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> "    \
    ">(int)"
#define TO_BF16                                                                                              \
    "void at::native::vectorized_elementwise_kernel<8, "                                                     \
    "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, "  \
    "2ul> >(int)"
#define FILL                                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "   \
    "1ul> "                                                                                                  \
    ">(int)"
#define PART                                                                                                 \
    "void at::native::elementwise_kernel<128, 2, "                                                           \
    "at::native::gpu_kernel_impl_nocast<at::native::FillFunctor<float> >(int)"
#define ZERO                                                                                                 \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "              \
    "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::ZeroFunctor<float, 1, 1, 0> >()"
#define CAT  "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4>()"
#define NORM "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>()"

enum { BLOCKS = 16384 }; /* of 1,024 elements: 67,108,864 bytes of float a tensor */

// ---- fusion ----

static void chain(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    kernel_of(p, ADD, BLOCKS, 100 * US), kernel_of(p, GELU, BLOCKS, 80 * US);
}

static void chain_of_two_inputs(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    kernel_of(p, ADD, BLOCKS, 100 * US), kernel_of(p, MUL, BLOCKS, 100 * US);
}

static void chain_without_grids(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel(p, ADD, 100 * US), kernel(p, GELU, 80 * US);
}

static void chain_into_rows(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, ADD, BLOCKS, 100 * US);
    enqueue(p, 1 * US, GP_MEMSET, "Memset (Device)", 0);
    p->gpu_free -= 2 * US; // beside: nothing is later for it
    kernel_of(p, NORM, 4096, 100 * US);
}

static void chain_with_a_product_inside(struct program *p)
{
    kernel_of(p, ADD, BLOCKS, 100 * US), kernel(p, GEMM, 500 * US), kernel_of(p, GELU, BLOCKS, 80 * US);
    kernel(p, GEMM, 500 * US);
}

static void chain_that_the_host_looks_into(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, ADD, BLOCKS, 100 * US);
    wait(p, "cudaStreamSynchronize");
    kernel_of(p, GELU, BLOCKS, 80 * US);
}

static void chain_of_a_compiled_model(struct program *p)
{
    chain(p);
    kernel(p, "triton_poi_fused_add_0", 50 * US);
}

static void chain_that_the_host_is_late_for(struct program *p)
{
    host(p, 100 * US), kernel(p, GEMM, 20 * US);
    host(p, 100 * US), kernel_of(p, ADD, BLOCKS, 20 * US);
    host(p, 100 * US), kernel_of(p, GELU, BLOCKS, 10 * US);
    host(p, 100 * US);
}

/* 32 blocks: their number bounds the norm, and not what it reads. */
static void chain_of_few_blocks(struct program *p)
{
    if (!p->t.devices.n) {
        struct gp_device d = gp_device_unknown();
        d.id = 0;
        d.sms = 132;
        GP_VEC_PUSH(&p->t.devices, d);
    }
    kernel(p, GEMM, 500 * US), kernel_of(p, ADD, BLOCKS, 100 * US);
    kernel_of(p, NORM, 32, 400 * US);
}

TEST(chains_are_one_kernel)
{
    is_silent(chain_of_few_blocks, "fusion");
    // ADD reads two tensors and writes one, 201,326,592 bytes in 100 us: 2,013 bytes a ns is the best that is
    // seen. GELU need not read 67,108,864 bytes again, 33,333 ns. At most it goes: one kernel moves as much
    // as ADD does.
    speaks(chain, "fusion", 33333, 81 * US);
    // One kernel reads three tensors and writes one: 133,333 ns, where the two take 200 us.
    speaks(chain_of_two_inputs, "fusion", 33333, 66667);
    speaks(chain_without_grids, "fusion", 0, 81 * US);
    is_silent(chain_with_a_product_inside, "fusion");
    is_silent(chain_that_the_host_looks_into, "fusion");
    is_silent(chain_of_a_compiled_model, "fusion");
}

/* A kernel of the program's own, of BLOCKS blocks, with SHARED bytes of shared memory. */
static void own_kernel(struct program *p, const char *name, uint32_t blocks, uint32_t shared, int64_t dur)
{
    struct gp_events *gpu = &p->t.events[GP_GPU];
    kernel_of(p, name, blocks, dur);
    struct gp_config config = p->t.configs.at[gp_get_config(gpu, gpu->n - 1)];
    config.has |= GP_HAS_SHARED;
    config.shared_bytes = shared;
    gp_set_config(gpu, gpu->n - 1, gp_trace_config(&p->t, &config));
}

static void own_kernels(struct program *p, uint32_t blocks, uint32_t shared)
{
    kernel(p, GEMM, 500 * US);
    own_kernel(p, "bias_kernel", BLOCKS, 0, 60 * US);
    own_kernel(p, "my_gelu_kernel", BLOCKS, 0, 90 * US);
    own_kernel(p, "residual_kernel", blocks, shared, 70 * US);
}

static void own_chain(struct program *p) { own_kernels(p, BLOCKS, 0); }

static void own_chain_and_another_grid(struct program *p) { own_kernels(p, BLOCKS / 2, 0); }

static void own_chain_and_a_sum(struct program *p) { own_kernels(p, BLOCKS, 4096); }

static int64_t most_saved(void (*step)(struct program *))
{
    struct program p;
    run(&p, step);
    int64_t ns = said(&p, "fusion")->resource_high_ns;
    end(&p);
    return ns;
}

TEST(kernels_divided_like_an_elementwise_one_are_of_its_chain)
{
    // nothing is known of what they read: between two of them, at most what the shortest does goes
    assert_int_equal(most_saved(own_chain), 2 * 60 * US);
    assert_int_equal(most_saved(own_chain_and_another_grid), 60 * US);
    assert_int_equal(most_saved(own_chain_and_a_sum), 60 * US);
}

TEST(sets_do_not_end_a_chain)
{
    // 4,096 rows of 4,096 elements: the norm reads what ADD wrote, 33,333 ns, and is gone at most.
    struct program p;
    run(&p, chain_into_rows);
    const struct gp_suggestion *s = said(&p, "fusion");
    assert_non_null(s);
    assert_in_range(s->resource_low_ns, 33332, 33334);
    assert_int_equal(s->resource_high_ns, 100 * US);
    end(&p);
}

static void chain_of_a_cast_and_rows(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, TO_BF16, BLOCKS, 100 * US), kernel_of(p, NORM, 4096, 100 * US);
}

static void chain_into_rows_of_another_size(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, ADD, BLOCKS, 100 * US), kernel_of(p, NORM, 4096, 100 * US);
    kernel_of(p, GELU, BLOCKS / 2, 40 * US);
}

static int64_t not_read_again(void (*step)(struct program *))
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, "fusion");
    assert_non_null(s);
    int64_t ns = s->resource_low_ns;
    end(&p);
    return ns;
}

TEST(only_what_is_sure_is_not_read_again)
{
    assert_int_equal(not_read_again(chain_of_a_cast_and_rows), 0); // it may cast weights
    // ADD gave the norm its size, so that GELU works on something else: 33,333 ns of ADD only to the norm
    assert_in_range(not_read_again(chain_into_rows_of_another_size), 33332, 33334);
}

TEST(a_late_host_is_not_what_fusion_speaks_of)
{
    struct program p;
    run(&p, chain_that_the_host_is_late_for);
    const struct gp_suggestion *s = said(&p, "fusion");
    assert_non_null(s);
    // ADD moves three tensors in 20 us, GELU two in 10 us: one kernel that moves three as fast as GELU takes
    // 15 us
    assert_int_equal(s->resource_high_ns, 15 * US);
    assert_int_equal(s->saving_high_ns, 0);
    assert_int_equal(s->priority, GP_PRIORITY_NONE);
    end(&p);
}

// ---- epilogue ----

static void product_and_more(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, GELU, BLOCKS, 80 * US), kernel(p, GEMM, 500 * US);
    kernel(p, NORM, 10 * US);
}

static void product_and_chain(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, ADD, BLOCKS, 80 * US), kernel(p, NORM, 80 * US);
}

static void product_and_fill(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, FILL, BLOCKS, 80 * US), kernel(p, GEMM, 500 * US);
}

static void product_and_sum(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel_of(p, ADD, BLOCKS, 80 * US), kernel(p, GEMM, 500 * US);
}

/* Of the backward pass, where gradients are summed up. */
static void product_and_sum_of_gradients(struct program *p)
{
    uint32_t main = p->main;
    kernel(p, GEMM, 500 * US);
    p->main = mk_thread(&p->t, p->t.tracks.at[main].process, 200);
    product_and_sum(p);
    p->main = main;
}

static bool names_cublas(void (*step)(struct program *))
{
    struct program p;
    run(&p, step);
    bool named = strstr(gp_suggest_str(&p.s, said(&p, "epilogue")->action), "cuBLASLt") != NULL;
    end(&p);
    return named;
}

TEST(no_epilogue_sums_gradients)
{
    assert_true(names_cublas(product_and_sum)); // a bias
    assert_false(names_cublas(product_and_sum_of_gradients));
}

TEST(what_follows_a_product_becomes_its_end)
{
    speaks(product_and_more, "epilogue", 24 * US, 72 * US); // three and nine tenths of 80 us
    is_silent(product_and_chain, "epilogue");
    is_silent(product_and_fill, "epilogue");
}

// ---- casts, orders, fills ----

static void casting(struct program *p) { kernel(p, GEMM, 500 * US), kernel(p, TO_BF16, 60 * US); }

static void casting_little(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel(p, TO_BF16, 20 * US); // 3.8 %
}

static void joining(struct program *p) { kernel(p, GEMM, 500 * US), kernel(p, CAT, 30 * US); }

static void turning(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    kernel(p, "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float>()",
           30 * US);
    kernel(p, "void cudnn::engines_precompiled::nhwcToNchwKernel<__nv_bfloat16, __nv_bfloat16, float>()",
           30 * US);
}

/* The channels of a convolution called NAME are turned there and back. */
static void turning_in(struct program *p, const char *name)
{
    int64_t from = p->now;
    turning(p);
    mk_host(&p->t, GP_OP, p->main, from, p->now, name);
}

static void turning_sequences(struct program *p) { turning_in(p, "aten::conv1d"); }

static void turning_sequences_by_cutlass(struct program *p)
{
    turning_sequences(p);
    kernel(p,
           "void cutlass::Kernel<cutlass::conv::threadblock::Conv2dWgradActivationTileAccessIterator<64> >()",
           100 * US);
}

static void turning_images(struct program *p) { turning_in(p, "aten::conv2d"); }

static void turning_volumes(struct program *p) { turning_in(p, "aten::conv3d"); }

/* Only the filter in the name of a kernel shows what is convolved. */
static void convolving(struct program *p, const char *filter)
{
    char name[128];
    snprintf(name, sizeof name,
             "sm80_xmma_fprop_implicit_gemm_f16f16_tilesize256x64x32_tensor16x8x16_%s_execute_kernel",
             filter);
    kernel(p, name, 500 * US);
    turning(p);
}

static void turning_by_a_deep_filter(struct program *p) { convolving(p, "t3r3s3"); }

static void turning_by_a_flat_filter(struct program *p) { convolving(p, "t1r3s3"); }

static void turning_by_a_line(struct program *p) { convolving(p, "t1r1s3"); }

static void transposing(struct program *p)
{
    turning(p);
    kernel(p,
           "void at::native::elementwise_kernel<128, 4, "
           "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
           "{lambda()#3}> >(int)",
           90 * US);
}

static void advises(void (*step)(struct program *), const char *what, int64_t current_ns)
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, "layout_churn");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), what));
    assert_int_equal(s->current_ns, current_ns);
    end(&p);
}

static void turning_beside_group_norms(struct program *p)
{
    turning_images(p);
    kernel(p, "void at::native::(anonymous namespace)::GroupNormKernelImplInternal<float>()", 100 * US);
}

TEST(group_normalization_takes_longer_with_channels_last)
{
    advises(turning_beside_group_norms, "a denoiser took 32% longer in all", 60 * US);
    struct program p;
    run(&p, turning_beside_group_norms);
    const struct gp_suggestion *s = said(&p, "layout_churn");
    assert_true(s->looks && s->priority <= GP_PRIORITY_LOW);
    assert_int_equal(s->saving_low_ns, 0);
    end(&p);
}

/* channels_last is for images, and not for transposes; each advice counts the kernels that it would
 * remove. */
TEST(channels_last_is_for_images)
{
    advises(turning_images, "torch.channels_last)", 60 * US);
    advises(turning_volumes, "torch.channels_last_3d)", 60 * US);
    advises(turning_by_a_deep_filter, "torch.channels_last_3d)", 60 * US);
    advises(turning_by_a_flat_filter, "torch.channels_last))", 60 * US);
    advises(turning_by_a_line, "torch.channels_last)), if its convolutions are of images", 60 * US);
    is_silent(turning_sequences, "layout_churn");
    is_silent(turning_sequences_by_cutlass, "layout_churn");
    advises(transposing, ".contiguous()", 90 * US);
}

static void joining_little(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel(p, CAT, 10 * US); // 1.96 %
}

TEST(copies_may_go)
{
    speaks(casting, "cast_churn", 0, 61 * US);
    is_silent(casting_little, "cast_churn");
    is_silent(joining, "cast_churn");
    speaks(joining, "layout_churn", 0, 31 * US);
    speaks(turning, "layout_churn", 0, 62 * US); // NCHW to NHWC and back
    is_silent(joining_little, "layout_churn");
    is_silent(casting, "layout_churn");
}

static void fills(struct program *p, int n)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < n; i++) kernel(p, FILL, 5 * US);
}

static void four_fills(struct program *p) { fills(p, 4); }

static void four_fills_for_something(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 4; i++) {
        kernel(p, FILL, 20 * US);
        frame(p, "main", "main.py", 7, true);
        frame(p, "one_hot", "model.py", 8, false);
    }
}

static void four_parts(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 4; i++) kernel(p, PART, 20 * US);
}

static void three_fills(struct program *p) { fills(p, 3); }

static void three_fills_by_name(struct program *p)
{
    int64_t from = p->now;
    fills(p, 3);
    mk_host(&p->t, GP_RANGE, p->main, from, p->now, "Optimizer.zero_grad#SGD.zero_grad");
}

static void one_fill_of_all(struct program *p) { kernel(p, GEMM, 500 * US), kernel(p, ZERO, 20 * US); }

static void one_short_fill_of_all(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel(p, ZERO, 2 * US); // 0.4 %
}

/* The backward pass, on a thread of its own, adds to what was filled. */
static void fill_and_sum(struct program *p)
{
    uint32_t main = p->main;
    kernel(p, GEMM, 500 * US), kernel(p, ZERO, 20 * US);
    p->main = mk_thread(&p->t, p->t.tracks.at[main].process, 200);
    kernel(p, ADD, 40 * US), kernel(p, ADD, 40 * US);
    p->main = main;
}

TEST(gradients_need_no_zeros)
{
    speaks(four_fills, "zero_fill", 24 * US, 24 * US);
    speaks(three_fills_by_name, "zero_fill", 18 * US, 18 * US);
    speaks(one_fill_of_all, "zero_fill", 21 * US, 21 * US);
    // sums go, too, as far as three times the bytes of the fills: 40 us with the gap, and 20 us of the other
    speaks(fill_and_sum, "zero_fill", 21 * US, 81 * US);
    is_silent(four_fills_for_something, "zero_fill");
    is_silent(four_parts, "zero_fill");
    is_silent(three_fills, "zero_fill");
    is_silent(one_short_fill_of_all, "zero_fill");
}
