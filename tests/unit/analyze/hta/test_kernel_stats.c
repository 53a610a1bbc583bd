// Kernels and what launched them, occupancy, Tensor Cores, SM efficiency. Expected figures are worked out by
// hand.
#include <stdlib.h>

#include <math.h>
#include "analyze/hta/hta.h"
#include "analyze/cost/occupancy.h"
#include "analyze/hta/hta_rows.h"
#include "formats/model/samples.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct made {
    struct gp_trace t;
    uint32_t process, thread, s7, s9;
    struct gp_hta h;
};

static void begin(struct made *m)
{
    gp_trace_init(&m->t, GP_NEED_ALL);
    m->process = mk_process(&m->t, 1, 0);
    m->thread = mk_thread(&m->t, m->process, 1);
    m->s7 = mk_stream(&m->t, m->process, 0, 7);
    m->s9 = mk_stream(&m->t, m->process, 0, 9);
}

static void look(struct made *m)
{
    gp_trace_finish(&m->t);
    gp_hta_init(&m->h, &(struct gp_hta_opts){.repair = GP_REPAIR_NONE});
    assert_int_equal(gp_hta_add_trace(&m->h, &m->t, NULL), 0);
    gp_hta_finish(&m->h);
}

static void end(struct made *m)
{
    gp_hta_release(&m->h);
    gp_trace_release(&m->t);
}

static const struct gp_kernel_stat *kernel(const struct made *m, const char *name)
{
    for (size_t i = 0; i < m->h.kernels.n; i++)
        if (!strcmp(gp_hta_str(&m->h, m->h.kernels.at[i].name), name)) return &m->h.kernels.at[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

/* NULL: what nothing of the sort launched. */
static const struct gp_owner_stat *owner(const struct made *m, enum gp_owner_sort sort, const char *name)
{
    for (size_t i = 0; i < m->h.owners.n; i++) {
        const struct gp_owner_stat *o = &m->h.owners.at[i];
        if (o->sort == (uint32_t)sort && !strcmp(gp_hta_str(&m->h, o->name), name ? name : "")) return o;
    }
    fail_msg("no owner %s", name ? name : "(none)");
    return NULL;
}

/* A device like an H100: 132 SMs of 2048 threads, 65536 registers, 228 KB. */
static struct gp_device hopper(void)
{
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.cc_major = 9;
    d.cc_minor = 0;
    d.sms = 132;
    d.warp_size = 32;
    d.max_threads_per_sm = 2048;
    d.regs_per_sm = d.regs_per_block = 65536;
    d.shared_per_sm = 233472;
    return d;
}

static size_t launch(struct made *m, uint32_t track, int64_t start, int64_t stop, const char *name,
                     uint32_t blocks, uint32_t threads, const char *extra)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.kind = GP_KERNEL;
    c.name = mk_name(&m->t, name);
    c.has = GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS;
    c.grid[0] = blocks;
    c.grid[1] = c.grid[2] = 1;
    c.block[0] = threads;
    c.block[1] = c.block[2] = 1;
    c.registers = 32;
    c.extra = mk_name(&m->t, extra);
    struct gp_events *gpu = &m->t.events[GP_GPU];
    size_t row = gp_events_add(gpu, start, stop - start, track, c.name);
    gp_set_config(gpu, row, gp_trace_config(&m->t, &c));
    return row;
}

TEST(test_names_of_other_profilers_stay)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 10, "_Z1av", 0);
    mk_kernel(&m.t, m.s7, 20, 30, "a()", 0);
    look(&m);
    assert_int_equal(m.h.kernels.n, 2);
    assert_string_equal(gp_hta_str(&m.h, m.h.kernels.at[0].name), "_Z1av");
    end(&m);
}

