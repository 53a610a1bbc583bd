#include "analyze/math/nth.h"
#include "formats/base/order.h"

#include <stdlib.h>

enum { FEW = 16, TRIES = 64 };

static int64_t middle_of_three(int64_t a, int64_t b, int64_t c)
{
    if (a > b) {
        int64_t t = a;
        a = b;
        b = t;
    }
    return c < a ? a : c > b ? b : c;
}

int64_t gp_nth(int64_t *v, size_t n, size_t k)
{
    for (int tries = 0; n > FEW && tries < TRIES; tries++) {
        size_t equal, more;
        int64_t pivot = middle_of_three(v[0], v[n / 2], v[n - 1]);
        /* Partition: values below PIVOT first, then those equal to it, from *EQUAL on, then the rest, from
         * *MORE on. */
        size_t lo = 0, at = 0, hi = n;
        while (at < hi) {
            int64_t value = v[at];
            if (value < pivot) {
                v[at++] = v[lo];
                v[lo++] = value;
            } else if (value > pivot) {
                v[at] = v[--hi];
                v[hi] = value;
            } else {
                at++;
            }
        }
        equal = lo;
        more = hi;
        if (k >= equal && k < more) return pivot;
        if (k < equal) {
            n = equal;
        } else {
            v += more;
            n -= more;
            k -= more;
        }
    }
    qsort(v, n, sizeof *v, gp_order_i64);
    return v[k];
}
