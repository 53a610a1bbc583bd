// Comparing: rounding that sums, attribution, matching, verdicts, what is refused, gates and predictions.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/diff_priv.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/metrics_make.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

/* ---- traces ---- */

/* A kernel that runs COUNT times per step for DUR ns, in step I for DUR + WOBBLE[I % 4]. */
struct kernel {
    const char *name;
    int count;
    int64_t dur;
    int64_t wobble[4];
    uint32_t blocks; /* of its grid; 0: not recorded */
};

struct program {
    int steps;
    int64_t gap; /* idle before each step */
    int waits;   /* calls in each step that wait for the GPU */
    const char *gpu;
    const char *settings; /* a flag of the profiler */
    int rank;
    struct kernel kernels[6];
};

static void add_device(struct gp_trace *t, const char *name)
{
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(t, name);
    GP_VEC_PUSH(&t->devices, d);
}

/* All kernels of a step run one after the other as soon as the step is launched. */
static struct gp_profile record(const struct program *prog)
{
    struct gp_trace t;
    struct gp_profile p;
    int64_t at = 0;
    uint64_t corr = 0;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t process = mk_process(&t, 1, 0), thread = mk_thread(&t, process, 1),
             stream = mk_stream(&t, process, 0, 7);
    t.rank = prog->rank;
    t.input.path = "x.trace";
    add_device(&t, prog->gpu ? prog->gpu : "GPU");
    if (prog->settings) gp_trace_set_meta(&t, prog->settings, "1", 1);
    for (int i = 0; i < prog->steps; i++) {
        char name[32];
        int64_t begin = at, gpu = at + 100;
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        for (const struct kernel *k = prog->kernels; k->name; k++)
            for (int c = 0; c < k->count; c++) {
                mk_call(&t, thread, at, at + 1, "cudaLaunchKernel", ++corr);
                int64_t end = gpu + k->dur + k->wobble[i % 4];
                if (k->blocks) mk_grid(&t, stream, gpu, end, k->name, k->blocks, corr);
                else mk_kernel(&t, stream, gpu, end, k->name, corr);
                gpu = end;
                at++;
            }
        for (int c = 0; c < prog->waits; c++, at++)
            mk_call(&t, thread, at, at + 1, "cudaStreamSynchronize", ++corr);
        at = gpu + prog->gap - 100;
        mk_host(&t, GP_RANGE, thread, begin, at, name);
    }
    gp_trace_finish(&t);
    gp_profile_init(&p, NULL);
    assert_int_equal(gp_profile_add_trace(&p, &t, NULL), 0);
    gp_trace_release(&t);
    return p;
}

static struct gp_diff compare(const struct program *base, const struct program *cur,
                              const struct gp_diff_opts *opts)
{
    struct gp_profile a = record(base), b = record(cur);
    const struct gp_profile *pa = &a, *pb = &b;
    struct gp_diff d;
    gp_diff_init(&d, opts);
    gp_diff_run(&d, &pa, 1, &pb, 1);
    gp_profile_release(&a);
    gp_profile_release(&b);
    return d;
}

static const struct gp_diff_op *op_of(const struct gp_diff *d, const char *name)
{
    for (size_t i = 0; i < d->ops.n; i++)
        if (!strcmp(gp_diff_str(d, d->ops.at[i].name), name)) return &d->ops.at[i];
    fail_msg("no operation %s", name);
    return NULL;
}

static const struct gp_diff_reason *reason(const struct gp_diff *d, const char *id)
{
    for (size_t i = 0; i < d->reasons.n; i++)
        if (!strcmp(gp_diff_str(d, d->reasons.at[i].id), id)) return &d->reasons.at[i];
    return NULL;
}

/* What holds of every comparison. */
static void assert_sums(const struct gp_diff *d)
{
    int64_t ops = 0, causes = 0, side[GP_DIFF_SIDES] = {0}, stacks[GP_DIFF_SIDES] = {0};
    for (size_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        int64_t share = op->side[GP_DIFF_CUR].share_ns - op->side[GP_DIFF_BASE].share_ns;
        assert_int_equal(op->count_effect_ns + op->percall_effect_ns + op->overlap_effect_ns, share);
        ops += op->change_ns;
        for (int s = 0; s < GP_DIFF_SIDES; s++) side[s] += op->side[s].total_ns;
    }
    for (size_t i = 0; i < d->causes.n; i++) causes += d->causes.at[i].change_ns;
    for (size_t i = 0; i < d->stacks.n; i++)
        for (int s = 0; s < GP_DIFF_SIDES; s++) stacks[s] += d->stacks.at[i].side_ns[s];
    assert_int_equal(ops, d->metrics[GP_METRIC_GPU].change);
    assert_int_equal(causes, d->metrics[GP_METRIC_STEP].change);
    assert_int_equal(d->residual_ns, 0);
    for (int s = 0; s < GP_DIFF_SIDES; s++) {
        assert_int_equal(side[s], d->side[s].gpu_ns);
        assert_int_equal(stacks[s], d->side[s].gpu_ns);
    }
}

/* ---- rounding ---- */

TEST(test_means)
{
    assert_int_equal(gp_diff_mean(3, 2), 2); /* halves go up */
    assert_int_equal(gp_diff_mean(-3, 2), -1);
    assert_int_equal(gp_diff_mean(4, 3), 1);
    assert_int_equal(gp_diff_mean(5, 3), 2);
    assert_int_equal(gp_diff_mean(INT64_MAX, 1), INT64_MAX);
}

TEST(test_largest_remainders)
{
    int64_t out[3];
    /* 1.5 + 1.5 + 2.5 = 5.5, which rounds to 6: two of the three halves go up, the first keys' */
    assert_int_equal(gp_diff_apportion((int64_t[]){3, 3, 5}, (const char *[]){"c", "b", "a"}, 3, 11, 2, out),
                     6);
    assert_true(out[0] == 1 && out[1] == 2 && out[2] == 3);
    /* 0.33 + 0.67 + 1.00 = 2: the one that is missing goes to the largest remainder */
    assert_int_equal(gp_diff_apportion((int64_t[]){1, 2, 3}, (const char *[]){"a", "b", "c"}, 3, 6, 3, out),
                     2);
    assert_true(out[0] == 0 && out[1] == 1 && out[2] == 1);
}

/* ---- figures ---- */

static const struct program plain = {
    .steps = 4, .gap = 500, .kernels = {{"gemm", 2, 10000, {0}}, {"add", 3, 1000, {0}}}};

