#include "collect/records/salvage.h"

#include <stdbool.h>
#include "collect/records/records_priv.h"

enum verdict { BELIEVED, UNFINISHED, REFUSED };

/* Offsets are below 2^16; no field: 0. */
struct shape {
    uint16_t kind, least; /* LEAST: its minimum size in any version */
    uint16_t start, end, corr;
    bool work; /* on the GPU: its record is begun first and finished later */
};

static const struct shape shapes[] = {
    {GP_ACTIVITY_KERNEL, GP_AT_KERNEL_graphId + 4, GP_AT_KERNEL_start, GP_AT_KERNEL_end,
     GP_AT_KERNEL_correlationId, true},
    {GP_ACTIVITY_CONCURRENT_KERNEL, GP_AT_KERNEL_graphId + 4, GP_AT_KERNEL_start, GP_AT_KERNEL_end,
     GP_AT_KERNEL_correlationId, true},
    {GP_ACTIVITY_MEMCPY, GP_AT_MEMCPY_graphId + 4, GP_AT_MEMCPY_start, GP_AT_MEMCPY_end,
     GP_AT_MEMCPY_correlationId, true},
    {GP_ACTIVITY_MEMCPY2, GP_AT_PEER_graphId + 4, GP_AT_PEER_start, GP_AT_PEER_end, GP_AT_PEER_correlationId,
     true},
    {GP_ACTIVITY_MEMSET, GP_AT_MEMSET_graphId + 4, GP_AT_MEMSET_start, GP_AT_MEMSET_end,
     GP_AT_MEMSET_correlationId, true},
    {GP_ACTIVITY_RUNTIME, GP_AT_CALL_returnValue + 4, GP_AT_CALL_start, GP_AT_CALL_end,
     GP_AT_CALL_correlationId, false},
    {GP_ACTIVITY_DRIVER, GP_AT_CALL_returnValue + 4, GP_AT_CALL_start, GP_AT_CALL_end,
     GP_AT_CALL_correlationId, false},
    {GP_ACTIVITY_MEMORY_POOL, GP_AT_POOL_utilizedSize + 8, GP_AT_POOL_timestamp, GP_AT_POOL_timestamp, 0,
     false},
    {GP_ACTIVITY_UNIFIED_MEMORY, GP_AT_UNIFIED_flags + 4, GP_AT_UNIFIED_start, GP_AT_UNIFIED_start, 0,
     false}, /* some of them are instants */
    {GP_ACTIVITY_GRAPH_TRACE, GP_AT_GRAPH_streamId + 4, GP_AT_GRAPH_start, GP_AT_GRAPH_end,
     GP_AT_GRAPH_correlationId, true},
    {GP_ACTIVITY_JIT, GP_AT_JIT_end + 8, GP_AT_JIT_start, GP_AT_JIT_end, 0, false},
    {GP_ACTIVITY_CUDA_EVENT, GP_AT_EVENT_eventId + 4, 0, 0, GP_AT_EVENT_correlationId, false},
    {GP_ACTIVITY_SYNCHRONIZATION, GP_AT_SYNC_cudaEventId + 4, GP_AT_SYNC_start, GP_AT_SYNC_end, 0, false},
    {GP_ACTIVITY_OVERHEAD, GP_AT_OVERHEAD_end + 8, GP_AT_OVERHEAD_start, GP_AT_OVERHEAD_end, 0, false},
    {GP_ACTIVITY_MEMORY2, GP_AT_MEMORY_memoryPoolConfig + 32, GP_AT_MEMORY_timestamp, GP_AT_MEMORY_timestamp,
     0, false},
    {GP_ACTIVITY_DEVICE, GP_AT_DEVICE_name + 8, 0, 0, 0, false},
    {GP_ACTIVITY_CONTEXT, GP_AT_CONTEXT_deviceId + 4, 0, 0, 0, false},
};

/* ---- plausible records ---- */

enum {
    MAX_DEVICES = 1024,
    MAX_BLOCK = 1024,
    MAX_SMS = 1 << 16,
    MAX_COPY_KIND = 10,
    MAX_MEMORY_KIND = 7,
    MAX_CBID = 4096
};
static const uint64_t MAX_COPY_BYTES = UINT64_C(1) << 48;

static bool kernel_can_be(const uint8_t *r)
{
    for (size_t i = 0; i < 3; i++) {
        uint32_t grid = gp_get_u32(r, GP_AT_KERNEL_gridX + 4 * i),
                 block = gp_get_u32(r, GP_AT_KERNEL_blockX + 4 * i);
        if (!grid || grid > INT32_MAX || !block || block > MAX_BLOCK) return false;
    }
    return gp_get_u32(r, GP_AT_KERNEL_deviceId) < MAX_DEVICES;
}

static bool copy_can_be(const uint8_t *r)
{
    uint8_t kind = r[GP_AT_MEMCPY_copyKind];
    return kind && kind <= MAX_COPY_KIND && r[GP_AT_MEMCPY_srcKind] <= MAX_MEMORY_KIND &&
           r[GP_AT_MEMCPY_dstKind] <= MAX_MEMORY_KIND &&
           gp_get_u64(r, GP_AT_MEMCPY_bytes) <= MAX_COPY_BYTES &&
           gp_get_u32(r, GP_AT_MEMCPY_deviceId) < MAX_DEVICES;
}

