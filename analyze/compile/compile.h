/* compile.h -- what torch.compile did with a program: where compile time went, every graph break once,
 * recompiles by guard, caches, CUDA graphs, what was fused, what it gained at run time, and what to do first.
 * From logs, and from GPU traces of the same program where there are any; either alone gives its half. Knows
 * nothing of files, text layout or pictures. What a figure means stands beside it here; formulas are in
 * README.md.
 *
 *     struct gp_compile c;
 *     gp_compile_init(&c, &log, &opts);
 *     gp_compile_add_trace(&c, GP_COMPILE_RUN, NULL, &trace, &err);       // any number of them
 *     gp_compile_finish(&c);
 *     for (size_t i = 0; i < c.breaks.n; i++) use(c.breaks.at[i].family, c.breaks.at[i].line);
 *     gp_compile_release(&c);
 *
 * All strings are of the log's table, to which this adds. Numbers of -1 are not known.
 */
#ifndef GP_ANALYZE_COMPILE_H
#define GP_ANALYZE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/compile/break_family.h"
#include "analyze/diff/profile.h"
#include "analyze/result/field.h"
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/compile_log/compile_log.h"
#include "formats/model/trace.h"

/* ---- time ---- */

/* Classes of compile time. X(enum, name in JSON, text) */
#define GP_COMPILE_CLASSES(X)                                                                                \
    X(GP_COMPILE_DYNAMO, "dynamo", "tracing Python code and building guards")                                \
    X(GP_COMPILE_AOT, "aot", "autograd graphs, decompositions, partitioning")                                \
    X(GP_COMPILE_PASSES, "passes", "passes over graphs")                                                     \
    X(GP_COMPILE_INDUCTOR, "inductor", "lowering, fusion, code generation")                                  \
    X(GP_COMPILE_KERNELS, "kernels", "waiting for kernels to be compiled, and loading them")                 \
    X(GP_COMPILE_AUTOTUNE, "autotune", "measuring variants of kernels")                                      \
    X(GP_COMPILE_CUDAGRAPHS, "cudagraphs", "recording CUDA graphs")                                          \
    X(GP_COMPILE_OTHER, "other", "everything else")

enum gp_compile_class { GP_COMPILE_CLASSES(GP_FIRST) GP_COMPILE_CLASS_COUNT };
const char *gp_compile_class_name(enum gp_compile_class c);
const char *gp_compile_class_text(enum gp_compile_class c);
/* The class of a span called NAME. */
enum gp_compile_class gp_compile_class_of(const char *name);

struct gp_compile_time {
    int64_t total_ns;                         /* of the root spans; of metrics where spans were not logged */
    int64_t class_ns[GP_COMPILE_CLASS_COUNT]; /* self times: they sum to total_ns */
    int64_t longest_ns;                       /* of the process that compiled longest */
    int64_t runtime_ns;     /* of total: after the frame was compiled: autotuning, CUDA graphs */
    int64_t logging_ns;     /* that writing the log took */
    int64_t kernel_work_ns; /* sum over kernels, in worker processes: not a part of total */
    int64_t saved_ns;       /* what cache hits saved, by their own account */
    int64_t outside_ns;     /* of total: of no frame */
    int64_t stall_ns;       /* of total: inside steady steps of the trace; -1: no trace */
    uint32_t stalls;        /* root spans inside steady steps */
    uint32_t open;          /* spans that never ended */
    bool from_spans;
};
extern const struct gp_record gp_compile_times; /* one: struct gp_compile_time */
/* A class of the compile time of all, for tables: int64_t of time.class_ns. */
extern const struct gp_record gp_compile_class_times;

/* How a compile ended. */
enum gp_compile_outcome {
    GP_COMPILE_OK,
    GP_COMPILE_EMPTY,
    GP_COMPILE_FAILED,
    GP_COMPILE_EAGER,
    GP_COMPILE_CUT
};

/* Which caches answered. */
enum gp_compile_warmth { GP_COMPILE_UNKNOWN, GP_COMPILE_COLD, GP_COMPILE_PARTLY, GP_COMPILE_WARM };
const char *gp_compile_warmth_name(enum gp_compile_warmth w); /* "unknown", "cold", "partly warm", "warm" */

