#include "collect/counters/measured.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/model/trace.h"

enum { MAX_SETS = 4096, MAX_NAME = 1 << 16 };

bool gp_measure_opts_fit(const struct gp_measure_opts *o)
{
    return o->per <= GP_MEASURE_RANGES && memchr(o->set, 0, sizeof o->set) &&
           memchr(o->range, 0, sizeof o->range) && memchr(o->kernel, 0, sizeof o->kernel);
}

void gp_measured_put_row(struct gp_buf *b, const struct gp_measured_row *row, const double *values, size_t n,
                         const char *name)
{
    struct gp_measured_row r = *row;
    r.name_n = (uint32_t)strnlen(name, MAX_NAME);
    gp_buf_put(b, &r, sizeof r);
    gp_buf_put(b, values, n * sizeof *values);
    gp_buf_put(b, name, r.name_n);
    while (b->n % 8) gp_buf_putc(b, 0);
}

static gp_sid text_of(struct gp_trace *t, const char *text, size_t size)
{
    return gp_trace_intern(t, text, strnlen(text, size));
}

bool gp_measured_take_set(struct gp_measured *m, const void *payload, size_t n)
{
    struct gp_measured_set set;
    struct gp_metric metrics[GP_METRICS_MOST];
    if (n < sizeof set) return false;
    memcpy(&set, payload, sizeof set);
    if (set.number != m->sets.n || set.number >= MAX_SETS || !set.n || set.n > GP_METRICS_MOST ||
        n != sizeof set + set.n * sizeof(struct gp_measured_metric))
        return false;
    memset(metrics, 0, sizeof metrics);
    for (uint32_t i = 0; i < set.n; i++) {
        struct gp_measured_metric k;
        memcpy(&k, (const char *)payload + sizeof set + i * sizeof k, sizeof k);
        metrics[i].name = text_of(m->trace, k.name, sizeof k.name);
        metrics[i].unit = text_of(m->trace, k.unit, sizeof k.unit);
        metrics[i].type = k.type <= GP_METRIC_THROUGHPUT ? k.type : GP_METRIC_COUNTER;
        metrics[i].reduce = gp_metric_reduce_of(gp_trace_str(m->trace, metrics[i].name));
        metrics[i].passes = set.passes;
        metrics[i].chip = text_of(m->trace, set.chip, sizeof set.chip);
    }
    struct gp_measured_known known = {gp_trace_metric_set(m->trace, metrics, set.n), UINT32_MAX};
    for (uint32_t i = 0; i < set.n; i++)
        if (!strcmp(gp_trace_str(m->trace, metrics[i].name), "gpu__time_duration.sum")) known.time = i;
    GP_VEC_PUSH(&m->sets, known);
    gp_trace_set_meta(m->trace, GP_META_DISTORTED, GP_TEXT("true"));
    return true;
}

/* A measured launch waits for its kernel, so it has just ended. */
static void report_launch(struct gp_measured *m, const struct gp_measured_row *r, double time_ns)
{
    int64_t start_ns = r->start_ns;
    if (!m->launch) return;
    if (time_ns >= 0 && time_ns < (double)(r->end_ns - r->start_ns)) start_ns = r->end_ns - (int64_t)time_ns;
    m->launch(m->ctx, r->corr, start_ns, r->end_ns);
}

static void add_row(struct gp_measured *m, uint32_t set, const struct gp_measured_row *r,
                    const double *values, gp_sid name)
{
    struct gp_events *e = &m->trace->events[GP_METRIC];
    size_t row = gp_events_add(e, r->start_ns, r->end_ns - r->start_ns, m->thread(m->ctx, r->tid), name);
    gp_set_id(e, row, r->ordinal);
    if (r->range) {
        gp_set_cat(e, row, gp_trace_intern(m->trace, GP_METRIC_RANGE, strlen(GP_METRIC_RANGE)));
    } else {
        struct gp_config c = {.name = name, .has = GP_HAS_GRID | GP_HAS_BLOCK};
        memcpy(c.grid, r->grid, sizeof c.grid);
        memcpy(c.block, r->block, sizeof c.block);
        c.shared_bytes = r->shared_bytes;
        gp_set_config(e, row, gp_trace_config(m->trace, &c));
        gp_set_corr(e, row, r->corr);
    }
    gp_metric_put(m->trace, row, set, values);
}

bool gp_measured_take_rows(struct gp_measured *m, const void *payload, size_t n)
{
    struct gp_measured_rows head;
    const char *at = payload, *end = at + n;
    if (n < sizeof head) return false;
    memcpy(&head, at, sizeof head);
    if (head.set >= m->sets.n) return false;
    uint32_t set = m->sets.at[head.set].set, time = m->sets.at[head.set].time;
    size_t values_bytes = m->trace->metric_sets.at[set].n * sizeof(double);
    for (at += sizeof head; at < end;) {
        struct gp_measured_row r;
        double values[GP_METRICS_MOST];
        if ((size_t)(end - at) < sizeof r + values_bytes) return false;
        memcpy(&r, at, sizeof r);
        memcpy(values, at + sizeof r, values_bytes);
        at += sizeof r + values_bytes;
        size_t text = ((size_t)r.name_n + 7) & ~(size_t)7;
        if (r.name_n > MAX_NAME || text > (size_t)(end - at)) return false;
        if (!gp_time_fits(r.start_ns) || r.end_ns < r.start_ns || r.end_ns - r.start_ns > GP_DURATION_MOST)
            return false;
        add_row(m, set, &r, values, gp_trace_intern(m->trace, at, r.name_n));
        if (!r.range) report_launch(m, &r, time == UINT32_MAX ? -1 : values[time]);
        at += text;
    }
    return true;
}

void gp_measured_release(struct gp_measured *m) { GP_VEC_FREE(&m->sets); }
