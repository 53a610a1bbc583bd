// When the flight recorder writes: steps, collectives, memory and clocks that are not as they were, each
// planted twice or more.
#include <math.h>
#include <string.h>
#include "collect/launcher/triggers.h"
#include "tests/unit/unit.h"

static const int64_t MS = 1000000, SECOND = 1000000000, APART = 10 * INT64_C(1000000000), SETTLE = 300000000;

struct run {
    struct gp_dump_when when;
    struct gp_triggers *t;
    struct gp_trace trace;
    int64_t now_ns;
    struct gp_dump dump;
    unsigned dumps;
    bool late; /* reports do not come at once */
};

static void begin(struct run *r, const char *when, uint64_t most)
{
    memset(r, 0, sizeof *r);
    assert_null(gp_dump_when_parse(&r->when, when));
    r->t = gp_triggers_new(&r->when, APART, SETTLE, most);
    gp_trace_init(&r->trace, GP_NEED_ALL);
    r->now_ns = 5 * SECOND;
}

static void end(struct run *r)
{
    gp_triggers_free(r->t);
    gp_trace_release(&r->trace);
}

/* Time goes on in turns of a millisecond, or to the next one that is due. */
static void pass(struct run *r, int64_t ns)
{
    for (int64_t end_ns = r->now_ns + ns; r->now_ns < end_ns; r->now_ns += MS) {
        if (!r->late) gp_triggers_reach(r->t, 7, r->now_ns);
        r->dumps += gp_triggers_turn(r->t, r->now_ns, &r->dump);
    }
}

static void note(struct run *r, enum gp_note_op op, int64_t tid, const char *domain, const char *text)
{
    struct gp_note n = {.op = (uint16_t)op, .time_ns = r->now_ns, .domain = domain, .text = text};
    gp_triggers_note(r->t, 7, tid, &n);
}

static void steps(struct run *r, unsigned n, int64_t ns)
{
    for (unsigned i = 0; i < n; i++) {
        note(r, GP_NOTE_PUSH, 1, "", "step 3");
        pass(r, ns);
    }
}

/* A call of thread TID now, and GPU work of NAME that it launched and that took NS. 0: only one of them. */
static void events(struct run *r, int64_t tid, uint32_t call, uint32_t work, const char *name, int64_t ns)
{
    struct gp_trace *t = &r->trace;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.tid = tid;
    uint32_t track = gp_trace_track(t, &k);
    if (call) {
        size_t row = gp_events_add(&t->events[GP_API], r->now_ns, 1000, track,
                                   gp_intern_cstr(&t->strings, "cudaLaunchKernel"));
        gp_set_corr(&t->events[GP_API], row, call);
    }
    if (work) {
        size_t row =
            gp_events_add(&t->events[GP_GPU], r->now_ns - ns, ns, track, gp_intern_cstr(&t->strings, name));
        gp_set_corr(&t->events[GP_GPU], row, work);
    }
    gp_triggers_events(r->t, 7, t);
    gp_trace_clear_events(t);
}

static void sample(struct run *r, unsigned n, double mhz, double memory, unsigned reasons)
{
    for (unsigned i = 0; i < n; i++) {
        struct gp_clock_sample s = {.at_ns = r->now_ns, .device = 2};
        for (size_t g = 0; g < GP_GAUGE_COUNT; g++) s.values[g] = NAN;
        s.values[GP_GAUGE_SM_CLOCK] = mhz;
        s.values[GP_GAUGE_MEMORY_USED] = memory;
        s.values[GP_GAUGE_REASONS] = reasons;
        events(r, 1, 0, 9, "gemm", MS);
        gp_triggers_sample(r->t, &s, 100);
        pass(r, 50 * MS);
    }
}

TEST(a_step_that_took_too_long)
{
    struct run r;
    begin(&r, "step:1.5x", 0);
    steps(&r, 9, 100 * MS); /* 8 are over when the last one begins */
    steps(&r, 3, 140 * MS);
    assert_int_equal(r.dumps, 0);
    int64_t begin_ns = r.now_ns;
    steps(&r, 1, 149 * MS);
    assert_int_equal(r.dumps, 0);
    note(&r, GP_NOTE_PUSH, 1, "", "step 3");
    r.now_ns += 160 * MS; /* no turn until it is over */
    note(&r, GP_NOTE_PUSH, 1, "", "step 3");
    pass(&r, SETTLE + 2 * MS);
    assert_int_equal(r.dumps, 1);
    assert_int_equal(r.dump.producer, 7);
    assert_int_equal(r.dump.at_ns, begin_ns + 149 * MS + 160 * MS);
    assert_string_equal(r.dump.why,
                        "a step took 160.000 ms, 1.60 times the median of those before (100.000 ms)");
    end(&r);
}

