// Advice that programs of other people brought up: each rule fires on one trace, and not on its near miss.
#include "formats/base/err.h"
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define ELEMENTWISE "void at::native::vectorized_elementwise_kernel<4, F, std::array<char*, 2ul> >(int, F)"
#define GEMM        "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define PLAIN                                                                                                \
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_"                                                                 \
    "tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4"

static const char *action_of(const struct program *p, const char *rule)
{
    const struct gp_suggestion *s = said(p, rule);
    assert_non_null(s);
    return gp_suggest_str(&p->s, s->action);
}

/* What RULE says to do has WORDS, or if !THERE has not. */
static void advises(void (*step)(struct program *), const char *rule, const char *words, bool there)
{
    struct program p;
    run(&p, step);
    assert_true((strstr(action_of(&p, rule), words) != NULL) == there);
    end(&p);
}

static void on_device(struct program *p, const char *name)
{
    if (p->t.devices.n) return;
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(&p->t, name);
    GP_VEC_PUSH(&p->t.devices, d);
}

// ---- compiling ----

static void in_python(struct program *p, const char *name)
{
    mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + 200 * US, name);
    host(p, 200 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void compiling(struct program *p) { in_python(p, "triton/compiler/compiler.py(240): compile"); }

static void making_code(struct program *p) { in_python(p, "triton/compiler/compiler.py(300): make_cubin"); }

static void launching(struct program *p)
{
    in_python(p, "triton/compiler/compiler.py(487): launch_metadata");
}

static void in_range(struct program *p, const char *name)
{
    mk_host(&p->t, GP_RANGE, p->main, p->now, p->now + 200 * US, name);
    host(p, 200 * US), kernel(p, "loop_add_fusion", 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void compiling_by_xla(struct program *p) { in_range(p, "TSL:XlaCompile:#module=jit__lambda#"); }

static void running_by_xla(struct program *p) { in_range(p, "TSL:Thunk:#hlo_op=loop_add_fusion#"); }

/* Most of it in the fourth of ten steps. */
static void compiling_once_more(struct program *p)
{
    compiling(p);
    if (p->steps != 3) return;
    mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + 5 * MS, "triton/compiler/compiler.py(240): compile");
    host(p, 5 * MS), kernel(p, GEMM, 50 * US);
}

TEST(one_step_compiles_more_than_all_others)
{
    struct program p;
    run(&p, compiling_once_more);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "recompilation")->description),
                           "but 5.20 ms in one of the steps"));
    end(&p);
    run(&p, compiling);
    assert_null(strstr(gp_suggest_str(&p.s, said(&p, "recompilation")->description), "in one of the steps"));
    end(&p);
}

TEST(xla_compiles_where_its_range_says_so)
{
    speaks(compiling_by_xla, "recompilation", 200 * US, 200 * US);
    advises(compiling_by_xla, "recompilation", "jit a function once", true);
    advises(compiling_by_xla, "recompilation", "TORCH_TRACE", false);
    is_silent(running_by_xla, "recompilation");
}

TEST(what_helps_a_launch_does_not_compile)
{
    speaks(compiling, "recompilation", 200 * US, 200 * US);
    speaks(making_code, "recompilation", 200 * US, 200 * US);
    is_silent(launching, "recompilation");
}

// ---- collectives ----

static void collectives(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 11; i++) kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 20 * US);
}

static void collectives_of_gradients(struct program *p)
{
    int64_t from = p->now;
    kernel(p, GEMM, 100 * US);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "autograd::engine::evaluate_function: MmBackward0");
    collectives(p);
}

static void backward_then(struct program *p, const char *name)
{
    int64_t from = p->now;
    kernel(p, GEMM, 100 * US);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "autograd::engine::evaluate_function: MmBackward0");
    kernel(p, name, 200 * US);
}

static void gathering(struct program *p) { backward_then(p, "ncclDevKernel_AllGather_RING_LL()"); }

