/* replay.h -- how long would it have taken, if? A program's host calls and GPU work as a small model of queues, which is
 * run again with changes: a kernel shorter or gone, host time saved, a wait left out. Knows nothing of traces, names,
 * rules or text; plan.h makes one from a trace.
 *
 *     struct gp_edit half = {GP_EDIT_DUR, item, 500};
 *     int64_t before = gp_replay_run(&r, NULL, 0, NULL), after = gp_replay_run(&r, &half, 1, NULL);
 *
 * One host clock goes through the calls in order: `before_ns` of other work, then the call, which takes `own_ns` and, if
 * it waits, lasts until `wake_ns` after the end of the item that it waits for, or of whatever runs on the item's device. An
 * item starts when it is launched and
 * `launch_ns` have passed, when the one before it on its stream has ended and `gap_ns` have passed, and when the item
 * `after` has ended; and then `delay_ns` later. All times are ns.
 */
#ifndef GP_ANALYZE_REPLAY_H
#define GP_ANALYZE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

#define GP_REPLAY_NONE UINT32_MAX

/* A GPU event. */
struct gp_replay_item {
    int64_t dur_ns;
    int64_t delay_ns; /* between everything that is known to hold it up and its start; not negative */
    int64_t gap_ns;   /* after the item before it on its stream */
    uint32_t stream;
    uint32_t after; /* an item of another stream, earlier in the list; GP_REPLAY_NONE */
};

/* A call of the host that launches something, waits, or both. */
struct gp_replay_call {
    int64_t
        before_ns;  /* since the end of the call before; negative where another thread's began before that */
    int64_t own_ns; /* without waiting */
    uint32_t first, n;  /* the items that it launches */
    uint32_t waits_for; /* item; GP_REPLAY_NONE: it does not wait */
    bool waits_for_all; /* and for all that was launched before it on the device of that item */
};

struct gp_replay {
    GP_VEC(struct gp_replay_item) items; /* in the order of launches */
    GP_VEC(struct gp_replay_call) calls;
    GP_VEC(int64_t)
    free_ns; /* by stream: when what ran before is over, on the clock that begins at 0; most: 0 */
    GP_VEC(uint32_t) device; /* by stream, no larger than the number of streams; empty: there is one device */
    struct gp_replay_room *room; /* NULL, or memory that runs use one after the other */
    int64_t tail_ns;             /* host work after the last call */
    int64_t launch_ns;           /* from the begin of a call to the start of its item on an idle GPU */
    int64_t wake_ns;             /* from the end of an item to the end of the call that waits for it */
};

enum gp_edit_kind {
    GP_EDIT_DUR, /* item's duration becomes NS */
    GP_EDIT_GONE, /* item takes no time and no gap; what waits for it waits for what is before it on its stream */
    GP_EDIT_GAP,     /* item's gap becomes NS */
    GP_EDIT_DELAY,   /* item's delay becomes NS */
    GP_EDIT_ASIDE,   /* item runs on a stream of its own, beside everything else */
    GP_EDIT_BEFORE,  /* call's before becomes NS */
    GP_EDIT_OWN,     /* call's own time becomes NS */
    GP_EDIT_NO_WAIT, /* call does not wait */
};

struct gp_edit {
    enum gp_edit_kind kind;
    uint32_t index; /* of the item or the call */
    int64_t ns;
};

/* When two items begin, as wanted: the first items of the first and the last step, so that steps can be measured from one to
 * the next. */
struct gp_replay_marks {
    uint32_t from, to;
    int64_t from_ns, to_ns;
};

/* Run R with N edits; what several edits want of one thing, the smallest value gets. Returns the length: when host and
 * GPU have both finished. The times in MARKS, which may be NULL, are filled in. R is not changed. Its indices must be in
 * range. O(items + calls + edits), and as much memory. */
int64_t gp_replay_run(const struct gp_replay *r, const struct gp_edit *edits, size_t n,
                      struct gp_replay_marks *marks);
/* Keep the memory that a run needs for the next one, so that many runs of R are faster; only one at a time then. */
void gp_replay_keep_room(struct gp_replay *r);
void gp_replay_release(struct gp_replay *r);

#endif
