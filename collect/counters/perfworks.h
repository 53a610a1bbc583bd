/* perfworks.h -- the parts of CUPTI that read hardware counters, found at run time: the Profiler Host API,
 * which knows chips, names and passes and needs no GPU, and the Range Profiler. The structs are declared
 * here, as CUDA 12.6 has them: later ones only grow at their ends, and `size` is as far as a caller knows
 * them.
 *
 *     struct gp_perfworks p;
 *     if (gp_perfworks_open(&p, libcupti, &err)) ...
 *     struct gp_pw_metric m = {GP_PW_SIZE(struct gp_pw_metric, type), .host = host, .name = name};
 *     if (!p.metric_properties(&m)) use(m.unit);
 */
#ifndef GP_COLLECT_PERFWORKS_H
#define GP_COLLECT_PERFWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* The size of a struct up to the last member of CUDA 12.6. */
#define GP_PW_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define GP_PW_HEAD                                                                                           \
    size_t size;                                                                                             \
    void *priv

struct gp_pw_plain {
    GP_PW_HEAD;
};
struct gp_pw_object { /* Deinitialize, Disable, Start, PopRange */
    GP_PW_HEAD;
    void *object;
};
struct gp_pw_chip {
    GP_PW_HEAD;
    size_t device;
    const char *name;
};
struct gp_pw_chips {
    GP_PW_HEAD;
    size_t n;
    const char *const *names;
};
struct gp_pw_host {
    GP_PW_HEAD;
    uint32_t type; /* 0: ranges */
    const char *chip;
    const uint8_t *availability;
    void *host;
};
struct gp_pw_base {
    GP_PW_HEAD;
    void *host;
    uint32_t type;
    const char **names;
    size_t n;
};
struct gp_pw_metric {
    GP_PW_HEAD;
    void *host;
    const char *name, *description, *hw_unit, *unit;
    uint32_t type; /* 0 counter, 1 ratio, 2 throughput */
};
struct gp_pw_add {
    GP_PW_HEAD;
    void *host;
    const char **names;
    size_t n;
};
struct gp_pw_config_size {
    GP_PW_HEAD;
    void *host;
    size_t bytes;
};
struct gp_pw_config {
    GP_PW_HEAD;
    void *host;
    size_t bytes;
    uint8_t *image;
};
struct gp_pw_passes {
    GP_PW_HEAD;
    size_t bytes;
    uint8_t *image;
    size_t passes;
};
struct gp_pw_evaluate {
    GP_PW_HEAD;
    void *host;
    const uint8_t *data;
    size_t data_bytes, range;
    const char **names;
    size_t n;
    double *values;
};
struct gp_pw_availability {
    GP_PW_HEAD;
    void *context;
    size_t bytes;
    uint8_t *image;
};
struct gp_pw_enable {
    GP_PW_HEAD;
    void *context, *object;
};
struct gp_pw_data_size {
    GP_PW_HEAD;
    void *object;
    const char **names;
    size_t n, ranges;
    uint32_t nodes;
    size_t bytes;
};
struct gp_pw_data_init {
    GP_PW_HEAD;
    void *object;
    size_t bytes;
    uint8_t *data;
};
struct gp_pw_set_config {
    GP_PW_HEAD;
    void *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t data_bytes;
    uint8_t *data;
    uint32_t range, replay;
    size_t ranges_per_pass;
    uint16_t levels, least_level;
    size_t pass;
    uint16_t target_level;
};
struct gp_pw_stop {
    GP_PW_HEAD;
    void *object;
    size_t pass, level;
    uint8_t all_submitted;
};
struct gp_pw_push {
    GP_PW_HEAD;
    void *object;
    const char *name;
};
struct gp_pw_decode {
    GP_PW_HEAD;
    void *object;
    size_t dropped;
};
struct gp_pw_info {
    GP_PW_HEAD;
    const uint8_t *data;
    size_t data_bytes, ranges;
};
struct gp_pw_range {
    GP_PW_HEAD;
    const uint8_t *data;
    size_t data_bytes, index;
    const char *delimiter, *name;
};

enum { GP_PW_AUTO_RANGE = 1, GP_PW_USER_RANGE = 2, GP_PW_KERNEL_REPLAY = 2, GP_PW_USER_REPLAY = 3 };

/* X(member, symbol, its parameter) */
#define GP_PW_CALLS(X)                                                                                       \
    X(initialize, cuptiProfilerInitialize, gp_pw_plain)                                                      \
    X(chip_name, cuptiDeviceGetChipName, gp_pw_chip)                                                         \
    X(chips, cuptiProfilerHostGetSupportedChips, gp_pw_chips)                                                \
    X(host_begin, cuptiProfilerHostInitialize, gp_pw_host)                                                   \
    X(host_end, cuptiProfilerHostDeinitialize, gp_pw_object)                                                 \
    X(base_metrics, cuptiProfilerHostGetBaseMetrics, gp_pw_base)                                             \
    X(metric_properties, cuptiProfilerHostGetMetricProperties, gp_pw_metric)                                 \
    X(add_metrics, cuptiProfilerHostConfigAddMetrics, gp_pw_add)                                             \
    X(config_size, cuptiProfilerHostGetConfigImageSize, gp_pw_config_size)                                   \
    X(config_image, cuptiProfilerHostGetConfigImage, gp_pw_config)                                           \
    X(passes, cuptiProfilerHostGetNumOfPasses, gp_pw_passes)                                                 \
    X(evaluate, cuptiProfilerHostEvaluateToGpuValues, gp_pw_evaluate)                                        \
    X(availability, cuptiProfilerGetCounterAvailability, gp_pw_availability)                                 \
    X(enable, cuptiRangeProfilerEnable, gp_pw_enable)                                                        \
    X(disable, cuptiRangeProfilerDisable, gp_pw_object)                                                      \
    X(data_size, cuptiRangeProfilerGetCounterDataSize, gp_pw_data_size)                                      \
    X(data_init, cuptiRangeProfilerCounterDataImageInitialize, gp_pw_data_init)                              \
    X(set_config, cuptiRangeProfilerSetConfig, gp_pw_set_config)                                             \
    X(start, cuptiRangeProfilerStart, gp_pw_object)                                                          \
    X(stop, cuptiRangeProfilerStop, gp_pw_stop)                                                              \
    X(push, cuptiRangeProfilerPushRange, gp_pw_push)                                                         \
    X(pop, cuptiRangeProfilerPopRange, gp_pw_object)                                                         \
    X(decode, cuptiRangeProfilerDecodeData, gp_pw_decode)                                                    \
    X(data_info, cuptiRangeProfilerGetCounterDataInfo, gp_pw_info)                                           \
    X(range_info, cuptiRangeProfilerCounterDataGetRangeInfo, gp_pw_range)

