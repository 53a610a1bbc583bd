/* collectives.h -- rows of trace-hta's answer: the collectives of a trace, those of several ranks matched,
 * the offsets of their clocks, and stragglers.
 *
 *     gp_hta_add_collectives(&h, &view);               // of each rank's trace
 *     uint32_t *match_of = gp_collectives_match(&h);   // after sorting by rank and start
 *     free(match_of);
 */
#ifndef GP_ANALYZE_COLLECTIVES_H
#define GP_ANALYZE_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/math/histogram.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_hta;
struct gp_view;

struct gp_collective {
    int32_t rank;
    int64_t device, stream;
    /* "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv", ...; where one
     * kernel served several kinds, these with a + between them */
    gp_sid op;
    gp_sid group;               /* process group name; 0 unknown */
    gp_sid ranks;               /* of the group, as recorded: "[0, 1]"; 0 unknown */
    gp_sid kernel;              /* full kernel name */
    gp_sid dtype;               /* as recorded; 0 unknown */
    uint64_t seq;               /* sequence number in its group as recorded, GP_NO_ID: none */
    uint32_t order;             /* its place among the rank's collectives of that group */
    uint32_t group_size;        /* 0 unknown */
    uint32_t calls;             /* NCCL calls that the kernel served: several in a group; 0 unknown */
    int32_t src_rank, dst_rank; /* of a send or a receive, where recorded; -1 unknown */
    int64_t bytes;              /* of the full message, as for algorithm bandwidth; -1 unknown */
    int64_t start_ns, end_ns;
};

/* The same collective seen by several ranks. */
struct gp_collective_match {
    gp_sid op, group, dtype;
    uint64_t seq; /* recorded, or the order */
    bool by_seq;
    uint32_t ranks; /* that have it */
    int64_t bytes;
    int64_t start_skew_ns; /* last start - first start, after the clock offsets */
    int64_t end_skew_ns;
    int64_t duration_ns; /* shortest duration over the ranks: the time the transfer itself took */
    int64_t wait_ns;     /* sum over ranks of (last start - own start), each at most the own duration */
    int32_t last_rank;   /* the last to start */
    double algbw_gbps, busbw_gbps; /* 10^9 bytes per second, of duration_ns; 0 unknown */
};

/* By operation, group, type and size class. */
struct gp_collective_stat {
    gp_sid op, group, dtype;
    uint32_t group_size;
    uint64_t count;
    uint64_t calls; /* of NCCL that they served, where known */
    int64_t bytes;  /* in all, where known; -1 nowhere */
    struct gp_histogram dur;
    struct gp_histogram skew;      /* start skew, matched ones */
    double algbw_gbps, busbw_gbps; /* of the median-duration one; 0 unknown */
};

struct gp_rank_offset {
    int32_t rank;
    int64_t offset_ns; /* to be added to this rank's clock to match the lowest rank's */
    int64_t error_ns;  /* median absolute deviation */
    uint32_t pairs;    /* collectives it was estimated from; 0: not estimated, offset 0 */
};

struct gp_straggler {
    int32_t rank;
    uint64_t matched; /* collectives it took part in */
    uint64_t times_last;
    int64_t lateness_ns;    /* sum over them of (own start - median start) where positive */
    int64_t caused_wait_ns; /* waiting of the others in those where it was last */
};

/* Is it late by more than the clocks leave open: by three residuals or more, each time? Nothing else is
 * reported. */
bool gp_hta_is_late(const struct gp_hta *h, const struct gp_straggler *s);
/* Append the residual as a sentence, " The clocks of the ranks agree to within 126 ns."; nothing where it is
 * 0. */
void gp_hta_put_residual(struct gp_buf *b, const struct gp_hta *h);

#define GP_NO_MATCH UINT32_MAX

/* Fill h->matches, offsets, stragglers, the counts of unmatched collectives, and the `order` of every
 * collective. h->collectives must be sorted by (rank, start). Returns, by collective, the index of its match
 * or GP_NO_MATCH; the caller frees it. */
uint32_t *gp_collectives_match(struct gp_hta *h);

/* Add the collectives of one trace to H. */
void gp_hta_add_collectives(struct gp_hta *h, const struct gp_view *v);

extern const struct gp_record gp_hta_collectives; /* rows: struct gp_collective_stat */
extern const struct gp_record gp_hta_matches;     /* rows: struct gp_collective_match */
extern const struct gp_record gp_hta_stragglers;  /* rows: struct gp_straggler */
extern const struct gp_record gp_hta_offsets;     /* rows: struct gp_rank_offset */

#endif
