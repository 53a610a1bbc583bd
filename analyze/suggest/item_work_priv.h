/* item_work_priv.h -- private to suggest.c and rules_*.c: the work of a plan's kernels, how fast the device
 * could do it, and what bounds them. An operator's work counts once; its kernels share it in proportion to
 * their time.
 *
 *     gp_item_work_find(c);                         // fills c->work and the ceilings of the answer
 *     if (c->work[i].tier == GP_WORK_SHAPES) use(c->work[i].share.flops);
 *     free(c->work), GP_VEC_FREE(&c->counted);
 */
#ifndef GP_ANALYZE_ITEM_WORK_PRIV_H
#define GP_ANALYZE_ITEM_WORK_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/cost/counters.h"
#include "analyze/cost/regime.h"
#include "analyze/cost/work.h"

struct gp_rule_ctx;

/* Of an item of the plan. */
struct gp_item_work {
    struct gp_work share; /* zeroed if unknown; the product's sizes are those of the whole operator */
    struct gp_regime_answer bound;
    uint32_t tier; /* enum gp_work_tier */
    double part;   /* of its operator's work */
    bool alone;    /* no other kernel has a part of it */
    bool shaped;   /* type and size of the operands are known from shapes */
    /* Of tier GP_WORK_COUNTERS: the bytes are measured; where the operations are not, they are those of the
     * shapes, if any. */
    bool flops_measured, by_mean; /* the mean of other launches of the kernel, grid and block */
    uint32_t counted;             /* index in the context's counted; UINT32_MAX: not measured */
};

/* Needs c->items, c->device and c->props. O(items + length of their operators' shapes). */
void gp_item_work_find(struct gp_rule_ctx *c);

#endif
