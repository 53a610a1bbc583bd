#include "collect/bench/driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"

struct call {
    const char *name;
    size_t at; /* in its table */
};

#define CUDA(function, params)   {#function, offsetof(struct gp_cuda, function)},
#define NVML(function, params)   {#function, offsetof(struct gp_nvml, function)},
#define CUBLAS(function, params) {#function, offsetof(struct gp_cublas, function)},
static const struct call cuda_calls[] = {GP_CUDA_CALLS(CUDA){NULL, 0}};
static const struct call nvml_calls[] = {GP_NVML_CALLS(NVML){NULL, 0}};
static const struct call cublas_calls[] = {GP_CUBLAS_CALLS(CUBLAS){NULL, 0}};

/* Fill TABLE; the name of the first call that LIBRARY lacks, or NULL. */
static const char *find_calls(void *library, const struct call *calls, void *table)
{
    const char *missing = NULL;
    for (; calls->name; calls++) {
        void *found = dlsym(library, calls->name);
        if (!found && !missing) missing = calls->name;
        memcpy((char *)table + calls->at, &found, sizeof found);
    }
    return missing;
}

static void *open_first(const char *chosen, const char *const *names)
{
    if (chosen && *chosen) return dlopen(chosen, RTLD_NOW);
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW);
        if (library) return library;
    }
    return NULL;
}

/* Where toolkits and Python packages put it, if the linker does not know. */
static void *open_in_packages(void)
{
    static const char *const patterns[] = {
        "/usr/local/cuda*/lib64/libcublasLt.so.1[1-9]",
        "/usr/local/cuda*/targets/*/lib/libcublasLt.so.1[1-9]",
        "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcublasLt.so.1[1-9]",
        "/usr/lib/python3*/*-packages/nvidia/*/lib/libcublasLt.so.1[1-9]",
        "/opt/*/lib/python3*/site-packages/nvidia/*/lib/libcublasLt.so.1[1-9]",
    };
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found = {0};
        if (!glob(patterns[i], 0, NULL, &found))
            for (size_t k = found.gl_pathc; k-- && !library;) library = dlopen(found.gl_pathv[k], RTLD_NOW);
        globfree(&found);
    }
    return library;
}

static void open_cublas(struct gp_driver *d)
{
    static const char *const names[] = {"libcublasLt.so.14", "libcublasLt.so.13", "libcublasLt.so.12",
                                        "libcublasLt.so.11", NULL};
    const char *chosen = getenv("GPUPROF_LIBCUBLASLT");
    void *library = open_first(chosen, names);
    if (!library && !(chosen && *chosen)) library = open_in_packages();
    const char *missing = library ? find_calls(library, cublas_calls, &d->cublas) : NULL;
    if (!library)
        snprintf(d->no_cublas, sizeof d->no_cublas,
                 "libcublasLt was not found (GPUPROF_LIBCUBLASLT names it)");
    else if (missing) snprintf(d->no_cublas, sizeof d->no_cublas, "libcublasLt has no %s", missing);
    if (missing) memset(&d->cublas, 0, sizeof d->cublas);
}

int gp_driver_open(struct gp_driver *d, struct gp_err *err)
{
    static const char *const cuda[] = {"libcuda.so.1", NULL}, *const nvml[] = {"libnvidia-ml.so.1", NULL};
    memset(d, 0, sizeof *d);
    void *library = open_first(getenv("GPUPROF_LIBCUDA"), cuda);
    if (!library) return gp_fail(err, GP_E_IO, -1, "no NVIDIA driver: %s", dlerror());
    const char *missing = find_calls(library, cuda_calls, &d->cuda);
    if (missing) return gp_fail(err, GP_E_IO, -1, "the driver is too old: libcuda has no %s", missing);
    library = open_first(getenv("GPUPROF_LIBNVML"), nvml);
    if (library) (void)find_calls(library, nvml_calls, &d->nvml);
    open_cublas(d);
    return 0;
}
