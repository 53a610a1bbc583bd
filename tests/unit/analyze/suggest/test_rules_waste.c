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

/* ---- results of which little is read ---- */

#define AT         "void at::native::"
#define BROADCAST  AT "elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
#define VECTORIZED AT "vectorized_elementwise_kernel<4, at::native::"
#define SUBTRACT   BROADCAST "at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&)>(int)"
#define TIMES      BROADCAST "at::native::BinaryFunctor<float, float, float, MulFunctor<float> > >(int)>(int)"
#define SQUARE     VECTORIZED "pow_tensor_scalar_kernel_impl<float, float>(float)::{lambda(float)#1}, " ARRAYS
#define EXP        VECTORIZED "exp_kernel_cuda()::{lambda(float)#1}, " ARRAYS
#define ARRAYS     "std::array<char*, 2ul> >(int)"
#define SUMS       AT "reduce_kernel<512, 1, at::native::ReduceOp<float, sum_functor<float> > >(int)"
#define NORMS      AT "reduce_kernel<512, 1, at::native::ReduceOp<float, NormTwoOps<float> > >(int)"
#define SOFTMAX    AT "(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(float*)"
#define CAT        AT "(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 64>(int)"
#define ATTENTION  "flash_fwd_splitkv_kernel"

/* A kernel with a grid of X by Y blocks, each of 32 by 16 threads. */
static void kernel_by(struct program *p, const char *name, uint32_t x, uint32_t y, int64_t dur)
{
    kernel_of(p, name, x, dur);
    struct gp_events *gpu = &p->t.events[GP_GPU];
    struct gp_config c = *gp_gpu_config(&p->t, gpu->n - 1);
    c.grid[1] = y, c.block[0] = 32, c.block[1] = 16, c.block[2] = 1;
    gp_set_config(gpu, gpu->n - 1, gp_trace_config(&p->t, &c));
}

/* A model, then its head and a softmax of so many ROWS, of which what follows reads N values. */
static void head(struct program *p, uint32_t rows, int64_t n)
{
    kernel_by(p, AT "vectorized_gather_kernel<16, long>(int)", 4, 1, 10 * US);
    kernel(p, GEMM, 300 * US);
    kernel_by(p, "head_128x128_gemm", 132, 1, 400 * US);
    kernel_by(p, EXP, 65536, 1, 300 * US), kernel_by(p, SOFTMAX, rows, 1, 600 * US);
    for (; n > 0; n -= 256) kernel_by(p, TIMES, 1, 1, 1 * US);
}

