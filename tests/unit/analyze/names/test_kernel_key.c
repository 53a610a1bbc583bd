// Keys of kernels: a list of names that were recorded, and what must hold for any name.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/kernel_key.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

typedef void key(struct gp_buf *to, const char *name, size_t n);

static void expect(key *f, const char *name, const char *want)
{
    struct gp_buf b = {0};
    f(&b, name, strlen(name));
    assert_string_equal(gp_buf_str(&b), want);
    gp_buf_release(&b);
}

static bool same(key *f, const char *a, const char *b)
{
    struct gp_buf x = {0}, y = {0};
    f(&x, a, strlen(a));
    f(&y, b, strlen(b));
    bool equal = x.n == y.n && !memcmp(x.data, y.data, x.n);
    gp_buf_release(&x);
    gp_buf_release(&y);
    return equal;
}

/* kernel_keys.tsv: name, code, family ("=": as the code). */
TEST(names_that_were_recorded_have_the_keys_that_were_reviewed)
{
    const char *source = getenv("GP_SOURCE");
    char path[4096], line[8192];
    snprintf(path, sizeof path, "%s/tests/unit/kernel_keys.tsv", source ? source : ".");
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot open %s", path);
    int names = 0;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#') continue;
        char *name = strtok(line, "\t\n"), *code = strtok(NULL, "\t\n"), *family = strtok(NULL, "\t\n");
        assert_non_null(family);
        expect(gp_kernel_code, name, code);
        expect(gp_kernel_family, name, strcmp(family, "=") ? family : code);
        names++;
    }
    fclose(f);
    assert_true(names >= 300);
}

TEST(mangled_names_have_the_key_of_plain_ones)
{
    // void axpy<float>(int, float, float*)
    expect(gp_kernel_code, "_Z4axpyIfEviT_PS0_", "axpy<f32>");
    expect(gp_kernel_code, "void axpy<float>(int, float, float*)", "axpy<f32>");
    assert_false(same(gp_kernel_code, "void axpy<float>(int)", "void axpy<double>(int)"));
}

/* A name that was cut when it was recorded cannot be demangled. */
TEST(cut_mangled_names_keep_what_can_be_read)
{
    expect(gp_kernel_code,
           "_ZN7cutlass6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22ImplicitGemmMul",
           "cutlass::Kernel<ImplicitGemmConvolution>");
    expect(gp_kernel_code, "_ZN2ns12_GLOBAL__N_13runILi4EN1a3FooEEvNS", "ns::run<Foo>");
    expect(gp_kernel_code, "_Z", "_Z");
    expect(gp_kernel_code, "_Z999999999999999999999999x", "_Z999999999999999999999999x");
}

TEST(tiles_and_stages_are_one_family)
{
    static const char *const pairs[][2] = {
        {"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", "nvjet_sm90_tst_64x128_64x8_2x1_v_bz_NTN"},
        {"nvjet_sm90_tst_192x192_64x3_2x1_v_bz_coopB_splitK_NNN", "nvjet_sm90_tst_96x128_64x6_2x1_v_bz_NNN"},
        {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize160x128x32_stage4_warpsize2x2x1_ffma_aligna4_alignc4_"
         "execute_kernel__5x_cublas",
         "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_ffma_aligna4_alignc4_"
         "execute_split_k_kernel__5x_cublas"},
        {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn",
         "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclKernel_AllReduce_TREE_SIMPLE_Sum_float(ncclWorkElem)"},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllGather_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)"},
        {"triton_per_fused_add_sum_12", "triton_red_fused_add_sum_3"},
        {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)"},
    };
    for (size_t i = 0; i < GP_COUNT(pairs); i++) {
        assert_true(same(gp_kernel_family, pairs[i][0], pairs[i][1]));
        assert_false(same(gp_kernel_code, pairs[i][0], pairs[i][1]));
    }
}

