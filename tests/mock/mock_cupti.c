/* The part of libcupti that the collector uses, driven by mock_cuda.c. It keeps CUPTI's promises as its
 * headers state them: buffers per thread, requested on the launch path, handed back when full or flushed;
 * records that are not finished held back until a forced flush. */
#define MOCK_HAVE_CUDA_H
#include "mock.h"
#include "tests/mock/mock_perfworks.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_KIND = 64, MAX_CBID = 1024 };

struct thread_buffer {
    struct thread_buffer *next;
    pthread_mutex_t lock;
    uint8_t *data;
    size_t size, used;
    bool unfinished;
    bool missed; /* it was taken while its work ran */
};

static struct {
    pthread_mutex_t lock;
    struct thread_buffer *threads;
    _Atomic bool subscribed;
    _Atomic unsigned finalized; /* how often */
    _Atomic bool graph_ran;     /* node by node */
    _Atomic(CUpti_CallbackFunc) callback;
    _Atomic(CUpti_BuffersCallbackRequestFunc) requested;
    _Atomic(CUpti_BuffersCallbackCompleteFunc) completed;
    _Atomic(CUpti_TimestampCallbackFunc) clock;
    _Atomic bool kinds[MAX_KIND];
    _Atomic bool calls[2][MAX_CBID];
    _Atomic bool callbacks[CUPTI_CB_DOMAIN_SIZE][MAX_CBID];
    _Atomic uint32_t correlation;
    _Atomic size_t dropped;
    _Atomic bool device_told, no_device, up;
    _Atomic bool unified[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT]; /* configured */
    _Atomic bool event_times;
    _Atomic uint64_t event_records[16]; /* the number of the latest record of an event */
    _Atomic uint64_t events;
    _Atomic bool no_queries; /* records of queries that found nothing done are switched off */
    _Atomic bool sources;    /* memory names who asked for it */
    _Atomic bool down, torn;
} mock = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct thread_buffer *mine;
static _Thread_local bool at_end; /* of a call */

/* CUPTI's is 551, which is too far from the others here: whoever walks over the calls stops at a gap of
 * 200. */
enum { MEM_MAP = 310 };

static const struct {
    bool driver;
    uint32_t cbid;
    const char *name;
} calls[] = {
    {false, 20, "cudaMalloc_v3020"},
    {false, 22, "cudaFree_v3020"},
    {false, 27, "cudaHostAlloc_v3020"},
    {false, 400, "cudaMallocAsync_v11020"},
    {false, 41, "cudaMemcpyAsync_v3020"},
    {false, 51, "cudaMemsetAsync_v3020"},
    {false, 70, "cudaProfilerStart_v4000"},
    {false, 71, "cudaProfilerStop_v4000"},
    {false, 287, "cudaStreamBeginCapture_v10000"},
    {false, 289, "cudaStreamEndCapture_v10000"},
    {false, 388, "cudaMemPoolTrimTo_v11020"},
    {false, 131, "cudaStreamSynchronize_v3020"},
    {false, 135, "cudaEventRecord_v3020"},
    {false, 137, "cudaEventSynchronize_v3020"},
    {false, 147, "cudaStreamWaitEvent_v3020"},
    {false, 161, "cudaMemcpyPeerAsync_v4000"},
    {false, 164, "cudaDeviceReset_v3020"},
    {false, 170, "cudaProfilerInitialize_v4000"},
    {false, 211, "cudaLaunchKernel_v7000"},
    {false, 311, "cudaGraphLaunch_v10000"},
    {false, 505, "__cudaLaunchKernel_v13000"},
    {true, 2, "cuDriverGetVersion"},
    {true, 60, "cuMemcpyHtoDAsync"},
    {true, 126, "cuStreamSynchronize"},
    {true, 243, "cuMemAlloc_v2"},
    {true, 307, "cuLaunchKernel"},
    {true, MEM_MAP, "cuMemMap"},
    {true, 311, "cuProfilerInitialize"},
    {true, 450, "cuFuncSetAttribute"}, /* CUPTI leaves no large gaps */
    {true, 514, "cuGraphLaunch"},
};

long mock_setting(const char *name)
{
    const char *v = getenv(name);
    return v ? strtol(v, NULL, 10) : 0;
}

static uint32_t version(void)
{
    long v = mock_setting("MOCK_CUPTI_VERSION");
    return v ? (uint32_t)v : 130001;
}