static void last_token(struct program *p) { head(p, 16384, 1024), wait(p, "cudaDeviceSynchronize"); }
static void few_rows(struct program *p) { head(p, 2048, 256), wait(p, "cudaDeviceSynchronize"); }
static void nothing_read(struct program *p) { head(p, 16384, 0), wait(p, "cudaDeviceSynchronize"); }
static void each_row(struct program *p)
{
    head(p, 16384, 0), kernel_by(p, GATHER, 64, 1, 2 * US), wait(p, "cudaDeviceSynchronize");
}
static void most_probable(struct program *p)
{
    head(p, 16384, 256), kernel_by(p, SUMS, 1, 1, 200 * US), wait(p, "cudaDeviceSynchronize");
}
/* The state of the next step, of which a value is shown in each. */
static void kept(struct program *p)
{
    kernel_by(p, GEMM, 132, 1, 400 * US), kernel_by(p, EXP, 65536, 1, 300 * US);
    kernel_by(p, TIMES, 1, 1, 1 * US), kernel_by(p, "other_gemm", 1, 1, 1 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(results_of_which_a_few_rows_are_read)
{
    speaks(last_token, "unread_result", 843 * US, 1218 * US);
    is_silent(few_rows, "unread_result");
    is_silent(nothing_read, "unread_result");
    is_silent(each_row, "unread_result");
    is_silent(most_probable, "unread_result");
    is_silent(kept, "unread_result");
}

/* ---- arrays of all pairs ---- */

enum { PAIRS = 262144, ROWS = 131072 }; /* blocks: 2^26 values, of which 32 are added up each time */

static void after_sums(struct program *p, int64_t dur)
{
    kernel_by(p, AT "reduce_kernel<512, 1, at::native::ReduceOp<float, MinOps<float> > >(int)", 64, 1, dur);
    wait(p, "cudaDeviceSynchronize");
}

static void squares(struct program *p)
{
    host(p, 10 * US), kernel(p, "before", 50 * US), kernel_by(p, SUBTRACT, PAIRS, 1, 300 * US);
    kernel_by(p, SQUARE, PAIRS / 4, 1, 200 * US), kernel_by(p, SUMS, ROWS, 1, 400 * US);
}

static void distances(struct program *p) { squares(p), after_sums(p, 20 * US); }
static void norms(struct program *p)
{
    host(p, 10 * US), kernel(p, "before", 50 * US), kernel_by(p, SUBTRACT, PAIRS, 1, 300 * US);
    kernel_by(p, NORMS, ROWS, 1, 400 * US), after_sums(p, 20 * US);
}
static void product_by_hand(struct program *p)
{
    host(p, 10 * US), kernel(p, "before", 50 * US), kernel_by(p, TIMES, PAIRS, 1, 300 * US);
    kernel_by(p, SUMS, ROWS, 1, 400 * US), after_sums(p, 20 * US);
}
/* Bodies that attract each other: the differences are weighted afterwards. */
static void forces(struct program *p)
{
    squares(p), kernel_by(p, TIMES, PAIRS, 1, 300 * US), after_sums(p, 20 * US);
}
static void read_whole(struct program *p) { squares(p), after_sums(p, 200 * US); }
static void squared_error(struct program *p)
{
    host(p, 10 * US), kernel(p, "before", 50 * US), kernel_by(p, SUBTRACT, PAIRS, 1, 300 * US);
    kernel_by(p, SQUARE, PAIRS / 4, 1, 200 * US), kernel_by(p, SUMS, 1, 1024, 400 * US);
    after_sums(p, 20 * US);
}
static void variance(struct program *p)
{
    host(p, 10 * US), kernel_by(p, SUMS, ROWS, 1, 300 * US), kernel_by(p, SUBTRACT, PAIRS, 1, 300 * US);
    kernel_by(p, SQUARE, PAIRS / 4, 1, 200 * US), kernel_by(p, SUMS, ROWS, 1, 400 * US);
    after_sums(p, 20 * US);
}
/* Operands of one size. */
static void differences(struct program *p)
{
    host(p, 10 * US), kernel(p, "before", 50 * US);
    kernel_by(p, VECTORIZED "CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)", PAIRS / 4, 1, 300 * US);
    kernel_by(p, SQUARE, PAIRS / 4, 1, 200 * US), kernel_by(p, SUMS, ROWS, 1, 400 * US);
    after_sums(p, 20 * US);
}

TEST(arrays_of_all_pairs_are_only_added_up)
{
    speaks(distances, "pairwise_sums", 287500, 843750);
    speaks(norms, "pairwise_sums", 100 * US, 656250);
    speaks(product_by_hand, "pairwise_sums", 100 * US, 656250);
    is_silent(forces, "pairwise_sums");
    is_silent(read_whole, "pairwise_sums");
    is_silent(squared_error, "pairwise_sums");
    is_silent(variance, "pairwise_sums");
    is_silent(differences, "pairwise_sums");
    is_silent(distances, "fusion");
    struct program p;
    run(&p, product_by_hand);
    const struct gp_suggestion *s = said(&p, "pairwise_sums");
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "einsum"));
    end(&p);
}

/* ---- tensors that are joined again ---- */

/* Tokens of a text, each of which joins keys and values of N layers to the earlier ones. */
static void tokens(struct program *p, int n, int64_t writes)
{
    for (int i = 0; i < n; i++) {
        kernel(p, GEMM, 5 * US), kernel(p, "rotary", writes);
        kernel_by(p, CAT, 264, 2, 500 * US), kernel(p, "rotary", writes), kernel_by(p, CAT, 264, 2, 500 * US);
        kernel(p, ATTENTION, 100 * US);
    }
    wait(p, "cudaDeviceSynchronize");
}

static void grown(struct program *p) { tokens(p, 8, 2 * US); }
/* What is joined may have been written just before. */
static void made_anew(struct program *p) { tokens(p, 8, 40 * US); }
static void joined_once(struct program *p) { tokens(p, 1, 2 * US); }

/* Keys and values whose products took long: no join reads the other's result. */
static void two_joins(struct program *p)
{
    kernel(p, GEMM, 100 * US), kernel_by(p, CAT, 264, 2, 500 * US), kernel_by(p, CAT, 264, 2, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void says_reserve(void (*step)(struct program *), bool reserve)
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, "layout_churn");
    assert_non_null(s);
    assert_int_equal(strstr(gp_suggest_str(&p.s, s->action), "reserve memory") != NULL, reserve);
    assert_int_equal(s->saving_low_ns > 0, reserve);
    end(&p);
}

