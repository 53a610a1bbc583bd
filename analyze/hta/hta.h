/* hta.h -- holistic trace analysis: the answer of trace-hta as plain structs, built up trace by trace and
 * mergeable. Knows nothing about files, text or pictures. All times are integer ns, all sizes bytes. Comments
 * here define each figure; analyze/hta/README.md has the formulas.
 *
 *     struct gp_hta h;
 *     gp_hta_init(&h, &opts);
 *     gp_hta_add_trace(&h, &trace);        // once per rank; the trace may be freed afterwards
 *     gp_hta_finish(&h);                   // what needs all ranks: matching, stragglers, findings, order
 *     ... h.devices.at[0].busy_ns ...; gp_hta_release(&h);
 *
 * Each part has its own module, which fills the part from a gp_view and merges two of them: breakdown.c
 * (devices, streams), idle.c (causes), kernel_stats.c (kernels, operators, ranges), launches.c, graphs.c,
 * steps.c, collectives.c, copies.c (copies, memory), critical_path.c, findings.c. hta.c only calls them in
 * order. */
#ifndef GP_ANALYZE_HTA_H
#define GP_ANALYZE_HTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/classify.h"
#include "analyze/hta/breakdown.h"
#include "analyze/math/dist.h"
#include "analyze/math/sums.h"
#include "analyze/view/idle_cause.h"
#include "analyze/view/quality.h"
#include "analyze/view/repair.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"
#include "formats/trace.h"

/* ---- options ---- */

/* A zeroed struct is the default. */
struct gp_hta_opts {
    enum gp_repair repair;            /* trace-hta's default is GP_REPAIR_NONE: report, change nothing */
    const struct gp_classes *classes; /* the user's; NULL: built in. Borrowed. */
    /* POSIX extended regular expression for ranges that are steps; NULL: find them */
    const char *step_marker;
    bool per_step; /* figures of every step, not only their spread */
    int threads;   /* for adding a trace; 0 and 1: only the caller's; does not change the result */
};

/* ---- 1. where the time of a device went (breakdown.c) ---- */

struct gp_hta_stream {
    int64_t stream; /* number, -1 unknown */
    gp_sid name;
    struct gp_breakdown b; /* of this stream only */
};

/* ---- 2. why a device was idle (idle.c) ---- */

/* What the host was doing while a device was idle: the innermost named frame of each kind. */
struct gp_idle_culprit {
    uint32_t cause;                /* enum gp_idle_cause */
    gp_sid range, python, op, api; /* labels as in flame graphs; 0: none was open */
    int64_t idle_ns, longest_ns;
    uint64_t gaps;
    int64_t longest_at_ns; /* where the longest begins, on the clock of the trace */
};

struct gp_hta_device {
    int32_t rank;
    uint32_t producer;
    int64_t device;
    uint32_t input; /* index into inputs */
    gp_sid name;    /* "NVIDIA H200" */
    int32_t sms;    /* 0 unknown */
    struct gp_breakdown b;
    GP_VEC(struct gp_hta_stream) streams;
    int64_t idle_cause_ns[GP_IDLE_CAUSE_COUNT];   /* sums to b.idle_ns */
    struct gp_dist gaps;                          /* lengths of the idle gaps */
    GP_VEC(struct gp_idle_culprit) culprits;      /* most idle time first; the 100 largest */
    int64_t culprit_rest_ns[GP_IDLE_CAUSE_COUNT]; /* idle time that no culprit in the list has */
    /* Figures equivalent to PyTorch's tb_plugin (kernel_stats.c). Sums over kernels weighted by their time;
     * *_known_ns is the kernel time for which the figure is known, the denominator. */
    int64_t tensor_core_ns,
        gemm_ns;         /* kernels that use Tensor Cores by name; those and the ones that could */
    int64_t kernel_ns;   /* sum of kernel durations without copies and sets */
    double occupancy_ns; /* sum of estimated occupancy (0..1) x duration */
    int64_t occupancy_known_ns;
    double sm_ns;        /* estimated SM efficiency: integral over busy time of min(1, blocks/SM) */
    int64_t sm_known_ns; /* kernel time with a known number of blocks; 0: sm_ns is meaningless */
};

/* Is the number of blocks known for 90% of the device's kernel time? If not, sm_ns is meaningless. */
static inline bool gp_sm_known(const struct gp_hta_device *d)
{
    return d->sm_known_ns > 0 && d->sm_known_ns >= d->kernel_ns - d->kernel_ns / 10;
}

/* ---- 3. kernels and what launched them (kernel_stats.c) ---- */