static uint64_t now(void)
{
    CUpti_TimestampCallbackFunc clock = mock.clock;
    if (clock) return clock();
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* MOCK_CUPTI_NESTED=N: a call that is reported where it is entered but not where it is left stays, as
 * with CUPTI 13.0, which writes past the end of its memory after some twenty. Here the program ends at N. */
static void nest(bool reported, bool enter)
{
    enum { DEEP = 8 };
    static _Thread_local bool entered[DEEP]; /* of each call that runs: was that reported? */
    static _Thread_local unsigned level;
    static _Thread_local long kept;
    long most = mock_setting("MOCK_CUPTI_NESTED");
    if (!most) return;
    if (enter) {
        kept += entered[level++ % DEEP] = reported;
    } else if (level) {
        kept -= entered[--level % DEEP] && reported;
    }
    if (kept < most) return;
    fprintf(stderr, "mock: %ld calls were entered and not left\n", kept);
    _exit(71);
}

/* The subscriber, if that is what it asked for; another may come meanwhile. */
static void call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
        nest(mock.callback && mock.callbacks[domain][cbid],
             ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER);
    CUpti_CallbackFunc callback = mock.callback;
    if (callback && mock.callbacks[domain][cbid]) callback(NULL, domain, cbid, data);
}

/* ---- buffers ---- */

static size_t record_size(CUpti_ActivityKind kind)
{
    bool old = version() < 130000;
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return old ? sizeof(CUpti_ActivityKernel9) : sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return old ? sizeof(CUpti_ActivityMemcpy5) : sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return old ? sizeof(CUpti_ActivitySynchronization) : sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return old ? sizeof(CUpti_ActivityUnifiedMemoryCounter2)
                   : sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return old ? sizeof(CUpti_ActivityMemoryPool2) : sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return old ? sizeof(CUpti_ActivityGraphTrace) : sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_JIT: return old ? sizeof(CUpti_ActivityJit) : sizeof(CUpti_ActivityJit2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return old ? sizeof(CUpti_ActivityCudaEvent) : sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return old ? sizeof(CUpti_ActivityOverhead) : sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return old ? sizeof(CUpti_ActivityDevice4) : sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return old ? sizeof(CUpti_ActivityMemory3) : sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    default: return 0;
    }
}

static struct thread_buffer *my_buffer(void)
{
    if (mine) return mine;
    mine = calloc(1, sizeof *mine);
    pthread_mutex_init(&mine->lock, NULL);
    pthread_mutex_lock(&mock.lock);
    mine->next = mock.threads;
    mock.threads = mine;
    pthread_mutex_unlock(&mock.lock);
    return mine;
}

static void hand_back(struct thread_buffer *b)
{
    uint8_t *data = b->data;
    size_t valid = b->used;
    if (!data) return;
    b->data = NULL;
    b->unfinished = false;
    if (mock_setting("MOCK_CUPTI_TAIL")) valid = b->size;
    if (mock_setting("MOCK_CUPTI_CUT") && valid > 8) valid -= 8;
    CUpti_BuffersCallbackCompleteFunc completed = mock.completed;
    completed(NULL, 0, data, b->size, valid);
}

static void put(const void *record, bool unfinished)
{
    CUpti_ActivityKind kind;
    memcpy(&kind, record, sizeof kind);
    if (!mock.kinds[kind] && kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER)
        return;
    size_t size = record_size(kind), max_records = 0;
    struct thread_buffer *b = my_buffer();
    pthread_mutex_lock(&b->lock);
    if (b->missed && mock_setting("MOCK_CUPTI_MISSED")) {
        fprintf(stderr, "mock: a buffer was taken while its work ran\n");
        _exit(72);
    }
    if (b->data && b->size - b->used < size) hand_back(b);
    if (!b->data) {
        CUpti_BuffersCallbackRequestFunc requested = mock.requested;
        requested(&b->data, &b->size, &max_records);
        b->used = 0;
    }
    if (b->data && b->size >= size) {
        memcpy(b->data + b->used, record, mock.torn ? 60 : size); /* 60: a kernel's grid is cut in two */
        if (mock.torn) kill(getpid(), SIGKILL);
        b->used += size;
        b->unfinished |= unfinished;
    } else {
        mock.dropped++;
    }
    pthread_mutex_unlock(&b->lock);
}

/* ---- records ---- */

static void put_call(bool driver, uint32_t cbid, uint32_t correlation, uint64_t start, uint64_t end)
{
    CUpti_ActivityKind kind = driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
    CUpti_ActivityAPI a;
    if (!mock.calls[driver][cbid]) return;
    memset(&a, 0, sizeof a);
    a.kind = kind;
    a.cbid = cbid;
    a.start = start;
    a.end = end;
    a.processId = (uint32_t)getpid();
    a.threadId = (uint32_t)syscall(SYS_gettid);
    a.correlationId = correlation;
    put(&a, false);
}

bool mock_side_by_side(void) { return mock.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]; }

static void put_kernel(const struct mock_event *e, uint32_t correlation, uint64_t start, uint64_t end,
                       uint64_t node)
{
    CUpti_ActivityKernel10 k; /* Kernel9 is its beginning */
    memset(&k, 0, sizeof k);
    k.kind = mock_side_by_side() ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL;
    k.start = start;
    k.end = end;
    k.contextId = 1;
    k.streamId = e->stream;
    k.gridX = e->grid ? (int32_t)e->grid : 1;
    k.gridY = k.gridZ = 1;
    k.blockX = 128;
    k.blockY = k.blockZ = 1;
    k.registersPerThread = 32;
    k.staticSharedMemory = 16;
    k.dynamicSharedMemory = 1024;
    k.correlationId = correlation;
    k.name = e->kernel ? e->kernel : "kernel";
    if (node) {
        k.graphId = (uint32_t)(node >> 32);
        k.graphNodeId = node;
    }
    put(&k, !end);
}

