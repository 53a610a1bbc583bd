/* The devices of this process as the driver reports them: CUPTI makes no record of a device for who
 * subscribes after cuInit(), and without the number of multiprocessors and the bandwidth no kernel can be
 * judged. */
#include "collect/inject/inject.h"

#include <cuda.h>
#include <dlfcn.h>
#include <string.h>
#include "collect/inject/tracer.h"

enum { MAX_DEVICES = 64 };

/* The names that the driver exports, which cuda.h may have renamed. */
struct driver {
    int (*count)(int *n);
    int (*get)(int *device, int ordinal);
    int (*name)(char *name, int size, int device);
    int (*attribute)(int *value, int attribute, int device);
    int (*memory)(size_t *bytes, int device);
};

static bool find_driver(struct driver *d)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!lib) return false;
    gp_find_symbol(lib, "cuDeviceGetCount", &d->count);
    gp_find_symbol(lib, "cuDeviceGet", &d->get);
    gp_find_symbol(lib, "cuDeviceGetName", &d->name);
    gp_find_symbol(lib, "cuDeviceGetAttribute", &d->attribute);
    gp_find_symbol(lib, "cuDeviceTotalMem_v2", &d->memory);
    return d->count && d->get && d->name && d->attribute && d->memory;
}

bool gp_inject_cuda_is_up(void)
{
    struct driver d = {0};
    int n = 0;
    return find_driver(&d) && d.count(&n) != CUDA_ERROR_NOT_INITIALIZED;
}

/* 0: unknown. */
static int32_t attribute(const struct driver *d, int device, CUdevice_attribute which)
{
    int value = 0;
    return d->attribute(&value, (int)which, device) || value < 0 ? 0 : value;
}

static bool describe(const struct driver *d, int ordinal, struct gp_wire_device *to)
{
    int device = 0;
    size_t bytes = 0;
    memset(to, 0, sizeof *to);
    if (d->get(&device, ordinal) || d->name(to->name, sizeof to->name, device)) return false;
    to->id = ordinal;
#define ASK(what) attribute(d, device, CU_DEVICE_ATTRIBUTE_##what)
    to->cc_major = ASK(COMPUTE_CAPABILITY_MAJOR);
    to->cc_minor = ASK(COMPUTE_CAPABILITY_MINOR);
    to->sms = ASK(MULTIPROCESSOR_COUNT);
    to->warp_size = ASK(WARP_SIZE);
    to->max_threads_per_sm = ASK(MAX_THREADS_PER_MULTIPROCESSOR);
    to->max_threads_per_block = ASK(MAX_THREADS_PER_BLOCK);
    to->regs_per_sm = ASK(MAX_REGISTERS_PER_MULTIPROCESSOR);
    to->regs_per_block = ASK(MAX_REGISTERS_PER_BLOCK);
    to->shared_per_sm = ASK(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    to->shared_per_block = ASK(MAX_SHARED_MEMORY_PER_BLOCK);
    to->l2_bytes = ASK(L2_CACHE_SIZE);
    to->core_clock_khz = ASK(CLOCK_RATE);
    /* Two transfers per clock, as CUPTI counts them. */
    to->memory_bandwidth_bps =
        (int64_t)ASK(MEMORY_CLOCK_RATE) * 1000 * 2 * (ASK(GLOBAL_MEMORY_BUS_WIDTH) / 8);
#undef ASK
    if (!d->memory(&bytes, device)) to->memory_bytes = (int64_t)bytes;
    return true;
}

bool gp_inject_devices(void (*tell)(const struct gp_wire_device *device))
{
    struct driver d;
    struct gp_wire_device device;
    int n = 0;
    if (!find_driver(&d) || d.count(&n)) return false;
    for (int i = 0; i < n && i < MAX_DEVICES; i++)
        if (describe(&d, i, &device)) tell(&device);
    return true;
}
