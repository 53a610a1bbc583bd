/* diff.h -- compares two groups of profiles: what changed, whether it is real, and its effect on the step
 * time, as plain structs. Knows nothing about files, text or pictures. Comments here define each figure;
 * analyze/diff/README.md, "Comparing", has the formulas.
 *
 *     struct gp_diff d;
 *     gp_diff_init(&d, &opts);
 *     gp_diff_run(&d, base, n_base, cur, n_cur);            // arrays of struct gp_profile *
 *     if (!d.comparable) ... d.reasons ...
 *     for (size_t i = 0; i < d.ops.n; i++) print(gp_diff_str(&d, d.ops.at[i].name), d.ops.at[i].change_ns);
 *     return gp_diff_status(&d);                             // 0, 1 or 3
 *
 * All figures are integers PER STEP (a step of one device; d.unit says whether there are steps or the whole
 * trace counts as one), as means over the steps used. Rounding keeps sums exact: each side's parts get the
 * floor of their mean, and the missing ns go to the largest remainders. A change is always current minus
 * baseline of such integers, so changes also sum exactly, and swapping the sides changes their sign.
 *
 * Modules: profile.c (reduction of one trace), diff_share.c (attribution), kernel_key.c and align.c (what is
 * the same), stat_test.c and diff_decide.c (what is real), diff_compare.c (what may be compared), diff_gate.c
 * (limits and predictions), diff.c (calls them in order). */
#ifndef GP_ANALYZE_DIFF_H
#define GP_ANALYZE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/diff/profile.h"
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

enum { GP_DIFF_BASE, GP_DIFF_CUR, GP_DIFF_SIDES };

/* ---- words ---- */

/* What the operations are. */
enum gp_diff_by { GP_DIFF_BY_KERNEL, GP_DIFF_BY_OP, GP_DIFF_BY_RANGE, GP_DIFF_BY_LINE };
enum gp_diff_by gp_diff_by_called(const char *word);

enum gp_diff_mode { GP_DIFF_TEST, GP_DIFF_SIMPLE };

/* X(enum, JSON name, text) */
#define GP_CHANGES(X)                                                                                        \
    X(GP_CHANGE_REGRESSION, "regression")     /* slower, and not by chance */                                \
    X(GP_CHANGE_IMPROVEMENT, "improvement")   /* faster, and not by chance */                                \
    X(GP_CHANGE_NONE, "no_change")            /* shown to be the same within the noise */                    \
    X(GP_CHANGE_INCONCLUSIVE, "inconclusive") /* too few steps to decide */                                  \
    X(GP_CHANGE_NEW, "new")                   /* only in the current trace */                                \
    X(GP_CHANGE_REMOVED, "removed")           /* only in the baseline */                                     \
    X(GP_CHANGE_FUSED, "fused")               /* several operations became fewer */                          \
    X(GP_CHANGE_DEFUSED, "defused")           /* one operation became several */                             \
    X(GP_CHANGE_RETILED, "retiled")           /* the same work in another variant of the kernel */

enum gp_change { GP_CHANGES(GP_FIRST) GP_CHANGE_COUNT };
const char *gp_change_name(enum gp_change c);

/* How a verdict was reached. X(enum, JSON name) */
#define GP_DIFF_TESTS(X)                                                                                     \
    X(GP_BY_NO_TEST, "none")              /* nothing could be tested */                                      \
    X(GP_BY_EQUALITY, "exact")            /* counts and bytes have no noise */                               \
    X(GP_BY_WILCOXON, "wilcoxon_paired")  /* call i of a step against call i, signed ranks */                \
    X(GP_BY_MANN_WHITNEY, "mann_whitney") /* samples of one side against those of the other */               \
    X(GP_BY_WELCH, "welch")               /* t test on logarithms, for sums of many kernels */               \
    X(GP_BY_MODERATED, "moderated_t")     /* the same, with a spread informed by all operations */           \
    X(GP_BY_THRESHOLD, "threshold")       /* --mode simple: no test */                                       \
    X(GP_BY_SEPARATION, "separation") /* few runs, but all steps differ by more than runs of a program do */ \
    X(GP_BY_WAITS, "waits") /* few runs, but calls that wait are on one side only, and explain the change */

enum gp_diff_test { GP_DIFF_TESTS(GP_FIRST) GP_DIFF_TEST_COUNT };
const char *gp_diff_test_name(enum gp_diff_test t);