TEST(test_a_trace_against_itself)
{
    struct gp_diff d = compare(&plain, &plain, NULL);
    assert_true(d.identical && d.comparable && gp_diff_status(&d) == 0);
    assert_int_equal(d.summary.verdict, GP_CHANGE_NONE);
    assert_int_equal(d.side[GP_DIFF_BASE].gpu_ns, 23000);
    assert_int_equal(d.side[GP_DIFF_BASE].step_ns, 23500);
    for (size_t i = 0; i < d.ops.n; i++)
        assert_true(d.ops.at[i].change == GP_CHANGE_NONE && d.ops.at[i].change_ns == 0);
    for (size_t i = 0; i < d.causes.n; i++) assert_int_equal(d.causes.at[i].change_ns, 0);
    assert_sums(&d);
    gp_diff_release(&d);
}

/* One gemm more a step, of 12000 instead of 10000 each: (3 - 2) x (10000 + 12000) / 2 = 11000 for the count,
 * and (12000 - 10000) x (2 + 3) / 2 = 5000 for the length of a call. Idle time grows from 500 to 700. */
TEST(test_attribution)
{
    struct program more = plain;
    more.gap = 700;
    more.kernels[0].count = 3;
    more.kernels[0].dur = 12000;
    struct gp_diff d = compare(&plain, &more, NULL);
    const struct gp_diff_op *gemm = op_of(&d, "gemm");
    assert_int_equal(gemm->change_ns, 16000);
    assert_int_equal(gemm->count_effect_ns, 11000);
    assert_int_equal(gemm->percall_effect_ns, 5000);
    assert_int_equal(gemm->overlap_effect_ns, 0);
    assert_true(gemm->count_changed && gemm->d.test == GP_BY_EQUALITY &&
                gemm->change == GP_CHANGE_REGRESSION);
    assert_int_equal(d.metrics[GP_METRIC_STEP].change, 16000 + 200);
    assert_int_equal(d.metrics[GP_METRIC_IDLE].change, 200);
    assert_int_equal(d.metrics[GP_METRIC_LAUNCHES].change, 1);
    assert_true(d.causes.at[0].sort == GP_CAUSE_OP && d.causes.at[0].change_ns == 16000);
    assert_true(d.causes.at[1].sort == GP_CAUSE_IDLE && d.causes.at[1].change_ns == 200);
    assert_int_equal(d.ops.at[0].change_ns, 16000); /* largest first */
    assert_sums(&d);
    gp_diff_release(&d);
}

static void assert_mirrored(const struct gp_diff *d, const struct gp_diff *e)
{
    assert_int_equal(d->ops.n, e->ops.n);
    for (size_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *a = &d->ops.at[i], *b = op_of(e, gp_diff_str(d, a->name));
        assert_int_equal(a->change_ns, -b->change_ns);
        assert_int_equal(a->count_effect_ns, -b->count_effect_ns);
        assert_int_equal(a->percall_effect_ns, -b->percall_effect_ns);
        assert_int_equal(a->overlap_effect_ns, -b->overlap_effect_ns);
        assert_int_equal(a->d.significant, b->d.significant);
    }
    for (int m = 0; m < GP_METRIC_COUNT; m++) assert_int_equal(d->metrics[m].change, -e->metrics[m].change);
}

TEST(test_swapped_sides)
{
    struct program other = {
        .steps = 3,
        .gap = 800,
        .kernels = {{"gemm", 3, 10007, {1, 5, 2, 0}}, {"mul", 2, 777, {0, 1, 1, 0}}, {"add", 3, 1003, {0}}}};
    struct gp_diff d = compare(&plain, &other, NULL), e = compare(&other, &plain, NULL);
    assert_mirrored(&d, &e);
    assert_int_equal(op_of(&d, "mul")->change, GP_CHANGE_NEW);
    assert_int_equal(op_of(&e, "mul")->change, GP_CHANGE_REMOVED);
    assert_sums(&d);
    assert_sums(&e);
    gp_diff_release(&d);
    gp_diff_release(&e);
}

/* ---- matching ---- */

TEST(test_other_tiles_of_one_product)
{
    struct program base = {
        .steps = 4, .gap = 500, .kernels = {{"ampere_sgemm_32x128_nn", 4, 10000, {0}}, {"add", 1, 900, {0}}}};
    struct program cur = base;
    cur.kernels[0].name = "ampere_sgemm_128x64_nn";
    struct gp_diff d = compare(&base, &cur, NULL);
    const struct gp_diff_op *op = op_of(&d, "ampere_sgemm_32x128_nn");
    assert_true(op->match == 2 && op->retiled && op->change == GP_CHANGE_RETILED && op->change_ns == 0);
    assert_string_equal(gp_diff_str(&d, d.names.at[op->side[GP_DIFF_CUR].names]), "ampere_sgemm_128x64_nn");
    assert_int_equal(d.ops.n, 2);
    assert_sums(&d);
    gp_diff_release(&d);
    cur.kernels[0].dur = 12000; /* a slower variant is a regression like any other */
    d = compare(&base, &cur, NULL);
    op = op_of(&d, "ampere_sgemm_32x128_nn");
    assert_true(op->retiled && op->change == GP_CHANGE_REGRESSION && op->change_ns == 8000);
    gp_diff_release(&d);
}

/* ---- verdicts ---- */

/* Steps that vary by half a percent, three of them a side. */
static const struct program noisy = {.steps = 4,
                                     .gap = 500,
                                     .kernels = {{"gemm", 2, 100000, {0, 500, -500, 200}},
                                                 {"add", 3, 20000, {100, -100, 0, 50}},
                                                 {"mul", 1, 50000, {0, 250, -250, 100}},
                                                 {"sum", 1, 60000, {300, 0, -300, 100}}}};

TEST(test_few_steps)
{
    struct program cur = noisy;
    for (int i = 0; i < 4; i++) cur.kernels[i].wobble[1] += 130; /* other chance */
    struct gp_diff d = compare(&noisy, &cur, NULL);
    for (size_t i = 0; i < d.ops.n; i++) assert_false(d.ops.at[i].d.significant);
    assert_int_equal(gp_diff_status(&d), 0);
    assert_int_equal(d.tested, 4);
    gp_diff_release(&d);
    cur.kernels[2].dur += 5000; /* 1.3% of the step: enough to decide */
    d = compare(&noisy, &cur, NULL);
    const struct gp_diff_op *mul = op_of(&d, "mul");
    assert_true(mul->change == GP_CHANGE_REGRESSION && mul->d.test == GP_BY_MODERATED && mul->d.within_run);
    assert_true(mul->d.ci_low_pct > 5 && mul->d.ci_low_pct < 10 && mul->d.ci_high_pct > 10);
    assert_int_equal(d.summary.regressions, 1);
    assert_string_equal(gp_diff_str(&d, d.summary.verdict_why), "mul");
    assert_int_equal(gp_diff_status(&d), 1);
    gp_diff_release(&d);
}

