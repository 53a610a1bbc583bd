#include "analyze/names/name_predicates.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/declare.h"
#include "formats/base/str.h"
#include "formats/model/samples.h"

static bool has(const char *name, const char *part) { return strstr(name, part) != NULL; }

/* ---- kernels ---- */

bool gp_kernel_is_triton(const char *name) { return gp_starts(name, GP_KERNEL_TRITON); }

bool gp_kernel_is_triton_fused(const char *name)
{
    return gp_name_has_one_of(name, " ^" GP_KERNEL_TRITON "poi_fused_ ^" GP_KERNEL_TRITON
                                    "red_fused_ ^" GP_KERNEL_TRITON "per_fused_ ");
}

bool gp_kernel_is_jax_single(const char *name) { return gp_starts(name, "wrapped_"); }

bool gp_kernel_is_xla(const char *name)
{
    return gp_kernel_is_jax_single(name) ||
           (gp_name_has_one_of(name, " ^loop_ ^input_ ^gemm_fusion ^fusion_ ") && has(name, "fusion"));
}

bool gp_kernel_is_pytorch(const char *name) { return has(name, "at::native") || has(name, "at6native"); }

bool gp_kernel_is_cupy(const char *name) { return gp_starts(name, "cupy_"); }

bool gp_kernel_is_compiled(const char *name)
{
    return gp_kernel_is_triton(name) ||
           ((gp_starts(name, "loop_") || gp_starts(name, "input_")) && has(name, "_fusion"));
}

bool gp_kernel_is_multi_tensor(const char *name) { return has(name, "multi_tensor_apply"); }

bool gp_kernel_is_fused_optimizer(const char *name)
{
    return gp_name_has_one_of(name, " FusedOptimizer FusedAdam fused_adam FusedSgd ");
}

bool gp_kernel_ends_update(const char *name) { return has(name, "addcdiv_cuda_kernel"); }

unsigned gp_kernel_alignment(const char *name)
{
    const char *at = strstr(name, "_align");
    if (!at) return 0;
    at += strlen("_align");
    return *at >= '1' && *at <= '9' ? (unsigned)strtoul(at, NULL, 10) : 0;
}

bool gp_kernel_is_half_tensorop(const char *name)
{
    const char *at = strstr(name, "tensorop_");
    if (!at) return false;
    at += strlen("tensorop_");
    return gp_starts(at, "bf16_") || gp_starts(at, "f16_") || gp_starts(at, "h");
}

bool gp_kernel_is_of_library(const char *name)
{
    return gp_name_has_one_of(name, " splitK cudnn cutlass cub:: ");
}

bool gp_kernel_is_elementwise(const char *name) { return has(name, "elementwise_kernel"); }

bool gp_kernel_is_strided(const char *name)
{
    return has(name, "::elementwise_kernel<") || has(name, "18elementwise_kernelI");
}

bool gp_kernel_has_own_grid(const char *name)
{
    return gp_name_has_one_of(name, " batch_norm BatchNorm bn_fw bn_bw GammaBeta upsample weight_norm ");
}

bool gp_kernel_gathers(const char *name)
{
    return gp_name_has_one_of(name,
                              " gather index_elementwise indexSelect index_select embedding EmbeddingBag ") ||
           gp_kernel_joins(name);
}

bool gp_kernel_joins(const char *name) { return has(name, "CatArrayBatchedCopy"); }

bool gp_kernel_selects(const char *name)
{
    return has(name, "DeviceCompactInit") || has(name, "DeviceSelectSweep");
}

bool gp_kernel_checks_finite(const char *name) { return has(name, "non_finite_check"); }

bool gp_kernel_is_recurrent(const char *name)
{
    return gp_name_has_one_of(name,
                              " RNN_block RNNcell LSTM_elementWise GRU_elementWise lstm_cell gru_cell ");
}

bool gp_kernel_is_softmax(const char *name) { return has(name, "softmax") || has(name, "SoftMax"); }

bool gp_kernel_is_log_softmax(const char *name)
{
    return has(name, "LogSoftMax") || has(name, "log_softmax");
}

/* A number at P that ends at *END; 0 none. */
static unsigned small_number(const char *p, const char **end)
{
    unsigned v = 0;
    for (*end = p; **end >= '0' && **end <= '9' && v < 100000; ++*end) v = v * 10 + (unsigned)(**end - '0');
    return v;
}

