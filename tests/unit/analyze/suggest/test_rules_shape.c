// The rules that look at launch shapes and at what runs beside a kernel: each on a trace that makes it speak,
// and on one that nearly does.
#include <stdio.h>
#include <string.h>

#include "analyze/suggest/suggest.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

/* A program that is written call by call: the host's clock moves on, a kernel starts 7 us after its call or 1
 * us after the one before it on its stream. */
struct program {
    struct gp_trace t;
    uint32_t main, streams[2];
    int64_t now, free_ns[2];
    uint64_t corr;
    int steps;
    struct gp_suggest s;
};

enum { US = 1000, MS = 1000000, SMS = 132, THREADS = 256, REGISTERS = 128 };

static void begin(struct program *p)
{
    memset(p, 0, sizeof *p);
    gp_trace_init(&p->t, GP_NEED_ALL);
    uint32_t process = mk_process(&p->t, 1, 0);
    p->main = mk_thread(&p->t, process, 100);
    for (int i = 0; i < 2; i++) p->streams[i] = mk_stream(&p->t, process, 0, 7 + i);
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.cc_major = 9;
    d.cc_minor = 0;
    d.sms = SMS;
    d.warp_size = 32;
    d.max_threads_per_sm = 2048;
    d.regs_per_sm = 65536;
    d.shared_per_sm = 233472;
    d.name = mk_name(&p->t, "NVIDIA H200");
    d.memory_bytes = INT64_C(1000000000);
    GP_VEC_PUSH(&p->t.devices, d);
}

static void host(struct program *p, int64_t ns) { p->now += ns; }

/* Work of BLOCKS blocks (0: unknown) on the first or the second stream. */
static void gpu_event(struct program *p, int stream, enum gp_gpu_kind kind, const char *name, uint32_t blocks,
                      int64_t dur)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.kind = kind;
    c.name = mk_name(&p->t, name);
    if (blocks) {
        c.has = GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS | GP_HAS_SHARED;
        c.grid[0] = blocks, c.grid[1] = c.grid[2] = 1;
        c.block[0] = THREADS, c.block[1] = c.block[2] = 1;
        c.registers = REGISTERS;
    }
    int64_t start = p->now + 7 * US;
    if (start < p->free_ns[stream] + 1 * US) start = p->free_ns[stream] + 1 * US;
    struct gp_events *gpu = &p->t.events[GP_GPU];
    size_t row = gp_events_add(gpu, start, dur, p->streams[stream], c.name);
    gp_set_config(gpu, row, gp_trace_config(&p->t, &c));
    gp_set_corr(gpu, row, ++p->corr);
    p->free_ns[stream] = start + dur;
    mk_call(&p->t, p->main, p->now, p->now + 4 * US, "cudaLaunchKernel", p->corr);
    host(p, 4 * US);
}

static void kernel_on(struct program *p, int stream, const char *name, uint32_t blocks, int64_t dur)
{
    gpu_event(p, stream, GP_KERNEL, name, blocks, dur);
}

static void kernel(struct program *p, const char *name, uint32_t blocks, int64_t dur)
{
    kernel_on(p, 0, name, blocks, dur);
}

static void wait(struct program *p)
{
    int64_t over = p->free_ns[0] > p->free_ns[1] ? p->free_ns[0] : p->free_ns[1];
    int64_t back = over + 3 * US > p->now + 2 * US ? over + 3 * US : p->now + 2 * US;
    mk_call(&p->t, p->main, p->now, back, "cudaDeviceSynchronize", ++p->corr);
    p->now = back;
}

/* Ten steps, each written by STEP. */
static void run(struct program *p, void (*step)(struct program *))
{
    begin(p);
    for (p->steps = 0; p->steps < 10; p->steps++) {
        char name[32];
        int64_t from = p->now;
        snprintf(name, sizeof name, "ProfilerStep#%d", p->steps);
        step(p);
        mk_host(&p->t, GP_RANGE, p->main, from, p->now, name);
    }
    struct gp_err err;
    gp_trace_finish(&p->t);
    gp_suggest_init(&p->s, NULL);
    assert_int_equal(gp_suggest_run(&p->s, &p->t, &err), 0);
    assert_true(p->s.step.found);
    assert_true(p->s.step.trusted);
}

