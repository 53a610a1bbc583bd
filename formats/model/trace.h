/* trace.h -- THE model: the in-memory trace that every tool works on, whatever file it came from.
 *
 * Events live in tables (struct gp_events), one per kind of event, each a structure of arrays. Columns that
 * no event of a table uses stay NULL and cost nothing. Times are int64 nanoseconds on the clock of the file,
 * never rebased; names are interned (gp_sid); tracks, processes, launch configurations and devices are small
 * arrays that events refer to by index. Everything belongs to the trace and is freed by gp_trace_release().
 * The model knows nothing about file formats.
 *
 * Life of a trace: gp_trace_init -> a reader fills it -> gp_trace_finish (sorts, then it is read only) ->
 * release.
 *
 *     const struct gp_events *gpu = &trace.events[GP_GPU];
 *     for (size_t i = 0; i < gpu->n; i++)
 *         total_ns += gpu->dur_ns[i];
 */
#ifndef GP_FORMATS_MODEL_TRACE_H
#define GP_FORMATS_MODEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

/* The tables. The second member is the name in files and messages, the third the Chrome category that its
 * events have unless their `cat` column differs. */
#define GP_TABLES(X)                                                                                         \
    X(GP_GPU, "gpu", "")                      /* kernels, copies, sets, by the kind of the config */         \
    X(GP_API, "api", "cuda_runtime")          /* runtime and driver calls */                                 \
    X(GP_OP, "op", "cpu_op")                  /* framework operators */                                      \
    X(GP_PYTHON, "python", "python_function") /* Python frames, including nn.Module calls */                 \
    X(GP_RANGE, "range", "user_annotation")   /* NVTX and framework ranges on host threads */                \
    X(GP_GPU_RANGE, "gpu_range", "gpu_user_annotation") /* ranges projected on streams */                    \
    X(GP_SYNC, "sync", "cuda_sync") /* synchronization records; with cat "cuda_event", event records */      \
    X(GP_OVERHEAD, "overhead", "overhead") /* costs of the profiler */                                       \
    /* allocations (bytes > 0) and frees (bytes < 0); no duration */                                         \
    X(GP_MEMORY, "memory", "cpu_instant_event")                                                              \
    X(GP_COUNTER, "counter", "") /* one row per series and sample: name, series, value */                    \
    X(GP_FLOW, "flow", "ac2g")   /* arrows; phase is 's', 't' or 'f' */                                      \
    X(GP_MARK, "mark", "")       /* instants */                                                              \
    X(GP_OTHER, "other", "")     /* spans of unknown category, async and object events; see phase */         \
    X(GP_METRIC, "metric", "")   /* hardware counters of a launch or of a range; see metric.h */             \
    X(GP_SAMPLE, "sample", "")   /* samples of a thread's stack; the name is its state */                    \
    X(GP_PC, "pc", "")           /* samples of the GPU's program counters, see below */

/* A row of GP_PC counts samples of one instruction: the name is the function, series why its warps stall,
 * addr the offset of the instruction, total how many samples, value how many of those had no warp to
 * issue. With total 0, it is a part of the code of functions: id is the cubin's checksum, addr an offset in
 * the cubin, and series the bytes there as hexadecimal digits. */

enum gp_table { GP_TABLES(GP_FIRST) GP_TABLE_COUNT };

#define GP_NO_ID UINT64_MAX /* the event has no such id (u64 id columns) */
/* A bit of the column phase, beside the character: ext was written "external id", as old versions of Kineto
 * do. */
enum { GP_PHASE_OLD_EXT = 1 << 16 };

/* The columns. Every table has the first four; the others are NULL until some event differs from the default.
 * X(enum, member, C type, default, file name) -- all types are 4 or 8 bytes wide. */
