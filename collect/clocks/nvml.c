#include "collect/clocks/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

enum { NO_PERMISSION = 4, NOT_FOUND = 6, SM = 1, MEMORY = 2 };
static const uint32_t ALL_LINKS = UINT32_MAX;
/* Numbers of fields. */
enum { LINKS_SENT_KIB = 138, LINKS_RECEIVED_KIB = 139, POWER_NOW_MW = 186, PCIE_SENT = 197, PCIE_RECEIVED };
enum { DOUBLE, UNSIGNED, UNSIGNED_LONG, UNSIGNED_LONG_LONG, SIGNED_LONG_LONG }; /* types of their values */

/* ---- the library ---- */

static void find_calls(struct gp_nvml_library *n, void *library)
{
#define X(function, params) {#function, offsetof(struct gp_nvml_library, function)},
    static const struct {
        const char *name;
        size_t at;
    } calls[] = {GP_NVML_GAUGE_CALLS(X)};
#undef X
    for (size_t i = 0; i < GP_COUNT(calls); i++) {
        void *f = dlsym(library, calls[i].name);
        memcpy((char *)n + calls[i].at, &f, sizeof f);
    }
}

/* "GPU-01234567-89ab-..." as bytes. */
static void read_uuid(const char *text, uint8_t uuid[16])
{
    size_t digits = 0;
    memset(uuid, 0, 16);
    for (text += gp_starts(text, "GPU-") ? strlen("GPU-") : 0; *text && digits < 32; text++) {
        if (!isxdigit((unsigned char)*text)) continue;
        unsigned v = isdigit((unsigned char)*text) ? (unsigned)(*text - '0')
                                                   : (unsigned)(tolower((unsigned char)*text) - 'a') + 10;
        uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | v);
        digits++;
    }
}

static int list_devices(struct gp_nvml_library *n, struct gp_err *err)
{
    unsigned count = 0;
    char text[96];
    int code = n->nvmlDeviceGetCount_v2(&count);
    for (unsigned i = 0; !code && i < count && n->n < GP_NVML_DEVICES; i++) {
        void *device;
        /* One that others are not allowed to see is left out. */
        if (n->nvmlDeviceGetHandleByIndex_v2(i, &device) || n->nvmlDeviceGetUUID(device, text, sizeof text))
            continue;
        read_uuid(text, n->uuids[n->n]);
        n->devices[n->n++] = device;
    }
    if (n->n) return 0;
    return gp_fail(err, GP_E_IO, -1, "NVML shows no GPU (error %d)", code);
}

