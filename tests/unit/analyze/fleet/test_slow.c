// Who is slow, and why: planted faults are named with their causes, and clean jobs raise no alarm.
#define UNIT_OWN_MAIN
#include <stdlib.h>
#include <string.h>

#include "analyze/fleet/slow.h"
#include "formats/base/buf.h"
#include "tests/fleet/sim_member.h"
#include "tests/unit/unit.h"

static void judge(const struct sim *s, struct gp_fleet *f, struct gp_slow_list *slow)
{
    gp_fleet_init(f);
    for (int32_t rank = 0; rank < s->ranks; rank++) sim_add(s, rank, f);
    gp_fleet_settle(f);
    gp_slow_find(slow, f);
}

static const struct gp_slow *of_rank(const struct gp_slow_list *slow, int32_t rank)
{
    for (size_t i = 0; i < slow->at.n; i++)
        if (slow->at.at[i].key.rank == rank) return &slow->at.at[i];
    fail_msg("rank %d is not told", (int)rank);
    return NULL;
}

static void release(struct gp_fleet *f, struct gp_slow_list *slow)
{
    gp_slow_release(slow);
    gp_fleet_release(f);
}

TEST(test_clean_jobs)
{
    static const int32_t sizes[] = {2, 3, 4, 8, 16, 64, 512};
    for (uint64_t run = 0; run < 100; run++) {
        struct sim s = {.ranks = sizes[run % 7], .steps = 8, .per_node = 8, .seed = run + 1};
        struct gp_fleet f;
        struct gp_slow_list slow;
        judge(&s, &f, &slow);
        assert_int_equal(slow.at.n, 0);
        assert_false(slow.in_turn);
        release(&f, &slow);
    }
}

TEST(test_three_ranks_and_a_kernel)
{
    struct sim s = {.ranks = 1000,
                    .steps = 8,
                    .per_node = 8,
                    .seed = 9,
                    .n_faults = 4,
                    .faults = {{SIM_COMPUTE, 100, 5, 0},
                               {SIM_COMPUTE, 401, 5, 0},
                               {SIM_COMPUTE, 902, 5, 0},
                               {SIM_KERNEL, 555, 20, 1}}};
    struct gp_fleet f;
    struct gp_slow_list slow;
    judge(&s, &f, &slow);
    assert_int_equal(slow.at.n, 4);
    for (int i = 0; i < 3; i++) {
        const struct gp_slow *r = of_rank(&slow, s.faults[i].rank);
        assert_int_equal(r->what, GP_SLOW_RANK);
        assert_int_equal(r->cause, GP_SLOW_COMPUTE);
        assert_int_equal(r->kernel, 0); /* all of its kernels */
        assert_int_equal(r->pattern, GP_SLOW_ALWAYS);
    }
    const struct gp_slow *k = of_rank(&slow, 555);
    assert_string_equal(gp_string(&f.strings, k->kernel), "flash_fwd_kernel");
    assert_false(k->more_calls);
    assert_true(k->kernel_ns > k->kernel_median_ns / 100 * 117 &&
                k->kernel_ns < k->kernel_median_ns / 100 * 123);
    release(&f, &slow);
}

TEST(test_causes)
{
    struct sim s = {.ranks = 256,
                    .steps = 8,
                    .per_node = 8,
                    .seed = 4,
                    .n_faults = 3,
                    .faults = {{SIM_HOST, 30, 6, 0}, {SIM_COPY, 61, 7, 0}, {SIM_ONCE, 200, 80, 5}}};
    struct gp_fleet f;
    struct gp_slow_list slow;
    judge(&s, &f, &slow);
    assert_int_equal(of_rank(&slow, 30)->cause, GP_SLOW_HOST);
    assert_int_equal(of_rank(&slow, 61)->cause, GP_SLOW_COPIES);
    assert_int_equal(of_rank(&slow, 200)->pattern, GP_SLOW_ONCE);
    assert_int_equal(of_rank(&slow, 200)->slow_columns, 1);
    assert_int_equal(slow.at.n, 3);
    release(&f, &slow);
    s = (struct sim){
        .ranks = 256, .steps = 8, .per_node = 8, .seed = 4, .n_faults = 1, .faults = {{SIM_LINK, 77, 8, 0}}};
    judge(&s, &f, &slow);
    assert_int_equal(slow.at.n, 1);
    assert_int_equal(of_rank(&slow, 77)->cause, GP_SLOW_LINK);
    release(&f, &slow);
}

