/* records.h -- turns CUPTI's activity records into rows of a gp_trace. Fields are read at fixed offsets,
 * which are the same in CUPTI 12 and 13 (the structs only grow at their end), so that no CUDA header is
 * needed here; tracer.c checks the offsets against the headers that it is built with. Knows nothing about
 * buffers, sockets or threads: one caller at a time.
 *
 * API calls and the GPU work that they launched come in different buffers. Both are held back for up to one
 * tick until they can be written together; a driver call inside a runtime call, which has the same
 * correlation id, is left out.
 *
 *     gp_records_init(&r, &opts);
 *     gp_records_add(&r, record);                     // for every record
 *     gp_records_tick(&r, now_ns); gp_records_commit(&r, false);
 *     gp_gpt_flush(writer, &r.trace); gp_trace_clear_events(&r.trace);
 */
#ifndef GP_COLLECT_RECORDS_RECORDS_H
#define GP_COLLECT_RECORDS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/wire/ring.h"
#include "collect/wire/wire.h"
#include "formats/base/declare.h"
#include "formats/base/map.h"
#include "formats/model/trace.h"

/* The activity kinds that are understood, by CUPTI's numbers. */
enum gp_activity {
    GP_ACTIVITY_MEMCPY = 1,
    GP_ACTIVITY_MEMSET = 2,
    GP_ACTIVITY_KERNEL = 3,
    GP_ACTIVITY_DRIVER = 4,
    GP_ACTIVITY_RUNTIME = 5,
    GP_ACTIVITY_DEVICE = 8,
    GP_ACTIVITY_CONTEXT = 9,
    GP_ACTIVITY_CONCURRENT_KERNEL = 10,
    GP_ACTIVITY_OVERHEAD = 17,
    GP_ACTIVITY_MEMCPY2 = 22,
    GP_ACTIVITY_UNIFIED_MEMORY = 25,
    GP_ACTIVITY_CUDA_EVENT = 36,
    GP_ACTIVITY_STREAM = 37,
    GP_ACTIVITY_SYNCHRONIZATION = 38,
    GP_ACTIVITY_MEMORY2 = 49,
    GP_ACTIVITY_MEMORY_POOL = 50,
    GP_ACTIVITY_GRAPH_TRACE = 51,
    GP_ACTIVITY_JIT = 52,
};

/* What an API call does, as far as recording is concerned. */
enum gp_call_class {
    GP_CALL_OTHER,
    GP_CALL_LAUNCH, /* puts kernels on the GPU */
    GP_CALL_COPY,   /* copies or sets memory */
    GP_CALL_SYNC,   /* waits */
    GP_CALL_EVENT,  /* records a CUDA event */
    GP_CALL_MEMORY, /* allocates or frees */
    GP_CALL_UNKNOWN /* its name has not come yet */
};

/* The class of the call that CUPTI names NAME ("cudaLaunchKernel_v7000", "cuMemcpyHtoD_v2"). */
enum gp_call_class gp_call_classify(const char *name);
/* Is a call of that class recorded at LEVEL? With MEMORY, those that allocate and free are recorded, unless
 * no calls are. */
bool gp_call_wanted(enum gp_call_class cls, enum gp_api_level level, bool memory);

/* What a record points to. */
struct gp_record_pointer {
    uint64_t address;
    bool text; /* ends with NUL; otherwise unused data */
    bool ours; /* from CUPTI 13 on, freed by whoever takes the record from CUPTI */
};

/* False if REC, which starts with its kind, has no pointer. This is the only place that lists the kinds of
 * records with relevant pointers. */
bool gp_record_points(const void *rec, struct gp_record_pointer *p);
/* Where the name of the library stands that asked for the memory of REC, 0: it is not known. CUPTI:
 * cuptiGetVersion(); records of those before 13 have no such field. The text is CUPTI's. */
uint64_t gp_record_source(const void *rec, uint32_t cupti);
/* The thread that REC belongs to, 0: none. */
int64_t gp_record_thread(const void *rec);

