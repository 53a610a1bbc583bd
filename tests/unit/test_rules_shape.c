// The rules that look at launch shapes and at what runs beside a kernel: each on a trace that makes it speak, and on one
// that nearly does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/suggest.h"
#include "tests/unit/trace_make.h"

/* A program that is written call by call: the host's clock moves on, a kernel starts 7 us after its call or 1 us after the
 * one before it on its stream. */
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

static void host(struct program *p, int64_t ns)
{
    p->now += ns;
}

/* A kernel of BLOCKS blocks (0: nobody knows) on the first or the second stream. */
static void kernel_on(struct program *p, int stream, const char *name, uint32_t blocks, int64_t dur)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.kind = GP_KERNEL;
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

/* STEP makes RULE say that nothing to HIGH ns of each step are saved; the model's own 5 % are added here. */
static void speaks(void (*step)(struct program *), const char *rule, int64_t high)
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, rule);
    assert_non_null(s);
    assert_int_equal(s->saving_low_ns, 0);
    assert_in_range(s->saving_high_ns, high ? high * 105 / 100 - 200 : 0, high * 105 / 100 + 200);
    assert_true(s->saving_high_ns <= s->ceiling_ns * 106 / 100);
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

static void a_grid_below_the_device_leaves_it_idle(void **state)
{
    (void)state;
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

static void one_wave_and_a_bit(struct program *p)
{
    product_of(p, 290);
}

static void one_whole_wave(struct program *p)
{
    product_of(p, 264);
}

static void one_wave_and_a_half(struct program *p)
{
    product_of(p, 400);
}

static void elementwise_wave_and_a_bit(struct program *p)
{
    kernel(p, ELEMENTWISE, 290, 1000 * US), kernel(p, ELEMENTWISE, 100000, 500 * US);
}

static void a_last_wave_is_nearly_empty(void **state)
{
    (void)state;
    // 256 threads of 128 registers: 8 warps of 4096 registers a block, 65536 a multiprocessor: 2 blocks on each, 264 in a
    // wave. 290 are 1.09848 waves, which take as long as 2: at most 1000 - 549.242 us are saved.
    speaks(one_wave_and_a_bit, "wave_quantisation", 450758);
    is_silent(one_whole_wave, "wave_quantisation");
    is_silent(one_wave_and_a_half, "wave_quantisation");
    is_silent(elementwise_wave_and_a_bit, "wave_quantisation");
}

// ---- contention ----

/* A product alone, then one beside communication. */
static void beside_communication(struct program *p, int64_t communication, int64_t beside)
{
    host(p, 10 * US), kernel(p, GEMM, 100000, 300 * US);
    wait(p);
    kernel_on(p, 1, NCCL, 16, communication), kernel(p, GEMM, 100000, beside);
    wait(p);
}

static void slower_beside(struct program *p)
{
    beside_communication(p, 200 * US, 390 * US);
}

static void long_communication(struct program *p)
{
    beside_communication(p, 450 * US, 390 * US);
}

static void hardly_slower_beside(struct program *p)
{
    beside_communication(p, 200 * US, 359 * US);
}

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

static void communication_slows_kernels_down(void **state)
{
    (void)state;
    speaks(slower_beside, "contention", 90 * US);
    speaks(long_communication, "contention", 0); // which is waited for all the same
    is_silent(hardly_slower_beside, "contention");
    is_silent(another_grid_beside, "contention");
    is_silent(other_work_alone, "contention");
    is_silent(other_sizes_beside, "contention");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_below_the_device_leaves_it_idle),
        cmocka_unit_test(a_last_wave_is_nearly_empty),
        cmocka_unit_test(communication_slows_kernels_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