#define GP_COLUMNS(X)                                                                                        \
    X(GP_COL_START, start_ns, int64_t, 0, "start_ns")                                                        \
    X(GP_COL_DUR, dur_ns, int64_t, 0, "dur_ns")  /* never negative */                                        \
    X(GP_COL_TRACK, track, uint32_t, 0, "track") /* index into trace->tracks */                              \
    X(GP_COL_NAME, name, gp_sid, 0, "name")                                                                  \
    X(GP_COL_CONFIG, config, uint32_t, 0, "config") /* GP_GPU and GP_METRIC: index into trace->configs */    \
    /* category if it is not the default of the table; 0: the default */                                     \
    X(GP_COL_CAT, cat, gp_sid, 0, "cat")                                                                     \
    X(GP_COL_CORR, corr, uint64_t, GP_NO_ID, "corr") /* correlation id: launch call <-> GPU work, sync */    \
    X(GP_COL_EXT, ext, uint64_t, GP_NO_ID, "ext") /* Kineto's External id: the operator that was running */  \
    X(GP_COL_BYTES, bytes, int64_t, 0, "bytes")   /* copied, set, allocated (freed: negative) */             \
    X(GP_COL_GRAPH, graph, uint64_t, GP_NO_ID, "graph") /* CUDA graph id */                                  \
    X(GP_COL_NODE, node, uint64_t, GP_NO_ID, "node")    /* CUDA graph node id */                             \
    X(GP_COL_SEQ, seq, uint64_t, GP_NO_ID, "seq") /* autograd Sequence number: joins backward to forward */  \
    X(GP_COL_RECFN, recfn, uint64_t, GP_NO_ID, "recfn")            /* Record function id */                  \
    X(GP_COL_PYID, py_id, uint64_t, GP_NO_ID, "py_id")             /* Python id */                           \
    X(GP_COL_PYPARENT, py_parent, uint64_t, GP_NO_ID, "py_parent") /* Python parent id */                    \
    /* Python module id: the nn.Module instance */                                                           \
    X(GP_COL_PYMODULE, py_module, uint64_t, GP_NO_ID, "py_module")                                           \
    /* of flows, async and object events; GP_SAMPLE: index into trace->stacks */                             \
    X(GP_COL_ID, id, uint64_t, GP_NO_ID, "id")       /* flow, async or object id */                          \
    X(GP_COL_ID_TEXT, id_text, gp_sid, 0, "id_text") /* the id as written, if it is not a plain u64 */       \
    /* Chrome phase if the table does not imply it; GP_MARK: | scope << 8, 'g' or 'p', 0 = thread */         \
    X(GP_COL_PHASE, phase, uint32_t, 0, "phase")                                                             \
    X(GP_COL_SERIES, series, gp_sid, 0, "series") /* GP_COUNTER: which series of the counter */              \
    X(GP_COL_VALUE, value, double, 0, "value")    /* GP_COUNTER */                                           \
    X(GP_COL_ADDR, addr, uint64_t, 0, "addr")     /* GP_MEMORY */                                            \
    /* GP_SAMPLE: how many equal samples followed */                                                         \
    X(GP_COL_TOTAL, total, int64_t, 0, "total") /* GP_MEMORY: total bytes allocated after this event */      \
    /* GP_MEMORY: total bytes reserved after this event */                                                   \
    X(GP_COL_RESERVED, reserved, int64_t, 0, "reserved")                                                     \
    X(GP_COL_RET, ret, int32_t, 0, "ret")      /* GP_API: return value, 0 = success */                       \
    X(GP_COL_EXTRA, extra, gp_sid, 0, "extra") /* further args: text of a JSON object "{...}", 0 = none */   \
    /* GP_GPU, work of a CUDA graph: the ranges around the code that captured it, see gp_captured_next */    \
    X(GP_COL_CAPTURED, captured, gp_sid, 0, "captured")                                                      \
    /* GP_SYNC: CUDA event that was recorded or waited for */                                                \
    X(GP_COL_EVENT, event, uint64_t, GP_NO_ID, "event")                                                      \
    /* GP_SYNC: corr of the event record that is waited for */                                               \
    X(GP_COL_SOURCE, source, uint64_t, GP_NO_ID, "source")                                                   \
    /* GP_GPU, with GP_NEED_PLACES: byte offset of the event in JSON, of its block in ours; not stored */    \
    X(GP_COL_PLACE, place, uint64_t, GP_NO_ID, "place")                                                      \
    X(GP_COL_SET, set, uint32_t, 0, "set") /* GP_METRIC: index into trace->metric_sets */                    \
    /* the exact stack, index into trace->stacks, 0 unknown: see below */                                    \
    X(GP_COL_STACK, stack, uint32_t, 0, "stack")                                                             \
    /* GP_API on a thread of autograd: the track of the thread that waits for it in backward() */            \
    X(GP_COL_WAITER, waiter, uint32_t, UINT32_MAX, "waiter")                                                 \
    /* GP_METRIC: where its values begin in trace->metric_values; not a column of traces */                  \
    X(GP_COL_VALUES, values, uint64_t, 0, "values")

