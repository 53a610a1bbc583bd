/* waits.h -- finds the host calls that really waited for the GPU, and the GPU event that each waited for.
 * Knows nothing of paths, replays or causes of idle time.
 *
 *     struct gp_wait_index index;
 *     struct gp_waits w;
 *     gp_wait_index_build(&index, &view);                             // once, for all processes
 *     gp_waits_find(&w, &view, &index, producer, begin_ns, end_ns);
 *     for (size_t i = 0; i < w.calls.n; i++) use(w.calls.at[i].call, w.calls.at[i].row);
 *     gp_waits_release(&w);
 *     gp_wait_index_release(&index);
 */
#ifndef GP_ANALYZE_WAITS_H
#define GP_ANALYZE_WAITS_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/view/view.h"

/* As many launches a stream takes before the host has to wait, or a few more. */
enum { GP_QUEUE_FULL = 1000 };

/* A call that waited: its thread went on when GPU event `row` had ended. */
struct gp_wait {
    uint32_t track;
    uint32_t call; /* row of GP_API */
    uint32_t row;  /* row of GP_GPU */
    bool own;      /* the call started that event itself: a copy that blocks */
    int64_t begin_ns, end_ns;
};

/* A row of something that belongs to a process. */
struct gp_wait_row {
    uint32_t producer, row;
};

/* Rows by producer, then by row. */
typedef GP_VEC(struct gp_wait_row) gp_wait_rows;

/* What each process has. A trace can hold thousands of them, and each is asked for. */
struct gp_wait_index {
    gp_wait_rows calls;   /* of GP_API: those that synchronize */
    gp_wait_rows streams; /* of GP_SYNC: records of streams that were waited for */
    gp_wait_rows devices; /* of the view */
    gp_wait_rows queues;  /* streams of the view that can have been full */
    gp_wait_rows threads; /* tracks on which the host did something */
};

struct gp_ended {
    int64_t end_ns;
    uint32_t row; /* of GP_GPU */
};

struct gp_waits {
    GP_VEC(struct gp_ended) by_end; /* the producer's GPU events that touch the window, by end */
    GP_VEC(struct gp_wait) calls;   /* by (track, end) */
};

/* Find the calls of PRODUCER in the window [BEGIN, END). Calls named ...Synchronize waited for the last event
 * that ended inside them and was launched before (on their stream, if recorded). Copies waited if their call
 * ends after them, unless they are asynchronous and within the device or with pinned memory; kernel launches
 * count only if nearly all of them do, or if GP_QUEUE_FULL launches were queued on their stream and the call
 * is ten times as long as the median. Profilers round, so an event may appear to end 2 us after the call that
 * waited. Overwrites W. O(n log n) for the n events of the producer. */
void gp_waits_find(struct gp_waits *w, const struct gp_view *v, const struct gp_wait_index *index,
                   uint32_t producer, int64_t begin_ns, int64_t end_ns);
void gp_waits_release(struct gp_waits *w);

/* INDEX is overwritten. O(n log n). */
void gp_wait_index_build(struct gp_wait_index *index, const struct gp_view *v);
void gp_wait_index_release(struct gp_wait_index *index);
/* The first of ROWS that belongs to PRODUCER, and the END of those that do. O(log n + matches). */
size_t gp_wait_rows_of(const gp_wait_rows *rows, uint32_t producer, size_t *end);

/* How many of w->by_end end no later than AT. O(log n). */
size_t gp_waits_ended_by(const struct gp_waits *w, int64_t at_ns);

#endif
