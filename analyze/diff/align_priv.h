/* align_priv.h -- private to align*.c: the shared state of a run.
 *
 *     gp_align_choose_cuts(&w);                                      // align_cuts.c: where segments begin
 *     struct gp_align_segment s = gp_align_segment_at(&w, k);
 *     gp_align_match(&w, a, end_a, b, end_b);                 // align_blocks.c: pairs and blocks, in order
 *     gp_align_put_matched(&w, a, b, end_a, end_b, true);
 *     gp_align_settle(&w, first_block);
 */
#ifndef GP_ANALYZE_ALIGN_PRIV_H
#define GP_ANALYZE_ALIGN_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/diff/align.h"
#include "analyze/stacks/calltree.h"
#include "analyze/math/lcs.h"
#include "formats/base/hash.h"
#include "formats/base/map.h"

/* One of the sides. */
struct gp_align_side {
    const struct gp_align_item *item;
    uint32_t n;
    uint32_t *symbol;  /* keys, numbered from 0 on both sides together */
    uint32_t *form;    /* families, likewise; each unknown one has a unique number */
    uint32_t *barrier; /* places of barriers */
    uint32_t n_barriers;
};

/* Everything that a run knows. */
struct gp_align_work {
    struct gp_align *al;
    struct gp_align_side a, b;
    struct gp_lcs lcs;                 /* by symbol, or by form where symbols match little */
    struct gp_lcs inner;               /* by form, within what lcs has left */
    GP_VEC(struct gp_align_pair) cuts; /* barriers that begin a segment on both sides */
    uint8_t *left_on_a, *left_on_b;    /* by form: is one left over on that side, in this segment? */
    struct gp_map block_groups, segment_groups;
    uint32_t at_a, at_b; /* all before is in pairs and blocks */
    uint32_t segment;    /* that is being worked on */
};

static inline void gp_align_add_ns(int64_t *sum, int64_t v)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)v);
}

static inline int64_t gp_align_sum_ns(const struct gp_align_side *s, uint32_t from, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = from; i < from + n; i++) gp_align_add_ns(&sum, s->item[i].dur_ns);
    return sum;
}

static inline bool gp_align_is_barrier(const struct gp_align_item *i)
{
    return i->kind == GP_FRAME_GEMM || i->kind == GP_FRAME_ATTENTION || i->kind == GP_FRAME_COMMUNICATION;
}

/* ---- levels of identity ---- */

enum gp_align_level { GP_ALIGN_BY_KEY, GP_ALIGN_BY_FAMILY, GP_ALIGN_BY_ROLE, GP_ALIGN_LEVELS };

/* 0 if unknown at that level. */
static inline uint64_t gp_align_id(const struct gp_align_item *i, enum gp_align_level level)
{
    return level == GP_ALIGN_BY_KEY      ? (uint64_t)i->key + 1
           : level == GP_ALIGN_BY_FAMILY ? i->family
                                         : i->role;
}

static inline bool gp_align_stands_for(const struct gp_align_item *a, const struct gp_align_item *b)
{
    return (a->family && a->family == b->family) || (a->role && a->role == b->role);
}

/* ---- align_cuts.c ---- */

/* Fill w->cuts. */
void gp_align_choose_cuts(struct gp_align_work *w);
/* Segment K of the current cuts; there is one more segment than cuts. */
struct gp_align_segment gp_align_segment_at(const struct gp_align_work *w, size_t k);
/* The barriers of part of a side, as a multiset: its computation. */
uint64_t gp_align_work_of(const struct gp_align_side *s, uint32_t from, uint32_t n);

/* ---- align_blocks.c ---- */

/* Classify a block. CLAIMS: it may be reported as fused. */
enum gp_align_change gp_align_classify(const struct gp_align_work *w, const struct gp_align_block *k,
                                       bool claims);
/* Append a block; its group comes when the segment is settled. */
void gp_align_put_block(struct gp_align_work *w, struct gp_align_block k);
void gp_align_put_pair(struct gp_align_work *w, uint32_t a, uint32_t b);
/* Two that replace each other: a pair if their keys are equal, otherwise a block. */
void gp_align_put_one(struct gp_align_work *w, uint32_t a, uint32_t b);
/* Match [a, end_a) with [b, end_b) by keys, or by families, into w->lcs. */
void gp_align_match(struct gp_align_work *w, uint32_t a, uint32_t end_a, uint32_t b, uint32_t end_b);
void gp_align_match_forms(struct gp_align_work *w, uint32_t a, uint32_t end_a, uint32_t b, uint32_t end_b);
/* Add the result of the latest match, which began at (a, b), with blocks in between, up to (end_a, end_b). */
void gp_align_put_matched(struct gp_align_work *w, uint32_t a, uint32_t b, uint32_t end_a, uint32_t end_b,
                          bool claims);
/* Of the blocks from FIRST on, which are those of one segment: what was removed in one place and added in
 * another has moved. Then all find their groups. */
void gp_align_settle(struct gp_align_work *w, size_t first);

#endif
