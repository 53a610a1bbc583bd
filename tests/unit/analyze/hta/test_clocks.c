// How far the clocks of several traces differ: by collectives, by the time of day, by their first events.
#include <stdio.h>
#include "analyze/hta/clocks.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

#define US 1000
#define MS 1000000
#define S  INT64_C(1000000000)

static const char all_reduce[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
static const char args[] =
    "{\"Collective name\":\"allreduce\",\"In msg nelems\":64,\"Out msg nelems\":64,\"Group "
    "size\":2,\"dtype\":\"Float\",\"Process Group Name\":\"0\","
    "\"Process Group Ranks\":\"[0, 1]\"}";

/* COUNT collectives, one every ms from START on, each 100 us; without any, one kernel. RANK -1: unknown. */
static struct gp_trace make(int32_t rank, int64_t start, int count)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    t.rank = rank;
    uint32_t stream = mk_stream(&t, mk_process(&t, 1, 0), 0, 7);
    if (!count) mk_kernel(&t, stream, start, start + MS, "gemm", 0);
    for (int i = 0; i < count; i++) {
        size_t row = mk_kernel(&t, stream, start + i * MS, start + i * MS + 100 * US, all_reduce, 0);
        gp_set_extra(&t.events[GP_GPU], row, mk_name(&t, args));
    }
    gp_trace_finish(&t);
    return t;
}

static void set_clock(struct gp_trace *t, int64_t trace_ns, int64_t realtime_ns)
{
    GP_VEC_PUSH(&t->clocks, ((struct gp_clock){trace_ns, realtime_ns, 0}));
}

static void set_base(struct gp_trace *t, const char *ns)
{
    gp_trace_set_meta(t, "baseTimeNanoseconds", ns, strlen(ns));
}

/* Align the N traces, which are released. */
static struct gp_clocks align(struct gp_trace *t, size_t n)
{
    struct gp_clocks c = {0};
    for (size_t i = 0; i < n; i++) {
        struct gp_view v;
        gp_view_init(&v, &t[i], NULL);
        gp_clocks_add(&c, &v);
        gp_view_release(&v);
        gp_trace_release(&t[i]);
    }
    gp_clocks_align(&c);
    return c;
}

static void assert_shift(const struct gp_clocks *c, size_t i, enum gp_clock_source source, int64_t later_ns)
{
    assert_int_equal(c->shifts.at[i].source, source);
    assert_int_equal(c->shifts.at[i].later_ns, later_ns);
}

TEST(collectives_align_ranks_with_the_first_trace)
{
    /* the first file is rank 1, whose clock is 5 s ahead of rank 0's and 3 s behind that of rank 2 */
    struct gp_trace t[] = {make(1, 5 * S, 4), make(0, 0, 4), make(2, 8 * S, 4)};
    struct gp_clocks c = align(t, 3);
    assert_shift(&c, 0, GP_CLOCK_AS_RECORDED, 0);
    assert_shift(&c, 1, GP_CLOCK_COLLECTIVES, 5 * S);
    assert_shift(&c, 2, GP_CLOCK_COLLECTIVES, -3 * S);
    assert_int_equal(c.shifts.at[2].pairs, 4);
    assert_int_equal(c.shifts.at[2].error_ns, 0);
    gp_clocks_release(&c);
}

TEST(files_that_know_no_rank_are_aligned_too)
{
    struct gp_trace t[] = {make(-1, 0, 3), make(-1, 2 * MS, 3)};
    struct gp_clocks c = align(t, 2);
    assert_shift(&c, 1, GP_CLOCK_COLLECTIVES, -2 * MS);
    gp_clocks_release(&c);
}

TEST(the_time_of_day_aligns_what_has_no_collectives)
{
    /* as Kineto writes it, to the digit; as two machines have it; and one machine, adjusted by 3 ms between
     * two readings */
    struct gp_trace kineto[] = {make(0, 0, 0), make(1, -S, 0)};
    set_base(&kineto[0], "1790000000000000000");
    set_base(&kineto[1], "1790000001000000000");
    struct gp_clocks c = align(kineto, 2);
    assert_shift(&c, 1, GP_CLOCK_TIME_OF_DAY, S);
    gp_clocks_release(&c);
    struct gp_trace machines[] = {make(0, 10 * S, 0), make(1, 50 * S, 0)};
    set_clock(&machines[0], 10 * S, 1000 * S);
    set_clock(&machines[1], 50 * S, 1000 * S);
    c = align(machines, 2);
    assert_shift(&c, 1, GP_CLOCK_TIME_OF_DAY, -40 * S);
    gp_clocks_release(&c);
    struct gp_trace same[] = {make(0, 10 * S, 0), make(1, 10 * S, 0)};
    set_clock(&same[0], 10 * S, 1000 * S);
    set_clock(&same[1], 10 * S, 1000 * S + 3 * MS);
    c = align(same, 2);
    assert_shift(&c, 1, GP_CLOCK_AS_RECORDED, 0);
    gp_clocks_release(&c);
}

TEST(two_recordings_of_one_rank_stand_side_by_side)
{
    struct gp_trace t[] = {make(0, 3 * S, 4), make(0, 9 * S, 4)};
    struct gp_clocks c = align(t, 2);
    assert_shift(&c, 1, GP_CLOCK_FIRST_EVENT, -6 * S);
    gp_clocks_release(&c);
}

TEST(a_trace_without_events_stays_where_it_is)
{
    struct gp_trace t[] = {make(0, S, 0), make(1, S, 0)};
    t[0].events[GP_GPU].n = 0;
    struct gp_clocks c = align(t, 2);
    assert_shift(&c, 1, GP_CLOCK_AS_RECORDED, 0);
    gp_clocks_release(&c);
}
