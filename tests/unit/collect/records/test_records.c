// Activity records become rows: names, joins of calls and their work, what is held back and for how long.
#include <string.h>

#include "collect/records/records.h"
#include "formats/model/cuda_names.h"
#include "tests/unit/unit.h"

static const char *call_name(void *ctx, bool driver, uint32_t cbid)
{
    (void)ctx;
    if (cbid == 7) return driver ? "cuLaunchKernel" : "cudaLaunchKernel_v7000";
    if (cbid == 8) return driver ? "cuMemAlloc_v2" : "cudaMalloc_v3020";
    if (cbid == 9) return driver ? "cuStreamSynchronize" : "cudaStreamSynchronize_v3020";
    return NULL;
}

static const char *text_at(void *ctx, uint64_t address)
{
    (void)ctx;
    return (const char *)(uintptr_t)address;
}

static struct gp_records records(enum gp_api_level api)
{
    struct gp_records r;
    struct gp_records_opts o = {.pid = 100, .rank = 2, .api = api, .text = text_at, .call_name = call_name};
    gp_records_init(&r, &o);
    return r;
}

#define PUT(rec, at, type, value)                                                                            \
    do {                                                                                                     \
        type gp_v_ = (type)(value);                                                                          \
        memcpy((rec) + (at), &gp_v_, sizeof gp_v_);                                                          \
    } while (0)

static void add_call(struct gp_records *r, bool driver, uint32_t cbid, uint32_t corr, int64_t start,
                     int64_t end)
{
    uint8_t rec[40] = {0};
    PUT(rec, 0, uint32_t, driver ? GP_ACTIVITY_DRIVER : GP_ACTIVITY_RUNTIME);
    PUT(rec, GP_AT_CALL_cbid, uint32_t, cbid);
    PUT(rec, GP_AT_CALL_start, int64_t, start);
    PUT(rec, GP_AT_CALL_end, int64_t, end);
    PUT(rec, GP_AT_CALL_threadId, uint32_t, 101);
    PUT(rec, GP_AT_CALL_correlationId, uint32_t, corr);
    gp_records_add(r, rec);
}

static void add_node(struct gp_records *r, const char *name, uint32_t corr, int64_t start, int64_t end,
                     uint64_t node)
{
    uint8_t rec[216] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_CONCURRENT_KERNEL);
    PUT(rec, GP_AT_KERNEL_start, int64_t, start);
    PUT(rec, GP_AT_KERNEL_end, int64_t, end);
    PUT(rec, GP_AT_KERNEL_streamId, uint32_t, 7);
    PUT(rec, GP_AT_KERNEL_staticSharedMemory, uint32_t, 16);
    PUT(rec, GP_AT_KERNEL_dynamicSharedMemory, uint32_t, 100);
    PUT(rec, GP_AT_KERNEL_correlationId, uint32_t, corr);
    PUT(rec, GP_AT_KERNEL_name, const char *, name);
    PUT(rec, GP_AT_KERNEL_graphNodeId, uint64_t, node);
    gp_records_add(r, rec);
}

static void add_kernel(struct gp_records *r, const char *name, uint32_t corr, int64_t start, int64_t end)
{
    add_node(r, name, corr, start, end, 0);
}

static void add_copy(struct gp_records *r, uint8_t kind, uint8_t src, uint8_t dst, int64_t bytes)
{
    uint8_t rec[96] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_MEMCPY);
    rec[GP_AT_MEMCPY_copyKind] = kind;
    rec[GP_AT_MEMCPY_srcKind] = src;
    rec[GP_AT_MEMCPY_dstKind] = dst;
    PUT(rec, GP_AT_MEMCPY_bytes, int64_t, bytes);
    PUT(rec, GP_AT_MEMCPY_start, int64_t, 10);
    PUT(rec, GP_AT_MEMCPY_end, int64_t, 20);
    gp_records_add(r, rec);
}