/* ---- the whole and its parts ---- */

/* A step of 760000 ns, of which the host leaves 500000 idle. */
static const struct program waiting = {
    .steps = 5, .gap = 500000, .waits = 1, .kernels = {{"gemm", 2, 100000, {0}}, {"add", 3, 20000, {0}}}};

static void assert_verdict(const struct program *base, const struct program *cur, const char *word,
                           int status)
{
    struct gp_diff d = compare(base, cur, NULL);
    assert_string_equal(gp_diff_str(&d, d.summary.word), word);
    assert_int_equal(gp_diff_status(&d), status);
    gp_diff_release(&d);
}

/* The step becomes three times faster, a kernel slower by 1800 ns: 0.24% of the step must not fail a
 * build. */
TEST(test_the_whole_decides_before_a_part)
{
    struct program cur = waiting;
    cur.waits = 0;
    cur.gap = 10000;
    cur.kernels[1].dur = 20600;
    struct gp_diff d = compare(&waiting, &cur, NULL);
    assert_int_equal(op_of(&d, "add")->change, GP_CHANGE_REGRESSION);
    assert_int_equal(d.metrics[GP_METRIC_STEP].d.test, GP_BY_SEPARATION);
    assert_int_equal(d.summary.verdict, GP_CHANGE_IMPROVEMENT);
    assert_int_equal(d.summary.by, GP_METRIC_STEP);
    assert_int_equal(d.guard_weight_ns, 7600);
    assert_true(!d.summary.slower && !d.summary.mixed && d.summary.regressions == 1);
    assert_memory_equal(gp_diff_str(&d, d.summary.headline),
                        "step time 760 \xC2\xB5s -> 272 \xC2\xB5s (-64.2%)", 37);
    gp_diff_release(&d);
    assert_verdict(&waiting, &cur, "IMPROVEMENT", 0);
    assert_verdict(&cur, &waiting, "REGRESSION", 1);
    cur.kernels[1].dur = 30000; /* 30000 ns are 3.9% */
    assert_verdict(&waiting, &cur, "FASTER, 1 kernel slower", 0);
    assert_verdict(&cur, &waiting, "SLOWER, 1 kernel faster", 1);
}

/* The step is 20% longer in one run per side: less than what --step-bound asks for by default. */
TEST(test_few_runs_decide_what_is_far_apart)
{
    struct program cur = waiting;
    struct gp_diff_opts opts = {.step_bound_pct = 15};
    cur.waits = 2;
    cur.gap = 652000;
    struct gp_diff d = compare(&waiting, &cur, NULL);
    assert_int_equal(d.metrics[GP_METRIC_STEP].verdict, GP_CHANGE_INCONCLUSIVE);
    assert_int_equal(d.summary.verdict, GP_CHANGE_INCONCLUSIVE);
    gp_diff_release(&d);
    d = compare(&waiting, &cur, &opts);
    assert_int_equal(d.metrics[GP_METRIC_STEP].verdict, GP_CHANGE_REGRESSION);
    assert_int_equal(gp_diff_status(&d), 1);
    gp_diff_release(&d);
    cur.gap = 800000;
    assert_verdict(&waiting, &cur, "REGRESSION", 1); /* 39% */
    struct program stalls = waiting; /* one of its steps is as long as those of the other side */
    stalls.kernels[0].wobble[2] = 200000;
    assert_verdict(&stalls, &cur, "INCONCLUSIVE", 0);
    struct program two = waiting; /* two windows per side: twice the bound */
    two.steps = 3;
    cur = two;
    cur.gap = 800000;
    assert_verdict(&two, &cur, "INCONCLUSIVE", 0);
    cur.gap = 1000000;
    cur.waits = 2;
    assert_verdict(&two, &cur, "REGRESSION", 1); /* 66% */
}

/* The step is three times as long, but both runs make the same calls: only the host differs, as it does
 * between runs. */
TEST(test_one_run_decides_no_step_of_the_same_calls)
{
    struct program cur = waiting;
    cur.gap = 2000000;
    assert_verdict(&waiting, &cur, "INCONCLUSIVE", 0);
    assert_verdict(&cur, &waiting, "INCONCLUSIVE", 0);
    struct gp_profile a = record(&waiting), b = record(&cur);
    const struct gp_profile *base[] = {&a, &a, &a, &a, &a}, *slow[] = {&b, &b, &b, &b, &b};
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, base, 5, slow, 5);
    assert_int_equal(gp_diff_status(&d), 1); /* five runs do */
    gp_diff_release(&d);
    gp_profile_release(&a);
    gp_profile_release(&b);
}

/* "NO CHANGE" is not written above rows that changed. */
TEST(test_no_change_means_no_row)
{
    struct program base = noisy;
    base.steps = 8;
    struct program cur = base;
    cur.kernels[1].count = 4;
    cur.kernels[1].dur = 15000;
    struct gp_diff d = compare(&base, &cur, NULL);
    assert_int_equal(d.metrics[GP_METRIC_GPU].verdict, GP_CHANGE_NONE);
    assert_int_equal(d.metrics[GP_METRIC_EVENTS].verdict, GP_CHANGE_REGRESSION);
    assert_int_equal(d.summary.verdict, GP_CHANGE_INCONCLUSIVE);
    assert_non_null(strstr(gp_diff_str(&d, d.summary.headline), "not decided (1 run per side)"));
    assert_int_equal(gp_diff_status(&d), 0);
    gp_diff_release(&d);
}

/* The GPU works less, and the step does not notice: the headline must not hide that. */
TEST(test_the_step_is_always_named)
{
    struct program base = waiting;
    base.kernels[0].wobble[1] = 300;
    struct program cur = base;
    cur.kernels[0].dur -= 40000;
    cur.gap += 80000;
    struct gp_diff d = compare(&base, &cur, NULL);
    assert_string_equal(gp_diff_str(&d, d.summary.word), "IMPROVEMENT");
    const char *headline = gp_diff_str(&d, d.summary.headline);
    assert_memory_equal(headline, "GPU time 260 \xC2\xB5s -> 180", 23);
    assert_non_null(
        strstr(headline, "step time 760 \xC2\xB5s -> 760 \xC2\xB5s (0%), not decided (1 run per side)"));
    gp_diff_release(&d);
}

