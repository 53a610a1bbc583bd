/* hta_priv.h -- private to analyze/: what hta.c calls, in this order, and the module of each part. Every
 * gp_hta_add_X reads the view of one trace and adds to H; every merge appends FROM's part to TO's, whose
 * strings differ (map with gp_intern_from()); every finish sorts and computes what needs all ranks.
 * gp_hta_xfer_X saves or loads. */
#ifndef GP_ANALYZE_HTA_PRIV_H
#define GP_ANALYZE_HTA_PRIV_H

#include <pthread.h>
#include "analyze/hta/breakdown.h"
#include "analyze/hta/collectives.h"
#include "analyze/hta/hta.h"
#include "analyze/math/intervals.h"
#include "analyze/view/view.h"
#include "analyze/math/xfer.h"
#include "formats/base/map.h"

/* Finds the row for a key while adding: the key is a hash of sids, the value an index into the vector. */
struct gp_hta_maps {
    struct gp_map kernels, owners, op_shapes, api, copies, range_memory;
};

/* breakdown.c: adds one gp_hta_device for each device of the view, in the view's order; the others find theirs at
 * FIRST_DEVICE + index. */
void gp_hta_add_devices(struct gp_hta *h, const struct gp_view *v);
/* idle.c: idle time takes longest of all parts, so a separate thread computes it in parallel with the others
 * if OPTS allow. In between it uses only V. FINISH waits, and hands the result to the devices from
 * FIRST_DEVICE on; the result does not depend on threads. */
struct gp_hta_idle_device {
    int64_t cause_ns[GP_IDLE_CAUSE_COUNT], rest_ns[GP_IDLE_CAUSE_COUNT];
    struct gp_dist gaps;
    GP_VEC(struct gp_idle_culprit) culprits; /* labels are in the strings of gp_hta_idle */
};
struct gp_hta_idle {
    struct gp_strings strings;
    struct gp_hta_idle_device *devices; /* by device of the view */
    const struct gp_view *v;
    pthread_t thread;
    bool started;
};
void gp_hta_start_idle(struct gp_hta_idle *idle, const struct gp_hta_opts *opts, const struct gp_view *v);
void gp_hta_finish_idle(struct gp_hta_idle *idle, struct gp_hta *h, size_t first_device);
void gp_hta_add_kernels(struct gp_hta *h, const struct gp_view *v, size_t first_device); /* kernels, owners */
void gp_hta_add_op_shapes(struct gp_hta *h, const struct gp_view *v);
void gp_hta_add_launches(struct gp_hta *h, const struct gp_view *v); /* launches, api */
void gp_hta_add_graphs(struct gp_hta *h, const struct gp_view *v);
/* FOUND gets the steps and is to be released, also on failure. */
int gp_hta_add_steps(struct gp_hta *h, const struct gp_view *v, struct gp_steps *found, struct gp_err *err);
void gp_hta_add_copies(struct gp_hta *h, const struct gp_view *v); /* copies, memory */
void gp_hta_add_range_memory(struct gp_hta *h, const struct gp_view *v);
void gp_hta_add_sampled(struct gp_hta *h, const struct gp_view *v); /* after the steps */
/* STEPS: the slice of h->steps of this trace, n 0 when it has none. */
void gp_hta_add_path(struct gp_hta *h, const struct gp_view *v, size_t first_step);

