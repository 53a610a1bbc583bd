/* Samples of program counters by kernel, line and reason, and what mending saves, worked out by hand. */
#include <math.h>

#include "analyze/metrics/stalls.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/model/metric.h"
#include "tests/unit/cubin_make.h"
#include "tests/unit/unit.h"

struct made {
    struct gp_trace t;
    struct gp_strings strings;
    struct gp_stalls s;
    struct pc pc;
    uint32_t stream;
};

static void begin(struct made *m)
{
    memset(m, 0, sizeof *m);
    gp_trace_init(&m->t, GP_NEED_ALL);
    gp_intern(&m->strings, "", 0);
    uint32_t process = mk_process(&m->t, 1, 0);
    m->stream = mk_stream(&m->t, process, 0, 7);
    m->pc = (struct pc){.t = &m->t, .track = mk_thread(&m->t, process, 1), .name = "k", .dur_ns = 1000000};
}

static void finish(struct made *m)
{
    gp_trace_finish(&m->t);
    gp_stalls_of(&m->s, &m->t, NULL, &m->strings);
}

/* What a launch takes in a millisecond on ten multiprocessors: a tenth of the issue slots, half of memory. */
enum {
    TIME,
    READ,
    WRITTEN,
    L2_READ,
    L2_WRITTEN,
    INST,
    LANES,
    ISSUED,
    WAVEFRONTS,
    CONFLICTS,
    LOADS,
    LOADED,
    STORES,
    STORED,
    COUNTERS
};
static const double idle[COUNTERS] = {
    [TIME] = 1e6, [READ] = 1.675e9, [INST] = 4e6, [LANES] = 128e6, [ISSUED] = 4e6, [WAVEFRONTS] = 1e6};

/* Again, with the counters V of another run. */
static const struct gp_stalled *count(struct made *m, const double *v)
{
    static const char *const names[COUNTERS] = {
        [TIME] = "gpu__time_duration.sum",
        [READ] = "dram__bytes_read.sum",
        [WRITTEN] = "dram__bytes_write.sum",
        [L2_READ] = "lts__t_sectors_op_read.sum",
        [L2_WRITTEN] = "lts__t_sectors_op_write.sum",
        [INST] = "smsp__inst_executed.sum",
        [LANES] = "smsp__thread_inst_executed.sum",
        [ISSUED] = "smsp__issue_active.sum",
        [WAVEFRONTS] = "l1tex__data_pipe_lsu_wavefronts.sum",
        [CONFLICTS] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
        [LOADS] = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        [LOADED] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        [STORES] = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        [STORED] = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    };
    struct gp_trace t;
    struct gp_metric metrics[COUNTERS];
    gp_trace_init(&t, GP_NEED_ALL);
    memset(metrics, 0, sizeof metrics);
    for (int i = 0; i < COUNTERS; i++)
        metrics[i] = (struct gp_metric){
            .name = mk_name(&t, names[i]), .unit = mk_name(&t, ""), .chip = mk_name(&t, "GH100")};
    struct gp_config c = m->t.configs.at[m->t.configs.n - 1];
    c.name = mk_name(&t, "k");
    c.cat = c.extra = 0;
    const uint32_t track = mk_thread(&t, mk_process(&t, 1, 0), 1);
    const size_t row = gp_events_add(&t.events[GP_METRIC], 0, 1000, track, c.name);
    gp_set_config(&t.events[GP_METRIC], row, gp_trace_config(&t, &c));
    gp_metric_put(&t, row, gp_trace_metric_set(&t, metrics, COUNTERS), v);
    gp_trace_finish(&t);
    gp_stalls_release(&m->s);
    gp_stalls_of(&m->s, &m->t, &t, &m->strings);
    gp_trace_release(&t);
    return &m->s.kernels.at[0];
}

static void end(struct made *m)
{
    gp_stalls_release(&m->s);
    gp_strings_release(&m->strings);
    gp_trace_release(&m->t);
}

static void check(double v, double expected) { assert_true(fabs(v - expected) < 1e-9); }

/* Narrow intervals begin lower, wide ones higher, unless the L1 is busy; both end higher. */
static void check_saved(const struct gp_stalled *k, double low, double high)
{
    const double width = fmin(high - low, k->l1 > 0.5 ? 0.18 : 0.4);
    check(k->saved_low, low > 0 ? fmax(low + 0.65 * (width - 0.18), 0) : 0);
    check(k->saved_high, high + 0.1 * high * (1 - high));
}

/* That part of the time is left, with an error of 3%, and a launch of 1 to 5 us. */
static void check_left(const struct gp_stalled *k, double least, double most)
{
    const double launch = k->time_ns ? (double)k->count / (double)k->time_ns : 0;
    check_saved(k, fmax(1 - most / 0.97 - k->error - 5000 * launch, 0),
                fmin(1 - 0.97 * least + k->error, 1) - 1000 * launch);
}

/* Of cycles in which no warp issues, CUPTI sees fewer. */
static double issue(double latency) { return 1 - pow(latency, 1 / 1.4); }

