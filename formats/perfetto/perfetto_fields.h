/* perfetto_fields.h -- the field numbers of Perfetto's protobuf that are written or read, and the args that
 * slices of ours have.
 *
 *     if (f.tag == GP_PF_TIMESTAMP) time = f.value;
 */
#ifndef GP_FORMATS_PERFETTO_FIELDS_H
#define GP_FORMATS_PERFETTO_FIELDS_H

#include "formats/base/declare.h"
#include "formats/base/wire.h"

#define GP_PF_TAG GP_WIRE_TAG
enum {
    GP_PF_PACKET = GP_PF_TAG(1, 2), /* Trace */

    GP_PF_CLOCK_SNAPSHOT = GP_PF_TAG(6, 2), /* TracePacket */
    GP_PF_TIMESTAMP = GP_PF_TAG(8, 0),
    GP_PF_SEQUENCE = GP_PF_TAG(10, 0),
    GP_PF_TRACK_EVENT = GP_PF_TAG(11, 2),
    GP_PF_INTERNED = GP_PF_TAG(12, 2),
    GP_PF_FLAGS = GP_PF_TAG(13, 0),
    GP_PF_CLEARED_OLD = GP_PF_TAG(41, 0),
    GP_PF_DROPPED = GP_PF_TAG(42, 0),
    GP_PF_COMPRESSED = GP_PF_TAG(50, 2),
    GP_PF_STAGE = GP_PF_TAG(53, 2),
    GP_PF_CLOCK_OF_TIME = GP_PF_TAG(58, 0),
    GP_PF_DEFAULTS = GP_PF_TAG(59, 2),
    GP_PF_TRACK = GP_PF_TAG(60, 2),
    GP_PF_ZSTD = GP_PF_TAG(133, 2),
    GP_PF_REST = GP_PF_TAG(1990, 2), /* ours, among the numbers for extensions: see README.md */
    GP_PF_CLEARED = 1,               /* flags */
    GP_PF_NEEDS = 2,

    GP_PF_REST_SHIFT = GP_PF_TAG(1, 0), /* what was added to all times */
    GP_PF_REST_TRACE = GP_PF_TAG(2, 2), /* a binary trace without slices */

    GP_PF_DEFAULT_EVENT = GP_PF_TAG(11, 2), /* TracePacketDefaults */
    GP_PF_DEFAULT_CLOCK = GP_PF_TAG(58, 0),
    GP_PF_DEFAULT_TRACK = GP_PF_TAG(11, 0), /* TrackEventDefaults */

    GP_PF_CLOCK = GP_PF_TAG(1, 2), /* ClockSnapshot, Clock */
    GP_PF_PRIMARY_CLOCK = GP_PF_TAG(2, 0),
    GP_PF_CLOCK_ID = GP_PF_TAG(1, 0),
    GP_PF_CLOCK_TIME = GP_PF_TAG(2, 0),
    GP_PF_CLOCK_IS_DELTA = GP_PF_TAG(3, 0),
    GP_PF_CLOCK_UNIT = GP_PF_TAG(4, 0),
    GP_PF_REALTIME = 1, /* ids of clocks; from 64 on a sequence's own */
    GP_PF_MONOTONIC = 3,
    GP_PF_BOOTTIME = 6,
    GP_PF_DELTAS = 64,
    GP_PF_OWN_CLOCKS_END = 128,

    GP_PF_UUID = GP_PF_TAG(1, 0), /* TrackDescriptor */
    GP_PF_NAME = GP_PF_TAG(2, 2),
    GP_PF_PROCESS = GP_PF_TAG(3, 2),
    GP_PF_THREAD = GP_PF_TAG(4, 2),
    GP_PF_PARENT = GP_PF_TAG(5, 0),
    GP_PF_COUNTER = GP_PF_TAG(8, 2),
    GP_PF_STATIC_NAME = GP_PF_TAG(10, 2),
    GP_PF_RANK = GP_PF_TAG(12, 0), /* among its siblings; ours is 1 + the number of the model's track */
    GP_PF_MERGE = GP_PF_TAG(15, 0),
    GP_PF_MERGE_NONE = 2,
    GP_PF_PID = GP_PF_TAG(1, 0), /* ProcessDescriptor, ThreadDescriptor */
    GP_PF_TID = GP_PF_TAG(2, 0),
    GP_PF_THREAD_NAME = GP_PF_TAG(5, 2),
    GP_PF_PROCESS_NAME = GP_PF_TAG(6, 2),
    GP_PF_UNIT = GP_PF_TAG(3, 0), /* CounterDescriptor */
    GP_PF_MULTIPLIER = GP_PF_TAG(4, 0),
    GP_PF_IS_DELTA = GP_PF_TAG(5, 0),
    GP_PF_UNIT_COUNT = 2,
    GP_PF_UNIT_BYTES = 3,

