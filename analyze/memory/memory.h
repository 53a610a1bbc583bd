/* memory.h -- what filled a device, who held it, what leaks, why it ran out: from the histories that
 * allocators keep (formats/pickle/snapshot.h) and from the memory events of traces. No input or output here;
 * names are interned.
 *
 *     struct gp_memory m;
 *     gp_memory_init(&m, &opts);
 *     gp_memory_add_snapshot(&m, &snapshot);
 *     gp_memory_add_trace(&m, &trace);
 *     if (gp_memory_finish(&m, &err)) ...
 *     for (size_t i = 0; i < m.devices.n; i++) use(m.devices.at[i].peak_bytes);
 *     gp_memory_release(&m);
 *
 * Positions count entries of a device's history: position p is the state after p entries, 0 the state before
 * the first. A block lives at p when begin <= p < end. Sums are sums of integers and close: holders of a
 * position sum to what was allocated at it.
 */
#ifndef GP_ANALYZE_MEMORY_MEMORY_H
#define GP_ANALYZE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/result/field.h"
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"
#include "formats/pickle/snapshot.h"

/* What blocks are grouped by. X(enum, word of --by) */
#define GP_MEMORY_KEYS(X)                                                                                    \
    X(GP_BY_STACK, "stack")                                                                                  \
    X(GP_BY_RANGE, "range")                                                                                  \
    X(GP_BY_OP, "op")                                                                                        \
    X(GP_BY_MODULE, "module")                                                                                \
    X(GP_BY_CATEGORY, "category")
enum gp_memory_key { GP_MEMORY_KEYS(GP_FIRST) GP_MEMORY_KEY_COUNT };

/* What a block holds. X(enum, word of JSON, what a person reads) */
#define GP_CATEGORIES(X)                                                                                     \
    X(GP_CAT_UNKNOWN, "unknown", "unknown")                                                                  \
    X(GP_CAT_PARAMETER, "parameter", "parameters")                                                           \
    X(GP_CAT_OPTIMIZER, "optimizer_state", "optimizer state")                                                \
    X(GP_CAT_INPUT, "input", "inputs")                                                                       \
    X(GP_CAT_TEMPORARY, "temporary", "temporary")                                                            \
    X(GP_CAT_ACTIVATION, "activation", "activations")                                                        \
    X(GP_CAT_GRADIENT, "gradient", "gradients")                                                              \
    X(GP_CAT_AUTOGRAD, "autograd_detail", "autograd detail")                                                 \
    X(GP_CAT_MIXED, "mixed", "several")
enum gp_category { GP_CATEGORIES(GP_FIRST) GP_CATEGORY_COUNT };
/* The key of a word of --by; GP_BY_STACK for NULL and other words. */
enum gp_memory_key gp_memory_key_named(const char *word);
const char *gp_memory_key_name(enum gp_memory_key k);

const char *gp_category_name(enum gp_category c);
const char *gp_category_text(enum gp_category c);

/* How much of the history there is. X(enum, word of JSON) */
#define GP_HISTORIES(X)                                                                                      \
    X(GP_HISTORY_NONE, "none")   /* only what was there at the end */                                        \
    X(GP_HISTORY_STATE, "state") /* the same, and the stacks of what was there */                            \
    X(GP_HISTORY_TAIL, "tail")   /* it begins when blocks were there already */                              \
    X(GP_HISTORY_SUMS, "sums")   /* how much each category held over time, but not in which blocks */        \
    X(GP_HISTORY_WHOLE, "whole") /* from nothing to the end */
enum gp_history { GP_HISTORIES(GP_FIRST) };

/* Why an allocation failed: enough was cached, in pieces too small; it asked for more than the device has
 * besides what was in use; it would have fitted if others held less. X(enum, word of JSON, what a person
 * reads) */
#define GP_VERDICTS(X)                                                                                       \
    X(GP_OOM_FRAGMENTATION, "fragmentation", "fragmentation")                                                \
    X(GP_OOM_TOO_LARGE, "too_large", "too large for the device")                                             \
    X(GP_OOM_OTHERS, "other_processes", "other processes hold the rest")