TEST(a_line_that_waits_for_memory)
{
    struct made m;
    begin(&m);
    pc_memory(&m.pc);
    mk_kernel(&m.t, m.stream, 100000, 600000, "k", 1);
    mk_kernel(&m.t, m.stream, 2000000, 2500000, "k", 2); /* not while samples were taken */
    finish(&m);
    assert_int_equal(m.s.kernels.n, 1);
    assert_int_equal(m.s.samples, 10000);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->samples, 10000);
    assert_int_equal(k->latency, 7800);
    assert_int_equal(k->issued, 1000);
    assert_int_equal(k->count, 1);
    assert_int_equal(k->time_ns, 500000);
    assert_int_equal(k->reasons.n, 5);
    assert_int_equal(k->reasons.at[0].reason, GP_STALL_LONG_SCOREBOARD);
    check(k->reasons.at[0].pct, 60);
    const double error = 1.96 * sqrt(0.6 * 0.4 / 10000);
    check(k->reasons.at[0].error_pct, 100 * error);
    int64_t sum = 0;
    for (size_t i = 0; i < k->reasons.n; i++) sum += k->reasons.at[i].samples;
    assert_int_equal(sum, k->samples);

    assert_int_equal(k->lines.n, 2);
    const struct gp_stall_part *line = &k->lines.at[0];
    assert_int_equal(line->line, 7);
    assert_string_equal(gp_string(&m.strings, line->file), "k.cu");
    assert_int_equal(line->samples, 7000);
    assert_int_equal(line->stalled, 6500);
    assert_int_equal(line->reason, GP_STALL_LONG_SCOREBOARD);
    check(line->reason_pct, 100.0 * 6000 / 6500);
    assert_int_equal(k->lines.at[1].samples, 3000); /* of which 500 were ready */
    assert_int_equal(k->lines.at[1].stalled, 2000);

    /* Without code, its bytes are unknown. Left: 10% that issues and 25% in other stalls. */
    assert_int_equal(k->cause, GP_CAUSE_MEMORY);
    check(k->stalled, 0.6);
    check(k->error, error);
    check_left(k, 0.35, 1);
    assert_true(gp_stalled_is_sure(k));
    end(&m);
}

enum {
    LDG = 0x981,
    STG = 0x986,
    LDL = 0x983,
    RED = 0x98e,
    BRA = 0x947,
    FADD = 0x221,
    EXIT = 0x94d,
    BSYNC = 0x941,
    NONE = 7
};

/* A device of ten multiprocessors, on each of which two blocks of 1024 threads run. */
static void on_ten(struct made *m, uint32_t blocks, uint32_t threads, uint32_t local)
{
    struct gp_device d = pc_h100(&m->t);
    struct gp_config c;
    d.core_clock_khz = 1000000;
    GP_VEC_PUSH(&m->t.devices, d);
    memset(&c, 0, sizeof c);
    c.name = mk_name(&m->t, "k");
    c.has = GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS;
    c.grid[0] = blocks;
    c.block[0] = threads;
    c.grid[1] = c.grid[2] = c.block[1] = c.block[2] = 1;
    c.registers = 16;
    c.local_bytes = local;
    size_t row = gp_events_add(&m->t.events[GP_GPU], 0, 1000000, m->stream, c.name);
    gp_set_config(&m->t.events[GP_GPU], row, gp_trace_config(&m->t, &c));
}

/* Line 7 has OPERATION, line 8 NEXT, which needs it, and line 9 the end. The lanes leave the loop one by
 * one. */
static void put_code(struct made *m, uint64_t operation, uint64_t next)
{
    struct cubin c = {0};
    cubin_op(&c, operation, 2, NONE, 0, 0);
    cubin_op(&c, next, NONE, NONE, 1 << 2, 0);
    cubin_op(&c, BRA, NONE, NONE, 0, -3 * 16);
    cubin_op(&c, BSYNC, NONE, NONE, 0, 0);
    cubin_op(&c, EXIT, NONE, NONE, 0, 0);
    cubin_put(&c, &m->pc, 0xc0de);
    cubin_release(&c);
}

/* 8,000 of 10,000 samples wait at offset AT in REASON; of 1,000 instructions, 400 are of line 7. */
static const struct gp_stalled *waits(struct made *m, uint64_t operation, uint64_t at, const char *reason)
{
    begin(m);
    on_ten(m, 200, 1024, 0);
    put_code(m, operation, FADD);
    pc_line(&m->pc, "/s/k.cu", 8);
    pc_add(&m->pc, at, reason, 8000, 8000);
    pc_add(&m->pc, 0x10, "selected", 600, 0);
    pc_add(&m->pc, 0x20, "wait", 1000, 600);
    pc_line(&m->pc, "/s/k.cu", 7);
    pc_add(&m->pc, 0, "selected", 400, 0);
    finish(m);
    return &m->s.kernels.at[0];
}

TEST(a_load_is_what_its_use_waits_for)
{
    struct made m;
    const struct gp_stalled *k = waits(&m, LDG, 0x10, "long_scoreboard");
    assert_int_equal(k->lines.at[0].line, 7);
    assert_string_equal(gp_string(&m.strings, k->lines.at[0].file), "/s/k.cu");
    assert_int_equal(k->lines.at[0].stalled, 8000);
    assert_int_equal(k->cause, GP_CAUSE_MEMORY);
    /* A wait takes 20 cycles, so values come from a cache, and the L2 is the limit: 128 bytes in 40%
     * of the instructions of 40 schedulers. All waits may stay. */
    const double bytes = 40 * 1e9 * issue(0.86) * 0.4 * 128, l2 = 4 * 3.35e12;
    assert_true(bytes / l2 < 0.2);
    check_left(k, fmax(issue(0.86), 0.1 + 0.1), 1);
    end(&m);
}