static void add_memory(struct gp_records *r, uint32_t operation, uint32_t corr, uint64_t address,
                       int64_t bytes, int64_t at)
{
    uint8_t rec[128] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_MEMORY2);
    PUT(rec, GP_AT_MEMORY_memoryOperationType, uint32_t, operation);
    PUT(rec, GP_AT_MEMORY_memoryKind, uint32_t, 3); /* device */
    PUT(rec, GP_AT_MEMORY_correlationId, uint32_t, corr);
    PUT(rec, GP_AT_MEMORY_address, uint64_t, address);
    PUT(rec, GP_AT_MEMORY_bytes, int64_t, bytes);
    PUT(rec, GP_AT_MEMORY_timestamp, int64_t, at);
    PUT(rec, GP_AT_MEMORY_deviceId, uint32_t, 1);
    gp_records_add(r, rec);
}

TEST(names_lose_the_version_of_runtime_calls_alone)
{
    assert_int_equal(gp_call_name_length("cudaLaunchKernel_v7000"), strlen("cudaLaunchKernel"));
    assert_int_equal(gp_call_name_length("cudaGraphLaunch_v10000"), strlen("cudaGraphLaunch"));
    assert_int_equal(gp_call_name_length("cuMemcpyHtoD_v2"), strlen("cuMemcpyHtoD_v2"));
    assert_int_equal(gp_call_name_length("cuMemcpy3D"), strlen("cuMemcpy3D"));
    assert_int_equal(gp_call_name_length("_v7000"), strlen("_v7000"));
    assert_int_equal(gp_call_name_length(""), 0);
}

TEST(calls_are_told_apart_by_name)
{
    assert_int_equal(gp_call_classify("__cudaLaunchKernel_v13000"), GP_CALL_LAUNCH);
    assert_int_equal(gp_call_classify("cuLaunchKernelEx_ptsz"), GP_CALL_LAUNCH);
    assert_int_equal(gp_call_classify("cudaGraphLaunch_v10000"), GP_CALL_LAUNCH);
    assert_int_equal(gp_call_classify("cuLaunchHostFunc"), GP_CALL_OTHER);
    assert_int_equal(gp_call_classify("__cudaPushCallConfiguration"), GP_CALL_OTHER);
    assert_int_equal(gp_call_classify("cudaGraphAddMemcpyNode_v10000"), GP_CALL_OTHER);
    assert_int_equal(gp_call_classify("cudaMemcpyAsync_v3020"), GP_CALL_COPY);
    assert_int_equal(gp_call_classify("cuMemsetD8Async"), GP_CALL_COPY);
    assert_int_equal(gp_call_classify("cudaEventSynchronize_v3020"), GP_CALL_SYNC);
    static const char *const memory[] = {
        "cudaMalloc_v3020", "cudaMallocAsync_v11020", "cudaMallocHost_v3020", "cudaHostAlloc_v3020",
        "cudaFree_v3020",   "cudaFreeAsync_v11020",   "cuMemAlloc_v2",        "cuMemAllocAsync",
        "cuMemFree_v2",     "cuMemHostAlloc"};
    for (size_t i = 0; i < GP_COUNT(memory); i++)
        assert_int_equal(gp_call_classify(memory[i]), GP_CALL_MEMORY);
    assert_int_equal(gp_call_classify("cudaGraphAddMemAllocNode_v11040"), GP_CALL_OTHER);
    assert_false(gp_call_wanted(GP_CALL_LAUNCH, GP_API_LEVEL_NONE, true));
    assert_true(gp_call_wanted(GP_CALL_COPY, GP_API_LEVEL_LAUNCH, false));
    assert_false(gp_call_wanted(GP_CALL_SYNC, GP_API_LEVEL_LAUNCH, false));
    assert_true(gp_call_wanted(GP_CALL_SYNC, GP_API_LEVEL_SYNC, false));
    assert_true(gp_call_wanted(GP_CALL_OTHER, GP_API_LEVEL_ALL, false));
    assert_true(gp_call_wanted(GP_CALL_MEMORY, GP_API_LEVEL_LAUNCH, true));
    assert_false(gp_call_wanted(GP_CALL_MEMORY, GP_API_LEVEL_SYNC, false));
    assert_false(gp_call_wanted(GP_CALL_MEMORY, GP_API_LEVEL_NONE, true));
}

