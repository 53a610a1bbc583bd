/* profile_priv.h -- private to profile*.c: the functions that gp_profile_add_trace() calls, in this order.
 *
 *     struct gp_profile_job j = {.p = p, .t = t, .v = &view};
 *     gp_profile_make_events(&j);         // profile_events.c: events, kernels, places; steps without figures
 *     gp_profile_share(&j, lane);         // profile_share.c: windows, shares, spills, busy and idle time
 */
#ifndef GP_ANALYZE_PROFILE_PRIV_H
#define GP_ANALYZE_PROFILE_PRIV_H

#include "analyze/diff/profile.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"
#include "formats/base/map.h"

struct gp_profile_job {
    struct gp_profile *p;
    const struct gp_trace *t;
    const struct gp_view *v;
    struct gp_steps steps;
    uint32_t *event_of_row; /* by row of GP_GPU: index into p->events */
    /* by step: the window of the program that it is */
    GP_VEC(uint32_t) window_of_step;
    struct gp_map line_of_stack; /* stack -> sid */
};

/* Events, kernels and places of all lanes, and the steps: names, slices, hashes. */
void gp_profile_make_events(struct gp_profile_job *j);
/* The line of a stack, as of a place. */
gp_sid gp_profile_line(struct gp_profile_job *j, uint32_t stack);
/* GPU windows of lane LANE (the device of the view with the same number) and their contents. */
void gp_profile_share(struct gp_profile_job *j, uint32_t lane);
/* Idle time of all lanes by cause; needs the windows and busy times. */
void gp_profile_idle(struct gp_profile_job *j);
/* Mean clocks of steps and lanes, and the use by others. */
void gp_profile_clocks(struct gp_profile_job *j);
/* Launches, synchronising calls and memory, of steps and lanes. */
void gp_profile_host_work(struct gp_profile_job *j);
/* What hardware counters counted of each event. */
void gp_profile_count(struct gp_profile_job *j);
/* The hash of all measured values. */
void gp_profile_hash(struct gp_profile *p);
/* How the trace was recorded, from its metadata. */
void gp_profile_read_env(struct gp_profile_job *j);

#endif
