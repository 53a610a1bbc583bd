// The class table on names of real kernels; what each is was decided by a person who knows the libraries.
#include <stdlib.h>
#include <string.h>

#include "analyze/names/classify.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

static enum gp_frame_kind kind_of(const char *name)
{
    return gp_classify(NULL, GP_KERNEL, name, strlen(name));
}

#define EXPECT(kind, name)                                                                                   \
    do {                                                                                                     \
        if (kind_of(name) != (kind))                                                                         \
            fail_msg("%s is %s, not %s", name, gp_frame_kind_word(kind_of(name)), gp_frame_kind_word(kind)); \
    } while (0)

TEST(collectives_of_every_library_are_communication)
{
    static const char *const names[] = {
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
        "rcclGenericKernel<1, false>(ncclDevComm*, unsigned long, ncclWork*)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
        "void vllm::cross_device_reduce_2stage<__half, 4>(vllm::RankData*)",
        "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
        "void deep_ep::internode_ll::combine<true, 3, 7168, 8>(void*)",
        "nvshmemi_transfer_rma_kernel(void*)",
        "nvshmem_barrier_all_kernel",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
        "void c10d::symmetric_memory::two_shot_all_reduce_kernel_inplace<float, 16, 8>(float**)",
        "one_shot_all_reduce_kernel",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(AllReduceParams)",
        "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)",
        "mscclKernel_Sum_float_Simple_true(ncclDevComm*)",
        "void moeA2A::moeAlltoAllKernel<1>(int)",
        "_ZN4vllm26cross_device_reduce_1stageIfLi2EEEvPNS_8RankDataE",
    };
    for (size_t i = 0; i < GP_COUNT(names); i++) {
        EXPECT(GP_FRAME_COMMUNICATION, names[i]);
        assert_int_equal(gp_class_of(kind_of(names[i])), GP_CLASS_COMMUNICATION);
    }
}

TEST(names_that_only_look_like_communication_are_not)
{
    EXPECT(GP_FRAME_ELEMENTWISE, "triton_poi_fused__all_reduce_add_0");
    EXPECT(GP_FRAME_ELEMENTWISE, "copy_tile_with_shmem"); /* shared memory */
    EXPECT(GP_FRAME_REDUCTION, "void blockAllReduceSum<float>(float*)");
    EXPECT(GP_FRAME_REDUCTION, "input_all_reduce_fusion"); /* XLA's own names are of its operations */
    EXPECT(GP_FRAME_ELEMENTWISE, "loop_add_fusion");
    EXPECT(GP_FRAME_ELEMENTWISE, "wrapped_add");
    EXPECT(GP_FRAME_ELEMENTWISE, "cupy_multiply__float32_float32_float32");
    EXPECT(GP_FRAME_REDUCTION, "cupy_sum");
    EXPECT(GP_FRAME_ELEMENTWISE, "void at::native::vectorized_elementwise_kernel<4, ncclThing, x>(int)");
    EXPECT(GP_FRAME_REDUCTION, "void at::native::batch_norm_backward_kernel<SyncBatchNorm>(int)");
    EXPECT(GP_FRAME_GEMM, "hipblas_gemm_dma_kernel");
}

TEST(matrix_products_and_convolutions)
{
    static const char *const names[] = {
        "nvjet_sm90_tst_128x128_64x6_2x4_h_bz_NTT",
        "volta_sgemm_32x32_sliced1x4_tn",
        "void splitKreduce_kernel<float, float, float, float, true, false, false>(cublasSplitKParams<float>)",
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>(x::Params)",
        "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4",
        "cudnn_infer_volta_scudnn_128x32_sliced1x4_ldg4_relu_exp_medium_nhwc_tn_v1",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x128x32_wt32x32x8",
        "void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int, float const*)",
        "void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(x)",
        "void gemv2T_kernel_val<int, int, float, float, float>(x)",
        "_finalize_matmul_scatter_bf16",
    };
    for (size_t i = 0; i < GP_COUNT(names); i++) EXPECT(GP_FRAME_GEMM, names[i]);
    EXPECT(GP_FRAME_ELEMENTWISE, "void cudnn::fusion::convert_dq_to_16bits<1>(int)");
    EXPECT(GP_FRAME_COMPUTE,
           "void fbgemm_gpu::_offsets_range_cuda_kernel<long>(long, long, long const*, long*)");
}

