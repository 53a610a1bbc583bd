// Programs in which what a rule advises was done already, or cannot be done as it says.
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define ELEMENTWISE "void at::native::vectorized_elementwise_kernel<4, F, std::array<char*, 2ul> >(int, F)"
#define GEMM        "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define JOIN        "void at::native::CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 3, 64, 64>(int)"
#define FOREACH                                                                                              \
    "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, at::native::Sqrt<float> >(F)"

// ---- layout_churn ----

static void joined(struct program *p)
{
    kernel(p, JOIN, 100 * US), kernel(p, GEMM, 300 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void joined_as_a_gradient(struct program *p)
{
    int64_t from = p->now;
    kernel(p, JOIN, 100 * US);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "autograd::engine::evaluate_function: SplitBackward0");
    kernel(p, GEMM, 300 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(gradients_of_splits_are_no_joins_of_the_program)
{
    speaks(joined, "layout_churn", 0, 101 * US);
    is_silent(joined_as_a_gradient, "layout_churn");
}

// ---- cuda_graph ----

static void step_of(struct program *p, const char *last)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
    for (int i = 0; i < 4; i++) host(p, 30 * US), kernel(p, last, 2 * US);
}

static void without_optimizer(struct program *p) { step_of(p, ELEMENTWISE); }

static void with_optimizer(struct program *p) { step_of(p, FOREACH); }

TEST(a_graph_has_at_least_all_but_the_optimizer)
{
    struct program p;
    // A step takes 14 * 34 = 476 us. In one graph the GPU needs 14 * 2 us, 13 gaps of 1.5 us and 60 us to
    // start: 107.5 us, so 368.5 us less. Its optimizer outside, the host takes 30 us and 10 for the launch,
    // and 4 * 34 us for the optimizer: 176 us, so 300 us less. 30% of that, 1% of the step and 3% of what the
    // GPU waits go off; what precedes the first graph is off by less than 10 us.
    run(&p, without_optimizer);
    const struct gp_suggestion *s = said(&p, "cuda_graph");
    assert_non_null(s);
    assert_in_range(s->saving_low_ns, 235 * US, 243 * US);
    assert_null(strstr(gp_suggest_str(&p.s, s->action), "capturable"));
    end(&p);
    run(&p, with_optimizer);
    s = said(&p, "cuda_graph");
    assert_non_null(s);
    assert_in_range(s->saving_low_ns, 188 * US, 197 * US);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "capturable=True"));
    end(&p);
}

// ---- python_gap ----

static void unseen(struct program *p)
{
    for (int i = 0; i < 6; i++) {
        host(p, i == 3 ? 300 * US : 10 * US), kernel(p, ELEMENTWISE, 2 * US);
        mk_host(&p->t, GP_OP, p->main, p->now - 5 * US, p->now, "aten::add");
    }
}

TEST(advice_to_look_promises_nothing)
{
    struct program p;
    run(&p, unseen);
    const struct gp_suggestion *s = said(&p, "python_gap");
    assert_non_null(s);
    assert_true(s->saving_ns * 20 > p.s.step.step_ns); // of a change that would be high
    assert_int_equal(s->priority, GP_PRIORITY_LOW);
    end(&p);
}

/* ---- what to record of a kernel that no name explains ---- */

static bool notes(void (*step)(struct program *), const char *words)
{
    struct program p;
    bool found = false;
    run(&p, step);
    for (size_t i = 0; i < p.s.notes.n; i++)
        found |= strstr(gp_suggest_str(&p.s, p.s.notes.at[i]), words) != NULL;
    end(&p);
    return found;
}

static void own_kernel(struct program *p) { host(p, 20 * US), kernel(p, "linear_kernel", 900 * US); }

static void own_attention(struct program *p) { host(p, 20 * US), kernel(p, "attention_kernel", 900 * US); }

static void attention_of_a_library(struct program *p)
{
    host(p, 20 * US), kernel(p, "fmha_cutlassF_f16_aligned_64x128_rf_sm80(Params)", 900 * US);
}

static void product(struct program *p)
{
    host(p, 20 * US), kernel(p, "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT", 900 * US);
}

static void many_own_kernels(struct program *p)
{
    for (int i = 0; i < 3; i++)
        host(p, 20 * US), kernel(p, i ? i > 1 ? "c" : "b" : "linear_kernel", 300 * US);
}

/* A copy that the host waits for is a small part of the step. */
static void own_kernel_and_a_copy(struct program *p)
{
    own_kernel(p), copy(p, "Memcpy DtoH (Device -> Pageable)", 20 * US, 1 << 16, true), host(p, 20 * US);
}

/* Copies are as long as the kernel. */
static void own_kernel_and_copies(struct program *p)
{
    own_kernel(p), copy(p, "Memcpy HtoD (Pageable -> Device)", 600 * US, 1 << 24, true), host(p, 200 * US);
}

TEST(what_to_record_of_a_kernel_that_no_name_explains)
{
    assert_true(notes(own_kernel_and_a_copy, "--pc-sample"));
    assert_false(notes(own_kernel_and_copies, "--pc-sample"));
    assert_true(notes(own_kernel, "linear_kernel takes 100% of the GPU's time"));
    assert_true(notes(own_kernel, "--pc-sample"));
    assert_true(notes(own_attention, "--pc-sample"));
    assert_false(notes(attention_of_a_library, "--pc-sample"));
    assert_false(notes(product, "--pc-sample"));
    assert_false(notes(many_own_kernels, "--pc-sample"));
}
