/* CUPTI: found and opened at run time, so that one build serves every version from 12 on. Only this file
 * knows it. */
#include "collect/inject/inject.h"

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cupti.h>
#include "collect/records.h"
#include "formats/base/str.h"

/* ---- the offsets in records.h must match the headers ---- */

#if CUPTI_API_VERSION >= 130000
#define STRUCT_KERNEL   CUpti_ActivityKernel10
#define STRUCT_MEMCPY   CUpti_ActivityMemcpy6
#define STRUCT_PEER     CUpti_ActivityMemcpyPtoP4
#define STRUCT_MEMSET   CUpti_ActivityMemset4
#define STRUCT_MEMORY   CUpti_ActivityMemory4
#define STRUCT_CALL     CUpti_ActivityAPI
#define STRUCT_SYNC     CUpti_ActivitySynchronization2
#define STRUCT_EVENT    CUpti_ActivityCudaEvent2
#define STRUCT_UNIFIED  CUpti_ActivityUnifiedMemoryCounter3
#define STRUCT_POOL     CUpti_ActivityMemoryPool3
#define STRUCT_JIT      CUpti_ActivityJit2
#define STRUCT_GRAPH    CUpti_ActivityGraphTrace2
#define STRUCT_OVERHEAD CUpti_ActivityOverhead3
#define STRUCT_CONTEXT  CUpti_ActivityContext3
#define STRUCT_DEVICE   CUpti_ActivityDevice5
#define X(record, field, offset)                                                                             \
    _Static_assert(offsetof(STRUCT_##record, field) == (offset), #record "." #field " has moved");
GP_OFFSETS(X)
#undef X
#endif
_Static_assert((int)GP_ACTIVITY_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)GP_ACTIVITY_SYNCHRONIZATION == (int)CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "kind");
_Static_assert((int)GP_ACTIVITY_UNIFIED_MEMORY == (int)CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, "kind");
_Static_assert((int)GP_ACTIVITY_MEMORY_POOL == (int)CUPTI_ACTIVITY_KIND_MEMORY_POOL, "kind");
_Static_assert((int)GP_ACTIVITY_GRAPH_TRACE == (int)CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "kind");
_Static_assert((int)GP_ACTIVITY_JIT == (int)CUPTI_ACTIVITY_KIND_JIT, "kind");
_Static_assert((int)GP_ACTIVITY_CUDA_EVENT == (int)CUPTI_ACTIVITY_KIND_CUDA_EVENT, "kind");
_Static_assert((int)GP_ACTIVITY_MEMORY2 == (int)CUPTI_ACTIVITY_KIND_MEMORY2, "kind");
_Static_assert((int)GP_ACTIVITY_OVERHEAD == (int)CUPTI_ACTIVITY_KIND_OVERHEAD, "kind");
_Static_assert((int)GP_WAIT_CONTEXT == (int)CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, "wait");

enum { MAX_CBID = 2048, MAX_GAP = 200, ATTR_PER_THREAD_BUFFER = 9, FIRST_REQUESTS = 16 };

/* The required functions, and those that some versions lack. */
#define NEEDED(X)                                                                                            \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiEnableCallback)                                                                                   \
    X(cuptiGetVersion)                                                                                       \
    X(cuptiGetCallbackName)                                                                                  \
    X(cuptiActivitySetAttribute)                                                                             \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityGetNumDroppedRecords)
#define OPTIONAL(X)                                                                                          \
    X(cuptiSetThreadIdType)                                                                                  \
    X(cuptiActivityRegisterTimestampCallback)                                                                \
    X(cuptiActivityEnableAllocationSource)                                                                   \
    X(cuptiActivityEnableRuntimeApi)                                                                         \
    X(cuptiActivityEnableDriverApi)                                                                          \
    X(cuptiActivityConfigureUnifiedMemoryCounter)                                                            \
    X(cuptiUnsubscribe)                                                                                      \
    X(cuptiGetGraphNodeId)                                                                                   \
    X(cuptiGetStreamIdEx)                                                                                    \
    X(cuptiGetResultString)

typedef CUptiResult(CUPTIAPI *subscribe_v2_fn)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, void *);

/* The parameter of cuptiSubscribe_v2; declared here because the headers of CUPTI 12 do not have it. */
struct subscriber_params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_size;
};

static struct {
#define X(fn) __typeof__(&(fn)) fn;
    NEEDED(X)
    OPTIONAL(X)
#undef X
    subscribe_v2_fn subscribe_v2;
    /* cuptiActivityEnableAllSyncRecords and cuptiActivityEnableCudaEventDeviceTimestamps, not in all headers */
    CUptiResult(CUPTIAPI *enable_all_syncs)(uint8_t enable);
    CUptiResult(CUPTIAPI *enable_event_times)(uint8_t enable);
    CUpti_SubscriberHandle subscriber;
    uint32_t version;
    struct gp_pool *pool;
    struct gp_shared *shared;
    enum gp_api_level api;
    bool memory, whole_graphs, budget;
    bool one_by_one; /* as in gp_tracer_opts */
    void (*is_up)(void);
    uint8_t hooks[2][MAX_CBID];   /* enum hook; runtime, driver */
    bool wanted[2][MAX_CBID];     /* calls that are recorded */
    uint8_t classes[2][MAX_CBID]; /* enum gp_call_class */
    uint32_t unused[2];           /* a call that programs do not make, 0: unknown */
    bool primed;                  /* CUPTI takes orders about single calls, even now */
    _Atomic bool noting;          /* by us, at both ends of each */
    _Atomic bool counting;        /* launches are counted */
    _Atomic bool measuring;       /* hardware counters are read of them */
    _Atomic bool timing;          /* they are timed, to find out what recording costs */
    _Atomic uint32_t left_out;    /* enum gp_budget_part, as bits */
    void *library;
    _Atomic bool recording, unified; /* unified: the counters of unified memory are configured */
    _Atomic bool up;                 /* cuInit() is over */
    _Atomic bool stopped, forked;
    _Atomic bool lent; /* CUPTI is free for others */
    bool opened;       /* subscribed, for the first time */
    bool called;       /* the calls have been found and logged */
    char holder[128];  /* who has CUPTI instead */
    bool held;
    _Atomic unsigned requests; /* the first of them */
    _Atomic unsigned period;   /* of recording */
} cupti;

