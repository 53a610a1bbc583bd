// Loops within a step: items, experts, an environment on the host, the forward pass within backward; and what
// looks like them. Savings by hand.
#include "tests/unit/program_make.h"

#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define ADD  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
#define NORM "void at::native::vectorized_layer_norm_kernel<float>(int)"
#define LOOK "void at::native::vectorized_gather_kernel<16, long>(char*)"
#define SUM  "void at::native::indexFuncLargeIndex<float>(int)"
#define LESS                                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, at::native::compare_scalar_kernel<float> >(int)"
#define DRAW "void at::native::distribution_elementwise_grid_stride_kernel<float, 4>(int)"
#define FUSED                                                                                                \
    "void at::native::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<3>, "                       \
    "FusedAdamMathFunctor>(int)"

static const uint32_t sizes[] = {10, 30, 20, 50, 5, 15, 40, 25}; /* up and down */

static void model(struct program *p, uint32_t blocks)
{
    host(p, 20 * US), kernel_of(p, GEMM, blocks, 2 * US);
    host(p, 20 * US), kernel_of(p, ADD, blocks, 2 * US);
    host(p, 20 * US), kernel_of(p, GEMM, blocks, 2 * US);
}

static void in(struct program *p, int64_t bytes)
{
    host(p, 20 * US), copy(p, "Memcpy HtoD (Pageable -> Device)", 2 * US, bytes, false);
}

static void out(struct program *p, int64_t bytes)
{
    copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, bytes, true);
}

/* 25 us for the copy, 3 times 24 us, and 12 us until the result is there: 109 us per item. */
static void items(struct program *p)
{
    for (int i = 0; i < 8; i++) in(p, 100 * sizes[i]), model(p, sizes[i]), out(p, 3072);
}

static void items_of_one_size(struct program *p)
{
    for (int i = 0; i < 8; i++) in(p, 4096), model(p, 10), out(p, 3072);
}

static void layers(struct program *p)
{
    in(p, 4096);
    for (int i = 0; i < 8; i++) model(p, 10);
    out(p, 3072);
}

/* Each token is looked at: has the text ended? */
static void tokens(struct program *p)
{
    for (uint32_t i = 0; i < 8; i++) model(p, 10 + i), out(p, 8);
}

static void updates(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        in(p, 100 * sizes[i]), model(p, sizes[i]);
        host(p, 20 * US), kernel_of(p, FUSED, 10, 2 * US);
    }
}

/* Nothing but a copy and a kernel: no model. */
static void copies(struct program *p)
{
    for (int i = 0; i < 8; i++) in(p, 100 * sizes[i]), kernel_of(p, ADD, sizes[i], 2 * US), out(p, 3072);
}

TEST(items_one_after_the_other)
{
    // all but one of 8 go; at least three of four, with kernels that then run while the host goes on
    speaks(items, "repeated_work", 6 * 109 * US, 7 * 109 * US);
    is_silent(layers, "repeated_work");
    is_silent(tokens, "repeated_work");
    is_silent(updates, "repeated_work");
    is_silent(copies, "repeated_work");
}

TEST(items_of_one_size_may_depend_on_each_other)
{
    struct program p;
    run(&p, items_of_one_size);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    assert_int_equal(s->saving_low_ns, 0);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "does not show whether"));
    // the copies and waits are part of it
    assert_null(said(&p, "synchronous_copy"));
    end(&p);
}

/* ---- turns of which the host reads a value ---- */

/* Nine launches, of BLOCKS blocks. */
static void deep_model(struct program *p, uint32_t blocks)
{
    for (int i = 0; i < 3; i++) model(p, blocks);
}

/* The host gives each turn a value, and reads one: it may be that of the turn before. */
static void drafts(struct program *p)
{
    for (uint32_t i = 0; i < 8; i++) in(p, 8), deep_model(p, 10 + i), out(p, 8);
}

/* A loss of eight outputs; each turn checks what it has computed. */
static void losses(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (int i = 0; i < 8; i++) deep_model(p, 10), out(p, 8);
    p->main = mk_thread(&p->t, process, 200); /* autograd's own */
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 12; k++)
            host(p, 20 * US), kernel_of(p, !k ? ADD : k % 2 ? GEMM : NORM, 10, 2 * US);
    p->main = main;
    wait(p, "cudaDeviceSynchronize");
}

/* Until the error is small. */
static void solver(struct program *p)
{
    for (int i = 0; i < 8; i++) deep_model(p, 10), out(p, 8);
}

/* Of different sizes, as texts are, but the value of each is an input of its own. */
static void texts(struct program *p)
{
    for (int i = 0; i < 8; i++) in(p, 100 * sizes[i]), deep_model(p, sizes[i]), out(p, 8);
}

/* As long as a game goes on, an observation goes in and a move comes out. */
static void games(struct program *p)
{
    for (int i = 0; i < 8; i++) in(p, 4096), deep_model(p, 10), out(p, 8);
}

