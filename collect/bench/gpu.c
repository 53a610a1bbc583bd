#include "collect/bench/gpu.h"

#include <string.h>
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"

enum { THREADS = 256, SEED = 20011 };

int gp_gpu_try(struct gp_gpu *g, int rc, const char *call)
{
    const char *name = NULL;
    if (!rc) return 0;
    if (g->cuda->cuGetErrorName(rc, &name) || !name) name = "unknown error";
    return gp_fail(&g->err, GP_E_IO, -1, "%s: %s (%d)", call, name, rc);
}

static uint64_t attribute(struct gp_gpu *g, int which)
{
    int v = 0;
    return g->cuda->cuDeviceGetAttribute(&v, which, g->device) || v < 0 ? 0 : (uint64_t)v;
}

/* Asked for before there is a context of ours. With no room for the processes themselves the call fails, but
 * counts them. */
static void count_users(struct gp_gpu *g)
{
    const struct gp_nvml *nvml = &g->driver->nvml;
    unsigned n = 0;
    g->users = -1;
    if (!g->nvml || !nvml->nvmlDeviceGetComputeRunningProcesses_v3) return;
    int rc = nvml->nvmlDeviceGetComputeRunningProcesses_v3(g->nvml, &n, NULL);
    if (!rc || rc == GP_NVML_NO_ROOM) g->users = (int)n;
}

static void read_device(struct gp_gpu *g)
{
    const struct gp_nvml *n = &g->driver->nvml;
    if (g->cuda->cuDeviceGetName(g->name, sizeof g->name, g->device)) g->name[0] = 0;
    if (g->cuda->cuDeviceGetPCIBusId(g->pci, sizeof g->pci, g->device)) g->pci[0] = 0;
    g->sms = (int)attribute(g, GP_CUDA_SMS);
    g->major = (int)attribute(g, GP_CUDA_MAJOR);
    g->minor = (int)attribute(g, GP_CUDA_MINOR);
    g->l2_bytes = attribute(g, GP_CUDA_L2_BYTES);
    if (n->nvmlInit_v2 && n->nvmlDeviceGetHandleByPciBusId_v2 && !n->nvmlInit_v2() &&
        n->nvmlDeviceGetHandleByPciBusId_v2(g->pci, &g->nvml))
        g->nvml = NULL;
    count_users(g);
}

static int set_up(struct gp_gpu *g)
{
    if (GP_GPU(g, cuInit, 0) || GP_GPU(g, cuDeviceGetCount, &g->count)) return -1;
    if (g->index >= g->count)
        return gp_fail(&g->err, GP_E_USAGE, -1, "device %d: there are %d devices, from number 0", g->index,
                       g->count);
    if (GP_GPU(g, cuDeviceGet, &g->device, g->index)) return -1;
    read_device(g);
    if (GP_GPU(g, cuDevicePrimaryCtxRetain, &g->context, g->device) ||
        GP_GPU(g, cuCtxSetCurrent, g->context) ||
        GP_GPU(g, cuStreamCreate, &g->stream, GP_CUDA_NON_BLOCKING) ||
        GP_GPU(g, cuEventCreate, &g->begin, 0) || GP_GPU(g, cuEventCreate, &g->end, 0))
        return -1;
    struct gp_buf b = {0};
    gp_ptx_begin(&b);
    gp_ptx_fill(&b);
    int failed = GP_GPU(g, cuModuleLoadDataEx, &g->fill_module, gp_buf_str(&b), 0, NULL, NULL) ||
                 GP_GPU(g, cuModuleGetFunction, &g->fill, g->fill_module, "fill");
    gp_buf_release(&b);
    return failed ? -1 : 0;
}

int gp_gpu_open(struct gp_gpu *g, const struct gp_driver *d, int index, struct gp_err *err)
{
    *g = (struct gp_gpu){.driver = d, .cuda = &d->cuda, .index = index};
    if (!set_up(g)) return 0;
    *err = g->err;
    return -1;
}

/* The context ends with the process. */
void gp_gpu_close(struct gp_gpu *g)
{
    gp_gpu_free_all(g);
    if (g->module) (void)g->cuda->cuModuleUnload(g->module);
    if (g->fill_module) (void)g->cuda->cuModuleUnload(g->fill_module);
    if (g->begin) (void)g->cuda->cuEventDestroy_v2(g->begin);
    if (g->end) (void)g->cuda->cuEventDestroy_v2(g->end);
    g->module = g->fill_module = g->begin = g->end = NULL;
}

