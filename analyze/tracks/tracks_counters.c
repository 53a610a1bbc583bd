#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/breakdown.h"
#include "analyze/math/sums.h"
#include "analyze/names/args.h"
#include "analyze/names/names.h"
#include "analyze/tracks/tracks_priv.h"
#include "analyze/view/gauges.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/model/metric.h"

enum { BUSY_BUCKETS = 1024 };

/* ---- samples ---- */

static uint32_t add_counter(struct gp_tracks_build *b, uint32_t group, const char *id, const char *name,
                            size_t name_n, enum gp_tracks_unit unit)
{
    struct gp_tracks *l = b->l;
    gp_tracks_add_track(b, group, GP_TRACKS_COUNTER, id, name, name_n)->counter = l->counters.n;
    struct gp_tracks_counter c = {.unit = unit};
    GP_VEC_PUSH(&l->counters, c);
    return (uint32_t)l->counters.n - 1;
}

/* A sample no earlier than the last one. Of several at one time the last counts; equal values are one. */
static void add_sample(struct gp_tracks_counter *c, int64_t at_ns, double value)
{
    struct gp_tracks_sample *last = c->samples.n ? &c->samples.at[c->samples.n - 1] : NULL;
    if (last && last->at_ns == at_ns) last->value = value;
    else if (!last || last->value != value)
        GP_VEC_PUSH(&c->samples, ((struct gp_tracks_sample){at_ns, value}));
}

/* Keep at most GP_TRACKS_SAMPLES: each equal stretch of time gets its highest value. */
static void join_samples(struct gp_tracks_counter *c)
{
    size_t n = c->samples.n;
    if (n <= GP_TRACKS_SAMPLES) return;
    struct gp_tracks_sample *s = c->samples.at;
    int64_t begin = s[0].at_ns, width = (s[n - 1].at_ns - begin) / GP_TRACKS_SAMPLES + 1;
    size_t out = 0;
    double value = s[0].value;
    for (size_t i = 0; i < n;) {
        int64_t at = begin + (s[i].at_ns - begin) / width * width;
        double high = i && s[i].at_ns > at ? value : s[i].value; /* the value at the begin of the stretch */
        for (; i < n && s[i].at_ns - at < width; i++) {
            value = s[i].value;
            if (value > high) high = value;
        }
        s[out++] = (struct gp_tracks_sample){at, high};
        if (i < n && value != high && s[i].at_ns - at >= 2 * width) /* a long rest after the stretch */
            s[out++] = (struct gp_tracks_sample){at + width, value};
    }
    c->samples.n = out;
    c->joined = true;
}

/* ---- of a device ---- */

/* Share of time that the device was busy, in equal parts of the time from its first to its last event. */
static void add_busy(struct gp_tracks_build *b, uint32_t group, uint32_t device)
{
    struct gp_tracks *l = b->l;
    struct gp_intervals busy = {0};
    gp_breakdown_busy(l->v, device, &busy);
    if (!busy.v.n) return;
    int64_t begin = busy.v.at[0].begin_ns, end = busy.v.at[busy.v.n - 1].end_ns;
    if (b->from_ns < b->to_ns) {
        if (begin < b->from_ns) begin = b->from_ns;
        if (end > b->to_ns) end = b->to_ns;
    }
    int64_t width = end > begin ? (end - begin - 1) / BUSY_BUCKETS + 1 : 0;
    if (width) {
        uint32_t number = add_counter(b, group, "busy", GP_TEXT("GPU busy"), GP_TRACKS_PERCENT);
        struct gp_tracks_counter *c = &l->counters.at[number];
        for (int64_t at = begin; at < end; at += width) {
            int64_t to = end - at < width ? end : at + width, ns = gp_intervals_within(&busy, at, to);
            add_sample(c, at, (double)(ns * 1000 / (to - at)) / 10);
        }
        add_sample(c, end, 0);
    }
    gp_intervals_release(&busy);
}