TEST(an_allocation_is_on_the_thread_of_its_call)
{
    struct gp_records r = records(GP_API_LEVEL_SYNC);
    r.opts.memory = true;
    add_memory(&r, 1, 5, 0xa000, 64, 1500); /* its call comes with the next flush */
    add_memory(&r, 1, 6, 0xb000, 32, 1600); /* its call never comes */
    gp_records_commit(&r, false);
    const struct gp_events *e = &r.trace.events[GP_MEMORY];
    assert_int_equal(e->n, 0);
    add_call(&r, false, 8, 5, 1000, 2000);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 1);
    assert_int_equal(r.trace.tracks.at[e->track[0]].tid, 101);
    assert_int_equal(gp_get_bytes(e, 0), 64);
    assert_int_equal(gp_get_addr(e, 0), 0xa000);
    assert_string_equal(gp_trace_str(&r.trace, gp_get_extra(e, 0)),
                        "{\"Device Type\":1,\"Device Id\":1,\"Memory\":\"Device\"}");
    gp_records_tick(&r, 3000);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 2);
    assert_int_equal(r.trace.tracks.at[e->track[1]].tid, 100); /* the process's */
    assert_int_equal(r.stats.allocations, 2);
    gp_records_release(&r);
}

TEST(a_free_has_the_size_of_what_was_there)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    r.opts.memory = true;
    add_memory(&r, 1, 1, 0xa000, 64, 10);
    add_memory(&r, 2, 2, 0xa000, 0, 20);
    add_memory(&r, 1, 3, 0xa000, 96, 30); /* the address again */
    add_memory(&r, 2, 4, 0xa000, 96, 40);
    add_memory(&r, 2, 5, 0xc000, 0, 50); /* allocated before we looked */
    add_memory(&r, 1, 6, 0xd000, 8, 0);  /* no time */
    gp_records_commit(&r, true);
    const struct gp_events *e = &r.trace.events[GP_MEMORY];
    static const int64_t bytes[] = {64, -64, 96, -96, 0};
    assert_int_equal(e->n, 5);
    for (size_t i = 0; i < 5; i++) assert_int_equal(gp_get_bytes(e, i), bytes[i]);
    assert_int_equal(r.trace.losses.n, 1);
    gp_records_release(&r);
}

TEST(a_kernel_and_its_call_come_out_together)
{
    struct gp_records r = records(GP_API_LEVEL_SYNC);
    add_kernel(&r, "k", 5, 2000, 3000);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_GPU].n, 0); /* its call is not there yet */
    add_call(&r, false, 7, 5, 1000, 1500);
    gp_records_commit(&r, false);
    const struct gp_events *gpu = &r.trace.events[GP_GPU], *api = &r.trace.events[GP_API];
    assert_int_equal(gpu->n, 1);
    assert_int_equal(api->n, 1);
    assert_int_equal(gpu->dur_ns[0], 1000);
    assert_int_equal(gp_get_corr(gpu, 0), 5);
    assert_int_equal(gp_get_corr(api, 0), 5);
    assert_string_equal(gp_trace_str(&r.trace, api->name[0]), "cudaLaunchKernel");
    assert_int_equal(gp_gpu_config(&r.trace, 0)->shared_bytes, 116);
    assert_int_equal(gp_gpu_config(&r.trace, 0)->shared_static_bytes, 16);
    assert_int_equal(r.stats.kernels, 1);
    assert_int_equal(r.stats.inversions, 0);
    gp_records_release(&r);
}

TEST(nothing_is_held_back_for_more_than_a_tick)
{
    struct gp_records r = records(GP_API_LEVEL_SYNC);
    add_kernel(&r, "k", 5, 2000, 3000);
    add_call(&r, false, 7, 6, 1000, 1500);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_GPU].n + r.trace.events[GP_API].n, 0);
    gp_records_tick(&r, 200000000);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_GPU].n, 1);
    assert_int_equal(r.trace.events[GP_API].n, 1);
    gp_records_release(&r);
}

TEST(kernels_do_not_wait_where_no_calls_are_recorded)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    add_kernel(&r, "k", 5, 2000, 3000);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_GPU].n, 1);
    gp_records_release(&r);
}