static void put_copy(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    CUpti_ActivityMemcpy6 m;
    memset(&m, 0, sizeof m);
    m.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    m.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    m.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    m.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    m.bytes = e->bytes;
    m.start = start;
    m.end = start + 2000;
    m.contextId = 1;
    m.streamId = e->stream;
    m.correlationId = correlation;
    put(&m, false);
}

static void put_peer_copy(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    CUpti_ActivityMemcpyPtoP4 m;
    memset(&m, 0, sizeof m);
    m.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    m.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    m.srcKind = m.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    m.bytes = e->bytes;
    m.start = start;
    m.end = start + 2000;
    m.contextId = 1;
    m.streamId = e->stream;
    m.dstDeviceId = 1;
    m.correlationId = correlation;
    put(&m, false);
}

static void put_set(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    CUpti_ActivityMemset4 m;
    memset(&m, 0, sizeof m);
    m.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    m.bytes = e->bytes;
    m.start = start;
    m.end = start + 1000;
    m.contextId = 1;
    m.streamId = e->stream;
    m.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    m.correlationId = correlation;
    put(&m, false);
}

static void put_sync(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    CUpti_ActivitySynchronization2 s;
    memset(&s, 0, sizeof s);
    s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    s.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    s.start = start;
    s.end = start + 300;
    s.contextId = 1;
    s.streamId = e->stream;
    s.correlationId = correlation;
    put(&s, false);
    s.returnValue = 600; /* CUDA_ERROR_NOT_READY: cuStreamQuery() */
    if (!mock.no_queries) put(&s, false);
}

static void put_event(const struct mock_event *e, uint32_t correlation, uint64_t gpu_time)
{
    CUpti_ActivityCudaEvent2 v; /* CUpti_ActivityCudaEvent is its beginning */
    memset(&v, 0, sizeof v);
    v.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    v.correlationId = correlation;
    v.contextId = 1;
    v.streamId = e->stream;
    v.eventId = e->count;
    v.deviceTimestamp = mock.event_times ? gpu_time : 0;
    v.cudaEventSyncId = ++mock.events;
    mock.event_records[e->count % 16] = v.cudaEventSyncId;
    put(&v, false);
}

/* Waiting for an event: the host does, or with MOCK_STREAM_WAIT the stream. */
static void put_wait(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    bool stream = e->op == MOCK_STREAM_WAIT;
    CUpti_ActivitySynchronization2 s; /* CUpti_ActivitySynchronization is its beginning */
    memset(&s, 0, sizeof s);
    s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    s.type = stream ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT
                    : CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    s.start = start;
    s.end = start + 200;
    s.contextId = 1;
    s.streamId = stream ? e->stream : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    s.cudaEventId = e->count;
    s.cudaEventSyncId = mock.event_records[e->count % 16];
    s.correlationId = correlation;
    put(&s, false);
}

static void put_memory(const struct mock_event *e, uint32_t correlation, uint64_t time)
{
    static _Atomic uint64_t allocated;
    bool release = e->op == MOCK_FREE, host = e->op == MOCK_MALLOC_HOST, async = e->op == MOCK_MALLOC_ASYNC;
    CUpti_ActivityMemory4 m; /* Memory3 is its beginning */
    memset(&m, 0, sizeof m);
    m.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    m.memoryOperationType = release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                    : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    m.memoryKind = host ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    m.correlationId = correlation;
    m.address = 0x7f0000000000 + 0x1000 * (release ? e->count : ++allocated);
    m.bytes = e->bytes;
    m.timestamp = time;
    m.processId = (uint32_t)getpid();
    m.isAsync = async;
    if (mock.sources && !release && !host && !async) m.source = "/opt/lib/libmock\"s.so";
    if (async) {
        m.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        m.memoryPoolConfig.address = 0x1234;
        m.memoryPoolConfig.pool.size = e->count;
    }
    put(&m, false);
}

/* Counter COUNT of unified memory; transfers are of BYTES. */
static void put_unified(const struct mock_event *e, uint64_t start)
{
    CUpti_ActivityUnifiedMemoryCounter3 u; /* CUpti_ActivityUnifiedMemoryCounter2 is its beginning */
    memset(&u, 0, sizeof u);
    u.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    u.counterKind = (CUpti_ActivityUnifiedMemoryCounterKind)e->count;
    u.value = e->bytes;
    u.start = start;
    u.end =
        u.counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT ? 0 : start + 700;
    u.address = 0x7e0000000000;
    if (u.counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD)
        u.srcId = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
    if (u.counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH)
        u.dstId = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
    u.flags = 2; /* coherence; for faults a write */
    if (mock.unified[e->count]) put(&u, false);
}