/* Calls at which there is something to do. */
enum hook {
    HOOK_NONE,
    HOOK_RESET,
    HOOK_PROFILER_START,
    HOOK_PROFILER_STOP,
    HOOK_LAUNCH,
    HOOK_CAPTURE_BEGIN,
    HOOK_CAPTURE_END,
    HOOK_WAIT, /* and on: by the entry of waiting[] */
};

/* The calls that wait, or record what others wait for, by the beginning of their names, and the indices of
 * stream and event among their parameters, -1 none. */
static const struct {
    const char *runtime, *driver;
    enum gp_wait type;
    int stream, event;
} waiting[] = {
    {"cudaStreamSynchronize", "cuStreamSynchronize", GP_WAIT_STREAM, 0, -1},
    {"cudaDeviceSynchronize", "cuCtxSynchronize", GP_WAIT_CONTEXT, -1, -1},
    {"cudaEventSynchronize", "cuEventSynchronize", GP_WAIT_EVENT, -1, 0},
    {"cudaStreamWaitEvent", "cuStreamWaitEvent", GP_WAIT_STREAM_EVENT, 0, 1},
    {"cudaEventRecord", "cuEventRecord", GP_WAIT_RECORD, 1, 0},
};

static bool is_left_out(uint32_t parts)
{
    return atomic_load_explicit(&cupti.left_out, memory_order_relaxed) & parts;
}

static CUpti_CallbackDomain domain_of(bool driver)
{
    return driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
}

static CUpti_ActivityKind kind_of_calls(bool driver)
{
    return driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
}

static const char *result_text(CUptiResult rc)
{
    const char *text = NULL;
    if (cupti.cuptiGetResultString) cupti.cuptiGetResultString(rc, &text);
    return text ? text : "";
}

/* ---- finding the library ---- */

enum { MAX_CANDIDATES = 64 };

struct candidates {
    char *path[MAX_CANDIDATES];
    size_t n, mapped; /* the first MAPPED are already in the process */
};

static void add_candidate(struct candidates *c, const char *dir, size_t dir_len, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s%s", (int)dir_len, dir, name);
    if (n <= 0 || (size_t)n >= sizeof path || c->n == MAX_CANDIDATES) return;
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->path[i], path)) return;
    char *copy = strdup(path);
    if (copy) c->path[c->n++] = copy;
}

static int find_mapped(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (slash && gp_starts(slash, "/libcupti.so"))
        add_candidate(ctx, info->dlpi_name, strlen(info->dlpi_name), "");
    return 0;
}

/* Python wheels: .../site-packages/{torch/lib,nvidia/cuda_runtime/lib,nvidia/cu13/lib}/libX.so is mapped, and
 * CUPTI lies in .../site-packages/nvidia/. */
static int find_wheel(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    const char *path = info->dlpi_name;
    const char *at = path ? strstr(path, "/nvidia/cu") : NULL;
    if (!at && path) at = strstr(path, "/torch/lib/");
    if (!at) return 0;
    size_t n = (size_t)(at - path);
    add_candidate(ctx, path, n, "/nvidia/cu13/lib/libcupti.so.13");
    add_candidate(ctx, path, n, "/nvidia/cuda_cupti/lib/libcupti.so.13");
    add_candidate(ctx, path, n, "/nvidia/cuda_cupti/lib/libcupti.so.12");
    return 0;
}

static void add_toolkit(struct candidates *c, const char *home)
{
    static const char *const names[] = {
        "/lib64/libcupti.so.13",
        "/lib/libcupti.so.13",
        "/extras/CUPTI/lib64/libcupti.so.13",
        "/targets/x86_64-linux/lib/libcupti.so.13",
        "/targets/sbsa-linux/lib/libcupti.so.13",
        "/lib64/libcupti.so.12",
        "/extras/CUPTI/lib64/libcupti.so.12",
        "/targets/x86_64-linux/lib/libcupti.so.12",
    };
    if (!home || !*home) return;
    for (size_t i = 0; i < GP_COUNT(names); i++) add_candidate(c, home, strlen(home), names[i]);
}

static void list_candidates(struct candidates *c)
{
    const char *chosen = getenv(GP_ENV_LIBCUPTI);
    memset(c, 0, sizeof *c);
    dl_iterate_phdr(find_mapped, c);
    c->mapped = c->n;
    if (chosen && *chosen) add_candidate(c, chosen, strlen(chosen), "");
    dl_iterate_phdr(find_wheel, c);
    add_toolkit(c, getenv("CUDA_HOME"));
    add_toolkit(c, getenv("CUDA_PATH"));
    add_toolkit(c, "/usr/local/cuda");
    add_candidate(c, GP_TEXT("libcupti.so.13"), "");
    add_candidate(c, GP_TEXT("libcupti.so.12"), "");
}

static void load_symbol(void *lib, const char *name, void *to)
{
    void *p = dlsym(lib, name);
    memcpy(to, &p, sizeof p);
}