static void sending(struct program *p) { backward_then(p, "ncclDevKernel_SendRecv()"); }

TEST(what_is_not_used_is_not_advised)
{
    advises(gathering, "exposed_communication", "FSDP", true);
    advises(gathering, "exposed_communication", "bucket_cap_mb", false);
    advises(collectives_of_gradients, "exposed_communication", "FSDP", false);
    advises(sending, "exposed_communication", "FSDP", false);
    advises(sending, "exposed_communication", "bucket_cap_mb", false);
    advises(sending, "exposed_communication", "micro-batches", true);
    advises(sending, "exposed_communication", "run trace-hta on all ranks", true);
}

TEST(buckets_are_for_gradients)
{
    advises(collectives_of_gradients, "small_collectives", "bucket_cap_mb", true);
    advises(collectives, "small_collectives", "bucket_cap_mb", false);
    advises(collectives_of_gradients, "exposed_communication", "bucket_cap_mb", true);
    advises(collectives, "exposed_communication", "bucket_cap_mb", false);
}

// ---- copies ----

static void copies_of(struct program *p, int64_t bytes)
{
    kernel(p, GEMM, 100 * US);
    for (int i = 0; i < 12; i++) copy(p, "Memcpy DtoH (Device -> Pinned)", 2 * US, bytes, false);
}

static void many_values(struct program *p) { copies_of(p, 1); }

static void many_small_copies(struct program *p) { copies_of(p, 400); }

TEST(values_are_not_copies_to_pack)
{
    struct program p;
    run(&p, many_small_copies);
    assert_non_null(said(&p, "small_copies"));
    end(&p);
    is_silent(many_values, "small_copies");
}

// ---- input ----

static void gap_before_a_copy(struct program *p)
{
    host(p, 20 * MS);
    copy(p, "Memcpy HtoD (Pinned -> Device)", 100 * US, 4 << 20, false);
    for (int i = 0; i < 10; i++) host(p, 10 * US), kernel(p, GEMM, 100 * US);
}

/* NS of the gap in an operator of the CPU; nested ones are parts of it. */
static void input_of_operators(struct program *p, const char *name, int64_t ns)
{
    int64_t from = p->now + 1 * MS;
    mk_host(&p->t, GP_OP, p->main, from, from + ns, name);
    mk_host(&p->t, GP_OP, p->main, from + 1 * MS, from + ns - 1 * MS, "aten::pad");
    gap_before_a_copy(p);
}

static void input_of_few_operators(struct program *p) { input_of_operators(p, "aten::stft", 4 * MS); }

static void input_of_many_operators(struct program *p) { input_of_operators(p, "aten::stft", 15 * MS); }

static void noise(struct program *p) { input_of_operators(p, "aten::randn", 15 * MS); }

static void gap_before_a_kernel(struct program *p)
{
    host(p, 20 * MS);
    for (int i = 0; i < 10; i++) host(p, 10 * US), kernel(p, GEMM, 100 * US);
    copy(p, "Memcpy HtoD (Pinned -> Device)", 100 * US, 4 << 20, false);
}

static void gap_before_a_value(struct program *p)
{
    host(p, 20 * MS);
    copy(p, "Memcpy HtoD (Pinned -> Device)", 2 * US, 64, false);
    for (int i = 0; i < 10; i++) host(p, 10 * US), kernel(p, GEMM, 100 * US);
}

/* A list of numbers, in two copies. */
static void gap_before_indices(struct program *p)
{
    host(p, 20 * MS);
    copy(p, "Memcpy HtoD (Pageable -> Device)", 2 * US, 16, true);
    copy(p, "Memcpy HtoD (Pageable -> Device)", 2 * US, 4096, true);
    for (int i = 0; i < 10; i++) host(p, 10 * US), kernel(p, GEMM, 100 * US);
}

