/* measure_plan.h -- from a request and a chip to a measurement: the names that exist there with units and
 * types, the passes they take, and the configuration for the hardware. Needs no GPU. Cheap to ask, but the
 * first question of a process takes 0.15 s.
 *
 *     struct gp_measure_plan plan;
 *     if (gp_measure_plan_make(&plan, &perfworks, GP_PLAN_RANGES, "GH100", "basic", 1, &err)) ...
 *     use(plan.passes, plan.config, plan.config_bytes);
 *     gp_measure_plan_release(&plan, &perfworks);
 */
#ifndef GP_COLLECT_MEASURE_PLAN_H
#define GP_COLLECT_MEASURE_PLAN_H

#include <stdint.h>
#include "collect/counters/perfworks.h"
#include "collect/counters/sets.h"
#include "formats/base/declare.h"

struct gp_measure_plan {
    struct gp_metric_names names;
    const char **units; /* by name; of the host library */
    uint32_t *types;    /* 0 counter, 1 ratio, 2 throughput */
    uint32_t passes;
    uint8_t *config;
    size_t config_bytes;
    void *host; /* that evaluates */
};

/* What is read: counters of launches and ranges, or all the time, at equal distances. */
enum gp_plan_kind { GP_PLAN_RANGES, GP_PLAN_SAMPLES };

/* For TEXT as --metrics or --sample-metrics have it. More than MOST passes (0: any number) are refused, with
 * the largest part of the request that fits. Of the default of samples, metrics that the chip lacks are left
 * out. */
GP_MUST_CHECK int gp_measure_plan_make(struct gp_measure_plan *plan, struct gp_perfworks *p,
                                       enum gp_plan_kind kind, const char *chip, const char *text,
                                       uint32_t most, struct gp_err *err);
void gp_measure_plan_release(struct gp_measure_plan *plan, struct gp_perfworks *p);

/* ---- the list of metrics ----
 * The metrics of a chip as text: sets with their passes, then all names with units. Needs no GPU.
 *
 *     if (gp_metrics_list(&b, &perfworks, "GH100", &err)) ...
 */

/* CHIP "": that of the first device; without one, the chips that are known are listed. -1 with ERR for an
 * unknown chip. */
GP_MUST_CHECK int gp_metrics_list(struct gp_buf *b, struct gp_perfworks *p, const char *chip,
                                  struct gp_err *err);

#endif
