/* The least that a CUPTI tool can do, as a peer for gpuprof-collect: kernels, copies, sets and the launch calls of both
 * APIs are recorded, buffers are reused, and the records are only counted. Nothing is decoded, kept or written.
 *
 *     CUDA_INJECTION64_PATH=build/release/tests/bench/libbare_cupti.so ./app
 *
 * prints "bare_cupti: KERNELS kernels, CALLS calls, OTHERS other records, DROPPED dropped" at the end. libcupti is taken
 * from GPUPROF_LIBCUPTI, or where the linker finds it, or from /usr/local/cuda.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 20, MAX_FREE = 256, MAX_CBID = 2048 };

#define CALLS(X)                                                                                             \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
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
    pthread_mutex_t lock;
    uint8_t *free[MAX_FREE];
    size_t nfree;
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

static void enable_launches(CUpti_CallbackDomain domain, __typeof__(&cuptiActivityEnableRuntimeApi) enable)
{
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
        const char *name = NULL;
        if (bare.cuptiGetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS || !name) continue;
        if (strstr(name, "Launch") && !strstr(name, "HostFunc") && !strstr(name, "Attribute"))
            enable(cbid, 1);
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
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
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
    bare.cuptiActivityRegisterCallbacks(requested, completed);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) bare.cuptiActivityEnable(kinds[i]);
    enable_launches(CUPTI_CB_DOMAIN_RUNTIME_API, bare.cuptiActivityEnableRuntimeApi);
    enable_launches(CUPTI_CB_DOMAIN_DRIVER_API, bare.cuptiActivityEnableDriverApi);
    atexit(at_end);
    return 1;
}
