/* suggest.h -- advice: the answer of trace-suggest as plain structs. Knows nothing of files, text or
 * pictures.
 *
 *     struct gp_suggest s;
 *     gp_suggest_init(&s, &opts);
 *     if (gp_suggest_run(&s, &trace, &err)) ...
 *     for (size_t i = 0; i < s.suggestions.n; i++) use(s.suggestions.at[i].saving_low_ns);
 *     gp_suggest_release(&s);
 *
 * A saving is wall time of a step without the recorder, from a replay of the steps with the change
 * (replay.h), never a kernel's share times a factor. It is an interval, because a trace does not show
 * everything. The time of the kernel itself, its resource, is reported separately. All times are ns per step
 * unless the name says otherwise; without steps, they cover the whole trace.
 */
#ifndef GP_ANALYZE_SUGGEST_H
#define GP_ANALYZE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/cost/ceilings.h"
#include "analyze/names/classify.h"
#include "analyze/cost/regime.h"
#include "analyze/result/field.h"
#include "analyze/suggest/replay.h"
#include "analyze/cost/roofline.h"
#include "analyze/view/idle_cause.h"
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* ---- options ---- */

/* A zeroed struct is the default. */
struct gp_suggest_opts {
    const struct gp_classes *classes; /* the user's; NULL: built in. Borrowed. */
    const char *step_marker;          /* POSIX extended regular expression; NULL: find the steps. Borrowed. */
    const char *const *rules;         /* names of the rules to ask; NULL: all. Borrowed. */
    size_t n_rules;
    /* measured ones; values of 0 are determined as without them. NULL: none. Borrowed. */
    const struct gp_ceilings *ceilings;
    /* Of another run of the program, with hardware counters of its kernels; NULL: those of the trace itself,
     * if any. Borrowed. */
    const struct gp_trace *counters;
    int64_t min_saving_ns; /* suggestions whose saving_high_ns is less are left out */
    int64_t unprofiled_ns; /* how long a step takes without a recorder; 0: estimate it */
};

/* The tables that gp_suggest_run looks at. */
#define GP_SUGGEST_NEED (GP_VIEW_NEED | GP_NEED_EXTRA | GP_NEED(GP_METRIC) | GP_NEED(GP_PC))

/* ---- rules ---- */

/* X(enum, name): what sort of change it is. */
#define GP_SUGGEST_TYPES(X)                                                                                  \
    X(GP_SUGGEST_FUSION, "fusion")                                                                           \
    X(GP_SUGGEST_LAUNCH, "launch")                                                                           \
    X(GP_SUGGEST_COMPILE, "compile")                                                                         \
    X(GP_SUGGEST_BATCHING, "batching")                                                                       \
    X(GP_SUGGEST_ROUTING, "routing")                                                                         \
    X(GP_SUGGEST_CACHING, "caching")                                                                         \
    X(GP_SUGGEST_MEMORY, "memory")                                                                           \
    X(GP_SUGGEST_ALGORITHM, "algorithm")                                                                     \
    X(GP_SUGGEST_PARALLELIZATION, "parallelization")                                                         \
    X(GP_SUGGEST_TRANSFER, "transfer")                                                                       \
    X(GP_SUGGEST_SYNC, "sync")                                                                               \
    X(GP_SUGGEST_OVERLAP, "overlap")                                                                         \
    X(GP_SUGGEST_COMMUNICATION, "communication")                                                             \
    X(GP_SUGGEST_INPUT, "input")

enum gp_suggest_type { GP_SUGGEST_TYPES(GP_FIRST) };
const char *gp_suggest_type_name(enum gp_suggest_type t);

/* By the expected saving, in percent of the step without the recorder: 20, 5, 1, 0.3. */
enum gp_priority {
    GP_PRIORITY_NONE,
    GP_PRIORITY_LOW,
    GP_PRIORITY_MEDIUM,
    GP_PRIORITY_HIGH,
    GP_PRIORITY_CRITICAL
};
const char *gp_priority_name(enum gp_priority p); /* "none", "low", ... */

