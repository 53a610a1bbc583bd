#include "tests/fuzz/help/shaped.h"

#include <string.h>
#include "collect/records/records.h"
#include "tests/unit/record_make.h"

/* Offsets of 64 bits each; 0: the record has none. */
struct shape {
    uint32_t kind, bytes;
    uint16_t start, end, corr;
};

static const struct shape shapes[] = {
    {GP_ACTIVITY_CONCURRENT_KERNEL, KERNEL_BYTES, GP_AT_KERNEL_start, GP_AT_KERNEL_end,
     GP_AT_KERNEL_correlationId},
    {GP_ACTIVITY_RUNTIME, CALL_BYTES, GP_AT_CALL_start, GP_AT_CALL_end, GP_AT_CALL_correlationId},
    {GP_ACTIVITY_MEMCPY, 96, GP_AT_MEMCPY_start, GP_AT_MEMCPY_end, GP_AT_MEMCPY_correlationId},
    {GP_ACTIVITY_MEMSET, SET_BYTES, GP_AT_MEMSET_start, GP_AT_MEMSET_end, GP_AT_MEMSET_correlationId},
    {GP_ACTIVITY_DRIVER, CALL_BYTES, GP_AT_CALL_start, GP_AT_CALL_end, GP_AT_CALL_correlationId},
    {GP_ACTIVITY_KERNEL, KERNEL_BYTES, GP_AT_KERNEL_start, GP_AT_KERNEL_end, GP_AT_KERNEL_correlationId},
    {GP_ACTIVITY_MEMCPY2, 112, GP_AT_PEER_start, GP_AT_PEER_end, GP_AT_PEER_correlationId},
    {GP_ACTIVITY_SYNCHRONIZATION, 48, GP_AT_SYNC_start, GP_AT_SYNC_end, GP_AT_SYNC_correlationId},
    {GP_ACTIVITY_CUDA_EVENT, 64, GP_AT_EVENT_deviceTimestamp, 0, GP_AT_EVENT_correlationId},
    {GP_ACTIVITY_MEMORY2, 144, GP_AT_MEMORY_timestamp, 0, GP_AT_MEMORY_correlationId},
    {GP_ACTIVITY_MEMORY_POOL, 80, GP_AT_POOL_timestamp, 0, GP_AT_POOL_correlationId},
    {GP_ACTIVITY_GRAPH_TRACE, 48, GP_AT_GRAPH_start, GP_AT_GRAPH_end, GP_AT_GRAPH_correlationId},
    {GP_ACTIVITY_UNIFIED_MEMORY, 64, GP_AT_UNIFIED_start, GP_AT_UNIFIED_end, 0},
    {GP_ACTIVITY_JIT, 80, GP_AT_JIT_start, GP_AT_JIT_end, 0},
    {GP_ACTIVITY_OVERHEAD, 64, GP_AT_OVERHEAD_start, GP_AT_OVERHEAD_end, 0},
    {GP_ACTIVITY_CONTEXT, 32, 0, 0, 0},
    {GP_ACTIVITY_DEVICE, 152, 0, 0, 0},
    {GP_ACTIVITY_STREAM, 24, 0, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

size_t fuzz_shaped_bytes(uint32_t kind)
{
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].kind == kind) return shapes[i].bytes;
    return 0;
}

uint32_t fuzz_shaped_kind(size_t i) { return i < SHAPES ? shapes[i].kind : 0; }

/* What makes a record of that kind one that can be true. */
static void fill(uint8_t *p, const struct shape *s, uint32_t pid)
{
    switch (s->kind) {
    case GP_ACTIVITY_KERNEL:
    case GP_ACTIVITY_CONCURRENT_KERNEL: make_kernel(p, FUZZ_TEXT_AT, 1, 1, 1); break;
    case GP_ACTIVITY_RUNTIME:
    case GP_ACTIVITY_DRIVER:
        make_call(p, 1, 1, 1);
        PUT(p, GP_AT_CALL_threadId - 4, uint32_t, pid);
        break;
    case GP_ACTIVITY_MEMCPY:
    case GP_ACTIVITY_MEMCPY2:
        p[GP_AT_MEMCPY_copyKind] = 1;
        p[GP_AT_MEMCPY_srcKind] = p[GP_AT_MEMCPY_dstKind] = 1;
        PUT(p, GP_AT_MEMCPY_bytes, uint64_t, 4096);
        break;
    case GP_ACTIVITY_MEMORY2:
        PUT(p, GP_AT_MEMORY_memoryOperationType, uint32_t, 1);
        PUT(p, GP_AT_MEMORY_bytes, uint64_t, 512);
        break;
    case GP_ACTIVITY_CUDA_EVENT: PUT(p, GP_AT_EVENT_contextId, uint32_t, 1); break;
    default: break;
    }
    PUT(p, 0, uint32_t, s->kind);
}

/* Four bytes at a place of the record that the input chooses. */
static void change_field(uint8_t *p, size_t n, struct fuzz_take *in)
{
    size_t at = fuzz_take_number(in, 1) * 4 % (n - 4);
    uint64_t v = fuzz_take_any(in);
    memcpy(p + at, &v, at + 8 <= n && (v >> 32 || at % 8 == 0) ? 8 : 4);
}

size_t fuzz_shaped_records(uint8_t *to, size_t room, struct fuzz_take *in, uint32_t pid, uint64_t *count)
{
    size_t n = 0, records = fuzz_take_number(in, 1), done = 0;
    int64_t at_ns = FUZZ_EARLIEST_NS;
    for (; done < records; done++) {
        const struct shape *s = &shapes[fuzz_take_number(in, 1) % SHAPES];
        size_t changes = fuzz_take_number(in, 1), corr = fuzz_take_number(in, 1);
        if (s->bytes > room - n) break;
        memset(to + n, 0, s->bytes);
        fill(to + n, s, pid);
        at_ns += 1000;
        if (s->start) PUT(to + n, s->start, int64_t, at_ns);
        if (s->end) PUT(to + n, s->end, int64_t, at_ns + 500);
        if (s->corr) PUT(to + n, s->corr, uint32_t, corr);
        for (changes = changes < 192 ? 0 : changes % 4; changes; changes--)
            change_field(to + n, s->bytes, in);
        n += s->bytes;
    }
    if (count) *count = done;
    return n;
}