static bool load_symbols(void *lib, const char *path)
{
    cupti.library = lib;
#define X(fn) load_symbol(lib, #fn, &cupti.fn);
    NEEDED(X)
    OPTIONAL(X)
#undef X
    load_symbol(lib, "cuptiSubscribe_v2", &cupti.subscribe_v2);
    load_symbol(lib, "cuptiActivityEnableAllSyncRecords", &cupti.enable_all_syncs);
    load_symbol(lib, "cuptiActivityEnableCudaEventDeviceTimestamps", &cupti.enable_event_times);
#define X(fn)                                                                                                \
    if (!cupti.fn) {                                                                                         \
        gp_debug("%s: has no %s", path, #fn);                                                                \
        return false;                                                                                        \
    }
    NEEDED(X)
#undef X
    return cupti.cuptiGetVersion(&cupti.version) == CUPTI_SUCCESS;
}

/* ---- callbacks ---- */

/* A fork child cannot use CUDA, but CUPTI may try to record its failure. Nobody reads that. */
static uint8_t *private_buffer(void)
{
    void *m = mmap(NULL, gp_pool_buffer_bytes(cupti.pool), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return m == MAP_FAILED ? NULL : m;
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = atomic_load(&cupti.forked) ? private_buffer() : gp_pool_take(cupti.pool);
    *size = *buffer ? gp_pool_buffer_bytes(cupti.pool) : 0;
    *max_records = 0;
    if (atomic_load_explicit(&cupti.requests, memory_order_relaxed) >= FIRST_REQUESTS) return;
    atomic_fetch_add(&cupti.requests, 1);
    gp_inject_soon(); /* the first is new */
}

static void CUPTIAPI buffer_completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
                                      size_t valid)
{
    (void)ctx;
    (void)stream;
    if (!buffer || atomic_load(&cupti.forked)) return;
    if (!valid || atomic_load(&cupti.stopped)) {
        gp_pool_give(cupti.pool, buffer, valid ? size : 0);
        return;
    }
    gp_pool_fill(cupti.pool, buffer, valid < size ? valid : size);
    gp_inject_wake(false);
}

static uint64_t CUPTIAPI timestamp(void)
{
    return (uint64_t)gp_now_ns();
}

/* A node of a graph was created, or cloned from another one: an executable graph runs clones of the nodes
 * that were captured, and the records of its kernels have the ids of the clones. */
static void on_graph_node(bool cloned, const CUpti_GraphData *graph)
{
    uint64_t node = 0, original = 0;
    if (!graph || !graph->node || cupti.cuptiGetGraphNodeId(graph->node, &node) != CUPTI_SUCCESS) return;
    if (cloned && (!graph->originalNode ||
                   cupti.cuptiGetGraphNodeId(graph->originalNode, &original) != CUPTI_SUCCESS || !original))
        return;
    gp_nvtx_node(node, original);
}

static CUptiResult switch_kind(CUpti_ActivityKind kind, bool on)
{
    CUptiResult rc = on ? cupti.cuptiActivityEnable(kind) : cupti.cuptiActivityDisable(kind);
    if (rc != CUPTI_SUCCESS) gp_debug("activity kind %d: %d %s", (int)kind, (int)rc, result_text(rc));
    return rc;
}

/* Unified memory is enabled separately, one counter at a time, since devices lack some, and only after CUDA
 * is initialized. */
static void configure_unified(void)
{
    unsigned n = 0;
    if (!cupti.memory || !cupti.cuptiActivityConfigureUnifiedMemoryCounter || atomic_load(&cupti.unified))
        return;
    for (int kind = 1; kind < CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT; kind++) {
        CUpti_ActivityUnifiedMemoryCounterConfig c = {
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
            .kind = (CUpti_ActivityUnifiedMemoryCounterKind)kind,
            .enable = 1,
        };
        CUptiResult rc = cupti.cuptiActivityConfigureUnifiedMemoryCounter(&c, 1);
        n += rc == CUPTI_SUCCESS;
        if (rc != CUPTI_SUCCESS) gp_debug("unified memory counter %d: %d %s", kind, (int)rc, result_text(rc));
    }
    if (!n) return;
    atomic_store(&cupti.unified, true);
    if (atomic_load(&cupti.recording)) switch_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, true);
}

/* ---- waits ----
 * CUPTI's own records of waits would cost every launch a quarter of what the records of kernels cost, whether
 * anything waits or not; callbacks at these calls cost other calls nothing. */

/* Of this thread: driver calls inside a runtime call count as one, and what is captured does not happen. */
static _Thread_local struct {
    unsigned depth, capturing;
    unsigned period; /* in which the depth was counted: recording may stop inside a call */
    int64_t start_ns;
} waits;

static uint32_t stream_number(const CUpti_CallbackData *call, const void *stream)
{
    uint32_t number = UINT32_MAX;
    bool per_thread = strstr(call->functionName ? call->functionName : "", "_ptsz") != NULL;
    if (!cupti.cuptiGetStreamIdEx || !call->context ||
        cupti.cuptiGetStreamIdEx(call->context, (CUstream)(uintptr_t)stream, per_thread, &number) !=
            CUPTI_SUCCESS)
        return UINT32_MAX;
    return number;
}

/* ---- calls ----
 * Where CUPTI takes no orders about single calls, it records either all calls, of which a program in Python makes ten
 * for each launch, or none. So the calls that are wanted are noted here, at both of their ends. Of this thread: a
 * driver call inside a runtime call is part of it. */
static _Thread_local struct {
    unsigned depth, period;
    int64_t start_ns;
} calls;

static void call_begins(void)
{
    unsigned period = atomic_load_explicit(&cupti.period, memory_order_relaxed);
    if (calls.period != period) calls.depth = 0;
    calls.period = period;
    if (!calls.depth++) calls.start_ns = gp_now_ns();
}