static void end(struct program *p)
{
    gp_suggest_release(&p->s);
    gp_trace_release(&p->t);
}

static const struct gp_suggestion *said(const struct program *p, const char *rule)
{
    assert_non_null(gp_rule_find(rule));
    for (size_t i = 0; i < p->s.suggestions.n; i++)
        if (!strcmp(p->s.suggestions.at[i].rule->name, rule)) return &p->s.suggestions.at[i];
    return NULL;
}

/* STEP makes RULE say that nothing to HIGH ns of each step are saved; the model's own 25 %, 1 % of the step
 * and 3 % of what the GPU waits are added here. */
static void speaks(void (*step)(struct program *), const char *rule, int64_t high)
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, rule);
    assert_non_null(s);
    assert_in_range(s->saving_low_ns, 0, s->saving_high_ns / 100 * s->rule->least_pct);
    int64_t all = p.s.step.unprofiled_high_ns, noise = all / 100 + (all - p.s.step.busy_ns) / 100 * 3;
    if (noise > high) noise = high;
    int64_t most = high + (p.s.step.step_ns - high) * 4 / 5; /* of what is left at most */
    most = high * 125 / 100 + noise < most ? high * 125 / 100 + noise : most;
    /* no more than there is to gain: test_unprofiled.c has the bounds */
    assert_in_range(s->saving_high_ns, high > most ? most - 200 : high > 200 ? high - 200 : 0, most + 200);
    assert_true(s->saving_high_ns <= s->ceiling_ns * 126 / 100 + noise);
    assert_true(*gp_suggest_str(&p.s, s->description) && *gp_suggest_str(&p.s, s->action) &&
                *gp_suggest_str(&p.s, s->formula) && *gp_suggest_str(&p.s, s->check));
    assert_true(s->evidence.n > 0);
    end(&p);
}

static void is_silent(void (*step)(struct program *), const char *rule)
{
    struct program p;
    run(&p, step);
    assert_null(said(&p, rule));
    end(&p);
}

#define ELEMENTWISE "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>()"
#define GEMM        "sm90_xmma_gemm_f32f32_tn"
#define NCCL        "ncclDevKernel_AllReduce_Sum_f32_RING_LL()"

// ---- small_grid ----

static void quarter_grid(struct program *p)
{
    kernel(p, GEMM, 33, 500 * US), kernel(p, ELEMENTWISE, 100000, 500 * US);
}

static void nearly_full_grid(struct program *p)
{
    kernel(p, GEMM, 120, 500 * US), kernel(p, ELEMENTWISE, 100000, 500 * US);
}

static void quarter_grid_that_is_short(struct program *p)
{
    for (int i = 0; i < 10; i++) kernel(p, GEMM, 33, 9 * US);
}

// The other stream is as long, so that the first one's idle multiprocessors have work.
static void quarter_grid_beside_another(struct program *p)
{
    host(p, 10 * US);
    kernel_on(p, 1, ELEMENTWISE, 100000, 600 * US), kernel(p, GEMM, 33, 500 * US);
    wait(p);
}

// The GPU is idle most of the time: shorter kernels save nothing.
static void quarter_grid_behind_a_late_host(struct program *p)
{
    host(p, 900 * US), kernel(p, GEMM, 33, 500 * US);
}

/* One block for each channel, which nobody can split. */
static void quarter_grid_of_a_norm(struct program *p)
{
    kernel(p, "void at::native::batch_norm_collect_statistics_kernel<float>(int)", 33, 500 * US);
    kernel(p, ELEMENTWISE, 100000, 500 * US);
}

#define SHARED                                                                                               \
    "sm90_xmma_fprop_implicit_gemm_bf16bf16_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1__5x_cudnn"

static void tiles_of(struct program *p, const char *name, uint32_t blocks)
{
    kernel(p, name, blocks, 500 * US), kernel(p, ELEMENTWISE, 100000, 100 * US);
}

static void many_tiles(struct program *p) { tiles_of(p, SHARED, 120); }

static void few_tiles(struct program *p) { tiles_of(p, SHARED, 33); }

