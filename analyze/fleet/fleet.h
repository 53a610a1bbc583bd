/* fleet.h -- what is kept of the ranks of a job, however many there are: distributions over ranks, the worst
 * and a sample of them in full, kernels and steps compared between ranks, and a map of ranks by steps. A
 * value: merging is exact, commutative and associative, so that every order and grouping of the same ranks
 * gives the same bytes, and its size has a limit that does not depend on their number. Knows nothing of
 * traces.
 *
 *     struct gp_fleet f;
 *     gp_fleet_init(&f);
 *     gp_fleet_add(&f, &member, &names);                        // one per device; copies everything
 *     gp_fleet_merge(&f, &other);
 *     ... gp_sketch_median(&f.spread[GP_FLEET_OWN]), f.worst[GP_FLEET_OWN].at[0].key.rank ...
 *     gp_fleet_release(&f);
 *
 * All times of a member are means per step, in whole ns; of the whole recording where no steps were found.
 * What a rank does itself ("own") is its step without the time in which it only communicated: that is where
 * ranks wait for each other, so a rank that holds up the others has a long own time and they do not, whatever
 * their clocks say.
 */
#ifndef GP_ANALYZE_FLEET_H
#define GP_ANALYZE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/fleet/quantile_sketch.h"
#include "analyze/fleet/topk.h"
#include "analyze/math/serialize.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

/* X(enum, JSON name, text): own = compute + copy + host + data + gap, and step = own + communication. */
#define GP_FLEET_METRICS(X)                                                                                  \
    X(GP_FLEET_STEP, "step", "step")                                                                         \
    X(GP_FLEET_OWN, "own", "own time")                                                                       \
    X(GP_FLEET_COMPUTE, "compute", "computing")                                                              \
    X(GP_FLEET_COPY, "copies", "copies")                                                                     \
    X(GP_FLEET_HOST, "host", "waiting for the host")                                                         \
    X(GP_FLEET_DATA, "data_loading", "loading data")                                                         \
    X(GP_FLEET_GAP, "gaps", "gaps on the GPU")                                                               \
    X(GP_FLEET_COMMUNICATION, "communication", "communication")
enum gp_fleet_metric { GP_FLEET_METRICS(GP_FIRST) GP_FLEET_METRIC_COUNT };
const char *gp_fleet_metric_name(enum gp_fleet_metric m);
const char *gp_fleet_metric_text(enum gp_fleet_metric m);

enum {
    GP_FLEET_FEW = 32,     /* as many members keep everything; of more, only gp_fleet_keeps() */
    GP_FLEET_KERNELS = 48, /* of a member */
    GP_FLEET_NAMES = 512,  /* of kernels compared between members */
    GP_FLEET_NAME_BYTES = 1 << 16,
    GP_FLEET_COLUMNS = 64,
    GP_FLEET_ROWS = 512,
    GP_FLEET_ORDINALS = 64,
    GP_FLEET_SKIPPED = 64,
};

struct gp_fleet_kernel_time {
    gp_sid name;
    uint64_t calls;
    int64_t step_ns, call_ns; /* per step; per call */
};
struct gp_fleet_step {
    int64_t number; /* as the program counts: of "ProfilerStep#12" 12 */
    int64_t own_ns;
};

/* A device of a rank. Vectors are borrowed by gp_fleet_add(). */
struct gp_fleet_member {
    struct gp_fleet_key key;
    int64_t device; /* its number on the node, -1 unknown */
    gp_sid gpu;     /* its name */
    uint64_t steps; /* that the times are means of; 0: no steps, of the whole recording */
    int64_t ns[GP_FLEET_METRIC_COUNT];
    GP_VEC(struct gp_fleet_kernel_time) kernels; /* largest first, at most GP_FLEET_KERNELS */
};

/* A kernel in all members that have it among their largest. */
struct gp_fleet_kernel {
    gp_sid name;
    struct gp_sketch step, call; /* step_ns and call_ns of the members */
    struct gp_topk worst;        /* by step_ns */
};

