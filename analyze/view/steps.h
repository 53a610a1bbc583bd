/* steps.h -- the steps of each program (what one producer wrote), as windows on its host's clock. Knows
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
/* The window that holds AT_NS, windows.n for none. HINT is tried first. */
size_t gp_steps_window_at(const struct gp_steps_program *p, int64_t at_ns, size_t hint);

/* When GPU event ROW was launched. False: unknown. */
bool gp_steps_launch_time(const struct gp_view *v, uint32_t row, bool by_gpu_time, int64_t *begin_ns,
                          int64_t *end_ns);

/* How strongly a range's name, without its number, suggests a step: 0 the profiler's own marker, 1 "step", 2
 * "batch" and the like, 3 not at all, 4 "epoch"; GP_STEP_NEVER: a part of a step. *BASE becomes the length of
 * the name before the number, and *NUMBER the number; a name without a number has base N and number
 * GP_NO_ID. */
enum { GP_STEP_NEVER = 99 };
int gp_step_name_rank(const char *name, size_t n, size_t *base, uint64_t *number);

#endif