/* One compile of one frame: a compile id of a process. */
struct gp_compile_frame {
    uint32_t process;
    /* function: without the words for the rest of a frame after a break */
    gp_sid compile_id, name, function, file;
    int32_t line, attempts;
    int32_t resumed_line; /* the frame is what follows a break on that line; -1 */
    int64_t graph_ops, guards, cache_size;
    uint8_t cache, outcome; /* enum gp_compile_warmth, gp_compile_outcome */
    gp_sid fail_kind;
    int64_t total_ns; /* self times of its spans; they sum to the total over frames and outside */
    int64_t class_ns[GP_COMPILE_CLASS_COUNT];
    double calls_per_step; /* of the compiled region, by the trace; -1 */
};
extern const struct gp_record gp_compile_frames;

/* ---- breaks ---- */

enum gp_compile_effort { GP_EFFORT_SMALL, GP_EFFORT_MEDIUM, GP_EFFORT_LARGE };

/* One place that breaks graphs for one reason, however often. */
struct gp_compile_break {
    int32_t number;  /* of the compiler's registry; -1 */
    uint32_t family; /* enum gp_break_family */
    gp_sid kind, context, explanation, hint, file, function, code;
    gp_sid via_file; /* the library that the place calls, where it breaks in there; 0 */
    int32_t line, via_line;
    uint32_t count;               /* compiles that broke there */
    uint32_t first_id, n_ids;     /* slice of c->ids: their compile ids */
    uint32_t first_rank, n_ranks; /* slice of c->ranks */
    uint32_t sources;             /* bits 1 << enum gp_clog_source */
    uint32_t caused_by;           /* index of the break that it happened while handling; GP_CLOG_NONE */
    bool whole_frame;             /* the function runs without being compiled */
    int64_t cost_ns;              /* GPU idle time at the break, per step; -1 */
    uint32_t recompile;           /* too many recompiles: index into recompiles; GP_CLOG_NONE */
    bool is_new;                  /* not in the baseline that was given */
};

extern const struct gp_record gp_compile_breaks[2]; /* with the line of source: [1] */

/* ---- recompiles ---- */

#define GP_RECOMPILE_KINDS(X)                                                                                \
    X(GP_RECOMPILE_SIZE, "size", "a size that changes")                                                      \
    X(GP_RECOMPILE_NUMBER, "number", "a number that is compiled in")                                         \
    X(GP_RECOMPILE_FLAG, "flag", "a flag or text that is compiled in")                                       \
    X(GP_RECOMPILE_DTYPE, "dtype", "another data type")                                                      \
    X(GP_RECOMPILE_STRIDE, "stride", "another memory layout")                                                \
    X(GP_RECOMPILE_DEVICE, "device", "another device")                                                       \
    X(GP_RECOMPILE_GRAD, "requires_grad", "gradients needed or not")                                         \
    X(GP_RECOMPILE_GLOBAL, "global_state", "grad mode, autocast or another global setting")                  \
    X(GP_RECOMPILE_OBJECT, "object", "another object in the same place")                                     \
    X(GP_RECOMPILE_KEYS, "keys", "another length or other keys of a container")                              \
    X(GP_RECOMPILE_OTHER, "other", "another guard")

enum gp_recompile_kind { GP_RECOMPILE_KINDS(GP_FIRST) GP_RECOMPILE_KIND_COUNT };
const char *gp_recompile_kind_name(enum gp_recompile_kind k);
const char *gp_recompile_kind_text(enum gp_recompile_kind k);

/* Compiles of one function again because of one expression. */
struct gp_compile_recompile {
    uint32_t kind;                             /* enum gp_recompile_kind */
    gp_sid function, file, expression, sample; /* sample: the guard of the first one, as logged */
    int32_t line;
    uint32_t count;                 /* compiles */
    uint32_t first_value, n_values; /* slice of c->values: values of the expression, in order */
    uint32_t first_id, n_ids;       /* slice of c->ids */
    int64_t compile_ns;             /* of these compiles */
    bool limit;                     /* the limit was reached: the function runs eagerly from then on */
    uint32_t stalls;                /* of them inside steady steps */
    bool is_new;
};
extern const struct gp_record gp_compile_recompiles;

/* ---- caches, graphs ---- */

struct gp_compile_caches {
    uint32_t count[2][GP_CLOG_CACHE_STATES]; /* by enum gp_clog_cache_layer, gp_clog_cache_state */
    enum gp_compile_warmth warmth;
    GP_VEC(gp_sid) bypass; /* reasons, each once */
};
extern const struct gp_record gp_compile_cache_counts; /* one: struct gp_compile_caches */