static void many_blocks(struct program *p) { tiles_of(p, GEMM, 120); }

TEST(a_grid_below_the_device_leaves_it_idle)
{
    is_silent(many_tiles, "small_grid");       // 784 may be seven times 112
    speaks(few_tiles, "small_grid", 375 * US); // and these, one for each block
    speaks(many_blocks, "small_grid", 500 * US / 11);
    is_silent(quarter_grid_of_a_norm, "small_grid");
    // 33 of 132: three quarters of 500 us at most
    speaks(quarter_grid, "small_grid", 375 * US);
    speaks(quarter_grid_behind_a_late_host, "small_grid", 0);
    is_silent(nearly_full_grid, "small_grid"); // a twelfth of 500 us: 4.2 % of the busy time
    is_silent(quarter_grid_that_is_short, "small_grid");
    is_silent(quarter_grid_beside_another, "small_grid");
}

// ---- wave_quantisation ----

static void product_of(struct program *p, uint32_t blocks)
{
    kernel(p, GEMM, blocks, 1000 * US), kernel(p, ELEMENTWISE, 100000, 500 * US);
}

static void one_wave_and_a_bit(struct program *p) { product_of(p, 290); }

static void one_whole_wave(struct program *p) { product_of(p, 264); }

static void one_wave_and_a_half(struct program *p) { product_of(p, 400); }

static void elementwise_wave_and_a_bit(struct program *p)
{
    kernel(p, ELEMENTWISE, 290, 1000 * US), kernel(p, ELEMENTWISE, 100000, 500 * US);
}

TEST(a_last_wave_is_nearly_empty)
{
    // 256 threads of 128 registers: 8 warps of 4096 registers a block, 65536 a multiprocessor: 2 blocks on
    // each, 264 in a wave. 290 are 1.09848 waves, which take as long as 2: at most 1000 - 549.242 us are
    // saved.
    speaks(one_wave_and_a_bit, "wave_quantisation", 450758);
    is_silent(one_whole_wave, "wave_quantisation");
    is_silent(one_wave_and_a_half, "wave_quantisation");
    is_silent(elementwise_wave_and_a_bit, "wave_quantisation");
}

// ---- tiny_blocks ----

/* A million blocks of 256 threads. */
static void million_rows(struct program *p) { kernel(p, "row_kernel", 1000000, 610 * US); }

static void million_rows_slower(struct program *p) { kernel(p, "row_kernel", 1000000, 650 * US); }

static void million_rows_of_pytorch(struct program *p) { kernel(p, ELEMENTWISE, 1000000, 610 * US); }

static void million_rows_compiled(struct program *p)
{
    kernel(p, "triton_per_fused_sum_0", 1000000, 610 * US);
}

static void million_rows_of_an_a100(struct program *p)
{
    p->t.devices.at[0].cc_major = 8;
    million_rows(p);
}

TEST(blocks_do_too_little)
{
    // 1,639 per us; 1,024 MB take 213.3 us at 4.8 TB/s
    speaks(million_rows, "tiny_blocks", 396667);
    is_silent(million_rows_slower, "tiny_blocks"); // 1,538 per us
    is_silent(million_rows_of_pytorch, "tiny_blocks");
    is_silent(million_rows_compiled, "tiny_blocks");
    is_silent(million_rows_of_an_a100, "tiny_blocks");
}

// ---- contention ----

/* A product by itself, then one beside communication. */
static void beside_communication(struct program *p, int64_t communication, int64_t beside)
{
    host(p, 10 * US), kernel(p, GEMM, 100000, 300 * US);
    wait(p);
    kernel_on(p, 1, NCCL, 16, communication), kernel(p, GEMM, 100000, beside);
    wait(p);
}

static void slower_beside(struct program *p) { beside_communication(p, 200 * US, 390 * US); }

static void long_communication(struct program *p) { beside_communication(p, 450 * US, 390 * US); }

static void hardly_slower_beside(struct program *p) { beside_communication(p, 200 * US, 359 * US); }

