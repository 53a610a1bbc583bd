/* plan.h -- turns the steps of one program into a replay: which GPU work the host launched when, what waited
 * for what, and which row of the trace each item and call is. Knows nothing of rules, costs or text.
 *
 *     struct gp_plan p;
 *     if (gp_plan_build(&p, &view, program)) ... gp_plan_length(&p) against p.recorded_ns ...
 *     gp_plan_release(&p);
 *
 * A plan has only whole, steady steps in sequence: its saving, divided by their number, is the saving per
 * step. Without steps, the whole trace is one step. */
#ifndef GP_ANALYZE_PLAN_H
#define GP_ANALYZE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/suggest/replay.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"

/* Maximum number of items: later steps are left out, or the later part of a trace without steps. */
enum { GP_PLAN_ITEMS_MOST = 200000 };

struct gp_plan_step {
    int64_t begin_ns, end_ns; /* on the host, on the trace's clock: from one step's begin to the next one's */
    gp_sid name;              /* in the trace; 0: found without a marker */
    uint32_t first_item, n_items;
    uint32_t first_call, n_calls;
};

struct gp_plan_item {
    uint32_t row; /* of GP_GPU */
    uint32_t call, step;
    bool drained;     /* no stream of the program had work when it was launched */
    int64_t start_ns; /* on the clock of the trace */
};

struct gp_plan_call {
    uint32_t row; /* of GP_API */
    uint32_t step;
    uint32_t waited_for; /* item; GP_REPLAY_NONE: it did not wait in the recording */
    int64_t waited_ns;   /* from the end of its minimum duration to its end */
};

struct gp_plan {
    const struct gp_view *v;
    const struct gp_steps_program *program;
    uint32_t producer;
    bool found_steps; /* false: the whole trace is one "step" */
    uint32_t source;  /* enum gp_step_source */
    struct gp_replay replay;
    GP_VEC(struct gp_plan_item) items; /* parallel to replay.items */
    GP_VEC(struct gp_plan_call) calls; /* parallel to replay.calls */
    GP_VEC(struct gp_plan_step) steps;
    uint32_t *item_of_row; /* by row of GP_GPU; GP_REPLAY_NONE */
    uint32_t warm_up;      /* whole steps left out because they still differed from the later ones */
    int64_t begin_ns;      /* of the first step */
    int64_t recorded_ns;   /* what an unchanged replay should give */
    size_t drained;        /* number of drained items */
    int64_t graph_gap_ns;  /* between kernels of one graph; between single kernels if there are no graphs */
};

/* Build P from the GPU events of PROGRAM in the trace of V. Returns false, with P empty, if there are no GPU
 * events or fewer than half of them have a launch record. O(n log n). */
bool gp_plan_build(struct gp_plan *p, const struct gp_view *v, const struct gp_steps_program *program);
void gp_plan_release(struct gp_plan *p);

/* Did call K wait for a result in the recording? A launch may also wait for room in the queue of its stream,
 * until an item that was launched before it has started: that reads nothing. */
bool gp_plan_waited_for_result(const struct gp_plan *p, uint32_t k);
/* Did it between the calls that launch these two items? Then it reads the first one's result. */
bool gp_plan_waits_between(const struct gp_plan *p, uint32_t from, uint32_t to);
/* Length of the unchanged replay, ns. */
int64_t gp_plan_length(const struct gp_plan *p);
/* Mean step of the replay with N edits, ns: from one step's first item to the next one's, so that time before
 * the first step and after the last does not count. With a single step, its whole length. */
int64_t gp_plan_step_ns(const struct gp_plan *p, const struct gp_edit *edits, size_t n);
/* The same with R, which has P's items and calls with other times, in place of P's replay. */
int64_t gp_plan_step_of(const struct gp_plan *p, const struct gp_replay *r, const struct gp_edit *edits,
                        size_t n);

#endif