/* What is copied to the GPU may depend on what was copied from it, if that is more than a value. */
static void between_copies(struct program *p, int64_t bytes)
{
    gap_before_indices(p);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, bytes, true);
}

static void after_results(struct program *p) { between_copies(p, 4096); }

static void after_a_loss(struct program *p) { between_copies(p, 4); }

static void changes(void (*step)(struct program *), const char *words)
{
    struct program p;
    run(&p, step);
    assert_non_null(said(&p, "input_stall"));
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "input_stall")->change), words));
    end(&p);
}

TEST(what_is_copied_may_depend_on_results)
{
    changes(gap_before_indices, "prepare the next batch");
    changes(after_a_loss, "prepare the next batch");
    changes(after_results, "do on the GPU what the host does between the copies");
    is_silent(after_results, "host_results");
    is_silent(after_results, "host_gap");
}

TEST(a_long_gap_that_ends_in_a_copy_is_input)
{
    struct program p;
    run(&p, gap_before_a_copy);
    const struct gp_suggestion *s = said(&p, "input_stall");
    assert_non_null(s);
    // the gap, but for the usual 10 us; half of it at least, 15% and 1% of the step less
    assert_in_range(s->current_ns, 19900 * US * 9 / 10, 20 * MS);
    assert_true(s->saving_low_ns > 6 * MS && s->saving_high_ns < 21 * MS);
    end(&p);
    run(&p, input_of_few_operators);
    s = said(&p, "input_stall");
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description),
                           "of which 4.00 ms in operators of the CPU, the longest aten::stft"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->change), "during the step, or on the GPU"));
    end(&p);
    run(&p, input_of_many_operators);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "input_stall")->change),
                           "run the operators of the input on the GPU"));
    end(&p);
    run(&p, noise);
    assert_non_null(
        strstr(gp_suggest_str(&p.s, said(&p, "input_stall")->action), "draw the random numbers on the GPU"));
    end(&p);
    is_silent(gap_before_a_kernel, "input_stall");
    is_silent(gap_before_a_value, "input_stall");
}

/* Each launch is late, and no two steps in a row are equal. */
static void gaps_everywhere(struct program *p)
{
    for (int i = 0; i < 20 + p->steps % 2; i++) host(p, 900 * US), kernel(p, GEMM, 100 * US);
}

TEST(gaps_without_another_finding_are_to_be_looked_at)
{
    struct program p;
    run(&p, gaps_everywhere);
    const struct gp_suggestion *s = said(&p, "low_utilisation");
    assert_non_null(s);
    assert_true(s->looks && !s->saving_low_ns && s->saving_high_ns > 8 * MS);
    assert_null(said(&p, "host_gap"));
    end(&p);
    run(&p, gap_before_a_kernel);
    assert_non_null(said(&p, "host_gap"));
    end(&p);
}

// ---- types ----

static void plain_on_volta(struct program *p)
{
    on_device(p, "Tesla V100-SXM2-32GB");
    kernel(p, PLAIN, 1000 * US), kernel(p, ELEMENTWISE, 100 * US);
}

static void plain_on_hopper(struct program *p)
{
    on_device(p, "NVIDIA H100 80GB HBM3");
    kernel(p, PLAIN, 1000 * US), kernel(p, ELEMENTWISE, 100 * US);
}

static void plain_of_cupy(struct program *p)
{
    on_device(p, "NVIDIA H100 80GB HBM3");
    kernel(p, PLAIN, 1000 * US), kernel(p, "cupy_add__float32_float32", 100 * US);
}

TEST(programs_of_cupy_get_no_advice_about_pytorch)
{
    advises(plain_of_cupy, "tensor_cores", "CUPY_TF32", true);
    advises(plain_of_cupy, "tensor_cores", "torch", false);
    advises(plain_on_hopper, "tensor_cores", "torch.set_float32_matmul_precision", true);
}