static void deep_tokens(struct program *p)
{
    for (uint32_t i = 0; i < 8; i++) deep_model(p, 10 + i), out(p, 8);
}

static void drawn_tokens(struct program *p)
{
    for (int i = 0; i < 8; i++)
        deep_model(p, 10), host(p, 20 * US), kernel_of(p, DRAW, 10, 2 * US), out(p, 8);
}

static void layers_of_experts(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        host(p, 20 * US), kernel_of(p, LOOK, 10, 2 * US), deep_model(p, 10);
        host(p, 20 * US), kernel_of(p, SUM, 10, 2 * US), out(p, 8);
    }
}

static void micro_batches(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (int i = 0; i < 8; i++) {
        deep_model(p, 10);
        p->main = mk_thread(&p->t, process, 200); /* autograd's own */
        deep_model(p, 10);
        p->main = main;
        out(p, 8);
    }
}

/* The loop is in FILE, at two lines of a function that another one there calls. */
static void generate_in(struct program *p, const char *file)
{
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 11; k++) {
            if (k && k < 10) host(p, 20 * US), kernel_of(p, k % 3 == 2 ? ADD : GEMM, 10, 2 * US);
            else if (k) out(p, 8);
            else in(p, 8);
            frame(p, "main", "/data/main.py", 7, true);
            frame(p, "generate", file, 20, false);
            frame(p, "sample", file, k < 10 ? 30 : 31, false);
            frame(p, "_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 9, false);
            frame(p, "forward", "/usr/lib/python3/dist-packages/models/llama.py", 40 + (unsigned)k, false);
        }
    }
}

static void generate(struct program *p)
{
    generate_in(p, "/usr/lib/python3/dist-packages/transformers/generate.py");
}

static void own_loop(struct program *p) { generate_in(p, "/data/generate.py"); }

/* The value drawn goes through the host. */
static void drawn_on_the_host(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        host(p, 60 * US), in(p, 8), deep_model(p, 10);
        host(p, 20 * US), kernel_of(p, DRAW, 10, 2 * US), out(p, 8);
    }
}

TEST(turns_of_which_the_host_reads_a_value)
{
    static void (*const steps[])(struct program *) = {drafts, losses, own_loop};
    for (size_t i = 0; i < GP_COUNT(steps); i++) {
        struct program p;
        run(&p, steps[i]);
        const struct gp_suggestion *s = said(&p, "repeated_work");
        assert_non_null(s);
        assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "does not show whether a turn"));
        assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "if none needs the result of another"));
        assert_true(s->saving_high_ns >= 7 * 9 * 24 * US);
        end(&p);
    }
    is_silent(solver, "repeated_work");
    is_silent(deep_tokens, "repeated_work");
    is_silent(drawn_tokens, "repeated_work");
    is_silent(layers_of_experts, "repeated_work");
    is_silent(micro_batches, "repeated_work");
    is_silent(generate, "repeated_work");
}

TEST(a_value_read_of_each_item_may_decide_the_next_of_one_size)
{
    struct program p;
    run(&p, texts);
    assert_null(strstr(gp_suggest_str(&p.s, said(&p, "repeated_work")->description), "does not show"));
    end(&p);
    run(&p, games);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "repeated_work")->description), "does not show"));
    end(&p);
}

/* What a compiler saves is certain: the turns are many small kernels. */
static void small_turns(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        in(p, 8);
        for (int k = 0; k < 4; k++) {
            host(p, 20 * US), kernel_of(p, GEMM, 10, 2 * US);
            for (int n = 0; n < 4; n++) host(p, 20 * US), kernel_of(p, n % 2 ? NORM : ADD, 10, 2 * US);
        }
        out(p, 8);
    }
}

TEST(turns_that_need_each_other_can_still_be_compiled)
{
    struct program p;
    run(&p, small_turns);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    assert_true(s->saving_low_ns > 0);
    assert_non_null(
        strstr(gp_suggest_str(&p.s, s->action), "where a turn needs the one before, use torch.compile"));
    assert_null(said(&p, "compile"));
    end(&p);
}

/* ---- loops that stay on the GPU ---- */

#define COPY "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>(int)"
#define BAG  "void EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long*)"
#define WHOLE                                                                                                \
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "                     \
    "std::array<char*, 1ul> >(int)"
#define APART                                                                                                \
    "void at::native::elementwise_kernel<128, 2, "                                                           \
    "at::native::gpu_kernel_impl_nocast<at::native::FillFunctor<float> >(int)"
#define JOIN "void at::native::CatArrayBatchedCopy<unsigned int, 2, 128, 1>(unsigned int*)"
#define RNN  "void RNN_blockPersist_fp_LSTM<float, float, float, 128>(float*)"
#define SORT "void cub::DeviceRadixSortSingleTileKernel<long>(long*)"

static void launch(struct program *p, const char *name) { host(p, 20 * US), kernel_of(p, name, 10, 2 * US); }

