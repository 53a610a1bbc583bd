/* diff_priv.h -- private to diff*.c: the functions that gp_diff_run() calls, in this order, on its working
 * state.
 *
 *     gp_diff_choose_steps(&w);    // diff_steps.c: runs, unit, samples
 *     gp_diff_match(&w);           // diff_match.c: operations, and which one each kernel or place belongs to
 *     gp_diff_sum(&w);             // diff_sum.c: figures, metrics; diff_share.c: the terms of the change
 *     gp_diff_compare(&w);         // diff_compare.c: what must not be compared
 *     gp_diff_decide(&w);          // diff_decide.c: verdicts of operations and metrics
 */
#ifndef GP_ANALYZE_DIFF_PRIV_H
#define GP_ANALYZE_DIFF_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/diff/diff.h"
#include "formats/base/declare.h"

/* A step that is used: all compared figures are means over samples. */
struct gp_diff_sample {
    uint32_t profile; /* index into the group's profiles */
    const struct gp_profile_step *s;
    bool window;  /* its time on the GPU is also known */
    uint32_t nth; /* of the lane's */
};

/* An event of a sample, in the list of its operation. */
struct gp_diff_call {
    int64_t dur_ns;
    uint32_t sample;
    uint32_t shape; /* equal for equal names and grids, on both sides */
    uint32_t event; /* of the sample's profile */
};

/* One side. */
struct gp_diff_group {
    const struct gp_profile *const *profiles;
    size_t n;
    uint32_t *run_of;                      /* by profile */
    GP_VEC(struct gp_diff_sample) samples; /* the first of each lane, the second, ...: by profile and lane */
    uint32_t windows;
    uint32_t **op_of;           /* by profile, then by kernel or place: index into d->ops */
    uint32_t **shape_of;        /* by profile, then by kernel */
    size_t *first_call;         /* by operation, one more than there are: slice of calls */
    struct gp_diff_call *calls; /* by operation, then sample, then order of launches */
};

struct gp_diff_work {
    struct gp_diff *d;
    struct gp_diff_group side[GP_DIFF_SIDES];
    /* by operation until they are sorted: communication, whose kernels wait for other ranks */
    uint8_t *waits;
    /* by operation once they are sorted: its number in first_call */
    uint32_t *calls_of;
};

void gp_diff_choose_steps(struct gp_diff_work *w);
void gp_diff_match(struct gp_diff_work *w);
void gp_diff_sum(struct gp_diff_work *w);
void gp_diff_share(struct gp_diff_work *w);
/* diff_clocks.c: the clocks of the sides; GPU time of a step, COMPUTE_NS of which were at KHZ, at a clock
 * that both sides have; the term that the clocks are; after the decisions, verdicts that they or other
 * processes explain. */
void gp_diff_find_clocks(struct gp_diff_work *w);
int64_t gp_diff_at_equal_clocks(const struct gp_diff *d, int64_t gpu_ns, int64_t compute_ns, int64_t khz);
void gp_diff_clock_cause(struct gp_diff_work *w);
void gp_diff_excuse(struct gp_diff *d);
void gp_diff_compare(struct gp_diff_work *w);
/* Another batch, another model, another algorithm: as reasons. */
void gp_diff_check_work(struct gp_diff_work *w);
/* Warns if most operations are on one side only: after the verdicts of operations. */
void gp_diff_check_program(struct gp_diff *d);
enum { GP_DIFF_ALL_CLASSES = 1 << GP_METRIC_KERNEL | 1 << GP_METRIC_WALL | 1 << GP_METRIC_EXACT };
/* CLASSES: bits of those that are not compared because of it. Fatal reasons come first. */
void gp_diff_reason(struct gp_diff *d, const char *id, bool fatal, uint32_t classes, gp_sid text);
void gp_diff_decide(struct gp_diff_work *w);
/* What replaced what, and which operations that explains: call after operations are sorted. */
void gp_diff_blocks(struct gp_diff_work *w);
/* Folded stacks of both sides. */
void gp_diff_stacks(struct gp_diff_work *w);
/* Which operations weigh enough, and the verdict with its word: after all that may change verdicts of
 * operations. */
void gp_diff_judge(struct gp_diff *d);
/* Is it slower or faster, by enough for the verdict? */
bool gp_diff_op_decides(const struct gp_diff *d, const struct gp_diff_op *op);
void gp_diff_gates(struct gp_diff_work *w);
/* A gate for each count that does not vary within the baseline, and one for the kernels by name. */
void gp_diff_gate_counts(struct gp_diff_work *w);
/* Headline and notes. */
void gp_diff_say(struct gp_diff_work *w);

/* Is the operation of event E of a profile determined by its kernel or by its place? */
static inline uint32_t gp_diff_op_of(const struct gp_diff_work *w, int side, uint32_t profile,
                                     const struct gp_profile_event *e)
{
    const uint32_t *op_of = w->side[side].op_of[profile];
    return op_of[w->d->opts.by == GP_DIFF_BY_KERNEL ? e->kernel : e->place];
}

/* diff_share.c: means of parts that sum to the mean of the whole. PARTS[i] are sums over N samples,
 * WHOLE is their sum or more; OUT[i] becomes the floor of PARTS[i] / N, and the ns that are missing to
 * round(WHOLE / N) go to the largest remainders; equal ones in the order of KEYS (bytes). Returns
 * round(WHOLE / N). N > 0. */
int64_t gp_diff_apportion(const int64_t *parts, const char *const *keys, size_t n_parts, int64_t whole,
                          uint64_t n, int64_t *out);
/* SUM / N to the nearest, halves up. */
int64_t gp_diff_mean(int64_t sum, uint64_t n);

/* Values of a metric by sample, for samples that have one; returns their number. TO has room for all
 * samples. */
size_t gp_diff_metric_values(const struct gp_diff_work *w, int side, enum gp_metric_id m, int64_t *to);

static inline const struct gp_profile *gp_diff_profile_of(const struct gp_diff_group *g,
                                                          const struct gp_diff_call *call)
{
    return g->profiles[g->samples.at[call->sample].profile];
}

/* What an event adds to a sum of the events of a step; 1 where the calls of the step are counted. */
int64_t gp_diff_metric_of_event(const struct gp_profile *p, const struct gp_profile_event *e,
                                enum gp_metric_id m);

/* Text made as by printf, as a string of D. */
gp_sid gp_diff_text(struct gp_diff *d, const char *fmt, ...) GP_PRINTF(2, 3);
void gp_diff_note(struct gp_diff *d, const char *id, const char *fmt, ...) GP_PRINTF(3, 4);
/* Current over baseline in percent; NAN without a baseline; 0 when both are 0. */
double gp_diff_change_pct(int64_t base, int64_t cur);

#endif
