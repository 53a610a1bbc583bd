#include "collect/records/records_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "collect/records/call_stacks.h"
#include "formats/base/hash.h"
#include "formats/model/cuda_names.h"
#include "formats/model/gauges.h"

enum { MAX_CBID = 4096 };
static const int64_t SURELY_RETURNED_NS =
    100000000; /* a runtime call ends this soon after the driver call inside it, on a busy machine, too */

static const char *get_text(const struct gp_records *r, const void *rec, size_t at)
{
    uint64_t address = gp_get_u64(rec, at);
    return address && r->opts.text ? r->opts.text(r->opts.ctx, address) : NULL;
}

/* ---- pointers in records ---- */

enum { COMMAND_BUFFER_FULL = 6 << 16 };

bool gp_record_points(const void *rec, struct gp_record_pointer *p)
{
    switch (gp_get_u32(rec, 0)) {
    case GP_ACTIVITY_KERNEL:
    case GP_ACTIVITY_CONCURRENT_KERNEL:
        *p = (struct gp_record_pointer){AT(u64, rec, KERNEL_name), true, false};
        break;
    case GP_ACTIVITY_DEVICE: *p = (struct gp_record_pointer){AT(u64, rec, DEVICE_name), true, true}; break;
    case GP_ACTIVITY_OVERHEAD:
        if (AT(u32, rec, OVERHEAD_overheadKind) != COMMAND_BUFFER_FULL) return false;
        *p = (struct gp_record_pointer){AT(u64, rec, OVERHEAD_overheadData), false, true};
        break;
    default: return false;
    }
    return p->address;
}

uint64_t gp_record_source(const void *rec, uint32_t cupti)
{
    return cupti >= 130000 && gp_get_u32(rec, 0) == GP_ACTIVITY_MEMORY2 ? AT(u64, rec, MEMORY_source) : 0;
}

int64_t gp_record_thread(const void *rec)
{
    enum { OBJECT_THREAD = 2 };
    switch (gp_get_u32(rec, 0)) {
    case GP_ACTIVITY_RUNTIME:
    case GP_ACTIVITY_DRIVER: return AT(u32, rec, CALL_threadId);
    case GP_ACTIVITY_OVERHEAD: /* after the id of its process */
        return AT(u32, rec, OVERHEAD_objectKind) == OBJECT_THREAD
                   ? gp_get_u32(rec, GP_AT_OVERHEAD_objectId + 4)
                   : 0;
    default: return 0;
    }
}

/* ---- API calls ---- */

static bool has(const char *name, const char *part) { return strstr(name, part) != NULL; }

/* Memory that is mapped into a range of addresses: the expandable segments of PyTorch. */
static bool maps_memory(const char *name)
{
    return !strcmp(name, "cuMemMap") || !strcmp(name, "cuMemCreate");
}

enum gp_call_class gp_call_classify(const char *name)
{
    if (has(name, "GraphLaunch")) return GP_CALL_LAUNCH;
    if (has(name, "Graph")) return GP_CALL_OTHER; /* only builds a graph */
    if (has(name, "HostFunc") || has(name, "Attribute")) return GP_CALL_OTHER;
    if (has(name, "cudaLaunch") || has(name, "cuLaunch")) return GP_CALL_LAUNCH;
    if (has(name, "cudaMemcpy") || has(name, "cuMemcpy")) return GP_CALL_COPY;
    if (has(name, "cudaMemset") || has(name, "cuMemset")) return GP_CALL_COPY;
    if (has(name, "Prefetch")) return GP_CALL_COPY;
    if (has(name, "Malloc") || has(name, "MemAlloc") || has(name, "HostAlloc")) return GP_CALL_MEMORY;
    if (has(name, "PoolCreate") || has(name, "PoolDestroy") || has(name, "PoolTrim")) return GP_CALL_MEMORY;
    if (has(name, "cudaFree") || has(name, "cuMemFree")) return GP_CALL_MEMORY;
    if (maps_memory(name) || has(name, "cuMemUnmap")) return GP_CALL_MEMORY;
    if (has(name, "EventRecord")) return GP_CALL_EVENT;
    if (has(name, "Synchronize") || has(name, "StreamWaitEvent")) return GP_CALL_SYNC;
    return GP_CALL_OTHER;
}

