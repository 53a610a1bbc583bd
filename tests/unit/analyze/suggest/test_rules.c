// Every rule on a trace that makes it speak, and on one that nearly does.
#include <stdio.h>
#include <string.h>

#include "formats/base/err.h"
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define ELEMENTWISE "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>()"
#define GEMM        "sm90_xmma_gemm_f32f32_tn"

// ---- compile ----

// The host takes 30 us for each kernel of 2 us: four in a row between two products.
static void late_chain(struct program *p)
{
    host(p, 30 * US), kernel(p, GEMM, 10 * US);
    for (int i = 0; i < 4; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
    p->steps & 1                      ? host(p, 26 * US),
        kernel(p, GEMM "_2", 10 * US) : (host(p, 26 * US), kernel(p, GEMM, 10 * US));
}

static void chain_behind_a_busy_gpu(struct program *p)
{
    kernel(p, GEMM, 900 * US);
    for (int i = 0; i < 4; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
    host(p, 600 * US);
}

static void chain_of_a_compiler(struct program *p)
{
    host(p, 30 * US), kernel(p, GEMM, 10 * US);
    for (int i = 0; i < 3; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
    host(p, 30 * US), kernel(p, "triton_poi_fused_add_0", 2 * US);
}

TEST(a_chain_that_the_host_is_late_for_is_compiled)
{
    // Of the four, three join the first. Before each the stream is idle from the end of the one before it, 2
    // us after its start, to the own start: a launch every 34 us leaves 32 us. The host has 30 us before it:
    // low and high take all of that, high the call's 4 us as well, and half of the host's time before the
    // first of the four and the two products.
    speaks(late_chain, "compile", 3 * 30 * US, (3 * 34 + 15 + 15 + 13) * US);
    is_silent(chain_behind_a_busy_gpu, "compile");
    is_silent(chain_of_a_compiler, "compile");
}

static void late_products(struct program *p, bool aside)
{
    uint32_t main = p->main;
    host(p, 30 * US), kernel(p, GEMM, 10 * US);
    for (int i = 0; i < 4; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
    if (aside) p->main = mk_thread(&p->t, p->t.tracks.at[main].process, 200); /* autograd's own */
    for (int i = 0; i < 4; i++) host(p, 60 * US), kernel(p, p->steps & 1 ? GEMM : GEMM "_2", 10 * US);
    p->main = main;
}

static void late_forward(struct program *p) { late_products(p, false); }

static void late_backward(struct program *p) { late_products(p, true); }

static int64_t most_compiled(void (*step)(struct program *))
{
    struct program p;
    run(&p, step);
    int64_t most = said(&p, "compile")->saving_high_ns;
    end(&p);
    return most;
}

TEST(a_compiler_takes_no_python_from_a_backward_pass)
{
    // half of the 60 us before each of the four products, and a quarter more
    assert_in_range(most_compiled(late_forward) - most_compiled(late_backward), 120 * US, 160 * US);
}

// ---- cuda_graph ----

static void same_step(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
}

static void changing_step(struct program *p)
{
    char name[32];
    snprintf(name, sizeof name, "kernel_%d", p->steps % 2);
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, i == 5 ? name : ELEMENTWISE, 2 * US);
}

static void step_that_waits_inside(struct program *p)
{
    for (int i = 0; i < 10; i++) {
        host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
        if (i == 4) wait(p, "cudaStreamSynchronize");
    }
}

TEST(equal_steps_become_a_graph)
{
    // A step takes 340 us. At best the host has 30 + 4 us left for its one launch, and the GPU needs 10 * 2
    // us: 306 us less. At worst the launch takes 10 us, and its first kernel starts 60 us later than others:
    // 7 + 60 + 10 * 2 + 9 * 1.5 = 100.5 us, but the next launch comes 30 us after this one returned, so that
    // the GPU is the slower one: 20 + 13.5 us + 60 us of start = 93.5 us per step from the second on, and the
    // gap of 1.5 us is taken before each graph as it was recorded. The last step's tail counts once. What the
    // replay gives lies between these. Of the 34 us that are left at best, no more than half are the model's.
    struct program p;
    run(&p, same_step);
    const struct gp_suggestion *s = said(&p, "cuda_graph");
    assert_non_null(s);
    assert_int_equal(s->priority, GP_PRIORITY_CRITICAL);
    assert_int_equal(s->saving_high_ns, 320 * US); // and none of the 20 us that the GPU works
    assert_in_range(s->saving_low_ns, 156 * US, 163 * US);
    end(&p);
    is_silent(changing_step, "cuda_graph");
    is_silent(step_that_waits_inside, "cuda_graph");
}

// ---- scalar_read ----

// 500 us of work; the value is read; the host then takes 100 us before it launches again.
static void read_each_step(struct program *p)
{
    host(p, 100 * US), kernel(p, GEMM, 500 * US);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 4, true);
}

static void read_of_much(struct program *p)
{
    host(p, 100 * US), kernel(p, GEMM, 500 * US);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 4096, true);
}

TEST(a_value_that_is_read_each_step_holds_the_host_up)
{
    // A step: 100 us of the host, then the kernel from +107 to +607, the copy from 608 to 609, back at 612.
    // Without the waits nothing but 1 us lies between what runs: 500 + 1 + 1 + 1 = 503 us.
    speaks(read_each_step, "scalar_read", 109 * US, 109 * US);
    is_silent(read_of_much, "scalar_read");
}

/* Ten kernels that the host launches about as fast as the GPU works; then a value is read. */
static void read_after_ten(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, GEMM, 30 * US);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 4, true);
}

