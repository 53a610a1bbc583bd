/* memory_priv.h -- private to analyze/memory: types and functions that its modules share. */
#ifndef GP_ANALYZE_MEMORY_MEMORY_PRIV_H
#define GP_ANALYZE_MEMORY_MEMORY_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/memory/memory.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/pickle/snapshot.h"

/* What a program was doing when it made a block. */
enum gp_phase { GP_PHASE_NONE, GP_PHASE_SETUP, GP_PHASE_FORWARD, GP_PHASE_BACKWARD, GP_PHASE_OPTIMIZER };

/* From TIME_NS on SPAN is the innermost range. */
struct gp_break {
    int64_t time_ns;
    uint32_t span, other; /* other: the span that begins (it is SPAN) or ends here */
    bool end;
};
typedef GP_VEC(struct gp_break) gp_breaks;

static inline uint32_t gp_memory_index(const struct gp_memory *m, const struct gp_memory_device *d)
{
    return (uint32_t)(d - m->devices.at);
}

/* ---- inputs.c ---- */

/* An input with its quality, from S. */
void gp_memory_add_input(struct gp_memory *m, const struct gp_snapshot *s);
/* Device NUMBER of the last input, whose history is slice T of S; unless another device was asked for. */
void gp_memory_add_device(struct gp_memory *m, struct gp_snapshot *s, int32_t number,
                          const struct gp_snapshot_trace *t);

void gp_memory_release_device(struct gp_memory_device *d);

/* ---- ranges.c: annotations to ranges and steps ---- */

/* The ranges of D's annotations, into D->spans, and where the innermost one changes. Labels go to M's
 * strings. */
void gp_ranges_build(struct gp_memory *m, struct gp_memory_device *d, gp_breaks *breaks);
/* The steps among D's ranges. -1 when EXPRESSION is none. */
GP_MUST_CHECK int gp_ranges_steps(struct gp_memory *m, struct gp_memory_device *d, const char *expression,
                                  struct gp_err *err);
/* The innermost range at POSITION that is not a step; GP_NO_SPAN. */
uint32_t gp_ranges_at(const struct gp_memory_device *d, uint32_t position);
/* What a range's name says of the phase of training. */
enum gp_phase gp_phase_of_name(const char *name, size_t n);

/* ---- replay.c: the history to lives of blocks ---- */
void gp_replay(struct gp_memory *m, struct gp_memory_device *d, gp_breaks *breaks);
/* ---- curve.c: the sums over time, peak and series ---- */
void gp_curve(const struct gp_memory *m, struct gp_memory_device *d);

/* ---- sites.c ---- */

/* The site of STACK, or, where it is 0, of SPAN. */
uint32_t gp_site_of(struct gp_memory *m, struct gp_memory_device *d, uint32_t stack, uint32_t span);
/* Name the sites of D. */
void gp_sites_name(struct gp_memory *m, struct gp_memory_device *d);
/* Append a stack as a person reads it: the frame that matters, then who called it from the program's own
 * code. */
void gp_site_key(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack);

/* ---- join.c: a snapshot and a trace of one run ---- */

/* Merge devices of traces into a snapshot's device with the same allocations, and remove them. */
void gp_join(struct gp_memory *m);
/* Leave out the devices that are marked in DROP. */
void gp_memory_drop_devices(struct gp_memory *m, const bool *drop);

/* ---- outside.c ---- */

/* What the driver gave to others than the allocator, into M->outside; the devices that told it go. */
void gp_outside_find(struct gp_memory *m);

/* ---- holders.c ---- */

/* Holders of one name as one, from M->holders into M->named. */
void gp_holders_name(struct gp_memory *m);

/* ---- growth.c, fragments.c, uses.c ---- */
void gp_growth_find(const struct gp_memory *m, struct gp_memory_device *d);
void gp_fragments_find(const struct gp_memory *m, struct gp_memory_device *d);
void gp_ooms_judge(struct gp_memory *m, struct gp_memory_device *d);
void gp_uses_count(struct gp_memory *m, struct gp_memory_device *d);

/* ---- heap.c ---- */

/* How an allocator of segments lays blocks out, replayed: which block an allocation got and how large it
 * really was, from the addresses in its history and its rules for splitting. */