/* One kernel joins N tensors. */
static void join(struct program *p, uint32_t n)
{
    struct gp_events *gpu = &p->t.events[GP_GPU];
    launch(p, JOIN);
    struct gp_config config = p->t.configs.at[gp_get_config(gpu, gpu->n - 1)];
    config.grid[1] = n;
    gp_set_config(gpu, gpu->n - 1, gp_trace_config(&p->t, &config));
}

static void tables(struct program *p)
{
    for (int i = 0; i < 8; i++) launch(p, COPY), launch(p, BAG);
    for (int i = 0; i < 3; i++) launch(p, GEMM);
    wait(p, "cudaDeviceSynchronize");
}

/* What is found is changed, and may be the next index. */
static void pointers(struct program *p)
{
    for (int i = 0; i < 8; i++) launch(p, COPY), launch(p, BAG), launch(p, ADD);
    wait(p, "cudaDeviceSynchronize");
}

static void trained_tables(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (int i = 0; i < 8; i++) launch(p, COPY), launch(p, BAG);
    launch(p, GEMM);
    p->main = mk_thread(&p->t, process, 200); /* autograd's own */
    launch(p, GEMM);
    for (int i = 0; i < 7; i++) launch(p, SORT), launch(p, SUM), launch(p, ADD);
    p->main = main;
    wait(p, "cudaDeviceSynchronize");
}

static int64_t evidence_of(const struct gp_suggestion *s, const char *name)
{
    for (size_t i = 0; i < s->evidence.n; i++)
        if (!strcmp(s->evidence.at[i].name, name)) return s->evidence.at[i].value;
    return -1;
}

TEST(rows_looked_up_in_one_table_after_the_other)
{
    speaks(tables, "repeated_work", 6 * 2 * 24 * US, 7 * 2 * 24 * US);
    is_silent(pointers, "repeated_work");
    struct program p;
    run(&p, trained_tables);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "one table with an offset"));
    // 16 launches forward and 21 for the gradients, of 8 tables; they have no other findings
    assert_int_equal(evidence_of(s, "turns"), 8);
    assert_int_equal(evidence_of(s, "launches_per_turn"), 37 / 8);
    assert_null(said(&p, "cuda_graph"));
    assert_null(said(&p, "compile"));
    end(&p);
}

static void time_steps(struct program *p)
{
    for (int i = 0; i < 10; i++) launch(p, COPY), launch(p, GEMM), launch(p, RNN);
    wait(p, "cudaDeviceSynchronize");
}

/* The layers of one call, or the time steps that the library takes by itself. */
static void recurrent_layers(struct program *p)
{
    for (int i = 0; i < 4; i++) launch(p, COPY), launch(p, GEMM), launch(p, RNN);
    wait(p, "cudaDeviceSynchronize");
}

static void steps_of_library(struct program *p)
{
    for (int i = 0; i < 10; i++) launch(p, GEMM), launch(p, RNN);
    wait(p, "cudaDeviceSynchronize");
}

static void steps_of_operator(struct program *p)
{
    int64_t from = p->now;
    for (int i = 0; i < 10; i++) launch(p, COPY), launch(p, GEMM), launch(p, RNN);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "aten::_cudnn_rnn");
    wait(p, "cudaDeviceSynchronize");
}

TEST(a_recurrent_layer_for_each_time_step)
{
    struct program p;
    run(&p, time_steps);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "the whole sequence in one call; where"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "does not show whether a time step"));
    // at least what a graph saves, of 30 launches: 24 us each; at most 9 of 10 turns
    assert_in_range(s->saving_low_ns, 250 * US, 27 * 24 * US);
    assert_in_range(s->saving_high_ns, 27 * 24 * US, p.s.step.step_ns);
    assert_null(said(&p, "cuda_graph"));
    end(&p);
    is_silent(recurrent_layers, "repeated_work");
    is_silent(steps_of_library, "repeated_work");
    is_silent(steps_of_operator, "repeated_work");
}

static void joined(struct program *p, int turns, uint32_t tensors)
{
    for (int i = 0; i < turns; i++) launch(p, GEMM), launch(p, ADD), launch(p, NORM);
    join(p, tensors);
    wait(p, "cudaDeviceSynchronize");
}

static void heads(struct program *p) { joined(p, 12, 12); }

static void a_pair(struct program *p) { joined(p, 12, 2); }

static void few_layers(struct program *p) { joined(p, 6, 6); }

static void dense_layers(struct program *p)
{
    for (int i = 0; i < 12; i++) launch(p, GEMM), launch(p, ADD), launch(p, JOIN);
    join(p, 12);
    wait(p, "cudaDeviceSynchronize");
}

/* Each turn writes its result into a larger tensor. */
static void bodies(struct program *p)
{
    for (int i = 0; i < 12; i++) {
        launch(p, ADD), launch(p, NORM);
        host(p, 20 * US), copy(p, "Memcpy DtoD (Device -> Device)", 1 * US, 12, false);
    }
    wait(p, "cudaDeviceSynchronize");
}

