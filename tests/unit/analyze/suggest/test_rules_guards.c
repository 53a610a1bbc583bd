// What looks right for a rule and is wrong: what it would tell people to change is not theirs.
#include "tests/unit/program_make.h"

#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define ADD  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"

/* ---- the start of a program without steps ---- */

/* A model is made on the host, in operators of 20 ms, and copied to the GPU; then it runs. */
static void weights(struct program *p, bool again)
{
    for (int i = 0; i < 6; i++) {
        mk_host(&p->t, GP_OP, p->main, p->now, p->now + 20 * MS, "aten::normal_");
        host(p, 20 * MS), copy(p, "Memcpy HtoD (Pageable -> Device)", 4 * MS, 40 << 20, true);
    }
    for (int i = 0; i < 50; i++) {
        char name[64]; /* no two are equal, or they would be steps */
        snprintf(name, sizeof name, "nvjet_sm90_tst_128x%d_64x6_1x2_h_bz_NTT", i + 8);
        host(p, (20 + i) * US), kernel(p, name, (100 + i) * US);
        if (again && i % 7 == 0) copy(p, "Memcpy HtoD (Pageable -> Device)", 4 * MS, 40 << 20, true);
    }
    wait(p, "cudaDeviceSynchronize");
}

static void without_steps(struct program *p, bool again)
{
    struct gp_err err;
    begin(p);
    weights(p, again);
    gp_trace_finish(&p->t);
    gp_suggest_init(&p->s, NULL);
    assert_int_equal(gp_suggest_run(&p->s, &p->t, &err), 0);
    assert_false(p->s.step.found);
}

TEST(a_model_is_made_and_copied_once)
{
    static const char *const rules[] = {"pageable_copy", "synchronous_copy", "input_stall", "routing",
                                        "small_copies",  "allocation",       "module_load", "import",
                                        "repeated_work", "round_trip"};
    struct program p;
    without_steps(&p, false);
    for (size_t i = 0; i < GP_COUNT(rules); i++) assert_null(said(&p, rules[i]));
    end(&p);
    // what is copied while it runs is its input
    without_steps(&p, true);
    assert_non_null(said(&p, "pageable_copy"));
    end(&p);
}

/* ---- what the framework does ---- */

static void read_value_in(struct program *p, const char *function)
{
    int64_t from = p->now;
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, 4, true);
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
    mk_host(&p->t, GP_PYTHON, p->main, from, p->now, function);
}

static void scaler(struct program *p) { read_value_in(p, "torch/amp/grad_scaler.py(350): _maybe_opt_step"); }

static void optimizer(struct program *p) { read_value_in(p, "torch/optim/adamw.py(120): _get_value"); }

static void own_loss(struct program *p) { read_value_in(p, "train.py(12): log"); }

/* 100 equal zeros, within a node of autograd or within a function of the program's. */
static void zeros_in(struct program *p, const char *around)
{
    int64_t from = p->now;
    for (int i = 0; i < 100; i++) {
        host(p, 5 * US);
        size_t row = mk_host(&p->t, GP_OP, p->main, p->now, p->now + 20 * US, "aten::zeros");
        gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, "{\"Concrete Inputs\":[\"[8, 8]\"]}"));
        host(p, 10 * US), kernel(p, ADD, 2 * US), host(p, 6 * US);
    }
    mk_host(&p->t, GP_OP, p->main, from, p->now, around);
}

static void gradients_of_slices(struct program *p)
{
    zeros_in(p, "autograd::engine::evaluate_function: SelectBackward0");
}

static void masks(struct program *p) { zeros_in(p, "my::masks"); }

/* 1 ms per step in which the main thread waits for autograd's, which launches. */
static void waits_for_backward(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    int64_t from = p->now;
    host(p, 20 * US), kernel(p, GEMM, 10 * US);
    p->main = mk_thread(&p->t, process, 200);
    for (int i = 0; i < 40; i++) host(p, 20 * US), kernel(p, GEMM, 2 * US);
    p->main = main;
    mk_host(&p->t, GP_PYTHON, main, from + 30 * US, p->now,
            "torch/autograd/graph.py(865): _engine_run_backward");
    mk_host(&p->t, GP_PYTHON, main, from + 31 * US, p->now - 1 * US, "waiting for a lock");
    host(p, 20 * US), kernel(p, ADD, 2 * US);
}

