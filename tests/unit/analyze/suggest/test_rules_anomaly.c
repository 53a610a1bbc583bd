// Autograd's anomaly detection, and other checks for NaN, which are the program's.
#include "tests/unit/program_make.h"

#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define TANH                                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, "                                                     \
    "at::native::tanh_kernel_cuda(at::TensorIteratorBase&) >(int)"
#define IS_NAN "void at::native::vectorized_elementwise_kernel<4, at::native::CompareEqFunctor<float> >(int)"
#define ANY    "void at::native::reduce_kernel<512, 1, at::native::or_kernel_cuda(at::TensorIterator&) >(int)"

/* isnan, any, and the host reads the answer, of BYTES. */
static void look_for_nan(struct program *p, int64_t bytes)
{
    host(p, 10 * US), kernel_of(p, IS_NAN, 4, 1 * US);
    host(p, 10 * US), kernel_of(p, ANY, 1, 1 * US);
    host(p, 10 * US), copy(p, "Memcpy DtoH (Device -> Pinned)", 1 * US, bytes, true);
}

/* Ten launches forward, FORWARD_NS of the host before each, and ten backward, CHECKED of them checked. */
static void train(struct program *p, int64_t forward_ns, int checked, int64_t bytes)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (int i = 0; i < 10; i++) host(p, forward_ns), kernel_of(p, i % 2 ? TANH : GEMM, 10, 1 * US);
    p->main = mk_thread(&p->t, process, 200); /* autograd's own */
    for (int i = 0; i < 10; i++) {
        host(p, 10 * US), kernel_of(p, i % 2 ? TANH : GEMM, 10, 1 * US);
        if (i < checked) look_for_nan(p, bytes);
    }
    p->main = main;
    wait(p, "cudaDeviceSynchronize");
}

static void detects(struct program *p) { train(p, 100 * US, 10, 1); }

static void detects_without_tracebacks(struct program *p) { train(p, 10 * US, 10, 1); }

static void two_checks(struct program *p) { train(p, 100 * US, 2, 1); }

/* The host reads norms. */
static void reads_values(struct program *p) { train(p, 100 * US, 10, 4); }

/* The program looks itself, forward. */
static void looks_forward(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 10 * US), kernel_of(p, GEMM, 10, 1 * US), look_for_nan(p, 1);
}

/* The program looks in a hook of each gradient: its function is within autograd. */
static void looks_in_hooks(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    host(p, 10 * US), kernel_of(p, GEMM, 10, 1 * US);
    p->main = mk_thread(&p->t, process, 200);
    for (int i = 0; i < 10; i++) {
        host(p, 10 * US), kernel_of(p, GEMM, 10, 1 * US);
        int64_t from = p->now;
        look_for_nan(p, 1);
        mk_host(&p->t, GP_PYTHON, p->main, from, p->now, "train.py(12): check");
    }
    p->main = main;
    wait(p, "cudaDeviceSynchronize");
}

TEST(autograd_looks_for_nan_in_each_gradient)
{
    // two kernels of 14 us each, and a copy: 10 us before it, which ends 11 us after the call began
    int64_t check = (2 * 14 + 10 + 11) * US;
    // of the 100 us before each of ten launches forward, at least all but 40 go, at most all but 10
    speaks(detects, "anomaly_detection", 10 * check + 10 * 60 * US, 10 * check + 10 * 90 * US);
    speaks(detects_without_tracebacks, "anomaly_detection", 10 * check, 10 * check);
    struct program p;
    run(&p, detects);
    assert_non_null(
        strstr(gp_suggest_str(&p.s, said(&p, "anomaly_detection")->action), "set_detect_anomaly(False)"));
    assert_null(said(&p, "scalar_read"));
    end(&p);
}

TEST(checks_of_the_program_are_its_own)
{
    is_silent(two_checks, "anomaly_detection");
    is_silent(reads_values, "anomaly_detection");
    is_silent(looks_forward, "anomaly_detection");
    is_silent(looks_in_hooks, "anomaly_detection");
}
