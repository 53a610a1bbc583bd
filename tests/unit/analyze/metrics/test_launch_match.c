// Which measured launch a kernel is: by its id in one trace, by its position in another, and when only means
// are left.
#include <math.h>

#include "analyze/metrics/measured.h"
#include "tests/unit/metrics_make.h"
#include "tests/unit/unit.h"

/* Kernels called NAMES, one letter each, 10 us apart, on a device of rank RANK. */
struct timing {
    struct gp_trace t;
    uint32_t process, stream;
};

static void begin(struct timing *k, int32_t rank)
{
    gp_trace_init(&k->t, GP_NEED_ALL);
    k->process = mk_process(&k->t, 1, 0);
    k->t.processes.at[k->process].rank = rank;
    k->stream = mk_stream(&k->t, k->process, 0, 7);
}

static void launch(struct timing *k, int64_t start, const char *name, uint64_t corr)
{
    size_t row = gp_events_add(&k->t.events[GP_GPU], start, 1000, k->stream, mk_name(&k->t, name));
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.name = mk_name(&k->t, name);
    c.has = GP_HAS_GRID | GP_HAS_BLOCK;
    c.grid[0] = !strcmp(name, "copy") ? 16 : 132;
    c.block[0] = 128;
    c.grid[1] = c.grid[2] = c.block[1] = c.block[2] = 1;
    gp_set_config(&k->t.events[GP_GPU], row, gp_trace_config(&k->t, &c));
    gp_set_corr(&k->t.events[GP_GPU], row, corr);
}

/* N launches of "copy". */
static void copies(struct timing *k, int n)
{
    begin(k, -1);
    for (int i = 0; i < n; i++) launch(k, i * 10000, "copy", (uint64_t)i + 1);
    gp_trace_finish(&k->t);
}

/* Bytes of each GPU event of TIMING; NAN where it was not measured. */
static void bytes_of(const struct gp_trace *counters, const struct gp_trace *timing, double *bytes,
                     enum gp_measured_as *as)
{
    struct gp_measured m;
    struct gp_counted k;
    gp_measured_init(&m, counters, timing);
    for (size_t i = 0; i < timing->events[GP_GPU].n; i++) {
        as[i] = gp_measured_at(&m, i, &k);
        bytes[i] = as[i] == GP_MEASURED_NOT ? NAN : k.dram_bytes;
    }
    gp_measured_release(&m);
}

TEST(in_one_trace_by_id)
{
    struct gp_trace t;
    double bytes[6];
    enum gp_measured_as as[6];
    mm_trace(&t);
    bytes_of(&t, &t, bytes, as);
    // copies of 20, 20 and 80 kB; of the products the first has 2 kB, the second lacks a counter, the third
    // was not measured
    assert_true(bytes[0] == 20000 && bytes[1] == 20000 && bytes[2] == 80000);
    assert_true(bytes[3] == 2000 && isnan(bytes[4]));
    assert_int_equal(as[4], GP_MEASURED_LAUNCH);
    assert_int_equal(as[5], GP_MEASURED_MEAN);
    assert_true(bytes[5] == 2000); // 1000 read, by the only one that has it, and 1000 written
    gp_trace_release(&t);
}

TEST(means_of_all_launches)
{
    struct gp_trace t;
    struct gp_measured m;
    double of[GP_COUNTER_PART_COUNT];
    mm_trace(&t);
    gp_measured_init(&m, &t, &t);
    assert_true(gp_measured_parts(&m, 0, of));
    assert_true(of[GP_PART_DRAM_READ] == 20000 && of[GP_PART_DRAM_WRITE] == 20000);
    assert_true(isnan(of[GP_PART_LOADS])); /* no metric of the set */
    assert_true(gp_measured_parts(&m, 4, of));
    assert_true(of[GP_PART_DRAM_READ] == 1000); /* of the only launch that has it */
    gp_measured_release(&m);
    gp_trace_release(&t);
}

TEST(in_two_traces_by_position)
{
    static const struct {
        int n;
        enum gp_measured_as as;
        double bytes[7];
    } cases[] = {
        {3, GP_MEASURED_LAUNCH, {20e3, 20e3, 80e3}},
        {6, GP_MEASURED_LAUNCH, {20e3, 20e3, 80e3, 20e3, 20e3, 80e3}}, // twice as many steps
        {1, GP_MEASURED_LAUNCH, {20e3}},                               // the first step only
        {4, GP_MEASURED_MEAN, {40e3, 40e3, 40e3, 40e3}},
        {7, GP_MEASURED_MEAN, {40e3, 40e3, 40e3, 40e3, 40e3, 40e3, 40e3}},
    };
    struct gp_trace counters;
    mm_trace(&counters);
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct timing k;
        double bytes[7];
        enum gp_measured_as as[7];
        copies(&k, cases[i].n);
        bytes_of(&counters, &k.t, bytes, as);
        for (int at = 0; at < cases[i].n; at++) {
            assert_int_equal(as[at], cases[i].as);
            assert_true(bytes[at] == cases[i].bytes[at]);
        }
        gp_trace_release(&k.t);
    }
    gp_trace_release(&counters);
}

/* Two streams: the third launch begins first. */
TEST(positions_are_those_of_launches)
{
    struct gp_trace counters;
    struct timing k;
    double bytes[4];
    enum gp_measured_as as[4];
    mm_trace(&counters);
    begin(&k, -1);
    launch(&k, 1000, "copy", 3);
    launch(&k, 2000, "copy", 1);
    launch(&k, 3000, "other", 4);
    launch(&k, 4000, "copy", 2);
    gp_trace_finish(&k.t);
    bytes_of(&counters, &k.t, bytes, as);
    assert_true(bytes[0] == 80000 && bytes[1] == 20000 && bytes[3] == 20000);
    assert_int_equal(as[2], GP_MEASURED_NOT);
    gp_trace_release(&k.t);
    gp_trace_release(&counters);
}

/* What one rank measured stands for every rank; what several measured, only for themselves. */
TEST(ranks)
{
    struct gp_trace counters;
    struct timing k;
    double bytes[3];
    enum gp_measured_as as[3];
    mm_trace(&counters);
    counters.processes.at[0].rank = 1;
    begin(&k, 5);
    launch(&k, 1000, "copy", 1);
    gp_trace_finish(&k.t);
    bytes_of(&counters, &k.t, bytes, as);
    assert_true(bytes[0] == 20000);
    struct gp_events *e = &counters.events[GP_METRIC];
    uint32_t process = mk_process(&counters, 2, 0), thread = mk_thread(&counters, process, 2);
    counters.processes.at[process].rank = 0;
    for (size_t i = 0; i + 1 < e->n; i++)
        if (gp_get_id(e, i) == 1) e->track[i] = thread; // the second copy is that of rank 0
    bytes_of(&counters, &k.t, bytes, as);
    assert_int_equal(as[0], GP_MEASURED_NOT);
    gp_trace_release(&k.t);
    gp_trace_release(&counters);
}

TEST(nothing_measured)
{
    struct timing k, none;
    double bytes[2];
    enum gp_measured_as as[2];
    copies(&k, 2);
    copies(&none, 0);
    bytes_of(&none.t, &k.t, bytes, as);
    assert_true(as[0] == GP_MEASURED_NOT && as[1] == GP_MEASURED_NOT);
    bytes_of(&k.t, &none.t, bytes, as);
    gp_trace_release(&k.t);
    gp_trace_release(&none.t);
}