struct gp_compile_fusion {
    int64_t nodes_before, nodes_after;      /* of the scheduler, all graphs; -1: no text log */
    int64_t operators, views;               /* of the graphs that were lowered; -1 */
    uint64_t triton, external, fallback;    /* calls in the generated code */
    uint64_t kernels, operators_in_kernels; /* generated kernels, ATen operators by their comments */
    double kernels_eager, kernels_compiled; /* per step, by traces; -1 */
    double triton_per_step;                 /* calls of generated kernels per step, by the trace; -1 */
};
extern const struct gp_record gp_compile_fused; /* one: struct gp_compile_fusion */

/* A graph is log->graphs.at[i]; beside it its figures from the trace. */
struct gp_compile_graph {
    int64_t nodes_before, nodes_after; /* of the scheduler; -1 */
    double calls_per_step;             /* by its key in the trace; -1 */
};
extern const struct gp_record gp_compile_graphs[2]; /* with the code: [1] */
struct gp_compile_kernel {
    uint32_t index; /* into log->kernels, which has as many in the same order */
    uint32_t graph;
    int64_t gpu_ns; /* per step; -1: no trace, or the name is that of several kernels */
    double count;   /* per step; -1 */
};
extern const struct gp_record gp_compile_kernels;

struct gp_compile_skip {
    gp_sid reason, text; /* as logged, and for people */
    gp_sid function, file, compile_id;
    int32_t line;
    uint32_t count;
    bool is_new;
};
struct gp_compile_cudagraphs {
    bool asked;               /* by the mode */
    uint32_t recorded;        /* regions of which a graph was recorded */
    uint32_t recordings;      /* all of them: more than regions where one is recorded again */
    double launches_per_step; /* by the trace; -1 */
    GP_VEC(struct gp_compile_skip) skips;
};
extern const struct gp_record gp_compile_cuda_graphs; /* one: struct gp_compile_cudagraphs */

/* ---- run time ---- */

enum gp_compile_role { GP_COMPILE_RUN, GP_COMPILE_EAGER_TRACE, GP_COMPILE_MODE };

struct gp_compile_window {
    int64_t begin_ns, end_ns; /* on the trace's clock */
};
struct gp_compile_region {
    gp_sid compile_id;
    uint32_t track;
    bool steady;              /* begins in a steady step */
    int64_t begin_ns, end_ns; /* on the trace's clock */
};
struct gp_compile_seen {
    gp_sid name;
    uint64_t count;
    int64_t gpu_ns; /* -1: of calls */
};

/* What of a trace is kept. */
struct gp_compile_trace {
    enum gp_compile_role role;
    gp_sid name; /* "eager", a mode */
    struct gp_input_quality input;
    struct gp_profile profile;
    GP_VEC(struct gp_compile_region) regions; /* of compiled functions */
    GP_VEC(struct gp_compile_region) calls;   /* of compiled graphs, inside them */
    GP_VEC(struct gp_compile_window) steps;   /* steady ones, Unix time where it is known */
    GP_VEC(struct gp_compile_window) busy;    /* union of GPU events, on the trace's clock */
    GP_VEC(struct gp_compile_seen) kernels;   /* names in steady steps */
    GP_VEC(struct gp_compile_seen) graphs;    /* keys of compiled graphs */
    GP_VEC(uint64_t) products; /* shapes and types of matrix products in steady steps, each once, sorted */
    bool has_clock;
    int64_t to_unix_ns; /* add to the trace's times */
};
struct gp_compile_mode {
    gp_sid name;
    uint32_t trace;                           /* index into traces */
    uint32_t steps;                           /* that were compared */
    int64_t step_ns, gpu_ns;                  /* per steady step; -1 */
    double kernels, launches, graph_launches; /* per step */
    int64_t compile_ns;                       /* of that mode, by a log; -1 */
    int64_t break_even_steps;                 /* -1: not known; 0: compiled is not faster, never */
    double speedup, low, high;                /* against the baseline; 0: not compared */
    double p;                                 /* NAN: not tested */
    bool baseline, slower;
    bool within_run; /* the interval is that of one run per side: other runs are not covered */
    bool significant;
    gp_sid refused; /* why it is not compared; 0 */
};
extern const struct gp_record gp_compile_modes;

/* ---- what to do ---- */

enum gp_compile_priority { GP_COMPILE_LOW, GP_COMPILE_MEDIUM, GP_COMPILE_HIGH, GP_COMPILE_CRITICAL };

struct gp_compile_advice {
    const char *rule; /* "graph_break" */
    enum gp_compile_priority priority;
    gp_sid operation, description, action, place;
    int64_t saving_ns; /* per step, at most; 0 unknown */
    uint32_t index;    /* of the break or the recompile; GP_CLOG_NONE */
    uint32_t row;      /* of the table of breaks, whose order it keeps; GP_CLOG_NONE */
};
extern const struct gp_record gp_compile_suggestions;

