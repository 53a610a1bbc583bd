// What NCCL's ranges say of its kernels. Sizes are worked out by hand from what NCCL is asked for.
#include <stdio.h>

#include "analyze/hta/nccl.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

/* A process with one thread that calls NCCL, and streams of two devices. */
struct maker {
    struct gp_trace t;
    struct gp_view v;
    struct gp_nccl n;
    struct gp_strings strings;
    uint32_t thread, stream[2];
    uint64_t corr;
    int64_t now; /* the next call begins here */
};

static void begin(struct maker *m)
{
    memset(m, 0, sizeof *m);
    gp_trace_init(&m->t, GP_NEED_ALL);
    uint32_t process = mk_process(&m->t, 1, 0);
    m->thread = mk_thread(&m->t, process, 10);
    m->stream[0] = mk_stream(&m->t, process, 0, 17);
    m->stream[1] = mk_stream(&m->t, process, 1, 17);
    m->now = 1000;
}

/* A range from START to END; ARGS NULL: none. */
static void put_range(struct maker *m, int64_t start, int64_t end, const char *name, const char *args)
{
    size_t row = mk_host(&m->t, GP_RANGE, m->thread, start, end, name);
    if (args) gp_set_extra(&m->t.events[GP_RANGE], row, mk_name(&m->t, args));
}

/* A range of 100 ns. */
static void call(struct maker *m, const char *name, const char *args)
{
    put_range(m, m->now, m->now + 100, name, args);
    m->now += 200;
}

/* A communicator of RANKS ranks, of which this process is RANK. */
static void make_comm(struct maker *m, int comm, int ranks, int rank)
{
    char args[200];
    snprintf(args, sizeof args,
             "{\"NCCL communicator ID\":%d,\"No. of ranks\":%d,\"Rank\":%d,\"CUDA device\":0}", comm, ranks,
             rank);
    call(m, "NCCL:ncclCommInitRankConfig", args);
}

static void put_op(struct maker *m, const char *name, int comm, long long bytes)
{
    char args[200];
    snprintf(args, sizeof args, "{\"NCCL communicator ID\":%d,\"Message size [bytes]\":%lld}", comm, bytes);
    call(m, name, args);
}

static void put_p2p(struct maker *m, const char *name, int comm, long long bytes, int peer)
{
    char args[200];
    snprintf(args, sizeof args,
             "{\"NCCL communicator ID\":%d,\"Message size [bytes]\":%lld,\"Peer rank\":%d}", comm, bytes,
             peer);
    call(m, name, args);
}

/* A kernel on DEVICE whose launch lies in the last range; they are numbered from 0 in this order. */
static void launch(struct maker *m, unsigned device, const char *kernel)
{
    int64_t at = m->now - 190 + (int64_t)(m->corr % 8) * 10;
    mk_call(&m->t, m->thread, at, at + 5, "cuLaunchKernelEx", ++m->corr);
    mk_kernel(&m->t, m->stream[device], 100000 + (int64_t)m->corr * 100, 100050 + (int64_t)m->corr * 100,
              kernel, m->corr);
}