static void another_grid_beside(struct program *p)
{
    host(p, 10 * US), kernel(p, GEMM, 100000, 300 * US);
    wait(p);
    kernel_on(p, 1, NCCL, 16, 200 * US), kernel(p, GEMM, 130000, 390 * US);
    wait(p);
}

/* Alone it takes 200 or 300 us: two sorts of work with one grid. */
static void other_work_alone(struct program *p)
{
    host(p, 10 * US), kernel(p, GEMM, 100000, (p->steps % 2 ? 200 : 300) * US);
    wait(p);
    kernel_on(p, 1, NCCL, 16, 200 * US), kernel(p, GEMM, 100000, 390 * US);
    wait(p);
}

/* The products differ in the sizes that their operators had. */
static void other_sizes_beside(struct program *p)
{
    for (int i = 0; i < 2; i++) {
        host(p, 10 * US);
        int64_t from = p->now;
        if (i) kernel_on(p, 1, NCCL, 16, 200 * US);
        kernel(p, GEMM, 100000, i ? 390 * US : 300 * US);
        size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, "aten::mm");
        const char *args =
            i ? "{\"Input Dims\": [[64, 90], [90, 64]]}" : "{\"Input Dims\": [[64, 64], [64, 64]]}";
        gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, args));
        wait(p);
    }
}

TEST(communication_slows_kernels_down)
{
    speaks(slower_beside, "contention", 90 * US);
    speaks(long_communication, "contention", 0); // which is waited for all the same
    is_silent(hardly_slower_beside, "contention");
    is_silent(another_grid_beside, "contention");
    is_silent(other_work_alone, "contention");
    is_silent(other_sizes_beside, "contention");
}

// ---- batching ----

static void row_of(struct program *p, int n, uint32_t blocks, bool between)
{
    for (int i = 0; i < n; i++) {
        kernel(p, GEMM, blocks, 50 * US);
        if (between) kernel(p, ELEMENTWISE, 100000, 5 * US);
    }
    kernel(p, ELEMENTWISE, 100000, 500 * US);
}

static void twelve_in_a_row(struct program *p) { row_of(p, 12, 33, false); }

static void nine_in_a_row(struct program *p) { row_of(p, 9, 33, false); }

static void twelve_with_others_between(struct program *p) { row_of(p, 12, 33, true); }

static void twelve_that_fill_the_device(struct program *p) { row_of(p, 12, 264, false); }

static void twelve_of(struct program *p, const char *name)
{
    for (int i = 0; i < 12; i++) kernel(p, name, 33, 50 * US);
    kernel(p, "solve(float*)", 100000, 500 * US);
}

static void twelve_of_cuda(struct program *p) { twelve_of(p, "step(float*)"); }

static void twelve_products(struct program *p) { twelve_of(p, GEMM); }

/* Each may add to what the one before wrote. */
static void twelve_additions(struct program *p)
{
    for (int i = 0; i < 12; i++) kernel(p, ELEMENTWISE, 33, 50 * US);
    kernel(p, GEMM, 100000, 500 * US);
}

TEST(equal_kernels_in_a_row_are_one_launch)
{
    struct program p;
    run(&p, twelve_additions);
    assert_int_equal(said(&p, "batching")->saving_low_ns, 0);
    end(&p);
    run(&p, twelve_in_a_row);
    assert_true(said(&p, "batching")->saving_low_ns > 0);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "batching")->action), "torch.stack"));
    end(&p);
    run(&p, twelve_of_cuda);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "batching")->action), ": one kernel that does"));
    end(&p);
    run(&p, twelve_products);
    assert_non_null(strstr(gp_suggest_str(&p.s, said(&p, "batching")->action), "matmul of CuPy"));
    assert_null(strstr(gp_suggest_str(&p.s, said(&p, "batching")->action), "vmap"));
    end(&p);
    // 264 blocks fill the device (see above): a launch of 33 takes an eighth of it, and the 600 us of twelve,
    // of which each begins and ends for 2 us, 72 us together. Eleven gaps of 1 us go as well.
    speaks(twelve_in_a_row, "batching", 528 * US + 11 * US);
    is_silent(nine_in_a_row, "batching");
    is_silent(twelve_with_others_between, "batching");
    is_silent(twelve_that_fill_the_device, "batching");
}

