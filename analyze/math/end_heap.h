/* end_heap.h -- the events open at a moment: a vector (vec.h) of structs with an end_ns, kept as a heap with
 * the first to end on top.
 *
 *     GP_VEC(struct running) heap = {0};            // struct running { int64_t end_ns; uint64_t blocks; }
 *     GP_END_PUSH(&heap, struct running, r);
 *     while (heap.n && heap.at[0].end_ns <= now_ns) {
 *         use(heap.at[0].blocks);
 *         GP_END_POP(&heap, struct running);
 *     }
 */
#ifndef GP_ANALYZE_END_HEAP_H
#define GP_ANALYZE_END_HEAP_H

#include <stddef.h>
#include "formats/base/vec.h"

/* Add ITEM to the heap H of items of TYPE. */
#define GP_END_PUSH(h, type, item) GP_HEAP_PUSH(h, type, item, GP_ENDS_FIRST)
/* Remove the top of H, which is not empty. */
#define GP_END_POP(h, type) GP_HEAP_POP(h, type, GP_ENDS_FIRST)
#define GP_ENDS_FIRST(a, b) ((a).end_ns < (b).end_ns)

/* The same for heaps in another order: does A come before B? */
#define GP_HEAP_PUSH(h, type, item, before)                                                                  \
    do {                                                                                                     \
        type gp_item_ = (item);                                                                              \
        GP_VEC_PUSH((h), gp_item_);                                                                          \
        size_t gp_i_ = (h)->n - 1;                                                                           \
        for (; gp_i_ && before(gp_item_, (h)->at[(gp_i_ - 1) / 2]); gp_i_ = (gp_i_ - 1) / 2)                 \
            (h)->at[gp_i_] = (h)->at[(gp_i_ - 1) / 2];                                                       \
        (h)->at[gp_i_] = gp_item_;                                                                           \
    } while (0)

#define GP_HEAP_POP(h, type, before)                                                                         \
    do {                                                                                                     \
        type gp_last_ = (h)->at[--(h)->n];                                                                   \
        size_t gp_i_ = 0, gp_child_;                                                                         \
        for (; (gp_child_ = 2 * gp_i_ + 1) < (h)->n; gp_i_ = gp_child_) {                                    \
            if (gp_child_ + 1 < (h)->n && before((h)->at[gp_child_ + 1], (h)->at[gp_child_])) gp_child_++;   \
            if (!before((h)->at[gp_child_], gp_last_)) break;                                                \
            (h)->at[gp_i_] = (h)->at[gp_child_];                                                             \
        }                                                                                                    \
        (h)->at[gp_i_] = gp_last_;                                                                           \
    } while (0)

#endif
