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
#include "collect/counters/perfworks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "collect/wire/pc_rows.h"
#include "tests/mock/mock_perfworks.h"

enum { MOST = 4096, WRONG = 7, AT_ONCE = 3, CRC = 1000 };

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
    struct gp_pc_data *rest;
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

CALL(cuptiPCSamplingEnable, gp_pc_context, "pc_enable")
{
    (void)p;
    if (mock.enabled) return WRONG;
    mock.enabled = true;
    mock.dropped = (uint64_t)mock_setting("MOCK_PC_DROP");
    mock.full = mock_setting("MOCK_PC_FULL") != 0;
    return 0;
}

CALL(cuptiPCSamplingSetConfigurationAttribute, gp_pc_configuration, "pc_set")
{
    if (!mock.enabled) return WRONG;
    for (size_t i = 0; i < p->n; i++) {
        const struct gp_pc_attribute *a = &p->attributes[i];
        if (a->type == GP_PC_MODE) mock.mode = a->number;
        if (a->type == GP_PC_DATA) mock.rest = a->buffer;
        if (a->type == GP_PC_PERIOD && (a->number < 5 || a->number > 31)) return MOCK_BAD;
    }
    return 0;
}

CALL(cuptiPCSamplingGetNumStallReasons, gp_pc_count, "pc_reason_count")
{
    *p->n = REASONS;
    return 0;
}

CALL(cuptiPCSamplingGetStallReasons, gp_pc_reasons, "pc_reasons")
{
    for (uint32_t i = 0; i < p->n && i < REASONS; i++) {
        p->index[i] = FIRST + i;
        strcpy(p->names[i], reasons[i]);
    }
    return 0;
}

/* Record I of the two that a kernel has. */
static uint64_t put_record(struct gp_pc_record *r, size_t i)
{
    static const uint32_t planted[2][REASONS] = {{5, 3}, {0, 0, 2, 0, 1, 1, 9}};
    uint32_t launches = mock.at[0].launches;
    r->crc = CRC + (strcmp(mock.at[0].kernel, "_Z4reluPf") == 0);
    r->offset = 16 * (i + 1);
    r->function = (char *)(uintptr_t)mock.at[0].kernel;
    r->corr = mock.at[0].corr;
    r->n = 0;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < REASONS; k++) {
        if (!planted[i][k]) continue;
        r->stalls[r->n++] = (struct gp_pc_stall){FIRST + k, planted[i][k] * launches};
        if (k % 2 == 0 && k != REASONS - 1) sum += planted[i][k] * launches;
    }
    return sum;
}

/* Under the lock. */
static void hand_over(struct gp_pc_data *d, size_t most)
{
    d->other = mock.other;
    d->dropped = mock.dropped;
    d->total = d->other + d->dropped;
    mock.dropped = mock.other = 0;
    for (d->n = 0; mock.n && d->n < most && d->n < d->room;) {
        d->total += put_record(&d->records[d->n++], mock.given);
        if (++mock.given < 2) continue;
        mock.given = 0;
        memmove(mock.at, mock.at + 1, --mock.n * sizeof *mock.at);
    }
    d->left = 2 * mock.n - mock.given;
}

/* A few at a time, and not the last launch, which the GPU still has unless launches are sampled one by
 * one. */
CALL(cuptiPCSamplingGetData, gp_pc_get, "pc_data")
{
    if (!mock.enabled || !mock.rest) return WRONG;
    pthread_mutex_lock(&mock.lock);
    bool full = mock.full && mock.n;
    mock.full &= !full;
    if (!full && mock.n > (mock.mode == GP_PC_CONTINUOUS)) hand_over(p->data, AT_ONCE);
    pthread_mutex_unlock(&mock.lock);
    return full ? GP_PC_BUFFER_FULL : 0;
}

CALL(cuptiPCSamplingDisable, gp_pc_context, "pc_disable")
{
    (void)p;
    if (!mock.enabled) return WRONG;
    pthread_mutex_lock(&mock.lock);
    hand_over(mock.rest, SIZE_MAX);
    mock.enabled = false;
    pthread_mutex_unlock(&mock.lock);
    return 0;
}

EXPORT int cuptiGetCubinCrc(struct gp_pc_crc *p);
EXPORT int cuptiGetCubinCrc(struct gp_pc_crc *p)
{
    p->crc = CRC + (strcmp(p->cubin, mock_pc_code[0]) != 0);
    return 0;
}

EXPORT int cuptiGetSassToSourceCorrelation(struct gp_pc_source *p);
EXPORT int cuptiGetSassToSourceCorrelation(struct gp_pc_source *p)
{
    if (p->size != GP_PW_SIZE(struct gp_pc_source, folder) || strcmp(p->cubin, mock_pc_code[0]) != 0)
        return MOCK_BAD;
    p->line = (uint32_t)(10 + p->offset / 16);
    p->file = strdup("kernel.cu");
    p->folder = strdup("/src");
    return 0;
}
