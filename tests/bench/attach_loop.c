/* A CUDA program that is recorded in windows which it opens itself, at moments at which everything is in
 * flight: graphs that were instantiated before and in between, and threads that launch all the time, one of
 * them kernels of 5 ms. Needs only the driver. Reads orders from standard input
 * and answers each with a line (tests/bench/attach_loop.py gives them):
 *
 *   block N      N launches, with the wait for them: how many ns they took
 *   window PATH  one window, its trace in PATH: error, kernels of each kind launched in it, ns of its
 *                beginning and of its end
 *   serve MS     decode-like steps (64 launches and a wait) for so long: how many, and the ns that they took
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define GPUPROF_NO_NVTX
#include "collect/gpuprof.h"

enum { THREADS = 3, COUNTED = 100, OF_A_THREAD = 50, REPLAYS = 5, NODES = 20, STEP = 64 };

#define CALLS(X)                                                                                             \
    X(cuInit)                                                                                                \
    X(cuDeviceGet)                                                                                           \
    X(cuDevicePrimaryCtxRetain)                                                                              \
    X(cuCtxSetCurrent)                                                                                       \
    X(cuModuleLoadData)                                                                                      \
    X(cuModuleGetFunction)                                                                                   \
    X(cuStreamCreate)                                                                                        \
    X(cuStreamSynchronize)                                                                                   \
    X(cuLaunchKernel)                                                                                        \
    X(cuStreamBeginCapture_v2)                                                                               \
    X(cuStreamEndCapture)                                                                                    \
    X(cuGraphInstantiateWithFlags)                                                                           \
    X(cuGraphLaunch)                                                                                         \
    X(cuGraphExecDestroy)                                                                                    \
    X(cuGraphDestroy)

static struct {
#define X(fn) __typeof__(&(fn)) fn;
    CALLS(X)
#undef X
} cu;

enum kernel { MAIN, THREAD, NOISE, EARLY, LATE, LONG, KERNELS };
static const char *const names[KERNELS] = {"k_main", "k_thread", "k_noise", "k_early", "k_late", "k_long"};
static CUfunction functions[KERNELS];
static CUcontext context;
static _Atomic bool noisy, over;
static _Atomic unsigned gate, done;

/* Five that do nothing, and one that runs for n cycles. */
#define EMPTY(name) ".visible .entry " name "()\n{\n\tret;\n}\n"
static const char ptx[] =
    ".version 6.4\n.target sm_70\n.address_size 64\n" EMPTY("k_main") EMPTY("k_thread") EMPTY("k_noise")
        EMPTY("k_early") EMPTY("k_late") ".visible .entry k_long(.param .u64 n)\n{\n"
                                         "\t.reg .b64 %rd<4>;\n\t.reg .pred %p0;\n"
                                         "\tld.param.u64 %rd0, [n];\n\tmov.u64 %rd1, %clock64;\n"
                                         "AGAIN:\n\tmov.u64 %rd2, %clock64;\n\tsub.u64 %rd3, %rd2, %rd1;\n"
                                         "\tsetp.lt.u64 %p0, %rd3, %rd0;\n\t@%p0 bra AGAIN;\n\tret;\n}\n";