TEST(test_by_name_and_kind)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 10, "b", 0);
    mk_kernel(&m.t, m.s7, 20, 50, "b", 0);
    mk_kernel(&m.t, m.s9, 25, 45, "b", 0); /* 10, 30, 20: mean 20, deviation sqrt(200 / 3) */
    mk_kernel(&m.t, m.s7, 60, 100, "_Z1av", 0);
    mk_kernel(&m.t, m.s7, 100, 120, "a()", 0);                     /* the same, demangled by the profiler */
    GP_VEC_PUSH(&m.t.clocks, (struct gp_clock){0, 0, 0});          /* our collector's */
    size_t copy = mk_gpu(&m.t, m.s7, 130, 140, GP_MEMCPY, "b", 0); /* the same name, another kind */
    gp_set_bytes(&m.t.events[GP_GPU], copy, 4096);
    look(&m);
    assert_int_equal(m.h.kernels.n, 3);
    /* By total: b and a() have 60 each, in order of name; the copy has 10. */
    assert_string_equal(gp_hta_str(&m.h, m.h.kernels.at[0].name), "a()");
    assert_int_equal(m.h.kernels.at[0].dur.n, 2);
    const struct gp_kernel_stat *b = &m.h.kernels.at[1];
    assert_int_equal(b->dur.n, 3);
    assert_int_equal(b->dur.sum, 60);
    assert_int_equal(b->dur.min, 10);
    assert_int_equal(b->dur.max, 30);
    assert_true(fabs(gp_histogram_stddev(&b->dur) - sqrt(200.0 / 3)) < 1e-12);
    assert_int_equal(m.h.kernels.at[2].kind, GP_FRAME_MEMCPY);
    assert_int_equal(m.h.kernels.at[2].bytes, 4096);
    assert_int_equal(m.h.devices.at[0].kernel_ns, 120);
    end(&m);
}

/* step > model > layer > aten::linear > aten::mm, launches at 110 and 210 in the same aten::mm, at 310 in
 * aten::add outside of any module, and at 510 outside of everything. */
TEST(test_innermost_owners)
{
    struct made m;
    begin(&m);
    mk_host(&m.t, GP_RANGE, m.thread, 0, 400, "step 17/100");
    mk_host(&m.t, GP_PYTHON, m.thread, 50, 300, "nn.Module: Model_0");
    mk_host(&m.t, GP_PYTHON, m.thread, 60, 290, "nn.Module: Linear_3");
    mk_host(&m.t, GP_PYTHON, m.thread, 70, 280, "torch/nn/functional.py(1): linear");
    mk_host(&m.t, GP_OP, m.thread, 80, 270, "aten::linear");
    mk_host(&m.t, GP_OP, m.thread, 100, 250, "aten::mm");
    mk_host(&m.t, GP_OP, m.thread, 305, 350, "aten::add");
    for (int i = 0; i < 3; i++)
        mk_call(&m.t, m.thread, 110 + 100 * i, 115 + 100 * i, "cudaLaunchKernel", 1 + (uint64_t)i);
    mk_call(&m.t, m.thread, 510, 515, "cudaLaunchKernel", 4);
    mk_kernel(&m.t, m.s7, 120, 150, "k", 1);  /* 5 after its call */
    mk_kernel(&m.t, m.s7, 222, 230, "k", 2);  /* 7 */
    mk_kernel(&m.t, m.s7, 314, 364, "k", 3);  /* began before its call had returned */
    mk_kernel(&m.t, m.s7, 600, 601, "k", 4);  /* 85 */
    mk_kernel(&m.t, m.s7, 700, 702, "k", 99); /* no launch known */
    look(&m);
    const struct gp_owner_stat *mm = owner(&m, GP_OWNER_OP, "aten::mm");
    assert_int_equal(mm->calls, 1);
    assert_int_equal(mm->gpu_events, 2);
    assert_int_equal(mm->gpu_ns, 38);
    assert_int_equal(mm->host_ns, 150);
    assert_int_equal(mm->delay.sum, 12);
    assert_int_equal(owner(&m, GP_OWNER_OP, "aten::add")->delay.n, 0);
    assert_int_equal(owner(&m, GP_OWNER_OP, NULL)->gpu_ns, 3);
    assert_int_equal(owner(&m, GP_OWNER_OP, NULL)->delay.max, 85);
    assert_int_equal(owner(&m, GP_OWNER_RANGE, "step")->gpu_ns, 88);
    assert_int_equal(owner(&m, GP_OWNER_RANGE, "step")->calls, 1);
    assert_int_equal(owner(&m, GP_OWNER_MODULE, "nn.Module: Linear")->gpu_ns, 38);
    assert_int_equal(owner(&m, GP_OWNER_MODULE, NULL)->gpu_ns, 53);
    int64_t sum[GP_OWNER_SORTS] = {0};
    for (size_t i = 0; i < m.h.owners.n; i++) sum[m.h.owners.at[i].sort] += m.h.owners.at[i].gpu_ns;
    for (int s = 0; s < GP_OWNER_FUNCTION; s++) assert_int_equal(sum[s], 30 + 8 + 50 + 1 + 2);
    end(&m);
}

