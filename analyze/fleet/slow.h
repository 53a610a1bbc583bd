/* slow.h -- who is slow in a fleet, and why: ranks whose own time is longer than that of the others by more
 * than these differ among themselves, kernels that are slow on one rank only, and whether it is always the
 * same rank.
 *
 *     struct gp_slow_list slow = {0};
 *     gp_slow_find(&slow, &fleet);
 *     for (size_t i = 0; i < slow.at.n; i++) gp_slow_put(&buf, &fleet, &slow.at.at[i]);
 *     gp_slow_release(&slow);
 *
 * README.md gives the limits.
 */
#ifndef GP_ANALYZE_FLEET_SLOW_H
#define GP_ANALYZE_FLEET_SLOW_H

#include "analyze/fleet/fleet.h"
#include "analyze/result/field.h"
#include "formats/base/declare.h"

/* X(enum, JSON name, what takes longer). */
#define GP_SLOW_CAUSES(X)                                                                                    \
    X(GP_SLOW_COMPUTE, "compute", "computing")                                                               \
    X(GP_SLOW_COPIES, "copies", "copying")                                                                   \
    X(GP_SLOW_HOST, "host", "waiting for its host, which launches late,")                                    \
    X(GP_SLOW_DATA, "data_loading", "waiting for data to be loaded")                                         \
    X(GP_SLOW_GAPS, "gaps", "waiting between kernels on the GPU")                                            \
    X(GP_SLOW_LINK, "link", "communication")
enum gp_slow_cause { GP_SLOW_CAUSES(GP_FIRST) GP_SLOW_CAUSE_COUNT };
const char *gp_slow_cause_name(enum gp_slow_cause c);

/* Of the steps that were compared. */
enum gp_slow_pattern { GP_SLOW_UNKNOWN, GP_SLOW_ALWAYS, GP_SLOW_SOMETIMES, GP_SLOW_ONCE };

/* What is slow: a rank; one kernel of a rank that is not slow as a whole; all ranks of a node; the GPUs of
 * one number on all nodes. */
enum gp_slow_what { GP_SLOW_RANK, GP_SLOW_KERNEL, GP_SLOW_NODE, GP_SLOW_ORDINAL };
const char *gp_slow_what_name(enum gp_slow_what w);

struct gp_slow {
    enum gp_slow_what what;
    struct gp_fleet_key key; /* of a node its first rank */
    int64_t device;          /* its number on the node, -1 unknown */
    uint32_t ranks;          /* that this is about */
    enum gp_slow_cause cause;
    int64_t ns, median_ns; /* own time, or the kernel's time per step, and that of the median rank */
    int64_t cause_ns;      /* how much longer the cause takes than on the median rank */
    int64_t host_ns; /* not 0: it also waits so much longer for its host, which the recorder slows down */
    gp_sid kernel; /* where computing is the cause: the one that explains a third of it or more; 0: many do */
    int64_t kernel_ns, kernel_median_ns; /* per step */
    bool more_calls;                     /* of a rank: the kernel is not slower but runs more often */
    enum gp_slow_pattern pattern;
    /* Steps, or groups of neighbouring ones, that it was slow in, of those compared. */
    uint64_t slow_columns, columns;
};

struct gp_slow_list {
    GP_VEC(struct gp_slow) at; /* the most time first */
    /* Another rank is late in most steps: of COLUMNS, LATE have one that is far behind, RANKS different
     * ones. */
    uint64_t columns, late, ranks;
    bool in_turn;
};

extern const struct gp_record gp_slow_rows;    /* rows: struct gp_slow; of: struct gp_fleet */
extern const struct gp_record gp_slow_in_turn; /* one: struct gp_slow_list */

/* F must be settled. */
void gp_slow_find(struct gp_slow_list *list, const struct gp_fleet *f);
void gp_slow_release(struct gp_slow_list *list);
/* One sentence or two. */
void gp_slow_put(struct gp_buf *b, const struct gp_fleet *f, const struct gp_slow *s);
/* The same of a rank in turn. */
void gp_slow_put_in_turn(struct gp_buf *b, const struct gp_slow_list *list);
/* What the others lose while they wait for it, over all steps that were compared. */
int64_t gp_slow_cost_ns(const struct gp_fleet *f, const struct gp_slow *s);
/* The least value that is far from a middle: MIDDLE plus the larger of the share PCT of it and TIMES
 * deviations. */
int64_t gp_slow_limit(const struct gp_sketch *s, int64_t middle, double pct, double times);

#endif
