/* budget.h -- the cost of a recording to its process: works it out from the records and from how long
 * launches take with and without it, and decides which parts to leave out so that it stays under a limit.
 * Only computes: knows no CUPTI, no clock and no threads. One caller at a time.
 *
 *     gp_budget_init(&b, 20000, GP_BUDGET_EVENTS | GP_BUDGET_CALLS);       // 2%
 *     gp_budget_turn(&b, now_ns, &counts);                                // about ten times a second
 *     pause(b.phase != GP_BUDGET_RECORD); leave_out(b.left_out);
 *     time_launches(gp_budget_times_launches(&b, &with));
 *
 * The parts least needed to understand the rest go first: allocations, then waits and events, then API calls.
 * If kernels and copies cost too much as well, everything is recorded again, but only in windows, so that
 * their share of the time keeps to the limit.
 */
#ifndef GP_COLLECT_INJECT_BUDGET_H
#define GP_COLLECT_INJECT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/wire.h"

/* What recording a thing costs the thread that does it, in ns, where that is not measured in the process: on
 * an H200 with CUPTI 13.0, rounded up (tests/bench/README.md). A launch costs at least so much: steps of real
 * programs lose more than what their launch calls take longer. */
enum {
    GP_BUDGET_LAUNCH_NS = 3000,
    GP_BUDGET_NOTE_NS = 200, /* a callback at both ends of a call, and its note */
    GP_BUDGET_ALLOCATION_NS = 1000,
    GP_BUDGET_NODE_NS = 450
};

enum { GP_BUDGET_BUCKETS = 1024, GP_BUDGET_BUCKET_NS = 64, GP_BUDGET_PROBES = 9 };

/* How long it took from the beginning of a launch to that of the next one of the same thread: from 65 us on
 * in the last bucket. */
struct gp_budget_times {
    uint64_t n;
    uint32_t bucket[GP_BUDGET_BUCKETS];
};

/* What has happened since the turn before. */
struct gp_budget_counts {
    uint64_t launches; /* recorded kernels, copies and sets, unless they are nodes of a graph */
    uint64_t nodes;
    uint64_t calls, waits, allocations; /* recorded; CALLS: API calls other than launches */
    /* launches with and without recording; owned by the caller, who empties them when `forget` is set */
    const struct gp_budget_times *with, *without;
};

enum gp_budget_phase {
    GP_BUDGET_RECORD,
    GP_BUDGET_PROBE, /* paused, to measure launches without recording */
    GP_BUDGET_REST   /* paused, between two windows */
};

struct gp_budget {
    uint32_t limit_ppm, parts; /* PARTS: enum gp_budget_part that could be left out, as bits */
    enum gp_budget_phase phase;
    uint32_t left_out;  /* enum gp_budget_part, as bits */
    bool forget;        /* both histograms begin anew */
    int64_t launch_ns;  /* by how much recording lengthens that, GP_BUDGET_LAUNCH_NS at least */
    bool measured;      /* it is not an assumption */
    uint32_t share_ppm; /* of the time, when it was worked out last */
    /* private */
    bool probed;
    unsigned probes;
    int64_t longer_ns[GP_BUDGET_PROBES]; /* of the latest of them */
    int64_t since_ns, due_ns, probe_ns, probe_gap_ns, rest_ns;
    int64_t cost_ns[GP_BUDGET_PARTS + 1]; /* by part; the last is never left out */
};

void gp_budget_init(struct gp_budget *b, uint32_t limit_ppm, uint32_t parts);
void gp_budget_turn(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c);
/* What recording costs per launch, with its API call where that is recorded. */
int64_t gp_budget_launch_ns(const struct gp_budget *b);
/* Does it matter how long launches take, WITH having been seen already? */
bool gp_budget_times_launches(const struct gp_budget *b, const struct gp_budget_times *with);
/* Mean of the shorter half of the times, which neither first launches nor full queues reach; -1 if there are
 * too few. */
int64_t gp_budget_typical(const struct gp_budget_times *t);

#endif