TEST(a_drain_is_that_of_the_store_before)
{
    struct made m;
    const struct gp_stalled *k = waits(&m, STG, 0x40, "drain");
    assert_int_equal(k->lines.at[0].line, 7);
    assert_int_equal(k->lines.at[0].stalled, 8000);
    /* Nobody waits for a store. Memory at 40% of its peak, or ten warps that share the issue slot. */
    const double memory = 40 * 1e9 * issue(0.86) * 0.4 * 128 / 3.35e12;
    assert_true(memory / 0.4 < 0.14 / 0.8);
    check_left(k, 0.2, fmax(0.14 / 0.8, 0.2));
    end(&m);
}

TEST(atomic_operations_and_spilled_values)
{
    struct made m;
    const struct gp_stalled *k = waits(&m, RED, 0, "lg_throttle");
    assert_int_equal(k->cause, GP_CAUSE_ATOMICS);
    assert_int_equal(k->lines.at[0].line, 7);
    end(&m);
    k = waits(&m, LDL, 0x10, "long_scoreboard");
    assert_int_equal(k->cause, GP_CAUSE_SPILLS);
    /* What is left: 600 instructions of 1,000, and 1,000 other samples. */
    check_left(k, 0.9 * issue(0.86) * 0.6, 0.16);
    end(&m);
}

TEST(lanes_that_wait_for_others)
{
    struct made m;
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    put_code(&m, FADD, FADD);
    pc_line(&m.pc, "/s/k.cu", 8);
    pc_add(&m.pc, 0x10, "selected", 8000, 0);
    pc_add(&m.pc, 0x10, "wait", 1000, 100);
    pc_add(&m.pc, 0x40, "selected", 1000, 0);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_DIVERGENCE);
    /* One lane of 32, in eight ninths of the instructions. */
    check_left(k, 0.9 * issue(0.01) * (1 - 8.0 / 9 * 31 / 32), 1);
    end(&m);
}

/* An atomic operation of a header has the line of its address; without that, the line behind. */
TEST(inlined_code)
{
    for (uint64_t from = 3; from < 5; from++) {
        struct made m;
        struct cubin c = {0};
        begin(&m);
        cubin_op(&c, FADD | 3 << 16, NONE, NONE, 0, 0);
        cubin_op(&c, FADD | 9 << 16, NONE, NONE, 0, 0);
        cubin_op(&c, RED | from << 24, NONE, NONE, 0, 0);
        cubin_op(&c, EXIT, NONE, NONE, 0, 0);
        cubin_put(&c, &m.pc, 0xc0de);
        cubin_release(&c);
        pc_line(&m.pc, "/s/k.cu", 5);
        pc_add(&m.pc, 0, "selected", 10, 0);
        pc_line(&m.pc, "/s/k.cu", 6);
        pc_add(&m.pc, 0x10, "selected", 10, 0);
        pc_line(&m.pc, "/s/k.cu", 7);
        pc_add(&m.pc, 0x30, "selected", 10, 0);
        pc_line(&m.pc, "/h/atomic.h", 90);
        pc_add(&m.pc, 0x20, "lg_throttle", 80, 80);
        finish(&m);
        const struct gp_stall_part *line = m.s.kernels.at[0].lines.at;
        assert_string_equal(gp_string(&m.strings, line->file), "/s/k.cu");
        assert_int_equal(line->line, from == 3 ? 5 : 7);
        end(&m);
    }
}

/* Bytes that memory could not give in the time: caches had them, and the line's own instructions may go. */
TEST(what_is_read_again)
{
    struct made m;
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    put_code(&m, LDG, FADD);
    pc_line(&m.pc, "/s/k.cu", 7);
    pc_add(&m.pc, 0, "selected", 7000, 0);
    pc_line(&m.pc, "/s/k.cu", 8);
    pc_add(&m.pc, 0x10, "selected", 500, 0);
    pc_add(&m.pc, 0x10, "long_scoreboard", 2000, 1200);
    pc_add(&m.pc, 0x20, "wait", 500, 0);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_MEMORY);
    assert_true(40 * 1e9 * issue(0.12) * 7 / 7.5 * 128 > 3.35e12);
    check_left(k, 0.05 + 0.05, 1);
    end(&m);
}

/* Line 7 stalls in REASON, at OPERATION, and line 8 is 40% of the instructions. Of the issue slots, three
 * quarters are used. */
static const struct gp_stalled *beside(struct made *m, uint64_t operation, const char *reason,
                                       uint64_t access)
{
    begin(m);
    on_ten(m, 200, 1024, 0);
    m->t.devices.at[0].core_clock_khz = 2000000;
    put_code(m, operation, access);
    pc_line(&m->pc, "/s/k.cu", 7);
    pc_add(&m->pc, 0, reason, 3000, 1500);
    pc_add(&m->pc, 0, "selected", 1200, 0);
    pc_add(&m->pc, 0, "not_selected", 5000, 0);
    pc_line(&m->pc, "/s/k.cu", 8);
    pc_add(&m->pc, 0x10, "selected", 800, 0);
    finish(m);
    return &m->s.kernels.at[0];
}

/* Stores take their time of memory, whatever else is mended; those of a narrower type, half. Loads that
 * nobody waits for came from a cache. */
TEST(memory_bounds_what_other_stalls_are_worth)
{
    const double memory = 40 * 2e9 * issue(0.15) * 0.4 * 128 / 3.35e12 * (1 - 1.96 / sqrt(800)) / 0.93;
    struct made m;
    const struct gp_stalled *k = beside(&m, 0x984, "mio_throttle", STG);
    assert_int_equal(k->cause, GP_CAUSE_SHARED);
    check_left(k, memory, 1);
    end(&m);
    k = beside(&m, 0x984, "mio_throttle", LDG);
    check_left(k, 0.9 * issue(0.15), 1);
    end(&m);
    k = beside(&m, FADD, "math_pipe_throttle", STG);
    assert_int_equal(k->cause, GP_CAUSE_UNIT);
    check_left(k, memory / 2, 1);
    end(&m);
}

