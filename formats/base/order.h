/* order.h -- comparators of plain values for qsort() and bsearch(), and the line that all others end in.
 *
 *     qsort(times, n, sizeof *times, gp_order_i64);
 *     return GP_ORDER(x->begin_ns, y->begin_ns);    // in a comparator of structs
 */
#ifndef GP_BASE_ORDER_H
#define GP_BASE_ORDER_H

#include <stdint.h>
#include <string.h>

/* Below, at or above 0, as X is less than, equal to or more than Y. Both are evaluated twice. */
#define GP_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

#define GP_ORDER_OF(name, type)                                                                              \
    static inline int name(const void *a, const void *b)                                                     \
    {                                                                                                        \
        type x = *(const type *)a, y = *(const type *)b;                                                     \
        return GP_ORDER(x, y);                                                                               \
    }

/* Ascending. */
GP_ORDER_OF(gp_order_i32, int32_t)
GP_ORDER_OF(gp_order_u32, uint32_t)
GP_ORDER_OF(gp_order_i64, int64_t)
GP_ORDER_OF(gp_order_u64, uint64_t)
GP_ORDER_OF(gp_order_double, double)

/* Descending: the longest first. */
static inline int gp_order_i64_down(const void *a, const void *b) { return gp_order_i64(b, a); }

/* Of `char *`, by their bytes. */
static inline int gp_order_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#undef GP_ORDER_OF

#endif