static uint32_t push_stack(struct gp_trace *t, uint32_t parent, const char *name)
{
    if (!t->stacks.n) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    struct gp_stack s = {.parent = parent, .name = mk_name(t, name), .file = mk_name(t, "a.py"), .line = 4};
    GP_VEC_PUSH(&t->stacks, s);
    return (uint32_t)t->stacks.n - 1;
}

/* main > step, which calls itself, > a sampled function; the work of a graph is in what captured it, too. */
TEST(test_functions)
{
    struct made m;
    begin(&m);
    mk_host(&m.t, GP_PYTHON, m.thread, 0, 400, "a.py(4): main");
    mk_host(&m.t, GP_PYTHON, m.thread, 50, 390, "a.py(7): step");
    mk_host(&m.t, GP_PYTHON, m.thread, 60, 380, "a.py(7): step");
    size_t sampled = mk_host(&m.t, GP_PYTHON, m.thread, 70, 370, "a.py(9): helper");
    gp_set_cat(&m.t.events[GP_PYTHON], sampled, mk_name(&m.t, GP_SAMPLED_CATEGORY));
    mk_call(&m.t, m.thread, 110, 115, "cudaLaunchKernel", 1);
    mk_call(&m.t, m.thread, 210, 215, "cudaGraphLaunch", 2);
    mk_call(&m.t, m.thread, 395, 398, "cudaLaunchKernel", 3);
    mk_kernel(&m.t, m.s7, 120, 150, "k", 1);
    size_t node = mk_kernel(&m.t, m.s7, 222, 230, "k", 2);
    uint32_t captured = push_stack(&m.t, push_stack(&m.t, push_stack(&m.t, 0, "main"), "warm_up"), "conv");
    gp_set_stack(&m.t.events[GP_GPU], node, captured);
    mk_kernel(&m.t, m.s7, 400, 405, "k", 3);
    look(&m);
    const struct gp_owner_stat *main = owner(&m, GP_OWNER_FUNCTION, "a.py(4): main"),
                               *step = owner(&m, GP_OWNER_FUNCTION, "a.py(7): step"),
                               *warm_up = owner(&m, GP_OWNER_FUNCTION, "a.py(4): warm_up"),
                               *conv = owner(&m, GP_OWNER_FUNCTION, "a.py(4): conv");
    assert_int_equal(main->gpu_ns, 30 + 8 + 5);
    assert_int_equal(main->self_ns, 5);
    assert_int_equal(step->gpu_ns, 30 + 8);
    assert_int_equal(step->gpu_events, 2);
    assert_int_equal(step->self_ns, 30);
    assert_int_equal(warm_up->gpu_ns, 8);
    assert_int_equal(warm_up->self_ns, 0);
    assert_int_equal(conv->self_ns, 8);
    assert_int_equal(gp_hta_owner_rows(&m.h, GP_OWNER_FUNCTION).n, 4);
    end(&m);
}

/* The backward pass runs on a thread without modules; the sequence number leads to the forward operator. */
TEST(test_module_of_the_backward_pass)
{
    struct made m;
    begin(&m);
    uint32_t engine = mk_thread(&m.t, m.process, 2);
    mk_host(&m.t, GP_PYTHON, m.thread, 0, 100, "nn.Module: Linear_0");
    size_t forward = mk_host(&m.t, GP_OP, m.thread, 10, 90, "aten::addmm");
    gp_set_seq(&m.t.events[GP_OP], forward, 5);
    size_t node =
        mk_host(&m.t, GP_OP, engine, 200, 300, "autograd::engine::evaluate_function: AddmmBackward0");
    gp_set_seq(&m.t.events[GP_OP], node, 5);
    mk_call(&m.t, engine, 210, 220, "cudaLaunchKernel", 1);
    mk_kernel(&m.t, m.s7, 230, 270, "k", 1);
    look(&m);
    assert_int_equal(owner(&m, GP_OWNER_MODULE, "nn.Module: Linear")->gpu_ns, 40);
    assert_int_equal(owner(&m, GP_OWNER_OP, "AddmmBackward0")->gpu_ns, 40);
    end(&m);
}

