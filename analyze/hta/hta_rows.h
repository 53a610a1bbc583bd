/* hta_rows.h -- the rows of all sections of an answer.
 *
 *     for (size_t i = 0; i < h->kernels.n; i++) sum_ns += h->kernels.at[i].total_ns;
 */
#ifndef GP_ANALYZE_HTA_ROWS_H
#define GP_ANALYZE_HTA_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/hta/breakdown.h"
#include "analyze/hta/collectives.h"
#include "analyze/hta/critical_path.h"
#include "analyze/math/histogram.h"
#include "analyze/names/dtype.h"
#include "analyze/result/field.h"
#include "analyze/view/gauges.h"
#include "analyze/view/recorder.h"
#include "analyze/view/idle_cause.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

struct gp_hta;

/* ---- findings ---- */

/* What to look at first, in words. */
struct gp_finding {
    gp_sid id;                /* stable word: "idle_host", "exposed_communication", "short_kernels", ... */
    int32_t rank;             /* -1: all */
    int64_t time_ns;          /* time concerned; never more than the possible saving */
    double share_pct;         /* of the span of the devices concerned */
    gp_sid text;              /* one sentence with the numbers */
    gp_sid where;             /* where to look: op, range, Python frame, kernel; 0: none */
    gp_sid part_of;           /* id of the finding before it that explains this time, too; 0: none */
    gp_sid brief;             /* of a part: without what the other one says; 0: text */
    int64_t begin_ns, end_ns; /* where it is seen; equal: nowhere */
    uint32_t about;           /* findings.c's: parts of the devices' time, a bit each */
    bool longer;              /* of a part: it took more than what it explains */
};

extern const struct gp_record gp_hta_findings; /* rows: struct gp_finding; of: struct gp_hta */
/* F, which is part of another one, as people read it below that: "of which: launch latency." */
void gp_finding_put_part(struct gp_buf *b, const struct gp_hta *h, const struct gp_finding *f);

/* ---- graphs ---- */

/* Launches of CUDA graphs. */
struct gp_graph_stat {
    int32_t rank;
    uint64_t graph; /* id; GP_NO_ID: graph launches without ids */
    gp_sid api;     /* name of the call that launched it; 0: no launch record */
    uint64_t launches;
    uint64_t gpu_events;      /* over all launches */
    uint64_t nodes;           /* distinct node ids, or, without ids, events of the fullest launch */
    struct gp_histogram span; /* first GPU start to last GPU end of one launch */
    struct gp_histogram busy; /* sum of durations of one launch */
    uint64_t worst_node;      /* the node whose duration varies most between launches; GP_NO_ID unknown */
    gp_sid worst_node_name;
    int64_t worst_node_min_ns, worst_node_max_ns;
};

extern const struct gp_record gp_hta_graphs; /* rows: struct gp_graph_stat */

/* ---- memory of ranges ---- */

/* Memory allocated, freed and copied while a range is the innermost on its thread (range_memory.c); each row,
 * and each copy by the call that started it, counts for one range. */
struct gp_range_memory {
    gp_sid name;                 /* label; 0: outside any range */
    uint64_t allocations, frees; /* of device memory, like the next three */
    int64_t allocated_bytes, freed_bytes;
    /* most memory allocated by the process, on all devices, after an allocation in the range */
    int64_t peak_bytes;
    uint64_t host_allocations;
    int64_t host_bytes;
    uint64_t copies;
    int64_t copied_bytes;
};

extern const struct gp_record gp_hta_range_memory; /* rows: struct gp_range_memory */

/* ---- sampled ---- */

/* Means of hardware counters sampled while recording (gpuprof-collect --sample-metrics), over a device's
 * time, over its steps, and over the kernels of each range. */
enum gp_sampled_over {
    GP_SAMPLED_WHOLE, /* from the device's first GPU event to the end of its last */
    GP_SAMPLED_STEPS, /* the GPU windows of its whole steps, without the warm-up */
    GP_SAMPLED_RANGE, /* the kernels, copies and sets whose launch calls have this range as their innermost */
};
enum { GP_SAMPLED_RANGES = 30 }; /* of a device: those with the most GPU time */
struct gp_sampled {
    int32_t rank;
    int64_t device;
    uint32_t over;       /* enum gp_sampled_over */
    gp_sid name;         /* of the range; 0: it has none, or OVER is not a range */
    gp_sid metric, unit; /* in PerfWorks, with rollup; "%", "byte/second" */
    int64_t ns;          /* that the mean is over: where there are samples */
    double mean;
};

extern const struct gp_record gp_hta_sampled; /* rows: struct gp_sampled */

/* ---- operators by shape ---- */

/* Operators by the shapes of their inputs: the work, and how near it comes to the ceilings of the device.
 * Formulas: analyze/cost/README.md, "Work". */