/* The high end; of steps that were timed, that of the replay. */
static int64_t most_read_saves(int64_t unprofiled_ns, struct gp_suggest_step *step)
{
    struct program p;
    run_with(&p, read_after_ten, &(struct gp_suggest_opts){.unprofiled_ns = unprofiled_ns},
             "\"gpuprof-collect\"");
    const struct gp_suggestion *one = said(&p, "scalar_read");
    int64_t most = !one ? 0 : unprofiled_ns ? evidence_ns(one, "replayed_high") : one->saving_high_ns;
    *step = p.s.step;
    end(&p);
    return most;
}

/* It is slow before the change and fast after it: that saves more than in either model, in which it is as
 * fast before as after. */
TEST(a_host_that_does_not_wait_works_faster)
{
    struct gp_suggest_step step, same;
    int64_t most = most_read_saves(0, &step);
    int64_t slow = most_read_saves(step.step_ns, &same),
            fast = most_read_saves(step.unprofiled_low_ns, &same);
    assert_int_equal(same.unprofiled_low_ns, same.unprofiled_high_ns);
    int64_t either = (slow > fast ? slow : fast) * 125 / 100;
    assert_true(most > either + 5 * US);
    assert_true(most < 2 * either + 5 * US);
}

/* Ten kernels and two copies on the device, for which the host is late. */
static void kernels_and_copies(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
    for (int i = 0; i < 2; i++)
        host(p, 30 * US), copy(p, "Memcpy DtoD (Device -> Device)", 1 * US, 4096, false);
}

TEST(copies_are_not_called_kernels)
{
    struct program p;
    run(&p, kernels_and_copies);
    const char *graph = gp_suggest_str(&p.s, said(&p, "cuda_graph")->description);
    assert_non_null(
        strstr(graph, "launch the same 10 kernels with the same grids and the same copies and sets,"));
    const char *compile = gp_suggest_str(&p.s, said(&p, "compile")->description);
    assert_non_null(strstr(compile, "10 of the 10 kernels per step are small"));
    end(&p);
}

/* The wait is in aten::nonzero, which must know how large its result is. */
static void nonzero_each_step(struct program *p)
{
    host(p, 100 * US), kernel(p, GEMM, 500 * US);
    int64_t from = p->now;
    copy(p, "Memcpy DtoH (Device -> Pageable)", 1 * US, 4, true);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "aten::nonzero");
}

