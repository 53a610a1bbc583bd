/* hta_priv.h -- private to analyze/hta: the sections of an answer, and shared functions. */
#ifndef GP_ANALYZE_HTA_PRIV_H
#define GP_ANALYZE_HTA_PRIV_H

#include <pthread.h>
#include "analyze/fleet/topk.h"
#include "analyze/hta/breakdown.h"
#include "analyze/hta/collectives.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/math/intervals.h"
#include "analyze/result/keep.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"
#include "formats/base/map.h"
#include "formats/base/order.h"

struct gp_fleet;
struct gp_hta;
struct gp_hta_opts;

/* ---- sections: the parts of an answer ---- */

/* Rows of gp_hta, which are saved, merged, copied and released by their record. */
struct gp_hta_list {
    const struct gp_record *rows;
    size_t at;            /* in struct gp_hta: a GP_VEC, */
    bool one;             /* or a single row */
    bool made;            /* by finish: neither saved nor merged */
    size_t map;           /* in struct gp_hta_work: key -> index, of rows that have a key */
    size_t limit;         /* in struct gp_hta_bound: hash from which on names are GP_HTA_OTHER; 0: all stay */
    gp_compare_in *order; /* of its rows, so that equal results have equal bytes; NULL: as they come */
    /* What stays of very many ranks, 0: all of it: so many rows of each run, whose first bytes are equal, at
     * most. Rows begin with their rank; ranks that are left out, and have no row then, add to LEFT. */
    struct gp_hta_kept {
        size_t most, unranked; /* of a run; of one that is of no rank */
        size_t run;            /* bytes */
        size_t left;           /* in struct gp_hta_bound; 0: not counted */
    } kept;
};

/* One part of an answer; hta.c does the same with each, in their order. */
struct gp_hta_section {
    const struct gp_hta_list *lists;
    size_t n;
    void (*add)(struct gp_hta *h, const struct gp_view *v); /* read the view of the only trace that H has */
    /* Its last ROWS came from another result, whose later sections are not merged yet. NULL: nothing to
     * do. */
    void (*merged)(struct gp_hta *to, size_t rows);
    bool (*valid)(const struct gp_hta *h); /* of loaded rows; NULL: always */
    void (*sort)(struct gp_hta *h);        /* what the orders of its lists do not do; NULL: nothing */
    void (*finish)(struct gp_hta *h);      /* after all ranks; NULL: nothing */
    bool inside;                           /* the step windows have it, too (h->focus) */
    bool timed;                            /* means nothing where times between launches do not */
};

/* In the order in which they are added, merged, saved and sorted. */
#define GP_HTA_SECTIONS(X)                                                                                   \
    X(devices)                                                                                               \
    X(kernels)                                                                                               \
    X(op_shapes)                                                                                             \
    X(launches)                                                                                              \
    X(graphs)                                                                                                \
    X(steps)                                                                                                 \
    X(collectives)                                                                                           \
    X(copies)                                                                                                \
    X(range_memory)                                                                                          \
    X(sampled)                                                                                               \
    X(gauges)                                                                                                \
    X(paths)                                                                                                 \
    X(inputs)
#define X(name) extern const struct gp_hta_section gp_hta_##name##_section;
GP_HTA_SECTIONS(X)
#undef X
extern const struct gp_hta_section *const gp_hta_sections[]; /* NULL at the end */

/* What is needed while traces are added. */
struct gp_hta_work {
    struct gp_map kernels, owners, op_shapes, api, copies, range_memory; /* where rows are, by their keys */
    struct gp_steps steps;                                               /* of the trace */
    struct gp_err *err;
    int failed; /* finding the steps did */
};

/* hta_sections.c: all lists of a section. Merge empties FROM's; copy appends FROM's. */
void gp_hta_section_sort(const struct gp_hta_section *s, struct gp_hta *h);
void gp_hta_section_merge(const struct gp_hta_section *s, struct gp_hta *to, struct gp_hta *from);
void gp_hta_section_copy(const struct gp_hta_section *s, struct gp_hta *to, const struct gp_hta *from);
void gp_hta_section_serialize(const struct gp_hta_section *s, struct gp_serializer *x, struct gp_hta *h);
void gp_hta_section_release(const struct gp_hta_section *s, struct gp_hta *h);
/* Leave the rows of ranks that KEEPS names, and the names with the lowest hashes, whatever the order they
 * came in. */
typedef bool gp_hta_keeps_rank(const void *ctx, int32_t rank);
void gp_hta_section_leave(const struct gp_hta_section *s, struct gp_hta *h, gp_hta_keeps_rank *keeps,
                          const void *ctx);
/* The row with the key of ROW, which is appended if there is none. */
void *gp_hta_row(struct gp_hta *h, const struct gp_hta_list *l, const void *row);

/* ---- shared between modules ---- */

/* idle.c: idle time takes longest of all parts, so a separate thread computes it in parallel with the others
 * if OPTS allow. In between it uses only V. FINISH waits, and hands the result to the devices; the result
 * does not depend on threads. */
struct gp_hta_idle_device {
    int64_t cause_ns[GP_IDLE_CAUSE_COUNT], rest_ns[GP_IDLE_CAUSE_COUNT];
    struct gp_histogram gaps;
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
void gp_hta_finish_idle(struct gp_hta_idle *idle, struct gp_hta *h);

/* hta_table.c: drop everything that depends on start times. */
void gp_hta_forget_times(struct gp_hta *h);
/* findings.c, last, as it reads all the others: the findings of H, and those of its focus; stragglers and
 * slow steps are those of H. */
void gp_hta_finish_findings(struct gp_hta *h);

/* hta_bound.c: add the devices of H, which holds one trace, to its fleet. */
void gp_hta_add_fleet(struct gp_hta *h);
struct gp_fleet_key gp_hta_key_of(const struct gp_hta *h, const struct gp_hta_device *d);
bool gp_hta_devices_are_ranks(const struct gp_hta *h); /* collectives.c */

/* hta_bound.c: where H has more than a few ranks, leave only the rows that its fleet keeps. Settle: always,
 * and sort everything, so that equal results have equal bytes. FLEET is that of the whole, which a focus has
 * not. */
void gp_hta_leave_few(struct gp_hta *h, const struct gp_fleet *fleet);
void gp_hta_settle(struct gp_hta *h);
/* The inputs that have no row, as one. */
void gp_hta_finish_bound(struct gp_hta *h);

#endif
