/* Hardware counters of a GPU that is not there, for tests: the Profiler Host API of a chip with few metrics,
 * and a range profiler as the real one was seen to be: launches between Start and Stop get ranges in their
 * order, records of measured kernels have no times, a bad name makes a host object useless, and calls in the
 * wrong order are refused.
 *
 *   MOCK_METRICS_ERROR=CODE@CALL  CALL (initialize, chip, host, enable, set_config, start, decode, pm_enable
 *                                 ...) fails with CODE
 *   MOCK_METRICS_LOSE=N           the first N ranges are lost
 *   MOCK_METRICS_QUIET=1          no kernel has a record
 *   MOCK_METRICS_ONCE=1           Start after Stop is refused without a new configuration
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/counters/perfworks.h"
#include "tests/mock/mock_perfworks.h"

enum { MOST = 4096, UNKNOWN = 17, WRONG = 7 };

static struct {
    bool ready, configured, started, spent, in_range;
    uint32_t range;
    size_t n, most;
    uint32_t grids[MOST];
    char names[MOST][32];
    _Atomic int lose;
    bool lose_known;
} mock;

int mock_perfworks_error(const char *call)
{
    const char *e = getenv("MOCK_METRICS_ERROR"), *at = e ? strchr(e, '@') : NULL;
    return at && !strcmp(at + 1, call) ? atoi(e) : 0;
}

bool mock_perfworks_launch(const char *kernel, uint32_t grid)
{
    const char *lose = getenv("MOCK_METRICS_LOSE");
    (void)kernel;
    if (!mock.started) return false;
    if (!mock.lose_known) atomic_store(&mock.lose, lose ? atoi(lose) : 0);
    mock.lose_known = true;
    if (mock.range == GP_PW_USER_RANGE) {
        if (mock.in_range) mock.grids[mock.n - 1] += grid;
        return false;
    }
    if (atomic_fetch_sub(&mock.lose, 1) > 0) return true;
    if (mock.n < mock.most && mock.n < MOST) mock.grids[mock.n++] = grid;
    return true;
}

CALL(cuptiProfilerInitialize, gp_pw_plain, "initialize")
{
    (void)p;
    return 0;
}

CALL(cuptiDeviceGetChipName, gp_pw_chip, "chip")
{
    (void)p;
    p->name = "GH100";
    return 0;
}

CALL(cuptiProfilerHostGetSupportedChips, gp_pw_chips, "chips")
{
    (void)p;
    static const char *const chips[] = {"GA100", "GH100", "GB202"};
    p->names = chips;
    p->n = 3;
    return 0;
}

struct host {
    uint32_t type; /* 1: of samples */
    bool poisoned;
    size_t n;
    bool sass, throughput, links, others;
};

CALL(cuptiProfilerHostInitialize, gp_pw_host, "host")
{
    (void)p;
    if (strncmp(p->chip, "G", 1)) return 46;
    struct host *h = p->host = calloc(1, sizeof *h);
    h->type = p->type;
    return 0;
}

CALL(cuptiProfilerHostDeinitialize, gp_pw_object, "host_end")
{
    (void)p;
    free(p->object);
    return 0;
}

CALL(cuptiProfilerHostGetBaseMetrics, gp_pw_base, "base")
{
    (void)p;
    static const char *names[] = {"dram__bytes_read", "dram__bytes_write", "gpu__time_duration"};
    p->names = names;
    p->n = p->type ? 0 : 3;
    return 0;
}

static bool is_metric(const char *name) { return strstr(name, "__") && !strstr(name, "nonsense"); }

CALL(cuptiProfilerHostGetMetricProperties, gp_pw_metric, "properties")
{
    (void)p;
    if (!is_metric(p->name)) return UNKNOWN;
    p->unit = strstr(p->name, "pct")     ? "percent"
              : strstr(p->name, "bytes") ? "byte"
              : strstr(p->name, "time")  ? "nanosecond"
                                         : "";
    p->description = "of the mock";
    p->type = strstr(p->name, "throughput") ? 2 : 0;
    return 0;
}

CALL(cuptiProfilerHostConfigAddMetrics, gp_pw_add, "add")
{
    (void)p;
    struct host *h = p->host;
    if (h->poisoned) return 999;
    for (size_t i = 0; i < p->n; i++) {
        if (!is_metric(p->names[i]) || !strchr(p->names[i], '.')) h->poisoned = true;
        h->sass |= strstr(p->names[i], "sass") != NULL;
        h->throughput |= strstr(p->names[i], "throughput") != NULL;
        h->links |= !strncmp(p->names[i], "pcie__", 6);
        h->others |= strncmp(p->names[i], "pcie__", 6) != 0;
    }
    if (h->poisoned) return MOCK_BAD;
    if (!h->type && h->links && h->others) return 27; /* samples mix them */
    h->n += p->n;
    return 0;
}

