/* cuda_names.h -- the names that traces use for numbers of CUDA, so that all recorders use
 * the same. The numbers are those of CUPTI. Knows nothing of traces.
 *
 *     snprintf(name, n, "Memcpy %s (%s)", gp_cuda_copy_kind(1), gp_cuda_memory_kind(1));
 */
#ifndef GP_FORMATS_MODEL_CUDA_NAMES_H
#define GP_FORMATS_MODEL_CUDA_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Length of NAME without the version suffix of runtime calls ("_v7000"); other names are kept whole. */
size_t gp_call_name_length(const char *name);
/* "HtoD"; "Unknown" */
const char *gp_cuda_copy_kind(uint32_t kind);
/* "Pageable"; "Unknown" */
const char *gp_cuda_memory_kind(uint32_t kind);
/* "Stream Wait Event"; "Unknown Sync" */
const char *gp_cuda_wait(uint32_t type);
/* Why unified memory was copied: "Prefetch"; "Unknown" */
const char *gp_cuda_migration(uint32_t cause);
/* How a GPU accessed the memory of a page fault: "Write"; "Unknown" */
const char *gp_cuda_access(uint32_t kind);

#endif
