// What became of what, in profiles made by hand: names, sums and swapped sides.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "tests/unit/unit.h"

/* A launch: the kernel's name, its kind, how long it takes in step 0; in each step after that it takes 2 ns
 * more. */
struct launch {
    const char *name;
    enum gp_frame_kind kind;
    int64_t dur_ns;
};

enum { STEPS = 3 };

/* One device, STEPS steps of these launches one after the other, without gaps. No launches: no device. */
static void make(struct gp_profile *p, const struct launch *l, uint32_t n)
{
    gp_profile_init(p, NULL);
    GP_VEC_PUSH(&p->places, (struct gp_profile_place){0});
    if (!n) return;
    int64_t begin = 0;
    for (uint32_t i = 0; i < n; i++) {
        gp_sid name = gp_intern(&p->strings, l[i].name, strlen(l[i].name));
        GP_VEC_PUSH(&p->kernels, (struct gp_profile_kernel){.name = name, .kind = l[i].kind});
    }
    for (uint32_t s = 0; s < STEPS; s++) {
        struct gp_profile_step step = {.first = s * n, .n = n, .sequence = 77, .begin_ns = begin};
        for (uint32_t i = 0; i < n; i++) {
            int64_t dur = l[i].dur_ns + 2 * s;
            GP_VEC_PUSH(&p->events, (struct gp_profile_event){
                                        .kernel = i, .step = s, .launch = i, .dur_ns = dur, .share_ns = dur});
            step.gpu_ns += dur;
        }
        step.wall_ns = step.busy_ns = step.gpu_ns;
        step.host.launches = n;
        begin += step.wall_ns;
        GP_VEC_PUSH(&p->steps, step);
    }
    struct gp_profile_lane lane = {.rank = -1, .n_events = STEPS * n, .n_steps = STEPS};
    lane.whole =
        (struct gp_profile_step){.n = STEPS * n, .wall_ns = begin, .busy_ns = begin, .gpu_ns = begin};
    GP_VEC_PUSH(&p->lanes, lane);
    p->content = (uint64_t)l[0].dur_ns * 31 + n;
}

struct pair {
    struct gp_profile base, cur;
    struct gp_diff d, back;
};

static void compare(struct pair *x, const struct launch *base, uint32_t n, const struct launch *cur,
                    uint32_t m)
{
    make(&x->base, base, n);
    make(&x->cur, cur, m);
    const struct gp_profile *a = &x->base, *b = &x->cur;
    gp_diff_init(&x->d, NULL);
    gp_diff_init(&x->back, NULL);
    gp_diff_run(&x->d, &a, 1, &b, 1);
    gp_diff_run(&x->back, &b, 1, &a, 1);
}

static void release(struct pair *x)
{
    gp_diff_release(&x->d);
    gp_diff_release(&x->back);
    gp_profile_release(&x->base);
    gp_profile_release(&x->cur);
}

static const struct gp_diff_op *op_named(const struct gp_diff *d, const char *label)
{
    for (size_t i = 0; i < d->ops.n; i++)
        if (!strcmp(gp_diff_str(d, d->ops.at[i].label), label)) return &d->ops.at[i];
    fail_msg("no operation %s", label);
    return NULL;
}

static const char ADD[] =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int)";
#define MUL    "ns::mul_kernel"
#define NORM   "ns::norm_kernel"
#define FUSED  "triton_per_fused_add_mul_norm_0"
#define GEMM_A "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT"
#define GEMM_B "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
#define FLASH  "flash_fwd_kernel"

/* Two layers: attention, product, add, mul, norm. */
static const struct launch eager[] = {
    {FLASH, GP_FRAME_ATTENTION, 900}, {GEMM_A, GP_FRAME_GEMM, 500},     {ADD, GP_FRAME_ELEMENTWISE, 100},
    {MUL, GP_FRAME_ELEMENTWISE, 110}, {NORM, GP_FRAME_REDUCTION, 120},  {FLASH, GP_FRAME_ATTENTION, 902},
    {GEMM_A, GP_FRAME_GEMM, 502},     {ADD, GP_FRAME_ELEMENTWISE, 102}, {MUL, GP_FRAME_ELEMENTWISE, 112},
    {NORM, GP_FRAME_REDUCTION, 122},
};
static const struct launch compiled[] = {
    {FLASH, GP_FRAME_ATTENTION, 900}, {GEMM_B, GP_FRAME_GEMM, 400}, {FUSED, GP_FRAME_REDUCTION, 150},
    {FLASH, GP_FRAME_ATTENTION, 900}, {GEMM_B, GP_FRAME_GEMM, 400}, {FUSED, GP_FRAME_REDUCTION, 150},
};
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

/* The mean over steps is that of step 1: 2 ns more a launch than above. Fused: (100 + 110 + 120) + (102 + 112
 * + 122) + 6 * 2 = 678 to 2 * 152; retiled: 500 + 502 + 4 = 1006 to 804. */