TEST(half_precision_where_there_is_no_tf32)
{
    advises(plain_on_volta, "tensor_cores", "torch.float16", true);
    advises(plain_on_hopper, "tensor_cores", "torch.float16", false);
    advises(plain_on_hopper, "tensor_cores", "TF32", true);
}

// ---- an idle device ----

static void idle_between(struct program *p, const char *kernel_name)
{
    mk_host(&p->t, GP_OP, p->main, p->now, p->now + 500 * US, "Torch-Compiled Region: 0/0");
    host(p, 500 * US), kernel(p, p->steps % 2 ? kernel_name : GEMM, 300 * US);
}

static void idle_compiled(struct program *p) { idle_between(p, "triton_poi_fused_add_0"); }

static void idle_eager(struct program *p) { idle_between(p, ELEMENTWISE); }

TEST(compiled_regions_become_graphs)
{
    advises(idle_compiled, "low_utilisation", "reduce-overhead", true);
    advises(idle_eager, "low_utilisation", "reduce-overhead", false);
}

// ---- generation ----

static void token(struct program *p, int blocks)
{
    for (int i = 0; i < 6; i++) {
        host(p, 30 * US);
        kernel_of(p, i == 3 ? "void at::native::CatArrayBatchedCopy<F>(int)" : ELEMENTWISE,
                  i == 3 ? (uint32_t)blocks : 10, 2 * US);
    }
}

static void growing(struct program *p) { token(p, 10 + p->steps); }

static void up_and_down(struct program *p) { token(p, 10 + p->steps % 2); }

TEST(a_cache_that_grows_should_be_static)
{
    advises(growing, "compile", "static cache", true);
    advises(up_and_down, "compile", "static cache", false);
}

/* A comparison that the host reads, and two kernels that one could replace. */
static void lone_comparisons(struct program *p)
{
    for (int i = 0; i < 10; i++) {
        host(p, 40 * US), kernel(p, "void at::native::elementwise_kernel<CompareEqFunctor>", 2 * US);
        copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 1, true);
    }
    for (int i = 0; i < 4; i++) {
        host(p, 40 * US), kernel(p, "void at::native::elementwise_kernel<AddFunctor>", 2 * US);
        host(p, 40 * US), kernel(p, "void at::native::elementwise_kernel<MulFunctor>", 2 * US);
        host(p, 40 * US), kernel(p, "ampere_sgemm_128x64_tn", 2 * US);
    }
}

TEST(a_kernel_between_two_reads_is_no_chain)
{
    struct program p;
    run(&p, lone_comparisons);
    const struct gp_suggestion *s = said(&p, "compile");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "; 8 of the 22 kernels per step"));
    end(&p);
}

// ---- JAX outside of jax.jit ----

static void launches(struct program *p, const char *name, int n)
{
    for (int i = 0; i < n; i++) host(p, 30 * US), kernel(p, name, 2 * US);
}

/* jax.numpy compiles what it is made of by itself. */
static void single_operations(struct program *p)
{
    launches(p, "wrapped_add", 6), launches(p, "loop_divide_fusion", 6);
}

static void compiled_operations(struct program *p)
{
    launches(p, "wrapped_add", 1), launches(p, "loop_divide_fusion", 12);
}

/* Numbers of Python, each on its way to the device for one operation. */
static void numbers(struct program *p)
{
    for (int i = 0; i < 12; i++)
        host(p, 30 * US), copy(p, "Memcpy HtoD (Pageable -> Device)", 2 * US, 4, true);
    single_operations(p);
}

TEST(single_operations_of_jax_are_compiled)
{
    is_silent(numbers, "small_copies");
    advises(single_operations, "compile", "jax.jit", true);
    is_silent(compiled_operations, "compile");
}

// ---- a value that is read inside a step ----

static void reads(struct program *p, int n)
{
    for (int i = 0; i < n; i++) {
        launches(p, GEMM, 5);
        copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 4, true);
    }
    launches(p, GEMM, 5);
}

static void one_read(struct program *p) { reads(p, 1); }