enum gp_oom_verdict { GP_VERDICTS(GP_FIRST) };
const char *gp_oom_verdict_name(enum gp_oom_verdict v);
const char *gp_oom_verdict_text(enum gp_oom_verdict v);

#define GP_NO_SPAN UINT32_MAX

/* A range of the program: from an annotation's start to its end. */
struct gp_memory_span {
    gp_sid name, label;  /* of gp_memory.strings; the label has no numbers */
    uint32_t parent;     /* GP_NO_SPAN: outermost */
    uint32_t begin, end; /* positions */
    int64_t begin_ns, end_ns;
    uint8_t phase; /* private: what its name says of the program */
};

struct gp_memory_step {
    gp_sid name;
    uint32_t begin, end; /* positions */
    int64_t begin_ns, end_ns;
};

/* The life of one block. */
struct gp_memory_life {
    int64_t bytes, requested;
    uint64_t addr;
    /* positions: allocated, freed, given back; history + 1: not within the history */
    uint32_t begin, end, done;
    uint32_t site;           /* index into the device's sites */
    uint32_t span, end_span; /* innermost range when it was made and freed; GP_NO_SPAN: none */
    uint16_t stream;         /* index into the snapshot's streams */
    uint16_t context;        /* and contexts */
};

/* Where blocks are made: a stack, or, where none was recorded, the range that was running. */
struct gp_memory_site {
    uint32_t stack; /* of the snapshot; 0: none was recorded */
    gp_sid key;     /* what a person reads: "linear.py:134 forward < train", "[no stack: backward]" */
    gp_sid range, op, module; /* 0: not known */
    uint8_t phase;            /* enum gp_phase, private */
    bool stand_in;            /* the best guess for a stack that was not recorded */
};

/* What held memory at a position. */
struct gp_memory_holder {
    uint32_t device; /* index into devices */
    gp_sid key;
    uint32_t site; /* by stack: index into sites, otherwise UINT32_MAX */
    uint64_t blocks;
    int64_t bytes, requested;
    int64_t since_ns;    /* of the oldest block; INT64_MIN: before the history began */
    uint32_t since_step; /* index into steps; UINT32_MAX: before the first, or not known */
    enum gp_category category;
    bool category_recorded;
};

typedef GP_VEC(struct gp_memory_holder) gp_memory_holders;

struct gp_memory_growth {
    uint32_t device, site;  /* indices */
    int64_t bytes_per_step; /* mean over the steps */
    int64_t bytes, blocks;  /* that it grew in all, after the first step */
    uint32_t steps, rises;  /* boundaries compared, and those at which it rose */
    double r2;
    bool certain; /* rose at each of four boundaries or more */
};

struct gp_memory_pool {
    uint32_t device; /* index */
    uint32_t id[2];
    uint64_t stream;
    bool large, expandable;
    uint32_t segments, whole;
    int64_t reserved, active, free_whole, free_split, largest_free;
};

/* Of the segments, when the snapshot was taken. */
struct gp_memory_fragmentation {
    bool known;
    int64_t reserved, allocated, active;
    int64_t free_whole, free_split; /* in segments that nothing uses, and in those that something uses */
    int64_t rounding;               /* allocated less requested */
    int64_t largest_free;
    uint32_t whole_segments, segments;
    GP_VEC(struct gp_memory_pool) pools;
};

struct gp_memory_oom {
    uint32_t device;   /* index */
    uint32_t position; /* after it */
    int64_t time_ns;
    int64_t requested, device_free, reserved, allocated, active;
    enum gp_oom_verdict verdict;
    bool guessed; /* the device's size is not recorded */
    uint32_t stack;
    uint16_t context;
    uint32_t span;
    gp_sid key; /* who asked, as a holder is called; 0: no stack was recorded */
};

struct gp_memory_point {
    int64_t time_ns, allocated, active, reserved;
    uint32_t position, device; /* index */
};