/* Producer numbers are 0 throughout: readers add that of the blocks the rows come in. */
struct gp_records_opts {
    int64_t pid;
    int32_t rank; /* -1 unknown */
    /* cuptiGetVersion(): fields that records of this version do not have are not read */
    uint32_t cupti;
    enum gp_api_level api; /* which calls are kept; unless none are, GPU work waits for its call */
    bool measured;         /* hardware counters are read of kernels */
    bool memory;           /* allocations are recorded, so their calls are kept as well */
    /* pattern of the kernels that are kept, NULL or "" all of them; owned by the caller */
    const char *kernel;
    bool redact; /* names of threads, processes and ranges are stored as hashes, see formats/redact.h */
    /* The text at an address in a record (see gp_record_points()); NULL if it is unknown. Records are read in
     * another process than they were written, so an address is only a key. */
    const char *(*text)(void *ctx, uint64_t address);
    /* CUPTI's name of API call CBID; NULL if it has none. */
    const char *(*call_name)(void *ctx, bool driver, uint32_t cbid);
    /* Fill NAME with the name of thread TID, or of the process if TID is the process's id. */
    void (*thread_name)(void *ctx, int64_t tid, char *name, size_t size);
    void *ctx;
};

struct gp_held_call {
    int64_t start_ns, end_ns;
    uint32_t corr, tid, cbid;
    int32_t ret;
    uint32_t tick;
    bool driver, mate, drop, unwanted; /* unwanted: its work is left out */
};

struct gp_held_work {
    int64_t start_ns, end_ns, bytes;
    uint64_t graph, node, address;
    uint32_t corr, track, config, tick;
    uint32_t call; /* index of the call that launched it, UINT32_MAX not found */
};

/* An allocation or, with negative bytes, a free, or an operation on a pool; the call that made it identifies
 * the thread. */
struct gp_held_memory {
    int64_t at_ns, bytes, reserved;
    uint64_t address;
    uint32_t corr, tick;
    gp_sid extra, pool; /* operation on a pool, or 0 */
};

/* A kernel that is left out, so that its call is left out as well. */
struct gp_unwanted {
    uint32_t corr, tick;
};

/* A record of a CUDA event, which waits for the time of its call. */
struct gp_held_event {
    int64_t device_ns; /* when the GPU reached it, 0 unknown */
    uint32_t event, corr, context, stream, tick;
};

/* A wait for an event without a record, or on a context that is still unknown. */
struct gp_held_wait {
    int64_t start_ns, end_ns;
    uint64_t key; /* of the record that it waits for, 0: none */
    uint32_t event, corr, context, stream, type, tick;
};

/* A wait that a call reported. Threads report at different times, and correlation ids are in the order of the
 * calls. */
struct gp_told_wait {
    int64_t start_ns;
    struct gp_note_wait wait;
    uint32_t tick;
};

/* What waits need to know about a record of an event. A record that only a call reports is written when it is
 * waited for. */
struct gp_event_record {
    uint64_t key;
    int64_t untold_ns; /* its time if it is not written yet, otherwise 0 */
    uint32_t corr, stream, context, event;
    bool used;
};

/* A launch of a graph whose nodes become one row. */
struct gp_graph_launch {
    uint64_t graph;
    int64_t start_ns, end_ns;
    uint32_t corr, track, tick;
    uint32_t nodes; /* nodes added so far, 0: there is no such launch */
    uint32_t began; /* corr of the launch that was being recorded node by node when that mode ended, 0 none */
};

struct gp_call_stacks; /* call_stacks.h */

struct gp_call_info {
    gp_sid name; /* 0: not requested yet */
    uint8_t cls;
};

struct gp_measured_time {
    int64_t start_ns, end_ns;
};