/* The driver call comes first, because it ends first; the runtime call may come some flushes later. */
TEST(a_driver_call_inside_a_runtime_call_is_left_out)
{
    struct gp_records r = records(GP_API_LEVEL_SYNC);
    gp_records_tick(&r, 10000);
    add_call(&r, true, 7, 5, 9100, 9900);
    add_kernel(&r, "k", 5, 9950, 9990);
    for (int64_t now_ns = 10000; now_ns < 50000000; now_ns += 10000000) {
        gp_records_commit(&r, false);
        assert_int_equal(r.trace.events[GP_API].n, 0);
        gp_records_tick(&r, now_ns);
    }
    add_call(&r, false, 7, 5, 9000, 10500);
    gp_records_commit(&r, true);
    assert_int_equal(r.trace.events[GP_API].n, 1);
    assert_int_equal(r.trace.events[GP_API].start_ns[0], 9000);
    assert_int_equal(r.trace.events[GP_GPU].n, 1);
    gp_records_release(&r);
}

TEST(a_driver_call_by_itself_stays)
{
    struct gp_records r = records(GP_API_LEVEL_SYNC);
    /* 110 ms: no runtime call around a call that ended at 2 us can be missing */
    gp_records_tick(&r, 110000000);
    add_call(&r, true, 7, 5, 1000, 2000);
    add_kernel(&r, "k", 5, 3000, 4000);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_API].n, 1);
    assert_string_equal(gp_trace_str(&r.trace, gp_get_cat(&r.trace.events[GP_API], 0)), "cuda_driver");
    gp_records_release(&r);
}

TEST(calls_below_the_level_are_dropped)
{
    struct gp_records r = records(GP_API_LEVEL_LAUNCH);
    add_call(&r, false, 8, 1, 10, 20);
    add_call(&r, false, 9, 2, 30, 40);
    add_call(&r, false, 7, 3, 50, 60);
    gp_records_commit(&r, true);
    assert_int_equal(r.trace.events[GP_API].n, 1);
    assert_int_equal(r.trace.events[GP_API].start_ns[0], 50);
    gp_records_release(&r);
}

TEST(kernels_without_times_are_counted_not_written)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    add_kernel(&r, "k", 1, 0, 0);
    add_kernel(&r, "k", 2, 2000, 1000);
    gp_records_commit(&r, true);
    assert_int_equal(r.trace.events[GP_GPU].n, 0);
    assert_int_equal(r.stats.bad_time, 2);
    assert_int_equal(r.trace.losses.n, 2);
    gp_records_release(&r);
}

TEST(nodes_of_graphs_in_a_pause_have_the_number_of_another_launch)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    add_node(&r, "node", 6, 100, 110, 1);
    add_node(&r, "node", 6, 110, 120, 2);
    add_kernel(&r, "single", 7, 120, 130);
    add_node(&r, "node", 7, 200, 210, 1); /* neither these two, */
    add_node(&r, "node", 7, 0, 0, 2);
    add_node(&r, "node", 7 + 256, 300, 310, 1);
    gp_records_commit(&r, true);
    assert_int_equal(r.trace.events[GP_GPU].n, 4);
    assert_int_equal(r.stats.bad_time, 0); /* nor is one of them lost */
    gp_records_release(&r);
}

TEST(a_kernel_before_its_launch_is_told)
{
    struct gp_records r = records(GP_API_LEVEL_SYNC);
    add_call(&r, false, 7, 5, 1000, 1500);
    add_kernel(&r, "k", 5, 590, 3000);
    gp_records_commit(&r, false);
    assert_int_equal(r.stats.inversions, 1);
    assert_int_equal(r.stats.worst_inversion_ns, 410);
    gp_records_release(&r);
}

TEST(another_name_at_the_same_address_is_another_kernel)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    char name[16] = "first";
    add_kernel(&r, name, 1, 10, 20);
    strcpy(name, "second"); /* the module was unloaded, another one took its place */
    add_kernel(&r, name, 2, 30, 40);
    gp_records_commit(&r, true);
    assert_string_equal(gp_trace_str(&r.trace, gp_gpu_config(&r.trace, 0)->name), "first");
    assert_string_equal(gp_trace_str(&r.trace, gp_gpu_config(&r.trace, 1)->name), "second");
    gp_records_release(&r);
}

static const char *knows_nothing(void *ctx, uint64_t address)
{
    (void)ctx;
    (void)address;
    return NULL;
}

TEST(a_kernel_whose_name_is_not_known_is_unnamed)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    add_kernel(&r, NULL, 1, 10, 20);
    r.opts.text = knows_nothing;
    add_kernel(&r, (const char *)(uintptr_t)0x10, 2, 30, 40); /* no address of ours */
    gp_records_commit(&r, false);
    const struct gp_events *e = &r.trace.events[GP_GPU];
    assert_int_equal(e->n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(gp_trace_str(&r.trace, e->name[i]), "[unnamed kernel]");
    gp_records_release(&r);
}