/* A pool of 4096 bytes, of which 1000 are used, is created (COUNT 1), destroyed (2) or trimmed to 500 (3). */
static void put_pool(const struct mock_event *e, uint32_t correlation, uint64_t time)
{
    CUpti_ActivityMemoryPool3 p; /* CUpti_ActivityMemoryPool2 is its beginning */
    memset(&p, 0, sizeof p);
    p.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
    p.memoryPoolOperationType = (CUpti_ActivityMemoryPoolOperationType)e->count;
    p.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    p.correlationId = correlation;
    p.processId = (uint32_t)getpid();
    p.minBytesToKeep = 500;
    p.address = 0x1234;
    p.size = 4096;
    p.utilizedSize = 1000;
    p.timestamp = time;
    put(&p, false);
}

/* The whole graph, instead of its nodes. */
static void put_graph(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    CUpti_ActivityGraphTrace2 g; /* CUpti_ActivityGraphTrace is its beginning */
    memset(&g, 0, sizeof g);
    g.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    g.correlationId = correlation;
    g.start = start;
    g.end = start + 100 * (uint64_t)e->count;
    g.graphId = 5;
    g.contextId = 1;
    g.streamId = e->stream;
    put(&g, false);
}

static void put_jit(const struct mock_event *e, uint64_t start)
{
    CUpti_ActivityJit2 j; /* CUpti_ActivityJit is its beginning */
    memset(&j, 0, sizeof j);
    j.kind = CUPTI_ACTIVITY_KIND_JIT;
    j.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
    j.jitOperationType = (CUpti_ActivityJitOperationType)e->count;
    j.start = start;
    j.end = start + 5000;
    if (version() >= 130000) j.threadId = (uint32_t)syscall(SYS_gettid);
    put(&j, false);
}

static void put_overhead(CUpti_ActivityOverheadKind kind, uint64_t start)
{
    CUpti_ActivityOverhead3 o;
    memset(&o, 0, sizeof o);
    o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    o.overheadKind = kind;
    o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    o.objectId.pt.processId = (uint32_t)getpid();
    o.objectId.pt.threadId = (uint32_t)syscall(SYS_gettid);
    o.start = start;
    o.end = start + 100;
    if (version() >= 130000 && kind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
        o.overheadData = calloc(1, sizeof(CUpti_ActivityOverheadCommandBufferFullData));
    put(&o, false);
}

static void put_device(void)
{
    CUpti_ActivityDevice5 d;
    CUpti_ActivityContext3 c;
    memset(&d, 0, sizeof d);
    d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    d.globalMemoryBandwidth = 4800000000u / 1000; /* kB/s */
    d.globalMemorySize = (uint64_t)141 << 30;
    d.numMultiprocessors = 132;
    d.numThreadsPerWarp = 32;
    d.maxWarpsPerMultiprocessor = 64;
    d.computeCapabilityMajor = 9;
    d.coreClockRate = 1980000;
    d.uuid.bytes[0] = 0x42; /* that of the first GPU of mock_nvml.c */
    d.name = version() >= 130000 ? strdup("Mock H200") : "Mock H200";
    if (!mock.no_device) put(&d, false);
    memset(&c, 0, sizeof c);
    c.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    c.contextId = 1;
    put(&c, false);
    put_overhead(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, now());
}

static _Thread_local const struct mock_event *launching; /* what the calls of this thread launch */

static void call_back_with(bool driver, uint32_t cbid, uint32_t correlation, CUpti_ApiCallbackSite site,
                           const uintptr_t *params)
{
    CUpti_CallbackDomain domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    CUpti_CallbackData data;
    memset(&data, 0, sizeof data);
    data.callbackSite = site;
    data.correlationId = correlation;
    data.functionParams = params;
    data.context = (CUcontext)(void *)&mock;
    data.contextUid = 1;
    /* as cuLaunchKernel has them */
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void *stream;
    } launched = {NULL, {launching ? launching->grid : 0, 1, 1}, {128, 1, 1}, 0, NULL};
    data.functionName = driver && cbid == 514 ? "cuGraphLaunch" : "cuLaunchKernel";
    data.symbolName = launching ? launching->kernel : NULL;
    if (launching && driver) data.functionParams = &launched;
    call(domain, cbid, &data);
}

static void call_back(bool driver, uint32_t cbid, uint32_t correlation, CUpti_ApiCallbackSite site)
{
    call_back_with(driver, cbid, correlation, site, NULL);
}

/* A call of the runtime and the one of the driver in it, where that is not 0: both have the same
 * parameters. */
static void both_call_back(uint32_t runtime, uint32_t driver, uint32_t correlation, uintptr_t a, uintptr_t b)
{
    uintptr_t params[] = {a, b};
    call_back_with(false, runtime, correlation, CUPTI_API_ENTER, params);
    if (driver) call_back_with(true, driver, correlation, CUPTI_API_ENTER, params);
    if (driver) call_back_with(true, driver, correlation, CUPTI_API_EXIT, params);
    call_back_with(false, runtime, correlation, CUPTI_API_EXIT, params);
}

