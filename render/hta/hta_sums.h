/* hta_sums.h -- derived figures that reports show of a finished gp_hta: sums over its rows, all devices
 * together, steps of a device, pieces of a path by name. Reads only the answer.
 *
 *     struct gp_hta_totals all = gp_hta_totals(&h);
 *     gp_pct(all.b.idle_ns, all.b.span_ns)
 */
#ifndef GP_RENDER_HTA_SUMS_H
#define GP_RENDER_HTA_SUMS_H

#include "analyze/hta/hta.h"

/* All devices together; times are sums over the devices. */
struct gp_hta_totals {
    struct gp_breakdown b; /* begin and end mean nothing */
    int64_t idle_cause_ns[GP_IDLE_CAUSE_COUNT];
    size_t devices, ranks;
};
struct gp_hta_totals gp_hta_totals(const struct gp_hta *h);
/* Add the figures of B to TO, which keeps its begin and end. */
void gp_hta_add_breakdown(struct gp_breakdown *to, const struct gp_breakdown *b);

/* The steps of one device; figures are of the whole steps, which the edge of the trace does not cut, without or with
 * warm-up, or of all steps if there are none of these. */
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
/* Append one for each device that has steps. */
void gp_hta_step_spreads(const struct gp_hta *h, bool warm_up, gp_step_spreads *out);

/* Culprits of all devices together, most idle time first. */
typedef GP_VEC(struct gp_idle_culprit) gp_idle_culprits;
void gp_hta_culprit_sums(const struct gp_hta *h, gp_idle_culprits *out);

/* Pieces of a path by bound and name, longest first. */
struct gp_path_sum {
    uint32_t bound;
    gp_sid name, full;
    uint64_t count;
    int64_t total_ns, longest_ns;
};
typedef GP_VEC(struct gp_path_sum) gp_path_sums;
void gp_hta_path_sums(const struct gp_hta_path *p, gp_path_sums *out);

/* The pieces FIRST..END-1 of a path as one. */
struct gp_path_run {
    size_t first, end;
    int64_t total_ns;
    enum gp_path_bound bound; /* of most of that time */
};
typedef GP_VEC(struct gp_path_run) gp_path_runs;
/* Append at most MAX (3 or more; 0: any number) runs that have all pieces of P between them, in order: the
 * longest pieces separately, the shorter ones between them combined. */
void gp_hta_path_fold(const struct gp_hta_path *p, size_t max, gp_path_runs *out);

#endif
