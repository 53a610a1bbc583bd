/* inject_budget.h -- the cost of recording to this process, kept under --budget.
 */
#ifndef GP_COLLECT_INJECT_INJECT_BUDGET_H
#define GP_COLLECT_INJECT_INJECT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/wire.h"

/* Things that are recorded, and cost something: calls other than launches. */
enum gp_inject_cost { GP_INJECT_CALL, GP_INJECT_WAIT, GP_INJECT_ALLOCATION };
enum { GP_INJECT_COSTS = GP_INJECT_ALLOCATION + 1 };

/* What the records that have been handed over so far show: kernels, copies and sets that calls have launched,
 * and nodes of graphs. */
struct gp_inject_work {
    uint64_t launches, nodes;
};
/* What the budget moves; LEAVE_OUT: enum gp_budget_part, as bits. */
struct gp_inject_budget_switches {
    void (*leave_out)(uint32_t parts);
    void (*pause)(bool paused);
    int64_t (*moved)(void); /* ns in which CUPTI came and left, since the last call */
    void (*send)(enum gp_wire_type type, const void *data, size_t n);
};
/* PARTS: those that are recorded now, as bits. */
void gp_inject_budget_start(uint32_t limit_ppm, uint32_t parts);
bool gp_inject_budget_is_on(void);
/* Called by any thread: one more was recorded. */
void gp_inject_budget_count(enum gp_inject_cost what);
/* A range or a mark of thread TID begins, while there is a RECORDING, and so many windows before. The rest is
 * for the flush thread as well. */
void gp_inject_budget_begins(int64_t tid, const char *name, int64_t ns, bool recording, uint64_t windows);
/* When to call gp_inject_budget_turn(), 0: no need. */
int64_t gp_inject_budget_due(void);
void gp_inject_budget_turn(const struct gp_inject_budget_switches *to, int64_t now_ns,
                           const struct gp_inject_work *work);
void gp_inject_budget_end(const struct gp_inject_budget_switches *to, int64_t now_ns);

#endif
