/* A device to measure that is not there: the parts of libcuda, libnvidia-ml and libcublasLt that
 * gpuprof-bench calls, with a clock of their own that work moves on by a model: memory at 4 TB/s, the L2
 * cache at 8, launches every 3 us, fp32 at 60 TFLOP/s, bf16 at 800, links at 50 GB/s. MOCK_DEVICE has words
 * for how it misbehaves:
 *   slow     memory has 90% of its rate          users, mig, capped   as NVML tells it
 *   two      there are two devices               no-fp8               cuBLASLt has no algorithm for it
 *   crash    the first product kills it          hang                 the first product never ends
 *   none     cuInit() fails                      little               no memory is free */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/bench/driver.h"

static double now_ns;
static uint64_t next_address = 4096;

static bool is(const char *word)
{
    const char *words = getenv("MOCK_DEVICE");
    return words && strstr(words, word);
}

static double memory_rate(void) { return is("slow") ? 3.6e12 : 4e12; }

#define MOCK(name, params)                                                                                   \
    int name params;                                                                                         \
    int name params

/* ---- libcuda ---- */

MOCK(cuInit, (unsigned flags))
{
    (void)flags;
    return is("none") ? 100 : 0;
}
MOCK(cuDriverGetVersion, (int *version))
{
    *version = 13000;
    return 0;
}
MOCK(cuGetErrorName, (int rc, const char **name))
{
    *name = rc == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : rc == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
    return 0;
}
MOCK(cuDeviceGetCount, (int *n))
{
    *n = is("two") ? 2 : 1;
    return 0;
}
MOCK(cuDeviceGet, (int *device, int i))
{
    *device = i;
    return 0;
}
MOCK(cuDeviceGetName, (char *name, int n, int device))
{
    (void)device;
    snprintf(name, (size_t)n, "Mock H200");
    return 0;
}
MOCK(cuDeviceGetAttribute, (int *value, int attribute, int device))
{
    (void)device;
    *value = attribute == GP_CUDA_SMS        ? 132
             : attribute == GP_CUDA_L2_BYTES ? 60 << 20
             : attribute == GP_CUDA_MAJOR    ? 9
                                             : 0;
    return 0;
}
MOCK(cuDeviceGetPCIBusId, (char *id, int n, int device))
{
    snprintf(id, (size_t)n, "0000:%02X:00.0", device + 1);
    return 0;
}
MOCK(cuDevicePrimaryCtxRetain, (void **context, int device))
{
    *context = (void *)(uintptr_t)(device + 1);
    return 0;
}
MOCK(cuCtxSetCurrent, (void *context)) { return context ? 0 : 1; }
MOCK(cuDeviceCanAccessPeer, (int *can, int device, int peer))
{
    *can = device != peer;
    return 0;
}
MOCK(cuCtxEnablePeerAccess, (void *peer, unsigned flags))
{
    (void)flags;
    return peer ? 0 : 1;
}
MOCK(cuMemGetInfo_v2, (size_t * unused, size_t *total))
{
    *total = (size_t)140 << 30;
    *unused = is("little") ? 1 << 20 : *total;
    return 0;
}
MOCK(cuMemAlloc_v2, (gp_devptr * p, size_t n))
{
    if (is("little") || n > (uint64_t)100 << 30) return 2;
    *p = next_address;
    next_address += (n + 4095) / 4096 * 4096;
    return 0;
}
MOCK(cuMemFree_v2, (gp_devptr p)) { return p ? 0 : 1; }
MOCK(cuMemHostAlloc, (void **p, size_t n, unsigned flags))
{
    (void)flags;
    *p = malloc(n);
    return *p ? 0 : 2;
}
MOCK(cuMemFreeHost, (void *p))
{
    free(p);
    return 0;
}
static int spend(double ns)
{
    now_ns += ns > 3000 ? ns : 3000;
    return 0;
}
MOCK(cuMemcpyHtoDAsync_v2, (gp_devptr to, const void *from, size_t n, void *stream))
{
    (void)to, (void)from, (void)stream;
    return spend((double)n / 50);
}
MOCK(cuMemcpyDtoHAsync_v2, (void *to, gp_devptr from, size_t n, void *stream))
{
    (void)to, (void)from, (void)stream;
    return spend((double)n / 40);
}
MOCK(cuMemcpyDtoDAsync_v2, (gp_devptr to, gp_devptr from, size_t n, void *stream))
{
    (void)to, (void)from, (void)stream;
    return spend(2.0 * (double)n / 3e12 * 1e9);
}
MOCK(cuMemcpyPeerAsync,
     (gp_devptr to, void *to_context, gp_devptr from, void *from_context, size_t n, void *stream))
{
    (void)to, (void)to_context, (void)from, (void)from_context, (void)stream;
    return spend((double)n / 370);
}
MOCK(cuMemsetD32Async, (gp_devptr p, unsigned value, size_t n, void *stream))
{
    (void)p, (void)value, (void)stream;
    return spend(4.0 * (double)n / 3e12 * 1e9);
}

