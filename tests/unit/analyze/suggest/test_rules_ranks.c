// The rules about several ranks: two processes in one trace, each with a GPU, that meet in a collective each
// step.
#include <stdio.h>
#include <string.h>

#include "analyze/suggest/suggest.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

enum { US = 1000, STEPS = 10, RANKS = 2 };

#define GEMM "sm90_xmma_gemm_bf16bf16_tn"
#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL()"
#define SEND "ncclDevKernel_SendRecv()"

struct program {
    struct gp_trace t;
    uint32_t mains[RANKS], streams[RANKS];
    uint64_t corr;
    struct gp_suggest s;
};

static void work(struct program *p, int rank, int64_t call, int64_t start, int64_t end, const char *name)
{
    mk_call(&p->t, p->mains[rank], call, call + 4 * US, "cudaLaunchKernel", ++p->corr);
    mk_kernel(&p->t, p->streams[rank], start, end, name, p->corr);
}

/* Ten steps: both ranks compute, rank R for COMPUTE[step % 2][R] us, and a collective named NAME is over 100
 * us after the last one came, on both, of which one's clock goes wrong by SHIFT. The host launches all steps
 * at once. */
static void run(struct program *p, const int64_t compute[2][RANKS], const char *name, int64_t shift_ns)
{
    memset(p, 0, sizeof *p);
    gp_trace_init(&p->t, GP_NEED_ALL);
    for (int r = 0; r < RANKS; r++) {
        uint32_t process = mk_process(&p->t, r + 1, (uint32_t)r);
        p->mains[r] = mk_thread(&p->t, process, 100);
        p->streams[r] = mk_stream(&p->t, process, r, 7);
    }
    int64_t begin = 7 * US;
    for (int step = 0; step < STEPS; step++) {
        const int64_t *us = compute[step % 2];
        int64_t over = begin + (us[0] > us[1] ? us[0] : us[1]) * US + 101 * US;
        for (int r = 0; r < RANKS; r++) {
            char range[32];
            int64_t shift = r ? shift_ns : 0, call = step * 20 * US + shift;
            snprintf(range, sizeof range, "ProfilerStep#%d", step);
            mk_host(&p->t, GP_RANGE, p->mains[r], call, call + 20 * US, range);
            work(p, r, call, begin + shift, begin + us[r] * US + shift, GEMM);
            work(p, r, call + 10 * US, begin + us[r] * US + 1 * US + shift, over + shift, name);
        }
        begin = over + 1 * US;
    }
    struct gp_err err;
    gp_trace_finish(&p->t);
    gp_suggest_init(&p->s, NULL);
    assert_int_equal(gp_suggest_run(&p->s, &p->t, &err), 0);
    assert_true(p->s.step.found);
    assert_true(p->s.step.trusted);
}

static const struct gp_suggestion *said_by(const struct program *p, const char *rule)
{
    for (size_t i = 0; i < p->s.suggestions.n; i++)
        if (!strcmp(p->s.suggestions.at[i].rule->name, rule)) return &p->s.suggestions.at[i];
    return NULL;
}

static const struct gp_suggestion *said(const struct program *p) { return said_by(p, "straggler"); }

static void end(struct program *p)
{
    gp_suggest_release(&p->s);
    gp_trace_release(&p->t);
}

/* The straggler is WHO, and LOW to HIGH us of each step are saved without; the model's own 15 % and 1 % of
 * the step are added here. */
static void speaks(const int64_t compute[2][RANKS], int64_t shift_ns, const char *who, int64_t low,
                   int64_t high)
{
    struct program p;
    run(&p, compute, NCCL, shift_ns);
    const struct gp_suggestion *s = said(&p);
    assert_non_null(s);
    assert_string_equal(gp_suggest_str(&p.s, s->operation), who);
    int64_t noise = p.s.step.step_ns / 100;
    assert_in_range(s->saving_low_ns, low * 850 - noise - 200, low * 850 - noise + 200);
    assert_in_range(s->saving_high_ns, high * 1250 + noise - 200, high * 1250 + noise + 200);
    assert_true(*gp_suggest_str(&p.s, s->description) && *gp_suggest_str(&p.s, s->action) &&
                *gp_suggest_str(&p.s, s->formula) && *gp_suggest_str(&p.s, s->check));
    end(&p);
}

