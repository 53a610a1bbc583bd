/* range_memory.h -- rows of trace-hta's answer: what each range allocates, frees and copies.
 *
 *     const struct gp_range_memory *m = &h.range_memory.at[0];
 *     use(gp_hta_str(&h, m->name), m->allocated_bytes - m->freed_bytes);
 */
#ifndef GP_ANALYZE_RANGE_MEMORY_H
#define GP_ANALYZE_RANGE_MEMORY_H

#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/intern.h"

/* Memory allocated, freed and copied while a range is the innermost on its thread (range_memory.c); each row,
 * and each copy by the call that started it, counts for one range. */
struct gp_range_memory {
    gp_sid name;                 /* label; 0: outside any range */
    uint64_t allocations, frees; /* of device memory, like the next three */
    int64_t allocated_bytes, freed_bytes;
    /* most memory allocated by the process, on all devices, after an allocation in the range */
    int64_t peak_bytes;
    uint64_t host_allocations;
    int64_t host_bytes;
    uint64_t copies;
    int64_t copied_bytes;
};

extern const struct gp_record gp_hta_range_memory; /* rows: struct gp_range_memory */

#endif
