// What the host does at the end of a step or at any other place, and long times that are not there.
#include "tests/unit/program_make.h"

#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define ADD  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"

enum { LONG = 5 * MS };

static void answer(struct program *p)
{
    host(p, 20 * US), copy(p, "Memcpy HtoD (Pinned -> Device)", 20 * US, 1 << 20, false);
    for (int i = 0; i < 10; i++) host(p, 20 * US), kernel_of(p, i % 2 ? ADD : GEMM, 200, 20 * US);
    copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, 4096, true);
}

static void collects(struct program *p) { answer(p), host(p, LONG); }

static void frees(struct program *p)
{
    answer(p), host(p, LONG);
    for (int i = 0; i < 4; i++) call(p, "cudaFree", 50 * US);
}

/* The next input is prepared where a step begins. */
static void prepares(struct program *p) { host(p, LONG), answer(p); }

/* As long, but a name shows what it is. */
static void is_named(struct program *p)
{
    answer(p);
    int64_t from = p->now;
    host(p, LONG);
    mk_host(&p->t, GP_PYTHON, p->main, from, p->now, "<built-in function collect>");
}

static void says(void (*step)(struct program *), const char *words)
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, "step_end");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->change), words));
    end(&p);
}

TEST(the_host_works_at_the_end_of_a_step)
{
    // at least half of it, of 9 in 10 steps: nothing is known before the first; a usual gap of 20 us stays
    int64_t gap = LONG - 20 * US;
    speaks(collects, "step_end", gap / 2 * 9 / 10, gap);
    is_silent(collects, "input_stall");
    says(collects, "what the host does at the end of each step");
    says(frees, "torch.cuda.empty_cache()");
}

TEST(long_times_elsewhere)
{
    is_silent(answer, "step_end");
    is_silent(prepares, "step_end");
    is_silent(is_named, "step_end");
    struct program p;
    run(&p, prepares);
    assert_non_null(said(&p, "input_stall"));
    end(&p);
    run(&p, is_named);
    assert_non_null(said(&p, "garbage_collection"));
    end(&p);
}

/* ---- at any other place ---- */

static void launches(struct program *p, int n)
{
    for (int i = 0; i < n; i++) host(p, 20 * US), kernel_of(p, GEMM, 200, 20 * US);
}

/* The host works for NS between two launches, from the lines 30 and 34. */
static void works(struct program *p, int64_t ns)
{
    launches(p, 10);
    frame(p, "step", "/data/main.py", 30, true);
    host(p, ns), kernel_of(p, ADD, 200, 20 * US);
    frame(p, "step", "/data/main.py", 34, true);
    launches(p, 10);
}

static void searches(struct program *p) { works(p, LONG); }

static void searches_at_times(struct program *p) { works(p, p->steps % 2 ? LONG : 20 * US); }

static void searches_shortly(struct program *p) { works(p, 900 * US); }

/* The host may as well wait: the GPU has enough to do. */
static void runs_ahead(struct program *p)
{
    kernel_of(p, GEMM, 200, LONG - 100 * US);
    works(p, LONG);
}

/* All of a step is one launch, as of a graph. */
static void one_launch(struct program *p) { host(p, LONG), kernel_of(p, GEMM, 200, 100 * US); }

static void draws(struct program *p)
{
    host(p, LONG), copy(p, "Memcpy HtoD (Pinned -> Device)", 2 * US, 4096, false);
    kernel_of(p, GEMM, 200, 100 * US);
}

TEST(the_host_works_at_one_place_of_each_step)
{
    int64_t gap = LONG - 20 * US;
    speaks(searches, "host_gap", gap / 2, gap);
    struct program p;
    run(&p, searches);
    assert_ptr_equal(p.s.suggestions.at[0].rule, gp_rule_find("host_gap"));
    assert_string_equal(gp_suggest_str(&p.s, said(&p, "host_gap")->place),
                        "between main.py:30 step and main.py:34 step");
    assert_null(said(&p, "low_utilisation"));
    end(&p);
    run(&p, one_launch); // what is usual is not known: 50 us
    assert_non_null(said(&p, "host_gap"));
    end(&p);
    run(&p, draws);
    assert_non_null(said(&p, "input_stall"));
    end(&p);
}

TEST(long_times_that_are_none_or_have_another_rule)
{
    static void (*const steps[])(struct program *) = {
        answer, collects, prepares, is_named, searches_at_times, searches_shortly, runs_ahead, draws};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) is_silent(steps[i], "host_gap");
}