static void call_ends(bool driver, uint32_t cbid, const CUpti_CallbackData *call)
{
    if (calls.period != atomic_load_explicit(&cupti.period, memory_order_relaxed)) return;
    if (!calls.depth || --calls.depth) return;
    struct gp_note_call c = {
        .end_ns = gp_now_ns(), .corr = call->correlationId, .cbid = cbid, .driver = driver};
    if (call->functionReturnValue) memcpy(&c.ret, call->functionReturnValue, sizeof c.ret);
    gp_nvtx_call(calls.start_ns, &c);
    uint8_t cls = cupti.classes[driver][cbid];
    if (cupti.budget && cls != GP_CALL_LAUNCH) /* launches have been counted and timed */
        gp_inject_budget_count(cls == GP_CALL_MEMORY ? GP_INJECT_ALLOCATION
                               : cls == GP_CALL_SYNC ? GP_INJECT_WAIT
                                                     : GP_INJECT_CALL);
}

/* From the beginning of a launch to that of the next one by the same thread: with all that is done for its record before, after and
 * beside the call. */
static void time_launch(void)
{
    static _Thread_local int64_t last_ns;
    static _Thread_local unsigned period;
    int64_t now_ns = gp_now_ns();
    unsigned now_period = atomic_load_explicit(&cupti.period, memory_order_relaxed);
    if (last_ns && period == now_period)
        gp_inject_budget_launch(atomic_load(&cupti.recording), now_ns - last_ns);
    last_ns = now_ns;
    period = now_period;
}

static void on_wait(unsigned which, const CUpti_CallbackData *call)
{
    unsigned period = atomic_load_explicit(&cupti.period, memory_order_relaxed);
    if (waits.period != period) waits.depth = 0;
    waits.period = period;
    if (call->callbackSite == CUPTI_API_ENTER) {
        if (!waits.depth++) waits.start_ns = gp_now_ns();
        return;
    }
    if (!waits.depth || --waits.depth || waits.capturing) return;
    const void *const *params = call->functionParams;
    int stream = waiting[which].stream, event = waiting[which].event;
    struct gp_note_wait w = {
        .end_ns = gp_now_ns(),
        .event = event >= 0 && params ? (uint64_t)(uintptr_t)params[event] : 0,
        .corr = call->correlationId,
        .context = call->contextUid,
        .stream = stream >= 0 && params ? stream_number(call, params[stream]) : UINT32_MAX,
        .type = waiting[which].type,
    };
    gp_nvtx_wait(waits.start_ns, &w);
    if (cupti.budget) gp_inject_budget_count(GP_INJECT_WAIT);
}

static void on_launch(bool enter, const CUpti_CallbackData *call)
{
    int result = 0;
    if (!enter && call->functionReturnValue) memcpy(&result, call->functionReturnValue, sizeof result);
    struct gp_launch_call l = {.context = call->context,
                               .corr = call->correlationId,
                               .failed = result != 0,
                               .call = call->functionName ? call->functionName : "",
                               .kernel = call->symbolName,
                               .params = call->functionParams};
    gp_inject_metrics_launch(enter, &l);
}

/* True if that was everything to do. */
static bool on_hook(uint8_t hook, const CUpti_CallbackData *call)
{
    bool enter = call->callbackSite == CUPTI_API_ENTER;
    if (hook == HOOK_PROFILER_START && !enter) gp_inject_profiler(true);
    if (hook == HOOK_PROFILER_STOP && enter) gp_inject_profiler(false);
    if (hook == HOOK_LAUNCH && atomic_load_explicit(&cupti.counting, memory_order_relaxed))
        gp_inject_launch(enter);
    if (hook == HOOK_LAUNCH && atomic_load_explicit(&cupti.measuring, memory_order_relaxed))
        on_launch(enter, call);
    if (hook == HOOK_LAUNCH && enter && atomic_load_explicit(&cupti.timing, memory_order_relaxed))
        time_launch();
    if (hook == HOOK_CAPTURE_BEGIN && enter) waits.capturing = 1;
    if (hook == HOOK_CAPTURE_END && !enter) waits.capturing = 0;
    if (hook >= HOOK_WAIT && !is_left_out(GP_BUDGET_EVENTS)) on_wait(hook - HOOK_WAIT, call);
    return (hook != HOOK_PROFILER_STOP && hook != HOOK_RESET) || !enter;
}

/* The call that begins a recording belongs to it, as does the one that ends it. */
static bool on_api(bool driver, uint32_t cbid, const CUpti_CallbackData *call)
{
    bool enter = call->callbackSite == CUPTI_API_ENTER;
    uint8_t hook = cbid < MAX_CBID ? cupti.hooks[driver][cbid] : HOOK_NONE;
    bool wanted = cbid < MAX_CBID && cupti.wanted[driver][cbid];
    if (wanted && !enter && atomic_load_explicit(&cupti.noting, memory_order_relaxed))
        call_ends(driver, cbid, call);
    bool done = on_hook(hook, call);
    if (wanted && enter && atomic_load_explicit(&cupti.noting, memory_order_relaxed)) call_begins();
    return done;
}

static void on_up(void)
{
    atomic_store(&cupti.up, true);
    configure_unified();
    cupti.is_up();
}

/* Events of CUDA that need action: it is initialized, or records may soon be out of reach. */
static void CUPTIAPI on_callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data)
{
    (void)userdata;
    if (atomic_load(&cupti.stopped)) return;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
        (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)) {
        on_graph_node(cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                      ((const CUpti_ResourceData *)data)->resourceDescriptor);
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        gp_inject_metrics_context_ends(((const CUpti_ResourceData *)data)->context);
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
        on_up();
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) {
        if (on_api(domain == CUPTI_CB_DOMAIN_DRIVER_API, cbid, data)) return;
    }
    cupti.cuptiActivityFlushAll(0);
    gp_inject_wake(true);
}

