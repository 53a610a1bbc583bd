/* watch.h -- digests of many ranks as they arrive: who is slow now, and why. Every GP_WATCH_EVERY_NS the
 * ranks are compared by their means since the last comparison; what two comparisons in a row find is an
 * event. Keeps the last hour of the job in steps of ten seconds, and a few hundred bytes per rank. Knows no
 * sockets and no clock: the caller gives the time.
 *
 *     struct gp_watch *w = gp_watch_new(on_event, ctx);
 *     gp_watch_add(w, &digest, &names, now_ns);
 *     gp_watch_tick(w, now_ns);                        // calls on_event
 *     gp_watch_free(w);
 */
#ifndef GP_ANALYZE_WATCH_H
#define GP_ANALYZE_WATCH_H

#include "analyze/fleet/slow.h"
#include "analyze/result/field.h"
#include "analyze/live/digest.h"

#define GP_WATCH_EVERY_NS INT64_C(4000000000)
#define GP_WATCH_MERGE_NS INT64_C(3000000000)
enum { GP_WATCH_HOUR = 360, GP_WATCH_RANKS = 1 << 17, GP_WATCH_ROWS = 8 };

/* SLOW and RECOVERED are of a rank, a kernel, a node or a GPU number; CHANGED of a kernel that fewer than
 * four ranks run, against its own past; SILENT and BACK of ranks that send nothing; ALL_SLOWER of the whole
 * job against its last hour. */
enum gp_watch_kind {
    GP_WATCH_SLOW,
    GP_WATCH_RECOVERED,
    GP_WATCH_CHANGED,
    GP_WATCH_SILENT,
    GP_WATCH_BACK,
    GP_WATCH_ALL_SLOWER
};
struct gp_watch_event {
    enum gp_watch_kind kind;
    int64_t time_ns;            /* since the first digest */
    const struct gp_slow *slow; /* SLOW, CHANGED, RECOVERED */
    const char *kernel;         /* that it is about, or NULL */
    int32_t rank;               /* the first of them; -1: all */
    uint32_t ranks;             /* that this is about */
    const char *cause; /* a name of gp_slow_cause or, of ALL_SLOWER, of gp_fleet_metric; NULL: none */
    const char *text;
};
extern const struct gp_record gp_watch_events; /* fields of a line of JSON */
typedef void gp_watch_event_fn(void *ctx, const struct gp_watch_event *e);

/* Ten seconds. */
struct gp_watch_past {
    int64_t ns[GP_FLEET_METRIC_COUNT]; /* medians over the ranks */
};

struct gp_watch_slow {
    struct gp_slow slow; /* its kernel is that below */
    const char *kernel;  /* or "" */
};

struct gp_watch_state {
    uint64_t digests, late, crowded; /* used; repeated, old or out of order; of ranks beyond GP_WATCH_RANKS */
    uint64_t stepless;               /* used, but without steps, so that nothing could be compared */
    uint64_t missing, dropped;       /* numbers that never came; messages and blocks that senders dropped */
    uint32_t ranks;                  /* that send */
    int64_t ns[GP_FLEET_METRIC_COUNT]; /* medians over the ranks */
    const struct gp_watch_slow *slow;  /* now, and reported */
    size_t n_slow;
};

struct gp_watch;
struct gp_watch *gp_watch_new(gp_watch_event_fn *on_event, void *ctx);
/* Compares nothing, but merges the digests of each rank, and gives ON_DIGEST one for all of every
 * GP_WATCH_MERGE_NS: the means of their steps. Its names are of NAMES. */
typedef void gp_watch_digest_fn(void *ctx, const struct gp_digest *d, const struct gp_strings *names);
struct gp_watch *gp_watch_new_merging(gp_watch_digest_fn *on_digest, void *ctx);
void gp_watch_free(struct gp_watch *w);
/* Take D, whose names are of NAMES and which stays the caller's. NOW_NS is positive; an earlier time than
 * before counts as that. */
void gp_watch_add(struct gp_watch *w, const struct gp_digest *d, const struct gp_strings *names,
                  int64_t now_ns);
/* Compare the ranks if it is time to. */
void gp_watch_tick(struct gp_watch *w, int64_t now_ns);
/* End of input: pass on all that was merged so far. */
void gp_watch_end(struct gp_watch *w);
/* Valid until the next call of the others. */
struct gp_watch_state gp_watch_state(const struct gp_watch *w);

#endif
