/* What names tell: each question with names that recorders really write, and those that come close. */
#include "analyze/names/name_predicates.h"
#include "tests/unit/unit.h"

TEST(machinery_is_what_only_carries_others)
{
    static const char *const yes[] = {"_start",
                                      "__libc_start_main",
                                      "Py_RunMain",
                                      "_PyEval_EvalFrameDefault",
                                      "torch::unwind::unwind()",
                                      "c10::cuda::CUDACachingAllocator::Native::malloc(unsigned long)"};
    static const char *const no[] = {"main", "forward", "at::_ops::addmm::call(at::Tensor const&)", "step"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) assert_true(gp_frame_is_machinery(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) assert_false(gp_frame_is_machinery(no[i]));
}

TEST(test_kernels)
{
    const char *foreach = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
                          "at::native::(anonymous namespace)::TensorListMetadata<2>, AddFunctor>";
    const char *strided =
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<AddFunctor> >";
    const char *vectorized =
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >";
    assert_true(gp_kernel_is_triton("triton_poi_fused_add_0"));
    assert_false(gp_kernel_is_triton("my_triton_kernel"));
    assert_true(gp_kernel_is_triton_fused("triton_per_fused_native_layer_norm_3"));
    assert_false(gp_kernel_is_triton_fused("triton_tem_fused_mm_3")); /* a template of a product */
    assert_false(gp_kernel_is_triton_fused("triton_mm"));
    assert_true(gp_kernel_is_compiled("loop_add_multiply_fusion_3"));
    assert_false(gp_kernel_is_compiled("wrapped_add"));
    assert_true(gp_kernel_is_jax_single("wrapped_add"));
    assert_true(gp_kernel_is_cupy("cupy_multiply__float32_float32_float32"));
    assert_true(
        gp_kernel_ends_update("void at::native::elementwise_kernel<4, at::native::addcdiv_cuda_kernel>()"));
    assert_true(gp_kernel_is_multi_tensor(foreach));
    assert_false(gp_kernel_is_multi_tensor(strided));
    assert_true(
        gp_kernel_is_fused_optimizer("multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>"));
    assert_false(gp_kernel_is_fused_optimizer(foreach));
    assert_true(gp_kernel_is_of_library("cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64>"));
    assert_true(gp_kernel_is_of_library("cublasLt::splitKreduce_kernel<32, 16>"));
    assert_false(gp_kernel_is_of_library(vectorized));
    assert_true(gp_kernel_is_elementwise(vectorized));
    assert_false(gp_kernel_is_strided(vectorized));
    assert_true(gp_kernel_is_elementwise(strided));
    assert_true(gp_kernel_is_strided(strided));
    assert_true(
        gp_kernel_is_strided("_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastI"));
    assert_false(
        gp_kernel_is_strided("_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel"));
    assert_true(gp_kernel_has_own_grid(
        "at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float>"));
    assert_false(gp_kernel_has_own_grid("vectorized_layer_norm_kernel<float>"));
    assert_true(gp_kernel_gathers("void at::native::vectorized_gather_kernel<16, long>(char*)"));
    assert_true(gp_kernel_gathers("void EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long*)"));
    assert_false(gp_kernel_gathers("void at::native::direct_copy_kernel_cuda"));
    assert_true(gp_kernel_selects("void cub::detail::scan::DeviceCompactInitKernel<int>(int)"));
    assert_false(gp_kernel_selects("void cub::detail::reduce::DeviceReduceSingleTileKernel<int>(int)"));
    assert_true(gp_kernel_checks_finite("at::native::_amp_foreach_non_finite_check_and_unscale_cuda_()"));
    assert_true(gp_kernel_joins("void at::native::CatArrayBatchedCopy_aligned16_contig<4>(char*)"));
    assert_false(gp_kernel_joins("void at::native::vectorized_gather_kernel<16, long>(char*)"));
    assert_true(gp_kernel_is_recurrent("void RNN_blockPersist_fp_LSTM<float, float, float, 128>(float*)"));
    assert_true(gp_kernel_is_recurrent("void at::native::_GLOBAL__N__::kernel::lstm_cell_forward<float>()"));
    assert_false(gp_kernel_is_recurrent("GENERIC_elementWise_bp2<float, float, float, 4>(int)"));
    assert_true(gp_kernel_is_softmax("cunn_SoftMaxForward<4, float, LogSoftMaxForwardEpilogue>"));
    assert_true(gp_kernel_is_log_softmax("cunn_SoftMaxForward<4, float, LogSoftMaxForwardEpilogue>"));
    assert_true(gp_kernel_is_softmax("softmax_warp_forward<float, float, float, 8, false, false>"));
    assert_false(gp_kernel_is_log_softmax("softmax_warp_forward<float, float, float, 8, false, false>"));
    assert_true(gp_kernel_is_double("ampere_dgemm_64x64_nn"));
    assert_false(gp_kernel_is_double("ampere_sgemm_64x64_nn"));
    assert_true(gp_kernel_is_double("cutlass_80_tensorop_z884gemm_64x32_16x4_nn_align1"));
    assert_true(gp_kernel_is_double("cupy_add__float64_float_float64")); /* with a number of Python */
    assert_false(gp_kernel_is_double("cupy_multiply__float32_float64_float64"));
    assert_true(gp_kernel_is_double("void at::native::elementwise_kernel<4, f()::{lambda(double)#1}>(int)"));
    assert_false(
        gp_kernel_is_double("void at::native::reduce_kernel<512, ReduceOp<float, Mean<float, double>>>()"));
    assert_false(gp_kernel_is_double("double_buffered_copy"));
    assert_true(gp_kernel_is_single("void nchwToNhwcKernel<float, float, float, false, true, (Type)0>(int)"));
    assert_true(gp_kernel_is_single("cupy_add__float32_float_float32"));
    assert_false(gp_kernel_is_single("void f<c10::BFloat16, float>(c10::BFloat16 const*, float*)"));
    assert_false(gp_kernel_is_single("void reduce_kernel<512, ReduceOp<float, Mean<float, double>>>()"));
    assert_true(gp_kernel_is_tf32("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_cudnn"));
    assert_true(gp_kernel_is_tf32("cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4"));
    assert_false(gp_kernel_is_tf32("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x64_16x4_nn_align4"));
    assert_false(gp_kernel_is_tf32("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8_ffma_cublas"));
}

TEST(test_loops_of_xla)
{
    assert_true(gp_range_is_while("while.12"));
    assert_false(gp_range_is_while("TSL:XlaModule:#hlo_module=jit_while.step,program_id=7#"));
}

TEST(test_copies)
{
    assert_true(gp_copy_to_device("Memcpy HtoD (Pageable -> Device)"));
    assert_true(gp_copy_is_pageable("Memcpy HtoD (Pageable -> Device)"));
    assert_false(gp_copy_is_pinned("Memcpy HtoD (Pageable -> Device)"));
    assert_true(gp_copy_to_host("Memcpy DtoH (Device -> Pinned)"));
    assert_true(gp_copy_is_pinned("Memcpy DtoH (Device -> Pinned)"));
    assert_false(gp_copy_to_device("Memcpy DtoH (Device -> Pinned)"));
    assert_true(gp_copy_on_device("Memcpy DtoD (Device -> Device)"));
    assert_true(gp_copy_to_device("MemcpyH2D"));
    assert_true(gp_copy_to_host("MemcpyD2H"));
    assert_true(gp_copy_on_device("MemcpyD2D"));
    assert_false(gp_copy_to_host("Memcpy DtoD (Device -> Device)"));
}

TEST(test_launches)
{
    assert_true(gp_call_launches_graph("cudaGraphLaunch_v10000"));
    assert_false(gp_call_launches_kernel("cudaGraphLaunch_v10000"));
    assert_true(gp_call_launches_kernel("cuLaunchKernelEx"));
    assert_true(gp_call_launches_kernel("hipExtModuleLaunchKernel"));
    assert_false(gp_call_launches_graph("cudaGraphInstantiate"));
    assert_true(gp_call_gives_work("cudaMemsetAsync"));
    assert_false(gp_call_gives_work("cudaEventRecord"));
    assert_true(gp_call_copies("cudaMemcpyAsync"));
    assert_true(gp_call_is_async("cudaMemcpyAsync"));
    assert_false(gp_call_is_async("cudaMemcpy"));
    assert_true(gp_call_is_hip("hipLaunchKernel"));
    assert_false(gp_call_is_hip("cudaLaunchKernel"));
}

TEST(test_waits)
{
    assert_true(gp_call_synchronizes("cudaStreamSynchronize"));
    assert_false(gp_call_synchronizes_device("cudaStreamSynchronize"));
    assert_true(gp_call_synchronizes_device("cuCtxSynchronize"));
    assert_false(gp_call_synchronizes("cudaEventQuery"));
    assert_true(gp_call_orders_wait("cudaStreamWaitEvent"));
    assert_true(gp_call_allocates("cudaMalloc"));
    assert_false(gp_call_allocates("cudaMallocAsync"));
    assert_false(gp_call_allocates("cuMemAddressReserve"));
    assert_true(gp_call_blocks("cuMemAddressReserve"));
    assert_true(gp_call_blocks("cudaMemcpy"));
    assert_false(gp_call_blocks("cudaMemcpyAsync"));
    assert_false(gp_call_blocks("Malloc")); /* of whom? */
    assert_true(gp_call_loads_module("cuModuleLoadDataEx"));
    assert_true(gp_call_compiles("nvrtcCompileProgram"));
    assert_false(gp_call_compiles("cuModuleLoadDataEx"));
}

TEST(the_tile_of_a_product_is_in_its_name)
{
    assert_int_equal(gp_kernel_tile("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"), 128);
    assert_int_equal(gp_kernel_tile("nvjet_sm90_tst_64x8_64x16_1x2_h_bz_TNT"), 8);
    assert_int_equal(gp_kernel_tile("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma"),
                     128);
    assert_int_equal(gp_kernel_tile("Cijk_Alik_Bljk_BBS_BH_MT16x16x512_MI16x16x32x1_SN"), 16);
    assert_int_equal(gp_kernel_tile("void gemvNSP_kernel<float, 1, 32>(int)"), 1);
    assert_int_equal(gp_kernel_tile("cublasLt::splitKreduce_kernel<32, 16, int>"), 0);
    assert_int_equal(gp_kernel_tile("max_pool_2x2"), 0);
    assert_int_equal(gp_kernel_tile(""), 0);
}

TEST(what_a_product_loads_at_once_is_in_its_name)
{
    const char *half = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1>(P)";
    assert_int_equal(gp_kernel_alignment(half), 1);
    assert_true(gp_kernel_is_half_tensorop(half));
    assert_int_equal(gp_kernel_alignment("cutlass_80_tensorop_s1688gemm_128x128_32x3_nt_align4"), 4);
    assert_false(gp_kernel_is_half_tensorop("cutlass_80_tensorop_s1688gemm_128x128_32x3_nt_align4"));
    assert_true(gp_kernel_is_half_tensorop("cutlass_80_tensorop_h16816gemm_128x64_32x6_nn_align2"));
    assert_int_equal(gp_kernel_alignment("sm80_xmma_gemm_f32f32_f32f32_ffma_aligna4_alignc4"), 0);
    assert_int_equal(gp_kernel_alignment("CatArrayBatchedCopy_alignedK_contig"), 0);
    assert_false(gp_kernel_is_half_tensorop("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"));
}
