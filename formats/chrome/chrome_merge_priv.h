/* chrome_merge_priv.h -- private to the Chrome reader: joins the chunks, in order, into one trace.
 *
 * Chunks refer to the strings, tracks and configs of the parser that read them. Merging gives each of those
 * its place in the trace when it first occurs, in the order of the input, so the result does not depend on
 * which parser read what. Knows nothing about text, files and threads.
 *
 *     gp_chrome_merge_begin(&m, &trace);
 *     gp_chrome_merge_chunk(&m, &parser, &map, &chunk);      // repeatedly, in the order of the input
 *     gp_chrome_merge_end(&m);
 */
#ifndef GP_FORMATS_CHROME_MERGE_PRIV_H
#define GP_FORMATS_CHROME_MERGE_PRIV_H

#include "formats/chrome/chrome_parse_priv.h"

struct gp_chrome_merge {
    struct gp_trace *t;
    /* only its tracks are used: rows refer to them until the kinds of all tracks are known */
    struct gp_trace tracks;
    struct gp_events open; /* B and E events */
    size_t first_row[GP_TABLE_COUNT];
    GP_VEC(struct gp_chrome_label) labels; /* `where` in t->processes or in tracks.tracks */
    int64_t last_ns;
    uint64_t n_known; /* events with a phase that events have */
};

/* A parser's numbers as numbers of the trace; UINT32_MAX: not seen yet. One per parser, initially zeroed. */
struct gp_chrome_map {
    GP_VEC(uint32_t) strings, configs, processes, tracks;
};

void gp_chrome_merge_begin(struct gp_chrome_merge *m, struct gp_trace *t);
/* Moves everything of CHUNK into the trace; the chunk is cleared. */
void gp_chrome_merge_chunk(struct gp_chrome_merge *m, const struct gp_chrome_parser *c,
                           struct gp_chrome_map *map, struct gp_chrome_chunk *chunk);
/* Determines the kinds of tracks, names them, and makes spans of B and E events. Releases M's own memory. */
void gp_chrome_merge_end(struct gp_chrome_merge *m);

/* Discards the map, because the parser starts over. */
void gp_chrome_map_release(struct gp_chrome_map *map);

#endif