enum gp_diff_unit { GP_DIFF_PER_STEP, GP_DIFF_PER_TRACE };
const char *gp_diff_unit_name(enum gp_diff_unit u); /* "step", "trace" */

/* Figures of one side that are compared as a whole. KERNEL: sums of GPU durations, sampled by step; WALL:
 * also depends on the host, sampled by run (trace); EXACT: no noise. X(enum, JSON name, class, unit, text for
 * people) */
#define GP_METRICS(X)                                                                                        \
    X(GP_METRIC_GPU, "gpu_time", GP_METRIC_KERNEL, "ns", "GPU time")                                         \
    X(GP_METRIC_COMPUTE, "compute", GP_METRIC_KERNEL, "ns", "computing kernels")                             \
    X(GP_METRIC_COMMUNICATION, "communication", GP_METRIC_WALL, "ns", "communication kernels")               \
    X(GP_METRIC_MEMORY, "memory", GP_METRIC_KERNEL, "ns", "copies and sets")                                 \
    X(GP_METRIC_BUSY, "busy", GP_METRIC_KERNEL, "ns", "GPU busy")                                            \
    X(GP_METRIC_EQUAL, "equal_gpu_time", GP_METRIC_KERNEL, "ns", "GPU time at equal clocks")                 \
    X(GP_METRIC_STEP, "step", GP_METRIC_WALL, "ns", "step time")                                             \
    X(GP_METRIC_IDLE, "idle", GP_METRIC_WALL, "ns", "GPU idle")                                              \
    X(GP_METRIC_HOST, "host", GP_METRIC_WALL, "ns", "host time of the step")                                 \
    X(GP_METRIC_EVENTS, "gpu_events", GP_METRIC_EXACT, "count", "GPU events")                                \
    X(GP_METRIC_KERNELS, "kernels", GP_METRIC_EXACT, "count", "kernels")                                     \
    X(GP_METRIC_COLLECTIVES, "collectives", GP_METRIC_EXACT, "count", "communication kernels")               \
    X(GP_METRIC_LAUNCHES, "launches", GP_METRIC_EXACT, "count", "launch calls")                              \
    X(GP_METRIC_GRAPHS, "graph_launches", GP_METRIC_EXACT, "count", "graph launches")                        \
    X(GP_METRIC_COPIES, "copies", GP_METRIC_EXACT, "count", "copies")                                        \
    X(GP_METRIC_COPY_BYTES, "copy_bytes", GP_METRIC_EXACT, "bytes", "bytes copied")                          \
    X(GP_METRIC_PAGEABLE, "pageable_copies", GP_METRIC_EXACT, "count", "copies of pageable memory")          \
    X(GP_METRIC_SETS, "sets", GP_METRIC_EXACT, "count", "sets")                                              \
    X(GP_METRIC_SYNCS, "syncs", GP_METRIC_EXACT, "count", "synchronising calls")                             \
    X(GP_METRIC_BLOCKING, "blocking", GP_METRIC_EXACT, "count", "blocking allocations and copies")           \
    X(GP_METRIC_ALLOCATIONS, "allocations", GP_METRIC_EXACT, "count", "allocations")                         \
    X(GP_METRIC_ALLOCATED, "allocated_bytes", GP_METRIC_EXACT, "bytes", "bytes allocated")                   \
    X(GP_METRIC_PEAK_MEM, "peak_mem", GP_METRIC_EXACT, "bytes", "peak memory")                               \
    X(GP_METRIC_PEAK_RESERVED, "peak_reserved", GP_METRIC_EXACT, "bytes", "peak memory reserved")

enum gp_metric_class { GP_METRIC_KERNEL, GP_METRIC_WALL, GP_METRIC_EXACT };
enum gp_metric_id { GP_METRICS(GP_FIRST) GP_METRIC_COUNT };
const char *gp_metric_name(enum gp_metric_id m);
const char *gp_metric_text(enum gp_metric_id m);
const char *gp_metric_unit(enum gp_metric_id m); /* "ns", "count", "bytes" */
enum gp_metric_class gp_metric_class(enum gp_metric_id m);
const char *gp_metric_class_name(enum gp_metric_class c); /* "kernel", "wall", "exact" */

/* ---- options ---- */

/* A limit, as "--gate busy:3%", "--gate op:5%", "--gate launches:0", "--gate peak_mem:16MiB", "--gate
 * step:-2%". A gate checks only for worsening, that is, growth. */