struct gp_rule_ctx;
/* A rule: what it suggests, when, and when not. Texts are for people; rules_table.h lists the rules. */
struct gp_rule {
    const char *name; /* "cuda_graph" */
    enum gp_suggest_type type;
    const char *summary;   /* of the finding */
    const char *needs;     /* data that must be recorded for it */
    const char *threshold; /* from which it reports, and the source of that figure */
    const char *guard;     /* exceptions; "": none */
    /* Texts of its suggestions that are always the same; NULL: run() writes them. Without steps, " per step"
     * is cut from them. */
    const char *action, *change, *formula, *assumes;
    const char *check;  /* or */
    const char *expect; /* what "record again and run trace-diff" shows */
    void (*run)(struct gp_rule_ctx *c);
    bool gaps;           /* it is about long gaps of the host, which other rules leave alone */
    const char *to_know; /* what to record to know its saving better; NULL: nothing would tell */
    const char *frames;  /* the same of Python frames: what they show; NULL: to_know */
    bool measured;       /* its predictions were held against measurements: README.md, samples/score.py */
    /* of the high end where nobody timed the steps: nearly every change that was measured gained more, where
     * the host kept up; 0: none is known */
    int least_pct;
    bool sizes;   /* to_know asks for sizes: nothing to record where they are known */
    bool general; /* it makes all of the host's work, or all that moves memory, cheaper, whatever it is */
};
extern const struct gp_rule *const gp_rules[]; /* ends with NULL */
/* NULL if there is none. */
const struct gp_rule *gp_rule_find(const char *name);

/* ---- the answer ---- */

enum gp_evidence_unit {
    GP_EVIDENCE_NS,
    GP_EVIDENCE_COUNT,
    GP_EVIDENCE_BYTES,
    GP_EVIDENCE_PCT,
    GP_EVIDENCE_TEXT
};
struct gp_evidence {
    const char *name; /* "launches", "host_idle"; JSON adds the unit */
    enum gp_evidence_unit unit;
    int64_t value; /* ns, count, bytes */
    double pct;
    gp_sid text;
};

/* What should be seen in a trace after the change; trace-diff --expect checks it. */
struct gp_prediction {
    const char *metric;      /* "step", "gpu", "idle_host", ... as in schemas/expect.schema.json */
    gp_sid operation;        /* 0: the metric of the whole step */
    int64_t low_ns, high_ns; /* change per step: negative is less */
};

struct gp_suggestion {
    const struct gp_rule *rule;
    enum gp_priority priority;
    gp_sid operation; /* kernel, operator, range or call concerned; 0: the step */
    gp_sid place;     /* the line of a kernel, or that which makes the calls: gp_rule_place(); 0: not known */
    gp_sid description; /* finding, with its numbers */
    gp_sid action;      /* what to do */
    gp_sid change;      /* the part of the action that saves the time; 0: its beginning */
    gp_sid formula;     /* of the saving, with the numbers filled in */
    gp_sid assumes;     /* assumptions; 0: none beyond what the trace shows */
    gp_sid check;       /* how to find out whether it was right */
    GP_VEC(struct gp_evidence) evidence;
    int64_t current_ns;                        /* time taken now, on any resource */
    int64_t resource_low_ns, resource_high_ns; /* saved on that resource */
    int64_t saving_low_ns, saving_high_ns;     /* wall time; 0, 0 where none is claimed */
    int64_t saving_ns;                         /* expected, between the two */
    bool looks;         /* it asks for another recording, not for a change: never above low */
    bool unsure;        /* not of the kind that was measured: only its low edits are certain */
    gp_sid to_know;     /* what to record for a narrower interval; 0: it is narrow, or nothing */
    int64_t ceiling_ns; /* wall time if the resource were free */
    int64_t limit_ns;   /* no saving passes it: the idle time that it is about; 0: none */
    double speedup_low, speedup_high; /* of the step; 1 where nothing is claimed */
    GP_VEC(struct gp_prediction) predictions;
    GP_VEC(struct gp_edit) low, high, free; /* the changes that were replayed */
    GP_VEC(struct gp_edit) sure;            /* of the high ones, those that are certain; empty: all */
};

/* Where the step's time without the recorder is from. X(enum, name, text of a person's sentence). */
#define GP_UNPROFILED_SOURCES(X)                                                                             \
    X(GP_UNPROFILED_MODEL, "model", "modelled")                                                              \
    X(GP_UNPROFILED_GIVEN, "given", "as given")                                                              \
    X(GP_UNPROFILED_MEASURED, "measured", "timed while nothing was recorded")