TEST(an_operator_that_must_know_its_size_gets_other_advice)
{
    struct program p;
    run(&p, nonzero_each_step);
    const struct gp_suggestion *one = said(&p, "scalar_read");
    const struct gp_suggest *s = &p.s;
    assert_non_null(one);
    assert_string_equal(gp_suggest_str(s, one->operation), "aten::nonzero");
    assert_non_null(strstr(gp_suggest_str(s, one->action), "torch.nonzero_static"));
    assert_null(strstr(gp_suggest_str(s, one->action), "losses"));
    assert_non_null(strstr(gp_suggest_str(s, one->description), "aten::nonzero must know how many elements"));
    end(&p);
}

// ---- blocking_sync ----

static void wait_each_step(struct program *p)
{
    host(p, 100 * US), kernel(p, GEMM, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void wait_for_little(struct program *p)
{
    host(p, 500 * US), kernel(p, GEMM, 1 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(a_wait_each_step_holds_the_host_up)
{
    // A step: kernel from +107 to +607, back at 610. Without: 500 + 1 us.
    speaks(wait_each_step, "blocking_sync", 109 * US, 109 * US);
    // 9 us of 513 are waited, of which 2 us are the call itself: less than 2 %
    is_silent(wait_for_little, "blocking_sync");
}

// ---- pageable_copy ----

static void pageable_step(struct program *p)
{
    copy(p, "Memcpy HtoD (Pageable -> Device)", 1000 * US, 10 * MS, true); // 10 GB/s
    kernel(p, GEMM, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void small_pageable_step(struct program *p)
{
    copy(p, "Memcpy HtoD (Pageable -> Device)", 10 * US, 65536, true);
    kernel(p, GEMM, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void pinned_step(struct program *p)
{
    copy(p, "Memcpy HtoD (Pinned -> Device)", 1000 * US, 50 * MS, false);
    kernel(p, GEMM, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(pageable_memory_is_pinned)
{
    // A step: the copy from +7 to +1007, back at 1010; the kernel from 1017 to 1517; back at 1520. Pinned, 10
    // MB take 500 us at 20 GB/s and 181.8 at 55, the host goes on after 2 us, and the kernel follows 1 us
    // after the copy: 7 + 500 + 1 + 500 + 3 = 1011 us, or 692.8.
    speaks(pageable_step, "pageable_copy", 1520000 - 1011000, 1520000 - 692818);
    is_silent(small_pageable_step, "pageable_copy");
    is_silent(pinned_step, "pageable_copy");
}

// ---- synchronous_copy ----

/* Host work between a copy that NAME says, of BYTES, and a kernel. */
static void copied(struct program *p, const char *name, int64_t bytes, bool blocks)
{
    copy(p, name, 200 * US, bytes, blocks);
    host(p, 100 * US);
    kernel(p, GEMM, 500 * US);
}

static void waited_copy(struct program *p) { copied(p, "Memcpy HtoD (Pinned -> Device)", 10 * MS, true); }

static void copy_and_wait(struct program *p)
{
    copy(p, "Memcpy HtoD (Pinned -> Device)", 200 * US, 10 * MS, false);
    wait(p, "cudaStreamSynchronize");
    host(p, 100 * US);
    kernel(p, GEMM, 500 * US);
}

static void waited_copy_to_the_host(struct program *p)
{
    copied(p, "Memcpy DtoH (Device -> Pinned)", 10 * MS, true);
}

static void copy_beside_the_host(struct program *p)
{
    copied(p, "Memcpy HtoD (Pinned -> Device)", 10 * MS, false);
}

static void value_to_the_host(struct program *p) { copied(p, "Memcpy DtoH (Device -> Pinned)", 16, true); }

static void copy_in_every_third_step(struct program *p)
{
    if (p->steps % 3 == 1) waited_copy(p);
    else copy_beside_the_host(p);
}

/* Pinned memory, and a call that returned at once: what is left is to wait later. */
static void copy_and_event(struct program *p)
{
    copy(p, "Memcpy DtoH (Device -> Pinned)", 200 * US, 10 * MS, false);
    wait(p, "cudaEventSynchronize");
    host(p, 100 * US);
    kernel(p, GEMM, 500 * US);
}

static const char *action_of(struct program *p, void (*step)(struct program *), const char *rule)
{
    run(p, step);
    assert_non_null(said(p, rule));
    return gp_suggest_str(&p->s, said(p, rule)->action);
}

TEST(an_event_is_waited_for_later)
{
    struct program p;
    assert_non_null(strstr(action_of(&p, copy_and_event, "synchronous_copy"), "event later"));
    end(&p);
    assert_null(strstr(action_of(&p, waited_copy_to_the_host, "synchronous_copy"), "event later"));
    end(&p);
}

static void pageable_copies(struct program *p, int n)
{
    for (int i = 0; i < n; i++)
        host(p, 10 * US), copy(p, "Memcpy HtoD (Pageable -> Device)", 20 * US, 54, true);
    host(p, 10 * US), kernel(p, GEMM, 100 * US);
}

static void eleven_pageable(struct program *p) { pageable_copies(p, 11); }

static void three_pageable(struct program *p) { pageable_copies(p, 3); }

TEST(small_copies_are_packed_and_not_pinned)
{
    struct program p;
    run(&p, eleven_pageable);
    assert_non_null(said(&p, "small_copies"));
    assert_null(said(&p, "synchronous_copy"));
    end(&p);
    run(&p, three_pageable); // too few to pack
    assert_non_null(said(&p, "synchronous_copy"));
    end(&p);
}

TEST(copies_that_the_host_waits_for)
{
    // A step: the copy begins 1 us after the kernel before, takes 200 us, 3 us to come back, 100 us of the
    // host, and 7 us to the kernel of 500 us: 811. Without the wait: 500 + 1 + 200 + 1.
    speaks(waited_copy, "synchronous_copy", (811 - 702) * US, (811 - 702) * US);
    speaks(copy_and_wait, "synchronous_copy", (811 - 702) * US, (811 - 702) * US);
    is_silent(copy_and_wait, "blocking_sync");
    speaks(waited_copy_to_the_host, "synchronous_copy", 0, (811 - 702) * US);
    is_silent(copy_beside_the_host, "synchronous_copy");
    is_silent(value_to_the_host, "synchronous_copy");
    is_silent(copy_in_every_third_step, "synchronous_copy");
    is_silent(pageable_step, "synchronous_copy");
}

// ---- copy_overlap ----

static void pinned_and_pageable_step(struct program *p)
{
    copy(p, "Memcpy HtoD (Pinned -> Device)", 5 * US, 50 * MS, false);
    kernel(p, GEMM, 500 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(copies_run_beside_kernels)
{
    // A step: copy from +7 to +1007, kernel from 1008 to 1508, back at 1511. With half of the copy hidden 500
    // us less; with all of it the kernel runs from its own launch on, 5 + 7 us to 512, and the host waits for
    // the copy, until 1010.
    speaks(pinned_step, "copy_overlap", 500 * US, (1511 - 1010) * US);
    is_silent(pinned_and_pageable_step, "copy_overlap"); // 5 us of 511: less than 2 %
    is_silent(pageable_step, "copy_overlap");
    struct program p; // no more goes than the 1 ms of the copy beside nothing, and 5 %
    run(&p, pinned_step);
    const struct gp_suggestion *s = said(&p, "copy_overlap");
    assert_int_equal(s->limit_ns, s->resource_high_ns * 105 / 100);
    assert_true(s->saving_high_ns <= s->limit_ns && s->saving_low_ns <= s->limit_ns * 85 / 100);
    end(&p);
}

// ---- small_copies ----

static void eleven_copies(struct program *p)
{
    for (int i = 0; i < 11; i++)
        host(p, 1 * US), copy(p, "Memcpy HtoD (Pinned -> Device)", 2 * US, 1024, false);
    kernel(p, GEMM, 100 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void ten_copies(struct program *p)
{
    for (int i = 0; i < 10; i++)
        host(p, 1 * US), copy(p, "Memcpy HtoD (Pinned -> Device)", 2 * US, 1024, false);
    kernel(p, GEMM, 100 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void copies_of_a_set_up(struct program *p)
{
    int64_t from = p->now;
    eleven_copies(p);
    mk_host(&p->t, GP_RANGE, p->main, from, p->now, "ncclCommInitRankConfig");
}

/* The same without steps: it may be part of the start-up. */
static void copies_without_steps_are_not_packed(void)
{
    struct program p;
    struct gp_err err;
    begin(&p);
    kernel(&p, GEMM, 50 * US), kernel(&p, ELEMENTWISE, 20 * US);
    eleven_copies(&p);
    gp_trace_finish(&p.t);
    gp_suggest_init(&p.s, NULL);
    assert_int_equal(gp_suggest_run(&p.s, &p.t, &err), 0);
    assert_false(p.s.step.found);
    assert_null(said(&p, "small_copies"));
    end(&p);
}

TEST(many_small_copies_become_one)
{
    // A copy every 6 us, 66 us until the kernel's call, which starts it 7 us later. Without ten of the copies
    // nothing comes earlier; without their calls' 5 us and the 1 us before each, too, the call comes 60 us
    // earlier.
    struct program p;
    run(&p, eleven_copies);
    const struct gp_suggestion *s = said(&p, "small_copies");
    assert_non_null(s);
    assert_in_range(s->saving_low_ns, 36 * US, 39 * US);  // 55% of the high end, less what two runs differ by
    assert_in_range(s->saving_high_ns, 73 * US, 75 * US); // of 174 us all but the 100 of the kernel
    end(&p);
    is_silent(ten_copies, "small_copies");
    is_silent(copies_of_a_set_up, "small_copies");
    copies_without_steps_are_not_packed();
}

// ---- small_graphs ----

static void graphs_of(struct program *p, int graphs, int nodes)
{
    for (int g = 0; g < graphs; g++) {
        host(p, 20 * US);
        p->corr++;
        mk_call(&p->t, p->main, p->now, p->now + 8 * US, "cudaGraphLaunch", p->corr);
        for (int i = 0; i < nodes; i++) enqueue(p, 1 * US, GP_KERNEL, ELEMENTWISE, 0);
        host(p, 8 * US);
    }
}

static void four_small_graphs(struct program *p) { graphs_of(p, 4, 3); }

static void four_graphs_of_20(struct program *p) { graphs_of(p, 4, 20); }

TEST(small_graphs_become_one)
{
    // Three of the four launches of a step take no time, 8 us each; or with the 20 us of the host before
    // them.
    speaks(four_small_graphs, "small_graphs", 3 * 8 * US, 3 * 28 * US);
    is_silent(four_graphs_of_20, "small_graphs");
}

// ---- graph_breaks ----

static void region(struct program *p, const char *name, int64_t before)
{
    host(p, before);
    int64_t from = p->now;
    host(p, 10 * US), kernel(p, "triton_poi_fused_add_0", 5 * US);
    mk_host(&p->t, GP_OP, p->main, from, p->now, name);
}

static void two_regions(struct program *p)
{
    region(p, "Torch-Compiled Region: 0/0", 20 * US);
    region(p, "Torch-Compiled Region: 1/0", 100 * US);
}

static void one_region(struct program *p) { region(p, "Torch-Compiled Region: 0/0", 120 * US); }

TEST(a_step_in_two_regions_has_a_break)
{
    // Between the launches lie 100 us, and 10 inside the second region: half of that, or all.
    speaks(two_regions, "graph_breaks", 55 * US, 110 * US);
    is_silent(one_region, "graph_breaks");
}

// ---- python_gap ----

static void op(struct program *p, int64_t before)
{
    host(p, before);
    int64_t from = p->now;
    host(p, 2 * US), kernel(p, ELEMENTWISE, 2 * US);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "aten::add");
}

static void unseen_each_step(struct program *p) { op(p, 5 * US), op(p, 500 * US), op(p, 5 * US); }

static void unseen_now_and_then(struct program *p)
{
    op(p, 5 * US), op(p, p->steps % 2 ? 500 * US : 600 * US);
    op(p, 5 * US);
    if (p->steps % 2) host(p, 10 * US);
}

static void unseen_by_turns(struct program *p)
{
    op(p, 5 * US), op(p, p->steps % 2 ? 500 * US : 5 * US);
    op(p, p->steps % 2 ? 5 * US : 500 * US);
}

/* A framework's own Python between operators, and that of an optimizer in pieces. */
static void unseen_everywhere(struct program *p)
{
    for (int i = 0; i < 20; i++) op(p, i % 4 ? 40 * US : 190 * US);
}

static void unseen_in_an_optimizer(struct program *p)
{
    op(p, 5 * US), op(p, 5 * US);
    for (int i = 0; i < 6; i++) {
        host(p, i ? 5 * US : 500 * US);
        kernel(p, "void at::native::multi_tensor_apply_kernel<TensorListMetadata<3>, F>(F)", 2 * US);
    }
}

/* Autograd prepares before it launches. */
static void unseen_before_backward(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    op(p, 5 * US), op(p, 500 * US); /* the gradient of the loss: ones */
    p->main = mk_thread(&p->t, process, 200);
    int64_t from = p->now;
    op(p, 5 * US), op(p, 5 * US);
    mk_host(&p->t, GP_OP, p->main, from, p->now, "autograd::engine::evaluate_function: AddBackward0");
    p->main = main;
    host(p, 2 * US);
}

TEST(time_that_nobody_saw_is_told)
{
    is_silent(unseen_before_backward, "python_gap");
    speaks(unseen_each_step, "python_gap", 0, 500 * US);
    // From the first step's first kernel to the last one's: five steps of 600 us, four of 500.
    speaks(unseen_now_and_then, "python_gap", 0, 5000 * US / 9);
    is_silent(unseen_by_turns, "python_gap");
    is_silent(unseen_everywhere, "python_gap");
    is_silent(unseen_in_an_optimizer, "python_gap");
}

// ---- what the host does in steps ----

static void allocating_step(struct program *p)
{
    call(p, "cudaMalloc", 100 * US);
    host(p, 10 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void allocating_in_order(struct program *p)
{
    call(p, "cudaMallocAsync", 100 * US);
    host(p, 10 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void loading_step(struct program *p)
{
    if (p->steps == 5) call(p, "cuModuleLoadData", 400 * US);
    host(p, 400 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void loading_before_steps(struct program *p)
{
    if (p->steps == 0) call(p, "cuModuleLoadData", 2 * MS);
    host(p, 400 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void in_python(struct program *p, const char *name)
{
    mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + 200 * US, name);
    host(p, 200 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void compiling_step(struct program *p)
{
    in_python(p, "torch/_dynamo/convert_frame.py(560): compile_inner");
}

static void data_step(struct program *p)
{
    mk_host(&p->t, GP_RANGE, p->main, p->now, p->now + 200 * US,
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    host(p, 200 * US), kernel(p, GEMM, 50 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void own_data_step(struct program *p)
{
    mk_host(&p->t, GP_RANGE, p->main, p->now, p->now + 200 * US, "load data");
    host(p, 200 * US), kernel(p, GEMM, 10 * US);
    wait(p, "cudaDeviceSynchronize");
}

static bool names_a_loader(void (*step)(struct program *))
{
    struct program p;
    run(&p, step);
    assert_non_null(said(&p, "input_stall"));
    bool named = strstr(gp_suggest_str(&p.s, said(&p, "input_stall")->action), "DataLoader") != NULL;
    end(&p);
    return named;
}

static void data_behind_a_busy_gpu(struct program *p)
{
    mk_host(&p->t, GP_RANGE, p->main, p->now, p->now + 200 * US,
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    host(p, 200 * US), kernel(p, GEMM, 900 * US);
}

static void other_python_step(struct program *p) { in_python(p, "train.py(12): step"); }

TEST(host_work_inside_steps_is_saved)
{
    speaks(allocating_step, "allocation", 100 * US, 100 * US);
    is_silent(allocating_in_order, "allocation");
    speaks(loading_step, "module_load", 400 * US / 9, 400 * US / 9); // once from the first step to the tenth
    is_silent(loading_before_steps, "module_load");                  // the first step warms up
    speaks(compiling_step, "recompilation", 200 * US, 200 * US);
    is_silent(other_python_step, "recompilation");
    speaks(data_step, "input_stall", 100 * US, 200 * US); // half of it is for handing over
    is_silent(data_behind_a_busy_gpu, "input_stall");
    assert_true(names_a_loader(data_step));
    assert_false(names_a_loader(own_data_step));
    is_silent(other_python_step, "input_stall");
}

// ---- kernels ----

#define PLAIN "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4"
#define SOFTMAX                                                                                              \
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)"
#define FOREACH                                                                                              \
    "void at::native::(anonymous "                                                                           \
    "namespace)::multi_tensor_apply_kernel<at::native::BinaryOpScalarFunctor<float>>()"
#define FUSED                                                                                                \
    "void at::native::(anonymous "                                                                           \
    "namespace)::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>>()"

static void on_hopper(struct program *p)
{
    if (p->t.devices.n) return;
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.cc_major = 9;
    d.cc_minor = 0;
    GP_VEC_PUSH(&p->t.devices, d);
}

static void plain_products(struct program *p)
{
    on_hopper(p);
    kernel(p, PLAIN, 1000 * US), kernel(p, ELEMENTWISE, 100 * US);
}

static void products_on_tensor_cores(struct program *p)
{
    on_hopper(p);
    kernel(p, "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT", 1000 * US), kernel(p, ELEMENTWISE, 100 * US);
}

static void plain_products_nowhere(struct program *p)
{
    kernel(p, PLAIN, 1000 * US), kernel(p, ELEMENTWISE, 100 * US);
}

/* Of 16 bits, which become no TF32. */
static void plain_convolution(struct program *p)
{
    on_hopper(p);
    kernel(p, "void implicit_convolve_sgemm<__half, __half, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int)",
           1000 * US);
    kernel(p, ELEMENTWISE, 100 * US);
}

#define CONVOLUTION "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nchwkcrs_nchw_ffma__5x_cudnn"
#define TF32        "cutlass_tensorop_s1688wgrad_optimized_tf32_256x64_16x4_nhwc_align4"

static void plain_fprop(struct program *p)
{
    on_hopper(p);
    kernel(p, CONVOLUTION, 1000 * US), kernel(p, ELEMENTWISE, 100 * US);
}

/* cuDNN may use TF32, and chose not to. */
static void plain_fprop_beside_tf32(struct program *p) { plain_fprop(p), kernel(p, TF32, 10 * US); }

TEST(products_go_to_tensor_cores)
{
    is_silent(plain_fprop_beside_tf32, "tensor_cores");
    speaks(plain_fprop, "tensor_cores", 729137, 864568);
    is_silent(plain_convolution, "tensor_cores");
    // 494.7 TF32 to 67 FP32 TFLOP/s are 7.384; half of that leaves 270.9 us of 1000, all of it 135.4
    speaks(plain_products, "tensor_cores", 729137, 864568);
    is_silent(products_on_tensor_cores, "tensor_cores");
    is_silent(plain_products_nowhere, "tensor_cores"); // an unknown device
}

static void attention_step(struct program *p)
{
    kernel(p, "void layer_norm_kernel<float>()", 10 * US);
    kernel(p, GEMM, 100 * US), kernel(p, ELEMENTWISE, 40 * US), kernel(p, SOFTMAX, 60 * US),
        kernel(p, GEMM, 100 * US);
    kernel(p, "void layer_norm_kernel<float>()", 10 * US);
}

static void loss_step(struct program *p)
{
    kernel(p, GEMM, 100 * US),
        kernel(p, "void cunn_SoftMaxForward<float, LogSoftMaxForwardEpilogue>()", 60 * US);
    kernel(p, "void nll_loss_forward_reduce_cuda_kernel_2d<float>()", 10 * US), kernel(p, GEMM, 100 * US);
}

/* The host is late: it launches each of 40 others in 34 us, and takes 600 us before the softmax. */
static void late_attention_step(struct program *p)
{
    static const char *const names[] = {GEMM, ELEMENTWISE, SOFTMAX, GEMM};
    kernel(p, "void layer_norm_kernel<float>()", 1 * US);
    for (int i = 0; i < 4; i++) host(p, i == 2 ? 600 * US : 30 * US), kernel(p, names[i], 3 * US);
    kernel(p, "void layer_norm_kernel<float>()", 1 * US);
    for (int i = 0; i < 40; i++) host(p, 30 * US), kernel(p, "void layer_norm_kernel<float>()", 3 * US);
}

/* Three launches go, with 34 us of the host each: the low end is no more than that and the kernels
 * themselves. */
TEST(the_low_end_of_attention_has_the_host_time_of_its_launches_only)
{
    struct program p;
    run(&p, late_attention_step);
    const struct gp_suggestion *s = said(&p, "attention");
    assert_non_null(s);
    assert_true(s->saving_high_ns > 600 * US);
    assert_true(s->saving_low_ns <= 3 * 34 * US + 12 * US);
    end(&p);
}

TEST(attention_in_pieces_is_one_kernel)
{
    // The two kernels between, and the gap of 1 us that each brings; or nine tenths of the products, too.
    speaks(attention_step, "attention", 102 * US, 102 * US + 180 * US);
    is_silent(loss_step, "attention");
}

static void foreach_step(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 5; i++) kernel(p, FOREACH, 100 * US);
}

static void fused_step(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 5; i++) kernel(p, FUSED, 100 * US);
}

#define PART(what) "void at::native::vectorized_elementwise_kernel<4, at::native::" what ">()"

/* Two layers' worth of other elementwise work, and N tensors that Adam updates one by one. */
static void updates(struct program *p, int n)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 7; i++) kernel(p, ELEMENTWISE, 20 * US);
    for (int i = 0; i < n; i++) {
        kernel(p, PART("(anonymous namespace)::lerp_scalar_kernel"), 20 * US);
        kernel(p, PART("addcmul_cuda_kernel"), 20 * US);
        kernel(p, PART("sqrt_kernel_cuda"), 20 * US);
        kernel(p, PART("addcdiv_cuda_kernel"), 20 * US);
    }
}

static void five_updates(struct program *p) { updates(p, 5); }

static void two_updates(struct program *p) { updates(p, 2); }

TEST(an_optimizer_in_pieces_is_fused)
{
    // The GPU is the slower one: 40 % of 500 us, or 75 %.
    speaks(foreach_step, "optimizer", 200 * US, 375 * US);
    is_silent(fused_step, "optimizer");
    // Nothing but the names tells which kernels they are: 20 of 20 us.
    speaks(five_updates, "optimizer", 160 * US, 300 * US);
    is_silent(two_updates, "optimizer");
}

// ---- communication ----

static void exposed_step(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 100 * US);
}

static void hardly_exposed_step(struct program *p)
{
    kernel(p, GEMM, 500 * US), kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 20 * US);
}

static void eleven_collectives(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 11; i++) kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 20 * US);
}

static void late_collectives(struct program *p)
{
    kernel(p, GEMM, 20 * US);
    for (int i = 0; i < 11; i++)
        host(p, 30 * US), kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 1 * US);
}

static void ten_collectives(struct program *p)
{
    kernel(p, GEMM, 500 * US);
    for (int i = 0; i < 10; i++) kernel(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 20 * US);
}

TEST(communication_may_be_hidden)
{
    speaks(exposed_step, "exposed_communication", 0, 101 * US); // and the gap before it
    is_silent(hardly_exposed_step, "exposed_communication");
    speaks(eleven_collectives, "small_collectives", 0, 200 * US); // all but one take nothing
    // The host calls for one instead of eleven; once of nine times the ten gaps hold the next step up, by 8
    // us.
    speaks(late_collectives, "small_collectives", 0, 10 * 34 * US - 8 * US / 9);
    is_silent(ten_collectives, "small_collectives");
}
