/* host_memo.h -- what follows for a host event from itself and those around it, worked out once for each:
 * walking up from every launch takes the square of their number where events are nested deeply.
 *
 *     static uint32_t operator_in(void *ctx, uint32_t node, uint32_t around)      // the innermost operator
 *     {
 *         return nodes[node].table == GP_OP ? node : around;
 *     }
 *     struct gp_host_memo ops = {.hs = &view->hs};
 *     uint32_t op = gp_host_memo_get(&ops, node, operator_in, NULL);              // GP_HOST_NONE: none
 *     gp_host_memo_release(&ops);
 *
 * Memory is touched for the events that are asked about and those around them only. Not for several threads
 * at once.
 */
#ifndef GP_ANALYZE_HOST_MEMO_H
#define GP_ANALYZE_HOST_MEMO_H

#include "analyze/view/host_stack.h"
#include "formats/base/vec.h"

/* Zeroed but for HS, which is borrowed. */
struct gp_host_memo {
    const struct gp_host_stack *hs;
    uint32_t *known; /* by node: answer + 2, 0 not known yet */
    GP_VEC(uint32_t) chain;
};

/* The answer for NODE, where AROUND is that of its parent, GP_HOST_NONE for the outermost: any number less
 * than UINT32_MAX - 1, or GP_HOST_NONE. Depends on nothing else that changes. */
typedef uint32_t gp_host_answer(void *ctx, uint32_t node, uint32_t around);

/* GP_HOST_NONE for GP_HOST_NONE. Always with the same ANSWER. Amortised O(1): each event is answered once. */
uint32_t gp_host_memo_get(struct gp_host_memo *m, uint32_t node, gp_host_answer *answer, void *ctx);
/* An answer that serves many: the innermost event of a table, at NODE or around it. */
uint32_t gp_host_memo_innermost(struct gp_host_memo *m, uint32_t node, enum gp_table table);
void gp_host_memo_release(struct gp_host_memo *m);

#endif