/* One part faster and one slower, while their sum is the same. */
TEST(test_parts_that_disagree)
{
    struct program cur = waiting;
    cur.kernels[0].dur = 115000;
    cur.kernels[1].dur = 10000;
    assert_verdict(&waiting, &cur, "MIXED, 1 kernel slower, 1 faster", 1);
}

TEST(test_percentages)
{
    const struct {
        double pct;
        const char *text;
    } rows[] = {{-0.04, "0%"}, {0.04, "0%"}, {0, "0%"}, {-0.06, "-0.1%"}, {12.34, "+12.3%"}};
    for (size_t i = 0; i < GP_COUNT(rows); i++) {
        struct gp_buf b = {0};
        gp_diff_put_pct(&b, rows[i].pct);
        assert_string_equal(gp_buf_str(&b), rows[i].text);
        gp_buf_release(&b);
    }
}

TEST(test_calls_are_paired_where_there_are_many)
{
    struct program base = {.steps = 2, .gap = 500, .kernels = {{"gemm", 16, 20000, {0, 90, 0, 90}}}},
                   cur = base;
    cur.kernels[0].dur = 20600;
    struct gp_diff d = compare(&base, &cur, NULL);
    const struct gp_diff_op *op = op_of(&d, "gemm");
    assert_true(op->d.test == GP_BY_WILCOXON && op->d.n[GP_DIFF_BASE] == 16);
    assert_true(fabs(op->d.p - 2 / pow(2, 16)) < 1e-12); /* all pairs say the same */
    assert_int_equal(op->change, GP_CHANGE_REGRESSION);
    gp_diff_release(&d);
}

TEST(test_many_steps_are_ranked)
{
    struct program base = noisy, cur = noisy;
    base.steps = cur.steps = 8;
    cur.kernels[0].dur -= 10000;
    struct gp_diff d = compare(&base, &cur, NULL);
    const struct gp_diff_op *gemm = op_of(&d, "gemm"), *add = op_of(&d, "add");
    assert_true(gemm->d.test == GP_BY_MANN_WHITNEY && gemm->change == GP_CHANGE_IMPROVEMENT);
    assert_true(fabs(gemm->d.p - 2. / 12870) < 1e-12); /* 2 / C(16, 8) */
    /* shown to be the same: the interval is within the noise */
    assert_int_equal(add->change, GP_CHANGE_NONE);
    assert_true(add->d.ci_low_pct >= -1 && add->d.ci_high_pct <= 1);
    assert_int_equal(d.summary.verdict, GP_CHANGE_IMPROVEMENT);
    assert_int_equal(gp_diff_status(&d), 0);
    gp_diff_release(&d);
}

/* 150 ns of 1000 are much, but clocks and neighbours do that to a short kernel. */
TEST(test_little_a_call_is_not_real)
{
    struct program base = {.steps = 8,
                           .gap = 500,
                           .kernels = {{"gemm", 2, 100000, {0}}, {"add", 8, 1000, {0}}}},
                   cur = base;
    cur.kernels[1].dur = 1150;
    struct gp_diff d = compare(&base, &cur, NULL);
    assert_int_equal(op_of(&d, "add")->change, GP_CHANGE_NONE);
    assert_true(op_of(&d, "add")->d.q < 0.05 && op_of(&d, "add")->d.why);
    gp_diff_release(&d);
}

TEST(test_one_step_a_side_decides_nothing)
{
    struct program base = noisy, cur = noisy;
    base.steps = cur.steps = 1;
    cur.kernels[0].dur += 20000;
    struct gp_diff d = compare(&base, &cur, NULL);
    assert_int_equal(op_of(&d, "gemm")->change, GP_CHANGE_INCONCLUSIVE);
    assert_true(op_of(&d, "gemm")->d.needed >= 3);
    assert_int_equal(d.summary.verdict, GP_CHANGE_INCONCLUSIVE);
    gp_diff_release(&d);
}