/* The stack of a GP_API row is that of the call, of a GP_RANGE row that which pushed it, of a GP_GPU row that
 * which captured its node of a CUDA graph, or that of its launch where no calls are recorded. On a thread of
 * autograd, the frames of the thread that waits are above the entry GP_STACK_AUTOGRAD. */

enum gp_column { GP_COLUMNS(GP_FIRST) GP_COLUMN_COUNT };
/* The bit of a column in a set of them. */
#define GP_COLUMN(col) (UINT64_C(1) << (col))

/* One table. Rows are 0..n-1; after gp_trace_finish they are sorted by start, then longer first, then file
 * order. */
struct gp_events {
    size_t n, cap;
    uint64_t shared; /* private to trace.c: one bit per column whose memory is part of the trace's slab */
#define X(id, member, type, dflt, name) type *member;
    GP_COLUMNS(X)
#undef X
};

enum gp_gpu_kind { GP_KERNEL, GP_MEMCPY, GP_MEMSET };

/* What was recorded of a launch configuration. */
enum { GP_HAS_GRID = 1, GP_HAS_BLOCK = 2, GP_HAS_CLUSTER = 4, GP_HAS_REGS = 8, GP_HAS_SHARED = 16 };

/* What a GPU event runs; equal ones are stored once. Zero the struct before filling it: it is compared as
 * bytes. */
struct gp_config {
    gp_sid name;   /* kernel name as recorded (mangled for CUPTI), "Memcpy HtoD (...)" */
    uint32_t kind; /* enum gp_gpu_kind */
    uint32_t has;  /* GP_HAS_* */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers;           /* per thread */
    uint32_t shared_bytes;        /* per block, static and dynamic together */
    uint32_t shared_static_bytes; /* per block, if known */
    uint32_t local_bytes;         /* per thread, if known */
    uint32_t copy_kind;           /* GP_MEMCPY: CUPTI_ACTIVITY_MEMCPY_KIND_*, 0 = unknown */
    uint32_t src_kind, dst_kind;  /* GP_MEMCPY/GP_MEMSET (dst): CUPTI_ACTIVITY_MEMORY_KIND_*, 0 = unknown */
    gp_sid cat;                   /* category as written, if it is not the usual one of the kind */
    gp_sid extra;                 /* further args that depend only on the configuration, JSON object text */
};

enum gp_track_kind {
    GP_TRACK_THREAD, /* a host thread */
    GP_TRACK_STREAM, /* a stream of a device */
    GP_TRACK_OTHER,  /* any other row of a file: "Spans", "Traces" */
};

/* A process, or a Chrome row group that stands for a device. */
struct gp_process {
    int64_t pid;
    gp_sid pid_text; /* the pid as written, if it is not an integer; then pid has no meaning */
    gp_sid name;     /* process_name */
    gp_sid labels;   /* process_labels */
    int64_t sort_index;
    bool has_sort_index;
    int32_t rank; /* -1 unknown */
    /* which writer of a merged trace; correlation ids and device numbers are unique within it */
    uint32_t producer;
};

struct gp_track {
    uint32_t kind;    /* enum gp_track_kind */
    uint32_t process; /* index into trace->processes */
    int64_t tid;
    gp_sid tid_text; /* the tid as written, if it is not an integer */
    int64_t device;  /* GP_TRACK_STREAM: ordinal; -1 unknown */
    int64_t context; /* -1 unknown */
    int64_t stream;  /* -1 unknown */
    gp_sid name;     /* thread_name, or the stream's */
    int64_t sort_index;
    bool has_sort_index;
};

struct gp_device {
    uint32_t producer; /* as in gp_process */
    int64_t id;        /* ordinal */
    gp_sid name;
    int32_t cc_major, cc_minor; /* compute capability */
    int32_t sms;                /* multiprocessors */
    int32_t warp_size;
    int32_t max_threads_per_sm, max_threads_per_block;
    int64_t regs_per_sm, regs_per_block;
    int64_t shared_per_sm, shared_per_block, shared_per_block_optin; /* bytes */
    int64_t memory_bytes, l2_bytes;
    int64_t core_clock_khz, memory_clock_khz, memory_bandwidth_bps; /* bytes per second */
    gp_sid extra; /* the properties as written, JSON object text */
};

/* What later arithmetic relies on, see gp_trace_finish(): no event starts farther than GP_TIME_MOST from 0
 * (73 years: dates until 2043 as ns since 1970 lie within), none is longer than GP_DURATION_MOST (4.5 years),
 * and the durations of a table are together at most GP_DURATIONS_MOST (9 years). So differences of times,
 * sums of durations and sums of both fit into an int64_t. */