// ---- routing ----

static void operator_on_the_cpu(struct program *p, const char *name, int64_t dur, uint32_t thread, bool calls)
{
    mk_host(&p->t, GP_OP, thread, p->now, p->now + dur, name);
    if (calls)
        mk_call(&p->t, p->main, p->now + dur / 2, p->now + dur / 2 + 1 * US, "cudaStreamIsCapturing",
                ++p->corr);
    host(p, dur), kernel(p, GEMM, 100000, 1 * MS);
    wait(p);
}

static void long_operator(struct program *p)
{
    operator_on_the_cpu(p, "torchvision::nms", 12 * MS, p->main, false);
}

static void shorter_operator(struct program *p)
{
    operator_on_the_cpu(p, "torchvision::nms", 9900 * US, p->main, false);
}

static void operator_that_calls(struct program *p)
{
    operator_on_the_cpu(p, "torchvision::nms", 12 * MS, p->main, true);
}

static void loader(struct program *p)
{
    operator_on_the_cpu(p, "enumerate(DataLoader)::__next__", 12 * MS, p->main, false);
}

static void operator_of_another_thread(struct program *p)
{
    operator_on_the_cpu(p, "torchvision::nms", 12 * MS, mk_thread(&p->t, 0, 200), false);
}

static void short_kernels(struct program *p)
{
    for (int i = 0; i < 20; i++) {
        int64_t from = p->now;
        host(p, 5 * US), kernel(p, ELEMENTWISE, 100000, 10 * US);
        mk_host(&p->t, GP_OP, p->main, from, p->now, "aten::add");
    }
}

TEST(long_work_of_the_cpu_may_move)
{
    speaks(long_operator, "routing", 12 * MS);
    is_silent(shorter_operator, "routing");
    is_silent(operator_that_calls, "routing");
    is_silent(loader, "routing");
    is_silent(operator_of_another_thread, "routing");
    is_silent(short_kernels, "routing"); // all below 1 ms
}

// ---- caching ----

static void one_constant(struct program *p, const char *name, int value)
{
    char args[64];
    int64_t from = p->now;
    host(p, 10 * US), kernel(p, "void elementwise_kernel_with_index<int>()", 1, 2 * US);
    size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, name);
    snprintf(args, sizeof args, "{\"Concrete Inputs\": [\"%d\", \"4\"]}", value);
    gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, args));
}

static void constants(struct program *p, int n, const char *name, bool equal, bool vary)
{
    for (int i = 0; i < n; i++) one_constant(p, name, equal ? 128 : 128 + i + (vary ? 1000 * p->steps : 0));
    host(p, 10 * US), kernel(p, GEMM, 100000, 500 * US);
    wait(p);
}

/* The program takes 3 us to ask for each. */
static void constants_with_pauses(struct program *p)
{
    for (int i = 0; i < 120; i++) host(p, 3 * US), one_constant(p, "aten::arange", 128);
    host(p, 10 * US), kernel(p, GEMM, 100000, 500 * US);
    wait(p);
}

static void many_constants(struct program *p) { constants(p, 120, "aten::arange", true, false); }

static void fewer_constants(struct program *p) { constants(p, 99, "aten::arange", true, false); }

static void different_constants(struct program *p) { constants(p, 120, "aten::arange", false, true); }

static void same_in_each_step(struct program *p) { constants(p, 120, "aten::arange", false, false); }

static void sums_of_tensors(struct program *p) { constants(p, 120, "aten::add", true, false); }

/* Each gradient of x[i] is one of zeros with a part that is not: autograd's own. */
static void constants_in(struct program *p, const char *node)
{
    for (int i = 0; i < 120; i++) {
        int64_t from = p->now;
        host(p, 1 * US), one_constant(p, "aten::zeros", 128), host(p, 1 * US);
        mk_host(&p->t, GP_OP, p->main, from, p->now, node);
    }
    host(p, 10 * US), kernel(p, GEMM, 100000, 500 * US);
    wait(p);
}

static void constants_of_autograd(struct program *p)
{
    constants_in(p, "autograd::engine::evaluate_function: SelectBackward0");
}

