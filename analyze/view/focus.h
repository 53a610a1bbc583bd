/* focus.h -- a trace restricted to the step windows of its devices (steps.h): what headlines, first
 * findings, flame graphs and timelines are about. Start-up, warm-up and work after the steps are left
 * out. Knows nothing of figures.
 *
 *     struct gp_focus f;
 *     if (gp_focus_make(&f, &view, &steps)) use(&f.view);   // false: no steps, or nothing outside of them
 *     gp_focus_release(&f);
 *
 * Only GPU events are left out; those that reach over an edge of the window are cut there. Devices without
 * steps keep all of theirs.
 */
#ifndef GP_ANALYZE_FOCUS_H
#define GP_ANALYZE_FOCUS_H

#include <stdbool.h>
#include "analyze/view/recorder.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"

struct gp_focus {
    struct gp_trace t;              /* borrows all but its GPU events; never gp_trace_release() it */
    struct gp_view view;            /* of t; it borrows the host stack and the kinds */
    size_t windows;                 /* devices with a step window */
    size_t steps;                   /* steps in the windows of all devices */
    int64_t span_ns;                /* of the windows of all devices */
    struct gp_step_stretch slowest; /* the window of the device whose steps take the longest */
    struct gp_recorder_added added; /* to those, by what recorded them */
    int64_t outside_ns;             /* of the devices with windows: the rest of their spans */
    uint64_t left_out;              /* GPU events */
};

/* Restrict the trace of V, which must outlive F. True if F.t differs from it; otherwise F.t and F.view must
 * not be used. F is to be released in both cases, and stays where it is until then. O(n log n). */
bool gp_focus_make(struct gp_focus *f, const struct gp_view *v, const struct gp_steps *s);
void gp_focus_release(struct gp_focus *f);

#endif
