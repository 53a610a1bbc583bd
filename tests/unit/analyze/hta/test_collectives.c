// Collectives: what their names and args say, which ones of several ranks are the same, clocks and
// stragglers.
#include <stdio.h>
#include <stdlib.h>

#include "analyze/hta/collectives.h"
#include "analyze/hta/nccl.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta_priv.h"
#include "formats/base/buf.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

#define US 1000
#define MS 1000000

static const char all_reduce[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/* One rank's trace: a stream of device RANK. */
struct maker {
    struct gp_trace t;
    uint32_t stream;
    int64_t clock_ns; /* added to all times */
};

static struct maker begin(int32_t rank)
{
    struct maker m;
    memset(&m, 0, sizeof m);
    gp_trace_init(&m.t, GP_NEED_ALL);
    m.t.rank = rank;
    m.stream = mk_stream(&m.t, mk_process(&m.t, 1, 0), rank, 17);
    return m;
}

static void put(struct maker *m, int64_t start, int64_t end, const char *kernel, const char *args)
{
    size_t row = mk_kernel(&m->t, m->stream, start + m->clock_ns, end + m->clock_ns, kernel, 0);
    if (args) gp_set_extra(&m->t.events[GP_GPU], row, mk_name(&m->t, args));
}

/* An all_reduce of 4 * ELEMENTS bytes in group "0"; SEQ -1: none recorded. */
static void put_reduce(struct maker *m, int64_t start, int64_t end, int elements, int seq)
{
    char args[300], number[30] = "";
    if (seq >= 0) snprintf(number, sizeof number, "\"Seq\":%d,", seq);
    snprintf(
        args, sizeof args,
        "{\"Collective name\":\"allreduce\",\"In msg nelems\":%d,\"Out msg nelems\":%d,\"Group size\":2,%s"
        "\"dtype\":\"Float\",\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\"}",
        elements, elements, number);
    put(m, start, end, all_reduce, args);
}

static void add(struct gp_hta *h, struct maker *m)
{
    struct gp_view v;
    gp_trace_finish(&m->t);
    gp_view_init(&v, &m->t, NULL);
    gp_hta_add_collectives(h, &v);
    gp_view_release(&v);
    gp_trace_release(&m->t);
}

/* Both traces, finished. */
static struct gp_hta finish(struct maker *a, struct maker *b)
{
    struct gp_hta h;
    gp_hta_init(&h, NULL);
    add(&h, a);
    if (b) add(&h, b);
    gp_hta_collectives_section.finish(&h);
    return h;
}

static void release(struct gp_hta *h)
{
    gp_hta_section_release(&gp_hta_collectives_section, h);
    gp_hta_release(h);
}

static void assert_op(const char *name, const char *op)
{
    assert_string_equal(gp_collective_op(name, strlen(name)), op);
}

TEST(test_names_of_operations)
{
    assert_op("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "all_reduce");
    assert_op("ncclKernel_AllReduce_RING_LL_Sum_float", "all_reduce");
    assert_op("_allgather_base", "all_gather");
    assert_op("allgather_into_tensor_coalesced", "all_gather");
    assert_op("_reduce_scatter_base", "reduce_scatter");
    assert_op("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter");
    assert_op("all_to_allv", "all_to_all");
    assert_op("ncclDevKernel_SendRecv", "send_recv");
    assert_op("recv", "send_recv");
    assert_op("vllm::cross_device_reduce_1stage", "all_reduce");
    assert_op("ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce");
    assert_op("broadcast", "broadcast");
    assert_op("ncclDevKernel_Generic", "other");
    assert_op("", "other");
}

TEST(test_types_and_factors)
{
    assert_int_equal(gp_dtype_bytes("Float8_e4m3fn", 13), 1);
    assert_int_equal(gp_dtype_bytes("f8e5m2", 6), 1);
    assert_int_equal(gp_dtype_bytes("BFloat16", 8), 2);
    assert_int_equal(gp_dtype_bytes("Long", 4), 8);
    assert_int_equal(gp_dtype_bytes("Sum", 3), 0);
    assert_true(gp_collective_bus_factor("all_reduce", 8) == 1.75); /* 2 * 7 / 8 */
    assert_true(gp_collective_bus_factor("all_gather", 4) == 0.75);
    assert_true(gp_collective_bus_factor("reduce_scatter", 2) == 0.5);
    assert_true(gp_collective_bus_factor("all_to_all", 0) == 0); /* unknown */
    assert_true(gp_collective_bus_factor("broadcast", 0) == 1);
    assert_true(gp_collective_bus_factor("send_recv", 8) == 1);
    assert_true(gp_collective_bus_factor("all_gather+all_reduce", 8) == 0);
}

/* The full message is what leaves an all_gather, and what goes into a reduce_scatter. */
TEST(test_sizes)
{
    struct maker m = begin(0);
    put(&m, 0, 100, "ncclDevKernel_AllGather_RING_LL(x)",
        "{\"Collective name\":\"_allgather_base\",\"In msg nelems\":25,\"Out msg nelems\":200,\"Group "
        "size\":8,"
        "\"dtype\":\"BFloat16\",\"Process Group Name\":\"3\"}");
    put(&m, 100, 200, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)",
        "{\"Collective name\":\"_reduce_scatter_base\",\"In msg nelems\":400,\"Out msg nelems\":50,\"Group "
        "size\":8,"
        "\"dtype\":\"Float8_e4m3fn\",\"Process Group Name\":\"3\"}");
    put(&m, 200, 300, all_reduce, NULL);
    put(&m, 300, 400, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", NULL);
    struct gp_hta h = finish(&m, NULL);
    assert_int_equal(h.collectives.n, 4);
    const struct gp_collective *c = h.collectives.at;
    assert_string_equal(gp_hta_str(&h, c[0].op), "all_gather");
    assert_string_equal(gp_hta_str(&h, c[0].group), "3");
    assert_int_equal(c[0].bytes, 400);
    assert_int_equal(c[0].group_size, 8);
    assert_int_equal(c[0].stream, 17);
    assert_int_equal(c[1].bytes, 400);
    assert_int_equal(c[1].order, 1);
    assert_string_equal(gp_hta_str(&h, c[2].op), "all_reduce");
    assert_string_equal(gp_hta_str(&h, c[2].dtype), "f32");
    assert_int_equal(c[2].bytes, -1);
    assert_string_equal(gp_hta_str(&h, c[3].op), "send_recv");
    assert_int_equal(c[3].dtype, 0); /* bytes are how it is compiled */
    assert_int_equal(h.matches.n, 0);
    assert_int_equal(h.unmatched_collectives, 0); /* nobody else is there */
    release(&h);
}

static void assert_fifty_us(const struct gp_hta *h, size_t n)
{
    assert_int_equal(h->matches.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_collective_match *m = &h->matches.at[i];
        assert_int_equal(m->ranks, 2);
        assert_int_equal(m->start_skew_ns, 50 * US);
        assert_int_equal(m->wait_ns, 50 * US);
        assert_int_equal(m->end_skew_ns, 0);
        assert_int_equal(m->duration_ns, 150 * US);
        assert_int_equal(m->last_rank, 1);
    }
}

/* Six collectives a ms apart; rank 1 comes 50 us late and all end together. Its clock is 5 ms ahead, and its
 * window begins one collective later. */
TEST(test_window_begins_later_and_clock_is_ahead)
{
    struct maker a = begin(0), b = begin(1);
    b.clock_ns = 5 * MS;
    for (int i = 0; i < 6; i++) {
        put_reduce(&a, i * MS, i * MS + 200 * US, 262144, 10 + i);
        if (i) put_reduce(&b, i * MS + 50 * US, i * MS + 200 * US, 262144, 10 + i);
    }
    struct gp_hta h = finish(&a, &b);
    assert_fifty_us(&h, 5);
    assert_int_equal(h.unmatched_collectives, 1);
    assert_int_equal(h.mismatched_collectives, 0);
    const struct gp_collective_match *m = &h.matches.at[0];
    assert_true(m->by_seq);
    assert_int_equal(m->seq, 11);
    assert_int_equal(m->bytes, 1048576);
    assert_true(m->algbw_gbps == 1048576.0 / 150000);
    assert_true(m->busbw_gbps == m->algbw_gbps); /* 2 * 1 / 2 */
    assert_int_equal(h.offsets.n, 2);
    assert_int_equal(h.offsets.at[0].pairs, 0);
    assert_int_equal(h.offsets.at[1].offset_ns, -5 * MS);
    assert_int_equal(h.offsets.at[1].error_ns, 0);
    assert_int_equal(h.offsets.at[1].pairs, 5);
    const struct gp_straggler *s = &h.stragglers.at[0];
    assert_int_equal(s->rank, 1);
    assert_int_equal(s->times_last, 5);
    assert_int_equal(s->caused_wait_ns, 250 * US);
    assert_int_equal(s->lateness_ns, 125 * US); /* from the middle of the two */
    assert_int_equal(h.stragglers.at[1].times_last, 0);
    /* One kind of collective: its bandwidth is that of the transfer, not of the waiting; six and five of
     * them. */
    assert_int_equal(h.collective_stats.n, 1);
    assert_int_equal(h.collective_stats.at[0].count, 11);
    assert_int_equal(h.collective_stats.at[0].bytes, 11 * 1048576);
    assert_int_equal(h.collective_stats.at[0].skew.n, 5);
    assert_true(h.collective_stats.at[0].algbw_gbps == 1048576.0 / 150000);
    release(&h);
}

/* The same without sequence numbers: sizes tell. */
TEST(test_order_by_sizes)
{
    static const int elements[] = {100, 200, 300, 100, 200, 300};
    struct maker a = begin(0), b = begin(1);
    b.clock_ns = 5 * MS;
    for (int i = 0; i < 6; i++) {
        put_reduce(&a, i * MS, i * MS + 200 * US, elements[i], -1);
        if (i) put_reduce(&b, i * MS + 50 * US, i * MS + 200 * US, elements[i], -1);
    }
    struct gp_hta h = finish(&a, &b);
    assert_fifty_us(&h, 5);
    assert_false(h.matches.at[0].by_seq);
    assert_int_equal(h.matches.at[0].seq, 1);
    assert_int_equal(h.matches.at[0].bytes, 800);
    assert_int_equal(h.unmatched_collectives, 1);
    assert_int_equal(h.mismatched_collectives, 0);
    release(&h);
}

/* The same without sequence numbers and sizes: the times between them tell. */
TEST(test_order_by_times)
{
    static const int64_t at[] = {0, 3 * MS, 4 * MS, 9 * MS, 11 * MS, 18 * MS};
    struct maker a = begin(0), b = begin(1);
    b.clock_ns = 5 * MS;
    for (int i = 0; i < 6; i++) {
        put(&a, at[i], at[i] + 200 * US, all_reduce, NULL);
        if (i) put(&b, at[i] + 50 * US, at[i] + 200 * US, all_reduce, NULL);
    }
    struct gp_hta h = finish(&a, &b);
    assert_fifty_us(&h, 5);
    assert_int_equal(h.offsets.at[1].offset_ns, -5 * MS);
    assert_int_equal(h.unmatched_collectives, 1);
    release(&h);
}

/* Nothing tells: all are equal and a ms apart. Nothing is paired, and that is reported. */
TEST(test_order_unknown)
{
    struct maker a = begin(0), b = begin(1);
    for (int i = 0; i < 6; i++) {
        put_reduce(&a, i * MS, i * MS + 200 * US, 100, -1);
        if (i) put_reduce(&b, i * MS + 50 * US, i * MS + 200 * US, 100, -1);
    }
    struct gp_hta h = finish(&a, &b);
    assert_int_equal(h.matches.n, 0);
    assert_int_equal(h.mismatched_collectives, 11);
    assert_int_equal(h.offsets.at[1].pairs, 0);
    release(&h);
}

/* A record of rank 1 is lost in the middle: what comes after it must not be paired with its neighbour. */
TEST(test_lost_record)
{
    struct maker a = begin(0), b = begin(1);
    int64_t at = 0;
    for (int i = 0; i < 12; i++) {
        at += (1 + i * i % 7) * MS;
        put_reduce(&a, at, at + 200 * US, 100, -1);
        if (i != 8) put_reduce(&b, at + 50 * US, at + 200 * US, 100, -1);
    }
    struct gp_hta h = finish(&a, &b);
    assert_true(h.mismatched_collectives > 0);
    for (size_t i = 0; i < h.matches.n; i++) assert_int_equal(h.matches.at[i].start_skew_ns, 50 * US);
    assert_int_equal(2 * h.matches.n + h.mismatched_collectives + h.unmatched_collectives, 23);
    release(&h);
}

/* The same number, another operation or size: paired never. */
TEST(test_numbers_that_contradict)
{
    struct maker a = begin(0), b = begin(1);
    put_reduce(&a, 0, 100, 100, 1);
    put_reduce(&b, 0, 100, 101, 1);
    put_reduce(&a, 200, 300, 100, 2);
    put_reduce(&b, 200, 300, 100, 2);
    struct gp_hta h = finish(&a, &b);
    assert_int_equal(h.matches.n, 1);
    assert_int_equal(h.mismatched_collectives, 2);
    release(&h);
}

/* The kernel names of NCCL 2.19 and later, no args at all: rank 0 is 30 us late twice, rank 1 10 us once. */
TEST(test_stragglers_by_name_alone)
{
    struct maker a = begin(0), b = begin(1);
    put(&a, 30 * US, 100 * US, all_reduce, NULL);
    put(&b, 0, 100 * US, all_reduce, NULL);
    put(&a, 1000 * US, 1200 * US, all_reduce, NULL);
    put(&b, 1010 * US, 1200 * US, all_reduce, NULL);
    put(&a, 3030 * US, 3100 * US, all_reduce, NULL);
    put(&b, 3000 * US, 3100 * US, all_reduce, NULL);
    struct gp_hta h = finish(&a, &b);
    assert_int_equal(h.matches.n, 3);
    assert_int_equal(h.stragglers.n, 2);
    assert_int_equal(h.stragglers.at[0].rank, 0);
    assert_int_equal(h.stragglers.at[0].times_last, 2);
    assert_int_equal(h.stragglers.at[0].caused_wait_ns, 60 * US);
    assert_int_equal(h.stragglers.at[1].times_last, 1);
    assert_int_equal(h.stragglers.at[1].caused_wait_ns, 10 * US);
    assert_true(h.matches.at[0].algbw_gbps == 0); /* no size is known */
    release(&h);
}

/* The root of a broadcast is done after 10 us and waits for nobody; rank 1, which comes 100 us later, is
 * last. */
TEST(test_the_root_does_not_wait)
{
    static const char args[] =
        "{\"Collective name\":\"broadcast\",\"In msg nelems\":10,\"dtype\":\"Float\",\"Seq\":1,"
        "\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\"}";
    struct maker a = begin(0), b = begin(1);
    put_reduce(&a, 0, 50 * US, 10, 0); /* ties the clocks */
    put_reduce(&b, 0, 50 * US, 10, 0);
    put(&a, 100 * US, 110 * US, "ncclDevKernel_Broadcast_RING_LL(x)", args);
    put(&b, 200 * US, 205 * US, "ncclDevKernel_Broadcast_RING_LL(x)", args);
    struct gp_hta h = finish(&a, &b);
    assert_int_equal(h.matches.n, 2);
    assert_int_equal(h.offsets.at[1].pairs, 1); /* its ends say nothing about clocks */
    assert_int_equal(h.matches.at[1].start_skew_ns, 100 * US);
    assert_int_equal(h.matches.at[1].wait_ns, 10 * US);
    assert_int_equal(h.matches.at[1].last_rank, 1);
    release(&h);
}

/* Ranks 0 and 1 share one group, 1 and 2 another: the clock of 2 is known by way of 1. */
TEST(test_clocks_by_way_of_others)
{
    struct gp_hta h;
    gp_hta_init(&h, NULL);
    for (int32_t rank = 0; rank < 3; rank++) {
        struct maker m = begin(rank);
        m.clock_ns = rank * -7 * MS;
        for (int g = 0; g < 2; g++) {
            if (rank == (g ? 0 : 2)) continue;
            char args[200];
            snprintf(args, sizeof args,
                     "{\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"dtype\":\"Int\",\"Seq\":5,"
                     "\"Process Group Name\":\"%d\",\"Process Group Ranks\":\"[%d, %d]\"}",
                     g, g, g + 1);
            put(&m, g * 100, g * 100 + 50, all_reduce, args);
        }
        add(&h, &m);
    }
    gp_hta_collectives_section.finish(&h);
    assert_int_equal(h.matches.n, 2);
    assert_int_equal(h.offsets.at[1].offset_ns, 7 * MS);
    assert_int_equal(h.offsets.at[2].offset_ns, 14 * MS);
    assert_int_equal(h.offsets.at[2].pairs, 1);
    release(&h);
}

/* Two processes in one trace that do not know their ranks: their devices tell them apart. */
TEST(test_devices_for_ranks)
{
    struct gp_hta h;
    gp_hta_init(&h, NULL);
    for (int device = 0; device < 2; device++) {
        struct maker m = begin(-1);
        m.stream = mk_stream(&m.t, mk_process(&m.t, 2, 0), device, 17);
        put(&m, device * 5 * US, 100 * US, all_reduce, NULL);
        add(&h, &m);
        GP_VEC_PUSH(&h.devices, ((struct gp_hta_device){.rank = -1, .device = device}));
    }
    gp_hta_collectives_section.finish(&h);
    assert_int_equal(h.matches.n, 1);
    assert_int_equal(h.matches.at[0].last_rank, 1);
    assert_int_equal(h.matches.at[0].start_skew_ns, 5 * US);
    assert_int_equal(h.collectives.at[0].rank, -1); /* that is not recorded */
    release(&h);
}

TEST(test_no_communication)
{
    struct maker m = begin(0), other = begin(1);
    put(&m, 0, 100, "gemm", NULL);
    put(&other, 0, 100, "gemm", NULL);
    struct gp_hta h = finish(&m, &other);
    assert_int_equal(h.collectives.n, 0);
    assert_int_equal(h.collective_stats.n, 0);
    assert_int_equal(h.offsets.n, 0);
    assert_int_equal(h.unmatched_collectives, 0);
    release(&h);
}

static struct maker make_rank(int rank)
{
    struct maker m = begin(rank);
    for (int i = 0; i < 4; i++)
        put_reduce(&m, i * MS + rank * US, i * MS + 200 * US, 100 + i, i % 2 ? i : -1);
    put(&m, 5 * MS, 6 * MS, all_reduce, NULL);
    return m;
}

static void save(struct gp_hta *h, struct gp_buf *to)
{
    struct gp_serializer x = {.save = to, .strings = &h->strings};
    to->n = 0;
    gp_hta_section_serialize(&gp_hta_collectives_section, &x, h);
}

TEST(test_merging_is_adding)
{
    struct gp_hta one, two, three, loaded;
    struct gp_hta *all[] = {&one, &two, &three, &loaded};
    for (int i = 0; i < 4; i++) gp_hta_init(all[i], NULL);
    gp_intern_cstr(&three.strings, "shifts the sids");
    for (int rank = 0; rank < 3; rank++) {
        struct maker a = make_rank(rank), b = make_rank(rank);
        add(&one, &a);
        add(rank ? &three : &two, &b);
    }
    struct gp_buf x = {0}, y = {0};
    save(&three, &x);
    const uint8_t *bytes = (const uint8_t *)x.data;
    struct gp_serializer load = {.load = bytes, .end = bytes + x.n, .strings = &loaded.strings};
    gp_hta_section_serialize(&gp_hta_collectives_section, &load, &loaded);
    assert_false(load.failed);
    gp_hta_section_merge(&gp_hta_collectives_section, &two, &loaded);
    gp_hta_collectives_section.finish(&one);
    gp_hta_collectives_section.finish(&two);
    save(&one, &x);
    save(&two, &y);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    assert_int_equal(one.matches.n, 5);
    assert_int_equal(two.matches.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(one.matches.at[i].ranks, 3);
        assert_int_equal(one.matches.at[i].wait_ns, two.matches.at[i].wait_ns);
    }
    for (int i = 0; i < 4; i++) release(all[i]);
    gp_buf_release(&x);
    gp_buf_release(&y);
}

/* What NCCL's ranges say is as good as args: two ranks, each with a call that launches a kernel, and one for
 * a group. */
TEST(test_ranges_of_nccl)
{
    struct maker m[2];
    for (int rank = 0; rank < 2; rank++) {
        m[rank] = begin(rank);
        struct gp_trace *t = &m[rank].t;
        uint32_t thread = mk_thread(t, 0, 5);
        static const char *const names[] = {"NCCL:ncclCommInitRank", "NCCL:ncclAllReduce",
                                            "NCCL:ncclAllGather"};
        static const char *const args[] = {"{\"NCCL communicator ID\":9,\"No. of ranks\":2}",
                                           "{\"NCCL communicator ID\":9,\"Message size [bytes]\":4000}",
                                           "{\"NCCL communicator ID\":9,\"Message size [bytes]\":500}"};
        for (int i = 0; i < 3; i++) {
            size_t row = mk_host(t, GP_RANGE, thread, i * MS, i * MS + 100 * US, names[i]);
            gp_set_extra(&t->events[GP_RANGE], row, mk_name(t, args[i]));
            if (!i) continue;
            mk_call(t, thread, i * MS + US, i * MS + 2 * US, "cuLaunchKernelEx", (uint64_t)i);
            mk_kernel(t, m[rank].stream, i * MS + (10 + rank) * US, i * MS + 20 * US,
                      i == 1 ? all_reduce : "ncclDevKernel_AllGather_RING_LL(x)", (uint64_t)i);
        }
    }
    struct gp_hta h = finish(&m[0], &m[1]);
    assert_int_equal(h.matches.n, 2);
    assert_string_equal(gp_hta_str(&h, h.matches.at[0].op), "all_reduce");
    assert_string_equal(gp_hta_str(&h, h.matches.at[0].group), "9");
    assert_string_equal(gp_hta_str(&h, h.matches.at[0].dtype), "f32");
    assert_int_equal(h.matches.at[0].bytes, 4000);
    assert_int_equal(h.matches.at[0].start_skew_ns, US);
    assert_true(h.matches.at[0].busbw_gbps == 4000.0 / 9000); /* 2 * 1 / 2, and the shorter one took 9 us */
    assert_int_equal(h.matches.at[1].bytes, 1000);
    assert_true(h.matches.at[1].busbw_gbps == 1000.0 / 9000 / 2);
    assert_int_equal(h.collectives.at[0].calls, 1);
    release(&h);
}