/* What ranges and operators allocate. */
struct gp_memory_use {
    uint32_t device; /* index */
    gp_sid name;     /* 0: outside */
    uint64_t allocations, frees;
    int64_t allocated, freed;
    uint64_t inside; /* allocations freed before the same range ended */
};

typedef GP_VEC(struct gp_memory_use) gp_memory_uses;

struct gp_memory_churn {
    uint32_t device; /* index */
    uint64_t allocations;
    int64_t bytes;
    uint64_t inside; /* freed within the range that made them */
    uint64_t segment_allocs, segment_frees;
    uint64_t segment_allocs_later; /* after the first step */
};

/* Blocks that live no longer than this and longer than a tenth of it; alive at the end are not among them. */
struct gp_memory_lifetime {
    uint32_t device;  /* index */
    int64_t up_to_ns; /* 1 us, 10 us, ... 10^10 us; -1: longer */
    uint64_t blocks;
    int64_t bytes;
};

struct gp_memory_device {
    struct gp_snapshot *s;  /* where its history is; owned by the memory */
    size_t first_row, rows; /* slice of s->rows */
    int32_t number;         /* -1: the host */
    uint32_t input;         /* index into inputs */
    gp_sid label;           /* "cuda:0" */
    gp_sid kind;            /* "Pinned", "Managed"; 0: device memory of an allocator */
    enum gp_history history;
    bool exact; /* the sizes of blocks were worked out from the layout of segments and agree with it */
    uint64_t lost_frees, double_frees, size_mismatches, unordered;
    uint64_t allocations, frees;
    uint64_t base_blocks, end_blocks;
    int64_t base_bytes, end_bytes;
    int64_t peak_bytes, peak_requested_bytes;
    uint32_t peak_position;
    int64_t peak_ns; /* INT64_MIN: before the history */
    uint32_t peak_span, peak_step;
    int64_t reserved_at_peak, reserved_start, reserved_end, reserved_peak;
    int64_t begin_ns, end_ns;
    int64_t total_bytes; /* of the device; 0: not known */
    int64_t known_base;  /* private: allocated before the history, if the input shows it, otherwise -1 */
    GP_VEC(struct gp_memory_life) lives; /* what was there before first, then by begin */
    GP_VEC(struct gp_memory_site) sites;
    GP_VEC(struct gp_memory_span) spans; /* by begin */
    GP_VEC(struct gp_memory_step) steps;
    bool steps_by_optimizer; /* from the end of one optimizer step to the next: no range names steps */
    GP_VEC(struct gp_memory_point) series;
    GP_VEC(struct gp_memory_growth) growth; /* most bytes per step first */
    struct gp_memory_fragmentation fragmentation;
    GP_VEC(struct gp_memory_oom) ooms;
    gp_memory_uses ranges, operators; /* most bytes first */
    struct gp_memory_churn churn;
    GP_VEC(struct gp_memory_lifetime) lifetimes; /* shortest first; those that there are */
    uint32_t *site_of_stack;                     /* private: index of a site + 1, by stack */
    struct gp_map site_of_span;                  /* private: label of a range -> index of a site */
    uint64_t joined;                             /* blocks that a trace said more of */
    /* of CUDA graphs in the trace: what they use was allocated when they were recorded */
    uint64_t graph_launches;
};

/* Is what it held at the end all that is known? Then its peak is that. */
static inline bool gp_memory_is_state(const struct gp_memory_device *d)
{
    return d->history == GP_HISTORY_NONE || d->history == GP_HISTORY_STATE;
}

/* What the driver gave to others than the allocator. */
struct gp_memory_outside {
    uint32_t input;
    int32_t number;
    gp_sid kind; /* "Device" */
    gp_sid who;  /* what was running: a range, a call */
    uint64_t blocks;
    int64_t bytes; /* held at the end of the trace */
};

/* What one holder has in two runs. */
struct gp_memory_changed {
    gp_sid device, key; /* names; keys of stacks without line numbers */
    uint64_t base_blocks, blocks;
    int64_t base_bytes, bytes, change_bytes;
    bool base_sums, sums; /* nothing is known of blocks */
};