#define GP_TIME_MOST      (INT64_C(1) << 61)
#define GP_DURATION_MOST  (INT64_C(1) << 57)
#define GP_DURATIONS_MOST (INT64_C(1) << 58)

static inline bool gp_time_fits(int64_t ns) { return ns >= -GP_TIME_MOST && ns <= GP_TIME_MOST; }

/* A top-level field of the file or a fact about the run: `value` is JSON text ("\"x\"", "3", "{...}"). */
struct gp_meta {
    gp_sid key, value;
};

/* Events that the collector knows that it did not record. */
#define GP_LOSS_STACKS "stacks"
struct gp_loss {
    gp_sid what;   /* "activity records", "blocks", ...; GP_LOSS_STACKS of calls that are there without one */
    gp_sid reason; /* "buffer pool full", ... */
    uint64_t count;
    uint32_t process; /* index into trace->processes, UINT32_MAX unknown */
};

/* Two clocks read at the same time, for aligning machines. */
struct gp_clock {
    int64_t trace_ns;    /* on the clock of the events (CLOCK_MONOTONIC in traces of gpuprof-collect) */
    int64_t realtime_ns; /* CLOCK_REALTIME */
    uint32_t producer;
};

/* COUNT nodes of CUDA graphs, FIRST, FIRST + 1, ..., and the ranges that they were captured under, or the
 * nodes that they are clones of. A collector knows this before the events do: see formats/model/nodes.h. */
struct gp_node_run {
    uint64_t first, count;
    uint64_t original; /* the first is a clone of ORIGINAL, the next one of ORIGINAL + 1, ...; 0: no clones */
    gp_sid captured;   /* as in events; 0: none */
    uint32_t stack;    /* index in trace->stacks: where the nodes were captured; 0 unknown */
    uint32_t producer;
};

/* How the values of a metric are made into one: counters are summed, percentages never are. */
enum gp_metric_reduce { GP_REDUCE_SUM, GP_REDUCE_MEAN, GP_REDUCE_MAX, GP_REDUCE_MIN };
enum gp_metric_type { GP_METRIC_COUNTER, GP_METRIC_RATIO, GP_METRIC_THROUGHPUT };

/* One of the values of a set, under its name in NVIDIA's PerfWorks, with rollup. */
struct gp_metric {
    gp_sid name;     /* "dram__bytes_read.sum" */
    gp_sid unit;     /* "byte", "%", "byte/second"; "" if it has none */
    uint32_t type;   /* enum gp_metric_type */
    uint32_t reduce; /* enum gp_metric_reduce */
    uint32_t passes; /* of the whole set: how often each launch was run to measure it */
    gp_sid chip;     /* "GH100" */
};

/* What was measured together: metrics[first .. first + n), in the order of the values of a row. */
struct gp_metric_set {
    uint32_t first, n;
};

/* A frame below another: a stack is one of them and all above it. Entry 0 means none; parents come first. See
 * formats/model/samples.h. */
struct gp_stack {
    uint32_t parent; /* index in trace->stacks, 0: it is the outermost */
    gp_sid name, file;
    uint32_t line;   /* 0 unknown */
    uint32_t symbol; /* of a native frame: index in trace->symbols, which has the rest; 0: a Python frame */
};

/* The name of the frame that stands between those of the thread that waits in backward() and those of the
 * thread of autograd that it waits for. It has no file. */
#define GP_STACK_AUTOGRAD "autograd"
/* The name of a native frame in code that belongs to no module, or of which nothing is known. */
#define GP_STACK_UNKNOWN "[unknown code]"

/* A place in native code, by module and offset; what they mean may be found out after the events were
 * recorded. Entry 0 means none. */
struct gp_symbol {
    gp_sid module;   /* path of the library or program; "" for code that belongs to none */
    uint64_t offset; /* of the call, in the addresses of the file; 0 with module "" */
    gp_sid name;     /* demangled function; 0: not known */
    gp_sid file;
    uint32_t line;   /* 0 unknown */
    uint32_t caller; /* the function that this one was inlined into, 0: it was not */
};

/* A step that was timed while nobody recorded: what the recording costs is seen by comparing. */
enum gp_pace_how {
    GP_PACE_BARE,  /* before the recorder entered the process */
    GP_PACE_PAUSE, /* between two recordings */
};
struct gp_pace {
    int64_t start_ns, dur_ns;
    uint32_t how; /* enum gp_pace_how */
    uint32_t process;
};

