/* plan.h -- the steps of one program as a replay: which GPU work the host launched when, what waited for what, and which
 * row of the trace each item and call is. Knows nothing of rules, costs or text.
 *
 *     struct gp_plan p;
 *     if (gp_plan_build(&p, &view, program)) ... gp_plan_length(&p) against p.recorded_ns ...
 *     gp_plan_release(&p);
 *
 * A plan has whole, steady steps alone, one after the other: what is saved in it, divided by their number, is saved a
 * step. Without steps it is the whole trace, as one.
 */
#ifndef GP_ANALYZE_PLAN_H
#define GP_ANALYZE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/suggest/replay.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"

/* Items at most: later steps are left out, or the later part of a trace without steps. */
enum { GP_PLAN_ITEMS_MOST = 200000 };

struct gp_plan_step {
    int64_t begin_ns, end_ns; /* on the host, on the clock of the trace: begin of one to begin of the next */
    gp_sid name;              /* of the trace; 0: found without marker */
    uint32_t first_item, n_items;
    uint32_t first_call, n_calls;
};

struct gp_plan_item {
    uint32_t row; /* of GP_GPU */
    uint32_t call, step;
    bool drained;     /* no stream of the program had anything to do when it was launched */
    int64_t start_ns; /* on the clock of the trace */
};

struct gp_plan_call {
    uint32_t row; /* of GP_API */
    uint32_t step;
    uint32_t waited_for; /* item; GP_REPLAY_NONE: it did not wait when it was recorded */
    int64_t waited_ns;   /* from what it takes at least to its end */
};

struct gp_plan {
    const struct gp_view *v;
    uint32_t producer;
    bool found_steps; /* false: one "step" is all of it */
    uint32_t source;  /* enum gp_step_source */
    struct gp_replay replay;
    GP_VEC(struct gp_plan_item) items; /* beside replay.items */
    GP_VEC(struct gp_plan_call) calls; /* beside replay.calls */
    GP_VEC(struct gp_plan_step) steps;
    uint32_t *item_of_row; /* by row of GP_GPU; GP_REPLAY_NONE */
    uint32_t warm_up;      /* whole steps left out because they were not like the others yet */
    int64_t begin_ns;      /* of the first step */
    int64_t recorded_ns;   /* what the replay of no change should give */
    size_t drained;        /* items that are */
    int64_t graph_gap_ns;  /* between kernels of one graph; of single kernels where no graph is there */
};

/* P of the GPU events of PROGRAM in the trace of V. False, and P empty, when fewer than half of its GPU events have a
 * launch record, or none is there. O(n log n). */
bool gp_plan_build(struct gp_plan *p, const struct gp_view *v, const struct gp_steps_program *program);
void gp_plan_release(struct gp_plan *p);

/* The replay without change, in ns. */
int64_t gp_plan_length(const struct gp_plan *p);
/* A step of the replay with N edits, in ns: from one step's first item to the next one's, the mean; of one step alone, all
 * of it. So that what begins before the first step and ends after the last one does not count. */
int64_t gp_plan_step_ns(const struct gp_plan *p, const struct gp_edit *edits, size_t n);
/* How far the replay without change misses what was recorded, in percent of that. */
double gp_plan_error_pct(const struct gp_plan *p);

#endif