TEST(what_records_point_at_is_told)
{
    struct gp_record_pointer p;
    uint8_t rec[216] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_CONCURRENT_KERNEL);
    assert_false(gp_record_points(rec, &p)); /* it has no name */
    PUT(rec, GP_AT_KERNEL_name, uint64_t, 0x1234);
    assert_true(gp_record_points(rec, &p));
    assert_true(p.address == 0x1234 && p.text && !p.ours);
    memset(rec, 0, sizeof rec);
    PUT(rec, 0, uint32_t, GP_ACTIVITY_DEVICE);
    PUT(rec, GP_AT_DEVICE_name, uint64_t, 0x5678);
    assert_true(gp_record_points(rec, &p));
    assert_true(p.address == 0x5678 && p.text && p.ours);
    memset(rec, 0, sizeof rec);
    PUT(rec, 0, uint32_t, GP_ACTIVITY_OVERHEAD);
    PUT(rec, GP_AT_OVERHEAD_overheadData, uint64_t, 0x9abc);
    assert_false(gp_record_points(rec, &p)); /* of another kind: nothing of ours */
    PUT(rec, GP_AT_OVERHEAD_overheadKind, uint32_t, 6 << 16);
    assert_true(gp_record_points(rec, &p));
    assert_true(p.address == 0x9abc && !p.text && p.ours);
    memset(rec, 0xff, sizeof rec);
    PUT(rec, 0, uint32_t, GP_ACTIVITY_MEMCPY);
    assert_false(gp_record_points(rec, &p));
}

TEST(copies_are_named_by_direction_and_memory)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    add_copy(&r, 1, 2, 3, 4096);
    add_copy(&r, 2, 3, 1, 8);
    add_copy(&r, 99, 99, 99, 1);
    gp_records_commit(&r, true);
    assert_string_equal(gp_trace_str(&r.trace, gp_gpu_config(&r.trace, 0)->name),
                        "Memcpy HtoD (Pinned -> Device)");
    assert_string_equal(gp_trace_str(&r.trace, gp_gpu_config(&r.trace, 1)->name),
                        "Memcpy DtoH (Device -> Pageable)");
    assert_string_equal(gp_trace_str(&r.trace, gp_gpu_config(&r.trace, 2)->name),
                        "Memcpy Unknown (Unknown -> Unknown)");
    assert_int_equal(gp_get_bytes(&r.trace.events[GP_GPU], 0), 4096);
    assert_int_equal(r.stats.copies, 3);
    gp_records_release(&r);
}

TEST(a_device_beyond_belief_has_unknown_figures)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    uint8_t rec[152] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_DEVICE);
    PUT(rec, GP_AT_DEVICE_globalMemoryBandwidth, uint64_t, 3352320000); /* kB/s */
    PUT(rec, GP_AT_DEVICE_numThreadsPerWarp, uint32_t, 32);
    PUT(rec, GP_AT_DEVICE_maxWarpsPerMultiprocessor, uint32_t, 64);
    gp_records_add(&r, rec);
    PUT(rec, GP_AT_DEVICE_id, uint32_t, 1);
    PUT(rec, GP_AT_DEVICE_globalMemoryBandwidth, uint64_t, UINT64_MAX / 1000);
    PUT(rec, GP_AT_DEVICE_maxWarpsPerMultiprocessor, uint32_t, 1u << 26);
    gp_records_add(&r, rec);
    assert_int_equal(r.trace.devices.n, 2);
    assert_true(r.trace.devices.at[0].memory_bandwidth_bps == 3352320000000);
    assert_int_equal(r.trace.devices.at[0].max_threads_per_sm, 2048);
    assert_int_equal(r.trace.devices.at[1].memory_bandwidth_bps, 0);
    assert_int_equal(r.trace.devices.at[1].max_threads_per_sm, 0);
    gp_records_release(&r);
}

TEST(unknown_records_are_counted)
{
    struct gp_records r = records(GP_API_LEVEL_NONE);
    uint32_t rec[64] = {60};
    gp_records_add(&r, rec);
    assert_int_equal(r.unknown, 1);
    gp_records_release(&r);
}
