/* Program counters of a GPU that is not there, for tests: each launch of a kernel leaves planted samples,
 * which come out summed up by instruction, or launch by launch where that was asked for, a few at a time.
 *
 *   per launch   offset 16  long_scoreboard 5, 3 of them hidden    offset 32  selected 2, wait 1
 *                and 2 more that belong to no kernel of the program
 *
 *   MOCK_METRICS_ERROR=CODE@CALL  CALL (pc_enable, pc_set, pc_data, pc_reasons ...) fails with CODE
 *   MOCK_PC_DROP=N                N samples were dropped, once
 *   MOCK_PC_FULL=1                the hardware buffer was full, once
 *
 * Line 10 + OFFSET / 16 of kernel.cu is at OFFSET, in the cubin that has lines; kernels of which others know
 * nothing ("relu") are in the one without.
 */
#include "tests/mock/mock_perfworks.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "collect/wire/pc_rows.h"

enum { MOST = 4096, AT_ONCE = 3, CRC = 1000 };

static const char *const reasons[] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected",
    "smsp__pcsamp_warps_issue_stalled_selected_not_issued",
    "smsp__pcsamp_warps_issue_stalled_wait",
    "smsp__pcsamp_warps_issue_stalled_wait_not_issued",
    "smsp__pcsamp_samples_of_something_else",
};
enum { REASONS = sizeof reasons / sizeof *reasons, FIRST = 20 /* the number of the first */ };

static struct {
    pthread_mutex_t lock;
    bool enabled;
    uint32_t mode;
    CUpti_PCSamplingData *rest;
    struct {
        const char *kernel;
        uint32_t corr, launches;
    } at[MOST];
    size_t n, given; /* given: records of the first */
    uint64_t other, dropped;
    bool full, told;
} mock = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char mock_pc_code[2][32] = {"mock cubin .debug_line", "mock cubin without"};

void mock_pc_launch(const char *kernel, uint32_t corr)
{
    pthread_mutex_lock(&mock.lock);
    size_t i = mock.given ? 1 : 0;
    if (mock.mode == GP_PC_LAUNCHES) i = mock.n;
    while (i < mock.n && strcmp(mock.at[i].kernel, kernel) != 0) i++;
    if (mock.enabled && mock.mode && i < MOST) {
        if (i == mock.n) mock.at[mock.n++].launches = 0;
        mock.at[i].kernel = kernel;
        mock.at[i].corr = mock.mode == GP_PC_LAUNCHES ? corr : 0;
        mock.at[i].launches++;
        mock.other += 2;
    }
    pthread_mutex_unlock(&mock.lock);
}

/* What MOCK_METRICS_ERROR makes of the call. */
static CUptiResult error(const char *call) { return (CUptiResult)mock_perfworks_error(call); }

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
    if (p->size != CUpti_PCSamplingEnableParamsSize || mock.enabled) return CUPTI_ERROR_INVALID_OPERATION;
    if (error("pc_enable")) return error("pc_enable");
    mock.enabled = true;
    mock.dropped = (uint64_t)mock_setting("MOCK_PC_DROP");
    mock.full = mock_setting("MOCK_PC_FULL") != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
    if (!mock.enabled) return CUPTI_ERROR_INVALID_OPERATION;
    for (size_t i = 0; i < p->numAttributes; i++) {
        const CUpti_PCSamplingConfigurationInfo *a = &p->pPCSamplingConfigurationInfo[i];
        uint32_t period = a->attributeData.samplingPeriodData.samplingPeriod;
        if (a->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
            mock.mode = a->attributeData.collectionModeData.collectionMode;
        if (a->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
            mock.rest = a->attributeData.samplingDataBufferData.samplingDataBuffer;
        if (a->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD &&
            (period < GP_PC_PERIOD_LEAST || period > GP_PC_PERIOD_MOST))
            return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return error("pc_set");
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
    *p->numStallReasons = REASONS;
    return error("pc_reason_count");
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
    for (uint32_t i = 0; i < p->numStallReasons && i < REASONS; i++) {
        p->stallReasonIndex[i] = FIRST + i;
        strcpy(p->stallReasons[i], reasons[i]);
    }
    return error("pc_reasons");
}

/* Record I of the two that a kernel has. */
static uint64_t put_record(CUpti_PCSamplingPCData *r, size_t i)
{
    static const uint32_t planted[2][REASONS] = {{5, 3}, {0, 0, 2, 0, 1, 1, 9}};
    uint32_t launches = mock.at[0].launches;
    uint64_t sum = 0;
    r->cubinCrc = CRC + (strcmp(mock.at[0].kernel, "_Z4reluPf") == 0);
    r->pcOffset = 16 * (i + 1);
    r->functionName = (char *)(uintptr_t)mock.at[0].kernel;
    r->correlationId = mock.at[0].corr;
    r->stallReasonCount = 0;
    for (uint32_t k = 0; k < REASONS; k++) {
        if (!planted[i][k]) continue;
        r->stallReason[r->stallReasonCount++] =
            (CUpti_PCSamplingStallReason){FIRST + k, planted[i][k] * launches};
        if (k % 2 == 0 && k != REASONS - 1) sum += planted[i][k] * launches;
    }
    return sum;
}

/* Under the lock. */
static void hand_over(CUpti_PCSamplingData *d, size_t most)
{
    d->nonUsrKernelsTotalSamples = mock.other;
    d->droppedSamples = mock.dropped;
    d->totalSamples = d->nonUsrKernelsTotalSamples + d->droppedSamples;
    mock.dropped = mock.other = 0;
    for (d->totalNumPcs = 0; mock.n && d->totalNumPcs < most && d->totalNumPcs < d->collectNumPcs;) {
        d->totalSamples += put_record(&d->pPcData[d->totalNumPcs++], mock.given);
        if (++mock.given < 2) continue;
        mock.given = 0;
        memmove(mock.at, mock.at + 1, --mock.n * sizeof *mock.at);
    }
    d->remainingNumPcs = 2 * mock.n - mock.given;
}

/* A few at a time, and not the last launch, which the GPU still has unless launches are sampled one by
 * one. */
CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
    if (error("pc_data")) return error("pc_data");
    if (!mock.enabled || !mock.rest) return CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&mock.lock);
    bool full = mock.full && mock.n;
    mock.full &= !full;
    if (!full && mock.n > (mock.mode == GP_PC_CONTINUOUS)) hand_over(p->pcSamplingData, AT_ONCE);
    pthread_mutex_unlock(&mock.lock);
    return full ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
    (void)p;
    if (!mock.enabled) return CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&mock.lock);
    hand_over(mock.rest, SIZE_MAX);
    mock.enabled = false;
    pthread_mutex_unlock(&mock.lock);
    return error("pc_disable");
}

CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *p)
{
    p->cubinCrc = CRC + (strcmp(p->cubin, mock_pc_code[0]) != 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *p)
{
    if (p->size != CUpti_GetSassToSourceCorrelationParamsSize || strcmp(p->cubin, mock_pc_code[0]) != 0)
        return CUPTI_ERROR_INVALID_MODULE;
    p->lineNumber = (uint32_t)(10 + p->pcOffset / 16);
    p->fileName = strdup("kernel.cu");
    p->dirName = strdup("/src");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
    (void)context;
    *device = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *number)
{
    (void)context;
    *number = 1;
    return CUPTI_SUCCESS;
}
