/* steps.h -- the steps of each program (one producer), as windows on its host's clock. Knows
 * nothing of figures.
 *
 *     struct gp_steps s;
 *     int failed = gp_steps_find(&s, &view, NULL, &err);
 *     const struct gp_steps_program *p = gp_steps_of(&s, view.devices.at[0].producer);
 *     ... gp_steps_window_at(p, launched_at_ns, 0) ...; gp_steps_release(&s);
 */
#ifndef GP_ANALYZE_STEPS_H
#define GP_ANALYZE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/view.h"
#include "formats/base/declare.h"
#include "formats/base/map.h"

/* How the steps of a program were found. */
enum gp_step_source { GP_STEPS_NONE, GP_STEPS_MARKER, GP_STEPS_GRAPH, GP_STEPS_PERIOD };
const char *gp_step_source_name(enum gp_step_source s); /* "none", "marker", "graph", "period" */
extern const char *const gp_step_source_words[];        /* all, NULL at the end */

/* More windows than this are not steps. */
enum { GP_STEPS_MOST = 100000 };

/* What was launched from begin to end belongs to the step. Windows are sorted and disjoint. */
struct gp_step_window {
    int64_t begin_ns, end_ns;
    int64_t host_end_ns; /* of the last launch, or the marker's */
    gp_sid marker;       /* name in the trace; 0: found without */
    uint32_t number;     /* if there is no marker */
    bool partial;        /* not a whole period */
};

struct gp_steps_program {
    uint32_t producer;
    const uint32_t *rows; /* its GPU events whose launch is known, in order of launch */
    size_t n;
    const uint32_t *ranges; /* its rows of GP_RANGE on threads, by start */
    size_t n_ranges;
    bool by_gpu_time; /* too few launches are known: everything, in order of time on the GPU */
    uint32_t source;  /* enum gp_step_source */
    uint32_t steady;  /* first window that is not warm-up; 0 if there are none */
    GP_VEC(struct gp_step_window) windows;
};

struct gp_steps {
    GP_VEC(struct gp_steps_program) v;
    struct gp_map of_producer; /* -> index into v */
    uint32_t *rows, *ranges;   /* of all programs */
};

/* Find the steps of all programs of a view. MARKER as below, or NULL. On failure, -1, S is to be released as
 * well. */
GP_MUST_CHECK int gp_steps_find(struct gp_steps *s, const struct gp_view *v, const char *marker,
                                struct gp_err *err);
void gp_steps_release(struct gp_steps *s);
/* The program of a device of the view. */
const struct gp_steps_program *gp_steps_of(const struct gp_steps *s, uint32_t producer);
/* The name of a window of P in trace T, as one of TO: of its marker, "replay 3" or "period 3". */
gp_sid gp_step_name(struct gp_strings *to, const struct gp_trace *t, const struct gp_steps_program *p,
                    const struct gp_step_window *w);
/* The window that holds AT_NS, windows.n for none. HINT is tried first. */
size_t gp_steps_window_at(const struct gp_steps_program *p, int64_t at_ns, size_t hint);

/* When GPU event ROW was launched. False: unknown. */
bool gp_steps_launch_time(const struct gp_view *v, uint32_t row, bool by_gpu_time, int64_t *begin_ns,
                          int64_t *end_ns);

/* ---- steps of a device ---- */

/* THE definition of when the steps of a program ran on one device, and of the step window: the time that
 * the headlines of all tools are about.
 *
 * A step's time on a device runs from the first GPU event that it launched there to the first one of the
 * next step; that of the last to the end of its last GPU event. A step is whole unless its window is
 * partial or no step follows it. Whole steps that come first and take much longer than those after them are
 * warm-up (gp_steps_program.steady).
 *
 * The step window runs from the begin of the first step that is not warm-up to the end of the last one. The
 * step time is the mean of the whole steps in it; if none is whole, of all of them. All times are ns on the
 * trace's clock. */

struct gp_device_step {
    uint32_t window;           /* index into the program's windows */
    bool partial;              /* not whole */
    bool warm_up;              /* comes before the first steady one */
    int64_t begin_ns, end_ns;  /* on the GPU; end >= begin */
    uint64_t events, launches; /* GPU events, and the calls that launched them; a graph launch is one */
};

struct gp_device_steps {
    GP_VEC(struct gp_device_step) v; /* by window */
};

/* A stretch of steps that follow each other. */
struct gp_step_stretch {
    size_t first, end; /* steps [first, end); equal: there are none */
    size_t whole;      /* of them, whole ones; 0: the times below are those of partial ones */
    size_t timed;      /* steps that the times are of; at least 1 unless there are none */
    int64_t begin_ns, end_ns;
    int64_t mean_ns, median_ns; /* rounded down; of an even number the lower one */
};

/* Scratch that is shared between the devices of a trace. Zeroed before the first use. */
struct gp_step_share {
    int64_t begin_ns, last_ns;
    uint64_t events, launches;
};
struct gp_step_sharing {
    GP_VEC(struct gp_step_share) of_window;
    GP_VEC(uint32_t) touched;
    uint8_t *seen;
};

/* The steps of program P on device D of V. Overwrites S. O(n log n). */
void gp_device_steps_find(struct gp_device_steps *s, struct gp_step_sharing *sharing, const struct gp_view *v,
                          const struct gp_view_device *d, const struct gp_steps_program *p);
void gp_device_steps_release(struct gp_device_steps *s);
void gp_step_sharing_release(struct gp_step_sharing *sharing);

/* The step window of a device. */
struct gp_step_stretch gp_device_steps_window(const struct gp_device_steps *s);

/* ---- private to steps*.c ---- */

/* Private to steps*.c: the two ways to find the windows of a program, tried in this order. */

/* Fill the windows from ranges: those that match MARKER if it is given, otherwise those that look like steps.
 * Returns -1 if MARKER is not a valid regular expression. */
GP_MUST_CHECK int gp_steps_by_marker(struct gp_steps_program *p, const struct gp_view *v, const char *marker,
                                     struct gp_err *err);
/* Fill the windows from repeated launches: of graphs, or of any sequence of calls. */
void gp_steps_by_launches(struct gp_steps_program *p, const struct gp_view *v);

#endif