/* With weights, it is as well a layer that keeps a copy. */
static void cached_layers(struct program *p)
{
    for (int i = 0; i < 12; i++) {
        launch(p, GEMM), launch(p, NORM);
        host(p, 20 * US), copy(p, "Memcpy DtoD (Device -> Device)", 1 * US, 12, false);
    }
    wait(p, "cudaDeviceSynchronize");
}

/* A kernel of XLA with so many blocks of 128 threads. */
static void fusion_of(struct program *p, const char *name, uint32_t blocks)
{
    host(p, 20 * US), kernel_of(p, name, blocks, 2 * US);
    struct gp_events *gpu = &p->t.events[GP_GPU];
    struct gp_config c = *gp_gpu_config(&p->t, gpu->n - 1);
    c.block[0] = 128, c.block[1] = c.block[2] = 1;
    gp_set_config(gpu, gpu->n - 1, gp_trace_config(&p->t, &c));
}

/* A compiled function of JAX for each of 12 members; XLA joins so many BLOCKS. */
static void members(struct program *p, uint32_t blocks, const char *name)
{
    for (int i = 0; i < 12; i++) {
        fusion_of(p, "loop_dynamic_slice_fusion", 8), fusion_of(p, "loop_multiply_fusion", 1);
        fusion_of(p, "loop_add_fusion", 8);
    }
    fusion_of(p, name, blocks);
    wait(p, "cudaDeviceSynchronize");
}

static void ensemble(struct program *p) { members(p, 12 * 8, "loop_concatenate_fusion"); }

static void joins_others(struct program *p) { members(p, 30 * 8, "loop_concatenate_fusion"); }

static void joins_no_whole(struct program *p) { members(p, 12 * 8 + 1, "loop_concatenate_fusion"); }

static void goes_on(struct program *p) { members(p, 12 * 8, "loop_subtract_fusion"); }

/* As dense layers do. */
static void joins_in_each(struct program *p)
{
    for (int i = 0; i < 12; i++)
        fusion_of(p, "loop_add_fusion", 8), fusion_of(p, "input_concatenate_fusion", 8);
    fusion_of(p, "loop_concatenate_fusion", 12 * 8);
    wait(p, "cudaDeviceSynchronize");
}

TEST(results_that_xla_puts_together)
{
    struct program p;
    run(&p, ensemble);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "jax.vmap"));
    assert_null(strstr(gp_suggest_str(&p.s, s->action), "CUDA graph"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "jax.lax.scan"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "does not show whether a turn"));
    assert_int_equal(evidence_of(s, "turns"), 12);
    end(&p);
    is_silent(joins_others, "repeated_work");
    is_silent(joins_no_whole, "repeated_work");
    is_silent(goes_on, "repeated_work");
    is_silent(joins_in_each, "repeated_work");
}

TEST(turns_whose_results_are_put_together)
{
    static void (*const steps[])(struct program *) = {heads, bodies};
    for (size_t i = 0; i < GP_COUNT(steps); i++) {
        struct program p;
        run(&p, steps[i]);
        const struct gp_suggestion *s = said(&p, "repeated_work");
        assert_non_null(s);
        assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "does not show whether a turn"));
        assert_true(s->saving_low_ns > 0);
        end(&p);
    }
    is_silent(a_pair, "repeated_work");
    is_silent(few_layers, "repeated_work");
    is_silent(dense_layers, "repeated_work");
    is_silent(cached_layers, "repeated_work");
}

/* N parts of a tensor, of which every second lies in rows that are apart, as they do in the middle of one. */
static void parts(struct program *p, int n)
{
    for (int i = 0; i < n; i++) host(p, 20 * US), kernel_of(p, i % 2 ? APART : WHOLE, 10, 2 * US);
    for (int i = 0; i < 3; i++) launch(p, GEMM);
    wait(p, "cudaDeviceSynchronize");
}

static void many_parts(struct program *p) { parts(p, 80); }

static void few_parts(struct program *p) { parts(p, 30); }

/* The gradients of many parameters. */
static void whole_tensors(struct program *p)
{
    for (int i = 0; i < 80; i++) host(p, 20 * US), kernel_of(p, WHOLE, sizes[i % 8], 2 * US);
    for (int i = 0; i < 3; i++) launch(p, GEMM);
    wait(p, "cudaDeviceSynchronize");
}

TEST(many_parts_of_a_tensor_are_set_at_once)
{
    speaks(many_parts, "repeated_work", 79 * 24 * US * 3 / 4, 79 * 24 * US);
    is_silent(few_parts, "repeated_work");
    is_silent(whole_tensors, "repeated_work");
}

/* The rows of a mask are picked, which needs their number, and added up. */
static void masks(struct program *p, uint32_t tensors)
{
    for (int i = 0; i < 12; i++) launch(p, ADD), out(p, 8), launch(p, LOOK), launch(p, NORM);
    if (tensors) join(p, tensors);
    wait(p, "cudaDeviceSynchronize");
}

