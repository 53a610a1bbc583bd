/* clock_sampler.h -- a thread that reads the gauges of all GPUs at regular times, and keeps the samples until
 * somebody takes them. Starts no process and touches none; of those that use a GPU it reads name and family
 * in /proc.
 *
 *     struct gp_clock_sampler *s = gp_clock_sampler_start(path);
 *     gp_clock_sampler_take(s, take, ctx);                // now and then
 *     gp_clock_sampler_stop(s);
 *     gp_clock_sampler_take(s, take, ctx);
 *     gp_clock_sampler_free(s);
 */
#ifndef GP_COLLECT_CLOCKS_CLOCK_SAMPLER_H
#define GP_COLLECT_CLOCKS_CLOCK_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/model/gauges.h"

enum { GP_CLOCK_PERIOD_NS = 50000000 };

/* A process of others. */
struct gp_clock_use {
    uint32_t pid;  /* 0: hidden */
    char name[16]; /* "": not known */
    double percent;
};

struct gp_clock_sample {
    int64_t at_ns;    /* CLOCK_MONOTONIC */
    int64_t since_ns; /* what is a rate or a share holds from there; 0: nothing was read of that kind */
    uint32_t device;
    bool is_use; /* of one process, besides the sample with the same times */
    union {
        double values[GP_GAUGE_COUNT]; /* NAN: not read, or not known */
        struct gp_clock_use use;
    };
};

/* A GPU, known once the sampler has begun. */
struct gp_clock_device {
    uint8_t uuid[16];
    unsigned most_sm_mhz; /* 0: not known, as below */
    double power_limit_w, memory_bytes;
    double energy_step_j;
    int64_t energy_period_ns;
};

struct gp_clock_sampler;

/* PATH: of the library; NULL: the driver's. NULL: there is no thread. */
struct gp_clock_sampler *gp_clock_sampler_start(const char *path);
/* PID and its children are ours; those of this process always are. */
void gp_clock_sampler_own(struct gp_clock_sampler *s, int32_t pid);
/* The devices, *N of them, which stay as they are; NULL: it has not begun yet, or never will. */
const struct gp_clock_device *gp_clock_sampler_devices(struct gp_clock_sampler *s, size_t *n);
/* Only GPUs that are wanted are read from then on. */
void gp_clock_sampler_want(struct gp_clock_sampler *s, uint32_t device);
/* Is all known of a device that is wanted? Its energy counter takes a while. */
bool gp_clock_sampler_known(struct gp_clock_sampler *s, uint32_t device);
/* Why there are no samples; "" there are, or nothing is known yet. */
const char *gp_clock_sampler_why(struct gp_clock_sampler *s);
void gp_clock_sampler_take(struct gp_clock_sampler *s,
                           void (*take)(void *ctx, const struct gp_clock_sample *sample), void *ctx);
/* Read everything once more, and end. */
void gp_clock_sampler_stop(struct gp_clock_sampler *s);
void gp_clock_sampler_free(struct gp_clock_sampler *s);

#endif