void gp_hta_merge_devices(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_kernels(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_op_shapes(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_launches(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_graphs(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_steps(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_collectives(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_copies(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_range_memory(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_sampled(struct gp_hta *to, struct gp_hta *from);
void gp_hta_merge_paths(struct gp_hta *to, struct gp_hta *from);

void gp_hta_finish_devices(struct gp_hta *h);
void gp_hta_finish_kernels(struct gp_hta *h);
void gp_hta_finish_op_shapes(struct gp_hta *h);
void gp_hta_finish_launches(struct gp_hta *h);
void gp_hta_finish_graphs(struct gp_hta *h);
void gp_hta_finish_steps(struct gp_hta *h);
void gp_hta_finish_collectives(struct gp_hta *h); /* offsets, matches, stats, stragglers */
void gp_hta_finish_copies(struct gp_hta *h);
void gp_hta_finish_range_memory(struct gp_hta *h);
void gp_hta_finish_sampled(struct gp_hta *h);
void gp_hta_finish_paths(struct gp_hta *h);
/* hta_untimed.c: leave only what does not depend on when anything began. */
void gp_hta_forget_times(struct gp_hta *h);
/* Last: reads all the others. The findings of H, and those of its focus; stragglers and slow steps are those of H. */
void gp_hta_finish_findings(struct gp_hta *h);

/* hta_focus.c: add what the step windows are about of T, which focus.h made from the trace of V, to H, which is empty but
 * for its input. */
void gp_hta_add_inside(struct gp_hta *h, const struct gp_trace *t, const struct gp_view *v);

/* hta_fleet.c: add the devices of H, which holds one trace, to its fleet. */
void gp_hta_add_fleet(struct gp_hta *h);
struct gp_fleet_key gp_hta_key_of(const struct gp_hta *h, const struct gp_hta_device *d);
bool gp_hta_devices_are_ranks(const struct gp_hta *h); /* collectives.c */

/* hta_bound.c: where H has more than a few ranks, leave only the rows that its fleet keeps. Settle: always, and sort
 * everything, so that equal results have equal bytes. FLEET is that of the whole, which a focus has not. */
void gp_hta_leave_few(struct gp_hta *h, const struct gp_fleet *fleet);
void gp_hta_settle(struct gp_hta *h);
void gp_hta_merge_bound(struct gp_hta_bound *to, const struct gp_hta_bound *from);
void gp_hta_xfer_bound(struct gp_xfer *x, struct gp_hta *h);
/* The inputs that have no row, as one. */
void gp_hta_finish_bound(struct gp_hta *h);

/* hta_names.c: which names have rows of their own when there are too many: those with the lowest hashes, whatever the order they came
 * in. LIMIT is where the others begin. Cut returns false where all stay; it empties NAMES. */
struct gp_hta_names {
    struct gp_hta_name_hash {
        uint64_t hash;
        size_t bytes;
    } * at;
    size_t n, cap;
};
void gp_hta_names_add(struct gp_hta_names *names, const struct gp_hta *h, gp_sid name);
void gp_hta_names_add_pair(struct gp_hta_names *names, const struct gp_hta *h, gp_sid name, gp_sid shapes);
bool gp_hta_names_cut(struct gp_hta_names *names, uint64_t *limit);
/* NAME, or GP_HTA_OTHER. */
gp_sid gp_hta_names_kept(struct gp_hta *h, gp_sid name, uint64_t limit);
bool gp_hta_pair_kept(const struct gp_hta *h, gp_sid name, gp_sid shapes, uint64_t limit);
void gp_hta_cap_kernels(struct gp_hta *h);
void gp_hta_cap_op_shapes(struct gp_hta *h);
void gp_hta_cap_range_memory(struct gp_hta *h);

/* The figures of a breakdown, without its begin and end. */
void gp_hta_xfer_figures(struct gp_xfer *x, struct gp_breakdown *b);
void gp_hta_xfer_devices(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_kernels(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_op_shapes(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_launches(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_graphs(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_steps(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_collectives(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_copies(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_range_memory(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_sampled(struct gp_xfer *x, struct gp_hta *h);
void gp_hta_xfer_paths(struct gp_xfer *x, struct gp_hta *h);

/* Free what the vectors of that part own (the vectors themselves too). */
void gp_hta_release_devices(struct gp_hta *h);
void gp_hta_release_kernels(struct gp_hta *h);
void gp_hta_release_launches(struct gp_hta *h);
void gp_hta_release_graphs(struct gp_hta *h);
void gp_hta_release_steps(struct gp_hta *h);
void gp_hta_release_collectives(struct gp_hta *h);
void gp_hta_release_copies(struct gp_hta *h);
void gp_hta_release_range_memory(struct gp_hta *h);
void gp_hta_release_sampled(struct gp_hta *h);
void gp_hta_release_paths(struct gp_hta *h);

#endif
