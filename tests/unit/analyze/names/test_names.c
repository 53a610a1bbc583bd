// Names as recorded to names as shown. The pairs are by judgement: what a person needs to tell the code
// apart.
#include <stdlib.h>
#include <string.h>

#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

typedef void convert(struct gp_buf *to, const char *name, size_t n);

static void expect(convert *f, const char *name, const char *want)
{
    struct gp_buf b = {0};
    f(&b, name, strlen(name));
    assert_string_equal(gp_buf_str(&b), want);
    gp_buf_release(&b);
}

TEST(mangled_names_become_plain)
{
    expect(gp_name_demangle, "_Z4axpyfPfS_", "axpy(float, float*, float*)");
    expect(gp_name_demangle, "_ZN2ns1kIfEEvPT_", "void ns::k<float>(float*)");
    expect(gp_name_demangle, "axpy", "axpy");
    expect(gp_name_demangle, "_Znot a mangled name", "_Znot a mangled name");
    expect(gp_name_demangle, "_Z", "_Z");
    // clang writes the type of an argument that depends on an earlier one before it
    expect(gp_name_demangle,
           "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_"
           "EEEEvPS3_PS4_i",
           "void sgl_hip::activation::act_and_mul_kernel<__hip_bfloat16, &(__hip_bfloat16 "
           "silu<__hip_bfloat16>(__hip_bfloat16 "
           "const&))>(__hip_bfloat16*, __hip_bfloat16 const*, int)");
    expect(gp_name_demangle, "_Z1fIsTnPFT_iEXadL_Z1giEEEvS0_", "void f<short, &(g(int))>(short)");
    expect(gp_name_demangle, "_Z1fITn", "_Z1fITn");
    expect(gp_name_demangle, "_Z1fITnE", "_Z1fITnE");
    expect(gp_name_demangle, "_Z1fIsTnT_Tn", "_Z1fIsTnT_Tn");
    expect(gp_name_demangle, "_Z99fTn", "_Z99fTn");
    expect(gp_name_demangle, "", "");
}

