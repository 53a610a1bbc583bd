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
#include "analyze/tracks/tracks.h"
#include "analyze/view/view.h"
#include "formats/base/answer.h"
#include "formats/base/declare.h"

struct gp_hta;

/* Needs of a format. */
enum {
    GP_TIMELINE_ALL = 1,   /* all of the trace, and no lanes are drawn */
    GP_TIMELINE_ARGS = 2,  /* data recorded besides names and times, unless --no-args is given */
    GP_TIMELINE_DETAIL = 4 /* where all events stay if not all have room */
};

struct gp_timeline_window {
    int64_t begin_ns, end_ns;
};

/* An answer and how to write it. Strings are borrowed. */
struct gp_timeline_answer {
    struct gp_trace *t; /* chrome drops the rows outside of the view */
    const struct gp_view *v;
    const struct gp_tracks *l;
    struct gp_timeline_window view;            /* begin == end: all */
    struct gp_timeline_window open;            /* shown first: the steps; begin == end: all */
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
/* Append the contents of the lanes and the events that did not fit, in one line. */
void gp_timeline_put_stats(struct gp_buf *b, const struct gp_tracks *l);

/* ---- windows of time, from the words of a command line ---- */

/* The dearest first. GP_VEC_FREE() when done. */
struct gp_timeline_windows {
    struct gp_timeline_window *at;
    size_t n, cap;
};

/* "12ms-14ms", "12ms-", "-14ms": N bytes at TEXT, times after ORIGIN_NS. OPTION is for messages. */
GP_MUST_CHECK int gp_timeline_range(struct gp_timeline_window *w, const char *option, const char *text,
                                    size_t n, int64_t origin_ns, struct gp_err *err);
/* Fails where W, the words TEXT of --range, lies after all events of T. */
GP_MUST_CHECK int gp_timeline_check_range(const struct gp_timeline_window *w, const char *text,
                                          const struct gp_trace *t, struct gp_err *err);
/* "3", "3-5": steps of H by the numbers in their names, from the host's side of the first to the end of the
 * last on any device. */
GP_MUST_CHECK int gp_timeline_steps(struct gp_timeline_window *w, const char *text, const struct gp_hta *h,
                                    struct gp_err *err);
/* The steps of H without start-up and warm-up, from the begin of the first to the end of the last on
 * any device. False, and W stays as it is, if there are none. */
bool gp_timeline_all_steps(struct gp_timeline_window *w, const struct gp_hta *h);
/* From the first to the last event of T that takes time: profilers mark when they stop, long after all work.
 * False, and W stays as it is, if there are none. */
bool gp_timeline_all_events(struct gp_timeline_window *w, const struct gp_trace *t);
/* Where nothing ran on a GPU, as in a snapshot of an allocator: from the first to the last range of T whose
 * name is that of a step. False, and W stays as it is, if there are none. */
bool gp_timeline_named_steps(struct gp_timeline_window *w, const struct gp_trace *t);
/* "steps:20,gaps:200,1s-2s": append the longest steps of H, the longest gaps of L with some time around them,
 * and ranges. */
GP_MUST_CHECK int gp_timeline_detail(struct gp_timeline_windows *to, const char *list,
                                     const struct gp_tracks *l, const struct gp_hta *h, int64_t origin_ns,
                                     struct gp_err *err);
/* Drop the rows of T that do not touch W; frames and threads stay as they are. Begin == end: everything
 * stays. */
void gp_timeline_keep(struct gp_trace *t, const struct gp_timeline_window *w);

#endif
