/* budget.h -- the cost of a recording to its process: works it out from the records, from how long steps take
 * with and without it, and from how long CUPTI takes to come and to leave; and decides which parts to leave
 * out so that all of it together stays under a limit. Only computes: knows no CUPTI, no clock and no threads.
 * One caller at a time.
 *
 *     gp_budget_init(&b, 20000, GP_BUDGET_EVENTS | GP_BUDGET_CALLS);       // 2%
 *     gp_budget_turn(&b, now_ns, &counts);                                // about ten times a second
 *     pause(b.phase != GP_BUDGET_RECORD); leave_out(b.left_out);
 *
 * The parts least needed to understand the rest go first: allocations, then waits and events, then API calls.
 * If kernels and copies cost too much as well, everything is recorded again, but only in windows. After each,
 * nothing is recorded until the costs so far and those of another window are under the limit. Where steps
 * show that the process stays slower all the same, by more than the limit, there is no other window.
 */
#ifndef GP_COLLECT_INJECT_BUDGET_H
#define GP_COLLECT_INJECT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/wire.h"

/* What recording a thing costs the thread that does it, in ns: on an H200 with CUPTI 13.0, rounded up
 * (tests/bench/README.md). Of a launch it is what steps of real programs lose in all, per launch. */
enum {
    GP_BUDGET_LAUNCH_NS = 8000,
    GP_BUDGET_NOTE_NS = 200, /* a callback at both ends of a call, and its note */
    GP_BUDGET_ALLOCATION_NS = 1000,
    GP_BUDGET_NODE_NS = 1500
};

/* What has happened since the turn before. */
struct gp_budget_counts {
    uint64_t launches; /* recorded kernels, copies and sets, unless they are nodes of a graph */
    uint64_t nodes;
    uint64_t calls, waits, allocations; /* recorded; CALLS: API calls other than launches */
    int64_t moved_ns;                   /* in which CUPTI came or left */
    /* of steps, 0: unknown: means while it is recorded and in rests, medians in rests and before CUPTI */
    int64_t step_with_ns, step_rest_ns, step_stays_ns, step_before_ns;
};

enum gp_budget_phase {
    GP_BUDGET_RECORD,
    GP_BUDGET_REST, /* paused, between two windows */
    GP_BUDGET_OVER  /* the rest costs too much */
};

struct gp_budget {
    uint32_t limit_ppm, parts; /* PARTS: enum gp_budget_part that could be left out, as bits */
    enum gp_budget_phase phase;
    uint32_t left_out;  /* enum gp_budget_part, as bits */
    bool measured;      /* steps have shown what it costs, */
    int64_t launch_ns;  /* which is so much per launch */
    uint32_t share_ppm; /* of the time: of the last second, or of all of it where it comes to windows */
    uint32_t stays_ppm; /* by how much steps stay longer while nothing is recorded */
    /* private */
    int64_t begun_ns, since_ns, due_ns;
    bool compared, graphs_ended;
    int64_t spent_ns, moved_ns;           /* before this recording; in this rest and the window behind it */
    int64_t moves_ns;                     /* what the next window's moves are likely to cost */
    int64_t recorded_ns, shown_ns;        /* the last recording, and what its steps lost */
    int64_t launches, assumed;            /* of this recording; those whose cost was assumed */
    int64_t cost_ns[GP_BUDGET_PARTS + 1]; /* counted, by part; the last is never left out */
};

void gp_budget_init(struct gp_budget *b, uint32_t limit_ppm, uint32_t parts);
void gp_budget_turn(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c);

#endif
