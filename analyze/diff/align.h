/* align.h -- aligns two sequences of kernels in launch order: finds which are the same, and what replaced
 * what. Knows nothing of traces or names: kernels are numbers, and equal numbers are the same kernel.
 *
 *     struct gp_align al = {0};
 *     gp_align_run(&al, a, na, b, nb);                          // one step of each side
 *     for (size_t i = 0; i < al.pairs.n; i++) use(al.pairs.at[i].a, al.pairs.at[i].b);
 *     for (size_t i = 0; i < al.groups.n; i++) ... "6 -> 1 kernels, fused, x7, 309 -> 221 us" ...
 *     gp_align_release(&al);
 *
 * Every element of A and of B is in exactly one pair or block; pairs and blocks keep the order of both sides.
 * The durations of pairs and blocks therefore sum to those of the sides. Swapping the sides mirrors the
 * result.
 *
 * Coarse before fine: both sides are cut where both have the same barriers (attention, communication, matrix
 * products) in the same order. If a segment between two cuts has the same barriers on both sides,
 * replacements are determined inside it, between one barrier and the next. If not, or if their order differs,
 * nothing is reported as fused; and if little of the segment is the same, it is a single block.
 *
 * Cost: O(n log n) for mostly equal sequences; never more than a fixed multiple of n and of GP_ALIGN_BUDGET
 * steps. What exceeds that stays one block, and `bounded` is set. */
#ifndef GP_ANALYZE_ALIGN_H
#define GP_ANALYZE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/vec.h"

enum {
    GP_ALIGN_EDITS = 1024,     /* differences searched at a time */
    GP_ALIGN_BUDGET = 1 << 22, /* steps of search in all */
};

/* One kernel. Ids mean the same on both sides; numbers themselves carry no meaning but that 0 is "unknown"
 * for all but `key`. */
struct gp_align_item {
    uint32_t key;    /* the same kernel (kernel_key.h: code) */
    uint32_t family; /* one that can stand for it */
    uint32_t role;   /* purpose: class, operator, phase */
    uint32_t work;   /* of barriers: how much it computes (shape, layout) */
    uint32_t kind;   /* enum gp_frame_kind; attention, communication and gemm are barriers */
    bool fused;      /* made by a compiler from several operations */
    int64_t dur_ns;
};

/* X(enum, word) */
#define GP_ALIGN_CHANGES(X)                                                                                  \
    X(GP_ALIGN_FUSED, "fused")     /* several became fewer, one of which is fused or has their roles */      \
    X(GP_ALIGN_DEFUSED, "defused") /* the mirror image */                                                    \
    /* one for one: the same family or role, or the only one between the same barriers */                    \
    X(GP_ALIGN_RETILED, "retiled")                                                                           \
    X(GP_ALIGN_ADDED, "added")         /* nothing on side A */                                               \
    X(GP_ALIGN_REMOVED, "removed")     /* nothing on side B */                                               \
    X(GP_ALIGN_REORDERED, "reordered") /* the same kernels in another order */                               \
    X(GP_ALIGN_CHANGED, "changed")     /* other kernels; what became what is not known */

enum gp_align_change { GP_ALIGN_CHANGES(GP_FIRST) };

struct gp_align_pair {
    uint32_t a, b; /* indices; equal keys */
};

/* The elements a .. a + na - 1 of A correspond to b .. b + nb - 1 of B; at least one range is not empty. What
 * moved within a segment gives two reordered blocks, one empty on side B and one on side A. */
struct gp_align_block {
    uint32_t a, na, b, nb;
    uint32_t change;  /* enum gp_align_change */
    bool whole;       /* a whole segment with too little in common for details */
    uint32_t segment; /* index into segments */
    uint32_t group;   /* index into groups */
};

/* Blocks of one change with the same keys in the same order on both sides; of whole segments, with the same
 * barriers. */
struct gp_align_group {
    uint32_t change;
    bool whole;
    uint32_t times;  /* blocks; of two that show one move, one counts */
    uint32_t first;  /* block */
    uint64_t na, nb; /* elements of all its blocks */
    int64_t a_ns, b_ns;
};

/* The part between two cuts. The barrier at which a segment was cut off is its first element on both
 * sides. */
struct gp_align_segment {
    uint32_t a, na, b, nb;
    bool same_work;  /* the same barriers on both sides: the difference of its durations is meaningful */
    bool same_order; /* and in the same order */
    uint32_t group;  /* segments with the same number have the same barriers; numbered by first appearance */
    int64_t a_ns, b_ns;
};

struct gp_align {
    GP_VEC(struct gp_align_pair) pairs;
    GP_VEC(struct gp_align_block) blocks;
    GP_VEC(struct gp_align_group) groups; /* by |b_ns - a_ns|, largest first, then by first block */
    GP_VEC(struct gp_align_segment) segments;
    uint32_t segment_groups;
    int64_t paired_a_ns, paired_b_ns; /* durations in pairs */
    bool bounded; /* the search was cut short somewhere: blocks may be larger than necessary */
};

/* AL must be zeroed or released. Sums wrap around for damaged durations. At most UINT32_MAX - 1 elements per
 * side. */
void gp_align_run(struct gp_align *al, const struct gp_align_item *a, size_t na,
                  const struct gp_align_item *b, size_t nb);
void gp_align_release(struct gp_align *al);

#endif