int gp_nvml_open(struct gp_nvml_library *n, const char *path, struct gp_err *err)
{
    memset(n, 0, sizeof *n);
    void *library = dlopen(path && *path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return gp_fail(err, GP_E_IO, -1, "libnvidia-ml.so.1 (NVML) was not found");
    find_calls(n, library);
    if (!n->nvmlInit_v2 || !n->nvmlDeviceGetCount_v2 || !n->nvmlDeviceGetHandleByIndex_v2 ||
        !n->nvmlDeviceGetUUID)
        return gp_fail(err, GP_E_IO, -1, "libnvidia-ml.so.1 (NVML) is too old");
    int code = n->nvmlInit_v2();
    if (code)
        return gp_fail(err, GP_E_IO, -1, "NVML cannot be used: %s (error %d)",
                       code == NO_PERMISSION ? "not permitted" : "it does not start", code);
    if (!list_devices(n, err)) return 0;
    gp_nvml_close(n);
    return -1;
}

void gp_nvml_close(struct gp_nvml_library *n)
{
    if (n->nvmlShutdown) n->nvmlShutdown();
}

/* ---- values ---- */

struct place {
    const struct gp_nvml_library *n;
    void *device;
};

static double clock(struct place p, uint32_t which)
{
    unsigned v;
    return p.n->nvmlDeviceGetClockInfo && !p.n->nvmlDeviceGetClockInfo(p.device, (int)which, &v) ? v : NAN;
}

/* That of NVLink is of all links, and in KiB. */
static double field(struct place p, uint32_t id)
{
    bool links = id == LINKS_SENT_KIB || id == LINKS_RECEIVED_KIB;
    struct gp_nvml_field f = {.id = id, .scope = links ? ALL_LINKS : 0};
    if (!p.n->nvmlDeviceGetFieldValues || p.n->nvmlDeviceGetFieldValues(p.device, 1, &f) || f.result)
        return NAN;
    double v = f.type == DOUBLE ? f.value.f64 : f.type == UNSIGNED ? f.value.u32 : (double)f.value.u64;
    return links ? v * 1024 : v;
}

/* Newer GPUs give the mean of a second where the plain call is asked. */
static double power(struct place p, uint32_t id)
{
    unsigned v;
    double now = field(p, id);
    if (now > 0) return now / 1e3;
    return p.n->nvmlDeviceGetPowerUsage && !p.n->nvmlDeviceGetPowerUsage(p.device, &v) ? v / 1e3 : NAN;
}

static double temperature(struct place p, uint32_t sensor)
{
    unsigned v;
    return p.n->nvmlDeviceGetTemperature && !p.n->nvmlDeviceGetTemperature(p.device, (int)sensor, &v) ? v
                                                                                                      : NAN;
}

static double reasons(struct place p, GP_UNUSED uint32_t none)
{
    uint64_t v;
    int (*call)(void *, uint64_t *) = p.n->nvmlDeviceGetCurrentClocksEventReasons
                                          ? p.n->nvmlDeviceGetCurrentClocksEventReasons
                                          : p.n->nvmlDeviceGetCurrentClocksThrottleReasons;
    return call && !call(p.device, &v) ? (double)v : NAN;
}

static double memory(struct place p, uint32_t all)
{
    struct gp_nvml_memory m = {.version = sizeof m | 2 << 24};
    return p.n->nvmlDeviceGetMemoryInfo_v2 && !p.n->nvmlDeviceGetMemoryInfo_v2(p.device, &m)
               ? (double)(all ? m.total : m.used)
               : NAN;
}

static double energy(struct place p, GP_UNUSED uint32_t none)
{
    uint64_t v;
    return p.n->nvmlDeviceGetTotalEnergyConsumption && !p.n->nvmlDeviceGetTotalEnergyConsumption(p.device, &v)
               ? (double)v / 1e3
               : NAN;
}

static const struct {
    enum gp_gauge gauge;
    double (*read)(struct place p, uint32_t arg);
    uint32_t arg;
    enum gp_nvml_class class;
    bool sum;
} gauges[] = {
    {GP_GAUGE_SM_CLOCK, clock, SM, GP_NVML_OFTEN, false},
    {GP_GAUGE_MEMORY_CLOCK, clock, MEMORY, GP_NVML_OFTEN, false},
    {GP_GAUGE_POWER, power, POWER_NOW_MW, GP_NVML_OFTEN, false},
    {GP_GAUGE_TEMPERATURE, temperature, 0, GP_NVML_OFTEN, false},
    {GP_GAUGE_REASONS, reasons, 0, GP_NVML_OFTEN, false},
    {GP_GAUGE_MEMORY_USED, memory, 0, GP_NVML_OFTEN, false},
    {GP_GAUGE_PCIE_RECEIVED, field, PCIE_RECEIVED, GP_NVML_OFTEN, true},
    {GP_GAUGE_PCIE_SENT, field, PCIE_SENT, GP_NVML_OFTEN, true},
    {GP_GAUGE_NVLINK_RECEIVED, field, LINKS_RECEIVED_KIB, GP_NVML_RARELY, true},
    {GP_GAUGE_NVLINK_SENT, field, LINKS_SENT_KIB, GP_NVML_RARELY, true},
    {GP_GAUGE_ENERGY, energy, 0, GP_NVML_ENERGY, false},
};

void gp_nvml_read(const struct gp_nvml_library *n, size_t device, enum gp_nvml_class class, double *values)
{
    struct place p = {n, n->devices[device]};
    for (size_t i = 0; i < GP_COUNT(gauges); i++)
        if (gauges[i].class == class) values[gauges[i].gauge] = gauges[i].read(p, gauges[i].arg);
}

bool gp_nvml_is_sum(enum gp_gauge g, enum gp_nvml_class class)
{
    for (size_t i = 0; i < GP_COUNT(gauges); i++)
        if (gauges[i].gauge == g) return gauges[i].sum && gauges[i].class == class;
    return false;
}

unsigned gp_nvml_most_sm_mhz(const struct gp_nvml_library *n, size_t device)
{
    unsigned v;
    return n->nvmlDeviceGetMaxClockInfo && !n->nvmlDeviceGetMaxClockInfo(n->devices[device], SM, &v) ? v : 0;
}

double gp_nvml_memory_bytes(const struct gp_nvml_library *n, size_t device)
{
    return memory((struct place){n, n->devices[device]}, true);
}

double gp_nvml_power_limit_w(const struct gp_nvml_library *n, size_t device)
{
    unsigned v;
    return n->nvmlDeviceGetEnforcedPowerLimit && !n->nvmlDeviceGetEnforcedPowerLimit(n->devices[device], &v)
               ? v / 1e3
               : 0;
}

int64_t gp_nvml_wrap_ns(const struct gp_nvml_library *n, size_t device)
{
    unsigned v = 0;
    if (!n->nvmlDeviceGetMaxPcieLinkGeneration ||
        n->nvmlDeviceGetMaxPcieLinkGeneration(n->devices[device], &v))
        return 0;
    return (INT64_C(1) << 32) /
           (2 << (v < 9 ? v : 9)); /* 4 bytes per ns, twice as many with each generation */
}

int gp_nvml_uses(const struct gp_nvml_library *n, size_t device, uint64_t since_us, struct gp_nvml_use *uses,
                 unsigned most)
{
    unsigned count = most;
    if (!n->nvmlDeviceGetProcessUtilization) return -1;
    int code = n->nvmlDeviceGetProcessUtilization(n->devices[device], uses, &count, since_us);
    if (code == NOT_FOUND) return 0; /* nobody used it */
    return code ? -1 : (int)count;
}
