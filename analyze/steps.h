/* steps.h -- private to steps*.c: the steps of one program (what one producer wrote), as windows on its host's clock.
 * Knows nothing of devices and figures.
 *
 *     struct gp_steps_program p = {.calls = rows, ...};
 *     gp_steps_by_marker(&p, v, &markers);
 *     if (!p.windows.n) gp_steps_by_launches(&p, v);
 */
#ifndef GP_ANALYZE_STEPS_H
#define GP_ANALYZE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/hta.h"

/* More windows than that are no steps. */
enum { GP_STEPS_MOST = 100000 };

/* What was launched from begin to end belongs to the step. Windows are sorted and disjoint. */
struct gp_step_window {
    int64_t begin_ns, end_ns;
    int64_t host_end_ns; /* of the last launch, or the marker's */
    gp_sid marker;       /* name in the trace; 0: found without */
    uint32_t number;     /* where there is no marker */
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
    GP_VEC(struct gp_step_window) windows;
};

/* When GPU event ROW was launched. False: nobody knows. */
bool gp_steps_launch_time(const struct gp_view *v, uint32_t row, bool by_gpu_time, int64_t *begin_ns,
                          int64_t *end_ns);

/* Fill the windows from ranges: those that MARKER matches where it is given, else those that look like steps. -1 when
 * MARKER is no regular expression. */
GP_MUST_CHECK int gp_steps_by_marker(struct gp_steps_program *p, const struct gp_view *v, const char *marker,
                                     struct gp_err *err);
/* Fill the windows from what was launched again and again: graphs, or any sequence of calls. */
void gp_steps_by_launches(struct gp_steps_program *p, const struct gp_view *v);

/* How much a range's name, without its number, says that it is a step: 0 the profiler's own marker, 1 "step",
 * 2 "batch" and the like, 3 says nothing, 4 "epoch"; GP_STEP_NEVER: a part of a step. *BASE and *NUMBER become the
 * length of the name before the number, and the number; a name without one has base N and number GP_NO_ID. */
enum { GP_STEP_NEVER = 99 };
int gp_step_name_rank(const char *name, size_t n, size_t *base, uint64_t *number);

#endif