struct gp_kernel_stat {
    gp_sid name;   /* full name as recorded; of our collector's traces demangled */
    uint32_t kind; /* enum gp_frame_kind; its class is gp_class_of() */
    struct gp_dist dur;
    int32_t tensor_core;           /* 1: uses them, 0: does not, -1: neither name nor kind shows it */
    int64_t bytes;                 /* copies and sets */
    double occupancy_ns, waves_ns; /* x duration; waves: blocks / (SMs x blocks that fit an SM) */
    int64_t occupancy_known_ns;
    uint64_t grid_blocks_min, grid_blocks_max;
};

/* GPU time by what launched it: operators, ranges, modules (innermost of its sort). */
enum gp_owner_sort { GP_OWNER_OP, GP_OWNER_RANGE, GP_OWNER_MODULE, GP_OWNER_SORTS };
struct gp_owner_stat {
    uint32_t sort;  /* enum gp_owner_sort */
    gp_sid name;    /* label; 0: launched outside any */
    uint64_t calls; /* host events of that label that launched something */
    uint64_t gpu_events;
    int64_t gpu_ns;       /* sums over the owners of one sort to the trace's GPU time */
    int64_t host_ns;      /* summed duration of those host events */
    struct gp_dist delay; /* from the end of the launch call to the start of the GPU event, if not negative */
};

/* ---- 4. launches (launches.c) and graphs (graphs.c) ---- */

struct gp_api_stat {
    gp_sid name;
    struct gp_dist dur;
    uint64_t launches; /* GPU events they started */
    uint64_t outliers; /* longer than 50 us and than 10 times the median of that call */
};

struct gp_hta_launches {
    uint64_t gpu_events;                /* all */
    uint64_t linked;                    /* with a launch record */
    uint64_t calls;                     /* launching calls; a graph launch is one */
    uint64_t graph_calls, graph_events; /* graph launches and the GPU events they started */
    struct gp_dist delay; /* max(0, GPU start - call end), per GPU event started by itself (not by a graph) */
    struct gp_dist api_dur; /* of launching calls */
    uint64_t short_kernels; /* kernels shorter than the call that launched them */
    int64_t short_kernel_ns;
    uint64_t before_launch; /* GPU events that start before their launch call does */
    int64_t worst_before_ns;
    uint64_t max_queue; /* most GPU events launched and not started, on one stream */
    int64_t
        /* time with 1024 or more queued on a stream: union over a device's streams, summed over devices */
        queue_full_ns;
    struct gp_dist queue_len; /* queue length seen by each launch on its stream */
};

struct gp_graph_stat {
    int32_t rank;
    uint64_t graph; /* id; GP_NO_ID: graph launches without ids */
    gp_sid api;     /* name of the call that launched it; 0: no launch record */
    uint64_t launches;
    uint64_t gpu_events; /* over all launches */
    uint64_t nodes;      /* distinct node ids, or, without ids, events of the fullest launch */
    struct gp_dist span; /* first GPU start to last GPU end of one launch */
    struct gp_dist busy; /* sum of durations of one launch */
    uint64_t worst_node; /* the node whose duration varies most between launches; GP_NO_ID unknown */
    gp_sid worst_node_name;
    int64_t worst_node_min_ns, worst_node_max_ns;
};

/* ---- 5. steps (steps.c) ---- */

/* One step on one device. A GPU event belongs to the step in which it was LAUNCHED. The GPU window of a step
 * runs from its first GPU event to the next step's first (for the last step: to the end of its last GPU
 * event). */
struct gp_hta_step {
    int32_t rank;
    uint32_t producer;
    int64_t device;
    gp_sid name;     /* "ProfilerStep#12"; "period 3" */
    uint32_t source; /* enum gp_step_source */
    /* cut by the edge of the trace: first or last step of a periodic trace, or the last marker */
    bool partial;
    int64_t host_begin_ns, host_end_ns; /* the marker's range, or first launch to last launch */
    int64_t begin_ns, end_ns;           /* GPU window */
    struct gp_breakdown b; /* inside the GPU window; span_ns = end - begin: idle counts at both ends */
    uint64_t launches;
};

/* ---- 6. communication (collectives.c) ---- */

struct gp_collective {
    int32_t rank;
    int64_t device, stream;
    /* "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv", ...; where one
     * kernel served several kinds, these with a + between them */
    gp_sid op;
    gp_sid group;               /* process group name; 0 unknown */
    gp_sid ranks;               /* of the group, as recorded: "[0, 1]"; 0 unknown */
    gp_sid kernel;              /* full kernel name */
    gp_sid dtype;               /* as recorded; 0 unknown */
    uint64_t seq;               /* sequence number in its group as recorded, GP_NO_ID: none */
    uint32_t order;             /* its place among the rank's collectives of that group */
    uint32_t group_size;        /* 0 unknown */
    uint32_t calls;             /* NCCL calls that the kernel served: several in a group; 0 unknown */
    int32_t src_rank, dst_rank; /* of a send or a receive, where recorded; -1 unknown */
    int64_t bytes;              /* the full message: what algorithm bandwidth is computed on; -1 unknown */
    int64_t start_ns, end_ns;
};