struct gp_perfworks {
#define X(member, symbol, type) int (*member)(struct type *);
    GP_PW_CALLS(X)
#undef X
    void *library;          /* where they are */
    bool driver;            /* gp_perfworks_find(): there is one */
    char host_library[400]; /* that was opened; "" none was beside libcupti */
};

/* Find the calls in LIBRARY, an open libcupti. CUPTI looks for its host library by bare name: the one beside
 * it is opened first. -1 with ERR when this CUPTI is too old. */
GP_MUST_CHECK int gp_perfworks_open(struct gp_perfworks *p, void *library, struct gp_err *err);
/* Open a libcupti for uses without a GPU: PATH, or, if that is NULL, where a toolkit has it. */
GP_MUST_CHECK int gp_perfworks_find(struct gp_perfworks *p, const char *path, struct gp_err *err);

/* One line for the result CODE of a call: its meaning, and the way out. CHIP may be NULL. */
void gp_perfworks_why(char *to, size_t size, int code, const struct gp_perfworks *p, const char *chip);

/* ---- sampling ----
 * The calls of CUPTI that sample hardware counters all the time (PM sampling), found at run
 * time, with structs as CUDA 12.6 has them; see perfworks.h.
 *
 *     struct gp_pm_calls pm;
 *     if (gp_pm_calls_open(&pm, libcupti, &err)) ...
 *     struct gp_pm_enable e = {sizeof e, NULL, device, NULL};
 *     code = pm.enable(&e);
 */

struct gp_pm_enable {
    GP_PW_HEAD;
    size_t device;
    void *object;
};
struct gp_pm_set_config {
    GP_PW_HEAD;
    void *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t buffer_bytes;
    uint64_t interval;
    uint32_t trigger, append;
};
struct gp_pm_data_size {
    GP_PW_HEAD;
    void *object;
    const char **names;
    size_t n;
    uint32_t samples;
    size_t bytes;
};
struct gp_pm_data {
    GP_PW_HEAD;
    void *object;
    size_t bytes;
    uint8_t *data;
};
struct gp_pm_decode {
    GP_PW_HEAD;
    void *object;
    uint8_t *data;
    size_t data_bytes;
    uint32_t why;
    uint8_t overflow;
};
struct gp_pm_info {
    GP_PW_HEAD;
    const uint8_t *data;
    size_t data_bytes, total, populated, completed;
};
struct gp_pm_sample {
    GP_PW_HEAD;
    void *object;
    const uint8_t *data;
    size_t data_bytes, index;
    uint64_t start, end;
};

enum { GP_PM_SYSTEM_CLOCK = 0, GP_PM_NANOSECONDS = 1 }; /* units of an interval */

/* X(member, symbol, its parameter) */
#define GP_PM_CALLS(X)                                                                                       \
    X(enable, cuptiPmSamplingEnable, gp_pm_enable)                                                           \
    X(disable, cuptiPmSamplingDisable, gp_pw_object)                                                         \
    X(set_config, cuptiPmSamplingSetConfig, gp_pm_set_config)                                                \
    X(data_size, cuptiPmSamplingGetCounterDataSize, gp_pm_data_size)                                         \
    X(data_init, cuptiPmSamplingCounterDataImageInitialize, gp_pm_data)                                      \
    X(start, cuptiPmSamplingStart, gp_pw_object)                                                             \
    X(stop, cuptiPmSamplingStop, gp_pw_object)                                                               \
    X(decode, cuptiPmSamplingDecodeData, gp_pm_decode)                                                       \
    X(data_info, cuptiPmSamplingGetCounterDataInfo, gp_pm_info)                                              \
    X(sample, cuptiPmSamplingCounterDataGetSampleInfo, gp_pm_sample)

struct gp_pm_calls {
#define X(member, symbol, type) int (*member)(struct type *);
    GP_PM_CALLS(X)
#undef X
    int (*set_clock)(uint64_t (*now)(void)); /* the clock of times */
    int (*version)(uint32_t *version);
};

/* Find the calls in LIBRARY, an open libcupti. -1 with ERR when this CUPTI is too old. */
GP_MUST_CHECK int gp_pm_calls_open(struct gp_pm_calls *p, void *library, struct gp_err *err);

/* The same for calls of any kind: fill the N pointers at TO. The name of a call that it lacks, or NULL. */
const char *gp_find_calls(void *to, void *library, const char *const *names, size_t n);

#endif