static void straggler_is_silent(const int64_t compute[2][RANKS], const char *name)
{
    struct program p;
    run(&p, compute, name, 0);
    assert_null(said(&p));
    end(&p);
}

TEST(one_rank_is_waited_for)
{
    // A step: 800 us to the last one's start, 100 us of the collective, gaps of 1 us. The other rank waits
    // 300 us: at least half of that goes, when both compute 650 us, at most all of it.
    const int64_t second[2][RANKS] = {{500, 800}, {500, 800}}, first[2][RANKS] = {{800, 500}, {800, 500}};
    // The first rank's device is looked at: as the one that waits, and as the one that is waited for.
    speaks(second, 0, "the process on GPU 1", 150, 300);
    speaks(first, 0, "the process on GPU 0", 150, 300);
    // Clocks that differ by 5 ms are set by the ends of the collectives.
    speaks(second, 5000 * US, "the process on GPU 1", 150, 300);
}

TEST(ranks_that_are_there_need_not_be_recorded)
{
    const int64_t even[2][RANKS] = {{800, 800}, {800, 800}};
    struct program p;
    run(&p, even, NCCL, 0);
    const struct gp_suggestion *s = said_by(&p, "exposed_communication");
    assert_non_null(s);
    assert_null(strstr(gp_suggest_str(&p.s, s->action), "run trace-hta on all ranks"));
    end(&p);
}

TEST(ranks_that_wait_for_no_one_rank)
{
    const int64_t even[2][RANKS] = {{800, 800}, {800, 800}}, little[2][RANKS] = {{760, 800}, {760, 800}},
                  turns[2][RANKS] = {{500, 800}, {800, 500}}, late[2][RANKS] = {{500, 800}, {500, 800}};
    straggler_is_silent(even, NCCL);
    straggler_is_silent(little, NCCL); // 40 of 902 us: less than 5 %
    straggler_is_silent(turns, NCCL);  // each one is late half of the time
    straggler_is_silent(late, SEND);   // who sends need not wait
}

static void host_collectives(struct gp_trace *t, struct gp_suggest *s, int count)
{
    struct gp_err err;
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t process = mk_process(t, 1, 0), main = mk_thread(t, process, 100),
             stream = mk_stream(t, process, 0, 7);
    for (int step = 0; step < STEPS; step++) {
        char range[32];
        int64_t at = step * 200 * US;
        snprintf(range, sizeof range, "ProfilerStep#%d", step);
        mk_host(t, GP_RANGE, main, at, at + 200 * US, range);
        mk_call(t, main, at + 10 * US, at + 14 * US, "cudaLaunchKernel", (uint64_t)step + 1);
        mk_kernel(t, stream, at + 17 * US, at + 100 * US, GEMM, (uint64_t)step + 1);
        if (step < count) mk_host(t, GP_OP, main, at + 110 * US, at + 150 * US, "gloo:all_reduce");
    }
    gp_trace_finish(t);
    gp_suggest_init(s, &(struct gp_suggest_opts){.rules = (const char *const[]){"gloo"}, .n_rules = 1});
    assert_int_equal(gp_suggest_run(s, t, &err), 0);
}

static void gloo_is_silent(int count)
{
    struct gp_trace t;
    struct gp_suggest s;
    host_collectives(&t, &s, count);
    assert_int_equal(s.suggestions.n, 0);
    gp_suggest_release(&s);
    gp_trace_release(&t);
}

TEST(collectives_by_way_of_the_host)
{
    struct gp_trace t;
    struct gp_suggest s;
    host_collectives(&t, &s, STEPS);
    assert_int_equal(s.suggestions.n, 1);
    assert_int_equal(s.suggestions.at[0].saving_high_ns, 0);
    gp_suggest_release(&s);
    gp_trace_release(&t);
    gloo_is_silent(STEPS / 2);
}
