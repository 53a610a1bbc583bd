/* measured.h -- what counters say of each kernel of a trace: of the launch itself, or, where that was not
 * measured, the mean of the measured ones of its kernel, grid and block. The counters may be those of another
 * trace: see launch_match.h.
 *
 *     struct gp_measured m;
 *     struct gp_counted k;
 *     gp_measured_init(&m, &counters, &timing);
 *     if (gp_measured_at(&m, row, &k) != GP_MEASURED_NOT) use(k.dram_bytes);
 *     gp_measured_release(&m);
 */
#ifndef GP_ANALYZE_METRICS_MEASURED_H
#define GP_ANALYZE_METRICS_MEASURED_H

#include "analyze/cost/counters.h"
#include "analyze/metrics/launch_match.h"

enum gp_measured_as { GP_MEASURED_NOT, GP_MEASURED_LAUNCH, GP_MEASURED_MEAN };

struct gp_measured {
    const struct gp_trace *counters; /* borrowed */
    struct gp_launch_match match;
    struct gp_counters *sets; /* by metric set of COUNTERS */
    struct gp_counted *means; /* by group of the match; computed when first asked for */
    uint8_t *has_mean;
};

/* Without counters of kernels, nothing is measured. COUNTERS is borrowed until the release; TIMING is not. */
void gp_measured_init(struct gp_measured *m, const struct gp_trace *counters, const struct gp_trace *timing);
/* Of a ROW of GP_GPU of TIMING; K is filled unless it was not measured. */
enum gp_measured_as gp_measured_at(struct gp_measured *m, size_t row, struct gp_counted *k);
/* The means over all measured launches of its kernel, grid and block; false if there are none. */
bool gp_measured_parts(const struct gp_measured *m, size_t row, double mean[GP_COUNTER_PART_COUNT]);
void gp_measured_release(struct gp_measured *m);

#endif