TEST(tensors_are_joined_to_what_was_joined_before)
{
    speaks(grown, "layout_churn", 4000 * US, 8000 * US);
    says_reserve(grown, true);
    says_reserve(made_anew, false);
    says_reserve(joined_once, false);
    says_reserve(two_joins, false);
    is_silent(two_joins, "fusion");
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

/* ---- gradients of embeddings ---- */

#define ZEROS   VECTORIZED "FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>)"
#define RADIX   "void cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<long, long>(int)"
#define SCATTER AT "(anonymous namespace)::sum_and_scatter<float, long>(long const*, float*)"
#define SUM_OF                                                                                               \
    VECTORIZED "CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)"
#define UPDATE AT "(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<3>, "
#define LERP   UPDATE "TernaryOpScalarFunctor<float, 3, 3, 2>, LerpFunctor<float>, float>(int)"
#define DIVIDE UPDATE "PointwiseOpScalarListFunctor<float, 4, 3, 0>, std::divides<float> >(int)"
#define FUSED  UPDATE "FusedAdamMathFunctor<float, 4, (ADAM_MODE)0, false>, float const*, double>(int)"

/* A gradient of ROWS rows of 64 numbers is filled, to eight of which each of BLOCKS blocks adds; AFTER:
 * another kernel of the backward pass. */
static void embedding(struct program *p, uint32_t rows, uint32_t blocks, const char *after)
{
    uint32_t main = p->main;
    kernel(p, GEMM, 400 * US);
    p->main = mk_thread(&p->t, p->t.tracks.at[main].process, 200);
    kernel_by(p, RADIX, 2, 1, 10 * US), kernel_by(p, ZEROS, rows / 16, 1, 100 * US);
    kernel_by(p, SCATTER, blocks, 1, 5 * US);
    if (after) kernel_by(p, after, rows / 16, 1, 150 * US);
    p->main = main;
    host(p, 20 * US);
}

/* Two kernels for each quarter of 1024 x 65536 parameters. */
static void adam(struct program *p)
{
    for (int i = 0; i < 4; i++) kernel_by(p, DIVIDE, 256, 1, 150 * US), kernel_by(p, LERP, 256, 1, 145 * US);
    wait(p, "cudaDeviceSynchronize");
}

#define ROWS (512 * 1024) /* half of the parameters */
#define MANY (ROWS / 64)  /* blocks that add to an eighth of them */

static void films(struct program *p) { embedding(p, ROWS, 64, NULL), adam(p); }

static void most_rows(struct program *p) { embedding(p, ROWS, MANY, NULL), adam(p); }

static void tied(struct program *p) { embedding(p, ROWS, 64, SUM_OF), adam(p); }

static void small_part(struct program *p) { embedding(p, ROWS / 64, 8, NULL), adam(p); }

static void on_ranks(struct program *p)
{
    embedding(p, ROWS, 64, NULL), kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 50 * US), adam(p);
}

static void little_to_gain(struct program *p)
{
    for (int i = 0; i < 20; i++) embedding(p, 1024, 1, NULL);
    kernel_by(p, FUSED, 100, 1, 20 * US), wait(p, "cudaDeviceSynchronize");
}

static void only_embeddings(struct program *p) { embedding(p, 2 * ROWS, 64, NULL), adam(p); }

static void no_update(struct program *p) { embedding(p, ROWS, 64, NULL), wait(p, "cudaDeviceSynchronize"); }

TEST(gradients_of_embeddings_that_are_nearly_all_zero)
{
    // 101 us of zeros, and half of 1,180 us of the optimizer; at least half of that, with 64 launches more
    // that end while the device works
    speaks(films, "dense_gradient", 101 * US + 295 * US, 101 * US + 590 * US);
    is_silent(most_rows, "dense_gradient");
    is_silent(no_update, "dense_gradient");
    is_silent(tied, "dense_gradient");
    is_silent(small_part, "dense_gradient"); // 110 us, and 64 launches take 256
    is_silent(on_ranks, "dense_gradient");
    is_silent(little_to_gain, "dense_gradient");
    struct program p;
    run(&p, films);
    assert_non_null(said(&p, "optimizer"));
    end(&p);
    run(&p, only_embeddings);
    assert_null(said(&p, "optimizer"));
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "dense_gradient")->action), "fused=True"));
    end(&p);
}