static void constants_of_a_function(struct program *p) { constants_in(p, "MyRoutingBackward"); }

TEST(constants_are_made_once)
{
    speaks(many_constants, "caching", 119 * 14 * US); // the host's time for all but one; the GPU waits for it
    speaks(same_in_each_step, "caching", 120 * 14 * US); // all are kept from the step before
    // what lies between two operators goes along, but not before the first one of a step, after a wait of
    // another kind
    speaks(constants_with_pauses, "caching", 119 * 17 * US);
    is_silent(fewer_constants, "caching");
    is_silent(different_constants, "caching");
    is_silent(sums_of_tensors, "caching");
    is_silent(constants_of_autograd, "caching");
    struct program p; // of the program's own backward pass
    run(&p, constants_of_a_function);
    assert_non_null(said(&p, "caching"));
    end(&p);
}

// ---- memory_peak ----

static void allocate(struct program *p, int64_t total, const char *args)
{
    struct gp_events *m = &p->t.events[GP_MEMORY];
    size_t row = gp_events_add(m, p->now, 0, p->main, mk_name(&p->t, "[memory]"));
    gp_set_bytes(m, row, 1000);
    gp_set_total(m, row, total);
    gp_set_reserved(m, row, total + 1000000);
    gp_set_extra(m, row, mk_name(&p->t, args));
    host(p, 5 * US), kernel(p, GEMM, 100000, 100 * US);
}

static void nearly_full(struct program *p) { allocate(p, 901000000, "{\"Device Type\": 1}"); }

static void not_so_full(struct program *p) { allocate(p, 900000000, "{\"Device Type\": 1}"); }

static void full_of_the_host(struct program *p) { allocate(p, 999000000, "{\"Device Type\": 0}"); }

TEST(a_full_memory_is_told_without_a_time)
{
    speaks(nearly_full, "memory_peak", 0); // of 1 GB
    is_silent(not_so_full, "memory_peak");
    is_silent(full_of_the_host, "memory_peak");
}

// ---- data_parallel ----

static void forward(struct program *p, const char *name)
{
    int64_t from = p->now;
    host(p, 5 * US), kernel(p, GEMM, 100000, 100 * US);
    mk_host(&p->t, GP_RANGE, p->main, from, p->now, name);
}

static void one_process(struct program *p) { forward(p, "DataParallel.forward"); }

static void many_processes(struct program *p) { forward(p, "DistributedDataParallel.forward"); }

TEST(one_process_for_all_devices_is_told)
{
    speaks(one_process, "data_parallel", 0);
    is_silent(many_processes, "data_parallel");
}

// ---- low_utilisation ----

static void busy_for(struct program *p, int64_t idle, int64_t busy)
{
    mk_host(&p->t, GP_OP, p->main, p->now, p->now + idle, "mylib::work");
    host(p, idle), kernel(p, p->steps % 2 ? GEMM : GEMM "_2", 100000, busy);
}

static void hardly_busy(struct program *p) { busy_for(p, 900 * US, 100 * US); }

static void busy_enough(struct program *p) { busy_for(p, 380 * US, 300 * US); }

static void hardly_busy_for_a_known_reason(struct program *p)
{
    mk_host(&p->t, GP_RANGE, p->main, p->now, p->now + 900 * US, "enumerate(DataLoader)#_Iter.__next__");
    host(p, 900 * US), kernel(p, GEMM, 100000, 100 * US);
}

TEST(an_idle_device_is_told_with_its_largest_cause)
{
    // A step takes 904 us of the host: half of 900 us less, at most.
    speaks(hardly_busy, "low_utilisation", 450 * US);
    is_silent(busy_enough, "low_utilisation");
    is_silent(hardly_busy_for_a_known_reason, "low_utilisation");
}

// ---- tiny_kernels ----

static void tiny(struct program *p, int n, const char *name, int64_t dur, int64_t before)
{
    kernel(p, GEMM, 100000, 400 * US);
    for (int i = 0; i < n; i++) host(p, before), kernel(p, name, 100000, dur);
}

static void forty_tiny(struct program *p) { tiny(p, 40, ELEMENTWISE, 3 * US, 0); }