/* With a busy unit's line, its other stalls go as well, but not those of other lines. */
TEST(a_line_that_goes_as_a_whole)
{
    struct made m;
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    put_code(&m, FADD, FADD);
    pc_line(&m.pc, "/s/k.cu", 7);
    pc_add(&m.pc, 0, "math_pipe_throttle", 3000, 3000);
    pc_add(&m.pc, 0, "wait", 2000, 2000);
    pc_add(&m.pc, 0, "selected", 1000, 0);
    pc_line(&m.pc, "/s/k.cu", 8);
    pc_add(&m.pc, 0x10, "misc", 3000, 3000);
    pc_add(&m.pc, 0x10, "selected", 1000, 0);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_UNIT);
    check_left(k, 0.1 + 0.3, 0.2 + 0.2 + 0.3 + 0.15);
    end(&m);
}

/* Other lines wait for the same unit, or at a barrier for warps that do: they no longer would. */
TEST(lines_that_wait_for_a_busy_unit)
{
    static const char *const behind[] = {"math_pipe_throttle", "barrier", "misc"};
    for (size_t i = 0; i < GP_COUNT(behind); i++) {
        struct made m;
        begin(&m);
        on_ten(&m, 200, 1024, 0);
        put_code(&m, FADD, FADD);
        pc_line(&m.pc, "/s/k.cu", 7);
        pc_add(&m.pc, 0, "math_pipe_throttle", 5000, 5000);
        pc_add(&m.pc, 0, "selected", 1000, 0);
        pc_line(&m.pc, "/s/k.cu", 8);
        pc_add(&m.pc, 0x10, behind[i], 2000, 2000);
        pc_add(&m.pc, 0x10, "wait", 1000, 1000);
        pc_add(&m.pc, 0x10, "selected", 1000, 0);
        finish(&m);
        const struct gp_stalled *k = &m.s.kernels.at[0];
        assert_int_equal(k->cause, GP_CAUSE_UNIT);
        check_left(k, 0.1 + 0.1 + (i < 2 ? 0 : 0.2), 0.2 + 0.3 + 0.25);
        end(&m);
    }
}

/* A loop of lines 7 and 8, and line 9 behind it. Line 8 waits for the operation before. */
static const struct gp_stalled *computes(struct made *m, int64_t issued, int64_t stalled, int64_t latency)
{
    struct cubin c = {0};
    begin(m);
    on_ten(m, 200, 1024, 0);
    cubin_op(&c, FADD, NONE, NONE, 0, 0);
    cubin_op(&c, FADD, NONE, NONE, 0, 0);
    cubin_op(&c, BRA, NONE, NONE, 0, -3 * 16);
    cubin_op(&c, EXIT, NONE, NONE, 0, 0);
    cubin_put(&c, &m->pc, 0xc0de);
    cubin_release(&c);
    pc_line(&m->pc, "/s/k.cu", 8);
    pc_add(&m->pc, 0x10, "selected", issued, 0);
    pc_add(&m->pc, 0x10, "wait", stalled, latency);
    pc_line(&m->pc, "/s/k.cu", 7);
    pc_add(&m->pc, 0, "selected", 1000, 0);
    pc_line(&m->pc, "/s/k.cu", 9);
    pc_add(&m->pc, 0x30, "selected", 2000, 0);
    finish(m);
    return &m->s.kernels.at[0];
}

TEST(instructions_of_a_loop)
{
    struct made m;
    const struct gp_stalled *k = computes(&m, 6000, 1000, 100);
    assert_int_equal(k->cause, GP_CAUSE_CODE);
    check_left(k, 0.9 * issue(0.01) * (1 - 7.0 / 9), 1);
    double v[COUNTERS];
    memcpy(v, idle, sizeof v);
    v[READ] = 0;
    k = count(&m, v); /* all lanes work, so turns of the loop stay */
    check_left(k, 0.9 * issue(0.01) * (1 - 6.0 / 9), 1);
    v[LANES] = 40e6; /* of 32 lanes, ten: they are what is lost most */
    k = count(&m, v);
    assert_int_equal(k->cause, GP_CAUSE_DIVERGENCE);
    check_left(k, 10.0 / 32, 10.0 / 32 / 0.6);
    end(&m);
    k = computes(&m, 2000, 5000, 3000); /* slots are more than half full, as waits are hidden */
    assert_int_equal(k->cause, GP_CAUSE_CHAIN);
    check(k->saved_high, 0.6 + 0.1 * 0.6 * 0.4);
    end(&m);
}

/* A load behind accesses of shared memory waits for longer than 479 cycles: no more than these stay. */
TEST(loads_behind_bank_conflicts)
{
    struct made m;
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    put_code(&m, 0x984, LDG);
    pc_line(&m.pc, "/s/k.cu", 7);
    pc_add(&m.pc, 0, "mio_throttle", 5000, 5000);
    pc_add(&m.pc, 0, "selected", 20, 0);
    pc_line(&m.pc, "/s/k.cu", 8);
    pc_add(&m.pc, 0x10, "lg_throttle", 3000, 3000);
    pc_add(&m.pc, 0x10, "selected", 2, 0);
    pc_add(&m.pc, 0x20, "selected", 1978, 0);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_SHARED);
    check_left(k, 0.2, 0.2 + 0.0002 * 479 + 0.0020 * 29);
    end(&m);
}

