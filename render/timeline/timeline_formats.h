/* timeline_formats.h -- the formats of trace2timeline's answer: html, svg and chrome, each a row of a table.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_timeline_formats, "svg");
 *     struct gp_timeline_answer a = {.t = &trace, .v = &view, .l = &lanes, .input = "a.json", .threads = 1};
 *     if (gp_answer_write(f, &a, NULL, &err)) ...
 */
#ifndef GP_RENDER_TIMELINE_FORMATS_H
#define GP_RENDER_TIMELINE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/lanes/lanes.h"
#include "analyze/view/view.h"
#include "formats/base/answer.h"
#include "render/timeline/timeline_windows.h"

/* What a format needs. */
enum {
    GP_TIMELINE_ALL = 1,   /* all of the trace, and no lanes are drawn */
    GP_TIMELINE_ARGS = 2,  /* what was recorded beside names and times, unless --no-args is given */
    GP_TIMELINE_DETAIL = 4 /* where all events stay if not all have room */
};

/* What is written, and how. Strings are borrowed. */
struct gp_timeline_answer {
    struct gp_trace *t; /* chrome drops the rows outside of the view */
    const struct gp_view *v;
    const struct gp_lanes *l;
    struct gp_timeline_window view;            /* what to show; begin == end: all */
    struct gp_timeline_window open;            /* what to show first: the steps; begin == end: all */
    const struct gp_timeline_windows *windows; /* of html: where all events stay */
    const char *input, *title;                 /* TITLE NULL: the input */
    uint64_t max_bytes;                        /* of html */
    bool args;                                 /* of html */
    int threads;                               /* at least 1 */
    int width;                                 /* of svg, in pixels; 0: 1200 */
    /* set by the writer of html */
    bool overview, args_left_out; /* some events are in the overview only; args did not fit */
    size_t shown;                 /* events in the page */
};

extern const struct gp_answer_format gp_timeline_formats[];

/* "a step takes 119 ms (mean of 5 whole steps; median 120 ms); 6 steps, 621 ms of 13.4 s recorded: GPU busy
 * 14.3%, CPU active 4.2%, both 3.0%": of the time that trace-hta reports on, with its share; of a part that
 * was asked for only its time and shares. */
void gp_timeline_put_activity(struct gp_buf *b, const struct gp_timeline_answer *a);
/* Append what the lanes hold and what did not fit into them, in one line. */
void gp_timeline_put_stats(struct gp_buf *b, const struct gp_lanes *l);

#endif