/* Steps NUMBER with NUMBER >> f.column_shift == index. */
struct gp_fleet_column {
    int64_t index;
    struct gp_sketch own;
    struct gp_topk worst; /* by own_ns */
    /* By rank >> f.row_shift, f.rows many: 1 + bucket (spread.h) of the longest own_ns; 0 none. */
    uint16_t *cells;
};

/* Members by their device's number on the node. */
struct gp_fleet_ordinal {
    uint64_t n;
    int64_t own_ns;
};

struct gp_fleet_skip {
    gp_sid operand, reason;
};

struct gp_fleet {
    struct gp_strings strings;
    uint64_t members, stepped; /* all; those with steps */
    bool by_device;            /* ranks are device numbers: no ranks are recorded */
    bool host_slowed;          /* every operator of the host was recorded, which makes the host slower */
    bool staged;               /* private to one report: ranks send to each other, as stages of a pipeline */
    struct gp_sketch spread[GP_FLEET_METRIC_COUNT];
    struct gp_topk worst[GP_FLEET_METRIC_COUNT], best, sample; /* sample: by a hash of the key */
    GP_VEC(struct gp_fleet_member) kept;    /* those of the lists above, by key after gp_fleet_settle() */
    GP_VEC(struct gp_fleet_kernel) kernels; /* by name after gp_fleet_settle() */
    uint64_t name_limit;     /* private: kernels whose name has this hash or a larger one are left out */
    uint64_t names_left_out; /* times of members that this concerns */
    struct gp_fleet_ordinal ordinals[GP_FLEET_ORDINALS];
    GP_VEC(struct gp_fleet_column) columns; /* by index */
    int64_t first_step, last_step;          /* numbers; first > last: none */
    unsigned column_shift, row_shift;
    uint32_t rows;
    int32_t last_rank;                  /* the highest, -1 none */
    uint64_t skipped;                   /* operands that could not be read */
    GP_VEC(struct gp_fleet_skip) skips; /* the first ones, by operand */
    uint64_t *seen, *twice;             /* private: bits of ranks below GP_FLEET_BITS */
    struct gp_map names;                /* private */
};
enum { GP_FLEET_BITS = 1 << 16 };

void gp_fleet_init(struct gp_fleet *f);
void gp_fleet_release(struct gp_fleet *f);
/* Add M, whose sids are of NAMES, and its N steps. */
void gp_fleet_add(struct gp_fleet *f, const struct gp_fleet_member *m, const struct gp_strings *names,
                  const struct gp_fleet_step *steps, size_t n);
/* An operand that could not be read. */
void gp_fleet_skip(struct gp_fleet *f, const char *operand, const char *reason);
/* Add all of FROM, which stays as it is. */
void gp_fleet_merge(struct gp_fleet *to, const struct gp_fleet *from);
/* Drop ranks beyond the limits, and sort. Idempotent; saving does it, too. */
void gp_fleet_settle(struct gp_fleet *f);

/* Does the fleet keep this member in full, given all the others? True for any when there are few. */
bool gp_fleet_keeps(const struct gp_fleet *f, struct gp_fleet_key key);
/* Is it one of the slowest, or the one nearest to the median (of the sample)? Their critical paths are
 * reported. */
bool gp_fleet_shows_path(const struct gp_fleet *f, struct gp_fleet_key key);
/* The kept member, or NULL. */
const struct gp_fleet_member *gp_fleet_member(const struct gp_fleet *f, struct gp_fleet_key key);
/* The member of the sample whose own time is nearest to the median of all; NULL when there is none. */
const struct gp_fleet_member *gp_fleet_median_member(const struct gp_fleet *f);
/* Was this rank added, and more than once? Ranks of GP_FLEET_BITS and more are not counted. */
bool gp_fleet_has_rank(const struct gp_fleet *f, int32_t rank);
bool gp_fleet_repeats_rank(const struct gp_fleet *f, int32_t rank);

/* Save or load, as X says. F is initialised. */
void gp_fleet_serialize(struct gp_serializer *x, struct gp_fleet *f);

#endif
