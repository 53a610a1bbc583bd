/* gauge_make.h -- rows of gauges for hand-built traces. */
#ifndef GP_TESTS_GAUGE_MAKE_H
#define GP_TESTS_GAUGE_MAKE_H

#include "formats/model/gauges.h"
#include "tests/unit/trace_make.h"

/* A GPU with this number in the driver and these args; the devices of programs have the same "gpu". Returns
 * its track. */
static inline uint32_t mk_gauge_gpu(struct gp_trace *t, uint32_t producer, int64_t number, const char *args)
{
    struct gp_device d = gp_device_unknown();
    d.producer = producer;
    d.id = number;
    d.extra = mk_name(t, args);
    GP_VEC_PUSH(&t->devices, d);
    return mk_stream(t, mk_process(t, number, producer), number, -1);
}

static inline void mk_gauge(struct gp_trace *t, uint32_t track, int64_t at, enum gp_gauge g, double value)
{
    struct gp_events *e = &t->events[GP_COUNTER];
    size_t row = gp_events_add(e, at, 0, track, mk_name(t, gp_gauge_infos[g].name));
    gp_set_cat(e, row, mk_name(t, GP_GAUGE_CATEGORY));
    gp_set_series(e, row, mk_name(t, gp_gauge_infos[g].unit));
    gp_set_value(e, row, value);
}

/* A device of a program that is the GPU with these args. */
static inline void mk_device(struct gp_trace *t, uint32_t producer, int64_t id, const char *args)
{
    struct gp_device d = gp_device_unknown();
    d.producer = producer;
    d.id = id;
    d.extra = mk_name(t, args);
    GP_VEC_PUSH(&t->devices, d);
}

#endif