static void means_of_groups(struct program *p) { masks(p, 12); }

/* Until the error is small. */
static void iterations(struct program *p) { masks(p, 0); }

/* `for i in range(n): if x[i] < 0: x[i] *= 2`, with kernels of BLOCKS. */
static void values_of(struct program *p, int n, uint32_t blocks)
{
    for (int i = 0; i < n; i++) {
        host(p, 20 * US), kernel_of(p, LESS, blocks, 1 * US), out(p, 1);
        host(p, 20 * US), kernel_of(p, ADD, blocks, 1 * US);
    }
    wait(p, "cudaDeviceSynchronize");
}

static void values(struct program *p) { values_of(p, 40, 1); }

static void few_values(struct program *p) { values_of(p, 12, 1); }

static void large_tensors(struct program *p) { values_of(p, 40, 20); }

/* Until a sum over a tensor is small. */
static void norms(struct program *p)
{
    for (int i = 0; i < 40; i++) host(p, 20 * US), kernel_of(p, NORM, 20, 1 * US), out(p, 1);
}

static void values_in_a_library(struct program *p)
{
    for (int i = 0; i < 40; i++) {
        host(p, 20 * US), kernel_of(p, LESS, 1, 1 * US);
        frame(p, "main", "/data/main.py", 7, true);
        frame(p, "minimize", "/usr/lib/python3/dist-packages/scipy/search.py", 5, false);
        frame(p, "search", "/usr/lib/python3/dist-packages/scipy/search.py", 20, false);
        host(p, 20 * US), copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, 1, true);
        frame(p, "main", "/data/main.py", 7, true);
        frame(p, "minimize", "/usr/lib/python3/dist-packages/scipy/search.py", 5, false);
        frame(p, "search", "/usr/lib/python3/dist-packages/scipy/search.py", 21, false);
    }
}

TEST(values_of_a_tensor_one_after_the_other)
{
    // a turn: 24 us for each kernel, 12 for the copy; 39 of 40 go but for the work, at least three of four
    speaks(values, "repeated_work", 30 * 60 * US, 39 * 59 * US);
    is_silent(few_values, "repeated_work");
    is_silent(large_tensors, "repeated_work");
    is_silent(norms, "repeated_work");
    is_silent(values_in_a_library, "repeated_work");
    struct program p;
    run(&p, values);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "repeated_work")->action), "gather and scatter"));
    assert_null(said(&p, "scalar_read"));
    assert_null(said(&p, "compile"));
    end(&p);
}

/* Each may be a step of a solver, or a token. */
static void products_with_a_read(struct program *p)
{
    for (int i = 0; i < 40; i++) host(p, 20 * US), kernel_of(p, GEMM, 20, 1 * US), out(p, 1);
}

static void reads_by(void (*step)(struct program *), const char *words)
{
    struct program p;
    run(&p, step);
    assert_non_null(said(&p, "scalar_read"));
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "scalar_read")->action), words));
    end(&p);
}

TEST(values_of_all_turns_can_be_read_once)
{
    reads_by(norms, "compute what all turns of the loop read in one call");
    reads_by(products_with_a_read, "read values only every few steps");
}

#define TIMES "cupy_multiply__float32_float32_float32"
#define TOTAL "cupy_sum"

/* N turns, each adds up two products of parts of an image, by kernels of BLOCKS, and reads BYTES; KEPT runs
 * before them, if it is not NULL. */
static void sums_of(struct program *p, int n, uint32_t blocks, int64_t bytes, const char *kept)
{
    for (int i = 0; i < n; i++) {
        if (kept) host(p, 20 * US), kernel_of(p, kept, blocks, 1 * US);
        for (int k = 0; k < 2; k++) {
            host(p, 20 * US), kernel_of(p, TIMES, blocks, 1 * US);
            host(p, 20 * US), kernel_of(p, TOTAL, 1, 1 * US);
        }
        host(p, 20 * US), kernel_of(p, TIMES, 1, 1 * US), out(p, bytes);
    }
    wait(p, "cudaDeviceSynchronize");
}

static void stars(struct program *p) { sums_of(p, 40, 4, 4, NULL); }

static void few_stars(struct program *p) { sums_of(p, 12, 4, 4, NULL); }

static void until_enough(struct program *p) { sums_of(p, 40, 4, 1, NULL); }

/* What is computed first is the next turn's input. */
static void sweeps(struct program *p) { sums_of(p, 40, 4, 4, TIMES); }

static void relaxes(struct program *p, const char *name)
{
    for (int i = 0; i < 40; i++) {
        host(p, 20 * US), kernel_of(p, name, 20, 1 * US);
        host(p, 20 * US), kernel_of(p, TOTAL, 1, 1 * US), out(p, 4);
    }
    wait(p, "cudaDeviceSynchronize");
}

