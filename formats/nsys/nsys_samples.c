/* What was sampled: counters of the GPUs, and where threads were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/nsys/nsys_priv.h"

/* ---- counters of GPUs ---- */

static uint64_t metric_key(int64_t type, int64_t metric)
{
    return gp_nsys_key((uint64_t)type, (uint64_t)metric);
}

/* Type and id of a metric -> its name. */
static void load_metrics(struct gp_nsys *n, struct gp_map *names)
{
    static const char *const columns[] = {"typeId", "metricId", "metricName", NULL};
    enum { TYPE, METRIC, NAME };
    struct gp_sqlite_scan scan;
    if (gp_sqlite_begin(n->db, &scan, "TARGET_INFO_GPU_METRICS", columns)) {
        while (gp_sqlite_next(&scan)) {
            size_t length;
            const char *name = gp_sqlite_text(&scan, NAME, &length);
            if (!name) continue;
            uint64_t key = metric_key(gp_sqlite_int(&scan, TYPE, 0), gp_sqlite_int(&scan, METRIC, 0));
            gp_map_put(names, key, gp_trace_intern(n->t, name, length));
        }
    }
    gp_sqlite_end(&scan);
}

/* The last byte of a type's id is the number of the GPU. */
static void read_metrics(struct gp_nsys *n)
{
    static const char *const columns[] = {"timestamp", "typeId", "metricId", "value", NULL};
    enum { TIME, TYPE, METRIC, VALUE, GPU_BITS = 0xff };
    struct gp_events *e = &n->t->events[GP_COUNTER];
    struct gp_map names = {0};
    struct gp_sqlite_scan scan;
    load_metrics(n, &names);
    if (gp_sqlite_begin(n->db, &scan, "GPU_METRICS", columns)) {
        while (gp_sqlite_next(&scan)) {
            int64_t start, dur, type = gp_sqlite_int(&scan, TYPE, 0);
            double value;
            if (!gp_nsys_span(n, &scan, TIME, TIME, &start, &dur) || !gp_sqlite_double(&scan, VALUE, &value))
                continue;
            const uint32_t *series = gp_map_get(&names, metric_key(type, gp_sqlite_int(&scan, METRIC, 0)));
            char name[40];
            snprintf(name, sizeof name, "GPU %d metrics", (int)(type & GPU_BITS));
            size_t row = gp_events_add(e, start, 0, gp_nsys_track(n, n->only_process, name),
                                       gp_intern_cstr(&n->t->strings, name));
            gp_set_series(e, row, series ? *series : gp_intern_cstr(&n->t->strings, "unknown"));
            gp_set_value(e, row, value);
        }
    }
    gp_sqlite_end(&scan);
    gp_map_release(&names);
}

/* ---- samples of CPUs ---- */

struct sample {
    int64_t start_ns, thread;
};

struct frame {
    uint32_t sample;
    int64_t depth, symbol;
};

struct samples {
    struct gp_nsys *n;
    GP_VEC(struct sample) list;
    GP_VEC(struct frame) frames; /* by sample, outermost first */
    struct gp_map by_id;
    struct gp_buf text;
};

static int by_sample(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;
    if (x->sample != y->sample) return x->sample < y->sample ? -1 : 1;
    if (x->depth != y->depth) return x->depth > y->depth ? -1 : 1;
    return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static void load_samples(struct samples *s)
{
    static const char *const columns[] = {"id", "start", "globalTid", NULL};
    static const char *const frame_columns[] = {"id", "symbol", "stackDepth", NULL};
    enum { ID, START, THREAD, SYMBOL = 1, DEPTH };
    struct gp_sqlite_scan scan;
    int64_t id, start, dur, thread;
    if (gp_sqlite_begin(s->n->db, &scan, "COMPOSITE_EVENTS", columns))
        while (gp_sqlite_next(&scan)) {
            if (!gp_sqlite_get(&scan, ID, &id) || !gp_sqlite_get(&scan, THREAD, &thread) ||
                !gp_nsys_span(s->n, &scan, START, START, &start, &dur))
                continue;
            gp_map_put(&s->by_id, (uint64_t)id, (uint32_t)s->list.n);
            GP_VEC_PUSH(&s->list, ((struct sample){start, thread}));
        }
    gp_sqlite_end(&scan);
    if (gp_sqlite_begin(s->n->db, &scan, "SAMPLING_CALLCHAINS", frame_columns))
        while (gp_sqlite_next(&scan)) {
            const uint32_t *at = gp_map_get(&s->by_id, (uint64_t)gp_sqlite_int(&scan, ID, -1));
            struct frame f = {at ? *at : 0, gp_sqlite_int(&scan, DEPTH, 0), gp_sqlite_int(&scan, SYMBOL, -1)};
            if (at) GP_VEC_PUSH(&s->frames, f);
        }
    gp_sqlite_end(&scan);
    if (s->frames.n) qsort(s->frames.at, s->frames.n, sizeof *s->frames.at, by_sample);
}

/* A mark with the name of the innermost function, and all as {"stack":[...]}. */
static void add_sample(struct samples *s, size_t i, size_t first, size_t end)
{
    enum { MOST_FRAMES = 128 };
    struct gp_trace *t = s->n->t;
    struct gp_events *e = &t->events[GP_MARK];
    gp_sid leaf = 0;
    s->text.n = 0;
    for (size_t k = end - first > MOST_FRAMES ? end - MOST_FRAMES : first; k < end; k++) {
        leaf = gp_nsys_string(s->n, s->frames.at[k].symbol);
        gp_buf_puts(&s->text, s->text.n ? "," : "{\"stack\":[");
        gp_json_put_string(&s->text, gp_trace_str(t, leaf), gp_string_len(&t->strings, leaf));
    }
    if (!leaf) leaf = gp_intern_cstr(&t->strings, "[unknown]");
    size_t row =
        gp_events_add(e, s->list.at[i].start_ns, 0, gp_nsys_thread(s->n, s->list.at[i].thread), leaf);
    gp_set_cat(e, row, gp_intern_cstr(&t->strings, "cpu_sample"));
    if (!s->text.n || !gp_needs_extra(t->need, GP_MARK)) return;
    gp_buf_puts(&s->text, "]}");
    gp_set_extra(e, row, gp_trace_intern(t, s->text.data, s->text.n));
}

static void read_cpu(struct gp_nsys *n)
{
    struct samples s = {.n = n};
    load_samples(&s);
    for (size_t i = 0, at = 0; i < s.list.n; i++) {
        size_t first = at;
        while (at < s.frames.n && s.frames.at[at].sample == i) at++;
        add_sample(&s, i, first, at);
    }
    GP_VEC_FREE(&s.list);
    GP_VEC_FREE(&s.frames);
    gp_map_release(&s.by_id);
    gp_buf_release(&s.text);
}

void gp_nsys_read_samples(struct gp_nsys *n)
{
    if (n->t->need & GP_NEED(GP_COUNTER)) read_metrics(n);
    if (n->t->need & GP_NEED(GP_MARK)) read_cpu(n);
}