/* And other accesses behind a load, of all that goes through the same queue. */
TEST(shared_memory_behind_loads)
{
    struct made m;
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    put_code(&m, LDG, 0x984);
    pc_line(&m.pc, "/s/k.cu", 7);
    pc_add(&m.pc, 0, "lg_throttle", 5000, 5000);
    pc_add(&m.pc, 0, "selected", 2, 0);
    pc_line(&m.pc, "/s/k.cu", 8);
    pc_add(&m.pc, 0x10, "mio_throttle", 3000, 3000);
    pc_add(&m.pc, 0x10, "selected", 20, 0);
    pc_add(&m.pc, 0x20, "selected", 1978, 0);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_MEMORY);
    check_left(k, 0.2, 0.2 + 0.0002 * 479 + 0.0020 * 29);
    end(&m);
}

/* A sample per multiprocessor and 1,000 cycles would be 10,000 in a millisecond: they are idle for 60%. */
static const struct gp_stalled *on_few(struct made *m, uint32_t threads, int64_t issued, int64_t latency)
{
    begin(m);
    on_ten(m, 8, threads, 0);
    gp_trace_set_meta(&m->t, "pc.period_cycles", GP_TEXT("1000"));
    gp_trace_set_meta(&m->t, "pc.dropped", GP_TEXT("0"));
    pc_line(&m->pc, "k.cu", 3);
    pc_add(&m->pc, 0, "selected", issued, 0);
    pc_add(&m->pc, 0, "wait", 4000 - issued, latency);
    finish(m);
    return &m->s.kernels.at[0];
}

TEST(idle_multiprocessors)
{
    struct made m;
    for (uint32_t threads = 64; threads <= 1024; threads *= 16) { /* blocks are too few, not their warps */
        const struct gp_stalled *k = on_few(&m, threads, 2600, 1400);
        assert_int_equal(k->cause, GP_CAUSE_TAIL);
        check_left(k, 0.4, 1 - 0.8 * 0.5);
        end(&m);
    }
    /* Where issue slots are full, there may have been half as many samples again. */
    const struct gp_stalled *k = on_few(&m, 1024, 3600, 0);
    assert_int_equal(k->cause, GP_CAUSE_TAIL);
    check_left(k, 0.4, 1 - 0.8 * 0.3);
    end(&m);
}

/* Where blocks are too few, and their warps wait as well, either may be what is mended. */
TEST(waits_on_few_multiprocessors)
{
    struct made m;
    begin(&m);
    on_ten(&m, 8, 1024, 0);
    gp_trace_set_meta(&m.t, "pc.period_cycles", GP_TEXT("1000"));
    gp_trace_set_meta(&m.t, "pc.dropped", GP_TEXT("0"));
    pc_line(&m.pc, "k.cu", 3);
    pc_add(&m.pc, 0, "selected", 200, 0);
    pc_add(&m.pc, 0, "barrier", 3800, 3800);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_BARRIER);
    assert_true(k->saved_high > 0.9);
    check(k->saved_low, 0.8 * 0.5 + 0.65 * (0.4 - 0.18));
    end(&m);
}

/* Line 8 may wait behind line 7: at most it goes as well. At a barrier, nobody waits behind another line. */
static void two_lines(struct made *m, const char *reason)
{
    begin(m);
    pc_line(&m->pc, "k.cu", 7);
    pc_add(&m->pc, 0x10, reason, 5000, 5000);
    pc_line(&m->pc, "k.cu", 8);
    pc_add(&m->pc, 0x20, reason, 3000, 3000);
    pc_add(&m->pc, 0x30, "selected", 2000, 0);
    finish(m);
}

TEST(lines_that_wait_for_the_same_memory)
{
    struct made m;
    const double error = 1.96 * sqrt(0.5 * 0.5 / 10000);
    two_lines(&m, "lg_throttle");
    check(m.s.kernels.at[0].stalled, 0.5);
    check(m.s.kernels.at[0].error, error);
    check_left(&m.s.kernels.at[0], 0.2, 1);
    end(&m);
    two_lines(&m, "barrier");
    check_left(&m.s.kernels.at[0], 0.2 + 0.3, 0.2 + 0.3 + 0.25); /* half of the waits stay */
    end(&m);
}

TEST(offsets_without_lines_and_barriers)
{
    struct made m;
    struct gp_buf b = {0};
    begin(&m);
    pc_line(&m.pc, NULL, 0);
    pc_add(&m.pc, 0x1f0, "barrier", 8000, 8000);
    pc_add(&m.pc, 0x1f0, "selected", 1000, 0);
    pc_add(&m.pc, 0x200, "something new", 1000, 1000);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    const double error = 1.96 * sqrt(0.8 * 0.2 / 10000);
    gp_stall_put_place(&b, &m.strings, &k->lines.at[0]);
    assert_string_equal(gp_buf_str(&b), "+0x1f0");
    gp_buf_release(&b);
    assert_int_equal(k->lines.at[1].reason, GP_STALL_MISC);
    assert_int_equal(k->cause, GP_CAUSE_BARRIER);
    check(k->error, error);
    check_left(k, 0.2, 0.1 + 0.1 + 0.4); /* half of the waits stay */
    end(&m);
}

TEST(a_last_wave_of_a_quarter)
{
    struct made m;
    begin(&m);
    on_ten(&m, 25, 1024, 0);
    pc_line(&m.pc, "k.cu", 3);
    pc_add(&m.pc, 0, "selected", 9000, 0);
    pc_add(&m.pc, 0, "wait", 1000, 0);
    finish(&m);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    check(k->waves, 1.25);
    assert_int_equal(k->registers, 16);
    assert_int_equal(k->cause, GP_CAUSE_TAIL);
    check_left(k, 1.25 / 2, 1 - 0.8 * (1 - 1.25 / 1.5));
    end(&m);
}