unsigned gp_kernel_tile(const char *name)
{
    enum { LEAST = 8, MOST = 512 };
    if (has(name, "gemv")) return 1;
    for (const char *x = name; (x = strchr(x, 'x')) != NULL; x++) {
        const char *from = x, *end;
        while (from > name && from[-1] >= '0' && from[-1] <= '9') from--;
        unsigned a = from < x ? small_number(from, &end) : 0, b = small_number(x + 1, &end);
        if (a >= LEAST && a <= MOST && b >= LEAST && b <= MOST) return a < b ? a : b;
    }
    return 0;
}

/* What plain names have of types. */
static const char doubles[] = " double> double, double) double* double2 <double (double dpRadix dpVector "
                              "dgemm zgemm d884 z884 f64 float64 complex128 ",
                  singles[] = " float> float, float) float* float2 float4 <float (float float32 complex64 ",
                  halves[] = " half Half BFloat bfloat float16 ";

bool gp_kernel_is_double(const char *name)
{
    return gp_name_has_one_of(name, doubles) && !gp_name_has_one_of(name, singles) &&
           !gp_name_has_one_of(name, halves);
}

bool gp_kernel_is_single(const char *name)
{
    return gp_name_has_one_of(name, singles) && !gp_name_has_one_of(name, doubles) &&
           !gp_name_has_one_of(name, halves);
}

bool gp_kernel_is_tf32(const char *name) { return gp_name_has_one_of(name, " tf32 tensorop_s1688 "); }

/* ---- operators: "aten::nonzero", "torchvision::nms" ---- */

bool gp_op_needs_size(const char *name)
{
    const char *colon = strrchr(name, ':'), *op = colon ? colon + 1 : name;
    return gp_is_one_of(
        op, strlen(op),
        " nonzero unique _unique _unique2 unique_dim unique_consecutive masked_select argwhere "
        "repeat_interleave nms bincount ");
}

/* ---- ranges ---- */

bool gp_range_sets_up(const char *name) { return has(name, "ncclCommInit") || has(name, "ncclCommSplit"); }

bool gp_range_is_while(const char *name) { return gp_name_has_one_of(name, " hlo_op=while. ^while. "); }

/* ---- copies: "Memcpy HtoD (Pageable -> Device)" ---- */

/* "Memcpy HtoD (Pinned -> Device)" of CUPTI, "MemcpyH2D" of XLA. */
bool gp_copy_to_device(const char *name) { return has(name, "HtoD") || has(name, "H2D"); }

bool gp_copy_to_host(const char *name) { return has(name, "DtoH") || has(name, "D2H"); }

bool gp_copy_on_device(const char *name) { return has(name, "DtoD") || has(name, "D2D"); }

bool gp_copy_is_pageable(const char *name) { return has(name, "Pageable") || has(name, "pageable"); }

bool gp_copy_is_pinned(const char *name) { return has(name, "Pinned") || has(name, "pinned"); }

/* ---- Python frames ---- */

enum gp_host_work gp_frame_work(const char *name)
{
    enum where { WHOLE, BEGINS, PART };
    static const struct {
        const char *text;
        enum where where;
        enum gp_host_work work;
    } known[] = {
        {GP_SAMPLED_GARBAGE, WHOLE, GP_WORK_GARBAGE},
        {"<built-in function collect>", WHOLE, GP_WORK_GARBAGE},
        {"<built-in method collect of module", BEGINS, GP_WORK_GARBAGE},
        {GP_SAMPLED_LOCK, WHOLE, GP_WORK_LOCK},
        {GP_SAMPLED_GIL, WHOLE, GP_WORK_LOCK},
        {"<built-in method acquire of _thread.", BEGINS, GP_WORK_LOCK},
        {"<built-in method __enter__ of _thread.", BEGINS, GP_WORK_LOCK},
        {"logging/", BEGINS, GP_WORK_LOGGING},
        {"/logging/__init__.py(", PART, GP_WORK_LOGGING},
        {"/logging/handlers.py(", PART, GP_WORK_LOGGING},
        {"loguru/_", BEGINS, GP_WORK_LOGGING},
        {"<frozen importlib.", BEGINS, GP_WORK_IMPORT},
        {"importlib/__init__.py(", BEGINS, GP_WORK_IMPORT},
        {"/importlib/__init__.py(", PART, GP_WORK_IMPORT},
    };
    for (size_t i = 0; i < GP_COUNT(known); i++) {
        const char *text = known[i].text;
        bool same = known[i].where == WHOLE    ? !strcmp(name, text)
                    : known[i].where == BEGINS ? gp_starts(name, text)
                                               : has(name, text);
        if (same) return known[i].work;
    }
    return GP_WORK_OTHER;
}

