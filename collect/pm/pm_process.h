/* pm_process.h -- samples of the counters of all GPUs beside a recording: starts the process that takes them
 * (pm_child.c), and writes down its samples. Prints nothing.
 *
 *     struct gp_pm *pm = gp_pm_start(&opts);                         // before there is a thread
 *     bool samples = gp_pm_await(pm, &writer_opts, &why);            // before the command starts
 *     gp_pm_turn(pm, now_ns);                                        // at gp_pm_due()
 *     gp_pm_end(pm);
 *     use(gp_pm_samples(pm));
 *     gp_pm_free(pm);
 */
#ifndef GP_COLLECT_PM_PROCESS_H
#define GP_COLLECT_PM_PROCESS_H

#include <stdint.h>
#include "collect/pm/pm_writer.h"
#include "formats/base/declare.h"

/* ---- the child ----
 * The process that samples the counters of all GPUs: its options, and the frames that it
 * writes into a pipe. It is forked by the launcher, which must not use CUDA itself, and ends when the
 * launcher closes its pipe or is gone.
 *
 *     if (!fork()) gp_pm_child_run(&opts, pipe_out, control_in);     // does not return
 */

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

/* ---- the launcher ---- */

struct gp_pm;

/* Start the process. It is a fork that goes on in this program: a thread that held a lock meanwhile would
 * never give it back there. NULL: it cannot be started. */
struct gp_pm *gp_pm_start(const struct gp_pm_opts *opts);
/* Wait until it samples. False if nothing can be sampled: PM is only to be freed. Either way WHY gets a line
 * for each GPU that is not. PM may be NULL. */
bool gp_pm_await(struct gp_pm *pm, const struct gp_pm_writer_opts *to, struct gp_buf *why);
/* When to call gp_pm_turn(); 0 if PM is NULL. */
int64_t gp_pm_due(const struct gp_pm *pm);
/* Write down new frames, if it is time to. PM may be NULL. */
void gp_pm_turn(struct gp_pm *pm, int64_t now_ns);
/* End the process, and write down the rest. PM may be NULL. */
void gp_pm_end(struct gp_pm *pm);
uint64_t gp_pm_samples(const struct gp_pm *pm);
/* What the process had to say since the start; "" nothing. */
const char *gp_pm_said(struct gp_pm *pm);
/* Ends the process if that has not been done. PM may be NULL. */
void gp_pm_free(struct gp_pm *pm);

#endif
