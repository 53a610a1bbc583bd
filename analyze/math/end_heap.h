/* end_heap.h -- what runs at a moment: a vector (vec.h) of structs with an end_ns, kept as a heap with the first to end on
 * top.
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
#define GP_END_PUSH(h, type, item)                                                                           \
    do {                                                                                                     \
        type gp_item_ = (item);                                                                              \
        GP_VEC_PUSH((h), gp_item_);                                                                          \
        size_t gp_i_ = (h)->n - 1;                                                                           \
        for (; gp_i_ && (h)->at[(gp_i_ - 1) / 2].end_ns > gp_item_.end_ns; gp_i_ = (gp_i_ - 1) / 2)          \
            (h)->at[gp_i_] = (h)->at[(gp_i_ - 1) / 2];                                                       \
        (h)->at[gp_i_] = gp_item_;                                                                           \
    } while (0)

/* Remove the top of H, which is not empty. */
#define GP_END_POP(h, type)                                                                                  \
    do {                                                                                                     \
        type gp_last_ = (h)->at[--(h)->n];                                                                   \
        size_t gp_i_ = 0, gp_child_;                                                                         \
        for (; (gp_child_ = 2 * gp_i_ + 1) < (h)->n; gp_i_ = gp_child_) {                                    \
            if (gp_child_ + 1 < (h)->n && (h)->at[gp_child_ + 1].end_ns < (h)->at[gp_child_].end_ns)         \
                gp_child_++;                                                                                 \
            if ((h)->at[gp_child_].end_ns >= gp_last_.end_ns) break;                                         \
            (h)->at[gp_i_] = (h)->at[gp_child_];                                                             \
        }                                                                                                    \
        (h)->at[gp_i_] = gp_last_;                                                                           \
    } while (0)

#endif
