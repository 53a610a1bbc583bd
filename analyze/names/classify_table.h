/* classify_table.h -- private to classify.c: the patterns that give the class of a kernel.
 */
#ifndef GP_ANALYZE_CLASSIFY_TABLE_H
#define GP_ANALYZE_CLASSIFY_TABLE_H

#include "analyze/names/frame_kind.h"

/* Tried from the top, in lower case. A pattern matches anywhere in the function's name; '^' ties it to the
 * beginning. The order matters: compilers name kernels after the operations that they fused, so their
 * prefixes go first; "wgrad" comes before "reduce" because split-k reductions are part of a GEMM. */
static const struct gp_class_pattern {
    const char *text;
    enum gp_frame_kind kind;
} gp_class_patterns[] = {
    {"^triton_poi_", GP_FRAME_ELEMENTWISE},
    {"^triton_red_", GP_FRAME_REDUCTION},
    {"^triton_per_", GP_FRAME_REDUCTION},
    {"^triton_tem_", GP_FRAME_GEMM},
    {"^wrapped_reduce", GP_FRAME_REDUCTION}, /* XLA: one operation, and several */
    {"^wrapped_", GP_FRAME_ELEMENTWISE},
    {"^input_", GP_FRAME_REDUCTION},
    {"^loop_", GP_FRAME_ELEMENTWISE},
    {"^cupy_sum", GP_FRAME_REDUCTION},
    {"^cupy_mean", GP_FRAME_REDUCTION},
    {"^cupy_amax", GP_FRAME_REDUCTION},
    {"^cupy_amin", GP_FRAME_REDUCTION},
    {"^cupy_", GP_FRAME_ELEMENTWISE},

    {"warp_all_reduce", GP_FRAME_REDUCTION}, /* within one GPU */
    {"block_all_reduce", GP_FRAME_REDUCTION},
    {"warpallreduce", GP_FRAME_REDUCTION},
    {"blockallreduce", GP_FRAME_REDUCTION},

    {"nccl", GP_FRAME_COMMUNICATION},
    {"rccl", GP_FRAME_COMMUNICATION},
    {"hccl", GP_FRAME_COMMUNICATION},
    {"oneccl", GP_FRAME_COMMUNICATION},
    {"msccl", GP_FRAME_COMMUNICATION},
    {"nvshmem", GP_FRAME_COMMUNICATION}, /* "shmem" alone is shared memory */
    {"rocshmem", GP_FRAME_COMMUNICATION},
    {"deep_ep", GP_FRAME_COMMUNICATION},
    {"deepep", GP_FRAME_COMMUNICATION},
    {"^pplx", GP_FRAME_COMMUNICATION},
    {"cross_device_reduce", GP_FRAME_COMMUNICATION},
    {"multimem", GP_FRAME_COMMUNICATION},
    {"symm_mem", GP_FRAME_COMMUNICATION},
    {"symmetric_memory", GP_FRAME_COMMUNICATION},
    {"userbuffers", GP_FRAME_COMMUNICATION},
    {"one_shot_all", GP_FRAME_COMMUNICATION},
    {"two_shot_all", GP_FRAME_COMMUNICATION},
    {"oneshotall", GP_FRAME_COMMUNICATION},
    {"twoshotall", GP_FRAME_COMMUNICATION},
    {"allreduce", GP_FRAME_COMMUNICATION},
    {"all_reduce", GP_FRAME_COMMUNICATION},
    {"quick_reduce", GP_FRAME_COMMUNICATION},
    {"quickreduce", GP_FRAME_COMMUNICATION},
    {"allgather", GP_FRAME_COMMUNICATION},
    {"all_gather", GP_FRAME_COMMUNICATION},
    {"reducescatter", GP_FRAME_COMMUNICATION},
    {"reduce_scatter", GP_FRAME_COMMUNICATION},
    {"alltoall", GP_FRAME_COMMUNICATION},
    {"all_to_all", GP_FRAME_COMMUNICATION},
    {"all2all", GP_FRAME_COMMUNICATION},
    {"sendrecv", GP_FRAME_COMMUNICATION},
    {"send_recv", GP_FRAME_COMMUNICATION},

    {"routing", GP_FRAME_COMPUTE}, /* of experts: histograms, scores, sorting */
    {"reshape_and_cache", GP_FRAME_ELEMENTWISE},
    {"rotary", GP_FRAME_ELEMENTWISE},
    {"flash_fwd", GP_FRAME_ATTENTION},
    {"flash_bwd", GP_FRAME_ATTENTION},
    {"flashattn", GP_FRAME_ATTENTION},
    {"flash_attn", GP_FRAME_ATTENTION},
    {"flash_mla", GP_FRAME_ATTENTION},
    {"flash::", GP_FRAME_ATTENTION},
    {"fmha", GP_FRAME_ATTENTION},
    {"attention", GP_FRAME_ATTENTION},
    {"attn", GP_FRAME_ATTENTION},
    {"sdpa", GP_FRAME_ATTENTION},
    {"compute_dot_do_o", GP_FRAME_ATTENTION}, /* cuDNN's backward pass */
    {"batchdecodewith", GP_FRAME_ATTENTION},
    {"batchprefillwith", GP_FRAME_ATTENTION},

    {"convert", GP_FRAME_ELEMENTWISE}, /* not a convolution */
    {"conversion", GP_FRAME_ELEMENTWISE},
    {"tensortransform", GP_FRAME_ELEMENTWISE},
    {"nchwtonhwc", GP_FRAME_ELEMENTWISE},
    {"nhwctonchw", GP_FRAME_ELEMENTWISE},
    {"gemm", GP_FRAME_GEMM},
    {"gemv", GP_FRAME_GEMM},
    {"nvjet", GP_FRAME_GEMM},
    {"cutlass", GP_FRAME_GEMM},
    {"^cijk_", GP_FRAME_GEMM},
    {"xmma", GP_FRAME_GEMM},
    {"matmul", GP_FRAME_GEMM},
    {"triton_mm", GP_FRAME_GEMM},
    {"triton_bmm", GP_FRAME_GEMM},
    {"^bmm_", GP_FRAME_GEMM},
    {"splitk", GP_FRAME_GEMM},
    {"scudnn", GP_FRAME_GEMM},
    {"hcudnn", GP_FRAME_GEMM},
    {"winograd", GP_FRAME_GEMM},
    {"wgrad", GP_FRAME_GEMM},
    {"dgrad", GP_FRAME_GEMM},
    {"fprop", GP_FRAME_GEMM},
    {"conv", GP_FRAME_GEMM},
    {"im2col", GP_FRAME_GEMM},
    {"col2im", GP_FRAME_GEMM},
    {"im2d", GP_FRAME_GEMM},
    {"computeoffsets", GP_FRAME_GEMM}, /* cuDNN's helpers around a convolution */
    {"computeboffsets", GP_FRAME_GEMM},
    {"fft2d", GP_FRAME_GEMM},
    {"cublas", GP_FRAME_GEMM},
    {"^dot_kernel", GP_FRAME_GEMM},
    {"marlin", GP_FRAME_GEMM},
    {"machete", GP_FRAME_GEMM},

    {"softmax", GP_FRAME_REDUCTION},
    {"layer_norm", GP_FRAME_REDUCTION},
    {"layernorm", GP_FRAME_REDUCTION},
    {"rms_norm", GP_FRAME_REDUCTION},
    {"rmsnorm", GP_FRAME_REDUCTION},
    {"batch_norm", GP_FRAME_REDUCTION},
    {"batchnorm", GP_FRAME_REDUCTION},
    {"::bn_fw", GP_FRAME_REDUCTION},
    {"::bn_bw", GP_FRAME_REDUCTION},
    {"normal_", GP_FRAME_ELEMENTWISE}, /* random numbers */
    {"norm", GP_FRAME_REDUCTION},
    {"rowwisemoments", GP_FRAME_REDUCTION},
    {"gammabeta", GP_FRAME_REDUCTION},
    {"internalgradients", GP_FRAME_REDUCTION},
    {"reduce", GP_FRAME_REDUCTION},
    {"reduction", GP_FRAME_REDUCTION},
    {"cumsum", GP_FRAME_REDUCTION},
    {"argmax", GP_FRAME_REDUCTION},
    {"argmin", GP_FRAME_REDUCTION},
    {"devicescan", GP_FRAME_REDUCTION},
    {"tensor_kernel_scan", GP_FRAME_REDUCTION},

    {"elementwise", GP_FRAME_ELEMENTWISE},
    {"element_wise", GP_FRAME_ELEMENTWISE},
    {"pointwise", GP_FRAME_ELEMENTWISE},
    {"multi_tensor_apply", GP_FRAME_ELEMENTWISE},
    {"dropout", GP_FRAME_ELEMENTWISE},
    {"rope_", GP_FRAME_ELEMENTWISE},
    {"_rope", GP_FRAME_ELEMENTWISE},
    {"silu", GP_FRAME_ELEMENTWISE},
    {"gelu", GP_FRAME_ELEMENTWISE},
    {"relu", GP_FRAME_ELEMENTWISE},
    {"act_and_mul", GP_FRAME_ELEMENTWISE},
    {"activation", GP_FRAME_ELEMENTWISE},
    {"quantize", GP_FRAME_ELEMENTWISE},
    {"fp8_quant", GP_FRAME_ELEMENTWISE},
    {"int8_quant", GP_FRAME_ELEMENTWISE},
    {"catarray", GP_FRAME_ELEMENTWISE},
    {"copy", GP_FRAME_ELEMENTWISE},
    {"fill", GP_FRAME_ELEMENTWISE},
    {"transpose", GP_FRAME_ELEMENTWISE},
    {"masked", GP_FRAME_ELEMENTWISE},
    {"op_tensor", GP_FRAME_ELEMENTWISE},
    {"optensor", GP_FRAME_ELEMENTWISE},
    {"subtensorop", GP_FRAME_ELEMENTWISE},
    {"scalepackedtensor", GP_FRAME_ELEMENTWISE},
    {"add_tensor", GP_FRAME_ELEMENTWISE},
};

/* Functions whose name says less than the code they run. */
static const char *const gp_class_shells[] = {"kernel",        "kernel2",       "kentry",
                                              "device_kernel", "_kernel_agent", "globalkernel"};

/* Library names that a pattern would mistake for a class. */
static const char *const gp_class_libraries[] = {"fbgemm_gpu::", "flashinfer::"};

#endif