    GP_PF_CATEGORY_IID = GP_PF_TAG(3, 0), /* TrackEvent */
    GP_PF_ANNOTATION = GP_PF_TAG(4, 2),
    GP_PF_TYPE = GP_PF_TAG(9, 0),
    GP_PF_NAME_IID = GP_PF_TAG(10, 0),
    GP_PF_TRACK_UUID = GP_PF_TAG(11, 0),
    GP_PF_CATEGORY_TEXT = GP_PF_TAG(22, 2),
    GP_PF_NAME_TEXT = GP_PF_TAG(23, 2),
    GP_PF_COUNTER_VALUE = GP_PF_TAG(30, 0),
    GP_PF_FLOW_OLD = GP_PF_TAG(36, 0),
    GP_PF_FLOW_END_OLD = GP_PF_TAG(42, 0),
    GP_PF_DOUBLE_VALUE = GP_PF_TAG(44, 1),
    GP_PF_FLOW = GP_PF_TAG(47, 1),
    GP_PF_FLOW_END = GP_PF_TAG(48, 1),
    GP_PF_CORRELATION = GP_PF_TAG(3000, 2), /* GpuCorrelation */
    GP_PF_SUBMITTED = GP_PF_TAG(1, 0),
    GP_PF_BEGIN = 1, /* types */
    GP_PF_END = 2,
    GP_PF_INSTANT = 3,
    GP_PF_COUNT = 4,

    GP_PF_INTERNED_CATEGORY = GP_PF_TAG(1, 2), /* InternedData; each has an id and a text */
    GP_PF_INTERNED_NAME = GP_PF_TAG(2, 2),
    GP_PF_INTERNED_KEY = GP_PF_TAG(3, 2),
    GP_PF_INTERNED_CONTEXT = GP_PF_TAG(18, 2),
    GP_PF_INTERNED_STAGE = GP_PF_TAG(24, 2),
    GP_PF_INTERNED_TEXT = GP_PF_TAG(29, 2),
    GP_PF_INTERNED_KERNEL = GP_PF_TAG(1000, 2),
    GP_PF_INTERNED_ARG = GP_PF_TAG(1001, 2),
    GP_PF_IID = GP_PF_TAG(1, 0),
    GP_PF_TEXT = GP_PF_TAG(2, 2),
    GP_PF_CONTEXT_PID = GP_PF_TAG(2, 0),
    GP_PF_DEMANGLED = GP_PF_TAG(3, 2),

    GP_PF_KEY_IID = GP_PF_TAG(1, 0), /* DebugAnnotation */
    GP_PF_BOOL = GP_PF_TAG(2, 0),
    GP_PF_UINT = GP_PF_TAG(3, 0),
    GP_PF_INT = GP_PF_TAG(4, 0),
    GP_PF_DOUBLE = GP_PF_TAG(5, 1),
    GP_PF_STRING = GP_PF_TAG(6, 2),
    GP_PF_POINTER = GP_PF_TAG(7, 0),
    GP_PF_JSON = GP_PF_TAG(9, 2),
    GP_PF_KEY_TEXT = GP_PF_TAG(10, 2),
    GP_PF_DICT_ENTRY = GP_PF_TAG(11, 2),
    GP_PF_ARRAY_VALUE = GP_PF_TAG(12, 2),
    GP_PF_TEXT_IID = GP_PF_TAG(17, 0),

    GP_PF_STAGE_ID = GP_PF_TAG(1, 0), /* GpuRenderStageEvent */
    GP_PF_STAGE_DURATION = GP_PF_TAG(2, 0),
    GP_PF_STAGE_CONTEXT = GP_PF_TAG(5, 0),
    GP_PF_STAGE_EXTRA = GP_PF_TAG(6, 2),
    GP_PF_STAGE_GPU = GP_PF_TAG(11, 0),
    GP_PF_STAGE_QUEUE = GP_PF_TAG(13, 0),
    GP_PF_STAGE_KIND = GP_PF_TAG(14, 0),
    GP_PF_STAGE_NAME = GP_PF_TAG(17, 2),
    GP_PF_STAGE_KERNEL = GP_PF_TAG(19, 0),
    GP_PF_STAGE_NAME_IID = GP_PF_TAG(20, 0),
    GP_PF_STAGE_LAUNCH = GP_PF_TAG(21, 2),
    GP_PF_EXTRA_NAME = GP_PF_TAG(1, 2), /* ExtraData */
    GP_PF_EXTRA_VALUE = GP_PF_TAG(2, 2),
    GP_PF_GRID_SIZE = GP_PF_TAG(1, 2), /* ComputeKernelLaunch */
    GP_PF_GROUP_SIZE = GP_PF_TAG(2, 2),
    GP_PF_LAUNCH_ARG = GP_PF_TAG(3, 2),
    GP_PF_ARG_NAME_IID = GP_PF_TAG(1, 0), /* ExtraComputeArg */
    GP_PF_ARG_NAME = GP_PF_TAG(2, 2),
    GP_PF_ARG_INT = GP_PF_TAG(3, 0),
    GP_PF_ARG_UINT = GP_PF_TAG(4, 0),
};