/* What a kernel of the program writes is not known. */
static void own_sweeps(struct program *p) { relaxes(p, "relax(float*, float*)"); }

/* It may write its sum and its differences. */
static void compiled_sweeps(struct program *p) { relaxes(p, "triton_poi_fused_add_sub_0"); }

/* Three kernels and a read, at these LINES of a loop; the second kernel is CuPy's own, and all of them those
 * of a function in a LIBRARY, unless it is NULL. */
static void lines_of(struct program *p, const unsigned *lines, const char *library)
{
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 4; k++) {
            if (k == 3) out(p, 4);
            else host(p, 20 * US), kernel_of(p, k == 2 ? TOTAL : TIMES, k == 2 ? 1 : 20, 1 * US);
            frame(p, "main", "/data/main.py", 7, true);
            frame(p, "turns", "/data/main.py", lines[k], false);
            if (library && k < 3) frame(p, "change", library, 5, false);
            if (k == 1) frame(p, "square", "/usr/lib/python3/dist-packages/cupy/math.py", 9, false);
        }
}

static void expressions(struct program *p) { lines_of(p, (unsigned[]){20, 20, 20, 20}, NULL); }

/* x = ...; change = float(...) */
static void statements(struct program *p) { lines_of(p, (unsigned[]){20, 21, 21, 21}, NULL); }

/* change = float(solver.change()) */
static void solver_of_a_library(struct program *p)
{
    lines_of(p, (unsigned[]){20, 20, 20, 20}, "/usr/lib/python3/dist-packages/scipy/solve.py");
}

/* So is what a library keeps. */
static void stars_in_a_library(struct program *p)
{
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 3; k++) {
            if (k == 2) out(p, 4);
            else host(p, 20 * US), kernel_of(p, k ? TOTAL : TIMES, k ? 1 : 4, 1 * US);
            frame(p, "main", "/data/main.py", 7, true);
            frame(p, "search", "/usr/lib/python3/dist-packages/scipy/search.py", 5, false);
            frame(p, "turn", "/usr/lib/python3/dist-packages/scipy/search.py", 20 + (unsigned)k, false);
        }
}

TEST(sums_of_one_part_after_the_other)
{
    struct program p;
    run(&p, stars);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    // a turn: 24 us for each of five kernels, 12 for the copy; 39 of 40 go at most
    assert_in_range(s->saving_high_ns, 39 * 130 * US, p.s.step.step_ns);
    assert_true(s->saving_low_ns > 0);
    assert_int_equal(evidence_of(s, "turns"), 40);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "does not show whether a turn"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "one batch and read once"));
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "needs the one before, use cupy.fuse"));
    assert_null(said(&p, "scalar_read"));
    assert_null(said(&p, "compile"));
    end(&p);
    is_silent(few_stars, "repeated_work");
    is_silent(until_enough, "repeated_work");
    is_silent(sweeps, "repeated_work");
    is_silent(own_sweeps, "repeated_work");
    is_silent(compiled_sweeps, "repeated_work");
    is_silent(stars_in_a_library, "repeated_work");
    run(&p, expressions); // what a line computes before it reads is gone
    assert_non_null(said(&p, "repeated_work"));
    end(&p);
    is_silent(statements, "repeated_work");
    is_silent(solver_of_a_library, "repeated_work");
}

TEST(turns_that_need_a_size_may_be_put_together)
{
    struct program p;
    run(&p, means_of_groups);
    assert_non_null(said(&p, "repeated_work"));
    end(&p);
    is_silent(iterations, "repeated_work");
}

/* The weights of each layer are copied, and then used. */
static void offloaded_layers(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 4; k++) in(p, 1 << 20);
        model(p, 10);
    }
    wait(p, "cudaDeviceSynchronize");
}

TEST(layers_whose_weights_are_copied_are_no_items)
{
    is_silent(offloaded_layers, "repeated_work");
    struct program p;
    run(&p, offloaded_layers);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "pageable_copy")->action), "keep on the GPU"));
    end(&p);
}

/* The environment takes 60 us on the host, and gives as much as it took. */
static void environment(struct program *p)
{
    for (int i = 0; i < 8; i++) host(p, 60 * US), in(p, 4096), model(p, 10), out(p, 4096);
}

/* It gives something else, and a sample is drawn. */
static void policy(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        host(p, 60 * US), in(p, 4096), model(p, 10);
        host(p, 20 * US), kernel_of(p, DRAW, 10, 2 * US), out(p, 128);
    }
}