static void two_reads(struct program *p) { reads(p, 2); }

TEST(a_graph_once_a_value_is_not_read)
{
    struct program p;
    run(&p, one_read);
    const struct gp_suggestion *s = said(&p, "cuda_graph");
    assert_non_null(s);
    assert_int_equal(s->saving_low_ns, 0); // the value may be needed
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "without the value that is read in it"));
    end(&p);
    is_silent(two_reads, "cuda_graph");
}

// ---- order of channels ----

static void norms(struct program *p)
{
    kernel(p, GEMM, 300 * US);
    kernel(p, "void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd>(int)", 200 * US);
}

static void turned_channels(struct program *p)
{
    kernel(p, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)", 100 * US);
    norms(p);
}

static void joined_tensors(struct program *p)
{
    kernel(p, "void at::native::CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 3, 64, 64>(int)", 100 * US);
    norms(p);
}

static void turned_around_group_norms(struct program *p)
{
    turned_channels(p);
    kernel(p, "void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<float>(long)", 5 * US);
}

/* Whose convolutions want channels last and whose norms do not: a look at most, and the low end is
 * nothing. */
TEST(group_norms_are_slower_with_channels_last)
{
    struct program p;
    run(&p, turned_around_group_norms);
    const struct gp_suggestion *s = said(&p, "layout_churn");
    assert_non_null(s);
    assert_int_equal(s->saving_low_ns, 0);
    assert_int_equal(s->priority, GP_PRIORITY_LOW);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "group normalization takes longer"));
    end(&p);
    run(&p, turned_channels);
    s = said(&p, "layout_churn");
    // 55% of the high end, less what two runs differ by
    int64_t share = s->saving_high_ns / 100 * 55 - noise_of(&p, s->saving_high_ns, true);
    assert_in_range(s->saving_low_ns, share - 100, share + 100);
    end(&p);
}

TEST(channels_last_counts_the_norms)
{
    // all of the transpose with the gap after it, and half of the norm, of which no bytes are known
    speaks(turned_channels, "layout_churn", 0, 201 * US);
    speaks(joined_tensors, "layout_churn", 0, 101 * US);
    advises(turned_channels, "layout_churn", "channels_last", true);
    advises(turned_channels, "layout_churn", "torch.cat", false);
    advises(joined_tensors, "layout_churn", "channels_last", false);
}

// ---- the only step ----

static void one_step(struct program *p, int64_t before)
{
    begin(p);
    mk_host(&p->t, GP_PYTHON, p->main, 100 * US, before, "pipeline.py(12): preprocess");
    p->now = before;
    for (int i = 0; i < 10; i++) kernel(p, GEMM, 100 * US);
    mk_host(&p->t, GP_RANGE, p->main, 0, p->now, "ProfilerStep#7");
    struct gp_err err;
    gp_trace_finish(&p->t);
    gp_suggest_init(&p->s, NULL);
    assert_int_equal(gp_suggest_run(&p->s, &p->t, &err), 0);
}

TEST(what_comes_before_the_first_kernel_counts)
{
    struct program p;
    one_step(&p, 2 * MS);
    assert_int_equal(p.s.step.lead_ns, 2 * MS + 7 * US);
    assert_string_equal(gp_suggest_str(&p.s, p.s.step.lead), "pipeline.py(12): preprocess");
    assert_int_equal(p.s.regime, GP_REGIME_OVERHEAD);
    end(&p);
    one_step(&p, 20 * US);
    assert_int_equal(p.s.step.lead_ns, 0);
    end(&p);
}

