/* nth.h -- the k-th smallest of many numbers, without sorting all of them. Knows nothing of their meaning.
 *
 *     int64_t middle = gp_nth(values, n, n / 2);
 */
#ifndef GP_ANALYZE_NTH_H
#define GP_ANALYZE_NTH_H

#include <stddef.h>
#include <stdint.h>

/* The value of V[K] if V were sorted, K < N. Reorders V. Usually O(n), O(n log n) at worst. */
int64_t gp_nth(int64_t *v, size_t n, size_t k);

#endif