TEST(other_work_is_another_family)
{
    static const char *const pairs[][2] = {
        {"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_bias_TNT", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT"},
        {"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTN"},
        {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nt"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"},
        {"triton_poi_fused_add_0", "triton_poi_fused_mul_0"},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_"
         "kernel0_0",
         "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_"
         "kernel0_0"},
        {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"},
        {"void softmax_warp_forward<float, float, float, 10, true, false>(int)",
         "void softmax_warp_forward<float, float, float, 10, false, false>(int)"},
    };
    for (size_t i = 0; i < GP_COUNT(pairs); i++)
        assert_false(same(gp_kernel_family, pairs[i][0], pairs[i][1]));
}

TEST(other_types_of_data_are_one_form)
{
    static const char *const pairs[][2] = {
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "std::array<char*, 3ul> >(int)",
         "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
         "std::array<char*, 3ul> >(int)"},
        {"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "nvjet_sm90_hsh_192x128_64x5_1x2_h_bz_coopB_NNT"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
        {"ampere_sgemm_128x64_nn", "ampere_hgemm_64x64_nn"},
        {"void softmax_warp_forward<float, float, float, 10, true, false>(int)",
         "void softmax_warp_forward<c10::Half, c10::Half, float, 10, true, false>(int)"},
    };
    for (size_t i = 0; i < GP_COUNT(pairs); i++) {
        assert_true(same(gp_kernel_form, pairs[i][0], pairs[i][1]));
        assert_false(same(gp_kernel_family, pairs[i][0], pairs[i][1]));
    }
    assert_false(same(gp_kernel_form, "ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nt"));
    expect(gp_kernel_form, "void axpy<float>(int)", "axpy");
    expect(gp_kernel_form, "f32", "f32");
    expect(gp_kernel_form, "", "");
}

TEST(helpers_of_products_are_known)
{
    static const char *const names[] = {"void splitKreduce_kernel<32, 16, int, float>(int)",
                                        "void cutlass::Kernel<cutlass::reduction::ReduceSplitK<int>>(int)",
                                        "cask_cudnn_train::computeWgradSplitKOffsetsKernel(int)"};
    for (size_t i = 0; i < GP_COUNT(names); i++) assert_true(gp_kernel_is_helper(names[i], strlen(names[i])));
    assert_false(gp_kernel_is_helper("nvjet_sm90_tst_192x192_64x3_2x1_v_bz_coopB_splitK_NNN", 53));
    assert_false(gp_kernel_is_helper("", 0));
}

TEST(numbers_that_compilers_give_go)
{
    expect(gp_kernel_code, "triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul");
    expect(gp_kernel_code, "triton_poi_fused_add_mul_12.kd", "triton_poi_fused_add_mul");
    expect(gp_kernel_code, "triton__3", "triton__3"); // nothing else would be left
    expect(gp_kernel_code, "_attn_fwd_0d1d2de3de4c", "_attn_fwd");
    expect(gp_kernel_code, "triton__0d1d2d", "triton__0d1d2d");
    expect(gp_kernel_code, "fused_sigmoid_mul_4013242838", "fused_sigmoid_mul");
    expect(gp_kernel_code, "loop_add_fusion_12", "loop_add_fusion");
    expect(gp_kernel_code, "layer_12", "layer_12"); // a person's name
    expect(gp_kernel_code, "run_0x7f00deadbeef_x", "run__x");
    expect(gp_kernel_code, "run_0x40", "run_0x40");
}

TEST(roles_join_a_class_an_operator_and_a_phase)
{
    static const struct {
        enum gp_frame_kind kind;
        const char *op;
        enum gp_phase phase;
        const char *want;
    } cases[] = {
        {GP_FRAME_GEMM, "aten::addmm", GP_PHASE_FORWARD, "gemm addmm forward"},
        {GP_FRAME_GEMM, "AddmmBackward0", GP_PHASE_BACKWARD, "gemm addmm backward"},
        {GP_FRAME_ELEMENTWISE, "aten::add_", GP_PHASE_UNKNOWN, "elementwise add"},
        {GP_FRAME_ELEMENTWISE, "aten::_foreach_add_", GP_PHASE_OPTIMIZER,
         "elementwise _foreach_add optimizer"},
        {GP_FRAME_MEMCPY, "", GP_PHASE_UNKNOWN, "memcpy"},
        {GP_FRAME_ATTENTION, "", GP_PHASE_BACKWARD, "attention backward"},
        {GP_FRAME_RANGE, "Backward0", GP_PHASE_UNKNOWN, "other Backward0"},
        {GP_FRAME_GEMM, "_", GP_PHASE_UNKNOWN, "gemm _"},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_buf b = {0};
        gp_kernel_role(&b, cases[i].kind, cases[i].op, strlen(cases[i].op), cases[i].phase);
        assert_string_equal(gp_buf_str(&b), cases[i].want);
        gp_buf_release(&b);
    }
}

TEST(kernels_of_several_operations_are_known)
{
    static const char *const fused[] = {"triton_poi_fused_add_1",       "triton_red_fused_sum_view_3",
                                        "fused_sigmoid_mul_4013242838", "loop_add_fusion_12",
                                        "input_reduce_fusion",          "nvfuser_pointwise_f0_c1_r0_g0"};
    static const char *const plain[] = {"triton_tem_mm_2", "fused_dropout_kernel",
                                        "void cudnn::fusion::compute_dot(int)", "ampere_sgemm_32x32_nn", ""};
    for (size_t i = 0; i < GP_COUNT(fused); i++) assert_true(gp_kernel_is_fused(fused[i], strlen(fused[i])));
    for (size_t i = 0; i < GP_COUNT(plain); i++) assert_false(gp_kernel_is_fused(plain[i], strlen(plain[i])));
}

/* Whatever bytes are in a trace: no key is empty where the name is not, keys are not much longer than names,
 * and names of one code have one family (which is made only of the code, so that is true of the code
 * itself). */
TEST(any_bytes_have_keys)
{
    static const char *const pieces[] = {"nvjet_",
                                         "128x64",
                                         "_",
                                         "<",
                                         ">",
                                         "(",
                                         ")",
                                         "::",
                                         "_Z",
                                         "N",
                                         "3foo",
                                         "I",
                                         "E",
                                         ",",
                                         " ",
                                         "OpaqueType<",
                                         "lambda(",
                                         "float",
                                         "Cijk_",
                                         "_MT",
                                         "nccl",
                                         "triton_",
                                         "_0d1d",
                                         "0x12345678",
                                         "\xff",
                                         "{",
                                         "}",
                                         "Memcpy ",
                                         "cutlass::Kernel<",
                                         "operator()",
                                         "unsigned ",
                                         "complex<",
                                         "Backward0",
                                         "99999999999999999999"};
    uint64_t random = 1;
    for (int round = 0; round < 8000; round++) {
        struct gp_buf name = {0}, code = {0}, family = {0};
        for (int k = (int)(random >> 40) % 12; k >= 0; k--) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            gp_buf_puts(&name, pieces[(random >> 33) % (GP_COUNT(pieces))]);
        }
        gp_kernel_code(&code, name.data, name.n);
        gp_kernel_family(&family, name.data, name.n);
        struct gp_buf form = {0};
        gp_kernel_form(&form, name.data, name.n);
        assert_true(form.n && form.n <= family.n + 16);
        gp_buf_release(&form);
        if (!family.n || family.n > code.n + 16)
            fail_msg("%s: %s: %s", gp_buf_str(&name), gp_buf_str(&code), gp_buf_str(&family));
        assert_true(code.n && code.n <= 2 * name.n + 64);
        gp_buf_release(&name);
        gp_buf_release(&code);
        gp_buf_release(&family);
    }
    expect(gp_kernel_code, "", "");
    expect(gp_kernel_family, "", "");
    struct gp_buf b = {0};
    gp_kernel_family(&b, NULL, 0);
    gp_kernel_family(&b, "a\0b", 3);
    assert_int_equal(b.n, 3);
    gp_buf_release(&b);
}

TEST(long_names_take_no_long_time)
{
    static char name[200000];
    static const char *const fills[] = {"<", "a<", "(", "_1x1", "lambda(", "AUnaryFunctor<", "x,", "::a"};
    for (size_t k = 0; k < GP_COUNT(fills); k++) {
        size_t n = strlen(fills[k]);
        memcpy(name, "void f<", 7);
        for (size_t i = 7; i + n <= sizeof name; i += n) memcpy(name + i, fills[k], n);
        struct gp_buf b = {0};
        gp_kernel_family(&b, name, sizeof name - 8);
        assert_true(b.n > 0);
        gp_buf_release(&b);
    }
}
