/* hta_sums.h -- derived figures that reports show of a finished gp_hta: sums over its rows, all devices
 * together, pieces of a path by name. Reads only the answer.
 *
 *     struct gp_hta_totals all = gp_hta_totals(&h);
 *     gp_pct(all.b.idle_ns, all.b.span_ns)
 */
#ifndef GP_RENDER_HTA_SUMS_H
#define GP_RENDER_HTA_SUMS_H

#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta_spread.h"

struct gp_hta;

/* All devices together; times are sums over the devices. */
struct gp_hta_totals {
    struct gp_breakdown b; /* begin and end mean nothing */
    int64_t idle_cause_ns[GP_IDLE_CAUSE_COUNT];
    size_t devices, ranks;
};
struct gp_hta_totals gp_hta_totals(const struct gp_hta *h);

/* Culprits of all devices together, most idle time first; last, by cause, what has no row of its own, so that
 * they sum to the idle time. */
typedef GP_VEC(struct gp_idle_culprit) gp_idle_culprits;
void gp_hta_culprit_sums(const struct gp_hta *h, gp_idle_culprits *out);

/* Pieces of a path by bound and name, longest first. */
struct gp_path_sum {
    const struct gp_hta_path *path;
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
