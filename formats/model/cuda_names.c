#include "formats/model/cuda_names.h"

#include <stdbool.h>
#include <string.h>
#include "formats/base/count.h"

size_t gp_call_name_length(const char *name)
{
    size_t n = strlen(name), digits = 0;
    while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9') digits++;
    bool versioned = digits >= 4 && digits <= 5 && n > digits + 2 && name[n - digits - 1] == 'v' &&
                     name[n - digits - 2] == '_';
    return versioned ? n - digits - 2 : n;
}

const char *gp_cuda_copy_kind(uint32_t kind)
{
    static const char *const names[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    return kind && kind < GP_COUNT(names) ? names[kind] : "Unknown";
}

const char *gp_cuda_memory_kind(uint32_t kind)
{
    static const char *const names[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};
    return kind < GP_COUNT(names) ? names[kind] : "Unknown";
}

const char *gp_cuda_wait(uint32_t type)
{
    static const char *const names[] = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};
    return names[type < GP_COUNT(names) ? type : 0];
}

const char *gp_cuda_migration(uint32_t cause)
{
    static const char *const names[] = {"Unknown", "User", "Fault", "Prefetch", "Eviction", "Access Counter"};
    return names[cause < GP_COUNT(names) ? cause : 0];
}

const char *gp_cuda_access(uint32_t kind)
{
    static const char *const names[] = {"Unknown", "Read", "Write", "Atomic", "Prefetch"};
    return names[kind < GP_COUNT(names) ? kind : 0];
}
