/* inject_metrics.h -- hardware counters of launches and ranges.
 */
#ifndef GP_COLLECT_INJECT_INJECT_METRICS_H
#define GP_COLLECT_INJECT_INJECT_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/wire.h"

/* A call of the driver that launches something. */
struct gp_launch_call {
    void *context;
    uint32_t corr;
    bool failed;        /* at its end */
    const char *call;   /* "cuLaunchKernel" */
    const char *kernel; /* as recorded, of the module */
    const void *params;
};
typedef void gp_inject_metrics_send(enum gp_wire_type type, const void *data, size_t n);
typedef void gp_inject_metrics_lose(const char *what, const char *why, uint64_t count);

/* Read counters as OPTS ask, with the CUPTI that is in use. False, after a message unless nothing was asked
 * for, if there will be none. */
bool gp_inject_metrics_start(const struct gp_measure_opts *opts, void *libcupti);
void gp_inject_metrics_launch(bool begins, const struct gp_launch_call *l);
/* A range was pushed on this thread, or popped. */
void gp_inject_metrics_range(bool begins, const char *domain, const char *text);
/* What was measured so far is decoded, but where it is being measured; on a thread of the program. */
void gp_inject_metrics_settle(void);
/* CONTEXT is about to go, or the process: decode all launches so far. */
void gp_inject_metrics_context_ends(void *context);
void gp_inject_metrics_finish(void);
/* Hand over decoded rows; flush thread only. */
void gp_inject_metrics_drain(gp_inject_metrics_send *send, gp_inject_metrics_lose *lose);
void gp_inject_metrics_forked(void);

#endif
