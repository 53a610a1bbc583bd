#include "collect/inject/tracer_priv.h"

#include <stddef.h>
#include "collect/inject/inject.h"
#include "collect/records/records.h"

/* ---- the offsets in records.h must match the headers ---- */

#if CUPTI_API_VERSION >= 130000
#define STRUCT_KERNEL   CUpti_ActivityKernel10
#define STRUCT_MEMCPY   CUpti_ActivityMemcpy6
#define STRUCT_PEER     CUpti_ActivityMemcpyPtoP4
#define STRUCT_MEMSET   CUpti_ActivityMemset4
#define STRUCT_MEMORY   CUpti_ActivityMemory4
#define STRUCT_CALL     CUpti_ActivityAPI
#define STRUCT_SYNC     CUpti_ActivitySynchronization2
#define STRUCT_EVENT    CUpti_ActivityCudaEvent2
#define STRUCT_UNIFIED  CUpti_ActivityUnifiedMemoryCounter3
#define STRUCT_POOL     CUpti_ActivityMemoryPool3
#define STRUCT_JIT      CUpti_ActivityJit2
#define STRUCT_GRAPH    CUpti_ActivityGraphTrace2
#define STRUCT_OVERHEAD CUpti_ActivityOverhead3
#define STRUCT_CONTEXT  CUpti_ActivityContext3
#define STRUCT_DEVICE   CUpti_ActivityDevice5
#define X(record, field, offset)                                                                             \
    _Static_assert(offsetof(STRUCT_##record, field) == (offset), #record "." #field " has moved");
GP_OFFSETS(X)
#undef X
#endif
_Static_assert((int)GP_ACTIVITY_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)GP_ACTIVITY_SYNCHRONIZATION == (int)CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "kind");
_Static_assert((int)GP_ACTIVITY_UNIFIED_MEMORY == (int)CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, "kind");
_Static_assert((int)GP_ACTIVITY_MEMORY_POOL == (int)CUPTI_ACTIVITY_KIND_MEMORY_POOL, "kind");
_Static_assert((int)GP_ACTIVITY_GRAPH_TRACE == (int)CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "kind");
_Static_assert((int)GP_ACTIVITY_JIT == (int)CUPTI_ACTIVITY_KIND_JIT, "kind");
_Static_assert((int)GP_ACTIVITY_CUDA_EVENT == (int)CUPTI_ACTIVITY_KIND_CUDA_EVENT, "kind");
_Static_assert((int)GP_ACTIVITY_MEMORY2 == (int)CUPTI_ACTIVITY_KIND_MEMORY2, "kind");
_Static_assert((int)GP_ACTIVITY_OVERHEAD == (int)CUPTI_ACTIVITY_KIND_OVERHEAD, "kind");
_Static_assert((int)GP_WAIT_CONTEXT == (int)CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, "wait");

static _Atomic bool is_unified; /* the counters of unified memory are configured */

void gp_tracer_configure_unified(void)
{
    unsigned n = 0;
    if (!gp_tracer.opts.memory || !gp_cupti.cuptiActivityConfigureUnifiedMemoryCounter ||
        atomic_load(&is_unified))
        return;
    for (int kind = 1; kind < CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT; kind++) {
        CUpti_ActivityUnifiedMemoryCounterConfig c = {
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
            .kind = (CUpti_ActivityUnifiedMemoryCounterKind)kind,
            .enable = 1,
        };
        CUptiResult rc = gp_cupti.cuptiActivityConfigureUnifiedMemoryCounter(&c, 1);
        n += rc == CUPTI_SUCCESS;
        if (rc != CUPTI_SUCCESS)
            gp_debug("unified memory counter %d: %d %s", kind, (int)rc, gp_cupti_text(rc));
    }
    if (!n) return;
    atomic_store(&is_unified, true);
    if (atomic_load(&gp_tracer.recording)) gp_cupti_switch(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, true);
}

/* Copies and sets are always recorded with kernels: graphs have all three, and records that were not enabled
 * have been seen to fill CUPTI's device buffers. */
static const CUpti_ActivityKind beside_kernels[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY,   CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_JIT,
};

/* What the records refer to. */
static const CUpti_ActivityKind always[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,
    CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM,
};

void gp_tracer_switch_memory(bool on)
{
    gp_cupti_switch(CUPTI_ACTIVITY_KIND_MEMORY2, on);
    if (gp_cupti.cuptiActivityEnableAllocationSource && gp_cupti.version >= 130000)
        gp_cupti.cuptiActivityEnableAllocationSource(on);
    gp_cupti_switch(CUPTI_ACTIVITY_KIND_MEMORY_POOL, on);
}

CUptiResult gp_tracer_switch_kinds(bool on)
{
    /* To record kernels that run side by side CUPTI puts code into them: 8 instructions per warp and a store,
     * which hardware counters count, and times without the beginnings and ends. */
    CUptiResult rc = gp_cupti_switch(
        gp_tracer.opts.one_by_one ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, on);
    if (rc != CUPTI_SUCCESS && on) return rc;
    for (size_t i = 0; i < GP_COUNT(beside_kernels); i++) gp_cupti_switch(beside_kernels[i], on);
    atomic_store(&gp_tracer.recording, on);
    if (gp_tracer.opts.whole_graphs) gp_cupti_switch(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
    if (gp_tracer.opts.memory && !(on && gp_tracer_leaves_out(GP_BUDGET_MEMORY))) gp_tracer_switch_memory(on);
    if (atomic_load(&is_unified)) gp_cupti_switch(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, on);
    if (gp_tracer.opts.api >= GP_API_LEVEL_ALL) {
        gp_cupti_switch(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, on);
        gp_cupti_switch(CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
    }
    gp_tracer_switch_waits(on && !gp_tracer_leaves_out(GP_BUDGET_EVENTS));
    return rc;
}

void gp_tracer_switch_references(bool on)
{
    for (size_t i = 0; i < GP_COUNT(always); i++) gp_cupti_switch(always[i], on);
    if (!on) atomic_store(&is_unified, false);
}

void gp_tracer_tell_sizes(void)
{
#if CUPTI_API_VERSION >= 130000
    static const struct {
        uint32_t kind;
        size_t bytes;
    } sizes[] = {
        {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(STRUCT_MEMCPY)},
        {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(STRUCT_MEMSET)},
        {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(STRUCT_CALL)},
        {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(STRUCT_CALL)},
        {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(STRUCT_DEVICE)},
        {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(STRUCT_CONTEXT)},
        {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(STRUCT_KERNEL)},
        {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(STRUCT_KERNEL)},
        {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(STRUCT_OVERHEAD)},
        {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(STRUCT_PEER)},
        {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)},
        {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(STRUCT_SYNC)},
        {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(STRUCT_MEMORY)},
        {CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(STRUCT_EVENT)},
        {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, sizeof(STRUCT_UNIFIED)},
        {CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(STRUCT_POOL)},
        {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(STRUCT_GRAPH)},
        {CUPTI_ACTIVITY_KIND_JIT, sizeof(STRUCT_JIT)},
    };
    if (gp_cupti.version / 100 != CUPTI_API_VERSION / 100) return;
    for (size_t i = 0; i < GP_COUNT(sizes); i++)
        gp_shared_learn(gp_tracer.opts.shared, sizes[i].kind, sizes[i].bytes);
#endif
}