static _Thread_local bool capturing;
static _Thread_local bool measured; /* the launch before: its record has no times */

/* Streams and events have handles that are their numbers, events' with HANDLE added. */
enum { HANDLE = 0x7000 };

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    (void)per_thread;
    *id = (uint32_t)(uintptr_t)stream;
    return CUPTI_SUCCESS;
}

static void spend(long ns)
{
    for (uint64_t end = now() + (uint64_t)ns; ns && now() < end;) continue;
}

/* A launch, by the runtime unless that is 0, and by the driver: is its kernel recorded? That is settled when
 * the launch begins, for the call when it ends. */
static bool launch(uint32_t runtime, uint32_t driver, uint32_t correlation, const struct mock_event *e)
{
    launching = driver == 307 ? e : NULL;
    if (runtime) call_back(false, runtime, correlation, CUPTI_API_ENTER);
    call_back(true, driver, correlation, CUPTI_API_ENTER);
    bool recorded = mock_side_by_side() || mock.kinds[CUPTI_ACTIVITY_KIND_KERNEL];
    if (recorded) spend(mock_setting("MOCK_CUPTI_COST"));
    measured = e && driver == 307 && mock_perfworks_launch(e->kernel, e->grid);
    if (e && driver == 307) mock_pc_launch(e->kernel, correlation);
    call_back(true, driver, correlation, CUPTI_API_EXIT);
    if (runtime) call_back(false, runtime, correlation, CUPTI_API_EXIT);
    launching = NULL;
    return recorded;
}

/* ---- graphs ----
 * As CUDA does it: whatever has nodes gives each of them an id of its own, a clone is created first and
 * called one then, and the records of a replay have the ids of the graph that was launched. */

enum { MAX_GRAPHS = 64, MAX_NODES = 4096 };

static struct {
    pthread_mutex_t lock;
    struct graph {
        uint32_t nodes;
        const char *kernel[MAX_NODES];
        uint64_t id[MAX_NODES];
        unsigned with; /* the presence of CUPTI in which it was made, from 1 on; 0: without */
    } graph[MAX_GRAPHS];
    uint64_t nodes; /* in all */
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tell_node(CUpti_CallbackIdResource what, uint64_t *node, uint64_t *original)
{
    CUpti_GraphData data;
    CUpti_ResourceData resource;
    memset(&data, 0, sizeof data);
    memset(&resource, 0, sizeof resource);
    data.node = (CUgraphNode)(void *)node;
    data.originalNode = (CUgraphNode)(void *)original;
    resource.resourceDescriptor = &data;
    call(CUPTI_CB_DOMAIN_RESOURCE, what, &resource);
}

static uint64_t *add_node(uint32_t graph, const char *kernel)
{
    pthread_mutex_lock(&graphs.lock);
    struct graph *g = &graphs.graph[graph % MAX_GRAPHS];
    uint32_t n = g->nodes < MAX_NODES ? g->nodes++ : MAX_NODES - 1;
    g->kernel[n] = kernel;
    g->with = mock.subscribed ? mock.finalized + 1 : 0;
    g->id[n] = (uint64_t)(graph + 1) << 32 | ++graphs.nodes;
    pthread_mutex_unlock(&graphs.lock);
    tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &g->id[n], NULL);
    return &g->id[n];
}

static void capture(const struct mock_event *e) { add_node(e->count, e->kernel); }

static void instantiate(const struct mock_event *e)
{
    struct graph *from = &graphs.graph[e->bytes % MAX_GRAPHS];
    for (uint32_t i = 0; i < from->nodes; i++)
        tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, add_node(e->count, from->kernel[i]), &from->id[i]);
}

/* What CUPTI has put into a graph must not run once it has left. */
static void run_graph(const struct mock_event *e)
{
    unsigned with = graphs.graph[e->count % MAX_GRAPHS].with;
    if (!with || with == mock.finalized + 1) return;
    fprintf(stderr, "mock: a graph needs CUPTI, which has left\n");
    _exit(73);
}

/* The kernels take 100, 200, 300, ... ns. */
static void replay(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    const struct graph *g = &graphs.graph[e->count % MAX_GRAPHS];
    for (uint32_t i = 0; i < g->nodes; i++) {
        struct mock_event kernel = {.stream = e->stream, .kernel = g->kernel[i]};
        mock_pc_launch(kernel.kernel, correlation);
        uint64_t end = start + 100 * (i + 1);
        put_kernel(&kernel, correlation, start, end, g->id[i]);
        start = end + 50;
    }
}

static void go_wrong(const struct mock_event *e, uint32_t correlation, uint64_t start)
{
    mock.torn = e->op == MOCK_TORN;
    if (mock.torn) put_kernel(e, correlation, start + 1500, start + 2500, 0);
    else put_call(false, 505, correlation, start, start + 1000);
}

