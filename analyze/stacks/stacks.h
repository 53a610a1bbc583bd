/* stacks.h -- builds the weighted tree of frames of a flame graph from traces or folded stacks. Decides which
 * frames a stack has, their order and their names; knows nothing of pictures or files.
 *
 *     struct gp_stacks *b = gp_stacks_new(&opts, &err);           // NULL: the filter is not valid
 *     failed = gp_stacks_add_trace(&b, 1, &trace, false, &err);   // once per trace
 *     struct gp_flame flame;
 *     gp_stacks_finish(b, 0, &flame);                            // frees b
 *     ... gp_string(&flame.strings, flame.tree.nodes.at[i].name) ...
 *     gp_flame_release(&flame);
 *
 * Order of frames, outermost first: rank or file (several traces) > process (several in one trace) > ranges,
 * Python frames, modules and operators nested by time > runtime call (optional) > GPU work. Idle time: rank
 * or file > process, device (several) > cause > the host stack that was running.
 */
#ifndef GP_ANALYZE_STACKS_H
#define GP_ANALYZE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"
#include "analyze/view/recorder.h"
#include "analyze/view/steps.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* What a stack weighs. X(enum, name on command lines, unit, text for people) */
#define GP_WEIGHTS(X)                                                                                        \
    X(GP_WEIGHT_GPU, "gpu", "ns", "GPU time") /* durations of GPU events */                                  \
    X(GP_WEIGHT_CPU, "cpu", "ns", "CPU time") /* host time in a frame and not in a frame below it */         \
    X(GP_WEIGHT_COUNT, "count", "events", "GPU events") /* how many kernels, copies and sets */              \
    X(GP_WEIGHT_BYTES, "bytes", "bytes", "bytes copied and set")                                             \
    X(GP_WEIGHT_IDLE, "idle", "ns", "GPU idle time") /* time during which a device did nothing */            \
    X(GP_WEIGHT_STALLS, "stalls", "samples", "samples of stalled warps") /* of program counters */

enum gp_weight { GP_WEIGHTS(GP_FIRST) GP_WEIGHT_COUNT_ };

const char *gp_weight_name(enum gp_weight w); /* "gpu" */
const char *gp_weight_unit(enum gp_weight w); /* "ns", "events", "bytes" */
const char *gp_weight_text(enum gp_weight w); /* "GPU time" */

/* The tables that add_trace looks at: pass it as `need` to the reader. */
#define GP_STACKS_NEED                                                                                       \
    (GP_NEED(GP_GPU) | GP_NEED(GP_API) | GP_NEED(GP_OP) | GP_NEED(GP_PYTHON) | GP_NEED(GP_RANGE) |           \
     GP_NEED(GP_SYNC) | GP_NEED(GP_FLOW) | GP_NEED(GP_PC) | GP_NEED_FEW_ARROWS)

struct gp_classes; /* analyze/classify.h */

/* A zeroed struct is the default: GPU time, readable names, nothing left out but Python glue and runtime
 * calls. */
struct gp_stacks_opts {
    enum gp_weight weight;
    /* shorter GPU events become one leaf "[shorter than 10 us]" of their stack and class, so that sums still
     * close; with the CPU weight shorter frames are left out and their time is the parent's, or "[not
     * shown]"; with the idle weight shorter gaps become one leaf of their cause */
    int64_t min_duration_ns;
    uint32_t max_depth;     /* deeper frames count for their ancestor at this depth; 0: no limit */
    double group_small_pct; /* siblings below this share of the whole become one leaf "N more"; 0: none */
    const char *filter; /* POSIX extended regular expression: only stacks with a matching frame; NULL: all */
    bool filter_ignore_case;
    bool invert;             /* leaves first */
    bool raw;                /* names as recorded (only _Z... is demangled) and every Python frame */
    bool show_api;           /* cudaLaunchKernel and the like as frames */
    bool extra;              /* also count the events and bytes of GPU work, in tree.extra */
    bool places;             /* a last node in each stack shows where the work ran, see gp_flame.places */
    bool show_python_glue;   /* _call_impl, built-ins, launcher frames */
    bool steps;              /* only GPU events in the step windows, if there are any; CPU time: all */
    const char *step_marker; /* as in gp_steps_find(); borrowed until finish */
    /* the user's classes; NULL: the built-in table. Borrowed until finish. */
    const struct gp_classes *classes;
};

