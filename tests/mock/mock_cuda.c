/* The part of libcuda that matters to an injected library. */
#include "mock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner; /* the process that initialised CUDA; its fork children cannot */
static void (*_Atomic sink)(const struct mock_event *e);
static void (*_Atomic up)(void), (*_Atomic down)(void);
static _Atomic bool is_up;

void mock_attach(void (*to)(const struct mock_event *e), void (*on_up)(void), void (*on_down)(void))
{
    sink = to;
    up = on_up;
    down = on_down;
    if (is_up) up(); /* CUPTI comes late */
}

/* The driver goes down before handlers that were registered before cuInit() was done. */
static void go_down(void)
{
    void (*nobody)(const struct mock_event *) = NULL;
    sink = nobody;
    if (down) down();
}

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path) return;
    void *lib = dlopen(path, RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "mock libcuda: %s\n", dlerror());
        return;
    }
    int (*initialize)(void);
    void *p = dlsym(lib, "InitializeInjection");
    memcpy(&initialize, &p, sizeof initialize);
    if (!initialize || !initialize()) fprintf(stderr, "mock libcuda: the injected library failed\n");
}

int cuInit(unsigned flags)
{
    (void)flags;
    pthread_mutex_lock(&lock);
    int rc = 0;
    if (owner && owner != getpid()) {
        rc = 3;
    } else if (!owner) {
        owner = getpid();
        inject();
        atexit(go_down);
        is_up = true;
        if (up) up();
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

int cuDriverGetVersion(int *version)
{
    void (*to)(const struct mock_event *) = sink;
    if (to && owner == getpid()) to(&(struct mock_event){.op = MOCK_VERSION});
    *version = 13000;
    return 0;
}

/* As a program sees whether CUDA is up. */
int cuDeviceGetCount(int *n)
{
    *n = 1;
    return owner == getpid() ? 0 : 3;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    snprintf(name, (size_t)size, "Mock H200 of the driver");
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    enum { SM_CLOCK_KHZ = 13, SMS = 16, MEMORY_CLOCK_KHZ = 36, BUS_BITS = 37, CC_MAJOR = 75 };
    (void)device;
    *value = attribute == SMS                ? 132
             : attribute == SM_CLOCK_KHZ     ? 1980000
             : attribute == MEMORY_CLOCK_KHZ ? 3201000
             : attribute == BUS_BITS         ? 6144
             : attribute == CC_MAJOR         ? 9
                                             : 0;
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)141 << 30;
    return 0;
}

int cuCtxGetCurrent(void **context)
{
    static int one;
    *context = &one;
    return 0;
}

int cuCtxSynchronize(void) { return owner == getpid() ? 0 : 3; }

int mock_do(const struct mock_event *e)
{
    struct mock_event failed = {.op = MOCK_FAILED};
    void (*to)(const struct mock_event *) = sink;
    bool forked = owner != getpid();
    if (to) to(forked ? &failed : e);
    return forked ? 3 : 0;
}
