/* record_make.h -- activity records as CUPTI 13 lays them out, for tests of what reads them. */
#ifndef GP_TESTS_RECORD_MAKE_H
#define GP_TESTS_RECORD_MAKE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "collect/records/records.h"

enum { KERNEL_BYTES = 216, CALL_BYTES = 40, SET_BYTES = 88, PID = 100, TID = 101, LAUNCH_CBID = 7 };

#define PUT(rec, at, type, value)                                                                            \
    do {                                                                                                     \
        type gp_v_ = (type)(value);                                                                          \
        memcpy((rec) + (at), &gp_v_, sizeof gp_v_);                                                          \
    } while (0)

/* Each of them writes a whole record at P and returns where the next one goes. */
static inline uint8_t *make_kernel(uint8_t *p, uint64_t name, uint32_t corr, int64_t start, int64_t end)
{
    memset(p, 0, KERNEL_BYTES);
    PUT(p, 0, uint32_t, GP_ACTIVITY_CONCURRENT_KERNEL);
    PUT(p, GP_AT_KERNEL_start, int64_t, start);
    PUT(p, GP_AT_KERNEL_end, int64_t, end);
    PUT(p, GP_AT_KERNEL_streamId, uint32_t, 7);
    for (size_t i = 0; i < 3; i++) {
        PUT(p, GP_AT_KERNEL_gridX + 4 * i, uint32_t, 1);
        PUT(p, GP_AT_KERNEL_blockX + 4 * i, uint32_t, 32 >> (4 * i / 2));
    }
    PUT(p, GP_AT_KERNEL_correlationId, uint32_t, corr);
    PUT(p, GP_AT_KERNEL_name, uint64_t, name);
    return p + KERNEL_BYTES;
}

static inline uint8_t *make_call(uint8_t *p, uint32_t corr, int64_t start, int64_t end)
{
    memset(p, 0, CALL_BYTES);
    PUT(p, 0, uint32_t, GP_ACTIVITY_RUNTIME);
    PUT(p, GP_AT_CALL_cbid, uint32_t, LAUNCH_CBID);
    PUT(p, GP_AT_CALL_start, int64_t, start);
    PUT(p, GP_AT_CALL_end, int64_t, end);
    PUT(p, GP_AT_CALL_threadId - 4, uint32_t, PID);
    PUT(p, GP_AT_CALL_threadId, uint32_t, TID);
    PUT(p, GP_AT_CALL_correlationId, uint32_t, corr);
    return p + CALL_BYTES;
}

static inline uint8_t *make_set(uint8_t *p, uint32_t corr, int64_t start, int64_t end)
{
    memset(p, 0, SET_BYTES);
    PUT(p, 0, uint32_t, GP_ACTIVITY_MEMSET);
    PUT(p, GP_AT_MEMSET_bytes, int64_t, 50);
    PUT(p, GP_AT_MEMSET_start, int64_t, start);
    PUT(p, GP_AT_MEMSET_end, int64_t, end);
    PUT(p, GP_AT_MEMSET_correlationId, uint32_t, corr);
    return p + SET_BYTES;
}

#endif
