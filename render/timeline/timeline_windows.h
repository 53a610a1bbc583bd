/* timeline_windows.h -- which time a timeline shows, and where it keeps all events, from the words of a
 * command line.
 *
 *     struct gp_timeline_window view = {0, 0};
 *     if (gp_timeline_range(&view, "range", GP_TEXT("12ms-14ms"), origin_ns, &err)) ...
 *     struct gp_timeline_windows windows = {0};
 *     if (gp_timeline_detail(&windows, "steps:20,gaps:200", &lanes, &hta, origin_ns, &err)) ...
 *     GP_VEC_FREE(&windows);
 */
#ifndef GP_RENDER_TIMELINE_WINDOWS_H
#define GP_RENDER_TIMELINE_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/lanes/lanes.h"
#include "formats/base/declare.h"
#include "render/timeline/timeline_pack.h"

struct gp_hta;

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
/* The steps of H without start-up and warm-up, from the host's side of the first to the end of the last on
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
                                     const struct gp_lanes *l, const struct gp_hta *h, int64_t origin_ns,
                                     struct gp_err *err);
/* Drop the rows of T that do not touch W; frames and threads stay as they are. Begin == end: everything
 * stays. */
void gp_timeline_keep(struct gp_trace *t, const struct gp_timeline_window *w);

#endif