/* What was found on the way; sums of all traces. */
struct gp_stacks_stats {
    uint64_t gpu_events;
    uint64_t unattributed;       /* GPU events without a launch record */
    int64_t unattributed_weight; /* their share of the weight */
    /* host events that cross the end of another event on their thread: shown beside it */
    uint64_t overlapping;
    uint64_t duplicate_corr; /* launch records that share a correlation id with another; the first counts */
    uint64_t filtered;       /* stacks that the filter left out, counted by event */
    /* with opts.steps, sums over devices: steps, their time, and the time outside of them */
    uint64_t steps;
    int64_t steps_ns, outside_ns;
    struct gp_step_stretch slowest; /* of the device whose steps take the longest */
    struct gp_recorder_added added; /* to those steps, by what recorded them */
};

/* Where work ran; -1: not known. */
struct gp_flame_place {
    gp_sid name; /* of the nodes that stand for it, which are leaves of kind GP_FRAME_ROOT */
    int32_t rank;
    int64_t device, stream; /* numbers as recorded; -1 for the host */
};

/* The result. It owns everything and borrows nothing. */
struct gp_flame {
    struct gp_calltree tree;   /* finished: totals are there and siblings sorted by name */
    struct gp_strings strings; /* the names of the frames: labels as they should be shown */
    gp_sid *full;              /* by label: the full name for tooltips; 0: the label is the full name */
    uint32_t *full_count; /* by label: how many different full names share it (1 or more where full != 0) */
    uint64_t *samples;    /* by label: a function that only so many samples show; 0: it was recorded */
    uint32_t full_n;      /* elements of these arrays; labels at or beyond it have no other full name */
    GP_VEC(struct gp_flame_place)
    places; /* by rank, device, stream in order of appearance; empty unless asked for */
    enum gp_weight weight;
    struct gp_stacks_stats stats;
};

struct gp_stacks;

/* Copies OPTS, including its strings. Returns NULL and fills ERR if the filter is not a valid regular
 * expression. */
struct gp_stacks *gp_stacks_new(const struct gp_stacks_opts *opts, struct gp_err *err) GP_MUST_CHECK;

/* Add the stacks of a finished trace T, which may be released after, to N sets that differ, for example, in
 * their weights: nesting and launches are determined only once. All sets must have the same classes and the
 * same steps. SEVERAL: T is one of several, so put "rank R" (or the file's name if the rank is unknown) above
 * its stacks. Returns -1 if the step marker is not a valid regular expression. O(n) for sorted events. */
GP_MUST_CHECK int gp_stacks_add_trace(struct gp_stacks *const *b, size_t n, const struct gp_trace *t,
                                      bool several, struct gp_err *err);

/* Add one folded stack: N bytes "frame;frame;frame" at LINE. WEIGHT >= 0. Frame kinds are GP_FRAME_UNKNOWN
 * and names are taken as they are, except that with !raw nothing is changed either: folded text has been made
 * for people already. */
void gp_stacks_add_folded(struct gp_stacks *b, const char *line, size_t n, int64_t weight);

/* Move everything into OUT and free B. MAX_NODES bounds the tree for folded input of any size: the heaviest
 * MAX_NODES frames are kept exactly, and the other siblings become one leaf "N more" (kind GP_FRAME_OTHER,
 * with `count` N); 0 keeps all. Trees built only from traces are never cut: they are small. */
void gp_stacks_finish(struct gp_stacks *b, size_t max_nodes, struct gp_flame *out);
/* Give up without a result. Accepts NULL. */
void gp_stacks_free(struct gp_stacks *b);

void gp_flame_release(struct gp_flame *f);

/* Why the devices of a tree of idle time were idle: the causes and what each weighs. */

enum { GP_IDLE_SHARES = 16 }; /* more than there are causes */

struct gp_idle_share {
    const char *name; /* "host", of the flame's strings */
    int64_t ns;
};

/* Fill CAUSES with those of FLAME, the largest first; the same cause on several devices counts once. Returns
 * how many. */
size_t gp_idle_shares(const struct gp_flame *flame, struct gp_idle_share causes[GP_IDLE_SHARES]);

#endif
