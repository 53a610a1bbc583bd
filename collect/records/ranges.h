/* ranges.h -- turns the NVTX notes of all threads into rows: push/pop and start/end ranges into GP_RANGE,
 * marks into GP_MARK, on the track of the thread that began them. Ranges that are still open at the end are
 * closed there and marked as such. Names carry their domain unless it is the default one; a range gets the
 * args of the note that began it and of the one that ended it. One caller at a time. Ranges that are
 * operators of PyTorch (see formats/model/nvtx_op.h) become GP_OP, with the shapes of their inputs.
 *
 *     gp_ranges_note(&ranges, tid, note);       // for every note, each thread's in order
 *     gp_ranges_close(&ranges, now_ns);         // at the end
 *
 * Nodes of CUDA graphs are noted among the ranges: the ranges that are pushed and not popped at that point,
 * on the capturing thread, become the node_runs of the trace. (Not start/end ranges: another thread may end
 * them, at an unknown time.) A graph runs clones of those nodes, or clones of clones.
 */
#ifndef GP_COLLECT_RECORDS_RANGES_H
#define GP_COLLECT_RECORDS_RANGES_H

#include <stdint.h>
#include "collect/records/records.h"
#include "collect/wire/ring.h"
#include "formats/model/nodes.h"

struct gp_open_range {
    const char *domain;
    int64_t start_ns;
    uint64_t id;
    gp_sid name;
    gp_sid args; /* inside of a JSON object, 0: none */
    uint32_t track;
    uint32_t stack; /* where it was pushed, 0 unknown */
    bool is_op;     /* an operator of PyTorch: a row of GP_OP */
    uint64_t seq;   /* its sequence number, GP_NO_ID: none */
};

struct gp_range_thread {
    uint32_t track;
    gp_sid path; /* names of the open ranges, as in a gp_node_run */
    bool path_known;
    uint64_t created; /* a node that may be reported as a clone next; 0: none */
    gp_sid created_in;
    uint32_t created_at; /* its stack, 0 unknown */
    GP_VEC(struct gp_open_range) open;
};

struct gp_early_stop {
    uint64_t id;
    int64_t end_ns;
    gp_sid args;
};

/* Zero it, then set records. */
struct gp_ranges {
    struct gp_records *records; /* borrowed: its trace gets the rows */
    struct gp_map threads;      /* tid -> index of the thread */
    GP_VEC(struct gp_range_thread) list;
    GP_VEC(struct gp_open_range) started; /* start/end ranges that have not ended */
    GP_VEC(struct gp_early_stop) stopped; /* ends that came before their start, from another thread's ring */
    uint64_t unmatched;                   /* pops without a push */
    struct gp_nodes nodes;
    /* Clip a range to the recorded time; false: none of it was recorded. NULL: ranges are kept as they
     * are. */
    bool (*clip)(void *ctx, int64_t *start_ns, int64_t *end_ns);
    void *ctx;
};

void gp_ranges_note(struct gp_ranges *g, int64_t tid, const struct gp_note *note);
void gp_ranges_close(struct gp_ranges *g, int64_t end_ns);
void gp_ranges_release(struct gp_ranges *g);

#endif