/* ---- subscribing ---- */

static CUptiResult subscribe(char *holder, size_t size)
{
    if (!cupti.subscribe_v2) return cupti.cuptiSubscribe(&cupti.subscriber, on_callback, NULL);
    struct subscriber_params p = {sizeof p, "gpuprof", holder, size};
    CUptiResult rc = cupti.subscribe_v2(&cupti.subscriber, on_callback, NULL, &p);
    if (rc == CUPTI_ERROR_INVALID_PARAMETER) rc = cupti.cuptiSubscribe(&cupti.subscriber, on_callback, NULL);
    return rc;
}

struct search {
    void *tried[MAX_CANDIDATES]; /* several paths can lead to one library */
    size_t n;
    char why[200]; /* the last failure */
};

static bool tried_before(struct search *s, void *lib)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->tried[i] == lib) return true;
    if (s->n < MAX_CANDIDATES) s->tried[s->n++] = lib;
    return false;
}

static void held_by(const char *holder)
{
    cupti.held = true;
    bool named = *holder && !strstr(holder, "<not provided>"); /* what CUPTI calls who gave no name */
    snprintf(cupti.holder, sizeof cupti.holder, "%s", named ? holder : "another tool");
    gp_say("CUPTI is held by %s: this process runs untraced", cupti.holder);
}

/* 1: subscribed; 0: try another; -1: another tool holds CUPTI. */
static int try_library(struct search *s, const char *path, bool mapped)
{
    char holder[128] = "";
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | (mapped ? RTLD_NOLOAD : 0));
    /* Unused ones stay open: unloading CUPTI is not safe. */
    if (!lib || tried_before(s, lib) || !load_symbols(lib, path)) return 0;
    CUptiResult rc = subscribe(holder, sizeof holder);
    holder[sizeof holder - 1] = 0;
    gp_debug("%s: CUPTI version %u%s, subscribe: %d %s", path, (unsigned)cupti.version,
             mapped ? ", already mapped" : "", (int)rc, result_text(rc));
    if (rc == CUPTI_SUCCESS) return 1;
    if (rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        held_by(holder);
        return -1;
    }
    snprintf(s->why, sizeof s->why, "%s (%d) from %s", result_text(rc), (int)rc, path);
    return 0;
}

static bool open_cupti(void)
{
    struct candidates c;
    struct search s = {.n = 0};
    list_candidates(&c);
    int rc = 0;
    for (size_t i = 0; i < c.n && !rc; i++) rc = try_library(&s, c.path[i], i < c.mapped);
    for (size_t i = 0; i < c.n; i++) free(c.path[i]);
    if (!rc && *s.why) gp_say("cannot subscribe to CUPTI: %s: this process runs untraced", s.why);
    else if (!rc) gp_say("no libcupti found (set %s): this process runs untraced", GP_ENV_LIBCUPTI);
    return rc > 0;
}

/* ---- enabling ---- */

static void set_attribute(CUpti_ActivityAttribute attr, uint64_t value, size_t size)
{
    CUptiResult rc = cupti.cuptiActivitySetAttribute(attr, &size, &value);
    if (rc != CUPTI_SUCCESS) gp_debug("attribute %d: %d %s", (int)attr, (int)rc, result_text(rc));
}

static unsigned find_hook(bool driver, const char *name)
{
    static const struct {
        const char *name;
        enum hook hook;
    } hooks[] = {{"cudaDeviceReset", HOOK_RESET},
                 {"cuDevicePrimaryCtxReset", HOOK_RESET},
                 {"cudaProfilerStart", HOOK_PROFILER_START},
                 {"cuProfilerStart", HOOK_PROFILER_START},
                 {"cudaProfilerStop", HOOK_PROFILER_STOP},
                 {"cuProfilerStop", HOOK_PROFILER_STOP},
                 {"cudaStreamBeginCapture", HOOK_CAPTURE_BEGIN},
                 {"cuStreamBeginCapture", HOOK_CAPTURE_BEGIN},
                 {"cudaStreamEndCapture", HOOK_CAPTURE_END},
                 {"cuStreamEndCapture", HOOK_CAPTURE_END}};
    for (size_t i = 0; i < GP_COUNT(hooks); i++)
        if (!strncmp(name, hooks[i].name, strlen(hooks[i].name))) return hooks[i].hook;
    for (unsigned i = 0; i < GP_COUNT(waiting); i++) {
        const char *begins = driver ? waiting[i].driver : waiting[i].runtime;
        if (!strncmp(name, begins, strlen(begins))) return HOOK_WAIT + i;
    }
    /* Every launch of the runtime goes through one of the driver. */
    return driver && gp_call_classify(name) == GP_CALL_LAUNCH ? HOOK_LAUNCH : HOOK_NONE;
}

static const char *call_name(bool driver, uint32_t cbid)
{
    const char *name = NULL;
    return cupti.cuptiGetCallbackName(domain_of(driver), cbid, &name) == CUPTI_SUCCESS ? name : NULL;
}

/* Walk the calls that this CUPTI knows, by name, so that those of later versions are included. */
static void find_calls(bool driver)
{
    unsigned gap = 0;
    for (uint32_t cbid = 1; cbid < MAX_CBID && gap < MAX_GAP; cbid++) {
        const char *name = call_name(driver, cbid);
        gap = name ? 0 : gap + 1;
        if (!name) continue;
        if (gp_starts(name, driver ? "cuProfilerInitialize" : "cudaProfilerInitialize"))
            cupti.unused[driver] = cbid;
        cupti.hooks[driver][cbid] = (uint8_t)find_hook(driver, name);
        cupti.classes[driver][cbid] = (uint8_t)gp_call_classify(name);
        cupti.wanted[driver][cbid] = gp_call_wanted(gp_call_classify(name), cupti.api, cupti.memory);
        if (cupti.wanted[driver][cbid] && !cupti.called)
            gp_shared_log(cupti.shared, driver ? GP_NAME_DRIVER : GP_NAME_RUNTIME, cbid, name);
        if (cupti.hooks[driver][cbid] != HOOK_NONE && cupti.hooks[driver][cbid] < HOOK_LAUNCH)
            cupti.cuptiEnableCallback(1, cupti.subscriber, domain_of(driver), cbid);
    }
}