struct gp_op_shape {
    gp_sid name;                   /* label of the operator; 0: launched outside any */
    gp_sid shapes;                 /* "bf16[4096,1024] [1024,4096]"; 0: not recorded */
    uint64_t calls;                /* that launched something */
    uint64_t gpu_events;           /* that they launched, not those of operators within */
    int64_t gpu_ns;                /* sums over all rows to the trace's GPU time */
    int64_t known_ns;              /* of it in kernels of calls whose work is known */
    int64_t flops;                 /* of these calls; saturates, as bytes do */
    int64_t bytes_low, bytes_high; /* that must be moved; that are moved if caches keep nothing */
    int64_t ceiling_ns;            /* of these calls at the nearer ceiling of the device */
    int64_t ceiling_known_ns;      /* of known_ns where a ceiling is known */
    uint32_t arith;                /* enum gp_arith; GP_ARITH_NONE: no arithmetic, or of an unknown type */
};

struct gp_row_of gp_hta_op_shapes_of(const struct gp_hta *h);
extern const struct gp_record gp_hta_op_shapes; /* rows: struct gp_op_shape */

/* ---- copies ---- */

/* Copies and sets by name, and the memory of each device. */
struct gp_copy_stat {
    gp_sid name; /* "Memcpy HtoD (Pinned -> Device)" */
    uint64_t count;
    int64_t bytes;
    int64_t dur_ns; /* sum; bandwidth = bytes / dur_ns, 10^9 bytes per second */
    struct gp_histogram size;
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
    gp_sid peak_op; /* at the peak: label of the innermost operator */
};

extern const struct gp_record gp_hta_copies; /* rows: struct gp_copy_stat */
extern const struct gp_record gp_hta_memory; /* rows: struct gp_memory_stat */

/* ---- kernels ---- */

/* Kernels, and the operators, ranges and modules that launched them. */
struct gp_kernel_stat {
    gp_sid name;   /* full name as recorded; of our collector's traces demangled */
    uint32_t kind; /* enum gp_frame_kind; its class is gp_class_of() */
    struct gp_histogram dur;
    int32_t tensor_core;            /* 1: uses them, 0: does not, -1: neither name nor kind shows it */
    int64_t bytes;                  /* copies and sets */
    int64_t occupancy_ns, waves_ns; /* x duration; waves: blocks / (SMs x blocks that fit an SM) */
    int64_t occupancy_known_ns;
    uint64_t blocks_min, blocks_max; /* of a grid; 0 unknown */
};

extern const struct gp_record gp_hta_kernels; /* rows: struct gp_kernel_stat */
struct gp_row_of gp_hta_kernels_of(const struct gp_hta *h);

/* GPU time by launcher: operators, ranges, modules (innermost of its sort), and functions (all around it). */
enum gp_owner_sort { GP_OWNER_OP, GP_OWNER_RANGE, GP_OWNER_MODULE, GP_OWNER_FUNCTION, GP_OWNER_SORTS };
struct gp_owner_stat {
    uint32_t sort;  /* enum gp_owner_sort */
    gp_sid name;    /* label; 0: launched outside any */
    uint64_t calls; /* host events of that label that launched something */
    uint64_t gpu_events;
    int64_t gpu_ns;  /* sums over the owners of one sort to the trace's GPU time, but for functions */
    int64_t self_ns; /* GP_OWNER_FUNCTION: of it, where no other function is further in */
    int64_t host_ns; /* summed duration of those host events */
    /* from the end of the launch call to the start of the GPU event, if not negative */
    struct gp_histogram delay;
};

/* By sort; equal but for their names. A slice of h->owners after finish. */
extern const struct gp_record gp_hta_owners[GP_OWNER_SORTS]; /* rows: struct gp_owner_stat */
struct gp_owner_rows {
    const struct gp_owner_stat *at;
    size_t n, launched; /* all; those before the last one that launched something */
    bool named;         /* one of them has a name: something was recorded */
    int64_t gpu_ns;
};
struct gp_owner_rows gp_hta_owner_rows(const struct gp_hta *h, enum gp_owner_sort sort);

/* ---- devices ---- */

/* Where its time went, why it was idle, and how well kernels filled it. Filled by breakdown.c, idle.c and
 * kernel_stats.c. */

/* Which device a row is of. */
struct gp_hta_place {
    int32_t rank;
    uint32_t producer;
    int64_t device;
};
extern const struct gp_record gp_hta_places; /* one: struct gp_hta_place */
#define GP_PLACE(row, member)                                                                                \
    {                                                                                                        \
        .type = GP_CELL_PART, .at = offsetof(struct row, member), .rows = &gp_hta_places                     \
    }

struct gp_hta_stream {
    int64_t stream; /* number, -1 unknown */
    gp_sid name;
    struct gp_breakdown b; /* of this stream only */
};

/* What the host was doing while a device was idle: the innermost named frame of each kind. */
struct gp_idle_culprit {
    uint32_t cause;                /* enum gp_idle_cause */
    gp_sid range, python, op, api; /* labels as in flame graphs; 0: none was open */
    int64_t idle_ns, longest_ns;
    uint64_t gaps, samples; /* samples: of the thread's stack, in that time; 0: none were taken */
    int64_t longest_at_ns;  /* where the longest begins, on the clock of the trace */
    bool rest;              /* of a sum: idle time of this cause without a culprit; only idle_ns is known */
};

