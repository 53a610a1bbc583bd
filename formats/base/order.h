/* order.h -- comparators for qsort() and bsearch(), and the search of a sorted sequence for a place.
 *
 *     qsort(times, n, sizeof *times, gp_order_i64);
 *     GP_COMPARE(by_track, struct span, GP_UP(track) GP_UP(begin_ns) GP_DOWN(end_ns))
 *     gp_sort_in(v.at, v.n, sizeof *v.at, by_name, strings);   // elements that are no more than numbers
 *     return GP_ORDER(x->begin_ns, y->begin_ns);    // in a comparator that this cannot express
 *     GP_SEARCH(lo, 0, spans.n, mid, spans.at[mid].begin_ns < at_ns);
 */
#ifndef GP_BASE_ORDER_H
#define GP_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
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

/* N bytes at P and M at Q, by their bytes; what only begins another text comes first. */
static inline int gp_order_bytes(const char *p, size_t n, const char *q, size_t m)
{
    size_t both = n < m ? n : m;
    int order = both && p != q ? memcmp(p, q, both) : 0;
    return order ? order : GP_ORDER(n, m);
}

#undef GP_ORDER_OF

/* Define NAME, a comparator of elements of TYPE by KEYS, which stand side by side and each count where those
 * before it are equal. In a key, X and Y point at the two elements. */
#define GP_COMPARE(name, type, keys)                                                                         \
    static int name(const void *a, const void *b)                                                            \
    {                                                                                                        \
        const type *x = a;                                                                                   \
        const type *y = b;                                                                                   \
        keys return 0;                                                                                       \
    }

/* Sort N elements of SIZE bytes at AT, which belong to OF; what is equal keeps its order. */
typedef int gp_compare_in(const void *a, const void *b, const void *of);
void gp_sort_in(void *at, size_t n, size_t size, gp_compare_in *compare, const void *of);
/* Define NAME for that, as GP_COMPARE() does; keys have OF, of type OF_TYPE, as well. */
#define GP_COMPARE_IN(name, type, of_type, keys)                                                             \
    static int name(const void *a, const void *b, const void *all)                                           \
    {                                                                                                        \
        const type *x = a;                                                                                   \
        const type *y = b;                                                                                   \
        const of_type *of = all;                                                                             \
        (void)of;                                                                                            \
        keys return 0;                                                                                       \
    }

/* Keys: a member, ascending or descending; a value of X and the same of Y; an order that is below, at or
 * above 0. Values are evaluated twice. */
#define GP_UP(member)   GP_KEY(x->member, y->member)
#define GP_DOWN(member) GP_KEY(y->member, x->member)
#define GP_KEY(of_x, of_y)                                                                                   \
    if ((of_x) < (of_y)) return -1;                                                                          \
    if ((of_x) > (of_y)) return 1;
#define GP_THEN(order)                                                                                       \
    {                                                                                                        \
        int order_ = order;                                                                                  \
        if (order_) return order_;                                                                           \
    }

/* Declare LO and set it to the first of FROM to TO for which BEFORE, an expression of MID, is false: it is
 * true up to some place, and false from there on. The same for a range [LO, HI) that exists. */
#define GP_SEARCH(lo, from, to, mid, before)                                                                 \
    size_t lo = (from), lo##_end = (to);                                                                     \
    GP_NARROW(lo, lo##_end, mid, before)
#define GP_NARROW(lo, hi, mid, before)                                                                       \
    while ((lo) < (hi)) {                                                                                    \
        size_t mid = (lo) + ((hi) - (lo)) / 2;                                                               \
        if (before) (lo) = mid + 1;                                                                          \
        else (hi) = mid;                                                                                     \
    }

#endif