struct gp_gate {
    const char *text; /* as typed; borrowed */
    uint32_t metric;  /* enum gp_metric_id; GP_METRIC_COUNT: every operation; GP_GATE_COUNTS */
    bool absolute;    /* limit is in the metric's unit, otherwise in percent */
    double limit;
};
enum { GP_GATE_COUNTS = GP_METRIC_COUNT + 1 };
/* Parse "METRIC:LIMIT", or "counts", which is a gate for every count. On failure, returns -1 with a message
 * that names the problem and the known metrics. "wall" is "step". */
GP_MUST_CHECK int gp_gate_parse(struct gp_gate *g, const char *text, struct gp_err *err);

/* The values of --gate. GP_VEC_FREE() when done. */
struct gp_gates {
    struct gp_gate *at;
    size_t n, cap;
    bool none; /* "none": never fail */
};
/* Append N texts to G. -1 with ERR naming the option and its fault. */
GP_MUST_CHECK int gp_gates_parse(struct gp_gates *g, const char *const *texts, size_t n, struct gp_err *err);

/* A prediction: a change between two values, in the metric's unit or percent. */
struct gp_expect {
    gp_sid subject; /* what people read, in the gp_expects' strings */
    /* enum gp_metric_id; GP_METRIC_COUNT: an operation; GP_METRIC_COUNT + 1 + cause: idle time */
    uint32_t metric;
    gp_sid op; /* full name, label or key of the operation */
    bool percent;
    double low, high;
    uint32_t line; /* which one of the file */
};
struct gp_expects {
    struct gp_strings strings;
    GP_VEC(struct gp_expect) at;
};
void gp_expects_release(struct gp_expects *e);

/* A zeroed struct is the default, but for alpha and threshold: 0 means 0.05 and 5. */
struct gp_diff_opts {
    enum gp_diff_by by;
    enum gp_diff_mode mode;
    double alpha;                /* of the tests, after correction */
    double threshold_pct;        /* --mode simple */
    double noise_pct;            /* floor of the measured noise; 0: 1 */
    double step_bound_pct;       /* few runs decide larger changes of the step time; 25 without options */
    const struct gp_gate *gates; /* borrowed */
    size_t n_gates;
    bool gate_none;                   /* "--gate none": never fail */
    bool gate_wall_single;            /* step, idle and host may break gates with one run per side */
    bool equal_clocks;                /* gates of GPU time look at that at equal clocks */
    bool require_power;               /* a gate that could not be decided is broken */
    bool cross_gpu;                   /* other GPU models may be compared */
    bool any_work;                    /* other work may be compared */
    const struct gp_expects *expects; /* NULL: none. Borrowed. */
    /* step times without a recorder, baseline and current, which predictions of the step are about; 0: as
     * recorded */
    int64_t base_step_ns, current_step_ns;
};

/* ---- the answer ---- */

/* One side. Means per step, rounded as above. */
struct gp_diff_side {
    uint32_t runs;                    /* recordings; traces of different ranks of one job are one run */
    uint32_t lanes;                   /* devices, over all runs */
    uint32_t step_source;             /* enum gp_step_source */
    uint32_t steps_found, steps_used; /* used: for GPU time */
    uint32_t windows;                 /* of those used, the ones whose step time is known */
    uint32_t steps_cut, steps_open, steps_warm,
        /* reasons for the others: cut off, not ended, not yet steady, ran another program */
        steps_other;
    /* Of the devices with steps, per device: before the first step, in warm-up steps before the others, after
     * the last step, and all of the recording. */
    int64_t before_ns, warm_up_ns, after_ns, recorded_ns;
    uint32_t stepping;                    /* those devices */
    int64_t step_ns, busy_ns;             /* window, busy part of it; over `windows` */
    int64_t gpu_ns;                       /* sum of durations; over `steps_used` */
    int64_t idle_ns[GP_IDLE_CAUSE_COUNT]; /* sums to step_ns - busy_ns */
    int64_t peak_bytes;                   /* -1: not recorded */
    double sm_mhz, others_pct;            /* mean SM clock, NAN: not known; use of the GPU by others */
    uint32_t clock_reason;                /* why the clock was low, mostly: as gp_clock_reason() */
    bool drifts;                          /* its steps change level: see notes */
    struct gp_profile_env env;            /* of its first run; sids are the diff's */
};

