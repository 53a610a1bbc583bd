#include "collect/counters/perfworks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/err.h"

/* Of CUptiResult, those that say why there are no counters. */
static const struct {
    int code;
    const char *why;
} reasons[] = {
    {1, "invalid parameter"},
    {7, "refused in this state"},
    {26, "another profiler (DCGM?) holds them; \"dcgmi profile --pause\" frees them"},
    {27, "refused in this combination; measure links (nvl, pcie, c2c) in a separate run"},
    {33, "not available on this virtual GPU"},
    {35, "not permitted (needs root, CAP_SYS_ADMIN or NVreg_RestrictProfilingToAdminUsers=0)"},
    {36, "another profiling API is in use in this process"},
    {38, "this CUPTI has only the old interface"},
    {39, "another tool uses CUPTI in this process; switch PyTorch's profiler off"},
    {40, "not available on this virtual GPU"},
    {41, "not available in confidential computing"},
    {42, "not available on mining GPUs"},
    {43, "not available on this MIG instance"},
    {44, "not available with SLI"},
    {45, "not available under WSL"},
    {46, "this CUPTI does not know the chip; a later CUDA may"},
    {999, "internal error of CUPTI"},
};

void gp_perfworks_why(char *to, size_t size, int code, const struct gp_perfworks *p, const char *chip)
{
    if (code == 15) {
        snprintf(to, size, "libnvperf_host.so is not beside libcupti%s%s", *p->host_library ? ": " : "",
                 p->host_library);
        return;
    }
    for (size_t i = 0; i < GP_COUNT(reasons); i++)
        if (reasons[i].code == code) {
            snprintf(to, size, "%s%s%s%s (%d)", chip && code == 46 ? chip : "",
                     chip && code == 46 ? ": " : "", reasons[i].why, "", code);
            return;
        }
    snprintf(to, size, "error %d of CUPTI", code);
}

/* Open NAME in the folder of the library that holds SYMBOL. */
static void open_beside(void *symbol, const char *name, char *to, size_t size)
{
    Dl_info info;
    if (!symbol || !dladdr(symbol, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    char path[400];
    int n = snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - info.dli_fname) : 1,
                     slash ? info.dli_fname : ".", name);
    if (n <= 0 || (size_t)n >= sizeof path) return;
    if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) && to) snprintf(to, size, "%s", path);
}

const char *gp_find_calls(void *to, void *library, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(library, names[i]);
        if (!symbol) return names[i];
        memcpy((char *)to + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return NULL;
}

#define NAME(member, symbol, type) #symbol,

int gp_perfworks_open(struct gp_perfworks *p, void *library, struct gp_err *err)
{
    static const char *const names[] = {GP_PW_CALLS(NAME)};
    memset(p, 0, sizeof *p);
    p->library = library;
    const char *missing = gp_find_calls(p, library, names, GP_COUNT(names));
    if (missing)
        return gp_fail(err, GP_E_FORMAT, -1, "this CUPTI has no %s: counters need CUDA 12.6 or later",
                       missing);
    void *symbol = dlsym(library, names[0]);
    open_beside(symbol, "libnvperf_host.so", p->host_library, sizeof p->host_library);
    open_beside(symbol, "libnvperf_target.so", NULL, 0);
    return 0;
}

int gp_perfworks_find(struct gp_perfworks *p, const char *path, struct gp_err *err)
{
    static const char *const names[] = {"/lib64/libcupti.so.13", "/lib/libcupti.so.13",
                                        "/extras/CUPTI/lib64/libcupti.so.13", "/lib64/libcupti.so.12",
                                        "/extras/CUPTI/lib64/libcupti.so.12"};
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", ""};
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && !library) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, dlerror());
    for (size_t r = 0; !library && r < GP_COUNT(roots); r++) {
        const char *root = *roots[r] ? getenv(roots[r]) : "/usr/local/cuda";
        char at[400];
        for (size_t i = 0; root && !library && i < GP_COUNT(names); i++)
            if (snprintf(at, sizeof at, "%s%s", root, names[i]) < (int)sizeof at)
                library = dlopen(at, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return gp_fail(err, GP_E_IO, -1, "no libcupti found: set GPUPROF_LIBCUPTI to that of a CUDA toolkit");
    int failed = gp_perfworks_open(p, library, err);
    struct gp_pw_plain init = {sizeof init, NULL};
    if (!failed) p->driver = !p->initialize(&init); /* questions asked here work without, too */
    return failed;
}

/* ---- sampling ---- */

int gp_pm_calls_open(struct gp_pm_calls *p, void *library, struct gp_err *err)
{
    static const char *const names[] = {GP_PM_CALLS(NAME) "cuptiActivityRegisterTimestampCallback",
                                        "cuptiGetVersion"};
    const char *missing = gp_find_calls(p, library, names, GP_COUNT(names));
    if (!missing) return 0;
    return gp_fail(err, GP_E_FORMAT, -1, "this CUPTI has no %s: sampling needs CUDA 12.6 or later", missing);
}