static void wait_and_call_back(const struct mock_event *e, uint32_t correlation)
{
    struct timespec t = {.tv_sec = (time_t)(e->bytes / 1000000000), .tv_nsec = (long)(e->bytes % 1000000000)};
    uintptr_t params[] = {e->stream, 0};
    call_back_with(false, 131, correlation, CUPTI_API_ENTER, params);
    call_back_with(true, 126, correlation, CUPTI_API_ENTER, params);
    if (e->bytes) nanosleep(&t, NULL);
    call_back_with(true, 126, correlation, CUPTI_API_EXIT, params);
    call_back_with(false, 131, correlation, CUPTI_API_EXIT, params);
}

/* Waits, events and captures: in a capture none of them happens. */
static void on_wait(const struct mock_event *e, uint32_t c, uint64_t t)
{
    switch (e->op) {
    case MOCK_SYNC:
        wait_and_call_back(e, c);
        put_call(true, 126, c, t + 50, t + 350 + e->bytes);
        put_call(false, 131, c, t, t + 400 + e->bytes);
        put_sync(e, c, t + 60);
        break;
    case MOCK_EVENT_RECORD:
        put_call(false, 135, c, t, t + 300);
        both_call_back(135, 0, c, HANDLE + e->count, e->stream);
        if (!capturing) put_event(e, c, t + 5000);
        break;
    case MOCK_STREAM_WAIT:
    case MOCK_EVENT_SYNC:
        put_call(false, e->op == MOCK_STREAM_WAIT ? 147 : 137, c, t, t + 400);
        if (e->op == MOCK_STREAM_WAIT) both_call_back(147, 0, c, e->stream, HANDLE + e->count);
        else both_call_back(137, 0, c, HANDLE + e->count, 0);
        if (!capturing) put_wait(e, c, t + 100);
        break;
    case MOCK_CAPTURING:
        capturing = e->count;
        both_call_back(e->count ? 287 : 289, 0, c, e->stream, 0);
        break;
    default: break;
    }
}

static void trim(uint32_t c, uint64_t t)
{
    both_call_back(388, 0, c, 0, 0);
    put_call(false, 388, c, t, t + 300);
}

static void on_memory(const struct mock_event *e, uint32_t c, uint64_t t)
{
    bool driver = e->op == MOCK_MAP;
    uint32_t cbid = driver ? MEM_MAP : e->op == MOCK_FREE ? 22 : e->op == MOCK_MALLOC_HOST ? 27 : 400;
    call_back(driver, cbid, c, CUPTI_API_ENTER);
    call_back(driver, cbid, c, CUPTI_API_EXIT);
    put_call(driver, cbid, c, t, t + 700);
    put_memory(e, c, t + 200);
}

static void launch_kernel(const struct mock_event *e, uint32_t c, uint64_t t)
{
    bool recorded = launch(505, 307, c, e) && !mock_setting("MOCK_METRICS_QUIET");
    bool timed = e->op != MOCK_BAD_TIME && !measured, ends = timed && e->op != MOCK_STUCK;
    put_call(true, 307, c, t + 100, t + 900);
    put_call(false, 505, c, t, t + 1000);
    if (!recorded) return;
    uint64_t start = e->op == MOCK_EARLY ? t - 500 : t + 1500, end = t + 1500 + (e->bytes ? e->bytes : 1000);
    put_kernel(e, c, timed ? start : 0, ends ? end : 0, 0);
}

/* The first context, and the code that is loaded into it. */
static void create_context(void)
{
    CUpti_ResourceData r = {.context = (CUcontext)(void *)&mock};
    call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &r);
    for (unsigned i = 0; i < 2; i++) {
        CUpti_ModuleResourceData m = {i + 1, sizeof mock_pc_code[i], mock_pc_code[i]};
        r.resourceDescriptor = &m;
        call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &r);
    }
}

/* cuDriverGetVersion() */
static void on_version(void)
{
    call_back(true, 2, 0, CUPTI_API_ENTER);
    at_end = true;
    call_back(true, 2, 0, CUPTI_API_EXIT);
    at_end = false;
}

