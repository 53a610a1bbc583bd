/* idle_walk.h -- finds every idle moment of every device, with its cause and the host's activity: the
 * only place that decides. The tables of trace-hta and the idle flame graph only add up its pieces. Knows
 * nothing of labels, reports or pictures. The definition is in analyze/view/README.md, "Idle time".
 *
 *     static void add(void *sum, const struct gp_idle_piece *p)
 *     {
 *         ((int64_t *)sum)[p->cause] += p->end_ns - p->begin_ns;
 *     }
 *     int64_t sum[GP_IDLE_CAUSE_COUNT] = {0};
 *     gp_idle_walk(&view, add, sum);
 */
#ifndef GP_ANALYZE_IDLE_WALK_H
#define GP_ANALYZE_IDLE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/idle_cause.h"
#include "analyze/view/view.h"

/* A stretch of idle time with one cause and one host stack. The pieces of a gap follow each other without
 * hole or overlap, in order of time; the gaps of a device come in order of time, the devices in the view's
 * order. */
struct gp_idle_piece {
    uint32_t device;          /* index into view->devices */
    uint32_t row;             /* of GP_GPU: the event that ended the gap */
    int64_t begin_ns, end_ns; /* of the piece; never empty */
    int64_t gap_begin_ns, gap_end_ns;
    enum gp_idle_cause cause;
    /* index into view->hs.nodes: the innermost host event that was open, or that launched the GPU event;
     * GP_HOST_NONE: none is known */
    uint32_t node;
};

typedef void gp_idle_fn(void *ctx, const struct gp_idle_piece *piece);

/* Call FN with every piece. Times from damaged input are bounded as in host_stack.h. O(n log n). */
void gp_idle_walk(const struct gp_view *v, gp_idle_fn *fn, void *ctx);

/* What a call does to the thread that is in it, by its name: GP_IDLE_SYNC, GP_IDLE_ALLOCATION, or
 * GP_IDLE_HOST for all others. */
enum gp_idle_cause gp_idle_call_cause(const char *name);
/* Does a host event of that table and name load data? */
bool gp_idle_loads_data(enum gp_table table, const char *name, size_t n);

#endif