/* GPU time of one kernel on one device; only while a trace is added. */
struct gp_device_kernel {
    gp_sid name;
    uint64_t calls;
    int64_t ns;
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
    struct gp_histogram gaps;                     /* lengths of the idle gaps */
    GP_VEC(struct gp_idle_culprit) culprits;      /* most idle time first; the 100 largest */
    GP_VEC(struct gp_device_kernel) kernels;      /* computing ones, largest first; private to adding */
    int64_t culprit_rest_ns[GP_IDLE_CAUSE_COUNT]; /* idle time that no culprit in the list has */
    /* Figures equivalent to PyTorch's tb_plugin (kernel_stats.c). Sums over kernels weighted by their time;
     * *_known_ns is the kernel time for which the figure is known, the denominator. */
    int64_t tensor_core_ns; /* kernels that use Tensor Cores by name */
    int64_t gemm_ns;        /* those and the ones that could */
    int64_t kernel_ns;      /* sum of kernel durations without copies and sets */
    int64_t occupancy_ns;   /* sum of estimated occupancy (0..1) x duration */
    int64_t occupancy_known_ns;
    double sm_ns;        /* estimated SM efficiency: integral over busy time of min(1, blocks/SM) */
    int64_t sm_known_ns; /* kernel time with a known number of blocks; 0: sm_ns is meaningless */
};

extern const struct gp_record gp_hta_devices;  /* rows: struct gp_hta_device */
extern const struct gp_record gp_hta_streams;  /* rows: struct gp_hta_stream, in a device */
extern const struct gp_record gp_hta_culprits; /* rows: struct gp_idle_culprit, in a device */

static inline struct gp_hta_place gp_hta_place_of(const struct gp_hta_device *d)
{
    return (struct gp_hta_place){d->rank, d->producer, d->device};
}

/* Is the number of blocks known for 90% of the device's kernel time? If not, sm_ns is meaningless. */
static inline bool gp_sm_known(const struct gp_hta_device *d)
{
    return d->sm_known_ns > 0 && d->sm_known_ns >= d->kernel_ns - d->kernel_ns / 10;
}

/* ---- clocks and energy ---- */

/* What the driver reported of a device's GPU while it was recorded (gauge_stats.c). A GPU that several
 * processes use has a row for each of them, of all of it. */
struct gp_clock_stat {
    struct gp_hta_place at;
    uint32_t reason; /* index into the reasons of a clock, GP_CLOCK_REASON_COUNT: unknown */
    int64_t busy_ns; /* with a known clock */
    double mean_mhz, p10_mhz, p50_mhz, p90_mhz, boost_mhz; /* while busy; the highest */
    int64_t below_ns;                                      /* below the highest: the sum of */
    int64_t reason_ns[GP_CLOCK_REASON_COUNT + 1];
    double low_mhz, high_mhz; /* by REASON */
    int64_t slower_ns;        /* what work bound by the clock would have saved at the highest */
};
struct gp_energy_stat {
    struct gp_hta_place at;
    uint32_t over; /* 0: the device's time, 1: its steps */
    int64_t span_ns;
    double joules, error_j, mean_w, mean_error_w, idle_pct, joules_per_step, others_pct; /* NAN: not known */
    uint64_t steps;
};

extern const struct gp_record gp_hta_clocks; /* rows: struct gp_clock_stat */
extern const struct gp_record gp_hta_energy; /* rows: struct gp_energy_stat */

/* ---- steps ---- */

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
    bool warm_up;                       /* comes before the first steady step (view/steps.h) */
    int64_t host_begin_ns, host_end_ns; /* the marker's range, or first launch to last launch */
    int64_t begin_ns, end_ns;           /* GPU window */
    struct gp_breakdown b; /* inside the GPU window; span_ns = end - begin: idle counts at both ends */
    uint64_t launches;
};
static inline bool gp_hta_same_device(const struct gp_hta_step *a, const struct gp_hta_step *b)
{
    return a->rank == b->rank && a->producer == b->producer && a->device == b->device;
}

/* A part of a device's time: before its first step, its warm-up steps, its step window, after its last step.
 * The parts of a device follow each other without a gap, and their spans sum to the device's. */
enum gp_hta_part_kind { GP_PART_START_UP, GP_PART_WARM_UP, GP_PART_STEPS, GP_PART_AFTER };
const char *gp_hta_part_name(enum gp_hta_part_kind kind); /* "start_up", "warm_up", "steps", "after" */
struct gp_hta_part {
    int32_t rank;
    uint32_t producer;
    int64_t device;
    uint32_t kind;                  /* enum gp_hta_part_kind */
    uint64_t steps;                 /* in it */
    struct gp_breakdown b;          /* clipped to it */
    struct gp_recorder_added added; /* only of the steps */
};

extern const struct gp_record gp_hta_step_list; /* rows: struct gp_hta_step */
extern const struct gp_record gp_hta_parts;     /* rows: struct gp_hta_part; of: struct gp_hta */

#endif