/* The tenth step has no work: the recording ended in it. */
static void ends_without_work(struct program *p)
{
    host(p, 50 * US);
    if (p->steps == 9) return;
    host(p, 50 * US), kernel(p, GEMM, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(an_empty_last_step_is_none)
{
    struct program p;
    run(&p, ends_without_work);
    assert_int_equal(p.s.step.steps, 9);
    assert_in_range(p.s.step.step_ns, 610 * US - 100, 610 * US + 100); // 100 + 7 + 500 + 3
    end(&p);
}

// ---- programs of JAX ----

/* A value is read after 20 kernels of XLA that the host is late for; small copies, pageable memory. */
static void xla_step(struct program *p)
{
    static const char *const names[] = {"loop_add_fusion_2", "wrapped_add", "gemm_fusion_dot",
                                        "input_reduce_fusion"};
    for (int i = 0; i < 12; i++)
        host(p, 20 * US), copy(p, "Memcpy HtoD (Pinned -> Device)", 2 * US, 1024, false);
    for (int i = 0; i < 20; i++) host(p, 60 * US), kernel(p, names[i % 4], 2 * US);
    host(p, 30 * US), copy(p, "Memcpy HtoD (Pageable -> Device)", 200 * US, 4 << 20, true);
    host(p, 30 * US), kernel(p, "wrapped_add", 100 * US);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 4, true);
}

static void equal_xla_step(struct program *p)
{
    for (int i = 0; i < 20; i++) host(p, 60 * US), kernel(p, "loop_add_fusion", 2 * US);
}

static void names_no_torch(void (*step)(struct program *), size_t least)
{
    struct program p;
    run(&p, step);
    assert_true(p.s.suggestions.n >= least);
    for (size_t i = 0; i < p.s.suggestions.n; i++) {
        const struct gp_suggestion *s = &p.s.suggestions.at[i];
        const gp_sid texts[] = {s->description, s->action, s->change, s->formula,
                                s->assumes,     s->check,  s->to_know};
        for (size_t k = 0; k < GP_COUNT(texts); k++) {
            const char *text = gp_suggest_str(&p.s, texts[k]);
            assert_null(strstr(text, "torch"));
            assert_null(strstr(text, "non_blocking"));
            assert_null(strstr(text, "DataLoader"));
            assert_null(strstr(text, "with_stack"));
        }
    }
    end(&p);
}

/* One function that jax.jit compiled; the host is late for the next call. */
static void jitted_step(struct program *p)
{
    host(p, 900 * US), kernel(p, "gemm_fusion_dot", 40 * US);
    host(p, 5 * US), kernel(p, "loop_add_fusion", 20 * US);
    wait(p, "cuStreamSynchronize");
}

TEST(what_is_jitted_is_not_told_to_use_jit)
{
    static void (*const steps[])(struct program *) = {jitted_step, equal_xla_step};
    static const char *const rules[] = {"low_utilisation", "cuda_graph"};
    for (size_t i = 0; i < GP_COUNT(steps); i++) {
        struct program p;
        run(&p, steps[i]);
        const struct gp_suggestion *s = said(&p, rules[i]);
        assert_non_null(s);
        assert_null(strstr(gp_suggest_str(&p.s, s->action), "compile the whole step"));
        assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "jax.lax.scan"));
        end(&p);
    }
}

/* 5 ms until an array of the host has been copied. */
static void array_of_the_host(struct program *p)
{
    host(p, 5 * MS), copy(p, "Memcpy HtoD (Pinned -> Device)", 200 * US, 1 << 24, false);
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, "gemm_fusion_dot", 60 * US);
    wait(p, "cuStreamSynchronize");
}

TEST(arrays_of_the_host_can_lie_on_the_gpu)
{
    struct program p;
    run(&p, array_of_the_host);
    const struct gp_suggestion *s = said(&p, "input_stall");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->change), "put on the GPU once"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "jax.device_put"));
    assert_null(strstr(gp_suggest_str(&p.s, s->action), "DataLoader"));
    assert_true(s->saving_high_ns > 5 * MS); /* with the copy */
    end(&p);
}

TEST(programs_of_jax_get_no_advice_about_pytorch)
{
    names_no_torch(xla_step, 4);
    names_no_torch(equal_xla_step, 1);
}