CALL(cuptiProfilerHostGetConfigImageSize, gp_pw_config_size, "config")
{
    (void)p;
    p->bytes = 16;
    return 0;
}

CALL(cuptiProfilerHostGetConfigImage, gp_pw_config, "config")
{
    (void)p;
    struct host *h = p->host;
    memset(p->image, 0, p->bytes);
    p->image[0] = (uint8_t)(1 + h->sass + 7 * h->throughput);
    return 0;
}

CALL(cuptiProfilerHostGetNumOfPasses, gp_pw_passes, "passes")
{
    (void)p;
    p->passes = p->image[0];
    return 0;
}

/* 1000 ns, 1 kB read and 2 kB written per block; nothing of what is called missing. */
static double value_of(const char *name, uint32_t grid)
{
    if (strstr(name, "missing")) return NAN;
    if (!strcmp(name, "gpu__time_duration.sum")) return 1000;
    if (strstr(name, "inst_executed")) return mock_side_by_side() ? 58 : 50;
    if (strstr(name, "read")) return 1000.0 * grid;
    if (strstr(name, "write")) return 2000.0 * grid;
    return 50;
}

CALL(cuptiProfilerHostEvaluateToGpuValues, gp_pw_evaluate, "evaluate")
{
    (void)p;
    const struct host *h = p->host;
    for (size_t i = 0; i < p->n; i++)
        p->values[i] =
            h->type ? mock_pm_value(p->names[i], p->range) : value_of(p->names[i], mock.grids[p->range]);
    return 0;
}

CALL(cuptiProfilerGetCounterAvailability, gp_pw_availability, "availability")
{
    (void)p;
    p->bytes = 8;
    return 0;
}

CALL(cuptiRangeProfilerEnable, gp_pw_enable, "enable")
{
    (void)p;
    mock.ready = true;
    p->object = &mock;
    return 0;
}

CALL(cuptiRangeProfilerDisable, gp_pw_object, "disable")
{
    (void)p;
    mock.ready = false;
    return 0;
}

CALL(cuptiRangeProfilerGetCounterDataSize, gp_pw_data_size, "data_size")
{
    (void)p;
    if (p->ranges > 2000) return WRONG;
    mock.most = p->ranges;
    p->bytes = 64;
    return 0;
}

CALL(cuptiRangeProfilerCounterDataImageInitialize, gp_pw_data_init, "data_init")
{
    (void)p;
    mock.n = 0;
    return 0;
}

CALL(cuptiRangeProfilerSetConfig, gp_pw_set_config, "set_config")
{
    (void)p;
    if (!mock.ready || mock.started) return WRONG;
    if (p->range == GP_PW_USER_RANGE && p->replay == GP_PW_KERNEL_REPLAY) return WRONG;
    mock.configured = true;
    mock.spent = false;
    mock.range = p->range;
    return 0;
}

CALL(cuptiRangeProfilerStart, gp_pw_object, "start")
{
    (void)p;
    if (!mock.configured || mock.started || (mock.spent && getenv("MOCK_METRICS_ONCE"))) return WRONG;
    mock.started = true;
    return 0;
}

CALL(cuptiRangeProfilerStop, gp_pw_stop, "stop")
{
    (void)p;
    if (!mock.started) return WRONG;
    mock.started = false;
    mock.spent = true;
    p->all_submitted = 1;
    return 0;
}

CALL(cuptiRangeProfilerPushRange, gp_pw_push, "push")
{
    (void)p;
    if (!mock.started || mock.range != GP_PW_USER_RANGE) return WRONG;
    for (size_t i = 0; i < mock.n; i++)
        if (!strcmp(mock.names[i], p->name)) return 0; /* ranges of one name are one */
    mock.in_range = true;
    snprintf(mock.names[mock.n], sizeof mock.names[0], "%s", p->name);
    mock.grids[mock.n++] = 0;
    return 0;
}

CALL(cuptiRangeProfilerPopRange, gp_pw_object, "pop")
{
    (void)p;
    if (!mock.in_range) return WRONG;
    mock.in_range = false;
    return 0;
}

CALL(cuptiRangeProfilerDecodeData, gp_pw_decode, "decode")
{
    (void)p;
    if (mock.started) return WRONG;
    p->dropped = 0;
    return 0;
}

CALL(cuptiRangeProfilerGetCounterDataInfo, gp_pw_info, "info")
{
    (void)p;
    p->ranges = mock.n;
    return 0;
}

CALL(cuptiRangeProfilerCounterDataGetRangeInfo, gp_pw_range, "range_info")
{
    (void)p;
    if (mock.range == GP_PW_AUTO_RANGE) snprintf(mock.names[p->index], sizeof mock.names[0], "%zu", p->index);
    p->name = mock.names[p->index];
    return 0;
}