bool gp_call_wanted(enum gp_call_class cls, enum gp_api_level level, bool memory)
{
    switch (cls) {
    case GP_CALL_MEMORY: return level >= (memory ? GP_API_LEVEL_LAUNCH : GP_API_LEVEL_ALL);
    case GP_CALL_LAUNCH:
    case GP_CALL_COPY: return level >= GP_API_LEVEL_LAUNCH;
    case GP_CALL_SYNC: return level >= GP_API_LEVEL_SYNC;
    default: return level >= GP_API_LEVEL_ALL;
    }
}

static struct gp_call_info call_info(struct gp_records *r, bool driver, uint32_t cbid)
{
    if (cbid >= MAX_CBID) cbid = MAX_CBID - 1;
    while (r->call_infos[driver].n <= cbid) GP_VEC_PUSH(&r->call_infos[driver], (struct gp_call_info){0});
    struct gp_call_info *info = &r->call_infos[driver].at[cbid];
    if (info->name) return *info;
    const char *name = r->opts.call_name ? r->opts.call_name(r->opts.ctx, driver, cbid) : NULL;
    char fallback[40];
    if (!name) { /* it may come later */
        int n =
            snprintf(fallback, sizeof fallback, "%s call %u", driver ? "driver" : "runtime", (unsigned)cbid);
        return (struct gp_call_info){.name = gp_trace_intern(&r->trace, fallback, (size_t)n),
                                     .cls = GP_CALL_UNKNOWN};
    }
    info->cls = (uint8_t)gp_call_classify(name);
    info->name = gp_trace_intern(&r->trace, name, gp_call_name_length(name));
    return *info;
}

static void hold_call(struct gp_records *r, const struct gp_held_call *c)
{
    enum gp_call_class cls = (enum gp_call_class)call_info(r, c->driver, c->cbid).cls;
    if (cls != GP_CALL_UNKNOWN && !gp_call_wanted(cls, r->opts.api, r->opts.memory)) return;
    if (c->start_ns <= 0 || c->end_ns < c->start_ns) {
        r->stats.dropped++;
        gp_records_lose(r, "API calls", "no usable time", 1);
        return;
    }
    gp_records_note_time(r, c->end_ns);
    GP_VEC_PUSH(&r->calls, *c);
}

static void add_call(struct gp_records *r, const void *rec, bool driver)
{
    struct gp_held_call c = {
        .start_ns = (int64_t)AT(u64, rec, CALL_start),
        .end_ns = (int64_t)AT(u64, rec, CALL_end),
        .corr = AT(u32, rec, CALL_correlationId),
        .tid = AT(u32, rec, CALL_threadId),
        .cbid = AT(u32, rec, CALL_cbid),
        .ret = (int32_t)AT(u32, rec, CALL_returnValue),
        .tick = r->tick,
        .driver = driver,
    };
    hold_call(r, &c);
}

void gp_records_add_call(struct gp_records *r, int64_t tid, int64_t start_ns, const struct gp_note_call *call)
{
    struct gp_held_call c = {
        .start_ns = start_ns,
        .end_ns = call->end_ns,
        .corr = call->corr,
        .tid = (uint32_t)tid,
        .cbid = call->cbid,
        .ret = call->ret,
        .tick = r->tick,
        .driver = call->driver != 0,
    };
    hold_call(r, &c);
}

/* ---- GPU work ---- */

static gp_sid kernel_name(struct gp_records *r, const void *rec)
{
    const char *name = get_text(r, rec, GP_AT_KERNEL_name);
    if (!name) return gp_intern_cstr(&r->trace.strings, "[unnamed kernel]");
    uint32_t *sid = gp_map_put(&r->names, AT(u64, rec, KERNEL_name), UINT32_MAX);
    /* A module may have been unloaded and another name stored at the same address, so the bytes decide. */
    if (*sid == UINT32_MAX || strcmp(gp_trace_str(&r->trace, *sid), name))
        *sid = gp_trace_intern(&r->trace, name, strlen(name));
    return *sid;
}

/* Hold back work that may be a node of a graph; 0: it is not. */
static void hold_work(struct gp_records *r, struct gp_held_work *w, uint32_t graph, uint64_t node,
                      const struct gp_config *c)
{
    w->graph = graph ? graph : GP_NO_ID;
    w->node = node ? node : GP_NO_ID;
    if (graph && node && gp_held_is_usable(w) && gp_records_fold(r, w)) return;
    gp_records_hold(r, w, c);
}