/* ---- all of it ---- */

enum gp_compile_finding { GP_FINDING_BREAK, GP_FINDING_RECOMPILE, GP_FINDING_SKIP, GP_FINDING_KINDS };

/* A zeroed struct is the default. */
struct gp_compile_opts {
    const char *step_marker; /* NULL: find steps. Borrowed. */
    const struct gp_classes *classes;
    bool against;             /* there is a baseline: */
    const char *const *known; /* its findings, as gp_compile_key() writes them. Borrowed. */
    size_t n_known;
};

struct gp_compile {
    struct gp_compile_opts opts;
    struct gp_compile_log *log;
    bool cut;                       /* a log ends in the middle of compiling */
    uint32_t last_span, last_frame; /* the innermost span that is open then, and its frame; GP_CLOG_NONE */
    gp_sid mode;                    /* "default", "reduce-overhead", ...; 0 unknown */
    gp_sid mode_from;               /* "options", "events" or "trace name" */
    struct gp_compile_time time;
    GP_VEC(struct gp_compile_frame) frames;
    GP_VEC(struct gp_compile_break) breaks; /* what costs most first; what another one causes follows it */
    GP_VEC(struct gp_compile_recompile) recompiles;
    struct gp_compile_caches caches;
    GP_VEC(struct gp_compile_graph) graphs;
    GP_VEC(struct gp_compile_kernel) kernels;
    struct gp_compile_fusion fusion;
    struct gp_compile_cudagraphs cudagraphs;
    GP_VEC(struct gp_compile_trace) traces;
    GP_VEC(struct gp_compile_mode) modes;
    GP_VEC(struct gp_compile_advice) advice; /* most urgent first */
    struct gp_map of_frame;                  /* process << 32 | compile id: index into frames */
    GP_VEC(gp_sid) ids, values;
    GP_VEC(int32_t) ranks;
    uint32_t gaps;                    /* recompiles of a frame that the log lacks */
    uint32_t added[GP_FINDING_KINDS]; /* findings that the baseline does not have */
};

/* LOG is borrowed and grows strings. OPTS may be NULL. */
void gp_compile_init(struct gp_compile *c, struct gp_compile_log *log, const struct gp_compile_opts *opts);
/* What a trace must be read with: shapes of operators are compared where they are recorded. */
#define GP_COMPILE_NEED (GP_PROFILE_NEED | GP_NEED_EXTRA)
/* Reduce T, whose times are bounded as by trace-hta. NAME names a mode, or is NULL. T may go after. */
GP_MUST_CHECK int gp_compile_add_trace(struct gp_compile *c, enum gp_compile_role role, const char *name,
                                       struct gp_trace *t, struct gp_err *err);
/* Work everything out. */
void gp_compile_finish(struct gp_compile *c);
void gp_compile_release(struct gp_compile *c);

/* What identifies a finding from run to run, as a line without its end, appended to TO: lines of code move,
 * so that they do not count. INDEX is into breaks, recompiles or cudagraphs.skips. */
void gp_compile_key(const struct gp_compile *c, enum gp_compile_finding kind, size_t index,
                    struct gp_buf *to);
/* How many there are of a kind, a break that another one causes not counted; with a baseline those that are
 * new. */
size_t gp_compile_findings(const struct gp_compile *c, enum gp_compile_finding kind);
/* Breaks that are not the consequence of another one. */
size_t gp_compile_own_breaks(const struct gp_compile *c);

extern const struct gp_record gp_compile_environment; /* one: struct gp_compile */
/* What getters of all records look at. */
struct gp_row_of gp_compile_rows_of(const struct gp_compile *c);

/* The path from the folder of installed packages on; other paths as they are. */
const char *gp_compile_short_path(const char *path);
/* File name, line and function, each only if known. */
void gp_compile_put_place(struct gp_buf *to, const struct gp_compile *c, gp_sid file, int32_t line,
                          gp_sid function);
/* "3, 5, 7" or "0..7" of a recompile's values; of many the first. */
void gp_compile_put_values(struct gp_buf *to, const struct gp_compile *c,
                           const struct gp_compile_recompile *r);
/* "1 break", "3 breaks" */
void gp_compile_put_count(struct gp_buf *to, uint64_t n, const char *one, const char *many);

static inline const char *gp_compile_str(const struct gp_compile *c, gp_sid sid)
{
    return gp_string(&c->log->strings, sid);
}

#endif
