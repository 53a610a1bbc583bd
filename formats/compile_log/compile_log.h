/* compile_log.h -- the logs of torch.compile, as a model: processes, spans of compile time, compiled frames,
 * graph breaks, recompiles, cache look-ups, generated graphs with their kernels, CUDA graphs. Filled from
 * structured logs (TORCH_TRACE) and text logs (TORCH_LOGS) of any number of processes; facts that one version
 * writes and another does not are simply absent. Records that are unknown are counted and skipped, damage is
 * counted and located. Measures and judges nothing.
 *
 *     struct gp_compile_log log = {0};
 *     struct gp_input *in = gp_input_open("dedicated_log_torch_trace_x.log", 0, &err);
 *     gp_compile_log_read(&log, in, "dedicated_log_torch_trace_x.log");
 *     for (size_t i = 0; i < log.spans.n; i++) use(log.spans.at[i].name, log.spans.at[i].self_ns);
 *     gp_compile_log_release(&log);
 *
 * Times are Unix time in ns. A sid of 0 and a number of -1 mean "not known". "compile id" is "frame/compile"
 * with "!N/" in front under compiled autograd, as torch.compile prints it, without the attempt.
 */
#ifndef GP_FORMATS_COMPILE_LOG_H
#define GP_FORMATS_COMPILE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/base/declare.h"

struct gp_input; /* formats/base/input.h */

#define GP_CLOG_NONE UINT32_MAX

/* ---- inputs ---- */

/* Faults of a log. X(enum, name in JSON, text for people) */
#define GP_CLOG_ISSUES(X)                                                                                    \
    X(GP_CLOG_TRUNCATED, "truncated", "the log ends within a record")                                        \
    X(GP_CLOG_COMPRESSION, "compression", "the compressed stream is damaged")                                \
    X(GP_CLOG_DAMAGED, "damaged", "records skipped because their JSON is damaged")                           \
    X(GP_CLOG_DIGEST, "digest", "payloads that differ from their digest, used as they are")                  \
    X(GP_CLOG_PAYLOAD, "payload", "records whose payload could not be read")                                 \
    X(GP_CLOG_ORPHAN, "orphan", "payload lines without a record")                                            \
    X(GP_CLOG_NOISE, "noise", "lines of other programs")                                                     \
    X(GP_CLOG_STRING, "string", "file names that the log does not define")                                   \
    X(GP_CLOG_UNMATCHED, "unmatched", "ends of spans that nothing began")                                    \
    X(GP_CLOG_OPEN, "open", "spans that do not end")                                                         \
    X(GP_CLOG_LIMIT, "limit", "records skipped because they pass a limit")

enum gp_clog_issue_kind { GP_CLOG_ISSUES(GP_FIRST) GP_CLOG_ISSUE_COUNT };
const char *gp_clog_issue_name(enum gp_clog_issue_kind kind);
const char *gp_clog_issue_text(enum gp_clog_issue_kind kind);

struct gp_clog_issue {
    uint64_t count;
    int64_t first_offset; /* -1: no place */
};

/* One file. used + skipped + damaged = records; records and lines of text logs are all lines with a
 * prefix. */
struct gp_clog_input {
    gp_sid path, compression;
    uint64_t bytes;                           /* decompressed */
    uint64_t records, used, skipped, damaged; /* structured */
    uint64_t texts;                           /* lines of a text log */
    struct gp_clog_issue issues[GP_CLOG_ISSUE_COUNT];
};

/* ---- compilations ---- */

struct gp_clog_process {
    uint32_t input; /* of its structured log; GP_CLOG_NONE: text only */
    uint64_t pid;   /* 0: the log has threads instead */
    int32_t rank;   /* -1 unknown */
    gp_sid torch, cuda, triton, python;
    /* Scripts that repeat a compilation, one per graph, and how many of them set an option. */
    uint32_t scripts, cudagraphs, max_autotune, coordinate_descent;
    bool templates;  /* kernel templates were tuned */
    bool has_events; /* compile time was logged as spans */
};