/* Number of launched events that have not started: calls and GPU events, each in order of time. */
static void add_queue(struct gp_tracks_build *b, uint32_t group, uint32_t device)
{
    const struct gp_view *v = b->l->v;
    const struct gp_view_device *d = &v->devices.at[device];
    const struct gp_events *gpu = &v->t->events[GP_GPU], *api = &v->t->events[GP_API];
    uint32_t *calls = gp_alloc((d->n + 1) * sizeof *calls);
    size_t n = 0;
    bool sorted = true;
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t row = v->rows[i], call = gp_view_launch(v, row);
        if (call == UINT32_MAX || api->start_ns[call] > gpu->start_ns[row]) continue;
        if (!gp_tracks_touches(b, gpu->start_ns[row], gpu->dur_ns[row])) continue;
        sorted = sorted && (!n || calls[n - 1] <= call);
        calls[n++] = call;
    }
    if (!sorted) qsort(calls, n, sizeof *calls, gp_order_u32);
    if (n) {
        uint32_t number =
            add_counter(b, group, "queue", GP_TEXT("launched and not started"), GP_TRACKS_COUNT);
        struct gp_tracks_counter *c = &b->l->counters.at[number];
        size_t begun = 0, i = d->first, end = d->first + d->n;
        int64_t length = 0;
        while (i < end || begun < n) {
            while (i < end) { /* the next one that was counted */
                uint32_t row = v->rows[i], call = gp_view_launch(v, row);
                if (call != UINT32_MAX && api->start_ns[call] <= gpu->start_ns[row] &&
                    gp_tracks_touches(b, gpu->start_ns[row], gpu->dur_ns[row]))
                    break;
                i++;
            }
            bool launch = begun < n && (i == end || api->start_ns[calls[begun]] <= gpu->start_ns[v->rows[i]]);
            if (!launch && i == end) break;
            length += launch ? 1 : -1;
            add_sample(c, launch ? api->start_ns[calls[begun]] : gpu->start_ns[v->rows[i]], (double)length);
            if (launch) begun++;
            else i++;
        }
        join_samples(c);
    }
    free(calls);
}

struct change {
    int64_t at_ns;
    double by; /* 10^9 bytes per second */
    int32_t copies;
};

GP_COMPARE(by_time, struct change, GP_UP(at_ns) GP_UP(copies) GP_UP(by))

/* Bytes a second of the copies under way, each with its own mean. */
static void add_copies(struct gp_tracks_build *b, uint32_t group, uint32_t device)
{
    const struct gp_view *v = b->l->v;
    const struct gp_view_device *d = &v->devices.at[device];
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    GP_VEC(struct change) changes = {0};
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t row = v->rows[i];
        int64_t bytes = gp_get_bytes(gpu, row), start = gpu->start_ns[row], dur = gpu->dur_ns[row];
        if (gp_gpu_config(v->t, row)->kind != GP_MEMCPY || bytes <= 0 || dur <= 0) continue;
        if (!gp_tracks_touches(b, start, dur) || start > INT64_MAX - dur) continue;
        double gbps = (double)bytes / (double)dur;
        GP_VEC_PUSH(&changes, ((struct change){start, gbps, 1}));
        GP_VEC_PUSH(&changes, ((struct change){start + dur, -gbps, -1}));
    }
    if (changes.n) {
        uint32_t number = add_counter(b, group, "copies", GP_TEXT("copy bandwidth"), GP_TRACKS_GBPS);
        struct gp_tracks_counter *c = &b->l->counters.at[number];
        qsort(changes.at, changes.n, sizeof *changes.at, by_time);
        double sum = 0;
        int64_t copies = 0;
        for (size_t i = 0; i < changes.n; i++) {
            copies += changes.at[i].copies;
            sum = copies ? sum + changes.at[i].by : 0; /* leaves no rounding errors */
            add_sample(c, changes.at[i].at_ns, sum < 0 ? 0 : sum);
        }
        join_samples(c);
    }
    GP_VEC_FREE(&changes);
}

void gp_tracks_device_counters(struct gp_tracks_build *b, uint32_t device, uint32_t group)
{
    add_busy(b, group, device);
    add_queue(b, group, device);
    add_copies(b, group, device);
}

/* ---- recorded ---- */

/* The group of a process's device, or of the process. */
static uint32_t memory_group(struct gp_tracks_build *b, uint32_t process, int64_t device)
{
    uint32_t producer = b->l->v->t->processes.at[process].producer;
    uint32_t group = device >= 0 ? gp_tracks_device_group(b, producer, device) : UINT32_MAX;
    if (group != UINT32_MAX) return group;
    return gp_tracks_process_group(b, process);
}

struct memory {
    uint32_t allocated, reserved; /* counters; UINT32_MAX: none */
    int64_t running;
    bool has_total;
};

