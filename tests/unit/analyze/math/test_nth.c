// The k-th smallest against sorting, for lists of every shape that such algorithms dislike.
#include <stdlib.h>
#include <string.h>

#include "analyze/math/nth.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

enum { MOST = 300 };

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Every K of V. */
static void check(const int64_t *v, size_t n)
{
    int64_t sorted[MOST], copy[MOST];
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *v, by_value);
    for (size_t k = 0; k < n; k++) {
        memcpy(copy, v, n * sizeof *v);
        assert_int_equal(gp_nth(copy, n, k), sorted[k]);
        qsort(copy, n, sizeof *v, by_value);
        assert_memory_equal(copy, sorted, n * sizeof *v); // nothing is lost
    }
}

TEST(lists_of_every_shape)
{
    int64_t up[MOST], down[MOST], equal[MOST], two[MOST], pipe[MOST], noise[MOST];
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < MOST; i++) {
        up[i] = i;
        down[i] = MOST - i;
        equal[i] = 7;
        two[i] = i % 2;
        pipe[i] = i < MOST / 2 ? i : MOST - i;
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        noise[i] = (int64_t)x;
    }
    noise[3] = INT64_MIN;
    noise[5] = INT64_MAX;
    const int64_t *const all[] = {up, down, equal, two, pipe, noise};
    for (size_t i = 0; i < GP_COUNT(all); i++)
        for (size_t n = 1; n <= MOST; n = n < 20 ? n + 1 : n * 3 - 1) check(all[i], n);
}