/* Of a trace that gp_trace_distorted() (metric.h): the words of every tool instead of such times. */
#define GP_UNTIMED_TEXT "the GPU was measured kernel by kernel, so times between launches are not meaningful"

/* Data quality: faults of the input. X(enum, name in JSON, text for people). */
#define GP_ISSUES(X)                                                                                         \
    X(GP_Q_TRUNCATED, "truncated", "the input ends early")                                                   \
    X(GP_Q_COMPRESSION, "compression", "the compressed stream is damaged")                                   \
    X(GP_Q_SYNTAX, "syntax", "malformed events, skipped")                                                    \
    X(GP_Q_REPAIRED_TEXT, "repaired_text", "strings with raw control characters, bad escapes or bad UTF-8")  \
    X(GP_Q_BAD_TIME, "bad_time", "events without a valid time, skipped")                                     \
    X(GP_Q_BAD_DURATION, "bad_duration", "durations that are missing or invalid, read as 0")                 \
    X(GP_Q_BAD_VALUE, "bad_value", "fields with a value of the wrong type, dropped")                         \
    X(GP_Q_UNKNOWN_PHASE, "unknown_phase", "events of unknown phase, skipped")                               \
    X(GP_Q_UNMATCHED_BEGIN, "unmatched_begin",                                                               \
      "begin events without an end, closed at the end of the trace")                                         \
    X(GP_Q_UNMATCHED_END, "unmatched_end", "end events without a begin")                                     \
    X(GP_Q_DUPLICATE_KEY, "duplicate_key", "events with a duplicate field, the last one counts")             \
    X(GP_Q_BAD_BLOCK, "bad_block", "damaged blocks, skipped")                                                \
    X(GP_Q_MISSING_BLOCK, "missing_block", "missing blocks")                                                 \
    X(GP_Q_LIMIT, "limit", "events that exceed a limit, skipped or joined")                                  \
    X(GP_Q_NO_CORRELATION, "no_correlation", "GPU events without a usable launch record")                    \
    X(GP_Q_BEFORE_LAUNCH, "before_launch", "GPU events that start before their launch")                      \
    X(GP_Q_OUTLIER_TIME, "outlier_time", "GPU events with an impossible time")                               \
    X(GP_Q_OUTLIER_DURATION, "outlier_duration", "GPU events with an impossible duration")                   \
    X(GP_Q_LOSS, "loss", "events that the collector lost")                                                   \
    X(GP_Q_LOST_STACK, "lost_stack", "calls whose stack the collector could not read")                       \
    X(GP_Q_COUNTERS, "counters", GP_UNTIMED_TEXT ": no step, idle, busy or host time is given")

enum gp_issue_kind { GP_ISSUES(GP_FIRST) GP_ISSUE_COUNT };

struct gp_issue {
    uint64_t count;
    int64_t first_offset; /* in the decompressed input, -1 if there is no position */
};

/* Where a trace came from; filled by gp_trace_read(). Strings are static or owned by the trace. */
struct gp_input_info {
    const char *path;        /* as given; "-" for standard input */
    const char *format;      /* "gpuprof", "chrome", "nsys", "folded" */
    const char *compression; /* "none", "gzip", "zstd" */
    uint64_t bytes;          /* decompressed bytes read */
    uint64_t events;         /* events in the input, including those that were not needed or were skipped */
    bool spooled;            /* it was copied to a temporary file, because its format needs seeks */
};

/* What the caller wants: one bit per table, 1u << GP_GPU and so on, and GP_NEED_EXTRA for the `extra`
 * columns. Readers skip the rest, which then costs neither time nor memory. */
#define GP_NEED(table) (1u << (table))
#define GP_NEED_EXTRA  (1u << 30)
#define GP_NEED_ALL    0x7bffffffu
/* Of the `extra` columns, only those of GPU events, their configs and allocations. */
#define GP_NEED_EXTRA_WORK (1u << 29)
/* Of the `extra` columns, only those of ranges. */
#define GP_NEED_EXTRA_RANGES (1u << 27)
/* And of operators, where the shapes of their inputs are. */
#define GP_NEED_EXTRA_OPS (1u << 24)
/* Columns that only other profilers' tools read: recfn, py_id, py_parent, py_module, addr. */
#define GP_NEED_IDS (1u << 28)
/* Samples stay samples, for a copy of the trace; otherwise Python rows are made of them, see
 * formats/model/samples.h. */