/* What a collective takes says what the other ranks did. */
TEST(test_communication_is_not_decided)
{
    struct program base = noisy, cur = noisy;
    base.steps = cur.steps = 8;
    base.kernels[4] = (struct kernel){"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1, 50000, {0}, 0};
    cur.kernels[4] = (struct kernel){"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1, 90000, {0}, 0};
    struct gp_diff d = compare(&base, &cur, NULL);
    assert_int_equal(op_of(&d, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")->change, GP_CHANGE_INCONCLUSIVE);
    assert_int_equal(d.metrics[GP_METRIC_GPU].verdict, GP_CHANGE_INCONCLUSIVE);
    assert_int_equal(d.metrics[GP_METRIC_COMMUNICATION].change, 40000);
    assert_int_equal(gp_diff_status(&d), 0);
    assert_sums(&d);
    gp_diff_release(&d);
}

TEST(test_simple_mode)
{
    struct program base = noisy, cur = noisy;
    base.steps = cur.steps = 1;
    cur.kernels[0].dur += 20000;
    struct gp_diff_opts opts = {.mode = GP_DIFF_SIMPLE, .threshold_pct = 15};
    struct gp_diff d = compare(&base, &cur, &opts);
    assert_true(op_of(&d, "gemm")->change == GP_CHANGE_REGRESSION &&
                op_of(&d, "gemm")->d.test == GP_BY_THRESHOLD);
    assert_int_equal(op_of(&d, "add")->change, GP_CHANGE_NONE);
    assert_int_equal(gp_diff_status(&d), 1);
    gp_diff_release(&d);
    opts.threshold_pct = 25;
    d = compare(&base, &cur, &opts);
    assert_int_equal(op_of(&d, "gemm")->change, GP_CHANGE_NONE);
    gp_diff_release(&d);
}

TEST(test_other_steps_are_left_out)
{
    struct gp_profile p = record(&plain);
    p.steps.at[1].sequence++; /* ran something else */
    const struct gp_profile *side = &p;
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &side, 1, &side, 1);
    assert_true(d.side[GP_DIFF_BASE].steps_found == 4 && d.side[GP_DIFF_BASE].steps_used == 3);
    assert_int_equal(d.side[GP_DIFF_BASE].steps_other, 1);
    assert_int_equal(d.side[GP_DIFF_BASE].windows, 2); /* the last one has no end */
    assert_sums(&d);
    gp_diff_release(&d);
    gp_profile_release(&p);
}

/* The first of eight steps is twice as long as the others, the second is not. */
TEST(test_warm_up_is_left_out)
{
    struct program p = plain;
    p.steps = 8;
    struct gp_profile a = record(&p);
    const struct gp_profile *side = &a;
    struct gp_diff d;
    a.steps.at[0].wall_ns *= 2;
    a.steps.at[0].idle_ns[GP_IDLE_HOST] += a.steps.at[0].wall_ns / 2;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &side, 1, &side, 1);
    assert_true(d.side[GP_DIFF_BASE].steps_warm == 1 && d.side[GP_DIFF_BASE].steps_used == 7);
    assert_int_equal(d.side[GP_DIFF_BASE].step_ns, 23500);
    gp_diff_release(&d);
    gp_profile_release(&a);
}

TEST(test_cut_steps_are_left_out)
{
    struct gp_profile a = record(&plain);
    const struct gp_profile *side = &a;
    struct gp_diff d;
    a.steps.at[0].cut = true;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &side, 1, &side, 1);
    assert_true(d.side[GP_DIFF_BASE].steps_cut == 1 && d.side[GP_DIFF_BASE].steps_used == 3);
    assert_string_equal(gp_diff_str(&d, d.steps.at[0].why), "cut off by the edge of the trace");
    gp_diff_release(&d);
    gp_profile_release(&a);
}

/* A side without steps: both are taken whole, 4 steps of 23000 and the idle time between them. */
TEST(test_whole_traces)
{
    struct gp_profile a = record(&plain), b = record(&plain);
    const struct gp_profile *pa = &a, *pb = &b;
    struct gp_diff d;
    b.steps.n = b.lanes.at[0].n_steps = 0;
    for (size_t i = 0; i < b.events.n; i++) b.events.at[i].step = GP_PROFILE_NONE;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &pa, 1, &pb, 1);
    assert_true(d.unit == GP_DIFF_PER_TRACE && d.comparable && !reason(&d, "no_steps")->fatal);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        assert_int_equal(d.side[side].gpu_ns, 4 * 23000);
        assert_int_equal(d.side[side].step_ns, 4 * 23000 + 3 * 500);
        assert_int_equal(d.side[side].steps_used, 1);
    }
    assert_false(d.metrics[GP_METRIC_HOST].known);
    assert_sums(&d);
    gp_diff_release(&d);
    gp_profile_release(&a);
    gp_profile_release(&b);
}

/* By operator and by range: nothing is known of either here. */
TEST(test_by_op)
{
    struct gp_diff_opts opts = {.by = GP_DIFF_BY_OP};
    struct program more = plain;
    more.kernels[0].dur = 12000;
    struct gp_diff d = compare(&plain, &more, &opts);
    assert_int_equal(d.ops.n, 1);
    assert_string_equal(gp_diff_str(&d, d.ops.at[0].name), "[no operator]");
    assert_int_equal(d.ops.at[0].change_ns, 4000);
    assert_sums(&d);
    gp_diff_release(&d);
    opts.by = GP_DIFF_BY_RANGE;
    d = compare(&plain, &more, &opts);
    assert_string_equal(gp_diff_str(&d, d.ops.at[0].name), "ProfilerStep");
    assert_true(d.ops.at[0].side[GP_DIFF_BASE].host_count == 1);
    assert_sums(&d);
    gp_diff_release(&d);
}

/* ---- runs ---- */

TEST(test_wall_needs_runs)
{
    enum { RUNS = 5 };
    struct gp_profile profiles[2 * RUNS];
    const struct gp_profile *base[RUNS], *cur[RUNS];
    for (int i = 0; i < 2 * RUNS; i++) {
        struct program p = plain;
        p.rank = -1;
        p.gap = (i < RUNS ? 5000 : 9000) + 10 * i;
        profiles[i] = record(&p);
    }
    for (int i = 0; i < RUNS; i++) {
        base[i] = &profiles[i];
        cur[i] = &profiles[RUNS + i];
    }
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, base, RUNS, cur, RUNS);
    assert_int_equal(d.side[GP_DIFF_BASE].runs, RUNS);
    assert_true(d.metrics[GP_METRIC_STEP].verdict == GP_CHANGE_REGRESSION &&
                !d.metrics[GP_METRIC_STEP].d.within_run);
    assert_true(fabs(d.metrics[GP_METRIC_STEP].d.p - 2. / 252) < 1e-12); /* 2 / C(10, 5) */
    assert_int_equal(d.metrics[GP_METRIC_GPU].change, 0);
    gp_diff_release(&d);
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, base, 1, cur, 1);
    assert_int_equal(d.metrics[GP_METRIC_STEP].verdict, GP_CHANGE_INCONCLUSIVE);
    assert_true(d.metrics[GP_METRIC_STEP].d.needed == 5 && gp_diff_status(&d) == 0);
    gp_diff_release(&d);
    for (int i = 0; i < 2 * RUNS; i++) gp_profile_release(&profiles[i]);
}

/* A step that five runs show to be the same, in which other kernels run. */
TEST(test_the_same_step_of_other_kernels)
{
    enum { RUNS = 5 };
    struct gp_profile profiles[2 * RUNS];
    const struct gp_profile *sides[2][RUNS];
    for (int i = 0; i < 2 * RUNS; i++) {
        struct program p = waiting;
        p.gap += 10 * (i % RUNS);
        p.rank = -1;
        if (i >= RUNS) p.kernels[1].count = 2, p.kernels[1].dur = 30000;
        profiles[i] = record(&p);
        sides[i / RUNS][i % RUNS] = &profiles[i];
    }
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, sides[0], RUNS, sides[1], RUNS);
    assert_int_equal(d.metrics[GP_METRIC_STEP].verdict, GP_CHANGE_NONE);
    assert_string_equal(gp_diff_str(&d, d.summary.word), "SAME STEP TIME");
    assert_true(d.summary.verdict == GP_CHANGE_NONE && gp_diff_status(&d) == 0);
    gp_diff_release(&d);
    for (int i = 0; i < 2 * RUNS; i++) gp_profile_release(&profiles[i]);
}

TEST(test_ranks_are_one_run)
{
    struct program p = plain;
    p.rank = 1;
    struct gp_profile a = record(&plain), b = record(&p);
    const struct gp_profile *side[] = {&a, &b};
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, side, 2, side, 2);
    assert_true(d.side[GP_DIFF_BASE].runs == 1 && d.side[GP_DIFF_BASE].lanes == 2 &&
                d.side[GP_DIFF_BASE].steps_used == 8);
    gp_diff_release(&d);
    gp_profile_release(&a);
    gp_profile_release(&b);
}

