/* hta_bound.h -- what a result of many ranks keeps of each: all of it up to GP_FLEET_FEW ranks; of more, the
 * rows of the ranks that the fleet keeps, windows of their steps and collectives, and the sums of all others.
 *
 *     if (h.bound.bounded) use(h.bound.devices, h.bound.b.busy_ns);   // of the devices without a row
 */
#ifndef GP_ANALYZE_HTA_BOUND_H
#define GP_ANALYZE_HTA_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/hta/breakdown.h"
#include "analyze/hta/critical_path.h"
#include "analyze/math/histogram.h"
#include "analyze/math/serialize.h"
#include "analyze/view/idle_cause.h"
#include "analyze/view/quality.h"

/* The row of everything without a row of its own. */
#define GP_HTA_OTHER "(other)"

enum {
    GP_HTA_KEPT_STREAMS = 8, /* per device that is kept */
    GP_HTA_KEPT_CULPRITS = 8,
    GP_HTA_KEPT_STEPS = 32,
    GP_HTA_KEPT_COLLECTIVES = 64, /* per rank */
    GP_HTA_KEPT_GRAPHS = 4,
    GP_HTA_KEPT_PIECES = 1024, /* per path */
    GP_HTA_KEPT_UNRANKED = 32, /* rows of a sort that belong to no rank */
    GP_HTA_KEPT_INPUTS = 16,   /* with problems, besides those of the devices that are kept */
};

/* Sums over everything without a row. */
struct gp_hta_bound {
    bool bounded;
    uint64_t devices;
    struct gp_breakdown b; /* begin and end mean nothing */
    int64_t idle_cause_ns[GP_IDLE_CAUSE_COUNT];
    struct gp_histogram gaps;
    int64_t kernel_ns, gemm_ns, tensor_core_ns;
    int64_t sm_ns, sm_span_ns; /* of devices that small_grids looks at (findings.c) */
    uint64_t paths;
    int64_t path_bound_ns[GP_PATH_BOUND_COUNT];
    uint64_t pieces; /* that are left out of the paths kept */
    uint64_t steps, collectives, graphs, memory;
    uint64_t inputs;                   /* without a row; */
    struct gp_input_quality of_inputs; /* their sums: only numbers */
    size_t listed; /* after finish: so many inputs are single ones; one more stands for all others */
    /* Names with this hash or a larger one are together in GP_HTA_OTHER; 0: none are. */
    uint64_t kernel_limit, owner_limit, shape_limit, range_limit;
};

#endif