bool gp_frame_runs_backward(const char *name)
{
    return has(name, ": _engine_run_backward") || has(name, "method run_backward of torch._C._EngineBase") ||
           (has(name, "torch/autograd/__init__.py(") && (has(name, "): backward") || has(name, "): grad")));
}

bool gp_frame_is_forward(const char *name) { return gp_ends(name, strlen(name), "forward"); }

bool gp_frame_is_checkpoint(const char *name) { return has(name, "torch/utils/checkpoint.py("); }

bool gp_category_is_sampled(const char *category) { return !strcmp(category, GP_SAMPLED_CATEGORY); }

bool gp_category_is_stack(const char *category)
{
    return !strcmp(category, GP_PYTHON_STACK_CATEGORY) || !strcmp(category, GP_NATIVE_STACK_CATEGORY);
}

bool gp_frame_is_state(const char *name)
{
    static const char *const states[] = {GP_SAMPLED_STATES(GP_SECOND)};
    for (size_t i = 0; i < GP_COUNT(states); i++) /* of most names not even the first character is the same */
        if (*name == *states[i] && !strcmp(name, states[i])) return true;
    return false;
}

/* ---- calls: "cudaLaunchKernel", "cuLaunchKernelEx", "hipModuleLaunchKernel" ---- */

bool gp_call_launches_graph(const char *name) { return has(name, "GraphLaunch"); }

bool gp_call_launches_kernel(const char *name) { return has(name, "LaunchKernel"); }

bool gp_call_gives_work(const char *name)
{
    return has(name, "Launch") || has(name, "Memcpy") || has(name, "Memset");
}

bool gp_call_copies(const char *name) { return has(name, "Memcpy"); }

bool gp_call_is_async(const char *name) { return has(name, "Async"); }

bool gp_call_synchronizes(const char *name) { return has(name, "Synchronize"); }

bool gp_call_synchronizes_device(const char *name)
{
    return gp_name_has_one_of(name, " DeviceSynchronize CtxSynchronize ContextSynchronize ");
}

bool gp_call_orders_wait(const char *name) { return has(name, "StreamWait"); }

bool gp_call_allocates(const char *name)
{
    return !gp_call_is_async(name) &&
           gp_name_has_one_of(name,
                              " ^cudaMalloc ^cudaFree ^cudaHostAlloc ^cudaHostRegister ^cudaHostUnregister "
                              "^cuMemAlloc ^cuMemFree ^cuMemHostAlloc ^hipMalloc ^hipFree ");
}

bool gp_call_blocks(const char *name)
{
    static const char *const vendors[] = {"cuda", "cu", "hip"};
    static const char begins[] =
        " ^Malloc ^Free ^HostAlloc ^HostMalloc ^HostFree ^HostRegister ^HostUnregister ^MemAlloc "
        "^MemFree ^MemCreate ^MemMap ^MemUnmap ^MemRelease ^MemHostAlloc ^MemHostRegister "
        "^MemHostUnregister ^MemSetAccess ^MemAddressReserve ^MemAddressFree ^Memcpy ";
    if (gp_call_is_async(name)) return false;
    for (size_t i = 0; i < GP_COUNT(vendors); i++)
        if (gp_starts(name, vendors[i]) && gp_name_has_one_of(name + strlen(vendors[i]), begins)) return true;
    return false;
}

bool gp_call_loads_module(const char *name)
{
    return gp_name_has_one_of(name, " ^cuModuleLoad ^cuLibraryLoad ^cudaLibraryLoad ^hipModuleLoad ");
}

bool gp_call_compiles(const char *name)
{
    return gp_starts(name, "nvrtcCompileProgram") || gp_starts(name, "cuLinkComplete");
}

bool gp_call_is_hip(const char *name) { return gp_starts(name, "hip"); }

bool gp_name_has_one_of(const char *name, const char *words)
{
    char word[64];
    for (const char *at = words + 1; gp_next_of(&at, ' ', word, sizeof word);)
        if (*word == '^' ? gp_starts(name, word + 1) : strstr(name, word) != NULL) return true;
    return false;
}

bool gp_frame_is_machinery(const char *name)
{
    return gp_name_has_one_of(
        name, " ^_start ^__libc_ ^_Py ^Py ^THPVariable_ ^__clone ^start_thread ^pthread_ ^torch::unwind:: "
              "^unwind() ^gather(bool ^gather_with_cpp ^torch::Captured ^c10::Dispatcher ^redispatch( "
              "CUDACachingAllocator CapturedTraceback torch::unwind wrap_kernel_functor_unboxed ");
}
