#include "collect/control.h"

#include <string.h>

void gp_control_init(struct gp_control *c, const struct gp_trigger *start, const struct gp_trigger *stop,
                     int64_t duration_ns)
{
    memset(c, 0, sizeof *c);
    c->gate.start = *start;
    c->gate.stop = *stop;
    c->gate.duration_ns = duration_ns;
    c->gate.open = start->when == GP_WHEN_UNSET;
    bool ends_itself = start->when == GP_WHEN_PROFILER || start->when == GP_WHEN_RANGE;
    if (stop->when == GP_WHEN_UNSET && ends_itself) c->gate.stop = *start;
}

static uint64_t signal_bit(const struct gp_trigger *t)
{
    return t->when == GP_WHEN_SIGNAL ? UINT64_C(1) << t->signal : 0;
}

uint64_t gp_control_signals(const struct gp_control *c)
{
    return signal_bit(&c->gate.start) | signal_bit(&c->gate.stop);
}

void gp_control_begin(struct gp_control *c, int64_t now_ns)
{
    if (c->gate.start.when == GP_WHEN_TIME) c->start_ns = now_ns + c->gate.start.time_ns;
    if (c->gate.stop.when == GP_WHEN_TIME) c->stop_ns = now_ns + c->gate.stop.time_ns;
}

static bool has_come(int64_t *due_ns, int64_t now_ns)
{
    if (!*due_ns || now_ns < *due_ns) return false;
    *due_ns = 0;
    return true;
}

bool gp_control_turn(struct gp_control *c, uint64_t signals, int64_t now_ns)
{
    bool start = signals & signal_bit(&c->gate.start), stop = signals & signal_bit(&c->gate.stop);
    if (start && stop && c->gate.start.signal == c->gate.stop.signal) { /* a signal for both toggles */
        start = !c->gate.open;
        stop = !start;
    }
    start |= has_come(&c->start_ns, now_ns);
    stop |= has_come(&c->stop_ns, now_ns);
    if (!start && !stop) return false;
    c->gate.open = !stop;
    return true; /* sent even if nothing changed: a process may have started or stopped by itself */
}

int64_t gp_control_due(const struct gp_control *c)
{
    if (!c->start_ns || !c->stop_ns) return c->start_ns + c->stop_ns;
    return c->start_ns < c->stop_ns ? c->start_ns : c->stop_ns;
}
