/* host_stack.h -- nests host events by time: ranges, Python frames, operators and runtime calls of each
 * thread. Knows nothing of names, GPUs or weights.
 *
 *     struct gp_host_stack hs;
 *     gp_host_stack_build(&hs, &trace);
 *     uint32_t node = gp_host_node(&hs, GP_API, row);            // then: for (; node != GP_HOST_NONE; ...)
 *     node = hs.nodes[node].parent;                              // ... the frames, innermost first
 *     gp_host_stack_release(&hs);
 *
 * Events of a thread are sorted by (start, longer first, outer table first, row). The parent of an event is
 * the innermost earlier event that has not ended. If the event ends after its parent by at most max(1 us, 2
 * ulp of a double holding microseconds), it stays a child, and for layout only its time ends with its
 * parent's, because profilers round. If it ends later than that, the two truly cross: it becomes a sibling,
 * the shared time counts for the event that began later, and it is counted in `overlapping`. Nothing is
 * ever left out. */
#ifndef GP_ANALYZE_HOST_STACK_H
#define GP_ANALYZE_HOST_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"
#include "formats/model/trace.h"

#define GP_HOST_NONE UINT32_MAX

struct gp_host_event {
    int64_t start_ns, end_ns; /* as laid out: clamped to the parent's end */
    /* index into nodes, always smaller than the own; GP_HOST_NONE: outermost. Of a thread of autograd the
     * outermost events have the innermost one of the thread that waits for them, which need not enclose
     * them in time */
    uint32_t parent;
    uint32_t table : 3; /* GP_RANGE, GP_PYTHON, GP_OP or GP_API */
    uint32_t row : 29;  /* in its table */
};

struct gp_host_stack {
    const struct gp_trace *t;
    struct gp_host_event *nodes; /* by track, then in the order described above */
    uint32_t n;
    /* by node: time in it and in nothing inside it; the sum over a thread is the time covered. NULL when
     * not asked for. */
    int64_t *self_ns;
    uint32_t *first, *end;  /* by track: its nodes; those of threads that another waits for come last */
    uint32_t *node_of_call; /* by row of GP_API: index into nodes, GP_HOST_NONE: not on a host thread */
    uint64_t overlapping, clamped;
    uint32_t *jump; /* private: by node, one of those around it, for ways up that are long; NULL: none is */
    bool joined;    /* an event has a parent on another thread */
};

/* Nest all host events of T, which must be finished and outlive HS. Rows on tracks that are not threads are
 * left out. O(n) for rows plus tracks: the tables are already sorted. */
void gp_host_stack_build(struct gp_host_stack *hs, const struct gp_trace *t);
/* The same, with self_ns. */
void gp_host_stack_build_self(struct gp_host_stack *hs, const struct gp_trace *t);
void gp_host_stack_release(struct gp_host_stack *hs);

/* The node of a row of a host table; GP_HOST_NONE if it has none. O(1) for GP_API, O(log n) for the
 * others. */
uint32_t gp_host_node(const struct gp_host_stack *hs, enum gp_table table, size_t row);
/* How far a child may end after its parent, which ends at END_NS, and still be one. */
int64_t gp_host_tolerance(int64_t end_ns);
/* The thread of a node: index into the trace's tracks. */
static inline uint32_t gp_host_track(const struct gp_host_stack *hs, uint32_t node)
{
    const struct gp_host_event *ev = &hs->nodes[node];
    return hs->t->events[ev->table].track[ev->row];
}
/* The innermost event of TRACK that covers AT_NS; GP_HOST_NONE if there is none. O(log n). */
uint32_t gp_host_at(const struct gp_host_stack *hs, uint32_t track, int64_t at_ns);
/* NODE, or else the innermost event around it on its thread, that ends at AT_NS or later; GP_HOST_NONE when
 * there is none. *ENDED, unless it is NULL, becomes the last event on the way there, whose end is the
 * latest of those before AT_NS; GP_HOST_NONE when NODE is it. O(log depth). */
uint32_t gp_host_ends_from(const struct gp_host_stack *hs, uint32_t node, int64_t at_ns, uint32_t *ended);

/* ---- memo ---- */

/* What follows for a host event from itself and those around it, worked out once for each: walking up from
 * every launch takes the square of their number where events are nested deeply.
 *
 * Memory is touched for the events that are asked about and those around them only. Not for several threads
 * at once. */

/* Zeroed but for HS, which is borrowed. */
struct gp_host_memo {
    const struct gp_host_stack *hs;
    uint32_t *known; /* by node: answer + 2, 0 not known yet */
    GP_VEC(uint32_t) chain;
};

/* The answer for NODE, where AROUND is that of its parent, GP_HOST_NONE for the outermost: any number less
 * than UINT32_MAX - 1, or GP_HOST_NONE. Depends on nothing else that changes. */
typedef uint32_t gp_host_answer(void *ctx, uint32_t node, uint32_t around);

/* GP_HOST_NONE for GP_HOST_NONE. Always with the same ANSWER. Amortised O(1): each event is answered once. */
uint32_t gp_host_memo_get(struct gp_host_memo *m, uint32_t node, gp_host_answer *answer, void *ctx);
/* An answer that serves many: the innermost event of a table, at NODE or around it. */
uint32_t gp_host_memo_innermost(struct gp_host_memo *m, uint32_t node, enum gp_table table);
void gp_host_memo_release(struct gp_host_memo *m);

#endif