static struct memory new_memory(struct gp_tracks_build *b, uint32_t process, int64_t device)
{
    struct gp_buf id = {0}, name = {0};
    uint32_t group = memory_group(b, process, device);
    gp_buf_puts(&id, "memory");
    gp_buf_puts(&name, device < 0 ? "host memory" : "memory");
    if (device >= 0 && b->l->groups.at[group].device == UINT32_MAX) {
        gp_buf_printf(&id, " %" PRId64, device);
        gp_buf_printf(&name, " of device %" PRId64, device);
    }
    gp_buf_puts(&name, ", allocated");
    struct memory m = {.reserved = UINT32_MAX};
    m.allocated = add_counter(b, group, gp_buf_str(&id), name.data, name.n, GP_TRACKS_BYTES);
    gp_buf_release(&id);
    gp_buf_release(&name);
    return m;
}

static void memory_sample(struct gp_tracks_build *b, struct memory *m, uint32_t row)
{
    const struct gp_events *e = &b->l->v->t->events[GP_MEMORY];
    int64_t total = gp_get_total(e, row), reserved = gp_get_reserved(e, row);
    m->running = gp_add_saturated(m->running, gp_get_bytes(e, row));
    m->has_total |= total != 0;
    if (!gp_tracks_touches(b, e->start_ns[row], 0)) return;
    add_sample(&b->l->counters.at[m->allocated], e->start_ns[row],
               (double)(m->has_total ? total : m->running));
    if (reserved && m->reserved == UINT32_MAX) {
        /* beside its sibling: the group of the track created for it */
        for (size_t i = b->l->tracks.n; i-- > 0;) {
            const struct gp_tracks_track *k = &b->l->tracks.at[i];
            if (k->sort != GP_TRACKS_COUNTER || k->counter != m->allocated) continue;
            m->reserved =
                add_counter(b, k->group, "memory reserved", GP_TEXT("memory, reserved"), GP_TRACKS_BYTES);
            break;
        }
    }
    if (m->reserved != UINT32_MAX)
        add_sample(&b->l->counters.at[m->reserved], e->start_ns[row], (double)reserved);
}

static void add_memory(struct gp_tracks_build *b)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_events *e = &t->events[GP_MEMORY];
    struct gp_map devices = {0}, found = {0}; /* of args text; of (process, device) */
    GP_VEC(int64_t) numbers = {0};            /* by value of `devices` */
    GP_VEC(struct memory) all = {0};
    for (uint32_t row = 0; row < e->n; row++) {
        gp_sid extra = gp_get_extra(e, row);
        uint32_t known = *gp_map_put(&devices, extra, (uint32_t)numbers.n);
        if (known == numbers.n) GP_VEC_PUSH(&numbers, gp_memory_device(gp_trace_str(t, extra)));
        int64_t device = numbers.at[known];
        uint32_t process = t->tracks.at[e->track[row]].process;
        uint32_t at = *gp_map_put(&found, (uint64_t)process << 32 | (uint32_t)device, (uint32_t)all.n);
        if (at == all.n) GP_VEC_PUSH(&all, new_memory(b, process, device));
        memory_sample(b, &all.at[at], row);
    }
    for (size_t i = 0; i < all.n; i++) {
        join_samples(&b->l->counters.at[all.at[i].allocated]);
        if (all.at[i].reserved != UINT32_MAX) join_samples(&b->l->counters.at[all.at[i].reserved]);
    }
    GP_RELEASE(gp_map_release, &devices, &found);
    GP_RELEASE(gp_vec_free, &numbers, &all);
}

static enum gp_tracks_unit unit_of(const char *unit)
{
    static const struct {
        const char *text;
        enum gp_tracks_unit unit;
    } units[] = {{"%", GP_TRACKS_PERCENT},  {"byte/second", GP_TRACKS_GBPS}, {"byte", GP_TRACKS_BYTES},
                 {"MHz", GP_TRACKS_MHZ},    {"W", GP_TRACKS_WATT},           {"°C", GP_TRACKS_CELSIUS},
                 {"bits", GP_TRACKS_REASON}};
    for (size_t i = 0; i < GP_COUNT(units); i++)
        if (!strcmp(unit, units[i].text)) return units[i].unit;
    return GP_TRACKS_COUNT;
}

/* The group of the GPU that TRACK is of; UINT32_MAX: nothing ran there. */
static uint32_t group_of_gpu(struct gp_tracks_build *b, const struct gp_gauges *gauges, uint32_t track)
{
    const struct gp_track *k = &b->l->v->t->tracks.at[track];
    uint32_t group = UINT32_MAX;
    for (uint32_t i = 0; i < b->l->v->devices.n && group == UINT32_MAX; i++) {
        const struct gp_view_device *d = &b->l->v->devices.at[i];
        const struct gp_gauge_gpu *gpu = gp_gauges_of(gauges, i);
        bool same = gpu ? gpu->process == k->process && gpu->number == gp_gauge_gpu_number(b->l->v->t, track)
                        : d->device == k->device;
        if (same) group = gp_tracks_device_group(b, d->producer, d->device);
    }
    return group;
}