static void on_event(const struct mock_event *e)
{
    if (e->op == MOCK_VERSION) {
        on_version();
        return;
    }
    pthread_mutex_lock(&mock.lock);
    bool first = !mock.device_told;
    mock.device_told = true;
    pthread_mutex_unlock(&mock.lock);
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* launches are in a context that is there */
    pthread_once(&once, create_context);
    if (first) put_device();
    uint32_t c = ++mock.correlation;
    uint64_t t = now();
    bool recorded;
    switch (e->op) {
    case MOCK_VERSION: break;
    case MOCK_FAILED:
    case MOCK_TORN: go_wrong(e, c, t); break;
    case MOCK_LAUNCH:
    case MOCK_STUCK:
    case MOCK_BAD_TIME:
    case MOCK_EARLY: launch_kernel(e, c, t); break;
    case MOCK_DRIVER_LAUNCH:
        recorded = launch(0, 307, c, e);
        put_call(true, 307, c, t, t + 1000);
        if (recorded) put_kernel(e, c, measured ? 0 : t + 1500, measured ? 0 : t + 2500, 0);
        break;
    case MOCK_COPY:
        both_call_back(41, 0, c, 0, 0);
        put_call(false, 41, c, t, t + 1000);
        put_copy(e, c, t + 1200);
        break;
    case MOCK_PEER_COPY:
        both_call_back(161, 0, c, 0, 0);
        put_call(false, 161, c, t, t + 1000);
        put_peer_copy(e, c, t + 1200);
        break;
    case MOCK_SET:
        both_call_back(51, 0, c, 0, 0);
        put_call(false, 51, c, t, t + 1000);
        put_set(e, c, t + 1200);
        break;
    case MOCK_GRAPH:
        recorded = launch(311, 514, c, NULL);
        mock.graph_ran |= recorded;
        put_call(true, 514, c, t + 100, t + 900);
        put_call(false, 311, c, t, t + 1000);
        if (recorded && mock.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]) put_graph(e, c, t + 1500);
        else
            for (uint32_t i = 0; recorded && i < e->count; i++)
                put_kernel(e, c, t + 1500 + 100 * i, t + 1590 + 100 * i, (uint64_t)5 << 32 | (i + 1));
        break;
    case MOCK_CAPTURE: capture(e); break;
    case MOCK_INSTANTIATE: instantiate(e); break;
    case MOCK_REPLAY:
        run_graph(e);
        recorded = launch(311, 514, c, NULL);
        mock.graph_ran |= recorded;
        put_call(true, 514, c, t + 100, t + 900);
        put_call(false, 311, c, t, t + 1000);
        if (recorded) replay(e, c, t + 1500);
        break;
    case MOCK_UNIFIED: put_unified(e, t); break;
    case MOCK_POOL:
        if (e->count == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED) trim(c, t);
        put_pool(e, c, t + 100);
        break;
    case MOCK_JIT: put_jit(e, t); break;
    case MOCK_LOAD: put_overhead((CUpti_ActivityOverheadKind)(e->count << 16), t); break;
    case MOCK_SYNC:
    case MOCK_EVENT_RECORD:
    case MOCK_STREAM_WAIT:
    case MOCK_EVENT_SYNC:
    case MOCK_CAPTURING: on_wait(e, c, t); break;
    case MOCK_MALLOC:
        both_call_back(20, 243, c, 0, 0);
        put_call(true, 243, c, t + 100, t + 600);
        put_call(false, 20, c, t, t + 700);
        put_memory(e, c, t + 200);
        break;
    case MOCK_MAP:
    case MOCK_FREE:
    case MOCK_MALLOC_HOST:
    case MOCK_MALLOC_ASYNC: on_memory(e, c, t); break;
    case MOCK_RESET:
        call_back(false, 164, c, CUPTI_API_ENTER);
        put_call(false, 164, c, t, t + 700);
        break;
    case MOCK_PROFILER_START:
    case MOCK_PROFILER_STOP: {
        uint32_t cbid = e->op == MOCK_PROFILER_START ? 70 : 71;
        call_back(false, cbid, c, CUPTI_API_ENTER);
        call_back(false, cbid, c, CUPTI_API_EXIT);
        put_call(false, cbid, c, t, t + 700);
        break;
    }
    }
}

static void on_up(void)
{
    mock.up = true;
    call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL);
}

/* Whatever has not been flushed by now is gone. */
static void on_down(void) { mock.down = true; }

/* ---- what the collector calls ---- */

