#include "formats/model/cuda_names.h"

#include <stdbool.h>
#include <string.h>
#include "formats/base/str.h"

size_t gp_call_name_length(const char *name)
{
    size_t n = strlen(name), digits = 0;
    while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9') digits++;
    bool versioned = digits >= 4 && digits <= 5 && n > digits + 2 && name[n - digits - 1] == 'v' &&
                     name[n - digits - 2] == '_';
    return versioned ? n - digits - 2 : n;
}

GP_WORDS(gp_cuda_copy_kind, uint32_t, "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA",
         "DtoD", "HtoH", "PtoP")
GP_WORDS(gp_cuda_memory_kind, uint32_t, "Unknown", "Pageable", "Pinned", "Device", "Array", "Managed",
         "Device Static", "Managed Static")
GP_WORDS(gp_cuda_wait, uint32_t, "Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
         "Context Sync")
GP_WORDS(gp_cuda_migration, uint32_t, "Unknown", "User", "Fault", "Prefetch", "Eviction", "Access Counter")
GP_WORDS(gp_cuda_access, uint32_t, "Unknown", "Read", "Write", "Atomic", "Prefetch")