static void forty_longer(struct program *p) { tiny(p, 40, ELEMENTWISE, 6 * US, 0); }

static void forty_that_are_late(struct program *p) { tiny(p, 40, ELEMENTWISE, 3 * US, 30 * US); }

static void forty_of_a_compiler(struct program *p) { tiny(p, 40, "triton_poi_fused_add_0", 3 * US, 0); }

static void few_tiny(struct program *p)
{
    tiny(p, 10, ELEMENTWISE, 3 * US, 0);
    for (int i = 0; i < 30; i++) kernel(p, ELEMENTWISE, 100000, 6 * US);
}

TEST(tiny_kernels_have_gaps)
{
    speaks(forty_tiny, "tiny_kernels", 39 * US); // all but the first are 1 us behind another
    struct program p;
    run(&p, forty_tiny);
    const char *text = gp_suggest_str(&p.s, said(&p, "tiny_kernels")->description);
    assert_non_null(strstr(text, "where the host launches early enough")); // elsewhere it may be late
    end(&p);
    is_silent(forty_longer, "tiny_kernels");
    is_silent(forty_that_are_late, "tiny_kernels");
    is_silent(forty_of_a_compiler, "tiny_kernels");
    is_silent(few_tiny, "tiny_kernels");
}

// ---- odd_dimensions, gemm_roof ----

struct shape {
    const char *op, *args;
    int64_t dur;
    bool beside; /* communication */
};

static void product_from(struct program *p, const struct shape *shape)
{
    if (shape->beside) kernel_on(p, 1, NCCL, 16, 20 * US);
    int64_t from = p->now;
    kernel(p, GEMM, 100000, shape->dur);
    size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, shape->op);
    gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, shape->args));
    wait(p);
}

#define BF16       ", \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]}"
#define SQUARE     "{\"Input Dims\": [[4096, 4096], [4096, 4096]]"
#define VOCABULARY "{\"Input Dims\": [[50257], [4096, 1024], [1024, 50257], [], []]"

/* Slow, but the operator runs a second kernel, or a set of its workspace. */
static void slow_in_two(struct program *p, enum gp_gpu_kind kind, const char *name)
{
    int64_t from = p->now;
    gpu_event(p, 0, kind, name, 0, 2 * US);
    kernel(p, GEMM, 100000, 400 * US);
    size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, "aten::mm");
    gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, SQUARE BF16));
    wait(p);
}

static void slow_product_with_a_set(struct program *p) { slow_in_two(p, GP_MEMSET, "Memset (Device)"); }

static void split_product(struct program *p) { slow_in_two(p, GP_KERNEL, "splitKreduce_kernel"); }

static void odd_vocabulary(struct program *p)
{
    product_from(p, &(struct shape){"aten::addmm", VOCABULARY BF16, 1000 * US, false});
}

static void odd_vocabulary_at_the_roof(struct program *p)
{
    product_from(p, &(struct shape){"aten::addmm", VOCABULARY BF16, 530 * US, false});
}

static void odd_rows(struct program *p)
{
    product_from(p, &(struct shape){"aten::mm", "{\"Input Dims\": [[4095, 4096], [4096, 4096]]" BF16,
                                    1000 * US, false});
}

static void odd_words(struct program *p)
{
    product_from(p, &(struct shape){"aten::addmm",
                                    VOCABULARY ", \"Input type\": [\"float\", \"float\", \"float\"]}",
                                    1000 * US, false});
}

/* Without operators: what the name shows. */
static void product_named(struct program *p, const char *name)
{
    kernel(p, name, 100000, 1000 * US);
    wait(p);
}

static void unaligned(struct program *p)
{
    product_named(p, "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(P)");
}

static void aligned(struct program *p)
{
    product_named(p,
                  "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_tn_align8>(P)");
}

/* Four elements of TF32 are as many bytes as eight of 16 bits. */
static void of_words(struct program *p)
{
    product_named(p, "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4>(P)");
}

static void slow_product(struct program *p)
{
    product_from(p, &(struct shape){"aten::mm", SQUARE BF16, 400 * US, false});
}

static void fast_product(struct program *p)
{
    product_from(p, &(struct shape){"aten::mm", SQUARE BF16, 280 * US, false});
}