/* Waits of 300 cycles are those of an idle memory: values were spilled, or there are too few warps. */
static void few_warps(struct made *m, uint32_t local, bool known)
{
    begin(m);
    on_ten(m, 10, 64, local);
    if (known) put_code(m, LDG, FADD);
    pc_line(&m->pc, "k.cu", 3);
    pc_add(&m->pc, 0, "long_scoreboard", 9000, 9000);
    pc_add(&m->pc, 0, "selected", 30, 0);
    pc_add(&m->pc, 0x10, "selected", 970, 0);
    finish(m);
}

TEST(too_few_warps_or_spills)
{
    struct made m;
    few_warps(&m, 0, false);
    const struct gp_stalled *k = &m.s.kernels.at[0];
    check(k->occupancy, 64.0 / 2048);
    assert_int_equal(k->cause, GP_CAUSE_OCCUPANCY);
    check_left(k, 0.9 * issue(0.9), 1); /* the issue slots that it needs, with more warps in all stalls */
    end(&m);
    few_warps(&m, 512, false);
    k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_SPILLS);
    assert_int_equal(k->local_bytes, 512);
    end(&m);
    few_warps(&m, 0, true); /* 300 cycles per load, so that some are side by side: half of the waits stay */
    k = &m.s.kernels.at[0];
    assert_int_equal(k->cause, GP_CAUSE_OCCUPANCY);
    check_left(k, 0.9 * issue(0.9), 0.1 + 0.45);
    end(&m);
}

TEST(nothing_stalls)
{
    struct made m;
    begin(&m);
    pc_line(&m.pc, "k.cu", 3);
    pc_add(&m.pc, 0, "selected", 9000, 0);
    pc_add(&m.pc, 0, "not_selected", 9000, 0);
    pc_add(&m.pc, 0, "wait", -1, 5); /* damaged */
    pc_add(&m.pc, 0, "wait", INT64_MAX, 5);
    finish(&m);
    assert_int_equal(m.s.samples, 18000);
    assert_int_equal(m.s.kernels.at[0].cause, GP_STALL_CAUSE_COUNT);
    assert_false(gp_stalled_is_sure(&m.s.kernels.at[0]));
    end(&m);
}

/* 400 of 1,000 instructions are loads: 1.6 million requests for 128 bytes, which is 6% of memory's peak. Each
 * takes 32 sectors. */
TEST(lanes_that_lie_apart_by_counters)
{
    struct made m;
    double v[COUNTERS];
    memcpy(v, idle, sizeof v);
    v[LOADS] = 1.6e6, v[LOADED] = 32 * 1.6e6;
    (void)waits(&m, LDG, 0x10, "long_scoreboard");
    const struct gp_stalled *k = count(&m, v);
    assert_int_equal(k->cause, GP_CAUSE_MEMORY);
    check_left(k, 0.9 * 0.1, 0.1 / 0.45); /* issue slots: more than memory has to give then */
    v[LOADED] =
        4 * 1.6e6; /* side by side: the other stalls stay, and the line's loads may be the only ones */
    k = count(&m, v);
    check_left(k, fmax(issue(0.86), 0.1 + 0.1), 0.1 / 0.45);
    v[ISSUED] = NAN; /* not counted, so nothing is narrower */
    k = count(&m, v);
    check_left(k, fmax(issue(0.86), 0.1 + 0.1), 1);
    end(&m);
}

/* Two loops load as much from one argument, at nine tenths of memory's peak: once is enough. */
TEST(loads_of_another_loop)
{
    enum { IADD3 = 0x10 };
    for (uint64_t argument = 0x210; argument <= 0x218; argument += 8) {
        struct made m;
        struct cubin c = {0};
        double v[COUNTERS];
        memcpy(v, idle, sizeof v);
        v[READ] = 0.9 * 3.35e9;
        v[LOADS] = 2.4e7, v[LOADED] = 4 * 2.4e7;
        begin(&m);
        on_ten(&m, 200, 1024, 0);
        cubin_op(&c, IADD3 | 5 << 9 | 4 << 16 | UINT64_C(0xff) << 24 | UINT64_C(0x210) << 38, NONE, NONE, 0,
                 0);
        cubin_op(&c, IADD3 | 5 << 9 | 6 << 16 | UINT64_C(0xff) << 24 | argument << 38, NONE, NONE, 0, 0);
        for (uint64_t at = 4; at <= 6; at += 2) {
            cubin_op(&c, LDG | at << 24, 2, NONE, 0, 0);
            cubin_op(&c, BRA, NONE, NONE, 0, -2 * 16);
        }
        cubin_op(&c, EXIT, NONE, NONE, 0, 0);
        cubin_put(&c, &m.pc, 0xc0de);
        cubin_release(&c);
        for (uint32_t line = 0; line < 2; line++) {
            pc_line(&m.pc, "k.cu", 7 + line);
            pc_add(&m.pc, 0x20 + 0x20 * line, "lg_throttle", line ? 100 : 4000, line ? 100 : 4000);
            pc_add(&m.pc, 0x20 + 0x20 * line, "selected", 3, 0);
        }
        pc_line(&m.pc, "k.cu", 9);
        pc_add(&m.pc, 0x60, "selected", 94, 0);
        finish(&m);
        const struct gp_stalled *k = count(&m, v);
        const double all = 2.4e7 * 128 / 3.35e9;
        assert_int_equal(k->cause, GP_CAUSE_MEMORY);
        if (argument == 0x210) check_left(k, 0.9 / 2 / 0.93, all / 2 / 0.8 + 0.02);
        else check_left(k, 0.9 / 2 / 0.93, 0.9 / 0.8 + 0.02); /* of the other one, caches may have much */
        end(&m);
    }
}