enum gp_memory_at { GP_AT_PEAK, GP_AT_END, GP_AT_OOM, GP_AT_TIME };

struct gp_memory_opts {
    enum gp_memory_at at;
    int64_t at_ns; /* GP_AT_TIME: since the history began */
    enum gp_memory_key by;
    int device;          /* -1: all */
    const char *steps;   /* POSIX extended regular expression; NULL: found by name */
    int64_t min_bytes;   /* holders below become one row */
    int64_t total_bytes; /* of the device, where no trace says; 0: not known */
};

enum { GP_MEMORY_DEVICES = 64 };

struct gp_memory {
    struct gp_memory_opts opts;
    struct gp_strings strings;
    GP_VEC(struct gp_input_quality) inputs;
    GP_VEC(struct gp_snapshot *) sources;
    GP_VEC(struct gp_memory_device) devices; /* by input, then number */
    gp_memory_holders holders;               /* by device, then most bytes first */
    gp_memory_holders named;                 /* the same, holders of one name as one: stacks that end alike */
    GP_VEC(uint32_t) at_positions;           /* by device: where the holders are of */
    GP_VEC(struct gp_memory_outside) outside;
    bool untimed; /* an input was measured kernel by kernel: no time that passed means anything */
    bool compared;
    int64_t base_bytes;                       /* held in the other run */
    GP_VEC(struct gp_memory_changed) changes; /* largest change first */
    /* private: the size of each device, as a trace has it; 0: not known */
    int64_t device_bytes[GP_MEMORY_DEVICES];
};

/* OPTS is copied; its strings are borrowed until finish. */
void gp_memory_init(struct gp_memory *m, const struct gp_memory_opts *opts);
/* Add what S holds; S is moved, and empty after. */
void gp_memory_add_snapshot(struct gp_memory *m, struct gp_snapshot *s);
/* Add the memory events of the finished trace T, read with GP_MEMORY_NEED. */
void gp_memory_add_trace(struct gp_memory *m, const struct gp_trace *t);
/* Work everything out. -1 when the expression for steps is none. Once, last. */
GP_MUST_CHECK int gp_memory_finish(struct gp_memory *m, struct gp_err *err);
void gp_memory_release(struct gp_memory *m);

/* Compare the holders of M with those of BASE, which is finished with the same options; into M's changes.
 * Once. */
void gp_memory_compare(struct gp_memory *m, const struct gp_memory *base);

#define GP_MEMORY_NEED                                                                                       \
    (GP_NEED(GP_MEMORY) | GP_NEED(GP_API) | GP_NEED(GP_OP) | GP_NEED(GP_PYTHON) | GP_NEED(GP_RANGE) |        \
     GP_NEED_EXTRA_WORK | GP_NEED_IDS)

/* What was alive on DEVICE at POSITION, by KEY, most bytes first, appended to HOLDERS, an array of its own
 * type. */
void gp_memory_holders_at(struct gp_memory *m, uint32_t device, uint32_t position, enum gp_memory_key key,
                          gp_memory_holders *to);
/* The category of a block of D, and whether it was recorded. */
enum gp_category gp_memory_category(const struct gp_memory_device *d, const struct gp_memory_life *l,
                                    bool *recorded);
/* The time of a position: INT64_MIN for 0 where nothing came before. */
int64_t gp_memory_time(const struct gp_memory_device *d, uint32_t position);
/* What the entry before POSITION, which is not 0, adds to what is reserved: segments that are given back are
 * negative. */
int64_t gp_memory_mapped(const struct gp_memory_device *d, uint32_t position);
/* The step that holds POSITION, steps.n: none. */
uint32_t gp_memory_step_at(const struct gp_memory_device *d, uint32_t position);

static inline const char *gp_memory_str(const struct gp_memory *m, gp_sid sid)
{
    return gp_string(&m->strings, sid);
}

/* ---- records of the rows ---- */

/* What the answer of trace-memory says, described once (analyze/result/field.h). Their gp_row_of.of is a
 * struct gp_memory_of, and its strings are those of the memory. */

struct gp_memory_of {
    struct gp_memory *m; /* who holds what when memory runs out is worked out when it is read */
};

