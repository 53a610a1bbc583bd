#include "collect/pm/pm_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "formats/model/metric.h"
#include "formats/model/trace.h"

enum {
    SAMPLE_BYTES = 8 << 10, /* of the hardware's buffer, each */
    BUFFER_LEAST = 64 << 20,
    BUFFER_MOST = 512 << 20,
    SAMPLES_LEAST = 64,
};
static const int64_t DECODED_NS = 250000000, /* room in one image */
    BUFFERED_NS = 1000000000;                /* room in the hardware's buffer */

static int result(const struct gp_pm_device *d, int code, struct gp_err *err)
{
    char why[200];
    if (!code) return 0;
    gp_perfworks_why(why, sizeof why, code, d->api, *d->chip ? d->chip : NULL);
    return gp_fail(err, GP_E_IO, -1, "GPU %zu: cannot sample counters: %s", d->index, why);
}

static int clear(struct gp_pm_device *d)
{
    struct gp_pm_data i = {sizeof i, NULL, d->object, d->data_bytes, d->data};
    return d->calls->data_init(&i);
}

/* The image for samples, empty. CUPTI wants to be asked for its size whenever sampling begins. */
static int make_image(struct gp_pm_device *d, struct gp_err *err)
{
    int64_t samples = DECODED_NS / d->period_ns;
    struct gp_pm_data_size s = {.size = sizeof s,
                                .object = d->object,
                                .names = (const char **)(uintptr_t)d->plan.names.at,
                                .n = d->plan.names.n,
                                .samples = (uint32_t)(samples > SAMPLES_LEAST ? samples : SAMPLES_LEAST)};
    if (result(d, d->calls->data_size(&s), err)) return -1;
    if (s.bytes > d->data_bytes) {
        free(d->data);
        d->data = malloc(s.bytes);
    }
    d->data_bytes = s.bytes;
    if (!d->data)
        return gp_fail(err, GP_E_IO, -1, "GPU %zu: cannot sample counters: out of memory", d->index);
    return result(d, clear(d), err);
}

/* Sampling begins. */
static int begin(struct gp_pm_device *d, struct gp_err *err)
{
    int64_t buffer = BUFFERED_NS / d->period_ns * SAMPLE_BYTES;
    struct gp_pm_enable e = {sizeof e, NULL, d->index, NULL};
    struct gp_pm_set_config c = {.size = GP_PW_SIZE(struct gp_pm_set_config, append),
                                 .config_bytes = d->plan.config_bytes,
                                 .config = d->plan.config,
                                 .buffer_bytes = (size_t)(buffer < BUFFER_LEAST  ? BUFFER_LEAST
                                                          : buffer > BUFFER_MOST ? BUFFER_MOST
                                                                                 : buffer)};
    if (result(d, d->calls->enable(&e), err)) return -1;
    d->object = c.object = e.object;
    d->begun = false;
    /* Chips that cannot count nanoseconds count cycles of the system clock, which vary: about 1.5 per ns. */
    bool cycles = gp_starts(d->chip, "TU") || !strcmp(d->chip, "GA100");
    c.trigger = cycles ? GP_PM_SYSTEM_CLOCK : GP_PM_NANOSECONDS;
    c.interval = (uint64_t)(cycles ? d->period_ns * 3 / 2 : d->period_ns);
    struct gp_pw_object o = {sizeof o, NULL, d->object};
    if (result(d, d->calls->set_config(&c), err) || make_image(d, err)) return -1;
    return result(d, d->calls->start(&o), err);
}

static void end(struct gp_pm_device *d)
{
    struct gp_pw_object o = {sizeof o, NULL, d->object};
    if (d->object) d->calls->disable(&o);
    d->object = NULL;
}

static void release(struct gp_pm_device *d)
{
    end(d);
    gp_measure_plan_release(&d->plan, d->api);
    free(d->data);
    d->data = NULL;
}

int gp_pm_device_open(struct gp_pm_device *d, struct gp_perfworks *api, struct gp_pm_calls *calls,
                      size_t index, const char *text, int64_t period_ns, struct gp_err *err)
{
    struct gp_pw_chip chip = {sizeof chip, NULL, index, NULL};
    memset(d, 0, sizeof *d);
    d->api = api;
    d->calls = calls;
    d->index = index;
    d->period_ns = period_ns;
    if (result(d, api->chip_name(&chip), err)) return -1;
    snprintf(d->chip, sizeof d->chip, "%s", chip.name);
    int failed = gp_measure_plan_make(&d->plan, api, GP_PLAN_SAMPLES, d->chip, text, 1, err) || begin(d, err);
    if (failed) release(d);
    return failed ? -1 : 0;
}

static void take_sample(struct gp_pm_device *d, size_t i, gp_pm_take *take, void *ctx)
{
    double values[GP_METRICS_MOST];
    struct gp_pm_sample s = {
        .size = sizeof s, .object = d->object, .data = d->data, .data_bytes = d->data_bytes, .index = i};
    struct gp_pw_evaluate e = {.size = sizeof e,
                               .host = d->plan.host,
                               .data = d->data,
                               .data_bytes = d->data_bytes,
                               .range = i,
                               .names = (const char **)(uintptr_t)d->plan.names.at,
                               .n = d->plan.names.n,
                               .values = values};
    for (size_t k = 0; k < d->plan.names.n; k++) values[k] = NAN;
    if (d->calls->sample(&s) || !s.start || s.end <= s.start || s.end > (uint64_t)GP_TIME_MOST) return;
    bool first = !d->begun;
    d->begun = true;
    if (first || d->api->evaluate(&e)) return;
    take(ctx, (int64_t)s.start, (int64_t)s.end, values);
}

int gp_pm_device_take(struct gp_pm_device *d, gp_pm_take *take, void *ctx)
{
    struct gp_pm_decode c = {.size = GP_PW_SIZE(struct gp_pm_decode, overflow),
                             .object = d->object,
                             .data = d->data,
                             .data_bytes = d->data_bytes};
    struct gp_pm_info i = {.size = sizeof i, .data = d->data, .data_bytes = d->data_bytes};
    struct gp_err ignored = {0};
    int code = d->calls->decode(&c);
    bool full = c.overflow != 0;
    if (code && !full) return code;
    code = d->calls->data_info(&i);
    if (code) return code;
    for (size_t k = 0; k < i.completed; k++) take_sample(d, k, take, ctx);
    if (!full) return clear(d);
    d->lost++; /* it stays full until sampling begins again */
    end(d);
    return begin(d, &ignored) ? GP_PM_ENDED : 0;
}

void gp_pm_device_stop(struct gp_pm_device *d)
{
    struct gp_pw_object o = {sizeof o, NULL, d->object};
    if (d->object) d->calls->stop(&o);
}

void gp_pm_device_close(struct gp_pm_device *d) { release(d); }