TEST(to_the_host_and_back)
{
    // usually 20 us pass before a launch: 80 us pass before the copy, for which 4 launches take as long;
    // the calls of both copies go, with the wait: 5 and 12 us, 17 less the 2 us that a wait takes at least
    static void (*const steps[])(struct program *) = {environment, policy, drawn_on_the_host};
    for (size_t i = 0; i < GP_COUNT(steps); i++) {
        struct program p;
        run(&p, steps[i]);
        const struct gp_suggestion *s = said(&p, "round_trip");
        assert_non_null(s);
        assert_in_range(s->ceiling_ns, 8 * 12 * US, 8 * 17 * US + p.s.step.step_ns / 5);
        assert_true(s->saving_high_ns >= 8 * 12 * US);
        // nothing shows an environment where no sample is drawn
        assert_true((i > 0) == (strstr(gp_suggest_str(&p.s, s->action), "environment") != NULL));
        assert_null(said(&p, "repeated_work"));
        assert_null(said(&p, "synchronous_copy"));
        end(&p);
    }
    is_silent(items, "round_trip");
    is_silent(items_of_one_size, "round_trip");
    is_silent(layers, "round_trip");
}

static void expert(struct program *p, uint32_t blocks)
{
    host(p, 20 * US), kernel_of(p, LOOK, blocks, 2 * US);
    model(p, blocks);
    host(p, 20 * US), kernel_of(p, SUM, blocks, 2 * US);
}

/* 5 times 24 us per expert. */
static void experts(struct program *p)
{
    for (int i = 0; i < 8; i++) expert(p, sizes[i]);
    out(p, 8);
}

static void equal_experts(struct program *p)
{
    for (int i = 0; i < 8; i++) expert(p, 10);
    out(p, 8);
}

TEST(experts_one_after_the_other)
{
    // all but one of 8 go; at least every second
    speaks(experts, "experts", 4 * 120 * US, 7 * 120 * US);
    is_silent(equal_experts, "experts"); // message passing of a graph network, for one
    is_silent(items, "experts");
    is_silent(layers, "experts");
}

/* A loop goes on over an expert that does something else, before the longest row of equal ones and
 * behind it. */
static void odd_experts(struct program *p)
{
    for (int i = 0; i < 8; i++) {
        host(p, 20 * US), kernel_of(p, LOOK, sizes[i], 2 * US);
        model(p, sizes[i]), model(p, sizes[i]);
        host(p, 20 * US), kernel_of(p, SUM, sizes[i], 2 * US);
        if (i == 1 || i == 6)
            kernel_of(p, NORM, 1, 2 * US), kernel_of(p, ADD, 1, 2 * US), kernel_of(p, NORM, 1, 2 * US);
    }
}

TEST(a_turn_that_differs_does_not_end_the_loop)
{
    struct program p;
    run(&p, odd_experts);
    const struct gp_suggestion *s = said(&p, "experts");
    assert_non_null(s);
    assert_int_equal(evidence_of(s, "turns"), 8);
    end(&p);
}

/* ---- the forward pass within backward ---- */

/* HOOKS: ns that pass before each launch beside the usual. */
static void block(struct program *p, uint32_t width, int64_t hooks)
{
    const char *const names[] = {NORM, GEMM, ADD, GEMM, NORM, GEMM, ADD, GEMM, ADD};
    const uint32_t blocks[] = {width,     width,     width,     width,    width + 1,
                               width + 1, width + 1, width + 1, width + 2};
    for (size_t i = 0; i < GP_COUNT(names); i++)
        host(p, 20 * US + hooks), kernel_of(p, names[i], blocks[i], 2 * US);
}