/* Rows of the whole memory: devices, holders or named, changes, outside. */
extern const struct gp_record gp_memory_device_rows, gp_memory_holder_rows, gp_memory_changes,
    gp_memory_outsiders;
/* Rows of a device. */
extern const struct gp_record gp_memory_growths, gp_memory_pools, gp_memory_ooms, gp_memory_ranges,
    gp_memory_operators, gp_memory_churns, gp_memory_lifetimes, gp_memory_series;
/* One row: segments of all devices. */
extern const struct gp_record gp_memory_fragments;

static inline struct gp_row_of gp_memory_rows_of(const struct gp_memory_of *of)
{
    return (struct gp_row_of){.of = of, .strings = &of->m->strings, .untimed = of->m->untimed};
}

struct gp_memory_rows {
    const void *at;
    size_t n;
};
/* Those of D that REC describes, of the records of devices above. */
struct gp_memory_rows gp_memory_rows(const struct gp_memory_device *d, const struct gp_record *rec);

/* The name of device D: "cuda:0", with its input where there are several. */
void gp_memory_device_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d);
/* "train.py:12 step": frame NUMBER of a stack, the innermost is 0. */
void gp_memory_frame_path_put(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack, uint32_t number);
/* What the program said of that moment, "phase: eval"; "": nothing. */
const char *gp_memory_oom_metadata(const struct gp_memory_device *d, const struct gp_memory_oom *o);

/* ---- to a trace ---- */

/* The history of an allocator as memory events and ranges of a trace, so that tools that draw traces draw
 * it, too. Sizes are those of blocks, as the replay has them: the highest total of a device is its peak. */

/* Append to T, which is initialised and not yet finished: for each device of M an event per block that is
 * allocated or freed and per segment that is given back (0 bytes: only what is reserved changes), with the
 * totals after it; the ranges of the annotations; a mark where memory ran out; the issues of the inputs.
 * Times are those of the history. */
void gp_memory_to_trace(const struct gp_memory *m, struct gp_trace *t);

/* ---- moments ---- */

/* What was held over the whole of a history, small enough for a picture: a curve of a limited number of
 * points with the bytes of each category, and a limited number of moments with the bytes and blocks of each
 * site. All sums close: at each point the categories sum to what was allocated, at each moment the sites
 * and the rest do. */

/* At most so many; at least 2 points, 8 moments and 1 site. */
struct gp_memory_moments_opts {
    size_t points, moments, sites;
};

typedef GP_VEC(struct gp_memory_point) gp_memory_points;

struct gp_memory_moments {
    /* By position; times never decrease. The curve has the first and last point and the peak; the moments
     * have them, too, and what was held when memory ran out. */
    gp_memory_points curve, moments;
    size_t peak, oom;           /* indices of moments; oom is SIZE_MAX without any, otherwise the last one */
    GP_VEC(uint32_t) sites;     /* those that hold most at one of the moments, most first */
    GP_VEC(uint8_t) categories; /* by site: what most of its bytes hold, GP_CAT_MIXED without a majority */
    size_t other_sites;         /* that are not among them */
    int64_t *category_bytes;    /* private */
    int64_t *bytes, *blocks;    /* private */
};

/* Overwrites AT. DEVICE is an index into the devices of M, which is finished. Times count from the start of
 * the history. */
void gp_memory_moments_init(struct gp_memory_moments *at, const struct gp_memory *m, uint32_t device,
                            const struct gp_memory_moments_opts *o);
void gp_memory_moments_release(struct gp_memory_moments *at);

/* Bytes of CATEGORY at point I of the curve. */
int64_t gp_memory_moments_category(const struct gp_memory_moments *at, enum gp_category category, size_t i);
/* Bytes and blocks of the site at index SITE of sites at moment I; SITE == sites.n: of all others. */
int64_t gp_memory_moments_bytes(const struct gp_memory_moments *at, size_t site, size_t i);
int64_t gp_memory_moments_blocks(const struct gp_memory_moments *at, size_t site, size_t i);

#endif