static const char ALL_REDUCE[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
static const char ALL_GATHER[] = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
static const char REDUCE_SCATTER[] =
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
static const char SEND_RECV[] = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

static void find(struct maker *m)
{
    gp_trace_finish(&m->t);
    gp_view_init(&m->v, &m->t, NULL);
    gp_nccl_find(&m->n, &m->v, &m->strings);
}

static void end(struct maker *m)
{
    gp_nccl_release(&m->n);
    gp_view_release(&m->v);
    gp_trace_release(&m->t);
    gp_strings_release(&m->strings);
}

static const struct gp_nccl_work *work(struct maker *m, uint32_t kernel)
{
    const struct gp_events *gpu = &m->t.events[GP_GPU];
    for (uint32_t row = 0; row < gpu->n; row++)
        if (gp_get_corr(gpu, row) == kernel + 1) return gp_nccl_work_of(&m->n, row);
    fail();
    return NULL;
}

static void check(struct maker *m, uint32_t kernel, const char *op, const char *comm, uint32_t ranks,
                  uint32_t calls, int64_t bytes)
{
    const struct gp_nccl_work *w = work(m, kernel);
    assert_non_null(w);
    assert_string_equal(gp_string(&m->strings, w->op), op);
    assert_string_equal(gp_string(&m->strings, w->comm), comm);
    assert_int_equal(w->ranks, ranks);
    assert_int_equal(w->calls, calls);
    assert_int_equal(w->bytes, bytes);
}

TEST(each_operation_and_its_full_message)
{
    struct maker m;
    begin(&m);
    make_comm(&m, 77, 4, 1);
    put_op(&m, "NCCL:ncclAllReduce", 77, 4096);
    launch(&m, 0, ALL_REDUCE);
    put_op(&m, "NCCL:ncclAllGather", 77, 1000); /* from each of 4 */
    launch(&m, 0, ALL_GATHER);
    put_op(&m, "NCCL:ncclReduceScatter", 77, 512); /* to each of 4 */
    launch(&m, 0, REDUCE_SCATTER);
    put_op(&m, "NCCL:ncclBroadcast", 77, 300);
    launch(&m, 0, "ncclDevKernel_Broadcast_RING_LL(x)");
    put_op(&m, "NCCL:ncclAlltoAll", 77, 50); /* to each of 4 */
    launch(&m, 0, SEND_RECV);
    put_p2p(&m, "NCCL:ncclSend", 77, 70, 3);
    launch(&m, 0, SEND_RECV);
    put_range(&m, m.now, m.now + 100, "train", NULL);
    m.now += 200;
    launch(&m, 0, ALL_REDUCE); /* outside of what NCCL says */
    find(&m);
    check(&m, 0, "all_reduce", "77", 4, 1, 4096);
    check(&m, 1, "all_gather", "77", 4, 1, 4000);
    check(&m, 2, "reduce_scatter", "77", 4, 1, 2048);
    check(&m, 3, "broadcast", "77", 4, 1, 300);
    check(&m, 4, "all_to_all", "77", 4, 1, 200);
    check(&m, 5, "send_recv", "77", 4, 1, 70);
    assert_int_equal(work(&m, 5)->rank, 1);
    assert_int_equal(work(&m, 5)->peer, 3);
    assert_int_equal(work(&m, 0)->peer, -1);
    assert_null(work(&m, 6));
    end(&m);
}

TEST(a_kernel_serves_all_calls_of_a_group)
{
    struct maker m;
    begin(&m);
    make_comm(&m, 5, 2, 0);
    call(&m, "NCCL:ncclGroupStart", NULL);
    put_op(&m, "NCCL:ncclAllReduce", 5, 100);
    call(&m, "NCCL:ncclGroupStart", NULL); /* groups nest */
    put_op(&m, "NCCL:ncclAllReduce", 5, 200);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    put_op(&m, "NCCL:ncclAllReduce", 5, 300);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, ALL_REDUCE);
    /* Different kinds in one kernel. */
    call(&m, "NCCL:ncclGroupStart", NULL);
    put_op(&m, "NCCL:ncclReduceScatter", 5, 10);
    put_op(&m, "NCCL:ncclAllGather", 5, 20);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, "ncclDevKernel_Generic(x)");
    /* An exchange with one peer, and sends and receives with all. */
    call(&m, "NCCL:ncclGroupStart", NULL);
    put_p2p(&m, "NCCL:ncclSend", 5, 700, 1);
    put_p2p(&m, "NCCL:ncclRecv", 5, 900, 1);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, SEND_RECV);
    call(&m, "NCCL:ncclGroupStart", NULL);
    for (int peer = 0; peer < 2; peer++) {
        put_p2p(&m, "NCCL:ncclSend", 5, 40, peer);
        put_p2p(&m, "NCCL:ncclRecv", 5, 40, peer);
    }
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, SEND_RECV);
    find(&m);
    check(&m, 0, "all_reduce", "5", 2, 3, 600);
    check(&m, 1, "all_gather+reduce_scatter", "5", 2, 2, 60);
    check(&m, 2, "send_recv", "5", 2, 2, 900);
    assert_int_equal(work(&m, 2)->peer, 1);
    check(&m, 3, "all_to_all", "5", 2, 4, 80);
    assert_int_equal(work(&m, 3)->peer, -1);
    end(&m);
}

/* NCCL before 2.25 names no communicator, and puts a group around each send. */
TEST(older_versions_say_less)
{
    struct maker m;
    begin(&m);
    call(&m, "NCCL:ncclCommInitRank", "{\"Rank\":1,\"No. of ranks\":8,\"CUDA device\":1}");
    call(&m, "NCCL:ncclAllGather", "{\"Message size [bytes]\":1000}");
    launch(&m, 0, ALL_GATHER);
    put_range(&m, m.now, m.now + 600, "NCCL:ncclSend", "{\"Bytes\":64,\"Peer rank\":2}");
    m.now += 50;
    call(&m, "NCCL:ncclGroupStart", NULL);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, SEND_RECV);
    find(&m);
    check(&m, 0, "all_gather", "", 8, 1, 8000);
    check(&m, 1, "send_recv", "", 8, 1, 64);
    assert_int_equal(work(&m, 1)->peer, -1); /* of which communicator it is the rank */
    end(&m);
}