/* FUNCTION runs on the host for 3 ms while the GPU has work for 5, or has none. */
static void host_works_in(struct program *p, const char *function, int64_t work_ns)
{
    host(p, 20 * US), kernel(p, GEMM, work_ns);
    int64_t from = p->now;
    host(p, 3 * MS);
    mk_host(&p->t, GP_PYTHON, p->main, from, p->now, function);
    kernel(p, GEMM, 20 * US);
    wait(p, "cudaDeviceSynchronize");
}

#define HOST_WORKS(name, function)                                                                           \
    static void name##_beside(struct program *p) { host_works_in(p, function, 5 * MS); }                     \
    static void name##_between(struct program *p) { host_works_in(p, function, 20 * US); }
HOST_WORKS(collects, "garbage collection")
HOST_WORKS(logs, "logging/__init__.py(1151): emit")
HOST_WORKS(imports, "<frozen importlib._bootstrap>(1): _load")

/* The kernels of an optimizer that goes through its parameters are not a chain of its model. */
static void optimizer_in_a_loop(struct program *p)
{
    host(p, 20 * US), kernel(p, GEMM, 2 * US);
    int64_t from = p->now;
    for (int i = 0; i < 40; i++) host(p, 20 * US), kernel(p, ADD, 2 * US);
    mk_host(&p->t, GP_RANGE, p->main, from, p->now, "Optimizer.step#Adam.step");
}

static void chain_of_a_model(struct program *p)
{
    host(p, 20 * US), kernel(p, GEMM, 2 * US);
    for (int i = 0; i < 40; i++) host(p, 20 * US), kernel(p, ADD, 2 * US);
}

/* ---- casts and copies ---- */

#define CAST                                                                                                 \
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()::LoadWithCast<1> "   \
    ">(int)"
#define MEAN                                                                                                 \
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(int)"
#define STATS                                                                                                \
    "void at::native::vectorized_elementwise_kernel<4, "                                                     \
    "at::native::batch_norm_calc_invstd(float)::{lambda()#1}>()"
#define REORDER                                                                                              \
    "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda()::{lambda()#3} >(int)"
#define JOIN  "void at::native::CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 3, 64, 64>(int)"
#define FUSED "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<3>, FusedAdamMathFunctor>"

static void cast_before(struct program *p, const char *next)
{
    host(p, 20 * US), kernel(p, CAST, 50 * US);
    host(p, 20 * US), kernel(p, CAST, 50 * US);
    host(p, 20 * US), kernel(p, next, 100 * US);
    host(p, 20 * US), kernel(p, GEMM, 100 * US);
}

static void casts_of_statistics(struct program *p) { cast_before(p, STATS); }

static void casts_of_weights(struct program *p) { cast_before(p, GEMM); }

static void casts_in_training(struct program *p)
{
    cast_before(p, GEMM);
    kernel(p, FUSED, 20 * US);
}

static void casts_of_channels(struct program *p)
{
    for (int i = 0; i < 4; i++) {
        host(p, 20 * US), kernel(p, CAST, 50 * US);
        host(p, 20 * US),
            kernel(p, "void cudnn::engines_precompiled::nchwToNhwcKernel<half, half>()", 20 * US);
        host(p, 20 * US), kernel(p, GEMM, 100 * US);
    }
}

/* The host is late: of six casts, five are of weights, whatever the longest takes. */
static void casts_by_count(struct program *p)
{
    host(p, 100 * US), kernel(p, CAST, 20 * US), host(p, 100 * US), kernel(p, MEAN, 20 * US);
    for (int i = 0; i < 5; i++) {
        host(p, 100 * US), kernel(p, CAST, 2 * US);
        host(p, 100 * US), kernel(p, GEMM, 10 * US);
    }
}

static void casts_of_activations(struct program *p) { cast_before(p, MEAN); }