enum gp_unprofiled_source { GP_UNPROFILED_SOURCES(GP_FIRST) };
const char *gp_unprofiled_source_text(enum gp_unprofiled_source s);

struct gp_suggest_step {
    bool found;      /* false: the trace as a whole */
    uint32_t source; /* enum gp_step_source */
    uint32_t steps, warm_up;
    int32_t rank;
    gp_sid first;            /* name of the first, 0: none */
    int64_t step_ns;         /* wall time: the step time of all tools (view/steps.h) */
    uint32_t timed;          /* steps that it is the mean of; 0: no steps */
    bool whole;              /* these are whole, not cut by the edge of the trace */
    int64_t median_ns;       /* of the same */
    int64_t busy_ns, gpu_ns; /* union, and sum of durations, of the device that works most */
    int64_t idle_ns[GP_IDLE_CAUSE_COUNT];
    uint64_t kernels, launches; /* per step, rounded */
    int64_t queue_p50_ns;       /* start of a kernel after its call began, the median */
    int64_t launch_ns, gap_ns;  /* on an idle GPU; between kernels that are queued */
    int64_t lead_ns;            /* of an only step: from its begin on the host to its first GPU event */
    gp_sid lead;                /* what the host did in most of that; 0: nothing recorded */
    const char *recorder;       /* NULL: not known, or it costs nothing */
    /* wall time without the recorder, estimated or as the user measured it; the interval, and its middle */
    int64_t unprofiled_low_ns, unprofiled_high_ns, unprofiled_ns;
    uint32_t unprofiled_source; /* enum gp_unprofiled_source; all three are one but for the model */
    int64_t replay_ns;          /* unchanged, per step */
    double replay_error_pct;
    bool damaged; /* the input lacks events */
    bool trusted; /* the replay is within 2% of the recording and near the step, and may claim wall time */
};

/* What bounds a kernel or an operator over all its launches: the bound of most of its time. All figures are
 * over all steps. */
struct gp_suggest_kernel {
    gp_sid name, label; /* full name; as in flame graphs */
    uint32_t kind;      /* enum gp_frame_kind; of operators that of their longest kernel */
    uint32_t regime;    /* enum gp_regime */
    /* enum gp_regime: the nearer roof if the regime is GP_REGIME_INEFFICIENT, otherwise unknown */
    uint32_t roof;
    uint32_t reason; /* enum gp_inefficient */
    uint64_t count;  /* launches */
    int64_t total_ns;
    /* What it had to do, as far as that is known. */
    uint32_t tier;         /* enum gp_work_tier, of most of its time */
    uint32_t arith;        /* enum gp_arith, of most of its time */
    int64_t known_ns;      /* of launches whose work is known */
    int64_t impossible_ns; /* of those whose work cannot be right; not part of the sums below */
    double flops, bytes_low, bytes_high;
    bool fits_cache; /* what a launch moves may stay in the L2 cache */
    /* Of the known work: the nearer roof, an enum gp_arith or GP_ARITH_NONE for memory, and the share of it
     * that was reached; 0: unknown. Kernels that memory cannot have been so fast for are compared with the
     * memory and the L2 cache together (FROM_CACHE). */
    uint32_t roof_arith;
    bool from_cache;
    double roof_pct;
    /* Of launches whose bytes hardware counters measured: their time, that of those whose operations were
     * measured as well, and that of launches for which others of the kernel stand. What was not counted is
     * not a number. */
    int64_t measured_ns, flops_measured_ns, by_mean_ns;
    double l2_bytes, l1_bytes;                   /* of all measured launches */
    double occupancy_pct, issue_pct, tensor_pct; /* weighted by time */
    uint32_t stall; /* enum gp_stall: what warps wait for most of the time; GP_STALL_COUNT: not counted */
};

/* A kernel of a chain, as in its first run. */
struct gp_suggest_chain_kernel {
    gp_sid name, label; /* full name; as in flame graphs */
    uint32_t kind;      /* enum gp_frame_kind */
    int64_t ns;
    int64_t bytes;        /* that it reads and writes; 0 not known */
    int64_t passed_bytes; /* that it reads from what the previous one wrote; 0: none for certain */
};

