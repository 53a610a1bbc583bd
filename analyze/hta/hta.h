/* hta.h -- holistic trace analysis: the answer of trace-hta as plain structs, built up trace by trace and
 * mergeable. Knows nothing about files, text or pictures. All times are integer ns, all sizes bytes. Comments
 * here define each figure; analyze/hta/README.md has the formulas.
 *
 *     struct gp_hta h;
 *     gp_hta_init(&h, &opts);
 *     gp_hta_add_trace(&h, &trace);        // once per rank; the trace may be freed afterwards
 *     gp_hta_finish(&h);                   // needs all ranks: matching, stragglers, findings, order
 *     ... h.devices.at[0].b.busy_ns ...; gp_hta_release(&h);
 *
 * Each section has its own module, which describes its rows (hta_rows.h) and fills them from a gp_view
 * (hta_priv.h); hta.c calls the sections in order. */
#ifndef GP_ANALYZE_HTA_H
#define GP_ANALYZE_HTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "analyze/fleet/fleet.h"
#include "analyze/fleet/slow.h"
#include "analyze/hta/hta_bound.h"
#include "analyze/hta/launches.h"
#include "analyze/view/repair.h"
#include "analyze/view/view.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

struct gp_classes;

/* A zeroed struct is the default. */
struct gp_hta_opts {
    enum gp_repair repair;            /* trace-hta's default is GP_REPAIR_NONE: report, change nothing */
    const struct gp_classes *classes; /* the user's; NULL: built in. Borrowed. */
    /* POSIX extended regular expression for ranges that are steps; NULL: find them */
    const char *step_marker;
    uint64_t items; /* samples or tokens that a GPU takes in per step; 0: not known */
    bool per_step;  /* figures of every step, not only their spread */
    bool all_ranks; /* keep every row of any number of ranks (hta_bound.h) */
    int threads;    /* for adding a trace; 0 and 1: only the caller's; does not change the result */
};

struct gp_hta {
    struct gp_hta_opts opts;
    struct gp_strings strings; /* of all sids */
    GP_VEC(struct gp_input_quality) inputs;
    GP_VEC(struct gp_hta_device) devices;  /* by (rank, producer, device) after finish */
    GP_VEC(struct gp_kernel_stat) kernels; /* by total, then name, after finish */
    GP_VEC(struct gp_owner_stat) owners;   /* by sort, then total */
    GP_VEC(struct gp_op_shape) op_shapes;  /* by total, then name and shapes */
    GP_VEC(struct gp_api_stat) api;        /* by total */
    struct gp_hta_launches launches;
    GP_VEC(struct gp_graph_stat) graphs;
    GP_VEC(struct gp_hta_step) steps;         /* by (rank, producer, device, begin) */
    GP_VEC(struct gp_collective) collectives; /* of every rank; by (rank, start) after finish */
    GP_VEC(struct gp_collective_match) matches;
    GP_VEC(struct gp_collective_stat) collective_stats;
    GP_VEC(struct gp_rank_offset) offsets;
    GP_VEC(struct gp_straggler) stragglers;                 /* worst first */
    uint64_t unmatched_collectives, mismatched_collectives; /* on one rank only; contradicting order */
    GP_VEC(struct gp_copy_stat) copies;
    GP_VEC(struct gp_memory_stat) memory;
    GP_VEC(struct gp_range_memory) range_memory; /* by bytes allocated and copied, then name */
    GP_VEC(struct gp_sampled) sampled;           /* by (rank, device, over), then time, name and metric */
    GP_VEC(struct gp_clock_stat) clocks;         /* by (rank, producer, device), as the next */
    GP_VEC(struct gp_energy_stat) energy;
    GP_VEC(struct gp_hta_path) paths;   /* one per rank: the median step, or the whole trace */
    GP_VEC(struct gp_finding) findings; /* largest first */
    GP_VEC(int32_t) missing_ranks, repeated_ranks;
    int32_t world_size;        /* -1 unknown */
    struct gp_fleet fleet;     /* common values of ranks, and outliers */
    struct gp_slow_list slow;  /* ranks that delay others, and why; after finish */
    struct gp_hta_bound bound; /* sums without a row */
    /* After finish: the GPU was measured kernel by kernel. There are no figures of steps, idle, busy and host
     * time. */
    bool untimed;
    GP_VEC(struct gp_hta_part) parts; /* of devices with steps; by (rank, producer, device, begin) */
    /* The step windows only: inputs, devices, kernels, owners, api, launches, copies and findings. NULL:
     * there are no steps, or nothing lies outside of them. gp_hta_about() chooses. */
    struct gp_hta *focus;
    struct gp_hta_work *work; /* private: only while adding */
};

/* OPTS is copied; may be NULL. */
void gp_hta_init(struct gp_hta *h, const struct gp_hta_opts *opts);
/* The tables that gp_hta_add_trace looks at. */
#define GP_HTA_NEED (GP_VIEW_NEED | GP_NEED_EXTRA_OPS)

/* Add everything from a finished trace T. With opts.repair, T's GPU events are first repaired and sorted
 * again. Returns -1 if the step marker is not a valid regular expression. */
GP_MUST_CHECK int gp_hta_add_trace(struct gp_hta *h, struct gp_trace *t, struct gp_err *err);
/* The same, and overwrites V with the view of T that was used; the caller releases it, also on failure. */
GP_MUST_CHECK int gp_hta_add_viewed(struct gp_hta *h, struct gp_trace *t, struct gp_view *v,
                                    struct gp_err *err);
/* Append everything from FROM, which is also unfinished, to TO; FROM is then empty. Every order and grouping
 * gives the same saved bytes and, but for the order of inputs of no rank and equal path, the same answer. */
void gp_hta_merge(struct gp_hta *to, struct gp_hta *from);
/* An operand that could not be read is not part of the answer, but counted and named in it. */
void gp_hta_skip(struct gp_hta *h, const char *operand, const char *reason);
/* Compute figures that need all ranks, and sort everything. Call it once, last. */
void gp_hta_finish(struct gp_hta *h);
void gp_hta_release(struct gp_hta *h);

/* Save everything added so far, before finish, as bytes; and load it. Load fails on damaged bytes and on
 * other versions. */
void gp_hta_save(struct gp_hta *h, struct gp_buf *to);
/* Can the N bytes at DATA be the beginning of such bytes? */
bool gp_hta_is_saved(const void *data, size_t n);
GP_MUST_CHECK int gp_hta_load(struct gp_hta *h, const void *data, size_t n, struct gp_err *err);

/* What headlines and first findings are about: the steps where steps were found, otherwise everything. */
static inline const struct gp_hta *gp_hta_about(const struct gp_hta *h, bool whole)
{
    return h->focus && !whole ? h->focus : h;
}

/* Do its devices, two or more, all have the same number and rank in several processes? They may or may not be
 * one GPU. */
bool gp_hta_only_processes(const struct gp_hta *h);

/* What the getters of the records of an answer look at; shares are of WHOLE_NS. */
static inline struct gp_row_of gp_hta_rows_of(const struct gp_hta *h, int64_t whole_ns)
{
    return (struct gp_row_of){.of = h, .strings = &h->strings, .whole_ns = whole_ns, .untimed = h->untimed};
}

static inline const char *gp_hta_str(const struct gp_hta *h, gp_sid sid)
{
    return gp_string(&h->strings, sid);
}

/* The order of two names by their bytes: that of sids depends on the order of reading. */
static inline int gp_hta_order(const struct gp_hta *h, gp_sid a, gp_sid b)
{
    return strcmp(gp_hta_str(h, a), gp_hta_str(h, b));
}

#endif
