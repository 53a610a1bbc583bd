/* driver.h -- the calls of NVIDIA's driver, of its management library and of cuBLASLt that measuring needs,
 * found at run time. No header of CUDA is needed: these functions and the numbers passed to them are a stable
 * binary interface. Structs are opaque. Knows nothing of measurements.
 *
 *     struct gp_driver d;
 *     if (gp_driver_open(&d, &err)) ...          // no driver: nothing can be measured
 *     if (!d.cublas.cublasLtCreate) ...    // no products of matrices; d.no_cublas says why
 */
#ifndef GP_COLLECT_BENCH_DRIVER_H
#define GP_COLLECT_BENCH_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

typedef uint64_t gp_devptr; /* an address in GPU memory */

/* X(function, parameters): all return 0, or the number of an error. */
#define GP_CUDA_CALLS(X)                                                                                     \
    X(cuInit, (unsigned flags))                                                                              \
    X(cuDriverGetVersion, (int *version))                                                                    \
    X(cuGetErrorName, (int rc, const char **name))                                                           \
    X(cuDeviceGetCount, (int *n))                                                                            \
    X(cuDeviceGet, (int *device, int i))                                                                     \
    X(cuDeviceGetName, (char *name, int n, int device))                                                      \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                         \
    X(cuDeviceGetPCIBusId, (char *id, int n, int device))                                                    \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                \
    X(cuCtxSetCurrent, (void *context))                                                                      \
    X(cuDeviceCanAccessPeer, (int *can, int device, int peer))                                               \
    X(cuCtxEnablePeerAccess, (void *peer, unsigned flags))                                                   \
    X(cuMemGetInfo_v2, (size_t * unused, size_t * total))                                                    \
    X(cuMemAlloc_v2, (gp_devptr * p, size_t n))                                                              \
    X(cuMemFree_v2, (gp_devptr p))                                                                           \
    X(cuMemHostAlloc, (void **p, size_t n, unsigned flags))                                                  \
    X(cuMemFreeHost, (void *p))                                                                              \
    X(cuMemcpyHtoDAsync_v2, (gp_devptr to, const void *from, size_t n, void *stream))                        \
    X(cuMemcpyDtoHAsync_v2, (void *to, gp_devptr from, size_t n, void *stream))                              \
    X(cuMemcpyDtoDAsync_v2, (gp_devptr to, gp_devptr from, size_t n, void *stream))                          \
    X(cuMemcpyPeerAsync,                                                                                     \
      (gp_devptr to, void *to_context, gp_devptr from, void *from_context, size_t n, void *stream))          \
    X(cuMemsetD32Async, (gp_devptr p, unsigned value, size_t n, void *stream))                               \
    X(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *options, void **values))       \
    X(cuModuleUnload, (void *module))                                                                        \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                \
    X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
                       unsigned bz, unsigned shared, void *stream, void **params, void **extra))             \
    X(cuStreamCreate, (void **stream, unsigned flags))                                                       \
    X(cuStreamSynchronize, (void *stream))                                                                   \
    X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                        \
    X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                     \
    X(cuStreamEndCapture, (void *stream, void **graph))                                                      \
    X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                     \
    X(cuGraphLaunch, (void *exec, void *stream))                                                             \
    X(cuGraphExecDestroy, (void *exec))                                                                      \
    X(cuGraphDestroy, (void *graph))                                                                         \
    X(cuEventCreate, (void **event, unsigned flags))                                                         \
    X(cuEventDestroy_v2, (void *event))                                                                      \
    X(cuEventRecord, (void *event, void *stream))                                                            \
    X(cuEventElapsedTime, (float *ms, void *begin, void *end))

#define GP_NVML_CALLS(X)                                                                                     \
    X(nvmlInit_v2, (void))                                                                                   \
    X(nvmlSystemGetDriverVersion, (char *text, unsigned n))                                                  \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, void **device))                                     \
    X(nvmlDeviceGetClockInfo, (void *device, int clock, unsigned *mhz))                                      \
    X(nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatt))                                          \
    X(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *milliwatt))                                  \
    X(nvmlDeviceGetPowerManagementDefaultLimit, (void *device, unsigned *milliwatt))                         \
    X(nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))                               \
    X(nvmlDeviceGetMigMode, (void *device, unsigned *now, unsigned *pending))                                \
    X(nvmlDeviceGetEccMode, (void *device, int *now, int *pending))                                          \
    X(nvmlDeviceGetComputeRunningProcesses_v3, (void *device, unsigned *n, void *processes))

#define GP_CUBLAS_CALLS(X)                                                                                   \
    X(cublasLtDestroy, (void *handle))                                                                       \
    X(cublasLtCreate, (void **handle))                                                                       \
    X(cublasLtMatmulDescCreate, (void **desc, int compute, int scale))                                       \
    X(cublasLtMatmulDescDestroy, (void *desc))                                                               \
    X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t n))              \
    X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))    \
    X(cublasLtMatrixLayoutDestroy, (void *layout))                                                           \
    X(cublasLtMatmulPreferenceCreate, (void **pref))                                                         \
    X(cublasLtMatmulPreferenceDestroy, (void *pref))                                                         \
    X(cublasLtMatmulPreferenceSetAttribute, (void *pref, int attribute, const void *value, size_t n))        \
    X(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d,         \
                                       void *pref, int wanted, struct gp_cublas_choice *choices, int *n))    \
    X(cublasLtMatmul,                                                                                        \
      (void *handle, void *desc, const void *alpha, gp_devptr a, void *a_layout, gp_devptr b,                \
       void *b_layout, const void *beta, gp_devptr c, void *c_layout, gp_devptr d, void *d_layout,           \
       const struct gp_cublas_choice *algo, gp_devptr workspace, size_t workspace_n, void *stream))

/* cublasLtMatmulHeuristicResult_t; its first member is the algorithm. */
struct gp_cublas_choice {
    uint64_t algo[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

#define GP_CALL(function, params) int(*function) params;
struct gp_cuda {
    GP_CUDA_CALLS(GP_CALL)
};
struct gp_nvml {
    GP_NVML_CALLS(GP_CALL)
};
struct gp_cublas {
    GP_CUBLAS_CALLS(GP_CALL)
};
#undef GP_CALL

struct gp_driver {
    struct gp_cuda cuda;
    struct gp_nvml nvml;     /* calls that were not found are NULL */
    struct gp_cublas cublas; /* all of them, or none */
    char no_cublas[200];     /* why there are none, or empty */
};

/* What the driver calls these things. */
enum {
    GP_CUDA_SMS = 16,      /* attribute: multiprocessors */
    GP_CUDA_L2_BYTES = 38, /* size of the L2 cache */
    GP_CUDA_MAJOR = 75,    /* compute capability */
    GP_CUDA_MINOR = 76,
    GP_CUDA_NON_BLOCKING = 1,  /* stream: not ordered by the default stream */
    GP_CUDA_CAPTURE_LOCAL = 1, /* mode of a capture: of this thread only */
    GP_NVML_CLOCK_SM = 1,
    GP_NVML_CLOCK_MEMORY = 2,
    GP_NVML_TEMPERATURE_GPU = 0,
    GP_NVML_NO_ROOM = 7, /* error: an array is too small */
};

/* Open libcuda (GPUPROF_LIBCUDA names another), and, where present, libnvidia-ml (GPUPROF_LIBNVML) and
 * libcublasLt (GPUPROF_LIBCUBLASLT). They stay open until the process ends. Does not call any of them. */
GP_MUST_CHECK int gp_driver_open(struct gp_driver *d, struct gp_err *err);

#endif
