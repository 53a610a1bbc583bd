/* replay.h -- how long would it have taken, if? Models a program's host calls and GPU work as queues, and
 * runs them again with changes: a kernel shorter or gone, host time saved, a wait removed. Knows nothing of
 * traces, names, rules or text; plan.h builds the model from a trace.
 *
 *     struct gp_edit half = {GP_EDIT_DUR, item, 500};
 *     int64_t before = gp_replay_run(&r, NULL, 0, NULL), after = gp_replay_run(&r, &half, 1, NULL);
 *
 * One host clock runs through the calls in order: `before_ns` of other work, then the call. The call takes
 * `own_ns`; if it waits, it lasts until `wake_ns` after the end of the item that it waits for, or of
 * everything on that item's device. An item starts `delay_ns` after the latest of three times: `launch_ns`
 * after its launch, `gap_ns` after the end of the previous item on its stream, and the end of the item
 * `after`. All times are ns. */
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
    int64_t delay_ns; /* from the end of all known obstacles to its start; not negative */
    int64_t gap_ns;   /* after the previous item on its stream */
    uint32_t stream;
    uint32_t after; /* an item of another stream, earlier in the list; GP_REPLAY_NONE */
};

/* A host call that launches something, waits, or both. */
struct gp_replay_call {
    /* since the end of the previous call; negative if another thread's call began before that */
    int64_t before_ns;
    int64_t own_ns;     /* without waiting */
    uint32_t first, n;  /* the items that it launches */
    uint32_t waits_for; /* item; GP_REPLAY_NONE: it does not wait */
    bool waits_for_all; /* and for everything launched before it on the device of that item */
    int64_t after_ns;   /* longer than usual after that: the host copies on to pageable memory */
    int64_t sooner_ns;  /* than after launch_ns its items can start */
};

struct gp_replay {
    GP_VEC(struct gp_replay_item) items; /* in the order of launches */
    GP_VEC(struct gp_replay_call) calls;
    GP_VEC(int64_t)
    free_ns;                 /* by stream: when earlier work ends, on the clock that starts at 0; usually 0 */
    GP_VEC(uint32_t) device; /* by stream, less than the number of streams; empty: one device */
    struct gp_replay_room *room; /* NULL, or memory that successive runs reuse */
    int64_t tail_ns;             /* host work after the last call */
    int64_t launch_ns;           /* from the begin of a call to the start of its kernel on an idle GPU */
    int64_t wake_ns;             /* from the end of an item to the end of the call that waits for it */
};

enum gp_edit_kind {
    GP_EDIT_DUR, /* item's duration becomes NS */
    /* item takes no time and no gap; what waits for it waits for its predecessor on the stream */
    GP_EDIT_GONE,
    GP_EDIT_GAP,     /* item's gap becomes NS */
    GP_EDIT_DELAY,   /* item's delay becomes NS */
    GP_EDIT_ASIDE,   /* item runs on a separate stream, beside everything else */
    GP_EDIT_BEFORE,  /* call's before becomes NS */
    GP_EDIT_OWN,     /* call's own time becomes NS */
    GP_EDIT_NO_WAIT, /* call does not wait */
};

struct gp_edit {
    enum gp_edit_kind kind;
    uint32_t index; /* of the item or the call */
    int64_t ns;
};

/* Start times of two items on request: the first items of the first and the last step, to measure steps from
 * one to the next. */
struct gp_replay_marks {
    uint32_t from, to;
    int64_t from_ns, to_ns;
};

/* Run R with N edits; if several edits set the same value, the smallest wins. Returns the length: the time at
 * which host and GPU have both finished. Fills in the times in MARKS, which may be NULL. Does not change R,
 * whose indices must be in range. O(items + calls + edits) time and memory. */
int64_t gp_replay_run(const struct gp_replay *r, const struct gp_edit *edits, size_t n,
                      struct gp_replay_marks *marks);
/* Keep the memory of a run for the next one, which makes many runs of R faster; then only one may run at a
 * time. */
void gp_replay_keep_room(struct gp_replay *r);
void gp_replay_release(struct gp_replay *r);

#endif
