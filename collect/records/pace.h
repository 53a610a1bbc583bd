/* pace.h -- how long the steps of a process take while nobody records it: from the beginning of one range or
 * mark that calls itself a step (formats/model/step_name.h) to that of the next one on the same thread. Only
 * times that lie in one gap between recordings count, and before the first recording only the later half of
 * the steps, as the others may be warm-up. One caller at a time; memory is bounded.
 *
 *     gp_pace_begins(&pace, tid, "step 17", ns, gap);     // for every range and mark outside of recordings
 *     gp_pace_put(&pace, trace, process, entered_ns);     // now and then: those that are new
 */
#ifndef GP_COLLECT_RECORDS_PACE_H
#define GP_COLLECT_RECORDS_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

enum { GP_PACE_KEPT = 64 };

/* Steps before the first recording, or after it: the last GP_PACE_KEPT of N. */
struct gp_pace_steps {
    uint64_t n;
    int64_t start_ns[GP_PACE_KEPT], dur_ns[GP_PACE_KEPT];
};

/* Ranges of a thread whose names differ only in their numbers. */
struct gp_pace_marker {
    int rank; /* of the name, the better one is smaller */
    int64_t last_ns;
    uint64_t last_gap;
    int64_t sum_ns; /* of all steps */
    struct gp_pace_steps before, after;
};

/* Zero it. */
struct gp_pace_markers {
    struct gp_strings names; /* thread and base */
    struct gp_map of_name;   /* name -> index into list */
    GP_VEC(struct gp_pace_marker) list;
    uint32_t chosen; /* of the list, plus one: the one whose steps have been given; 0 none yet */
};

/* GAP: how many recordings there were before. False: it does not call itself a step. */
bool gp_pace_begins(struct gp_pace_markers *m, int64_t tid, const char *name, int64_t ns, uint64_t gap);
/* Add the steps of the best marker to T, once each. Those that ended before ENTERED_NS are bare. */
void gp_pace_put(struct gp_pace_markers *m, struct gp_trace *t, uint32_t process, int64_t entered_ns);
/* Before the first recording: have there been so many steps that they tell the pace? */
bool gp_pace_settled(const struct gp_pace_markers *m);
/* The median step of the best marker before the first recording or after it, of the last GP_PACE_KEPT; 0:
 * there are fewer than 8. */
int64_t gp_pace_median(const struct gp_pace_markers *m, bool after);
/* The same, but their mean, in which a step counts for at most two medians. */
int64_t gp_pace_mean(const struct gp_pace_markers *m, bool after);
/* Before it: the step that runs, or the latest that is over, and the median of those before. False: there are
 * fewer than 8. */
struct gp_pace_view {
    int64_t median_ns, start_ns, dur_ns; /* DUR_NS: if it is over */
};
bool gp_pace_look(const struct gp_pace_markers *m, bool runs, struct gp_pace_view *view);
void gp_pace_release(struct gp_pace_markers *m);

#endif
