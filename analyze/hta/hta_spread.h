/* hta_spread.h -- the times of the steps of a device: how long they take and by how much they differ. Reads
 * only a finished gp_hta.
 *
 *     struct gp_step_spread s;
 *     if (gp_hta_step_time(&h, &s))
 *         printf("a step takes %lld ns, the mean of %zu", (long long)s.step_ns, s.used);
 */
#ifndef GP_ANALYZE_HTA_SPREAD_H
#define GP_ANALYZE_HTA_SPREAD_H

#include "analyze/hta/hta_rows.h"

struct gp_hta;

/* Add the figures of B to TO, which keeps its begin and end. */
void gp_hta_add_breakdown(struct gp_breakdown *to, const struct gp_breakdown *b);

/* The steps of one device; figures are of the whole steps, which the edge of the trace does not cut, without
 * or with warm-up, or of all steps if there are none of these. */
struct gp_step_spread {
    const struct gp_hta_step *first; /* of COUNT in a row: all steps of the device */
    size_t count, used;              /* all; those that the figures are of */
    size_t cut, warm_up;             /* of all */
    int64_t step_ns;                 /* THE step time: the mean, rounded down */
    int64_t median_ns;               /* of the GPU windows; the lower one of two */
    double mean_ns, stddev_ns;       /* divided by the number of steps */
    const struct gp_hta_step *fastest, *slowest;
    struct gp_breakdown sum; /* of the used ones */
};
typedef GP_VEC(struct gp_step_spread) gp_step_spreads;

/* Of the same device, with warm-up and without; STEADY is shown to people. */
struct gp_hta_spread {
    struct gp_hta_place at;
    struct gp_step_spread all, steady;
    bool each; /* its steps are wanted, too */
};
typedef GP_VEC(struct gp_hta_spread) gp_hta_spreads;
void gp_hta_find_spreads(const struct gp_hta *h, bool each, gp_hta_spreads *out);
extern const struct gp_record gp_hta_spread_rows; /* rows: struct gp_hta_spread */

/* Append one for each device that has steps. */
void gp_hta_step_spreads(const struct gp_hta *h, bool warm_up, gp_step_spreads *out);
/* The step time that all tools report: that of the device whose steps are the longest, without warm-up. False
 * if there are no whole steps. */
bool gp_hta_step_time(const struct gp_hta *h, struct gp_step_spread *out);

/* What the recorder added to the steps of the device of STEP. */
struct gp_recorder_added gp_hta_recorder_added(const struct gp_hta *h, const struct gp_hta_step *step);

#endif
