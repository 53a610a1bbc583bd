// Work that is not needed: values that are sorted and not used, ways to compute a convolution that are tried
// again and again, turns of a compiled loop that are launched one by one; and what looks like that.
#include "tests/unit/program_make.h"

#define GEMM   "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define SORT   "void cub::detail::radix_sort::DeviceSegmentedRadixSortKernel<float>(int)"
#define INDEX  "void at::native::fill_reverse_indices_kernel(long*, int)"
#define GATHER "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)"
#define CUMSUM "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*)"
#define LAYOUT "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half>(int)"
#define RELU   "void at::native::vectorized_elementwise_kernel<8, at::native::clamp_scalar(float)>(int)"

/* ---- sorts ---- */

/* 400 us, with what is made for it. */
static void sort(struct program *p, int n)
{
    host(p, 10 * US), kernel(p, GEMM, 100 * US);
    copy(p, "Memcpy DtoD (Device -> Device)", 40 * US, 1 << 27, false);
    kernel(p, INDEX, 60 * US);
    for (int i = 0; i < n; i++) kernel(p, SORT, 100 * US);
}

static void best_of_rows(struct program *p)
{
    sort(p, 3), kernel(p, GATHER, 5 * US), wait(p, "cudaDeviceSynchronize");
}

/* All probabilities are added up, as for nucleus sampling. */
static void nucleus(struct program *p)
{
    sort(p, 3), kernel(p, CUMSUM, 20 * US), kernel(p, GATHER, 5 * US), wait(p, "cudaDeviceSynchronize");
}

static void kept_whole(struct program *p) { sort(p, 3), wait(p, "cudaDeviceSynchronize"); }

static void copied_whole(struct program *p)
{
    sort(p, 3), copy(p, "Memcpy DtoH (Device -> Pinned)", 50 * US, 1 << 20, true);
}

static void short_sort(struct program *p)
{
    for (int i = 0; i < 100; i++) host(p, 10 * US), kernel(p, GEMM, 100 * US);
    sort(p, 3), kernel(p, GATHER, 5 * US), wait(p, "cudaDeviceSynchronize");
}

TEST(rows_are_sorted_for_a_few_of_their_values)
{
    speaks(best_of_rows, "full_sort", 200 * US, 375 * US);
    is_silent(nucleus, "full_sort");
    is_silent(kept_whole, "full_sort");
    is_silent(copied_whole, "full_sort");
    is_silent(short_sort, "full_sort");
}

/* ---- convolutions ---- */

/* The host prepares for 10 ms, then each of N ways is tried twice, 38 us each time; WAYS of them differ. */
static void convolution(struct program *p, int n, int ways)
{
    host(p, n ? 10 * MS : 20 * US);
    if (n) wait(p, "cudaDeviceSynchronize");
    for (int i = 0; i <= 2 * n; i++) {
        char name[64];
        snprintf(name, sizeof name, "sm90_xmma_fprop_implicit_gemm_tile%d_kernel__5x_cudnn", i / 2 % ways);
        kernel(p, LAYOUT, 10 * US), kernel(p, i < 2 * n ? name : GEMM, 10 * US);
        if (i < 2 * n) wait(p, i % 2 ? "cudaEventSynchronize" : "cudaDeviceSynchronize");
    }
    host(p, 20 * US), kernel(p, RELU, 10 * US);
}

static void new_lengths(struct program *p) { convolution(p, 4, 4), wait(p, "cudaDeviceSynchronize"); }

static void known_lengths(struct program *p) { convolution(p, 0, 1), wait(p, "cudaDeviceSynchronize"); }

static void first_step_only(struct program *p)
{
    convolution(p, p->steps == 5 ? 4 : 0, 4), wait(p, "cudaDeviceSynchronize");
}

/* The same layer again and again, whose time is taken. */
static void timed_layers(struct program *p) { convolution(p, 4, 1), wait(p, "cudaDeviceSynchronize"); }

/* A network whose layers are timed one by one. */
static void timed_network(struct program *p)
{
    for (int i = 0; i < 8; i++) convolution(p, 0, 1), wait(p, "cudaEventSynchronize");
}

TEST(ways_to_compute_a_convolution_are_tried_in_each_step)
{
    struct program p;
    run(&p, new_lengths);
    const struct gp_suggestion *s = said(&p, "cudnn_benchmark");
    assert_non_null(s);
    // a half of the 10 ms before the trials, at most all but the part of one of four ways
    assert_in_range(s->saving_low_ns, 5 * MS / 2, 5 * MS + 400 * US);
    assert_in_range(s->saving_high_ns, 7500 * US, 10 * MS);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "benchmark = False"));
    assert_null(said(&p, "blocking_sync"));
    end(&p);
    is_silent(known_lengths, "cudnn_benchmark");
    is_silent(first_step_only, "cudnn_benchmark");
    is_silent(timed_layers, "cudnn_benchmark");
    is_silent(timed_network, "cudnn_benchmark");
}

