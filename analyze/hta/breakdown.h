/* breakdown.h -- where the time of a device went: computing, communicating, copying, idle.
 *
 *     struct gp_breakdown b;
 *     gp_breakdown_rows(&b, &view, rows, n, 0, 0);
 */
#ifndef GP_ANALYZE_BREAKDOWN_H
#define GP_ANALYZE_BREAKDOWN_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/math/intervals.h"
#include "analyze/result/field.h"
#include "analyze/view/view.h"

struct gp_breakdown {
    int64_t begin_ns, end_ns;                        /* first GPU event's start, last GPU event's end */
    int64_t span_ns;                                 /* end - begin */
    int64_t busy_ns, idle_ns;                        /* union of all GPU events; span - busy */
    int64_t compute_ns, communication_ns, memory_ns; /* unions over streams, each on its own */
    int64_t exposed_communication_ns;                /* communication not under compute */
    int64_t exposed_memory_ns;                       /* memory not under compute or communication */
    int64_t overlap_ns;                              /* communication under compute */
    uint64_t gpu_events;
    int64_t gpu_ns; /* sum of durations */
};
/* compute_ns + exposed_communication_ns + exposed_memory_ns + idle_ns == span_ns, always. */

/* The breakdown of some GPU events (rows by start), clipped to [BEGIN, END) when END > BEGIN; then span = end
 * - begin. */
void gp_breakdown_rows(struct gp_breakdown *b, const struct gp_view *v, const uint32_t *rows, size_t n,
                       int64_t begin_ns, int64_t end_ns);
/* The union of all GPU events of a device, normal. */
void gp_breakdown_busy(const struct gp_view *v, uint32_t device, struct gp_intervals *out);

/* Its fields, in two parts: JSON has others in between. */
extern const struct gp_record gp_hta_breakdown, gp_hta_window;
#define GP_BREAKDOWN(row, member)                                                                            \
    {                                                                                                        \
        .type = GP_CELL_PART, .at = offsetof(struct row, member), .rows = &gp_hta_breakdown                  \
    }
#define GP_WINDOW(row, member)                                                                               \
    {                                                                                                        \
        .type = GP_CELL_PART, .at = offsetof(struct row, member), .rows = &gp_hta_window                     \
    }

#endif