TEST(blocks_are_counted_and_sum)
{
    struct pair x = {0};
    compare(&x, eager, COUNT(eager), compiled, COUNT(compiled));
    assert_int_equal(x.d.blocks.n, 2);
    const struct gp_diff_block *k = x.d.blocks.at;
    assert_int_equal(k[0].change, GP_CHANGE_FUSED);
    assert_int_equal(k[0].times, 2);
    assert_true(k[0].kernels[GP_DIFF_BASE] == 3 && k[0].kernels[GP_DIFF_CUR] == 1);
    assert_int_equal(k[0].side_ns[GP_DIFF_BASE], 678);
    assert_int_equal(k[0].side_ns[GP_DIFF_CUR], 304);
    assert_int_equal(k[0].change_ns, 304 - 678);
    assert_string_equal(gp_diff_str(&x.d, k[0].label), "CUDAFunctor_add + mul_kernel + norm_kernel");
    assert_int_equal(k[0].n_names[GP_DIFF_BASE], 3);
    assert_string_equal(gp_diff_str(&x.d, x.d.names.at[k[0].first_name[GP_DIFF_BASE] + 1]), "ns::mul_kernel");
    assert_string_equal(gp_diff_str(&x.d, x.d.names.at[k[0].first_name[GP_DIFF_CUR]]), FUSED);
    assert_int_equal(k[1].change, GP_CHANGE_RETILED);
    assert_int_equal(k[1].times, 2);
    assert_int_equal(k[1].side_ns[GP_DIFF_BASE], 1006);
    assert_int_equal(k[1].side_ns[GP_DIFF_CUR], 804);
    release(&x);
}

TEST(operations_of_one_side_are_explained)
{
    struct pair x = {0};
    compare(&x, eager, COUNT(eager), compiled, COUNT(compiled));
    static const char *const labels[] = {"ns::mul_kernel", "ns::norm_kernel", FUSED};
    for (size_t i = 0; i < GP_COUNT(labels); i++) {
        assert_int_equal(op_named(&x.d, labels[i])->change, GP_CHANGE_FUSED);
        assert_int_equal(op_named(&x.d, labels[i])->block, 0);
        assert_int_equal(op_named(&x.back, labels[i])->change, GP_CHANGE_DEFUSED);
    }
    assert_int_equal(op_named(&x.d, FLASH)->block, GP_PROFILE_NONE);
    release(&x);
}

TEST(swapped_sides_mirror_blocks)
{
    struct pair x = {0};
    compare(&x, eager, COUNT(eager), compiled, COUNT(compiled));
    assert_int_equal(x.d.blocks.n, x.back.blocks.n);
    for (size_t i = 0; i < x.d.blocks.n; i++) {
        const struct gp_diff_block *k = &x.d.blocks.at[i], *b = &x.back.blocks.at[i];
        assert_int_equal(k->change_ns, -b->change_ns);
        assert_int_equal(k->side_ns[GP_DIFF_BASE], b->side_ns[GP_DIFF_CUR]);
        assert_int_equal(k->times, b->times);
        assert_true(k->kernels[GP_DIFF_BASE] == b->kernels[GP_DIFF_CUR]);
    }
    assert_int_equal(x.back.blocks.at[0].change, GP_CHANGE_DEFUSED);
    release(&x);
}

TEST(what_only_one_side_has_is_new_or_removed)
{
    static const struct launch more[] = {
        {FLASH, GP_FRAME_ATTENTION, 900}, {GEMM_A, GP_FRAME_GEMM, 500},
        {ADD, GP_FRAME_ELEMENTWISE, 100}, {"Memcpy DtoD (Device -> Device)", GP_FRAME_MEMCPY, 50},
        {NORM, GP_FRAME_REDUCTION, 120},
    };
    static const struct launch fewer[] = {
        {FLASH, GP_FRAME_ATTENTION, 900},
        {GEMM_A, GP_FRAME_GEMM, 501},
        {ADD, GP_FRAME_ELEMENTWISE, 100},
        {NORM, GP_FRAME_REDUCTION, 120},
    };
    struct pair x = {0};
    compare(&x, fewer, COUNT(fewer), more, COUNT(more));
    assert_int_equal(x.d.blocks.n, 1);
    assert_int_equal(x.d.blocks.at[0].change, GP_CHANGE_NEW);
    assert_int_equal(x.d.blocks.at[0].change_ns, 52);
    assert_int_equal(x.d.blocks.at[0].n_names[GP_DIFF_BASE], 0);
    assert_string_equal(gp_diff_str(&x.d, x.d.blocks.at[0].label), "Memcpy DtoD");
    assert_int_equal(op_named(&x.d, "Memcpy DtoD (Device -> Device)")->change, GP_CHANGE_NEW);
    assert_int_equal(x.back.blocks.at[0].change, GP_CHANGE_REMOVED);
    release(&x);
}

TEST(equal_steps_have_no_blocks)
{
    struct pair x = {0};
    compare(&x, eager, COUNT(eager), eager, COUNT(eager));
    assert_int_equal(x.d.blocks.n, 0);
    release(&x);
    compare(&x, eager, 0, compiled, COUNT(compiled)); // a side without steps
    assert_int_equal(x.d.blocks.n, 0);
    release(&x);
}

/* Durations of years: sums of blocks stay sums, of durations that were cut. */
TEST(damaged_durations_do_no_harm)
{
    static const struct launch years[] = {
        {FLASH, GP_FRAME_ATTENTION, 900},
        {ADD, GP_FRAME_ELEMENTWISE, INT64_MAX / 8},
        {MUL, GP_FRAME_ELEMENTWISE, INT64_MAX / 8},
    };
    static const struct launch short_ones[] = {{FLASH, GP_FRAME_ATTENTION, 901},
                                               {FUSED, GP_FRAME_REDUCTION, 1}};
    struct pair x = {0};
    compare(&x, years, COUNT(years), short_ones, COUNT(short_ones));
    assert_int_equal(x.d.blocks.n, 1);
    assert_int_equal(x.d.blocks.at[0].change, GP_CHANGE_FUSED);
    assert_int_equal(x.d.blocks.at[0].side_ns[GP_DIFF_BASE], 2 * (INT64_MAX / 4 / 4));
    release(&x);
}