/* A span of compile time. Spans of a process nest; parents come before children. */
struct gp_clog_span {
    uint32_t process, parent; /* index into spans, GP_CLOG_NONE: a root */
    gp_sid name, compile_id;
    int64_t begin_ns, dur_ns, self_ns; /* self: without children, may be negative where clocks stepped back */
    bool open;                         /* never ended: closed at the last event of its process */
    bool backward;
};

/* A compile that began: the code that is compiled. */
struct gp_clog_start {
    uint32_t process;
    gp_sid compile_id, name, file;
    int32_t line;
};

/* compilation_metrics and its like. A compile has one of kind FRAME, maybe one BACKWARD, any number of
 * RUNTIME. */
enum gp_clog_metrics_kind { GP_CLOG_FRAME, GP_CLOG_BACKWARD, GP_CLOG_RUNTIME };
struct gp_clog_metrics {
    uint32_t process;
    uint8_t kind;            /* enum gp_clog_metrics_kind */
    int8_t has_guarded_code; /* 1, 0; -1 unknown */
    gp_sid compile_id, name, file;
    int32_t line, attempts; /* attempts: 1 + the highest that was seen */
    int64_t begin_ns, end_ns;
    int64_t graph_ops, nodes, inputs, guards, cache_size;
    int64_t frame_ns, backend_ns, inductor_ns, codegen_ns, backward_ns; /* nested, not parts */
    int64_t frame_s_ns;        /* frame_ns by its other field, in seconds; -1: one only */
    int64_t kernel_compile_ns; /* sum over kernels, in worker processes */
    int64_t autotune_ns, cudagraph_ns, logging_ns, gc_ns;
    gp_sid fail_type, fail_reason, fail_file, recompile_reason, skip_reason;
    int32_t fail_line;
    uint32_t first_restart, n_restarts; /* slice of restarts: reasons of new attempts */
};

/* Where a graph break was logged. */
enum gp_clog_source { GP_CLOG_FROM_ARTIFACT, GP_CLOG_FROM_METRICS, GP_CLOG_FROM_TEXT, GP_CLOG_FROM_RESTART };
struct gp_clog_break {
    uint32_t process;
    uint8_t source;     /* enum gp_clog_source */
    bool whole_frame;   /* the frame runs without being compiled */
    int32_t number;     /* in the registry of the compiler: 59 of GB0059; -1 */
    uint32_t caused_by; /* index into breaks: the one that it happened while handling; GP_CLOG_NONE */
    int32_t attempt, line;
    gp_sid compile_id, kind, context, explanation, hint, file, function, code;
    gp_sid via_file; /* of the library that the place calls and that breaks; 0: the place itself */
    int32_t via_line;
};

/* Why a compiled entry did not fit: one row an entry, newest first. */
struct gp_clog_recompile {
    uint32_t process;
    int32_t order;              /* 0: the newest entry of that recompile */
    int32_t line;               /* of the code that the guard comes from */
    uint8_t source;             /* FROM_ARTIFACT, FROM_TEXT or FROM_METRICS */
    gp_sid compile_id, against; /* the new one, the entry */
    gp_sid reason;              /* "n == 0"; "tensor 'x' size mismatch at index 0. expected 3, actual 5" */
    gp_sid file, function;
};

enum gp_clog_cache_layer { GP_CLOG_FX, GP_CLOG_AOT };
enum gp_clog_cache_state {
    GP_CLOG_MISS,
    GP_CLOG_HIT,
    GP_CLOG_BYPASS,
    GP_CLOG_DISABLED,
    GP_CLOG_CACHE_STATES
};
struct gp_clog_cache {
    uint32_t process;
    uint8_t layer, state;
    gp_sid compile_id, key, reason;
    int64_t taken_ns, saved_ns; /* -1 unknown */
};