static const char *const kernels[] = {"fill",  "empty", "copy",  "read", "write",
                                      "again", "fma32", "fma64", "op",   NULL};

MOCK(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *options, void **values))
{
    (void)n, (void)options, (void)values;
    *module = (void *)(uintptr_t)1;
    return strstr(image, ".visible .entry") ? 0 : 200;
}
MOCK(cuModuleUnload, (void *module)) { return module ? 0 : 1; }
MOCK(cuModuleGetFunction, (void **function, void *module, const char *name))
{
    (void)module;
    for (uintptr_t i = 0; kernels[i]; i++)
        if (!strncmp(name, kernels[i], strlen(kernels[i]))) {
            /* the number at the end of its name is how many vectors a thread has */
            *function = (void *)(16 * (i + 1) + strtoul(name + strlen(kernels[i]), NULL, 10) % 16);
            return 0;
        }
    return 500;
}
MOCK(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void *stream, void **params, void **extra))
{
    (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    uintptr_t f = (uintptr_t)function;
    const char *name = kernels[f / 16 - 1];
    double threads = (double)gx * bx, bytes = 16.0 * threads * (double)(f % 16);
    uint32_t rounds, passes;
    uint64_t n;
    if (!strcmp(name, "copy")) return spend(2 * bytes / memory_rate() * 1e9);
    if (!strcmp(name, "read") || !strcmp(name, "write")) return spend(bytes / memory_rate() * 1e9);
    if (!strcmp(name, "again")) {
        memcpy(&rounds, params[1], sizeof rounds);
        memcpy(&passes, params[2], sizeof passes);
        return spend(64 * threads * rounds * passes / 8e12 * 1e9);
    }
    if (!strncmp(name, "fma", 3)) {
        memcpy(&rounds, params[1], sizeof rounds);
        return spend(256 * threads * rounds / (strcmp(name, "fma32") ? 30e12 : 60e12) * 1e9);
    }
    if (!strcmp(name, "op")) {
        memcpy(&n, params[3], sizeof n);
        return spend(32 * (double)n / memory_rate() * 1e9);
    }
    return spend(0);
}
MOCK(cuStreamCreate, (void **stream, unsigned flags))
{
    (void)flags;
    *stream = (void *)(uintptr_t)1;
    return 0;
}
MOCK(cuStreamSynchronize, (void *stream)) { return stream ? 0 : 1; }
MOCK(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))
{
    (void)flags;
    return stream && event ? 0 : 1;
}
static double captured_ns;
MOCK(cuStreamBeginCapture_v2, (void *stream, int mode))
{
    (void)mode;
    captured_ns = now_ns;
    return stream ? 0 : 1;
}
MOCK(cuStreamEndCapture, (void *stream, void **graph))
{
    captured_ns = (now_ns - captured_ns) / 6; /* kernels of a graph follow each other faster */
    *graph = stream;
    return 0;
}
MOCK(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))
{
    (void)flags;
    *exec = graph;
    return 0;
}
MOCK(cuGraphLaunch, (void *exec, void *stream))
{
    (void)stream;
    return exec ? spend(captured_ns) : 1;
}
MOCK(cuGraphExecDestroy, (void *exec)) { return exec ? 0 : 1; }
MOCK(cuGraphDestroy, (void *graph)) { return graph ? 0 : 1; }
MOCK(cuEventCreate, (void **event, unsigned flags))
{
    (void)flags;
    *event = calloc(1, sizeof(double));
    return *event ? 0 : 2;
}
MOCK(cuEventDestroy_v2, (void *event))
{
    free(event);
    return 0;
}
MOCK(cuEventRecord, (void *event, void *stream))
{
    (void)stream;
    *(double *)event = now_ns;
    return 0;
}
MOCK(cuEventElapsedTime, (float *ms, void *begin, void *end))
{
    *ms = (float)((*(double *)end - *(double *)begin) / 1e6);
    return 0;
}

/* ---- libnvidia-ml ---- */