/* Chains of the same kernels with the same grids, each of which one kernel could replace. Times are per
 * step. */
struct gp_suggest_chain {
    uint64_t signature;                            /* the same in other traces */
    uint32_t first, n;                             /* kernels, in chain_kernels */
    uint64_t count;                                /* over all steps */
    bool counts;                                   /* often or long enough to speak of */
    int64_t total_ns, saved_low_ns, saved_high_ns; /* GPU time */
};

struct gp_suggest {
    struct gp_suggest_opts opts;
    struct gp_strings strings; /* all sids */
    struct gp_input_quality input;
    GP_VEC(struct gp_input_quality)
    inputs;       /* of a trace that several files were joined to; otherwise empty */
    bool untimed; /* measured kernel by kernel: nothing of steps, idle or host time is known */
    struct gp_suggest_step step;
    uint32_t regime;                    /* enum gp_regime, of the step */
    struct gp_regime_step regime_parts; /* that it was decided on; over all steps */
    int64_t empty_ns;                   /* what an empty kernel takes here, at most */
    struct gp_ceilings ceilings;
    struct gp_roofline roofline;
    int64_t tier_ns[GP_WORK_TIERS];           /* GPU time of kernels by enum gp_work_tier; over all steps */
    int64_t flops_measured_ns;                /* of GP_WORK_COUNTERS: their operations are measured, too */
    int64_t by_mean_ns;                       /* of GP_WORK_COUNTERS: from other launches of the kernel */
    GP_VEC(struct gp_suggest_kernel) kernels; /* by total, then name */
    GP_VEC(struct gp_suggest_kernel) ops;     /* operators that launched kernels, the same */
    GP_VEC(struct gp_suggest_chain) chains;   /* by total, then signature */
    GP_VEC(struct gp_suggest_chain_kernel) chain_kernels;
    GP_VEC(struct gp_suggestion) suggestions; /* worth it, certain, by priority, then saving */
    GP_VEC(gp_sid) notes;                     /* what limits the answer: capture flags, steps, losses */
    /* all suggestions together, replayed once: expected, and its interval */
    int64_t joint_ns, joint_low_ns, joint_high_ns;
};

/* Were steps, or the trace as a whole, replayed? Otherwise nothing of steps, idle or host time is known. */
static inline bool gp_suggest_is_timed(const struct gp_suggest *s)
{
    return !s->untimed && s->step.steps > 0;
}

/* What rows of it are part of (gp_row_of.of), and how it is shown. */
struct gp_suggest_shown {
    const struct gp_suggest *s;
    bool three_regimes; /* overhead, memory and compute only */
};
/* For the getters of the records below; V must outlive it. */
struct gp_row_of gp_suggest_rows_of(const struct gp_suggest_shown *v, int64_t whole_ns);
extern const struct gp_record gp_suggest_suggestions,
    gp_suggest_seen; /* struct gp_suggestion: worth it, or not */
extern const struct gp_record gp_suggest_kernels, gp_suggest_operators; /* struct gp_suggest_kernel */
extern const struct gp_record gp_suggest_steps;                         /* one struct gp_suggest_step */
extern const struct gp_record gp_suggest_regime, gp_suggest_together;   /* one struct gp_suggest */

/* OPTS is copied; may be NULL. */
void gp_suggest_init(struct gp_suggest *s, const struct gp_suggest_opts *opts);
/* Analyse a finished trace T, once. Removes impossible times from T first. Returns -1 if the step marker is
 * not a valid regular expression, or unprofiled_ns less than the GPU's busy time of a step or more than the
 * step. */
GP_MUST_CHECK int gp_suggest_run(struct gp_suggest *s, struct gp_trace *t, struct gp_err *err);
/* The trace was joined from these N inputs, two or more, whose sids are of STRINGS. */
void gp_suggest_set_inputs(struct gp_suggest *s, const struct gp_input_quality *in, size_t n,
                           const struct gp_strings *strings);
/* The inputs, one or more, and how many they are. */
const struct gp_input_quality *gp_suggest_inputs(const struct gp_suggest *s, size_t *n);
void gp_suggest_release(struct gp_suggest *s);

static inline const char *gp_suggest_str(const struct gp_suggest *s, gp_sid sid)
{
    return gp_string(&s->strings, sid);
}

#endif