static void copies(struct program *p)
{
    host(p, 20 * US), kernel(p, REORDER, 100 * US);
    host(p, 20 * US), kernel(p, GEMM, 100 * US);
}

static void joins(struct program *p)
{
    kernel(p, JOIN, 100 * US);
    copies(p);
}

static void few_joins(struct program *p)
{
    kernel(p, JOIN, 10 * US);
    copies(p);
}

static void copies_in(struct program *p, const char *file)
{
    for (int i = 0; i < 4; i++) {
        host(p, 20 * US), kernel(p, i % 2 ? GEMM : REORDER, 100 * US);
        frame(p, "train", "/srv/train.py", 12, true);
        frame(p, "rotate", file, 120, false);
        frame(p, "forward", "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", 125, false);
    }
}

static void copies_of_library(struct program *p)
{
    copies_in(p, "/opt/lib/python3.12/site-packages/transformers/models/llama/modeling_llama.py");
}

static void own_copies(struct program *p) { copies_in(p, "/srv/model.py"); }

/* ---- reads and waits ---- */

static void count_then_select(struct program *p)
{
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 2 * US, 4, true);
    host(p, 20 * US),
        kernel(p, "void cub::detail::scan::DeviceCompactInitKernel<cub::ScanTileState<int>, int*>(int)",
               2 * US);
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
}

static void read_by_library(struct program *p)
{
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 2 * US, 1, true);
    frame(p, "evaluate", "/srv/train.py", 12, true);
    frame(p, "_check", "/opt/lib/python3.12/site-packages/torchmetrics/functional/checks.py", 80, false);
    frame(p, "item", "/opt/lib/python3.12/site-packages/torch/_tensor.py", 9, false);
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
}

/* The same, and the program reads one of its own. */
static void read_by_both(struct program *p)
{
    read_by_library(p), read_by_library(p);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 2 * US, 4, true);
    frame(p, "evaluate", "/srv/train.py", 14, true);
}

static void read_in(struct program *p, const char *op)
{
    int64_t from = p->now;
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 2 * US, 8, true);
    if (op) mk_host(&p->t, GP_OP, p->main, from, p->now, op);
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
}

static void read_by_somebody(struct program *p) { read_in(p, NULL); }

static void counting(struct program *p) { read_in(p, "aten::bincount"); }

static void repeating(struct program *p) { read_in(p, "aten::repeat_interleave"); }

/* A GradScaler asks once whether gradients are finite; what comes between clips them. */
static void read_of_scaler(struct program *p)
{
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
    kernel(
        p,
        "void multi_tensor_apply_kernel<at::native::_amp_foreach_non_finite_check_and_unscale_cuda_()>(int)",
        2 * US);
    kernel(p, ADD, 2 * US);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 2 * US, 4, true);
    for (int i = 0; i < 5; i++) host(p, 20 * US), kernel(p, GEMM, 200 * US);
}

static void plain_read(struct program *p) { read_value_in(p, "train.py(12): log"); }

/* Between two of which the host reads a value, there is no chain to compile. */
static void decisions(struct program *p)
{
    for (int i = 0; i < 20; i++) {
        host(p, 20 * US), kernel(p, ADD, 2 * US);
        copy(p, "Memcpy DtoH (Device -> Pinned)", 1 * US, 1, true);
    }
}

/* ---- memory, copies, graphs ---- */