MOCK(nvmlInit_v2, (void)) { return 0; }
MOCK(nvmlSystemGetDriverVersion, (char *text, unsigned n))
{
    snprintf(text, n, "580.0");
    return 0;
}
MOCK(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, void **device))
{
    *device = (void *)(uintptr_t)1;
    return id ? 0 : 1;
}
MOCK(nvmlDeviceGetClockInfo, (void *device, int clock, unsigned *mhz))
{
    (void)device;
    *mhz = clock == GP_NVML_CLOCK_SM ? 1980 : 3201;
    return 0;
}
MOCK(nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatt))
{
    (void)device;
    *milliwatt = 120500;
    return 0;
}
MOCK(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *milliwatt))
{
    (void)device;
    *milliwatt = is("capped") ? 400000 : 700000;
    return 0;
}
MOCK(nvmlDeviceGetPowerManagementDefaultLimit, (void *device, unsigned *milliwatt))
{
    (void)device;
    *milliwatt = 700000;
    return 0;
}
MOCK(nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))
{
    (void)device, (void)sensor;
    *celsius = 35;
    return 0;
}
MOCK(nvmlDeviceGetMigMode, (void *device, unsigned *now, unsigned *pending))
{
    (void)device;
    *now = *pending = is("mig");
    return 0;
}
MOCK(nvmlDeviceGetEccMode, (void *device, int *now, int *pending))
{
    (void)device;
    *now = *pending = 1;
    return 0;
}
MOCK(nvmlDeviceGetComputeRunningProcesses_v3, (void *device, unsigned *n, void *processes))
{
    (void)device, (void)processes;
    *n = is("users") ? 2 : 0;
    return *n ? GP_NVML_NO_ROOM : 0;
}

/* ---- libcublasLt: a layout holds its rows and columns, and what describes a product its compute type
 * ---- */

struct layout {
    uint64_t rows, columns;
    int type;
};

MOCK(cublasLtCreate, (void **handle))
{
    *handle = calloc(1, 1);
    return *handle ? 0 : 3;
}
MOCK(cublasLtDestroy, (void *handle))
{
    free(handle);
    return 0;
}
MOCK(cublasLtMatmulDescCreate, (void **desc, int compute, int scale))
{
    (void)scale;
    *desc = calloc(1, sizeof(int));
    if (!*desc) return 3;
    *(int *)*desc = compute;
    return 0;
}
MOCK(cublasLtMatmulDescDestroy, (void *desc))
{
    free(desc);
    return 0;
}
MOCK(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t n))
{
    (void)value;
    return desc && attribute == 3 && n == 4 ? 0 : 7;
}
MOCK(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))
{
    struct layout *l = calloc(1, sizeof *l);
    if (!l || ld < (int64_t)rows) return free(l), 7;
    *l = (struct layout){rows, columns, type};
    *layout = l;
    return 0;
}
MOCK(cublasLtMatrixLayoutDestroy, (void *layout))
{
    free(layout);
    return 0;
}
MOCK(cublasLtMatmulPreferenceCreate, (void **pref))
{
    *pref = calloc(1, 1);
    return *pref ? 0 : 3;
}
MOCK(cublasLtMatmulPreferenceDestroy, (void *pref))
{
    free(pref);
    return 0;
}
MOCK(cublasLtMatmulPreferenceSetAttribute, (void *pref, int attribute, const void *value, size_t n))
{
    (void)value;
    return pref && attribute == 1 && n == sizeof(size_t) ? 0 : 7;
}
/* Two algorithms; the second is the faster one. */
MOCK(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d,
                                      void *pref, int wanted, struct gp_cublas_choice *choices, int *n))
{
    (void)handle, (void)desc, (void)b, (void)c, (void)d, (void)pref;
    *n = 0;
    if (((struct layout *)a)->type == 28 && is("no-fp8")) return 15;
    for (; *n < 2 && *n < wanted; ++*n) choices[*n] = (struct gp_cublas_choice){.algo = {(uint64_t)*n}};
    return 0;
}
/* CUDA's types of the operands, and operations per second of large products. */
static double product_rate(int type, int compute)
{
    static const struct {
        int type, compute;
        double rate;
    } rates[] = {{1, 70, 60e12},   {0, 68, 50e12},    {0, 77, 400e12}, {2, 68, 790e12},
                 {14, 68, 800e12}, {28, 68, 1500e12}, {3, 72, 1600e12}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].type == type && rates[i].compute == compute) return rates[i].rate;
    return 0;
}
MOCK(cublasLtMatmul,
     (void *handle, void *desc, const void *alpha, gp_devptr a, void *a_layout, gp_devptr b, void *b_layout,
      const void *beta, gp_devptr c, void *c_layout, gp_devptr d, void *d_layout,
      const struct gp_cublas_choice *algo, gp_devptr workspace, size_t workspace_n, void *stream))
{
    (void)handle, (void)alpha, (void)a, (void)b, (void)b_layout, (void)beta, (void)c, (void)d, (void)d_layout;
    (void)workspace, (void)workspace_n, (void)stream;
    const struct layout *x = a_layout, *z = c_layout;
    double rate = product_rate(x->type, *(int *)desc);
    if (is("crash")) abort();
    while (is("hang")) pause();
    if (rate <= 0) return 15;
    double operations = 2.0 * (double)x->rows * (double)z->rows * (double)z->columns;
    return spend(operations / rate * 1e9 * (algo->algo[0] ? 1 : 1.25));
}