/* Figures of one operation on one side. */
struct gp_diff_figure {
    bool present;
    double count;     /* per step */
    uint64_t calls;   /* in all steps used */
    int64_t sum_ns;   /* in all steps used, exact */
    int64_t total_ns; /* per step; sums to gpu_ns of the side */
    double mean_ns;   /* per call */
    int64_t min_ns, max_ns;
    int64_t share_ns; /* of the step's wall time, per step; sums to busy_ns */
    int64_t bytes;    /* copied or set per step */
    /* --by op, range: host events of that name that launched something, per step; --by line: launches */
    double host_count;
    uint32_t names; /* slice of d->names: full names, the one with most time first */
    uint32_t n_names;
};

/* What a test gave. Ratios are current / baseline. */
struct gp_diff_decision {
    uint32_t test;                  /* enum gp_diff_test */
    uint32_t n[GP_DIFF_SIDES];      /* samples; of wilcoxon_paired: pairs, twice */
    double p, q;                    /* NAN: not tested; q: after correction over all that were tested */
    double estimate_pct;            /* of the typical change; NAN: unknown */
    double ci_low_pct, ci_high_pct; /* 1 - alpha; NAN: unknown. May be infinite. */
    bool within_run;                /* from one run per side: the interval does not cover other runs */
    bool significant;               /* q <= alpha, the interval beyond the noise, and the guards hold */
    uint32_t needed; /* inconclusive: steps per side (WALL: runs) that would decide this; 0: none */
    gp_sid why;      /* reason for the verdict, for people; 0: nothing special */
};

/* One operation: kernels of the same key (kernel_key.h), an operator, or a range. */
struct gp_diff_op {
    gp_sid name;     /* full name: of the baseline where it is there */
    gp_sid label;    /* short */
    gp_sid key;      /* the key of the match */
    uint32_t kind;   /* enum gp_frame_kind */
    uint32_t match;  /* how the sides were matched: 0 by full name, 1 by normalised name, 2 by family */
    uint32_t change; /* enum gp_change */
    struct gp_diff_figure side[GP_DIFF_SIDES];
    int64_t change_ns; /* of total_ns; sums to the change of gpu_ns */
    double change_pct; /* NAN: no baseline */
    struct gp_diff_decision d;
    bool count_changed; /* calls per step differ: exact */
    bool retiled;       /* other names for the same key on the sides */
    bool reshaped;      /* other grids on the sides */
    bool relaunched;    /* launched singly on one side, by graphs on the other */
    uint32_t block;     /* index into blocks that explains it; GP_PROFILE_NONE */
    /* The change of share_ns in three parts that sum to it. */
    int64_t count_effect_ns;   /* more or fewer calls */
    int64_t percall_effect_ns; /* longer or shorter calls */
    int64_t overlap_effect_ns; /* more or less of it under other work */
    /* slice of d->samples: GPU time in each step used, baseline first */
    uint32_t first_sample, n_samples[GP_DIFF_SIDES];
};

/* A figure of the side as a whole. */
struct gp_diff_metric {
    uint32_t id;                 /* enum gp_metric_id */
    bool known;                  /* both sides have it */
    int64_t side[GP_DIFF_SIDES]; /* per step */
    int64_t change;
    double change_pct; /* NAN: baseline 0 and current not; 0 when both are 0 */
    uint32_t verdict;  /* enum gp_change: regression, improvement, no_change, inconclusive */
    bool refused;      /* not to be compared: other capture settings, see reasons */
    struct gp_diff_decision d;
};

/* One term of the change of the step's wall time. GP_CAUSE_OTHER: work of steps that are not compared but
 * overlap those that are; GP_CAUSE_CLOCKS: what lower clocks of a side account for at most, which its
 * operations then do not have; both are present only if there is some. */
enum gp_cause_sort { GP_CAUSE_OP, GP_CAUSE_IDLE, GP_CAUSE_OTHER, GP_CAUSE_CLOCKS };
struct gp_diff_cause {
    uint32_t sort;  /* enum gp_cause_sort */
    uint32_t index; /* into ops; enum gp_idle_cause; 0 */
    gp_sid name;    /* label of the operation; "idle: host"; "work of other steps" */
    int64_t side_ns[GP_DIFF_SIDES];
    int64_t change_ns; /* the sum of all is step.change_ns, exactly */
};

/* Consecutive launches that were one thing on each side and are now something else. Equal ones are
 * counted. */
struct gp_diff_block {
    uint32_t change; /* enum gp_change: fused, defused, retiled, new, removed, no_change (the same kernels) */
    bool segment;    /* a whole segment between anchors, compared by class: replacements inside are unknown */
    gp_sid label;    /* "forward layer", "dropout + add + layer_norm" */
    uint32_t times;  /* occurrences per step */
    /* slices of d->names: labels in launch order */
    uint32_t first_name[GP_DIFF_SIDES], n_names[GP_DIFF_SIDES];
    double kernels[GP_DIFF_SIDES];  /* GPU events of one occurrence */
    int64_t side_ns[GP_DIFF_SIDES]; /* of all occurrences, per step */
    int64_t change_ns;
};