static __typeof__(&cuptiActivityEnableRuntimeApi) call_switch(bool driver)
{
    return driver ? cupti.cuptiActivityEnableDriverApi : cupti.cuptiActivityEnableRuntimeApi;
}

/* Record one call that programs do not make, and no other one. Once CUDA is up, CUPTI takes no order about a single call if none is
 * recorded: all are switched on, and off again one by one. */
static bool prime_domain(bool driver, bool late)
{
    __typeof__(&cuptiActivityEnableRuntimeApi) enable = call_switch(driver);
    unsigned gap = 0;
    if (!enable || !cupti.unused[driver]) return false;
    if (late && switch_kind(kind_of_calls(driver), true) != CUPTI_SUCCESS) return false;
    for (uint32_t cbid = 1; late && cbid < MAX_CBID && gap < MAX_GAP; cbid++) {
        gap = call_name(driver, cbid) ? 0 : gap + 1;
        if (!gap && cbid != cupti.unused[driver]) enable(cbid, 0);
    }
    return enable(cupti.unused[driver], 1) == CUPTI_SUCCESS;
}

/* Let CUPTI take orders about single calls at any time. LATE: CUDA is up, and a call in which another thread is meanwhile may be
 * recorded, which the launcher leaves out. Seen with CUPTI 13.0. */
static void prime(bool late)
{
    enum { LEAST_VERSION = 130000 };
    cupti.primed = false;
    if (cupti.version < LEAST_VERSION) return;
    if (late && (cupti.budget || (cupti.api != GP_API_LEVEL_LAUNCH && cupti.api != GP_API_LEVEL_SYNC)))
        return;
    cupti.primed = prime_domain(false, late) && prime_domain(true, late);
}

/* Is the call reported to us for another reason than its own record? */
static bool has_other_use(bool driver, uint32_t cbid)
{
    uint8_t hook = cupti.hooks[driver][cbid];
    if (hook == HOOK_LAUNCH)
        return atomic_load(&cupti.counting) || atomic_load(&cupti.measuring) || atomic_load(&cupti.timing);
    if (hook >= HOOK_CAPTURE_BEGIN)
        return atomic_load(&cupti.recording) && cupti.api == GP_API_LEVEL_SYNC &&
               !is_left_out(GP_BUDGET_EVENTS);
    return hook != HOOK_NONE;
}

/* The part of the recording that the call belongs to. */
static uint32_t part_of(bool driver, uint32_t cbid)
{
    uint8_t cls = cupti.classes[driver][cbid];
    return GP_BUDGET_CALLS | (cls == GP_CALL_MEMORY ? GP_BUDGET_MEMORY : 0) |
           (cls == GP_CALL_SYNC ? GP_BUDGET_EVENTS : 0);
}

/* Report the calls that are wanted to us, or only those of them that are hooks. */
static unsigned note_calls(bool driver, bool on)
{
    unsigned n = 0;
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
        if (!cupti.wanted[driver][cbid]) continue;
        bool noted = on && !is_left_out(part_of(driver, cbid));
        n += cupti.cuptiEnableCallback(noted || has_other_use(driver, cbid), cupti.subscriber,
                                       domain_of(driver), cbid) == CUPTI_SUCCESS;
    }
    return n;
}

/* Switch the records of API calls; returns how many calls are switched one by one: by CUPTI, or, where it
 * accepts that and does nothing, by us. */
static unsigned switch_calls(bool driver, bool on)
{
    __typeof__(&cuptiActivityEnableRuntimeApi) enable = call_switch(driver);
    unsigned n = 0;
    if (cupti.api == GP_API_LEVEL_NONE) return 0;
    if (cupti.api == GP_API_LEVEL_ALL) switch_kind(kind_of_calls(driver), on);
    bool by_us = !enable || cupti.budget || (atomic_load(&cupti.up) && !cupti.primed);
    if (on && is_left_out(GP_BUDGET_CALLS)) return 0;
    if (cupti.api != GP_API_LEVEL_ALL && by_us && on) atomic_store(&cupti.noting, true);
    if (atomic_load(&cupti.noting)) n = note_calls(driver, on);
    if (!enable || (on && (by_us || cupti.api == GP_API_LEVEL_ALL))) return n;
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++)
        if (cupti.wanted[driver][cbid]) n += enable(cbid, on) == CUPTI_SUCCESS;
    return n;
}

static void call_back_at_launches(void)
{
    bool on = atomic_load(&cupti.counting) || atomic_load(&cupti.measuring) || atomic_load(&cupti.timing) ||
              atomic_load(&cupti.noting);
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++)
        if (cupti.hooks[1][cbid] == HOOK_LAUNCH)
            cupti.cuptiEnableCallback(on, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

void gp_tracer_count_launches(bool on)
{
    atomic_store(&cupti.counting, on);
    call_back_at_launches();
}

void gp_tracer_measure(void)
{
    atomic_store(&cupti.measuring, true);
    call_back_at_launches();
}

void gp_tracer_time_launches(bool on)
{
    atomic_store(&cupti.timing, on);
    call_back_at_launches();
}

void *gp_tracer_library(void)
{
    return cupti.library;
}

/* Copies and sets are always recorded with kernels: graphs have all three, and records that were not enabled
 * have been seen to fill CUPTI's device buffers. */
static const CUpti_ActivityKind beside_kernels[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY,   CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_JIT,
};

/* What the records refer to. */
static const CUpti_ActivityKind always[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,
    CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM,
};

/* With --api all, CUPTI records what waits for what, with the times of the GPU. */
static void switch_waits(bool on)
{
    atomic_fetch_add(&cupti.period, 1);
    for (int driver = 0; cupti.api == GP_API_LEVEL_SYNC && driver < 2; driver++)
        for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++)
            if (cupti.hooks[driver][cbid] >= HOOK_CAPTURE_BEGIN)
                cupti.cuptiEnableCallback(on, cupti.subscriber, domain_of(driver), cbid);
}