TEST(a_report_that_comes_late)
{
    struct run r;
    begin(&r, "step:1.5x", 0);
    r.late = true;
    for (int k = 0; k < 30; k++) { /* ten steps are reported at once */
        int64_t now_ns = r.now_ns;
        for (r.now_ns -= 100 * MS; r.now_ns < now_ns; r.now_ns += 10 * MS)
            note(&r, GP_NOTE_PUSH, 1, "", "step 3");
        gp_triggers_reach(r.t, 7, now_ns);
        pass(&r, 100 * MS);
    }
    assert_int_equal(r.dumps, 0);
    assert_int_equal(gp_triggers_passed(r.t), 0);
    pass(&r, SETTLE + 2 * SECOND - 100 * MS); /* nothing comes any more */
    assert_int_equal(r.dumps, 0);
    pass(&r, SETTLE);
    assert_int_equal(r.dumps, 1);
    assert_non_null(strstr(r.dump.why, "a step has been running for"));
    end(&r);
}

TEST(a_step_that_does_not_end)
{
    struct run r;
    begin(&r, "step:2x", 0);
    steps(&r, 12, 50 * MS);
    note(&r, GP_NOTE_PUSH, 1, "", "step 3");
    int64_t begin_ns = r.now_ns;
    pass(&r, 100 * MS + SETTLE);
    assert_int_equal(r.dumps, 0);
    pass(&r, 2 * MS);
    assert_int_equal(r.dumps, 1);
    assert_int_equal(r.dump.at_ns, begin_ns + 100 * MS);
    assert_string_equal(
        r.dump.why,
        "a step has been running for 100.000 ms, 2.00 times the median of those before (50.000 ms)");
    pass(&r, 20 * SECOND);
    assert_int_equal(r.dumps, 1);            /* once, however long it takes, */
    note(&r, GP_NOTE_PUSH, 1, "", "step 3"); /* and also when it is over */
    pass(&r, SECOND / 20);
    assert_int_equal(r.dumps, 1);
    steps(&r, 1, 300 * MS); /* another one */
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 2);
    end(&r);
}

TEST(no_step_is_judged_before_eight)
{
    struct run r;
    begin(&r, "step:1.2x", 0);
    steps(&r, 8, 10 * MS);
    steps(&r, 1, 900 * MS); /* the eighth is over when this one begins */
    assert_int_equal(r.dumps, 1);
    end(&r);
    begin(&r, "step:1.2x", 0);
    steps(&r, 7, 10 * MS);
    steps(&r, 1, 900 * MS);
    assert_int_equal(r.dumps, 0);
    for (int i = 0; i < 300; i++)
        note(&r, GP_NOTE_PUSH, 1, "", "forward"), r.now_ns += (1 + i % 9) * MS; /* no step */
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 0);
    end(&r);
}

TEST(a_collective_whose_kernel_does_not_end)
{
    struct run r;
    begin(&r, "collective:2s", 0);
    for (uint32_t i = 1; i < 40; i++) {
        note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclAllReduce");
        r.now_ns += MS;
        events(&r, 3, i, i, "ncclDevKernel_AllReduce", MS);
        pass(&r, 100 * MS);
    }
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclAllReduce");
    int64_t begin_ns = r.now_ns;
    r.now_ns += MS;
    events(&r, 3, 99, 0, "", 0);
    pass(&r, 2 * SECOND - MS);
    assert_int_equal(r.dumps, 0);
    pass(&r, SETTLE + 2 * MS);
    assert_int_equal(r.dumps, 1);
    assert_int_equal(r.dump.at_ns, begin_ns + 2 * SECOND);
    assert_string_equal(r.dump.why, "ncclAllReduce has not ended for 2.000 s");
    end(&r);
}