#define GP_NEED_RAW_SAMPLES (1u << 25)
/* Where GPU events stand in the input, for messages about them; not part of GP_NEED_ALL. */
#define GP_NEED_PLACES (1u << 26)
/* Reduces the need, and is not part of GP_NEED_ALL: no arrows and no External ids if
 * gp_trace_knows_calls(). */
#define GP_NEED_FEW_ARROWS (1u << 31)

/* Does NEED ask for further args of events of TABLE? */
static inline bool gp_needs_extra(uint32_t need, enum gp_table table)
{
    return need & GP_NEED_EXTRA || (need & GP_NEED_EXTRA_WORK && (table == GP_GPU || table == GP_MEMORY)) ||
           (need & GP_NEED_EXTRA_RANGES && table == GP_RANGE) || (need & GP_NEED_EXTRA_OPS && table == GP_OP);
}

struct gp_trace {
    uint32_t need; /* set by gp_trace_init */
    struct gp_strings strings;
    struct gp_events events[GP_TABLE_COUNT];
    GP_VEC(struct gp_config) configs;
    GP_VEC(struct gp_process) processes;
    GP_VEC(struct gp_track) tracks;
    GP_VEC(struct gp_device) devices;
    GP_VEC(struct gp_meta) meta;
    GP_VEC(struct gp_loss) losses;
    GP_VEC(struct gp_clock) clocks;
    GP_VEC(struct gp_node_run) node_runs; /* empty in a trace that was read: its events have them */
    GP_VEC(struct gp_metric) metrics;     /* of all sets, one after the other */
    GP_VEC(struct gp_metric_set) metric_sets;
    GP_VEC(double) metric_values; /* of GP_METRIC, a row's side by side; NaN: was not measured */
    GP_VEC(struct gp_stack) stacks;
    GP_VEC(struct gp_symbol) symbols;
    GP_VEC(struct gp_pace) paces;
    struct gp_issue issues[GP_ISSUE_COUNT];
    int32_t rank;       /* of the whole trace, from metadata; -1 unknown */
    int32_t world_size; /* -1 unknown */
    struct gp_input_info input;
    struct gp_trace_index *index; /* private to trace.c: hashes for the small arrays */
    void *slab;                   /* private to trace.c: see gp_trace_allocate */
};

/* ---- building ---- */

/* Make T a trace without events that has room for NEED. Any content of T is overwritten. */
void gp_trace_init(struct gp_trace *t, uint32_t need);
/* Frees everything. Accepts a zeroed trace. */
void gp_trace_release(struct gp_trace *t);
/* Removes all events and issues but keeps strings, tracks, configs and the rest, and all memory: for writers
 * that flush repeatedly. */
void gp_trace_clear_events(struct gp_trace *t);

/* Append an event; returns its row. Amortised O(1). DUR_NS must not be negative, TRACK must exist. */
size_t gp_events_add(struct gp_events *e, int64_t start_ns, int64_t dur_ns, uint32_t track, gp_sid name);
/* The first row that starts at AT_NS or later, E->n if none does, of rows in the order of their starts. */
size_t gp_events_from(const struct gp_events *e, int64_t at_ns);
/* Make sure that column COL has memory for all rows; fills it with the default. Inline setters below
 * call it. */
void gp_events_materialise(struct gp_events *e, enum gp_column col);
/* Drop column COL (not one of the first four): every row has the default again. */
void gp_events_drop(struct gp_events *e, enum gp_column col);
/* Make room for CAP rows in every column that has memory. */
void gp_events_reserve(struct gp_events *e, size_t cap);
/* Give every table of T, which must not have events yet, ROWS[i] rows with undefined content, with the
 * columns whose bit GP_COLUMN(GP_COL_x) is set in COLUMNS[i] besides the four that every table has. All of
 * them share one piece of memory, which is much cheaper to touch than many. Call once per trace. */
void gp_trace_allocate(struct gp_trace *t, const size_t rows[GP_TABLE_COUNT],
                       const uint64_t columns[GP_TABLE_COUNT]);
/* Make the tables of T empty again, so that they can be allocated once more. */
void gp_trace_deallocate(struct gp_trace *t);
/* Remove the rows with KEEP[row] 0; the others stay in order. */
void gp_events_keep(struct gp_events *e, const uint8_t *keep);
/* Fill ORDER with the rows sorted by (start, longer first, row). */
void gp_events_order(const struct gp_events *e, uint32_t *order);
/* Sort the rows in that order. gp_trace_finish calls it; call it again after changing times. */
void gp_events_sort(struct gp_events *e);
void gp_events_release(struct gp_events *e);