static void allocate(struct program *p, int from, int to)
{
    host(p, 20 * US), kernel(p, GEMM, 20 * US);
    if (p->steps >= from && p->steps < to)
        for (int i = 0; i < 5; i++) call(p, "cudaMalloc", 200 * US);
    host(p, 20 * US), kernel(p, GEMM, 20 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void cache_that_grows(struct program *p) { allocate(p, 0, 5); }

static void always_anew(struct program *p) { allocate(p, 0, 10); }

static void results(struct program *p)
{
    host(p, 20 * US), kernel(p, GEMM, 200 * US);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 200 * US, 1 << 22, false);
}

static void batches(struct program *p)
{
    copy(p, "Memcpy HtoD (Pinned -> Device)", 200 * US, 1 << 22, false);
    host(p, 20 * US), kernel(p, GEMM, 200 * US);
}

static void launches_of(struct program *p, const char *name)
{
    for (int i = 0; i < 50; i++) host(p, 20 * US), kernel(p, name, 2 * US);
}

static void own_kernels(struct program *p) { launches_of(p, "solve(float*)"); }

static void torch_kernels(struct program *p) { launches_of(p, ADD); }

/* ---- optimizers ---- */

#define MANY(functor)                                                                                        \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>, " functor      \
    " >(int)"
#define ADDS   MANY("BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float")
#define SCALES MANY("BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float")
#define COUNTS MANY("BinaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float")
#define ROOTS  MANY("UnaryOpFunctor<float, 2, 1, 1>, at::native::Sqrt<float>")
#define COPIES MANY("UnaryOpFunctor<float, 2, 1, 1>, at::native::Copy<float, float>")
#define MANGLED_COPIES                                                                                       \
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEE"                 \
    "NS1_14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4CopyIffEEEEEvT_T0_DpT1_"
#define ZEROS  MANY("ZeroFunctor<float, 1, 1, 0>")
#define NORMS  MANY("at::native::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>, float*, int")
#define CLIPS  MANY("BinaryOpScalarTensorFunctor<float, 1, 1, 0>, std::multiplies<float>, float*, float")
#define MERGED MANY("FusedSgdMathFunctor<float, 2>, double, double, float*, double, double, bool")

/* Eight launches of one, then of the other. */
static void launches_two(struct program *p, const char *one, const char *other)
{
    host(p, 20 * US), kernel(p, GEMM, 20 * US);
    for (int i = 0; i < 16; i++) host(p, 20 * US), kernel(p, i < 8 ? one : other, 10 * US);
}

static void plain_sgd(struct program *p) { launches_two(p, ZEROS, ADDS); }

static void momentum(struct program *p) { launches_two(p, SCALES, ADDS); }

static void fused_adam(struct program *p) { launches_two(p, COUNTS, FUSED); }

static void fused_and_another(struct program *p) { launches_two(p, ROOTS, FUSED); }

static void fused_sgd(struct program *p) { launches_two(p, MERGED, MERGED); }

static void clipping(struct program *p) { launches_two(p, NORMS, CLIPS); }

/* Copies as recorded by one tool and by another. */
static void adam(struct program *p)
{
    host(p, 20 * US), kernel(p, MANGLED_COPIES, 10 * US);
    launches_two(p, COPIES, ROOTS);
}

TEST(copies_of_many_tensors_are_no_update)
{
    struct program p;
    run(&p, adam);
    const struct gp_suggestion *s = said(&p, "optimizer");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "runs 8 kernels per step: 80"));
    end(&p);
}

/* ---- attention ---- */

#define SOFTMAX "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(int)"
#define NEGINF  "void at::native::vectorized_elementwise_kernel<4, at::native::isneginf_kernel_impl()>(int)"

static void eager_attention(struct program *p)
{
    host(p, 20 * US), kernel(p, GEMM, 100 * US), kernel(p, ADD, 40 * US), kernel(p, SOFTMAX, 60 * US);
    kernel(p, ADD, 40 * US), kernel(p, GEMM, 100 * US);
}

static void safe_attention(struct program *p)
{
    host(p, 20 * US), kernel(p, GEMM, 100 * US), kernel(p, ADD, 40 * US), kernel(p, SOFTMAX, 60 * US);
    kernel(p, NEGINF, 40 * US), kernel(p, ADD, 40 * US), kernel(p, GEMM, 100 * US);
}

