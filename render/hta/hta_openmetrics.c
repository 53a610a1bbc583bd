#include "render/hta/hta_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analyze/hta/collectives.h"
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/openmetrics.h"

enum {
    SERIES = 200,     /* per process */
    KERNELS = 20,     /* that have series */
    COLLECTIVES = 10, /* the same */
    COPIES = 10,
};

/* ---- pieces ---- */

static void put_place(struct gp_openmetrics *m, struct gp_hta_place at)
{
    gp_openmetrics_label_int(m, "gpu", at.device);
    gp_openmetrics_label_int(m, "process", at.producer);
    if (at.rank >= 0) gp_openmetrics_label_int(m, "rank", at.rank);
}

static void put_device(struct gp_openmetrics *m, const struct gp_hta_device *d)
{
    put_place(m, gp_hta_place_of(d));
}

static void put_sid(struct gp_openmetrics *m, const char *label, const struct gp_hta *h, gp_sid sid)
{
    gp_openmetrics_label(m, label, gp_hta_str(h, sid), gp_string_len(&h->strings, sid));
}

/* ---- families ---- */

static void put_time(struct gp_openmetrics *m, const struct gp_hta *h)
{
    gp_openmetrics_family(
        m, "gpu_seconds", "counter", "seconds",
        "Time of a GPU by what it did: compute, communication or memory not hidden by it, idle.");
    GP_EACH(const struct gp_hta_device, d, h->devices) {
        const struct {
            const char *state;
            int64_t ns;
        } parts[] = {{"compute", d->b.compute_ns},
                     {"exposed_communication", d->b.exposed_communication_ns},
                     {"exposed_memory", d->b.exposed_memory_ns},
                     {"idle", d->b.idle_ns}};
        for (size_t k = 0; k < GP_COUNT(parts); k++) {
            if (!gp_openmetrics_series(m, "gpu_seconds_total")) continue;
            put_device(m, d);
            gp_openmetrics_label(m, "state", parts[k].state, strlen(parts[k].state));
            gp_openmetrics_seconds(m, parts[k].ns);
        }
    }
    gp_openmetrics_family(m, "gpu_busy_ratio", "gauge", "ratio",
                          "Share of the time from the first to the last GPU event in which any ran.");
    GP_EACH(const struct gp_hta_device, d, h->devices) {
        if (!gp_openmetrics_series(m, "gpu_busy_ratio")) continue;
        put_device(m, d);
        gp_openmetrics_number(m, d->b.span_ns ? (double)d->b.busy_ns / (double)d->b.span_ns : 0);
    }
}

static void put_totals(struct gp_openmetrics *m, const struct gp_hta *h)
{
    uint64_t lost = 0, skipped = 0;
    for (size_t i = 0; i < h->inputs.n; i++) {
        lost += h->inputs.at[i].issues[GP_Q_LOSS].count;
        skipped += h->inputs.at[i].skipped;
    }
    gp_openmetrics_total(m, "launches", "", "Calls that launched GPU work.", (int64_t)h->launches.calls);
    if (!h->untimed) {
        gp_openmetrics_total(m, "launch_seconds", "seconds", "Time of threads in calls that launch GPU work.",
                             h->launches.api_dur.sum);
        gp_openmetrics_total(m, "launch_delay_seconds", "seconds",
                             "Time between the end of a launch and the start of its work.",
                             h->launches.delay.sum);
    }
    gp_openmetrics_total(m, "gpu_events", "", "Kernels, copies and sets.", (int64_t)h->launches.gpu_events);
    gp_openmetrics_total(m, "events_lost", "", "Events that the recorder knows it lost.", (int64_t)lost);
    gp_openmetrics_total(m, "events_skipped", "", "Events of the inputs that could not be used.",
                         (int64_t)skipped);
}