/* Set one cell: gp_set_corr(e, row, 7). Setting the default has no effect while the column is NULL. */
#define X(id, member, type, dflt, fname)                                                                     \
    static inline void gp_set_##member(struct gp_events *e, size_t row, type v)                              \
    {                                                                                                        \
        if (!e->member) {                                                                                    \
            if (v == (type)(dflt)) return;                                                                   \
            gp_events_materialise(e, id);                                                                    \
        }                                                                                                    \
        e->member[row] = v;                                                                                  \
    }                                                                                                        \
    /* Read one cell, the default if no event has the column: gp_get_corr(e, row). */                        \
    static inline type gp_get_##member(const struct gp_events *e, size_t row)                                \
    {                                                                                                        \
        return e->member ? e->member[row] : (type)(dflt);                                                    \
    }
GP_COLUMNS(X)
#undef X

/* The stack of a sample, as index into trace->stacks; 0: none. */
static inline uint32_t gp_sample_stack(const struct gp_events *e, size_t row)
{
    uint64_t id = gp_get_id(e, row);
    return id < UINT32_MAX ? (uint32_t)id : 0;
}

/* Index of an equal config, process, track; added if it is new. O(1). Only the identifying fields are
 * compared: (producer, pid, pid_text); (kind, process, tid, tid_text, device, context, stream); every byte of
 * a config. Names and sort indices of a known process or track stay as they are. */
uint32_t gp_trace_config(struct gp_trace *t, const struct gp_config *c);
uint32_t gp_trace_process(struct gp_trace *t, const struct gp_process *p);
uint32_t gp_trace_track(struct gp_trace *t, const struct gp_track *k);
/* The track of what is read of GPU NUMBER as a whole, of a process called NAME that stands for it. */
uint32_t gp_trace_gpu_track(struct gp_trace *t, uint32_t number, const char *name);
/* The same of a stack, by all its members; its parent is an entry. Only for traces whose stacks all came in
 * here. */
uint32_t gp_trace_stack(struct gp_trace *t, const struct gp_stack *s);
/* The same of a symbol, by module and offset; one with a name is always added. */
uint32_t gp_trace_symbol(struct gp_trace *t, const struct gp_symbol *s);
/* Fresh structs with every "unknown" filled in (-1, GP_NO_ID, 0). */
struct gp_process gp_process_unknown(void);
struct gp_track gp_track_unknown(void);
struct gp_device gp_device_unknown(void);

gp_sid gp_trace_intern(struct gp_trace *t, const char *s, size_t n);
/* Record metadata; an earlier value of KEY is replaced. VALUE is JSON text. */
void gp_trace_set_meta(struct gp_trace *t, const char *key, const char *value, size_t n);
void gp_trace_set_number(struct gp_trace *t, const char *key, int64_t value);
/* JSON text of KEY, or NULL. */
const char *gp_trace_get_meta(const struct gp_trace *t, const char *key);

/* How many events the collector knows that it lost: STACKS of calls, or everything but those. */
uint64_t gp_trace_lost(const struct gp_trace *t, bool stacks);
/* Count N more issues of KIND; OFFSET (-1: none) is kept if it is the lowest so far. */
void gp_trace_issue(struct gp_trace *t, enum gp_issue_kind kind, uint64_t n, int64_t offset);

/* Bound the times, see GP_TIME_MOST: events too far away are removed (GP_Q_BAD_TIME), durations that are too
 * long become 0 (GP_Q_BAD_DURATION), the longest first. Then sort every table by (start, longer first,
 * insertion order). Call once, after all events were added. O(n) for sorted tables, O(n log n) otherwise. */
void gp_trace_finish(struct gp_trace *t);
/* Bound the times and sort again, after events of a finished trace were added or moved. */
void gp_trace_sort(struct gp_trace *t);

/* ---- reading ---- */

static inline const char *gp_trace_str(const struct gp_trace *t, gp_sid sid)
{
    return gp_string(&t->strings, sid);
}

/* Kind and name of a GPU event. ROW < t->events[GP_GPU].n. */
static inline const struct gp_config *gp_gpu_config(const struct gp_trace *t, size_t row)
{
    return &t->configs.at[gp_get_config(&t->events[GP_GPU], row)]; /* no column if all rows have config 0 */
}