static void expect_fits(uint32_t threads, uint32_t registers, uint32_t shared, uint32_t fits)
{
    struct gp_device d = hopper();
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.has = GP_HAS_BLOCK | GP_HAS_REGS | GP_HAS_SHARED;
    c.block[0] = threads;
    c.block[1] = c.block[2] = 1;
    c.registers = registers;
    c.shared_bytes = shared;
    assert_int_equal(gp_occupancy_fits(&c, &d), fits);
}

TEST(test_what_limits_occupancy)
{
    expect_fits(256, 16, 0, 8);  /* threads: 2048 / 256 */
    expect_fits(32, 16, 0, 32);  /* blocks: 64 would fit */
    expect_fits(129, 16, 0, 12); /* whole warps: 64 / 5 */
    /* a warp takes 5376 registers, a quarter has 16384: 3, in all 12 warps of 4 */
    expect_fits(128, 168, 0, 3);
    expect_fits(384, 168, 213204, 1); /* 12 / 12 */
    expect_fits(128, 32, 65536, 3);   /* 65536 + 1024 in 233472: 3.5 */
    expect_fits(1025, 32, 0, 0);      /* no such block */
    expect_fits(0, 32, 0, 0);
    expect_fits(128, 32, 240000, 0);
}

/* 264 blocks of 256 threads on 132 SMs: 2 blocks an SM, 512 of 2048 threads. 8 fit, so that is a quarter of a
 * wave. */
TEST(test_occupancy_of_kernels)
{
    struct made m;
    begin(&m);
    struct gp_device d = hopper();
    GP_VEC_PUSH(&m.t.devices, d);
    launch(&m, m.s7, 0, 100, "k", 264, 256, "");
    launch(&m, m.s7, 100, 400, "k", 1320, 256, ""); /* 10 an SM: 8 at once, all threads; 1.25 waves */
    mk_kernel(&m.t, m.s7, 400, 500, "nothing known", 0);
    look(&m);
    const struct gp_kernel_stat *k = kernel(&m, "k");
    assert_true(k->occupancy_ns == 0.25 * 100 + 300);
    assert_int_equal(k->occupancy_known_ns, 400);
    assert_true(k->waves_ns == 0.25 * 100 + 1.25 * 300);
    assert_int_equal(k->blocks_min, 264);
    assert_int_equal(k->blocks_max, 1320);
    assert_int_equal(kernel(&m, "nothing known")->occupancy_known_ns, 0);
    assert_int_equal(m.h.devices.at[0].occupancy_known_ns, 400);
    end(&m);
}

TEST(test_what_the_profiler_worked_out)
{
    struct made m;
    begin(&m); /* no properties */
    launch(&m, m.s7, 0, 100, "k", 10, 256, "{\"blocks per SM\":0.25,\"est. achieved occupancy %\":63}");
    launch(&m, m.s7, 200, 300, "l", 10, 256, "{\"blocks per SM\":inf,\"est. achieved occupancy %\": 0}");
    look(&m);
    assert_true(kernel(&m, "k")->occupancy_ns == 63);
    assert_int_equal(kernel(&m, "l")->occupancy_known_ns, 0);
    assert_true(m.h.devices.at[0].sm_ns == 25);
    assert_int_equal(m.h.devices.at[0].sm_known_ns, 100);
    end(&m);
}

/* Blocks per SM of what runs at once are added and count as 1 at most: 0..100 a half, 100..150 a half and
 * three quarters are 1, 150..200 three quarters, and 300..400 ten count as 1. */
