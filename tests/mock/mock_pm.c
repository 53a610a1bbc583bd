/* PM sampling of a GPU that is not there, as the real one was seen to be: the first sample lasts since long
 * before the start, the last one of an image has no length, decoding ends where the image is full, and a
 * buffer that ran over stays so until sampling is disabled. Counters of bytes count two per nanosecond,
 * everything else is 50, and nothing of what is called missing.
 *
 *   MOCK_PM_OVERFLOW=N    the buffer runs over at the N-th decoding
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "collect/counters/perfworks.h"
#include "tests/mock/mock_perfworks.h"

enum { WRONG = 7, FULL = 8, MOST = 100000 };

static struct {
    bool enabled, configured, started, full, first;
    uint64_t interval, next;
    size_t most, n;
    struct {
        uint64_t start, end;
    } at[MOST];
    int decoded;
} pm;

CALL(cuptiPmSamplingEnable, gp_pm_enable, "pm_enable")
{
    if (pm.enabled) return WRONG;
    pm.enabled = true;
    pm.full = pm.configured = pm.started = false;
    p->object = &pm;
    return 0;
}

CALL(cuptiPmSamplingDisable, gp_pw_object, "pm_disable")
{
    if (p->object != &pm || !pm.enabled) return MOCK_BAD;
    pm.enabled = pm.started = false;
    return 0;
}

CALL(cuptiPmSamplingSetConfig, gp_pm_set_config, "pm_set_config")
{
    if (p->object != &pm || p->trigger != GP_PM_NANOSECONDS || !p->interval || p->config[0] != 1)
        return MOCK_BAD;
    pm.interval = p->interval;
    pm.configured = true;
    return 0;
}

CALL(cuptiPmSamplingGetCounterDataSize, gp_pm_data_size, "pm_size")
{
    if (p->samples > MOST - 2) return MOCK_BAD;
    pm.most = p->samples;
    p->bytes = 64;
    return 0;
}

CALL(cuptiPmSamplingCounterDataImageInitialize, gp_pm_data, "pm_init")
{
    if (p->bytes != 64) return MOCK_BAD;
    pm.n = 0;
    return 0;
}

CALL(cuptiPmSamplingStart, gp_pw_object, "pm_start")
{
    if (p->object != &pm || !pm.configured || pm.started) return WRONG;
    pm.started = pm.first = true;
    pm.next = mock_now();
    return 0;
}

CALL(cuptiPmSamplingStop, gp_pw_object, "pm_stop")
{
    if (p->object != &pm || !pm.started) return WRONG;
    pm.started = false;
    return 0;
}

static void add(uint64_t start, uint64_t end)
{
    pm.at[pm.n].start = start;
    pm.at[pm.n++].end = end;
}

CALL(cuptiPmSamplingDecodeData, gp_pm_decode, "pm_decode")
{
    const char *overflow = getenv("MOCK_PM_OVERFLOW");
    uint64_t now = mock_now();
    if (p->object != &pm) return MOCK_BAD;
    pm.full |= overflow && ++pm.decoded == atoi(overflow);
    p->overflow = pm.full;
    if (pm.full) return FULL;
    if (pm.first) add(pm.next - 1000000000, pm.next);
    pm.first = false;
    for (; pm.n < pm.most && pm.next + pm.interval <= now; pm.next += pm.interval)
        add(pm.next, pm.next + pm.interval);
    p->why = pm.n == pm.most ? 1 : 2;
    add(pm.next, pm.next);
    return 0;
}

CALL(cuptiPmSamplingGetCounterDataInfo, gp_pm_info, "pm_info")
{
    p->total = pm.most;
    p->populated = p->completed = pm.n;
    return 0;
}

CALL(cuptiPmSamplingCounterDataGetSampleInfo, gp_pm_sample, "pm_sample")
{
    if (p->index >= pm.n) return MOCK_BAD;
    p->start = pm.at[p->index].start;
    p->end = pm.at[p->index].end;
    return 0;
}

double mock_pm_value(const char *name, size_t i)
{
    if (i >= pm.n || strstr(name, "missing")) return NAN;
    return strstr(name, "bytes") ? 2.0 * (double)(pm.at[i].end - pm.at[i].start) : 50;
}