/* What an action says, and what it must not. */
static const struct {
    const char *rule;
    void (*step)(struct program *);
    const char *says, *not ;
} words[] = {
    {"cast_churn", casts_of_weights, "keep the parameters", "FP32 copies"},
    {"cast_churn", casts_in_training, "FP32 copies", "beside them"},
    {"cast_churn", casts_of_channels, "make inputs in it", "beside them"},
    {"cast_churn", casts_by_count, "keep the parameters", "beside them"},
    {"cast_churn", casts_of_activations, "fuse these casts", "parameters"},
    {"layout_churn", copies, "drop .contiguous()", "library"},
    {"layout_churn", joins, "write into one tensor", ".contiguous()"},
    {"layout_churn", few_joins, "drop .contiguous()", "one tensor"},
    {"layout_churn", copies_of_library, "which a library makes", "in your own code"},
    {"layout_churn", own_copies, "in your own code", "library"},
    {"scalar_read", count_then_select, "apply masks with where()", "torch"},
    {"scalar_read", counting, "scatter_add_ of ones", "nonzero"},
    {"scalar_read", repeating, "output_size", "nonzero"},
    {"scalar_read", read_by_library, "let the library that reads them", "every few steps"},
    {"scalar_read", read_by_both, "your own code reads once per step: do that only every few steps", "where"},
    {"scalar_read", read_by_somebody, "in a library's code", "let the library"},
    {"scalar_read", plain_read, "every few steps", "a library"},
    {"copy_overlap", results, "copy the results back", "batch"},
    {"copy_overlap", batches, "next batch", "results"},
    {"cuda_graph", own_kernels, "cudaStreamBeginCapture", "reduce-overhead"},
    {"cuda_graph", torch_kernels, "reduce-overhead", "cudaStreamBeginCapture"},
    {"attention", eager_attention, "attn_implementation", "sdpa_kernel"},
    {"attention", safe_attention, "sdpa_kernel", "attn_implementation"},
    {"cuda_graph", momentum, "torch.cuda.graph, or", "capturable"},
    {"cuda_graph", fused_sgd, "torch.cuda.graph, or", "capturable"},
    {"cuda_graph", fused_adam, "capturable=True", "cudaStreamBeginCapture"},
    {"cuda_graph", adam, "capturable=True", "cudaStreamBeginCapture"},
};

TEST(actions_can_be_followed)
{
    for (size_t i = 0; i < GP_COUNT(words); i++) {
        struct program p;
        run(&p, words[i].step);
        const struct gp_suggestion *s = said(&p, words[i].rule);
        assert_non_null(s);
        assert_non_null(strstr(gp_suggest_str(&p.s, s->action), words[i].says));
        assert_null(strstr(gp_suggest_str(&p.s, s->action), words[i].not ));
        end(&p);
    }
}

/* What only looks like the case of RULE, and the case itself, unless it stands in other tests. */
static const struct {
    const char *rule;
    void (*wrong)(struct program *p), (*right)(struct program *p);
} cases[] = {
    {"scalar_read", scaler, own_loss},
    {"scalar_read", optimizer, own_loss},
    {"caching", gradients_of_slices, masks},
    {"lock_wait", waits_for_backward, NULL},
    {"garbage_collection", collects_beside, collects_between},
    {"logging", logs_beside, logs_between},
    {"import", imports_beside, imports_between},
    {"compile", optimizer_in_a_loop, chain_of_a_model},
    {"cast_churn", casts_of_statistics, casts_of_activations},
    {"scalar_read", read_of_scaler, plain_read},
    {"compile", decisions, chain_of_a_model},
    {"allocation", cache_that_grows, always_anew},
    {"optimizer", plain_sgd, momentum},
    {"optimizer", fused_adam, fused_and_another},
    {"optimizer", fused_sgd, adam},
    {"optimizer", clipping, NULL},
};

TEST(what_is_not_theirs_is_left_alone)
{
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct program p;
        run(&p, cases[i].wrong);
        assert_null(said(&p, cases[i].rule));
        end(&p);
        if (!cases[i].right) continue;
        run(&p, cases[i].right);
        assert_non_null(said(&p, cases[i].rule));
        end(&p);
    }
}

TEST(the_time_of_backward_is_not_held_by_a_lock)
{
    struct program p;
    run(&p, waits_for_backward);
    const struct gp_suggestion *s = said(&p, "cuda_graph");
    assert_non_null(s); // 42 launches of 24 us, of which one stays
    assert_true(s->saving_high_ns > p.s.step.step_ns / 2);
    end(&p);
}