#define GP_HEAP_NONE UINT32_MAX

enum gp_heap_state {
    GP_HEAP_GONE, /* merged into another block, or never there */
    GP_HEAP_FREE,
    GP_HEAP_LIVE,
    GP_HEAP_PENDING, /* freed, and still used by another stream */
};

struct gp_heap_block {
    uint64_t addr;
    int64_t size;
    uint32_t prev, next; /* neighbours in the segment, GP_HEAP_NONE at its ends */
    uint32_t life;       /* the caller's */
    uint8_t state;       /* enum gp_heap_state */
    bool placed;         /* its segment is known */
    bool expandable;
};

struct gp_heap {
    struct gp_snapshot_settings settings;
    bool sizes_are_real; /* sizes in the history are those of blocks */
    struct gp_map of_addr;
    GP_VEC(struct gp_heap_block) blocks;
    uint64_t walked; /* blocks that were looked at one by one: there is a limit */
};

void gp_heap_init(struct gp_heap *h, const struct gp_snapshot_settings *settings, bool sizes_are_real);
void gp_heap_release(struct gp_heap *h);

/* REQUESTED bytes as the allocator rounds them. */
int64_t gp_heap_round(const struct gp_heap *h, int64_t requested);
/* The block that begins at ADDR, whatever its state; GP_HEAP_NONE when there never was one. O(1). */
uint32_t gp_heap_find(const struct gp_heap *h, uint64_t addr);
/* A new segment, or, with JOINS, a piece that is mapped behind or before others of its segment. */
void gp_heap_segment(struct gp_heap *h, uint64_t addr, int64_t size, bool joins);
/* A segment, or a piece of one, that is given back. */
void gp_heap_unmap(struct gp_heap *h, uint64_t addr, int64_t size);
/* Allocate at ADDR, which must not be live: the block. */
uint32_t gp_heap_take(struct gp_heap *h, uint64_t addr, int64_t requested);
/* Block B is free, and one with free neighbours. */
void gp_heap_give(struct gp_heap *h, uint32_t b);

/* ---- fields.c ---- */

/* For the records of this folder: cells that several of them have. Private to analyze/memory. */

static inline struct gp_memory *gp_memory_of(const struct gp_row_of *x)
{
    return ((const struct gp_memory_of *)x->of)->m;
}
static inline const struct gp_memory_device *gp_memory_device_at(const struct gp_row_of *x, uint32_t device)
{
    return &gp_memory_of(x)->devices.at[device];
}

/* Are its segments recorded? What the driver gave has none, and traces need not have them. */
static inline bool gp_memory_has_segments(const struct gp_memory_device *d)
{
    return d->reserved_peak > 0 || d->fragmentation.known || !d->peak_bytes;
}

/* The device of a row that has its index in MEMBER. Labels may repeat, indices do not. */
#define GP_MEMORY_DEVICE(member)                                                                             \
    {"device", "Device", GP_CELL_TEXT, gp_memory_get_device, member, .help = "cuda:0; cpu for the host"},    \
    {                                                                                                        \
        "device_index", "Device index", GP_CELL_ID, gp_member_u32, member, .help = "index into devices",     \
                                                                           .flags = GP_COLUMN_RAW            \
    }
gp_field_get gp_memory_get_device;
gp_field_get gp_memory_get_ns; /* int64_t: INT64_MIN is unknown */

void gp_memory_cell_device(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d);
/* V, if it is known. */
void gp_memory_cell_known(struct gp_cell *c, bool known, uint64_t v);

extern const char *const gp_memory_froms[];          /* "recorded", "guess" */
extern const struct gp_record gp_memory_oom_holders; /* without their device */

/* LIST of frames, innermost first: of a stack, of a site. */
#define GP_MEMORY_STACK "frames as FILE:LINE NAME, innermost first; empty: none was recorded"
extern const struct gp_record gp_memory_frames;
void gp_memory_cell_stack(struct gp_cell *c, const struct gp_row_of *x, const struct gp_snapshot *s,
                          uint32_t stack);
void gp_memory_cell_site(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d,
                         uint32_t site);

#endif
