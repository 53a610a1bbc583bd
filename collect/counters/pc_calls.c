#include "collect/counters/pc_calls.h"

#include <dlfcn.h>
#include <string.h>

const char *gp_pc_calls_open(struct gp_pc_calls *p, void *library)
{
    void *symbol;
#define X(member, name, type)                                                                                \
    symbol = dlsym(library, #name);                                                                          \
    if (!symbol) return #name;                                                                               \
    memcpy(&p->member, &symbol, sizeof symbol);
    GP_PC_CALLS(X)
#undef X
    return NULL;
}