/* Folded stack with its GPU time on both sides; each side sums to its gpu_ns. */
struct gp_diff_stack {
    gp_sid stack; /* "frame;frame;kernel label" */
    uint32_t kind;
    uint32_t op; /* index into ops with --by kernel; GP_PROFILE_NONE */
    int64_t side_ns[GP_DIFF_SIDES];
};

/* One step, for pictures and for steps left out. */
struct gp_diff_step {
    uint32_t side, run, lane;
    gp_sid name;
    int64_t wall_ns, busy_ns, gpu_ns;
    uint64_t events;
    bool used, has_window; /* for GPU time; for the step's time */
    gp_sid why;            /* not used: "cut", "warm-up", "another program", ... */
};

/* Why something cannot be compared. */
struct gp_diff_reason {
    /* stable word: "no_gpu_events", "gpu_model", "capture_settings", "work", "lost_records", ... */
    gp_sid id;
    bool fatal;
    uint32_t classes; /* bits 1 << enum gp_metric_class that are not compared because of it */
    gp_sid text;      /* one sentence with both values */
};

struct gp_diff_gate {
    gp_sid text;     /* as typed */
    uint32_t metric; /* enum gp_metric_id; GP_METRIC_COUNT: operations */
    uint32_t op;     /* the operation that breaks it worst, GP_PROFILE_NONE */
    uint32_t n_ops;  /* how many break it */
    bool absolute;
    double limit, value; /* percent, or the metric's unit; NAN: not known */
    bool broken;
    bool undecided; /* beyond the limit, but possibly by chance: not broken unless power is required */
    gp_sid why;     /* one sentence */
    gp_sid place;   /* of a broken count: the line where it grew most, "model.py:88 forward"; 0: not known */
    gp_sid module;  /* of PyTorch, around it; 0: not known */
    double power_pct; /* of a time: the smallest growth that it would find four times in five; NAN: none */
};

struct gp_diff_expect {
    gp_sid subject;
    uint32_t line;
    bool percent;
    double low, high, value; /* NAN: not known */
    bool holds;
    gp_sid why;
};

/* What else a reader must know. */
struct gp_diff_note {
    gp_sid id; /* "unsteady", "other_program", "one_run", "no_steps", "moved", ... */
    gp_sid text;
};

/* The whole decides before its parts: the step time if it is decided, otherwise the GPU time. Operations
 * decide only if neither got better or worse, and only those that weigh enough (guard_weight_ns). */
struct gp_diff_summary {
    uint32_t regressions, improvements, added, removed, no_change, inconclusive, fused, defused, retiled;
    uint32_t slower, faster; /* of the regressions and improvements, those that weigh enough to decide */
    uint32_t verdict;        /* enum gp_change: regression, improvement, no_change, inconclusive */
    uint32_t by;             /* enum gp_metric_id that decided; GP_METRIC_COUNT: operations */
    bool mixed;         /* some of what weighs enough goes the other way, or rows below no_change changed */
    gp_sid word;        /* "REGRESSION", "FASTER, 1 kernel slower", "NOT COMPARABLE", ... */
    gp_sid verdict_why; /* which metric or operation decided */
    gp_sid headline;    /* one line: what changed, and by what it is explained; decided figures first */
};

