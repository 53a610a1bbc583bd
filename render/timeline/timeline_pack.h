/* timeline_pack.h -- a trace that was laid out (analyze/lanes.h) as the sections of a page that
 * assets/timeline_data.js reads: a head in JSON, columns of numbers, args, counters. Knows nothing of
 * elements or the look of the page.
 *
 *     struct gp_timeline tl;
 *     gp_timeline_pack(&tl, &lanes, &opts);
 *     for (size_t i = 0; i < tl.sections.n; i++)
 *         gp_page_packed(&w, tl.sections.at[i].id, tl.sections.at[i].bytes.data, tl.sections.at[i].bytes.n);
 *     gp_timeline_release(&tl);
 *
 * Sections, all deflated; numbers are LEB128, "signed" ones zigzag: timeline    the head: JSON, see
 * timeline_head.c events.N    GP_TIMELINE_SEGMENT events in the order of the lanes: starts (signed, from the
 * end of the event before in
 *               the lane, or from time 0), durations, both in the unit of the lane, and names. Each is a column of planes:
 *               how many, how many bytes each has, then the first bytes of all numbers, the second bytes, and so on
 * refs.N      of the same events: a column of the lane + 1 that holds the event's cause, 0 none; for those
 * that have one
 *               the signed distance from the cause after the last one in that lane
 * pairs       forward and backward operators: events, signed distances args.N      GP_TIMELINE_BLOCK events:
 * bits of the fields it has, and their values, numbers as signed distances configs     JSON: what launch
 * configurations have counters    by counter: times as distances, then values as signed distances, in units
 * of 1/scale overview    by lane: a byte for each bucket of time, 0..255 how busy, then one for the kind
 */
#ifndef GP_RENDER_TIMELINE_PACK_H
#define GP_RENDER_TIMELINE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/lanes/lanes.h"
#include "formats/base/buf.h"
#include "formats/base/vec.h"

enum { GP_TIMELINE_SEGMENT = 1 << 19, GP_TIMELINE_BLOCK = 1 << 15 };

struct gp_timeline_window {
    int64_t begin_ns, end_ns;
};

struct gp_timeline_opts {
    const char *input; /* name of the input, for people */
    /* of all sections as base64; more: args are left out, then events outside of windows; 0: any */
    uint64_t max_bytes;
    bool args;
    int threads;                    /* at least 1; the bytes are the same */
    struct gp_timeline_window view; /* what the page was made for; begin == end: all */
    struct gp_timeline_window open; /* what it shows first; begin == end: VIEW */
    /* what is to keep its events where not all can, the dearest first */
    const struct gp_timeline_window *windows;
    size_t windows_n;
};

struct gp_timeline_section {
    char id[24];
    struct gp_buf bytes; /* deflated */
};

struct gp_timeline {
    const struct gp_lanes *l; /* borrowed */
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
void gp_timeline_pack(struct gp_timeline *tl, const struct gp_lanes *l, const struct gp_timeline_opts *opts);
void gp_timeline_release(struct gp_timeline *tl);

#endif
