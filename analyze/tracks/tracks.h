/* tracks.h -- lays a trace out for a timeline: its tracks, the lane of each event, and the counters, steps
 * and idle gaps. Knows nothing of pixels, pages or formats.
 *
 *     struct gp_tracks l;
 *     gp_tracks_build(&l, &view, &hta, NULL);
 *     for (size_t i = 0; i < l.lanes.n; i++)
 *         for (size_t k = l.lanes.at[i].first; k < l.lanes.at[i].first + l.lanes.at[i].n; k++)
 *             draw(i, gp_tracks_start(&l, k), gp_tracks_dur(&l, k), l.name[k]);
 *     gp_tracks_release(&l);
 *
 * An event goes to the first free lane below the innermost open event that contains it. If it ends later than
 * that event by at most max(1 us, 2 ulp of a double holding microseconds), it counts as contained, and its
 * lane is free again when its container ends, because profilers round. If it ends later still, the two cross:
 * it goes to the first free lane below the innermost open event that does contain it, and is counted. Nothing
 * is left out: an event that finds none of the GP_TRACKS_MOST lanes free goes on the last one over others,
 * and is counted as well. Durations never change.
 */
#ifndef GP_ANALYZE_TRACKS_H
#define GP_ANALYZE_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/view.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

struct gp_hta;

enum { GP_TRACKS_MOST = 255, GP_TRACKS_SAMPLES = 32768 };

/* The tables of the trace that a timeline shows. */
#define GP_TRACKS_NEED                                                                                       \
    ((GP_NEED_ALL & ~(GP_NEED_IDS | GP_NEED_EXTRA | GP_NEED_RAW_SAMPLES)) | GP_NEED_EXTRA_WORK |             \
     GP_NEED_FEW_ARROWS)

/* Values of gp_tracks.table for items that are not rows of the trace. */
enum { GP_TRACKS_IDLE = GP_TABLE_COUNT, GP_TRACKS_STEP };

enum gp_tracks_sort {
    GP_TRACKS_SLICES,  /* events that nest */
    GP_TRACKS_MARKS,   /* instants, allocations, async events */
    GP_TRACKS_STEPS,   /* the steps of a device */
    GP_TRACKS_GAPS,    /* its idle time by cause */
    GP_TRACKS_COUNTER, /* has no lanes */
};

struct gp_lane {
    size_t first, n; /* slice of the events, by start, longer first */
    int64_t longest_ns;
};

struct gp_tracks_track {
    uint32_t sort;  /* enum gp_tracks_sort */
    uint32_t group; /* index into groups */
    gp_sid id;      /* of tracks->strings: of names and numbers as recorded, unique in the trace */
    gp_sid name;    /* of tracks->strings: for people */
    size_t first_lane, lanes;
    uint64_t count; /* events */
    int64_t total_ns;
    uint64_t crossed, clamped, crowded; /* crowded: events drawn over others on the last lane */
    bool gpu;                           /* the GPU events of a stream */
    size_t counter;                     /* GP_TRACKS_COUNTER: index into counters */
};

/* A heading of tracks: a device, or a process. */
struct gp_tracks_group {
    gp_sid id, name;
    uint32_t device; /* index into view->devices, UINT32_MAX: a process */
};

struct gp_tracks_name {
    gp_sid name;  /* of the trace's strings; GP_FRAME_IDLE: enum gp_idle_cause; steps: of hta's strings */
    uint8_t kind; /* enum gp_frame_kind; GP_FRAME_OTHER: none of them */
    bool step;
};

struct gp_tracks_gap {
    int64_t begin_ns, end_ns;
    uint32_t cause; /* enum gp_idle_cause */
    uint32_t node;  /* index into view->hs.nodes, GP_HOST_NONE: none */
};

