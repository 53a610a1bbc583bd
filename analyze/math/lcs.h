/* lcs.h -- a longest common subsequence of two sequences of symbols, at a cost that is bounded for any input.
 * Knows nothing of the meaning of symbols.
 *
 *     struct gp_lcs l = {.budget = 1 << 24, .edits = 512};
 *     gp_lcs_match(&l, a, na, b, nb);
 *     for (size_t i = 0; i < l.pairs.n; i++) same(l.pairs.at[i].a, l.pairs.at[i].b); // ascending
 *     gp_lcs_release(&l);
 *
 * Common beginnings and ends are removed, symbols that the other side does not have are left out, and the
 * rest is searched as Myers (1986) describes, in time proportional to the differences. With more than `edits`
 * differences, the search is cut into parts: at symbols that occur once on both sides and in the same order,
 * otherwise where it got furthest. The subsequence is then not necessarily a longest one, and `bounded` is
 * set. `bounded` is also set when the budget is spent; from then on only beginnings and ends are matched.
 */
#ifndef GP_ANALYZE_LCS_H
#define GP_ANALYZE_LCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

struct gp_lcs_pair {
    uint32_t a, b;
};

struct gp_lcs {
    int64_t budget; /* steps that are left; a call subtracts its own */
    uint32_t edits; /* at most this many differences at a time; at least 1 */
    bool bounded;
    GP_VEC(struct gp_lcs_pair) pairs; /* of the latest call */
    /* Memory of the search, kept from call to call: a row of it for each number of differences. */
    GP_VEC(int32_t) reached;
    GP_VEC(struct gp_lcs_pair) path;
    struct gp_lcs_count *counts; /* by symbol */
    size_t n_counts;
};

/* Fill l->pairs. Symbols are small numbers, 0 .. n - 1 for n different ones: memory grows with the largest.
 * At most INT32_MAX of them per side. */
void gp_lcs_match(struct gp_lcs *l, const uint32_t *a, size_t na, const uint32_t *b, size_t nb);
void gp_lcs_release(struct gp_lcs *l);

#endif
