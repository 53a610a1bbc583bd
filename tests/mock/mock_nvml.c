/* Two GPUs as NVML reports them, of which the first one is that of mock_cupti.c. At the first six readings of
 * its clock all is well (1980 MHz, 300 W, 50 degrees), then the power cap holds it at 1485 MHz and 600 W.
 * Every fourth reading of its energy counter is 6 J more. The other GPU idles. MOCK_NVML has words for how it
 * misbehaves:
 *   well=N     all is well for N readings, and then 96% of its memory is in use as well
 *   denied     it cannot be used              bare       old: no fields, no energy, no processes
 *   narrow     the sums of PCIe have 32 bits, and 3.9 * 10^9 bytes come per second
 *   foreign    processes have other numbers than here
 *   other=PID  that process uses 40% of the first GPU, and 25% belong to one that cannot be seen */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "collect/clocks/nvml.h"

enum { WELL = 6, READINGS_A_STEP = 4 };

static unsigned clock_readings, energy_readings; /* of the first GPU, by one thread */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *word(const char *w)
{
    const char *words = getenv("MOCK_NVML"), *at = words ? strstr(words, w) : NULL;
    return at ? at + strlen(w) : NULL;
}

static bool is_first(void *device) { return (uintptr_t)device == 1; }

static bool is_capped(void *device)
{
    const char *well = word("well=");
    return is_first(device) && clock_readings > (well ? strtoul(well, NULL, 10) : WELL);
}

enum { UNSUPPORTED = 3, DENIED = 4 };

#define MOCK(name, params)                                                                                   \
    int name params;                                                                                         \
    int name params

MOCK(nvmlInit_v2, (void)) { return word("denied") ? DENIED : 0; }
MOCK(nvmlShutdown, (void)) { return 0; }
MOCK(nvmlDeviceGetCount_v2, (unsigned *n))
{
    *n = 2;
    return 0;
}
MOCK(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **device))
{
    *device = (void *)(uintptr_t)(i + 1);
    return 0;
}
MOCK(nvmlDeviceGetUUID, (void *device, char *text, unsigned n))
{
    snprintf(text, n, "GPU-%s000000-0000-0000-0000-000000000000", is_first(device) ? "42" : "43");
    return 0;
}
MOCK(nvmlDeviceGetClockInfo, (void *device, int clock, unsigned *mhz))
{
    if (clock == 1) clock_readings += is_first(device);
    *mhz = clock == 2 ? 3201 : !is_first(device) ? 345 : is_capped(device) ? 1485 : 1980;
    return 0;
}
MOCK(nvmlDeviceGetMaxClockInfo, (void *device, int clock, unsigned *mhz))
{
    (void)device;
    *mhz = clock == 2 ? 3201 : 1980;
    return 0;
}
MOCK(nvmlDeviceGetMaxPcieLinkGeneration, (void *device, unsigned *generation))
{
    *generation = 1;
    return device ? 0 : UNSUPPORTED;
}
MOCK(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *milliwatt))
{
    (void)device;
    *milliwatt = 600000;
    return 0;
}
MOCK(nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatt))
{
    *milliwatt = is_capped(device) ? 600000 : is_first(device) ? 300000 : 70000;
    return 0;
}
MOCK(nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))
{
    (void)device;
    *celsius = sensor ? 0 : 50;
    return 0;
}
MOCK(nvmlDeviceGetCurrentClocksEventReasons, (void *device, uint64_t *bits))
{
    *bits = is_capped(device) ? 0x4 : is_first(device) ? 0 : 0x1;
    return 0;
}
MOCK(nvmlDeviceGetMemoryInfo_v2, (void *device, struct gp_nvml_memory *memory))
{
    memory->total = UINT64_C(100) << 30;
    memory->used = word("well=") && is_capped(device) ? UINT64_C(96) << 30
                   : is_first(device)                 ? UINT64_C(5) << 30
                                                      : 0;
    return memory->version == (sizeof *memory | 2 << 24) ? 0 : UNSUPPORTED;
}
MOCK(nvmlDeviceGetTotalEnergyConsumption, (void *device, uint64_t *millijoule))
{
    energy_readings += is_first(device);
    *millijoule = 123456000 + (is_first(device) ? energy_readings / READINGS_A_STEP * 6000 : 0);
    return word("bare") ? UNSUPPORTED : 0;
}
/* 10^9 bytes per second over PCIe, both ways; no NVLink. */
MOCK(nvmlDeviceGetFieldValues, (void *device, int n, struct gp_nvml_field *fields))
{
    for (int i = 0; i < n; i++) {
        bool pcie = fields[i].id == 197 || fields[i].id == 198;
        fields[i].type = word("narrow") ? 1 : 3;
        fields[i].result = pcie ? 0 : UNSUPPORTED;
        if (word("narrow")) fields[i].value.u32 = (uint32_t)((uint64_t)now_ns() * 39 / 10);
        else fields[i].value.u64 = (uint64_t)now_ns();
    }
    return word("bare") || !device ? UNSUPPORTED : 0;
}
MOCK(nvmlDeviceGetProcessUtilization,
     (void *device, struct gp_nvml_use *uses, unsigned *n, uint64_t since_us))
{
    const char *other = word("foreign") ? "4000000001" : word("other=");
    uint64_t now_us = (uint64_t)time(NULL) * 1000000;
    if (word("bare")) return UNSUPPORTED;
    if (!other || !is_first(device) || *n < 3) return 6;
    *n = 3;
    uses[0] = (struct gp_nvml_use){
        .pid = word("foreign") ? 4000000002u : (uint32_t)getpid(), .time_us = since_us + 1, .sm = 90};
    uses[1] =
        (struct gp_nvml_use){.pid = (uint32_t)strtoul(other, NULL, 10), .time_us = since_us + 1, .sm = 40};
    uses[2] = (struct gp_nvml_use){.pid = 4000000000u, .time_us = now_us + since_us, .sm = 25};
    return 0;
}