struct gp_records {
    struct gp_trace trace;
    struct gp_records_opts opts;
    struct gp_wire_stats stats;
    uint64_t unknown;  /* records of other kinds */
    int64_t latest_ns; /* the end of the latest event */
    uint32_t process;  /* of this process, in trace.processes */
    uint32_t tick;
    int64_t tick_ns;
    GP_VEC(struct gp_held_call) calls;
    GP_VEC(struct gp_held_work) work;
    uint32_t single[256]; /* correlation ids of work that is not of graphs, by their low bits */
    GP_VEC(struct gp_unwanted) unwanted;
    GP_VEC(struct gp_held_work) timeless;     /* kernels that were measured, until their counters come */
    GP_VEC(struct gp_measured_time) measured; /* or the other way round */
    struct gp_map timeless_at, measured_at;   /* correlation id -> index */
    struct gp_map fits;                       /* name of a kernel -> 1 if it is kept, otherwise 0 */
    uint64_t left_out;                        /* kernels, since the last commit */
    GP_VEC(gp_sid) pc_texts;                  /* of the process, by number */
    GP_VEC(struct gp_held_memory) memory;
    GP_VEC(struct gp_held_event) held_events;
    GP_VEC(struct gp_held_wait) held_waits;
    const struct gp_call_stacks *stacks; /* borrowed; NULL: none are recorded */
    struct gp_map graphs;                /* id -> index of its latest launch */
    GP_VEC(struct gp_graph_launch) graph_launches;
    uint32_t last_graph;                   /* index of the one that was looked up last */
    bool whole_graphs;                     /* their nodes no longer have their own rows */
    uint64_t folded_nodes;                 /* since the last commit */
    struct gp_event_record *event_records; /* by hash, NULL until needed */
    GP_VEC(struct gp_told_wait) told_waits;
    struct gp_map event_ids;                   /* handle -> assigned number, for events that calls report */
    struct gp_map addresses;                   /* address -> index of its size */
    GP_VEC(int64_t) sizes;                     /* of the allocation there, 0 none */
    GP_VEC(struct gp_call_info) call_infos[2]; /* by cbid: runtime, driver */
    struct gp_map names;                       /* address of a kernel name -> sid */
    struct gp_map threads;                     /* tid -> track */
    struct gp_map contexts;                    /* context id -> device */
    uint64_t *corr_keys;                       /* generation << 32 | correlation id, for the current commit */
    uint32_t *corr_at, corr_mask, generation;
    uint64_t last_stream; /* one-entry cache in front of the tracks */
    uint32_t last_device, last_track;
};

void gp_records_init(struct gp_records *r, const struct gp_records_opts *opts);
void gp_records_release(struct gp_records *r);
/* Add one record, which starts with its kind. Everything needed is copied. */
void gp_records_add(struct gp_records *r, const void *record);
/* Add a device, unless there is one of that number; its name is of the trace's strings. */
void gp_records_add_device(struct gp_records *r, const struct gp_device *device);
/* Add a call that began at START_NS and waited, or recorded an event: for use if CUPTI does not record
 * that. */
void gp_records_add_wait(struct gp_records *r, int64_t start_ns, const struct gp_note_wait *wait);
/* Add a call of thread TID that began at START_NS: for use if CUPTI does not record it. */
void gp_records_add_call(struct gp_records *r, int64_t tid, int64_t start_ns,
                         const struct gp_note_call *call);
/* A flush began at NOW_NS, on the clock of the records: everything held is one tick older. */
void gp_records_tick(struct gp_records *r, int64_t now_ns);
/* Move complete rows into the trace's tables; with ALL, everything. O(held). */
void gp_records_commit(struct gp_records *r, bool all);
/* The kernel with that correlation id was measured: if its record has no times, these are they. */
void gp_records_measured(struct gp_records *r, uint32_t corr, int64_t start_ns, int64_t end_ns);
/* The track of thread TID, created and named if it is new. */
uint32_t gp_records_thread(struct gp_records *r, int64_t tid);
/* The name of thread TID, or of the process, as it is stored. */
gp_sid gp_records_thread_name(struct gp_records *r, int64_t tid);
/* A text of the program as it is stored: with opts.redact replaced by REDACT. */
gp_sid gp_records_own_text(struct gp_records *r, const char *text, size_t n,
                           void (*redact)(struct gp_buf *to, const char *s, size_t n));
/* Is REC the record of a node of a CUDA graph? */
bool gp_record_is_node(const void *rec);
/* From AT_NS on, graphs are recorded as wholes, because there are too many nodes: the nodes of each launch
 * that begins from then on become one row, and are counted as lost. */
void gp_records_whole_graphs(struct gp_records *r, int64_t at_ns);
/* Note that COUNT events were lost. Strings are copied. */
void gp_records_lose(struct gp_records *r, const char *what, const char *reason, uint64_t count);
/* Samples of program counters: a frame of type PC_ROWS. False if it is not valid. */
bool gp_records_add_pc(struct gp_records *r, const void *payload, size_t n);
/* The metadata that says how many there are, in S. */
void gp_records_put_pc_counts(struct gp_trace *t, const struct gp_wire_stats *s);