/* The work with N bytes that REC, of KIND, is, and whose config is C. */
#define HOLD_WORK(kind, n)                                                                                   \
    hold_work(r,                                                                                             \
              &(struct gp_held_work){.start_ns = (int64_t)AT(u64, rec, kind##_start),                        \
                                     .end_ns = (int64_t)AT(u64, rec, kind##_end),                            \
                                     .bytes = (n),                                                           \
                                     .corr = AT(u32, rec, kind##_correlationId),                             \
                                     .track = gp_records_stream(r, AT(u32, rec, kind##_deviceId),            \
                                                                AT(u32, rec, kind##_contextId),              \
                                                                AT(u32, rec, kind##_streamId))},             \
              AT(u32, rec, kind##_graphId), AT(u64, rec, kind##_graphNodeId), &c)

static bool is_wanted(struct gp_records *r, gp_sid name)
{
    if (!r->opts.kernel || !*r->opts.kernel) return true;
    uint32_t *fits = gp_map_put(&r->fits, name, UINT32_MAX);
    if (*fits == UINT32_MAX) *fits = gp_filter_name(r->opts.kernel, gp_trace_str(&r->trace, name));
    return *fits;
}

static void add_kernel(struct gp_records *r, const void *rec)
{
    struct gp_config c = {.name = kernel_name(r, rec)};
    if (!is_wanted(r, c.name)) {
        r->left_out++;
        GP_VEC_PUSH(&r->unwanted, (struct gp_unwanted){AT(u32, rec, KERNEL_correlationId), r->tick});
        return;
    }
    c.kind = GP_KERNEL;
    c.has = GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS | GP_HAS_SHARED;
    for (size_t i = 0; i < 3; i++) {
        c.grid[i] = gp_get_u32(rec, GP_AT_KERNEL_gridX + 4 * i);
        c.block[i] = gp_get_u32(rec, GP_AT_KERNEL_blockX + 4 * i);
        c.cluster[i] = gp_get_u32(rec, GP_AT_KERNEL_clusterX + 4 * i);
    }
    if (c.cluster[0]) c.has |= GP_HAS_CLUSTER;
    c.registers = AT(u16, rec, KERNEL_registersPerThread);
    c.shared_static_bytes = AT(u32, rec, KERNEL_staticSharedMemory);
    c.shared_bytes = c.shared_static_bytes + AT(u32, rec, KERNEL_dynamicSharedMemory);
    c.local_bytes = AT(u32, rec, KERNEL_localMemoryPerThread);
    HOLD_WORK(KERNEL, 0);
}

static struct gp_config copy_config(struct gp_records *r, const void *rec)
{
    char name[80];
    struct gp_config c = {.kind = GP_MEMCPY,
                          .copy_kind = AT(u8, rec, MEMCPY_copyKind),
                          .src_kind = AT(u8, rec, MEMCPY_srcKind),
                          .dst_kind = AT(u8, rec, MEMCPY_dstKind)};
    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", gp_cuda_copy_kind(c.copy_kind),
             gp_cuda_memory_kind(c.src_kind), gp_cuda_memory_kind(c.dst_kind));
    c.name = gp_intern_cstr(&r->trace.strings, name);
    return c;
}

static void add_copy(struct gp_records *r, const void *rec)
{
    struct gp_config c = copy_config(r, rec);
    HOLD_WORK(MEMCPY, (int64_t)AT(u64, rec, MEMCPY_bytes));
}

static void add_peer_copy(struct gp_records *r, const void *rec)
{
    struct gp_config c = copy_config(r, rec);
    char extra[80];
    int n = snprintf(extra, sizeof extra, "{\"fromDevice\":%u,\"toDevice\":%u}",
                     (unsigned)AT(u32, rec, PEER_srcDeviceId), (unsigned)AT(u32, rec, PEER_dstDeviceId));
    c.extra = gp_trace_intern(&r->trace, extra, (size_t)n);
    HOLD_WORK(PEER, (int64_t)AT(u64, rec, PEER_bytes));
}

static void add_set(struct gp_records *r, const void *rec)
{
    char name[40];
    struct gp_config c = {.kind = GP_MEMSET, .dst_kind = AT(u16, rec, MEMSET_memoryKind)};
    snprintf(name, sizeof name, "Memset (%s)", gp_cuda_memory_kind(c.dst_kind));
    c.name = gp_intern_cstr(&r->trace.strings, name);
    HOLD_WORK(MEMSET, (int64_t)AT(u64, rec, MEMSET_bytes));
}

/* ---- memory ---- */

enum { MEMORY_ALLOCATES = 1 }; /* CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION */

/* Append the file name of the library that asked for the memory; its length. */
static int put_source(const struct gp_records *r, const void *rec, char *to, size_t size)
{
    enum { NAME_MOST = 80 };
    uint64_t address = gp_record_source(rec, r->opts.cupti);
    const char *path = address && r->opts.text ? r->opts.text(r->opts.ctx, address) : NULL, *slash;
    char name[NAME_MOST + 1];
    size_t n = 0;
    if (!path || r->opts.api == GP_API_LEVEL_NONE ||
        AT(u32, rec, MEMORY_memoryOperationType) != MEMORY_ALLOCATES)
        return 0;
    if ((slash = strrchr(path, '/'))) path = slash + 1;
    for (; path[n] && n < NAME_MOST; n++)
        name[n] = path[n] > ' ' && path[n] < 127 && !strchr("\"\\", path[n]) ? path[n] : '_';
    name[n] = 0;
    return n ? snprintf(to, size, ",\"Source\":\"%s\"", name) : 0;
}

static gp_sid memory_extra(struct gp_records *r, const void *rec, uint64_t pool)
{
    enum { KIND_PAGEABLE = 1, KIND_PINNED = 2 };
    uint32_t kind = AT(u32, rec, MEMORY_memoryKind), device = AT(u32, rec, MEMORY_deviceId);
    bool host = kind == KIND_PAGEABLE || kind == KIND_PINNED;
    char text[256];
    int n = snprintf(text, sizeof text, "{\"Device Type\":%d,\"Device Id\":%d,\"Memory\":\"%s\"", !host,
                     host ? -1 : (int)device, gp_cuda_memory_kind(kind));
    if (pool) n += snprintf(text + n, sizeof text - (size_t)n, ",\"Pool\":%llu", (unsigned long long)pool);
    if (AT(u32, rec, MEMORY_isAsync)) n += snprintf(text + n, sizeof text - (size_t)n, ",\"Async\":true");
    n += put_source(r, rec, text + n, sizeof text - (size_t)n);
    n += snprintf(text + n, sizeof text - (size_t)n, "}");
    return gp_trace_intern(&r->trace, text, (size_t)n);
}

static void add_memory(struct gp_records *r, const void *rec)
{
    enum {
        RELEASE = 2,
        POOL_LOCAL = 1,
        POOL_ADDRESS = GP_AT_MEMORY_memoryPoolConfig + 8,
        POOL_SIZE = GP_AT_MEMORY_memoryPoolConfig + 24
    };
    struct gp_held_memory m = {
        .at_ns = (int64_t)AT(u64, rec, MEMORY_timestamp),
        .bytes = (int64_t)AT(u64, rec, MEMORY_bytes),
        .address = AT(u64, rec, MEMORY_address),
        .corr = AT(u32, rec, MEMORY_correlationId),
        .tick = r->tick,
    };
    bool pool = AT(u32, rec, MEMORY_memoryPoolConfig) == POOL_LOCAL;
    m.reserved = pool ? (int64_t)gp_get_u64(rec, POOL_SIZE) : 0;
    m.extra = memory_extra(r, rec, pool ? gp_get_u64(rec, POOL_ADDRESS) : 0);
    /* The size of the memory at an address; not every free has it. */
    uint32_t *at = gp_map_put(&r->addresses, m.address, (uint32_t)r->sizes.n);
    if (*at == r->sizes.n) GP_VEC_PUSH(&r->sizes, 0);
    int64_t *size = &r->sizes.at[*at];
    bool release = AT(u32, rec, MEMORY_memoryOperationType) == RELEASE;
    if (release && !m.bytes) m.bytes = *size;
    *size = release ? 0 : m.bytes;
    if (m.at_ns <= 0 || m.bytes < 0) {
        gp_records_lose(r, "allocations", "no usable time or size", 1);
        return;
    }
    if (release) m.bytes = -m.bytes;
    GP_VEC_PUSH(&r->memory, m);
}

static const char *overhead_name(uint32_t kind)
{
    static const char *const cupti[] = {"",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full",
                                        "Activity Buffer Request",
                                        "UVM Activity Init"};
    if (kind == 1) return "Driver Compiler";
    kind >>= 16;
    return kind && kind < GP_COUNT(cupti) ? cupti[kind] : "Unknown Overhead";
}

static void add_overhead(struct gp_records *r, const void *rec)
{
    int64_t start = (int64_t)AT(u64, rec, OVERHEAD_start), end = (int64_t)AT(u64, rec, OVERHEAD_end);
    uint32_t kind = AT(u32, rec, OVERHEAD_overheadKind);
    if (start <= 0 || end < start) return;
    int64_t tid = gp_record_thread(rec);
    if (!tid) tid = r->opts.pid;
    gp_sid name = gp_intern_cstr(&r->trace.strings, overhead_name(kind));
    gp_events_add(&r->trace.events[GP_OVERHEAD], start, end - start, gp_records_thread(r, tid), name);
}

/* What the driver compiles or loads from its cache while the program waits. */
static void add_jit(struct gp_records *r, const void *rec)
{
    enum { CACHE_LOAD = 1, CACHE_STORE, COMPILE, PTX_TO_CUBIN = 1 };
    int64_t start = (int64_t)AT(u64, rec, JIT_start), end = (int64_t)AT(u64, rec, JIT_end);
    uint32_t operation = AT(u32, rec, JIT_jitOperationType);
    bool ptx = AT(u32, rec, JIT_jitEntryType) == PTX_TO_CUBIN;
    if (start <= 0 || end < start) return;
    const char *name = operation == CACHE_LOAD    ? "JIT Cache Load"
                       : operation == CACHE_STORE ? "JIT Cache Store"
                       : operation != COMPILE     ? "JIT"
                       : ptx                      ? "JIT Compile (PTX to cubin)"
                                                  : "JIT Compile (NVVM IR to PTX)";
    int64_t tid = r->opts.cupti >= GP_CUPTI_GROWN ? AT(u32, rec, JIT_threadId) : 0;
    gp_events_add(&r->trace.events[GP_OVERHEAD], start, end - start,
                  gp_records_thread(r, tid ? tid : r->opts.pid), gp_intern_cstr(&r->trace.strings, name));
}

void gp_records_add_device(struct gp_records *r, const struct gp_device *device)
{
    for (size_t i = 0; i < r->trace.devices.n; i++)
        if (r->trace.devices.at[i].id == device->id) return;
    GP_VEC_PUSH(&r->trace.devices, *device);
}

/* Not the UUID, which says whose machine it is. */
static gp_sid gpu_number(struct gp_records *r, const void *rec)
{
    char text[48];
    uint32_t gpu = gp_gauge_gpu((const uint8_t *)rec + GP_AT_DEVICE_uuid, gp_hash_seed());
    int n = snprintf(text, sizeof text, "{\"" GP_GAUGE_KEY_GPU "\":%" PRIu32 "}", gpu);
    return gpu ? gp_trace_intern(&r->trace, text, (size_t)n) : 0;
}

static void add_device(struct gp_records *r, const void *rec)
{
    const char *name = get_text(r, rec, GP_AT_DEVICE_name);
    struct gp_device d = gp_device_unknown();
    d.id = AT(u32, rec, DEVICE_id);
    d.name = name ? gp_intern_cstr(&r->trace.strings, name) : 0;
    d.cc_major = (int32_t)AT(u32, rec, DEVICE_computeCapabilityMajor);
    d.cc_minor = (int32_t)AT(u32, rec, DEVICE_computeCapabilityMinor);
    d.sms = (int32_t)AT(u32, rec, DEVICE_numMultiprocessors);
    d.warp_size = (int32_t)AT(u32, rec, DEVICE_numThreadsPerWarp);
    if (__builtin_mul_overflow(AT(u32, rec, DEVICE_maxWarpsPerMultiprocessor), d.warp_size,
                               &d.max_threads_per_sm))
        d.max_threads_per_sm = 0; /* the record is the program's: impossible values are unknown */
    d.max_threads_per_block = (int32_t)AT(u32, rec, DEVICE_maxThreadsPerBlock);
    d.regs_per_sm = AT(u32, rec, DEVICE_maxRegistersPerMultiprocessor);
    d.regs_per_block = AT(u32, rec, DEVICE_maxRegistersPerBlock);
    d.shared_per_sm = AT(u32, rec, DEVICE_maxSharedMemoryPerMultiprocessor);
    d.shared_per_block = AT(u32, rec, DEVICE_maxSharedMemoryPerBlock);
    d.memory_bytes = (int64_t)AT(u64, rec, DEVICE_globalMemorySize);
    d.l2_bytes = AT(u32, rec, DEVICE_l2CacheSize);
    d.core_clock_khz = AT(u32, rec, DEVICE_coreClockRate);
    if (__builtin_mul_overflow(AT(u64, rec, DEVICE_globalMemoryBandwidth), 1000, &d.memory_bandwidth_bps))
        d.memory_bandwidth_bps = 0; /* given in kB/s */
    d.extra = gpu_number(r, rec);
    gp_records_add_device(r, &d);
}

void gp_records_add(struct gp_records *r, const void *rec)
{
    switch (gp_get_u32(rec, 0)) {
    case GP_ACTIVITY_KERNEL:
    case GP_ACTIVITY_CONCURRENT_KERNEL: add_kernel(r, rec); break;
    case GP_ACTIVITY_MEMCPY: add_copy(r, rec); break;
    case GP_ACTIVITY_MEMCPY2: add_peer_copy(r, rec); break;
    case GP_ACTIVITY_MEMSET: add_set(r, rec); break;
    case GP_ACTIVITY_RUNTIME: add_call(r, rec, false); break;
    case GP_ACTIVITY_DRIVER: add_call(r, rec, true); break;
    case GP_ACTIVITY_UNIFIED_MEMORY: gp_records_add_unified(r, rec); break;
    case GP_ACTIVITY_MEMORY_POOL: gp_records_add_pool(r, rec); break;
    case GP_ACTIVITY_GRAPH_TRACE: gp_records_add_graph(r, rec); break;
    case GP_ACTIVITY_JIT: add_jit(r, rec); break;
    case GP_ACTIVITY_CUDA_EVENT: gp_records_add_event(r, rec); break;
    case GP_ACTIVITY_SYNCHRONIZATION: gp_records_add_sync(r, rec); break;
    case GP_ACTIVITY_OVERHEAD: add_overhead(r, rec); break;
    case GP_ACTIVITY_MEMORY2: add_memory(r, rec); break;
    case GP_ACTIVITY_DEVICE: add_device(r, rec); break;
    case GP_ACTIVITY_CONTEXT:
        *gp_map_put(&r->contexts, AT(u32, rec, CONTEXT_contextId), 0) = AT(u32, rec, CONTEXT_deviceId);
        break;
    case GP_ACTIVITY_STREAM: break; /* a stream gets its track with its first event */
    default: r->unknown++; break;
    }
}

/* ---- bringing calls and their work together ---- */

/* Index the calls; of a runtime call and the driver call inside it, the driver call is dropped. */
static void index_calls(struct gp_records *r)
{
    gp_records_clear_slots(r, r->calls.n);
    for (size_t i = 0; i < r->calls.n; i++) {
        struct gp_held_call *c = &r->calls.at[i];
        c->mate = false;
        uint32_t *slot = gp_records_slot(r, c->corr, true);
        struct gp_held_call *other = *slot == UINT32_MAX ? NULL : &r->calls.at[*slot];
        if (!other) *slot = (uint32_t)i;
        else if (c->driver && !other->driver) c->drop = true;
        else if (!c->driver && other->driver) other->drop = true, *slot = (uint32_t)i;
    }
}

/* A call is left out with the kernels that it launched, unless one of them is kept. */
static void mark_unwanted(struct gp_records *r, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->unwanted.n; i++) {
        struct gp_unwanted u = r->unwanted.at[i];
        uint32_t *slot = u.corr ? gp_records_slot(r, u.corr, false) : NULL;
        if (slot && !r->calls.at[*slot].mate) r->calls.at[*slot].unwanted = true;
        else if (!slot && !all && r->tick - u.tick < GP_HOLD_TICKS) r->unwanted.at[kept++] = u;
    }
    r->unwanted.n = kept;
    gp_records_lose(r, "kernels", "left out by --filter", r->left_out);
    r->left_out = 0;
}

static bool call_ready(struct gp_records *r, const struct gp_held_call *c, bool all)
{
    uint32_t age = r->tick - c->tick;
    if (all) return true;
    /* The runtime call around a driver call may come with one of the next flushes, which follow each other
     * fast where buffers fill up fast. */
    if (c->driver && r->tick_ns - c->end_ns < SURELY_RETURNED_NS) return false;
    if (age >= GP_HOLD_TICKS) return true;
    uint8_t cls = call_info(r, c->driver, c->cbid).cls;
    bool waits = cls == GP_CALL_LAUNCH || cls == GP_CALL_COPY || cls == GP_CALL_EVENT ||
                 cls == GP_CALL_UNKNOWN || (cls == GP_CALL_MEMORY && r->opts.memory);
    return c->mate || !waits;
}

static bool work_ready(struct gp_records *r, const struct gp_held_work *w, bool all)
{
    if (all || r->opts.api == GP_API_LEVEL_NONE || !w->corr || r->tick - w->tick >= GP_HOLD_TICKS)
        return true;
    return w->call != UINT32_MAX && call_ready(r, &r->calls.at[w->call], all);
}

static void note_inversion(struct gp_records *r, const struct gp_held_work *w)
{
    if (w->call == UINT32_MAX) return;
    int64_t early = r->calls.at[w->call].start_ns - w->start_ns;
    if (early <= 0) return;
    r->stats.inversions++;
    if (early > r->stats.worst_inversion_ns) r->stats.worst_inversion_ns = early;
}

/* The stack of the call with that correlation id. */
static void set_stack(const struct gp_records *r, struct gp_events *e, size_t row, uint32_t corr)
{
    uint32_t waiter;
    if (!r->stacks) return;
    gp_set_stack(e, row, gp_call_stacks_of(r->stacks, corr, &waiter));
    gp_set_waiter(e, row, waiter);
}

static void write_work(struct gp_records *r, bool all)
{
    struct gp_events *e = &r->trace.events[GP_GPU];
    size_t kept = 0;
    GP_EACH(const struct gp_held_work, w, r->work) {
        if (!work_ready(r, w, all)) {
            r->work.at[kept++] = *w;
            continue;
        }
        note_inversion(r, w);
        const struct gp_config *c = &r->trace.configs.at[w->config];
        size_t row = gp_events_add(e, w->start_ns, w->end_ns - w->start_ns, w->track, c->name);
        gp_set_config(e, row, w->config);
        if (w->corr) gp_set_corr(e, row, w->corr);
        gp_set_bytes(e, row, w->bytes);
        gp_set_graph(e, row, w->graph);
        gp_set_node(e, row, w->node);
        gp_set_addr(e, row, w->address);
        /* a node of a graph has the stack of its capture */
        if (r->opts.api == GP_API_LEVEL_NONE && w->node == GP_NO_ID) set_stack(r, e, row, w->corr);
    }
    r->work.n = kept;
}

static void write_calls(struct gp_records *r, bool all)
{
    struct gp_events *e = &r->trace.events[GP_API];
    gp_sid driver_cat = gp_intern_cstr(&r->trace.strings, "cuda_driver");
    size_t kept = 0;
    GP_EACH(const struct gp_held_call, c, r->calls) {
        if (c->drop || c->unwanted) continue;
        if (!call_ready(r, c, all)) {
            r->calls.at[kept++] = *c;
            continue;
        }
        gp_sid name = call_info(r, c->driver, c->cbid).name;
        size_t row =
            gp_events_add(e, c->start_ns, c->end_ns - c->start_ns, gp_records_thread(r, c->tid), name);
        if (c->corr) gp_set_corr(e, row, c->corr);
        if (c->driver) gp_set_cat(e, row, driver_cat);
        gp_set_ret(e, row, c->ret);
        set_stack(r, e, row, c->corr);
        r->stats.calls++;
    }
    r->calls.n = kept;
}

/* For memory of cuMemMap, CUPTI names the library of the allocation before it: removed. */
static gp_sid mapped_extra(struct gp_records *r, gp_sid extra)
{
    const char *text = gp_trace_str(&r->trace, extra), *source = strstr(text, ",\"Source\"");
    size_t n = source ? (size_t)(source - text) : strlen(text) - 1;
    char mapped[256];
    int len = snprintf(mapped, sizeof mapped, "%.*s,\"Mapped\":true}", (int)n, text);
    return gp_trace_intern(&r->trace, mapped, (size_t)len);
}

/* On the track of the thread that made the call. */
static void write_memory(struct gp_records *r, bool all)
{
    struct gp_events *e = &r->trace.events[GP_MEMORY];
    size_t kept = 0;
    GP_EACH(const struct gp_held_memory, m, r->memory) {
        const struct gp_held_call *call = gp_records_call(r, m->corr);
        if (!call && !all && m->corr && gp_records_may_come(r, m->tick)) {
            r->memory.at[kept++] = *m;
            continue;
        }
        uint32_t track = gp_records_thread(r, call ? (int64_t)call->tid : r->opts.pid);
        if (m->pool) {
            struct gp_events *marks = &r->trace.events[GP_MARK];
            size_t mark = gp_events_add(marks, m->at_ns, 0, track, m->pool);
            gp_set_cat(marks, mark, gp_intern_cstr(&r->trace.strings, "memory_pool"));
            gp_set_extra(marks, mark, m->extra);
            continue;
        }
        size_t row = gp_events_add(e, m->at_ns, 0, track, gp_intern_cstr(&r->trace.strings, "[memory]"));
        if (m->corr) gp_set_corr(e, row, m->corr);
        gp_set_bytes(e, row, m->bytes);
        gp_set_addr(e, row, m->address);
        gp_set_reserved(e, row, m->reserved);
        bool maps = call && maps_memory(gp_trace_str(&r->trace, call_info(r, call->driver, call->cbid).name));
        gp_set_extra(e, row, maps && m->extra ? mapped_extra(r, m->extra) : m->extra);
        r->stats.allocations += m->bytes > 0;
    }
    r->memory.n = kept;
}

void gp_records_commit(struct gp_records *r, bool all)
{
    if (all) {
        uint64_t vanished = gp_records_vanished(r);
        gp_records_lose(r, "GPU events", "no usable time", gp_records_end_timeless(r));
        gp_records_lose(r, "kernels", "no kernel records while counters are on", vanished);
    }
    gp_records_end_launches(r, all);
    if (!r->calls.n && !r->work.n && !r->memory.n && !r->unwanted.n && !r->held_events.n &&
        !r->held_waits.n && !r->told_waits.n)
        return;
    index_calls(r);
    GP_EACH(struct gp_held_work, w, r->work) {
        uint32_t *slot = w->corr ? gp_records_slot(r, w->corr, false) : NULL;
        w->call = slot ? *slot : UINT32_MAX;
        if (slot) r->calls.at[*slot].mate = true;
    }
    mark_unwanted(r, all);
    write_memory(r, all);
    gp_records_write_events(r, all);
    write_work(r, all);
    write_calls(r, all); /* last: it moves the calls, and all others find them by index */
}

void gp_records_tick(struct gp_records *r, int64_t now_ns)
{
    r->tick++;
    r->tick_ns = now_ns;
}

/* ---- life ---- */

void gp_records_init(struct gp_records *r, const struct gp_records_opts *opts)
{
    memset(r, 0, sizeof *r);
    r->opts = *opts;
    r->last_track = UINT32_MAX;
    gp_trace_init(&r->trace, GP_NEED_ALL);
    struct gp_process p = gp_process_unknown();
    p.pid = opts->pid;
    p.rank = opts->rank;
    p.name = gp_records_thread_name(r, opts->pid);
    r->process = gp_trace_process(&r->trace, &p);
}

void gp_records_release(struct gp_records *r)
{
    gp_records_release_timeless(r);
    gp_trace_release(&r->trace);
    gp_records_release_events(r);
    GP_RELEASE(gp_map_release, &r->graphs, &r->addresses, &r->fits, &r->names, &r->threads, &r->contexts);
    GP_RELEASE(gp_vec_free, &r->pc_texts, &r->graph_launches, &r->calls, &r->work, &r->memory, &r->sizes,
               &r->unwanted, &r->call_infos[0], &r->call_infos[1]);
    GP_RELEASE(free, r->corr_keys, r->corr_at);
}