static void check(CUresult rc, const char *what)
{
    if (rc == CUDA_SUCCESS) return;
    fprintf(stderr, "attach_loop: %s: CUDA error %d\n", what, (int)rc);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void launch(enum kernel k, CUstream stream)
{
    uint64_t cycles = 8000000; /* 4 to 6 ms */
    void *params[] = {&cycles};
    check(cu.cuLaunchKernel(functions[k], 1, 1, 1, 32, 1, 1, 0, stream, k == LONG ? params : NULL, NULL),
          names[k]);
}

static void wait_for(CUstream stream) { check(cu.cuStreamSynchronize(stream), "cuStreamSynchronize"); }

static CUstream new_stream(void)
{
    CUstream s;
    check(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return s;
}

static CUgraphExec new_graph(enum kernel k, CUstream stream)
{
    CUgraph g;
    CUgraphExec e;
    check(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
    for (int i = 0; i < NODES; i++) launch(k, stream);
    check(cu.cuStreamEndCapture(stream, &g), "cuStreamEndCapture");
    check(cu.cuGraphInstantiateWithFlags(&e, g, 0), "cuGraphInstantiateWithFlags");
    check(cu.cuGraphDestroy(g), "cuGraphDestroy");
    return e;
}

static void *make_noise(void *arg)
{
    unsigned turns = 0;
    check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    CUstream stream = new_stream();
    unsigned passed = 0;
    while (!atomic_load(&over)) {
        if (atomic_load(&gate) != passed) {
            passed++;
            for (int i = 0; i < OF_A_THREAD; i++) launch(THREAD, stream);
            wait_for(stream);
            atomic_fetch_add(&done, 1);
        } else if (atomic_load(&noisy)) {
            for (int i = 0; i < 20; i++) launch(NOISE, stream);
            if (arg && ++turns % 50 == 0) launch(LONG, stream); /* outlasts whatever comes */
            wait_for(stream);
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        }
    }
    return NULL;
}

static void block(CUstream stream, long n)
{
    atomic_store(&noisy, false);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int64_t begin_ns = now_ns();
    for (long i = 0; i < n; i++) {
        launch(MAIN, stream);
        if (i % STEP == STEP - 1) wait_for(stream);
    }
    wait_for(stream);
    printf("%lld\n", (long long)(now_ns() - begin_ns));
    atomic_store(&noisy, true);
}

static void window(CUstream stream, CUgraphExec early, const char *path)
{
    gpuprof_session_t s = {.id = 0};
    snprintf(s.path, sizeof s.path, "%s", path);
    CUgraphExec late = new_graph(LATE, stream);
    int64_t begin_ns = now_ns();
    int error = gpuprof_begin(&s, "window", GPUPROF_SYNC);
    int64_t began_ns = now_ns();
    atomic_store(&done, 0);
    atomic_fetch_add(&gate, 1);
    for (int i = 0; i < COUNTED; i++) launch(MAIN, stream);
    for (int i = 0; i < REPLAYS; i++) {
        check(cu.cuGraphLaunch(early, stream), "cuGraphLaunch");
        check(cu.cuGraphLaunch(late, stream), "cuGraphLaunch");
    }
    wait_for(stream);
    while (atomic_load(&done) < THREADS) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    int64_t end_ns = now_ns();
    if (!error) error = gpuprof_end(&s);
    int64_t ended_ns = now_ns();
    check(cu.cuGraphExecDestroy(late), "cuGraphExecDestroy");
    printf("%d k_main=%d k_thread=%d k_early=%d k_late=%d %lld %lld %s\n", error, COUNTED,
           THREADS * OF_A_THREAD, REPLAYS * NODES, REPLAYS * NODES, (long long)(began_ns - begin_ns),
           (long long)(ended_ns - end_ns), error ? gpuprof_reason(error) : "");
}

static void serve(CUstream stream, long ms)
{
    atomic_store(&noisy, false);
    int64_t begin_ns = now_ns(), end_ns = begin_ns + ms * 1000000, steps = 0;
    do {
        for (int i = 0; i < STEP; i++) launch(MAIN, stream);
        wait_for(stream);
        steps++;
    } while (now_ns() < end_ns);
    printf("%lld %lld\n", (long long)steps, (long long)(now_ns() - begin_ns));
}

int main(void)
{
    char line[2048], path[1024];
    CUdevice device;
    CUmodule module;
    pthread_t threads[THREADS];
    long n;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p;
    if (!lib) return fprintf(stderr, "attach_loop: %s\n", dlerror()), 1;
#define X(fn)                                                                                                \
    p = dlsym(lib, #fn);                                                                                     \
    memcpy(&cu.fn, &p, sizeof p);                                                                            \
    if (!p) return fprintf(stderr, "attach_loop: no " #fn "\n"), 1;
    CALLS(X)
#undef X
    check(cu.cuInit(0), "cuInit");
    check(cu.cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cu.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    for (int k = 0; k < KERNELS; k++)
        check(cu.cuModuleGetFunction(&functions[k], module, names[k]), names[k]);
    CUstream stream = new_stream();
    CUgraphExec early = new_graph(EARLY, stream);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, make_noise, i ? NULL : &over);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "block %ld", &n) == 1) block(stream, n);
        else if (sscanf(line, "serve %ld", &n) == 1) serve(stream, n);
        else if (sscanf(line, "window %1023s", path) == 1) window(stream, early, path);
        else printf("?\n");
        fflush(stdout);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
