/* occupancy_table.h -- private to occupancy.c: device limits, and kernel names that use matrix units or do
 * not. */
#ifndef GP_ANALYZE_OCCUPANCY_TABLE_H
#define GP_ANALYZE_OCCUPANCY_TABLE_H

#include "analyze/cost/occupancy.h"

/* Resident blocks per SM by compute capability, where the limit is not GP_MOST_BLOCKS. CUDA C++ Programming
 * Guide, "Technical Specifications per Compute Capability". */
enum { GP_MOST_BLOCKS = 32 };
static const struct gp_block_limit {
    int32_t major, minor;
    uint32_t blocks;
} gp_block_limits[] = {
    {.major = 7, .minor = 5, .blocks = 16},  {.major = 8, .minor = 6, .blocks = 16},
    {.major = 8, .minor = 7, .blocks = 16},  {.major = 8, .minor = 9, .blocks = 24},
    {.major = 11, .minor = 0, .blocks = 24}, {.major = 12, .minor = 0, .blocks = 24},
    {.major = 12, .minor = 1, .blocks = 24},
};

/* Tried from the top on the name in lower case; the first that occurs decides. */
static const struct gp_matrix_token {
    const char *text;
    enum gp_matrix_use use;
} gp_matrix_tokens[] = {
    {"tensorop", GP_MATRIX_YES}, /* CUTLASS, cuBLAS: cutlass_80_tensorop_..., OpClassTensorOp */
    {"wgmma", GP_MATRIX_YES},    /* Hopper: warp group instructions */
    {"gmma", GP_MATRIX_YES},     /* CUTLASS 3: MainloopSm90TmaGmma... */
    {"tcgen05", GP_MATRIX_YES},  /* Blackwell */
    {"utcmma", GP_MATRIX_YES},
    {"tmaumma", GP_MATRIX_YES}, /* plain "umma" would match "summary" */
    {"umma::", GP_MATRIX_YES},
    {"sm100_mma", GP_MATRIX_YES},
    {"nvjet", GP_MATRIX_YES}, /* cuBLAS for Hopper and Blackwell */

    {"splitkv_combine", GP_MATRIX_NEVER}, /* around FlashAttention, not it */
    {"dot_do_o", GP_MATRIX_NEVER},
    {"convert_dq", GP_MATRIX_NEVER},
    {"convert_dkv", GP_MATRIX_NEVER},
    {"clear_dkvaccum", GP_MATRIX_NEVER},
    {"flash_bwd_preprocess", GP_MATRIX_NEVER},
    {"flash_bwd_postprocess", GP_MATRIX_NEVER},
    {"flashattnbwdpreprocess", GP_MATRIX_NEVER},
    {"flashattnbwdpostprocess", GP_MATRIX_NEVER},
    {"flashattnfwdcombine", GP_MATRIX_NEVER},

    {"_ffma_", GP_MATRIX_NO}, /* cuBLAS: sm80_xmma_gemm_..._ffma_...: plain arithmetic in spite of xmma */
    {"_dfma_", GP_MATRIX_NO},
    {"simt", GP_MATRIX_NO}, /* CUTLASS: cutlass_80_simt_sgemm..., OpClassSimt */

    {"s884", GP_MATRIX_YES}, /* shapes of the instruction: accumulator, m, n, k. Volta */
    {"h884", GP_MATRIX_YES},
    {"d884", GP_MATRIX_YES},
    {"s1688", GP_MATRIX_YES}, /* Turing, and TF32 of Ampere */
    {"h1688", GP_MATRIX_YES},
    {"i8816", GP_MATRIX_YES},
    {"s16816", GP_MATRIX_YES}, /* Ampere and later */
    {"h16816", GP_MATRIX_YES},
    {"s161616", GP_MATRIX_YES},
    {"h161616", GP_MATRIX_YES},
    {"i16816", GP_MATRIX_YES},
    {"i16832", GP_MATRIX_YES},
    {"i16864", GP_MATRIX_YES},
    {"s16832", GP_MATRIX_YES}, /* FP8 */
    {"hmma", GP_MATRIX_YES},   /* instructions by name */
    {"imma", GP_MATRIX_YES},
    {"bmma", GP_MATRIX_YES},
    {"dmma", GP_MATRIX_YES},
    {"qmma", GP_MATRIX_YES},
    {"_omma", GP_MATRIX_YES}, /* not "command" */
    {"wmma", GP_MATRIX_YES},
    {"mma_sync", GP_MATRIX_YES},
    {"xmma", GP_MATRIX_YES},
    {"mfma", GP_MATRIX_YES}, /* AMD */
    {"_mi16x16", GP_MATRIX_YES},
    {"_mi32x32", GP_MATRIX_YES},
    {"_mi4x4", GP_MATRIX_YES},

    {"flash_fwd", GP_MATRIX_YES}, /* attention kernels that exist only for Tensor Cores */
    {"flash_bwd", GP_MATRIX_YES},
    {"flashattnfwd", GP_MATRIX_YES},
    {"flashattnbwd", GP_MATRIX_YES},
    {"flash_mla", GP_MATRIX_YES},
    {"fmha", GP_MATRIX_YES},
    {"marlin", GP_MATRIX_YES},
    {"machete", GP_MATRIX_YES},
    {"sm90_fp8_gemm", GP_MATRIX_YES}, /* DeepGEMM */
    {"sm90_bf16_gemm", GP_MATRIX_YES},
    {"sm100_fp8_gemm", GP_MATRIX_YES},
    {"sm100_bf16_gemm", GP_MATRIX_YES},
    {"bmm_mx", GP_MATRIX_YES}, /* TensorRT-LLM for Blackwell: type of the result, of the operands, ... */
    {"gemm_mx", GP_MATRIX_YES},
    {"bmm_fp16", GP_MATRIX_YES},
    {"gemm_fp16_", GP_MATRIX_YES},
    {"gemm_bfloat16_", GP_MATRIX_YES},
    {"bmm_e4m3", GP_MATRIX_YES},
    {"bmm_e2m1", GP_MATRIX_YES},
    {"bmm_bfloat16", GP_MATRIX_YES},
    {"gemm_e4m3", GP_MATRIX_YES},
    {"gemm_e2m1", GP_MATRIX_YES},

    {"sgemm", GP_MATRIX_NO}, /* cuBLAS and cuDNN without a shape in the name */
    {"dgemm", GP_MATRIX_NO},
    {"scudnn", GP_MATRIX_NO},
    {"gemv", GP_MATRIX_NEVER},
    {"winograd", GP_MATRIX_NO},
};

#endif
