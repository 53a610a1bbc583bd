/* pm_device.h -- counters of one GPU, sampled at equal distances whatever runs on it. Lives in a process that
 * has initialized CUDA and records nothing else with CUPTI.
 *
 *     struct gp_pm_device d;
 *     if (gp_pm_device_open(&d, &perfworks, &calls, 0, "", 100000, &err)) ...
 *     gp_pm_device_take(&d, on_sample, ctx);        // now and then, before the buffer is full
 *     gp_pm_device_stop(&d);
 *     gp_pm_device_take(&d, on_sample, ctx);
 *     gp_pm_device_close(&d);
 */
#ifndef GP_COLLECT_PM_DEVICE_H
#define GP_COLLECT_PM_DEVICE_H

#include "collect/counters/measure_plan.h"
#include "collect/counters/perfworks.h"

struct gp_pm_device {
    struct gp_perfworks *api;
    struct gp_pm_calls *calls;
    struct gp_measure_plan plan;
    size_t index; /* of CUDA */
    char chip[16];
    int64_t period_ns;
    void *object;
    uint8_t *data;
    size_t data_bytes;
    bool begun;    /* the first sample was there, which lasts since the start */
    uint64_t lost; /* times that the buffer of the hardware was full */
};

/* VALUES are in the order of the plan's names, NAN where there is none; times are on the clock that was given
 * to CUPTI. */
typedef void gp_pm_take(void *ctx, int64_t start_ns, int64_t end_ns, const double *values);

enum { GP_PM_ENDED = -1 }; /* beside the results of CUPTI: after a loss, sampling could not begin again */

/* TEXT: the metrics, as gp_sampled_names_parse() takes it. -1 with ERR: refused, and nothing to close. */
GP_MUST_CHECK int gp_pm_device_open(struct gp_pm_device *d, struct gp_perfworks *api,
                                    struct gp_pm_calls *calls, size_t index, const char *text,
                                    int64_t period_ns, struct gp_err *err);
/* Hand out the samples since the last time. Returns a result of CUPTI, 0: success. */
int gp_pm_device_take(struct gp_pm_device *d, gp_pm_take *take, void *ctx);
/* No more samples; those until now can still be taken. */
void gp_pm_device_stop(struct gp_pm_device *d);
void gp_pm_device_close(struct gp_pm_device *d);

#endif
