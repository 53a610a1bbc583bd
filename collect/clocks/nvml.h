/* nvml.h -- what NVIDIA's management library reports of each GPU, found at run time: gauges, limits, and what
 * each process uses. No header of it is needed: these functions are a stable binary interface. Reads no other
 * clock and keeps nothing.
 *
 *     struct gp_nvml_library n;
 *     if (gp_nvml_open(&n, NULL, &err)) ...                       // not there, or it fails
 *     double values[GP_GAUGE_COUNT];
 *     gp_nvml_read(&n, 0, GP_NVML_OFTEN, values);             // NAN: not known
 */
#ifndef GP_COLLECT_CLOCKS_NVML_H
#define GP_COLLECT_CLOCKS_NVML_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/model/gauges.h"

/* A value of nvmlDeviceGetFieldValues(), as NVML lays it out. */
struct gp_nvml_field {
    uint32_t id, scope;
    int64_t timestamp, latency;
    uint32_t type;
    int32_t result;
    union {
        double f64;
        uint32_t u32;
        uint64_t u64;
        int64_t i64;
    } value;
};
/* nvmlProcessUtilizationSample_t */
struct gp_nvml_use {
    uint32_t pid;
    uint64_t time_us; /* since 1970 */
    uint32_t sm, memory, encoder, decoder;
};
struct gp_nvml_memory { /* nvmlMemory_v2_t */
    uint32_t version;
    uint64_t total, reserved, free, used;
};

/* X(function, parameters): all return 0, or the number of an error. */
#define GP_NVML_GAUGE_CALLS(X)                                                                               \
    X(nvmlInit_v2, (void))                                                                                   \
    X(nvmlShutdown, (void))                                                                                  \
    X(nvmlDeviceGetCount_v2, (unsigned *n))                                                                  \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **device))                                            \
    X(nvmlDeviceGetUUID, (void *device, char *text, unsigned n))                                             \
    X(nvmlDeviceGetClockInfo, (void *device, int clock, unsigned *mhz))                                      \
    X(nvmlDeviceGetMaxClockInfo, (void *device, int clock, unsigned *mhz))                                   \
    X(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *milliwatt))                                  \
    X(nvmlDeviceGetMaxPcieLinkGeneration, (void *device, unsigned *generation))                              \
    X(nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatt))                                          \
    X(nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))                               \
    X(nvmlDeviceGetCurrentClocksEventReasons, (void *device, uint64_t *bits))                                \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, (void *device, uint64_t *bits))                             \
    X(nvmlDeviceGetMemoryInfo_v2, (void *device, struct gp_nvml_memory *memory))                             \
    X(nvmlDeviceGetTotalEnergyConsumption, (void *device, uint64_t *millijoule))                             \
    X(nvmlDeviceGetFieldValues, (void *device, int n, struct gp_nvml_field *fields))                         \
    X(nvmlDeviceGetProcessUtilization,                                                                       \
      (void *device, struct gp_nvml_use *samples, unsigned *n, uint64_t since_us))

enum { GP_NVML_DEVICES = 32 };

struct gp_nvml_library {
#define X(function, params) int(*function) params;
    GP_NVML_GAUGE_CALLS(X)
#undef X
    size_t n;
    void *devices[GP_NVML_DEVICES];
    uint8_t uuids[GP_NVML_DEVICES][16];
};

/* What is read together: it costs microseconds, or milliseconds. On an H200, energy 3 ms, NVLink 2. */
enum gp_nvml_class { GP_NVML_OFTEN, GP_NVML_RARELY, GP_NVML_ENERGY };

/* Open the library and list its GPUs. PATH: NULL, the driver's. -1 with ERR, and nothing to close. */
GP_MUST_CHECK int gp_nvml_open(struct gp_nvml_library *n, const char *path, struct gp_err *err);
void gp_nvml_close(struct gp_nvml_library *n);
/* Set only the gauges of CLASS in VALUES. What is a rate is the sum of its bytes so far. */
void gp_nvml_read(const struct gp_nvml_library *n, size_t device, enum gp_nvml_class class, double *values);
/* Does the value of this gauge, which is of CLASS, count up, so that its difference in a second is wanted? */
bool gp_nvml_is_sum(enum gp_gauge g, enum gp_nvml_class class);
/* In what time the device's PCIe, if it has 16 lanes, can make a sum of 32 bits start again; 0: not known. */
int64_t gp_nvml_wrap_ns(const struct gp_nvml_library *n, size_t device);
/* 0: not known. */
unsigned gp_nvml_most_sm_mhz(const struct gp_nvml_library *n, size_t device);
double gp_nvml_power_limit_w(const struct gp_nvml_library *n, size_t device);
/* NAN: not known. */
double gp_nvml_memory_bytes(const struct gp_nvml_library *n, size_t device);
/* The use by each process that used the GPU after SINCE_US; returns how many of USES, which has room for
 * MOST, were filled; -1: it is not known. */
int gp_nvml_uses(const struct gp_nvml_library *n, size_t device, uint64_t since_us, struct gp_nvml_use *uses,
                 unsigned most);

#endif
