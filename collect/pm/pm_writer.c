#include "collect/pm/pm_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/vec.h"
#include "formats/gpt/gpt_write.h"
#include "formats/model/metric.h"
#include "formats/model/trace.h"

enum { ROWS_MOST = 8192 };
static const int64_t WAIT_NS = 2000000000;

struct value {
    gp_sid name, unit;
    bool is_count; /* becomes a rate */
    double last;   /* NAN: none */
};

struct device {
    struct gp_pm_writer *owner;
    uint32_t number, track;
    struct gp_trace trace;
    struct gp_gpt_writer *writer;
    struct value values[GP_METRICS_MOST];
    size_t n;
    gp_sid cat;
    int64_t end_ns; /* of the latest sample; 0: none yet */
};

struct gp_pm_writer {
    struct gp_pm_writer_opts opts;
    int64_t flushed_ns;
    uint64_t samples;
    GP_VEC(struct device *) devices;
};

struct gp_pm_writer *gp_pm_writer_new(const struct gp_pm_writer_opts *opts)
{
    struct gp_pm_writer *w = gp_zalloc(sizeof *w);
    w->opts = *opts;
    return w;
}

static struct device *find_device(const struct gp_pm_writer *w, uint32_t number)
{
    for (size_t i = 0; i < w->devices.n; i++)
        if (w->devices.at[i]->number == number) return w->devices.at[i];
    return NULL;
}

static struct value value_of(struct gp_trace *t, const struct gp_measured_metric *m)
{
    char unit[48];
    struct value v = {.last = NAN, .is_count = gp_metric_reduce_of(m->name) == GP_REDUCE_SUM};
    snprintf(unit, sizeof unit, "%s%s", !strcmp(m->unit, "percent") ? "%" : m->unit,
             v.is_count ? "/second" : "");
    v.name = gp_intern_cstr(&t->strings, m->name);
    v.unit = gp_intern_cstr(&t->strings, unit);
    return v;
}

void gp_pm_writer_device(struct gp_pm_writer *w, uint32_t number, const struct gp_measured_metric *metrics,
                         size_t n)
{
    char text[40];
    if (find_device(w, number) || n > GP_METRICS_MOST) return;
    struct device *d = gp_zalloc(sizeof *d);
    struct gp_gpt_write_opts o = {.producer = w->opts.producer(w->opts.ctx)};
    d->owner = w;
    d->number = number;
    gp_trace_init(&d->trace, GP_NEED_ALL);
    snprintf(text, sizeof text, "hardware counters of GPU %" PRIu32, number);
    d->track = gp_trace_gpu_track(&d->trace, number, text);
    gp_trace_set_number(&d->trace, GP_META_COUNTER_PERIOD, w->opts.period_ns);
    d->cat = gp_intern_cstr(&d->trace.strings, GP_METRIC_SAMPLED);
    d->n = n;
    for (size_t i = 0; i < n; i++) d->values[i] = value_of(&d->trace, &metrics[i]);
    d->writer = gp_gpt_writer_new(&o, w->opts.on_block, w->opts.ctx);
    GP_VEC_PUSH(&w->devices, d);
}

size_t gp_pm_writer_values(const struct gp_pm_writer *w, uint32_t number)
{
    const struct device *d = find_device(w, number);
    return d ? d->n : 0;
}

uint64_t gp_pm_writer_samples(const struct gp_pm_writer *w) { return w->samples; }

/* ---- rows ---- */

static void put_row(struct device *d, struct value *v, int64_t at_ns, double value)
{
    struct gp_events *e = &d->trace.events[GP_COUNTER];
    if (value == v->last) return;
    v->last = value;
    size_t row = gp_events_add(e, at_ns, 0, d->track, v->name);
    gp_set_cat(e, row, d->cat);
    gp_set_series(e, row, v->unit);
    gp_set_value(e, row, value);
}

/* From the end of the last sample on nothing is known: not that it stays so. */
static void put_gap(struct device *d)
{
    for (size_t i = 0; i < d->n && d->end_ns; i++) put_row(d, &d->values[i], d->end_ns, 0);
}

void gp_pm_writer_put(struct gp_pm_writer *w, uint32_t number, int64_t start_ns, int64_t end_ns,
                      const double *values)
{
    struct device *d = find_device(w, number);
    if (!d || end_ns <= start_ns || start_ns < d->end_ns) return;
    if (d->end_ns && start_ns - d->end_ns > w->opts.period_ns) put_gap(d);
    d->end_ns = end_ns;
    w->samples++;
    double ns = (double)(end_ns - start_ns);
    for (size_t i = 0; i < d->n; i++) {
        double v = d->values[i].is_count ? values[i] * 1e9 / ns : values[i];
        if (isfinite(v)) put_row(d, &d->values[i], start_ns, v);
    }
}

void gp_pm_writer_lost(struct gp_pm_writer *w, uint32_t number, uint64_t n)
{
    struct device *d = find_device(w, number);
    if (!d) return;
    put_gap(d);
    struct gp_loss l = {gp_intern_cstr(&d->trace.strings, "stretches of counter samples"),
                        gp_intern_cstr(&d->trace.strings, "the hardware buffer was full"), n, UINT32_MAX};
    GP_VEC_PUSH(&d->trace.losses, l);
}

static void flush(struct device *d)
{
    if (!d->trace.events[GP_COUNTER].n) return;
    gp_gpt_flush(d->writer, &d->trace); /* our sink never stops */
    gp_trace_clear_events(&d->trace);
}

void gp_pm_writer_flush(struct gp_pm_writer *w, int64_t now_ns)
{
    bool due = now_ns - w->flushed_ns >= WAIT_NS;
    for (size_t i = 0; i < w->devices.n; i++)
        if (due || w->devices.at[i]->trace.events[GP_COUNTER].n >= ROWS_MOST) flush(w->devices.at[i]);
    if (due) w->flushed_ns = now_ns;
}

void gp_pm_writer_end(struct gp_pm_writer *w)
{
    for (size_t i = 0; i < w->devices.n; i++) {
        put_gap(w->devices.at[i]);
        flush(w->devices.at[i]);
        gp_gpt_end(w->devices.at[i]->writer, &w->devices.at[i]->trace);
    }
}

void gp_pm_writer_free(struct gp_pm_writer *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->devices.n; i++) {
        gp_gpt_writer_free(w->devices.at[i]->writer);
        gp_trace_release(&w->devices.at[i]->trace);
        free(w->devices.at[i]);
    }
    GP_VEC_FREE(&w->devices);
    free(w);
}
