/* repeats.h -- finds what a sequence repeats at once: runs of four or more equal parts, one after the other.
 * Knows nothing of kernels or traces; a symbol is whatever the caller holds to be equal.
 *
 *     struct gp_repeats r = {0};
 *     gp_repeats_find(&r, symbols, n);                 // "xabababab": {.first = 1, .period = 2, .count = 4}
 *     for (size_t i = 0; i < r.v.n; i++) use(&r.v.at[i]);
 *     gp_repeats_release(&r);
 *
 * Each run is as long as it can be, and its part is not itself made of equal parts. Runs within a part of
 * another run are found as well. */
#ifndef GP_ANALYZE_REPEATS_H
#define GP_ANALYZE_REPEATS_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

enum { GP_REPEATS_LEAST = 4 };

struct gp_repeat {
    uint32_t first, period, count; /* COUNT whole parts of PERIOD symbols, from FIRST on */
};

struct gp_repeats {
    GP_VEC(struct gp_repeat) v; /* longest first, then by first */
};

/* Add the runs of N symbols to R. O(n log^2 n) time, O(n) memory: parts are compared by 64-bit hashes. */
void gp_repeats_find(struct gp_repeats *r, const uint32_t *symbols, uint32_t n);
void gp_repeats_release(struct gp_repeats *r);

#endif