/* The same collective seen by several ranks. */
struct gp_collective_match {
    gp_sid op, group, dtype;
    uint64_t seq; /* recorded, or the order */
    bool by_seq;
    uint32_t ranks; /* that have it */
    int64_t bytes;
    int64_t start_skew_ns; /* last start - first start, after the clock offsets */
    int64_t end_skew_ns;
    int64_t duration_ns; /* shortest duration over the ranks: the time the transfer itself took */
    int64_t wait_ns;     /* sum over ranks of (last start - own start), each at most the own duration */
    int32_t last_rank;   /* who came last */
    double algbw_gbps, busbw_gbps; /* 10^9 bytes per second, of duration_ns; 0 unknown */
};

/* By operation, group, type and size class. */
struct gp_collective_stat {
    gp_sid op, group, dtype;
    uint32_t group_size;
    uint64_t count;
    uint64_t calls; /* of NCCL that they served, where known */
    int64_t bytes;  /* in all, where known */
    struct gp_dist dur;
    struct gp_dist skew;           /* start skew, matched ones */
    double algbw_gbps, busbw_gbps; /* of the median-duration one; 0 unknown */
};

struct gp_rank_offset {
    int32_t rank;
    int64_t offset_ns; /* to be added to this rank's clock to match the lowest rank's */
    int64_t error_ns;  /* median absolute deviation */
    uint32_t pairs;    /* collectives it was estimated from; 0: not estimated, offset 0 */
};

struct gp_straggler {
    int32_t rank;
    uint64_t matched; /* collectives it took part in */
    uint64_t times_last;
    int64_t lateness_ns;    /* sum over them of (own start - median start) where positive */
    int64_t caused_wait_ns; /* waiting of the others in those where it was last */
};

/* ---- 7. copies and memory (copies.c) ---- */

struct gp_copy_stat {
    gp_sid name; /* "Memcpy HtoD (Pinned -> Device)" */
    uint64_t count;
    int64_t bytes;
    int64_t dur_ns; /* sum; bandwidth = bytes / dur_ns, 10^9 bytes per second */
    struct gp_dist size;
    bool pageable;
    uint64_t sync_calls; /* started by a call that blocks the host */
};

struct gp_memory_stat {
    int32_t rank;
    int64_t device; /* -1: host */
    uint64_t allocations, frees;
    int64_t allocated_bytes;        /* in all */
    int64_t peak_bytes, peak_at_ns; /* of the allocator's total if recorded, otherwise of the running sum */
    int64_t peak_reserved_bytes;
    gp_sid peak_op; /* what was running at the peak: label of the innermost operator */
};

/* Memory allocated, freed and copied while a range is the innermost on its thread (range_memory.c); each row,
 * and each copy by the call that started it, counts for one range. */
struct gp_range_memory {
    gp_sid name;                 /* label; 0: outside any range */
    uint64_t allocations, frees; /* of device memory, like the next three */
    int64_t allocated_bytes, freed_bytes;
    int64_t
        /* most memory allocated by the process, on all devices, after an allocation in the range */
        peak_bytes;
    uint64_t host_allocations;
    int64_t host_bytes;
    uint64_t copies;
    int64_t copied_bytes;
};

/* ---- 8. the critical path (critical_path.c) ---- */

/* X(enum, JSON name, text for people): what bounds a piece of the path. */
#define GP_PATH_BOUNDS(X)                                                                                    \
    X(GP_PATH_HOST, "host", "host code")                                                                     \
    X(GP_PATH_LAUNCH, "launch", "launch latency")                                                            \
    X(GP_PATH_COMPUTE, "compute", "computing kernels")                                                       \
    X(GP_PATH_COMMUNICATION, "communication", "communication kernels")                                       \
    X(GP_PATH_MEMORY, "memory", "copies and sets")                                                           \
    X(GP_PATH_KERNEL_GAP, "kernel_gap", "gaps between queued kernels")                                       \
    X(GP_PATH_SYNC, "sync", "waiting for a synchronisation to end")

enum gp_path_bound {
#define X(id, name, text) id,
    GP_PATH_BOUNDS(X)
#undef X
        GP_PATH_BOUND_COUNT
};
const char *gp_path_bound_name(enum gp_path_bound b);
const char *gp_path_bound_text(enum gp_path_bound b);