uint64_t gp_gpu_room(struct gp_gpu *g)
{
    size_t unused = 0, total = 0;
    return GP_GPU(g, cuMemGetInfo_v2, &unused, &total) ? 0 : unused;
}

/* Which bits of a 32-bit word are random, and which are set: of even words, of odd ones. */
static const uint32_t masks[][4] = {
    [GP_BITS_INT8] = {0xffffffff, 0, 0xffffffff, 0},
    [GP_BITS_FP8] = {0x9f9f9f9f, 0x20202020, 0x9f9f9f9f, 0x20202020},
    [GP_BITS_FP16] = {0x8fff8fff, 0x30003000, 0x8fff8fff, 0x30003000},
    [GP_BITS_BF16] = {0x81ff81ff, 0x3e003e00, 0x81ff81ff, 0x3e003e00},
    [GP_BITS_FP32] = {0x81ffffff, 0x3e000000, 0x81ffffff, 0x3e000000},
    [GP_BITS_FP64] = {0xffffffff, 0, 0x803fffff, 0x3fc00000},
};

static int fill(struct gp_gpu *g, gp_devptr p, uint64_t bytes, enum gp_bits bits)
{
    uint64_t words = bytes / 4;
    uint32_t seed = SEED + (uint32_t)g->nblocks * 7919, m[4];
    memcpy(m, masks[bits], sizeof m);
    void *params[] = {&p, &words, &seed, &m[0], &m[1], &m[2], &m[3]};
    return gp_gpu_launch(g, g->fill, (words + THREADS - 1) / THREADS, THREADS, params) ||
           GP_GPU(g, cuStreamSynchronize, g->stream);
}

gp_devptr gp_gpu_alloc(struct gp_gpu *g, uint64_t bytes, enum gp_bits bits)
{
    gp_devptr p = 0;
    bytes = (bytes + 255) / 256 * 256;
    if (g->nblocks == GP_GPU_BLOCKS) return gp_fail(&g->err, GP_E_LIMIT, -1, "too many allocations"), 0;
    if (GP_GPU(g, cuMemAlloc_v2, &p, bytes)) return 0;
    g->blocks[g->nblocks++] = p;
    return fill(g, p, bytes, bits) ? 0 : p;
}

void gp_gpu_free_all(struct gp_gpu *g)
{
    while (g->nblocks) (void)g->cuda->cuMemFree_v2(g->blocks[--g->nblocks]);
}

int gp_gpu_load(struct gp_gpu *g, const char *text)
{
    if (g->module) (void)g->cuda->cuModuleUnload(g->module);
    g->module = NULL;
    return GP_GPU(g, cuModuleLoadDataEx, &g->module, text, 0, NULL, NULL);
}

void *gp_gpu_function(struct gp_gpu *g, const char *name)
{
    void *f = NULL;
    return GP_GPU(g, cuModuleGetFunction, &f, g->module, name) ? NULL : f;
}

int gp_gpu_launch(struct gp_gpu *g, void *function, uint64_t blocks, unsigned threads, void **params)
{
    if (!blocks || blocks > INT32_MAX)
        return gp_fail(&g->err, GP_E_LIMIT, -1, "a grid of %llu blocks", (unsigned long long)blocks);
    return GP_GPU(g, cuLaunchKernel, function, (unsigned)blocks, 1, 1, threads, 1, 1, 0, g->stream, params,
                  NULL);
}

int gp_gpu_time(struct gp_gpu *g, gp_gpu_work *work, void *context, uint64_t n, double *ns)
{
    float ms = 0;
    if (GP_GPU(g, cuEventRecord, g->begin, g->stream)) return -1;
    for (uint64_t i = 0; i < n; i++)
        if (work(g, context)) return -1;
    if (GP_GPU(g, cuEventRecord, g->end, g->stream) || GP_GPU(g, cuStreamSynchronize, g->stream) ||
        GP_GPU(g, cuEventElapsedTime, &ms, g->begin, g->end))
        return -1;
    *ns = (double)ms * 1e6;
    return *ns > 0 ? 0 : gp_fail(&g->err, GP_E_IO, -1, "the driver measured no time");
}

uint64_t gp_gpu_repeats(struct gp_gpu *g, gp_gpu_work *work, void *context, double least_ns, uint64_t most)
{
    uint64_t n = 1;
    for (;;) {
        double ns;
        if (gp_gpu_time(g, work, context, n, &ns)) return 0;
        if (ns >= least_ns || n >= most) return n;
        double wanted = 1.2 * least_ns / ns * (double)n;
        n = wanted > 10.0 * (double)n ? 10 * n : (uint64_t)wanted + 1;
        if (n > most) n = most;
    }
}
