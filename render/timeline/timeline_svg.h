/* timeline_svg.h -- a static picture of a timeline: every track with its outer lanes, time as the x axis, in
 * a few thousand rectangles whatever the size of the trace. If several events share a column of pixels, its
 * strength shows how busy it is, and its colour what takes most of it. Knows nothing of files.
 *
 *     gp_timeline_svg_write(&buf, &lanes, &(struct gp_timeline_svg_opts){.title = "a.json"});
 */
#ifndef GP_RENDER_TIMELINE_SVG_H
#define GP_RENDER_TIMELINE_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/lanes/lanes.h"
#include "formats/base/declare.h"

/* A zeroed struct is the default. */
struct gp_timeline_svg_opts {
    const char *title;        /* NULL: none */
    const char *note;         /* a line below the title; NULL: none */
    int64_t begin_ns, end_ns; /* what is shown; equal: all */
    int width;                /* pixels; 0: 1200 */
    uint32_t max_rects;       /* 0: 5000 */
    bool still;               /* within a page, which has the palette's colours; not a separate document */
};

/* Append the picture to OUT: well-formed for every trace, and the same for the same trace. */
void gp_timeline_svg_write(struct gp_buf *out, const struct gp_lanes *l,
                           const struct gp_timeline_svg_opts *o);

#endif