static void put_copies(struct gp_openmetrics *m, const struct gp_hta *h)
{
    size_t n = h->copies.n < COPIES ? h->copies.n : COPIES;
    gp_openmetrics_family(m, "copy_seconds", "counter", "seconds", "Time of copies and sets on the GPU.");
    GP_EACH_OF(const struct gp_copy_stat, c, h->copies.at, n) {
        if (!gp_openmetrics_series(m, "copy_seconds_total")) continue;
        put_sid(m, "kind", h, c->name);
        gp_openmetrics_seconds(m, c->dur_ns);
    }
    gp_openmetrics_family(m, "copy_bytes", "counter", "bytes", "Bytes that copies and sets moved.");
    GP_EACH_OF(const struct gp_copy_stat, c, h->copies.at, n) {
        if (!gp_openmetrics_series(m, "copy_bytes_total")) continue;
        put_sid(m, "kind", h, c->name);
        gp_openmetrics_count(m, (uint64_t)c->bytes);
    }
}

/* Rows of one operation in several groups or types are one series. */
static void put_collectives(struct gp_openmetrics *m, const struct gp_hta *h)
{
    struct {
        gp_sid op;
        int64_t sum;
    } series[COLLECTIVES];
    size_t n = 0;
    GP_EACH(const struct gp_collective_stat, c, h->collective_stats) {
        size_t at = 0;
        while (at < n && series[at].op != c->op) at++;
        if (at == COLLECTIVES) continue;
        if (at == n) series[n++].op = c->op, series[at].sum = 0;
        series[at].sum = gp_add_saturated(series[at].sum, c->dur.sum);
    }
    gp_openmetrics_family(m, "collective_seconds", "counter", "seconds", "Time of collectives on the GPU.");
    for (size_t i = 0; i < n; i++) {
        if (!gp_openmetrics_series(m, "collective_seconds_total")) continue;
        put_sid(m, "operation", h, series[i].op);
        gp_openmetrics_seconds(m, series[i].sum);
    }
}

/* Names are long, and a label must stay the same from scrape to scrape: a hash of the name, independent of
 * its rank. */
static void put_kernel(struct gp_openmetrics *m, const struct gp_hta *h, const struct gp_kernel_stat *k)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%016" PRIx64,
                     gp_hash_bytes(gp_hta_str(h, k->name), gp_string_len(&h->strings, k->name)));
    gp_openmetrics_label(m, "kernel", text, (size_t)n);
}

static void put_kernels(struct gp_openmetrics *m, const struct gp_hta *h)
{
    size_t n = h->kernels.n < KERNELS ? h->kernels.n : KERNELS;
    gp_openmetrics_family(m, "kernel_info", "gauge", "",
                          "Which name the label of a kernel stands for, of those with the most time.");
    GP_EACH_OF(const struct gp_kernel_stat, k, h->kernels.at, n) {
        const char *of = gp_class_name(gp_class_of((enum gp_frame_kind)k->kind));
        struct gp_buf plain = {0};
        if (!gp_openmetrics_series(m, "kernel_info")) continue;
        gp_name_demangle(&plain, gp_hta_str(h, k->name), gp_string_len(&h->strings, k->name));
        put_kernel(m, h, k);
        gp_openmetrics_label(m, "name", plain.n ? plain.data : "", plain.n);
        gp_openmetrics_label(m, "class", of, strlen(of));
        gp_openmetrics_count(m, 1);
        gp_buf_release(&plain);
    }
    gp_openmetrics_family(m, "kernel_seconds", "counter", "seconds", "Time of a kernel on the GPU.");
    for (size_t i = 0; i < n; i++) {
        if (!gp_openmetrics_series(m, "kernel_seconds_total")) continue;
        put_kernel(m, h, &h->kernels.at[i]);
        gp_openmetrics_seconds(m, h->kernels.at[i].dur.sum);
    }
    gp_openmetrics_family(m, "kernel_executions", "counter", "", "How often a kernel ran.");
    for (size_t i = 0; i < n; i++) {
        if (!gp_openmetrics_series(m, "kernel_executions_total")) continue;
        put_kernel(m, h, &h->kernels.at[i]);
        gp_openmetrics_count(m, h->kernels.at[i].dur.n);
    }
}

