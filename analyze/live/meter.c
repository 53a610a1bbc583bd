#include "analyze/live/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/classify.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/openmetrics.h"
#include "formats/base/order.h"
#include "formats/model/step_name.h"

enum {
    SERIES = 200, /* per process */
    KERNELS = 20, /* that have series */
    COPIES = 10,
    NAMES = 1 << 16,  /* that are kept apart; the others are one */
    DEVICES = 1 << 12 /* the same */
};
static const int64_t SETTLED_NS = 1000000000; /* no earlier work arrives after so long */

struct piece {
    int64_t begin_ns, end_ns;
};

struct device {
    uint32_t producer;
    int32_t rank;
    int64_t id;
    int64_t busy_ns; /* without PIECES */
    int64_t class_ns[GP_CLASS_COUNT];
    GP_VEC(struct piece)
    pieces; /* busy times that may still grow together; sorted and apart after settle() */
};

/* A kernel or a sort of copies. */
struct work {
    gp_sid name;
    uint32_t kind; /* enum gp_frame_kind */
    uint64_t count;
    int64_t ns, bytes;
};

struct gp_meter {
    struct gp_strings strings;
    GP_VEC(struct device) devices;
    GP_VEC(struct work) works; /* the first one stands for all that are too many */
    struct gp_map work_of;     /* sid of STRINGS -> index */
    struct gp_openmetrics_steps steps;
    uint64_t launches, events, processes;
    int64_t launch_ns, collective_ns;
    struct gp_map known_process;
};

struct gp_meter *gp_meter_new(void)
{
    struct gp_meter *m = gp_zalloc(sizeof *m);
    struct work others = {.name = gp_intern_cstr(&m->strings, "others"), .kind = GP_FRAME_COMPUTE};
    GP_VEC_PUSH(&m->works, others);
    return m;
}

void gp_meter_free(struct gp_meter *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->devices.n; i++) GP_VEC_FREE(&m->devices.at[i].pieces);
    GP_RELEASE(gp_vec_free, &m->devices, &m->works);
    GP_RELEASE(gp_map_release, &m->work_of, &m->known_process);
    gp_strings_release(&m->strings);
    free(m);
}

static void add_ns(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum)) *sum = INT64_MAX;
}

/* ---- GPU work ---- */

static struct device *device_of(struct gp_meter *m, uint32_t producer, int32_t rank, int64_t id)
{
    GP_EACH(struct device, d, m->devices)
        if (d->producer == producer && d->id == id) return d;
    if (m->devices.n == DEVICES) return &m->devices.at[0];
    GP_VEC_PUSH(&m->devices, ((struct device){.producer = producer, .rank = rank, .id = id}));
    return &m->devices.at[m->devices.n - 1];
}

static struct work *work_of(struct gp_meter *m, const struct gp_trace *t, const struct gp_config *c)
{
    const char *name = gp_trace_str(t, c->name);
    size_t n = gp_string_len(&t->strings, c->name);
    if (m->strings.n >= NAMES && gp_intern_find(&m->strings, name, n) == UINT32_MAX) return &m->works.at[0];
    gp_sid sid = gp_intern(&m->strings, name, n);
    uint32_t *at = gp_map_put(&m->work_of, (uint64_t)c->kind << 32 | sid, UINT32_MAX);
    if (*at == UINT32_MAX) {
        *at = (uint32_t)m->works.n;
        GP_VEC_PUSH(
            &m->works,
            ((struct work){.name = sid, .kind = gp_classify(NULL, (enum gp_gpu_kind)c->kind, name, n)}));
    }
    return &m->works.at[*at];
}

GP_COMPARE(by_begin, struct piece, GP_UP(begin_ns))

/* Join what overlaps, and count what ended before UNTIL_NS for good. */
static void settle(struct device *d, int64_t until_ns)
{
    size_t n = 0, kept = 0;
    if (!d->pieces.n) return;
    qsort(d->pieces.at, d->pieces.n, sizeof *d->pieces.at, by_begin);
    for (size_t i = 1; i < d->pieces.n; i++) {
        struct piece *last = &d->pieces.at[n], p = d->pieces.at[i];
        if (p.begin_ns > last->end_ns) d->pieces.at[++n] = p;
        else if (p.end_ns > last->end_ns) last->end_ns = p.end_ns;
    }
    d->pieces.n = n + 1;
    for (size_t i = 0; i < d->pieces.n; i++) {
        struct piece p = d->pieces.at[i];
        if (p.end_ns < until_ns) add_ns(&d->busy_ns, p.end_ns - p.begin_ns);
        else d->pieces.at[kept++] = p;
    }
    d->pieces.n = kept;
}