TEST(what_cannot_be_told_is_unknown)
{
    struct maker m;
    begin(&m);
    put_op(&m, "NCCL:ncclAllGather", 5, 100); /* of how many ranks? */
    launch(&m, 0, ALL_GATHER);
    put_op(&m, "NCCL:ncclAllReduce", 5, 100);
    launch(&m, 0, ALL_REDUCE);
    call(&m, "NCCL:ncclCommSplit",
         "{\"NCCL communicator ID\":6,\"Parent NCCL communicator ID\":5,\"No. of ranks\":8}");
    put_op(&m, "NCCL:ncclAllGather", 6, 100); /* 8 is the size of the parent */
    launch(&m, 0, ALL_GATHER);
    call(&m, "NCCL:ncclGroupEnd", NULL); /* began before the trace */
    launch(&m, 0, ALL_REDUCE);
    call(&m, "NCCL:ncclGroupStart", NULL); /* two kernels for three calls */
    for (int i = 1; i <= 3; i++) put_op(&m, "NCCL:ncclAllReduce", 5, i);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, ALL_REDUCE);
    launch(&m, 0, ALL_REDUCE);
    put_op(&m, "NCCL:ncclAllReduce", 5, INT64_MAX / 2);
    launch(&m, 0, ALL_REDUCE);
    call(&m, "NCCL:ncclAllReduce", "{\"Message size [bytes]\":");
    launch(&m, 0, ALL_REDUCE);
    find(&m);
    check(&m, 0, "all_gather", "5", 0, 1, -1);
    check(&m, 1, "all_reduce", "5", 0, 1, 100);
    check(&m, 2, "all_gather", "6", 0, 1, -1);
    check(&m, 3, "", "", 0, 0, -1);
    check(&m, 4, "all_reduce", "5", 0, 0, -1);
    check(&m, 5, "all_reduce", "5", 0, 0, -1);
    check(&m, 6, "all_reduce", "5", 0, 1, -1);
    check(&m, 7, "all_reduce", "", 0, 1, -1);
    end(&m);
}

TEST(kernels_of_a_group_share_its_calls)
{
    struct maker m;
    begin(&m);
    make_comm(&m, 5, 2, 0);
    call(&m, "NCCL:ncclGroupStart", NULL); /* as many kernels as calls, and all alike */
    for (int i = 0; i < 2; i++) put_op(&m, "NCCL:ncclAllReduce", 5, 100);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, ALL_REDUCE);
    launch(&m, 0, ALL_REDUCE);
    call(&m, "NCCL:ncclGroupStart", NULL); /* a kernel for each kind */
    put_op(&m, "NCCL:ncclAllGather", 5, 30);
    put_op(&m, "NCCL:ncclAllReduce", 5, 100);
    put_op(&m, "NCCL:ncclAllReduce", 5, 50);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, ALL_REDUCE);
    launch(&m, 0, ALL_GATHER);
    call(&m, "NCCL:ncclGroupStart", NULL); /* two devices of one process */
    for (int i = 0; i < 4; i++) put_op(&m, "NCCL:ncclAllReduce", 5, 100);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, ALL_REDUCE);
    launch(&m, 1, ALL_REDUCE);
    call(&m, "NCCL:ncclGroupStart", NULL); /* and not alike */
    for (int i = 0; i < 2; i++) put_op(&m, "NCCL:ncclAllReduce", 5, 100 + i);
    call(&m, "NCCL:ncclGroupEnd", NULL);
    launch(&m, 0, ALL_REDUCE);
    launch(&m, 1, ALL_REDUCE);
    find(&m);
    for (uint32_t i = 0; i < 2; i++) check(&m, i, "all_reduce", "5", 2, 1, 100);
    check(&m, 2, "all_reduce", "5", 2, 2, 150);
    check(&m, 3, "all_gather", "5", 2, 1, 60);
    for (uint32_t i = 4; i < 6; i++) check(&m, i, "all_reduce", "5", 2, 2, 200);
    for (uint32_t i = 6; i < 8; i++) check(&m, i, "all_reduce", "5", 2, 0, -1);
    end(&m);
}

TEST(what_the_collector_kept_of_communicators)
{
    struct maker m;
    begin(&m);
    gp_trace_set_meta(&m.t, "nccl_ranks.5", "4", 1);
    gp_trace_set_meta(&m.t, "nccl_ranks.6", "\"4\"", 3);
    put_op(&m, "NCCL:ncclAllGather", 5, 100);
    launch(&m, 0, ALL_GATHER);
    put_op(&m, "NCCL:ncclAllGather", 6, 100);
    launch(&m, 0, ALL_GATHER);
    find(&m);
    check(&m, 0, "all_gather", "5", 4, 1, 400);
    check(&m, 1, "all_gather", "6", 0, 1, -1);
    end(&m);
}

TEST(without_its_ranges_there_is_nothing)
{
    struct maker m;
    begin(&m);
    call(&m, "ncclAllReduce", NULL); /* somebody else's */
    launch(&m, 0, ALL_REDUCE);
    find(&m);
    assert_null(work(&m, 0));
    end(&m);
}
