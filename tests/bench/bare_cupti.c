/* The least that a CUPTI tool can do, as a peer for gpuprof-collect: kernels, copies, sets and the launch
 * calls of both APIs are recorded, buffers are reused, and the records are only counted. Nothing is decoded,
 * kept or written.
 *
 *     CUDA_INJECTION64_PATH=build/release/tests/bench/libbare_cupti.so ./app
 *
 * prints "bare_cupti: KERNELS kernels, CALLS calls, OTHERS other records, DROPPED dropped" at the end.
 * libcupti is taken from GPUPROF_LIBCUPTI, or where the linker finds it, or from /usr/local/cuda.
 *
 * BARE_CUPTI_PARTS (enum part, added; default 7) chooses what is recorded from the beginning; the program may
 * change it as it runs by bare_cupti_record(PARTS). BARE_CUPTI_ATTRIBUTES ("8=1 0=33554432") sets attributes
 * of CUPTI by their numbers.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER_BYTES = 1 << 20, MAX_FREE = 256, MAX_CBID = 2048, FLUSH_MS = 100 };

enum part {
    WORK = 1,    /* kernels, copies, sets */
    DRIVER = 2,  /* launch calls of the driver */
    RUNTIME = 4, /* of the runtime */
    FLUSH = 8,   /* every FLUSH_MS, not only when buffers are full */
    NOTES = 16   /* launch calls of the driver are noted by callbacks at both of their ends */
};

#define CALLS(X)                                                                                             \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiEnableCallback)                                                                                   \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivitySetAttribute)                                                                             \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityEnableRuntimeApi)                                                                         \
    X(cuptiActivityEnableDriverApi)                                                                          \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityGetNumDroppedRecords)                                                                     \
    X(cuptiGetCallbackName)

static struct {
#define X(fn) __typeof__(&(fn)) fn;
    CALLS(X)
#undef X
    CUpti_SubscriberHandle subscriber;
    pthread_mutex_t lock;
    uint8_t *free[MAX_FREE];
    size_t nfree;
    unsigned parts;
    bool flushes; /* there is a thread for it */
    _Atomic bool flushing;
    _Atomic unsigned long kernels, calls, others;
} bare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    pthread_mutex_lock(&bare.lock);
    *buffer = bare.nfree ? bare.free[--bare.nfree] : NULL;
    pthread_mutex_unlock(&bare.lock);
    if (!*buffer) *buffer = aligned_alloc(4096, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    unsigned long kernels = 0, calls = 0, others = 0;
    while (bare.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels++;
        else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER)
            calls++;
        else others++;
    }
    bare.kernels += kernels;
    bare.calls += calls;
    bare.others += others;
    pthread_mutex_lock(&bare.lock);
    if (bare.nfree < MAX_FREE) bare.free[bare.nfree++] = buffer;
    else free(buffer);
    pthread_mutex_unlock(&bare.lock);
}

static void at_end(void)
{
    size_t dropped = 0;
    bare.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    bare.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    fprintf(stderr, "bare_cupti: %lu kernels, %lu calls, %lu other records, %zu dropped\n", bare.kernels,
            bare.calls, bare.others, dropped);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void CUPTIAPI note(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    static _Thread_local struct {
        int64_t start_ns, end_ns;
        uint32_t cbid, corr;
    } notes[4096];
    static _Thread_local unsigned at;
    const CUpti_CallbackData *call = data;
    (void)user;
    (void)domain;
    if (call->callbackSite == CUPTI_API_ENTER) {
        notes[at].start_ns = now_ns();
        return;
    }
    notes[at].end_ns = now_ns();
    notes[at].cbid = cbid;
    notes[at].corr = call->correlationId;
    at = (at + 1) % (sizeof notes / sizeof *notes);
}

static bool is_launch(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (bare.cuptiGetCallbackName(domain, cbid, name) != CUPTI_SUCCESS || !*name) return false;
    return strstr(*name, "Launch") && !strstr(*name, "HostFunc") && !strstr(*name, "Attribute");
}

/* Single calls can only be switched as the program runs while one of them is recorded: one that programs do
 * not make. */
static void switch_launches(CUpti_CallbackDomain domain, __typeof__(&cuptiActivityEnableRuntimeApi) enable,
                            bool on)
{
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
        const char *name = NULL;
        if (is_launch(domain, cbid, &name)) enable(cbid, on);
        if (name && strstr(name, "ProfilerInitialize")) enable(cbid, 1);
    }
}

