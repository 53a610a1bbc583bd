#include "collect/clocks/clock_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "collect/clocks/nvml.h"
#include "formats/base/buf.h"
#include "formats/base/hash.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt_write.h"
#include "formats/model/trace.h"

struct gp_clock_writer {
    struct gp_gpt_writer *writer;
    struct gp_trace trace;
    uint32_t track;
    bool redact;
    double last[GP_GAUGE_COUNT]; /* NAN: none */
    int64_t at_ns;               /* of the latest sample; 0: none yet */
};

static void put_key(struct gp_buf *b, const char *key, double value)
{
    if (value > 0) gp_buf_printf(b, ",\"%s\":%.15g", key, value);
}

static void add_device(struct gp_clock_writer *w, uint32_t number, const struct gp_clock_device *device)
{
    struct gp_buf b = {0};
    struct gp_device d = gp_device_unknown();
    d.id = number;
    gp_buf_printf(&b, "{\"" GP_GAUGE_KEY_GPU "\":%" PRIu32, gp_gauge_gpu(device->uuid, gp_hash_seed()));
    put_key(&b, GP_GAUGE_KEY_MAX_SM_MHZ, device->most_sm_mhz);
    put_key(&b, GP_GAUGE_KEY_POWER_LIMIT, device->power_limit_w);
    put_key(&b, GP_GAUGE_KEY_ENERGY_STEP, device->energy_step_j);
    put_key(&b, GP_GAUGE_KEY_ENERGY_PERIOD, (double)device->energy_period_ns);
    gp_buf_putc(&b, '}');
    d.extra = gp_trace_intern(&w->trace, b.data, b.n);
    GP_VEC_PUSH(&w->trace.devices, d);
    gp_buf_release(&b);
}

struct gp_clock_writer *gp_clock_writer_new(const struct gp_clock_writer_opts *opts, uint32_t number,
                                            const struct gp_clock_device *device)
{
    struct gp_clock_writer *w = gp_zalloc(sizeof *w);
    struct gp_gpt_write_opts o = {.producer = opts->producer};
    char text[40];
    w->redact = opts->redact;
    gp_trace_init(&w->trace, GP_NEED_ALL);
    gp_trace_set_number(&w->trace, GP_META_GAUGE_PERIOD, GP_CLOCK_PERIOD_NS);
    snprintf(text, sizeof text, "GPU %" PRIu32, number);
    w->track = gp_trace_gpu_track(&w->trace, number, text);
    add_device(w, number, device);
    for (size_t g = 0; g < GP_GAUGE_COUNT; g++) w->last[g] = NAN;
    w->writer = gp_gpt_writer_new(&o, opts->write, opts->ctx);
    return w;
}

/* ---- rows ---- */

/* "utilization by process 4711 (python3)", "utilization by process hidden" */
static void put_use(struct gp_clock_writer *w, const struct gp_clock_sample *s)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, GP_GAUGE_OTHER);
    if (!s->use.pid || w->redact) gp_buf_puts(&b, "hidden");
    else gp_buf_printf(&b, "%" PRIu32, s->use.pid);
    if (s->use.pid && !w->redact && *s->use.name) gp_buf_printf(&b, " (%s)", s->use.name);
    gp_gauge_put(&w->trace, s->since_ns, w->track, GP_GAUGE_OTHERS, gp_buf_str(&b), s->use.percent);
    gp_gauge_put(&w->trace, s->at_ns, w->track, GP_GAUGE_OTHERS, gp_buf_str(&b), 0);
    gp_buf_release(&b);
}

void gp_clock_writer_put(struct gp_clock_writer *w, const struct gp_clock_sample *s)
{
    if (s->is_use) {
        put_use(w, s);
        return;
    }
    w->at_ns = s->at_ns;
    for (size_t g = 0; g < GP_GAUGE_COUNT; g++) {
        bool window = g == GP_GAUGE_OTHERS || gp_nvml_is_sum((enum gp_gauge)g, GP_NVML_OFTEN) ||
                      gp_nvml_is_sum((enum gp_gauge)g, GP_NVML_RARELY);
        if (isnan(s->values[g]) || (s->values[g] == w->last[g] && g != GP_GAUGE_ENERGY)) continue;
        w->last[g] = s->values[g];
        gp_gauge_put(&w->trace, window ? s->since_ns : s->at_ns, w->track, (enum gp_gauge)g, NULL,
                     s->values[g]);
    }
}

void gp_clock_writer_flush(struct gp_clock_writer *w)
{
    if (!w->trace.events[GP_COUNTER].n) return;
    gp_gpt_flush(w->writer, &w->trace);
    gp_trace_clear_events(&w->trace);
}

void gp_clock_writer_end(struct gp_clock_writer *w)
{
    if (!w) return;
    for (size_t g = 0; g < GP_GAUGE_COUNT && w->at_ns; g++)
        if (!isnan(w->last[g]) && g != GP_GAUGE_ENERGY)
            gp_gauge_put(&w->trace, w->at_ns, w->track, (enum gp_gauge)g, NULL, w->last[g]);
    gp_clock_writer_flush(w);
    gp_gpt_end(w->writer, &w->trace);
    gp_gpt_writer_free(w->writer);
    gp_trace_release(&w->trace);
    free(w);
}
