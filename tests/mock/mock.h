/* mock.h -- a pretended GPU for tests of the collector: what tests/mock/app.c calls instead of CUDA.
 * mock_cuda.c is built as libcuda.so.1 and loads the injected library in cuInit() as the driver does;
 * mock_cupti.c is built as libcupti.so.13 and turns these calls into activity records.
 *
 * The environment makes CUPTI misbehave:
 *   MOCK_CUPTI_VERSION=24  say so, and use the record layouts of CUDA 12
 *   MOCK_CUPTI_HOLDER=X    refuse to subscribe: tool X is there already
 *   MOCK_CUPTI_DROP=N      report N dropped records, once
 *   MOCK_CUPTI_TAIL=1      hand out whole buffers whose rest was never filled
 *   MOCK_CUPTI_CUT=1       hand out buffers whose last record is cut
 *   MOCK_CUPTI_REFUSE=1    do not record kernels
 *   MOCK_CUPTI_NO_WHOLE=1  do not record all calls of the runtime or the driver
 *   MOCK_CUPTI_NO_DEVICE=1 make no record of the device if that is asked for after cuInit()
 *   MOCK_CUPTI_MISSED=1    end the program at the next record in a thread whose buffer was taken too early
 *   MOCK_CUPTI_HANG=1      never return from the forced flush; 2: from any flush
 */
#ifndef GP_TESTS_MOCK_H
#define GP_TESTS_MOCK_H

#include <stddef.h>
#include <stdint.h>

enum mock_op {
    MOCK_LAUNCH, /* a runtime launch with the driver launch inside it, and a kernel, for BYTES ns (0: 1 us) */
    MOCK_DRIVER_LAUNCH, /* only the driver launch, and a kernel */
    MOCK_COPY,
    MOCK_PEER_COPY,
    MOCK_SET,
    MOCK_GRAPH,       /* a graph launch with COUNT kernels */
    MOCK_CAPTURE,     /* add a node that runs KERNEL to graph COUNT; a graph that does not exist is created */
    MOCK_INSTANTIATE, /* make graph COUNT out of graph BYTES: a clone of each of its nodes */
    MOCK_REPLAY,      /* launch graph COUNT */
    MOCK_SYNC,        /* for BYTES ns */
    MOCK_UNIFIED,     /* counter COUNT of unified memory, of BYTES; the device lacks "thrashing" (5) */
    MOCK_POOL,        /* the pool is created (COUNT 1), destroyed (2), or trimmed (3) by a call */
    MOCK_JIT,         /* the driver loads (COUNT 1), stores (2) or compiles (3) code */
    MOCK_LOAD,        /* overhead COUNT << 16: 4 loads modules, 5 loads functions */
    MOCK_EVENT_RECORD, /* event COUNT on STREAM; the GPU comes to it 5 us later */
    MOCK_STREAM_WAIT,  /* STREAM waits for event COUNT */
    MOCK_EVENT_SYNC,   /* the host does */
    MOCK_CAPTURING, /* from now on (COUNT 1) or no longer (0) the thread captures: its events do not happen */
    MOCK_MALLOC,    /* cudaMalloc() of BYTES; every allocation has an address of its own */
    MOCK_FREE,      /* cudaFree() of the COUNT-th allocation, of BYTES, or 0 where the record does not say */
    MOCK_MALLOC_HOST,    /* cudaHostAlloc() */
    MOCK_MALLOC_ASYNC,   /* cudaMallocAsync() from a pool that has COUNT bytes then */
    MOCK_MAP,            /* cuMemMap() of BYTES; its record has the library of the allocation before it */
    MOCK_STUCK,          /* a launch whose kernel never ends */
    MOCK_TORN,           /* the process is killed in the middle of writing a kernel's record */
    MOCK_VERSION,        /* cuDriverGetVersion() */
    MOCK_FAILED,         /* a launch that fails: in a fork child */
    MOCK_BAD_TIME,       /* a launch whose kernel has no times */
    MOCK_EARLY,          /* a launch whose kernel starts 500 ns before it */
    MOCK_RESET,          /* cudaDeviceReset() */
    MOCK_PROFILER_START, /* cudaProfilerStart() */
    MOCK_PROFILER_STOP,
};

struct mock_event {
    enum mock_op op;
    uint32_t stream;
    const char *kernel;
    uint32_t grid;
    uint32_t count;
    uint64_t bytes;
};

/* Exported by libcuda.so.1. 0, or a CUDA error. */
#ifndef MOCK_HAVE_CUDA_H
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuCtxSynchronize(void);
int cuCtxGetCurrent(void **context);
#endif
int mock_do(const struct mock_event *e);
/* For libcupti.so.13: where events go; what to call when cuInit() is done, and when the driver goes down at
 * exit. */
void mock_attach(void (*sink)(const struct mock_event *e), void (*on_up)(void), void (*on_down)(void));

/* Modes of the application in app_nvtx.c. */
int mock_nccl(int argc, char **argv);
int mock_args(int argc, char **argv);
int mock_torch(int argc, char **argv);

#endif
