/* perfetto_read_priv.h -- private to the reader of Perfetto's protobuf: packets become rows at once, with
 * the numbers of the file's tracks; what the tracks are, and where spans end, is known at the end.
 *
 *     gp_pr_packet(&r, w, 0);                    // for each packet, in the order of the file
 *     gp_pr_pair(&r);
 *     gp_pr_place(&r);
 */
#ifndef GP_FORMATS_PERFETTO_READ_PRIV_H
#define GP_FORMATS_PERFETTO_READ_PRIV_H

#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/model/category.h"
#include "formats/perfetto/perfetto_fields.h"

#define GP_PR_NONE UINT32_MAX

/* What is interned, each kind with numbers of its own. X(enumerator, tag in InternedData) */
#define GP_PR_KINDS(X)                                                                                       \
    X(GP_PR_CATEGORIES, GP_PF_INTERNED_CATEGORY)                                                             \
    X(GP_PR_NAMES, GP_PF_INTERNED_NAME)                                                                      \
    X(GP_PR_KEYS, GP_PF_INTERNED_KEY)                                                                        \
    X(GP_PR_TEXTS, GP_PF_INTERNED_TEXT)                                                                      \
    X(GP_PR_STAGES, GP_PF_INTERNED_STAGE)                                                                    \
    X(GP_PR_CONTEXTS, GP_PF_INTERNED_CONTEXT)                                                                \
    X(GP_PR_KERNELS, GP_PF_INTERNED_KERNEL)                                                                  \
    X(GP_PR_LAUNCH_ARGS, GP_PF_INTERNED_ARG)

enum gp_pr_kind { GP_PR_KINDS(GP_FIRST) GP_PR_KIND_COUNT };

/* Keys of args beside those of ours: other recorders' words, and where work ran.
 * X(enumerator, what it is) */
enum gp_pr_key {
    GP_PR_KEY_DEVICE = GP_PF_KEY_COUNT,
    GP_PR_KEY_CONTEXT,
    GP_PR_KEY_STREAM,
    GP_PR_KEY_SYNC_KIND,
    GP_PR_KEY_WORK_ITEMS,
    GP_PR_KEY_GROUP_ITEMS,
    GP_PR_KEY_OTHER, /* goes to the further args */
};

/* An interned entry. It counts only in the generation of its sequence in which it was written. */
struct gp_pr_entry {
    uint32_t generation;
    gp_sid text;
    int64_t pid; /* of a graphics context */
};

struct gp_pr_clock {
    uint64_t id, unit, at, now; /* of the last snapshot, in ns; NOW: of the last packet, if it is a delta */
    int64_t trace_ns;           /* at the same moment */
    bool delta, placed;         /* PLACED: TRACE_NS is known */
};

/* The packets of one writer. */
struct gp_pr_sequence {
    uint32_t generation;
    bool valid, seen;
    uint64_t track, clock; /* unless a packet has its own */
    struct gp_map iids[GP_PR_KIND_COUNT];
    GP_VEC(struct gp_pr_entry) entries;
    GP_VEC(struct gp_pr_clock) clocks;
};

enum { GP_PR_IS_PROCESS = 1, GP_PR_IS_THREAD = 2, GP_PR_IS_COUNTER = 4, GP_PR_IS_STAGES = 8 };

/* A track of the file. */
struct gp_pr_track {
    uint64_t parent, rank;
    uint32_t has; /* GP_PR_IS_* */
    gp_sid name;
    int64_t pid, tid;
    int64_t device, stream; /* of render stages */
    int64_t multiplier;
    bool described, delta, has_parent, has_work;
    double sum;
    uint32_t model; /* track of the trace */
};

/* Where a span begins or ends. */
struct gp_pr_marker {
    int64_t at_ns;
    uint64_t offset;
    uint32_t track, row; /* GP_PR_NONE: no row is needed for it */
    uint8_t table, is_end;
};

/* The value of an arg. */
struct gp_pr_value {
    enum { GP_PR_NUMBER, GP_PR_REAL, GP_PR_TEXT, GP_PR_JSON, GP_PR_NO_VALUE } kind;
    uint64_t v;
    bool negative; /* V is an int64_t below 0 */
    const char *p;
    size_t n;
};