static void add_gpu(struct gp_meter *m, uint32_t producer, int32_t rank, const struct gp_trace *t)
{
    const struct gp_events *gpu = &t->events[GP_GPU];
    int64_t newest_ns = INT64_MIN;
    for (size_t i = 0; i < gpu->n; i++) {
        struct device *d = device_of(m, producer, rank, t->tracks.at[gpu->track[i]].device);
        struct work *w = work_of(m, t, gp_gpu_config(t, i));
        enum gp_class class = gp_class_of((enum gp_frame_kind)w->kind);
        int64_t end_ns = gpu->start_ns[i] + gpu->dur_ns[i];
        GP_VEC_PUSH(&d->pieces, ((struct piece){gpu->start_ns[i], end_ns}));
        add_ns(&d->class_ns[class], gpu->dur_ns[i]);
        if (class == GP_CLASS_COMMUNICATION) add_ns(&m->collective_ns, gpu->dur_ns[i]);
        w->count++;
        add_ns(&w->ns, gpu->dur_ns[i]);
        add_ns(&w->bytes, gp_get_bytes(gpu, i));
        if (end_ns > newest_ns) newest_ns = end_ns;
    }
    m->events += gpu->n;
    for (size_t i = 0; i < m->devices.n && gpu->n; i++)
        if (m->devices.at[i].producer == producer) settle(&m->devices.at[i], newest_ns - SETTLED_NS);
}

/* ---- the host ---- */

static void add_host(struct gp_meter *m, const struct gp_trace *t)
{
    const struct gp_events *api = &t->events[GP_API], *range = &t->events[GP_RANGE];
    for (size_t i = 0; i < api->n; i++) {
        if (!gp_call_gives_work(gp_trace_str(t, api->name[i]))) continue;
        m->launches++;
        add_ns(&m->launch_ns, api->dur_ns[i]);
    }
    for (size_t i = 0; i < range->n; i++) {
        const char *name = gp_trace_str(t, range->name[i]);
        size_t base;
        uint64_t number;
        if (gp_step_name_rank(name, gp_string_len(&t->strings, range->name[i]), &base, &number) <= 2)
            gp_openmetrics_step(&m->steps, range->dur_ns[i]);
    }
}

void gp_meter_add(struct gp_meter *m, uint32_t producer, int32_t rank, const struct gp_trace *t)
{
    uint32_t *known = gp_map_put(&m->known_process, producer, 0);
    m->processes += !*known;
    *known = 1;
    add_gpu(m, producer, rank, t);
    add_host(m, t);
}

/* ---- text ---- */

static void put_device(struct gp_openmetrics *o, const struct device *d)
{
    gp_openmetrics_label_int(o, "gpu", d->id);
    gp_openmetrics_label_int(o, "process", d->producer);
    if (d->rank >= 0) gp_openmetrics_label_int(o, "rank", d->rank);
}

static void put_devices(struct gp_openmetrics *o, const struct gp_meter *m)
{
    gp_openmetrics_family(o, "gpu_busy_seconds", "counter", "seconds",
                          "Time in which any kernel, copy or set ran on a GPU.");
    GP_EACH(const struct device, d, m->devices) {
        int64_t busy_ns = d->busy_ns;
        for (size_t k = 0; k < d->pieces.n; k++)
            add_ns(&busy_ns, d->pieces.at[k].end_ns - d->pieces.at[k].begin_ns);
        if (!gp_openmetrics_series(o, "gpu_busy_seconds_total")) continue;
        put_device(o, d);
        gp_openmetrics_seconds(o, busy_ns);
    }
    gp_openmetrics_family(o, "gpu_work_seconds", "counter", "seconds",
                          "Durations of GPU work by class; what overlaps counts twice.");
    for (size_t i = 0; i < m->devices.n; i++)
        for (int c = 0; c < GP_CLASS_COUNT; c++) {
            const char *class = gp_class_name((enum gp_class)c);
            if (!gp_openmetrics_series(o, "gpu_work_seconds_total")) continue;
            put_device(o, &m->devices.at[i]);
            gp_openmetrics_label(o, "class", class, strlen(class));
            gp_openmetrics_seconds(o, m->devices.at[i].class_ns[c]);
        }
}

GP_COMPARE(by_time, struct work *const, GP_KEY((*y)->ns, (*x)->ns) GP_KEY((*x)->name, (*y)->name))

