/* control.h -- the launcher's part in starting and stopping: signals and times, which concern all processes
 * at once. The rest (the profiler API, ranges, launches) happens inside the processes. Does not handle
 * signals itself.
 *
 *     gp_control_init(&c, &start, &stop, duration_ns);
 *     launch.kept = gp_control_signals(&c);         // for us, not for the command
 *     gp_control_begin(&c, now_ns);
 *     if (gp_control_turn(&c, signals, now_ns)) gp_hub_record(hub, c.gate.open);
 */
#ifndef GP_COLLECT_CONTROL_H
#define GP_COLLECT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/gate.h"

struct gp_control {
    struct gp_gate_opts gate;  /* what is sent to the processes; open changes with time */
    int64_t start_ns, stop_ns; /* the time to do so, 0: never (again) */
};

/* A trigger that was not given is GP_WHEN_UNSET: recording starts with the command, and stops at the end of
 * what it starts with. */
void gp_control_init(struct gp_control *c, const struct gp_trigger *start, const struct gp_trigger *stop,
                     int64_t duration_ns);
/* The signals that it handles, as bits 1 << signal. */
uint64_t gp_control_signals(const struct gp_control *c);
/* The command has been started. */
void gp_control_begin(struct gp_control *c, int64_t now_ns);
/* SIGNALS (bits) arrived, or time passed. True if the new c->gate.open must be sent to the processes. */
bool gp_control_turn(struct gp_control *c, uint64_t signals, int64_t now_ns);
/* The latest time to call gp_control_turn(), 0: no need. */
int64_t gp_control_due(const struct gp_control *c);

#endif
