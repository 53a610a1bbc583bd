/* diff_decide_priv.h -- private to diff_decide.c (operations), diff_pairs.c and diff_metrics.c: the state
 * of deciding one comparison. */
#ifndef GP_ANALYZE_DIFF_DECIDE_PRIV_H
#define GP_ANALYZE_DIFF_DECIDE_PRIV_H

#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/stat_moderated.h"
#include "analyze/math/stat.h"
#include "formats/base/vec.h"

/* The GPU time of one program differed by 4.5% at most between two recorders, in 70 of 72 pairs; rounded up.
 * The other two copy pageable memory, which the host does. */
static const double RECORDERS_DIFFER = 0.05;

enum {
    STEPS_ENOUGH = 7, /* steps per side that suffice for rank tests */
    PAIRS_LEAST = 6,  /* positions that a test of pairs needs */
    RUNS_ENOUGH = 5,  /* runs per side that suffice to decide host-dependent times */
    WINDOWS_ENOUGH =
        3,           /* step times per side; of fewer, only twice as large a change is decided by few runs */
    WAITS_PART = 50, /* of a step, or less, in which the GPU waits for the host: it hardly does */
    NOISE_STEPS = 4, /* steps per side whose halves show the noise of all operations together */
    OWN_NOISE_STEPS = 8,    /* ... of one operation */
    MANY_CALLS = 1000,      /* per step: even a few ns each matter */
    LEAST_PERCALL = 200,    /* ns: kernels of 2 us differ by up to that from one minute to the next */
    LEAST_RELAUNCHED = 500, /* ns per call: smaller changes come from graphs launching without pauses */
};

struct gp_decider {
    struct gp_diff_work *w;
    struct gp_diff *d;
    double eps;                           /* floor of noise, as a part */
    int64_t least_ns;                     /* change of a step's GPU time that matters */
    double *own_eps;                      /* by operation: its own floor, no less than eps */
    uint32_t candidates;                  /* operations that are large enough to be tested */
    struct gp_stat_spread prior;          /* of the variation of the steps of operations */
    int64_t *sums[GP_DIFF_SIDES];         /* scratch: by sample */
    GP_VEC(int64_t) pairs[GP_DIFF_SIDES]; /* scratch: by position */
};

static inline size_t gp_decide_steps(const struct gp_decider *t, int side)
{
    return t->w->side[side].samples.n;
}

/* How often each step calls an operation, if that is the same in all steps of both sides; otherwise 0. */
size_t gp_decide_count(const struct gp_decider *t, uint32_t op);
/* Fill t->pairs with twice the median of each of COUNT positions; false if calls cannot be paired. */
bool gp_decide_pairs(struct gp_decider *t, uint32_t op, size_t count);
void gp_decide_metric(struct gp_decider *t, struct gp_diff_metric *m);

static inline bool gp_decide_on_both(const struct gp_diff_op *op)
{
    return op->side[GP_DIFF_BASE].present && op->side[GP_DIFF_CUR].present;
}

/* Copies from and to pageable memory are made by the host, on which recorders lean in different ways. */
static inline bool gp_decide_is_recorded_unlike(const struct gp_diff *d, const struct gp_diff_op *op)
{
    return d->two_recorders && op->kind == GP_FRAME_MEMCPY && strstr(gp_diff_str(d, op->name), "Pageable");
}

static inline enum gp_change gp_decide_direction(int64_t change)
{
    return change > 0 ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT;
}

#endif