static void switch_memory(bool on)
{
    switch_kind(CUPTI_ACTIVITY_KIND_MEMORY2, on);
    if (cupti.cuptiActivityEnableAllocationSource && cupti.version >= 130000)
        cupti.cuptiActivityEnableAllocationSource(on);
    switch_kind(CUPTI_ACTIVITY_KIND_MEMORY_POOL, on);
}

static CUptiResult switch_kinds(bool on)
{
    /* To record kernels that run side by side CUPTI puts code into them: 8 instructions per warp and a store, which hardware counters
     * count, and times without the beginnings and ends. */
    CUptiResult rc = switch_kind(
        cupti.one_by_one ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, on);
    if (rc != CUPTI_SUCCESS && on) return rc;
    for (size_t i = 0; i < GP_COUNT(beside_kernels); i++) switch_kind(beside_kernels[i], on);
    atomic_store(&cupti.recording, on);
    if (cupti.whole_graphs) switch_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
    if (cupti.memory && !(on && is_left_out(GP_BUDGET_MEMORY))) switch_memory(on);
    if (atomic_load(&cupti.unified)) switch_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, on);
    if (cupti.api >= GP_API_LEVEL_ALL) {
        switch_kind(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, on);
        switch_kind(CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
    }
    switch_waits(on && !is_left_out(GP_BUDGET_EVENTS));
    return rc;
}

void gp_tracer_leave_out(uint32_t parts)
{
    uint32_t more = parts & ~atomic_exchange(&cupti.left_out, parts);
    if (!atomic_load(&cupti.recording) || atomic_load(&cupti.stopped)) return;
    if (more & GP_BUDGET_MEMORY) switch_memory(false);
    if (more & GP_BUDGET_EVENTS) switch_waits(false);
    if (!more || !atomic_load(&cupti.noting)) return;
    atomic_store(&cupti.noting, !is_left_out(GP_BUDGET_CALLS));
    for (int driver = 0; driver < 2; driver++) note_calls(driver, !is_left_out(GP_BUDGET_CALLS));
}

bool gp_tracer_record(bool on)
{
    if (atomic_load(&cupti.stopped)) return true;
    if (!on) gp_tracer_flush(false);
    CUptiResult rc = switch_kinds(on);
    if (rc != CUPTI_SUCCESS && on) {
        gp_say("cannot trace kernels: %s (%d): this process runs untraced", result_text(rc), (int)rc);
        return false;
    }
    unsigned runtime = switch_calls(false, on), driver = switch_calls(true, on);
    if (!on) atomic_store(&cupti.noting, false);
    gp_debug("%s: %u runtime calls, %u driver calls", on ? "enabled" : "disabled", runtime, driver);
    return true;
}

/* The sizes of records in this build's headers, for buffers that are read before CUPTI has walked any: in the
 * versions that have the same structs. */
static void tell_sizes(void)
{
#if CUPTI_API_VERSION >= 130000
    static const struct {
        uint32_t kind;
        size_t bytes;
    } sizes[] = {
        {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(STRUCT_MEMCPY)},
        {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(STRUCT_MEMSET)},
        {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(STRUCT_CALL)},
        {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(STRUCT_CALL)},
        {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(STRUCT_DEVICE)},
        {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(STRUCT_CONTEXT)},
        {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(STRUCT_KERNEL)},
        {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(STRUCT_KERNEL)},
        {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(STRUCT_OVERHEAD)},
        {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(STRUCT_PEER)},
        {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)},
        {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(STRUCT_SYNC)},
        {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(STRUCT_MEMORY)},
        {CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(STRUCT_EVENT)},
        {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, sizeof(STRUCT_UNIFIED)},
        {CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(STRUCT_POOL)},
        {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(STRUCT_GRAPH)},
        {CUPTI_ACTIVITY_KIND_JIT, sizeof(STRUCT_JIT)},
    };
    if (cupti.version / 100 != CUPTI_API_VERSION / 100) return;
    for (size_t i = 0; i < GP_COUNT(sizes); i++) gp_shared_learn(cupti.shared, sizes[i].kind, sizes[i].bytes);
#endif
}