static void slow_product_beside_communication(struct program *p)
{
    product_from(p, &(struct shape){"aten::mm", SQUARE BF16, 400 * US, true});
}

static void thin_product(struct program *p)
{
    product_from(
        p, &(struct shape){"aten::mm", "{\"Input Dims\": [[16, 8192], [8192, 65536]]" BF16, 450 * US, false});
}

static void small_product(struct program *p)
{
    product_from(p, &(struct shape){"aten::mm", "{\"Input Dims\": [[1024, 1024], [1024, 1024]]" BF16,
                                    100 * US, false});
}

static void product_of_unknown_sizes(struct program *p)
{
    product_from(p, &(struct shape){"aten::mm", "{\"Input Dims\": [[[4096, 4096], [4096, 4096]]]" BF16,
                                    400 * US, false});
}

#define UNALIGNED "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(P)"

/* The odd size is that of the sequence, or of the picture. */
static void unaligned_attention(struct program *p)
{
    kernel(p, UNALIGNED, 100000, 1000 * US);
    kernel(p,
           "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)",
           100000, 100 * US);
    product_named(p, UNALIGNED);
}

static void unaligned_convolution(struct program *p)
{
    kernel(p, UNALIGNED, 100000, 1000 * US);
    kernel(p, "void at::native::batch_norm_transform_input_kernel<c10::Half, float>(int)", 100000, 50 * US);
    wait(p);
}

TEST(products_of_odd_sizes_are_padded)
{
    is_silent(unaligned_attention, "odd_dimensions");
    is_silent(unaligned_convolution, "odd_dimensions");
    // Of 1000 us. The roof: 2 * 4096 * 1024 * 50257 = 421.59 GFLOP at 0.8 * 989 TFLOP/s are 532.8 us.
    speaks(odd_vocabulary, "odd_dimensions", 467150);
    is_silent(odd_vocabulary_at_the_roof, "odd_dimensions");
    is_silent(odd_rows, "odd_dimensions");
    is_silent(odd_words, "odd_dimensions");
    // It loads one element of eight: seven eighths of its loads go away.
    speaks(unaligned, "odd_dimensions", 875 * US);
    is_silent(aligned, "odd_dimensions");
    is_silent(of_words, "odd_dimensions");
}

TEST(products_are_below_the_roof)
{
    // 2 * 4096^3 = 137.439 GFLOP at 0.8 * 989.4 TFLOP/s are 173.64 us: 60 % of 289.4 us.
    speaks(slow_product, "gemm_roof", 226361);
    speaks(slow_product_with_a_set, "gemm_roof", 226361);
    is_silent(split_product, "gemm_roof");
    is_silent(fast_product, "gemm_roof");
    is_silent(slow_product_beside_communication, "gemm_roof");
    // 8192 * 65536 * 2 bytes and 2.36 MB of the others at 0.8 * 4.8 TB/s are 280.2 us: memory bounds it
    is_silent(thin_product, "gemm_roof");
    is_silent(small_product, "gemm_roof"); // 2.7 us at the roof
    is_silent(product_of_unknown_sizes, "gemm_roof");
}

// ---- throttling ----

/* In the second half of the steps the two kernels take so many parts in a thousand longer. */
static void slowing_down(struct program *p, int first, int second)
{
    bool late = p->steps >= 5;
    kernel(p, GEMM, 100000, 500 * (1000 + (late ? first : 0)));
    kernel(p, ELEMENTWISE, 100000, 300 * (1000 + (late ? second : 0)));
}

static void all_slower(struct program *p) { slowing_down(p, 50, 50); }

static void all_hardly_slower(struct program *p) { slowing_down(p, 25, 25); }

static void one_slower(struct program *p) { slowing_down(p, 100, 0); }

TEST(a_device_that_slows_down_is_told)
{
    // From the first step's begin to the tenth one's lie nine steps, of which four take 40 us longer.
    speaks(all_slower, "throttling", 4 * 40 * US / 9);
    is_silent(all_hardly_slower, "throttling");
    // 6 % in all, but five eighths of the time when nothing runs beside it
    is_silent(one_slower, "throttling");
}