/* One figure of each row of VEC, SIZE bytes each, which begins with its place. */
static void put_places(struct gp_openmetrics *m, const char *name, const struct gp_rows rows, size_t size,
                       double (*value)(const void *row))
{
    for (size_t i = 0; i < rows.n; i++) {
        const void *row = (const char *)rows.at + i * size;
        struct gp_hta_place at;
        memcpy(&at, row, sizeof at);
        if (isnan(value(row)) || !gp_openmetrics_series(m, name)) continue;
        put_place(m, at);
        gp_openmetrics_number(m, value(row));
    }
}

static double busy_clock(const void *row) { return ((const struct gp_clock_stat *)row)->mean_mhz * 1e6; }

static double slower_by(const void *row)
{
    return (double)((const struct gp_clock_stat *)row)->slower_ns / 1e9;
}

static double whole_energy(const void *row)
{
    const struct gp_energy_stat *s = row;
    return s->over ? NAN : s->joules;
}

static void put_gauges(struct gp_openmetrics *m, const struct gp_hta *h)
{
    if (!h->clocks.n && !h->energy.n) return;
    gp_openmetrics_family(m, "gpu_busy_clock_hertz", "gauge", "hertz",
                          "Mean SM clock of a GPU while it was busy.");
    put_places(m, "gpu_busy_clock_hertz", gp_rows_of(&h->clocks), sizeof *h->clocks.at, busy_clock);
    gp_openmetrics_family(m, "gpu_clock_lost_seconds", "counter", "seconds",
                          "Busy time that work bound by the SM clock would have saved at the highest clock.");
    put_places(m, "gpu_clock_lost_seconds_total", gp_rows_of(&h->clocks), sizeof *h->clocks.at, slower_by);
    gp_openmetrics_family(m, "gpu_energy_joules", "counter", "joules",
                          "Energy of a GPU from its first work to its last.");
    put_places(m, "gpu_energy_joules_total", gp_rows_of(&h->energy), sizeof *h->energy.at, whole_energy);
}

static void put_timed(struct gp_openmetrics *m, const struct gp_hta *h)
{
    put_gauges(m, h);
    put_time(m, h);
    struct gp_openmetrics_steps steps = {0};
    for (size_t i = 0; i < h->steps.n; i++)
        if (!h->steps.at[i].partial) gp_openmetrics_step(&steps, h->steps.at[i].b.span_ns);
    gp_openmetrics_put_steps(m, &steps);
    int64_t sums[GP_IDLE_CAUSE_COUNT] = {0};
    for (size_t i = 0; i < h->devices.n; i++)
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) sums[c] += h->devices.at[i].idle_cause_ns[c];
    gp_openmetrics_family(m, "gpu_idle_seconds", "counter", "seconds", "Idle time of all GPUs by its cause.");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
        const char *cause = gp_idle_cause_name((enum gp_idle_cause)c);
        if (!gp_openmetrics_series(m, "gpu_idle_seconds_total")) continue;
        gp_openmetrics_label(m, "cause", cause, strlen(cause));
        gp_openmetrics_seconds(m, sums[c]);
    }
}

/* The devices of one producer and rank belong to one process. */
static size_t count_processes(const struct gp_hta *h)
{
    size_t n = 1;
    for (size_t i = 1; i < h->devices.n; i++)
        n += h->devices.at[i].producer != h->devices.at[i - 1].producer ||
             h->devices.at[i].rank != h->devices.at[i - 1].rank ||
             h->devices.at[i].input != h->devices.at[i - 1].input;
    return n;
}

void gp_hta_openmetrics(struct gp_buf *b, const struct gp_hta *h)
{
    struct gp_openmetrics m = {.b = b, .most = SERIES * count_processes(h)};
    if (h->untimed) {
        gp_openmetrics_family(&m, "measured_by_kernel", "gauge", "", "1: " GP_UNTIMED_TEXT ".");
        if (gp_openmetrics_series(&m, "measured_by_kernel")) gp_openmetrics_count(&m, 1);
    } else put_timed(&m, h);
    put_totals(&m, h);
    put_copies(&m, h);
    put_collectives(&m, h);
    put_kernels(&m, h);
    gp_openmetrics_end(&m);
}