/* One piece of the path; pieces follow each other without gap or overlap. */
struct gp_path_piece {
    int64_t begin_ns, end_ns;
    uint32_t bound; /* enum gp_path_bound */
    gp_sid name;    /* label of the event that contains it */
    gp_sid full;    /* full name, 0: the same */
    int64_t stream; /* GPU pieces; -1 for host pieces */
    int64_t tid;    /* host pieces */
};

struct gp_hta_path {
    int32_t rank;
    uint32_t producer;
    gp_sid window; /* name of the step; 0: the whole trace */
    int64_t begin_ns, end_ns;
    int64_t bound_ns[GP_PATH_BOUND_COUNT]; /* sums to end - begin */
    GP_VEC(struct gp_path_piece) pieces;
};

/* ---- 9. findings (findings.c) ---- */

struct gp_finding {
    gp_sid id;        /* stable word: "idle_host", "exposed_communication", "short_kernels", ... */
    int32_t rank;     /* -1: all */
    int64_t time_ns;  /* what it concerns; never more than could be won */
    double share_pct; /* of the span of the devices concerned */
    gp_sid text;      /* one sentence with the numbers */
    gp_sid where;     /* where to look: op, range, Python frame, kernel; 0: none */
};

/* ---- all of it ---- */

struct gp_hta {
    struct gp_hta_opts opts;
    struct gp_strings strings; /* all sids above */
    GP_VEC(struct gp_input_quality) inputs;
    GP_VEC(struct gp_hta_device) devices;  /* by (rank, producer, device) after finish */
    GP_VEC(struct gp_kernel_stat) kernels; /* by total, then name, after finish */
    GP_VEC(struct gp_owner_stat) owners;   /* by sort, then total */
    GP_VEC(struct gp_api_stat) api;        /* by total */
    struct gp_hta_launches launches;
    GP_VEC(struct gp_graph_stat) graphs;
    GP_VEC(struct gp_hta_step) steps;         /* by (rank, producer, device, begin) */
    GP_VEC(struct gp_collective) collectives; /* of every rank; by (rank, start) after finish */
    GP_VEC(struct gp_collective_match) matches;
    GP_VEC(struct gp_collective_stat) collective_stats;
    GP_VEC(struct gp_rank_offset) offsets;
    GP_VEC(struct gp_straggler) stragglers;                 /* worst first */
    uint64_t unmatched_collectives, mismatched_collectives; /* on one rank only; contradicting order */
    GP_VEC(struct gp_copy_stat) copies;
    GP_VEC(struct gp_memory_stat) memory;
    GP_VEC(struct gp_range_memory) range_memory; /* by bytes allocated and copied, then name */
    GP_VEC(struct gp_hta_path) paths;            /* one per rank: the median step, or the whole trace */
    GP_VEC(struct gp_finding) findings;          /* largest first */
    GP_VEC(int32_t) missing_ranks, repeated_ranks;
    int32_t world_size;       /* -1 unknown */
    struct gp_hta_maps *maps; /* private: where equal names are found while adding */
};

/* OPTS is copied; may be NULL. */
void gp_hta_init(struct gp_hta *h, const struct gp_hta_opts *opts);
/* The tables that gp_hta_add_trace looks at. */
#define GP_HTA_NEED GP_VIEW_NEED

/* Add everything from a finished trace T. With opts.repair, T's GPU events are first repaired and sorted
 * again. Returns -1 if the step marker is not a valid regular expression. */
GP_MUST_CHECK int gp_hta_add_trace(struct gp_hta *h, struct gp_trace *t, struct gp_err *err);
/* The same, and overwrites V with the view of T that was used; the caller releases it, also on failure. */
GP_MUST_CHECK int gp_hta_add_viewed(struct gp_hta *h, struct gp_trace *t, struct gp_view *v,
                                    struct gp_err *err);
/* Append everything from FROM, which is also unfinished, to TO; FROM is then empty. Adding traces to two
 * results and merging them in order gives the same as adding them to one. */
void gp_hta_merge(struct gp_hta *to, struct gp_hta *from);
/* Compute what needs all ranks, and sort everything. Call it once, last. */
void gp_hta_finish(struct gp_hta *h);
void gp_hta_release(struct gp_hta *h);

/* Save everything added so far, before finish, as bytes; and load it. Load fails on damaged bytes and on
 * other versions. */
void gp_hta_save(struct gp_hta *h, struct gp_buf *to);
GP_MUST_CHECK int gp_hta_load(struct gp_hta *h, const void *data, size_t n, struct gp_err *err);

/* Do its devices, two or more, all have the same number and rank in several processes? They may or may not be
 * one GPU. */
bool gp_hta_only_processes(const struct gp_hta *h);

static inline const char *gp_hta_str(const struct gp_hta *h, gp_sid sid)
{
    return gp_string(&h->strings, sid);
}

#endif