/* ---- results ---- */

/* Twenty launches, and twice a result of BYTES, with which the host does something for 2 ms. */
static void results(struct program *p, int64_t bytes, bool back)
{
    for (int i = 0; i < 20; i++) host(p, 10 * US), kernel(p, GEMM, 10 * US);
    for (int i = 0; i < 2; i++) {
        copy(p, "Memcpy DtoH (Device -> Pageable)", 5 * US, bytes, true);
        host(p, 2 * MS);
        kernel(p, GATHER, 10 * US);
        if (back) copy(p, "Memcpy HtoD (Pageable -> Device)", 5 * US, bytes, true);
    }
    wait(p, "cudaDeviceSynchronize");
}

static void histograms(struct program *p) { results(p, 100000, false); }

static void values(struct program *p) { results(p, 4, false); }

static void changed_on_the_host(struct program *p) { results(p, 100000, true); }

TEST(the_host_works_on_results)
{
    speaks(histograms, "host_results", 2 * MS, 4 * MS);
    is_silent(values, "host_results");
    is_silent(changed_on_the_host, "host_results");
}

/* ---- compiled loops ---- */

/* 200 launches of JAX, 10 us each on the host and NS on the GPU, within a RANGE of XLA's. */
static void turns(struct program *p, const char *range, const char *name, int64_t ns)
{
    int64_t from = p->now;
    for (int i = 0; i < 200; i++) host(p, 6 * US), kernel(p, name, ns);
    mk_host(&p->t, GP_RANGE, p->main, from, p->now, range);
    wait(p, "cudaDeviceSynchronize");
}

#define WHILE "TSL:Thunk:#name=jit(update)/jvp()/while,hlo_op=while.12,unique_hlo_op_id=3#"

static void scan(struct program *p) { turns(p, WHILE, "loop_add_fusion", 1 * US); }

static void scan_in_a_profile_of_jax(struct program *p) { turns(p, "while.12", "loop_add_fusion", 1 * US); }

static void scan_of_reductions(struct program *p) { turns(p, WHILE, "input_reduce_fusion", 1 * US); }

static void scan_of_large_turns(struct program *p) { turns(p, WHILE, "loop_add_fusion", 20 * US); }

static void loop_of_python(struct program *p)
{
    turns(p, "TSL:XlaModule:#hlo_module=jit_while.step,program_id=7#", "loop_add_fusion", 1 * US);
}

TEST(turns_of_a_compiled_loop_are_launched_one_by_one)
{
    // of 200 launches all but the first, at least seven of eight, go
    speaks(scan, "scan_loop", 174 * 10 * US, 199 * 10 * US);
    speaks(scan_in_a_profile_of_jax, "scan_loop", 174 * 10 * US, 199 * 10 * US);
    struct program p;
    run(&p, scan_of_reductions);
    assert_int_equal(said(&p, "scan_loop")->saving_low_ns, 0);
    end(&p);
    is_silent(scan_of_large_turns, "scan_loop");
    is_silent(loop_of_python, "scan_loop");
}

/* ---- to the host and back ---- */

/* Four functions, each of which copies to the GPU and back: another kernel each, or the SAME. The host takes
 * 100 us after each. */
static void functions(struct program *p, bool same, int64_t bytes)
{
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "cupy_function_%d", same ? 0 : i);
        copy(p, "Memcpy HtoD (Pinned -> Device)", 100 * US, 4 * bytes, false);
        kernel(p, name, 50 * US);
        copy(p, "Memcpy DtoH (Device -> Pageable)", 300 * US, i == 3 ? bytes : 4 * bytes, true);
        host(p, 100 * US);
    }
}

static void passes_arrays(struct program *p) { functions(p, false, 1 << 20); }

static void frames_of_a_film(struct program *p) { functions(p, true, 1 << 20); }

static void few_values_each(struct program *p) { functions(p, false, 1000); }

TEST(arrays_pass_by_the_host)
{
    // three copies each way, and at most the host's 100 us between them
    speaks(passes_arrays, "round_trip", 3 * 400 * US, 3 * 500 * US);
    is_silent(frames_of_a_film, "round_trip");
    is_silent(few_values_each, "round_trip");
    struct program p;
    run(&p, passes_arrays);
    assert_null(said(&p, "pageable_copy"));
    end(&p);
}