struct gp_diff {
    struct gp_diff_opts opts; /* as used: defaults filled in */
    struct gp_strings strings;
    GP_VEC(struct gp_input_quality) inputs; /* the baseline's, then the current ones */
    size_t n_base_inputs;
    bool comparable;
    GP_VEC(struct gp_diff_reason) reasons; /* fatal ones first */
    uint32_t unit;                         /* enum gp_diff_unit */
    struct gp_diff_side side[GP_DIFF_SIDES];
    struct gp_diff_metric metrics[GP_METRIC_COUNT]; /* metrics[GP_METRIC_GPU] is the contract's "total" */
    GP_VEC(struct gp_diff_op) ops;                  /* by |change_ns|, largest first, then key */
    GP_VEC(struct gp_diff_cause) causes;            /* by |change_ns|, largest first; zero ones too */
    int64_t clocks_ns;                              /* of the change, by GP_CAUSE_CLOCKS */
    int64_t residual_ns;                            /* step.change_ns - sum of causes: 0 */
    GP_VEC(struct gp_diff_block) blocks;            /* by |change_ns| */
    GP_VEC(struct gp_diff_stack) stacks;            /* by stack, as bytes */
    GP_VEC(struct gp_diff_step) steps;
    GP_VEC(struct gp_diff_gate) gates;
    GP_VEC(struct gp_diff_expect) expects;
    GP_VEC(struct gp_diff_note) notes;
    GP_VEC(gp_sid) names;
    GP_VEC(int64_t) samples;
    struct gp_diff_summary summary;
    /* What decided. */
    uint32_t tested;      /* operations that a test looked at: what q corrects for */
    uint32_t least_steps; /* fewest steps per side with which Mann-Whitney can find anything among so many */
    double noise_pct;     /* floor used for kernels: the larger of the option and twice the measured noise */
    double noise_measured_pct; /* median difference of the halves of one side; NAN: too few steps */
    double noise_wall_pct;     /* the same of step times */
    int64_t guard_percall_ns;  /* smaller changes of a call are not called real */
    double guard_share_pct;    /* nor smaller parts of the GPU time */
    int64_t guard_weight_ns;   /* operations whose time changed by less do not decide: 1% of the step */
    double step_bound_pct;     /* opts.step_bound_pct, or more if the steps of a side drift or are only two */
    int32_t tick_ns;
    bool two_recorders; /* small differences of GPU time between them decide nothing */
    bool identical;     /* both sides hold the same measurements */
    bool shared;        /* other processes used the GPU: times of kernels, too, are those of a run */
    bool untimed;       /* measured kernel by kernel: no figure of steps, idle, busy and host time */
};

/* ---- the answer as rows: diff_fields*.c ---- */

extern const struct gp_record gp_diff_reason_rows, gp_diff_note_rows, gp_diff_step_rows, gp_diff_gate_rows,
    gp_diff_expect_rows, gp_diff_metric_rows, gp_diff_op_rows, gp_diff_cause_rows, gp_diff_block_rows;
extern const struct gp_record gp_diff_side_row; /* one: struct gp_diff_side; the next are its steps */
extern const struct gp_record gp_diff_side_steps;
extern const struct gp_record gp_diff_total_row, gp_diff_summary_row,
    gp_diff_setting_row; /* one: struct gp_diff */
/* What their getters look at. */
static inline struct gp_row_of gp_diff_rows_of(const struct gp_diff *d)
{
    return (struct gp_row_of){.of = d, .strings = &d->strings, .untimed = d->untimed};
}

/* ---- how it is made ---- */

/* OPTS is copied; may be NULL. */
void gp_diff_init(struct gp_diff *d, const struct gp_diff_opts *opts);
/* Compare. D must be fresh from init; the profiles are only read and may be freed afterwards. If the sides
 * cannot be compared, d->comparable is false, but all available figures are still present. O(n log n) in GPU
 * events. */
void gp_diff_run(struct gp_diff *d, const struct gp_profile *const *base, size_t n_base,
                 const struct gp_profile *const *cur, size_t n_cur);
void gp_diff_release(struct gp_diff *d);
/* The exit status: 3 not comparable; 1 a gate is broken or a prediction fails, or, without gates, the verdict
 * is a regression; otherwise 0. */
int gp_diff_status(const struct gp_diff *d);

/* "+3.2%", "-0.4%", and "0%" for what rounds to that. */
void gp_diff_put_pct(struct gp_buf *b, double pct);

/* The verdict in one sentence: "REGRESSION: step time 3.50 ms -> 5.60 ms (+60.1%): ...". */
void gp_diff_put_sentence(struct gp_buf *b, const struct gp_diff *d);
/* "+1.23 ms", "-45 ns", "0 ns"; with UNIT "count" "+12". */
void gp_diff_put_change(struct gp_buf *b, const char *unit, int64_t change);
/* A value or a limit of METRIC (GP_METRIC_COUNT: of a time): "5%", "1.2 ms", "12"; with SIGN "+5%". */
void gp_diff_put_limit(struct gp_buf *b, bool percent, uint32_t metric, double v, bool sign);
/* Is the outcome of a prediction better than predicted, worse, or as predicted? "met", "better", "worse",
 * "unknown". */
const char *gp_diff_outcome(const struct gp_diff_expect *e);

static inline const char *gp_diff_str(const struct gp_diff *d, gp_sid sid)
{
    return gp_string(&d->strings, sid);
}

#endif
