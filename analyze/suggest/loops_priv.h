/* loops_priv.h -- private to suggest.c and rules_*.c: loops of the program, as far as its launches show them:
 * the same work four times or more in a row within a step, with the same or with other sizes, and what is
 * known of one turn. Does not judge whether the turns depend on each other.
 *
 *     struct gp_loops loops = {0};
 *     gp_loops_find(&loops, c);
 *     for (size_t i = 0; i < loops.v.n; i++) use(gp_loop_item(&loops, &loops.v.at[i], turn, place));
 *     gp_loops_release(&loops);
 *
 * Two kernels are the same work if they are products, or attention, or have one name but for how they access
 * memory. A loop goes on over a turn or two that do something different. What a library adds for some sizes
 * only (clearing, joining split products) is not looked at. */
#ifndef GP_ANALYZE_LOOPS_PRIV_H
#define GP_ANALYZE_LOOPS_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/suggest/repeats.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

struct gp_rule_ctx;

struct gp_loop {
    uint32_t turns, period, count; /* COUNT turns of PERIOD items, whose begins are from TURNS on */
    int64_t total_ns, host_ns;     /* on the GPU; on the host, of all calls from the first to the last item */
    /* Items of all turns: copies of more than a value or two to and from the device, of any size to it, reads
     * of a value, products, lookups by index and sums by index, work of the backward pass. */
    uint32_t in, out, fed, reads, products, gathers, scatters, backward;
    /* Kernels that join tensors; time steps of a recurrent layer, and PyTorch's own kernels beside them;
     * copies within the device. Kernels that look rows up, and those that only make or copy what is looked
     * up; what graphs and operators of a library launch by themselves. */
    uint32_t joins, recurrent, own, aside, lookups, plain, inner;
    uint32_t whole;        /* of the plain ones: those that write a tensor from end to end */
    uint32_t single;       /* kernels of one block */
    uint32_t rises, falls; /* turns with more, and with fewer blocks than the one before */
    uint32_t passes;       /* turns that work on gradients after a backward pass, before the next product */
    bool samples, trains;  /* draws random samples; changes parameters */
    bool joined;     /* one kernel, soon after the last turn, joins as many tensors as there are turns */
    gp_sid function; /* of the trace: the Python function around all turns; 0: not known */
};

struct gp_loops {
    uint32_t *items;          /* of the plan, by step, that count */
    GP_VEC(uint32_t) begins;  /* of turns, in items */
    GP_VEC(struct gp_loop) v; /* by step, longest first; some lie within others */
};

/* L must be zeroed. O(n log^2 n) for n items. */
void gp_loops_find(struct gp_loops *l, struct gp_rule_ctx *c);
void gp_loops_release(struct gp_loops *l);
/* Place J of turn K. */
static inline uint32_t gp_loop_item(const struct gp_loops *v, const struct gp_loop *l, uint32_t k, uint32_t j)
{
    return v->items[v->begins.at[l->turns + k] + j];
}

#endif
