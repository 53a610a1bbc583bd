/* copies.h -- rows of trace-hta's answer: copies and sets by name, and the memory of each device.
 *
 *     const struct gp_copy_stat *c = &h.copies.at[0];
 *     double gbps = (double)c->bytes / (double)c->dur_ns;         // 10^9 bytes per second
 */
#ifndef GP_ANALYZE_COPIES_H
#define GP_ANALYZE_COPIES_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/math/histogram.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_copy_stat {
    gp_sid name; /* "Memcpy HtoD (Pinned -> Device)" */
    uint64_t count;
    int64_t bytes;
    int64_t dur_ns; /* sum; bandwidth = bytes / dur_ns, 10^9 bytes per second */
    struct gp_histogram size;
    bool pageable;
    uint64_t sync_calls; /* started by a call that blocks the host */
};

struct gp_memory_stat {
    int32_t rank;
    int64_t device; /* -1: host */
    uint64_t allocations, frees;
    int64_t allocated_bytes;        /* in all */
    int64_t peak_bytes, peak_at_ns; /* of the allocator's total if recorded, otherwise of the running sum */
    int64_t peak_reserved_bytes;
    gp_sid peak_op; /* what was running at the peak: label of the innermost operator */
};

extern const struct gp_record gp_hta_copies; /* rows: struct gp_copy_stat */
extern const struct gp_record gp_hta_memory; /* rows: struct gp_memory_stat */

#endif
