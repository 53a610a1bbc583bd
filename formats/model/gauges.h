/* gauges.h -- what the driver reports of a GPU while a program runs: clocks, power, heat, traffic and
 * neighbours, as rows of GP_COUNTER with the category GP_GAUGE_CATEGORY. The name is that of the gauge, the
 * series its unit; a value holds until the next row of its name, at most until the last row of its track.
 * Their process stands for a GPU, and their track has its number.
 *
 *     gp_gauge_put(trace, at_ns, track, GP_GAUGE_POWER, NULL, 312.5);
 *     enum gp_gauge g = gp_gauge_find("power");
 *     bool same = gp_gauge_number(a) == gp_gauge_number(b);    // two devices of a trace are the same GPU
 */
#ifndef GP_FORMATS_MODEL_GAUGES_H
#define GP_FORMATS_MODEL_GAUGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_trace;

#define GP_GAUGE_CATEGORY "device"

/* X(enum, name in traces, unit) */
#define GP_GAUGES(X)                                                                                         \
    X(GP_GAUGE_SM_CLOCK, "SM clock", "MHz")                                                                  \
    X(GP_GAUGE_MEMORY_CLOCK, "memory clock", "MHz")                                                          \
    X(GP_GAUGE_POWER, "power", "W")                                                                          \
    X(GP_GAUGE_TEMPERATURE, "temperature", "°C")                                                             \
    X(GP_GAUGE_REASONS, "clock reasons", "bits")                                                             \
    X(GP_GAUGE_MEMORY_USED, "memory used", "byte")                                                           \
    X(GP_GAUGE_PCIE_RECEIVED, "PCIe received", "byte/second")                                                \
    X(GP_GAUGE_PCIE_SENT, "PCIe sent", "byte/second")                                                        \
    X(GP_GAUGE_NVLINK_RECEIVED, "NVLink received", "byte/second")                                            \
    X(GP_GAUGE_NVLINK_SENT, "NVLink sent", "byte/second")                                                    \
    /* since the first reading; a row at each reading */                                                     \
    X(GP_GAUGE_ENERGY, "energy", "J")                                                                        \
    X(GP_GAUGE_OTHERS, "utilization by others", "%")

enum gp_gauge { GP_GAUGES(GP_FIRST) GP_GAUGE_COUNT };

struct gp_gauge_info {
    const char *name, *unit;
};
extern const struct gp_gauge_info gp_gauge_infos[GP_GAUGE_COUNT];
/* GP_GAUGE_COUNT: it is none of them. */
enum gp_gauge gp_gauge_find(const char *name);
/* Add a row. NAME: NULL, that of the gauge. */
void gp_gauge_put(struct gp_trace *t, int64_t at_ns, uint32_t track, enum gp_gauge g, const char *name,
                  double value);

/* The number in the args of a device by which devices of a trace are known to be the same GPU: drawn from its
 * UUID and SEED, so that it says nothing elsewhere. 0: there is none. */
uint32_t gp_gauge_gpu(const uint8_t uuid[16], uint64_t seed);
/* That of a device with these args (struct gp_device, extra). */
uint32_t gp_gauge_number(const char *args);

/* What one process of others uses, in %: this and the process, "4711 (python3)", or "hidden". */
#define GP_GAUGE_OTHER "utilization by process "

/* Why the SM clock is not higher: bits as NVML has them, and of several the first in this list counts. X(bit,
 * name, text for people) */
#define GP_CLOCK_REASONS(X)                                                                                  \
    X(0x4, power_cap, "the power cap")                                                                       \
    X(0x40, hw_thermal, "heat (hardware)")                                                                   \
    X(0x20, sw_thermal, "heat (driver)")                                                                     \
    X(0x80, power_brake, "the power supply (brake)")                                                         \
    X(0x8, hw_slowdown, "a slowdown by the hardware")                                                        \
    X(0x2, set_clocks, "clocks that were set")                                                               \
    X(0x10, sync_boost, "clocks kept equal with other GPUs")                                                 \
    X(0x100, display, "the clocks of the display")                                                           \
    X(0x1, gpu_idle, "waking from idle")

/* Keys of the args of a device of these rows; the first one is that of gp_gauge_number(). */
#define GP_GAUGE_KEY_GPU           "gpu"
#define GP_GAUGE_KEY_MAX_SM_MHZ    "max_sm_mhz"
#define GP_GAUGE_KEY_POWER_LIMIT   "power_limit_w"
#define GP_GAUGE_KEY_ENERGY_STEP   "energy_step_j"
#define GP_GAUGE_KEY_ENERGY_PERIOD "energy_period_ns"
/* ns between two samples of the gauges. */
#define GP_META_GAUGE_PERIOD "device.sample_period_ns"

#endif