/* An event on its way into a row. */
struct gp_pr_event {
    int64_t at_ns, dur_ns;
    uint32_t track;
    enum gp_table table;
    gp_sid name, category;
    uint64_t has; /* GP_COLUMN() bits of CELLS */
    uint64_t cells[GP_COLUMN_COUNT];
    struct gp_config config;
    uint32_t known_config; /* of ours; GP_PR_NONE */
    uint64_t work_items, group_items;
    int64_t device, context, stream;
    bool is_sync;
    struct gp_buf members; /* of the JSON object of further args */
};

struct gp_pr {
    struct gp_trace *t;
    bool ours;        /* the first packet told what Perfetto has no words for */
    int64_t shift_ns; /* was added to all times of ours */
    uint64_t offset;  /* of the packet at hand */
    uint64_t packets;
    size_t first_row[GP_TABLE_COUNT]; /* that is not from the rest of ours */
    struct gp_map sequence_at, track_at;
    GP_VEC(struct gp_pr_sequence) sequences;
    GP_VEC(struct gp_pr_track) tracks;
    GP_VEC(struct gp_pr_marker) markers;
    GP_VEC(struct gp_pr_clock) clocks; /* of the system */
    uint64_t primary_clock;
    bool has_realtime;
    GP_VEC(uint8_t) key_of;  /* by sid: 1 + enum gp_pr_key */
    struct gp_map flows;     /* arrows that have begun */
    struct gp_map processes; /* pid -> process of the trace */
    int64_t gpu_pid;         /* whose work the render stages are; -1: unknown, -2: of several processes */
    int64_t last_ns;
    struct gp_pr_event event;
    struct gp_buf text;
};

/* ---- perfetto_read.c ---- */

/* The packet in W. DEPTH: how many compressed packets it is in. */
void gp_pr_packet(struct gp_pr *r, struct gp_wire w, int depth);

/* ---- perfetto_sequence.c: what packets of a sequence refer to ---- */

struct gp_pr_sequence *gp_pr_sequence(struct gp_pr *r, uint64_t id);
void gp_pr_clear(struct gp_pr_sequence *s);
void gp_pr_intern(struct gp_pr *r, struct gp_pr_sequence *s, struct gp_wire w);
/* The entry, or NULL, which is counted as a bad value unless IID is 0. */
const struct gp_pr_entry *gp_pr_look_up(struct gp_pr *r, const struct gp_pr_sequence *s, enum gp_pr_kind kind,
                                        uint64_t iid);
void gp_pr_snapshot(struct gp_pr *r, struct gp_pr_sequence *s, struct gp_wire w);
/* TIME of a packet in ns of the trace. False: it has no meaning. */
bool gp_pr_time(struct gp_pr *r, struct gp_pr_sequence *s, uint64_t clock, uint64_t time, int64_t *ns);
void gp_pr_sequences_release(struct gp_pr *r);

/* ---- perfetto_args.c ---- */

/* Forget the event before. */
void gp_pr_begin_event(struct gp_pr *r);
void gp_pr_take_arg(struct gp_pr *r, gp_sid key, const struct gp_pr_value *v);
/* A debug annotation. */
void gp_pr_annotation(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w);
/* A row of the event, unless its table is not needed: then GP_PR_NONE. */
uint32_t gp_pr_add(struct gp_pr *r);

/* ---- perfetto_slices.c ---- */

void gp_pr_track_event(struct gp_pr *r, struct gp_pr_sequence *s, int64_t at_ns, struct gp_wire w);
void gp_pr_stage(struct gp_pr *r, struct gp_pr_sequence *s, int64_t at_ns, struct gp_wire w);
/* Give spans their durations. */
void gp_pr_pair(struct gp_pr *r);

/* ---- perfetto_places.c: tracks ---- */

/* The track of that uuid, described or not. */
uint32_t gp_pr_track(struct gp_pr *r, uint64_t uuid);
uint32_t gp_pr_stage_track(struct gp_pr *r, int64_t device, uint64_t queue, gp_sid name, int64_t pid);
void gp_pr_describe(struct gp_pr *r, struct gp_wire w);
/* Is it a stream by what is known now? */
bool gp_pr_is_stream(const struct gp_pr *r, const struct gp_pr_track *k);
/* Replace the numbers of tracks of the file in all rows by those of the trace. */
void gp_pr_place(struct gp_pr *r);

#endif