enum gp_clog_direction { GP_CLOG_UNKNOWN, GP_CLOG_FORWARD, GP_CLOG_BACKWARD_GRAPH, GP_CLOG_INFERENCE };
/* What the code generator wrote for one graph. */
struct gp_clog_graph {
    uint32_t process;
    uint8_t direction;            /* enum gp_clog_direction */
    gp_sid compile_id, path, key; /* key: of the cache look-up of this graph */
    int64_t operators, views;     /* of the graph that was lowered; -1 unknown */
    uint32_t triton_calls, extern_calls, fallback_calls;
    uint32_t first_kernel, n_kernels;  /* slice of kernels */
    int64_t nodes_before, nodes_after; /* of the scheduler, by the text log; -1 unknown */
    gp_sid code;                       /* the module, where it was asked for */
};
struct gp_clog_kernel {
    gp_sid name, path, config;
    uint32_t first_operator, n_operators; /* slice of operators: the ATen operators in it */
    uint32_t sources;                     /* operators before decomposition that went in */
    uint32_t calls;
    int64_t compile_ns; /* -1 unknown */
    uint64_t configs;   /* that were tried; 0 unknown */
};

/* From the text log. */
struct gp_clog_fusion_round {
    uint32_t process;
    gp_sid compile_id;
    int32_t round; /* from 1 */
    int64_t before, after;
};
struct gp_clog_skip {
    uint32_t process;
    gp_sid compile_id, reason, file;
    int32_t line;
};
struct gp_clog_recording {
    uint32_t process;
    gp_sid compile_id, function;
};
/* "cannot fuse": counted by reason */
struct gp_clog_unfused {
    gp_sid reason;
    uint64_t count;
};

/* A zeroed struct is empty. */
struct gp_compile_log {
    bool keep_code; /* set before reading: keep generated code and source lines */
    /* Set before reading: called now and then with the bytes of the file read so far; NULL: not at all. */
    void (*progress)(void *ctx, uint64_t bytes);
    void *progress_ctx;
    struct gp_strings strings;
    GP_VEC(struct gp_clog_input) inputs;
    GP_VEC(struct gp_clog_process) processes;
    GP_VEC(struct gp_clog_span) spans;
    GP_VEC(struct gp_clog_metrics) metrics;
    GP_VEC(struct gp_clog_start) starts;
    GP_VEC(gp_sid) restarts;
    GP_VEC(struct gp_clog_break) breaks;
    GP_VEC(struct gp_clog_recompile) recompiles;
    GP_VEC(struct gp_clog_cache) caches;
    GP_VEC(struct gp_clog_graph) graphs;
    GP_VEC(struct gp_clog_kernel) kernels;
    GP_VEC(gp_sid) operators;
    GP_VEC(struct gp_clog_fusion_round) rounds;
    GP_VEC(struct gp_clog_skip) skips;
    GP_VEC(struct gp_clog_recording) recordings;
    GP_VEC(struct gp_clog_unfused) unfused;
};

/* Is this a log that gp_compile_log_read understands? HEAD has the first N decompressed bytes. */
bool gp_compile_log_sniff(const uint8_t *head, size_t n);
/* Append all of IN, which the caller closes; PATH is its name. Never fails: an empty log is a process
 * that compiled nothing. */
void gp_compile_log_read(struct gp_compile_log *log, struct gp_input *in, const char *path);
void gp_compile_log_release(struct gp_compile_log *log);

static inline const char *gp_clog_str(const struct gp_compile_log *log, gp_sid sid)
{
    return gp_string(&log->strings, sid);
}

/* ---- folders ----
 * The logs that torch.compile left in a folder, one per process, by name. Reads no log.
 *
 *     struct gp_log_files files = {0};
 *     if (gp_log_folder("traces", &files, &err)) ...
 *     gp_log_files_release(&files);
 */

struct gp_log_files {
    GP_VEC(char *) at; /* paths */
};

/* Is PATH a folder? */
bool gp_log_is_folder(const char *path);
/* Append the paths of the dedicated_log_torch_trace_* files in PATH, sorted. -1 when it cannot be read or has
 * none. */
GP_MUST_CHECK int gp_log_folder(const char *path, struct gp_log_files *files, struct gp_err *err);
void gp_log_files_release(struct gp_log_files *files);

#endif