/* Ranges as one string, outermost first: their names separated by GP_CAPTURED_END, which no name contains.
 * Cuts the first name off [*AT, END): returns it with its length in *N, and moves *AT past it; NULL if there
 * is none left.
 *
 *     const char *at = gp_trace_str(t, sid), *end = at + gp_string_len(&t->strings, sid), *name;
 *     for (size_t n; (name = gp_captured_next(&at, end, &n));) ... */
#define GP_CAPTURED_END '\x1f'
static inline const char *gp_captured_next(const char **at, const char *end, size_t *n)
{
    const char *name = *at;
    if (name >= end) return NULL;
    const char *stop = memchr(name, GP_CAPTURED_END, (size_t)(end - name));
    if (!stop) stop = end;
    *n = (size_t)(stop - name);
    *at = stop + 1;
    return name;
}

const char *gp_table_name(enum gp_table table);     /* "gpu" */
const char *gp_table_category(enum gp_table table); /* "cuda_runtime"; "" if there is no single one */
const char *gp_issue_name(enum gp_issue_kind kind); /* "bad_duration" */
const char *gp_issue_text(enum gp_issue_kind kind); /* text for people */
/* Chrome category of a GPU event's kind: "kernel", "gpu_memcpy", "gpu_memset". */
const char *gp_gpu_kind_category(enum gp_gpu_kind kind);

/* Does every GPU event have the correlation id of a call on a host thread? Then arrows add nothing about
 * launches. False if finding out would be expensive. T need not be finished. O(n). */
bool gp_trace_knows_calls(const struct gp_trace *t);

/* Static description of a column, for code that handles all columns alike (writers, readers, the checker). */
struct gp_column_info {
    const char *name;
    size_t offset;  /* of the pointer in struct gp_events */
    uint32_t width; /* bytes per cell: 4 or 8 */
    uint64_t dflt;  /* default, as bits */
};
extern const struct gp_column_info gp_column_infos[GP_COLUMN_COUNT];
/* The cells of COL, or NULL. */
static inline void *gp_events_column(const struct gp_events *e, enum gp_column col)
{
    void *p;
    memcpy(&p, (const char *)e + gp_column_infos[col].offset, sizeof p);
    return p;
}

/* Cell ROW of the column COL, as bits; the default if no event has the column. */
static inline uint64_t gp_get_cell(const struct gp_events *e, enum gp_column col, size_t row)
{
    const char *cells = gp_events_column(e, col);
    uint32_t narrow;
    uint64_t wide;
    if (!cells) return gp_column_infos[col].dflt;
    if (gp_column_infos[col].width == sizeof wide) {
        memcpy(&wide, cells + row * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, cells + row * sizeof narrow, sizeof narrow);
    return narrow;
}
/* Set it; V is cut to the width of the column. */
static inline void gp_set_cell(struct gp_events *e, enum gp_column col, size_t row, uint64_t v)
{
    uint32_t narrow = (uint32_t)v;
    if (!gp_events_column(e, col)) {
        if (v == gp_column_infos[col].dflt) return;
        gp_events_materialise(e, col);
    }
    char *cells = gp_events_column(e, col);
    if (gp_column_infos[col].width == sizeof v) memcpy(cells + row * sizeof v, &v, sizeof v);
    else memcpy(cells + row * sizeof narrow, &narrow, sizeof narrow);
}

/* Events that could not be used, and whether the input was cut: the sums that reports print. */
uint64_t gp_trace_skipped(const struct gp_trace *t);
bool gp_trace_truncated(const struct gp_trace *t);
/* "clean", "repaired" or, if the input had events but none is usable, "unusable". */
const char *gp_trace_verdict(const struct gp_trace *t);

/* ---- keys of metadata ----
 * Keys of a trace's metadata (struct gp_meta) that one program writes and another one reads.
 *
 *     snprintf(key, sizeof key, GP_META_NCCL_RANKS "%s", communicator);
 */

/* Followed by the id of a communicator of NCCL: the value is its number of ranks. For traces that begin after
 * the communicator was created. */
#define GP_META_NCCL_RANKS "nccl_ranks."

/* "true" in a trace that was recorded launch by launch, for counters or program counters: launches waited for
 * each other, and may have been repeated. */
#define GP_META_DISTORTED "metrics.distorted"
/* ns between two samples of the counters of a GPU. */
#define GP_META_COUNTER_PERIOD "metrics.sample_period_ns"
/* ns between two samples of a thread. */
#define GP_META_SAMPLE_PERIOD "sample_period_ns"

#endif
