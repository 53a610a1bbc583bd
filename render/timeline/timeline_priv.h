/* timeline_priv.h -- private to timeline_*.c: the pieces of a packed timeline. */
#ifndef GP_RENDER_TIMELINE_PRIV_H
#define GP_RENDER_TIMELINE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/tracks/tracks.h"
#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"
#include "render/timeline/timeline_formats.h"

/* ---- the packed timeline ---- */

/* Lanes (analyze/tracks) as the sections of a page that assets/timeline_data.js reads: a head in JSON,
 * columns of numbers, args, counters. Knows nothing of elements or the look of the page.
 *
 * Sections, all deflated; numbers are LEB128, "signed" ones zigzag:
 *   timeline    the head: JSON, see timeline_head.c
 *   events.N    GP_TIMELINE_SEGMENT events in the order of the lanes: starts (signed, from the end of the
 *               event before in the lane, or from time 0), durations, both in the unit of the lane, and
 *               names. Each is a column of planes: how many, how many bytes each has, then the first bytes of
 *               all numbers, the second bytes, and so on
 *   refs.N      of the same events: a column of the lane + 1 that holds the event's cause, 0 none; for those
 *               that have one the signed distance from the cause after the last one in that lane
 *   pairs       forward and backward operators: events, signed distances
 *   args.N      GP_TIMELINE_BLOCK events: bits of the fields it has, and their values, numbers as signed
 *               distances
 *   configs     JSON: what launch configurations have
 *   counters    by counter: times as distances, then values as signed distances, in units of 1/scale
 *   overview    by lane: a byte for each bucket of time, 0..255 how busy, then one for the kind
 */

enum { GP_TIMELINE_SEGMENT = 1 << 19, GP_TIMELINE_BLOCK = 1 << 15 };

struct gp_timeline_opts {
    const char *input; /* name of the input, for people */
    /* of all sections as base64; more: args are left out, then events outside of windows; 0: any */
    uint64_t max_bytes;
    bool args;
    int threads;                    /* at least 1; the bytes are the same */
    struct gp_timeline_window view; /* begin == end: all */
    struct gp_timeline_window open; /* shown first; begin == end: VIEW */
    /* windows that keep their events where not all can, the dearest first */
    const struct gp_timeline_window *windows;
    size_t windows_n;
};

struct gp_timeline_section {
    char id[24];
    struct gp_buf bytes; /* deflated */
};

struct gp_timeline {
    const struct gp_tracks *l; /* borrowed */
    struct gp_timeline_opts opts;
    GP_VEC(struct gp_timeline_section) sections;
    GP_VEC(struct gp_timeline_window) windows; /* with all events, by time; none: everywhere */
    uint32_t *shown;               /* by event of the page: event of the lanes; NULL: all, in order */
    uint32_t *number;              /* by event of the lanes: 1 + event of the page, 0: left out; NULL: all */
    size_t n;                      /* events of the page */
    size_t *first;                 /* by lane: its first event of the page; one more than there are lanes */
    int64_t *units;                /* by lane: ns that all its times are multiples of, 1 or 1000 */
    GP_VEC(uint32_t) refs, blocks; /* numbers of the sections that are there */
    size_t pairs;
    size_t buckets;    /* of the overview; 0: none */
    uint64_t reserved; /* bytes of the page that are not events */
    bool overview, args_left_out;
};

/* Pack L, which must outlive TL. Any content of TL is overwritten. */
void gp_timeline_pack(struct gp_timeline *tl, const struct gp_tracks *l, const struct gp_timeline_opts *opts);
void gp_timeline_release(struct gp_timeline *tl);

/* ---- its pieces ---- */

/* The event of the lanes for event I of the page. */
static inline size_t gp_timeline_event(const struct gp_timeline *tl, size_t i)
{
    return tl->shown ? tl->shown[i] : i;
}
/* The event of the page for event I of the lanes; SIZE_MAX: none. */
static inline size_t gp_timeline_number(const struct gp_timeline *tl, size_t i)
{
    return !tl->number ? i : tl->number[i] ? tl->number[i] - 1 : SIZE_MAX;
}

/* timeline_args.c: the args of events FROM to TO of the page; those of all configurations. */
void gp_timeline_put_args(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b);
void gp_timeline_put_configs(const struct gp_timeline *tl, struct gp_buf *b);
void gp_timeline_put_fields(struct gp_buf *b); /* JSON: their names; then those that are signed */
/* JSON: the ranges of captures by number */
void gp_timeline_put_captured(const struct gp_timeline *tl, struct gp_buf *b);

/* timeline_head.c: the JSON object that describes the contents of the page. */
void gp_timeline_put_head(const struct gp_timeline *tl, struct gp_buf *b);

/* timeline_head.c: the factor that makes the values of a counter integers. */
int64_t gp_timeline_scale(const struct gp_tracks_counter *c);

/* ---- the still picture ---- */

/* Every track with its outer lanes, time as the x axis, in a few thousand rectangles for any trace. A
 * column of pixels that several events share shows by its strength how busy it is, and by its colour the
 * largest of them. Knows nothing of files. */

/* A zeroed struct is the default. */
struct gp_timeline_svg_opts {
    const char *title;        /* NULL: none */
    const char *note;         /* a line below the title; NULL: none */
    int64_t begin_ns, end_ns; /* equal: all */
    int width;                /* pixels; 0: 1200 */
    uint32_t max_rects;       /* 0: 5000 */
    bool still;               /* within a page, which has the palette's colours; not a separate document */
};

/* Append the picture to OUT: well-formed for every trace, and the same for the same trace. */
void gp_timeline_svg_write(struct gp_buf *out, const struct gp_tracks *l,
                           const struct gp_timeline_svg_opts *o);

#endif
