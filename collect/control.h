/* control.h -- the launcher's part in starting and stopping: signals and times, which concern all processes at once. The
 * rest (the profiler API, ranges, launches) happens inside the processes. Does not handle signals itself.
 *
 *     gp_control_init(&c, &start, &stop, duration_ns);
 *     gp_launch_keep(gp_control_signals(&c));       // these are ours, not the command's
 *     gp_control_begin(&c, now_ns);
 *     if (gp_control_turn(&c, signals, now_ns)) gp_hub_record(hub, c.gate.open);
 */
#ifndef GP_COLLECT_CONTROL_H
#define GP_COLLECT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/gate.h"

struct gp_control {
    struct gp_gate_opts gate;  /* what the processes are told; open changes with time */
    int64_t start_ns, stop_ns; /* when to, 0: never (again) */
};

/* A trigger that was not given is GP_WHEN_UNSET: recording starts with the command, and stops at the end of what it
 * starts with. */
void gp_control_init(struct gp_control *c, const struct gp_trigger *start, const struct gp_trigger *stop,
                     int64_t duration_ns);
/* The signals that it wants to be told of, as bits 1 << signal. */
uint64_t gp_control_signals(const struct gp_control *c);
/* The command has been started. */
void gp_control_begin(struct gp_control *c, int64_t now_ns);
/* SIGNALS (bits) came, or time went by. True when the processes are to be told what c->gate.open is now. */
bool gp_control_turn(struct gp_control *c, uint64_t signals, int64_t now_ns);
/* When to call it at the latest, 0: no need. */
int64_t gp_control_due(const struct gp_control *c);

#endif