/* Ten of 32 lanes take part; or only every fourth of the warps that store has a lane that does. */
TEST(lanes_without_work_by_counters)
{
    struct made m;
    double v[COUNTERS];
    for (int store = 0; store < 2; store++) {
        memcpy(v, idle, sizeof v);
        v[LANES] = store ? 128e6 : 40e6;
        v[STORES] = 0.25 * 1e5, v[STORED] = 4 * v[STORES];
        begin(&m);
        on_ten(&m, 200, 1024, 0);
        put_code(&m, FADD, store ? STG : FADD);
        pc_line(&m.pc, "/s/k.cu", 7);
        pc_add(&m.pc, 0, "selected", 7800, 0);
        pc_add(&m.pc, 0, "wait", 1000, 100);
        pc_line(&m.pc, "/s/k.cu", 8);
        pc_add(&m.pc, 0x10, "selected", 200, 0);
        finish(&m);
        const struct gp_stalled *k = count(&m, v);
        assert_int_equal(k->cause, GP_CAUSE_DIVERGENCE);
        const double memory = 0.5 / 0.93;
        if (store) check_left(k, memory, 1);
        else check_left(k, 10.0 / 32 / 0.6, memory); /* at least would be more than at most: both may be */
        v[READ] = 0;
        k = count(&m, v);
        if (store) check_left(k, 0.25, 1);
        else check_left(k, 10.0 / 32, 10.0 / 32 / 0.6);
        end(&m);
    }
}

/* Accesses of shared memory that stall without bank conflicts are too many, not in conflict. */
TEST(bank_conflicts_by_counters)
{
    struct made m;
    double v[COUNTERS];
    memcpy(v, idle, sizeof v);
    v[READ] = 0;
    (void)beside(&m, 0x984, "mio_throttle", FADD);
    v[CONFLICTS] = 0.5 * v[WAVEFRONTS];
    assert_int_equal(count(&m, v)->cause, GP_CAUSE_SHARED);
    v[CONFLICTS] = 0.05 * v[WAVEFRONTS];
    const struct gp_stalled *k = count(&m, v);
    assert_int_equal(k->cause, GP_CAUSE_UNIT);
    const double high = fmin(1 - 0.97 * 0.05 * 0.4 + k->error, 1) - 1e-3; /* of the instructions, 40% */
    check(k->saved_high, high + 0.1 * high * (1 - high));
    end(&m);
}

/* Where issue slots are full, the line that warps are at for longest is hottest, stalled or not. */
TEST(the_line_that_takes_most_turns)
{
    struct made m;
    begin(&m);
    for (uint32_t line = 7; line < 10; line++) {
        pc_line(&m.pc, "k.cu", line);
        pc_add(&m.pc, line * 0x10, "wait", 200 - 10 * line, 0);
        pc_add(&m.pc, line * 0x10, "selected", line == 9 ? 1000 : 100, 0);
        pc_add(&m.pc, line * 0x10, "not_selected", line == 8 ? 3000 : 100, 0);
    }
    finish(&m);
    const struct gp_stall_part *lines = m.s.kernels.at[0].lines.at;
    assert_int_equal(lines[0].line, 8);
    assert_int_equal(lines[1].line, 9);
    assert_int_equal(lines[2].line, 7);
    end(&m);
}

/* With a barrier, all of its line may go, also what waits for its answer. */
TEST(the_line_of_a_barrier)
{
    struct made m;
    begin(&m);
    pc_line(&m.pc, "k.cu", 7);
    pc_add(&m.pc, 0x10, "barrier", 4000, 4000);
    pc_add(&m.pc, 0x20, "short_scoreboard", 3000, 3000);
    pc_add(&m.pc, 0x20, "selected", 500, 0);
    pc_line(&m.pc, "k.cu", 8);
    pc_add(&m.pc, 0x30, "wait", 2000, 2000);
    pc_add(&m.pc, 0x30, "selected", 500, 0);
    finish(&m);
    assert_int_equal(m.s.kernels.at[0].cause, GP_CAUSE_BARRIER);
    check_left(&m.s.kernels.at[0], 0.2 + 0.1, 0.1 + 0.5 + 0.2); /* without code, its instructions stay */
    end(&m);
}

