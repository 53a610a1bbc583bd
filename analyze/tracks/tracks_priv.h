/* tracks_priv.h -- private to lanes*.c: how tracks are put together. */
#ifndef GP_ANALYZE_TRACKS_PRIV_H
#define GP_ANALYZE_TRACKS_PRIV_H

#include "analyze/tracks/tracks.h"
#include "formats/base/map.h"

/* Position of an event while its track is laid out. */
struct gp_tracks_item {
    uint32_t row;
    uint8_t table, lane;
};

/* The row of a device that ran no work: it lies beside the streams. */
#define GP_TRACKS_BESIDE (UINT32_MAX - 1)

enum { GP_TRACKS_SEEN = 4096 };
struct gp_tracks_seen {
    uint64_t key; /* 0: nothing yet */
    uint32_t name;
};

struct gp_tracks_build {
    struct gp_tracks *l;
    int64_t from_ns, to_ns;              /* only events that touch it; equal: all */
    uint32_t *rows[GP_TABLE_COUNT];      /* by table: its rows by track, then time */
    uint32_t *first[GP_TABLE_COUNT];     /* by track: slice of rows */
    struct gp_map ids;                   /* by sid of an id: how many have it */
    struct gp_map names;                 /* by (table, kind, sid): index into l->names */
    struct gp_tracks_seen *seen;         /* cache of recent look-ups, by the low bits of the sid */
    GP_VEC(uint64_t) uses;               /* by name */
    GP_VEC(struct gp_tracks_item) items; /* of the track at hand */
    size_t cap;                          /* of the arrays by event */
    uint32_t *stream_of;                 /* by track: stream of the view, or UINT32_MAX, GP_TRACKS_BESIDE */
    uint32_t *group_of_process;          /* UINT32_MAX: none yet */
    struct gp_map device_groups;         /* by (producer, device): the group */
    struct gp_map sharers;               /* by (rank, device): number of processes with such a device */
    bool ranks;                          /* several: they are part of ids */
};

/* Damaged input can hold any time; within these bounds no difference of two overflows. */
#define GP_TRACKS_LATEST (INT64_MAX / 2)
static inline int64_t gp_tracks_bounded(int64_t ns)
{
    return ns < -GP_TRACKS_LATEST ? -GP_TRACKS_LATEST : ns > GP_TRACKS_LATEST ? GP_TRACKS_LATEST : ns;
}

/* Key of b->device_groups and b->sharers. */
static inline uint64_t gp_tracks_device_key(uint32_t who, int64_t device)
{
    return (uint64_t)device * 0x9e3779b97f4a7c15u + who;
}

/* ---- tracks_groups.c ---- */

/* Is [START, START + DUR) to be shown? */
bool gp_tracks_touches(const struct gp_tracks_build *b, int64_t start_ns, int64_t dur_ns);
/* A string of the trace, without the blanks at the end that profilers leave. */
void gp_tracks_put_sid(struct gp_buf *to, const struct gp_trace *t, gp_sid sid);
/* Add the group of DEVICE of the view. Returns its index. */
uint32_t gp_tracks_add_device_group(struct gp_tracks_build *b, uint32_t device);
/* The group of a process, created if missing. */
uint32_t gp_tracks_process_group(struct gp_tracks_build *b, uint32_t process);
/* The group of DEVICE as numbered by PRODUCER; UINT32_MAX: no such device ran work. */
uint32_t gp_tracks_device_group(const struct gp_tracks_build *b, uint32_t producer, int64_t device);
/* Append a track without events; NAME is only the last part of its id, after the group's id. */
struct gp_tracks_track *gp_tracks_add_track(struct gp_tracks_build *b, uint32_t group,
                                            enum gp_tracks_sort sort, const char *id, const char *name,
                                            size_t name_n);
/* Bring the counters that were added last to the other tracks of their groups: one heading per group. */
void gp_tracks_join_groups(struct gp_tracks *l);
/* ---- tracks_counters.c ---- */

/* Counters of device D (busy, queue, copies), whose group is GROUP; recorded counters of a process. */
void gp_tracks_device_counters(struct gp_tracks_build *b, uint32_t device, uint32_t group);
void gp_tracks_recorded_counters(struct gp_tracks_build *b);

#endif