/* LATE: CUDA is initialized already. */
static bool get_ready(bool late)
{
    static const CUpti_CallbackId events[] = {
        CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
        CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    };
    /* Independent of what is recorded now: graphs are made early and replayed late. */
    static const CUpti_CallbackId nodes[] = {
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    };
    set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, sizeof(uint8_t));
    set_attribute((CUpti_ActivityAttribute)ATTR_PER_THREAD_BUFFER, 1, sizeof(uint8_t));
    if (cupti.cuptiSetThreadIdType) cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUptiResult rc = CUPTI_ERROR_UNKNOWN;
    if (cupti.cuptiActivityRegisterTimestampCallback)
        rc = cupti.cuptiActivityRegisterTimestampCallback(timestamp);
    if (rc != CUPTI_SUCCESS) gp_say("cannot set the clock of CUPTI: %s (%d)", result_text(rc), (int)rc);
    else gp_shared_set_earliest(cupti.shared, gp_now_ns());
    tell_sizes();
    rc = cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (rc != CUPTI_SUCCESS) {
        gp_say("cannot register buffers: %s (%d): this process runs untraced", result_text(rc), (int)rc);
        return false;
    }
    if (cupti.enable_all_syncs) cupti.enable_all_syncs(0); /* no records of queries that return "not ready" */
    /* CUPTI leaves these times out by default, since it must get them from the GPU. */
    if (cupti.enable_event_times && cupti.api == GP_API_LEVEL_ALL) cupti.enable_event_times(1);
    for (size_t i = 0; i < GP_COUNT(always); i++) switch_kind(always[i], true);
    find_calls(false);
    find_calls(true);
    cupti.called = true;
    prime(late);
    for (size_t i = 0; i < GP_COUNT(events); i++)
        cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, events[i]);
    for (size_t i = 0; cupti.cuptiGetGraphNodeId && i < GP_COUNT(nodes); i++)
        cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, nodes[i]);
    return true;
}

bool gp_tracer_open(void)
{
    if (!cupti.opened) {
        cupti.held = false;
        cupti.opened = open_cupti();
    }
    return cupti.opened;
}

void gp_tracer_shut(void)
{
    if (cupti.opened && cupti.cuptiUnsubscribe) cupti.cuptiUnsubscribe(cupti.subscriber);
    cupti.opened = false;
}

bool gp_tracer_start(const struct gp_tracer_opts *opts)
{
    cupti.pool = opts->pool;
    cupti.shared = opts->shared;
    cupti.api = opts->api;
    cupti.memory = opts->memory;
    cupti.whole_graphs = opts->whole_graphs;
    cupti.one_by_one = opts->one_by_one;
    cupti.budget = opts->budget;
    cupti.is_up = opts->up;
    if (!gp_tracer_open()) return false;
    if (get_ready(opts->late)) {
        if (opts->late) on_up();
        return true;
    }
    atomic_store(&cupti.stopped, true);
    if (cupti.cuptiUnsubscribe) cupti.cuptiUnsubscribe(cupti.subscriber);
    return false;
}

/* ---- lending ---- */

bool gp_tracer_lend(void)
{
    if (!cupti.cuptiUnsubscribe || atomic_load(&cupti.stopped) || atomic_load(&cupti.lent)) return false;
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* no buffer of ours stays there */
    for (size_t i = 0; i < GP_COUNT(always); i++) switch_kind(always[i], false);
    for (int driver = 0; cupti.primed && driver < 2; driver++) switch_kind(kind_of_calls(driver), false);
    if (cupti.cuptiActivityRegisterTimestampCallback) cupti.cuptiActivityRegisterTimestampCallback(NULL);
    if (cupti.cuptiUnsubscribe(cupti.subscriber) == CUPTI_SUCCESS) atomic_store(&cupti.lent, true);
    return true;
}

bool gp_tracer_take(void)
{
    char holder[sizeof cupti.holder] = "";
    if (!atomic_load(&cupti.lent)) return !atomic_load(&cupti.stopped);
    CUptiResult rc = subscribe(holder, sizeof holder);
    holder[sizeof holder - 1] = 0;
    cupti.held = false;
    if (rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) held_by(holder);
    else if (rc != CUPTI_SUCCESS) gp_say("cannot subscribe to CUPTI: %s (%d)", result_text(rc), (int)rc);
    if (rc != CUPTI_SUCCESS) return false;
    atomic_store(&cupti.lent, false);
    return get_ready(true);
}

const char *gp_tracer_holder(void)
{
    return cupti.held ? cupti.holder : NULL;
}

void gp_tracer_want_memory(bool on)
{
    if (!atomic_load(&cupti.recording)) cupti.memory = on;
}

/* ---- the rest ---- */

uint32_t gp_tracer_version(void)
{
    return cupti.version;
}

int gp_tracer_driver_version(void)
{
    int (*get_version)(int *) = NULL;
    int version = 0;
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (lib) load_symbol(lib, "cuDriverGetVersion", &get_version);
    return get_version && !get_version(&version) ? version : 0;
}

void gp_tracer_flush(bool forced)
{
    if (atomic_load(&cupti.lent)) return;
    CUptiResult rc = cupti.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    if (rc != CUPTI_SUCCESS) gp_debug("flush: %d %s", (int)rc, result_text(rc));
}

uint64_t gp_tracer_read(uint8_t *data, size_t valid, void (*take)(void *ctx, const void *record), void *ctx)
{
    CUpti_Activity *record = NULL;
    uint64_t n = 0;
    /* Ends with MAX_LIMIT_REACHED, or with INVALID_KIND if the rest of the buffer was never filled. */
    while (cupti.cuptiActivityGetNextRecord(data, valid, &record) == CUPTI_SUCCESS) {
        if (take) take(ctx, record);
        n++;
    }
    return n;
}

uint64_t gp_tracer_dropped(void)
{
    size_t n = 0;
    if (atomic_load(&cupti.lent)) return 0;
    return cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &n) == CUPTI_SUCCESS ? n : 0;
}

void gp_tracer_mute(void)
{
    atomic_store(&cupti.stopped, true);
}

void gp_tracer_stop(void)
{
    if (atomic_exchange(&cupti.stopped, true) || atomic_load(&cupti.lent)) return;
    switch_kinds(false);
    for (size_t i = 0; i < GP_COUNT(always); i++) switch_kind(always[i], false);
    switch_calls(false, false);
    switch_calls(true, false);
    atomic_store(&cupti.noting, false);
    gp_debug("tracing stopped");
}

void gp_tracer_forked(void)
{
    atomic_store(&cupti.forked, true);
}