TEST(attention_of_every_library)
{
    static const char *const names[] = {
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >(Flash_fwd_params)",
        "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > >(x)",
        "fmha_cutlassF_f16_aligned_64x64_rf_sm80(AttentionKernel<cutlass::half_t>::Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1",
        "kernel_unified_attention_3d",
        "void cudnn::fusion::compute_dot_do_o_specialized<true, 64>(void const*)",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
    };
    for (size_t i = 0; i < GP_COUNT(names); i++) EXPECT(GP_FRAME_ATTENTION, names[i]);
    EXPECT(GP_FRAME_ELEMENTWISE, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(int)");
    EXPECT(GP_FRAME_REDUCTION, "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)");
}

TEST(reductions_and_normalisations)
{
    static const char *const names[] = {
        "void at::native::reduce_kernel<512, 1, ReduceOp<float, at::native::MeanOps<float> > >(x)",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)",
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, x>(float*)",
        "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 64u>(x)",
        "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(float)",
        "MIOpenBatchNormFwdTrainSpatialNorm",
        "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1",
        "void ck_tile::kentry<ck_tile::Rmsnorm2dFwd<int>, 1>(x)",
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4EEEEEvT1_",
    };
    for (size_t i = 0; i < GP_COUNT(names); i++) EXPECT(GP_FRAME_REDUCTION, names[i]);
}

TEST(elementwise_whatever_the_arguments_say)
{
    static const char *const names[] = {
        "void at::native::vectorized_elementwise_kernel<4, at::native::ReduceAdd, Array<char*, 3> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, batch_norm_calc_invstd, x>(int)",
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<AttentionGemmReduce> >(int)",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<long, unsigned int, 2, 128, 1>(long*)",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<x, AdamFunctor<float> >(x)",
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float>(int)",
        "triton_poi_fused_add_cos_sin_0",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
        "SubTensorOpWithScalar1d",
    };
    for (size_t i = 0; i < GP_COUNT(names); i++) EXPECT(GP_FRAME_ELEMENTWISE, names[i]);
}

TEST(all_else_is_compute)
{
    EXPECT(GP_FRAME_COMPUTE, "");
    EXPECT(GP_FRAME_COMPUTE, "my_kernel");
    EXPECT(GP_FRAME_COMPUTE, "Memset (Device)"); /* recorded as a kernel */
    EXPECT(GP_FRAME_COMPUTE, "void split_embedding_codegen_forward_unweighted_kernel<float>(int)");
    EXPECT(GP_FRAME_COMPUTE, "void cub::DeviceRadixSortOnesweepKernel<x, false>(int)");
}

TEST(copies_and_sets_are_memory_whatever_their_name)
{
    enum gp_frame_kind copy = gp_classify(NULL, GP_MEMCPY, "nccl gemm", 9),
                       set = gp_classify(NULL, GP_MEMSET, "k", 1);
    assert_int_equal(copy, GP_FRAME_MEMCPY);
    assert_int_equal(set, GP_FRAME_MEMSET);
    assert_int_equal(gp_class_of(copy), GP_CLASS_MEMORY);
    assert_int_equal(gp_class_of(set), GP_CLASS_MEMORY);
    assert_int_equal(gp_class_of(GP_FRAME_GEMM), GP_CLASS_COMPUTE);
}

TEST(the_user_goes_first)
{
    struct gp_classes c = {0};
    static const char text[] =
        "# mine\n\n  my .*kernel$\tcommunication \r\nGEMM reduction\nMemcpy PtoP communication\n"
        "gemm compute";
    assert_int_equal(gp_classes_parse(&c, text, strlen(text), NULL), 0);
    assert_int_equal(c.rules.n, 4);
    assert_int_equal(gp_classify(&c, GP_KERNEL, "My own Kernel", 13), GP_FRAME_COMMUNICATION);
    assert_int_equal(gp_classify(&c, GP_KERNEL, "sgemm", 5), GP_FRAME_REDUCTION); /* the earlier rule */
    assert_int_equal(gp_classify(&c, GP_MEMCPY, "Memcpy PtoP (Device -> Device)", 30),
                     GP_FRAME_COMMUNICATION);
    assert_int_equal(gp_classify(&c, GP_MEMCPY, "Memcpy HtoD", 11), GP_FRAME_MEMCPY);
    assert_int_equal(gp_classify(&c, GP_KERNEL, "other", 5), GP_FRAME_COMPUTE);
    gp_classes_release(&c);
}

static void expect_bad(const char *text, size_t n, const char *message, int64_t offset)
{
    struct gp_classes c = {0};
    struct gp_err err = {0};
    assert_int_equal(gp_classes_parse(&c, text, n, &err), -1);
    assert_non_null(strstr(err.msg, message));
    assert_int_equal(err.offset, offset);
    assert_int_equal(c.rules.n, 0);
    gp_classes_release(&c);
}

TEST(bad_rules_are_told_by_line)
{
    expect_bad("a compute\nb fast\n", 17, "line 2: unknown class 'fast'", 12);
    expect_bad("a compute\n\ncompute\n", 19, "line 3: expected a pattern and a class", 11);
    expect_bad("( compute", 9, "line 1: bad pattern", 0);
    expect_bad("a\0b compute", 11, "line 1: contains a NUL byte", 0);
}