/* Sampled beside the recording: among the tracks of its GPU, if anything ran there. */
static uint32_t new_sampled(struct gp_tracks_build *b, const struct gp_gauges *gauges, uint32_t row)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_events *e = &t->events[GP_COUNTER];
    const char *metric = gp_trace_str(t, e->name[row]);
    const char *title = gp_metric_title(metric);
    uint32_t group = group_of_gpu(b, gauges, e->track[row]);
    struct gp_buf id = {0};
    if (group == UINT32_MAX) group = gp_tracks_process_group(b, t->tracks.at[e->track[row]].process);
    if (!title) title = metric;
    gp_buf_printf(&id, "sampled %s", metric);
    uint32_t c = add_counter(b, group, gp_buf_str(&id), title, strlen(title),
                             unit_of(gp_trace_str(t, gp_get_series(e, row))));
    gp_buf_release(&id);
    return c;
}

static bool is_beside(const char *category)
{
    return !strcmp(category, GP_METRIC_SAMPLED) || !strcmp(category, GP_GAUGE_CATEGORY);
}

static uint32_t new_series(struct gp_tracks_build *b, const struct gp_gauges *gauges, uint32_t row)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_events *e = &t->events[GP_COUNTER];
    struct gp_buf id = {0}, name = {0};
    gp_sid series = gp_get_series(e, row);
    if (is_beside(gp_trace_str(t, gp_get_cat(e, row)))) return new_sampled(b, gauges, row);
    gp_buf_put(&name, gp_trace_str(t, e->name[row]), gp_string_len(&t->strings, e->name[row]));
    if (series) {
        gp_buf_puts(&name, ", ");
        gp_buf_put(&name, gp_trace_str(t, series), gp_string_len(&t->strings, series));
    }
    gp_buf_puts(&id, "counter ");
    gp_buf_put(&id, name.data ? name.data : "", name.n);
    uint32_t group = gp_tracks_process_group(b, t->tracks.at[e->track[row]].process);
    uint32_t c = add_counter(b, group, gp_buf_str(&id), name.data ? name.data : "", name.n, GP_TRACKS_COUNT);
    gp_buf_release(&id);
    gp_buf_release(&name);
    return c;
}

/* The power shows more than the energy. */
static bool only_rises(const struct gp_trace *t, size_t row)
{
    const struct gp_events *e = &t->events[GP_COUNTER];
    return gp_get_cat(e, row) && !strcmp(gp_trace_str(t, gp_get_cat(e, row)), GP_GAUGE_CATEGORY) &&
           gp_gauge_find(gp_trace_str(t, e->name[row])) == GP_GAUGE_ENERGY;
}

void gp_tracks_recorded_counters(struct gp_tracks_build *b)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_events *e = &t->events[GP_COUNTER];
    struct gp_map names = {0}, found = {0}; /* of (name, series); of (process, that) */
    uint32_t known = 0;
    size_t first = b->l->counters.n;
    struct gp_gauges gauges;
    gp_gauges_find(&gauges, b->l->v);
    add_memory(b);
    for (uint32_t row = 0; row < e->n; row++) {
        if (!gp_tracks_touches(b, e->start_ns[row], 0) || only_rises(t, row)) continue;
        uint32_t name = *gp_map_put(&names, (uint64_t)e->name[row] << 32 | gp_get_series(e, row), known);
        known += name == known;
        uint32_t process = t->tracks.at[e->track[row]].process;
        uint32_t c = *gp_map_put(&found, (uint64_t)process << 32 | name, UINT32_MAX);
        if (c == UINT32_MAX)
            *gp_map_put(&found, (uint64_t)process << 32 | name, 0) = c = new_series(b, &gauges, row);
        struct gp_tracks_counter *to = &b->l->counters.at[c];
        double value = gp_get_value(e, row);
        if (to->unit == GP_TRACKS_GBPS) value /= 1e9; /* from bytes per second */
        if (to->unit == GP_TRACKS_REASON) value = value > 0 ? 1 + gp_clock_reason(value) : 0;
        add_sample(to, e->start_ns[row], value);
    }
    for (size_t i = first; i < b->l->counters.n; i++) join_samples(&b->l->counters.at[i]);
    gp_gauges_release(&gauges);
    gp_map_release(&names);
    gp_map_release(&found);
}