TEST(test_node_and_gpu)
{
    struct sim s = {.ranks = 128, .steps = 8, .per_node = 8, .seed = 2};
    struct gp_fleet f;
    struct gp_slow_list slow;
    for (int32_t i = 0; i < 8; i++) s.faults[s.n_faults++] = (struct sim_fault){SIM_COMPUTE, 40 + i, 8, 0};
    judge(&s, &f, &slow);
    assert_int_equal(slow.at.n, 1);
    assert_int_equal(slow.at.at[0].what, GP_SLOW_NODE);
    assert_int_equal(slow.at.at[0].key.rank, 40);
    assert_int_equal(slow.at.at[0].ranks, 8);
    release(&f, &slow);
    s.n_faults = 0;
    for (int32_t i = 0; i < 16; i++)
        s.faults[s.n_faults++] = (struct sim_fault){SIM_COMPUTE, 3 + 8 * i, 8, 0};
    judge(&s, &f, &slow);
    assert_int_equal(slow.at.n, 1);
    assert_int_equal(slow.at.at[0].what, GP_SLOW_ORDINAL);
    assert_int_equal(slow.at.at[0].device, 3);
    release(&f, &slow);
}

TEST(test_in_turn)
{
    struct sim s = {
        .ranks = 64, .steps = 32, .per_node = 8, .seed = 5, .n_faults = 1, .faults = {{SIM_TURN, -1, 40, 0}}};
    struct gp_fleet f;
    struct gp_slow_list slow;
    struct gp_buf text = {0};
    judge(&s, &f, &slow);
    assert_true(slow.in_turn);
    assert_int_equal(slow.late, 32);
    assert_int_equal(slow.ranks, 32);
    gp_slow_put_in_turn(&text, &slow);
    assert_string_equal(
        gp_buf_str(&text),
        "Ranks hold up the others in turn: in 32 of 32 steps one is late, 32 different ones.");
    gp_buf_release(&text);
    release(&f, &slow);
}

/* Four ranks of nine steps of 50 ms: rank 1 waits MORE_US longer for its host, or runs a kernel that much
 * more often, in steps of the bits of STEPS. */
static void add_four(struct gp_fleet *f, int64_t more_us, unsigned bits, enum gp_fleet_metric part)
{
    gp_fleet_init(f);
    for (int32_t rank = 0; rank < 4; rank++) {
        struct gp_strings names = {0};
        struct gp_fleet_step steps[9];
        struct gp_fleet_member m = {.key = {rank, 1}, .device = rank, .steps = 9};
        int64_t more = 0;
        for (int32_t i = 0; i < 9; i++) {
            int64_t here = rank == 1 && bits >> i & 1 ? more_us * 1000 : 0;
            steps[i] = (struct gp_fleet_step){i, 50000000 + rank * 10000 + here};
            more += here / 9;
        }
        struct gp_fleet_kernel_time t = {gp_intern_cstr(&names, "gemm"), 9, 30000000, 30000000};
        if (part == GP_FLEET_COMPUTE) { /* as many calls more */
            t.step_ns += more;
            t.calls += (uint64_t)(9 * more / 30000000);
        }
        GP_VEC_PUSH(&m.kernels, t);
        m.gpu = gp_intern_cstr(&names, "NVIDIA H100");
        m.ns[GP_FLEET_COMPUTE] = 50000000 + rank * 10000;
        m.ns[part] += more;
        m.ns[GP_FLEET_OWN] = 50000000 + rank * 10000 + more;
        m.ns[GP_FLEET_STEP] = 60000000;
        m.ns[GP_FLEET_COMMUNICATION] = m.ns[GP_FLEET_STEP] - m.ns[GP_FLEET_OWN];
        gp_fleet_add(f, &m, &names, steps, 9);
        GP_VEC_FREE(&m.kernels);
        gp_strings_release(&names);
    }
    gp_fleet_settle(f);
}