static void switch_notes(bool on)
{
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
        const char *name = NULL;
        if (is_launch(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name))
            bare.cuptiEnableCallback(on, bare.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
    }
}

static void *flush(void *arg)
{
    struct timespec t = {.tv_nsec = FLUSH_MS * 1000000L};
    while (!nanosleep(&t, NULL))
        if (bare.flushing) bare.cuptiActivityFlushAll(0);
    return arg;
}

static void start_flushing(void)
{
    pthread_t thread;
    if (!bare.flushes) bare.flushes = !pthread_create(&thread, NULL, flush, NULL);
}

void bare_cupti_record(unsigned parts);

void bare_cupti_record(unsigned parts)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
    unsigned other = parts ^ bare.parts;
    for (size_t i = 0; other & WORK && i < sizeof kinds / sizeof *kinds; i++)
        (parts & WORK ? bare.cuptiActivityEnable : bare.cuptiActivityDisable)(kinds[i]);
    if (other & RUNTIME)
        switch_launches(CUPTI_CB_DOMAIN_RUNTIME_API, bare.cuptiActivityEnableRuntimeApi, parts & RUNTIME);
    if (other & DRIVER)
        switch_launches(CUPTI_CB_DOMAIN_DRIVER_API, bare.cuptiActivityEnableDriverApi, parts & DRIVER);
    if (other & NOTES) switch_notes(parts & NOTES);
    if (parts & FLUSH) start_flushing();
    bare.flushing = parts & FLUSH;
    bare.parts = parts;
}

static void set_attributes(const char *text)
{
    for (char *end; text && *text; text = *end == ' ' ? end + 1 : "") {
        long attr = strtol(text, &end, 10);
        unsigned long long value = *end == '=' ? strtoull(end + 1, &end, 0) : 0;
        bool flag = attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER || attr == 8 || attr == 9;
        size_t size = flag ? sizeof(uint8_t) : sizeof(size_t);
        CUptiResult rc = bare.cuptiActivitySetAttribute((CUpti_ActivityAttribute)attr, &size, &value);
        fprintf(stderr, "bare_cupti: attribute %ld = %llu: %d\n", attr, value, (int)rc);
    }
}

static void *open_cupti(void)
{
    const char *chosen = getenv("GPUPROF_LIBCUPTI");
    const char *const paths[] = {chosen ? chosen : "libcupti.so.13", "libcupti.so.13", "libcupti.so.12",
                                 "/usr/local/cuda/lib64/libcupti.so.13",
                                 "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12"};
    void *lib = NULL;
    for (size_t i = 0; !lib && i < sizeof paths / sizeof *paths; i++) lib = dlopen(paths[i], RTLD_NOW);
    return lib;
}

int InitializeInjection(void);

int InitializeInjection(void)
{
    const char *parts = getenv("BARE_CUPTI_PARTS");
    void *lib = open_cupti(), *p;
    if (!lib) {
        fprintf(stderr, "bare_cupti: no libcupti\n");
        return 1;
    }
#define X(fn)                                                                                                \
    p = dlsym(lib, #fn);                                                                                     \
    memcpy(&bare.fn, &p, sizeof p);                                                                          \
    if (!p) return 1;
    CALLS(X)
#undef X
    if (bare.cuptiSubscribe(&bare.subscriber, note, NULL) != CUPTI_SUCCESS)
        fprintf(stderr, "bare_cupti: no subscription\n");
    set_attributes(getenv("BARE_CUPTI_ATTRIBUTES"));
    bare.cuptiActivityRegisterCallbacks(requested, completed);
    switch_launches(CUPTI_CB_DOMAIN_RUNTIME_API, bare.cuptiActivityEnableRuntimeApi, false);
    switch_launches(CUPTI_CB_DOMAIN_DRIVER_API, bare.cuptiActivityEnableDriverApi, false);
    bare_cupti_record(parts ? (unsigned)strtoul(parts, NULL, 0) : WORK | DRIVER | RUNTIME);
    atexit(at_end);
    return 1;
}
