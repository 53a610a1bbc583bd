/* pm_child.h -- the process that samples the counters of all GPUs: what it is asked, and the frames that it
 * writes into a pipe. It is forked by the launcher, which must not use CUDA itself, and ends when the
 * launcher closes its pipe or is gone.
 *
 *     if (!fork()) gp_pm_child_run(&opts, pipe_out, control_in);     // does not return
 */
#ifndef GP_COLLECT_PM_CHILD_H
#define GP_COLLECT_PM_CHILD_H

#include <stdint.h>

struct gp_pm_opts {
    int64_t period_ns;
    const char *metrics;  /* as --sample-metrics has it, "": the default */
    const char *libcupti; /* NULL: where a toolkit has it */
};

/* A frame is this and N bytes of: */
enum gp_pm_kind {
    GP_PM_DEVICE,  /* struct gp_measured_metric, one per value of the samples of this device */
    GP_PM_READY,   /* nothing: all devices are there, and sampling has begun */
    GP_PM_SAMPLES, /* for each sample: start and end (int64_t), and the values (double) */
    GP_PM_LOST,    /* uint64_t: how often samples of this device were lost */
    GP_PM_SAY,     /* text: why a device is not sampled */
};
struct gp_pm_frame {
    uint32_t kind, device, n, reserved;
};
enum { GP_PM_DEVICES = 16, GP_PM_FRAME_MOST = 1 << 20 };

_Noreturn void gp_pm_child_run(const struct gp_pm_opts *o, int out, int control);

#endif