TEST(test_sm_efficiency)
{
    struct made m;
    begin(&m);
    struct gp_device d = hopper();
    GP_VEC_PUSH(&m.t.devices, d);
    launch(&m, m.s7, 0, 150, "a", 66, 256, "");
    launch(&m, m.s9, 100, 200, "b", 99, 256, "");
    launch(&m, m.s7, 300, 400, "c", 1320, 256, "");
    mk_gpu(&m.t, m.s9, 0, 1000, GP_MEMCPY, "Memcpy HtoD", 0);
    look(&m);
    assert_true(m.h.devices.at[0].sm_ns == 50 + 50 + 37.5 + 100);
    assert_int_equal(m.h.devices.at[0].sm_known_ns, 150 + 100 + 100);
    end(&m);
}

/* 100 of 110 ns are known: that will do. 100 of 200 will not. */
TEST(test_too_little_is_known_of_blocks)
{
    for (int64_t other = 10; other <= 100; other += 90) {
        struct made m;
        begin(&m); /* no properties: what the profiler wrote */
        launch(&m, m.s7, 0, 100, "k", 10, 256, "{\"blocks per SM\":0.25}");
        launch(&m, m.s7, 100, 100 + other, "l", 10, 256, "");
        look(&m);
        assert_int_equal(gp_sm_known(&m.h.devices.at[0]), other == 10);
        end(&m);
    }
}

static void expect_matrix(const char *name, enum gp_matrix_use use)
{
    if (gp_matrix_use_of(name, strlen(name)) != use) fail_msg("%s is not %d", name, (int)use);
}

TEST(test_tensor_core_names)
{
    static const char *const yes[] = {
        "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
        "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
        "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8>(...)",
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16",
        "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN",
        "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0",
        "void cutlass::device_kernel<flash::FlashAttnFwdSm90<...> >(...)",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4> >(...)",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(...)",
        "void "
        "cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm10<cutlass::gemm::kernel::"
        "GemmUniversal<"
        "cutlass::gemm::MainloopSm100TmaUmmaWarpSpecialized<4, 2, 2> > > >",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<...>(...)",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN_sm100f",
        "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN_sm100f",
    };
    static const char *const no[] = {
        "ampere_sgemm_128x64_nn",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(...)",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4",
    };
    static const char *const never[] = {
        "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4> >(...)",
        "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64> >(...)",
        "void gemv2T_kernel_val<int, int, float>(...)",
    };
    static const char *const unknown[] = {
        "triton_tem_fused_mm_4", "matmul_kernel", "fused_moe_kernel",
        "gemm(long long)",       "_fwd_kernel",   "void at::native::summary_kernel<command>(...)",
    };
    for (size_t i = 0; i < GP_COUNT(yes); i++) expect_matrix(yes[i], GP_MATRIX_YES);
    for (size_t i = 0; i < GP_COUNT(no); i++) expect_matrix(no[i], GP_MATRIX_NO);
    for (size_t i = 0; i < GP_COUNT(never); i++) expect_matrix(never[i], GP_MATRIX_NEVER);
    for (size_t i = 0; i < GP_COUNT(unknown); i++) expect_matrix(unknown[i], GP_MATRIX_UNKNOWN);
}

TEST(test_tensor_core_time)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 10, "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT", 0);
    mk_kernel(&m.t, m.s7, 10, 40, "ampere_sgemm_128x64_nn", 0);
    mk_kernel(&m.t, m.s7, 40, 90, "triton_tem_fused_mm_4", 0); /* unknown */
    mk_kernel(&m.t, m.s7, 190, 290, "matmul_kernel", 0);       /* nor here */
    mk_kernel(&m.t, m.s7, 90, 190, "void at::native::vectorized_elementwise_kernel<4>()", 0);
    look(&m);
    assert_int_equal(m.h.devices.at[0].tensor_core_ns, 10);
    assert_int_equal(m.h.devices.at[0].gemm_ns, 40);
    assert_int_equal(kernel(&m, "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT")->tensor_core, 1);
    assert_int_equal(kernel(&m, "ampere_sgemm_128x64_nn")->tensor_core, 0);
    assert_int_equal(kernel(&m, "matmul_kernel")->tensor_core, -1);
    assert_int_equal(kernel(&m, "void at::native::vectorized_elementwise_kernel<4>()")->tensor_core, 0);
    end(&m);
}
