/* pm_calls.h -- the calls of CUPTI that sample hardware counters all the time (PM sampling), found at run
 * time, with structs as CUDA 12.6 has them; see perfworks.h.
 *
 *     struct gp_pm_calls pm;
 *     if (gp_pm_calls_open(&pm, libcupti, &err)) ...
 *     struct gp_pm_enable e = {sizeof e, NULL, device, NULL};
 *     code = pm.enable(&e);
 */
#ifndef GP_COLLECT_PM_CALLS_H
#define GP_COLLECT_PM_CALLS_H

#include "collect/counters/perfworks.h"

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

enum { GP_PM_SYSTEM_CLOCK = 0, GP_PM_NANOSECONDS = 1 }; /* what an interval is counted in */

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
    int (*set_clock)(uint64_t (*now)(void)); /* what times are on */
    int (*version)(uint32_t *version);
};

/* Find the calls in LIBRARY, an open libcupti. -1 with ERR when this CUPTI is too old. */
GP_MUST_CHECK int gp_pm_calls_open(struct gp_pm_calls *p, void *library, struct gp_err *err);

#endif