TEST(a_collective_of_which_nothing_comes_back)
{
    struct run r;
    begin(&r, "collective:500ms", 0);
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclCommInitRank"); /* launches nothing */
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclGroupStart");
    note(&r, GP_NOTE_PUSH, 3, "app", "ncclAllReduce"); /* not NCCL's own */
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 0);
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclSend"); /* two in a group: one launch, by its end */
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclRecv");
    pass(&r, 10 * MS);
    events(&r, 4, 8, 8, "gemm", MS); /* another thread's */
    events(&r, 3, 9, 9, "ncclDevKernel_SendRecv", MS);
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 0);
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclBroadcast");
    note(&r, GP_NOTE_NODE, 3, "", ""); /* captured into a graph */
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 0);
    /* CUPTI hands out neither the call nor the kernel. */
    note(&r, GP_NOTE_PUSH, 3, "NCCL", "ncclReduceScatter");
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 1);
    assert_string_equal(r.dump.why, "ncclReduceScatter has not ended for 0.500 s");
    end(&r);
    begin(&r, "collective:500ms", 0); /* nor does NCCL say anything */
    events(&r, 3, 5, 5, "ncclDevKernel_AllGather_RING_LL", 700 * MS);
    pass(&r, SECOND);
    assert_int_equal(r.dumps, 1);
    assert_string_equal(r.dump.why, "a collective took 0.700 s");
    end(&r);
}

TEST(memory_that_is_nearly_full)
{
    struct run r;
    begin(&r, "memory:95%", 0);
    sample(&r, 100, 1900, 94.9, 0);
    assert_int_equal(r.dumps, 0);
    int64_t at_ns = r.now_ns;
    sample(&r, 300, 1900, 95, 0); /* and stays so */
    assert_int_equal(r.dumps, 1);
    assert_int_equal(r.dump.at_ns, at_ns);
    assert_string_equal(r.dump.why, "memory in use on GPU 2: 95.0%");
    sample(&r, 1, 1900, 50, 0);
    sample(&r, 20, 1900, 99, 1); /* again, idle or not */
    assert_int_equal(r.dumps, 2);
    assert_string_equal(r.dump.why, "memory in use on GPU 2: 99.0%");
    sample(&r, 300, NAN, NAN, 0);
    assert_int_equal(r.dumps, 2);
    end(&r);
}

TEST(a_clock_that_falls_while_it_is_busy)
{
    struct run r;
    begin(&r, "clock:-10%", 0);
    sample(&r, 60, 1980, 1, 0);
    sample(&r, 200, 345, 1, 1); /* idle */
    sample(&r, 60, 1800, 1, 4); /* 9.1% below */
    sample(&r, 4, 1200, 1, 4);  /* a dip */
    sample(&r, 30, 1980, 1, 0);
    assert_int_equal(r.dumps, 0);
    sample(&r, 40, 1755, 1, 4);
    assert_int_equal(r.dumps, 1);
    assert_string_equal(r.dump.why, "SM clock of GPU 2: 1755 MHz, 11.4% below its median before (1980 MHz)");
    end(&r);
}

TEST(a_clock_is_judged_by_what_it_was_for_a_while)
{
    struct run r;
    begin(&r, "clock:-5%", 0);
    sample(&r, 10, 1980, 1, 0); /* too few */
    sample(&r, 100, 1485, 1, 4);
    assert_int_equal(r.dumps, 0);
    sample(&r, 1300, 1485, 1, 4); /* what it was falls out of the minute that counts */
    sample(&r, 60, 1400, 1, 0x20);
    assert_int_equal(r.dumps, 1);
    assert_string_equal(r.dump.why, "SM clock of GPU 2: 1400 MHz, 5.7% below its median before (1485 MHz)");
    end(&r);
}

TEST(moments_are_apart_and_at_most_so_many)
{
    struct run r;
    begin(&r, "SIGUSR1", 3);
    for (int i = 0; i < 100; i++) {
        gp_triggers_fire(r.t, 0, r.now_ns, "%d", i);
        pass(&r, 100 * MS);
    }
    assert_int_equal(r.dumps, 1);
    assert_string_equal(r.dump.why, "0");
    assert_int_equal(gp_triggers_passed(r.t), 99);
    for (int i = 0; i < 50; i++) {
        gp_triggers_fire(r.t, 0, r.now_ns, "again %d", i);
        pass(&r, SECOND);
    }
    assert_int_equal(r.dumps, 3);
    assert_int_equal(gp_triggers_passed(r.t), 147);
    end(&r);
}