/* ---- what is refused ---- */

static void assert_refused(const struct program *base, const struct program *cur, const char *id)
{
    struct gp_diff d = compare(base, cur, NULL);
    const struct gp_diff_reason *r = reason(&d, id);
    assert_non_null(r);
    assert_true(r->fatal && !d.comparable && gp_diff_status(&d) == 3);
    gp_diff_release(&d);
}

TEST(test_refusals)
{
    struct program other = plain, empty = plain;
    other.gpu = "another GPU";
    assert_refused(&plain, &other, "gpu_model");
    struct gp_diff_opts cross = {.cross_gpu = true};
    struct gp_diff d = compare(&plain, &other, &cross);
    assert_true(d.comparable && reason(&d, "gpu_model"));
    gp_diff_release(&d);
    empty.kernels[0].name = NULL;
    assert_refused(&plain, &empty, "no_gpu_events");
    assert_refused(&empty, &plain, "no_gpu_events");
    struct program work = {.steps = 4, .gap = 500, .kernels = {{"conv", 2, 10000, {0}}}};
    assert_refused(&plain, &work, "work");
    struct program many = plain;
    many.kernels[0] = (struct kernel){"ampere_sgemm_32x128_nn", 2, 10000, {0}, 0};
    struct program base = many;
    many.kernels[0].count = 9;
    assert_refused(&base, &many, "work");
    /* 5 products instead of 8 are not half, but nothing else is the same either */
    struct program eight = {.steps = 4, .gap = 500, .kernels = {{"ampere_sgemm_32x128_nn", 8, 10000, {0}}}};
    struct program five = {.steps = 4, .gap = 500, .kernels = {{"ampere_hgemm_32x128_tn", 5, 10000, {0}}}};
    assert_refused(&eight, &five, "work");
}

/* ---- another algorithm, another batch ---- */

static void assert_algorithm(const struct program *base, const struct program *cur, const char *text)
{
    struct gp_diff d = compare(base, cur, NULL);
    assert_true(d.comparable);
    assert_string_equal(gp_diff_str(&d, reason(&d, "algorithm")->text), text);
    assert_non_null(strstr(gp_diff_str(&d, d.summary.headline), text));
    gp_diff_release(&d);
}

/* A loop over heads against a batch of them; attention as products and a softmax against one kernel forward,
 * three backward. */
TEST(test_another_algorithm_is_compared)
{
    struct program loop = {.steps = 5, .gap = 500, .kernels = {{"nvjet_tst_128x64_NNT", 64, 5000, {0}, 128}}};
    struct program batch = {
        .steps = 5, .gap = 500, .kernels = {{"nvjet_tst_256x128_coopA_NNT", 1, 90000, {0}, 132}}};
    assert_algorithm(&loop, &batch, "another algorithm: 1 product per step instead of 64");
    assert_algorithm(&batch, &loop, "another algorithm: 64 products per step instead of 1");
    struct program math = {.steps = 5,
                           .gap = 500,
                           .kernels = {{"ampere_sgemm_32x128_nn", 3, 20000, {0}, 64},
                                       {"ampere_sgemm_32x128_nt", 3, 20000, {0}, 64},
                                       {"softmax_warp_forward", 1, 9000, {0}, 512},
                                       {"softmax_warp_backward", 1, 9000, {0}, 512}}};
    struct program flash = {.steps = 5,
                            .gap = 500,
                            .kernels = {{"flash_fwd_kernel", 1, 9000, {0}, 64},
                                        {"flash_bwd_dq_dk_dv_loop_kernel", 3, 9000, {0}, 64}}};
    assert_algorithm(&math, &flash, "another algorithm: 4 attention kernels per step instead of 6 products");
    assert_algorithm(&flash, &math, "another algorithm: 6 products per step instead of 4 attention kernels");
}

/* A loop that another loop of other products replaces is another program; so are attention kernels next to
 * products that the other side does not have. */
TEST(test_other_products_are_another_model)
{
    struct program ten = {.steps = 5, .gap = 500, .kernels = {{"nvjet_tst_128x64_NNT", 10, 5000, {0}, 128}}};
    struct program more = {
        .steps = 5, .gap = 500, .kernels = {{"nvjet_tst_256x128_coopA_NNT", 21, 9000, {0}, 132}}};
    assert_refused(&ten, &more, "work");
    struct program deep = ten;
    deep.kernels[0].count = 40; /* four times as many layers */
    assert_refused(&ten, &deep, "work");
    struct program attends = {
        .steps = 5,
        .gap = 500,
        .kernels = {{"flash_fwd_kernel", 2, 9000, {0}, 64}, {"ampere_hgemm_32x128_nn", 2, 20000, {0}, 64}}};
    assert_refused(&ten, &attends, "work");
}

TEST(test_another_batch)
{
    struct program base = {.steps = 5,
                           .gap = 500,
                           .kernels = {{"ampere_sgemm_32x128_nn", 4, 20000, {0}, 64},
                                       {"layer_norm", 2, 9000, {0}, 512},
                                       {"softmax_warp_forward", 2, 9000, {0}, 512},
                                       {"elementwise_kernel", 4, 5000, {0}, 2000},
                                       {"adam", 1, 9000, {0}, 300}}};
    struct program twice = base, split = base;
    for (int i = 0; i < 4; i++) twice.kernels[i].blocks *= 2;
    assert_refused(&base, &twice, "size");
    struct gp_diff_opts any = {.any_work = true};
    struct gp_diff d = compare(&base, &twice, &any);
    assert_true(d.comparable && !reason(&d, "size")->fatal);
    gp_diff_release(&d);
    /* in two halves one after the other it is the same work */
    for (int i = 1; i < 4; i++) split.kernels[i].blocks /= 2, split.kernels[i].count *= 2;
    d = compare(&base, &split, NULL);
    assert_true(d.comparable && !reason(&d, "size"));
    gp_diff_release(&d);
    /* one kernel over another grid is a change of that kernel */
    struct program one = base;
    one.kernels[3].blocks *= 2;
    d = compare(&base, &one, NULL);
    assert_true(d.comparable && !reason(&d, "size"));
    gp_diff_release(&d);
}