/* Each load of the loop is of an address that the one before loaded, from one table or from two. */
TEST(loads_that_wait_for_each_other)
{
    enum { IADD3 = 0x10, ALL = 1 << 9, CONSTANT = 5 << 9 };
    const uint64_t zero = UINT64_C(0xff) << 24;
    for (int64_t i = 0; i < 4; i++) {
        const uint64_t other = 4 + (uint64_t)i % 2;
        const int64_t issued = i < 2 ? 200 : 5; /* that wait for 40 cycles, or for 1,600, behind others */
        struct made m;
        struct cubin c = {0};
        begin(&m);
        on_ten(&m, 200, 1024, 0);
        for (uint64_t to = 4; to <= 5; to++)
            cubin_op(&c, IADD3 | CONSTANT | to << 16 | zero | (0x1f0 + 8 * to) << 38, NONE, NONE, 0, 0);
        cubin_op(&c, LDG | 8 << 16 | other << 24, 2, NONE, 0, 0);
        cubin_op(&c, IADD3 | ALL | 6 << 16 | 8 << 24 | UINT64_C(4) << 32, NONE, NONE, 0, 0);
        cubin_op(&c, LDG | 9 << 16 | 6 << 24, 2, NONE, 0, 0);
        cubin_op(&c, BRA, NONE, NONE, 0, -4 * 16);
        cubin_op(&c, EXIT, NONE, NONE, 0, 0);
        cubin_put(&c, &m.pc, 0xc0de);
        cubin_release(&c);
        pc_line(&m.pc, "k.cu", 7);
        pc_add(&m.pc, 0x40, "lg_throttle", 8000, 8000);
        pc_add(&m.pc, 0x40, "selected", issued, 0);
        pc_add(&m.pc, 0x50, "selected", 1000 - issued, 0);
        pc_add(&m.pc, 0x50, "wait", 1000, 900);
        finish(&m);
        const struct gp_stalled *k = &m.s.kernels.at[0];
        if (other == 4) {
            assert_int_equal(k->cause, GP_CAUSE_CHAIN);
            check_left(k, 0.1 + 0.1, 0.1 + 0.1 + 0.4); /* half of the waits stay */
        } else assert_int_equal(k->cause, GP_CAUSE_MEMORY);
        end(&m);
    }
}

/* Additions that stay in memory are read and written there, of the lanes that take part. */
TEST(additions_at_the_rate_of_memory)
{
    struct made m;
    double v[COUNTERS];
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    m.t.devices.at[0].core_clock_khz = 100000000;
    put_code(&m, RED, FADD);
    pc_line(&m.pc, "/s/k.cu", 7);
    pc_add(&m.pc, 0, "lg_throttle", 9900, 9900);
    pc_add(&m.pc, 0, "selected", 5, 0);
    pc_add(&m.pc, 0x20, "selected", 95, 0);
    finish(&m);
    const double added = 4 * 1e12 * issue(0.99) * 0.05 * 256 / 3.35e12;
    assert_int_equal(m.s.kernels.at[0].cause, GP_CAUSE_ATOMICS);
    check_left(&m.s.kernels.at[0], 0.01, added / 0.8 + 0.02);
    memcpy(v, idle, sizeof v);
    v[READ] = 0, v[LANES] = 64e6;
    const struct gp_stalled *k = count(&m, v);
    check_left(k, 0.01, added / 2 / 0.8 + 0.02);
    end(&m);
}

/* Without local memory, memory gives what is needed as fast as now at least: at 60% of its peak. */
TEST(spills_of_a_busy_memory)
{
    struct made m;
    double v[COUNTERS];
    memcpy(v, idle, sizeof v);
    v[LOADS] = 4e6, v[LOADED] = 4 * v[LOADS];
    begin(&m);
    on_ten(&m, 200, 1024, 0);
    put_code(&m, LDL, LDG);
    pc_line(&m.pc, "/s/k.cu", 7);
    pc_add(&m.pc, 0, "lg_throttle", 6000, 6000);
    pc_add(&m.pc, 0, "selected", 100, 0);
    pc_line(&m.pc, "/s/k.cu", 8);
    pc_add(&m.pc, 0x10, "selected", 400, 0);
    pc_add(&m.pc, 0x20, "wait", 3500, 3000);
    finish(&m);
    const double needed = 4e6 * 128 / 3.35e9;
    for (double now = 0.3; now < 0.7; now += 0.3) {
        v[READ] = now * 3.35e9;
        v[WAVEFRONTS] = now * 1e7; /* where the L1 is busy, too, the interval begins no higher */
        const struct gp_stalled *k = count(&m, v);
        assert_int_equal(k->cause, GP_CAUSE_SPILLS);
        check(k->l1, now);
        check_left(k, 0.9 * issue(0.9) * 0.8, needed / fmax(now, 0.4));
    }
    end(&m);
}

/* Operations in double precision wait for their unit. */
TEST(double_precision)
{
    struct made m;
    const struct gp_stalled *k = waits(&m, 0x22b, 0, "wait");
    assert_int_equal(k->cause, GP_CAUSE_UNIT);
    assert_int_equal(k->lines.at[0].line, 7);
    /* Single precision takes no more instructions. */
    check_left(k, 0.06 + 0.1, 0.14 / 0.8);
    end(&m);
}

/* A line that divides integers is mostly the division; one that only converts numbers may be needed. */
TEST(divisions_of_integers)
{
    static const uint64_t divide[] = {0x306, 0x308, 0x305, 0x227};
    for (size_t n = 3; n <= 4; n++) {
        struct made m;
        struct cubin c = {0};
        begin(&m);
        on_ten(&m, 200, 1024, 0);
        for (size_t i = 0; i < n; i++) cubin_op(&c, divide[i], NONE, NONE, 0, 0);
        cubin_op(&c, EXIT, NONE, NONE, 0, 0);
        cubin_put(&c, &m.pc, 0xc0de);
        cubin_release(&c);
        pc_line(&m.pc, "k.cu", 7);
        for (size_t i = 0; i < n; i++) pc_add(&m.pc, 16 * i, "selected", 1000, 0);
        pc_add(&m.pc, 0, "wait", 1000, 0);
        pc_line(&m.pc, "k.cu", 8);
        pc_add(&m.pc, 16 * n, "selected", 1000, 0);
        finish(&m);
        const double line = (double)n / (double)(n + 1);
        assert_int_equal(m.s.kernels.at[0].cause, GP_CAUSE_CODE);
        check_left(&m.s.kernels.at[0], 0.9 * (1 - line), n == 4 ? 1 - line / 2 : 1);
        end(&m);
    }
}
