/* hang.h -- where a job hangs, from the logs of its ranks: the first collective of a group that some ranks
 * wait in, and who did not join it, called another one, or passed other sizes.
 *
 *     struct gp_hang h = {0};
 *     gp_hang_add(&h, &flight);                  // for each rank; the names are copied
 *     gp_hang_find(&h);
 *     puts(h.summary.data);                      // one sentence
 *     gp_hang_release(&h);
 */
#ifndef GP_ANALYZE_HANG_HANG_H
#define GP_ANALYZE_HANG_HANG_H

#include "analyze/result/field.h"
#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "formats/flight/flight_read.h"

/* X(enumerator, word). The later ones are what a rank does. */
#define GP_HANG_CAUSES(X)                                                                                    \
    X(GP_HANG_NONE, "none")                                                                                  \
    X(GP_HANG_MISSING, "missing")       /* a rank did not join */                                            \
    X(GP_HANG_NO_LOG, "no_log")         /* the same, and it has no log */                                    \
    X(GP_HANG_OTHER_OP, "other_op")     /* a rank called another one */                                      \
    X(GP_HANG_OTHER_SIZE, "other_size") /* a rank passed other sizes */                                      \
    X(GP_HANG_ALL_IN, "all_in")         /* all are in it, and it does not end */                             \
    X(GP_HANG_WAITS, "waits")

enum gp_hang_cause { GP_HANG_CAUSES(GP_FIRST) };

/* A rank of a group, and its last collective there. */
struct gp_hang_rank {
    gp_sid group, op, sizes;
    int64_t rank, seq; /* SEQ: -1 without a log */
    int64_t time_ns;
    uint32_t state; /* enum gp_flight_state */
    uint32_t role;  /* enum gp_hang_cause */
    bool logged;
};

struct gp_hang {
    struct gp_strings strings;
    GP_VEC(struct gp_flight_entry) entries;
    GP_VEC(struct gp_flight_group) groups;
    GP_VEC(int32_t) logs; /* ranks that have one */
    GP_VEC(struct gp_hang_rank) ranks;
    uint32_t cause; /* enum gp_hang_cause */
    gp_sid group, op;
    int64_t seq;
    struct gp_buf summary;
};

/* What a row and the answer are made of. */
extern const struct gp_record gp_hang_rank_rows, gp_hang_answers;

void gp_hang_add(struct gp_hang *h, const struct gp_flight *f);
void gp_hang_find(struct gp_hang *h);
void gp_hang_release(struct gp_hang *h);

#endif