/* f<A>, where each A is a pair of the one before: the plain name doubles with every 6 bytes. */
TEST(a_name_that_would_explode_stays_mangled)
{
    struct gp_buf b = {0}, out = {0};
    gp_buf_puts(&b, "_Z1f1PIiiE");
    static const char ids[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    gp_buf_puts(&b, "S_IS0_S0_E");
    for (int i = 0; i < 32; i++) gp_buf_printf(&b, "S_IS%c_S%c_E", ids[i + 1], ids[i + 1]);
    gp_name_demangle(&out, b.data, b.n);
    assert_int_equal(out.n, b.n);
    assert_memory_equal(out.data, b.data, b.n);
    gp_buf_release(&b);
    gp_buf_release(&out);
}

TEST(deep_and_long_mangled_names_do_no_harm)
{
    for (size_t n = GP_NAME_MANGLED_MAX - 8; n < GP_NAME_MANGLED_MAX + 8; n += 4) {
        struct gp_buf b = {0}, out = {0};
        gp_buf_puts(&b, "_Z1f");
        while (b.n + 1 < n) gp_buf_putc(&b, 'P');
        gp_buf_putc(&b, 'i');
        gp_name_demangle(&out, b.data, b.n);
        assert_true(out.n >= n - 4);
        gp_buf_release(&b);
        gp_buf_release(&out);
    }
}

TEST(kernels_lose_types_and_parameters)
{
    convert *f = gp_name_kernel_label;
    expect(f, "sgemm", "sgemm");
    expect(f, "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic");
    expect(f, "void splitKreduce_kernel<float, float, true>(cublasSplitKParams<float>, float const*)",
           "splitKreduce_kernel");
    expect(f, "void cudnn::ops::scalePackedTensor_kernel<float, float>(long, float*, float)",
           "cudnn::ops::scalePackedTensor_kernel");
    expect(f, "triton_poi_fused_add_cos_sin_0", "triton_poi_fused_add_cos_sin_0");
    expect(f,
           "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float, "
           "false>(float const*, int)",
           "layer_norm_grad_input_kernel_vectorized");
}

TEST(wrapper_kernels_keep_what_they_run)
{
    convert *f = gp_name_kernel_label;
    expect(f,
           "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
           "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int, float)",
           "vectorized_elementwise_kernel<MulFunctor>");
    expect(f,
           "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<long>, "
           "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<long>, at::detail::Array<char*, 1>)",
           "vectorized_elementwise_kernel<FillFunctor>");
    expect(f,
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
           "at::native::func_wrapper_t<float, "
           "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, "
           "float)#1}>, unsigned int, float, 4> >(x)",
           "reduce_kernel<sum_functor>");
    expect(f,
           "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
           "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
           "const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&, "
           "x)::{lambda(int)#1}>(int, y)",
           "elementwise_kernel<direct_copy_kernel_cuda>");
    expect(f,
           "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
           "namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonymous "
           "namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float> >(x)",
           "multi_tensor_apply_kernel<PointwiseOpScalarListFunctor, divides>");
    expect(f,
           "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>("
           "cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4::Params)",
           "cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4");
}

TEST(return_types_of_any_shape_go)
{
    convert *f = gp_name_kernel_label;
    expect(f, "unsigned int foo(int)", "foo");
    expect(f, "ns::T<int>* ns::foo<3>(int)", "ns::foo");
    expect(f,
           "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
           "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
           "vllm::fused_add_rms_norm_kernel");
    expect(f, "void foo<(anonymous namespace)::Op>(int)", "foo<Op>");
}

TEST(functions_of_the_same_name_in_two_namespaces_stay_apart)
{
    expect(gp_name_kernel_label, "void a::k<int>(int)", "a::k");
    expect(gp_name_kernel_label, "void b::k<int>(int)", "b::k");
}

TEST(names_that_are_no_names_are_kept)
{
    convert *f = gp_name_kernel_label;
    expect(f, "", "");
    expect(f, "<<<>>>", "<<<>>>");
    expect(f, "((((", "((((");
    expect(f, ")", ")");
    expect(f, "::", "::");
    expect(f, "{lambda()#1}", "{lambda()#1}");
    expect(f, "<script>alert(1)</script>", "<script>alert(1)</script>");
    expect(f, "a<b", "a");
    struct gp_buf deep = {0}, out = {0};
    for (int i = 0; i < 100000; i++) gp_buf_puts(&deep, "f<");
    f(&out, deep.data, deep.n);
    assert_true(out.n > 0);
    gp_buf_release(&deep);
    gp_buf_release(&out);
}

TEST(the_function_is_without_any_template_argument)
{
    expect(gp_name_kernel_function, "void at::native::vectorized_elementwise_kernel<4, X<ReduceOp> >(int)",
           "at::native::vectorized_elementwise_kernel");
    expect(gp_name_kernel_function, "nvjet_sm90_tst", "nvjet_sm90_tst");
}

TEST(step_numbers_of_ranges_go)
{
    convert *f = gp_name_range_label;
    expect(f, "ProfilerStep#123", "ProfilerStep");
    expect(f, "step 17", "step");
    expect(f, "step:17", "step");
    expect(f, "iter_17", "iter");
    expect(f, "Iteration 17/100 forward", "Iteration forward");
    expect(f, "train epoch=3", "train epoch");
    expect(f, "layer_11", "layer");
    expect(f, "warmup#4", "warmup");
    expect(f, "token 12", "token");
    expect(f, "execute_context_1(888_788544)_generation_0(0)", "execute_context_generation");
}

TEST(other_numbers_of_ranges_stay)
{
    convert *f = gp_name_range_label;
    expect(f, "fp8", "fp8");
    expect(f, "encoder fp8 None", "encoder fp8 None");
    expect(f, "stage 2", "stage 2");
    expect(f, "gpt2 forward", "gpt2 forward");
    expect(f, "Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step");
    expect(f, "footstep2", "footstep2");
    expect(f, "17", "17");
    expect(f, "#5", "#5");
    expect(f, "", "");
}

TEST(operators_of_the_backward_pass_lose_the_engine)
{
    expect(gp_name_op_label, "autograd::engine::evaluate_function: MulBackward0", "MulBackward0");
    expect(gp_name_op_label, "aten::mul", "aten::mul");
    assert_true(gp_name_is_backward("autograd::engine::evaluate_function: A", 39));
    assert_false(gp_name_is_backward("autograd::engine::evaluate_function: ", 37));
    assert_false(gp_name_is_backward("aten::mul", 9));
}

TEST(python_frames_lose_addresses_instances_and_paths)
{
    convert *f = gp_name_python_label;
    expect(f, "nn.Module: Linear_12", "nn.Module: Linear");
    expect(f, "nn.Module: Linear", "nn.Module: Linear");
    expect(f, "nn.Module: Conv2d_0", "nn.Module: Conv2d");
    expect(f, "nn.Module: BatchNorm2d", "nn.Module: BatchNorm2d");
    expect(f, "<built-in method append of list object at 0x7f0e871077c0>",
           "<built-in method append of list object>");
    expect(f, "/usr/lib/python3/dist-packages/torch/nn/functional.py(12): relu",
           "torch/nn/functional.py(12): relu");
    expect(f, "train.py(180): main", "train.py(180): main");
    expect(f, "app.cu(7): _ZN3app4stepEPfi", "app.cu(7): app::step");
    expect(f, "_ZN3app4stepEPfi", "app::step");
}

static bool glue(const char *name) { return gp_name_is_glue(name, strlen(name)); }

TEST(glue_is_told_from_the_program)
{
    assert_true(glue("torch/nn/modules/module.py(1779): _call_impl"));
    assert_true(glue("<built-in function linear>"));
    assert_true(glue("threading.py(982): run"));
    assert_true(glue("torch/optim/optimizer.py(533): Optimizer.profile_hook_step.<locals>.wrapper"));
    assert_true(glue("app.cudafe1.stub.c(13): __device_stub__Z14planted_kernelPi"));
    assert_true(glue("__device_stub__Z1kv"));
    assert_true(glue("app.cudafe1.stub.c(13): _Z34__device_stub__Z14planted_kernelPiPi"));
    assert_true(glue("_start"));
    assert_true(glue("libc.so.6+0x2a1ca"));
    assert_true(glue("libstdc++.so.6+0xecdb4"));
    assert_true(glue("device_functions.h(2963): __cudaLaunchKernel_helper"));
    assert_false(glue("_start_step"));
    assert_false(glue("app.cu(3): cloned"));
    assert_false(glue("app.cu(3): main"));
    assert_false(glue("nn.Module: Linear_3"));
    assert_false(glue("train.py(180): main"));
    assert_false(glue("torch/nn/functional.py(12): relu"));
}