/* How an arg of a column is written. GP_PF_NOT_A_COLUMN: it has no column. */
enum gp_pf_how { GP_PF_NOT_A_COLUMN, GP_PF_NUMBER, GP_PF_SIGNED, GP_PF_SID };

/* The args that slices have. X(enumerator, its key, its column, enum gp_pf_how) */
#define GP_PF_ARGS(X)                                                                                        \
    X(GP_PF_KEY_CORR, "correlation", GP_COL_CORR, GP_PF_NUMBER)                                              \
    X(GP_PF_KEY_EXT, "External id", GP_COL_EXT, GP_PF_NUMBER)                                                \
    X(GP_PF_KEY_SEQ, "Sequence number", GP_COL_SEQ, GP_PF_NUMBER)                                            \
    X(GP_PF_KEY_GRAPH, "graph id", GP_COL_GRAPH, GP_PF_NUMBER)                                               \
    X(GP_PF_KEY_NODE, "graph node id", GP_COL_NODE, GP_PF_NUMBER)                                            \
    X(GP_PF_KEY_EVENT, "CUDA event", GP_COL_EVENT, GP_PF_NUMBER)                                             \
    X(GP_PF_KEY_SOURCE, "waits for correlation", GP_COL_SOURCE, GP_PF_NUMBER)                                \
    X(GP_PF_KEY_BYTES, "bytes", GP_COL_BYTES, GP_PF_SIGNED)                                                  \
    X(GP_PF_KEY_RET, "return value", GP_COL_RET, GP_PF_SIGNED)                                               \
    X(GP_PF_KEY_RECFN, "Record function id", GP_COL_RECFN, GP_PF_NUMBER)                                     \
    X(GP_PF_KEY_PYID, "Python id", GP_COL_PYID, GP_PF_NUMBER)                                                \
    X(GP_PF_KEY_PYPARENT, "Python parent id", GP_COL_PYPARENT, GP_PF_NUMBER)                                 \
    X(GP_PF_KEY_PYMODULE, "Python module id", GP_COL_PYMODULE, GP_PF_NUMBER)                                 \
    X(GP_PF_KEY_ID, "id", GP_COL_ID, GP_PF_NUMBER)                                                           \
    X(GP_PF_KEY_ID_TEXT, "id text", GP_COL_ID_TEXT, GP_PF_SID)                                               \
    X(GP_PF_KEY_PHASE, "phase", GP_COL_PHASE, GP_PF_NUMBER)                                                  \
    X(GP_PF_KEY_ADDR, "Addr", GP_COL_ADDR, GP_PF_NUMBER)                                                     \
    X(GP_PF_KEY_TOTAL, "Total Allocated", GP_COL_TOTAL, GP_PF_SIGNED)                                        \
    X(GP_PF_KEY_RESERVED, "Total Reserved", GP_COL_RESERVED, GP_PF_SIGNED)                                   \
    X(GP_PF_KEY_STACK, "stack", GP_COL_STACK, GP_PF_NUMBER)                                                  \
    X(GP_PF_KEY_WAITER, "waiting thread", GP_COL_WAITER, GP_PF_NUMBER)                                       \
    X(GP_PF_KEY_CAPTURED, "capture ranges", GP_COL_CAPTURED, GP_PF_SID)                                      \
    X(GP_PF_KEY_ARGS, "args", GP_COL_EXTRA, GP_PF_SID)                                                       \
    X(GP_PF_KEY_GRID, "grid", GP_COL_START, GP_PF_NOT_A_COLUMN)                                              \
    X(GP_PF_KEY_BLOCK, "block", GP_COL_START, GP_PF_NOT_A_COLUMN)                                            \
    X(GP_PF_KEY_CLUSTER, "cluster", GP_COL_START, GP_PF_NOT_A_COLUMN)                                        \
    X(GP_PF_KEY_REGISTERS, "registers per thread", GP_COL_START, GP_PF_NOT_A_COLUMN)                         \
    X(GP_PF_KEY_SHARED, "shared memory", GP_COL_START, GP_PF_NOT_A_COLUMN)                                   \
    X(GP_PF_KEY_LAUNCHED, "launch args", GP_COL_START, GP_PF_NOT_A_COLUMN)                                   \
    X(GP_PF_KEY_CONFIG, "launch configuration", GP_COL_START, GP_PF_NOT_A_COLUMN)                            \
    X(GP_PF_KEY_DURATION, "duration", GP_COL_START, GP_PF_NOT_A_COLUMN)                                      \
    X(GP_PF_KEY_TABLE, "table", GP_COL_START, GP_PF_NOT_A_COLUMN)

enum gp_pf_key { GP_PF_ARGS(GP_FIRST) GP_PF_KEY_COUNT };

#endif