/* The offsets of the fields: X(record, field, offset). */
#define GP_OFFSETS(X)                                                                                        \
    X(KERNEL, registersPerThread, 6)                                                                         \
    X(KERNEL, start, 16)                                                                                     \
    X(KERNEL, end, 24)                                                                                       \
    X(KERNEL, deviceId, 40)                                                                                  \
    X(KERNEL, contextId, 44)                                                                                 \
    X(KERNEL, streamId, 48)                                                                                  \
    X(KERNEL, gridX, 52)                                                                                     \
    X(KERNEL, blockX, 64)                                                                                    \
    X(KERNEL, staticSharedMemory, 76)                                                                        \
    X(KERNEL, dynamicSharedMemory, 80)                                                                       \
    X(KERNEL, localMemoryPerThread, 84)                                                                      \
    X(KERNEL, correlationId, 92)                                                                             \
    X(KERNEL, name, 104)                                                                                     \
    X(KERNEL, graphNodeId, 144)                                                                              \
    X(KERNEL, graphId, 156)                                                                                  \
    X(KERNEL, clusterX, 176)                                                                                 \
    X(MEMCPY, copyKind, 4)                                                                                   \
    X(MEMCPY, srcKind, 5)                                                                                    \
    X(MEMCPY, dstKind, 6)                                                                                    \
    X(MEMCPY, bytes, 8)                                                                                      \
    X(MEMCPY, start, 16)                                                                                     \
    X(MEMCPY, end, 24)                                                                                       \
    X(MEMCPY, deviceId, 32)                                                                                  \
    X(MEMCPY, contextId, 36)                                                                                 \
    X(MEMCPY, streamId, 40)                                                                                  \
    X(MEMCPY, correlationId, 44)                                                                             \
    X(MEMCPY, graphNodeId, 64)                                                                               \
    X(MEMCPY, graphId, 72)                                                                                   \
    X(PEER, copyKind, 4)                                                                                     \
    X(PEER, srcKind, 5)                                                                                      \
    X(PEER, dstKind, 6)                                                                                      \
    X(PEER, bytes, 8)                                                                                        \
    X(PEER, start, 16)                                                                                       \
    X(PEER, end, 24)                                                                                         \
    X(PEER, deviceId, 32)                                                                                    \
    X(PEER, contextId, 36)                                                                                   \
    X(PEER, streamId, 40)                                                                                    \
    X(PEER, srcDeviceId, 44)                                                                                 \
    X(PEER, dstDeviceId, 52)                                                                                 \
    X(PEER, correlationId, 60)                                                                               \
    X(PEER, graphNodeId, 72)                                                                                 \
    X(PEER, graphId, 80)                                                                                     \
    X(MEMSET, value, 4)                                                                                      \
    X(MEMSET, bytes, 8)                                                                                      \
    X(MEMSET, start, 16)                                                                                     \
    X(MEMSET, end, 24)                                                                                       \
    X(MEMSET, deviceId, 32)                                                                                  \
    X(MEMSET, contextId, 36)                                                                                 \
    X(MEMSET, streamId, 40)                                                                                  \
    X(MEMSET, correlationId, 44)                                                                             \
    X(MEMSET, memoryKind, 50)                                                                                \
    X(MEMSET, graphNodeId, 64)                                                                               \
    X(MEMSET, graphId, 72)                                                                                   \
    X(CALL, cbid, 4)                                                                                         \
    X(CALL, start, 8)                                                                                        \
    X(CALL, end, 16)                                                                                         \
    X(CALL, threadId, 28)                                                                                    \
    X(CALL, correlationId, 32)                                                                               \
    X(CALL, returnValue, 36)                                                                                 \
    X(MEMORY, memoryOperationType, 4)                                                                        \
    X(MEMORY, memoryKind, 8)                                                                                 \
    X(MEMORY, correlationId, 12)                                                                             \
    X(MEMORY, address, 16)                                                                                   \
    X(MEMORY, bytes, 24)                                                                                     \
    X(MEMORY, timestamp, 32)                                                                                 \
    X(MEMORY, deviceId, 52)                                                                                  \
    X(MEMORY, isAsync, 72)                                                                                   \
    X(MEMORY, memoryPoolConfig, 80)                                                                          \
    X(MEMORY, source, 120)                                                                                   \
    X(SYNC, type, 4)                                                                                         \
    X(SYNC, start, 8)                                                                                        \
    X(SYNC, end, 16)                                                                                         \
    X(SYNC, correlationId, 24)                                                                               \
    X(SYNC, contextId, 28)                                                                                   \
    X(SYNC, streamId, 32)                                                                                    \
    X(SYNC, cudaEventId, 36)                                                                                 \
    X(SYNC, cudaEventSyncId, 40)                                                                             \
    X(UNIFIED, counterKind, 4)                                                                               \
    X(UNIFIED, value, 8)                                                                                     \
    X(UNIFIED, start, 16)                                                                                    \
    X(UNIFIED, end, 24)                                                                                      \
    X(UNIFIED, address, 32)                                                                                  \
    X(UNIFIED, srcId, 40)                                                                                    \
    X(UNIFIED, dstId, 44)                                                                                    \
    X(UNIFIED, flags, 56)                                                                                    \
    X(POOL, memoryPoolOperationType, 4)                                                                      \
    X(POOL, correlationId, 12)                                                                               \
    X(POOL, deviceId, 20)                                                                                    \
    X(POOL, minBytesToKeep, 24)                                                                              \
    X(POOL, address, 32)                                                                                     \
    X(POOL, size, 40)                                                                                        \
    X(POOL, releaseThreshold, 48)                                                                            \
    X(POOL, timestamp, 56)                                                                                   \
    X(POOL, utilizedSize, 64)                                                                                \
    X(GRAPH, correlationId, 4)                                                                               \
    X(GRAPH, start, 8)                                                                                       \
    X(GRAPH, end, 16)                                                                                        \
    X(GRAPH, deviceId, 24)                                                                                   \
    X(GRAPH, graphId, 28)                                                                                    \
    X(GRAPH, contextId, 32)                                                                                  \
    X(GRAPH, streamId, 36)                                                                                   \
    X(JIT, jitEntryType, 4)                                                                                  \
    X(JIT, jitOperationType, 8)                                                                              \
    X(JIT, start, 16)                                                                                        \
    X(JIT, end, 24)                                                                                          \
    X(JIT, threadId, 68)                                                                                     \
    X(EVENT, correlationId, 4)                                                                               \
    X(EVENT, contextId, 8)                                                                                   \
    X(EVENT, streamId, 12)                                                                                   \
    X(EVENT, eventId, 16)                                                                                    \
    X(EVENT, deviceTimestamp, 40)                                                                            \
    X(EVENT, cudaEventSyncId, 48)                                                                            \
    X(OVERHEAD, overheadKind, 4)                                                                             \
    X(OVERHEAD, objectKind, 8)                                                                               \
    X(OVERHEAD, objectId, 12)                                                                                \
    X(OVERHEAD, start, 24)                                                                                   \
    X(OVERHEAD, end, 32)                                                                                     \
    X(OVERHEAD, overheadData, 48)                                                                            \
    X(CONTEXT, contextId, 4)                                                                                 \
    X(CONTEXT, deviceId, 8)                                                                                  \
    X(DEVICE, globalMemoryBandwidth, 8)                                                                      \
    X(DEVICE, globalMemorySize, 16)                                                                          \
    X(DEVICE, l2CacheSize, 28)                                                                               \
    X(DEVICE, numThreadsPerWarp, 32)                                                                         \
    X(DEVICE, coreClockRate, 36)                                                                             \
    X(DEVICE, numMultiprocessors, 44)                                                                        \
    X(DEVICE, maxWarpsPerMultiprocessor, 52)                                                                 \
    X(DEVICE, maxSharedMemoryPerMultiprocessor, 60)                                                          \
    X(DEVICE, maxRegistersPerMultiprocessor, 64)                                                             \
    X(DEVICE, maxRegistersPerBlock, 68)                                                                      \
    X(DEVICE, maxSharedMemoryPerBlock, 72)                                                                   \
    X(DEVICE, maxThreadsPerBlock, 76)                                                                        \
    X(DEVICE, computeCapabilityMajor, 104)                                                                   \
    X(DEVICE, computeCapabilityMinor, 108)                                                                   \
    X(DEVICE, id, 112)                                                                                       \
    X(DEVICE, uuid, 120)                                                                                     \
    X(DEVICE, name, 136)

enum gp_offset {
#define X(record, field, offset) GP_AT_##record##_##field = (offset),
    GP_OFFSETS(X)
#undef X
};

#endif
