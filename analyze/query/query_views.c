/* Views: what people ask for most, and the tables of Nsight Systems. */
#include "analyze/query/query_sql.h"

#define PID(pid) "(" pid " << 24)"
#define TID      "(pid << 24 | (tid & 0xffffff))"
#define PLACE    "device AS deviceId, context AS contextId, stream AS streamId, " CORR
#define CORR     "correlation AS correlationId, "
#define TIMES    "start_ns AS \"start\", end_ns AS \"end\", "
#define PER(what)                                                                                            \
    "SELECT e.rank, e.device, " what ", f.backward, count(*) AS count, sum(e.dur_ns) AS gpu_ns "             \
    "FROM events e LEFT JOIN frames f ON f.id = e.stack GROUP BY 1, 2, 3, 4"
#define NSYS "as Nsight Systems exports it: "

const struct gp_sql_view gp_sql_views[] = {
    {"per_step", "kernels by step and label, forward and backward",
     "SELECT k.rank, k.device, s.number AS step_number, s.name AS step_name, f.backward, k.label, "
     "count(*) AS count, sum(k.dur_ns) AS gpu_ns FROM kernels k JOIN steps s ON s.id = k.step "
     "LEFT JOIN frames f ON f.id = k.stack GROUP BY k.step, f.backward, k.label"},
    {"per_module", "GPU events by the innermost module, forward and backward", PER("f.module")},
    {"per_line", "GPU events by the innermost line that is not in a library, forward and backward",
     PER("f.program_line AS line")},
    {"per_range", "GPU events by the innermost range, forward and backward", PER("f.\"range\"")},
    {"idle_causes", "idle time of devices by cause",
     "SELECT rank, device, cause, count(*) AS pieces, sum(dur_ns) AS idle_ns FROM idle GROUP BY 1, 2, 3"},
    {"per_instruction", "samples of program counters by kernel, instruction and reason",
     "SELECT rank, device, name, file, line, offset, reason, sum(samples) AS samples, "
     "sum(latency_samples) AS latency_samples FROM stalls GROUP BY 1, 2, 3, 4, 5, 6, 7"},
    {"StringIds", NSYS "numbers of names", "SELECT id, value FROM texts"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", NSYS "kernels",
     "SELECT " TIMES PLACE PID(
         "pid") " AS globalPid, name_id AS demangledName, label_id AS shortName, "
                "recorded_id AS mangledName, registers AS registersPerThread, grid_x AS gridX, grid_y AS "
                "gridY, "
                "grid_z AS gridZ, block_x AS blockX, block_y AS blockY, block_z AS blockZ, "
                "shared_static_bytes AS staticSharedMemory, shared_bytes - shared_static_bytes AS "
                "dynamicSharedMemory, "
                "local_bytes AS localMemoryPerThread, id AS gridId, node AS graphNodeId, graph AS graphId "
                "FROM kernels"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", NSYS "copies",
     "SELECT " TIMES PLACE PID(
         "pid") " AS globalPid, bytes, copy_kind_id AS copyKind, "
                "from_memory_id AS srcKind, to_memory_id AS dstKind, node AS graphNodeId FROM copies"},
    {"CUPTI_ACTIVITY_KIND_MEMSET", NSYS "sets",
     "SELECT " TIMES PLACE PID("pid") " AS globalPid, bytes, node AS graphNodeId FROM sets"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", NSYS "calls of the runtime and the driver",
     "SELECT " TIMES "0 AS eventClass, " TID
     " AS globalTid, correlation AS correlationId, name_id AS nameId, "
     "returned AS returnValue FROM calls"},
    {"NVTX_EVENTS", NSYS "ranges; all have the type of push and pop",
     "SELECT " TIMES "59 AS eventType, NULL AS rangeId, NULL AS category, NULL AS color, name AS text, " TID
     " AS globalTid, NULL AS endGlobalTid, name_id AS textId, 0 AS domainId FROM ranges "
     "WHERE kind = 'range'"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", NSYS "allocations and frees",
     "SELECT time_ns AS \"start\", " PID(
         "pid") " AS globalPid, device AS deviceId, address, "
                "abs(bytes) AS bytes, bytes < 0 AS memoryOperationType, name FROM allocations"},
    {"ENUM_CUDA_MEMCPY_OPER", NSYS "kinds of copies",
     "SELECT DISTINCT copy_kind_id AS id, 'CUDA_MEMCPY_KIND_' || upper(copy_kind) AS name, "
     "copy_kind AS label FROM copies"},
    {"ENUM_CUDA_MEM_KIND", NSYS "kinds of memory",
     "SELECT from_memory_id AS id, 'CUDA_MEMOPR_MEMORY_KIND_' || upper(from_memory) AS name, from_memory AS "
     "label FROM copies UNION SELECT to_memory_id, 'CUDA_MEMOPR_MEMORY_KIND_' || upper(to_memory), to_memory "
     "FROM copies"},
    {0},
};