__attribute__((constructor)) static void attach(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (*to_cuda)(void (*)(const struct mock_event *), void (*)(void), void (*)(void));
    void *p = lib ? dlsym(lib, "mock_attach") : NULL;
    memcpy(&to_cuda, &p, sizeof to_cuda);
    if (to_cuda) to_cuda(on_event, on_up, on_down);
    mock.dropped = (size_t)mock_setting("MOCK_CUPTI_DROP");
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata)
{
    (void)userdata;
    if (getenv("MOCK_CUPTI_HOLDER") || mock.subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    mock.subscribed = true;
    mock.callback = callback;
    *subscriber = (CUpti_SubscriberHandle)(void *)&mock;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata,
                              CUpti_SubscriberParams *params)
{
    const char *holder = getenv("MOCK_CUPTI_HOLDER");
    if (params && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (holder && params && params->oldSubscriberName && params->oldSubscriberSize)
        strncpy(params->oldSubscriberName, holder, params->oldSubscriberSize - 1);
    return cuptiSubscribe(subscriber, callback, userdata);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    mock.subscribed = false;
    return CUPTI_SUCCESS;
}

/* Where a call ends, everything is as if nobody had ever come. */
CUptiResult cuptiFinalize(void)
{
    if (!at_end) abort();
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    mock.subscribed = false;
    mock.finalized++;
    for (int i = 0; i < MAX_KIND; i++) mock.kinds[i] = false;
    for (int i = 0; i < MAX_CBID; i++) {
        mock.calls[0][i] = mock.calls[1][i] = false;
        for (int d = 0; d < CUPTI_CB_DOMAIN_SIZE; d++) mock.callbacks[d][i] = false;
    }
    for (size_t i = 0; i < sizeof mock.unified / sizeof *mock.unified; i++) mock.unified[i] = false;
    mock.event_times = mock.sources = mock.no_queries = false;
    CUpti_TimestampCallbackFunc none = NULL;
    mock.clock = none;
    mock.correlation = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *v)
{
    *v = version();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].driver != (domain == CUPTI_CB_DOMAIN_DRIVER_API) || calls[i].cbid != cbid) continue;
        *name = calls[i].name;
        return CUPTI_SUCCESS;
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    (void)subscriber;
    if (cbid >= MAX_CBID) return CUPTI_ERROR_INVALID_PARAMETER;
    mock.callbacks[domain][cbid] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllocationSource(uint8_t enable)
{
    mock.sources = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *size, void *value)
{
    (void)attr;
    return *size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

uint64_t mock_now(void)
{
    CUpti_TimestampCallbackFunc clock = mock.clock;
    return clock ? clock() : 1;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc f)
{
    mock.clock = f;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    mock.requested = requested;
    mock.completed = completed;
    return CUPTI_SUCCESS;
}

/* These two kinds are all single calls. */
static void set_calls(CUpti_ActivityKind kind, bool on)
{
    if (kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER) return;
    for (unsigned i = 0; i < MAX_CBID; i++) mock.calls[kind == CUPTI_ACTIVITY_KIND_DRIVER][i] = on;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if ((int)kind >= MAX_KIND) return CUPTI_ERROR_INVALID_KIND;
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && mock_setting("MOCK_CUPTI_REFUSE"))
        return CUPTI_ERROR_NOT_COMPATIBLE;
    if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && mock.graph_ran) abort(); /* as CUPTI 13.0 does */
    if ((kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) &&
        mock_setting("MOCK_CUPTI_NO_WHOLE"))
        return CUPTI_ERROR_NOT_COMPATIBLE;
    set_calls(kind, true);
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE && mock.up) mock.no_device = mock_setting("MOCK_CUPTI_NO_DEVICE");
    mock.kinds[kind] = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    mock.no_queries = !enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
                                                       uint32_t count)
{
    if (!mock.up) return CUPTI_ERROR_NOT_INITIALIZED; /* what it says before CUDA is */
    for (uint32_t i = 0; i < count; i++) {
        if (config[i].kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING)
            return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE;
        mock.unified[config[i].kind] = config[i].enable != 0;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    mock.event_times = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    if ((int)kind >= MAX_KIND) return CUPTI_ERROR_INVALID_KIND;
    set_calls(kind, false);
    mock.kinds[kind] = false;
    return CUPTI_SUCCESS;
}

/* Once CUDA is up it says yes and does nothing, unless some call of the domain is being recorded. */
static CUptiResult enable_call(bool driver, CUpti_CallbackId cbid, bool enable)
{
    if (cbid >= MAX_CBID) return CUPTI_ERROR_INVALID_PARAMETER;
    bool any = !mock.up;
    for (unsigned i = 0; i < MAX_CBID && !any; i++) any = mock.calls[driver][i];
    if (any || !enable) mock.calls[driver][cbid] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return enable_call(false, cbid, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return enable_call(true, cbid, enable);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    if (!node) return CUPTI_ERROR_INVALID_PARAMETER;
    *id = *(const uint64_t *)(const void *)node;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    bool forced = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
    long hang = mock_setting("MOCK_CUPTI_HANG");
    if (hang && (forced || hang > 1))
        for (;;) pause();
    if (mock.down) return CUPTI_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&mock.lock);
    struct thread_buffer *b = mock.threads;
    pthread_mutex_unlock(&mock.lock);
    for (; b; b = b->next) {
        pthread_mutex_lock(&b->lock);
        b->missed |= forced && b->unfinished;
        if (forced || !b->unfinished) hand_back(b);
        pthread_mutex_unlock(&b->lock);
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *at = buffer;
    if (*record) {
        CUpti_ActivityKind kind;
        memcpy(&kind, *record, sizeof kind);
        at = (uint8_t *)*record + record_size(kind);
    }
    size_t left = valid - (size_t)(at - buffer);
    if (left < sizeof(CUpti_ActivityKind)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    CUpti_ActivityKind kind;
    memcpy(&kind, at, sizeof kind);
    if (!record_size(kind)) return CUPTI_ERROR_INVALID_KIND;
    if (left < record_size(kind)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)at;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = atomic_exchange(&mock.dropped, 0);
    return CUPTI_SUCCESS;
}