/* Five kernels, of which the other side has one. */
TEST(test_most_kernels_on_one_side)
{
    struct program base = {.steps = 5,
                           .gap = 500,
                           .kernels = {{"norm", 2, 9000, {0}},
                                       {"a", 1, 900, {0}},
                                       {"b", 1, 900, {0}},
                                       {"c", 1, 900, {0}},
                                       {"d", 1, 900, {0}}}};
    struct program cur = {.steps = 5,
                          .gap = 500,
                          .kernels = {{"w", 1, 900, {0}},
                                      {"x", 1, 900, {0}},
                                      {"y", 1, 900, {0}},
                                      {"z", 1, 900, {0}},
                                      {"norm", 2, 9000, {0}}}};
    struct gp_diff d = compare(&base, &cur, NULL);
    assert_true(d.comparable);
    assert_string_equal(
        gp_diff_str(&d, reason(&d, "few_in_common")->text),
        "these may be different programs: 4 operations are gone and 4 new, 1 is on both sides");
    gp_diff_release(&d);
}

TEST(test_other_settings_keep_host_times_out)
{
    struct program cur = plain;
    cur.settings = "with_stack";
    cur.gap = 5000;
    struct gp_diff d = compare(&plain, &cur, NULL);
    assert_true(d.comparable && reason(&d, "capture_settings"));
    assert_true(d.metrics[GP_METRIC_STEP].refused && !d.metrics[GP_METRIC_GPU].refused);
    gp_diff_release(&d);
    struct gp_gate gate;
    assert_int_equal(gp_gate_parse(&gate, "step:50%", NULL), 0);
    struct gp_diff_opts opts = {.gates = &gate, .n_gates = 1};
    d = compare(&plain, &cur, &opts);
    assert_true(d.gates.at[0].broken && gp_diff_status(&d) == 1); /* never a pass by accident */
    gp_diff_release(&d);
}

TEST(test_lost_records)
{
    struct gp_profile a = record(&plain), b = record(&plain);
    const struct gp_profile *pa = &a, *pb = &b;
    struct gp_diff d;
    b.lost = 1; /* of 20 events */
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &pa, 1, &pb, 1);
    assert_true(reason(&d, "lost_records")->fatal && gp_diff_status(&d) == 3);
    gp_diff_release(&d);
    gp_profile_release(&a);
    gp_profile_release(&b);
}

/* ---- gates and predictions ---- */

TEST(test_gates_are_read)
{
    static const struct {
        const char *text;
        uint32_t metric;
        bool absolute;
        double limit;
    } good[] = {
        {"busy:3%", GP_METRIC_BUSY, false, 3},
        {"busy:0", GP_METRIC_BUSY, false, 0},
        {"wall:2.5%", GP_METRIC_STEP, false, 2.5},
        {"launches:0", GP_METRIC_LAUNCHES, true, 0},
        {"launches:10%", GP_METRIC_LAUNCHES, false, 10},
        {"peak_mem:16MiB", GP_METRIC_PEAK_MEM, true, 16777216},
        {"peak_mem:1GB", GP_METRIC_PEAK_MEM, true, 1e9},
        {"gpu_time:1.5ms", GP_METRIC_GPU, true, 1.5e6},
        {"op:5%", GP_METRIC_COUNT, false, 5},
        {"op:20us", GP_METRIC_COUNT, true, 20000},
        {"step:-2%", GP_METRIC_STEP, false, -2},
    };
    static const char *const bad[] = {
        "",         "busy",        "busy:",   "busy:x",   "bussy:3%", "busy:3MiB",    "launches:3ms",
        "busy:3%%", "busy:nan",    "op:inf%", "busy:3 %", ":3%",      "peak_mem:3us", "busy:3",
        "op:3",     "peak_mem:1.5"};
    struct gp_gate g;
    struct gp_err err = {0};
    for (size_t i = 0; i < GP_COUNT(good); i++) {
        assert_int_equal(gp_gate_parse(&g, good[i].text, &err), 0);
        assert_true(g.metric == good[i].metric && g.absolute == good[i].absolute && g.limit == good[i].limit);
    }
    for (size_t i = 0; i < GP_COUNT(bad); i++)
        if (!gp_gate_parse(&g, bad[i], &err)) fail_msg("gate '%s' was taken", bad[i]);
}

static struct gp_diff compare_with_gate(const struct program *base, const struct program *cur,
                                        const char *text)
{
    struct gp_gate gate;
    assert_int_equal(gp_gate_parse(&gate, text, NULL), 0);
    struct gp_diff_opts opts = {.gates = &gate, .n_gates = 1};
    return compare(base, cur, &opts);
}

static void assert_gate(const struct program *base, const struct program *cur, const char *text, bool broken)
{
    struct gp_diff d = compare_with_gate(base, cur, text);
    if (d.gates.at[0].broken != broken) fail_msg("gate %s: broken is %d", text, d.gates.at[0].broken);
    assert_int_equal(gp_diff_status(&d), broken);
    gp_diff_release(&d);
}

TEST(test_gates)
{
    struct program base = noisy, cur = noisy, gap = noisy, more = noisy;
    base.steps = cur.steps = gap.steps = more.steps = 8;
    cur.kernels[0].dur += 10000; /* +10% of gemm, 20000 of 370000 in all: +5.4% */
    assert_gate(&base, &cur, "op:5%", true);
    assert_gate(&base, &cur, "op:15%", false);
    assert_gate(&base, &cur, "op:15us", true);
    assert_gate(&base, &cur, "gpu_time:5%", true);
    assert_gate(&base, &cur, "busy:6%", false);
    assert_gate(&cur, &base, "op:0%", false); /* faster is never broken */
    gap.gap = 100000;
    assert_gate(&base, &gap, "step:10%", false); /* one run a side does not say */
    gap.gap = 500000;
    assert_gate(&base, &gap, "step:10%", false); /* not even where it decides the verdict */
    struct gp_diff d = compare_with_gate(&base, &gap, "step:10%");
    assert_true(d.gates.at[0].undecided);
    gp_diff_release(&d);
    more.kernels[1].count = 4;
    assert_gate(&base, &more, "launches:0", true);
    assert_gate(&base, &more, "launches:1", false);
    assert_gate(&base, &more, "peak_mem:1%", true); /* not recorded: did not pass */
}