static void backward_with(struct program *p, bool again, int64_t hooks)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (uint32_t i = 0; i < 4; i++) block(p, 10 * (i + 1), hooks);
    p->main = mk_thread(&p->t, process, 200); /* autograd's own */
    for (uint32_t i = 4; i-- > 0;) {
        if (again) block(p, 10 * (i + 1), 0);
        for (uint32_t k = 0; k < 6; k++) host(p, 20 * US), kernel_of(p, k % 2 ? GEMM : NORM, 500 + k, 2 * US);
    }
    p->main = main;
    host(p, 20 * US), kernel_of(p, FUSED, 10, 2 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void hooked(struct program *p) { backward_with(p, true, 10 * US); }

static void checkpointing(struct program *p) { backward_with(p, true, 0); }

static void kept(struct program *p) { backward_with(p, false, 0); }

TEST(what_backward_computes_again)
{
    // 4 blocks of 9 launches, each 24 us of the host; of the first of each at least half of the 20 us before
    speaks(checkpointing, "recompute", 4 * (8 * 24 + 10) * US, 4 * 9 * 24 * US);
    // at most also the 10 us that pass before each of the 36 originals beyond the usual
    speaks(hooked, "recompute", 4 * (8 * 24 + 10) * US, (4 * 9 * 24 + 36 * 10) * US);
    is_silent(kept, "recompute");
    is_silent(layers, "recompute");
}

/* ---- messages of graphs ---- */

#define SCATTER(reduce)                                                                                      \
    "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::" reduce ">(int)"
#define FILL "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)"
#define SCALE                                                                                                \
    "void at::native::elementwise_kernel<128, 2, at::native::binary_internal::MulFunctor<float> >(int)"

/* A layer: 100 us to look up, 90 for the weights, 10 to clear, 200 to add up. */
static void graph_layers(struct program *p)
{
    for (int i = 0; i < 3; i++) {
        kernel_of(p, LOOK, 50000, 100 * US), kernel_of(p, SCALE, 50000, 90 * US);
        kernel_of(p, FILL, 100, 10 * US), kernel_of(p, SCATTER("ReduceAdd"), 12500, 200 * US);
        kernel_of(p, GEMM, 100, 50 * US);
    }
}

/* What comes between is more than a weight. */
static void between(struct program *p, const char *name)
{
    for (int i = 0; i < 3; i++) {
        kernel_of(p, LOOK, 50000, 100 * US), kernel_of(p, name, 50000, 90 * US);
        kernel_of(p, SCATTER("ReduceAdd"), 12500, 200 * US), kernel_of(p, GEMM, 100, 50 * US);
    }
}

static void experts_of_rows(struct program *p) { between(p, GEMM); }

static void edge_networks(struct program *p) { between(p, NORM); }

static void largest_neighbours(struct program *p)
{
    for (int i = 0; i < 3; i++) {
        kernel_of(p, LOOK, 50000, 100 * US), kernel_of(p, FILL, 100, 10 * US);
        kernel_of(p, SCATTER("ReduceMaximum"), 12500, 200 * US), kernel_of(p, GEMM, 100, 50 * US);
    }
}

/* What is looked up goes into a product; the sum is of something else. */
static void embeddings(struct program *p)
{
    for (int i = 0; i < 3; i++) kernel_of(p, LOOK, 50000, 100 * US), kernel_of(p, GEMM, 100, 50 * US);
    kernel_of(p, SCATTER("ReduceAdd"), 12500, 200 * US);
}

TEST(a_message_for_each_edge_of_a_graph)
{
    // at least the sums go, with gaps of 1 us, at most three quarters of the lookups, weights and fills
    speaks(graph_layers, "graph_messages", 603 * US, (int64_t)3 * (75 + 90 + 10 + 200 + 3) * US);
    is_silent(experts_of_rows, "graph_messages");
    is_silent(edge_networks, "graph_messages");
    is_silent(largest_neighbours, "graph_messages");
    is_silent(embeddings, "graph_messages");
}

/* ---- gradients of one item after the other ---- */

/* Forward, backward, and AFTER launches that work on the gradients, of which the last is LAST. */
static void gradients(struct program *p, int after, const char *last)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (int i = 0; i < 8; i++) {
        deep_model(p, 10);
        p->main = mk_thread(&p->t, process, 200); /* autograd's own */
        deep_model(p, 10);
        p->main = main;
        for (int k = 0; k < after; k++)
            host(p, 20 * US), kernel_of(p, k + 1 < after ? NORM : last, 10, 2 * US);
    }
    wait(p, "cudaDeviceSynchronize");
}

static void clipped(struct program *p) { gradients(p, 10, ADD); }

/* A loss is scaled and two inputs are cast: parts of a batch, whose gradients add up. */
static void accumulated(struct program *p) { gradients(p, 3, ADD); }

/* An optimizer for each item. */
static void trained(struct program *p) { gradients(p, 10, FUSED); }

/* Time steps of JAX, not compiled: another thread copies numbers that each needs. */
static void steps_of_jax(struct program *p)
{
    uint32_t main = p->main, aside = mk_thread(&p->t, p->t.tracks.at[main].process, 200);
    launch(p, "loop_broadcast_fusion");
    for (int i = 0; i < 8; i++) {
        p->main = aside;
        host(p, 20 * US), copy(p, "Memcpy HtoD (Pageable -> Device)", 1 * US, 4, false);
        p->main = main;
        for (int k = 0; k < 12; k++) launch(p, k % 2 ? "loop_add_fusion" : "loop_multiply_fusion");
    }
    wait(p, "cudaDeviceSynchronize");
}

TEST(a_backward_pass_is_of_pytorch)
{
    struct program p;
    run(&p, steps_of_jax);
    assert_null(said(&p, "repeated_work"));
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "cuda_graph")->action), "jax"));
    end(&p);
}

TEST(gradients_of_one_item_after_the_other)
{
    struct program p;
    run(&p, clipped);
    const struct gp_suggestion *s = said(&p, "repeated_work");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->action), "torch.func.vmap"));
    assert_int_equal(evidence_of(s, "turns"), 8);
    assert_int_equal(evidence_of(s, "launches_per_turn"), 9 + 9 + 10);
    // 7 of 8 turns of 28 launches, 24 us each; as each may need the one before, a graph saves the least
    assert_in_range(s->saving_high_ns, 7 * 28 * 24 * US, p.s.step.step_ns);
    assert_null(said(&p, "cuda_graph"));
    end(&p);
    is_silent(accumulated, "repeated_work");
    is_silent(micro_batches, "repeated_work");
    is_silent(trained, "repeated_work");
}