static void put_copies(struct gp_openmetrics *o, const struct gp_meter *m, const struct work *const *all,
                       size_t n)
{
    static const char *const families[] = {"copy_seconds", "copy_bytes"};
    for (int f = 0; f < 2; f++) {
        size_t shown = 0;
        gp_openmetrics_family(o, families[f], "counter", f ? "bytes" : "seconds",
                              f ? "Bytes that copies and sets moved."
                                : "Time of copies and sets on the GPU.");
        for (size_t i = 0; i < n && shown < COPIES; i++) {
            const char *name = gp_string(&m->strings, all[i]->name);
            if (gp_class_of((enum gp_frame_kind)all[i]->kind) != GP_CLASS_MEMORY) continue;
            shown++;
            if (!gp_openmetrics_series(o, f ? "copy_bytes_total" : "copy_seconds_total")) continue;
            gp_openmetrics_label(o, "kind", name, gp_string_len(&m->strings, all[i]->name));
            if (f) gp_openmetrics_count(o, (uint64_t)all[i]->bytes);
            else gp_openmetrics_seconds(o, all[i]->ns);
        }
    }
}

/* As in reports of trace-hta: a hash of the name, whatever its rank among the kernels. */
static void put_kernel(struct gp_openmetrics *o, const struct gp_meter *m, const struct work *w)
{
    char text[24];
    const char *name = gp_string(&m->strings, w->name);
    int n =
        snprintf(text, sizeof text, "%016" PRIx64, gp_hash_bytes(name, gp_string_len(&m->strings, w->name)));
    gp_openmetrics_label(o, "kernel", text, (size_t)n);
}

static void put_kernels(struct gp_openmetrics *o, const struct gp_meter *m, const struct work *const *all,
                        size_t n)
{
    size_t top = n < KERNELS ? n : KERNELS;
    gp_openmetrics_family(o, "kernel_info", "gauge", "",
                          "Which name the label of a kernel stands for, of those with the most time.");
    for (size_t i = 0; i < top; i++) {
        struct gp_buf plain = {0};
        const char *class = gp_class_name(gp_class_of((enum gp_frame_kind)all[i]->kind));
        if (!gp_openmetrics_series(o, "kernel_info")) continue;
        gp_name_demangle(&plain, gp_string(&m->strings, all[i]->name),
                         gp_string_len(&m->strings, all[i]->name));
        put_kernel(o, m, all[i]);
        gp_openmetrics_label(o, "name", plain.n ? plain.data : "", plain.n);
        gp_openmetrics_label(o, "class", class, strlen(class));
        gp_openmetrics_count(o, 1);
        gp_buf_release(&plain);
    }
    gp_openmetrics_family(o, "kernel_seconds", "counter", "seconds", "Time of a kernel on the GPU.");
    for (size_t i = 0; i < top; i++) {
        if (!gp_openmetrics_series(o, "kernel_seconds_total")) continue;
        put_kernel(o, m, all[i]);
        gp_openmetrics_seconds(o, all[i]->ns);
    }
    gp_openmetrics_family(o, "kernel_executions", "counter", "", "How often a kernel ran.");
    for (size_t i = 0; i < top; i++) {
        if (!gp_openmetrics_series(o, "kernel_executions_total")) continue;
        put_kernel(o, m, all[i]);
        gp_openmetrics_count(o, all[i]->count);
    }
}

void gp_meter_write(struct gp_meter *m, uint64_t lost, struct gp_buf *to)
{
    struct gp_openmetrics o = {.b = to, .most = SERIES * (m->processes ? m->processes : 1)};
    const struct work **all = gp_alloc((m->works.n + 1) * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < m->works.n; i++)
        if (m->works.at[i].count) all[n++] = &m->works.at[i];
    if (n) qsort(all, n, sizeof *all, by_time);
    put_devices(&o, m);
    gp_openmetrics_put_steps(&o, &m->steps);
    gp_openmetrics_total(&o, "processes", "", "Processes that were recorded.", (int64_t)m->processes);
    gp_openmetrics_total(&o, "launches", "", "Calls that give work to a GPU.", (int64_t)m->launches);
    gp_openmetrics_total(&o, "launch_seconds", "seconds", "Time of threads in such calls.", m->launch_ns);
    gp_openmetrics_total(&o, "gpu_events", "", "Kernels, copies and sets.", (int64_t)m->events);
    gp_openmetrics_total(&o, "events_lost", "", "Events that the recorder knows it lost.", (int64_t)lost);
    gp_openmetrics_total(&o, "collective_seconds", "seconds", "Time of communication kernels on the GPU.",
                         m->collective_ns);
    put_copies(&o, m, all, n);
    put_kernels(&o, m, all, n);
    gp_openmetrics_end(&o);
    free(all);
}