TEST(test_few_ranks)
{
    static const struct {
        const char *what;
        int64_t more_us;
        unsigned steps;
        bool slow;
    } cases[] = {
        {"a host that is late in two steps is not slow", 25000, 0x81, false},
        {"nor one that is late by 3.3% of every step", 2000, 0x1ff, false},
        {"one that is late by 4.1% of every step is", 2450, 0x1ff, true},
        {"so is one that is in all but one", 2500, 0x1fb, true},
        {"not one that is in six of nine", 3300, 0x3f, false},
        {"but one that is late by far in five", 25000, 0x1f, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gp_fleet f;
        struct gp_slow_list slow = {0};
        add_four(&f, cases[i].more_us, cases[i].steps, GP_FLEET_HOST);
        gp_slow_find(&slow, &f);
        if ((slow.at.n == 1) != cases[i].slow) fail_msg("%s: %zu", cases[i].what, slow.at.n);
        if (cases[i].slow) assert_int_equal(of_rank(&slow, 1)->cause, GP_SLOW_HOST);
        release(&f, &slow);
    }
}

TEST(test_stages_have_other_work)
{
    for (int staged = 0; staged < 2; staged++) {
        struct gp_fleet f;
        struct gp_slow_list slow = {0};
        add_four(&f, 10000, 0x1ff, GP_FLEET_COMPUTE);
        f.staged = staged;
        gp_slow_find(&slow, &f);
        assert_int_equal(slow.at.n, !staged);
        release(&f, &slow);
    }
}

/* Two ranks of one job, one with a quarter more work, as little as there can be to compare. */
TEST(test_two_ranks)
{
    struct sim s = {
        .ranks = 2, .steps = 8, .per_node = 8, .seed = 6, .n_faults = 1, .faults = {{SIM_COMPUTE, 1, 25, 0}}};
    struct gp_fleet f;
    struct gp_slow_list slow;
    struct gp_buf text = {0};
    judge(&s, &f, &slow);
    assert_int_equal(slow.at.n, 1);
    gp_slow_put(&text, &f, &slow.at.at[0]);
    assert_non_null(strstr(text.data, "Rank 1 holds up the others"));
    assert_non_null(strstr(text.data, " more than the other rank's "));
    assert_non_null(strstr(text.data, "in many of its kernels"));
    assert_non_null(strstr(text.data, "It is slow in all 8 steps."));
    gp_buf_release(&text);
    release(&f, &slow);
}

/* Two ranks, of which one computes 1% or 5% longer, and waits for its host by 20% of a step. */
TEST(test_slowed_host)
{
    for (int run = 0; run < 4; run++) {
        bool recorded = run & 1, more = run & 2;
        struct sim s = {.ranks = 2, .steps = 8, .per_node = 8, .seed = 5, .n_faults = 2};
        struct gp_fleet f;
        struct gp_slow_list slow = {0};
        struct gp_buf text = {0};
        s.faults[0] = (struct sim_fault){SIM_KERNEL, 1, more ? 27 : 5, 8}; /* 1.5 of 8 ms */
        s.faults[1] = (struct sim_fault){SIM_HOST, 1, 20, 0};
        gp_fleet_init(&f);
        for (int32_t rank = 0; rank < 2; rank++) sim_add(&s, rank, &f);
        f.host_slowed = recorded;
        gp_fleet_settle(&f);
        gp_slow_find(&slow, &f);
        const struct gp_slow *found = of_rank(&slow, 1);
        assert_int_equal(found->cause, recorded && more ? GP_SLOW_COMPUTE : GP_SLOW_HOST);
        assert_int_equal(found->host_ns != 0, recorded && more);
        gp_slow_put(&text, &f, found);
        if (recorded && more) {
            assert_string_equal(gp_string(&f.strings, found->kernel), sim_names[8]);
            assert_non_null(strstr(gp_buf_str(&text), "It also waits 2.80 ms longer for its host"));
        }
        gp_buf_release(&text);
        release(&f, &slow);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4) { /* by hand: test_slow RUNS RANKS STEPS: false alarms in clean runs of any size */
        uint64_t alarms = 0;
        for (long run = 0; run < strtol(argv[1], NULL, 10); run++) {
            struct sim s = {.ranks = (int32_t)strtol(argv[2], NULL, 10),
                            .steps = (int32_t)strtol(argv[3], NULL, 10),
                            .per_node = 8,
                            .seed = (uint64_t)run + 1000};
            struct gp_fleet f;
            struct gp_slow_list slow;
            judge(&s, &f, &slow);
            alarms += slow.at.n + slow.in_turn;
            release(&f, &slow);
        }
        printf("%lu false alarms\n", (unsigned long)alarms);
        return alarms != 0;
    }
    return unit_run();
}