enum gp_tracks_unit {
    GP_TRACKS_COUNT,
    GP_TRACKS_BYTES,
    GP_TRACKS_PERCENT,
    GP_TRACKS_GBPS,
    GP_TRACKS_MHZ,
    GP_TRACKS_WATT,
    GP_TRACKS_CELSIUS,
    GP_TRACKS_REASON, /* 0: none; 1 + that of gp_clock_reason() */
};

/* A value holds until the next one. */
struct gp_tracks_sample {
    int64_t at_ns;
    double value;
};

struct gp_tracks_counter {
    uint32_t unit; /* enum gp_tracks_unit */
    bool joined;   /* several samples became one, the highest */
    GP_VEC(struct gp_tracks_sample) samples;
};

struct gp_tracks_opts {
    int64_t begin_ns, end_ns; /* only events that touch [begin, end); begin == end: all */
};

struct gp_tracks {
    const struct gp_view *v;   /* borrowed */
    const struct gp_hta *hta;  /* borrowed */
    struct gp_strings strings; /* of tracks and groups */
    int64_t begin_ns, end_ns;  /* time 0 of the trace; the last end of any event */
    GP_VEC(struct gp_tracks_group) groups;
    GP_VEC(struct gp_tracks_track) tracks; /* in the order of the page: devices, then processes */
    GP_VEC(struct gp_lane) lanes;          /* by track, the outermost first */
    GP_VEC(struct gp_tracks_name) names;   /* the most frequent first */
    GP_VEC(struct gp_tracks_gap) gaps;     /* by device, then time */
    GP_VEC(struct gp_tracks_counter) counters;
    size_t n;       /* events, by lane */
    uint32_t *row;  /* by event: row of its table, index into gaps or hta->steps */
    uint8_t *table; /* by event: enum gp_table, GP_TRACKS_IDLE, GP_TRACKS_STEP */
    uint32_t *name; /* by event: index into names */
    /* by row: the event, UINT32_MAX: not there. Of host tables and GP_GPU. */
    uint32_t *place[GP_TABLE_COUNT];
};

/* Lay out the trace of V. H must be finished with the trace added: its steps become tracks. OPTS may be NULL.
 * Overwrites L. O(n log n). */
void gp_tracks_build(struct gp_tracks *l, const struct gp_view *v, const struct gp_hta *h,
                     const struct gp_tracks_opts *opts);
void gp_tracks_release(struct gp_tracks *l);

/* Time 0 of every timeline of T: the first start of anything on a timeline; 0 if there is nothing. */
int64_t gp_tracks_origin(const struct gp_trace *t);
/* When event I began, bounded so that no difference of two overflows. */
int64_t gp_tracks_start(const struct gp_tracks *l, size_t i);
/* How long it lasted, as recorded, bounded in the same way. */
int64_t gp_tracks_dur(const struct gp_tracks *l, size_t i);
/* The event of a row; UINT32_MAX if it has none. */
uint32_t gp_tracks_place(const struct gp_tracks *l, enum gp_table table, uint32_t row);
/* The event that caused event I, or the host event while a device was idle; UINT32_MAX: unknown. */
uint32_t gp_tracks_cause(const struct gp_tracks *l, size_t i);
/* Append the full name of a name, demangled; and the label that fits in little room. */
void gp_tracks_put_name(const struct gp_tracks *l, uint32_t name, struct gp_buf *to);
void gp_tracks_put_label(const struct gp_tracks *l, uint32_t name, struct gp_buf *to);

/* ---- activity ---- */

/* How much of the time the host worked, a GPU worked, and both did. */

struct gp_activity {
    int64_t span_ns;
    int64_t cpu_ns;  /* some host thread was in an operator or a call of the runtime */
    int64_t gpu_ns;  /* some device was at work */
    int64_t both_ns; /* both at once; never more than either */
};

/* Activity in [BEGIN, END), whose difference must not overflow. O(n) for sorted events, otherwise O(n log
 * n). */
struct gp_activity gp_activity_of(const struct gp_view *v, int64_t begin_ns, int64_t end_ns);

#endif