/* Two launches of which the second one moves L2 bytes, measured by counters. */
static struct gp_profile counted(double l2)
{
    const double first[] = {1000, 10000, 10000, 24000, 0, 1e16, 50},
                 second[] = {1000, NAN, 10, l2, 0, 1e16, 50};
    struct gp_trace t;
    struct gp_profile p;
    struct mm k;
    mm_begin(&k, &t);
    mm_launch(&k, 1000, 1000, "copy", 16, first);
    mm_launch(&k, 3000, 1000, "sum", 16, second);
    gp_trace_finish(&t);
    gp_profile_init(&p, NULL);
    assert_int_equal(gp_profile_add_trace(&p, &t, NULL), 0);
    gp_trace_release(&t);
    return p;
}

static const struct gp_diff_gate *gate_of(const struct gp_diff *d, const char *text)
{
    for (size_t i = 0; i < d->gates.n; i++)
        if (!strcmp(gp_diff_str(d, d->gates.at[i].text), text)) return &d->gates.at[i];
    return NULL;
}

TEST(test_counters_are_counts)
{
    struct gp_gate gate;
    struct gp_profile a = counted(500), b = counted(600);
    const struct gp_profile *pa = &a, *pb = &b;
    struct gp_diff d;
    assert_int_equal(gp_gate_parse(&gate, "counts", NULL), 0);
    gp_diff_init(&d, &(struct gp_diff_opts){.gates = &gate, .n_gates = 1});
    gp_diff_run(&d, &pa, 1, &pb, 1);
    const struct gp_diff_gate *l2 = gate_of(&d, "counts: l2_bytes"),
                              *dram = gate_of(&d, "counts: dram_bytes");
    assert_true(l2 && l2->broken && l2->value == 100 && l2->n_ops == 1);
    assert_string_equal(gp_diff_str(&d, l2->why), "sum: 600 bytes of the L2 cache, 500 before");
    assert_true(dram && !dram->broken); /* of one kernel */
    assert_true(gate_of(&d, "counts: registers") && !gate_of(&d, "counts: registers")->broken);
    assert_true(!gate_of(&d, "counts: instructions") && !gate_of(&d, "counts: waves"));
    gp_diff_release(&d);
    gp_profile_release(&a);
    gp_profile_release(&b);
}

/* N recordings of PROG on a GPU that others use for that part of the time, in ppm. */
static void record_shared(const struct program *prog, int64_t others_ppm, struct gp_profile *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = record(prog);
        for (size_t k = 0; k < p[i].steps.n; k++) {
            p[i].steps.at[k].clock_khz = 1980000;
            p[i].steps.at[k].others_ppm = others_ppm;
        }
    }
}

/* The gate of GPU time of N recordings of BASE and of CUR. */
static struct gp_diff_gate shared_gate(const struct program *base, const struct program *cur,
                                       int64_t others_ppm, size_t n, uint32_t *op)
{
    enum { MOST = 5 };
    struct gp_profile a[MOST], b[MOST];
    const struct gp_profile *pa[MOST], *pb[MOST];
    struct gp_gate gate;
    struct gp_diff d;
    record_shared(base, 0, a, n);
    record_shared(cur, others_ppm, b, n);
    for (size_t i = 0; i < n; i++) pa[i] = &a[i], pb[i] = &b[i];
    assert_int_equal(gp_gate_parse(&gate, "gpu_time:5%", NULL), 0);
    gp_diff_init(&d, &(struct gp_diff_opts){.gates = &gate, .n_gates = 1});
    gp_diff_run(&d, pa, n, pb, n);
    struct gp_diff_gate g = d.gates.at[0];
    *op = op_of(&d, "gemm")->change;
    gp_diff_release(&d);
    for (size_t i = 0; i < n; i++) {
        gp_profile_release(&a[i]);
        gp_profile_release(&b[i]);
    }
    return g;
}

TEST(test_on_a_shared_gpu_runs_decide)
{
    struct program base = noisy, cur = noisy;
    uint32_t op;
    base.steps = cur.steps = 8;
    cur.kernels[0].dur += 20000;
    struct gp_diff_gate g = shared_gate(&base, &cur, 0, 1, &op);
    assert_true(g.broken && g.power_pct > 5 && op == GP_CHANGE_REGRESSION);
    g = shared_gate(&base, &cur, 49000, 1, &op); /* less than 5% of the time */
    assert_true(g.broken && op == GP_CHANGE_REGRESSION);
    g = shared_gate(&base, &cur, 50000, 1, &op);
    assert_true(!g.broken && g.undecided && isnan(g.power_pct) && op == GP_CHANGE_INCONCLUSIVE);
    g = shared_gate(&base, &cur, 50000, 5, &op); /* medians of five runs */
    assert_true(g.broken && fabs(g.power_pct - 5) < 1e-6 && op == GP_CHANGE_INCONCLUSIVE);
}

TEST(test_predictions)
{
    struct gp_expects e = {0};
    gp_sid gemm = gp_intern_cstr(&e.strings, "gemm"), none = gp_intern_cstr(&e.strings, "conv");
    uint32_t idle_host = GP_METRIC_COUNT + 1 + GP_IDLE_HOST;
    GP_VEC_PUSH(&e.at, ((struct gp_expect){gemm, GP_METRIC_GPU, 0, true, 4, 6, 1}));
    GP_VEC_PUSH(&e.at, ((struct gp_expect){gemm, GP_METRIC_LAUNCHES, 0, false, -1, 1, 2}));
    GP_VEC_PUSH(&e.at, ((struct gp_expect){gemm, idle_host, 0, false, -1e6, 1e6, 3}));
    GP_VEC_PUSH(&e.at, ((struct gp_expect){gemm, GP_METRIC_COUNT, gemm, false, 15000, 25000, 4}));
    GP_VEC_PUSH(&e.at, ((struct gp_expect){gemm, GP_METRIC_COUNT, gemm, true, 9, 9.5, 5}));
    GP_VEC_PUSH(&e.at, ((struct gp_expect){gemm, GP_METRIC_COUNT, none, true, -100, 100, 6}));
    struct program base = noisy, cur = noisy;
    cur.kernels[0].dur += 10000;
    struct gp_diff_opts opts = {.expects = &e};
    struct gp_diff d = compare(&base, &cur, &opts);
    assert_int_equal(d.expects.n, 6);
    for (int i = 0; i < 4; i++) assert_true(d.expects.at[i].holds);
    assert_true(!d.expects.at[4].holds && !d.expects.at[5].holds && gp_diff_status(&d) == 1);
    assert_true(isnan(d.expects.at[5].value));
    assert_string_equal(gp_diff_str(&d, d.expects.at[4].subject), "gemm");
    assert_string_equal(gp_diff_str(&d, d.expects.at[4].why), "more than predicted");
    gp_diff_release(&d);
    gp_expects_release(&e);
}
