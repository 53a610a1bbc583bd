/* kernel_key_table.h -- private to kernel_key.c: the names that libraries and PyTorch give to variants of one
 * kernel. */
#ifndef GP_ANALYZE_KERNEL_KEY_TABLE_H
#define GP_ANALYZE_KERNEL_KEY_TABLE_H

#include <stddef.h>

/* Namespaces to drop: the one that holds all of PyTorch's kernels, and those that differ by the user of a
 * library. */
static const char *const gp_key_homes[] = {"at::native::", "at_cuda_detail::", "pytorch_flash::", "flash::"};

/* What to drop from the names of a library, which consist of words separated by '_': tiles, and these words.
 * '#' stands for any number. */
struct gp_key_library {
    const char *begin, *inside; /* how its names begin, and what they contain; NULL: anything */
    const char *tiles;          /* words before tiles */
    const char *drop;
};
static const struct gp_key_library gp_key_libraries[] = {
    {.begin = "nvjet_", .tiles = "", .drop = "h v bz 2cta coopA coopB splitK"},
    {.begin = "cutlass", .inside = "tensorop", .tiles = "", .drop = "align# optimized analytic unity stride"},
    {.begin = "cutlass_", .inside = "simt", .tiles = "", .drop = "align# optimized analytic unity stride"},
    {.begin = "sm",
     .inside = "_xmma_",
     .tiles = "tilesize warpsize warpgroupsize cluster tensor",
     .drop = "stage# g# t#r#s# aligna# alignb# alignc# execute kernel split segment k on off indexed cudnn "
             "infer train trt #x cublas ffma"},
    {.begin = "cudnn_generated_",
     .tiles = "cga",
     .drop = "fort native sm# wmma wgmma hmma tmem knob kernel# #"},
    {.begin = "cudnn_",
     .tiles = "sliced",
     .drop = "infer train large medium small interior exterior xregs v# ldg# tile#t splitK stridedB exp"},
    {.begin = "ampere_", .inside = "gemm", .tiles = "sliced", .drop = "ldg# f2f stages splitK"},
    {.begin = "volta_", .inside = "gemm", .tiles = "sliced", .drop = "ldg# f2f stages splitK"},
    {.begin = "turing_", .inside = "gemm", .tiles = "sliced", .drop = "ldg# f2f stages splitK"},
    {.begin = "maxwell_", .inside = "gemm", .tiles = "sliced", .drop = "ldg# f2f stages splitK"},
    {.begin = "sm", .inside = "gemm", .tiles = "sliced", .drop = "ldg# f2f stages splitK"},
    {.begin = "bmm_", .tiles = "t m et cga schedP", .drop = "s# #dp#b schedS rM rN bM bN tma tmaOpt"},
    {.begin = "fmha_cutlass", .tiles = "", .drop = "rf aligned notaligned dropout"},
};

/* Variants of one operation for other sizes and alignments of its input: PyTorch, in its function's name. */
static const struct gp_key_variant {
    const char *family, *names; /* each name between blanks */
} gp_key_variants[] = {
    {"elementwise_kernel",
     " vectorized_elementwise_kernel vectorized_templated_elementwise_kernel unrolled_elementwise_kernel "
     "unrolled_templated_elementwise_kernel elementwise_kernel_manual_unroll legacy_elementwise_kernel "},
    {"CatArrayBatchedCopy", " CatArrayBatchedCopy_contig CatArrayBatchedCopy_aligned16_contig "
                            "CatArrayBatchedCopy_alignedK_contig CatArrayBatchedCopy_vectorized "},
    {"indexSelect", " indexSelectSmallIndex indexSelectLargeIndex "},
    {"indexFunc", " indexFuncSmallIndex indexFuncLargeIndex "},
    {"fused_dropout_kernel", " fused_dropout_kernel_vec "},
    {"GammaBetaBackward", " GammaBetaBackwardCUDAKernel GammaBetaBackwardCUDAKernel_32x32 "
                          "GammaBetaBackwardCUDAKernelTemplate GammaBetaBackwardSimpleCUDAKernel "},
    {"layer_norm_grad_input_kernel", " layer_norm_grad_input_kernel_vectorized "},
    {"flash_fwd_kernel", " flash_fwd_splitkv_kernel "},
    {"cunn_SoftMaxForward", " cunn_SoftMaxForwardSmem cunn_SoftMaxForwardReg cunn_SoftMaxForwardGmem "},
    {"cunn_SoftMaxBackward", " cunn_SoftMaxBackwardSmem "},
    {"dgrad2d_c1_k1_nhwc_kernel", " dgrad2d_c1_k1_nhwc_specialized_kernel "},
};

/* Words in library names that give the data type. */
static const char gp_key_types[] =
    "f16 f32 f64 bf16 tf32 fp16 fp32 fp64 fp8 e4m3 e5m2 c64 c128 f8e4m3 f8e5m2 f16f16 f16f32 f32f32 "
    "bf16bf16 bf16f32 tf32f32 half float double tst hsh sss tss hss ttt hhh ddd qqtst i8 i32 i64";

/* Parts of the names of helper kernels of matrix products and convolutions. */
static const char *const gp_key_helpers[] = {
    "splitKreduce", "ReduceSplitK", "computeOffsets", "OffsetsKernel", "nchwToNhwc",
    "nhwcToNchw",   "im2col",       "col2im",         "splitk_reduce", "split_k_reduce"};

#endif
