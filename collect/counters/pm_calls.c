#include "collect/counters/pm_calls.h"

#include <dlfcn.h>
#include <string.h>
#include "formats/base/err.h"

int gp_pm_calls_open(struct gp_pm_calls *p, void *library, struct gp_err *err)
{
    void *symbol;
    memset(p, 0, sizeof *p);
#define FIND(member, name)                                                                                   \
    symbol = dlsym(library, name);                                                                           \
    if (!symbol)                                                                                             \
        return gp_fail(err, GP_E_FORMAT, -1, "this CUPTI has no %s: sampling needs CUDA 12.6 or later",      \
                       name);                                                                                \
    memcpy(&p->member, &symbol, sizeof symbol);
#define X(member, name, type) FIND(member, #name)
    GP_PM_CALLS(X)
#undef X
    FIND(set_clock, "cuptiActivityRegisterTimestampCallback")
    FIND(version, "cuptiGetVersion")
#undef FIND
    return 0;
}