static bool set_can_be(const uint8_t *r)
{
    return gp_get_u64(r, GP_AT_MEMSET_bytes) <= MAX_COPY_BYTES &&
           gp_get_u32(r, GP_AT_MEMSET_deviceId) < MAX_DEVICES;
}

static bool call_can_be(const struct gp_salvage *s, const uint8_t *r)
{
    enum { PROCESS_ID = GP_AT_CALL_threadId - 4 };
    uint32_t cbid = gp_get_u32(r, GP_AT_CALL_cbid);
    return cbid && cbid < MAX_CBID && gp_get_u32(r, PROCESS_ID) == s->pid &&
           gp_get_u32(r, GP_AT_CALL_threadId);
}

static bool memory_can_be(const uint8_t *r)
{
    uint32_t operation = gp_get_u32(r, GP_AT_MEMORY_memoryOperationType);
    return (operation == 1 || operation == 2) && gp_get_u32(r, GP_AT_MEMORY_memoryKind) <= MAX_MEMORY_KIND &&
           gp_get_u64(r, GP_AT_MEMORY_bytes) <= MAX_COPY_BYTES;
}

static bool can_be(const struct gp_salvage *s, const uint8_t *r)
{
    switch (gp_get_u32(r, 0)) {
    case GP_ACTIVITY_KERNEL:
    case GP_ACTIVITY_CONCURRENT_KERNEL: return kernel_can_be(r);
    case GP_ACTIVITY_MEMCPY:
    case GP_ACTIVITY_MEMCPY2: return copy_can_be(r);
    case GP_ACTIVITY_MEMSET: return set_can_be(r);
    case GP_ACTIVITY_RUNTIME:
    case GP_ACTIVITY_DRIVER: return call_can_be(s, r);
    case GP_ACTIVITY_MEMORY2: return memory_can_be(r);
    case GP_ACTIVITY_DEVICE:
        return gp_get_u32(r, GP_AT_DEVICE_id) < MAX_DEVICES &&
               gp_get_u32(r, GP_AT_DEVICE_numMultiprocessors) < MAX_SMS;
    case GP_ACTIVITY_GRAPH_TRACE: return gp_get_u32(r, GP_AT_GRAPH_deviceId) < MAX_DEVICES;
    case GP_ACTIVITY_CUDA_EVENT: return gp_get_u32(r, GP_AT_EVENT_contextId) != 0;
    case GP_ACTIVITY_CONTEXT: return gp_get_u32(r, GP_AT_CONTEXT_deviceId) < MAX_DEVICES;
    default: return true;
    }
}

static enum verdict judge(const struct gp_salvage *s, const struct shape *shape, const uint8_t *r)
{
    if (shape->corr && !gp_get_u32(r, shape->corr)) return REFUSED;
    if (!can_be(s, r)) return REFUSED;
    if (!shape->start) return BELIEVED;
    int64_t start = (int64_t)gp_get_u64(r, shape->start), end = (int64_t)gp_get_u64(r, shape->end);
    if (shape->work && (!start || !end)) return UNFINISHED;
    if (start <= 0 || end < start) return REFUSED;
    if (s->earliest_ns && (start < s->earliest_ns || end > s->latest_ns)) return REFUSED;
    return BELIEVED;
}

/* ---- walking a buffer ---- */

static const struct shape *find_shape(uint32_t kind)
{
    for (size_t i = 0; i < GP_COUNT(shapes); i++)
        if (shapes[i].kind == kind) return &shapes[i];
    return NULL;
}

/* A record that may be at the very end, copied to where all of it can be read. */
static void copy_record(uint8_t to[GP_RECORD_BYTES], const uint8_t *from, size_t n)
{
    if (n > GP_RECORD_BYTES) n = GP_RECORD_BYTES;
    memcpy(to, from, n);
    memset(to + n, 0, GP_RECORD_BYTES - n);
}

void gp_salvage_buffer(struct gp_salvage *s, const uint8_t *data, size_t n)
{
    uint8_t record[GP_RECORD_BYTES];
    for (size_t at = 0, size; n - at >= 8; at += size) {
        uint32_t kind = gp_get_u32(data, at);
        size = kind ? s->bytes(s->ctx, kind) : 0;
        if (size < 8 || size > n - at) return;
        const struct shape *shape = find_shape(kind);
        if (!shape) continue; /* unusable */
        if (size < shape->least) return;
        copy_record(record, data + at, size);
        switch (judge(s, shape, record)) {
        case BELIEVED:
            s->take(s->ctx, record);
            s->taken++;
            break;
        case UNFINISHED: s->unfinished++; break;
        case REFUSED: s->refused++; break;
        }
    }
}

void gp_salvage_returned(struct gp_salvage *s, const uint8_t *data, size_t n, uint64_t count)
{
    uint8_t record[GP_RECORD_BYTES];
    for (size_t at = 0; count && n - at >= 8; count--) {
        size_t left = n - at, size = s->bytes(s->ctx, gp_get_u32(data, at));
        if (left >= GP_RECORD_BYTES) {
            s->take(s->ctx, data + at);
        } else {
            copy_record(record, data + at, left);
            s->take(s->ctx, record);
        }
        s->taken++;
        if (size < 8 || size > left) return;
        at += size;
    }
}
