/* hta_device.h -- a device of trace-hta's answer: where its time went, why it was idle, and how well kernels
 * filled it. Filled by breakdown.c, idle.c and kernel_stats.c.
 *
 *     const struct gp_hta_device *d = &h.devices.at[0];
 *     use(d->b.busy_ns, d->idle_cause_ns[GP_IDLE_HOST]);          // of d->b.span_ns
 *     if (gp_sm_known(d)) use(d->sm_ns / (double)d->b.busy_ns);   // SM efficiency, 0..1
 */
#ifndef GP_ANALYZE_HTA_DEVICE_H
#define GP_ANALYZE_HTA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/hta/breakdown.h"
#include "analyze/math/histogram.h"
#include "analyze/view/idle_cause.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

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
    bool rest; /* of a sum: what the lists of culprits do not hold of this cause; only idle_ns is known */
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

#endif
