/* watch_priv.h -- the state of watch.h: watch.c fills it from digests, watch_compare.c compares. */
#ifndef GP_ANALYZE_WATCH_PRIV_H
#define GP_ANALYZE_WATCH_PRIV_H

#include "analyze/live/watch.h"
#include "formats/base/map.h"

/* Sums over the digests that had the kernel among their largest. */
struct gp_watch_kernel {
    gp_sid name;
    uint16_t n;
    int16_t change_pm; /* of the last digest: how much longer a call takes than before, per mille */
    int64_t step_ns, call_ns;
};

struct gp_watch_rank {
    struct gp_fleet_key key;
    gp_sid gpu;
    int32_t device;
    uint64_t run, seq, dropped;
    int64_t sent_ns, heard_ns; /* by its clock and by ours */
    int64_t gap_ns;            /* the longest usual time between two digests */
    uint32_t n;                /* digests in the sums */
    uint32_t merged;           /* digests since the last one that was passed on */
    uint64_t steps;            /* of those in the sums */
    int64_t last_step;
    bool fresh; /* one with steps came since the last comparison */
    bool silent;
    uint16_t n_kernels;
    int64_t ns[GP_FLEET_METRIC_COUNT];
    struct gp_watch_kernel *kernels; /* GP_DIGEST_KERNELS */
};

/* Something that the last comparison found, or one of the two before. */
struct gp_watch_found {
    enum gp_watch_kind kind; /* SLOW or CHANGED */
    struct gp_slow slow;
    char name[GP_DIGEST_NAME + 1]; /* of the kernel: fleets come and go */
    uint32_t hits, misses;         /* comparisons with news of this rank, in a row */
    bool seen, reported;
};

struct gp_watch {
    gp_watch_event_fn *on_event;
    gp_watch_digest_fn *on_digest; /* or NULL: ranks are compared */
    void *ctx;
    int64_t every_ns;
    struct gp_strings names;
    struct gp_map rank_of;
    GP_VEC(struct gp_watch_rank) ranks;
    GP_VEC(struct gp_watch_found) found;
    GP_VEC(struct gp_watch_slow) now; /* of those found, what is reported and still there */
    struct gp_fleet fleet;            /* of the last comparison */
    struct gp_watch_past past[GP_WATCH_HOUR];
    size_t n_past;
    int64_t first_ns, now_ns, due_ns;
    uint64_t compared, digests, stepless, late, crowded, missing, dropped;
    uint32_t slower; /* comparisons in a row that found all ranks slower */
};

static inline uint64_t gp_watch_id(struct gp_fleet_key key)
{
    return (uint64_t)(uint32_t)key.rank << 32 | key.tag;
}

/* The rank of KEY, or NULL. */
struct gp_watch_rank *gp_watch_rank(const struct gp_watch *w, struct gp_fleet_key key);
void gp_watch_compare(struct gp_watch *w);
/* What each rank has sent since the last time, as one digest to on_digest. */
void gp_watch_pass_on(struct gp_watch *w);

#endif
